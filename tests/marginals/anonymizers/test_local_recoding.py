"""What a locally recoded table says of itself, against counting in its published frame."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Functional, Requirements, equivalence_classes, satisfies
from marginals import NothingPublishableError, Role, Table, sweep
from marginals.anonymizers.lattice import best_full_domain, single_table
from marginals.anonymizers.local_recoding import LocalRecoding, occurrence_weights
from models import ContingencyTable, Domain, DomainMismatchError, Hierarchy, information_utility
from recoding_oracles import classes_hold, requirements, tables


@given(tables(), st.data())
def test_a_full_domain_table_measures_as_the_lattice_search_does(table: Table, data: st.DataObject) -> None:
    """Classes apart: levels at which some values stay as they are would count the same class twice there, too."""
    levels = {a: data.draw(st.integers(0, table.domain.hierarchy(a).height)) for a in table.quasi_identifiers}
    recoded = LocalRecoding.full_domain(table, levels)
    single = single_table(table.cube, levels, Requirements(table.sensitive))
    assert len(recoded) == single.classes
    assert recoded.discernibility == single.discernibility
    assert recoded.average_class_size == pytest.approx(single.average_class_size)
    assert recoded.kl_divergence(table) == pytest.approx(single.kl_divergence, abs=1e-9)
    shown = table.counts.rolled_up({**levels, **dict.fromkeys(table.sensitive, 0)})
    assert recoded.information_utility == pytest.approx(information_utility(shown))
    classes = equivalence_classes(shown, table.sensitive[0])
    held = recoded.class_counts(table.sensitive[0])
    assert Counter(tuple(sorted(row[row > 0])) for row in held) == Counter(
        tuple(sorted(row[row > 0])) for row in classes.counts
    )


@given(tables(), requirements())
def test_the_best_full_domain_table_is_the_best_of_the_whole_lattice(table: Table, requirement: Functional) -> None:
    heights = [table.domain.hierarchy(a).height for a in table.quasi_identifiers]
    nodes = (dict(zip(table.quasi_identifiers, node)) for node in np.ndindex(*(height + 1 for height in heights)))
    passing = [
        recoded
        for levels in nodes
        if classes_hold(recoded := LocalRecoding.full_domain(table, levels), table, requirement)
    ]
    if passing:
        best = max(recoded.information_utility for recoded in passing)
        assert best_full_domain(table, requirement).information_utility == pytest.approx(best)
    else:
        with pytest.raises(NothingPublishableError):
            best_full_domain(table, requirement)


def test_of_two_minimal_tables_the_one_with_more_information_is_taken() -> None:
    """Suppressing either attribute satisfies; the one with two values loses less."""
    domain = Domain.of({"a": Hierarchy.flat("1234"), "b": Hierarchy.flat("12"), "s": Hierarchy.flat("xy")})
    a, b = np.indices((4, 2)).reshape(2, -1)
    counts = ContingencyTable.from_cells(
        domain, dict.fromkeys("abs", 0), {"a": a, "b": b, "s": (a + b) % 2}, np.ones(8, dtype=int)
    )
    table = Table(counts, {"a": Role.QUASI_IDENTIFIER, "b": Role.QUASI_IDENTIFIER, "s": Role.SENSITIVE})
    best = best_full_domain(table, Functional(Fraction(1, 2), 2))
    assert best.levels(0) == {"a": 0, "b": 1}
    assert best.information_utility == pytest.approx((1 + 1 / 2 + 1) / 3)
    coarser = best_full_domain(table, Functional(Fraction(1, 2), 2), k=4)
    assert coarser.sizes.tolist() == [4, 4]


@given(tables(), requirements(2))
def test_the_frame_holds_all_that_is_published(table: Table, requirement: Functional) -> None:
    try:
        swept = sweep(table, requirement)
    except NothingPublishableError:
        return
    frame = swept.frame()
    assert list(frame.columns) == [*table.domain.attributes, "count"]
    assert frame["count"].sum() == swept.rows == table.rows
    assert swept.sizes.sum() == table.rows
    assert len(swept.class_of) == len(frame)
    secret = table.sensitive[0]
    for position in range(len(swept)):
        rows = frame[swept.class_of == position]
        assert (rows[list(table.quasi_identifiers)] == swept.labels(position)).all(axis=None)
        assert rows.groupby(secret)["count"].sum().to_dict() == swept.distribution(position, secret)
        assert rows["count"].sum() == swept.sizes[position]
    assert swept.class_counts(secret).sum(axis=1).tolist() == swept.sizes.tolist()
    assert swept.satisfies(requirement) == bool(
        satisfies(swept.requirement_on(secret, requirement), swept.class_counts(secret)).all()
    )
    assert swept.as_json() == {
        "classes": len(swept),
        "smallest_class": min(swept.sizes),
        "average_class_size": pytest.approx(table.rows / len(swept)),
        "discernibility": sum(int(size) ** 2 for size in swept.sizes),
        "information_utility": swept.information_utility,
    }


@given(tables())
def test_only_values_that_occur_have_weight(table: Table) -> None:
    (secret,) = table.sensitive
    labels = table.domain.hierarchy(secret).labels[0]
    occurring = {values[table.domain.attributes.index(secret)] for values, _ in table.counts.cells()}
    weights = occurrence_weights(table)
    assert {label for label, weight in zip(labels, weights[secret]) if weight} == occurring
    assert set(weights[secret]) <= {0, 1}


@given(tables())
def test_every_attribute_needs_a_role(table: Table) -> None:
    cells = LocalRecoding.full_domain(table, dict.fromkeys(table.quasi_identifiers, 0)).cells
    with pytest.raises(DomainMismatchError):
        LocalRecoding(cells, table.quasi_identifiers, ())

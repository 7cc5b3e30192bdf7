"""SWEEP: what it publishes is diverse, holds every row once, and retains more than the baselines."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks import Functional, Induction, Requirements, Simple, equivalence_classes, parse_diversity, satisfies
from marginals import Attribute, InputError, Policy, Role, Table, anonymize, read_hierarchy, read_table
from marginals.errors import NothingPublishableError
from marginals.example import table as example_table
from marginals.recoding import hilbert, query_error, sweep
from marginals.recoding import sweeping as class_order_module
from marginals.recoding.hilbert_curve import eligible_l, hilbert_groups
from marginals.recoding.lattice import minimal_tables, single_table
from marginals.recoding.local_recoding import LocalRecoding
from marginals.recoding.sweeping import _FOR_LEVELS, MOST_LOOKS, InducedBound, class_order
from marginals.results import plain
from marginals.usefulness import tree_accuracy
from models import Collection, ContingencyTable, Domain, GeneralizedCells, Hierarchy, information_utility
from recoding_oracles import classes_hold, line_holds, requirements, rows_that_fit, tables
from strategies import hierarchies
from written_bundles import release_of


def classes(recoded: LocalRecoding) -> list[pd.DataFrame]:
    """The published rows of each class."""
    return [rows for _, rows in recoded.frame().groupby(recoded.class_of)]


def can_be_met(table: Table, attribute: str, requirement: Functional) -> bool:
    """Whether the values that occur are diverse when all of them are equally frequent: no distribution is more so."""
    number = len(np.unique(table.counts.column(attribute, 0)))
    return line_holds([Fraction(1, number)] * number, requirement)


@pytest.mark.parametrize("sensitive", [1, 2])
@given(data=st.data(), requirement=requirements(), k=st.just(1) | st.integers(1, 12))
def test_every_row_is_published_once_in_a_diverse_class(
    sensitive: int, data: st.DataObject, requirement: Functional, k: int
) -> None:
    """Each of several sensitive attributes is diverse, and classes have as many rows as asked for."""
    table = data.draw(tables(sensitive_count=sensitive))
    if table.rows < k or not all(can_be_met(table, attribute, requirement) for attribute in table.sensitive):
        with pytest.raises(NothingPublishableError):
            sweep(table, requirement, k=k)
        return
    swept = sweep(table, requirement, k=k)
    assert swept.sizes.min() >= k
    assert rows_that_fit(table.counts, swept.cells) == swept.rows == table.rows
    assert classes_hold(swept, table, requirement)
    assert swept.satisfies(requirement)


@given(tables(), requirements(3))
def test_a_table_whose_base_classes_are_diverse_stays_as_it_is(table: Table, requirement: Functional) -> None:
    raw = LocalRecoding.full_domain(table, dict.fromkeys(table.quasi_identifiers, 0))
    if raw.satisfies(requirement):
        swept = sweep(table, requirement)
        assert np.array_equal(swept.cells.nodes, raw.cells.nodes)
        assert np.array_equal(swept.cells.counts, raw.cells.counts)
    else:
        assert not classes_hold(raw, table, requirement)


def test_what_would_take_minutes_is_refused_in_a_sentence_before_it_starts() -> None:
    """15 attributes have 32,768 combinations of levels, on each of which SWEEP looks at all distinct rows."""
    flat = Hierarchy.flat(["0", "1"])
    bits = [tuple(f"{number:06b}") for number in range(40)]
    table = _table({f"q{i}": flat for i in range(6)} | {"s": flat}, [(*b, b[-1]) for b in bits], ["s"])
    looks = 2**6 * (len(table.base_counts) + _FOR_LEVELS)
    assert looks < MOST_LOOKS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_order_module, "MOST_LOOKS", looks)
        assert sweep(table, "functional:0.9,2", k=2).rows == 40
        patch.setattr(class_order_module, "MOST_LOOKS", looks - 1)
        with pytest.raises(InputError, match="63 combinations are the most for so many rows") as refused:
            sweep(table, "functional:0.9,2", k=2)
    assert "40 different rows at 64 combinations of levels" in str(refused.value)
    with pytest.raises(InputError, match="hilbert keeps any, or k alone"):
        sweep(table, "entropy:1.5", k=2)


def test_among_classes_of_equal_information_those_finer_in_the_more_important_attribute_come_first() -> None:
    """TZ09 Fig. 3 and Example 7."""
    hierarchies = {"a": Hierarchy.flat(["a1", "a2"]), "b": Hierarchy.flat(["b1", "b2"]), "s": Hierarchy.flat("xy")}
    rows = [("a1", "b1", "x"), ("a1", "b2", "y"), ("a2", "b1", "y"), ("a2", "b2", "x")]
    table = _table(hierarchies, rows, ["s"])
    assert class_order(table, ("a", "b")) == class_order(table, ("b", "a")) == ((0, 0), (0, 1), (1, 0), (1, 1))
    for importance in (("a", "b"), ("b", "a")):
        swept = sweep(table, Functional(Fraction(1, 2), 2), importance)
        first = hierarchies[importance[0]].labels[0]
        assert [rows[[importance[0], "s"]].nunique().tolist() for rows in classes(swept)] == [[1, 2]] * 2
        assert {*swept.frame()[importance[0]]} == {*first}


PATIENTS = [
    ("20", "10000", "hepatitis"), ("20", "10001", "hepatitis"), ("20", "10002", "hepatitis"),
    ("20", "10003", "hepatitis"), ("29", "10004", "phthisis"), ("33", "10004", "hepatitis"),
    ("32", "10005", "phthisis"), ("31", "10006", "phthisis"), ("30", "10007", "phthisis"), ("30", "10005", "anemia"),
    ("28", "10019", "hepatitis"), ("29", "10017", "flu"),
]  # fmt: skip
"""TZ09 Fig. 1 (a)."""


DISEASES = Hierarchy.from_rows(
    [
        ("hepatitis", "hemal disease", "*"), ("anemia", "hemal disease", "*"), ("phthisis", "lung disease", "*"),
        ("flu", "lung disease", "*"),
    ]
)  # fmt: skip


HALF_THREE = Functional(Fraction(1, 2), 3)


def _table(hierarchies: Mapping[str, Hierarchy], rows: Sequence[tuple[str, ...]], sensitive: Sequence[str]) -> Table:
    domain = Domain.of(hierarchies)
    codes = {
        a: np.array([h.code(value, 0) for value in column]) for (a, h), column in zip(hierarchies.items(), zip(*rows))
    }
    counts = ContingencyTable.from_cells(domain, dict.fromkeys(hierarchies, 0), codes, np.ones(len(rows), dtype=int))
    return Table(counts, {a: Role.SENSITIVE if a in sensitive else Role.QUASI_IDENTIFIER for a in hierarchies})


@pytest.fixture
def patients() -> Table:
    ages = Hierarchy.from_intervals(["20", "39"], [10, 20])
    zips = Hierarchy.from_prefixes([f"{number}" for number in range(10000, 10100)], [4])
    return _table({"age": ages, "zip": zips, "disease": DISEASES}, PATIENTS, ["disease"])


def test_the_published_table_of_the_paper(patients: Table) -> None:
    """TZ09 Fig. 2 and Examples 1 to 4: induced frequencies .5, .25, .25, 0; the information of row 1 is 0.7."""
    t = {a: GeneralizedCells.of(patients.counts).taxonomies[i] for i, a in enumerate(patients.domain.attributes)}
    young, old, all_ages = (t["age"].labels.index(label) for label in ("20-29", "30-39", "20-39"))
    near, all_zips = t["zip"].labels.index("1000*"), t["zip"].root
    hepatitis, anemia, phthisis, flu, hemal = map(
        t["disease"].labels.index, ("hepatitis", "anemia", "phthisis", "flu", "hemal disease")
    )
    first = [(young, near, d) for d in (hemal, hemal, hepatitis, phthisis)]
    second = [(old, near, d) for d in (hepatitis, phthisis, phthisis, anemia)]
    third = [(all_ages, all_zips, d) for d in (hepatitis, phthisis, hepatitis, flu)]
    nodes = np.array(first + second + third)
    cells = GeneralizedCells.from_rows(patients.domain, nodes, np.ones(12, dtype=int))
    published = LocalRecoding(cells, ("age", "zip"), ("disease",))
    frequencies = published.requirement_on("disease", HALF_THREE).frequencies(published.class_counts("disease"))
    order = [sorted(row, reverse=True) for row in frequencies.tolist()]
    assert order == [[0.5, 0.25, 0.25, 0.0]] * 3
    assert published.satisfies(HALF_THREE)
    assert classes_hold(published, patients, HALF_THREE)
    assert not published.satisfies(Functional(Fraction(49, 100), 3))
    assert not published.satisfies(Functional(Fraction(1, 2), 4))
    assert published.information_utility == pytest.approx((2 * 0.7 + 6 * 1.2 + 4 * 1.06) / 36)
    assert rows_that_fit(patients.counts, cells) == 12
    held = dict(classes(published)[0].groupby("disease")["count"].sum())
    assert held == {"hemal disease": 2, "hepatitis": 1, "phthisis": 1}


def test_sweep_keeps_no_less_of_the_patients_than_the_paper(patients: Table) -> None:
    """12.84 / 36 of the information (TZ09 Fig. 2); as there, two hepatitis rows are generalized before the sweep."""
    swept = sweep(patients, HALF_THREE)
    assert classes_hold(swept, patients, HALF_THREE)
    assert rows_that_fit(patients.counts, swept.cells) == 12
    assert swept.information_utility >= 12.84 / 36
    assert swept.frame().query("disease == 'hemal disease'")["count"].sum() >= 2


def test_weights_decide_what_a_general_value_induces(patients: Table) -> None:
    """With anemia thought impossible a hemal disease is hepatitis, and generalizing to it protects nobody."""
    knowing = {"disease": (1, 0, 1, 1)}
    unaware = LocalRecoding(sweep(patients, HALF_THREE).cells, ("age", "zip"), ("disease",), knowing)
    assert not unaware.satisfies(HALF_THREE)


@pytest.fixture(scope="session")
def adult(shared_data: Path) -> Table:
    folder = shared_data / "adult"
    names = ("age", "sex", "race", "marital-status", "education")
    attributes = {
        n: Attribute(
            Role.QUASI_IDENTIFIER,
            read_hierarchy(folder / "hierarchies" / f"{n}.csv"),
            label_form="names" if n == "age" else "numbers",
        )
        for n in names
    }
    secret = Attribute(Role.SENSITIVE, read_hierarchy(folder / "hierarchies" / "occupation.csv"))
    return read_table(folder / "adult.csv", attributes | {"occupation": secret}, ["?", ""], domain="observed")


@pytest.fixture(scope="session")
def nursery(shared_data: Path) -> Table:
    names = ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health")
    outcomes = [
        ("not_recom", "no", "*"), ("recommend", "recommended", "*"), ("very_recom", "recommended", "*"),
        ("priority", "priority", "*"), ("spec_prior", "priority", "*"),
    ]  # fmt: skip
    secret = Attribute(Role.SENSITIVE, Hierarchy.from_rows(outcomes))
    attributes = dict.fromkeys(names, Attribute(Role.QUASI_IDENTIFIER)) | {"class": secret}
    return read_table(shared_data / "nursery" / "nursery.csv", attributes)


def full_domain(table: Table, requirement: Functional) -> LocalRecoding:
    """The minimal full-domain table with the highest `um`."""
    demands = Requirements(table.sensitive, diversity=requirement)
    found = minimal_tables(table.cube, table.quasi_identifiers, demands).minimal
    if not found:
        raise NothingPublishableError("no full-domain table")
    best = max(found, key=lambda single: single.information_utility)
    return LocalRecoding.full_domain(table, best.levels)


def satisfied_by(name: str, table: Table, requirement: Functional) -> float | None:
    """The `um` of one of the baselines, None where it returns nothing."""
    try:
        recoded = hilbert(table, requirement) if name == "hilbert" else full_domain(table, requirement)
    except NothingPublishableError:
        return None
    assert recoded.satisfies(requirement)
    assert recoded.rows == table.rows
    return recoded.information_utility


@pytest.mark.data
@pytest.mark.parametrize(
    ("data", "tau", "l", "answering"),
    [
        ("adult", "0.9", 2, ["hilbert", "lattice"]), ("adult", "0.5", 3, ["hilbert", "lattice"]),
        ("adult", "0.3", 5, ["hilbert", "lattice"]), ("adult", "0.18", 7, ["hilbert", "lattice"]),
        ("adult", "0.2", 8, ["lattice"]), ("adult", "0.12", 10, []), ("adult", "0.1", 12, []),
        ("nursery", "0.6", 3, ["hilbert", "lattice"]), ("nursery", "0.4", 3, ["hilbert", "lattice"]),
        ("nursery", "0.4", 4, []), ("nursery", "0.2", 5, []),
    ],
)  # fmt: skip
def test_sweep_retains_more_than_the_baselines_and_answers_where_they_do_not(
    request: pytest.FixtureRequest, data: str, tau: str, l: int, answering: list[str]
) -> None:
    """TZ09 Fig. 6."""
    table: Table = request.getfixturevalue(data)
    requirement = Functional(Fraction(tau), l)
    swept = sweep(table, requirement)
    assert swept.satisfies(requirement)
    assert classes_hold(swept, table, requirement)
    assert swept.rows == table.rows
    reached = {name: satisfied_by(name, table, requirement) for name in ("hilbert", "lattice")}
    assert [name for name, utility in reached.items() if utility is not None] == answering
    assert swept.information_utility > max((utility for utility in reached.values() if utility is not None), default=0)


@given(tables(), st.sampled_from([None, "distinct:2", "entropy:1.5", "recursive:2,2", "simple:2"]), st.integers(1, 12))
def test_other_criteria_and_k_alone_hold_in_every_class(table: Table, diversity: str | None, k: int) -> None:
    criterion = None if diversity is None else parse_diversity(diversity)
    (sensitive,) = table.sensitive
    whole = np.bincount(table.counts.column(sensitive, 0), table.counts.counts).astype(np.int64)[None]
    possible = table.rows >= k and (criterion is None or bool(satisfies(criterion, whole).all()))
    try:
        recoded = hilbert(table, diversity, k=k)
    except NothingPublishableError:
        assert not possible or criterion is not None
        return
    assert possible
    assert rows_that_fit(table.counts, recoded.cells) == recoded.rows == table.rows
    for rows in classes(recoded):
        held = rows.groupby(sensitive)["count"].sum().to_numpy()
        assert held.sum() >= k
        assert criterion is None or satisfies(criterion, held[None]).all()


@given(tables(sensitive_count=2), st.integers(1, 12))
def test_k_alone_needs_no_single_sensitive_attribute(table: Table, k: int) -> None:
    with pytest.raises(InputError, match="the table has 2"):
        hilbert(table, "distinct:2")
    if table.rows >= k:
        recoded = hilbert(table, k=k)
        assert recoded.sizes.min() >= k
        assert rows_that_fit(table.counts, recoded.cells) == recoded.rows == table.rows


def bound_on(hierarchy: Hierarchy, requirement: Functional, rows: int = 1000) -> InducedBound:
    """For classes counted by the values of all levels, the most general first."""
    values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))][::-1]
    induction = Induction.of_values(hierarchy, values)
    return InducedBound(
        Functional(requirement.tau, requirement.l, induction), np.array([level for level, _ in values]), rows
    )


def class_counts(columns: int) -> st.SearchStrategy[np.ndarray]:
    """1 .. 6 classes with up to 9 rows of a value.

    [[0, 3, 1], [9, 0, 0]]
    """
    row = st.lists(st.just(0) | st.integers(0, 9), min_size=columns, max_size=columns)
    return st.lists(row, min_size=1, max_size=6).map(np.array)


def thinned_one_by_one(counts: list[int], requirement: Functional) -> list[int]:
    """TZ09 Fig. 4, steps 10 to 13, for base values."""
    counts = list(counts)
    while any(counts) and not line_holds([Fraction(c, sum(counts)) for c in counts], requirement):
        counts[max(range(len(counts)), key=lambda value: counts[value])] -= 1
    return counts


@given(class_counts(5), requirements())
def test_thinning_leaves_what_removing_the_dominant_rows_one_by_one_leaves(
    counts: np.ndarray, requirement: Functional
) -> None:
    """Which of several equally frequent values gives up a row is free, so the sorted counts are compared."""
    identity = Induction(tuple(tuple(Fraction(i == j) for j in range(5)) for i in range(5)))
    bound = InducedBound(Functional(requirement.tau, requirement.l, identity), np.zeros(5, dtype=np.intp), 1000)
    left = bound.thinned(counts)
    assert (left <= counts).all()
    for before, after in zip(counts.tolist(), left.tolist()):
        assert sorted(after) == sorted(thinned_one_by_one(before, requirement))


def fewest_rows_left(counts: tuple[int, ...], bound: InducedBound) -> int:
    """The rows that steps 10 to 13 of TZ09 Fig. 4 leave under the worst order of ties, by trying all."""

    @cache
    def fewest(left: tuple[int, ...]) -> int:
        row = np.array([left])
        if bound.holds(row)[0]:
            return sum(left)
        (masses,) = bound.masses(row).tolist()
        dominant = [base for base, mass in enumerate(masses) if mass == max(masses)]
        results = []
        for base in dominant:
            share = {value: bound.shares[value, base] for value, rows in enumerate(left) if rows}
            for value in (value for value in share if share[value] == max(share.values())):
                results.append(fewest((*left[:value], left[value] - 1, *left[value + 1 :])))
        return min(results)

    return fewest(counts)


SHARED = Hierarchy.from_rows([("s0", "sx", "*"), ("s1", "sx", "*"), ("s2", "sy", "*"), ("s3", "sz", "*")])


@settings(max_examples=300)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), requirements())
@example([0, 0, 0, 1, 1, 0, 0, 1], Functional(Fraction(1, 2), 3))
def test_thinning_leaves_no_less_of_general_values_than_some_order_of_the_paper(
    counts: list[int], requirement: Functional
) -> None:
    """Rows that count in parts: halving alone left nothing of one sx, one s0 and one s3."""
    bound = bound_on(SHARED, requirement, rows=40)
    (left,) = bound.thinned(np.array([counts]))
    assert bound.holds(left[None])[0]
    assert left.sum() >= fewest_rows_left(tuple(counts), bound)


def test_a_class_that_the_paper_keeps_is_kept() -> None:
    """Every run of TZ09 Fig. 4 keeps at least this much information of these five rows."""
    hierarchies = {
        "A": Hierarchy.from_rows([("a0", "ax", "*"), ("a1", "ax", "*"), ("a2", "ay", "*"), ("a3", "ay", "*")]),
        "B": Hierarchy.flat(["b0", "b1", "b2"]),
        "S": SHARED,
    }
    rows = [("a2", "b0", "s1"), ("a0", "b2", "s1"), ("a3", "b0", "s0"), ("a0", "b1", "s2"), ("a3", "b1", "s2")]
    attributes = {
        name: Attribute("sensitive" if name == "S" else "quasi-identifier", hierarchy, labels="public")
        for name, hierarchy in hierarchies.items()
    }
    table = read_table(pd.DataFrame(rows, columns=list("ABS")), attributes)
    assert sweep(table, "functional:1/2,3").information_utility >= float(Fraction(19, 36)) - 1e-12


@given(st.data(), hierarchies(), requirements())
def test_verdicts_are_those_of_the_criterion_and_stay_exact_for_any_number_of_rows(
    data: st.DataObject, hierarchy: Hierarchy, requirement: Functional
) -> None:
    bound = bound_on(hierarchy, requirement)
    counts = data.draw(class_counts(len(bound.levels)).filter(lambda drawn: drawn.any(axis=1).all()))
    expected = [bound.requirement.decide(row) for row in counts.tolist()]
    assert bound.holds(counts).tolist() == expected
    huge = bound_on(hierarchy, requirement, 2**70)
    assert huge.shares.dtype == object
    assert huge.holds(counts).tolist() == expected
    assert np.array_equal(huge.thinned(counts), bound.thinned(counts))


@given(tables(), st.data())
def test_every_row_is_published_once_in_a_class_that_is_simple_l_diverse(table: Table, data: st.DataObject) -> None:
    values = np.repeat(table.counts.column(table.sensitive[0], 0), table.counts.counts)
    l, k = data.draw(st.integers(1, eligible_l(values))), data.draw(st.integers(1, table.rows))
    recoded = hilbert_groups(table, l, k=k)
    assert recoded.sizes.min() >= k
    assert rows_that_fit(table.counts, recoded.cells) == recoded.rows == table.rows
    assert satisfies(Simple(Fraction(l)), recoded.class_counts(table.sensitive[0])).all()
    with pytest.raises(NothingPublishableError):
        hilbert_groups(table, eligible_l(values) + 1)
    with pytest.raises(NothingPublishableError):
        hilbert_groups(table, l, k=table.rows + 1)


@given(tables(), requirements())
def test_the_first_l_that_satisfies_the_requirement_is_taken(table: Table, requirement: Functional) -> None:
    values = np.repeat(table.counts.column(table.sensitive[0], 0), table.counts.counts)
    tried = [hilbert_groups(table, l) for l in range(2, eligible_l(values) + 1)]
    passing = [recoded for recoded in tried if classes_hold(recoded, table, requirement)]
    if passing:
        assert np.array_equal(hilbert(table, requirement).cells.nodes, passing[0].cells.nodes)
    else:
        with pytest.raises(NothingPublishableError):
            hilbert(table, requirement)


def test_groups_are_published_under_the_nearest_values_that_cover_them() -> None:
    domain = Domain.of({"age": Hierarchy.from_intervals(map(str, range(8)), [2, 4]), "s": Hierarchy.flat("xy")})
    codes = {"age": np.array([0, 1, 4, 6]), "s": np.array([0, 1, 0, 1])}
    counts = ContingencyTable.from_cells(domain, {"age": 0, "s": 0}, codes, np.ones(4, dtype=int))
    recoded = hilbert_groups(Table(counts, {"age": Role.QUASI_IDENTIFIER, "s": Role.SENSITIVE}), 2)
    assert [{*rows["age"]} for rows in classes(recoded)] == [{"0-1"}, {"4-7"}]
    both = Table(counts, dict.fromkeys(domain.attributes, Role.SENSITIVE))
    with pytest.raises(InputError, match="one sensitive attribute"):
        hilbert_groups(both, 2)


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
    for rows, size in zip(classes(swept), swept.sizes, strict=True):
        assert (rows[list(table.quasi_identifiers)].nunique() == 1).all()
        assert rows["count"].sum() == size
    assert swept.class_counts(secret).sum(axis=1).tolist() == swept.sizes.tolist()
    assert swept.satisfies(requirement) == bool(
        satisfies(swept.requirement_on(secret, requirement), swept.class_counts(secret)).all()
    )
    assert plain(swept) == {
        "classes": len(swept),
        "smallest_class": min(swept.sizes),
        "average_class_size": pytest.approx(table.rows / len(swept)),
        "discernibility": sum(int(size) ** 2 for size in swept.sizes),
        "information_utility": swept.information_utility,
    }


@pytest.mark.parametrize("k", [2, 4, 8, 12])
def test_a_table_is_measured_alike_as_a_marginal_and_as_a_recoding(k: int) -> None:
    found = anonymize(example_table, Policy(k_link=k, diversity="none")).minimal[0]
    margin = example_table.domain.mask({**found.levels, "diagnosis": 0})
    alone = release_of(Collection.of(example_table.cube, [margin]), example_table.roles)
    for conditions in (1, 2, 3):
        recoded = query_error(LocalRecoding.full_domain(example_table, found.levels), example_table, conditions, 50)
        assert recoded == pytest.approx(query_error(alone, example_table, conditions, 50))


AGES = Hierarchy.from_intervals(map(str, range(8)), [4])
"""s is x below 4 in three of four rows, and y from 4 on."""


TABLE = ContingencyTable.from_cells(
    Domain.of({"age": AGES, "sex": Hierarchy.flat("fm"), "s": Hierarchy.from_rows([("x", "*"), ("y", "*")])}),
    {"age": 0, "sex": 0, "s": 0},
    {"age": np.repeat(np.arange(8), 4), "sex": np.tile([0, 1], 16), "s": np.array([0, 0, 0, 1] * 4 + [1, 1, 1, 0] * 4)},
    np.full(32, 500),
)


def test_a_tree_learns_what_the_generalized_values_still_tell() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    told = {level: GeneralizedCells.of(TABLE.rolled_up({"age": level, "s": 0})) for level in (0, 1, 2)}
    reached = {level: tree_accuracy(cells, TABLE, "s", np.random.default_rng(0)) for level, cells in told.items()}
    assert reached == {0: 0.75, 1: 0.75, 2: pytest.approx(0.5, abs=0.2)}, "the interval tells as much as the age"


def test_without_scikit_learn_one_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(InputError, match="scikit-learn"):
        tree_accuracy(GeneralizedCells.of(TABLE), TABLE, "s", np.random.default_rng(0))

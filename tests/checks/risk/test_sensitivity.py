"""Sensitivities weigh what LSFB09 says they weigh, and never more for a more general record."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Constant, Linear, Multiplicative, Records, RecordSpace, Weights
from checks.risk.attackers import distance_from_root
from checks.risk.harm import PerPerson, harmonic_shares
from marginals import SensitivityError
from models import Domain, Hierarchy, Taxonomy
from risk_strategies import constant_shares, generalizations, records, sensitivities, spaces
from strategies import hierarchies

CUSTOMERS = RecordSpace(
    Domain.of(
        {
            "city": Hierarchy.from_rows(
                [
                    ("West Lafayette", "Tippecanoe", "Indiana", "Midwest", "*"),
                    ("Gary", "Lake", "Indiana", "Midwest", "*"),
                ]
            ),
            "race": Hierarchy.from_rows(
                [("White", "European", "*"), ("Chinese", "Asian", "*"), ("Thai", "Asian", "*")]
            ),
            "birthdate": Hierarchy.from_rows((f"{d:02d}/05/1975", "May 1975", "1975", "*") for d in range(1, 32)),
            "income": Hierarchy.from_rows(
                (f"${k}k", f"{k // 10 * 10}", f"{(k - 20) // 40}", "[$20k, $99k]", "*") for k in range(20, 100)
            ),
        }
    )
)
"""Domain generalization hierarchies of the heights of LSFB09 Fig. 8, 4, 2, 3 and 4 as its utilities say; of the
birthdates only those of one month, and of the incomes only the 80 of one interval."""

EXAMPLES = Records(CUSTOMERS, np.array([[0, 0, 9, 32], [0, 5, 31, 80 + 8 + 2]]))
"""(West Lafayette, White, 05/10/1975, $52k) and (West Lafayette, suppressed, May 1975, [$20k, $99k])."""

WEIGHTS = (0.3, 0.4, 0.5, 0.75)


def test_the_records_of_the_case_study() -> None:
    labels = [[t.labels[node] for t, node in zip(CUSTOMERS.taxonomies, record)] for record in EXAMPLES.nodes.tolist()]
    assert labels[0] == ["West Lafayette", "White", "10/05/1975", "$52k"]
    assert labels[1] == ["West Lafayette", "*", "May 1975", "[$20k, $99k]"]


def test_sensitivities_losses_and_utilities_of_the_case_study() -> None:
    """LSFB09 section 8: e^(0.3+0.4+0.5+0.75) = 7.03 and e^(0.3+0+0.5/31+0.75/80) = 1.38; over 7 and 198 consistent
    entries 1.004 and 0.007; utilities 13 and 7.
    """
    phi = Multiplicative(Weights.linear(map(harmonic_shares, CUSTOMERS.taxonomies), WEIGHTS))
    found = phi(EXAMPLES, np.arange(2))
    assert found == pytest.approx([np.exp(0.3 + 0.4 + 0.5 + 0.75), np.exp(0.3 + 0.5 / 31 + 0.75 / 80)])
    assert found.round(2).tolist() == [7.03, 1.38]
    assert (found / [7, 198]).round(3).tolist() == [1.004, 0.007]
    assert distance_from_root(EXAMPLES).tolist() == [13, 7]


def test_a_parent_of_l_equal_children_weighs_w_over_l() -> None:
    """LSFB09 section 8: a county weighs w / l for its l cities, a state w / n for the n cities of its counties."""
    cities = [
        (f"{state}{county}{city}", f"{state}{county}", state, "*")
        for state in "pq"
        for county in "ab"
        for city in "xyz"
    ]
    taxonomy = Taxonomy(Hierarchy.from_rows(cities[:-1]))
    shares = dict(zip(taxonomy.labels, harmonic_shares(taxonomy, np.full(11, 0.6))))
    assert shares["pax"] == pytest.approx(0.6)
    assert [shares["pa"], shares["qb"]] == pytest.approx([0.6 / 3, 0.6 / 2])
    assert [shares["p"], shares["q"]] == pytest.approx([0.6 / 6, 0.6 / 5])
    assert shares["*"] == 0


@given(hierarchies(), st.data())
def test_the_harmonic_mean_level_by_level(hierarchy: Hierarchy, data: st.DataObject) -> None:
    """w_p = 1 / sum(1 / w_i) over the children themselves, the root 0; infinite and zero weights included."""
    taxonomy = Taxonomy(hierarchy)
    amounts = st.sampled_from([0.0, 0.1, 1.0, 7.0, np.inf])
    base = np.array(data.draw(st.lists(amounts, min_size=hierarchy.size(0), max_size=hierarchy.size(0))))
    shares = harmonic_shares(taxonomy, base)
    with np.errstate(divide="ignore"):
        for node in range(hierarchy.size(0), taxonomy.root):
            children = shares[np.flatnonzero(taxonomy.parents[:-1] == node)]
            assert shares[node] == pytest.approx(1 / np.sum(1 / children))
    assert shares[taxonomy.root] == 0
    assert np.all(shares[taxonomy.parents] <= shares), "generalizing lowers the sensitivity"


@given(st.data())
def test_a_more_general_record_is_never_more_sensitive(data: st.DataObject) -> None:
    space = data.draw(spaces())
    fine = data.draw(records(space))
    coarse, people = data.draw(generalizations(fine)), np.arange(len(fine))
    phi = data.draw(sensitivities(space, len(fine)))
    assert np.all(phi(coarse, people) <= phi(fine, people))


@given(st.data())
def test_interactions_as_equation_4_sums_them(data: st.DataObject) -> None:
    """Phi3 with k = 2 over the attributes that are not suppressed, each record with its own weights."""
    space = data.draw(spaces())
    disclosed = data.draw(records(space))
    terms = [(axis,) for axis in range(len(space))] + list(combinations(range(len(space)), 2))
    weights = np.random.default_rng(0).uniform(size=(len(disclosed), len(terms)))
    phi = Linear(Weights(tuple(map(constant_shares, space.taxonomies)), tuple(terms), weights))
    shown = disclosed.nodes != space.roots
    summed = [
        sum(w for term, w in zip(terms, row) if all(present[axis] for axis in term))
        for row, present in zip(weights, shown)
    ]
    assert phi(disclosed, np.arange(len(disclosed))) == pytest.approx(summed)


def test_never_disclose_is_infinite_unless_suppressed() -> None:
    phi = Linear(Weights.linear(map(constant_shares, CUSTOMERS.taxonomies), [0.3, np.inf, 0.5, 0.75]))
    assert phi(EXAMPLES, np.arange(2)) == pytest.approx([np.inf, 1.55])


def test_weights_that_make_no_sense_are_refused() -> None:
    shares = [constant_shares(taxonomy) for taxonomy in CUSTOMERS.taxonomies]
    for weights in ([0.1, 0.2], [0.1, 0.2, -0.3, 0.4], [0.1, 0.2, np.nan, 0.4], [[[1.0]]]):
        with pytest.raises(SensitivityError):
            Weights.linear(shares, np.array(weights))
    with pytest.raises(SensitivityError):
        Weights(tuple(shares), ((4,),), np.ones(1))
    with pytest.raises(SensitivityError):
        harmonic_shares(CUSTOMERS.taxonomies[1], np.array([1.0, -1.0, 1.0]))
    with pytest.raises(SensitivityError):
        harmonic_shares(CUSTOMERS.taxonomies[1], np.ones(5))
    with pytest.raises(SensitivityError):
        Constant(-1.0)


def test_harm_of_each_persons_own_depends_on_nothing_else() -> None:
    own = PerPerson(np.array([0.0, 2.0, np.inf]))
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"])}))
    assert own(Records(space, np.array([[0], [2], [1], [0]])), np.array([1, 1, 2, 0])).tolist() == [2, 2, np.inf, 0]
    assert own.is_personal
    assert not own.axes
    with pytest.raises(SensitivityError, match="missing or negative"):
        PerPerson(np.array([1.0, np.nan]))

"""Claims given pairs of values that nobody has, against integer programs over the tables that are 0 there."""

import os
from collections import Counter

import pytest

from checks import CriterionError, Question, Verdict, impossible, parse_claim
from drawn_margins import DrawnMargins
from filled_tables import apart, flat_domain, of_rows
from models import Collection, DataCube, Domain, Hierarchy

given_pairs = impossible.given_pairs
CASES = 2_000 if "MARGINALS_TIMES" in os.environ else 20
Pairs = list[dict[str, list[str]]]


def verdicts(collection: Collection, pairs: Pairs, k: int) -> list[Verdict]:
    claims = (parse_claim({"criterion": name, "k": k}) for name in ("k-combinatorial", "min-cell", "no-small-certain"))
    return [claim.check(Question(given_pairs(collection, pairs))).verdict for claim in claims]


def test_two_one_way_tables_leak_where_first_values_exclude_each_other() -> None:
    collection = apart(flat_domain(A=2, B=2), {"A": [3, 4], "B": [3, 4]})
    assert verdicts(collection, [], 3) == [Verdict.HOLDS] * 3
    # A0 has B1 alone and B0 has A1 alone, so that one row is left for A1 and B1
    assert verdicts(collection, [{"A": ["A0"], "B": ["B0"]}], 3) == [Verdict.FAILS] * 3


def test_pairs_that_a_table_shows_as_empty_add_nothing() -> None:
    collection = apart(flat_domain(A=2, B=2, C=2), {"AB": [0, 3, 3, 4], "BC": [3, 0, 4, 3]})
    assert given_pairs(collection, [{"A": ["A0"], "B": ["B0"]}]) is collection
    assert verdicts(collection, [{"A": ["A0"], "B": ["B0"]}], 3) == [Verdict.HOLDS] * 3


def test_values_below_published_ones_that_are_in_several_pairs_are_not_judged() -> None:
    domain = Domain.of({"A": Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*")]), "B": Hierarchy.flat("cd"),
                        "C": Hierarchy.flat("ef")})  # fmt: skip
    collection = Collection.of(
        DataCube([of_rows(domain, [[0, 0, 0]] * 5 + [[1, 1, 1]] * 5)]),
        [domain.mask({"A": 1, name: 0}) for name in "BC"],
    )
    pairs = [{"A": ["a"], "B": ["d"]}, {"A": ["b"], "C": ["e"]}]
    with pytest.raises(CriterionError, match="coarser"):
        given_pairs(collection, pairs)
    assert given_pairs(collection, pairs[:1]) is collection


@pytest.mark.parametrize("criterion", ["k-combinatorial", "min-cell"])
def test_what_holds_given_pairs_holds_of_all_tables_that_are_empty_there(criterion: str) -> None:
    """Pairs are shown or not, tables form trees and circles."""
    seen = Counter[str]()
    for seed in range(CASES):
        try:
            case = DrawnMargins(seed, with_pairs=True)
        except CriterionError:
            continue
        k = int(case.rng.integers(2, case.k + 1))
        claim = parse_claim({"criterion": criterion, "k": k})
        verdict = claim.check(Question(case.collection, case.sensitive)).verdict
        seen[f"{verdict.value}{' beside supports' if case.collection.supports else ''}"] += 1
        if verdict is Verdict.HOLDS:
            assert not case.has_small_most(k, case.sensitive if criterion == "k-combinatorial" else ()), seed
    assert min(seen["holds"], seen["holds beside supports"], seen["fails"]) > CASES // 30, seen

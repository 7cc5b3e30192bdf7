"""What fitted levels and missing additions tell, against all tables with the published marginals."""

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    Claim,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    PrivacyConstraint,
    Question,
    Requirements,
    parse_diversity,
)
from checks.attacks.algorithm import Conclusion, FittedLevelDisclosure, Refusals, level_told, refusals
from filled_tables import counted, filled, flat_domain, of_rows, published
from marginals import Attribute, Policy, attack, publish, read_table
from marginals.tables.group_names import GroupNaming
from marginals.tables.levels import attribute_ladder
from models import Collection, ContingencyTable, DataCube, Deadline, Domain, Hierarchy
from models.tables.fitted_levels import FittedLadder

# What fitted levels tell, against every table that is published with the same counts and labels.


TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
GIVEN = {
    "numbers": Attribute("quasi-identifier", ladder="fitted"),
    "tree": Attribute("quasi-identifier", hierarchy=TREE, ladder="fitted"),
    "bands": Attribute("quasi-identifier", intervals=[2], ladder="fitted"),
}

VALUES = {"numbers": ["1", "2", "3", "4"], "tree": ["a", "b", "c", "d"], "bands": ["1", "2", "4", "6"]}


def ladder(kind: str, counts: tuple[int, ...], k: int) -> tuple[Hierarchy, np.ndarray]:
    """The hierarchy of a column with so many rows of each of its values, and the rows of its base values."""
    given_one = GIVEN[kind].hierarchy_of(VALUES[kind])
    rows = np.zeros(given_one.size(0), dtype=np.int64)
    for value, count in zip(VALUES[kind], counts):
        rows[given_one.labels[0].index(value)] = count
    return attribute_ladder(GroupNaming.of("z", GIVEN[kind], given_one), rows, k), rows


def all_told(kind: str, counts: tuple[int, ...], k: int) -> Iterator[tuple[FittedLevelDisclosure, list[np.ndarray]]]:
    """What each level tells, and the rows of the merged values of each of its merged groups."""
    hierarchy, rows = ladder(kind, counts, k)
    start = GIVEN[kind].first_merged
    sizes = np.bincount(hierarchy.lift(0, start), rows, hierarchy.size(start)).astype(np.int64)
    for level in range(start + 1, hierarchy.height):
        groups = hierarchy.lift(start, level)
        members = [sizes[groups == group] for group in np.unique(groups)]
        merged = [own for own in members if len(own) > 1]
        collection = published(filled(Domain.of({"z": hierarchy}), rows), {"z": level})
        told = level_told(collection, "z", level, FittedLadder(start, k))
        assert (told is None) == (not merged)
        if told is not None:
            yield told, merged


@given(st.sampled_from(sorted(GIVEN)), st.tuples(*[st.integers(0, 40)] * 4), st.integers(1, 8))
def test_each_merged_group_holds_a_value_with_so_few_rows(kind: str, counts: tuple[int, ...], k: int) -> None:
    if not any(counts):
        return
    for told, merged in all_told(kind, counts, k):
        assert told.merged == len(merged)
        for own in merged:
            assert 1 <= own[own > 0].min() < told.fewer_than


def test_nothing_less_is_told_of_some_table() -> None:
    """Of each bound that is told, some table with small counts has a group whose rarest value comes next to it."""
    reached: dict[int, int] = {}
    for counts in product(range(0, 9, 2), (1, 2, 3, 4, 5, 6, 7), (6, 9, 20), (0, 30)):
        for told, merged in all_told("numbers", counts, 3):
            rarest = max(int(own[own > 0].min()) for own in merged)
            reached[told.fewer_than] = max(reached.get(told.fewer_than, 0), rarest)
    assert reached[3] == 2
    assert reached[5] == 4


TRIALS = int(os.environ.get("MARGINALS_TRIALS", "12"))
"""Random attributes; 500 take half an hour."""

KINDS = ("tree", "deep", "public", "repeats a value", "ordered", "numbers", "bands")


def random_attribute(rng: np.random.Generator) -> tuple[Attribute, list[str], int]:
    """A fitted attribute, its values and k. Some values need not occur, some have gaps between them, some are missing."""
    kind, number, k = str(rng.choice(KINDS)), int(rng.integers(3, 6)), int(rng.integers(2, 5))
    values = list("abcdef"[:number])
    if kind in ("numbers", "bands"):
        values = [str(each) for each in np.cumsum(rng.choice([1, 1, 1, 3] if kind == "numbers" else [1], number)) + 20]
    nodes = ["a", "b"] if kind == "repeats a value" else ["x", "y", "z"]
    rows = [(value, str(rng.choice(nodes)), "*") for value in values]
    if kind in ("ordered", "numbers"):
        rows = [(value, f"n{place // 2}", "*") for place, value in enumerate(values)]
    if kind == "deep":
        rows = [(value, node, "v" if node == "z" else "w", "*") for value, node, _ in rows]
    ways: dict[str, Any] = {} if kind == "bands" else {"hierarchy": Hierarchy.from_rows(rows)}
    ways |= {
        "public": {"labels": "public"},
        "ordered": {"order": values},
        "bands": {"intervals": [1], "start": int(values[0]) if kind == "bands" else 0},
    }.get(kind, {})
    missing = "as a value" if rng.random() < 0.3 else "drop"
    values += ["missing"] if missing != "drop" else []
    return Attribute("quasi-identifier", ladder="fitted", missing=missing, **ways), values, k


Labels = frozenset[tuple[Any, ...]]


def released(naming: GroupNaming, counts: tuple[int, ...], k: int) -> list[Labels]:
    """What a search publishes: the finest level without a small group, or one of which the next finer tells no more."""
    given, start = naming.hierarchy, naming.start
    rows = np.zeros(given.size(0), dtype=np.int64)
    rows[np.unique(given.lift(0, start), return_index=True)[1]] = counts
    hierarchy, found = attribute_ladder(naming, rows, k), []
    sizes = [np.bincount(hierarchy.lift(0, level), rows).astype(int) for level in range(hierarchy.height)]
    leaves = [hierarchy.leaf_counts(level) for level in range(hierarchy.height)]
    for level in range(start, hierarchy.height):
        above = hierarchy.lift(level - 1, level) if found else []
        if ((sizes[level] > 0) & (sizes[level] < k)).any():
            continue
        if found and (sizes[level - 1] * leaves[level][above] != sizes[level][above] * leaves[level - 1]).any():
            continue
        named, group_of = naming.named(hierarchy, level, rows, k).hierarchy, hierarchy.lift(start, level)
        is_public = naming.listing == "public"
        groups = [
            (label, int(size), tuple(np.flatnonzero(group_of == code)) if is_public else ())
            for code, (label, size) in enumerate(zip(named.labels[level], sizes[level]))
            if size
        ]
        found.append(frozenset(groups if level > start else ()))
    return found


@pytest.mark.parametrize("seed", range(TRIALS))
def test_fitted_levels_tell_what_all_tables_with_the_same_release_share(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)  # what is not examined in five seconds is not named
    rng = np.random.default_rng(seed)
    attribute, values, k = random_attribute(rng)
    naming = GroupNaming.of("z", attribute, attribute.hierarchy_of(values))
    labels, total = naming.hierarchy.labels[naming.start], int(rng.integers(2 * k, 2 * k + 5))
    tables: dict[Labels, set[tuple[int, ...]]] = {}
    finest: dict[Labels, tuple[int, ...]] = {}
    places = range(total + len(labels) - 1)
    for bars in combinations(places, len(labels) - 1):
        counts = tuple(np.diff([-1, *bars, len(places)]) - 1)
        is_within = attribute.intervals == () or (counts[0] and counts[len(labels) - 1 - ("missing" in labels)])
        all_labels = released(naming, counts, k)
        for number, shown_labels in enumerate(all_labels):
            tables.setdefault(shown_labels, set()).add(counts)
            if not number and shown_labels and is_within:
                finest[shown_labels] = counts
        for label, size, _ in next(iter(all_labels), ()):
            listed = [value for value in label.replace(" or ", ", ").split(", ") if value in labels]
            if attribute.labels != "public" and len(listed) > 1:
                assert size - len(listed) + 1 >= k, "a value that a label lists certainly has few rows"
    for number, chosen in enumerate(rng.permutation(len(finest))[:2].tolist()):
        shown_labels = [*finest][chosen]
        texts = [
            "" if own == "missing" else own for own, rows in zip(labels, finest[shown_labels]) for _ in range(rows)
        ]
        table = read_table(pd.DataFrame({"z": texts}), {"z": attribute}, k=k)
        publish(table, Policy(k_link=k, min_cell=k, base="none")).write(tmp_path / f"{number}")
        [told] = attack(tmp_path / f"{number}", truth=table).minimality.ladders or ()
        possible = np.array([*tables[shown_labels]])
        ends = zip(labels, possible.min(axis=0).tolist(), possible.max(axis=0).tolist())
        small = {label: (low, high) for label, low, high in ends if low >= 1 and high < k}
        found = {cell.values["z"]: (cell.lower, cell.upper) for cell in told.small}
        assert {label: found[label] for label in found if label in labels} == small
        assert not told.unexamined


# What is concluded from additions that a release lacks, in cases small enough to be seen through.


TOWNS = Domain.of(
    {
        "town": Hierarchy.from_rows([("oak", "wood", "*"), ("elm", "wood", "*"), ("bay", "sea", "*")]),
        "age": Hierarchy.flat(["old", "young"]),
        "ill": Hierarchy.flat(["no", "yes"]),
    }
)


def tables_of(table: ContingencyTable, *margins: str | dict[str, int]) -> Collection:
    """The tables of a release: nothing else is known."""
    shown = published(table, *margins)
    return Collection.of(DataCube(list(shown.tables)), shown.masks)


def refused(
    counts: dict[tuple[int, int, int], int], margins: list[dict[str, int]], claims: list[Claim], **how
) -> Refusals:
    released = tables_of(counted(TOWNS, counts), *margins)
    return refusals(released, how.pop("sensitive", ()), claims, **{"least": 3} | how)


COUNTS = [KLink(3), KCombinatorial(3), MinCell(3)]


@pytest.mark.parametrize("most", [20_000, 4, 3])
def test_two_counts_are_1_and_2_since_else_they_would_have_been_published(most: int) -> None:
    """100 old, 100 young, 3 ill: were they 0 and 3, both attributes would stand in one table. By each way to look."""
    counts = {(0, 0, 1): 1, (0, 1, 1): 2, (0, 0, 0): 99, (0, 1, 0): 98}
    margins = [{"age": 0}, {"ill": 0}, {"town": 0}]
    found = refused(counts, margins, COUNTS, most=most)
    small = {tuple(sorted(cell.values.items())): (cell.lower, cell.upper) for cell in found.small}
    pairs = {cell: limits for cell, limits in small.items() if [name for name, _ in cell] == ["age", "ill"]}
    if most > 3:
        assert pairs == {(("age", "old"), ("ill", "yes")): (1, 2), (("age", "young"), ("ill", "yes")): (1, 2)}
    (edge,) = [addition for addition in found.additions if addition.added == {"age": 0, "ill": 0}]
    assert edge.outcome is (Conclusion.PROVES if most > 3 else Conclusion.SOME)
    assert found.additions
    assert found.together == (most > 3)


def test_a_refused_attribute_has_a_value_that_few_have() -> None:
    """Nobody knows which: of 20 rows 1, 2, 18 or 19 are old, or 10, which would tell nothing of the age."""
    found = refused({(0, 0, 0): 2, (2, 1, 0): 18}, [{"town": 0}, {"ill": 0}], COUNTS)
    (age,) = [addition for addition in found.additions if addition.added == {"age": 0}]
    assert (age.outcome, age.may_gain_nothing) == (Conclusion.SOME, True)
    odd = refused({(0, 0, 0): 2, (2, 1, 0): 17}, [{"town": 0}, {"ill": 0}], COUNTS)
    (age,) = [addition for addition in odd.additions if addition.added == {"age": 0}]
    assert (age.outcome, age.may_gain_nothing) == (Conclusion.SOME, False)


def test_a_refusal_for_diversity_leaves_open_which_class_is_uniform() -> None:
    """4 old and 4 young, 4 ill and 4 not: side by side they would be diverse unless all of one age are ill."""
    counts = {(0, 0, 1): 4, (0, 1, 0): 4}
    claims: list[Claim] = [KLink(2), MaxentDiversity(parse_diversity("distinct:2"), "ill")]
    found = refused(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], claims, sensitive=["ill"])
    (edge,) = [addition for addition in found.additions if addition.added == {"age": 0, "ill": 0}]
    assert (edge.outcome, edge.counts_only) == (Conclusion.OPEN, False)  # which of the two is not refused
    assert edge.may_gain_nothing


COARSE = Domain.of({"ill": TREE, "age": Hierarchy.flat(["old", "young"])})


@given(st.tuples(*[st.integers(0, 2)] * 8), st.sampled_from(["distinct:2", "at-most:60 of a", "at-most:60 of a, b"]))
def test_a_class_with_one_coarse_value_is_refused_where_the_search_refuses_it(
    counts: tuple[int, ...], diversity: str
) -> None:
    """Ages beside coarse diseases, judged at their finest values: the search itself judges each possible table."""
    claim = MaxentDiversity(parse_diversity(diversity), "ill")
    margins = [COARSE.mask({"ill": 1}), COARSE.mask({"age": 0})]
    released = tables_of(filled(COARSE, counts), {"ill": 1}, {"age": 0})
    if not sum(counts) or not claim.check(Question(released, ["ill"])).holds:
        return
    found = refusals(released, ["ill"], [claim], 3)
    (edge,) = [addition for addition in found.additions if addition.added == {"ill": 1, "age": 0}]
    demanded = Requirements(("ill",), diversities=(claim,), at_every_level=True)
    (x, y), (old, _) = (released.cube.table(mask).dense().tolist() for mask in margins)
    is_refused = []
    for both in range(max(0, old - y), min(x, old) + 1):
        world = filled(COARSE, [both, x - both, 0, 0, old - both, y - old + both, 0, 0])
        tells_nothing = both * (x + y) == x * old
        cube = DataCube([world])
        is_refused.append(tells_nothing or PrivacyConstraint(cube, demanded)([sum(margins)], 0) is not None)
    outcomes = (
        {Conclusion.ALWAYS}
        if all(is_refused)
        else {Conclusion.UNEXPLAINED}
        if not any(is_refused)
        else {Conclusion.PROVES, Conclusion.OPEN, Conclusion.SOME}
    )
    assert edge.outcome in outcomes


def test_what_is_not_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {(0, 0, 1): 1, (0, 1, 1): 2, (0, 0, 0): 99, (0, 1, 0): 98}
    over = refused(counts, [{"age": 0}, {"ill": 0}], COUNTS, deadline=Deadline.after(-1.0, lambda: 0.0))
    assert over.additions
    assert all(addition.outcome is Conclusion.NOT_EXAMINED for addition in over.additions)
    assert all("time" in addition.note for addition in over.additions)
    claims = [*COUNTS, MaxentDiversity(parse_diversity("distinct:2"), "ill")]
    many = refused(counts, [{"age": 0}, {"ill": 0}], claims, most=1, sensitive=["ill"])
    assert any("more than 1 tables" in addition.note for addition in many.of(Conclusion.NOT_EXAMINED))
    with monkeypatch.context() as patched:  # two published margins, with which one addition is compared
        patched.setattr(
            module := import_module("checks.attacks.algorithm"), "_MOST_IN_ALL", module._MOST_IN_ALL | {"margins": 3}
        )
        few = refused({(0, 0, 0): 1, (2, 1, 0): 1}, [{"town": 0}, {"age": 0}, {"ill": 0}], COUNTS, most=1)
    assert ["more ways" in addition.note for addition in few.additions] == [False, True, True]
    # Two tables are more than one; each time that this is found takes 4 of the counts that may be laid out.
    laid_out = {}
    for most in (8, 7):
        monkeypatch.setattr(module, "_MOST_IN_ALL", module._MOST_IN_ALL | {"counts": most})
        found = refused({(0, 0, 0): 1, (2, 1, 0): 1}, [{"town": 0}, {"age": 0}, {"ill": 0}], COUNTS, most=1)
        laid_out[most] = [addition.candidate_classes == 0 for addition in found.additions]
    assert laid_out == {8: [False, True, False], 7: [False, False, False]}


def test_more_tables_with_a_sensitive_attribute_than_a_search_tries_are_not_examined() -> None:
    names = [f"x{number}" for number in range(5)]
    rows = np.random.default_rng(0).integers(0, 2, (400, 6))
    margins = [{name: 0, "s": 0} for name in names[:3]] + [{name: 0} for name in names[3:]]
    collection = published(of_rows(flat_domain(**dict.fromkeys([*names, "s"], 2)), rows), *margins)
    found = refusals(collection, ["s"], [KLink(3)], 3)
    limited = {frozenset(addition.added) for addition in found.additions if "no search tries" in addition.note}
    assert limited == {frozenset({"x3", "s"}), frozenset({"x4", "s"})}


MANY = Domain.of(
    {
        "zip": Hierarchy.flat([f"{number:04}" for number in range(1100)]),
        "age": Hierarchy.flat(["old", "young"]),
        "ill": Hierarchy.flat(["no", "yes"]),
    }
)


def beside_many_zips(first: dict[tuple[int, int], int], others: dict[tuple[int, int], int], **how) -> Refusals:
    """Age and illness by zip, each in a table of its own: of the first zip, and of a thousand others, all alike."""
    counts = {(0, *cell): number for cell, number in first.items()}
    counts |= {(number, *cell): rows for number, (cell, rows) in product(range(1, 1100), others.items())}
    released = tables_of(counted(MANY, counts), {"zip": 0, "age": 0}, {"zip": 0, "ill": 0})
    return refusals(released, (), COUNTS, 3, **how)


def test_where_one_class_of_many_can_have_refused_a_pair_it_did() -> None:
    """In all other zips everybody is old, so that nothing can be small there."""
    few = {(0, 1): 1, (1, 1): 2, (0, 0): 99, (1, 0): 98}
    (edge,) = beside_many_zips(few, {(0, 0): 3, (0, 1): 3}).additions
    assert (edge.outcome, edge.candidate_classes, edge.classes) == (Conclusion.PROVES, 1, 1100)
    assert [(dict(cell.values), cell.lower, cell.upper) for cell in edge.small] == [
        ({"age": "old", "ill": "yes", "zip": "0000"}, 1, 2),
        ({"age": "young", "ill": "yes", "zip": "0000"}, 1, 2),
    ]
    (edge,) = beside_many_zips(few, {(0, 0): 3, (0, 1): 3}, most=2).additions
    assert (edge.outcome, edge.small) == (Conclusion.SOME, ())


def test_where_several_classes_can_have_refused_a_pair_it_is_not_told_which() -> None:
    even = {(0, 0): 5, (1, 1): 5}
    (edge,) = beside_many_zips({(0, 0): 3, (1, 1): 3}, even).additions
    assert (edge.outcome, edge.candidate_classes, edge.may_gain_nothing) == (Conclusion.SOME, 1100, False)
    (edge,) = beside_many_zips({(0, 0): 4, (1, 1): 4}, {(0, 0): 4, (1, 1): 4}).additions
    assert (edge.outcome, edge.may_gain_nothing) == (Conclusion.SOME, True)  # 2, 2, 2, 2 would tell nothing
    (edge,) = beside_many_zips({(0, 0): 4, (0, 1): 4}, {(0, 0): 4, (0, 1): 4}).additions
    assert edge.outcome is Conclusion.UNEXPLAINED


def test_what_no_claim_can_have_refused_excludes_nothing() -> None:
    """Nothing is claimed of illness, so it could stand beside age; 3 by the sea, 1 or 2 of them old, could not."""
    counts = {(2, 0, 1): 1, (2, 1, 0): 2, (0, 0, 0): 99, (0, 1, 1): 98}
    found = refused(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], [KLink(3)], sensitive=["ill"])
    outcomes = {frozenset(addition.added): addition.outcome for addition in found.additions}
    assert outcomes[frozenset({"age", "ill"})] is Conclusion.UNEXPLAINED
    assert outcomes[frozenset({"age", "town"})] is Conclusion.PROVES
    assert not found.contradict
    assert {(*cell.values.values(), cell.lower, cell.upper) for cell in found.small} == {
        ("old", "sea", 1, 2),
        ("young", "sea", 1, 2),
    }


def test_readers_with_a_register_are_not_judged_by_the_files() -> None:
    class Register(KLink):
        criterion = "register"

    counts = {(0, 0, 1): 4, (0, 1, 0): 4}
    found = refused(counts, [{"town": 1}, {"age": 0}, {"ill": 0}], [KLink(2), Register(2)], sensitive=["ill"])
    (edge,) = [addition for addition in found.additions if addition.added == {"age": 0, "ill": 0}]
    assert edge.outcome is Conclusion.NOT_EXAMINED
    assert "readers with a register" in edge.note


FOUR = flat_domain(a=2, b=2, c=2, d=2)


@pytest.mark.parametrize("most", [20_000, 4])
def test_a_margin_of_four_attributes_is_looked_at_where_it_is_what_an_addition_makes(most: int) -> None:
    """Tables abc and abd: one class of ab has 100 and 100 of c, and 3 and 197 of d; so 1 and 2 of the 3 are of each c."""
    counts = {(0, 0, 0, 0): 1, (0, 0, 1, 0): 2, (0, 0, 0, 1): 99, (0, 0, 1, 1): 98, (0, 1, 0, 0): 50, (0, 1, 1, 0): 60,
              (1, 0, 0, 0): 50, (1, 0, 1, 0): 60, (1, 1, 0, 0): 50, (1, 1, 1, 0): 60}  # fmt: skip
    found = refusals(tables_of(counted(FOUR, counts), "abc", "abd"), (), [MinCell(3)], 3, most=most)
    small = {"".join(cell.values[name][1] for name in "abcd"): (cell.lower, cell.upper)
             for cell in found.small if len(cell.values) == 4}  # fmt: skip
    assert small == {"0000": (1, 2), "0010": (1, 2)}
    (edge,) = [addition for addition in found.additions if addition.added == {"c": 0, "d": 0}]
    assert edge.outcome is Conclusion.PROVES


def test_an_addition_whose_sides_have_too_many_cells_to_be_laid_out_is_not_examined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = {(0, 0, 0, 0): 1, (0, 0, 1, 1): 98, (0, 1, 1, 0): 60, (1, 0, 1, 0): 60, (1, 1, 0, 1): 50}
    monkeypatch.setattr(import_module("models.inference.calibrated_tree"), "CELL_LIMIT", 8)
    found = refusals(tables_of(counted(FOUR, counts), "abc", "abd"), (), [MinCell(3)], 3, most=1)
    (edge,) = [addition for addition in found.additions if addition.added == {"c": 0, "d": 0}]
    assert edge.outcome is Conclusion.NOT_EXAMINED
    assert "laid out" in edge.note


def test_margins_that_were_not_looked_at_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 11 margins of town at two levels, age and ill those that additions make, and that of all, always are."""
    counts = {(0, 0, 1): 1, (0, 1, 1): 2, (0, 0, 0): 99, (0, 1, 0): 98}
    margins = [{"age": 0}, {"ill": 0}, {"town": 0}]
    whole = refused(counts, margins, COUNTS)
    assert (whole.together, whole.margins_not_examined) == (True, 0)
    monkeypatch.setattr(import_module("checks.attacks.algorithm"), "_MOST_MARGINS", 0)
    cut = refused(counts, margins, COUNTS)
    always = {tuple(sorted(addition.margin.items())) for addition in cut.additions} | {
        (("age", 0), ("ill", 0), ("town", 0))
    }
    assert cut.margins_not_examined == 11 - len(always)
    assert {tuple(cell.levels) for cell in cut.small} <= {tuple(name for name, _ in margin) for margin in always} | {
        tuple(TOWNS.attributes)
    }
    assert {"age", "ill"} in [set(cell.levels) for cell in cut.small]
    monkeypatch.setattr(import_module("checks.attacks.algorithm"), "_MOST_LAID_OUT", 0)  # each addition by its bounds
    bounded = refused(counts, margins, COUNTS)
    assert bounded.margins_not_examined == sum(addition.margins_not_examined for addition in bounded.additions) > 0


@pytest.mark.parametrize("limit", [{"_MOST_CELLS": 3}, {"_MOST_CHECKS": 1}, {"cells": 8}, {"checks": 1}])
def test_within_a_limit_each_addition_is_judged_as_ever_or_not_at_all(
    limit: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, margins = {(0, 0, 0): 4, (0, 1, 0): 3, (0, 1, 1): 2}, [{"age": 0}, {"ill": 0}, {"town": 0}]
    claims: list[Claim] = [MaxentDiversity(parse_diversity("distinct:2"), "ill")]
    module = import_module("checks.attacks.algorithm")
    monkeypatch.setattr(module, "_MOST_LAID_OUT", 6)  # each addition by itself
    ordinary = refused(counts, margins, claims, sensitive=["ill"])
    for name, most in limit.items():
        if name.startswith("_MOST"):
            monkeypatch.setattr(module, name, most)
        else:
            monkeypatch.setattr(module, "_MOST_IN_ALL", module._MOST_IN_ALL | limit)
    found = refused(counts, margins, claims, sensitive=["ill"])
    pairs = list(zip(ordinary.additions, found.additions, strict=True))
    cut = [one.margin == other.margin and other.outcome is Conclusion.NOT_EXAMINED for one, other in pairs]
    assert any(cut)
    assert all(one == other for is_cut, (one, other) in zip(cut, pairs) if not is_cut)

"""Answers about a release are those of all tables that have its marginals: five rows in twelve cells, every one of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from numpy.typing import NDArray

from marginals import Release, Role
from marginals.bundle.content import BundleContent
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, NotFittedError

ROWS = 5
DOMAIN = Domain.of(
    {
        "a": Hierarchy.from_rows([("a0", "u", "*"), ("a1", "v", "*"), ("a2", "u", "*")]),
        "b": Hierarchy.flat(["b0", "b1"]),
        "c": Hierarchy.flat(["c0", "c1"]),
    }
)
CELLS = list(product(["a0", "a1", "a2"], ["b0", "b1"], ["c0", "c1"]))
MARGINS: list[dict[str, int]] = [
    {"a": 0, "b": 0},
    {"b": 0, "c": 0},
    {"a": 0, "c": 0},
    {"a": 1, "c": 0},
    {"a": 1, "b": 0},
    {"a": 0},
    {"b": 0},
    {"c": 0},
]
CONDITIONS = {
    "a": [["a0"], ["a1"], ["a0", "a2"], ["a1", "a2"]],
    "b": [["b0"], ["b1"], ["b0", "b1"]],
    "c": [["c0"], ["c1"]],
}
Table = NDArray[np.int64]


@cache
def all_tables() -> Table:
    """Every table of five rows: shape (tables, cells)."""
    places = np.array(list(combinations_with_replacement(range(len(CELLS)), ROWS)))
    return np.stack([(places == cell).sum(axis=1) for cell in range(len(CELLS))], axis=1)


def label(attribute: str, value: str, level: int) -> str:
    return next(row[level] for row in DOMAIN.hierarchy(attribute).rows() if row[0] == value)


def shown(margin: Mapping[str, int]) -> Table:
    """Which cells each value of a margin counts: shape (values, cells)."""
    values = [tuple(label(a, v, margin[a]) for a, v in zip("abc", cell) if a in margin) for cell in CELLS]
    return np.array([[value == other for value in values] for other in dict.fromkeys(values)], dtype=np.int64)


def possible(table: Table, margins: Sequence[Mapping[str, int]]) -> Table:
    """All tables with the same margins."""
    alike = [(all_tables() @ shown(margin).T == shown(margin) @ table).all(axis=1) for margin in margins]
    return all_tables()[np.logical_and.reduce(alike)]


def inside(where: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
    """Which cells a condition means."""
    return np.array([all(v in where[a] for a, v in zip("abc", cell) if a in where) for cell in CELLS])


def release_of(table: Table, margins: Sequence[Mapping[str, int]]) -> Release:
    codes = {a: np.array([DOMAIN.hierarchy(a).code(cell[i], 0) for cell in CELLS]) for i, a in enumerate("abc")}
    base = ContingencyTable.from_cells(DOMAIN, dict.fromkeys("abc", 0), codes, table)
    masks = [DOMAIN.mask(margin) for margin in margins]
    collection = Collection.of(DataCube([base.rolled_up(margin) for margin in margins]), masks)
    return Release(BundleContent(collection, dict.fromkeys("abc", Role.QUASI_IDENTIFIER)))


@contextmanager
def where_fitted() -> Iterator[None]:
    """Leaves out what cannot be asked since the fit does not get near enough, as where most cells are empty."""
    try:
        yield
    except NotFittedError:
        reject()


tables = st.lists(st.integers(0, len(CELLS) - 1), min_size=ROWS, max_size=ROWS).map(
    lambda places: np.bincount(places, minlength=len(CELLS))
)
collections = st.lists(st.sampled_from(MARGINS), min_size=1, max_size=3, unique_by=lambda margin: tuple(margin.items()))
conditions = st.fixed_dictionaries({}, optional={a: st.sampled_from(values) for a, values in CONDITIONS.items()})


def one_row_in(*cells: int) -> Table:
    return np.bincount(cells, minlength=len(CELLS))


A_AND_C, COARSE_A_AND_B, B_AND_C = {"a": 0, "c": 0}, {"a": 1, "b": 0}, {"b": 0, "c": 0}


@given(tables, collections, conditions)
@example(one_row_in(1, 1, 2, 9, 11), [COARSE_A_AND_B, B_AND_C, A_AND_C], {"a": ["a0"], "b": ["b0"]}).via("not sharp")
@example(one_row_in(5, 5, 6, 7, 8), MARGINS[:2], {"a": ["a1", "a2"], "c": ["c1"]}).via(
    "certain, and rounded if expected"
)
@example(one_row_in(2, 3, 7, 9, 11), [B_AND_C, MARGINS[0], MARGINS[3]], {"a": ["a0", "a2"], "c": ["c1"]}).via(
    "the same"
)
def test_a_count_lies_between_its_bounds_which_are_attained_where_that_is_said(
    table: Table, margins: list[dict[str, int]], where: dict[str, list[str]]
) -> None:
    release, counts = release_of(table, margins), possible(table, margins) @ inside(where)
    for seconds in (0.0, 5.0):
        with where_fitted():
            found = release.count(where, seconds)
        assert found.lower <= counts.min()
        assert counts.max() <= found.upper
        if found.sharp:
            assert (found.lower, found.upper) == (counts.min(), counts.max())
        assert found.exact is (found.lower == found.upper)
        if found.exact:
            assert found.expected == counts[0], "what is certain is told without rounding"


@given(tables, collections, st.sampled_from([names for n in (1, 2, 3) for names in combinations("abc", n)]))
@example(one_row_in(4, 8, 9, 10, 11), [A_AND_C, MARGINS[0], B_AND_C], ("a", "b", "c")).via("not sharp")
@example(one_row_in(0, 5, 8, 9, 11), [MARGINS[3], COARSE_A_AND_B, B_AND_C], ("a", "b", "c")).via("certain, and rounded")
def test_each_count_of_a_margin_lies_between_its_bounds_which_are_attained_where_that_is_said(
    table: Table, margins: list[dict[str, int]], names: tuple[str, ...]
) -> None:
    release, worlds = release_of(table, margins), possible(table, margins)
    shown_names = [a for a in names if any(a in margin for margin in margins)]
    if not shown_names:
        return
    levels = {a: min(margin[a] for margin in margins if a in margin) for a in shown_names}
    with where_fitted():
        found = release.counts(levels)
    counts = worlds @ shown(levels).T
    cells = list(dict.fromkeys(tuple(label(a, v, levels[a]) for a, v in zip("abc", c) if a in levels) for c in CELLS))
    told = {tuple(np.atleast_1d(np.array(key, dtype=object))): row for key, row in found.iterrows()}
    for cell, least, most in zip(cells, counts.min(axis=0), counts.max(axis=0)):
        row = told.get(cell)
        if row is None:
            assert most == 0, "cells that are left out are empty"
            continue
        assert row["lower"] <= least
        assert most <= row["upper"]
        if found.attrs["sharp"]:
            assert (row["lower"], row["upper"]) == (least, most)
        assert row["exact"] == (row["lower"] == row["upper"])
        if row["exact"]:
            assert row["expected"] == least


def ratios(worlds: Table, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> list[float]:
    """The odds ratio in each table in which it has a value."""
    parts = [worlds @ (one & other) for one in (first, ~first) for other in (second, ~second)]
    pairs = [(int(a * d), int(b * c)) for a, b, c, d in zip(*parts)]
    return [inf if not below else above / below for above, below in pairs if above or below]


@given(tables, collections, st.sampled_from(CONDITIONS["a"]), st.sampled_from(CONDITIONS["c"]))
def test_the_odds_ratio_of_every_possible_table_lies_between_its_bounds(
    table: Table, margins: list[dict[str, int]], first: list[str], second: list[str]
) -> None:
    """Where the rows, the columns and the total are certain and the bounds of a cell attained, so are those of the ratio."""
    release, worlds = release_of(table, margins), possible(table, margins)
    one, other = inside({"a": first}), inside({"c": second})
    with where_fitted():
        found = release.odds_ratio({"a": first}, {"c": second})
    all_ratios = ratios(worlds, one, other)
    assert all(found.lower <= ratio * (1 + 1e-12) for ratio in all_ratios)
    assert all(ratio <= found.upper * (1 + 1e-12) for ratio in all_ratios)
    sides = [release.count({"a": first}), release.count({"c": second})]
    if all(side.exact for side in sides) and release.count({"a": first, "c": second}).sharp and all_ratios:
        ends = ratios(worlds[(worlds @ (one & other)).argsort()][[0, -1]], one, other)
        if len(ends) == 2:
            assert (found.lower, found.upper) == pytest.approx((min(all_ratios), max(all_ratios)))


HOSPITALS = pd.DataFrame(
    [("n", "x", "dead")] * 10
    + [("n", "x", "alive")] * 2
    + [("n", "y", "dead")] * 6
    + [("n", "y", "alive")] * 2
    + [("s", "x", "dead")] * 2
    + [("s", "x", "alive")] * 8
    + [("s", "y", "dead")] * 3
    + [("s", "y", "alive")] * 12,
    columns=["ward", "drug", "end"],
)
"""In one ward more die than get drug x, in the other fewer: of both together 8 to 17 of those who get it."""


def test_the_odds_ratio_counts_rows_and_columns_and_keeps_to_where_it_is_asked() -> None:
    """Of both wards together, by ward and drug and by ward and end: in each ward the deaths of drug x lie between
    max(x + dead - rows, 0) and min(x, dead), and the ratio grows with them.
    """
    domain = Domain.of({name: Hierarchy.flat(sorted(set(HOSPITALS[name]))) for name in HOSPITALS})
    counted = HOSPITALS.value_counts(["ward", "drug", "end"]).reset_index()
    codes = {name: np.array([domain.hierarchy(name).code(v, 0) for v in counted[name]]) for name in HOSPITALS}
    base = ContingencyTable.from_cells(domain, dict.fromkeys(HOSPITALS, 0), codes, counted["count"].to_numpy())
    parts = [base.rolled_up({"ward": 0, name: 0}) for name in ("drug", "end")]
    roles = dict.fromkeys(HOSPITALS, Role.QUASI_IDENTIFIER)
    content = BundleContent(Collection.of(DataCube(parts), [part.mask for part in parts]), roles)
    release = Release(content)
    by_ward = dict(list(HOSPITALS.groupby("ward")))
    for wards in (["n", "s"], ["n"], ["s"]):
        x, dead, rows = (
            np.array([int(count(by_ward[ward])) for ward in wards])
            for count in (lambda p: (p["drug"] == "x").sum(), lambda p: (p["end"] == "dead").sum(), len)
        )
        ends = []
        for deaths in (np.maximum(x + dead - rows, 0).sum(), np.minimum(x, dead).sum()):
            table = [[deaths, x.sum() - deaths], [dead.sum() - deaths, rows.sum() - x.sum() - dead.sum() + deaths]]
            above, below = table[0][0] * table[1][1], table[0][1] * table[1][0]
            ends.append(above / below if below else inf)
        found = release.odds_ratio({"drug": "x"}, {"end": "dead"}, where={"ward": wards})
        assert (found.lower, found.upper) == pytest.approx(tuple(ends))
        deaths = (x * dead / rows).sum()
        table = [[deaths, x.sum() - deaths], [dead.sum() - deaths, rows.sum() - x.sum() - dead.sum() + deaths]]
        assert found.expected == pytest.approx(table[0][0] * table[1][1] / table[0][1] / table[1][0])


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 49, 1000])
def test_a_quantile_is_the_least_number_that_enough_rows_do_not_exceed_and_rounding_does_not_move_it(rows: int) -> None:
    """One row of each number: k of them do not exceed the k-th, which is the quantile of k / rows, and of no more."""
    numbers = [str(n) for n in range(1, rows + 1)]
    domain = Domain.of({"n": Hierarchy.flat(numbers)})
    table = ContingencyTable.from_cells(domain, {"n": 0}, {"n": np.arange(rows)}, np.ones(rows, dtype=np.int64))
    content = BundleContent(Collection.of(DataCube([table]), [table.mask]), {"n": Role.QUASI_IDENTIFIER})
    release = Release(content)
    shares = [k / rows for k in range(1, rows + 1)]
    assert release.quantile("n", shares).tolist() == list(range(1, rows + 1))
    beyond = [(k + 0.001) / rows for k in range(rows)]
    assert release.quantile("n", beyond).tolist() == list(range(1, rows + 1))

"""Answers about a release are those of all tables that have its marginals, every one of them.

Counts and odds ratios of five rows in twelve cells; means, totals, quantiles, shares and risks of four people with a number,
most of which labels tell only partly, in every possible way. No possible table has an answer outside its bounds, and where
these are sharp some table has each.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product
from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from numpy.typing import NDArray

import marginals
from marginals import Attribute, InputError, Policy, Release
from marginals.errors import AssumptionWarning
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, NotFittedError
from written_bundles import release_of

Table = NDArray[np.int64]
Margins = list[dict[str, int]]


@dataclass(frozen=True, eq=False)
class World:
    """Everybody in one of some ways to be, each with its base label of every attribute."""

    domain: Domain
    ways: Sequence[Mapping[str, str]]
    rows: int

    @cached_property
    def tables(self) -> Table:
        """Every table of so many rows: shape (tables, ways)."""
        places = np.array(list(combinations_with_replacement(range(len(self.ways)), self.rows)))
        return np.stack([(places == way).sum(axis=1) for way in range(len(self.ways))], axis=1)

    def cells(self, margin: Mapping[str, int]) -> list[tuple[str, ...]]:
        above = {a: {row[0]: row for row in self.domain.hierarchy(a).rows()} for a in margin}
        order = [a for a in self.domain.attributes if a in margin]
        return [tuple(above[a][way[a]][margin[a]] for a in order) for way in self.ways]

    def shown(self, margin: Mapping[str, int]) -> Table:
        """Which ways each value of a margin counts: shape (values, ways)."""
        cells = self.cells(margin)
        return np.array([[cell == other for cell in cells] for other in dict.fromkeys(cells)], dtype=np.int64)

    def possible(self, table: Table, margins: Margins) -> Table:
        alike = [(self.tables @ self.shown(m).T == self.shown(m) @ table).all(axis=1) for m in margins]
        return self.tables[np.logical_and.reduce(alike)]

    def released(self, table: Table, margins: Margins) -> Release:
        names = self.domain.attributes
        codes = {a: np.array([self.domain.hierarchy(a).code(way[a], 0) for way in self.ways]) for a in names}
        base = ContingencyTable.from_cells(self.domain, dict.fromkeys(names, 0), codes, table)
        return release_of(Collection.of(DataCube([base]), map(self.domain.mask, margins)))

    def drawn(self) -> st.SearchStrategy[Table]:
        places = st.lists(st.integers(0, len(self.ways) - 1), min_size=self.rows, max_size=self.rows)
        return places.map(lambda places: np.bincount(places, minlength=len(self.ways)))


def some_of(margins: Margins) -> st.SearchStrategy[Margins]:
    return st.lists(st.sampled_from(margins), min_size=1, max_size=3, unique_by=lambda margin: tuple(margin.items()))


DOMAIN = Domain.of(
    {
        "a": Hierarchy.from_rows([("a0", "u", "*"), ("a1", "v", "*"), ("a2", "u", "*")]),
        "b": Hierarchy.flat(["b0", "b1"]),
        "c": Hierarchy.flat(["c0", "c1"]),
    }
)
CELLS: list[tuple[str, ...]] = list(product(["a0", "a1", "a2"], ["b0", "b1"], ["c0", "c1"]))
MARGINS: Margins = [
    {"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}, {"a": 1, "c": 0}, {"a": 1, "b": 0}, {"a": 0}, {"b": 0},
    {"c": 0},
]  # fmt: skip
CONDITIONS = {
    "a": [["a0"], ["a1"], ["a0", "a2"], ["a1", "a2"]],
    "b": [["b0"], ["b1"], ["b0", "b1"]],
    "c": [["c0"], ["c1"]],
}
FIVE = World(DOMAIN, [dict(zip("abc", cell)) for cell in CELLS], 5)


def inside(where: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
    return np.array([all(v in where[a] for a, v in zip("abc", cell) if a in where) for cell in CELLS])


@contextmanager
def where_fitted() -> Iterator[None]:
    """Leaves out what cannot be asked since the fit does not get near enough, as where most cells are empty."""
    try:
        yield
    except NotFittedError:
        reject()


conditions = st.fixed_dictionaries({}, optional={a: st.sampled_from(values) for a, values in CONDITIONS.items()})


def one_row_in(*cells: int) -> Table:
    return np.bincount(cells, minlength=len(CELLS))


A_AND_C, COARSE_A_AND_B, B_AND_C = {"a": 0, "c": 0}, {"a": 1, "b": 0}, {"b": 0, "c": 0}


@given(FIVE.drawn(), some_of(MARGINS), conditions)
@example(one_row_in(1, 1, 2, 9, 11), [COARSE_A_AND_B, B_AND_C, A_AND_C], {"a": ["a0"], "b": ["b0"]}).via("not sharp")
@example(one_row_in(5, 5, 6, 7, 8), MARGINS[:2], {"a": ["a1", "a2"], "c": ["c1"]}).via(
    "certain, and rounded if expected"
)
@example(one_row_in(2, 3, 7, 9, 11), [B_AND_C, MARGINS[0], MARGINS[3]], {"a": ["a0", "a2"], "c": ["c1"]}).via(
    "the same"
)
def test_a_count_lies_between_its_bounds_which_are_attained_where_that_is_said(
    table: Table, margins: Margins, where: dict[str, list[str]]
) -> None:
    release, counts = FIVE.released(table, margins), FIVE.possible(table, margins) @ inside(where)
    for seconds in (0.0, 5.0):
        with where_fitted():
            found = release.count(where, seconds=seconds)
        assert found.lower <= counts.min()
        assert counts.max() <= found.upper
        if found.sharp:
            assert (found.lower, found.upper) == (counts.min(), counts.max())
        assert found.exact is (found.lower == found.upper)
        if found.exact:
            assert found.value == counts[0], "what is certain is told without rounding"


@given(FIVE.drawn(), some_of(MARGINS), st.sampled_from([names for n in (1, 2, 3) for names in combinations("abc", n)]))
@example(one_row_in(4, 8, 9, 10, 11), [A_AND_C, MARGINS[0], B_AND_C], ("a", "b", "c")).via("not sharp")
@example(one_row_in(0, 5, 8, 9, 11), [MARGINS[3], COARSE_A_AND_B, B_AND_C], ("a", "b", "c")).via("certain, and rounded")
def test_each_count_of_a_margin_lies_between_its_bounds_which_are_attained_where_that_is_said(
    table: Table, margins: Margins, names: tuple[str, ...]
) -> None:
    release, worlds = FIVE.released(table, margins), FIVE.possible(table, margins)
    shown_names = [a for a in names if any(a in margin for margin in margins)]
    if not shown_names:
        return
    levels = {a: min(margin[a] for margin in margins if a in margin) for a in shown_names}
    with where_fitted():
        found = release.table(levels, bounds=True)
    counts = worlds @ FIVE.shown(levels).T
    cells = list(dict.fromkeys(FIVE.cells(levels)))
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
        if row["lower"] == row["upper"]:
            assert row["value"] == least
            assert row["kind"] == "published"


def ratios(worlds: Table, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> list[float]:
    parts = [worlds @ (one & other) for one in (first, ~first) for other in (second, ~second)]
    pairs = [(int(a * d), int(b * c)) for a, b, c, d in zip(*parts)]
    return [inf if not below else above / below for above, below in pairs if above or below]


@given(FIVE.drawn(), some_of(MARGINS), st.sampled_from(CONDITIONS["a"]), st.sampled_from(CONDITIONS["c"]))
def test_the_odds_ratio_of_every_possible_table_lies_between_its_bounds(
    table: Table, margins: Margins, first: list[str], second: list[str]
) -> None:
    """Where the rows, the columns and the total are certain and the bounds of a cell attained, so are those of the ratio."""
    release, worlds = FIVE.released(table, margins), FIVE.possible(table, margins)
    one, other = inside({"a": first}), inside({"c": second})
    with where_fitted():
        found = release.effect({"c": second}, {"a": first}).loc["odds ratio"]
    all_ratios = ratios(worlds, one, other)
    assert all(found.lower <= ratio * (1 + 1e-12) for ratio in all_ratios)
    assert all(ratio <= found.upper * (1 + 1e-12) for ratio in all_ratios)
    sides = [release.count({"a": first}), release.count({"c": second})]
    if all(side.exact for side in sides) and release.count({"a": first, "c": second}).sharp and all_ratios:
        ends = ratios(worlds[(worlds @ (one & other)).argsort()][[0, -1]], one, other)
        if len(ends) == 2:
            assert (found.lower, found.upper) == pytest.approx((min(all_ratios), max(all_ratios)))


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 49, 1000])
def test_a_quantile_is_the_least_number_that_enough_rows_do_not_exceed_and_rounding_does_not_move_it(rows: int) -> None:
    """One row of each number: k of them do not exceed the k-th, which is the quantile of k / rows, and of no more."""
    numbers = [str(n) for n in range(1, rows + 1)]
    domain = Domain.of({"n": Hierarchy.flat(numbers)})
    table = ContingencyTable.from_cells(domain, {"n": 0}, {"n": np.arange(rows)}, np.ones(rows, dtype=np.int64))
    release = release_of(Collection.of(DataCube([table]), [table.mask]))
    shares = [k / rows for k in range(1, rows + 1)]
    assert release.quantile("n", shares)["value"].tolist() == list(range(1, rows + 1))
    beyond = [(k + 0.001) / rows for k in range(rows)]
    assert release.quantile("n", beyond)["value"].tolist() == list(range(1, rows + 1))


TRUE_NUMBERS = {"1": [1.0], "2-4": [2.0, 2.9999999, 3.0, 4.0], "7 or missing": [7.0, nan]}
"""For each label which numbers its rows may have, one almost 3; nan for a row without a number."""
NUMBERS = Domain.of(
    {
        "n": Hierarchy.from_rows([("1", "1-4", "*"), ("2-4", "1-4", "*"), ("7 or missing", "7 or missing", "*")]),
        "b": Hierarchy.flat(["b0", "b1"]),
        "c": Hierarchy.flat(["c0", "c1"]),
    }
)
PEOPLE = [(label, x, b, c) for label in TRUE_NUMBERS for x in TRUE_NUMBERS[label] for b in (0, 1) for c in (0, 1)]
"""Each way in which somebody can be: the label of the number, the number, b and c."""
LABELS = np.array([p[0] for p in PEOPLE])
X = np.array([p[1] for p in PEOPLE])
B, C = (np.array([p[i] for p in PEOPLE]) for i in (2, 3))
WITH_NUMBERS: Margins = [
    {"n": 0, "b": 0, "c": 0}, {"n": 0, "b": 0}, {"n": 1, "b": 0}, {"n": 1, "c": 0}, {"b": 0, "c": 0}, {"n": 0},
]  # fmt: skip
FOUR = World(NUMBERS, [{"n": label, "b": f"b{b}", "c": f"c{c}"} for label, _, b, c in PEOPLE], 4)
WHERE = {
    "": np.ones(len(PEOPLE), dtype=bool),
    "b=b0": B == 0,
    "c=c1": C == 1,
    "b=b0 and c=c1": (B == 0) & (C == 1),
    "n=2-4": LABELS == "2-4",
    "n>=3": X >= 3,
    "n<3 and b=b0": (X < 3) & (B == 0),
}
"""Conditions, and whom they hold for: a range cuts through 2-4, and 7 or missing is no number."""
wheres = st.sampled_from(list(WHERE))


def lies_within(values: Sequence[float], lower: float, upper: float, *, sharp: bool) -> None:
    values = [value for value in values if not np.isnan(value)]
    assert all(lower <= value + 1e-9 for value in values)
    assert all(value <= upper + 1e-9 for value in values)
    if sharp and values:
        assert (min(values), max(values)) == pytest.approx((lower, upper))


def asked(where: str) -> list[str]:
    return [where] if where else []


@given(FOUR.drawn(), some_of(WITH_NUMBERS), wheres)
def test_means_and_totals(table: Table, margins: Margins, where: str) -> None:
    release, possible = FOUR.released(table, margins), FOUR.possible(table, margins)
    if release.model.finest_levels["n"] == 2:
        return
    meant = WHERE[where] & ~np.isnan(X)
    rows = possible @ meant
    sums = possible[:, meant] @ X[meant]
    means = [total / number for total, number in zip(sums, rows) if number]
    try:
        found = release.mean("n", where=asked(where))
    except InputError:
        assert not means, "what is possible has a mean"
        return
    lies_within(means, found.lower, found.upper, sharp=found.sharp)
    assert found.lower <= found.value <= found.upper
    total = release.total("n", where=asked(where))
    lies_within(sums.tolist(), total.lower, total.upper, sharp=total.sharp)


@given(FOUR.drawn(), some_of(WITH_NUMBERS), wheres, st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.75, 1.0]))
def test_quantiles(table: Table, margins: Margins, where: str, probability: float) -> None:
    release, possible = FOUR.released(table, margins), FOUR.possible(table, margins)
    if release.model.finest_levels["n"] == 2:
        return
    meant = WHERE[where] & ~np.isnan(X)
    quantiles = []
    for world in possible:
        numbers = np.repeat(X[meant], world[meant])
        quantiles.append(np.quantile(numbers, probability, method="inverted_cdf") if len(numbers) else nan)
    try:
        found = release.quantile("n", probability, where=asked(where))
    except InputError:
        return
    lies_within(quantiles, found.lower, found.upper, sharp=found.sharp)


def ratio_of(above: float, below: float) -> float:
    return above / below if below else (inf if above > 0 else nan)


@given(FOUR.drawn(), some_of(WITH_NUMBERS), wheres, st.sampled_from(["b=b1", "n=1", "n>=3", "n=1 and c=c0"]))
def test_shares_and_risks(table: Table, margins: Margins, where: str, part: str) -> None:
    release, possible = FOUR.released(table, margins), FOUR.possible(table, margins)
    inside = {"b=b1": B == 1, "n=1": LABELS == "1", "n>=3": X >= 3, "n=1 and c=c0": (LABELS == "1") & (C == 0)}[part]
    if (part.startswith("n") and where.startswith("n")) or (part == "b=b1" and where == "b=b0 and c=c1"):
        return
    if part == "n=1 and c=c0" and "c" in where:
        return
    counts = {name: possible @ meant for name, meant in {"both": WHERE[where] & inside, "all": WHERE[where]}.items()}
    shares = [both / rows for both, rows in zip(counts["both"], counts["all"]) if rows]
    try:
        found = release.share([part], where=asked(where))
    except InputError:
        assert not shares
        return
    lies_within(shares, found.lower, found.upper, sharp=found.sharp)
    if part != "b=b1":
        risks = [
            [ratio_of(int(both), int(rows)) for both, rows in zip(possible @ (inside & own), possible @ own)]
            for own in (WHERE[where] & (B == 0), WHERE[where] & (B == 1))
        ]
        pairs = [(p, q) for p, q in zip(*risks) if not np.isnan(p) and not np.isnan(q)]
        for against in (None, "b=b1"):
            if "b" in where:
                with pytest.raises(InputError, match="where excludes the rows of the other group"):
                    release.effect([part], "b=b0", where=asked(where), against=against)
                continue
            effect = release.effect([part], "b=b0", where=asked(where), against=against)
            compared = effect.loc["risk ratio"]
            lies_within([ratio_of(p, q) for p, q in pairs], compared.lower, compared.upper, sharp=compared.sharp)
            compared = effect.loc["risk difference"]
            lies_within([p - q for p, q in pairs], compared.lower, compared.upper, sharp=compared.sharp)
            compared = effect.loc["odds ratio"]
            odds = [ratio_of(p * (1 - q), q * (1 - p)) for p, q in pairs]
            lies_within(odds, compared.lower, compared.upper, sharp=compared.sharp)


IS_KNOWN = {"flu": [True], "gout": [True], "mumps or missing": [True, False], "missing": [False]}
"""For each label of an illness whether its rows have one."""
PATIENTS = [(*who, sex, c) for who in [(label, known) for label in IS_KNOWN for known in IS_KNOWN[label]]
            for sex in ("f", "m", "missing") for c in ("c0", "c1")]  # fmt: skip
LABEL, KNOWN, SEX, C_LABEL = (np.array(column) for column in zip(*PATIENTS))
ILLNESSES = Hierarchy.from_rows([(label, "some" if label in ("flu", "gout") else label, "*") for label in IS_KNOWN])
THREE = World(
    Domain.of({"ill": ILLNESSES, "sex": Hierarchy.flat(["f", "m", "missing"]), "c": Hierarchy.flat(["c0", "c1"])}),
    [{"ill": label, "sex": sex, "c": c} for label, _, sex, c in PATIENTS],
    3,
)
OF_PATIENTS: Margins = [
    {"ill": 0, "sex": 0, "c": 0}, {"ill": 0, "sex": 0}, {"ill": 1, "sex": 0}, {"sex": 0, "c": 0}, {"ill": 0, "c": 0},
    {"ill": 0},
]  # fmt: skip
ANYBODY = np.ones(len(PATIENTS), dtype=bool)
HAVING = {
    "ill=flu": (LABEL == "flu", KNOWN),
    "ill=flu|gout": (np.isin(LABEL, ["flu", "gout"]), KNOWN),
    "ill=missing": (LABEL == "missing", ANYBODY),
    "sex=f": (SEX == "f", SEX != "missing"),
}
"""Whom a condition holds for, and of whom it is known whether it does."""


@given(THREE.drawn(), some_of(OF_PATIENTS), st.sampled_from([*HAVING]), st.sampled_from(["", "c=c1", "sex=m"]))
def test_shares_and_risks_leave_out_who_has_no_value(table: Table, margins: Margins, part: str, where: str) -> None:
    if part.startswith("sex") and where.startswith("sex"):
        return
    release, possible = THREE.released(table, margins), THREE.possible(table, margins)
    among = {"": ANYBODY, "c=c1": C_LABEL == "c1", "sex=m": SEX == "m"}[where]
    holds, known = HAVING[part]
    counts = [possible @ (among & known & holds), possible @ (among & known)]
    try:
        found = release.share(part, where=asked(where))
    except InputError:
        assert not counts[1].any()
    else:
        lies_within(
            [inside / rows for inside, rows in zip(*counts) if rows], found.lower, found.upper, sharp=found.sharp
        )
    if "sex" in part or "sex" in where:
        return
    groups = [among & known & (sex == SEX) for sex in ("f", "m")]
    pairs = zip(*([*zip(possible @ (group & holds), possible @ group)] for group in groups))
    differences = [first / one - second / other for (first, one), (second, other) in pairs if one and other]
    found = release.effect(part, "sex=f", where=asked(where)).loc["risk difference"]
    lies_within(differences, found.lower, found.upper, sharp=found.sharp)


def test_a_share_of_a_frame_is_of_the_rows_with_a_value() -> None:
    frame = pd.DataFrame({"ill": ["flu"] * 4 + ["gout"] * 4 + [""] * 8, "town": ["x", "y"] * 8})
    table = marginals.read_table(frame, dict.fromkeys(frame, Attribute("quasi-identifier", missing="as a value")))
    release = marginals.publish(table, Policy(k_link=2, diversity="none")).release
    for part in ("ill=flu", "ill=missing"):
        assert release.share(part).value == 0.5
        assert (release.share(part).denominator, release.share(part).of.missing) == (
            (8, 8) if "flu" in part else (16, 0)
        )
    assert release.share("ill=flu", where="town=x").value == 0.5
    assert release.effect("ill=flu", "town=x").value["risk ratio"] == 1
    assert release.effect("town=x", "ill=flu").value["risk difference"] == 0


@given(FOUR.drawn(), some_of(WITH_NUMBERS), wheres, st.sampled_from([None, "rows", "columns", "all"]))
def test_cross_tables(table: Table, margins: Margins, where: str, normalize: str | None) -> None:
    release, possible = FOUR.released(table, margins), FOUR.possible(table, margins)
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        found = release.table({"b": 0}, {"c": 0}, where=asked(where), normalize=normalize, bounds=True)
    told = {cell: (row.lower, row.upper) for cell, row in found.iterrows()}
    cells = {(b, c): possible @ (WHERE[where] & (b == B) & (c == C)) for b, c in product((0, 1), (0, 1))}
    for (b, c), counts in cells.items():
        rest = {
            None: np.ones_like(counts),
            "rows": cells[b, 0] + cells[b, 1],
            "columns": cells[0, c] + cells[1, c],
            "all": sum(cells.values()),
        }[normalize]
        values = [count / whole for count, whole in zip(counts, rest) if whole]
        if not values:
            continue
        lies_within(values, *told.get((f"b{b}", f"c{c}"), (0, 0)), sharp=found.attrs["sharp"])


def test_an_open_end_has_no_bound_unless_limits_are_known() -> None:
    hierarchy = Hierarchy.flat(["under 18", "18-64", "65 and over", "other age", "missing"])
    domain = Domain.of({"age": hierarchy, "sex": Hierarchy.flat(["f", "m"])})
    codes = {"age": np.array([1, 1, 2, 4, 0, 3]), "sex": np.array([0, 1, 1, 1, 0, 0])}
    base = ContingencyTable.from_cells(domain, {"age": 0, "sex": 0}, codes, np.array([6, 4, 2, 5, 0, 0]) + 0)
    release = release_of(Collection.of(DataCube([base]), [base.mask]))
    found = release.mean("age", where="sex=f")
    assert (found.lower, found.upper, found.sharp, found.open_labels) == (18, 64, True, ())
    found = release.mean("age", where="sex=m")
    assert (found.lower, found.upper, found.open_labels) == ((4 * 18 + 2 * 65) / 6, inf, ("65 and over",))
    assert found.value == (4 * 41 + 2 * 65) / 6, "the estimate takes its one end"
    found = release.mean("age", where="sex=m", limits=(0, 105))
    assert (found.lower, found.upper) == ((4 * 18 + 2 * 65) / 6, (4 * 64 + 2 * 105) / 6)
    assert release.total("age", where="sex=m", limits=(0, 105)).upper == 4 * 64 + 2 * 105
    assert release.quantile("age", [0.5, 1.0], where="sex=m")[["lower", "upper"]].values.tolist() == [
        [18, 64],
        [65, inf],
    ]


def test_a_cell_is_bounded_by_a_coarser_table_together_with_another_one() -> None:
    """At least 14 rows have w1 and a0 or a1, which only a coarser table shows, and 45 of all 51 have s0: at least 8 both."""
    ladder = Hierarchy.from_rows([("a0", "low", "*"), ("a1", "low", "*"), ("a2", "high", "*"), ("a3", "high", "*")])
    flat = {name: Hierarchy.flat([f"{name}0", f"{name}1"]) for name in "wsz"}
    domain = Domain.of({"a": ladder, **flat})
    rows = "0001 0100 0101 1000 1001 1011 1101 2000 2001 3000 3110"
    codes = {name: np.array([int(row[place]) for row in rows.split()]) for place, name in enumerate("awsz")}
    base = ContingencyTable.from_cells(
        domain, dict.fromkeys("awsz", 0), codes, np.array([3, 4, 4, 6, 6, 6, 6, 5, 4, 5, 2])
    )
    shown = {"a": 1, "w": 0, "z": 0}, {"a": 0, "s": 0}, {"a": 0, "z": 0}
    release = release_of(Collection.of(DataCube([base]), list(map(domain.mask, shown))))
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        cells = release.table("w", "s", where={"a": ["a0", "a1", "a2"]}, bounds=True)
    assert cells.loc[("w1", "s0"), "lower"] == 8

"""No table with the published marginals has a mean, total, quantile, share or risk outside its bounds, and where these are
sharp some table has each: four people with a number, most of which labels tell only partly, in every possible way.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from marginals import InputError, Release, Role
from marginals.bundle.content import BundleContent
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

ROWS = 4
TRUE_NUMBERS = {"1": [1.0], "2-4": [2.0, 2.9999999, 3.0, 4.0], "7 or missing": [7.0, nan]}
"""For each label which numbers its rows may have, one almost 3; nan for a row without a number."""
DOMAIN = Domain.of(
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
MARGINS: list[dict[str, int]] = [
    {"n": 0, "b": 0, "c": 0},
    {"n": 0, "b": 0},
    {"n": 1, "b": 0},
    {"n": 1, "c": 0},
    {"b": 0, "c": 0},
    {"n": 0},
]
Table = NDArray[np.int64]
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


@cache
def all_tables() -> Table:
    """Every table of four people: shape (tables, ways to be)."""
    places = np.array(list(combinations_with_replacement(range(len(PEOPLE)), ROWS)))
    return np.stack([(places == cell).sum(axis=1) for cell in range(len(PEOPLE))], axis=1)


def shown(margin: Mapping[str, int]) -> Table:
    """Which ways to be each cell of a margin counts: shape (cells, ways)."""
    above = {row[0]: row for row in DOMAIN.hierarchy("n").rows()}
    columns = {"n": [above[label][margin.get("n", 0)] for label in LABELS], "b": B.tolist(), "c": C.tolist()}
    values = list(zip(*(columns[a] for a in margin)))
    return np.array([[value == other for value in values] for other in dict.fromkeys(values)], dtype=np.int64)


def worlds(table: Table, margins: Sequence[Mapping[str, int]]) -> Table:
    """All tables with the same marginals."""
    alike = [(all_tables() @ shown(margin).T == shown(margin) @ table).all(axis=1) for margin in margins]
    return all_tables()[np.logical_and.reduce(alike)]


def release_of(table: Table, margins: Sequence[Mapping[str, int]]) -> Release:
    codes = {"n": np.array([DOMAIN.hierarchy("n").code(label, 0) for label in LABELS]), "b": B, "c": C}
    base = ContingencyTable.from_cells(DOMAIN, dict.fromkeys("nbc", 0), codes, table)
    masks = [DOMAIN.mask(margin) for margin in margins]
    collection = Collection.of(DataCube([base.rolled_up(margin) for margin in margins]), masks)
    return Release(BundleContent(collection, dict.fromkeys("nbc", Role.QUASI_IDENTIFIER)))


tables = st.lists(st.integers(0, len(PEOPLE) - 1), min_size=ROWS, max_size=ROWS).map(
    lambda places: np.bincount(places, minlength=len(PEOPLE))
)
collections = st.lists(st.sampled_from(MARGINS), min_size=1, max_size=3, unique_by=lambda margin: tuple(margin.items()))
wheres = st.sampled_from(list(WHERE))


def lies_within(values: Sequence[float], lower: float, upper: float, *, sharp: bool) -> None:
    values = [value for value in values if not np.isnan(value)]
    assert all(lower <= value + 1e-9 for value in values)
    assert all(value <= upper + 1e-9 for value in values)
    if sharp and values:
        assert (min(values), max(values)) == pytest.approx((lower, upper))


def conditions(where: str) -> list[str]:
    return [where] if where else []


@given(tables, collections, wheres)
def test_means_and_totals(table: Table, margins: list[dict[str, int]], where: str) -> None:
    release, possible = release_of(table, margins), worlds(table, margins)
    if release.model.finest_levels["n"] == 2:
        return
    meant = WHERE[where] & ~np.isnan(X)
    rows = possible @ meant
    sums = possible[:, meant] @ X[meant]
    means = [total / number for total, number in zip(sums, rows) if number]
    try:
        found = release.mean("n", conditions(where))
    except InputError:
        assert not means, "what is possible has a mean"
        return
    lies_within(means, found.lower, found.upper, sharp=found.sharp)
    assert found.lower <= found <= found.upper
    total = release.total("n", conditions(where))
    lies_within(sums.tolist(), total.lower, total.upper, sharp=total.sharp)


@given(tables, collections, wheres, st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.75, 1.0]))
def test_quantiles(table: Table, margins: list[dict[str, int]], where: str, probability: float) -> None:
    release, possible = release_of(table, margins), worlds(table, margins)
    if release.model.finest_levels["n"] == 2:
        return
    meant = WHERE[where] & ~np.isnan(X)
    quantiles = []
    for world in possible:
        numbers = np.repeat(X[meant], world[meant])
        quantiles.append(np.quantile(numbers, probability, method="inverted_cdf") if len(numbers) else nan)
    try:
        found = release.quantile_bounds("n", [probability], conditions(where))
    except InputError:
        return
    lies_within(quantiles, *found.iloc[0], sharp=found.attrs["sharp"])


def ratio(above: float, below: float) -> float:
    return above / below if below else (inf if above > 0 else nan)


@given(tables, collections, wheres, st.sampled_from(["b=b1", "n=1", "n>=3", "n=1 and c=c0"]))
def test_shares_and_risks(table: Table, margins: list[dict[str, int]], where: str, part: str) -> None:
    release, possible = release_of(table, margins), worlds(table, margins)
    inside = {"b=b1": B == 1, "n=1": LABELS == "1", "n>=3": X >= 3, "n=1 and c=c0": (LABELS == "1") & (C == 0)}[part]
    if (part.startswith("n") and where.startswith("n")) or (part == "b=b1" and where == "b=b0 and c=c1"):
        return
    if part == "n=1 and c=c0" and "c" in where:
        return
    counts = {name: possible @ meant for name, meant in {"both": WHERE[where] & inside, "all": WHERE[where]}.items()}
    shares = [both / rows for both, rows in zip(counts["both"], counts["all"]) if rows]
    try:
        found = release.share([part], conditions(where))
    except InputError:
        assert not shares
        return
    lies_within(shares, found.lower, found.upper, sharp=found.sharp)
    if part != "b=b1":
        risks = [
            [ratio(int(both), int(rows)) for both, rows in zip(possible @ (inside & own), possible @ own)]
            for own in (WHERE[where] & (B == 0), WHERE[where] & (B == 1))
        ]
        pairs = [(p, q) for p, q in zip(*risks) if not np.isnan(p) and not np.isnan(q)]
        for against in (None, "b=b1"):
            if against and "b" in where:
                continue
            compared = release.risk_ratio([part], "b=b0", conditions(where), against=against)
            lies_within([ratio(p, q) for p, q in pairs], compared.lower, compared.upper, sharp=compared.sharp)
            compared = release.risk_difference([part], "b=b0", conditions(where), against=against)
            lies_within([p - q for p, q in pairs], compared.lower, compared.upper, sharp=compared.sharp)


@given(tables, collections, wheres, st.sampled_from([None, "rows", "columns", "all"]))
def test_cross_tables(table: Table, margins: list[dict[str, int]], where: str, normalize: str | None) -> None:
    release, possible = release_of(table, margins), worlds(table, margins)
    lower, upper, sharp = release.crosstab_bounds({"b": 0}, {"c": 0}, conditions(where), normalize=normalize)
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
        lies_within(values, lower.iloc[b, c], upper.iloc[b, c], sharp=sharp)


def test_an_open_end_has_no_bound_unless_limits_are_known() -> None:
    hierarchy = Hierarchy.flat(["under 18", "18-64", "65 and over", "other age", "missing"])
    domain = Domain.of({"age": hierarchy, "sex": Hierarchy.flat(["f", "m"])})
    codes = {"age": np.array([1, 1, 2, 4, 0, 3]), "sex": np.array([0, 1, 1, 1, 0, 0])}
    base = ContingencyTable.from_cells(domain, {"age": 0, "sex": 0}, codes, np.array([6, 4, 2, 5, 0, 0]) + 0)
    release = Release(
        BundleContent(
            Collection.of(DataCube([base]), [base.mask]), dict.fromkeys(["age", "sex"], Role.QUASI_IDENTIFIER)
        )
    )
    found = release.mean("age", "sex=f")
    assert (found.lower, found.upper, found.sharp, found.open_labels) == (18, 64, True, ())
    found = release.mean("age", "sex=m")
    assert (found.lower, found.upper, found.open_labels) == ((4 * 18 + 2 * 65) / 6, inf, ("65 and over",))
    assert float(found) == (4 * 41 + 2 * 65) / 6, "the estimate takes its one end"
    assert float(release.mean("age", "sex=m", middles={"65 and over": 80})) == (4 * 41 + 2 * 80) / 6
    found = release.mean("age", "sex=m", limits=(0, 105))
    assert (found.lower, found.upper) == ((4 * 18 + 2 * 65) / 6, (4 * 64 + 2 * 105) / 6)
    assert release.total("age", "sex=m", limits=(0, 105)).upper == 4 * 64 + 2 * 105
    assert release.quantile_bounds("age", [0.5, 1.0], "sex=m").values.tolist() == [[18, 64], [65, inf]]

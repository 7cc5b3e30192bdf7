"""Rows without a value are neither in a share nor in its complement: brute force over every table with the same margins."""

from collections.abc import Mapping
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, Policy, Release, Role
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from written_bundles import bundle_content

ILL = ["flu", "gout", "mumps or missing", "missing"]
DOMAIN = Domain.of(
    {
        "ill": Hierarchy.from_rows([(label, "some" if label in ("flu", "gout") else label, "*") for label in ILL]),
        "sex": Hierarchy.flat(["f", "m", "missing"]),
        "c": Hierarchy.flat(["c0", "c1"]),
    }
)
IS_KNOWN = {"flu": [True], "gout": [True], "mumps or missing": [True, False], "missing": [False]}
PEOPLE = [
    (label, known, sex, c)
    for label in ILL
    for known in IS_KNOWN[label]
    for sex in ("f", "m", "missing")
    for c in ("c0", "c1")
]
"""Each way in which somebody can be: the label of the illness, whether there is one, sex and c."""
LABEL, KNOWN, SEX, C = (np.array(column) for column in zip(*PEOPLE))
MARGINS: list[dict[str, int]] = [
    {"ill": 0, "sex": 0, "c": 0},
    {"ill": 0, "sex": 0},
    {"ill": 1, "sex": 0},
    {"sex": 0, "c": 0},
    {"ill": 0, "c": 0},
    {"ill": 0},
]
ROWS = 3


@cache
def all_tables() -> np.ndarray:
    places = np.array(list(combinations_with_replacement(range(len(PEOPLE)), ROWS)))
    return np.stack([(places == cell).sum(axis=1) for cell in range(len(PEOPLE))], axis=1)


def labels_at(name: str, level: int) -> np.ndarray:
    base = {"ill": LABEL, "sex": SEX, "c": C}[name]
    hierarchy = DOMAIN.hierarchy(name)
    above = dict(zip(hierarchy.labels[0], hierarchy.lift(0, level).tolist()))
    return np.array([above[label] for label in base])


def worlds(people: list[int], margins: list[dict[str, int]]) -> np.ndarray:
    """The tables with the same margins as that of some people."""
    tables = all_tables()
    table = np.bincount(people, minlength=len(PEOPLE))
    fits = np.ones(len(tables), dtype=bool)
    for margin in margins:
        _, cells = np.unique(np.stack([labels_at(*item) for item in margin.items()]), axis=1, return_inverse=True)
        sums = np.eye(int(cells.max()) + 1, dtype=int)[cells.ravel()]
        fits &= np.all(tables @ sums == table @ sums, axis=1)
    return tables[fits]


def release_of(people: list[int], margins: list[dict[str, int]]) -> Release:
    base = dict.fromkeys(DOMAIN.attributes, 0)
    rows = {name: labels_at(name, 0)[people] for name in DOMAIN.attributes}
    table = ContingencyTable.from_cells(DOMAIN, base, rows, np.ones(len(people), dtype=np.int64))
    masks = [DOMAIN.mask(margin) for margin in margins]
    masks = [mask for mask in masks if not any(mask != other and not mask & ~other for other in masks)]
    collection = Collection.of(DataCube([table]), masks)
    return Release(bundle_content(collection, dict.fromkeys(DOMAIN.attributes, Role.QUASI_IDENTIFIER)))


CONDITIONS: Mapping[str, tuple[np.ndarray, np.ndarray]] = {
    "ill=flu": (LABEL == "flu", KNOWN),
    "ill=flu|gout": (np.isin(LABEL, ["flu", "gout"]), KNOWN),
    "ill=missing": (LABEL == "missing", np.ones(len(PEOPLE), dtype=bool)),
    "sex=f": (SEX == "f", SEX != "missing"),
}
"""Whom a condition holds for, and of whom it is known whether it does."""


def lies_within(values: list[float], found: marginals.Release) -> None:
    if not values:
        return
    assert found.lower - 1e-9 <= min(values)
    assert max(values) <= found.upper + 1e-9
    if found.sharp:
        assert found.lower == pytest.approx(min(values))
        assert found.upper == pytest.approx(max(values))


PLACES = st.lists(st.integers(0, len(PEOPLE) - 1), min_size=ROWS, max_size=ROWS)
COLLECTIONS = st.lists(st.sampled_from(MARGINS), min_size=1, max_size=2, unique_by=str)


@given(PLACES, COLLECTIONS, st.sampled_from([*CONDITIONS]), st.sampled_from(["", "c=c1", "sex=m"]))
def test_shares_and_risks_leave_out_who_has_no_value(
    people: list[int], margins: list[dict[str, int]], part: str, where: str
) -> None:
    if part.startswith("sex") and where.startswith("sex"):
        return
    release, possible = release_of(people, margins), worlds(people, margins)
    among = {"": np.ones(len(PEOPLE), dtype=bool), "c=c1": C == "c1", "sex=m": SEX == "m"}[where]
    holds, known = CONDITIONS[part]
    wheres = [where] if where else []
    counts = [possible @ (among & known & holds), possible @ (among & known)]
    try:
        found = release.share(part, wheres)
    except InputError:
        assert not counts[1].any()
    else:
        lies_within([inside / rows for inside, rows in zip(*counts) if rows], found)
    if "sex" in part or "sex" in where:
        return
    differences = []
    groups = [among & known & (sex == SEX) for sex in ("f", "m")]
    for (first, one), (second, other) in zip(*([*zip(possible @ (g & holds), possible @ g)] for g in groups)):
        if one and other:
            differences.append(first / one - second / other)
    compared = release.risk_difference(part, "sex=f", wheres)
    lies_within(differences, compared)


def test_a_share_of_a_frame_is_of_the_rows_with_a_value() -> None:
    frame = pd.DataFrame({"ill": ["flu"] * 4 + ["gout"] * 4 + [""] * 8, "town": ["x", "y"] * 8})
    roles = {name: Attribute("quasi-identifier", missing="as a value") for name in frame}
    table = marginals.read_table(frame, roles)
    release = marginals.publish(table, Policy(k_link=2, diversity="none")).release
    assert release.share("ill=flu") == 0.5
    assert release.share("ill=missing") == 0.5
    assert release.share("ill=flu", "town=x") == 0.5
    assert release.risk_ratio("ill=flu", "town=x") == 1
    assert release.risk_difference("town=x", "ill=flu") == 0

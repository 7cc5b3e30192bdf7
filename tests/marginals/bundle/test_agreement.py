"""Marginals of one table: every pair is compared, wherever the two stand, by what pandas counts of them."""

import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import BundleError
from marginals.bundle.reading import check_agreement
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from strategies import coarser_margins, contingency_tables, domains, margins
from written_bundles import bundle_content, write_bundle


def as_frame(table: ContingencyTable) -> pd.DataFrame:
    """Its cells: a column of labels for each attribute, and their counts."""
    return pd.DataFrame([(*labels, count) for labels, count in table.cells()], columns=[*table.attributes, "count"])


def common_counts(table: ContingencyTable, levels: Mapping[str, int]) -> dict[tuple[str, ...], int]:
    """What pandas counts of a table at some levels, which it can be rolled up to; cells of 0 left out."""
    frame = as_frame(table)
    for attribute, level in levels.items():
        above = {row[table.margin[attribute]]: row[level] for row in table.domain.hierarchy(attribute).rows()}
        frame[attribute] = frame[attribute].map(above)
    names = list(levels)
    return {tuple(cell): int(count) for *cell, count in frame.groupby(names)["count"].sum().reset_index().to_numpy()}


def differ(one: ContingencyTable, other: ContingencyTable) -> bool:
    """Whether two tables count their common attributes differently, each at the coarser of its two levels."""
    levels = {a: max(one.margin[a], other.margin[a]) for a in one.margin if a in other.margin}
    return bool(levels) and common_counts(one, levels) != common_counts(other, levels)


@st.composite
def published_tables(draw: st.DrawFn) -> list[ContingencyTable]:
    """Two to five margins of one table, of which one may count a row in another cell, or be coarser than it was."""
    domain = draw(domains(min_attributes=2, max_attributes=3, max_cells=40))
    base = draw(contingency_tables(domain, 12))
    drawn = draw(st.lists(margins(domain).filter(bool), min_size=2, max_size=5, unique_by=domain.mask))
    tables = [base.rolled_up(margin) for margin in drawn if domain.mask(margin)]
    if tables and draw(st.booleans()):
        place = draw(st.integers(0, len(tables) - 1))
        tables[place] = _moved(draw, domain, tables[place])
    if tables and draw(st.booleans()):
        tables.append(tables[0].rolled_up(draw(coarser_margins(domain, tables[0].margin).filter(domain.mask))))
    return tables


def _moved(draw: st.DrawFn, domain: Domain, table: ContingencyTable) -> ContingencyTable:
    """The table with one row of its first cell moved to any other."""
    frame = pd.DataFrame(dict(zip(table.attributes, table.codes))).assign(count=table.counts)
    to = {a: draw(st.integers(0, domain.hierarchy(a).size(table.margin[a]) - 1)) for a in table.attributes}
    frame.loc[0, "count"] -= 1
    frame = pd.concat([frame, pd.DataFrame([{**to, "count": 1}])])
    frame = frame.groupby(list(table.attributes), as_index=False)["count"].sum()
    frame = frame[frame["count"] > 0]
    codes = {a: frame[a].to_numpy() for a in table.attributes}
    return ContingencyTable.from_cells(domain, table.margin, codes, frame["count"].to_numpy())


@given(published_tables())
def test_two_tables_that_differ_are_found_wherever_they_stand_and_no_others(tables: list[ContingencyTable]) -> None:
    named = {f"marginals/{number}.csv": table for number, table in enumerate(tables)}
    differing = {(one, other) for one, other in combinations(named, 2) if differ(named[one], named[other])}
    if not differing:
        check_agreement(named)
        return
    with pytest.raises(BundleError) as caught:
        check_agreement(named)
    (contradicted,) = (name for name in named if f"contradicts {name}:" in caught.value.problem)
    assert (caught.value.file, contradicted) in differing | {(other, one) for one, other in differing}


def test_tables_that_show_nothing_contradict_nothing() -> None:
    domain = Domain.of({"a": Hierarchy.flat("xy")})
    check_agreement({})
    check_agreement({"rows": ContingencyTable(domain, {}, (), np.array([3]))})


WORKERS = pd.DataFrame(
    [("a", "u", "flu")] * 3 + [("a", "v", "cold")] * 2 + [("b", "u", "cold")] * 4 + [("b", "v", "flu")],
    columns=["job", "town", "ill"],
)
OTHERS = WORKERS.assign(job=["b", *WORKERS["job"][1:]])
"""The same people, the first of whom has the other job."""


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0)])
def test_a_bundle_is_refused_where_tables_differ_that_do_not_follow_each_other(
    tmp_path: Path, order: tuple[int, int, int]
) -> None:
    """Jobs and towns, then illnesses alone, then jobs and illnesses: the first and the last differ in the jobs."""
    roles = {"job": "quasi-identifier", "town": "quasi-identifier", "ill": "sensitive"}
    table, other = (marginals.read_table(frame, roles) for frame in (WORKERS, OTHERS))
    masks = [table.domain.mask(dict.fromkeys(names, 0)) for names in (["job", "town"], ["ill"], ["job", "ill"])]
    parts = [source.cube.table(mask) for source, mask in zip((table, table, other), masks)]
    write_bundle(bundle_content(Collection.of(DataCube(parts), masks), table.roles), tmp_path / "release")
    file = tmp_path / "release" / "datapackage.json"
    package = json.loads(file.read_text())
    listed = {frozenset(r["marginal"]["levels"]): r for r in package["resources"] if "marginal" in r}
    tables = [listed[frozenset(part.margin)] for part in parts]
    package["resources"] = [tables[place] for place in order] + [r for r in package["resources"] if "hierarchy" in r]
    file.write_text(json.dumps(package))
    (tmp_path / "release" / "datapackage.json.sha256").unlink()
    with pytest.raises(BundleError, match=r"they differ on their common margin \(job:0\)") as caught:
        marginals.open_release(tmp_path / "release")
    assert [table["path"] in str(caught.value) for table in tables] == [True, False, True]


def test_hierarchies_agree_only_where_each_value_has_as_many_base_values(tmp_path: Path) -> None:
    """All have something of the lung. Where that is flu or cold, no base value has more than half of the rows; where it is
    flu alone, one has all: what holds by one of the hierarchies does not hold of both.
    """
    claim = "diversity=functional:0.5,2"
    lungs = {"two": [("flu", "lung", "*"), ("cold", "lung", "*")], "one": [("flu", "lung", "*")]}
    for name, paths in lungs.items():
        hierarchy = Hierarchy.from_rows([*paths, ("gout", "joint", "*")])
        table = marginals.read_table(
            pd.DataFrame({"ill": ["flu"] * 4}), {"ill": marginals.Attribute("sensitive", hierarchy=hierarchy)}
        )
        mask = table.domain.mask({"ill": 1})
        collection = Collection.of(DataCube([table.cube.table(mask)]), [mask])
        write_bundle(bundle_content(collection, table.roles), tmp_path / name)
    assert marginals.verify(tmp_path / "two", claims=[claim]).ok
    assert not marginals.verify(tmp_path / "one", claims=[claim]).ok
    for folders in (("two", "one"), ("one", "two")):
        together = marginals.verify(*(tmp_path / name for name in folders), claims=[claim])
        assert together.checks[0].holds
        assert not together.ok

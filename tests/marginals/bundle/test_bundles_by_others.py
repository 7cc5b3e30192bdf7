"""Bundles that other programs write: fields are those of the csv module, and every two tables are compared."""

import csv
import io
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginals import open_release
from marginals.errors import BundleError
from models import ContingencyTable, Domain, Hierarchy
from strategies import coarser_margins, contingency_tables, domains, margins
from written_bundles import csv_of, write_by_hand

PLAIN = st.text(st.sampled_from("ab0139é€ x"), max_size=20)
FIELDS = st.text(st.sampled_from('ab0139é€,"\r\n\0 x'), max_size=20)
COUNTS = st.sampled_from(["12", "01", "", "+1", "1.0", "-1", " 1", "\u0661", str(10**15), "0"])
LONG = "x" * 2000


def cells_in(content: bytes, labels: list[str]) -> dict[tuple[str, ...], int] | None:
    """The counts in a file of two attributes as the csv module reads it; None if it is no marginal of these labels."""
    try:
        header, *rows = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    except (UnicodeDecodeError, csv.Error, ValueError):
        return None
    if header != ["first", "second", "count"] or any(len(row) != 3 for row in rows):
        return None
    counts = {tuple(row[:-1]): int(row[-1]) for row in rows if re.fullmatch("[1-9][0-9]{0,14}", row[-1])}
    known = all(label in labels for *cell, _ in rows for label in cell)
    return counts if known and len(counts) == len(rows) else None


def assert_read(content: bytes, labels: list[str], rows: int = 1 << 16) -> None:
    """A file is read as the csv module reads it, or refused, however many rows are looked at together."""
    expected = cells_in(content, labels)
    levels, hierarchy = {"first": 0, "second": 0}, Hierarchy.flat(labels)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("marginals.bundle.reading._BATCH", rows)
        total = sum((expected or {}).values())
        write_by_hand(Path(folder), dict.fromkeys(levels, hierarchy), [(levels, content)], total)
        if expected is None:
            with pytest.raises(BundleError, match=r"marginals/0\.csv"):
                open_release(folder)
        else:
            (table,) = open_release(folder).published.collection.tables
            assert dict(table.cells()) == expected


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A file of some combinations of labels, of which a field may be another; and the labels."""
    labels = draw(st.lists(draw(st.sampled_from([PLAIN, FIELDS])), min_size=1, max_size=6, unique=True))
    label = st.sampled_from(labels)
    cells = draw(st.lists(st.tuples(label, label), max_size=12, unique=True))
    rows = [[*cell, str(draw(st.integers(1, 10**12)))] for cell in cells]
    if rows and draw(st.booleans()):
        row = draw(st.sampled_from(rows))
        row[2 if draw(st.booleans()) else 0] = draw(COUNTS | PLAIN | FIELDS)
    if draw(st.booleans()):
        content = csv_of([["first", "second", "count"], *rows])
    else:
        content = "".join(",".join(row) + "\n" for row in [["first", "second", "count"], *rows]).encode()
    return content if draw(st.booleans()) else content[:-1], labels


@settings(max_examples=300)
@given(files(), st.integers(1, 12))
def test_counts_are_those_that_the_csv_module_reads(file: tuple[bytes, list[str]], rows: int) -> None:
    assert_read(*file, rows)


@pytest.mark.parametrize(
    "rows",
    [
        b'a,"b",1\n', b"a,b,1\r\n", b"a,b\0,1\n", b"a,b\n", b"a,b,c,1\n", b"a,b,1\n\n", b"a\n,b,1\n", b"a,b,\xff\n",
        b"a,b,1" * 999, b"b," + LONG.encode() + b",1\n",
    ],
)  # fmt: skip
def test_unusual_files_are_read_as_the_csv_module_reads_them(rows: bytes) -> None:
    assert_read(b"first,second,count\n" + rows, ["a", "b", "b\0", LONG])


def common_counts(table: ContingencyTable, levels: Mapping[str, int]) -> dict[tuple[str, ...], int]:
    """Counts of a table at some coarser levels, by pandas."""
    cells = [(*labels, count) for labels, count in table.cells()]
    frame = pd.DataFrame(cells, columns=[*table.attributes, "count"])
    for attribute, level in levels.items():
        above = {row[table.margin[attribute]]: row[level] for row in table.domain.hierarchy(attribute).rows()}
        frame[attribute] = frame[attribute].map(above)
    names = list(levels)
    return {tuple(cell): int(count) for *cell, count in frame.groupby(names)["count"].sum().reset_index().to_numpy()}


def differ(one: ContingencyTable, other: ContingencyTable) -> bool:
    """Do two tables count their common attributes differently, each at the coarser of its two levels."""
    levels = {a: max(one.margin[a], other.margin[a]) for a in one.margin if a in other.margin}
    return bool(levels) and common_counts(one, levels) != common_counts(other, levels)


def moved(draw: st.DrawFn, domain: Domain, table: ContingencyTable) -> ContingencyTable:
    frame = pd.DataFrame(dict(zip(table.attributes, table.codes))).assign(count=table.counts)
    to = {a: draw(st.integers(0, domain.hierarchy(a).size(table.margin[a]) - 1)) for a in table.attributes}
    frame.loc[0, "count"] -= 1
    frame = pd.concat([frame, pd.DataFrame([{**to, "count": 1}])])
    frame = frame.groupby(list(table.attributes), as_index=False)["count"].sum()
    frame = frame[frame["count"] > 0]
    codes = {a: frame[a].to_numpy() for a in table.attributes}
    return ContingencyTable.from_cells(domain, table.margin, codes, frame["count"].to_numpy())


@st.composite
def published_tables(draw: st.DrawFn) -> list[ContingencyTable]:
    """Two to five margins of one table, of which one may count a row in another cell, or be coarser than it was."""
    domain = draw(domains(min_attributes=2, max_attributes=3, max_cells=40))
    base = draw(contingency_tables(domain, 12))
    drawn = draw(st.lists(margins(domain).filter(bool), min_size=2, max_size=5, unique_by=domain.mask))
    tables = [base.rolled_up(margin) for margin in drawn if domain.mask(margin)]
    if tables and draw(st.booleans()):
        place = draw(st.integers(0, len(tables) - 1))
        tables[place] = moved(draw, domain, tables[place])
    if tables and draw(st.booleans()):
        tables.append(tables[0].rolled_up(draw(coarser_margins(domain, tables[0].margin).filter(domain.mask))))
    return tables


def opened_tables(tables: list[ContingencyTable], folder: Path) -> BundleError | None:
    """Why a bundle of these tables, in this order, is refused; None if it is not."""
    files = [(t.margin, csv_of([[*t.attributes, "count"], *((*c, n) for c, n in t.cells())])) for t in tables]
    domain = tables[0].domain
    write_by_hand(folder, {name: domain.hierarchy(name) for name in domain.attributes}, files, tables[0].total)
    try:
        open_release(folder)
    except BundleError as error:
        return error
    return None


@given(published_tables().filter(bool))
def test_two_tables_that_differ_are_found_wherever_they_are_and_no_others(tables: list[ContingencyTable]) -> None:
    named = {f"marginals/{number}.csv": table for number, table in enumerate(tables)}
    differing = {(one, other) for one, other in combinations(named, 2) if differ(named[one], named[other])}
    with TemporaryDirectory() as folder:
        error = opened_tables(tables, Path(folder))
    assert (error is not None) is bool(differing)
    if error is not None:
        (contradicted,) = (name for name in named if f"contradicts {name}:" in error.problem)
        assert (error.file, contradicted) in differing | {(other, one) for one, other in differing}

"""Somebody's published table as the one that marginals are injected into (KG06 section 7): a CSV file of generalized rows.

The file must hold the rows of the data, each column at one level of its hierarchy (full-domain generalization). Then it is a
margin of the data, and a release that contains it is judged with it: what readers of both can conclude is what follows from
the release alone.

Suppressed rows are no part of that: KG06 keeps to generalizations, of which every fact is true of the data. A table that
leaves some rows out counts too few in some classes, beside marginals of all rows the difference tells of the rows left out,
and the claims of a release are about its marginals. So such a table is refused.

Neither is a table that generalizes each class in its own way, as SWEEP and the Hilbert mapping do. It is diverse by itself,
but which rows of a class it shows in more detail is a choice, so it is no margin of the data, and beside marginals the
difference tells of rows again: the tests have a table of fourteen rows of which one man is left. Only where SWEEP happens to
show each column at one level is its table a margin, and can be the base.
"""

from collections.abc import Mapping
from pathlib import Path

from marginals.anonymizers.published_table import read_published_table
from marginals.errors import InputError
from marginals.tables.table import Table
from models.tables.domain import Mask
from models.tables.hierarchy import SUPPRESSED


def is_file(base: str) -> bool:
    """Whether the base of a policy names a file: one of CSV.

    >>> is_file("tables/published.csv"), is_file("best")
    (True, False)
    """
    return base.casefold().endswith(".csv")


def published_base(table: Table, path: str | Path) -> Mask:
    """The margin of a table that a CSV file holds: a row a line, or a class with the column `count`.

    Raises InputError, naming the file and the column, where it is no full-domain generalization of the table's rows.
    """
    published = read_published_table(path, table.domain.attributes)
    name = published.name
    if published.rows != table.counts.total:
        raise InputError(
            f"{name} has {published.rows:,} rows where the table has {table.counts.total:,}; only a table of the same rows "
            "can be the base"
        )
    values = {
        column: {label: count for (label,), count in published.among([column]).items()} for column in published.columns
    }
    levels = {column: _level(table, column, values[column], name) for column in published.columns}
    mask = table.domain.mask(levels)
    margin = table.cube.table(mask)
    if published.among(margin.attributes) != {labels: int(count) for labels, count in margin.cells()}:
        raise InputError(f"{name} counts some class otherwise than the table does; it is of other rows")
    return mask


def _level(table: Table, column: str, values: Mapping[str, int], name: str) -> int:
    """The level of the hierarchy whose labels a column has, as often as the table. Raises InputError for none."""
    hierarchy = table.domain.hierarchy(column)
    for level in range(hierarchy.height + 1):
        mask = table.domain.mask({column: level})
        cells = ((labels[0], int(count)) for labels, count in table.cube.table(mask).cells()) if mask else ()
        if values == (dict(cells) if mask else {SUPPRESSED: table.counts.total}):
            return level
    shown = [set(labels) for labels in hierarchy.labels]
    finer = values.keys() - {SUPPRESSED}
    if finer <= set().union(*shown) and not any(finer <= labels for labels in shown):
        raise InputError(
            f"{name} shows the column {column!r} at several levels, as SWEEP and the Hilbert mapping do; such a table is no "
            "margin of the data, so that what it tells beside a release cannot be judged by the release's claims; publish "
            "it alone, or take one of the method lattice"
        )
    if SUPPRESSED in values:
        raise InputError(
            f"{name} suppresses some rows only, in the column {column!r}; such a table is no margin of the data, so that "
            "what it tells beside a release cannot be judged by the release's claims"
        )
    raise InputError(
        f"{name} has in the column {column!r} no level of its hierarchy, or other rows; give the hierarchy that it was made "
        'with, and no ladder = "fitted"'
    )

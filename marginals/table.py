"""Tables as the publisher sees them: roles, hierarchies, and how often each combination of values occurs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from marginals.attribute import Attribute, Role
from marginals.errors import InputError
from marginals.sources import Source, open_source
from models.arrays import BoolArray, CodeArray, CountArray
from models.contingency_table import ContingencyTable
from models.data_cube import DataCube
from models.domain import Domain
from models.errors import HierarchyError
from models.hierarchy import Hierarchy

DOMAINS = ("declared", "observed")


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table, counted by their base values.

    counts: the contingency table of all quasi-identifiers and sensitive attributes at level 0. roles: of these
    attributes. missing: rows that were dropped because a used column had a missing value.
    """

    counts: ContingencyTable
    roles: Mapping[str, Role]
    missing: int = 0

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name} ({role.value})" for name, role in self.roles.items())
        return f"Table({self.rows} rows, {len(self.counts)} distinct, {self.missing} dropped; {attributes})"

    @property
    def rows(self) -> int:
        """Number of rows that count."""
        return self.counts.total

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.counts.domain

    @cached_property
    def cube(self) -> DataCube:
        """The data cube of the table."""
        return DataCube([self.counts])

    def attributes(self, role: Role) -> tuple[str, ...]:
        """The attributes of a role, in the domain's order."""
        return tuple(name for name in self.domain.attributes if self.roles[name] is role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Attributes that may be known from elsewhere."""
        return self.attributes(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Attributes that nobody may learn about a person."""
        return self.attributes(Role.SENSITIVE)


def read_table(
    source: object,
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    domain: str = "declared",
    engine: str = "auto",
) -> Table:
    """Count a table: a path, or a data frame of pandas, polars, pyarrow, DuckDB, Spark, Ibis or whatever narwhals takes.

    A path names a CSV or Parquet file, a folder of them, or a pattern such as `parts/*.parquet`. attributes: for each
    column an Attribute, or just its role; columns that are not named are ignored. missing: values that stand for
    nothing, beside null; a row with one in a used column is dropped and counted. domain: "declared" takes every base
    value of the hierarchies, "observed" only those that occur. engine: what reads files, "pandas", "duckdb", "spark" or
    "auto".
    Raises InputError, naming the column and the number of the row (from 1), never the value.
    """
    coded = _coded_rows(open_source(source, engine), attributes, missing, domain)
    base = dict.fromkeys(coded.roles, 0)
    counts = ContingencyTable.from_cells(coded.domain, base, coded.codes, coded.counts)
    return Table(counts, coded.roles, coded.missing)


@dataclass(frozen=True, eq=False)
class _CodedRows:
    """The rows without a missing value, as base codes, with how often each occurs. missing: rows left out."""

    domain: Domain
    roles: Mapping[str, Role]
    codes: Mapping[str, CodeArray]
    counts: CountArray
    missing: int


def _coded_rows(
    source: Source, attributes: Mapping[str, Attribute | str], missing: Iterable[str], domain: str
) -> _CodedRows:
    if domain not in DOMAINS:
        raise InputError(f"domain is {' or '.join(map(repr, DOMAINS))}, not {domain!r}")
    wanted = {name: a if isinstance(a, Attribute) else Attribute(a) for name, a in attributes.items()}
    used = [name for name, attribute in wanted.items() if attribute.role.is_used]
    if not used:
        raise InputError("no attribute is a quasi-identifier or sensitive, so there is nothing to publish")
    known = source.columns
    for column, attribute in wanted.items():
        if column not in known and attribute.role is not Role.IGNORED:
            raise InputError(f"{source.name} has no column {column!r}; its columns are {', '.join(known)}")
    if len(set(known)) != len(known):
        raise InputError(f"{source.name} has two columns of one name")
    rows = source.counted(used)
    columns = {}
    for column in used:
        try:
            columns[column] = _factorized(rows.frame[column], set(missing))
        except TypeError:
            raise InputError(f"column {column!r} of {source.name} holds values that are not single") from None
    kept = np.logical_and.reduce([codes >= 0 for codes, _ in columns.values()])
    if not kept.any():
        raise InputError(f"{source.name} has no row without a missing value in the columns that are used")
    hierarchies: dict[str, Hierarchy] = {}
    coded: dict[str, CodeArray] = {}
    for column, (codes, values) in columns.items():
        where = _Where(source, column, rows.frame[column], codes, kept)
        hierarchies[column], coded[column] = _coded(codes[kept], values, wanted[column], domain, where)
    roles = {column: wanted[column].role for column in used}
    return _CodedRows(
        Domain.of(hierarchies), roles, coded, rows.counts[kept], int(rows.counts.sum() - rows.counts[kept].sum())
    )


@dataclass(frozen=True, eq=False)
class _Where:
    """Where in a table a value is, for messages, which must not quote it."""

    source: Source
    column: str
    values: "pd.Series[Any]"
    codes: CodeArray
    kept: BoolArray

    def __str__(self) -> str:
        return f"column {self.column!r} of {self.source.name}"

    def row(self, code: int) -> str:
        """The first of the kept rows with a value, as far as rows have an order."""
        place = int(np.flatnonzero((self.codes == code) & self.kept)[0])
        number = self.source.first_row(self.column, self.values.iloc[place])
        return "a value" if number is None else f"the value in row {number}"


def _factorized(column: "pd.Series[Any]", missing: set[str]) -> tuple[CodeArray, list[str]]:
    """Codes of the values as text, -1 where missing, and the distinct texts."""
    codes, values = pd.factorize(column, use_na_sentinel=True)
    texts = [_text(value) for value in values]
    distinct = {text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t not in missing))}
    recode = np.array([distinct.get(text, -1) for text in texts] + [-1], dtype=np.int64)
    return recode[codes], list(distinct)


def _text(value: object) -> str:
    """A value as every engine writes it: 37 for 37.0, and a day without its hour."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time.min:
        return str(value.date())
    return str(value)


def _coded(
    codes: CodeArray, values: list[str], attribute: Attribute, domain: str, where: _Where
) -> tuple[Hierarchy, CodeArray]:
    present = np.unique(codes)
    if attribute.intervals:
        for i in present.tolist():
            if not values[i].removeprefix("-").isdecimal():
                raise InputError(f"{where}: {where.row(i)} is not a whole number, which intervals need")
    try:
        hierarchy = attribute.hierarchy_of(values[i] for i in present)
    except HierarchyError as error:
        raise InputError(f"{where}: {error}") from None
    of_value = np.full(len(values), -1, dtype=np.int64)
    for i in present.tolist():
        code = hierarchy.code(values[i], 0)
        if code is None:
            raise InputError(f"{where}: {where.row(i)} is not among the base values of its hierarchy")
        of_value[i] = code
    recoded = of_value[codes]
    if domain == "observed":
        occurring = np.unique(recoded)
        return hierarchy.restricted_to(occurring.tolist()), np.searchsorted(occurring, recoded)
    return hierarchy, recoded

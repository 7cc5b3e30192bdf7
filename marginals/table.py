"""Tables as the publisher sees them: roles, hierarchies, and how often each combination of values occurs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from marginals.attribute import Attribute, Role
from marginals.errors import InputError
from models.arrays import CodeArray
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


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table one by one, those with a missing value left out.

    codes: base codes of all quasi-identifiers and sensitive attributes, shape (rows,). frame: all columns as they were
    read. missing: rows left out.
    """

    domain: Domain
    roles: Mapping[str, Role]
    codes: Mapping[str, CodeArray]
    frame: pd.DataFrame
    missing: int = 0

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def counted(self) -> Table:
        """The rows counted by their base values."""
        base = dict.fromkeys(self.domain.attributes, 0)
        ones = np.ones(len(self), dtype=np.int64)
        counts = ContingencyTable.from_cells(self.domain, base, self.codes, ones)
        return Table(counts, {column: self.roles[column] for column in self.domain.attributes}, self.missing)


def read_table(
    source: "str | Path | pd.DataFrame",
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    domain: str = "declared",
) -> Table:
    """Count a CSV file, a Parquet file or a DataFrame.

    attributes: for each column an Attribute, or just its role; columns that are not named are ignored. missing: values
    that stand for nothing, beside null; a row with one in a used column is dropped and counted. domain: "declared"
    takes every base value of the hierarchies, "observed" only those that occur.
    Raises InputError, naming the column and the number of the row (from 1), never the value.
    """
    return read_rows(source, attributes, missing, domain).counted()


def read_rows(
    source: "str | Path | pd.DataFrame",
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    domain: str = "declared",
) -> Rows:
    """The rows of a CSV file, a Parquet file or a DataFrame, uncounted. Arguments and errors as for `read_table`."""
    if domain not in DOMAINS:
        raise InputError(f"domain is {' or '.join(map(repr, DOMAINS))}, not {domain!r}")
    wanted = {name: a if isinstance(a, Attribute) else Attribute(a) for name, a in attributes.items()}
    used = [name for name, attribute in wanted.items() if attribute.role.is_used]
    if not used:
        raise InputError("no attribute is a quasi-identifier or sensitive, so there is nothing to publish")
    name = "the table" if isinstance(source, pd.DataFrame) else Path(source).name
    frame = source if isinstance(source, pd.DataFrame) else read_frame(Path(source))
    for column in wanted:
        if column not in frame.columns and wanted[column].role is not Role.IGNORED:
            raise InputError(f"{name} has no column {column!r}; its columns are {', '.join(map(str, frame.columns))}")
    if frame.columns.duplicated().any():
        raise InputError(f"{name} has two columns of one name")
    columns = {column: factorized(frame[column], set(missing)) for column in used}
    kept = np.logical_and.reduce([codes >= 0 for codes, _ in columns.values()])
    if not kept.any():
        raise InputError(f"{name} has no row without a missing value in the columns that are used")
    rows = np.flatnonzero(kept) + 1
    hierarchies: dict[str, Hierarchy] = {}
    coded: dict[str, CodeArray] = {}
    for column, (codes, values) in columns.items():
        hierarchies[column], coded[column] = _coded(
            codes[kept], values, rows, wanted[column], domain, f"column {column!r} of {name}"
        )
    roles = {column: attribute.role for column, attribute in wanted.items()}
    return Rows(Domain.of(hierarchies), roles, coded, frame[kept], len(frame) - len(rows))


def read_frame(path: Path) -> pd.DataFrame:
    """A CSV file as text, or a Parquet file. Raises InputError naming the file."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no table at {path}") from None
    except ImportError:
        raise InputError(f"{path.name} is a Parquet file; reading it needs pyarrow: pip install pyarrow") from None
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not in UTF-8; convert it first") from None
    except (OSError, ValueError) as error:
        expected = "it must be CSV with a header, or Parquet"
        raise InputError(f"{path.name} cannot be read as a table ({type(error).__name__}); {expected}") from None


def factorized(column: "pd.Series[Any]", missing: set[str]) -> tuple[CodeArray, list[str]]:
    """Codes of the values as text, -1 where missing, and the distinct texts."""
    codes, values = pd.factorize(column, use_na_sentinel=True)
    texts = [_text(value) for value in values]
    distinct = {text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t not in missing))}
    recode = np.array([distinct.get(text, -1) for text in texts] + [-1], dtype=np.int64)
    return recode[codes], list(distinct)


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _coded(
    codes: CodeArray, values: list[str], rows: CodeArray, attribute: Attribute, domain: str, where: str
) -> tuple[Hierarchy, CodeArray]:
    present = np.unique(codes)

    def row_of(code: int) -> int:
        return int(rows[np.flatnonzero(codes == code)[0]])

    if attribute.intervals:
        for i in present.tolist():
            if not values[i].removeprefix("-").isdecimal():
                raise InputError(f"{where}: the value in row {row_of(i)} is not a whole number, which intervals need")
    try:
        hierarchy = attribute.hierarchy_of(values[i] for i in present)
    except HierarchyError as error:
        raise InputError(f"{where}: {error}") from None
    of_value = np.full(len(values), -1, dtype=np.int64)
    for i in present.tolist():
        code = hierarchy.code(values[i], 0)
        if code is None:
            raise InputError(f"{where}: the value in row {row_of(i)} is not among the base values of its hierarchy")
        of_value[i] = code
    recoded = of_value[codes]
    if domain == "observed":
        occurring = np.unique(recoded)
        return hierarchy.restricted_to(occurring.tolist()), np.searchsorted(occurring, recoded)
    return hierarchy, recoded

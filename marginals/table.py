"""Tables as the publisher sees them: roles, hierarchies, and how often each combination of values occurs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    attributes. missing: rows that were dropped because a used column had a missing value. hidden_from: for an attribute
    whose base values come from the rows, the finest published level from which on what lies below must not be told.
    """

    counts: ContingencyTable
    roles: Mapping[str, Role]
    missing: int = 0
    hidden_from: Mapping[str, int] = field(default_factory=dict)

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
    if domain not in DOMAINS:
        raise InputError(f"domain is {' or '.join(map(repr, DOMAINS))}, not {domain!r}")
    wanted = {name: a if isinstance(a, Attribute) else Attribute(a) for name, a in attributes.items()}
    used = [name for name, attribute in wanted.items() if attribute.role.is_used]
    if not used:
        raise InputError("no attribute is a quasi-identifier or sensitive, so there is nothing to publish")
    name = "the table" if isinstance(source, pd.DataFrame) else Path(source).name
    frame = source if isinstance(source, pd.DataFrame) else _read_file(Path(source))
    for column in wanted:
        if column not in frame.columns and wanted[column].role is not Role.IGNORED:
            # The columns are not listed: without a header they are the values of a row.
            found = f"its first line must name it, and names {len(frame.columns)} others"
            raise InputError(f"{name} has no column {column!r}; {found}")
    if frame.columns.duplicated().any():
        raise InputError(f"{name} has two columns of one name")
    columns = {column: _factorized(frame[column], set(missing)) for column in used}
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
    base = dict.fromkeys(used, 0)
    counts = ContingencyTable.from_cells(Domain.of(hierarchies), base, coded, np.ones(len(rows), dtype=np.int64))
    levels = {column: _hidden_from(wanted[column], hierarchies[column], domain) for column in used}
    hidden_from = {column: level for column, level in levels.items() if level is not None}
    return Table(counts, {column: wanted[column].role for column in used}, len(frame) - len(rows), hidden_from)


def _hidden_from(attribute: Attribute, hierarchy: Hierarchy, domain: str) -> int | None:
    """The finest published level from which on a hierarchy tells of rows what the marginals do not; None if none."""
    if domain == "declared" and attribute.hierarchy is not None:
        return None
    base = hierarchy.labels[0]
    if domain == "declared" and attribute.intervals and int(base[-1]) - int(base[0]) + 1 == len(base):
        # All whole numbers of some intervals are there, but where the intervals end comes from the rows.
        return hierarchy.height
    return 1


def _read_file(path: Path) -> pd.DataFrame:
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


def _factorized(column: "pd.Series[Any]", missing: set[str]) -> tuple[CodeArray, list[str]]:
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

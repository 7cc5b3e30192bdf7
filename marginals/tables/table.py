"""Tables as the publisher sees them: roles, hierarchies, and how often each combination of values occurs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.suggestions import did_you_mean
from marginals.tables.attribute import COUNT, Attribute, Role
from marginals.tables.header import refuse_record
from marginals.tables.out_of_core import CountedElsewhere, finest_levels, kept_counts
from marginals.tables.sources.choice import ENGINES, file_source, frame_source, machine_memory
from marginals.tables.sources.distinct_rows import DistinctRows, Engine, Recoding, Source, Values
from marginals.tables.sources.files import CsvFiles, ParquetFiles, files_of, frame_of
from marginals.tables.sources.pandas_frame import PandasFrame
from marginals.tables.sources.refusal import engine_refusals
from models.arrays import BoolArray, CodeArray
from models.errors import HierarchyError
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

DOMAINS = ("declared", "observed")

_BYTES_OF_CELL = 128
"""Memory that a distinct row takes while it is counted: codes, key, count, and their sort."""


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table, counted by their base values.

    counts: the contingency table of all quasi-identifiers and sensitive attributes at level 0; coarser where the table is
    too large to hold, and then elsewhere says the rest. roles: of these attributes. missing: rows that were dropped
    because a used column had a missing value. hidden_from: for an attribute whose base values come from the rows, the
    finest published level from which on what lies below must not be told.

    >>> from marginals.example import table
    >>> table
    Table(48 rows, 12 distinct, 0 dropped; age (quasi-identifier), sex (quasi-identifier), diagnosis (sensitive))
    >>> table.domain.hierarchy("age").labels[2]
    ('20-39', '40-59')
    """

    counts: ContingencyTable
    roles: Mapping[str, Role]
    missing: int = 0
    elsewhere: CountedElsewhere | None = None
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
        singles = self.elsewhere.singles if self.elsewhere else ()
        return DataCube([self.counts, *singles], self.elsewhere)

    @property
    def base_counts(self) -> ContingencyTable:
        """The counts at level 0. Raises InputError where there are too many.

        >>> from marginals.example import table
        >>> len(table.base_counts)
        12
        """
        if self.elsewhere is not None:
            raise InputError(
                f"{self.elsewhere.engine.name} has more distinct rows than the {self.elsewhere.limit} that fit, and this "
                "needs them all; raise the setting data.memory, or leave out columns"
            )
        return self.counts

    def attributes(self, role: Role) -> tuple[str, ...]:
        """The attributes of a role, in the domain's order.

        >>> from marginals.example import table
        >>> table.attributes(Role.QUASI_IDENTIFIER)
        ('age', 'sex')
        """
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
    source: Any,
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    domain: str = "declared",
    engine: str = "auto",
    memory: int | None = None,
    k: int = 1,
    separator: str = ",",
) -> Table:
    """Count a table: files, or a frame of pandas, polars, pyarrow, DuckDB, Spark, Ibis or what else narwhals knows.

    source: a frame, or the path of a CSV or Parquet file, a folder or a glob of them. attributes: for each column an
    Attribute, or just its role; columns that are not named are ignored. missing: values that stand for nothing, beside
    null and NaN; a row with one in a used column is dropped and counted. domain: "declared" takes every base value of
    the hierarchies, "observed" only those that occur. engine: what reads files, "auto" (DuckDB where it is installed,
    else pandas), "pandas", "duckdb" or "spark"; every one gives the same table. memory: bytes to make do with, half of
    the machine's if None. k: rows that every published class will have; where the distinct rows do not fit, values that
    are rarer are generalized before they are counted. separator: between the columns of CSV files, "," or ";", tab or "|".
    Raises InputError, naming the column and, where rows have an order, the number of the row (from 1), never the value.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [23, 34, 41, None], "diagnosis": ["flu", "gout", "flu", ""]})
    >>> read_table(people, {"age": Attribute("quasi-identifier", intervals=[5, 10]), "diagnosis": "sensitive"})
    Table(3 rows, 3 distinct, 1 dropped; age (quasi-identifier), diagnosis (sensitive))
    """
    if engine not in ENGINES:
        raise InputError(f"engine is {', '.join(map(repr, ENGINES))}, not {engine!r}")
    wanted, missing = _wanted(attributes, domain), frozenset(missing)
    memory = machine_memory() // 2 if memory is None else memory
    opened = _opened(source, wanted, missing, engine, memory // 2, separator)
    reading = _Reading.of(opened, wanted, missing, domain)
    used = list(reading.wanted)
    limit = memory // 2 // _BYTES_OF_CELL
    with engine_refusals(opened.name):
        if isinstance(opened, Engine) and opened.estimate(used) > limit:
            return reading.pushed_down(opened, limit, k)
        return reading.counted(opened.distinct_rows(used))


def _hidden_from(attribute: Attribute, hierarchy: Hierarchy, domain: str) -> int | None:
    """The finest published level from which on a hierarchy tells of rows what the marginals do not; None if none."""
    if domain == "declared" and attribute.hierarchy is not None:
        return None
    base = hierarchy.labels[0]
    if domain == "declared" and attribute.intervals and int(base[-1]) - int(base[0]) + 1 == len(base):
        # All whole numbers of some intervals are there, but where the intervals end comes from the rows.
        return hierarchy.height
    return 1


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table one by one, those with a missing value left out.

    codes: base codes of all quasi-identifiers and sensitive attributes, shape (rows,). frame: all columns as they were
    read. missing: rows left out. no_value: texts that stand for no value, beside null and NaN.

    >>> from marginals.example import attributes, frame
    >>> rows = read_rows(frame, attributes)
    >>> len(rows), rows.codes["sex"][5:9]
    (48, array([0, 0, 1, 1]))
    """

    domain: Domain
    roles: Mapping[str, Role]
    codes: Mapping[str, CodeArray]
    frame: pd.DataFrame
    missing: int = 0
    no_value: frozenset[str] = frozenset({""})

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)


def read_rows(
    source: "str | Path | pd.DataFrame",
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    domain: str = "declared",
    separator: str = ",",
) -> Rows:
    """The rows of a CSV file, a Parquet file or a DataFrame, uncounted, in memory.

    Arguments and errors as for `read_table`.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "diagnosis": ["flu", "", "gout"]})
    >>> rows = read_rows(people, {"sex": "quasi-identifier", "diagnosis": "sensitive"})
    >>> len(rows), rows.missing
    (2, 1)
    """
    wanted, missing = _wanted(attributes, domain), frozenset(missing)
    if isinstance(source, pd.DataFrame):
        known = PandasFrame(source)
        _check_columns(known, wanted)
    else:
        files = files_of(Path(source), separator)
        _check_header(files, wanted, missing)
        known = PandasFrame(frame_of(files), files.name)
    reading = _Reading.of(known, wanted, missing, domain)
    over, codes, kept = reading.coded(known.rows(list(reading.wanted)))
    roles = {column: attribute.role for column, attribute in wanted.items()}
    return Rows(over, roles, codes, known.frame[kept], int((~kept).sum()), reading.missing)


def _wanted(attributes: Mapping[str, Attribute | str], domain: str) -> dict[str, Attribute]:
    """What each column is taken for; one at least is used."""
    if domain not in DOMAINS:
        raise InputError(f"domain is {' or '.join(map(repr, DOMAINS))}, not {domain!r}")
    wanted = {name: a if isinstance(a, Attribute) else Attribute(a) for name, a in attributes.items()}
    if not any(attribute.role.is_used for attribute in wanted.values()):
        raise InputError("no attribute is a quasi-identifier or sensitive, so there is nothing to publish")
    if COUNT in _used(wanted):
        raise InputError(
            f"the column {COUNT!r} is called what published tables call their counts; rename it, or ignore it"
        )
    return wanted


def _opened(
    source: Any, wanted: Mapping[str, Attribute], missing: frozenset[str], engine: str, memory: int, separator: str
) -> Source:
    """The source, which has all columns that are described once."""
    if not isinstance(source, str | Path):
        opened = frame_source(source)
        _check_columns(opened, wanted)
        return opened
    files = files_of(Path(source), separator)
    _check_header(files, wanted, missing)
    return file_source(files, _used(wanted), engine, memory)


def _used(wanted: Mapping[str, Attribute]) -> list[str]:
    return [column for column, attribute in wanted.items() if attribute.role.is_used]


def _check_header(files: CsvFiles | ParquetFiles, wanted: Mapping[str, Attribute], missing: frozenset[str]) -> None:
    """Check the columns of files; where one is not there, or is no name, the whole header may be a record."""
    lacking = [c for c, attribute in wanted.items() if attribute.role is not Role.IGNORED and c not in files.columns]
    refuse_record(files, files.columns if lacking else _used(wanted), missing)
    _check_columns(files, wanted)


def _check_columns(source: Source, wanted: Mapping[str, Attribute]) -> None:
    columns = list(source.columns)
    for column, attribute in wanted.items():
        if attribute.role is Role.IGNORED:
            continue
        if column not in columns:
            # The columns are not listed: without a header they are the values of a row.
            meant = did_you_mean(column, columns) or f"it has {len(columns)} others"
            raise InputError(f"{source.name} has no column {column!r}; {meant}")
        if columns.count(column) > 1:
            raise InputError(f"{source.name} has two columns of the name {column!r}")


@dataclass(frozen=True)
class _Reading:
    """What the used columns of a source are taken for."""

    source: Source
    wanted: Mapping[str, Attribute]
    missing: frozenset[str]
    domain: str

    @classmethod
    def of(cls, source: Source, wanted: Mapping[str, Attribute], missing: Iterable[str], domain: str) -> "_Reading":
        """The reading of the columns among those wanted that are used."""
        used = {column: attribute for column, attribute in wanted.items() if attribute.role.is_used}
        return cls(source, used, frozenset(missing), domain)

    @property
    def roles(self) -> dict[str, Role]:
        """Of the used columns."""
        return {column: attribute.role for column, attribute in self.wanted.items()}

    def counted(self, rows: DistinctRows) -> Table:
        """The table from its distinct rows."""
        domain, codes, kept = self.coded(rows)
        counts = rows.counts[kept]
        table = ContingencyTable.from_cells(domain, dict.fromkeys(self.wanted, 0), codes, counts)
        dropped = rows.dropped + int(rows.counts.sum() - counts.sum())
        return Table(table, self.roles, dropped, hidden_from=self._hidden_from(domain))

    def coded(self, rows: DistinctRows) -> tuple[Domain, dict[str, CodeArray], BoolArray]:
        """The base codes of the rows that lack no value, over their domain, and which rows these are."""
        holds = {column: self._is_there(rows.values[column]) for column in self.wanted}
        kept = np.logical_and.reduce([holds[column][rows.codes[column]] for column in self.wanted])
        if not kept.any():
            raise self._no_row()
        recoded: dict[str, CodeArray] = {}
        hierarchies = {}
        for column in self.wanted:
            codes = rows.codes[column][kept]
            occurring = np.bincount(codes, minlength=len(rows.values[column])) > 0
            hierarchies[column], base = self._coded(column, rows.values[column], occurring)
            recoded[column] = base[codes]
        return Domain.of(hierarchies), recoded, kept

    def pushed_down(self, engine: Engine, limit: int, k: int) -> Table:
        """The table, its rows left where they are but for what a release with classes of k rows can use."""
        found = engine.values(list(self.wanted))
        known = {
            column: np.where(self._is_there(texts), np.arange(len(texts)), -1) for column, (texts, _) in found.items()
        }
        complete = all((codes >= 0).all() for codes in known.values())
        counts = {c: sizes for c, (_, sizes) in found.items()} if complete else kept_counts(engine, known)
        hierarchies, recodings = {}, {}
        for column, (texts, _) in found.items():
            occurring = np.zeros(len(texts), dtype=bool)
            occurring[: len(counts[column])] = counts[column] > 0
            if not occurring.any():
                raise self._no_row()
            hierarchies[column], recodings[column] = self._coded(column, texts, occurring)
        domain = Domain.of(hierarchies)
        singles = {}
        for column, base in recodings.items():
            codes = base[: len(counts[column])]
            kept = codes >= 0
            cells = {column: codes[kept]}
            singles[column] = ContingencyTable.from_cells(domain, {column: 0}, cells, counts[column][kept])
        finest = finest_levels(singles, self.roles, k)
        elsewhere = CountedElsewhere(engine, domain, recodings, tuple(singles.values()), finest, limit, complete)
        rows = int(next(iter(found.values()))[1].sum())
        table = elsewhere.table(finest) if elsewhere.fits else next(iter(singles.values()))
        return Table(table, self.roles, rows - elsewhere.total, elsewhere, self._hidden_from(domain))

    def _hidden_from(self, domain: Domain) -> dict[str, int]:
        levels = {name: _hidden_from(self.wanted[name], hierarchy, self.domain) for name, hierarchy in domain.items()}
        return {name: level for name, level in levels.items() if level is not None}

    def _is_there(self, texts: Values) -> BoolArray:
        return np.array([text is not None and text not in self.missing for text in texts], dtype=bool)

    def _no_row(self) -> InputError:
        return InputError(f"{self.source.name} has no row without a missing value in the columns that are used")

    def _coded(self, column: str, texts: Values, occurring: BoolArray) -> tuple[Hierarchy, Recoding]:
        """The hierarchy of a column, and the base code of each of its values that occurs; -1 for the others."""
        attribute, where = self.wanted[column], f"column {column!r} of {self.source.name}"
        values = [text for text, occurs in zip(texts, occurring.tolist()) if occurs and text is not None]
        if attribute.intervals:
            for text in values:
                if not text.removeprefix("-").isdecimal():
                    raise InputError(f"{where}: {self._the(column, text)} is not a whole number, which intervals need")
        try:
            hierarchy = attribute.hierarchy_of(set(values))
        except HierarchyError as error:
            raise InputError(f"{where}: {error}") from None
        codes = []
        for text in values:
            code = hierarchy.code(text, 0)
            if code is None:
                problem = "is not among the base values of its hierarchy"
                raise InputError(f"{where}: {self._the(column, text)} {problem}")
            codes.append(code)
        if self.domain == "observed":
            hierarchy, codes = hierarchy.restricted_to(codes), np.unique(codes, return_inverse=True)[1].tolist()
        base = np.full(len(texts), -1, dtype=np.intp)
        base[occurring] = codes
        return hierarchy, base

    def _the(self, column: str, text: str) -> str:
        place = self.source.place(column, text)
        return f"the value in {place}" if place else "a value"

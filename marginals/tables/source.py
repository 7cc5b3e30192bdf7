"""Tables as they can be read: rows of a file or frame, with the settings of their columns."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from itertools import islice, pairwise
from math import inf
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from marginals.arguments import elements_of, path_of, require, require_whole_number
from marginals.errors import InputError
from marginals.keys import (
    TEXTS,
    Key,
    are,
    check_keys,
    check_settings,
    is_table,
    is_text,
    is_whole,
    keys_of,
    one_of,
    setting,
)
from marginals.later import pd
from marginals.tables.attribute import COUNT, MISSING, Attribute, Codebook, ColumnTexts, Harm, Role
from marginals.tables.column_levels import check_levels, hierarchy_of_columns, own_labels
from marginals.tables.counts import likely_counts, refusal_of_counts, refuse_subtotals, rows_of_people
from marginals.tables.csv_text import SEPARATORS, FileForm, is_encoding
from marginals.tables.distinct_rows import DistinctRows, InOrder, PandasFrame, Recoding, Source, Values
from marginals.tables.engines import CodedRows, can_count_parts, machine_memory
from marginals.tables.files import Files, check_columns, files_of, frame_of
from marginals.tables.frames import frame_source, given_orders
from marginals.tables.group_names import GroupNaming, KeptNames
from marginals.tables.impossible_pairs import check_pairs, confirmed_pairs
from marginals.tables.layout import ONE_LINE, Header, is_header
from marginals.tables.levels import (
    attribute_ladder,
    keeps_missing_apart,
    profiles,
)
from marginals.tables.opening import engine_refusals
from marginals.tables.people import (
    Person,
    RowsPerPerson,
    Unit,
    kept_of_each,
    people_rows,
    possible_keys,
    repeating_keys,
    row_multiple,
    with_keys,
)
from marginals.tables.sensitive_groups import in_groups
from marginals.tables.spellings import cell_text, folded
from marginals.tables.table import (
    NumbersRead,
    OutOfCoreCounts,
    PartOf,
    RowChoice,
    Rows,
    Table,
    finest_levels,
    kept_counts,
)
from marginals.tables.table import Values as PartValues
from marginals.tables.values import (
    DECIMAL_SIGNS,
    NumberFormat,
    dates_of_column,
    has_digit,
    has_leading_zero,
    looks_like_a_date,
    number_in,
)
from models.arrays import BoolArray, CodeArray, CountArray, smallest_code_dtype
from models.errors import HierarchyError
from models.frozen import frozen
from models.tables.contingency_table import ContingencyTable, bins
from models.tables.fitted_levels import FittedLadder
from models.tables.hierarchy import Domain, Hierarchy

Ladder = Callable[[Hierarchy], Hierarchy]  # puts levels of another release above the base values
Rules: TypeAlias = GroupNaming | KeptNames | None  # for the names of a column's groups; None without fitted levels


@frozen(eq=False)
class Reading:
    """Opened source, with the meaning of each column that is used.

    observed: whether only base values that occur are in the domain. k: rows of the smallest groups of fitted ladders.
    `grouping` adds the form of each column's numbers, its unreadable rows, and the value of each spelling.
    """

    source: Source
    attributes: Mapping[str, Attribute]
    missing: Collection[str]
    observed: bool
    decimal: str = "."
    k: int = 1
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    part: PartValues = field(default_factory=dict)
    numbers: Mapping[str, NumberFormat | None] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    spelled: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def roles(self) -> dict[str, Role]:
        """Roles of the columns."""
        return {column: attribute.role for column, attribute in self.attributes.items()}

    def grouping(self, occurring: Mapping[str, tuple[Values, CountArray]]) -> "Reading":
        """Add the form of each column's numbers, and bands for sensitive ones. occurring: the texts, and their rows."""
        numbers, unreadable, spelled, attributes = {}, {}, {}, {}
        for column, attribute in self.attributes.items():
            texts, counts = occurring[column]
            rows_of: Counter[str] = Counter()
            for text, n in zip(self._texts(column, texts), counts.tolist()):
                if n and text is not None:
                    rows_of[text] += n
            words = {text: n for text, n in rows_of.items() if text != MISSING}
            days = dates_of_column(words) if attribute.dates or attribute.role is Role.SENSITIVE else {}
            form = numbers[column] = attribute.numbers(words.keys(), self.decimal)
            if form is not None:
                words = {text: n for text, n in words.items() if not form.is_number(text)}
                unreadable[column] = sum(words.values())
            spelling = spelled[column] = days or attribute.respelled(words)
            sizes: Counter[str] = Counter()
            for text, n in rows_of.items():
                sizes[spelling.get(text, text)] += n
            try:
                grouped = in_groups(attribute, list(sizes), np.array(list(sizes.values()), dtype=np.int64), form)
            except InputError as error:
                raise InputError(f"column {column!r} of {self.source.name} {error}") from None
            attributes[column] = _labelled(grouped, form, spelling)
        return replace(self, attributes=attributes, numbers=numbers, unreadable=unreadable, spelled=spelled)

    def counted(self, rows: DistinctRows) -> Table:
        """Count distinct rows whose values are known."""
        domain, codes, complete, naming = self.coded(rows)
        counts = rows.counts if complete.all() else rows.counts[complete]
        table = ContingencyTable.from_cells(domain, dict.fromkeys(self.attributes, 0), codes, counts)
        lacking = {column: int(rows.counts[~has].sum()) for column, has in self.present(rows).items()}
        return self._table(table, int(rows.counts.sum() - counts.sum()), lacking, naming)

    def _table(
        self,
        counts: ContingencyTable,
        dropped: int,
        lacking: Mapping[str, int],
        naming: dict[str, Rules],
        rest: OutOfCoreCounts | None = None,
    ) -> Table:
        columns = self.attributes.items()
        read = {
            name: NumbersRead(form, self.unreadable[name]) for name, form in self.numbers.items() if form is not None
        }
        return Table(
            counts,
            self.roles,
            dropped,
            rest,
            public=frozenset(c for c, a in columns if a.has_public_labels),
            missing_in=where_some(lacking),
            codebook=Codebook.of(self.attributes),
            ladders=self._ladders,
            naming={column: rules for column, rules in naming.items() if rules is not None},
            fitted=frozenset(c for c, a in columns if a.is_fitted),
            counts_missing=frozenset(c for c, a in columns if a.counts_missing),
            harm={c: a.harm for c, a in columns if a.harm != Harm()},
            numbers={name: column for name, column in read.items() if column.format.is_grouped or column.unreadable},
            respelled={
                name: len(spelled)
                for name, spelled in self.spelled.items()
                if any(folded(text) == folded(value) for text, value in islice(spelled.items(), 1))
            },
        )

    def counted_part(self, rows: DistinctRows, where: RowChoice) -> Table:
        """Count some of the distinct rows, to which levels are fitted, with the table of all."""
        domain, codes, complete, _ = self.coded(rows)
        values = where.values(domain)
        for column in values:
            if self.roles[column] is not Role.QUASI_IDENTIFIER:
                raise InputError(
                    f"the part {where.text!r} is told from the rest by {column!r}, which is sensitive: being counted in it "
                    "would tell that about a person; name quasi-identifiers"
                )
        inside = np.logical_and.reduce([value[codes[column]] for column, value in values.items()])
        counts = np.zeros(len(rows), dtype=np.int64)
        counts[complete] = np.where(inside, rows.counts[complete], 0)
        if not counts.any():
            raise InputError(f"no row of {self.source.name} is in the part {where.text!r}")
        everybody = replace(self, part=values).counted(rows)
        part = self.counted(rows.taken(counts))
        return replace(part, missing=everybody.missing, missing_in=everybody.missing_in, part=PartOf(where, everybody))

    def coded(self, rows: DistinctRows) -> tuple[Domain, dict[str, CodeArray], BoolArray, dict[str, Rules]]:
        """Return the domain, the base codes of the rows that lack no value, which rows these are, and rules for names."""
        values = {column: self._texts(column, rows.values[column]) for column in self.attributes}
        complete = self.complete(rows)
        is_complete = bool(complete.all())
        counts = rows.counts if is_complete else rows.counts[complete]
        base_codes: dict[str, CodeArray] = {}
        hierarchies: dict[str, Hierarchy] = {}
        naming: dict[str, Rules] = {}
        counted: dict[str, CountArray] = {}
        for column in self.attributes:
            codes = rows.codes[column] if is_complete else rows.codes[column][complete]
            sizes = bins(codes, len(values[column]), counts)
            hierarchies[column], recoding, naming[column] = self._recoding(column, values[column], sizes)
            narrow = recoding.astype(smallest_code_dtype(hierarchies[column].size(0)))  # of rows that count none has -1
            base_codes[column], counted[column] = narrow[codes], sizes
        by_likeness = {}
        for column in self._by_likeness:
            others = [  # not the sensitive ones, so that no level depends on these
                (hierarchies[name], base_codes[name])
                for name, role in self.roles.items()
                if name != column and role is Role.QUASI_IDENTIFIER
            ]
            try:
                alike = profiles((hierarchies[column], base_codes[column]), others, counts)
            except InputError as error:
                raise InputError(f"column {column!r} of {self.source.name}: {error}") from None
            by_likeness[column], _, _ = self._recoding(column, values[column], counted[column], alike)
        hierarchies |= by_likeness
        return Domain.of(hierarchies), base_codes, complete, naming

    def complete(self, rows: DistinctRows) -> BoolArray:
        """Return which rows lack no value: shape (rows,)."""
        complete: BoolArray = np.logical_and.reduce([np.ones(len(rows), dtype=bool), *self.present(rows).values()])
        return complete

    def present(self, rows: DistinctRows) -> dict[str, BoolArray]:
        """Return which rows have a value of each of their columns."""
        return {c: _are_values(self._texts(c, rows.values[c]))[codes] for c, codes in rows.codes.items()}

    def counted_out_of_core(self, memory: int, limit: int, k: int) -> Table:
        """Count in an engine all that a release with classes of k rows can use. limit: cells that fit into memory."""
        if self._by_likeness:
            raise InputError(
                f'column {self._by_likeness[0]!r} of {self.source.name}: ladder = "alike" looks at all columns together, '
                'and there are too many distinct rows to hold. Take "fitted", or raise the setting data.memory'
            )
        coded = CodedRows.of(cast("InOrder", self.source), self.source.name, list(self.attributes), memory)
        reading = self.grouping({column: (texts, coded.counts[column]) for column, texts in coded.values.items()})
        texts_of = {column: reading._texts(column, texts) for column, texts in coded.values.items()}
        value_codes = {c: np.where(_are_values(texts), np.arange(len(texts)), -1) for c, texts in texts_of.items()}
        lacking = {column: int(coded.counts[column][codes < 0].sum()) for column, codes in value_codes.items()}
        complete = not any(lacking.values())
        counts = coded.counts if complete else kept_counts(coded, value_codes)
        hierarchies, recodings, naming = {}, {}, {}
        for column, texts in texts_of.items():
            kept_sizes = np.zeros(len(texts), dtype=np.int64)
            kept_sizes[: len(counts[column])] = counts[column]
            hierarchies[column], recodings[column], naming[column] = reading._recoding(column, texts, kept_sizes)
        domain = Domain.of(hierarchies)
        singles = {}
        for column, recoding in recodings.items():
            codes = recoding[: len(counts[column])]
            is_kept = codes >= 0
            singles[column] = ContingencyTable.from_cells(
                domain, {column: 0}, {column: codes[is_kept]}, counts[column][is_kept]
            )
        finest = finest_levels(singles, self.roles, k)
        out_of_core = OutOfCoreCounts(coded, domain, recodings, tuple(singles.values()), finest, limit, complete)
        rows = int(next(iter(coded.counts.values())).sum())
        table = out_of_core.table(finest) if out_of_core.fits else next(iter(singles.values()))
        return reading._table(table, rows - out_of_core.total, lacking, naming, out_of_core)

    @property
    def _ladders(self) -> dict[str, FittedLadder]:
        return {
            column: FittedLadder(attribute.first_merged - attribute.is_in_groups, self.k, self._is_by_counts(column))
            for column, attribute in self.attributes.items()
            if attribute.is_fitted and column not in self.ladders
        }

    def _is_by_counts(self, column: str) -> bool:
        attribute = self.attributes[column]
        is_apart = attribute.role is Role.SENSITIVE and attribute.counts_missing
        return attribute.ladder != "alike" and column not in self.part and not is_apart

    @property
    def _by_likeness(self) -> list[str]:
        return [name for name, a in self.attributes.items() if a.ladder == "alike" and name not in self.ladders]

    def _texts(self, column: str, texts: Values) -> Values:
        attribute, spelled = self.attributes.get(column, Attribute(Role.IDENTIFIER)), self.spelled.get(column, {})
        instead = MISSING if attribute.counts_missing else None
        absent = attribute.absent(texts, self.missing, self.decimal)
        return [instead if text is None or text in absent else spelled.get(text, text) for text in texts]

    def base_values(self, column: str, rows: DistinctRows) -> list[str | None]:
        """Return the base value of each row, None for rows without a value."""
        attribute, form, texts = self.attributes[column], self.numbers[column], self._texts(column, rows.values[column])
        values = [None if text is None else attribute.base_value(text, form) for text in texts]
        return [values[code] for code in rows.codes[column].tolist()]

    def _recoding(
        self, column: str, texts: Values, sizes: CountArray, alike: CountArray | None = None
    ) -> tuple[Hierarchy, Recoding, Rules]:
        """Return a column's hierarchy, the base code of each value with rows, else -1, and rules for names.

        alike: tables to fit levels by.
        """
        attribute, where = self.attributes[column], f"column {column!r} of {self.source.name}"
        occurring, numbers = sizes > 0, self.numbers[column]
        if not occurring.any():
            raise InputError(f"{self.source.name} has no row without a missing value in the columns that are used")
        values = [text for text, occurs in zip(texts, occurring.tolist()) if occurs and text is not None]
        base_values = []
        for text in values:
            value = attribute.base_value(text, numbers)
            if value is None:
                raise InputError(f"{where}: {self._place(column, text)} {self._no_base_value(column, text)}")
            base_values.append(value)
        try:
            hierarchy = attribute.hierarchy_of(set(base_values))
        except (HierarchyError, InputError) as error:
            raise InputError(f"{where}: {error}") from None
        codes = [code for value in base_values if (code := hierarchy.code(value, 0)) is not None]
        if len(codes) < len(values):
            other = next(text for text, value in zip(values, base_values) if hierarchy.code(value, 0) is None)
            raise InputError(f"{where}: {self._place(column, other)} is not among the base values of its hierarchy")
        if self.observed:
            hierarchy, codes = hierarchy.restricted_to(codes), np.unique(codes, return_inverse=True)[1].tolist()
        recoding = np.full(len(texts), -1, dtype=np.intp)
        recoding[occurring] = codes
        naming: Rules = None
        if column in self.ladders:
            hierarchy, naming = self.ladders[column](hierarchy), KeptNames()
        elif attribute.is_fitted:
            naming = GroupNaming.of(column, attribute, hierarchy, is_observed=self.observed)
            if attribute.first_merged < hierarchy.height:  # not of missing values alone
                rows = np.bincount(codes, sizes[occurring], hierarchy.size(0)).astype(np.int64)
                hierarchy = self._fitted_ladder(naming, rows, alike)
        if attribute.is_in_groups and hierarchy.height > 1:
            recoding = np.where(recoding < 0, -1, hierarchy.lift(0, 1)[recoding])
            hierarchy = hierarchy.over_levels(range(1, hierarchy.height), range(hierarchy.size(1)))
        if attribute.is_in_groups and isinstance(naming, GroupNaming):
            bands = Hierarchy.flat(hierarchy.labels[0])
            naming = GroupNaming.of(column, attribute, bands, start=0, is_observed=self.observed)
        return hierarchy, recoding, naming

    def _fitted_ladder(self, naming: GroupNaming, counts: CountArray, alike: CountArray | None) -> Hierarchy:
        # Of a sensitive attribute the value for missing ones is merged with no other, where its hierarchy keeps it apart.
        column, hierarchy = naming.attribute, naming.hierarchy
        attribute, part = self.attributes[column], self.part.get(column)
        if attribute.role is Role.SENSITIVE and attribute.counts_missing and keeps_missing_apart(hierarchy):
            values = hierarchy.restricted_to(range(hierarchy.size(0) - 1))
            present = GroupNaming.of(column, attribute, values, is_observed=self.observed)
            profiles = None if alike is None else alike[:-1]
            inside = None if part is None else part[:-1]
            return attribute_ladder(present, counts[:-1], self.k, profiles, inside).with_value_apart(MISSING)
        return attribute_ladder(naming, counts, self.k, alike, part)

    def _no_base_value(self, column: str, text: str) -> str:
        attribute, form = self.attributes[column], self.numbers.get(column) or NumberFormat(self.decimal)
        if attribute.dates:
            return "is no date such as 2023-11-12, 2023-11-12 14:30 or 12.11.2023, which dates need"
        if attribute.has_decimals:
            return f"is not a number with {form}, which intervals need; data.decimal names the sign"
        if not form.is_number(text):
            return "is not a whole number, which intervals need"
        return (
            "is not a whole number, which intervals need that are given in whole numbers; give their widths with a "
            "decimal point, such as [5.0, 10.0], to bin numbers with decimals"
        )

    def _place(self, column: str, text: str) -> str:
        place = self.source.place(column, text)
        return f"the value in {place}" if place else "a value"


def _labelled(grouped: Attribute, form: NumberFormat | None, spelling: Mapping[str, str]) -> Attribute:
    if form is not None and grouped.hierarchy is None:
        return grouped.with_labels(form.canonical)
    return grouped.with_labels(lambda label: spelling.get(label, label))


def _are_values(texts: Values) -> BoolArray:
    return np.array([text is not None for text in texts], dtype=bool)


def _occurring(rows: DistinctRows) -> dict[str, tuple[Values, CountArray]]:
    return {column: (texts, bins(rows.codes[column], len(texts), rows.counts)) for column, texts in rows.values.items()}


def where_some(lacking: Mapping[str, int]) -> dict[str, int]:
    """Return the columns that some row lacks a value in, those of most rows first."""
    return {column: rows for column, rows in sorted(lacking.items(), key=lambda item: -item[1]) if rows}


UNIT = keys_of(Unit)

_BYTES_OF_CELL = 128  # of a distinct row while it is counted: codes, key, count, and their sort
_TEXTS_OF_PEOPLE = 4  # ratio of that memory with persons to without, since most have a text of their own


@frozen(eq=False, kw_only=True)
class TableSource:
    """Table that can be read: its rows, its columns, and the way to read them.

    Parameters are the keys of the section [data] of a config (docs/config.md), and:

    origin: a frame of any library that narwhals knows, or the path of a CSV or Parquet file, a folder or a glob of
    them. attributes: by column; others are ignored. missing: texts that stand for no value, as null and NaN do. memory:
    bytes to use; None is half of the machine's. ladders: of attributes that take the levels of another release. where:
    the part of the table, such as `marginals.Part("age >= 21")`. impossible: pairs of labels that nobody can have, if
    confirmed.

    Raises InputError for impossible settings; files are looked at when they are read.

    >>> from marginals.example import attributes, frame
    >>> source = TableSource(origin=frame, attributes=attributes)
    >>> source.table()
    Table(48 rows, 12 distinct, 0 dropped; age (quasi-identifier), sex (quasi-identifier), diagnosis (sensitive))
    >>> source.columns()
    ('age', 'sex', 'diagnosis')
    """

    origin: Any
    attributes: Mapping[str, Attribute]
    missing: tuple[str, ...] = setting(("",), TEXTS)
    domain: str = setting("declared", one_of(("declared", "observed")))
    memory: int | None = setting(None, Key(lambda size: is_whole(size) and size >= 0, "be in bytes"))
    separator: str = setting(",", one_of(SEPARATORS))
    encoding: str = setting(
        "auto", Key(is_encoding, 'be "auto" or an encoding such as "cp1252", "latin-1" or "utf-16"')
    )
    header: Header = setting(None, Key(is_header, f"be {ONE_LINE}"))
    sheet: str | None = setting(None, Key(is_text, "name a sheet of a workbook"))
    counts: str | bool | None = setting(
        None,
        Key(
            lambda counts: counts is False or is_text(counts),
            "name the column of how many people a row stands for, or be false if each row is of one",
        ),
    )
    decimal: str = setting(".", one_of(DECIMAL_SIGNS))
    person: Person = setting(None, UNIT["person"])
    one_row: str | None = setting(None, UNIT["one_row"])
    rows_per_person: RowsPerPerson = setting(None, UNIT["rows_per_person"])
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    where: RowChoice | None = setting(
        None,
        Key(
            lambda where: isinstance(getattr(where, "text", None), str),
            'be a part of the table, where=marginals.Part("age >= 21")',
        ),
    )

    impossible: Sequence[Mapping[str, Any]] = setting(
        (), Key(are(is_table), "be a list of tables, each under [[data.impossible]]")
    )

    def __post_init__(self) -> None:
        if isinstance(self.origin, str):
            object.__setattr__(self, "origin", path_of(self.origin))
        texts = elements_of(self.missing, "missing", "a list of texts that stand for no value, such as ['?', '']")
        object.__setattr__(self, "missing", tuple(texts))
        require(self.attributes, Mapping, "attributes", 'a role for each column, such as {"age": "quasi-identifier"}')
        described = {name: a if isinstance(a, Attribute) else Attribute(a) for name, a in self.attributes.items()}
        object.__setattr__(self, "attributes", described)
        check_settings(self)
        object.__setattr__(self, "missing", tuple(dict.fromkeys(map(cell_text, self.missing))))
        self.unit.check(self.used)
        check_levels(self.attributes, self.ladders)
        confirmed_pairs(self.impossible, self.attributes)
        pairs = tuple(pair for pair in self.impossible if len(self.bases(pair)) == len(pair))
        object.__setattr__(self, "impossible", pairs)
        if not self.used:
            raise InputError("no attribute is a quasi-identifier or sensitive, so there is nothing to publish")
        if self.counts and (self.person is not None or self.counts in self.used):
            raise InputError(
                f"counts names {self.counts!r}, how many people a row stands for, so no column says whose row it is or is "
                "published of it. Leave out person, and the role of that column"
            )
        if COUNT in self.used:
            raise InputError(
                f"the column {COUNT!r} is called what published tables call their counts; rename it, or ignore it"
            )
        for name, attribute in self.used.items():
            if self.domain == "observed" and attribute.has_public_labels:
                raise InputError(
                    f'{name!r} has public labels, which tell nothing of the rows; with the domain "observed" these decide '
                    'which values there are: set it to "declared"'
                )

    @property
    def used(self) -> dict[str, Attribute]:
        """Attributes that can be published: quasi-identifiers and sensitive ones."""
        return {column: attribute for column, attribute in self.attributes.items() if attribute.role.is_used}

    def bases(self, columns: Iterable[str]) -> frozenset[str]:
        """Return the columns, those of which some are levels in place of these."""
        return frozenset(a.level_of or name if (a := self.attributes.get(name)) else name for name in columns)

    @property
    def _ordered(self) -> dict[str, Attribute]:
        """Used attributes; sensitive ones without an order take that of a frame, if it has their values."""
        orders = given_orders(self.origin) if self.path is None else {}
        return {
            column: replace(attribute, order=orders[column])
            if column in orders and attribute.takes_order(orders[column])
            else attribute
            for column, attribute in self.used.items()
        }

    @property
    def unit(self) -> Unit:
        """Unit that is counted: rows, or people."""
        return Unit(self.person, self.one_row, self.rows_per_person)

    @property
    def path(self) -> Path | None:
        """Path of the files; None for a frame."""
        return self.origin if isinstance(self.origin, Path) else None

    @property
    def form(self) -> FileForm:
        """Form of the files, as far as they do not say it themselves."""
        return FileForm(self.separator, self.encoding, self.header, self.sheet)

    @property
    def memory_in_bytes(self) -> int:
        """Bytes that reading may use."""
        return machine_memory() // 2 if self.memory is None else self.memory

    @property
    def _most_rows(self) -> int:
        return self.memory_in_bytes // 2 // _BYTES_OF_CELL

    def files(self) -> Files:
        """Return the files that hold the rows. Raises InputError for a frame, and where there is no table."""
        if self.path is None:
            raise InputError("the table is a frame in memory; this needs the path of a file")
        return files_of(self.path, self.form)

    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns, in their order. Raises InputError where there is no table."""
        return tuple((frame_source(self.origin) if self.path is None else self.files()).columns)

    def table(self, k: int = 1) -> Table:
        """Count the rows; every engine gives the same table.

        k: rows, or people, that every published class will have; fitted ladders begin with it. Where the distinct rows
        do not fit into memory, rarer values are generalized first. Raises InputError, naming the column and the row,
        never the value.
        """
        require_whole_number(k, "k", 1)
        described = self.with_levels()
        table = described._whole_table(k)
        pairs = confirmed_pairs(described.impossible, described.attributes)
        check_pairs(table, pairs)
        return replace(table, impossible=pairs)

    def with_levels(self, *others: "TableSource") -> "TableSource":
        """Return the source with columns as levels of others, by all rows. Raises InputError where these contradict it.

        others: more rows that tell the rule, which may lack the columns of levels.
        """
        levels = {name: attribute.level_of for name, attribute in self.used.items() if attribute.level_of}
        if not levels:
            return self
        attributes = {name: attribute for name, attribute in self.attributes.items() if name not in levels}
        opened = [source._checked() for source in (*others, self)]
        told_by = " and ".join(source.name for source in opened)
        for base in dict.fromkeys(levels.values()):
            names = [base, *(name for name, of in levels.items() if of == base)]
            columns: dict[str, list[str | None]] = {name: [] for name in names}
            for source in opened:
                described = {n: replace(self.attributes[n], missing="drop") for n in names if n in source.columns}
                with engine_refusals(source.name):
                    rows = source.distinct_rows([*described])
                reading = Reading(source, described, frozenset(self.missing), False, self.decimal).grouping(
                    _occurring(rows)
                )
                for name in names:
                    columns[name] += reading.base_values(name, rows) if name in described else [None] * len(rows)
            hierarchy = hierarchy_of_columns(told_by, columns, attributes[base])
            attributes[base] = replace(reading.attributes[base], hierarchy=hierarchy, missing=attributes[base].missing)
        hierarchies = {name: attributes[of].hierarchy for name, of in levels.items()}
        pairs = [
            {
                levels.get(n, n): own_labels(n, h, texts) if (h := hierarchies.get(n)) else texts
                for n, texts in pair.items()
            }
            for pair in self.impossible
        ]
        return replace(self, attributes=attributes, impossible=pairs)

    def _whole_table(self, k: int) -> Table:
        opened = self._checked()
        are_declared = self.unit.declared is not None or bool(self.counts)
        keys = [] if are_declared else possible_keys(opened.columns, self.attributes)
        reading = self._reading(opened, k)
        limit = self._most_rows if self.path is not None and can_count_parts() else inf
        with engine_refusals(opened.name):
            if self.person is not None:
                rows, dropped, lacking, left_out = people_rows(
                    opened, list(self.used), self.unit, reading.present, limit / _TEXTS_OF_PEOPLE
                )
                return replace(
                    self._counted_in_memory(reading, rows),
                    missing=dropped,
                    missing_in=where_some(lacking),
                    rows_per_person=self.unit.declared,
                    one_row=self.one_row,
                    left_out=left_out,
                )
            table = self._counted(opened, reading, limit, k)
            repeating = tuple(repeating_keys(opened, keys, self.missing, limit / _TEXTS_OF_PEOPLE))
            return replace(table, rows_per_person=self.unit.declared, repeating=repeating)

    def _counted(self, opened: Source, reading: Reading, limit: float, k: int) -> Table:
        columns = list(self.used)
        if isinstance(self.counts, str):
            people = rows_of_people(opened, columns, self.counts, self.missing, self.decimal)
            return self._counted_in_memory(reading, people)
        if not isinstance(opened, InOrder):
            return self._counted_in_memory(reading, opened.distinct_rows(columns))
        rows = opened.distinct_rows(columns, limit)
        if len(rows) <= limit:
            return self._counted_in_memory(reading, rows)
        if self.where is not None:
            raise InputError(
                f"{opened.name} has more distinct rows than fit into memory, and a part of it needs them all; raise the "
                "setting data.memory, or leave out columns"
            )
        return reading.counted_out_of_core(self.memory_in_bytes // 2, int(limit), k)

    def _counted_in_memory(self, opened: Reading, rows: DistinctRows) -> Table:
        reading = opened.grouping(_occurring(rows))
        table = reading.counted(rows) if self.where is None else reading.counted_part(rows, self.where)
        return table if self.unit.columns or self.counts else replace(table, copies=row_multiple(rows.counts))

    @property
    def one_by_one(self) -> "TableSource":
        """Source with sensitive numbers and dates one by one, for uses that are no release."""
        sensitive = {name: attribute for name, attribute in self.attributes.items() if attribute.role is Role.SENSITIVE}
        single = {name: replace(attribute, single_values=True) for name, attribute in sensitive.items()}
        return replace(self, attributes={**self.attributes, **single})

    def rows(self, k: int = 1) -> Rows:
        """Return the rows, uncounted, in memory, with sensitive numbers and dates as they are. k: as for `table`.

        Raises InputError as `table`, for a frame that is not in memory, and where missing values are to be counted.
        """
        if (described := self.with_levels()) is not self:
            return described.rows(k)
        self._require_rows()
        opened = self._checked()
        if not isinstance(opened, PandasFrame):
            opened = PandasFrame(frame_of(self.files() if self.path is None else cast("Files", opened)), opened.name)
        reading = self.one_by_one._reading(opened, k)
        every = with_keys(opened.rows([*self.used, *self.unit.columns]), self.unit.columns, opened.name)
        chosen = complete = reading.complete(every)
        if self.person is not None:
            chosen = complete.copy()
            chosen[complete] = kept_of_each(every.taken(complete.astype(np.int64)), self.unit, opened.name) > 0
        rows = every.taken(chosen.astype(np.int64))
        domain, codes, _, _ = reading.grouping(_occurring(every if self.person is None else rows)).coded(rows)
        roles = {column: attribute.role for column, attribute in self.attributes.items()}
        missing = int((~complete).sum())
        keys = [] if self.unit.declared is not None else possible_keys(opened.columns, self.attributes)
        repeating = tuple(repeating_keys(opened, keys, self.missing))
        wide = {column: code.astype(np.intp) for column, code in codes.items()}
        return Rows(
            domain, roles, wide, opened.frame[chosen], missing, frozenset(self.missing), repeating, self.decimal
        )

    def _require_rows(self) -> None:
        column = next((name for name, attribute in self.used.items() if attribute.counts_missing), None)
        for is_set, key, remedy in (
            (self.where is not None, "the key data.where", "of the whole table: leave the key out for that"),
            (self.counts, "the key data.counts", "one by one: write one row for each person for that"),
            (
                column is not None,
                f'attributes.{column}.missing = "as a value"',
                "without those that lack a value: leave the key out for that",
            ),
        ):
            if is_set:
                raise InputError(
                    f"{key} is for tables of counts; rows are disclosed, and their risk is computed, {remedy}"
                )

    def _checked(self) -> Source:
        needed = [column for column, attribute in self.attributes.items() if attribute.role is not Role.IGNORED]
        needed += [*self.unit.columns, *([self.counts] if isinstance(self.counts, str) else [])]
        source: Source
        if self.path is None:
            source = frame_source(self.origin, self._most_rows)
        else:
            source = files = self.files()
            # Where a column is lacking, the whole first line may be a record.
            refuse_record(files, self.used if {*needed} <= {*files.columns} else files.columns, self.missing)
        check_columns(source.name, source.columns, needed)
        refuse_subtotals(source)
        if self.counts is None and self.person is None:
            column = likely_counts(source)
            if column is not None and column not in self.used:
                raise refusal_of_counts(column, source.name)
        return source

    def _reading(self, opened: Source, k: int = 1) -> Reading:
        most = self.unit.declared
        rows = k * most if isinstance(most, int) else k
        return Reading(
            opened, self._ordered, frozenset(self.missing), self.domain == "observed", self.decimal, rows, self.ladders
        )


def read_table(
    source: Any,
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    *,
    k: int = 1,
    **settings: Any,
) -> Table:
    """Count a table: files, or a frame of pandas, polars, pyarrow, DuckDB, Spark, Ibis or what else narwhals knows.

    Parameters
    ----------
    source:
        A frame, or the path of a CSV or Parquet file, a folder or a glob of them.
    attributes:
        For each column an Attribute, or just its role; columns that are not named are ignored.
    missing:
        Texts that stand for no value, beside null and NaN; a row with one in a used column is dropped and counted.
    k:
        Rows that every published class will have, with which fitted ladders begin; where the distinct rows do not fit,
        values that are rarer are generalized before they are counted.
    settings:
        where, and the keys of the section [data] of a config: `TableSource` says what each means.

    Raises
    ------
    InputError
        Naming the column and, where rows have an order, the number of the row (from 1), never the value.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [23, 34, 41, 52], "diagnosis": ["flu", "gout", "flu", ""]})
    >>> read_table(people, {"age": Attribute("quasi-identifier", intervals=[5, 10]), "diagnosis": "sensitive"})
    Table(3 rows, 3 distinct, 1 dropped; age (quasi-identifier), diagnosis (sensitive))
    """
    return _source(source, attributes, missing, settings).table(k)


def read_rows(
    source: "str | Path | pd.DataFrame",
    attributes: Mapping[str, Attribute | str],
    missing: Iterable[str] = ("",),
    **settings: Any,
) -> Rows:
    """Return the rows of a CSV file, a Parquet file or a DataFrame, uncounted, in memory, as `read_table` reads them.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "diagnosis": ["flu", "", "gout"]})
    >>> rows = read_rows(people, {"sex": "quasi-identifier", "diagnosis": "sensitive"})
    >>> len(rows), rows.missing
    (2, 1)
    """
    return _source(source, attributes, missing, settings).rows()


def _source(origin: object, attributes: object, missing: object, settings: Mapping[str, Any]) -> TableSource:
    check_keys(settings, keys_of(TableSource), "data.")
    return TableSource(origin=origin, attributes=cast("Any", attributes), missing=cast("Any", missing), **settings)


_ROWS = 10_000


def refuse_record(files: Files, columns: Iterable[str], missing: Collection[str]) -> None:
    """Raise InputError, quoting no name, if the first line looks like a record. columns: those to look at."""
    if not files.has_header:
        return
    try:
        rows = files.first_rows(_ROWS)
    except (InputError, MemoryError):
        return  # whoever reads the rows says better what is wrong with them
    texts = {
        name: np.array([text or "" for text in of], dtype=object)[rows.codes[name]] for name, of in rows.values.items()
    }
    # Names once more, as where files were put together, are told by whoever reads the rows.
    are_names = np.logical_and.reduce([column == cell_text(name) for name, column in texts.items()])
    names = [name for name in dict.fromkeys(columns) if name in texts]
    looked_at = [ColumnTexts.of(cell_text(name), texts[name][~are_names].tolist(), missing) for name in names]
    if _looks_like_record(looked_at, missing):
        raise InputError(
            f"{files.name} seems to have no header line: its first line looks like a record, or stands among the records "
            "once more. Write one line with a name for each column before them, names that are words"
        )


def _looks_like_record(columns: Sequence[ColumnTexts], missing: Collection[str]) -> bool:
    """Return whether the names of columns are a record, by more columns than speak against it."""
    named = [column for column in columns if column.values and column.name not in missing]
    numbers = [column.name for column in named if _are_numbers([column.name, *column.values])]
    by_number = 0 if _can_be_names(numbers) else len(numbers)
    return by_number + sum(map(_is_value, named)) > sum(map(_is_name, named))


def _can_be_names(numbers: Sequence[str]) -> bool:
    """Return whether numbers can be names: years, those with equal steps, or five or more that rise or fall."""
    if any(map(has_leading_zero, numbers)):
        return False
    values = [number for name in numbers if (number := number_in(name)) is not None]
    steps = [after - before for before, after in pairwise(values)]
    if not (all(step > 0 for step in steps) or all(step < 0 for step in steps)):
        return False
    if all(value == int(value) and 1800 <= value <= 2200 for value in values):
        return True
    if len(values) < 3:
        return values[:1] in ([], [Decimal(0)], [Decimal(1)]) and all(step == 1 for step in steps)
    return len(values) >= 5 or len(set(steps)) == 1


def _is_value(column: ColumnTexts) -> bool:
    """Return whether a name, not a number, can only be a value: a date, or a code or text as its column holds."""
    if _are_numbers([column.name]):
        return False
    if looks_like_a_date(column.name):
        return all(map(looks_like_a_date, column.values))
    if len(column.values) < 3:
        return False
    coded = has_digit(column.name) and all(_shape(value) == _shape(column.name) for value in column.values)
    return coded or column.name in column.values


def _is_name(column: ColumnTexts) -> bool:
    """Return whether a name is a text beside numbers, dates, or few values none of which is rare."""
    if column.name in column.values or _are_numbers([column.name]) or looks_like_a_date(column.name):
        return False
    if _are_numbers(column.values) or all(map(looks_like_a_date, column.values)):
        return True
    return not _is_value(column) and len(column.values) <= 20 and int(column.counts.min()) >= 10


def _are_numbers(texts: Iterable[str]) -> bool:
    return all(number_in(text) is not None for text in texts)


def _shape(text: str) -> str:
    return re.sub("[0-9]", "0", re.sub(r"[^\W\d_]", "x", text))

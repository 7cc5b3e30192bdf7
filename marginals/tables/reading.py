"""What the values of a source's columns are taken for: base codes of their hierarchies, counted or row by row."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from marginals.errors import InputError
from marginals.tables.attribute import MISSING, Attribute, Codebook, Role
from marginals.tables.distinct_rows import DistinctRows, Engine, Recoding, Source, Values
from marginals.tables.levels import (
    CodedColumn,
    are_counted,
    attribute_ladder,
    base_counts,
    population_hierarchy,
    population_sizes,
    profiles,
)
from marginals.tables.table import OutOfCoreCounts, PartOf, RowChoice, Table, finest_levels, kept_counts
from marginals.tables.table import Values as PartValues
from marginals.tables.values import number_in
from models.arrays import BoolArray, CodeArray, CountArray, smallest_code_dtype
from models.errors import HierarchyError
from models.tables.contingency_table import ContingencyTable
from models.tables.fitted_levels import FittedLadder
from models.tables.hierarchy import Domain, Hierarchy

Ladder: TypeAlias = Callable[[Hierarchy], Hierarchy]
"""What gives the base values of a hierarchy other levels; they stay in their order."""


@dataclass(frozen=True, eq=False)
class Reading:
    """An opened source, and what each column of it that is used is taken for.

    attributes: those that are used, one at least, all columns of the source. missing: texts that stand for no value, beside
    null and NaN. observed: whether only base values that occur are in the domain, instead of all those of the hierarchies.
    decimal: the sign before the fraction of a number. k: rows that the smallest groups of fitted ladders have.
    ladders: of attributes that take the levels of another release, in place of their own. part: values of a part of the
    table, which fitted ladders tell from the rest.
    """

    source: Source
    attributes: Mapping[str, Attribute]
    missing: Collection[str]
    observed: bool
    decimal: str = "."
    k: int = 1
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    part: PartValues = field(default_factory=dict)

    @cached_property
    def roles(self) -> dict[str, Role]:
        """The roles of the columns."""
        return {column: attribute.role for column, attribute in self.attributes.items()}

    def counted(self, rows: DistinctRows) -> Table:
        """The table from its distinct rows."""
        domain, codes, complete = self.coded(rows)
        counts = rows.counts if complete.all() else rows.counts[complete]
        table = ContingencyTable.from_cells(domain, dict.fromkeys(self.attributes, 0), codes, counts)
        dropped = int(rows.counts.sum() - counts.sum())
        words = Codebook.of(self.attributes)
        return Table(
            table,
            self.roles,
            dropped,
            public=self._public,
            missing_in=where_some(self.lacking(rows)),
            codebook=words,
            ladders=self._ladders,
            fitted=self._fitted,
        )

    def counted_part(self, rows: DistinctRows, where: RowChoice) -> Table:
        """The table of some of the distinct rows, which knows the table of all.

        Levels that are fitted to counts are fitted to those of the part; in the table of all they tell it from the rest.
        Which rows lack a value is said of all. Raises InputError for a condition that no level decides, or on what is
        sensitive, and where no row meets it.
        """
        domain, codes, complete = self.coded(rows)
        values = where.values(domain)
        for column in values:
            if self.roles[column] is not Role.QUASI_IDENTIFIER:
                raise InputError(
                    f"the part {where.text!r} is told from the rest by {column!r}, which is sensitive: being counted in it "
                    "would tell that about a person; name quasi-identifiers"
                )
        inside = np.logical_and.reduce([own[codes[column]] for column, own in values.items()])
        counts = np.zeros(len(rows), dtype=np.int64)
        counts[complete] = np.where(inside, rows.counts[complete], 0)
        if not counts.any():
            raise InputError(f"no row of {self.source.name} is in the part {where.text!r}")
        whole = replace(self, part=values).counted(rows)
        part = self.counted(rows.taken(counts))
        return replace(part, missing=whole.missing, missing_in=whole.missing_in, part=PartOf(where, whole))

    def coded(self, rows: DistinctRows) -> tuple[Domain, dict[str, CodeArray], BoolArray]:
        """The base codes of the rows that lack no value, in as few bytes as hold them, over their domain, and which rows.

        Raises InputError where every row lacks one, or a value is none of the hierarchy's.
        """
        values = {column: self._texts(column, rows.values[column]) for column in self.attributes}
        complete = self.complete(rows)
        if not complete.any():
            raise self._no_row()
        whole = bool(complete.all())
        counts = rows.counts if whole else rows.counts[complete]
        base_codes: dict[str, CodeArray] = {}
        hierarchies: dict[str, Hierarchy] = {}
        counted: dict[str, CountArray] = {}
        for column in self.attributes:
            codes = rows.codes[column] if whole else rows.codes[column][complete]
            sizes = np.bincount(codes, counts, minlength=len(values[column])).astype(np.int64)
            hierarchies[column], recoding = self._recoding(column, values[column], sizes)
            narrow = recoding.astype(smallest_code_dtype(hierarchies[column].size(0)))  # of rows that count none has -1
            base_codes[column], counted[column] = narrow[codes], sizes
        by_likeness = {}
        for column in self._by_likeness:
            known = [CodedColumn(hierarchies[name], base_codes[name]) for name in self._compared_with(column)]
            try:
                alike = profiles(CodedColumn(hierarchies[column], base_codes[column]), known, counts)
            except InputError as error:
                raise InputError(f"column {column!r} of {self.source.name}: {error}") from None
            by_likeness[column], _ = self._recoding(column, values[column], counted[column], alike)
        hierarchies |= by_likeness
        return Domain.of(hierarchies), base_codes, complete

    def complete(self, rows: DistinctRows) -> BoolArray:
        """Which rows lack no value, whatever columns they have: shape (rows,)."""
        whole: BoolArray = np.ones(len(rows), dtype=bool)
        for column, codes in rows.codes.items():
            are_values = _are_values(self._texts(column, rows.values[column]))
            if not are_values.all():
                whole &= are_values[codes]
        return whole

    def lacking(self, rows: DistinctRows) -> dict[str, int]:
        """How many rows lack a value of each column, whatever columns they have."""
        lacking = {}
        for column, codes in rows.codes.items():
            are_values = _are_values(self._texts(column, rows.values[column]))
            lacking[column] = 0 if are_values.all() else int(rows.counts[~are_values[codes]].sum())
        return lacking

    def counted_out_of_core(self, engine: Engine, limit: int, k: int) -> Table:
        """The table, its rows left in the engine but for what a release with classes of k rows can use.

        limit: cells that fit into memory.
        """
        if self._by_likeness:
            raise InputError(
                f'column {self._by_likeness[0]!r} of {self.source.name}: ladder = "alike" looks at all columns together, '
                'and there are too many distinct rows to hold; take "fitted", or raise the setting data.memory'
            )
        columns = {
            column: (self._texts(column, texts), sizes)
            for column, (texts, sizes) in engine.values(list(self.attributes)).items()
        }
        value_codes = {
            column: np.where(_are_values(texts), np.arange(len(texts)), -1) for column, (texts, _) in columns.items()
        }
        complete = all((codes >= 0).all() for codes in value_codes.values())
        counts = {c: sizes for c, (_, sizes) in columns.items()} if complete else kept_counts(engine, value_codes)
        hierarchies, recodings = {}, {}
        for column, (texts, _) in columns.items():
            kept_sizes = np.zeros(len(texts), dtype=np.int64)
            kept_sizes[: len(counts[column])] = counts[column]
            if not kept_sizes.any():
                raise self._no_row()
            hierarchies[column], recodings[column] = self._recoding(column, texts, kept_sizes)
        domain = Domain.of(hierarchies)
        singles = {}
        for column, recoding in recodings.items():
            codes = recoding[: len(counts[column])]
            kept = codes >= 0
            singles[column] = ContingencyTable.from_cells(
                domain, {column: 0}, {column: codes[kept]}, counts[column][kept]
            )
        finest = finest_levels(singles, self.roles, k)
        out_of_core = OutOfCoreCounts(engine, domain, recodings, tuple(singles.values()), finest, limit, complete)
        rows = int(next(iter(columns.values()))[1].sum())
        table = out_of_core.table(finest) if out_of_core.fits else next(iter(singles.values()))
        lacking = {column: int(sizes[~_are_values(texts)].sum()) for column, (texts, sizes) in columns.items()}
        left_out, words = rows - out_of_core.total, Codebook.of(self.attributes)
        return Table(
            table,
            self.roles,
            left_out,
            out_of_core,
            self._public,
            where_some(lacking),
            codebook=words,
            ladders=self._ladders,
            fitted=self._fitted,
        )

    @property
    def _ladders(self) -> dict[str, FittedLadder]:
        """How the levels of attributes are fitted to the rows; those of a population tell nothing of them."""
        return {
            column: FittedLadder(attribute.first_merged, self.k)
            for column, attribute in self.attributes.items()
            if attribute.is_fitted and attribute.population is None and column not in self.ladders
        }

    @property
    def _by_likeness(self) -> list[str]:
        """The attributes whose levels are fitted by likeness to others."""
        return [name for name, own in self.attributes.items() if own.is_by_likeness and name not in self.ladders]

    def _compared_with(self, column: str) -> list[str]:
        """The attributes by which values are alike: not the sensitive ones, so that no level depends on these."""
        return [name for name, role in self.roles.items() if name != column and role is Role.QUASI_IDENTIFIER]

    @property
    def _fitted(self) -> frozenset[str]:
        return frozenset(column for column, attribute in self.attributes.items() if attribute.is_fitted)

    @property
    def _public(self) -> frozenset[str]:
        return frozenset(column for column, attribute in self.attributes.items() if attribute.has_public_labels)

    def _texts(self, column: str, texts: Values) -> Values:
        """The values of a column, what stands for none as None, or as the value MISSING where that is counted."""
        counts_missing = column in self.attributes and self.attributes[column].counts_missing
        instead = MISSING if counts_missing else None
        return [instead if text is None or text in self.missing else text for text in texts]

    def _no_row(self) -> InputError:
        return InputError(f"{self.source.name} has no row without a missing value in the columns that are used")

    def _recoding(
        self, column: str, texts: Values, sizes: CountArray, alike: CountArray | None = None
    ) -> tuple[Hierarchy, Recoding]:
        """The hierarchy of a column, and the base code of each of its values that occurs; -1 for the others.

        sizes: how many of the rows that count have each value. alike: tables of the base values with other columns, by which
        a ladder is fitted, shape (base values, columns of the tables).
        """
        attribute, where = self.attributes[column], f"column {column!r} of {self.source.name}"
        occurring = sizes > 0
        values = [text for text, occurs in zip(texts, occurring.tolist()) if occurs and text is not None]
        base_values = []
        for text in values:
            value = attribute.base_value(text, self.decimal)
            if value is None:
                raise InputError(f"{where}: {self._place(column, text)} {self._no_base_value(attribute, text)}")
            base_values.append(value)
        try:
            people = base_counts(attribute, self.decimal)
            if attribute.population is None:
                hierarchy, counted = attribute.hierarchy_of(set(base_values)), None
            else:
                hierarchy = population_hierarchy(attribute, people, set(base_values))
                counted = are_counted(attribute, hierarchy, people)
        except (HierarchyError, InputError) as error:
            raise InputError(f"{where}: {error}") from None
        codes = []
        for text, value in zip(values, base_values):
            code = hierarchy.code(value, 0)
            if code is None or (counted is not None and not counted[code]):
                problem = "is not among the base values of its hierarchy"
                if attribute.population is not None:
                    problem = "is none that its population counts; give it a count there, 0 where nobody has it"
                raise InputError(f"{where}: {self._place(column, text)} {problem}")
            codes.append(code)
        if self.observed:
            hierarchy, codes = hierarchy.restricted_to(codes), np.unique(codes, return_inverse=True)[1].tolist()
        recoding = np.full(len(texts), -1, dtype=np.intp)
        recoding[occurring] = codes
        if column in self.ladders:
            hierarchy = self.ladders[column](hierarchy)
        elif attribute.is_fitted:
            rows = np.zeros(hierarchy.size(0), dtype=np.int64)
            np.add.at(rows, codes, sizes[occurring])
            fitted_to = rows if attribute.population is None else population_sizes(hierarchy, people)
            hierarchy = attribute_ladder(attribute, hierarchy, fitted_to, self.k, alike, self.part.get(column))
        return hierarchy, recoding

    def _no_base_value(self, attribute: Attribute, text: str) -> str:
        """Why a text is none of the numbers or dates that are needed, without quoting it."""
        if attribute.dates:
            return "is no date such as 2023-11-12, 2023-11-12 14:30 or 12.11.2023, which dates need"
        if not attribute.has_decimals:
            if number_in(text, self.decimal) is not None:
                return (
                    "is not a whole number, which intervals need that are given in whole numbers; give their widths with a "
                    "decimal point, such as [5.0, 10.0], to bin numbers with decimals"
                )
            return "is not a whole number, which intervals need"
        if number_in(text) is not None or number_in(text, ",") is not None:
            return f"is not a number whose decimal sign is {self.decimal!r}, as data.decimal says"
        return "is not a number, which intervals need"

    def _place(self, column: str, text: str) -> str:
        """Where a value stands, for a message that must not quote it."""
        place = self.source.place(column, text)
        return f"the value in {place}" if place else "a value"


def _are_values(texts: Values) -> BoolArray:
    return np.array([text is not None for text in texts], dtype=bool)


def where_some(lacking: Mapping[str, int]) -> dict[str, int]:
    """The columns that some row lacks a value in, those of most rows first."""
    return {column: rows for column, rows in sorted(lacking.items(), key=lambda item: -item[1]) if rows}

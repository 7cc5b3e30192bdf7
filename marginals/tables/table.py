"""Tables as the publisher sees them: roles, hierarchies, and how often each combination of values occurs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from marginals.errors import InputError
from marginals.tables.attribute import Role
from marginals.tables.codebook import Codebook
from marginals.tables.keys import RepeatingKey, unit_refusal
from marginals.tables.out_of_core import OutOfCoreCounts
from marginals.tables.part import RowChoice
from marginals.tables.unit import RowsPerPerson
from models.ladders.thresholds import FittedLadder
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain


@dataclass(frozen=True, eq=False)
class PartOf:
    """That a table is a part of another one. where: which part. whole: the other table."""

    where: RowChoice
    whole: "Table"


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a table, counted by their base values.

    counts: the contingency table of all quasi-identifiers and sensitive attributes at level 0; coarser where the table is
    too large to hold; then out_of_core counts the rest. roles: of these attributes. missing: rows that were dropped
    because a used column had a missing value; missing_in: how many rows each such column dropped, most first; a row that
    lacks several values counts for each. public: the attributes whose hierarchies anybody may know; of the others a release
    tells only the labels that its marginals count. rows_per_person: at most so many rows are of one person; "any"
    number; None where nobody has said. left_out: rows beyond those that count of their person. repeating: columns that look
    like keys of people and repeat, where nobody has said whose rows these are. codebook: what readers are told
    in words. ladders: of attributes whose levels are fitted to these rows, how. fitted: attributes whose levels are fitted
    to these rows, to a population or to those of an earlier release. left_to_pandas: why
    pandas read files that are DuckDB's, which takes less time and memory; empty where that is not so. part: of which table
    these rows are a part, and which; None where they are all.

    >>> from marginals.example import table
    >>> table
    Table(48 rows, 12 distinct, 0 dropped; age (quasi-identifier), sex (quasi-identifier), diagnosis (sensitive))
    >>> table.domain.hierarchy("age").labels[2]
    ('20-39', '40-59')
    """

    counts: ContingencyTable
    roles: Mapping[str, Role]
    missing: int = 0
    out_of_core: OutOfCoreCounts | None = None
    public: frozenset[str] = frozenset()
    missing_in: Mapping[str, int] = field(default_factory=dict)
    rows_per_person: RowsPerPerson = None
    left_out: int = 0
    repeating: tuple[RepeatingKey, ...] = ()
    codebook: Codebook = field(default_factory=Codebook)
    ladders: Mapping[str, FittedLadder] = field(default_factory=dict)
    fitted: frozenset[str] = frozenset()
    left_to_pandas: str = ""
    part: PartOf | None = None

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name} ({role.value})" for name, role in self.roles.items())
        left_out = f", {self.left_out} left out" if self.left_out else ""
        repeating = "".join(f"; {key}" for key in self.repeating)
        where = f" where {self.part.where.text}" if self.part else ""
        counted = f"{self.rows} rows{where}, {len(self.counts)} distinct, {self.missing} dropped{left_out}"
        return f"Table({counted}; {attributes}{repeating})"

    @property
    def whole(self) -> "Table":
        """The table that this one is a part of, which counts the same unit; itself where it is no part."""
        if self.part is None:
            return self
        return replace(
            self.part.whole,
            missing=self.missing,
            missing_in=self.missing_in,
            rows_per_person=self.rows_per_person,
            left_out=self.left_out,
            repeating=self.repeating,
            left_to_pandas=self.left_to_pandas,
        )

    @property
    def most_rows_of_a_person(self) -> int | None:
        """How many rows a person has at most, so that claims are about people; None where they are about rows.

        Raises InputError where nobody has said so and a column that looks like a key of people repeats.
        """
        if self.rows_per_person is None and self.repeating:
            raise unit_refusal(self.repeating)
        return self.rows_per_person if isinstance(self.rows_per_person, int) else None

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
        singles = self.out_of_core.singles if self.out_of_core else ()
        return DataCube([self.counts, *singles], self.out_of_core)

    @property
    def base_counts(self) -> ContingencyTable:
        """The counts at level 0. Raises InputError where there are too many.

        >>> from marginals.example import table
        >>> len(table.base_counts)
        12
        """
        if self.out_of_core is not None:
            raise InputError(
                f"{self.out_of_core.engine.name} has more distinct rows than the {self.out_of_core.limit} that fit, and "
                "this needs them all; raise the setting data.memory, or leave out columns"
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

"""Whose rows these are: what a release counts, and which rows of a person who has several are counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from marginals.errors import InputError

if TYPE_CHECKING:
    from marginals.tables.attribute import Attribute

ONE_ROW = ("first", "last", "random")
"""Which row of a person can be the one that is counted."""

ANY = "any"
"""What is said of a table in which a person may have any number of rows, so that rows are what is counted."""

MOST_ROWS_OF_A_PERSON = 1_000_000
"""Rows of a person that anybody would count."""

RowsPerPerson = int | Literal["any"] | None
"""At most so many rows are of one person; "any" number; or nobody has said."""


@dataclass(frozen=True)
class Unit:
    """What the claims of a release count.

    person: the column that says whose row it is. one_row: which row of each person counts, "first" or "last" in the order
    of the table, or "random". rows_per_person: instead of one, so many rows of each person count at most, drawn at
    random; without `person` it is the word of whoever says it; "any" says that claims count rows, whoever they are of.
    With `person` alone no person may have several rows. With none of the three nobody has said what a row is.

    What is drawn at random depends on the texts of a person and its rows alone, not on their order or on what reads them:
    the same table always gives the same rows. Raises InputError for settings that do not go together.

    >>> Unit("patient", one_row="first").stated, Unit(rows_per_person="any").stated, Unit().stated
    (1, 'any', None)
    """

    person: str | None = None
    one_row: str | None = None
    rows_per_person: RowsPerPerson = None

    def __post_init__(self) -> None:
        most = self.rows_per_person
        if self.person is not None and not isinstance(self.person, str):
            raise InputError(f"person is the name of the column that says whose row it is, not {self.person!r}")
        if self.one_row is not None and self.one_row not in ONE_ROW:
            raise InputError(f"one_row is {', '.join(map(repr, ONE_ROW))}, not {self.one_row!r}")
        if most is not None and most != ANY and (type(most) is not int or not 1 <= most <= MOST_ROWS_OF_A_PERSON):
            raise InputError(
                f'rows_per_person is a whole number from 1 to {MOST_ROWS_OF_A_PERSON}, or "{ANY}" where rows are what is '
                f"counted, not {most!r}"
            )
        if self.one_row is not None and self.person is None:
            raise InputError("one_row needs person, the column that says whose row it is")
        if self.one_row is not None and most is not None:
            raise InputError("one_row and rows_per_person do not go together; keep one row of each person, or several")
        if self.person is not None and most == ANY:
            raise InputError(f'with rows_per_person = "{ANY}" claims count rows, so leave out person')

    @property
    def stated(self) -> RowsPerPerson:
        """How many rows are of one person at most, as a release states it."""
        return 1 if self.person is not None and self.rows_per_person is None else self.rows_per_person

    @property
    def most(self) -> int:
        """How many rows of each person count at most, where `person` names them."""
        return self.rows_per_person if isinstance(self.rows_per_person, int) else 1

    @property
    def needs_order(self) -> bool:
        """Whether the order of the rows decides which are counted."""
        return self.one_row in ("first", "last")

    def check(self, used: Mapping[str, "Attribute"]) -> None:
        """Raise InputError where the column of people would be published. used: the attributes that can be."""
        if self.person is not None and self.person in used:
            raise InputError(
                f"person names {self.person!r}, which is a {used[self.person].role.value}; who somebody is cannot be "
                'published, so give the column the role "identifier"'
            )

"""What a release counts, in words: rows, people, or rows of which no person has more than a few."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from marginals.tables.unit import ANY, RowsPerPerson

if TYPE_CHECKING:
    from marginals.tables.table import Table


def rows_in_words(rows: int, rows_per_person: RowsPerPerson) -> str:
    """So many rows, or people where each has one row.

    >>> rows_in_words(1, None), rows_in_words(4800, 1), rows_in_words(48, 3)
    ('1 row', '4,800 people', '48 rows (at most 3 of a person)')
    """
    if rows_per_person == 1:
        return f"{rows:,} {'person' if rows == 1 else 'people'}"
    of_a_person = f" (at most {rows_per_person:,} of a person)" if isinstance(rows_per_person, int) else ""
    return f"{rows:,} {'row' if rows == 1 else 'rows'}{of_a_person}"


def unit_in_words(rows_per_person: RowsPerPerson) -> str:
    """Of whom a release speaks, as a sentence; empty where it does not say.

    >>> unit_in_words(1)
    'Each row is a person of its own, so whatever is counted and claimed is of people.'
    """
    if rows_per_person is None:
        return ""
    if rows_per_person == ANY:
        return "A person can have any number of these rows: claims are of rows, and k rows may be fewer than k people."
    if rows_per_person == 1:
        return "Each row is a person of its own, so whatever is counted and claimed is of people."
    few = f"No person has more than {rows_per_person:,} of these rows."
    return f"{few} Counts are of rows, claims are of people."


def part_in_words(where: str) -> str:
    """Which part of a table a release counts, as a sentence; empty where it counts all.

    >>> part_in_words("age >= 21")
    'It is of a part of a table: whoever is counted meets the condition age >= 21, and of all others it says nothing.'
    """
    if not where:
        return ""
    return f"It is of a part of a table: whoever is counted meets the condition {where}, and of all others it says nothing."


def part_lines(table: "Table", ledger: Path | None) -> Iterator[str]:
    """What a steward must know who publishes a part of a table. ledger: beside which that is."""
    if table.part is None:
        return
    yield f"Of {table.part.whole.rows} rows {table.rows} are in the part {table.part.where.text}."
    if ledger is None:
        yield (
            "It is judged by itself, without a ledger. So publish nothing else of this table beside it, neither the whole "
            "nor another part: who is in the one and not in the other could be few. With --ledger DIR both can be published."
        )
    elif table.rows_per_person not in (None, 1):
        yield "A person can have rows in the part and others outside of it: it is a part of the rows, not of the people."


def claimed_of(rows_per_person: object) -> str:
    """Of whom a claim speaks, beside what it demands.

    >>> claimed_of(1), claimed_of(3)
    ('of people', 'of people with at most 3 rows each')
    """
    return "of people" if rows_per_person == 1 else f"of people with at most {rows_per_person} rows each"


def left_out_lines(table: "Table") -> Iterator[str]:
    """What was left out of people who have more rows than count, and of whom the release will speak."""
    if table.left_out:
        count = "one row of each person counts" if table.rows_per_person == 1 else "more of a person do not count"
        yield f"Left out {table.left_out} more rows, since {count}."
    if sentence := unit_in_words(table.rows_per_person):
        yield sentence

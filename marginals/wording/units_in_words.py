"""What a release counts, in words: rows, people, or rows of which no person has more than a few."""

from collections.abc import Iterator

from marginals.tables.table import Table
from marginals.tables.unit import ANY, RowsPerPerson


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


def claimed_of(rows_per_person: object) -> str:
    """Of whom a claim speaks, beside what it demands.

    >>> claimed_of(1), claimed_of(3)
    ('of people', 'of people with at most 3 rows each')
    """
    return "of people" if rows_per_person == 1 else f"of people with at most {rows_per_person} rows each"


def left_out_lines(table: Table) -> Iterator[str]:
    """What was left out of people who have more rows than count, and of whom the release will speak."""
    if table.left_out:
        count = "one row of each person counts" if table.rows_per_person == 1 else "more of a person do not count"
        yield f"Left out {table.left_out} more rows, since {count}."
    if sentence := unit_in_words(table.rows_per_person):
        yield sentence

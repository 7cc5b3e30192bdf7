"""Rows that are not counted because they lack a value, in sentences for the steward."""

from collections.abc import Iterator, Mapping

_MANY = 0.05
"""Share of dropped rows from which on they are warned of."""

_NAMED = 5
"""Columns that a line names."""


def dropped_lines(kept: int, dropped: int, dropped_in: Mapping[str, int]) -> Iterator[str]:
    """How many rows were read and dropped, by column, and a warning where they are many.

    >>> list(dropped_lines(7000, 300, {"cause": 200, "age": 110}))
    ['Read 7000 rows, dropped 300 with missing values: 200 lack cause, 110 age.']
    """
    lacking = [f"{rows} {column}" for column, rows in dropped_in.items()]
    if lacking:
        lacking[0] = lacking[0].replace(" ", " lack ", 1)
    others = len(lacking) - _NAMED
    named = [*lacking[:_NAMED], *([f"fewer in {others} other column{'s' if others > 1 else ''}"] if others > 0 else [])]
    yield f"Read {kept} rows, dropped {dropped} with missing values{': ' if named else ''}{', '.join(named)}."
    if warning := dropped_warning(kept, dropped, dropped_in):
        yield f"Warning: {warning}"


def dropped_warning(kept: int, dropped: int, dropped_in: Mapping[str, int]) -> str:
    """What is wrong with a release of the rows that are left, and what to do, where more than a twentieth was dropped."""
    if dropped <= _MANY * (kept + dropped) or not dropped_in:
        return ""
    column = next(iter(dropped_in))
    return (
        f"{100 * dropped / (kept + dropped):.1f} percent of the rows are dropped, and those that are left may be of another "
        f"kind. Most lack {column}: ignore that column, or count its missing values: "
        f'attributes.{column}.missing = "as a value".'
    )

"""Sixty rows as the lines of a file, and ways to spoil them."""

import random
from collections.abc import Callable

NAMES = ("age", "sex", "region", "diagnosis")
ROLES = dict.fromkeys(NAMES, "quasi-identifier")
_RNG = random.Random(1)
ROWS = [
    (
        str(_RNG.randint(18, 90)),
        _RNG.choice(["female", "male"]),
        _RNG.choice(["North", "West"]),
        _RNG.choice(["flu", "no"]),
    )
    for _ in range(60)
]


def lines(*before: str, separator: str = ",", rows: list[tuple[str, ...]] = ROWS, end: str = "\n") -> str:
    return "".join(line + end for line in [*before, separator.join(NAMES), *map(separator.join, rows)])


def changed(row: int, place: int, change: Callable[[str], str], text: str | None = None) -> str:
    """The table with one field of a line changed; the header is line 1."""
    listed = [line.split(",") for line in (lines() if text is None else text).splitlines()]
    listed[row - 1][place] = change(listed[row - 1][place])
    return "\n".join(map(",".join, listed)) + "\n"


GROUPS = "person,,place,result\n"
"""A line above the names of the columns, which merged cells leave."""

"""What a terminal shows of the people who came and left between two releases: lines of plain text."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checks.changes.difference import CellDifference
    from checks.changes.people import ChangedPeople, OneValue
    from marginals.attacks.changing import TableChange


def change_lines(change: "TableChange") -> Iterator[str]:
    """What two tables tell of the change between them."""
    before, after = change.rows
    yield f"From {change.earlier} ({before:,} rows) to {change.later} ({after:,} rows), who holds both knows:"
    if change.parts:
        yield f"  But {change.parts}."
    for told in change.told:
        yield from _told_lines(told, change.least)
    if change.unclear:
        yield (
            f"  Labels do not tell how the values of {', '.join(map(repr, change.unclear))} overlap; what they stand for "
            "together was compared."
        )
    if change.assumption and any(told.small for told in change.told):
        yield f"  Of a small difference: {change.assumption}."
    yield f"  What these differences do not tell: {change.beyond}."


def _told_lines(told: "ChangedPeople", least: int | None) -> Iterator[str]:
    cells = f"{told.cells:,} {'cell' if told.cells == 1 else 'cells'} that both tell"
    if not told.smallest:
        yield f"  No difference in any of {cells}."
        return
    if told.small:
        yield f"  {told.small:,} differences of fewer than {least:,} rows in {cells}, the smallest first:"
    else:
        small = "" if least is None else f" of fewer than {least:,} rows"
        yield f"  No difference{small} in {cells}. The smallest:" if small else f"  Of {cells} the smallest difference:"
    for difference in told.smallest:
        yield f"    {_difference_in_words(difference)}"
    if told.small > len(told.smallest):
        yield f"    and {told.small - len(told.smallest):,} more"
    if told.one_value:
        yield f"  Classes in which one sensitive value alone rose or fell ({told.classes:,}), the smallest first:"
        yield from (f"    {_one_value_in_words(each)}" for each in told.one_value)
        if told.classes > len(told.one_value):
            yield f"    and {told.classes - len(told.one_value):,} more"


def _difference_in_words(found: "CellDifference") -> str:
    who = f"{_people(found.difference)} {'came' if found.difference > 0 else 'left'}"
    return f"{_cell(found.cell)}: {found.before:,} before, {found.after:,} after: at least {who}"


def _one_value_in_words(found: "OneValue") -> str:
    who = "came" if found.difference > 0 else "left"
    return (
        f"{_cell(found.cell)}: {_people(found.difference)} more {who} than {'left' if who == 'came' else 'came'} with "
        f"{found.sensitive}={found.value}, and of no other value did more"
    )


def _people(rows: int) -> str:
    return f"{abs(rows):,} {'row' if abs(rows) == 1 else 'rows'}"


def _cell(cell: Mapping[str, str]) -> str:
    return ", ".join(f"{attribute}={label}" for attribute, label in cell.items()) or "all"

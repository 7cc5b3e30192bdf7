"""The risk that somebody finds a person's row, in lines for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checks.classes.reidentification import Reidentification, Risk, Uniqueness


def reidentification_lines(risk: "Reidentification | None", unique: "Uniqueness | None") -> Iterator[str]:
    """What a prosecutor, a marketer and a journalist can do, and which columns make rows unique. No value is named."""
    if risk is not None:
        yield from _risk_lines(risk)
    if unique is not None:
        yield from _unique_lines(unique)


def _risk_lines(found: "Reidentification") -> Iterator[str]:
    yield "Risk that somebody finds a person's row:"
    yield f"  prosecutor, who knows that the person is in the table: {_in_words(found.prosecutor)}"
    if found.journalist is not None:
        about = ", estimated from the sampling fraction" if found.is_estimated else ""
        yield f"  journalist, who knows the population only{about}: {_in_words(found.journalist)}"
        yield f"    unique in the population too: {'about ' if found.is_estimated else ''}{found.population_unique:.4g} rows"
    yield f"  marketer, who links all rows at random: right for {100 * found.marketer:.3g} % of them on average"


def _in_words(risk: "Risk") -> str:
    above = ", ".join(f"{100 * share:.3g} % above {bound}" for bound, share in risk.above.items())
    return f"{risk.highest:.3g} at most, {risk.average:.3g} on average; of the rows {above}"


def _unique_lines(found: "Uniqueness") -> Iterator[str]:
    yield f"Unique by all quasi-identifiers together: {found.records:,} {'row' if found.records == 1 else 'rows'}."
    telling = sorted(((share, name) for name, share in found.columns.items() if share), reverse=True)
    if telling:
        shares = ", ".join(f"{name} {100 * share:.3g} %" for share, name in telling)
        columns = "one column" if found.most == 1 else f"{found.most} columns or fewer"
        yield f"  Of those unique by {columns}, how many need this column: {shares}."

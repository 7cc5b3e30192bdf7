"""What somebody may have meant who names what is not there."""

from collections.abc import Sequence

from models.tables.hierarchy import SUPPRESSED

_SHOWN = 12
"""Names that are listed where none is close."""


def did_you_mean(text: str, known: Sequence[str]) -> str:
    """A question naming what is known and much alike; empty where nothing is.

    >>> did_you_mean("diagnosys", ["age", "diagnosis"])
    "did you mean 'diagnosis'?"
    """
    from difflib import get_close_matches  # loaded here: most names are there

    close = (
        [k for k in known if k.rstrip(SUPPRESSED) == text]
        or get_close_matches(text, known)
        or [k for k in known if k.lower() == text.lower()]
    )
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def suggested(text: str, known: Sequence[str], otherwise: str) -> str:
    """A question naming what is much alike, or else what is known, after the words `otherwise`."""
    if question := did_you_mean(text, known):
        return question
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return f"{otherwise} {', '.join(known[:_SHOWN])}{more}"

"""Parts of messages: harmless text of strangers, what somebody may have meant, and what to install."""

import textwrap
from collections.abc import Sequence
from fractions import Fraction

from checks import PROJECT

_LONGEST = 1000  # characters; a label may have a million


def printable(text: str) -> str:
    r"""Return a line of bounded length in which characters that cannot be seen stand as escapes."""
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: _LONGEST + 1])
    return escaped if len(text) <= _LONGEST else escaped[:_LONGEST] + "..."


_FEW = 10  # smaller counts of rows do not leave the house in configs, messages and errors


def few(count: int, rows: int = 0) -> str:
    """Count rows in words that tell no small number, and no small rest of all rows.

    >>> few(0), few(3), few(1200), few(598, 600)
    ('0', 'few', '1,200', 'nearly 600')
    """
    return f"nearly {rows:,}" if 0 < rows - count < _FEW else "few" if 0 < count < _FEW else f"{count:,}"


def share_in_words(share: Fraction) -> str:
    """Return a whole percentage, which tells no small count.

    >>> share_in_words(Fraction(1, 3)), share_in_words(Fraction(1, 999)), share_in_words(Fraction(999, 1000))
    ('33', 'under 1', '99')
    """
    return "under 1" if 100 * share < 1 else str(min(99, round(100 * share)))


LONGEST_WORDS = 200  # characters of a title or a description


def is_words(text: object) -> bool:
    """True if something is one line of text that can be printed as it is, as titles, descriptions and labels are."""
    return isinstance(text, str) and text.isprintable() and len(text) <= LONGEST_WORDS


def one_line(text: object) -> str:
    """Put a text into one line; None is empty."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text or "")).split())


def wrapped(line: str, width: int) -> str:
    r"""A line as several of no more than so many characters, the later ones further in, words left whole."""
    begin = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, max(width, 20), subsequent_indent=begin + "  ", break_long_words=False, break_on_hyphens=False
    )


_SHOWN = 12  # names, where none is close


def did_you_mean(text: str, names: Sequence[str]) -> str:
    """A question naming what is known and much alike; empty where nothing is."""
    from difflib import get_close_matches  # loaded here: most names are there

    from models.tables.hierarchy import SUPPRESSED  # loaded here: NumPy comes with it

    similar = get_close_matches(text, names) or [k for k in names if k.lower() == text.lower()]
    close = [k for k in names if k.rstrip(SUPPRESSED) == text] or similar
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def suggested(text: str, names: Sequence[str], otherwise: str) -> str:
    """A question naming what is much alike, or else what is known, after the words `otherwise`."""
    if question := did_you_mean(text, names):
        return question
    return f"{otherwise} {first_few(names, _SHOWN)}"


def first_few(values: Sequence[str], most: int = 3, mark: str = ",") -> str:
    """Return the first values, with a mark between them, and how many more there are."""
    rest = f"{mark.strip(',')} and {len(values) - most:,} more" if len(values) > most else ""
    return f"{mark} ".join(values[:most]) + rest


def installing(extra: str = "") -> str:
    """The command, and where to run it. extra: what comes with it, as `pyproject.toml` names it."""
    package = f'".[{extra}]"' if extra else "."
    return f"pip install {package} in a checkout of {PROJECT}"

"""What the columns of a published table seem to be: counts, percentages, attributes, or what can be left out."""

import re

from marginals.auditing.cell_text import CellTexts, below, whole
from marginals.auditing.published_file import PublishedFile
from marginals.auditing.published_tables import TOTALS
from models.programs.equations import UNBOUNDED

_COUNTS = re.compile(
    r"(?i)counts?|n|numbers?|values?|obs_value|people|persons|population|freq|frequency|cases|deaths|births"
)
_PERCENT_NAME = re.compile(r"(?i).*(%|\bper ?cent|\bpct\b|percentage)")
_MARKERS = frozenset(
    {"*", "**", "c", "x", "s", "-", "\u2013", "..", "...", ":", ".", "n/a", "na", "suppressed", "conf", "z", "\u2020"}
    | {"..c", "c..", "np", "n.p.", "(x)", "(d)", "(s)", "#", "~", "^", "unreliable", "not applicable", "missing", "nr"}
)
_DECIMAL = re.compile(r"-?\d+[.,]\d+%?")
_DECIMALS = "holds percentages, rates or other numbers with decimals"
_OTHER = "is another count"
_SUPPRESSED = 15
"""The largest count that a column shows nothing but suppressed ones of."""


def looks_counted(file: PublishedFile, number: int) -> bool:
    """Whether a column seems to hold counts, some of them suppressed."""
    filled = [text for text in file.column(number) if text]
    if not filled or not all(map(_is_cell, filled)):
        return False
    if any(whole(text) is not None or text.endswith("%") or text.lower() in _MARKERS for text in filled):
        return any(whole(text) is not None for n in range(len(file.header)) for text in file.column(n))
    return all((below(text) or UNBOUNDED) <= _SUPPRESSED for text in filled)  # "<18" and "18-64" are ages


def looks_like_percentages(file: PublishedFile, number: int) -> bool:
    """Whether a column seems to hold percentages: its name or its texts say so."""
    filled = [text for text in file.column(number) if text and text.lower() not in _MARKERS]
    numbers = [text.rstrip("% ").replace(",", ".") for text in filled]
    if not filled or not all(re.fullmatch(r"\d{1,3}(\.\d+)?", text) and float(text) <= 100 for text in numbers):
        return False
    named = _PERCENT_NAME.match(file.header[number]) is not None
    return named or any(text.endswith("%") or _DECIMAL.fullmatch(text) for text in filled)


def count_column(file: PublishedFile) -> str:
    """The one column of counts of a long table, empty for none."""
    counted = [n for n in range(len(file.header)) if looks_counted(file, n) and not _PERCENT_NAME.match(file.header[n])]
    named = [n for n in counted if _COUNTS.fullmatch(file.header[n].strip())]
    hidden = [n for n in named if any(text and whole(text) is None for text in file.column(n))]
    if named:
        return file.header[(hidden or named)[-1]]
    return file.header[counted[0]] if len(counted) == 1 else ""


def beside_counts(file: PublishedFile, count: str) -> dict[str, str]:
    """Columns of a long table that are no attributes, and what each does."""
    left_out: dict[str, str] = {}
    kept: list[int] = []
    for number, name in enumerate(file.header):
        if name == count:
            continue
        texts = file.column(number)
        numbered = [str(line) for line in range(1, len(texts) + 1)]
        same = next((other for other in kept if _same(file.column(other), texts)), None)
        if len(texts) > 2 and (texts == numbered or texts == ["0", *numbered[:-1]]):
            left_out[name] = "numbers the rows"
        elif all(text.lower() in TOTALS for text in texts):
            left_out[name] = "is empty, or marks totals"
        elif looks_like_percentages(file, number) or _has_decimals(texts):
            left_out[name] = _DECIMALS
        elif _COUNTS.fullmatch(name.strip()) and looks_counted(file, number):
            left_out[name] = _OTHER
        elif same is not None:
            left_out[name] = f"tells the same as {file.header[same]!r}"
        else:
            kept.append(number)
    if len({tuple(row[number] for number in kept) for row in file.rows}) < len(file.rows):
        # Numbers that tell rows apart are values of an attribute, such as doses.
        return {name: why for name, why in left_out.items() if why not in (_DECIMALS, _OTHER)}
    return left_out


def _is_cell(text: str) -> bool:
    return (
        CellTexts().interval(text) is not None
        or below(text) is not None
        or text.lower() in _MARKERS
        or text.endswith("%")
    )


def _has_decimals(texts: list[str]) -> bool:
    filled = [text for text in texts if text and text.lower() not in _MARKERS]
    return any(map(_DECIMAL.fullmatch, filled)) and all(_DECIMAL.fullmatch(t) or whole(t) is not None for t in filled)


def _same(one: list[str], other: list[str]) -> bool:
    """Whether two columns tell rows apart alike, and do tell some apart."""
    pairs = set(zip(one, other))
    return len(pairs) == len(set(one)) == len(set(other)) > 1

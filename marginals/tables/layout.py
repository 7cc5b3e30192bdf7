"""Layout of a table: its names and its rows among the first and last lines of a file or of a sheet."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from marginals.errors import InputError
from marginals.keys import is_whole
from marginals.tables.values import looks_like_a_date, number_in
from models.frozen import frozen

Header = int | None  # line of the names, from 1; None if it has to be the first
ONE_LINE = "a line, from 1, such as 3; join the names of several lines in the file"

Lines = Sequence[tuple[int, Sequence[str]]]  # with the number at which each begins, from 1
LOOKED_AT = 200  # lines at the beginning and the end of a file


def is_header(value: object) -> bool:
    """Return whether a value can be the line that names the columns."""
    return value is None or (is_whole(value) and cast("int", value) >= 1)


@frozen
class Layout:
    """Names of the columns, one for each field of a row, and the number of rows before those of the table.

    `separator`, `line`: of a CSV file, with the text of the line of names.
    """

    names: tuple[str, ...]
    skipped: int
    separator: str = ","
    line: str = ""

    @classmethod
    def of(cls, lines: Lines, header: Header, where: str) -> "Layout":
        """Return the layout by the first lines of a file. Raises InputError if `header` contradicts them."""
        filled = [(number, row) for number, row in lines if any(text.strip() for text in row)]
        if not filled:
            raise InputError(f"{where} cannot be read as a table; it has no line with the names of the columns")
        wanted = filled[0][0] if header is None else header
        likely, units = likely_header([(number, row) for number, row in filled if number >= wanted] or filled)
        named = dict(lines)
        if not any(named.get(wanted, ())):
            raise InputError(
                f"line {wanted} of {where} holds no names of columns; data.header says which line does, such as "
                f"header = {likely}, or --header {likely} of init"
            )
        if header is None and likely != wanted:
            raise InputError(
                f"line {wanted} of {where} seems not to name the columns: it stands alone, as a title or names of groups "
                f"do. Write header = {likely} under [data], or header = {wanted} if it names them"
            )
        if header is None and units:
            raise InputError(
                f"{where} seems to have units, or names once more, below its names. Remove line {' and '.join(units)}, or "
                f"write header = {wanted} under [data] if that is a row"
            )
        rows = [row for number, row in filled if number > wanted]
        skipped = 1 + next(place for place, (number, _) in enumerate(lines) if number == wanted)
        return cls(tuple(_fitted([*named[wanted]], rows)), skipped)


def likely_header(lines: Lines) -> tuple[int, list[str]]:
    """Return the line that most likely names the columns, and the lines of units below it. `lines`: none is blank."""
    sizes = [sum(bool(text.strip()) for text in row) for _, row in lines]
    tail = sorted(sizes[len(sizes) // 3 :][:LOOKED_AT])
    usual = tail[len(tail) // 2]
    first = next((n for n, size in enumerate(sizes) if 2 * size > usual and not _is_row(lines[n][1])), 0)
    if 2 * sizes[0] > usual or not first:
        first = 0
    (number, names), rows = lines[first], [row for _, row in lines[first + 1 :]]
    if rows and _names_groups(names, rows[0], rows[1:]):
        return lines[first + 1][0], []
    return number, [str(unit) for unit, _ in lines[first + 1 : first + 1 + _lines_of_units(names, rows)]]


def _is_row(texts: Sequence[str]) -> bool:
    numbers = [number for text in texts if (number := number_in(text.strip())) is not None]
    return bool(numbers) and not all(1800 <= number <= 2200 for number in numbers)


def _names_groups(above: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    blank = [n for n, text in enumerate(above) if not text.strip()]
    used = [n for n in blank if any(n < len(row) and row[n].strip() for row in rows)]
    below = [names[n].strip() for n in range(len(names)) if n in used]
    if len(above) - len(blank) < 2 or _is_pair(above) or not below or not all(below) or not rows or _is_row(names):
        return False
    texts = [text.strip() for text in names if text.strip()]
    return len(used) > 1 or len({*texts}) < len(texts) or not names[0].strip() or bool(_among_numbers(names, rows))


def _is_pair(texts: Sequence[str]) -> bool:
    first, second, *others = [*texts, "", ""]
    tells = first.strip().endswith(":") or number_in(second.strip()) is not None or looks_like_a_date(second.strip())
    return bool(first.strip()) and tells and not any(text.strip() for text in others)


def _among_numbers(texts: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    among = []
    for place, text in enumerate(texts):
        values = [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
        if not values or not all(map(_is_measured, values)):
            continue
        if _is_measured(text.strip()) or _NO_VALUE.fullmatch(text.strip()):
            return []
        among.append(text.strip())
    return among


def _is_measured(text: str) -> bool:
    return number_in(text) is not None or looks_like_a_date(text)


def _lines_of_units(names: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    named = [place for place, name in enumerate(names) if name.strip()]
    rows = [[row[place] for place in named if place < len(row)] for row in rows]
    for count in (1, 2):
        units = _among_numbers(rows[count - 1], rows[count:]) if len(rows) > count else []
        are_units = all(map(_UNIT.fullmatch, units)) or 1 < len(units) == len({*units})
        if (units and are_units) or (len(rows) >= count and all(map(_RULE.fullmatch, rows[count - 1]))):
            return count
    return 0


_RULE = re.compile("[-=_:+ ]{2,}")

_UNIT = re.compile(
    r"(?i)[(\[].*[)\]]|\{.*\}|[%‰€$£¥]|(in )?(years?|yrs?|months?|weeks?|days?|hours?|h|min(utes)?|s(ec(onds)?)?|jahre?n?"
    r"|monate?|tage|stunden|ans?|années|mois|años|meses|eur(os?)?|usd|gbp|chf|dollars?|k[gm]|[cm]?m[²2³3]?|cm|g|mg|t|ha|l|ml"
    r"|mmhg|bpm|kcal|kg/m[²2]|°c|percent|prozent|number|count|anzahl|persons?|people|personen|thousands?|num(eric)?"
    r"|int(eger|64|32)?|float(64)?|double|string|char(acter)?|text|date|factor|bool(ean)?|object|category)"
)
# No value, among the numbers of a row.
_NO_VALUE = re.compile(
    r"(?i)|[-\u2013\u2014.:*?/]+|n\.?/?a\.?|nan|nil|null|none|missing|unknown|refused|not .*|no .*|don'?t .*|other|xx?|c"
)


def _fitted(names: list[str], rows: Iterable[Sequence[str]]) -> list[str]:
    widths = Counter(len(row) for row in rows if row)
    longer = [row for row in rows if len(row) == len(names) + 1]
    if not widths or set(widths) - {len(names) + 1, len(names) - 1}:
        return names
    if set(widths) == {len(names) - 1}:
        return names if names[-1].strip() else names[:-1]
    if not any(row[-1].strip() for row in longer):
        return [*names, ""]
    return ["", *names] if len({row[0] for row in longer}) == len(longer) and len(longer) > 1 else names


def footnote(rows: Lines, width: int) -> int | None:
    """Return the number of the first of the last lines that is a note or a total below a table of so many fields."""
    first_texts = {number: next((text.strip() for text in row if text.strip()), "") for number, row in rows}
    first = None
    for number, row in reversed(rows):
        if not (text := first_texts[number]):
            continue
        is_alone = width > 1 and (width > 2 or len(row) < width) and sum(bool(text.strip()) for text in row) == 1
        is_note = is_alone and row[0].strip() and (_NOTE.match(text) or (first is not None and len(row) == 1))
        above = (first_texts[other] for other, _ in rows if other < number)
        if not (is_note or (is_total(text) and text not in above)):
            break
        first = number
    return first


def is_total(text: str) -> bool:
    """Return whether a text stands for all values of a column together."""
    return bool(_TOTAL.fullmatch(text.strip()))


_NOTE = re.compile(
    r"(?i)(sources?|notes?|footnotes?|quellen?|anmerkung(en)?|hinweise?|stand|fuentes?|notas?|bronn?|fonte|kilde)\b"
    r"|[(]?(c|©)[)]? ?\d{4}|_{3,}|-{3,}|[*]|\(?\d{1,2}[).] |(last )?update|(down)?loaded|generated|extracted|exported|end of"
    r"|(\S+\s+){4,}\S+|(sub|grand )?total\b"
)
_TOTAL = re.compile(r"(?i)(sub-?|grand )?totals?:?|sum|(ins)?gesamt(summe)?|summe|ensemble|totale")

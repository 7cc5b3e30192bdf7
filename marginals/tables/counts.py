"""Tables of counts: a column has the number of people of each row, as R's `as.data.frame(table(x))` gives."""

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from marginals.errors import InputError
from marginals.later import pd
from marginals.tables.distinct_rows import DistinctRows, Source
from marginals.tables.layout import is_total
from marginals.tables.values import NumberFormat, missing_among, number_in
from models.arrays import CountArray

_MOST_PEOPLE = 1 << 53

# Names of columns of counts, without signs and in small letters.
_NAMES = re.compile(
    "n|nn|freqs?|frequenc(y|ies)|freq(uency)?count|counts?(star)?|countn|cases|casecount|observations|n?(people|persons)"
    "|numberof(people|persons|cases)|headcount|anzahl|h(ä|ae)ufigkeit|f(ä|ae)lle|personen|effectifs?|fréquence|frecuencia"
    "|casos|frequenza|aantal|antal|deaths"
)

# Names of counts and of others: counts only beside a few categories.
_MAYBE = re.compile("nb|num(ber)?|len|total|obs(value)?|value|pop(ulation)?|births|wert|absolut|nombre")


_CATEGORIES = 60


def is_called_a_count(column: str) -> bool:
    """Return whether a column has a name of counts of people: Freq, n, COUNT(*), Anzahl."""
    return any(names.fullmatch(_letters(column)) for names in (_NAMES, _MAYBE))


def _letters(column: str) -> str:
    return re.sub(r"[\W\d_]", "", column).lower()


def _is_numbered(column: str) -> bool:
    # n1, not n itself; n_2019 is a count in a year.
    return _letters(column) == "n" and 0 < len(re.sub(r"\D", "", column)) < len("2019")


_ROWS = 10_000


def likely_counts(source: Source) -> str | None:
    """Return the column of a table that most likely has the number of people of each row, None if there is none.

    It has a name of counts, which is none of n1, n2, n3, and whole numbers that do not number the rows. No two rows are
    alike in the other columns, row names and keys set aside.
    """
    if not any(map(is_called_a_count, source.columns)):
        return None
    try:
        rows = source.first_rows(_ROWS)
    except (InputError, MemoryError):  # lists and the like
        return None
    are_numbered = sum(map(_is_numbered, rows.values)) > 2
    for column in filter(is_called_a_count, rows.values):
        if are_numbered and _is_numbered(column):
            continue
        texts = [rows.values[column][code] for code in rows.codes[column].tolist()]
        numbers = [number for text in texts if text is not None and (number := number_in(text)) is not None]
        is_named = _NAMES.fullmatch(_letters(column)) is not None  # then up to half of the counts may be suppressed
        if len(texts) < 2 or 10 * len(numbers) < (5 if is_named else 9) * len(texts) or sum(numbers) <= len(texts):
            continue
        others = {name: len({*codes.tolist()}) for name, codes in rows.codes.items() if name != column}
        used, numberings = _without_keys(others, len(texts)), [[*range(n, n + len(texts))] for n in (0, 1)]
        if any(number < 0 or number != int(number) for number in numbers) or numbers in numberings:
            continue
        are_few = all(others[name] <= max(len(texts) // 3, _CATEGORIES) for name in used)
        if not are_few and not is_named:
            continue
        if used and len({*zip(*(rows.codes[name].tolist() for name in used))}) == len(texts):
            return column
    return None


def _without_keys(distinct: Mapping[str, int], rows: int) -> list[str]:
    groups = [name for name, values in distinct.items() if values < rows]
    return groups if len(groups) > 1 else list(distinct)


def refuse_subtotals(source: Source) -> None:
    """Raise InputError if a column of notes says "Total" in some rows and nothing in others, as exports of CDC WONDER do."""
    for column in filter(re.compile("(?i)notes?|(sub)?totals?").fullmatch, source.columns):
        texts = {text or "" for text in source.first_rows(_ROWS).values.get(column, ())}
        if "" in texts and len(texts) > 1 and all(map(is_total, texts - {""})):
            raise InputError(f"column {column!r} of {source.name} marks totals of other rows; remove these rows")


def refusal_of_counts(column: str, name: str) -> InputError:
    """Return the question whether a table, by its name, is one of counts, which nobody has answered."""
    return InputError(
        f"{name} looks like a table of counts: {column!r} holds whole numbers, and no two rows are alike in the other "
        f'columns. Write counts = "{column}" under [data] if it says how many people a row stands for, else counts = false'
    )


def rows_of_people(
    source: Source, columns: Sequence[str], counts: str, missing: Collection[str], decimal: str
) -> DistinctRows:
    """Return the distinct rows of some columns, each as often as the column `counts`, of this form, says."""
    rows = source.distinct_rows([*columns, counts])
    codes, texts = rows.codes[counts], rows.values[counts]
    absent = missing_among(texts, missing, decimal)
    texts_of = {c: {text for text in rows.values[c] if text is not None} for c in columns}
    if total := next((c for c, of in texts_of.items() if len(of) > 1 and any(map(is_total, of))), None):
        raise InputError(
            f"column {total!r} of {source.name} has a value for a total, whose people other rows count, too; remove those "
            "rows from a table of counts"
        )
    occurring = {code: texts[code] for code in np.unique(codes).tolist()}
    present = {text for text in occurring.values() if text is not None and text not in absent}
    numbers = NumberFormat.of(present, decimal) or NumberFormat.nearest(present, decimal)
    people: CountArray = np.zeros(len(texts), dtype=np.int64)
    for code, text in occurring.items():
        number = None if text is None or text in absent else numbers.number(text)
        if number is None or number != number.to_integral_value() or not 0 <= number < _MOST_PEOPLE:
            place = None if text is None else source.place(counts, text)
            raise InputError(
                f"column {counts!r} of {source.name}: the value in {place or 'a row'} is no whole number of people, 0 or "
                "more, as counts must be. Mend it, or remove the row"
            )
        people[code] = int(number)
    if sum(n * times for n, times in zip(people[codes].tolist(), rows.counts.tolist())) >= _MOST_PEOPLE:
        raise InputError(f"column {counts!r} of {source.name} counts more people than there are")
    return rows.taken(rows.counts * people[codes]).without([counts])


def repeated_rows(frame: "pd.DataFrame", counts: str, most: int) -> "pd.DataFrame":
    """Return the rows of a table of counts as often as `counts` says, fewer if more than `most`, without their names."""
    people = np.array([max(int(number_in(str(text)) or 0), 0) for text in frame[counts]], dtype=np.int64)
    times = -(-people // max(1, -(-int(people.sum()) // most)))
    used = _without_keys({str(name): frame[name].nunique() for name in frame if name != counts}, len(frame))
    return frame[used].loc[frame.index.repeat(times)].reset_index(drop=True)

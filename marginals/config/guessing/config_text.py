"""The text of a first config: its sections, with the reason of each guess as a comment."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from math import prod
from textwrap import wrap

from checks.diversity.registry import parse_diversity
from marginals.config.guessing.column_guess import Guess
from marginals.tables.table import Table

_MOST_NODES = 5_000
"""With more generalizations than this, looking for the best single table takes minutes."""

_DIVERSITIES = ("recursive:3,4", "recursive:3,3", "recursive:3,2", "recursive:10,2", "distinct:2")


def config_text(
    name: str, data: str, guesses: Mapping[str, Guess], files: Mapping[str, str], table: Table, wanted: Sequence[str]
) -> str:
    """The whole config. name: of the table. data: its first section. files: of hierarchies. wanted: columns."""
    sections = (_section(column, guessed, files.get(column)) for column, guessed in guesses.items())
    in_bands = [column for column, guessed in guesses.items() if guessed.only_in_bands]
    search = _SEARCH + _in_bands(in_bands) + _wanted(wanted, guesses)
    parts = [_HEAD.format(name=one_line(name)), data, _ROLES, *sections]
    return "\n".join([*parts, _privacy(table, in_bands), _base(table, in_bands), search])


def _section(name: str, guessed: Guess, file: str | None) -> str:
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)
    why = wrap(f"Guessed: {one_line(guessed.why)}.", 118, initial_indent="# ", subsequent_indent="# ")
    lines = [f"[attributes.{key}]", *why, f'role = "{guessed.role.value}"']
    if guessed.intervals:
        lines.append(f"intervals = [{', '.join(map(_number, guessed.intervals))}]")
    if guessed.prefixes:
        lines.append(f"prefixes = {list(guessed.prefixes)}")
    if guessed.dates:
        lines.append(f"dates = [{', '.join(map(quoted, guessed.dates))}]")
    if guessed.is_fitted:
        lines.append('ladder = "fitted"')
    if file is not None:
        lines.append(f"# Review {file}. It names values of all rows, rare ones too, and is for you alone: of its")
        lines.append(
            '# labels a release names only those that its tables count. Never add labels = "public" to this one.'
        )
        lines.append(f"hierarchy = {quoted(file)}")
    if guessed.missing != "drop":
        lines.append(f'missing = "{guessed.missing}"        # "drop": rows without one are left out')
    lines += _words(key, guessed) if guessed.role.is_used else []
    return "\n".join(lines) + "\n"


def _number(width: int | Decimal) -> str:
    """A width as TOML spells it; one of numbers with decimals has a point."""
    if isinstance(width, int):
        return str(width)
    plain = f"{width:f}".rstrip("0").rstrip(".") if "." in f"{width:f}" else f"{width:f}"
    return plain if "." in plain else f"{plain}.0"


def _words(key: str, guessed: Guess) -> list[str]:
    """What the file of the table says of a column in words, for readers."""
    said = guessed.said
    lines = [f"description = {quoted(said.description)}"] if said.description else []
    if said.values:
        lines.append(f"[attributes.{key}.values]")
        lines += [f"{quoted(value)} = {quoted(meaning)}" for value, meaning in said.values.items()]
    return lines


def _in_bands(columns: Iterable[str]) -> str:
    """That the numbers of sensitive columns are published in intervals only."""
    withheld = ", ".join(f"{{ {quoted(column)} = 0 }}" for column in columns)
    if not withheld:
        return ""
    why = "# Level 0 is the number itself: of what is sensitive only intervals are published."
    return f"{why}\nmust_not_publish = [{withheld}]\n"


def _wanted(wanted: Sequence[str], guesses: Mapping[str, Guess]) -> str:
    """The section of the analysis that a release is wanted for, of the columns that are published."""
    used = [column for column in wanted if guesses[column].role.is_used]
    out = [column for column in wanted if column not in used]
    lines = [""] if wanted else []
    if out:
        lines.append(
            f"# Wanted, but left out above: {one_line(', '.join(out))}. Give it a role there, and add it here."
        )
    if used:
        lines += ["[[search.wanted]]", f"attributes = [{', '.join(map(quoted, used))}]", "weight = 1.0"]
    return "".join(f"{line}\n" for line in lines)


def _privacy(table: Table, in_bands: Sequence[str]) -> str:
    k = 10 if table.rows >= 500 else 5 if table.rows >= 100 else min(2, table.rows)
    lines = [
        "# Each of the three can be left out; what is left out is not checked.",
        "[privacy]",
        f"# Whoever is counted shares a cell with at least {k - 1} others, the sensitive column set aside,",
        f"k_link = {k}",
        "# also when somebody puts all published tables together;",
        f"k_combinatorial = {k}",
    ]
    if not table.sensitive:
        lines += [
            "# No column looked sensitive. If nobody may learn one of them about a person, give it the role",
            '# "sensitive" above, and say how uncertain it must stay:',
            '# diversity = "recursive:3,4"',
        ]
    elif (diversity := _diversity(table, int(table.sensitive[0] in in_bands))) is None:
        lines.append("# The sensitive column as a whole satisfies no diversity that could be demanded here.")
    else:
        lines += [
            "# and what the tables together say about the sensitive column stays as uncertain as this. It is the",
            "# strongest of some that the column as a whole satisfies; recursive:c,l: the likeliest value is less than",
            "# c times as likely as the l-th, (l+1)-th, ... likeliest together; distinct:l: l values stay possible.",
            '# Where several columns are sensitive, by column: diversity = { NAME = "distinct:3", OTHER = "entropy:4" }',
            f'diversity = "{diversity}"',
        ]
    return "\n".join(lines) + "\n"


def _diversity(table: Table, level: int) -> str | None:
    """The strongest diversity, of some, that the sensitive column satisfies at a level over all rows."""
    counts = table.counts.rolled_up({table.sensitive[0]: level}).counts.tolist()
    return next((text for text in _DIVERSITIES if parse_diversity(text).decide(counts)), None)


def _base(table: Table, in_bands: Sequence[str]) -> str:
    nodes = prod(table.domain.hierarchy(name).height + 1 for name in table.quasi_identifiers)
    lines = ["# One table with all the columns, each coarsened as far as it must be, can be part of the release."]
    if in_bands:
        lines += [
            f"# It would show each number of {one_line(in_bands[0])}, of which only intervals are published.",
            "[base]",
            'table = "none"',
        ]
    elif nodes <= _MOST_NODES:
        lines += [
            "[base]",
            'table = "auto"               # if that is better; "best": always; "none": smaller tables only',
        ]
    else:
        lines += [
            f"# There are {nodes:,} ways to coarsen them, so looking for the best would take long; with fewer columns or",
            '# levels, try "auto".',
            "[base]",
            'table = "none"',
        ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def one_line(text: str) -> str:
    """The text in one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


_HEAD = """\
# A first guess at how to publish {name}, made from the table alone. Review every line: only you know
# what people can be recognized by, and what nobody should learn about them. Then:
#   marginals assess THIS_FILE                        what the table itself gives away
#   marginals publish THIS_FILE --out release
"""

_ROLES = """\
# The role of a column is one of
#   "identifier"        names a person; never read any further
#   "ignored"           not wanted in the release
#   "quasi-identifier"  others may know it about a person: what people could be recognized by
#   "sensitive"         what nobody may learn about a person
#
# A quasi-identifier can be coarsened step by step, from the value as it is to "*", which says nothing. The steps are
#   intervals = [5, 10, 20]          whole numbers, in ever wider intervals; each width is a multiple of the one before
#                                    ([0.5, 2.5] or [5.0, 10.0], with a point: numbers with decimals)
#   dates = ["month", "year"]        dates and times, cut to ever longer units
#   prefixes = [3, 2]                codes, of which ever fewer characters are kept
#   hierarchy = "hierarchies/x.csv"  anything else: a file without header, separated by semicolons, with one line for
#                                    each value: the value, what it becomes first, what it becomes next, ..., *
#   ladder = "fitted"                steps that are fitted to the table, alone or with one of these: rare values are
#                                    merged with their neighbours, or with those nearest in the hierarchy, more at each
#                                    step; "given": only the steps that are given
# With none of these, the column is published as it is or not at all; if published, the release lists all its values.
# A release names the labels that its tables count, and no others. A hierarchy that everybody may know, made without looking
# at this table, can be published whole: labels = "public".
"""

_SEARCH = """\
[search]
strategy = "look-ahead"      # or "rebuild", "genetic": slower, sometimes better
seed = 0                     # the same seed gives the same release
max_sensitive_margins = 3    # at most so many published tables hold a sensitive column
time_limit = 60.0            # seconds; then the best release found so far is taken
"""

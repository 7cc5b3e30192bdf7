"""A first `release.toml` for a table that nobody has described yet: guesses, each with its reason, to be reviewed.

It quotes no value of the table, but for those that stand for none.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import comb
from pathlib import Path
from textwrap import wrap

from checks.claims import listing
from checks.diversity.registry import PRESETS as DEMANDS
from marginals.config import RARE
from marginals.config.facts import missing_in_words
from marginals.config.guessed_table import NOTHING_CHOSEN, Choices, DescribedTable, GuessedTable
from marginals.config.guessing import LEAST_CELL, ONE_ROW, CountedTable, counted_table, guessed_table
from marginals.config.presets import JOINT_PROOF, MORE_PAIRS, PRESETS, Preset
from marginals.config.questions import (
    NOT_REVIEWED,
    Inquiry,
    comment_lines,
    guess_comments,
    questions_of,
)
from marginals.config.rules import Guess
from marginals.config.vocabulary import harmless_values, meaning_of
from marginals.files import PRIVATE, replace_file, resolved
from marginals.messages import few, one_line, share_in_words
from marginals.names import column_name, quoted, toml_key
from marginals.publishing.harmful import bounded_values, known_values
from marginals.publishing.policy import NO_DIVERSITY, PROPOSED
from marginals.publishing.wanted import PAIRS, WEIGHT
from marginals.say.claims import counts_below
from marginals.steward import AS_THE_REST
from marginals.tables.attribute import Role
from marginals.tables.csv_text import AUTO, FileForm
from marginals.tables.files import likely_form_of
from marginals.tables.relations import levels_of_others
from marginals.tables.values import number_text
from marginals.tables.words import sections
from models.frozen import frozen

MOST_OUTCOMES = 2  # taken for outcomes until somebody names them: each is wanted with all others
_MOST_IMPOSSIBLE_PAIRS = 10
_MOST_LISTED_VALUES = 12
_WEIGHT_OF_NAMED_OUTCOMES = 10.0
_FEWEST_TO_CHOOSE = 3  # columns from which on a search chooses between pairs


def _comments(text: str) -> str:
    return "".join(f"{line}\n" for line in wrap(one_line(text), 118, initial_indent="# ", subsequent_indent="# "))


def _number(width: int | Decimal) -> str:
    text = number_text(Decimal(width))
    return text if isinstance(width, int) or "." in text else f"{text}.0"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return _list(map(_value, value))
    return _number(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else quoted(value)


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _path(source: Path, target: Path) -> str:
    folder = target.absolute().parent
    try:
        path = Path(os.path.relpath(source.absolute(), folder))
    except ValueError:  # another drive
        return source.absolute().as_posix()
    return (path if resolved(folder / path) == resolved(source) else source.absolute()).as_posix()


@frozen(eq=False)
class InitialConfig:
    """A config as text, to be written to a target, and the guesses that it was made from. asks: for the preset."""

    guessed: GuessedTable
    counted: CountedTable
    preset: Preset
    source: Path
    form: FileForm
    target: Path
    asks: bool

    @property
    def guesses(self) -> Mapping[str, Guess]:
        """The guess on each column."""
        return self.guessed.guesses

    def write(self, path: Path) -> None:
        """Write the config for its owner alone, since it may name values of the table. Raises InputError."""
        replace_file(path, self.text.encode(), PRIVATE)

    @cached_property
    def questions(self) -> list[Inquiry]:
        """Questions that only somebody who knows the table can answer."""
        guessed, counts = self.guessed, self.guessed.table.counts
        guesses = {name: guess for name, guess in self.guesses.items() if guess.role is not Role.IDENTIFIER}
        result = [*guessed.unclear, *questions_of([] if counts is None else [(counts, self._about_counts, None)])]
        of_values = ((name, guess.doubt, None) for name, guess in guesses.items() if guess.role.is_used)
        result += questions_of([*((name, guess.question, guess.role) for name, guess in guesses.items()), *of_values])
        result += questions_of((name, _ABOUT_EXCEPTIONS, None) for name in self._exceptions)
        public = {n: guessed.table.values_of(n) for n in self._together if guesses[n].role is Role.QUASI_IDENTIFIER}
        about = ((pair.column, _IS_COPY if pair.tells else _IS_LEVEL, pair.of) for pair in levels_of_others(public))
        result += questions_of((name, reason.format(of=quoted(of)), None) for name, reason, of in about)
        if not guessed.chosen.needed and len(guessed.used) >= _FEWEST_TO_CHOOSE:
            result.append(Inquiry(self._outcomes, _IS_FOR if self._outcomes else _FOR_WHAT, None))
        return [*result, *([Inquiry((), self._about_pairs, None)] if self._about_pairs else [])]

    @cached_property
    def _outcomes(self) -> tuple[str, ...]:
        """Columns that are studied by the others: those named so, then what is sensitive for sure; none that stand alone."""
        guessed, words = self.guessed, sections()["columns"]["outcomes"].split()
        if guessed.chosen.needed:
            return guessed.chosen.outcomes
        named = {name: guessed.facts[name].words.intersection(words) for name in self._together}
        likely = [name for name in named if named[name] or self.guesses[name].role is Role.SENSITIVE]

        def rank(name: str) -> tuple[int, bool]:
            return min(map(words.index, named[name]), default=len(words)), bool(self.guesses[name].question)

        return tuple(sorted(likely, key=rank)[:MOST_OUTCOMES])

    @property
    def _together(self) -> list[str]:
        return [name for name, guess in self.guessed.used.items() if not guess.is_alone]

    @cached_property
    def _exceptions(self) -> dict[str, list[str]]:
        lines_of = {name: self._exception_lines(name) for name in self.counted.table.sensitive}
        return {name: lines for name, lines in lines_of.items() if lines}

    def _exception_lines(self, name: str) -> list[str]:
        """Ask about values that look as if they harm nobody; none is rare. Others harm, in later tables too."""
        facts, values = self.guessed.facts[name], known_values(self.counted.table, name)
        labels, rows = values.hierarchy.labels[0], values.rows
        canonical = str if facts.format is None else facts.format.canonical
        meanings = {canonical(value): meaning for value, meaning in facts.labels.values.items()}
        about = meaning_of(name) or meaning_of(facts.labels.description) or facts.values_meaning
        harmless = harmless_values(name, facts.labels.description, about, {v: meanings.get(v, v) for v in labels})
        is_end_of_scale = "0" in harmless and 2 * rows[labels.index("0")] < sum(rows)
        is_rare = any(rows[labels.index(value)] < facts.rare for value in harmless)
        if is_rare or is_end_of_scale or len(harmless) in (0, len(labels)):
            return []
        return [*comment_lines(_HARMLESS), f"harmless = {quoted(list(harmless))}", "confirmed = false"]

    def _bound_lines(self, name: str) -> list[str]:
        """Say how sure the proposed demand lets anybody become of each value of a sensitive column of few."""
        table, rare = self.counted.table, self.guessed.table.rare
        values = bounded_values(table, name)
        if len(values.rows) > _MOST_LISTED_VALUES or not any(values.rows):
            return []
        people = table.rows_per_person if isinstance(table.rows_per_person, int) else 1
        odds = DEMANDS[PROPOSED].of_rows(people)

        def most(share: Fraction) -> str:
            return "no bound" if odds.bound(share) == 1 else str(100 * people * odds.bound(share))

        of_each = sorted(zip(values.rows, values.hierarchy.labels[values.level], values.shares))
        # The most frequent value, which seldom harms, stands last.
        common = [(label, share) for rows, label, share in of_each if rows >= rare]
        bounds = [f"{quoted(label)} {most(share)} ({share_in_words(share)})" for label, share in common]
        if len(bounds) < len(values.rows):
            bounds.append(f"each rarer value at most {most(Fraction(rare - 1, sum(values.rows)))}")
        return comment_lines(_BOUNDS.format(bounds=", ".join(bounds)))

    @property
    def _about_pairs(self) -> str:
        """Question for the preset, with numbers of this table; empty if one was chosen, or only one makes sense."""
        columns, k = len(self.guessed.of_role(Role.QUASI_IDENTIFIER)), self.counted.k
        if not self.asks or columns < 3 or not MORE_PAIRS.is_for(self.counted.table.rows_per_person):
            return ""
        pairs = comb(columns, 2)
        return (
            "Joint proof, or more pairs of columns? With a joint proof anybody can check that each possible combination of "
            f"nonsensitive values could belong to {k} rows or more; of the {pairs} pairs of nonsensitive columns "
            f"{columns - 1} stand in one table, or some more. With more pairs up to {pairs - columns + 1} others do, too, "
            f"but anybody can check less: that no combination looked at certainly has {counts_below(k)} rows. Until you say "
            f"more pairs (marginals init --preset {MORE_PAIRS.name}): joint proof"
        )

    @property
    def _about_counts(self) -> str:
        name = quoted(self.guessed.table.counts)
        return (
            "its name and numbers say that it may tell how many people a row stands for; write counts = "
            f"{name} under [data] if it does, and counts = false if each row is of one person"
        )

    @cached_property
    def text(self) -> str:
        """The whole config."""
        lines = [line for question in self.questions for line in comment_lines(str(question), "# - ")]
        questions = (f"{line}\n" for line in [*_ASK[: len(lines)], *lines])
        head = "".join([_HEAD.format(name=one_line(self.source.name)), *questions])
        sections = (self._column(name, guess) for name, guess in self.guesses.items())
        data = self._data(_path(self.source, self.target))
        return "\n".join([head, data, _ROLES, *sections, self._privacy(), self._search()])

    def _data(self, path: str) -> str:
        table, complete, form = self.guessed.table, self.counted.complete, self.form
        lines = [f"[data]\npath = {quoted(path)}\n{NOT_REVIEWED}"]
        lines += [] if form.separator == "," else [f"separator = {quoted(form.separator)}\n"]
        if form.encoding != AUTO:
            lines.append(
                "# Guessed, for it is not in UTF-8: look whether letters with accents are right in what is written.\n"
                f"encoding = {quoted(form.encoding)}\n"
            )
        if form.header is not None:
            lines.append(f"# Guessed or said: what names the columns.\nheader = {quoted(form.header)}\n")
        lines += [] if form.sheet is None else [f"sheet = {quoted(form.sheet)}\n"]
        if table.counts is not None:
            question = f"Nothing is read until one of these lines stands here: {self._about_counts}."
            lines.append(f"{_comments(question)}# counts = {quoted(table.counts)}\n# counts = false\n")
        rows = f"{few(len(table.frame) - complete)} rows are left out"
        says = missing_in_words(table.missing_cells)
        cells = f"# {one_line(says)}\n" if says else ""
        lines.append(_MISSING.format(rows=rows, cells=cells, texts=quoted(table.missing)))
        if table.decimal_why:
            lines.append(f"# Guessed, for {one_line(table.decimal_why)}.\ndecimal = {quoted(table.decimal)}\n")
        return "".join([*lines, self._whose()])

    def _whose(self) -> str:
        person, rows = self.guessed.person, self.counted.rows_of_each
        if person is None:
            unclear = "\n# Asked above. Until somebody says whose rows these are, promises count rows.\n"
            return f'{unclear}rows_per_person = "any"\n' if self.guessed.unclear else ""
        names = listing(list(map(column_name, person.columns)))
        if rows > 1:
            key, counted = f"rows_per_person = {rows}", f"Of each up to {rows:,} rows count, drawn at random"
            instead = 'one_row = "first", "last" or "random" counts one row of each'
        else:
            key = f'one_row = "{ONE_ROW}"'
            counted = "One row of each counts, drawn at random so that what changes with time is shown at all times"
            instead = '"first" and "last" go by the order of the table, and rows_per_person = 5 counts so many rows'
        whose = _comments(_WHOSE.format(names=names, why=person.why, counted=counted, instead=instead))
        return f"\n{whose}person = {quoted(person.person)}\n{key}\n"

    def _column(self, name: str, guess: Guess) -> str:
        key, meanings = toml_key(name), guess.labels.values if guess.role.is_used else {}
        notes = {**_NOTES, "marks": f"these stand for no value: {one_line(self.guessed.facts[name].marks.why)}"}
        settings = {key: value for key, value in guess.settings.items() if key != "marks" or guess.role.is_used}
        description = f"description = {quoted(guess.labels.description)}"
        is_sensitive = guess.role is Role.SENSITIVE
        lines = [f"[attributes.{key}]", *guess_comments(guess.why, guess.question)]
        lines += self._bound_lines(name) if is_sensitive else []
        lines.append(f'role = "{guess.role.value}"')
        comments = {setting: f"        # {note}" for setting, note in notes.items()}
        lines += [f"{setting} = {_value(value)}{comments.get(setting, '')}" for setting, value in settings.items()]
        lines += [description] if guess.labels.description and guess.role.is_used else []
        lines += self._exceptions.get(name, [])
        lines += [f"[attributes.{key}.values]"] if meanings else []
        return "\n".join([*lines, *(f"{quoted(value)} = {quoted(text)}" for value, text in meanings.items()), ""])

    def _privacy(self) -> str:
        table, k = self.counted.table, self.counted.k
        text = _PRIVACY.format(k=k) + (_FURTHER if self.preset.has_further else _JOINT).format(k=k, least=LEAST_CELL)
        if not table.sensitive:
            return text + _NOTHING_SENSITIVE
        is_register = table.rows_per_person in (None, 1)
        remove = "; then remove register = true, too" if is_register else ""
        return text + (_REGISTER if is_register else "") + _DEMANDS.format(none=NO_DIVERSITY, remove=remove)

    def _search(self) -> str:
        preset, text = self.preset, ""
        if len(self.guessed.of_role(Role.QUASI_IDENTIFIER)) > 2 or preset.has_further:
            for offered in PRESETS.values():
                how = f"marginals init --preset {offered.name}"
                text += _comments(f"{offered.name} ({how}): {offered.promises} {offered.costs}")
        text += _SEARCH.format_map(preset.search)
        if preset.has_further:
            text += f'further_tables = "{PAIRS}"     # beside those with a junction tree; "none", or a number\n'
        used = self.guessed.used
        if coarse := [f"{{ {quoted(name)} = 0 }}" for name, guess in used.items() if guess.is_coarse]:
            text += (
                "# Level 0 is the day of birth, or the whole code of a place, which tells people apart.\n"
                f"must_not_publish = {_list(coarse)}\n"
            )
        if single := [quoted(name) for name, guess in used.items() if guess.is_alone]:
            text += (
                "# In one table with others these would give a sensitive column away, so each has a table of its own only.\n"
                f"alone = {_list(single)}\n"
            )
        open_names = self.guessed.of_role(Role.QUASI_IDENTIFIER)
        belong = [pair for pair in self.guessed.belong if pair[1] in used and pair[0] in open_names]
        outcomes, together, chosen = self._outcomes, self._together, self.guessed.chosen
        studied = [(outcome, {*outcomes[: place + 1]}) for place, outcome in enumerate(outcomes) if outcome in together]
        of_outcomes = [(outcome, name) for outcome, before in studied for name in together if name not in before]
        named = {*chosen.outcomes}
        wishes = {frozenset(pair): self._wanted(pair, AS_THE_REST) for pair in belong}
        for pair in of_outcomes:
            weight = AS_THE_REST if not named else WEIGHT if named.issuperset(pair) else _WEIGHT_OF_NAMED_OUTCOMES
            wishes[frozenset(pair)] = self._wanted(pair, weight)
        wishes.pop(frozenset(chosen.wanted), None)
        return text + self._wanted(chosen.wanted, WEIGHT) + "".join(wishes.values()) + self._impossible()

    def _impossible(self) -> str:
        text, pairs = "", self.counted.impossible
        if pairs:
            more = len(pairs) - _MOST_IMPOSSIBLE_PAIRS
            others = f"; {more:,} more such pairs are not listed" if more > 0 else ""
            text = "\n" + _comments(f"{_IMPOSSIBLE}{others}.")
        for pair in pairs[:_MOST_IMPOSSIBLE_PAIRS]:
            labels = "".join(f"{toml_key(name)} = {_list([quoted(label)])}\n" for name, label in pair.items())
            text += f"[[data.impossible]]\n{labels}confirmed = false\n"
        return text

    def _wanted(self, names: Sequence[str], weight: float) -> str:
        used = [quoted(name) for name in names if name in self.guessed.used]
        out = [name for name in names if name not in self.guessed.used]
        text = "\n" if names else ""
        if out:
            text += (
                f"# Wanted, but left out above: {one_line(', '.join(out))}. Give it a role there, and add it here.\n"
            )
        return text + (f"[[search.wanted]]\nattributes = {_list(used)}\nweight = {weight}\n" if used else "")


def initial_config(
    source: Path, target: Path, rare: int = RARE, chosen: Choices = NOTHING_CHOSEN, preset: Preset | None = None
) -> InitialConfig:
    """Return the guess at a config for a table in files, to be written to the file `beside`.

    Values that fewer than `rare` rows have are named nowhere. Without a preset it is joint proof, and that is asked.
    Raises InputError for no table, a column that is not there, and if nothing can be published or promised.
    """
    form = likely_form_of(source, chosen.header, chosen.sheet)
    table = DescribedTable.read(source, form, rare, chosen)
    guessed, counted = counted_table(guessed_table(table, chosen))
    taken = preset or JOINT_PROOF
    taken.require(counted.table.rows_per_person)
    return InitialConfig(guessed, counted, taken, source, form, target, asks=preset is None)


_WHOSE = (
    "{names} {why}. So what is promised is promised of people. {counted}. Instead, {instead}. Instead of both lines, "
    'rows_per_person = 1 says that each row is a person of its own, and "any" that promises count rows.'
)

_NOTES = {
    "start": "0 is a group of its own",
    "apart": "groups by themselves: many rows have them",
    "label_form": "codes, which lie in no order",
    "missing": '"drop": rows without one are left out',
}

_HEAD = """\
# Private: it is made from the rows of {name}, and no part of the release. Hand it to nobody.
#
# A first guess at how to publish the table, made from the table alone. Review every line: only you know
# what people can be recognized by, and what nobody should learn about them. Then:
#   marginals assess THIS_FILE                        what the table itself gives away
#   marginals publish THIS_FILE --out release
"""

_ASK = ("#", "# Questions that only you can answer, by changing a section below:")

_ROLES = """\
# The role of a column is one of
#   "identifier"        names a person; never read any further
#   "ignored"           not wanted in the release
#   "quasi-identifier"  others may know it about a person: what people could be recognized by
#   "sensitive"         what nobody may learn about a person
#
# A quasi-identifier can be coarsened step by step, up to "*", which says nothing. The steps are
#   intervals = [5, 10, 20]          wider and wider, each a multiple of the one before; [0.5, 2.5]: with decimals
#   dates = ["month", "year"]        longer and longer units of time
#   prefixes = [3, 2]                fewer and fewer characters of a code
#   hierarchy = "hierarchies/x.csv"  a line for each value, without header: value;level1;level2;...;*
#   ladder = "fitted"                rare values are merged with their neighbours, more at each step; "alike": with those
#                                    that are most alike by the other columns, which a release then tells
# Without them the release has the column with all its values, or not at all. The page on configs explains every key.
"""

_PRIVACY = """\
# Each of these can be left out; what is left out is not checked.
[privacy]
# So many rows, or people if [data] says whose rows these are, share each published cell at least, the sensitive
# column set aside;
k_link = {k}
"""
# No comment repeats a number: the window, or a person, changes the number and leaves the comment.

_JOINT = """\
# for each combination of nonsensitive values, the tables together either rule it out or leave room for at
# least so many; in the data it can be rarer;
k_combinatorial = {k}
# and no published count is below this but 0, sensitive columns counted too, and none follows:
min_cell = {least}
"""

_FURTHER = """\
# nobody can be certain that a combination of nonsensitive values that is looked at has fewer rows than this and more
# than none, as anybody can check;
no_small_certain = {k}
# and no published count is below this but 0, sensitive columns counted too; one can follow:
min_published_cell = {least}
"""

_NOTHING_SENSITIVE = f"""\
# No column looked sensitive. If nobody may learn one of them about a person, give it the role
# "sensitive" above, and say how sure anybody may become of it:
# diversity = "{PROPOSED}"
"""

_REGISTER = """\
# What is demanded below of sensitive columns also holds of somebody who knows all other columns of
# everybody, from a register. Leave this out beside a ledger (publish --ledger), where people are in
# several releases.
register = true
"""

_DEMANDS = f"""\
# How sure anybody can become of a sensitive value: in any group its odds are at most 3 times those in the whole table, or at
# most 10 percent have it. "strict": 2 times, 5 percent. "research": 10 times, 25 percent. "{{none}}" demands nothing, on
# purpose{{remove}}. Without this line nothing sensitive is published.
diversity = "{PROPOSED}"
"""

_IMPOSSIBLE = (
    "No row has both values of a pair below, though at least 20 would be expected by chance. Write confirmed = true where "
    "everybody knows that nobody can have both: the promises then hold for readers who use that. Unconfirmed pairs count "
    "for nothing"
)

_IS_LEVEL = (
    "{of} tells it in all rows looked at that have both: is that a rule that everybody knows? Then write level_of = {of}; "
    "see the page on configs"
)
_IS_COPY = (
    "it says the same as {of} in all rows looked at that have both: is one of them enough? Then give the other the role "
    '"ignored"'
)

_ABOUT_EXCEPTIONS = (
    "some values look as if they harm nobody, and are named there: if that is so, write confirmed = true; until then all "
    "values count as harmful"
)

_HARMLESS = "These values look as if they harm nobody. If so, write confirmed = true. Until then all count as harmful."

_BOUNDS = f'How sure "{PROPOSED}" lets anybody become, in percent, and how many of all have it: {{bounds}}.'

_OUTCOME = "Say what is studied or compared, such as an outcome or a treatment: marginals init --outcome NAME,NAME"
_FOR_WHAT = f"What is the table for? No column looks like an outcome. {_OUTCOME}"
_IS_FOR = (
    "is that what the table is for? Until you say otherwise, each pair with one of them counts as much in the search as "
    f"the whole table. {_OUTCOME}"
)

_MISSING = """\
# Texts that stand for no value. A row with one is left out, unless its column says below that missing values
# count as a value: {rows}.
{cells}missing = {texts}
# where = "age >= 21"         # publish only the part of the table where this holds; other parts need a ledger
# A coarse value stands for everything its hierarchy puts under it; "observed": only for what occurs.
domain = "declared"
"""

_SEARCH = """\
[search]
objective = "corrected"      # what tables tell beyond chance; "kl": chance counts too
seed = 0                     # the same table, config and seed give the same release, unless time_limit ends the search
max_sensitive_margins = {max_sensitive_margins}    # at most so many published tables hold a sensitive column
time_limit = {time_limit}            # seconds; then the best release found so far is taken
"""

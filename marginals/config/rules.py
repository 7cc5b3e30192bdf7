"""Rules by which `init` guesses what a column is, and how its values may be coarsened: the first that applies decides.

Guesses err on the side of publishing less. What they say of a column names no value of it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from marginals.config import UNKNOWN
from marginals.config.facts import MOST_CATEGORIES, UNSAID, Facts
from marginals.config.vocabulary import Topic, is_recognizable, meaning_of
from marginals.messages import few
from marginals.tables.attribute import COUNT, Role, words_in_order
from marginals.tables.files import ColumnLabels
from marginals.tables.people import other_numbered
from marginals.tables.words import column_words, sections
from models.frozen import frozen


@frozen
class Guess:
    """A role, at most one way to generalize, and why, in words that quote no value.

    settings: as in a config. question: about the role. doubt: a question about the values. is_coarse: only what values are
    cut to is published. is_alone: it would give a sensitive column away, and has a table of its own only.
    """

    role: Role
    why: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    labels: ColumnLabels = UNSAID
    question: str = ""
    is_unknown: bool = False
    is_coarse: bool = False
    is_alone: bool = False
    doubt: str = ""

    @property
    def counts_missing(self) -> bool:
        """True if rows without a value are counted."""
        return "missing" in self.settings

    @property
    def missing_settings(self) -> dict[str, Any]:
        """The settings that say what is missing, and whether that counts."""
        return {key: self.settings[key] for key in ("missing", "marks") if key in self.settings}

    @property
    def is_open(self) -> bool:
        """True if nothing is known of it, so that others may know it."""
        return self.is_unknown and self.role is Role.QUASI_IDENTIFIER

    def decided(self, why: str, question: str = "", role: Role | None = None) -> "Guess":
        """Decide for another reason, and another role if one is given."""
        return replace(self, role=role or self.role, why=why, question=question, is_unknown=False)

    def counting_missing(self, why: str) -> "Guess":
        """Count rows without a value as if that were one."""
        return replace(self, why=why, settings={**self.settings, "missing": "as a value"})

    def as_json(self) -> dict[str, Any]:
        """Return plain values, without a value of the table."""
        settings = {key: self.settings.get(key) for key in ("prefixes", "dates", "ladder", "missing", "marks")}
        widths = [float(width) if isinstance(width, Decimal) else width for width in self.settings.get("intervals", ())]
        settings |= {"intervals": widths, "question": self.question, "values_question": self.doubt}
        values = {"role": self.role.value, "why": self.why} | settings
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items() if value}


@frozen
class Rule:
    """Row of a table of rules, which applies if `when` finds a match in the facts.

    why, question: in words, with {match}, and {f} for the facts. steps: settings of the attribute, each the name of a fact
    or a function of them. condition: in words, if not why.
    """

    role: Role
    when: Callable[[Facts], object]
    why: str
    steps: Mapping[str, str | Callable[[Facts], object]] = field(default_factory=dict)
    question: str = ""
    condition: str = ""
    is_coarse: bool = False

    def guess(self, facts: Facts, match: object) -> Guess:
        """Return what it says of a column."""
        steps = {key: attrgetter(step) if isinstance(step, str) else step for key, step in self.steps.items()}
        reason, question = (text.format(match=match, f=facts) for text in (self.why, self.question))
        settings = {key: value for key, step in steps.items() if (value := step(facts))}
        return Guess(self.role, reason, settings, question=question, is_coarse=self.is_coarse)


def _applying(rules: Sequence[Rule], facts: Facts) -> Iterator[tuple[Rule, Guess]]:
    return ((rule, rule.guess(facts, match)) for rule in rules if (match := rule.when(facts)))


# What rules look for that takes more than a line.

_FEWEST_NAMES = 10
_NAMES = frozenset({"name", "names"})
_ALMOST_UNIQUE = 0.9
_FEWEST_KEYS = 30
_HEAVIEST_IN_POUNDS = 500
_NAMED_SHARE = 0.9
_WIDEST_RANGE = 10**8
_MOST_WORDS_OF_A_NAME = 5
_ROWS_OF_A_KEY = 20
_TIMES_THE_MEDIAN = 10
_SHARE_OF_SHARED_NUMBERS = 0.1
_MOST_WITHOUT_DIAGNOSES = 0.1
_DIAGNOSIS = re.compile(r"[A-TV-Z][0-9][0-9AB](\.?[0-9A-Z]{1,4})?")
_FEW_NUMBERS = 20
_SCALES = {(1, 5), (0, 10), (1, 10), (1, 7), (1, 11)}


def _names_people(f: Facts) -> str:
    if f.says("no_person") or f.distinct < 3 or f.has_decimals:
        return ""
    if by_name := f.says("naming"):
        return by_name
    if f.words & _NAMES and f.says("parts_of_names"):
        return " ".join(word for word in f.words_in_order if word in column_words("parts_of_names") | _NAMES)
    called = f.says("called_name") if len(f.words) == 1 else ""
    return called if f.distinct >= _FEWEST_NAMES and f.numbers is None else ""


def _is_mail(value: str) -> bool:
    return "@" in value and re.fullmatch(r"[^@\s]+@[^@\s]+\.[A-Za-z]+", value) is not None


def _is_phone(value: str) -> bool:
    is_divided = value[:1] in ("+", "(") or sum(map(value.count, " -/.")) >= 2
    if not is_divided or not re.fullmatch(r"[+(]?[0-9][0-9 ()/.-]{5,}[0-9]", value):
        return False
    return sum(c.isdigit() for c in value) >= 9 and not re.fullmatch(r"[0-9]{5}-[0-9]{4}", value)


def _repeat_like_keys(f: Facts) -> bool:
    return f.distinct >= _FEWEST_KEYS and f.rows >= 2 * f.distinct and f.are_numbers_of_things and not f.has_decimals


def _numbers_somebody(f: Facts) -> tuple[str, float] | None:
    first, *others = f.words_in_order or [""]
    says_how_many = first in column_words("how_many") and others and others[-1] not in column_words("numbering")
    # Counts repeat often, very unevenly, or 0 is among them.
    is_uneven = f.counts.max() >= _TIMES_THE_MEDIAN * np.median(f.counts)
    look_counted = is_uneven or f.rows >= _ROWS_OF_A_KEY * f.distinct or (first and f.words_in_order[-1].endswith("s"))
    are_counts = says_how_many and (look_counted or "0" in f.values)
    is_of_files = f.says("files") and f.says("file_numbers") and f.rows <= _ROWS_OF_A_KEY * f.distinct
    of_files = f.says("files", "file_numbers") if is_of_files else ""
    numbering = f.says("numbering") or other_numbered(f.name) or of_files
    is_key = numbering and _repeat_like_keys(f) and (is_of_files or not (f.says("categories") or are_counts))
    return (numbering, f.rows / f.distinct) if is_key else None


def _repeats_evenly(f: Facts) -> bool:
    is_other = f.says("ages", "times") or f.sampling or f.is_of_something or f.are_amounts
    return _repeat_like_keys(f) and bool(f.counts.min() == f.counts.max()) and not is_other


def weighs_rows(f: Facts) -> str:
    """The word of its name by which the numbers of a column say how much a row counts; or nothing."""
    begins = tuple(sections()["columns"]["survey_weights"].split())
    sure = next((word for word in f.words_in_order if word.startswith(begins)), "")
    word = sure or next((word for word in f.words_in_order if word in column_words("weights")), "")
    if not word or f.numbers is None or f.distinct < 3:
        return ""
    mean = sum(number * count for number, count in zip(f.numbers, f.counts.tolist())) / f.rows
    # else what somebody weighs, in kilograms, pounds or, of the newborn, grams
    is_weight = f.has_decimals and (Decimal("0.5") <= mean <= Decimal("1.5") or mean > _HEAVIEST_IN_POUNDS)
    return word if sure or is_weight else ""


def _is_almost_unique(f: Facts) -> bool:
    if f.has_decimals or f.begin_with_year or f.end_with_year:
        return False
    if f.whole_numbers:
        return f.distinct == f.rows >= 100
    return f.rows >= 20 and f.distinct > _ALMOST_UNIQUE * f.rows


def _may_be(role: Role) -> Callable[[Facts], str]:

    def when(f: Facts) -> str:
        by, meaning = "name", meaning_of(f.name)
        if meaning is None:
            by, meaning = "description", meaning_of(f.labels.description)
        if meaning is None or meaning.default is not role:
            return ""
        return f"the {by} says {meaning.word}, which can be about {meaning.about}"

    return when


def _fills_scale(f: Facts) -> bool:
    if not f.whole_numbers or f.distinct < 5:
        return False
    low, high = int(min(f.whole_numbers)), int(max(f.whole_numbers))
    return (low, high) in _SCALES and f.distinct == high - low + 1 and f.rows >= 10 * f.distinct


def _surely(text: str) -> Topic | None:
    meaning = meaning_of(text)
    return meaning if meaning is not None and meaning.is_sure else None


def _are_diagnoses(f: Facts) -> bool:
    are_codes = np.array([_DIAGNOSIS.fullmatch(value) is not None for value in f.values])
    letters = {value[0] for value, is_code in zip(f.values, are_codes.tolist()) if is_code}
    return len(letters) >= 5 and bool(f.counts[~are_codes].sum() <= _MOST_WITHOUT_DIAGNOSES * f.rows)


def _bands(f: Facts) -> str:
    if f.kind != "numbers" or (not f.whole_numbers and f.distinct <= _FEW_NUMBERS):
        return ""
    numbers = "whole numbers" if f.whole_numbers else "numbers with decimals"
    kind = "ages" if f.are_ages else f"{f.distinct:,} different {numbers}"
    return f"{kind}, in bands that hold enough rows"


def _bands_of_heaps(f: Facts) -> str:
    are_heaped = f.counts[f.counts >= f.rare].sum() >= _SHARE_OF_SHARED_NUMBERS * f.counts.sum()
    return _bands(f) if are_heaped and not (f.whole_numbers and (f.are_ages or not f.widths)) else ""


def _categories(f: Facts) -> str:
    if f.kind == "numbers":
        kind = "different numbers"
    elif f.numbers:
        kind = f"numbers that stand for names, as its {'labels say' if f.is_labelled else 'name says'}"
    else:
        kind = "categories"
    return f"{f.distinct:,} {kind}"


def _uncommon(f: Facts) -> str:
    return f"{_categories(f)}, of which {f.uncommon:,} {'is' if f.uncommon == 1 else 'are'}"


def _groups(f: Facts) -> str:
    if f.groups is None or not (f.groups.intervals or f.groups.dates):
        return ""
    kind, zero = "numbers" if f.groups.intervals else "dates", ", 0 by itself" if f.groups.start else ""
    return f"its {f.distinct} different {kind} are published in groups only{zero}"


def _merged(f: Facts) -> tuple[str]:
    are_many = f.distinct > MOST_CATEGORIES
    return (f"of its {f.distinct:,} values those that fewer than {f.rare} rows have are merged" if are_many else "",)


_FITTED: Mapping[str, Callable[[Facts], object]] = {"ladder": lambda _: "fitted"}
_MERGED: Mapping[str, Callable[[Facts], object]] = {
    "ladder": lambda f: "alike" if f.are_unordered else "fitted",
    "label_form": lambda f: "names" if f.are_names else "",
}
_ignored, _identifier = partial(Rule, Role.IGNORED), partial(Rule, Role.IDENTIFIER)
_sensitive, _open = partial(Rule, Role.SENSITIVE), partial(Rule, Role.QUASI_IDENTIFIER)

# Rules for columns that cannot be published as they are, whatever anybody says.
UNPUBLISHABLE = (
    _ignored(
        lambda f: f.name == COUNT,
        "published tables call their counts so; rename it to publish it",
        condition=f"it is called {COUNT}",
    ),
    _ignored(lambda f: not f.rows, "it has no values that could be counted"),
    _ignored(lambda f: f.distinct == 1, "all its values are the same"),
    _ignored(lambda f: f.missing > 2 * f.rows and f.rows < f.rare, "fewer than {f.rare:,} rows have a value"),
    _ignored(
        lambda f: not all(value.isprintable() for value in f.values),
        "some values hold line breaks or other characters that cannot be seen",
    ),
)

_TOO_FINE = (
    _ignored(
        lambda f: f.rows - int(f.counts.max()) + f.missing < f.rare,
        "all but fewer than {f.rare:,} rows have the same value, and the others are too few to be shown",
    ),
    _ignored(
        lambda f: (
            f.kind == "numbers"
            and f.distinct > 2
            and f.whole_numbers
            and max(f.whole_numbers) - min(f.whole_numbers) > _WIDEST_RANGE
        ),
        "its numbers lie too far apart; round them, to thousands for example",
    ),
    _ignored(
        lambda f: f.end_with_year and f.units is None,
        "dates that cannot be read for sure, or lie too far apart: write them as YYYY-MM-DD, and leave unknown ones empty",
        condition="dates that end with the year, of which the day, month or year is not sure, or that span over 200 years",
    ),
    _ignored(
        lambda f: f.kind == "texts" and f.distinct > MOST_CATEGORIES and not f.are_mostly_named(_NAMED_SHARE),
        "{f.distinct:,} different texts are too many to guess how they go together; write a hierarchy",
    ),
    _ignored(lambda f: f.kind == "texts" and f.are_long(), "some values are long texts, which may say anything"),
)

# Rules for the steps of columns that others may know.
STEPS = (
    *_TOO_FINE,
    _open(
        lambda f: f.kind == "numbers" and f.distinct == 2,
        "it has 2 values, published as they are or not at all",
    ),
    _open(_bands_of_heaps, "{match}; many rows share a value", _FITTED, condition="numbers that many rows share"),
    _open(
        lambda f: (bands := _bands(f)) and bands + (", 0 by itself" if f.start else ""),
        "{match}",
        {"intervals": "widths", "start": "start", **_FITTED},
        condition="other numbers, but for up to 20 with decimals",
    ),
    _open(
        lambda f: f.kind == "dates" and f.says("births"),
        "dates, from months on as fine as their rows allow; the day of birth itself is never published",
        {"dates": lambda f: tuple(unit for unit in f.units or () if unit != "day"), **_FITTED},
        is_coarse=True,
    ),
    _open(
        lambda f: f.kind == "dates",
        "dates, from {f.units[0]}s on as fine as their rows allow",
        {"dates": "units", **_FITTED},
    ),
    _open(
        lambda f: len(f.values[0]) if f.kind == "codes" and f.prefixes and f.are("[0-9]{5}-[0-9]{4}") else 0,
        "all values are codes of {match} characters, a block of houses each, which is never published itself",
        {"prefixes": "prefixes"},
        is_coarse=True,
    ),
    _open(
        lambda f: len(f.values[0]) if f.kind == "codes" else 0,
        "all values are codes of {match} characters",
        {"prefixes": "prefixes", **_FITTED},
    ),
    _open(
        lambda f: _categories(f) if f.distinct <= 2 else "",
        "{match}, published as they are or not at all",
        condition="at most two categories",
    ),
    _open(
        lambda f: "" if f.uncommon else _categories(f),
        "{match}, none of them rare; levels merge them step by step",
        _MERGED,
        condition="categories that are not rare; merged by likeness where nothing says their order",
    ),
    _open(_uncommon, "{match} rare and merged with others", _MERGED, condition="other categories; merged likewise"),
)

# Rules for the steps of columns that nobody should learn, and why they are kept back.
SENSITIVE_STEPS = (
    _ignored(lambda f: f.groups is None, "only some of its values can be read as numbers or dates"),
    _sensitive(
        _groups,
        "{match}",
        {**{key: f"groups.{key}" for key in ("intervals", "dates", "start", "apart")}, **_FITTED},
        condition="more than ten numbers or dates",
    ),
    _ignored(
        lambda f: f.distinct > MOST_CATEGORIES and not f.are_mostly_named(0.5),
        "it has {f.distinct:,} different values: group them in the table first",
    ),
    _ignored(
        lambda f: f.are_long(f.rare if f.distinct > MOST_CATEGORIES else 0),
        "some values are long texts, which may say anything",
    ),
    _sensitive(
        _merged,
        "{match[0]}",
        {"ladder": lambda f: "fitted" if f.distinct > 2 and f.uncommon else ""},
        condition="other texts",
    ),
)

_SCALE = "the numbers fill a scale such as people judge something on"

# Rules for the role of a column by itself.
ROLES = (
    *UNPUBLISHABLE,
    _identifier(_names_people, "its name says {match}, which tells people apart even where several share a value"),
    _identifier(
        lambda f: 2 * f.distinct > f.rows and not f.is_of_something and f.says("identifying"),
        "its name says {match}, and most of its values are different",
    ),
    _identifier(lambda f: sum(map(_is_mail, f.values)) > f.distinct / 2, "its values are addresses of mail"),
    _identifier(
        lambda f: f.distinct >= _FEWEST_NAMES and sum(map(_is_phone, f.values)) > _ALMOST_UNIQUE * f.distinct,
        "its values look like numbers of telephones or of the kind of a social security number",
    ),
    _identifier(
        lambda f: f.distinct == f.rows >= _FEWEST_NAMES and f.are_numbers_of_things and f.says("numbering"),
        "its name says {match}, and all {f.rows:,} values are different",
    ),
    _identifier(
        _numbers_somebody,
        "its name says {match[0]}: it seems to number who the rows are about, {match[1]:,.1f} rows each",
    ),
    _identifier(
        _repeats_evenly,
        "each of its {f.distinct:,} values is in equally many rows, like a key of which each has several",
    ),
    _ignored(
        weighs_rows,
        "its name says {match}: it weighs rows, so readers need it for no table, and rare weights tell people apart",
    ),
    _ignored(
        lambda f: f.has_decimals and f.says("places"),
        "its numbers say exactly where somebody is; round them in the table to publish them",
    ),
    _sensitive(lambda f: _surely(f.name), "its name says {match.word}, which is about {match.about}"),
    _sensitive(
        lambda f: f.values_meaning if f.values_meaning and f.values_meaning.is_sure else None,
        "its values look like {match.about}",
    ),
    _sensitive(
        lambda f: _surely(f.labels.description), "its description says {match.word}, which is about {match.about}"
    ),
    _sensitive(
        lambda f: f.values_meaning, "its values look like {match.about}", question="the values look like {match.about}"
    ),
    _sensitive(
        _are_diagnoses, "its values look like codes of diagnoses (ICD)", {"prefixes": lambda _: (3, 1), **_FITTED}
    ),
    _identifier(
        _is_almost_unique,
        "nearly all of its values are different",
        condition="hardly any value occurs twice, and they are no dates and no numbers with decimals",
    ),
    _sensitive(
        _may_be(Role.SENSITIVE),
        "{match}",
        question="{match}",
        condition="the name or description may tell what nobody should learn",
    ),
    _open(
        _may_be(Role.QUASI_IDENTIFIER), "", question="{match}", condition="the name or description may tell an origin"
    ),
    *_TOO_FINE,
    _open(lambda f: f.is_recognizable, "", condition="the name is one by which people are recognized"),
    _sensitive(_fills_scale, _SCALE, question=_SCALE),
    _open(
        lambda f: (
            len(words_in_order(f.labels.description)) <= _MOST_WORDS_OF_A_NAME and is_recognizable(f.labels.description)
        ),
        "",
        condition="the description is one by which people are recognized",
    ),
    _open(lambda _: True, "", question=UNKNOWN, condition="any other"),
)

_MOST_MISSING_TO_DROP = 0.05


def guess(facts: Facts, role: Role | None = None) -> Guess:
    """The guess on one column by itself. role: what somebody says that it is; then only the steps are guessed."""
    result = _by_rules(facts) if role is None else _with_role(facts, role)
    if result.role.is_used and facts.missing > _MOST_MISSING_TO_DROP * (facts.rows + facts.missing):
        lacking = f"{few(facts.missing)} of {facts.rows + facts.missing:,} rows lack a value"
        why = f"{result.why}; {lacking}, which counts as one of its own, as they would be left out otherwise"
        result = result.counting_missing(why)
    marks = {"marks": facts.marks.texts} if facts.marks.texts else {}
    return replace(result, settings={**result.settings, **marks}, labels=facts.labels, doubt=facts.doubt)


def _with_role(facts: Facts, role: Role) -> Guess:
    why = "you said so"
    if not role.is_used:
        return Guess(role, why)
    for _, unpublishable in _applying(UNPUBLISHABLE, facts):
        return Guess(Role.IGNORED, f"{why}, but {unpublishable.why}")
    if role is Role.SENSITIVE:
        return protected(facts, why)
    _, steps = next(_applying(STEPS, facts))
    return replace(steps, why=f"{why}; {steps.why}")


def _by_rules(facts: Facts) -> Guess:
    rule, result = next(_applying(ROLES, facts))
    if rule.steps or not result.role.is_used:
        return result
    if result.role is Role.SENSITIVE:
        return protected(facts, result.why, result.question)
    _, steps = next(_applying(STEPS, facts))
    return replace(steps, question=result.question, is_unknown=rule is ROLES[-1])


def protected(facts: Facts, why: str, question: str = "") -> Guess:
    """Return the guess on a column that nobody should learn about anybody. question: why that is asked."""
    _, result = next(_applying(SENSITIVE_STEPS, facts))
    if not result.role.is_used:
        question = f"nobody should learn it, but {result.why}"
        return replace(result, why=f"{why}; {question}", question=question)
    return replace(result, why="; ".join(filter(None, (why, result.why))), question=question)

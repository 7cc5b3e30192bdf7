"""Rules for columns beside each other: what the others say of a column, what several say together, and what gives a
sensitive one away. Each rule sees what the rules before it made of the guesses.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from marginals.config import UNKNOWN
from marginals.config.facts import Facts
from marginals.config.guessed_table import GuessedTable
from marginals.config.rules import Guess
from marginals.config.vocabulary import kinds, meaning_of
from marginals.names import column_name
from marginals.tables.attribute import Role
from marginals.tables.relations import Copy, copies, sums
from marginals.tables.words import column_pattern, column_words

MOST_COLUMNS = 80  # that are published: a search of the default time goes through all pairs of as many

_FEWEST_SENSITIVE_WORDS = 3
_TIMES_KNOWN = 2
_SHORTEST_STEM = 3
_FEWEST_CALLED_ALIKE = 5
_FEWEST_CODES, _MOST_CODES = 3, 11
_MOST_COORDINATES_OF_DISTRICTS = 100
_FEWEST_NAMES = 10


class BesideRule(NamedTuple):
    """Row of the table of rules: its condition and result in words, and the guesses that it changes."""

    condition: str
    result: str
    change: Callable[[GuessedTable], Mapping[str, Guess]]


# What the others say of a column of which nothing is known.


def _like_sensitive_ones(guessed: GuessedTable) -> Mapping[str, Guess]:
    evidence = _batteries(guessed) | _spending(guessed) | _numbered_along(guessed)
    return {name: guessed.protected(name, why, why) for name, why in evidence.items()}


def _numbered_along(guessed: GuessedTable) -> dict[str, str]:
    stems = {name: "".join(guessed.facts[name].words_in_order) for name in guessed.guesses}
    secret = reversed(guessed.of_role(Role.SENSITIVE))
    of_stem = {stems[name]: name for name in secret if len(stems[name]) >= _SHORTEST_STEM}
    like = {name: of_stem.get(stems[name]) or of_stem.get(stems[name][:-1], "") for name in _open(guessed)}
    return {
        name: f"it is called like {other}, which is sensitive"
        for name, other in like.items()
        if other and any(c.isdigit() for c in name + other)
    }


def _batteries(guessed: GuessedTable) -> dict[str, str]:
    families: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in _open(guessed):
        facts, stem = guessed.facts[name], "".join(guessed.facts[name].words_in_order)[:_SHORTEST_STEM]
        if len(stem) == _SHORTEST_STEM and _FEWEST_CODES <= facts.distinct <= _MOST_CODES:
            families.setdefault((stem, facts.values), []).append(name)
    why = "it has the same answers as other columns whose names begin alike, as questions about opinions or health have"
    return {name: why for names in families.values() if len(names) >= _FEWEST_CALLED_ALIKE for name in names}


def _spending(guessed: GuessedTable) -> dict[str, str]:
    """Shares or amounts that a household spends on something, by the names of these goods, beside what it has."""
    about = {name: meaning_of(name) for name in guessed.of_role(Role.SENSITIVE) if not guessed.guesses[name].question}
    money = meaning_of("income")
    income = next((name for name, meaning in about.items() if meaning and money and meaning.about == money.about), "")
    goods = "|".join(sorted(column_words("goods")))
    pattern = re.compile(f"({'|'.join(sorted(column_words('spent_on')))})({goods})")
    spent = (name for name in _open(guessed) if pattern.fullmatch("".join(guessed.facts[name].words_in_order)))
    return dict.fromkeys(spent, f"beside {income} its name may say what is spent on something") if income else {}


def _like_most_others(guessed: GuessedTable) -> Mapping[str, Guess]:
    sure = [name for name in guessed.of_role(Role.SENSITIVE) if not guessed.guesses[name].question]
    public = [name for name in guessed.of_role(Role.QUASI_IDENTIFIER) if not guessed.guesses[name].question]
    meanings = [meaning_of(name) or meaning_of(guessed.guesses[name].labels.description) for name in sure]
    # Four charges, of day, evening, night and abroad, say one thing of a table.
    different = len({name if meaning is None else meaning.word for name, meaning in zip(sure, meanings)})
    abouts = [meaning.about for meaning in meanings if meaning is not None]
    about = max(abouts, key=abouts.count, default="")
    pervading = {kind.about for kind in kinds() if kind.pervades}
    if different < _FEWEST_SENSITIVE_WORDS or different < _TIMES_KNOWN * len(public) or about not in pervading:
        return {}
    why = f"{UNKNOWN}; most other columns are sensitive by their names, as those about {about}"
    return {name: replace(guessed.protected(name, why, why), is_unknown=True) for name in _open(guessed)}


def _open(guessed: GuessedTable) -> list[str]:
    return [name for name, guess in guessed.guesses.items() if guess.is_open]


# What several columns say together. What is left of them when one is left out can be as exact as all: one coordinate is a
# line across a town.


def _together(
    guessed: GuessedTable, names: Sequence[str], what: str, role: Role, others: Sequence[str] = ()
) -> dict[str, Guess]:
    result = {}
    for name in names:
        if name not in guessed.chosen.roles and guessed.guesses[name].role.is_used:
            rest = " and ".join(column_name(other) for other in (*names, *others) if other != name)
            decided = guessed.guesses[name].decided(f"together with {rest} it says {what}", role=role)
            result[name] = replace(decided, is_coarse=False)
    return result


def _coordinates(guessed: GuessedTable) -> Mapping[str, Guess]:
    is_named = bool(guessed.columns_that(lambda f: f.says("places")))

    def is_coordinate(f: Facts) -> bool:
        is_axis = f.says("places", "axes") or (f.says("axis_letters") and f.says("beside_axes"))
        return f.numbers is not None and bool(is_axis or (is_named and "long" in f.words))

    places = guessed.columns_that(is_coordinate)
    are_exact = any(guessed.facts[name].distinct > _MOST_COORDINATES_OF_DISTRICTS for name in places)
    is_place = len(places) >= 2 and are_exact
    return _together(guessed, places, "exactly where somebody is", Role.IGNORED) if is_place else {}


def _days_of_birth(guessed: GuessedTable) -> Mapping[str, Guess]:
    born = column_pattern("born")
    used = [facts for name, facts in guessed.filled.items() if guessed.guesses[name].role.is_used]
    births = [f for f in used if any(word in column_words("births") or born.search(word) for word in f.words)]
    parts = {
        part: [f.name for f in births if {*f.words, *(born.sub("", word) for word in f.words)} & column_words(part)]
        for part in ("days", "months", "years")
    }
    years = [*parts["years"], *(f.name for f in used if f.says("ages"))]
    if not (parts["days"] and parts["months"] and years):
        return {}
    others = (parts["months"][0], years[0])
    return _together(guessed, parts["days"], "on which day somebody was born", Role.IGNORED, others)


def _names_of_people(guessed: GuessedTable) -> Mapping[str, Guess]:

    def parts(key: str) -> list[str]:
        names = guessed.columns_that(lambda f: f.words and f.words <= column_words(key) and f.numbers is None)
        return [name for name in names if guessed.facts[name].distinct >= _FEWEST_NAMES]

    first, last = parts("first_names"), parts("last_names")
    return _together(guessed, [*first, *last], "what somebody is called", Role.IDENTIFIER) if first and last else {}


def _addresses(guessed: GuessedTable) -> Mapping[str, Guess]:
    street = column_pattern("streets")
    houses = guessed.columns_that(lambda f: f.says("house_numbers") or (f.says("houses") and f.says("numbers")))
    names = guessed.columns_that(lambda f: f.numbers is None and any(map(street.search, f.words)))
    streets = [name for name in names if name not in houses]
    addresses = [*streets, *houses]
    return _together(guessed, addresses, "where somebody lives", Role.IDENTIFIER) if houses and streets else {}


# What gives a sensitive column away.


def _parts_of_sums(guessed: GuessedTable) -> Mapping[str, Guess]:
    result: dict[str, Guess] = {}
    values = {name: guessed.table.values_of(name) for name in guessed.used}
    for total, parts in sums(values).items() if guessed.of_role(Role.SENSITIVE) else ():
        members = (total, *parts)
        roles = {name: (result.get(name) or guessed.guesses[name]).role for name in members}
        secret = next((name for name in members if roles[name] is Role.SENSITIVE), "")
        for name in members if secret else ():
            is_public = name in guessed.chosen.roles or guessed.facts[name].is_recognizable
            if roles[name] is Role.QUASI_IDENTIFIER and not is_public:
                others = " and ".join(other for other in members if other != name)
                result[name] = guessed.protected(name, f"it adds up with {others}, of which {secret} is sensitive", "")
    return result


def _copies(guessed: GuessedTable) -> Mapping[str, Guess]:
    """Keep what everybody may know, as an age: what it tells is no secret. Keep both columns if somebody chose both."""
    secret, chosen = guessed.of_role(Role.SENSITIVE), guessed.chosen
    pairs = []
    for pair in copies({name: guessed.table.values_of(name) for name in guessed.used}, secret) if secret else ():
        is_open = guessed.guesses[pair.column].role is Role.QUASI_IDENTIFIER
        stays = pair.column in chosen.roles or (is_open and guessed.facts[pair.column].is_recognizable)
        if not stays:
            pairs.append(pair)
        elif pair.of not in chosen.roles:
            pairs.append(Copy(pair.of, pair.column, pair.follows, pair.tells))

    def rank(name: str) -> tuple[bool, bool, bool]:
        return name not in chosen.roles, name not in chosen.needed, bool(guessed.guesses[name].question)

    # Left out, so that no column is left that gives a sensitive one away, each with one that it gives away.
    place = {name: i for i, name in enumerate(sorted(guessed.used, key=rank))}
    copy_of: dict[str, Copy] = {}
    for pair in sorted(pairs, key=lambda pair: (place[pair.of], place[pair.column])):
        if pair.of not in copy_of and pair.column not in copy_of:
            copy_of[pair.column] = pair
    result = {}
    for name, pair in copy_of.items():
        guess = guessed.guesses[name]
        if guessed.guesses[pair.of].role is Role.QUASI_IDENTIFIER:
            why = f"{pair.why}, which others may know"
        else:
            # Tables of one show the other: more than a promise about it allows, whichever is the finer.
            why = f"{pair.why}; {pair.of} is published, so no promise about {name} would hold"
        result[name] = guess.decided(f"{guess.why}; {why}", why, Role.IGNORED)
    return result


def _within_limit(guessed: GuessedTable) -> Mapping[str, Guess]:
    """Wanted columns stay, then sensitive ones, then recognizable ones, then those that come first in the table."""
    used, preferred = guessed.used, (*guessed.chosen.needed, *guessed.chosen.roles)

    def rank(name: str) -> tuple[bool, bool, bool]:
        is_sensitive = guessed.guesses[name].role is Role.SENSITIVE
        return name not in preferred, not is_sensitive, not guessed.facts[name].is_recognizable

    what = f"left out, as a search of {MOST_COLUMNS} columns takes its time already, and others come first in the table"
    left = sorted(used, key=rank)[MOST_COLUMNS:]
    return {name: used[name].decided(f"{used[name].why}; {what}", role=Role.IGNORED) for name in left}


RULES = (
    BesideRule(
        "Nothing is known of it, and it is called like a sensitive column but for figures or a last letter, or five "
        "columns whose names begin alike have the same few answers, or it is called like goods beside an income",
        "sensitive, and asked",
        _like_sensitive_ones,
    ),
    BesideRule(
        "Nothing is known of it, and most columns whose names say something are about health, crime or the like",
        "sensitive, and asked",
        _like_most_others,
    ),
    BesideRule("Coordinates that say together exactly where somebody is", "ignored", _coordinates),
    BesideRule("The day of a birth, beside its month and its year or an age", "ignored", _days_of_birth),
    BesideRule("A first name beside a last name", "identifier", _names_of_people),
    BesideRule("A street beside the number of a house", "identifier", _addresses),
    BesideRule("It adds up with a sensitive column", "sensitive", _parts_of_sums),
    BesideRule(
        "It says the same as a sensitive column, tells it or follows from it",
        "ignored, and asked",
        _copies,
    ),
    BesideRule(f"More than {MOST_COLUMNS} columns are published", "ignored", _within_limit),
)


def by_the_others(guessed: GuessedTable) -> GuessedTable:
    """The guesses after all rules."""
    for rule in RULES:
        guessed = guessed.changed(rule.change(guessed))
    return guessed


def with_structure(guessed: GuessedTable, by: Mapping[str, str]) -> GuessedTable:
    """Change columns that lack a value exactly where another one (by) says so, which they would give away."""
    for name, other in by.items():
        guess, telling = guessed.guesses[name], guessed.guesses[other]
        lacks = f"it lacks a value exactly where {other} says so"
        changed: dict[str, Guess] = {}
        if telling.role is Role.SENSITIVE and telling.is_unknown and other not in guessed.chosen.roles:
            says = f"{UNKNOWN}; it says where {name} lacks a value, which would give it away"
            changed[other] = telling = telling.decided(says, says, Role.QUASI_IDENTIFIER)
        if telling.role is not Role.SENSITIVE:
            says = f"{guess.why}; {lacks}, so that it is missing tells nothing else, and both belong in one table"
            changed[name] = guess.counting_missing(says)
        elif name not in guessed.chosen.roles:
            gives_away = f"{lacks}, so it would give that away beside others, and has a table of its own only"
            apart = guessed.protected(name, f"{guess.why}; {gives_away}", "")
            changed[name] = replace(apart.counting_missing(apart.why), is_alone=apart.role.is_used)
        guessed = guessed.changed(changed)
    return guessed

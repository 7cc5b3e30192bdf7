"""The guesses on all columns of a table together: what the others say of a column, and what gives a sensitive one away."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from marginals.config import UNKNOWN
from marginals.config.column_guess import Guess, protected, set_apart, weighs_rows
from marginals.config.copies import Copy, Values, copies, determines, kept_of, sums
from marginals.config.vocabulary import is_recognizable, meaning_of, pervading
from marginals.errors import InputError
from marginals.messages import did_you_mean
from marginals.tables.attribute import Column, Role, words_in_order
from marginals.tables.people import STRATA_AND_UNITS

_FEWEST_SURE = 3
"""Words of columns that are sensitive for sure, at least, by which those are judged whose names say nothing."""

_MANY_MORE = 2
"""Times as many as those by which people are recognized, at least."""

_SHORTEST_STEM = 3
"""Letters of a name, at least, by which another one is called like it."""

_FEWEST_ANSWERS, _FEWEST_QUESTIONS = 4, 3
"""Different answers, and columns that have them, from which on these are the questions of a survey."""

_SHORTEST_ANSWER = 3
"""Letters of an answer in words, at least."""

_ALIKE = 0.75
"""Share of the answers of two columns that both have, at least, where they are the same."""

_DESIGN = re.compile(rf"(v|var|sdmv)?({STRATA_AND_UNITS.replace(' ', '|')})(id)?|sdmvstra")
"""A word for strata or units of a sample: `psuid`, `vstrat`."""

_OF_A_DESIGN = frozenset(
    ["id", "code", "no", "nr", "num", "number", "var", "variance", "sdmv", "sample", "sampling", "design", "survey"]
)
"""Words that may stand beside it; with any other, as in `risk_stratum`, a column can be about people."""

_LOOKED_AT = 4_000
"""Rows by which it is told which columns give which away."""


@dataclass(frozen=True)
class Chosen:
    """What somebody says of a table before anything is guessed: the roles of some columns, and whose the rows are.

    wanted: columns that an analysis needs. person: the column that says whose row it is. Raises InputError for a column that
    is named twice.
    """

    sensitive: tuple[str, ...] = ()
    quasi_identifiers: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    person: str | None = None
    wanted: tuple[str, ...] = ()
    roles: Mapping[str, Role] = field(init=False, default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        said = [
            *((name, Role.SENSITIVE) for name in self.sensitive),
            *((name, Role.QUASI_IDENTIFIER) for name in self.quasi_identifiers),
            *((name, Role.IGNORED) for name in self.ignored),
            *((name, Role.IDENTIFIER) for name in (self.person,) if name is not None),
        ]
        for name, role in said:
            if dict(said)[name] is not role:
                raise InputError(f"{name!r} is given two roles; name it once")
        object.__setattr__(self, "roles", dict(said))

    def check(self, columns: Sequence[str], table: str) -> None:
        """Raise InputError for a column that the table lacks. table: what messages call it."""
        for name, named in [*((name, "wanted") for name in self.wanted), *((name, "named") for name in self.roles)]:
            if name not in columns:
                similar = did_you_mean(name, list(columns)) or f"it has {len(columns)} others"
                raise InputError(f"{table} has no column {name!r}, which is {named}; {similar}")


NOTHING_CHOSEN = Chosen()


def by_the_others(guesses: Mapping[str, Guess], columns: Mapping[str, Column], rare: int) -> dict[str, Guess]:
    """The guesses on columns whose names say nothing, with what the other columns say of them.

    A column that is numbered along with a sensitive one is sensitive too, and so are questions that have the same answers;
    where most columns whose names do say something are about health, crime or the like, so are all others. Each is asked.
    columns: by name, without what is missing. rare: values that fewer rows have are named nowhere.
    """
    evidence = _numbered_along(guesses) | _same_answers(guesses, columns)
    result = {
        name: _asked_as_sensitive(guess, evidence.get(name, ""), columns[name], rare) for name, guess in guesses.items()
    }
    question = _most_others(result)
    unknown = {name: question for name, guess in result.items() if question and guess.question == UNKNOWN}
    return {
        name: _asked_as_sensitive(guess, unknown.get(name, ""), columns[name], rare) for name, guess in result.items()
    }


def without_sampling_design(
    guesses: Mapping[str, Guess], columns: Mapping[str, Column], chosen: Chosen = NOTHING_CHOSEN
) -> dict[str, Guess]:
    """The guesses without columns by which a sample was drawn, where the weights that they belong to are left out.

    columns: by name, without what is missing. Columns that somebody has given a role or wants stay.
    """
    weights = [name for name, guess in guesses.items() if guess.role is Role.IGNORED and weighs_rows(columns[name])]
    if not weights:
        return dict(guesses)
    why = (
        f"its name says that it is part of the design of a sample, which readers need for variances, together with "
        f"{weights[0]}; alone it says from which part of the population somebody was drawn"
    )
    design = {
        name: replace(guess, role=Role.IGNORED, why=why, question="")
        for name, guess in guesses.items()
        if guess.role is Role.QUASI_IDENTIFIER
        and name not in (*chosen.roles, *chosen.wanted)
        and _says_sampling_design(name)
    }
    return {**guesses, **design}


def _says_sampling_design(name: str) -> bool:
    """Whether a name is that of strata or of sampling units, and says nothing else.

    >>> [_says_sampling_design(name) for name in ("psuid", "VSTRAT", "sample_strata", "risk_stratum", "strategy")]
    [True, True, True, False, False]
    """
    words = words_in_order(name)
    design = [word for word in words if _DESIGN.fullmatch(word)]
    return bool(design) and all(word in design or word in _OF_A_DESIGN for word in words)


def _asked_as_sensitive(guess: Guess, why: str, column: Column, rare: int) -> Guess:
    """The guess on a column that is sensitive for some reason, which is asked; the same guess where there is none."""
    if not why:
        return guess
    return replace(protected(column, why, why, rare, guess.said), missing=guess.missing, said=guess.said)


def _numbered_along(guesses: Mapping[str, Guess]) -> dict[str, str]:
    """Why columns are sensitive that are called as a sensitive one, but for figures or a last letter: `readk`, `read1`."""
    sensitive = [name for name, guess in guesses.items() if guess.role is Role.SENSITIVE]
    of_stem = {_stem(name): name for name in reversed(sensitive) if len(_stem(name)) >= _SHORTEST_STEM}
    result: dict[str, str] = {}
    for name, guess in guesses.items():
        if guess.question == UNKNOWN:
            stem = _stem(name)
            like = of_stem.get(stem) or of_stem.get(stem[:-1])
            if like is not None and any(c.isdigit() for c in name + like):
                result[name] = f"it is called like {like}, which is sensitive"
    return result


def _stem(name: str) -> str:
    return "".join(words_in_order(name))


def _same_answers(guesses: Mapping[str, Guess], columns: Mapping[str, Column]) -> dict[str, str]:
    """Why columns are sensitive that have the same answers in words, as the questions of a survey have."""
    sets: dict[frozenset[str], list[str]] = {}
    for name, guess in guesses.items():
        answers = frozenset(guess.said.values.get(text, text).strip().lower() for text in columns[name].values)
        in_words = 2 * sum(len(re.findall(r"[^\W\d_]", answer)) >= _SHORTEST_ANSWER for answer in answers) > len(
            answers
        )
        if len(answers) >= _FEWEST_ANSWERS and in_words and guess.role.is_used:
            near = (other for other in sets if _ALIKE * len(answers | other) <= len(answers & other))
            sets.setdefault(next(near, answers), []).append(name)
    shared_answers: dict[str, str] = {}
    for names in sets.values():
        unknown = [name for name in names if guesses[name].question == UNKNOWN]
        if len(names) >= _FEWEST_QUESTIONS and not any(map(_is_known, names)):
            shared_answers |= dict.fromkeys(
                unknown, "it has the same answers as other columns, as questions about opinions or health have"
            )
    return shared_answers


def _is_known(name: str) -> bool:
    """Whether a name, or what is left of it without a last letter, is one by which people are recognized."""
    return is_recognizable(name) or is_recognizable(_stem(name)[:-1])


def _most_others(guesses: Mapping[str, Guess]) -> str:
    """Why columns of which nothing is known are sensitive: of those whose names say something most are; else nothing."""
    sure = [name for name, guess in guesses.items() if guess.role is Role.SENSITIVE and not guess.question]
    known = [name for name, guess in guesses.items() if guess.role is Role.QUASI_IDENTIFIER and not guess.question]
    meanings = [meaning_of(name) or meaning_of(guesses[name].said.description) for name in sure]
    # Four charges, of day, evening, night and abroad, say one thing of a table.
    different = len({name if meaning is None else meaning.word for name, meaning in zip(sure, meanings)})
    if different < _FEWEST_SURE or different < _MANY_MORE * len(known):
        return ""
    abouts = [meaning.about for meaning in meanings if meaning is not None]
    about = max(abouts, key=abouts.count, default="")
    if about not in pervading():
        return ""
    return f"{UNKNOWN}; most other columns are sensitive by their names, as those about {about}"


def by_counting(
    frame: pd.DataFrame,
    guesses: Mapping[str, Guess],
    columns: Mapping[str, Column],
    missing: Collection[str],
    rare: int,
    chosen: Chosen = NOTHING_CHOSEN,
) -> dict[str, Guess]:
    """The guesses with what some rows say of columns together, so that none gives a sensitive one away.

    A copy, or what determines a sensitive column or follows from it, has a table of its own only, and is asked about; what
    tells what others may know is left out. What adds up with a sensitive one is sensitive too. A column that follows from
    what everybody may know, as a square from an age, is not asked about.
    columns: by name, without what is missing. rare: values that fewer rows have are named nowhere.
    """
    used = [name for name, guess in guesses.items() if guess.role.is_used]
    some = frame.iloc[:: max(1, len(frame) // _LOOKED_AT)]
    values = {name: Values.of(some[name], missing, columns[name].decimal) for name in used}
    result = _without_copies(values, guesses, columns, rare, chosen) if _any_sensitive(guesses) else dict(guesses)
    open_ones = [name for name, guess in result.items() if guess.question == UNKNOWN and guess.role.is_used]
    known = [name for name in used if name not in open_ones and _may_be_known(name, result[name])]
    fine, coarse = {name: values[name].fine for name in known}, {name: values[name].coarse for name in open_ones}
    for name in open_ones:
        told = next((other for other in known if determines(fine[other], coarse[name])), "")
        if told:
            why = f"{result[name].why}; in nearly all rows {told} tells it"
            result[name] = replace(result[name], why=why, question="")
    return result


def _any_sensitive(guesses: Mapping[str, Guess]) -> bool:
    return any(guess.role is Role.SENSITIVE for guess in guesses.values())


def _may_be_known(name: str, guess: Guess) -> bool:
    return guess.role is Role.QUASI_IDENTIFIER and not guess.question and is_recognizable(name)


def _without_copies(
    values: Mapping[str, Values],
    guesses: Mapping[str, Guess],
    columns: Mapping[str, Column],
    rare: int,
    chosen: Chosen,
) -> dict[str, Guess]:
    """The guesses, so that no column gives a sensitive one away that is published in another way than that."""
    result = dict(guesses)
    for relation in sums(values):
        members = (relation.total, *relation.parts)
        secret = [name for name in members if result[name].role is Role.SENSITIVE]
        for name in members if secret else ():
            guess = result[name]
            if guess.role is Role.QUASI_IDENTIFIER and name not in chosen.roles and not is_recognizable(name):
                others = " and ".join(other for other in members if other != name)
                why = f"it adds up with {others}, of which {secret[0]} is sensitive"
                result[name] = replace(
                    protected(columns[name], why, "", rare, guess.said), missing=guess.missing, said=guess.said
                )
    sensitive = [name for name in values if result[name].role is Role.SENSITIVE]
    pairs = [pair for relation in copies(values, sensitive) for pair in _to_leave_out(relation, result, chosen)]
    first = {
        name: (name not in chosen.roles, name not in chosen.wanted, bool(result[name].question)) for name in values
    }
    for name, pair in kept_of(pairs, sorted(values, key=lambda name: first[name])).items():
        guess = result[name]
        if result[pair.of].role is Role.QUASI_IDENTIFIER:
            why = f"{pair.why}, which others may know"
            result[name] = replace(guess, role=Role.IGNORED, why=f"{guess.why}; {why}", question=why)
        else:
            why = f"{pair.why}, which nobody should learn"
            result[name] = set_apart(guess, columns[name], f"{why}, so it has a table of its own only", why, rare)
    return result


def _to_leave_out(pair: Copy, guesses: Mapping[str, Guess], chosen: Chosen) -> list[Copy]:
    """Which of the two is to be left out; none where somebody chose both.

    What everybody may know, as an age, stays: then what it tells is no secret that could be kept.
    """
    other = guesses[pair.column]
    stays = pair.column in chosen.roles or (other.role is Role.QUASI_IDENTIFIER and is_recognizable(pair.column))
    if not stays:
        return [pair]
    return [] if pair.of in chosen.roles else [Copy(pair.of, pair.column, pair.follows, pair.tells)]

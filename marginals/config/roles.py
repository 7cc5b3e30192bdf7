"""The guesses on all columns of a table together: what the others say of a column, and what gives a sensitive one away."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from marginals.config.column_guess import UNKNOWN, Guess, protected
from marginals.config.copies import Copy, Values, copies, kept_of, sums
from marginals.config.vocabulary import is_recognizable, meaning_of
from marginals.errors import InputError
from marginals.messages import did_you_mean
from marginals.tables.attribute import Column, Role
from marginals.tables.distinct_rows import factorized
from marginals.tables.values import number_in

_FEWEST_SURE = 3
"""Columns that are sensitive for sure, at least, by which those are judged whose names say nothing."""

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
    """The guesses, where of most columns whose names say something nobody should learn it: then neither of the unknown ones.

    columns: by name, without what is missing. rare: values that fewer rows have are named nowhere.
    """
    sure = [name for name, own in guesses.items() if own.role is Role.SENSITIVE and not own.question]
    known = [name for name, own in guesses.items() if own.role is Role.QUASI_IDENTIFIER and not own.question]
    if len(sure) < _FEWEST_SURE or len(sure) < len(known):
        return dict(guesses)
    found = (meaning_of(name) or meaning_of(guesses[name].said.description) for name in sure)
    abouts = [meaning.about for meaning in found if meaning is not None]
    about = max(abouts, key=abouts.count, default="")
    question = f"{UNKNOWN}; of the columns whose names do, most are sensitive" + (
        f", as those about {about}" if about else ""
    )
    result = dict(guesses)
    for name, own in guesses.items():
        if own.question == UNKNOWN:
            result[name] = replace(
                protected(columns[name], question, question, rare, own.said), missing=own.missing, said=own.said
            )
    return result


def without_copies(
    frame: pd.DataFrame,
    guesses: Mapping[str, Guess],
    columns: Mapping[str, Column],
    missing: Collection[str],
    rare: int,
    chosen: Chosen = NOTHING_CHOSEN,
) -> dict[str, Guess]:
    """The guesses, so that no column gives a sensitive one away that is published in another way than that.

    A copy, or what determines a sensitive column or follows from it, is left out; what adds up with one is sensitive too.
    columns: by name, without what is missing. rare: values that fewer rows have are named nowhere.
    """
    used = [name for name, own in guesses.items() if own.role.is_used]
    if not any(guesses[name].role is Role.SENSITIVE for name in used):
        return dict(guesses)
    some = frame.iloc[:: max(1, len(frame) // _LOOKED_AT)]
    values = {name: _values(some[name], missing, columns[name].decimal) for name in used}
    result = dict(guesses)
    for found in sums(values):
        members = (found.total, *found.parts)
        secret = [name for name in members if result[name].role is Role.SENSITIVE]
        for name in members if secret else ():
            own = result[name]
            if own.role is Role.QUASI_IDENTIFIER and name not in chosen.roles and not is_recognizable(name):
                others = " and ".join(other for other in members if other != name)
                why = f"it adds up with {others}, of which {secret[0]} is sensitive"
                result[name] = replace(
                    protected(columns[name], why, "", rare, own.said), missing=own.missing, said=own.said
                )
    sensitive = [name for name in used if result[name].role is Role.SENSITIVE]
    pairs = [pair for found in copies(values, sensitive) for pair in _to_leave_out(found, result, chosen)]
    first = {name: (name not in chosen.roles, name not in chosen.wanted, bool(result[name].question)) for name in used}
    for name, pair in kept_of(pairs, sorted(used, key=lambda name: first[name])).items():
        result[name] = replace(result[name], role=Role.IGNORED, why=f"{result[name].why}; {pair.why}", question="")
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


def _values(texts: pd.Series, missing: Collection[str], decimal: str) -> Values:
    codes, values = factorized(texts, missing)
    numbers = [number_in(text, decimal) for text in values]
    if any(number is None for number in numbers):
        return Values(codes)
    own = np.array([*(float(number) for number in numbers if number is not None), np.nan])
    return Values(codes, own[codes])

"""What a table was collected for: outcomes and treatments, by the names of its columns, and what nobody should learn."""

from collections.abc import Sequence
from itertools import product

from marginals.config.guessed_table import GuessedTable
from marginals.config.questions import Question
from marginals.tables.attribute import Role
from marginals.tables.words import ranked_words

MOST_OUTCOMES = 2
"""Columns, at most, that are taken for outcomes until somebody names them: each is wanted with all others."""

_FEWEST = 3
"""Columns from which on a search chooses between pairs."""

_ASK = "Say what is studied or compared, such as an outcome or a treatment: marginals init --outcome NAME,NAME"


def likely_outcomes(guessed: GuessedTable) -> tuple[str, ...]:
    """Return the columns that others are probably compared by: those named so, then what is sensitive for sure.

    Columns with a table of their own only are none of them.
    """
    ranks = ranked_words("outcomes")
    used = {name: guess for name, guess in guessed.used.items() if not guess.is_alone}
    named = {name: {*guessed.facts[name].words_in_order} & ranks.keys() for name in used}
    likely = [name for name, guess in used.items() if named[name] or guess.role is Role.SENSITIVE]

    def rank(name: str) -> tuple[int, bool]:
        return min(map(ranks.__getitem__, named[name]), default=len(ranks)), bool(used[name].question)

    return tuple(sorted(likely, key=rank)[:MOST_OUTCOMES])


def about_outcomes(guessed: GuessedTable, outcomes: Sequence[str]) -> list[Question]:
    """Return the question what the table is for; none where somebody said so, or of a table of few columns."""
    if guessed.chosen.needed or len(guessed.used) < _FEWEST:
        return []
    if not outcomes:
        return [Question((), f"What is the table for? No column looks like an outcome. {_ASK}", None)]
    until = "Until you say otherwise, each pair with one of them counts as much in the search as the whole table"
    return [Question(tuple(outcomes), f"is that what the table is for? {until}. {_ASK}", None)]


def wanted_pairs(guessed: GuessedTable, outcomes: Sequence[str]) -> list[tuple[str, str]]:
    """Return each outcome by each other column that can stand in one table with it, each pair once."""
    beside = [name for name, guess in guessed.used.items() if not guess.is_alone]
    pairs = dict[frozenset[str], tuple[str, str]]()
    for outcome, name in product(outcomes, beside):
        if outcome in beside and name != outcome:
            pairs.setdefault(frozenset((outcome, name)), (outcome, name))
    return list(pairs.values())

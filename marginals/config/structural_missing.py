"""Columns that lack a value exactly where another column says so: the year of death of those who are alive."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from marginals.config import UNKNOWN
from marginals.config.column_guess import Guess, set_apart
from marginals.tables.attribute import Column, Role
from models.arrays import BoolArray, IndexArray

MOST_VALUES = 12
"""Values of a column that says where another one lacks a value."""


@dataclass(frozen=True)
class StructurallyMissing:
    """That a column lacks a value exactly where another one has some of its values."""

    column: str
    by: str

    @property
    def why(self) -> str:
        """In words."""
        return f"it lacks a value exactly where {self.by} says so"


def structurally_missing(
    lacking: Mapping[str, BoolArray], codes: Mapping[str, IndexArray], least: int
) -> list[StructurallyMissing]:
    """Which columns lack a value exactly where another says so, each with the first such one of those with fewest values.

    lacking: which rows lack a value, of columns that some do. codes: the values of each row, -1 for none, of columns of few
    values. least: rows that lack one, and that have one, at least.

    >>> dead, year = np.array([0, 1, 1, 0, 1]), np.array([True, False, False, True, False])
    >>> structurally_missing({"year": year}, {"dead": dead}, 2)
    [StructurallyMissing(column='year', by='dead')]
    """
    missing_columns = []
    few = [(name, code) for name, code in codes.items() if 2 <= len(np.unique(code)) <= MOST_VALUES]
    few.sort(key=lambda column: len(np.unique(column[1])))
    for name, gone in lacking.items():
        number = int(gone.sum())
        if not least <= number <= len(gone) - least:
            continue
        by = next((other for other, values in few if other != name and _says(values, gone)), None)
        if by is not None:
            missing_columns.append(StructurallyMissing(name, by))
    return missing_columns


def _says(codes: IndexArray, gone: BoolArray) -> bool:
    """Whether of the rows with each value all, or none, are among those that are gone.

    A value must say so: that both columns lack one in the same rows, as questions that the same people skip, says nothing.
    """
    rows, without = np.bincount(codes + 1), np.bincount(codes[gone] + 1, minlength=int(codes.max()) + 2)
    return bool(((without == 0) | (without == rows)).all() and without[1:].any())


def with_structure(
    guesses: Mapping[str, Guess],
    dependences: Collection[StructurallyMissing],
    columns: Mapping[str, Column],
    rare: int,
    chosen: Collection[str] = (),
) -> dict[str, Guess]:
    """The guesses, where that a value is missing says no more than another column does.

    Where that is sensitive, the column would give it away in every class and has a table of its own only, unless it is among
    those that somebody chose: that a value is missing is kept uncertain by nothing. One that is sensitive only since most
    others are is not, so that nothing is claimed of it; that is asked. Elsewhere missing counts as a value. columns: by
    name, without what is missing. rare: as `guess` takes it.
    """
    result = dict(guesses)
    for dependence in dependences:
        guess, by = result[dependence.column], result[dependence.by]
        if by.role is Role.SENSITIVE and by.question.startswith(UNKNOWN) and dependence.by not in chosen:
            says = f"it says where {dependence.column} lacks a value, which would give it away"
            by = result[dependence.by] = replace(
                by, role=Role.QUASI_IDENTIFIER, why=f"{UNKNOWN}; {says}", question=f"{UNKNOWN}; {says}"
            )
        if by.role is not Role.SENSITIVE:
            says = (
                f"{guess.why}; {dependence.why}, so that it is missing tells nothing else, and both belong in one table"
            )
            result[dependence.column] = replace(guess, why=says, missing="as a value")
        elif dependence.column not in chosen:
            gives_away = f"{dependence.why}, so it would give that away beside others, and has a table of its own only"
            apart = set_apart(guess, columns[dependence.column], gives_away, "", rare)
            result[dependence.column] = replace(apart, missing="as a value")
    return result


def together(guesses: Mapping[str, Guess], dependences: Collection[StructurallyMissing]) -> list[tuple[str, str]]:
    """The pairs of columns that belong in one table, since one lacks a value where the other says so; none twice."""
    pairs = {
        frozenset((dependence.by, dependence.column)): (dependence.by, dependence.column)
        for dependence in dependences
        if guesses[dependence.column].role.is_used and guesses[dependence.by].role is Role.QUASI_IDENTIFIER
    }
    return list(pairs.values())

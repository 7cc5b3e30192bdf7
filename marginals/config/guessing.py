"""The guesses on all columns of a table together, and the rows that publishing will count."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

from checks.diversity.registry import PRESETS
from marginals.config.beside import by_the_others, with_structure
from marginals.config.guessed_table import Choices, DescribedTable, GuessedTable, keys_among, shared_keys
from marginals.config.person_keys import owners
from marginals.config.questions import Inquiry
from marginals.config.rules import Guess, guess
from marginals.names import column_name
from marginals.publishing.dependent import dependence
from marginals.publishing.harmful import bounded_values, can_be_shown
from marginals.publishing.policy import PROPOSED, Policy
from marginals.tables.attribute import Attribute, Role
from marginals.tables.distinct_rows import factorized
from marginals.tables.people import worth_counting
from marginals.tables.relations import MOST_REASONS, structurally_missing
from marginals.tables.source import read_table
from marginals.tables.table import Table
from models.arrays import CodeArray, smallest_code_dtype
from models.frozen import frozen
from models.tables.contingency_table import bins, pack

K = 10  # people who share a cell, where the table has rows enough
LEAST_CELL = 3
ONE_ROW = "random"  # row of a person that counts: with the first ones all would be as it began
_MOST_ROWS_DROPPED = 0.05
_PROPOSED_ODDS = PRESETS[PROPOSED]
_FEWEST_EXPECTED_OF_PAIRS = 20
_MOST_VALUES_OF_PAIRS = 100


def guessed_table(table: DescribedTable, chosen: Choices) -> GuessedTable:
    """Guess on each column by itself, then beside the others, then on the rows that publishing will count."""
    guesses = {name: guess(facts, chosen.roles.get(name)) for name, facts in table.columns.items()}
    guesses |= {column: Guess(Role.IDENTIFIER, f"it {key.why}") for key in table.keys for column in key.columns}
    # The values of an identifier tell it where its name does not.
    keys, shared = table.keys, dict(table.shared)
    if not keys and not table.questions:
        keys = keys_among(table.frame, guesses, table.missing)
        shared |= shared_keys(table.frame, keys, list(table.columns.values()))
    several = "it numbers what several people share, such as a household or a physician: most of its values have rows"
    differing = {name: f"{several} that differ in {column_name(sex)}" for name, sex in shared.items()}
    identifiers = {name: Guess(Role.IDENTIFIER, why) for name, why in differing.items()}
    for columns, why in table.questions.items():
        question = str(Inquiry(columns, why, Role.IDENTIFIER)).removesuffix(".")
        in_doubt = Guess(Role.IDENTIFIER, "it may say whose row it is", question=question)
        identifiers |= dict.fromkeys(columns, in_doubt)
    guesses |= {name: identifier for name, identifier in identifiers.items() if name not in chosen.roles}
    person = next((key for key in keys if key.columns[0] not in shared), None)
    guessed = by_the_others(GuessedTable(table, chosen, guesses, person))
    few = [name for name in guessed.used if guessed.facts[name].distinct <= MOST_REASONS] if guessed.lacking else []
    codes = {name: table.codes(name)[0].astype(np.intp) for name in few}
    by = structurally_missing(guessed.lacking, codes, K)
    guessed = replace(with_structure(guessed, by), belong=tuple((other, name) for name, other in by.items()))
    return _with_missing_values(guessed)


def _with_missing_values(guessed: GuessedTable) -> GuessedTable:
    """Drop few rows: else the column that drops most counts missing values. Raises InputError without columns."""
    if not guessed.used:
        raise guessed.nothing_published
    while True:
        drops = guessed.drops
        dropped = np.logical_or.reduce([np.zeros(len(guessed.table.frame), dtype=bool), *drops.values()])
        if dropped.sum() <= _MOST_ROWS_DROPPED * len(dropped):
            return guessed
        emptiest = max(drops, key=lambda name: int(drops[name].sum()))
        why = f"{guessed.guesses[emptiest].why}; too many rows lack a value in one column or another, often in this one"
        guessed = guessed.changed({emptiest: guessed.guesses[emptiest].counting_missing(why)})


# What publishing will count, and what can be demanded of it.


@frozen
class CountedTable:
    """The sensitive columns of a table as publishing counts them, of so many people with so many rows each.

    complete: rows that lack no value that is needed. impossible: pairs of values that no row has.
    """

    table: Table
    people: int
    rows_of_each: int = 1
    complete: int = 0
    impossible: tuple[Mapping[str, str], ...] = ()

    @property
    def k(self) -> int:
        """The k to demand of so many people."""
        return K if self.people >= 500 else 5 if self.people >= 100 else min(2, self.people)


def counted_table(guessed: GuessedTable) -> tuple[GuessedTable, CountedTable]:
    """The guesses, and the sensitive columns of which something can be shown. Raises InputError where nothing is left."""
    reason = "nobody should learn it, and nearly all rows that have a value have the same one"
    counted = _counted(guessed)
    while gone := _hidden(counted.table, reason) or _dependent(guessed, counted.table):
        before, left_out = guessed.complete, {name: guessed.guesses[name] for name in gone}
        so_far = {name: "" if guess.is_alone else f"{guess.why}; " for name, guess in left_out.items()}
        guessed = guessed.changed(
            {
                name: guess.decided(so_far[name] + gone[name], gone[name], Role.IGNORED)
                for name, guess in left_out.items()
            }
        )
        if not guessed.used:
            raise guessed.nothing_published
        if guessed.person is None and np.array_equal(before, guessed.complete):
            roles = {**counted.table.roles, **dict.fromkeys(gone, Role.IGNORED)}
            counted = replace(counted, table=replace(counted.table, roles=roles))
        else:  # where other rows are kept, another column may have too few values among them
            counted = _counted(guessed)
    if guessed.unclear:
        counted = replace(counted, table=replace(counted.table, rows_per_person="any"))
    return guessed, replace(counted, impossible=_impossible(guessed))


def _hidden(table: Table, reason: str) -> dict[str, str]:
    presentable = _presentable(table)
    return {name: reason for name in table.sensitive if name not in presentable}


def _dependent(guessed: GuessedTable, table: Table) -> dict[str, str]:
    """A column that publishing would refuse beside another sensitive one, and why, unless somebody asked for both."""
    single = [name for name in table.sensitive if guessed.guesses[name].is_alone]
    dependent = dependence(table, Policy(diversity=PROPOSED, alone=single))
    asked_for = {*guessed.chosen.roles, *guessed.chosen.needed}
    open_ones = [name for name in (dependent or ())[:2] if name not in asked_for]
    if dependent is None or not open_ones:
        return {}
    name = min(open_ones, key=lambda name: name not in single)
    other = dependent.other if name == dependent.name else dependent.name
    rule = f"it follows from {other}" if name == dependent.follower else f"it tells {other}"
    return {name: f"in all rows {rule}; {other} is published, so no promise about {name} would hold"}


def _needed(part: DescribedTable, guessed: GuessedTable) -> tuple[pd.DataFrame, dict[str, Attribute]]:
    """The sensitive columns; all, where people have several rows, as all tell which of them count."""
    names = guessed.of_role(Role.SENSITIVE)
    sensitive = {name: Attribute(Role.SENSITIVE, **guessed.guesses[name].settings) for name in names}
    if sensitive and guessed.person is None:
        return part.frame[[*sensitive]], sensitive
    plain = {name: Attribute(guess.role, **guess.missing_settings) for name, guess in guessed.used.items()}
    return part.frame, plain | sensitive


def _impossible(guessed: GuessedTable) -> tuple[Mapping[str, str], ...]:
    """Pairs of values of quasi-identifiers that no row has, those of most rows expected first."""
    part, rows = guessed.table, guessed.complete_rows
    columns: dict[str, tuple[CodeArray, list[str]]] = {}
    for name in guessed.of_role(Role.QUASI_IDENTIFIER):
        if part.columns[name].distinct > _MOST_VALUES_OF_PAIRS:
            continue
        codes, texts_found = factorized(rows[name], part.no_values(name))
        texts, attribute = [*map(str, texts_found)], Attribute(Role.QUASI_IDENTIFIER, **guessed.guesses[name].settings)
        numbers = attribute.numbers(texts, part.decimal)
        if not attribute.dates and all(attribute.base_value(text, numbers) == text for text in texts):
            # With these texts, since a release has these labels, too. Code 0 stands for no value.
            columns[name] = (codes + 1).astype(smallest_code_dtype(len(texts) + 1)), texts
    ones = np.ones(len(rows), dtype=np.int64)
    proposed: list[tuple[float, Mapping[str, str]]] = []
    for (one, (first, labels)), (other, (second, others)) in combinations(columns.items(), 2):
        keys, space = pack([first, second], [len(labels) + 1, len(others) + 1], len(rows))
        counts = bins(keys, space, ones).reshape(len(labels) + 1, -1)[1:, 1:]
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        expected[(counts > 0) | (expected < _FEWEST_EXPECTED_OF_PAIRS)] = 0
        for row, column in np.argwhere(expected).tolist():
            proposed.append((expected[row, column], {one: labels[row], other: others[column]}))
    return tuple(pair for _, pair in sorted(proposed, key=lambda pair: -pair[0]))


def _presentable(table: Table) -> set[str]:
    if not table.sensitive:
        return set()
    requirements = Policy(diversity=PROPOSED, min_cell=LEAST_CELL).requirements_of(table)
    return {name for name in table.sensitive if can_be_shown(table, name, requirements)}


def _counted(guessed: GuessedTable) -> CountedTable:
    """Several rows of each only count where that takes no value its bound: any row of a person may be looked at."""
    part, person = guessed.table, guessed.person
    if not guessed.complete.all():
        part = replace(part, frame=part.frame[guessed.complete])
    frame, attributes = _needed(part, guessed)
    read = partial(read_table, frame, attributes, part.missing, decimal=part.decimal, k=part.rare)
    complete = len(part.frame)
    if person is None:
        table = read(rows_per_person=1)
        return CountedTable(table, table.rows, complete=complete)
    one = read(person=person.columns, one_row=ONE_ROW)
    codes = owners(frame, person.columns, part.missing)
    shares = _shares(one)
    for rows in worth_counting(np.bincount(codes[codes >= 0])):
        if _bear(shares, rows):
            table = read(person=person.columns, rows_per_person=rows)
            if _bear(_shares(table), rows) and _presentable(table) == {*table.sensitive}:
                return CountedTable(table, one.rows, rows, complete)
    return CountedTable(one, one.rows, complete=complete)


def _shares(table: Table) -> list[Fraction]:
    return [share for name in table.sensitive for share in bounded_values(table, name).shares]


def _bear(shares: Sequence[Fraction], rows: int) -> bool:
    """True if so many rows of each person leave a bound to all values that have one where only one row counts."""
    return all(_PROPOSED_ODDS.of_rows(rows).bound(share) < 1 or _PROPOSED_ODDS.bound(share) == 1 for share in shares)

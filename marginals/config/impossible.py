"""Pairs of values that look impossible, which `init` proposes for a steward to confirm: no row has both."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from marginals.config.guessed_table import GuessedTable
from marginals.tables.attribute import Attribute, Role
from marginals.tables.distinct_rows import factorized
from models.arrays import CodeArray

_EXPECTED = 20
"""Rows that would be expected of two values that no row has both of, at least, if their columns were independent."""

_MOST_VALUES = 100
"""Of a column; most pairs of rarer values are missing by chance."""


def proposed_pairs(guessed: GuessedTable, attributes: Mapping[str, Attribute]) -> tuple[Mapping[str, str], ...]:
    """Pairs of values of quasi-identifiers that no row has, those of most rows expected first. attributes: as read."""
    part, rows = guessed.table, guessed.complete_rows
    columns: dict[str, tuple[CodeArray, list[str]]] = {}
    for name in guessed.of_role(Role.QUASI_IDENTIFIER):
        if part.columns[name].distinct > _MOST_VALUES:
            continue
        codes, found = factorized(rows[name], part.no_values(name))
        texts, attribute = list(map(str, found)), attributes[name]
        numbers = attribute.numbers(texts, part.decimal.sign)
        if not attribute.dates and all(attribute.base_value(text, numbers) == text for text in texts):
            columns[name] = codes.astype(np.intp), texts  # so that a release has these labels, too
    proposed: list[tuple[float, Mapping[str, str]]] = []
    for (one, (first, labels)), (other, (second, others)) in combinations(columns.items(), 2):
        has_both = (first >= 0) & (second >= 0)
        cells = first[has_both] * len(others) + second[has_both]
        counts = np.bincount(cells, minlength=len(labels) * len(others)).reshape(len(labels), len(others))
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        expected[(counts > 0) | (expected < _EXPECTED)] = 0
        for row, column in np.argwhere(expected).tolist():
            proposed.append((expected[row, column], {one: labels[row], other: others[column]}))
    return tuple(pair for _, pair in sorted(proposed, key=lambda pair: -pair[0]))

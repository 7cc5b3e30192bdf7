"""Three policies to choose from, for a public file, for researchers, and a strict one: what each demands and costs."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from checks.claims import MaxentDiversity
from checks.diversity.registry import PRESETS, parse_diversity
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.requirements import Requirements
from marginals.config.presets import Preset
from marginals.messages import share_in_words
from marginals.names import number_of
from marginals.publishing.harmful import about_harm, known_values
from marginals.publishing.policy import NO_DIVERSITY
from marginals.recoding.lattice import failing_classes
from marginals.tables.attribute import Attribute, Harm
from marginals.tables.table import Table
from models.arrays import BoolArray, CountArray
from models.errors import MarginalsError

_MOST_PAIRS = 300  # counted to say what a choice means for a table
_PROPOSALS = frozenset((*PRESETS, NO_DIVERSITY))  # a choice replaces these; any other was typed by somebody, and stays


class PolicyChoice(NamedTuple):
    """A policy to choose. key: its diversity. name, purpose: in words. k, least_cell: least counts."""

    key: str
    name: str
    purpose: str
    k: int
    least_cell: int

    @property
    def sureness(self) -> str:
        """The most that anybody can become surer of a sensitive value, in words."""
        odds = PRESETS[self.key]
        return (
            f"the odds of a sensitive value at most {odds.times} times those of all rows, unless at most {odds.percent} "
            "percent have it"
        )

    def counts(self, preset: Preset) -> dict[str, int]:
        """Return the least counts that it demands, by their keys in [privacy]."""
        return {"k_link": self.k, preset.of_all: self.k, preset.of_cells: self.least_cell}

    def diversities(self, present: Mapping[str, object], sensitive: Sequence[str]) -> dict[str, str]:
        """Return a demand for each sensitive column without a list by level; a typed one that is present stays."""
        texts = {name: now for name in sensitive if isinstance(now := present.get(name, self.key) or self.key, str)}
        return {name: self.key if now in _PROPOSALS else now for name, now in texts.items()}


CHOICES = (
    PolicyChoice("public", "Public file", "For everybody, to be put on the web.", 10, 3),
    PolicyChoice("research", "Research file", "For researchers who have signed not to identify anybody.", 5, 2),
    PolicyChoice("strict", "Strict", "For a public file about something that would do much harm.", 20, 11),
)


_MOST_VALUES = 12  # of a sensitive column, asked one by one whether they harm


class HarmOfColumn(NamedTuple):
    """The harm of a sensitive column. values: few, with their shares. waiting: those that look harmless."""

    name: str
    values: tuple[tuple[str, str], ...]
    harmful: frozenset[str]
    at_most: Mapping[str, str]
    waiting: tuple[str, ...]


def harm_of(table: Table, name: str, attribute: Attribute) -> HarmOfColumn:
    """Return the harm that a table and a config know of a sensitive column."""
    values, harm = known_values(table, name), table.harm.get(name, Harm())
    labels = values.hierarchy.labels[0]
    try:
        harmless, named = (values.labels_of(values.within(of.harmless)) for of in (harm, attribute))
    except CriterionError:  # of labels that are no values, which the search refuses
        harmless = named = ()
    shares = sorted(zip(values.shares if any(values.rows) else (), labels))  # the most frequent one seldom harms
    few = tuple((label, share_in_words(share)) for share, label in shares) if len(labels) <= _MOST_VALUES else ()
    at_most = {label: spelled(bound) for label, bound in harm.at_most.items()}
    return HarmOfColumn(name, few, frozenset(labels) - {*harmless}, at_most, () if attribute.confirmed else named)


Share = tuple[float, str]  # percentage of a table that keeps a demand, and a sentence without values


def costs(table: Table | None, k: int, least_cell: int | None, demands: Mapping[str, str]) -> list[Share]:
    """Return the costs of demands in a table: base values of one or two columns that must merge or stay out.

    least_cell: of a sensitive column with one other. demands: a diversity for each sensitive column.
    """
    try:
        return [] if table is None else _costs(table, k, least_cell, demands)
    except MarginalsError:
        return []


def _costs(table: Table, k: int, least_cell: int | None, demands: Mapping[str, str]) -> list[Share]:
    public, sensitive = table.quasi_identifiers, table.sensitive
    single, pairs = [(name,) for name in public], list(combinations(public, 2))
    are_counted = len(pairs) <= _MOST_PAIRS
    counts = _counts(table, [*single, *(pairs if are_counted else ())])
    shares = _merging(counts, k, f"groups by {'one or two columns' if are_counted else 'one column'}")
    if least_cell is not None:
        cells = _counts(table, [(*first, name) for name in sensitive for first in ((), *single)])
        shares += _merging(cells, least_cell, "counts with a sensitive column")
    for name, demand in demands.items() if public else ():
        fails = np.concatenate([_failing(table, first, name, demand) for first in public])
        small, of = int(fails.sum()), len(fails)
        sentence = f"In {small:,} of {of:,} groups by one column too much would be known about {name}."
        fine = f"All {of:,} groups by one column keep what is demanded of {name}."
        shares.append((_percent(small, of), sentence if small else fine))
    return shares


def _merging(counts: CountArray, least: int, what: str) -> list[Share]:
    small, of = int((counts < least).sum()), len(counts)
    rows, have = number_of(least, "row"), "has" if small == 1 else "have"
    sentence = f"{small:,} of {of:,} {what} {have} fewer than {rows}, and must merge or stay out."
    return [(_percent(small, of), sentence if small else f"All {of:,} {what} have at least {rows}.")] if of else []


def _percent(failing: int, of: int) -> float:
    return round(100 * (of - failing) / of, 2)


def _counts(table: Table, margins: Sequence[Sequence[str]]) -> CountArray:
    tables = [table.cube.table(table.domain.mask(dict.fromkeys(margin, 0))).counts for margin in margins]
    return np.concatenate([counts[counts > 0] for counts in tables]) if tables else np.zeros(0, dtype=np.int64)


def _failing(table: Table, first: str, name: str, demand: str) -> BoolArray:
    pair = table.domain.mask({first: 0, name: 0})
    claims = about_harm([MaxentDiversity(parse_diversity(demand), name)], table.harm, table)
    return failing_classes(table.cube, pair, Requirements((name,), diversities=tuple(claims), at_every_level=True))

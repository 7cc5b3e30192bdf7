"""Three policies to choose from, for a public file, for researchers, and a strict one: what each demands and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from checks.claims import MaxentDiversity
from checks.diversity.registry import PRESETS, parse_diversity
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.requirements import Requirements
from marginals.config.presets import Preset, preset_of
from marginals.messages import share_in_words
from marginals.names import number_of
from marginals.publishing.harmful import about_harm, known_values
from marginals.publishing.policy import NO_DIVERSITY, Policy
from marginals.recoding.lattice import failing_classes
from marginals.tables.attribute import Attribute, Harm
from marginals.tables.table import Table
from models.arrays import CountArray
from models.errors import MarginalsError

_MOST_PAIRS = 300
"""Pairs of columns that are counted to say what a choice means for a table."""

_PROPOSALS = frozenset((*PRESETS, NO_DIVERSITY))
"""Diversities that a choice replaces; any other was typed by somebody, and stays."""


@dataclass(frozen=True)
class PolicyChoice:
    """A policy to choose. key: its diversity. name, purpose: in words. k, least_cell: least counts."""

    key: str
    name: str
    purpose: str
    k: int
    least_cell: int

    @property
    def sureness(self) -> str:
        """How much surer anybody can become of a sensitive value, in words."""
        odds = PRESETS[self.key]
        return (
            f"the odds of a sensitive value at most {odds.times} times those of all rows, unless at most {odds.percent} "
            "percent have it"
        )

    def counts(self, preset: Preset) -> dict[str, int]:
        """The least counts that it demands, by their keys in [privacy]."""
        return {"k_link": self.k, preset.of_all: self.k, preset.of_cells: self.least_cell}

    def diversities(self, stated: Mapping[str, object], sensitive: Sequence[str]) -> dict[str, str]:
        """Demands on all sensitive columns; none is left without one.

        stated: what is demanded now; what is no proposal of this program stays, lists among them, which are left out here.
        """
        demands: dict[str, str] = {}
        for name in sensitive:
            now = stated.get(name)
            if isinstance(now, str) and now not in _PROPOSALS:
                demands[name] = now
            elif now is None or isinstance(now, str):
                demands[name] = self.key
        return demands

    def policy(self, before: Policy, demands: Mapping[str, str]) -> Policy:
        """The policy that it makes of another. demands: its diversities. Raises as `Policy` does."""
        lists = (
            {name: texts for name, texts in before.diversity.items() if not isinstance(texts, str)}
            if isinstance(before.diversity, Mapping)
            else {}
        )
        least = self.counts(preset_of(before))
        return replace(before, diversity={**demands, **lists} or None, **least)  # type: ignore[arg-type]


CHOICES = (
    PolicyChoice("public", "Public file", "For everybody, to be put on the web.", 10, 3),
    PolicyChoice("research", "Research file", "For researchers who have signed not to identify anybody.", 5, 2),
    PolicyChoice("strict", "Strict", "For a public file about something that would do much harm.", 20, 11),
)
"""The choices, by the use of a release."""


_MOST_VALUES = 12
"""Values of a sensitive column, at most, of which the page asks one by one whether they harm."""


@dataclass(frozen=True)
class HarmOfColumn:
    """What is known to harm in a sensitive column. values: of few, each with the share of all rows in words.

    harmful: those that harm. at_most: what was typed. waiting: values that look as if they harm nobody, which is asked.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    harmful: frozenset[str]
    at_most: Mapping[str, str]
    waiting: tuple[str, ...]


def harm_of(table: Table, name: str, attribute: Attribute) -> HarmOfColumn:
    """What a table and a config say of the values of a sensitive column."""
    values, harm = known_values(table, name), table.harm.get(name, Harm())
    labels = values.hierarchy.labels[0]

    try:
        harmless, named = (values.labels_of(values.within(of.harmless)) for of in (harm, attribute))
    except CriterionError:  # of labels that are no values, which the search refuses
        harmless = named = ()
    shares = sorted(zip(values.shares if any(values.rows) else (), labels))  # the most frequent one seldom harms
    few = tuple((label, share_in_words(share)) for share, label in shares) if len(labels) <= _MOST_VALUES else ()
    return HarmOfColumn(
        name,
        few,
        frozenset(labels) - {*harmless},
        {label: spelled(bound) for label, bound in harm.at_most.items()},
        () if attribute.confirmed else named,
    )


@dataclass(frozen=True)
class Share:
    """Share of a table that fails a demand. sentence: in words, without values."""

    failing: int
    of: int
    sentence: str

    @property
    def kept(self) -> float:
        """Percentage that keeps the demand."""
        return round(100 * (self.of - self.failing) / self.of, 2) if self.of else 100.0


def costs(table: Table | None, k: int, least_cell: int | None, demands: Mapping[str, str]) -> tuple[Share, ...]:
    """Costs of demands in a table: groups, cells and classes that must merge or stay out, each at base values.

    Groups are the combinations that occur of one or two nonsensitive columns, cells those of a sensitive column with one
    other. demands: a diversity for each sensitive column. None of what cannot be counted.
    """
    if table is None:
        return ()
    try:
        return tuple(share for share in _costs(table, k, least_cell, demands) if share.of)
    except MarginalsError:
        return ()


def _costs(table: Table, k: int, least_cell: int | None, demands: Mapping[str, str]) -> list[Share]:
    public, sensitive = table.quasi_identifiers, table.sensitive
    pairs: list[tuple[str, ...]] = list(combinations(public, 2))
    are_counted = len(pairs) <= _MOST_PAIRS
    counts = _counts(table, [*((name,) for name in public), *(pairs if are_counted else ())])
    small, columns = int((counts < k).sum()), "one or two columns" if are_counted else "one column"
    shares = [Share(small, len(counts), _merging(small, len(counts), f"groups by {columns}", number_of(k, "row")))]
    if least_cell is not None:
        cells = _counts(table, [(*first, name) for name in sensitive for first in ((), *((name,) for name in public))])
        small = int((cells < least_cell).sum())
        sentence = _merging(small, len(cells), "counts with a sensitive column", number_of(least_cell, "row"))
        shares.append(Share(small, len(cells), sentence))
    satisfied: dict[int, list[str]] = {}
    for name, demand in demands.items():
        classes = [class_failures(table, first, name, demand) for first in public]
        failing, of = sum(fail for fail, _ in classes), sum(total for _, total in classes)
        if failing:
            told = f"In {failing:,} of {of:,} groups by one column too much would be known about {name}."
            shares.append(Share(failing, of, told))
        else:
            satisfied.setdefault(of, []).append(name)
    for of, names in satisfied.items():
        told = f"All {of:,} groups by one column keep what is demanded of {', '.join(names)}."
        shares.append(Share(0, of, told))
    return shares


def _merging(small: int, of: int, what: str, least: str) -> str:
    if not small:
        return f"All {of:,} {what} have at least {least}."
    have = "has" if small == 1 else "have"
    return f"{small:,} of {of:,} {what} {have} fewer than {least}, and must merge or stay out."


def _counts(table: Table, margins: Sequence[Sequence[str]]) -> CountArray:
    tables = [table.cube.table(table.domain.mask(dict.fromkeys(margin, 0))).counts for margin in margins]
    return np.concatenate([counts[counts > 0] for counts in tables]) if tables else np.zeros(0, dtype=np.int64)


def class_failures(table: Table, first: str, name: str, demand: str) -> tuple[int, int]:
    """Count base values of an attribute that reveal too much about a sensitive one, and those that occur.

    Raises CriterionError for what is no diversity.
    """
    pair = table.domain.mask({first: 0, name: 0})
    claims = about_harm([MaxentDiversity(parse_diversity(demand), name)], table.harm, table)
    fails = failing_classes(table.cube, pair, Requirements((name,), diversities=tuple(claims), at_every_level=True))
    return int(fails.sum()), len(fails)

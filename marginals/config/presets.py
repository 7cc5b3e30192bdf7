"""Presets: demands that fit together, for whoever wants a proof of all tables jointly or more pairs of columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np

from marginals.errors import InputError
from marginals.publishing.policy import SENSITIVE_MARGINS, Policy
from marginals.publishing.wanted import PAIRS
from marginals.tables.people import RowsPerPerson
from marginals.tables.table import Table
from models.arrays import CountArray, IndexArray

_MOST_PAIRS = 300
"""Pairs of columns that are counted to say what a choice means for a table."""


@dataclass(frozen=True)
class Preset:
    """Demands that fit together. promises, costs: in words, what they give and what that takes, each as sentences.

    of_all, of_cells: the keys of [privacy] that demand something of combinations and of cells. search: keys of [search].
    """

    name: str
    promises: str
    costs: str
    of_all: str
    of_cells: str
    search: Mapping[str, str | int]

    def require(self, rows_per_person: RowsPerPerson) -> None:
        """Raise InputError where it promises nothing of a table in which a person has so many rows."""
        if self.has_further and rows_per_person not in (None, 1):
            raise InputError(
                f"several rows of a person would count, and the preset {self.name} promises nothing of that: choose "
                f"{JOINT_PROOF.name} (--preset {JOINT_PROOF.name})"
            )

    @property
    def has_further(self) -> bool:
        """Whether it has further tables."""
        return "further_tables" in self.search


JOINT_PROOF = Preset(
    "joint-proof",
    "Anybody who has the tables can check that each combination of nonsensitive values is ruled out by them or could be "
    "shared by at least k rows.",
    "The tables have a junction tree, so few pairs of columns stand in one table.",
    "k_combinatorial",
    "min_cell",
    MappingProxyType({"max_sensitive_margins": SENSITIVE_MARGINS}),
)

MORE_PAIRS = Preset(
    "more-pairs",
    "Further tables of pairs of nonsensitive columns stand beside those with a junction tree, so that many more cross "
    "tables are exact.",
    "That nobody can be certain that a combination has fewer than k rows is your word, which readers can refute but not "
    "prove; small counts are ruled out among those that are published, not among those that can be worked out; and one "
    "table at most shows a sensitive column.",
    "no_small_certain",
    "min_published_cell",
    MappingProxyType({"max_sensitive_margins": 1, "further_tables": PAIRS}),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in (JOINT_PROOF, MORE_PAIRS)})


def preset_of(policy: Policy) -> Preset:
    """The preset that a policy is nearest to."""
    return JOINT_PROOF if policy.further is None else MORE_PAIRS


@dataclass(frozen=True)
class PairsOfTable:
    """What a choice between presets is about in a table.

    columns: nonsensitive ones. pairs: of these. combinations: of two of their values, that occur. rare: of these, those of
    fewer than k rows; None, both, where there are too many pairs to be counted.
    """

    columns: int
    k: int
    combinations: int | None = None
    rare: int | None = None

    @classmethod
    def of(cls, table: Table, k: int) -> "PairsOfTable":
        """Of a table, at base values."""
        domain = table.domain
        names = [name for name in table.quasi_identifiers if domain.hierarchy(name).height]
        return cls._of(names, k, lambda *pair: table.cube.table(domain.mask(dict.fromkeys(pair, 0))).counts)

    @classmethod
    def of_rows(cls, values: Mapping[str, IndexArray], k: int) -> "PairsOfTable":
        """Of the values of each row in the nonsensitive columns, numbered from 0 on: shape (rows,) each."""
        return cls._of(list(values), k, lambda one, other: _occurring(values[one], values[other]))

    @classmethod
    def _of(cls, names: list[str], k: int, counts_of: Callable[[str, str], CountArray]) -> "PairsOfTable":
        if len(names) * (len(names) - 1) // 2 > _MOST_PAIRS:
            return cls(len(names), k)
        counts = [counts_of(*pair) for pair in combinations(names, 2)]
        return cls(len(names), k, sum(map(len, counts)), sum(int((count < k).sum()) for count in counts))

    @property
    def pairs(self) -> int:
        """Pairs of nonsensitive columns."""
        return self.columns * (self.columns - 1) // 2

    @property
    def sentence(self) -> str:
        """In words, without any value."""
        told = f"This table has {self.pairs:,} {'pair' if self.pairs == 1 else 'pairs'} of nonsensitive columns."
        if not self.combinations:
            return told
        return (
            f"{told} Of the {self.combinations:,} combinations of two of their values that occur, {self.rare:,} "
            f"{'has' if self.rare == 1 else 'have'} fewer than {self.k} rows as they are."
        )


def _occurring(one: IndexArray, other: IndexArray) -> CountArray:
    """How many rows have each combination of two values that occurs, in the order of these."""
    combined = one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other
    if int(combined.max(initial=0)) < _FEW_CELLS * max(len(one), 1):
        counts = np.bincount(combined)
        return counts[counts > 0]
    counted: CountArray = np.unique(combined, return_counts=True)[1]
    return counted


_FEW_CELLS = 8
"""Cells for each row, at most, of which all are counted rather than those that occur looked for."""

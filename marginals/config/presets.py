"""Presets: demands that fit together, for whoever wants a proof of all tables jointly or more pairs of columns."""

from collections.abc import Mapping
from dataclasses import field

from marginals.errors import InputError
from marginals.publishing.policy import SENSITIVE_MARGINS, Policy
from marginals.publishing.wanted import PAIRS
from marginals.tables.people import RowsPerPerson
from models.frozen import frozen


@frozen
class Preset:
    """Demands that fit together: what they give and cost, in words, and the keys of [privacy] and [search] for it."""

    name: str
    promises: str
    costs: str
    of_all: str
    of_cells: str
    search: Mapping[str, str | int | float] = field(hash=False)

    def is_for(self, rows_per_person: RowsPerPerson) -> bool:
        """True if it promises something when a person has so many rows."""
        return not self.has_further or rows_per_person in (None, 1)

    def require(self, rows_per_person: RowsPerPerson) -> None:
        """Raise InputError where it promises nothing of a table in which a person has so many rows."""
        if not self.is_for(rows_per_person):
            raise InputError(
                f"several rows of a person would count, and the preset {self.name} promises nothing of that: choose "
                f"{JOINT_PROOF.name} (--preset {JOINT_PROOF.name})"
            )

    @property
    def has_further(self) -> bool:
        """True if it has further tables."""
        return "further_tables" in self.search


JOINT_PROOF = Preset(
    "joint-proof",
    "Anybody who has the tables can check that each combination of nonsensitive values is ruled out by them or could be "
    "shared by at least k rows.",
    "The tables have a junction tree, so few pairs of columns stand in one table.",
    "k_combinatorial",
    "min_cell",
    {"max_sensitive_margins": SENSITIVE_MARGINS, "time_limit": 60.0},
)

MORE_PAIRS = Preset(
    "more-pairs",
    "Further tables of pairs of nonsensitive columns stand beside those with a junction tree, so that many more cross "
    "tables are exact.",
    "Anybody can check less: that no combination that is looked at is certain to have fewer than k rows; and small counts "
    "are ruled out among those that are published, not among those that can be worked out.",
    "no_small_certain",
    "min_published_cell",
    {"max_sensitive_margins": SENSITIVE_MARGINS, "time_limit": 180.0, "further_tables": PAIRS},
)

PRESETS = {preset.name: preset for preset in (JOINT_PROOF, MORE_PAIRS)}


def preset_of(policy: Policy) -> Preset:
    """The preset that a policy is nearest to."""
    return JOINT_PROOF if policy.further is None else MORE_PAIRS

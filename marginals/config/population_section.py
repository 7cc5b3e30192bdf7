"""The section [population] of a config: everybody whom the rows could be about, and what is demanded of a single table.

[population]
path = "everybody.csv"          # one row a person, with the columns of the quasi-identifiers
k_map = 5                       # people who could be meant by each row, at least
delta_presence = [0.0, 0.2]     # the probability of being in the table, of everybody: between these

Instead of all this, where nobody has such a table:

sampling_fraction = 0.05        # the share of the population that is in the table, drawn at random
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from checks.classes.population import SINGLE_TABLES
from marginals.errors import InputError
from marginals.publishing.population import Population
from marginals.tables.source import TableSource

POPULATION = ("path", "k_map", "delta_presence", "sampling_fraction")


@dataclass(frozen=True)
class PopulationSection:
    """The section, its table not yet read."""

    path: Path | None
    k_map: int | None = None
    delta_presence: tuple[float, float] | None = None
    sampling_fraction: float | None = None

    @classmethod
    def of(cls, folder: Path, section: Mapping[str, Any]) -> "PopulationSection | None":
        """The section as TOML has it; None without keys. Raises InputError naming the key."""
        if not section:
            return None
        path, k, bounds, fraction = (section.get(key) for key in POPULATION)
        if fraction is not None:
            if len(section) > 1:
                raise InputError(
                    "the key population.sampling_fraction stands alone; leave out the others of [population]"
                )
            if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction <= 1:
                raise InputError(
                    f"the key population.sampling_fraction must be a number above 0 and at most 1, got {fraction!r}"
                )
            return cls(None, sampling_fraction=float(fraction))
        if not isinstance(path, str):
            raise InputError("the key population.path must name a table")
        if k is not None and (type(k) is not int or k < 1):
            raise InputError(f"the key population.k_map must be a whole number of at least 1, got {k!r}")
        if bounds is not None and not _are_bounds(bounds):
            raise InputError("the key population.delta_presence must be two shares from 0 to 1, the lower first")
        return cls(folder / path, k, None if bounds is None else (bounds[0], bounds[1]))

    def read(self, like: TableSource) -> Population | float:
        """The population, read as a table is that it has the quasi-identifiers of, or the sampling fraction.

        Raises InputError.
        """
        if self.path is None:
            assert self.sampling_fraction is not None
            return self.sampling_fraction
        return Population.read(self.path, like, self.k_map, self.delta_presence)

    def refuse_demands(self) -> None:
        """Raise InputError where it demands what only single tables can be checked for."""
        if self.k_map is not None or self.delta_presence is not None:
            raise InputError(f"{SINGLE_TABLES}; leave their keys out of [population] for this command")


def _are_bounds(given: object) -> bool:
    if not isinstance(given, list) or len(given) != 2:
        return False
    if not all(isinstance(n, int | float) and not isinstance(n, bool) and isfinite(n) for n in given):
        return False
    return bool(0 <= given[0] <= given[1] <= 1)

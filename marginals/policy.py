"""The policy of a release: what privacy it must keep, where the search starts, and how long it may take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from checks.l_diversity import Diversity, parse_diversity
from checks.requirements import Requirements
from marginals.errors import InputError
from models.search import STRATEGIES


@dataclass(frozen=True)
class Policy:
    """What a release must satisfy and how it is looked for.

    k_link, k_combinatorial: rows. diversity: for example "entropy:6" or "recursive:3,4". base: the anonymized table
    that the collection must contain: "best" (the minimal one closest to the data), "none", or a level for each
    attribute. max_sensitive_margins: at most so many margins show a sensitive attribute. time_limit: seconds.
    Raises InputError or CriterionError for values that make no sense.
    """

    k_link: int | None = None
    k_combinatorial: int | None = None
    diversity: str | None = None
    base: str | Mapping[str, int] = "best"
    strategy: str = "greedy"
    seed: int = 0
    max_sensitive_margins: int | None = field(default=3)
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        for name, least in (("k_link", 1), ("k_combinatorial", 1), ("max_sensitive_margins", 0), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if isinstance(self.time_limit, bool) or not isinstance(self.time_limit, int | float) or self.time_limit < 0:
            raise InputError(f"time_limit must be a number of seconds, got {self.time_limit!r}")
        if isinstance(self.base, str) and self.base not in ("best", "none"):
            raise InputError(f'base is "best", "none" or a level for each attribute, not {self.base!r}')
        if self.strategy not in STRATEGIES:
            raise InputError(f"there is no search strategy {self.strategy!r}; there is {', '.join(STRATEGIES)}")
        _ = self.criterion

    @cached_property
    def criterion(self) -> Diversity | None:
        """The diversity as a criterion."""
        if self.diversity is None:
            return None
        if not isinstance(self.diversity, str):
            raise InputError(f'diversity is text such as "entropy:6", not {self.diversity!r}')
        return parse_diversity(self.diversity)

    def requirements(self, sensitive: tuple[str, ...]) -> Requirements:
        """What a collection must satisfy, for a table with these sensitive attributes."""
        return Requirements(sensitive, self.k_link, self.k_combinatorial, self.criterion)

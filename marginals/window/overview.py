"""Head of each page: who is protected against whom, and how far the work has come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from marginals.config.release_toml import Config
from marginals.criteria import criterion_clause
from marginals.names import number_of
from marginals.publishing.policy import Policy
from marginals.tables.attribute import Role
from marginals.window.candidates import Candidate
from marginals.window.project import Project, changed_since, releases_in


@dataclass(frozen=True)
class Protection:
    """The demands in force.

    sentence: all of them. silent: sensitive attributes of which no demand is stated, so that nothing of them can be
    published. exposed: those of which nothing is demanded, on purpose. uncertain: columns that readers stay uncertain
    about, with the demand in words.
    """

    sentence: str
    silent: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    uncertain: tuple[tuple[tuple[str, ...], str], ...] = ()

    @classmethod
    def of(cls, config: Config) -> "Protection":
        """Return the demands of a config on the columns in their present roles."""
        policy, used = config.policy, config.source.used
        sensitive = [name for name, attribute in used.items() if attribute.role is Role.SENSITIVE]
        silent = policy.silent_on(sensitive)
        exposed = tuple(name for name in policy.undemanded(sensitive) if name not in silent)
        return cls(" ".join(_sentences(config, sensitive)), silent, exposed, _uncertain(config.policy, sensitive))


def _sentences(config: Config, sensitive: Sequence[str]) -> list[str]:
    """Least counts, then what each sensitive column keeps, then what never leaves the house."""
    policy, counted = config.policy, ("row", "rows") if config.source.rows_per_person == "any" else ("person", "people")
    sentences = []
    if (least := policy.least("k_link")) is not None:
        sentences.append(f"Each published group, sensitive columns aside, has at least {number_of(least, *counted)}.")
    if (least := policy.least("min_cell")) is not None and least > 1:
        sentences.append(f"No published count is smaller than {least:,}.")
    uncertain = [name for names, _ in _uncertain(policy, sensitive) for name in names]
    if uncertain:
        listed = [name for name in sensitive if name in uncertain]
        sentences.append(f"Uncertain for readers of all tables: {', '.join(listed)}.")
    hidden = [name for name, attribute in config.source.attributes.items() if attribute.role is Role.IDENTIFIER]
    if hidden:
        sentences.append(f"Never published: {', '.join(hidden)}.")
    return sentences or ["Nothing is demanded yet, so nothing can be published."]


def _uncertain(policy: Policy, sensitive: Sequence[str]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The sensitive columns of each demand, with the demand in words and as it is spelled in a config."""
    columns: dict[str, list[str]] = {}
    for claim in policy.diversities(sensitive) if sensitive else ():
        columns.setdefault(f"{criterion_clause(claim.diversity)} ({claim.diversity})", []).append(claim.sensitive)
    return tuple((tuple(names), meaning) for meaning, names in columns.items())


class State(Enum):
    """State of a step; the value is its name on a page."""

    DONE = "done"
    STALE = "to be done again: something has changed since"
    OPEN = "open"


def states(
    project: Project, config: Config, settings: Mapping[str, Any], candidates: Sequence[Candidate]
) -> dict[str, State]:
    """Return the state of each step by its key. settings: the keys of the config."""
    protection, written = Protection.of(config), releases_in(project)
    fits = any(candidate.fits(settings) and not candidate.error for candidate in candidates)
    counts = (config.policy.least(key) for key in ("k_link", "k_combinatorial", "min_cell"))
    has_demand = any(counts) or bool(config.policy.diversity)
    changed = bool(written) and bool(changed_since(project, config, written[0]))
    published = State.OPEN if not written else State.STALE if changed else State.DONE
    return {
        "table": State.OPEN if config.unconfirmed else State.DONE,
        "levels": State.OPEN if config.unconfirmed else State.DONE,
        "policy": State.DONE if has_demand and not protection.silent else State.OPEN,
        "search": State.DONE if fits else State.STALE if candidates else State.OPEN,
        "publish": published,
        "explore": published,
    }

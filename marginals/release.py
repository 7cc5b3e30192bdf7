"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from checks.claims import Claim
from checks.finding import Finding
from marginals.attribute import Role
from marginals.errors import InputError
from models.arrays import FloatArray
from models.collection import Collection
from models.domain import Domain, InducedAttribute
from models.inference import expectation, expected_marginal
from models.margin import Margin
from models.maximum_entropy import MaximumEntropy
from models.search import SearchResult


@dataclass(frozen=True)
class Verification:
    """The findings on the claims of a release."""

    checks: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every check is proven to hold."""
        return all(finding.holds for finding in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The verification as plain values (design 5.2)."""
        return {"ok": self.ok, "checks": [finding.as_json() for finding in self.checks]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.checks))


@dataclass(frozen=True)
class Utility:
    """What is left of the data, as KL divergence to it in nats: of the release, of the table with all quasi-identifiers
    suppressed, and of the best single table when one was looked for. Smaller is better.
    """

    kl_divergence: float
    kl_suppressed: float
    kl_best_table: float | None = None

    def as_json(self) -> dict[str, float]:
        """The measures that are known."""
        known = {"kl_divergence": self.kl_divergence, "kl_suppressed": self.kl_suppressed}
        return known | ({} if self.kl_best_table is None else {"kl_best_table": self.kl_best_table})


@dataclass(frozen=True, eq=False)
class Release:
    """Marginals that are published together.

    collection: over a cube of the published marginals alone. roles: of the attributes of its domain. claims: what is
    said about its privacy. path: where it was read from or written to. search: how it was found, when it was just made.
    """

    collection: Collection
    roles: Mapping[str, Role]
    claims: tuple[Claim, ...]
    utility: Utility | None = None
    path: Path | None = None
    search: SearchResult | None = field(default=None)

    def __repr__(self) -> str:
        kl = "" if self.utility is None else f", KL divergence {self.utility.kl_divergence:.4g} nats"
        return f"Release({self.rows} rows{kl}; {'; '.join(map(str, self.margins))})"

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    @property
    def rows(self) -> int:
        """Number of rows that every marginal counts."""
        return self.collection.cube.total

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The published margins: for each its attributes with their levels."""
        return self.collection.margins

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return tuple(a for a in self.domain.attributes if self.roles[a] is Role.SENSITIVE)

    @property
    def kl_divergence(self) -> float | None:
        """KL divergence from the data to the maxent distribution of the release, nats, as its publisher states it."""
        return None if self.utility is None else self.utility.kl_divergence

    @cached_property
    def maximum_entropy(self) -> MaximumEntropy:
        """The maxent distribution. Raises NotDecomposableError when it has no closed form."""
        return MaximumEntropy(self.collection)

    def interaction_graph(self) -> "nx.Graph[InducedAttribute]":
        """Which steps of generalization are published together, as a networkx graph."""
        return self.collection.interaction_graph.to_networkx()

    def junction_tree(self) -> "nx.Graph[Margin]":
        """How the margins hang together: nodes are margins, edges carry their `separator`."""
        return self.collection.junction_tree.graph()

    def marginal(self, margin: Mapping[str, int]) -> "pd.Series[Any]":
        """Counts over any attributes at any levels, indexed by label.

        A series named `count`, of whole numbers, where a published marginal shows it exactly; otherwise one named
        `expected_count` from the maxent distribution. Cells of (expected) count 0 are left out.
        """
        mask = self.domain.mask(margin)
        shown = self.domain.margin(mask)
        order = [attribute for attribute in margin if attribute in shown]
        values: FloatArray | Any
        if self.collection.cube.holds(mask):
            table = self.collection.cube.table(mask)
            codes, values, name = dict(zip(table.attributes, table.codes)), table.counts, "count"
        else:
            cells = expected_marginal(self.maximum_entropy, shown)
            codes, values, name = dict(cells.codes), cells.expected, "expected_count"
        if not order:
            return pd.Series(values, name=name)
        columns = [np.array(self.domain.hierarchy(a).labels[shown[a]], dtype=object)[codes[a]] for a in order]
        ranks = np.lexsort([codes[a] for a in reversed(order)])
        index = pd.MultiIndex.from_arrays(columns, names=order) if len(order) > 1 else pd.Index(columns[0], name=order[0])
        return pd.Series(values, index=index, name=name).iloc[ranks]

    def expected_count(self, cell: Mapping[str, str]) -> float:
        """Expected number of rows with these labels, which may be of any level: `{"age": "30-34", "sex": "Female"}`.

        Where a label stands for different things at different levels, the finest published one is meant.
        Raises InputError for a label that the hierarchy of its attribute lacks.
        """
        return expectation(self.maximum_entropy, {a: self._indicator(a, label) for a, label in cell.items()})

    def _indicator(self, attribute: str, label: str) -> FloatArray:
        hierarchy = self.domain.hierarchy(attribute)
        published = hierarchy.height - self.collection.finest_resolution(attribute)
        levels = [level for level in range(hierarchy.height + 1) if hierarchy.code(label, level) is not None]
        if not levels:
            raise InputError(f"{attribute!r} has no such value at any level; `.domain.hierarchy({attribute!r}).labels`")
        level = min(levels, key=lambda level: (level < published, level))
        return np.asarray(hierarchy.lift(0, level) == hierarchy.code(label, level), dtype=np.float64)

    def verify(self, claims: Sequence[Claim] | None = None) -> Verification:
        """Check the claims of the release, or others, on its marginals alone."""
        checked = self.claims if claims is None else claims
        return Verification(tuple(claim.check(self.collection, self.sensitive) for claim in checked))

    def write(self, path: str | Path) -> Path:
        """Write the release as a bundle (design 5.3): all of it or nothing. Returns the folder."""
        from marginals.bundle import write_bundle

        return write_bundle(self, Path(path))

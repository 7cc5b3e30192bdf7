"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from checks.claims import Claim
from marginals.atomic_folder import replace_file
from marginals.bundle import put_report, read_bundle, write_bundle
from marginals.errors import InputError
from marginals.published import Published, Verification
from marginals.report import report_html
from models.arrays import FloatArray
from models.collection import Collection
from models.domain import Domain, InducedAttribute
from models.inference import expectation, expected_marginal
from models.margin import Margin
from models.maximum_entropy import MaximumEntropy
from models.search import SearchResult


@dataclass(frozen=True, eq=False)
class Release:
    """Marginals that are published together, ready to be analysed.

    published: the content. path: the folder it was read from or written to. search: how it was found, when just made.
    """

    published: Published
    path: Path | None = None
    search: SearchResult | None = None

    def __repr__(self) -> str:
        kl = "" if self.kl_divergence is None else f", KL divergence {self.kl_divergence:.4g} nats"
        return f"Release({self.rows} rows{kl}; {'; '.join(map(str, self.margins))})"

    @property
    def collection(self) -> Collection:
        """The published marginals."""
        return self.published.collection

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.published.domain

    @property
    def rows(self) -> int:
        """Number of rows that every marginal counts."""
        return self.collection.cube.total

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The published margins: for each its attributes with their levels."""
        return self.collection.margins

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is claimed of the release's privacy."""
        return self.published.claims

    @property
    def kl_divergence(self) -> float | None:
        """KL divergence from the data to the maxent distribution of the release, nats, as its publisher states it."""
        return None if self.published.utility is None else self.published.utility.kl_divergence

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
        many = len(order) > 1
        index = pd.MultiIndex.from_arrays(columns, names=order) if many else pd.Index(columns[0], name=order[0])
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

    def trace(self) -> pd.DataFrame:
        """The search step by step, where the release was just made: `move`, KL divergence `before` and `after` it in
        nats, and `refused`, why better moves were passed over. Empty for a release that was opened.
        """
        steps = self.search.steps if self.search else ()
        return pd.DataFrame([asdict(step) for step in steps], columns=["move", "before", "after", "refused"])

    def verify(self, claims: Sequence[Claim] | None = None) -> Verification:
        """Check the claims of the release, or others, on its marginals alone."""
        return self.published.verify(claims)

    def write(self, path: str | Path) -> "Release":
        """Write the release as a bundle (design 5.3): all of it or nothing. Returns the release with its folder."""
        folder = Path(path)
        write_bundle(self.published, folder)
        return replace(self, path=folder)

    def write_report(self, path: str | Path | None = None) -> None:
        """Write the report, one HTML page, to a file, or without one into the bundle that the release was read from.

        Raises InputError where it cannot be written.
        """
        page = report_html(self.published)
        if path is None:
            if self.path is None:
                raise InputError("the release is in no folder yet; write it, or name a file for its report")
            put_report(self.path, page)
            return
        try:
            replace_file(Path(path), page)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or type(error).__name__}") from None


def open_release(path: str | Path) -> Release:
    """The release in a bundle. Raises InputError where there is none, BundleError where it cannot be trusted."""
    folder = Path(path)
    return Release(read_bundle(folder), folder)

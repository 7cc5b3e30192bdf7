"""Targets: published counts to which beliefs are fitted one marginal after the other, and how far they were missed."""

from collections.abc import Iterable

import numpy as np

from models.inference.fitting.beliefs import Beliefs
from models.inference.fitting.clique_cells import Projection
from models.inference.fitting.operations import Script, do
from models.tables.contingency_table import ContingencyTable


class Targets:
    """The counts of some tables. Beliefs are fitted to each table once in a sweep."""

    def __init__(self, tables: Iterable[ContingencyTable]) -> None:
        self._shares = np.ones(sum(map(len, tables)))
        """Of the published counts, what they were fitted as before they were fitted to last."""
        self._next = 0
        self._summing: Script = []

    def fit(self, beliefs: Beliefs, projection: Projection, table: ContingencyTable, script: Script) -> None:
        """Let a script bring beliefs into line with the next of the tables."""
        shares = self._shares[self._next : self._next + len(table)]
        self._next += len(table)
        summing: Script = []
        sums = beliefs.sums(projection, summing)
        summing.append((np.divide, (sums[: len(table)], table.counts.astype(np.float64), shares)))
        self._summing += summing
        script += summing
        beliefs.divide(projection, shares, script)

    def misfit(self) -> float:
        """The largest misfit met, as a share of the published count, each count's when it was fitted to last."""
        largest = float(np.maximum.reduce(self._shares, initial=1.0))
        least = float(np.minimum.reduce(self._shares, initial=1.0))
        return max(largest - 1, 1 - least) if largest < np.inf else np.inf

    def misfit_now(self) -> float:
        """The same of beliefs as they are."""
        do(self._summing)
        return self.misfit()

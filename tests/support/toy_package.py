"""A package in a folder, as pip would install it, whose entry points add one thing of each kind."""

import sys
from pathlib import Path

from models.installed import _entries, installed

MODULE = '''
"""Each kind of thing that an installed package can add."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import marginals
from checks.diversity.text import spelled
from models.search import BDeu, forward


@dataclass(frozen=True)
class Capped(marginals.Diversity):
    """No sensitive value has a share above `share`. Reached: the largest share."""

    share: Fraction
    name, parameters = "toy-capped", "share"

    def __str__(self):
        return f"toy-capped:{spelled(self.share)}"

    def slack(self, vectors):
        return float(self.share) / self.reached(vectors) - 1

    def reached(self, vectors):
        return vectors.max(axis=1) / vectors.sum(axis=1)

    def decide(self, vector):
        return max(vector) <= self.share * sum(vector)


def search(problem, stop):
    """Forward search."""
    return forward(problem, stop)


def score(counts, cells):
    """The marginal likelihood by a prior worth two rows."""
    return BDeu(2.0)(counts, cells)


def suppressed(table, requirements):
    """All quasi-identifiers suppressed."""
    return {name: table.domain.hierarchy(name).height for name in table.quasi_identifiers}


not_a_criterion = 7
'''

ENTRY_POINTS = """
[marginals.criteria]
toy-capped = toy_extension:Capped
toy-number = toy_extension:not_a_criterion
toy-missing = toy_extension:nothing

[marginals.strategies]
toy-search = toy_extension:search
toy-broken = toy_raising:search
toy-number = toy_extension:not_a_criterion

[marginals.objectives]
toy-score = toy_extension:score
toy-number = toy_extension:not_a_criterion

[marginals.bases]
toy-base = toy_extension:suppressed
toy-number = toy_extension:not_a_criterion
"""


def install(folder: Path) -> Path:
    """The package in a folder, which is to stand on the path of modules."""
    folder.mkdir()
    (folder / "toy_extension.py").write_text(MODULE)
    (folder / "toy_raising.py").write_text("raise RuntimeError('no luck today')\n")
    metadata = folder / "toy_extension-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-extension\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def forget() -> None:
    """Forget which packages are installed and which are not, as a new process does."""
    _entries.cache_clear()
    installed.cache_clear()
    sys.modules.pop("toy_extension", None)

"""Which pairs of attributes a release lets somebody analyse: counted together in a table, or estimated by the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import networkx as nx

from marginals.pages.pictures import finest_pairs
from marginals.wording.level_names import shown_at
from models.graphs.collection import Collection

_MATRIX = 24
"""Attributes beyond which pairs are counted and not drawn up as a table."""


@dataclass(frozen=True)
class Pair:
    """Two attributes. kind: "exact" where a table counts both, with the finest levels in `levels`; "estimated" where other
    tables link them; "unlinked" where none do, so that the model takes them to be independent; "unpublished" where
    nothing is published of one of them.
    """

    kind: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairsShown:
    """All pairs of the attributes of a release. by_names: both ways round; empty where there are too many to list."""

    attributes: tuple[str, ...]
    by_names: Mapping[tuple[str, str], Pair]
    numbers: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return sum(self.numbers.values())


def pairs_shown(collection: Collection) -> PairsShown:
    """What each pair of attributes of the domain can be analysed by; it follows from the margins and their labels."""
    domain = collection.domain
    exact: dict[tuple[str, str], list[str]] = {}
    for a, i, b, j in finest_pairs(collection.margins):
        shown = [shown_at(a, domain.hierarchy(a), i), shown_at(b, domain.hierarchy(b), j)]
        exact.setdefault((a, b), []).append(" with ".join(shown))
    linked: nx.Graph[str] = nx.Graph(list(exact))
    linked.add_nodes_from(attribute for margin in collection.margins for attribute in margin)
    part_of = {name: number for number, part in enumerate(nx.connected_components(linked)) for name in part}
    pairs: dict[tuple[str, str], Pair] = {}
    for a, b in combinations(domain.attributes, 2):
        levels = tuple(exact.get((a, b), exact.get((b, a), ())))
        if a not in part_of or b not in part_of:
            pairs[a, b] = Pair("unpublished")
        elif levels:
            pairs[a, b] = Pair("exact", levels)
        else:
            pairs[a, b] = Pair("estimated" if part_of[a] == part_of[b] else "unlinked")
    kinds = ("exact", "estimated", "unlinked", "unpublished")
    numbers = {kind: sum(pair.kind == kind for pair in pairs.values()) for kind in kinds}
    listed = pairs if len(domain.attributes) <= _MATRIX else {}
    return PairsShown(domain.attributes, {**listed, **{(b, a): pair for (a, b), pair in listed.items()}}, numbers)

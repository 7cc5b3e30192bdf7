"""What a release says of each pair of attributes: published in a table, supported by a coarser one, or assumed."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from marginals.names.level_names import shown_at
from models.graphs.basis import Basis, Distinction, Kind, bases_of_pairs
from models.graphs.collection import Collection
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

_MATRIX = 24
"""Attributes beyond which pairs are counted and not drawn up as a table."""

UNPUBLISHED = "unpublished"
"""Of a pair with an attribute of which nothing is published."""

SIGNS: Mapping[str, str] = MappingProxyType(
    {Kind.PUBLISHED: "\u25cf", Kind.SUPPORTED: "\u25d0", Kind.ASSUMED: "\u25cb", UNPUBLISHED: "\u2013"}
)
"""How each kind is drawn: a full, a half and an empty circle, and a dash."""


@dataclass(frozen=True)
class Pair:
    """Two attributes, each at its finest published level.

    kind: one of `models.graphs.basis.Kind`, or `UNPUBLISHED`. shown: both in words, with the finest levels at which one
    table shows them, where one does. is_linked: whether other tables link two that are assumed.
    """

    names: tuple[str, str]
    kind: str
    shown: str = ""
    is_linked: bool = False


@dataclass(frozen=True)
class PairsShown:
    """All pairs of the attributes of a release. listed: none where there are too many to list."""

    attributes: tuple[str, ...]
    listed: tuple[Pair, ...]
    numbers: Mapping[str, int]

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return sum(self.numbers.values())

    @property
    def kinds(self) -> Mapping[tuple[str, str], str]:
        """The kinds of the pairs that are listed, both ways round."""
        return {names: pair.kind for pair in self.listed for names in (pair.names, pair.names[::-1])}

    def of_kind(self, kind: str) -> tuple[Pair, ...]:
        """The pairs of a kind that are listed."""
        return tuple(pair for pair in self.listed if pair.kind == kind)


def pairs_shown(collection: Collection) -> PairsShown:
    """What each pair of attributes of the domain can be analysed by; it follows from the margins and their labels."""
    import networkx as nx

    domain = collection.domain
    finest = {a: level for a, level in collection.finest_levels.items() if level < domain.hierarchy(a).height}
    asked = {a: _distinction(domain.hierarchy(a), level) for a, level in finest.items()}
    bases = dict(bases_of_pairs(collection.margins, asked))
    names = [(a, b) for number, a in enumerate(domain.attributes) for b in domain.attributes[number + 1 :]]
    kinds = {pair: bases[pair].kind.value if pair in bases else UNPUBLISHED for pair in names}
    numbers = {kind: sum(own == kind for own in kinds.values()) for kind in SIGNS}
    if len(domain.attributes) > _MATRIX:
        return PairsShown(domain.attributes, (), numbers)
    linked: nx.Graph[str] = nx.Graph([pair for pair, basis in bases.items() if basis])
    linked.add_nodes_from(asked)
    part = {name: number for number, names in enumerate(nx.connected_components(linked)) for name in names}
    listed = tuple(
        Pair(pair, kind, _in_words(bases[pair], pair, domain), part[pair[0]] == part[pair[1]])
        if pair in bases
        else Pair(pair, kind)
        for pair, kind in kinds.items()
    )
    return PairsShown(domain.attributes, listed, numbers)


def _distinction(hierarchy: Hierarchy, level: int) -> Distinction:
    """Between the values of a level; one with a single value is told of by every table that holds it."""
    coarsest = hierarchy.height - 1
    return Distinction.of_level(hierarchy, level) or Distinction(coarsest, coarsest)


def _in_words(basis: Basis, pair: tuple[str, str], domain: Domain) -> str:
    tables = (" with ".join(shown_at(a, domain.hierarchy(a), margin[a]) for a in pair) for margin in basis.shown)
    return "; or ".join(tables)

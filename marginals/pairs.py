"""Kinds of all pairs of attributes of a release, as the report and the window show them."""

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

from marginals.names import number_of, shown_at
from models.frozen import frozen
from models.graphs.basis import Basis, BasisKind, Distinction, bases_of_pairs
from models.graphs.junction_tree import Collection
from models.tables.hierarchy import Domain

_LISTED = 64  # attributes beyond which pairs are counted and not listed
UNPUBLISHED = "unpublished"  # kind of a pair with an unpublished attribute

# Full, half and empty circle, and a dash.
SIGNS: Mapping[str, str] = MappingProxyType(
    {BasisKind.PUBLISHED: "\u25cf", BasisKind.SUPPORTED: "\u25d0", BasisKind.ASSUMED: "\u25cb", UNPUBLISHED: "\u2013"}
)

ANALYSABLE = (BasisKind.PUBLISHED.value, BasisKind.SUPPORTED.value)


@frozen
class ShownPair:
    """Two attributes, each at its finest published level.

    kind: one of `models.graphs.basis.BasisKind`, or `UNPUBLISHED`. words: both in words, with the finest levels at which one
    table shows them, where one does. is_linked: whether other tables link two that are assumed.
    """

    names: tuple[str, str]
    kind: str
    words: str = ""
    is_linked: bool = False


@frozen
class PairsShown:
    """Pairs of the attributes of a release. pairs: empty if there are too many."""

    attributes: tuple[str, ...]
    pairs: tuple[ShownPair, ...]
    numbers: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of pairs."""
        return sum(self.numbers.values())

    @cached_property
    def kinds(self) -> Mapping[tuple[str, str], str]:
        """The kinds of the pairs that are listed, both ways round."""
        return {names: pair.kind for pair in self.pairs for names in (pair.names, pair.names[::-1])}

    @property
    def description(self) -> str:
        """Numbers of pairs that are exact, supported and lost."""
        exact, supported = (self.numbers[kind] for kind in ANALYSABLE)
        lost = self.total - exact - supported
        return f"Of {number_of(self.total, 'pair')}: {exact:,} exact, {supported:,} supported, {lost:,} lost."


def pairs_shown(collection: Collection) -> PairsShown:
    """Return the kinds of all pairs of the domain; they follow from the margins and their labels."""
    domain = collection.domain
    finest = {a: level for a, level in collection.finest_levels.items() if level < domain.hierarchy(a).height}
    coarsest = {a: domain.hierarchy(a).height - 1 for a in finest}
    of_finest = {a: Distinction.of_level(domain.hierarchy(a), level) for a, level in finest.items()}
    finest_distinctions = {a: of or Distinction(coarsest[a], coarsest[a]) for a, of in of_finest.items()}
    bases = dict(bases_of_pairs(collection.margins, finest_distinctions))
    names = list(combinations(domain.attributes, 2))
    kinds = {pair: bases[pair].kind.value if pair in bases else UNPUBLISHED for pair in names}
    numbers = {kind: sum(pair_kind == kind for pair_kind in kinds.values()) for kind in SIGNS}
    if len(domain.attributes) > _LISTED:
        return PairsShown(domain.attributes, (), numbers)
    part = {name: {name} for name in domain.attributes}
    for a, b in (pair for pair, basis in bases.items() if basis):
        part |= dict.fromkeys(part[a] | part[b], part[a] | part[b])
    pairs = {pair: ShownPair(pair, kind) for pair, kind in kinds.items()}
    for (a, b), basis in bases.items():
        pairs[a, b] = ShownPair((a, b), kinds[a, b], _in_words(basis, (a, b), domain), part[a] == part[b])
    return PairsShown(domain.attributes, tuple(pairs.values()), numbers)


def _in_words(basis: Basis, pair: tuple[str, str], domain: Domain) -> str:
    tables = (" with ".join(shown_at(a, domain.hierarchy(a), margin[a]) for a in pair) for margin in basis.margins)
    return "; or ".join(tables)

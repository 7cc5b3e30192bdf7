"""Collections: the marginals that are published together, whatever their shape."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from models.errors import NotDecomposableError
from models.graphs.interaction_graph import InteractionGraph
from models.graphs.junction_tree import JunctionTree
from models.graphs.support import Support
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask
from models.tables.margin import Margin


@dataclass(frozen=True, eq=False)
class Collection:
    """A generating class of margins over a cube that can count them. Empty margins are left out, repeats too.

    supports: for some attributes the combinations of values that there can be; others are known to be impossible.
    """

    cube: DataCube
    masks: tuple[Mask, ...]
    supports: tuple[Support, ...] = ()

    @classmethod
    def of(cls, cube: DataCube, masks: Iterable[Mask], supports: Iterable[Support] = ()) -> "Collection":
        """The given margins in a reproducible order."""
        return cls(cube, tuple(sorted({mask for mask in masks if mask})), tuple(supports))

    def __repr__(self) -> str:
        return f"Collection({'; '.join(map(str, self.margins))})"

    @property
    def domain(self) -> Domain:
        """The domain of the cube."""
        return self.cube.domain

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The margins, in the order of `masks`."""
        return tuple(map(self.domain.margin, self.masks))

    @property
    def tables(self) -> tuple[ContingencyTable, ...]:
        """The marginals, in the order of `masks`."""
        return tuple(map(self.cube.table, self.masks))

    @cached_property
    def junction_tree(self) -> JunctionTree:
        """The junction tree of the maximal margins. Raises NotDecomposableError when there is none, or not all are free."""
        if self.supports:
            raise NotDecomposableError("combinations of values are known to be impossible, whatever the margins say")
        return JunctionTree.of(self.domain, self.masks)

    @cached_property
    def is_decomposable(self) -> bool:
        """Whether the interaction graph is chordal, every maximal clique is a margin, and there is no support."""
        try:
            _ = self.junction_tree
        except NotDecomposableError:
            return False
        return True

    @cached_property
    def interaction_graph(self) -> InteractionGraph:
        """Which induced attributes the collection shows together."""
        return InteractionGraph.of(self.domain, self.masks)

    @cached_property
    def finest_levels(self) -> Mapping[str, int]:
        """For each attribute of the domain the finest level that some margin shows; that of `*` where none does."""
        union = 0
        for mask in self.masks:
            union |= mask
        return self.domain.levels(union)

    def within(self, mask: Mask) -> "Collection":
        """What the margins say of some induced attributes, with the supports that these hold."""
        held = (support for support in self.supports if not self.domain.mask(support.cells.margin) & ~mask)
        return Collection.of(self.cube, [own & mask for own in self.masks], held)

    def finest_level(self, attribute: str) -> int:
        """The finest level at which some margin shows an attribute; that of `*` when none does.

        Raises DomainMismatchError when the domain has none of that name.
        """
        return self.finest_levels[self.domain.attributes[self.domain.index(attribute)]]

    def shows(self, attribute: str) -> bool:
        """Whether some margin shows an attribute. Raises DomainMismatchError when the domain has none of that name."""
        return self.finest_level(attribute) < self.domain.hierarchy(attribute).height

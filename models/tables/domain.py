"""Domains: the attributes of a table with their hierarchies, and the induced attributes that graphs are drawn on.

KG06 6.1 turns a hierarchy of height h into induced attributes L_1 .. L_h, the steps of the path from `*` down to a
base value. Inside `models` a set of induced attributes is a *mask*, an integer with one bit for each; an attribute's
bits lie together, L_1 lowest, so resolution r of an attribute is a run of r bits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from models.errors import DomainMismatchError
from models.tables.hierarchy import Hierarchy
from models.tables.margin import Margin

Mask: TypeAlias = int
"""A set of induced attributes, one bit each."""


class InducedAttribute(NamedTuple):
    """One step of refinement: what `attribute` says at `level` beyond what it says at `level + 1` (KG06 6.1)."""

    attribute: str
    level: int


def vertices_of(mask: Mask) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(frozen=True)
class Domain:
    """Attributes in their order, each with its hierarchy. Raises DomainMismatchError on a repeated attribute.

    >>> domain = Domain.of({"sex": Hierarchy.flat(["f", "m"]), "age": Hierarchy.from_intervals(["0", "19"], [5, 10])})
    >>> domain
    Domain(sex: 2 values, 1 levels, age: 20 values, 3 levels)
    >>> domain.size({"sex": 0, "age": 1})
    8
    """

    attributes: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]

    def __post_init__(self) -> None:
        if len(set(self.attributes)) != len(self.attributes):
            raise DomainMismatchError("an attribute is named twice in a domain")
        if len(self.attributes) != len(self.hierarchies):
            hierarchy_count = len(self.hierarchies)
            raise DomainMismatchError(f"{len(self.attributes)} attributes came with {hierarchy_count} hierarchies")

    @classmethod
    def of(cls, hierarchies: Mapping[str, Hierarchy]) -> "Domain":
        """The attributes of a mapping, in its order."""
        return cls(tuple(hierarchies), tuple(hierarchies.values()))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{a}: {h.size(0)} values, {h.height} levels" for a, h in self.items())
        return f"Domain({sizes})"

    def items(self) -> Iterator[tuple[str, Hierarchy]]:
        """Pairs of attribute and hierarchy."""
        return zip(self.attributes, self.hierarchies)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {attribute: i for i, attribute in enumerate(self.attributes)}

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Number of the first vertex of each attribute, and after them the number of vertices in all."""
        return tuple(accumulate((h.height for h in self.hierarchies), initial=0))

    @property
    def vertex_count(self) -> int:
        """Number of induced attributes."""
        return self.offsets[-1]

    def index(self, attribute: str) -> int:
        """Position of an attribute. Raises DomainMismatchError when the domain has none of that name."""
        try:
            return self._index[attribute]
        except KeyError:
            names = ", ".join(self.attributes)
            raise DomainMismatchError(f"there is no attribute {attribute!r}; the attributes are {names}") from None

    def hierarchy(self, attribute: str) -> Hierarchy:
        """The hierarchy of an attribute. Raises DomainMismatchError when the domain has none of that name."""
        return self.hierarchies[self.index(attribute)]

    def size(self, margin: Mapping[str, int]) -> int:
        """Number of cells of a margin, empty ones included."""
        cells = 1
        for attribute, level in margin.items():
            cells *= self.hierarchy(attribute).size(level)
        return cells

    def mask(self, margin: Mapping[str, int]) -> Mask:
        """The induced attributes of a margin. Raises DomainMismatchError for an unknown attribute or level."""
        mask = 0
        for attribute, level in margin.items():
            index = self.index(attribute)
            height = self.hierarchies[index].height
            if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= height:
                raise DomainMismatchError(f"{attribute!r} has the levels 0 to {height}, not {level!r}")
            mask |= ((1 << (height - level)) - 1) << self.offsets[index]
        return mask

    def margin(self, mask: Mask) -> Margin:
        """The margin of a valid mask; suppressed attributes are left out.

        Raises DomainMismatchError when the mask skips a step of a path, and so is no generalization (KG06 6.1).
        """
        levels = {}
        for attribute, resolution in self.resolutions(mask & ((1 << self.vertex_count) - 1)):
            levels[attribute] = self.hierarchy(attribute).height - resolution
        if self.mask(levels) != mask:
            raise DomainMismatchError("a set of induced attributes must hold every coarser step of each attribute")
        return Margin(levels)

    def levels(self, mask: Mask) -> dict[str, int]:
        """For each attribute, in the domain's order, the level at which a valid mask shows it: that of `*` if not at all."""
        levels = (
            hierarchy.height - (mask & own).bit_count()
            for hierarchy, own in zip(self.hierarchies, self.attribute_masks)
        )
        return dict(zip(self.attributes, levels))

    @cached_property
    def attribute_masks(self) -> tuple[Mask, ...]:
        """All induced attributes of each attribute."""
        return tuple(((1 << h.height) - 1) << offset for h, offset in zip(self.hierarchies, self.offsets))

    def resolutions(self, mask: Mask) -> Iterator[tuple[str, int]]:
        """Pairs of attribute and resolution (number of induced attributes) for the attributes a mask holds."""
        mask &= (1 << self.vertex_count) - 1
        while mask:
            index = self._attribute_of[(mask & -mask).bit_length() - 1]
            own = self.attribute_masks[index]
            yield self.attributes[index], (mask & own).bit_count()
            mask &= ~own

    @cached_property
    def _attribute_of(self) -> tuple[int, ...]:
        return tuple(i for i, h in enumerate(self.hierarchies) for _ in range(h.height))

    def places(self, mask: Mask) -> Iterator[int]:
        """The positions of the attributes that a mask of this domain shows, ascending."""
        while mask:
            place = self._attribute_of[(mask & -mask).bit_length() - 1]
            yield place
            mask &= ~self.attribute_masks[place]

    def base_pair(self, mask: Mask) -> tuple[int, int] | None:
        """The positions of the two attributes, ascending, that a mask shows at base values; None for other masks."""
        if not mask:
            return None
        first = self._attribute_of[(mask & -mask).bit_length() - 1]
        last = self._attribute_of[mask.bit_length() - 1]
        both = self.attribute_masks[first] | self.attribute_masks[last]
        return (first, last) if first != last and mask == both else None

    @cached_property
    def _cell_counts(self) -> dict[Mask, int]:
        return {}

    def cell_count(self, mask: Mask) -> int:
        """Number of cells of the margin of a valid mask, empty ones included; remembered."""
        cells = self._cell_counts.get(mask)
        if cells is None:
            cells, rest = 1, mask & ((1 << self.vertex_count) - 1)
            while rest:  # as `resolutions`, which searches have no time for
                index = self._attribute_of[(rest & -rest).bit_length() - 1]
                hierarchy, own = self.hierarchies[index], self.attribute_masks[index]
                cells *= hierarchy.size(hierarchy.height - (rest & own).bit_count())
                rest &= ~own
            self._cell_counts[mask] = cells
        return cells

    @cached_property
    def induced_attributes(self) -> tuple[InducedAttribute, ...]:
        """What each vertex number stands for."""
        return tuple(
            InducedAttribute(attribute, level)
            for attribute, hierarchy in self.items()
            for level in range(hierarchy.height - 1, -1, -1)
        )

    @cached_property
    def _own_masks(self) -> tuple[Mask, ...]:
        return tuple(own for own in self.attribute_masks for _ in vertices_of(own))

    def coarser_steps(self, vertex: int) -> Mask:
        """The steps of the same attribute that come before an induced attribute: L_1 .. L_{i-1} for L_i."""
        return self._own_masks[vertex] & ((1 << vertex) - 1)

    def finer_steps(self, vertex: int) -> Mask:
        """The steps of the same attribute that come after an induced attribute: L_{i+1} .. L_h for L_i."""
        return self._own_masks[vertex] >> (vertex + 1) << (vertex + 1)

    def same_attribute(self, first: int, second: int) -> bool:
        """Whether two induced attributes refine the same attribute."""
        return self._own_masks[first] == self._own_masks[second]

    def all_steps(self, mask: Mask) -> Mask:
        """The steps, finer ones too, of all attributes that a mask shows."""
        steps = 0
        while mask:
            own = self._own_masks[(mask & -mask).bit_length() - 1]
            steps |= own
            mask &= ~own
        return steps

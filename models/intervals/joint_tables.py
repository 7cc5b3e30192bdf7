"""Joint tables: of attributes that no published table need have together, which what is published tells something of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from models.intervals.classification import Classification
from models.intervals.coverage import Attributes, is_covered, missing
from models.intervals.families import Family, TableFamilies, finest_values, joint_families


@dataclass(frozen=True)
class JointLimits:
    """How many joint tables are made. attributes: that each has, besides those that all tables have. cells: of all tables
    together. wide: cells that a table of more attributes may have, for each cell of those that all tables have; it is made
    where nothing less shows that counts which fit are those of a population.
    """

    attributes: int = 3
    cells: int = 2_000_000
    wide: int = 2_000


JOINT_LIMITS = JointLimits()


@dataclass(frozen=True)
class JointTables:
    """tables: the joint ones. covered: of each published table, then of each joint one, whether whatever counts it has in
    whole numbers that fit all ranges and equations it has in some population. left_out: attributes of those with too many
    cells.
    """

    tables: tuple[TableFamilies, ...]
    covered: tuple[bool, ...]
    left_out: tuple[tuple[str, ...], ...]


def joint_tables(
    published: Sequence[TableFamilies], classifications: Sequence[Classification], limits: JointLimits = JOINT_LIMITS
) -> JointTables:
    """The joint tables of all combinations of a few attributes, and wider ones where these leave it open what is possible.

    One table alone needs none.
    """
    if len(published) == 1:
        return JointTables((), (True,), ())
    drawn = _Draft(published, classifications, limits)
    for attributes in drawn.narrow():
        drawn.add(frozenset(attributes))
    shown = [frozenset(table.attributes) for table in published]
    if not all(drawn.covered(shown)):
        drawn.widen(shown)
    return JointTables(tuple(drawn.made), tuple(drawn.covered(shown)), tuple(drawn.left_out))


class _Draft:
    """Joint tables that are being chosen."""

    def __init__(
        self, published: Sequence[TableFamilies], classifications: Sequence[Classification], limits: JointLimits
    ) -> None:
        self.published, self.classifications, self.limits = published, classifications, limits
        self.values = finest_values(published, classifications)
        self.size = sum(family.size for each in published for family in each.families)
        self.made: list[TableFamilies] = []
        self.left_out: list[tuple[str, ...]] = []
        self.names = sorted({name for table in published for name in table.attributes})
        self.common = frozenset(
            name for name in self.names if all(name in table.attributes or not table.attributes for table in published)
        )
        self.complete: list[Attributes] = [
            frozenset(table.attributes)
            for table in published
            if table.finest == joint_families(self.values, classifications, table.attributes).finest
        ]

    def narrow(self) -> Iterator[tuple[str, ...]]:
        """The attributes of joint tables: those that all tables have, such as a geography, and as many others as may be."""
        others = [name for name in self.names if name not in self.common]
        if self.limits.attributes and self.names:
            for chosen in combinations(others, min(self.limits.attributes, len(others))):
                yield (*self.common, *chosen)

    def add(self, attributes: Attributes) -> None:
        """Make the table of some attributes, unless it has too many cells or is published."""
        own = joint_families(self.values, self.classifications, attributes)
        if attributes in self.complete:
            return
        if self.size + 2 * own.finest.size > self.limits.cells:
            self.left_out.append(own.attributes)
            return
        self.size += 2 * own.finest.size
        self.made.append(own)
        self.complete.append(attributes)

    def widen(self, shown: Sequence[Attributes]) -> None:
        """Make the table of all attributes, or of those whose joint tables are missing, where it is not too large."""
        every = frozenset(self.names)
        wanted = [every] if self._is_small(every) else missing(shown, self.complete)
        for attributes in wanted:
            if self._is_small(attributes):
                self.add(attributes)

    def covered(self, shown: Sequence[Attributes]) -> list[bool]:
        """Of each published table, then of each joint one, whether a junction tree covers it with all published ones."""
        whole = is_covered(shown, self.complete)
        return [
            *(whole for _ in self.published),
            *(whole and is_covered([*shown, frozenset(joint.attributes)], self.complete) for joint in self.made),
        ]

    def _is_small(self, attributes: Attributes) -> bool:
        """Whether a table has few cells for each cell of the attributes that all tables have."""
        return self._cells(attributes | self.common).size <= self.limits.wide * self._cells(self.common).size

    def _cells(self, attributes: Attributes) -> Family:
        return joint_families(self.values, self.classifications, attributes).finest

"""The basis of an answer: a published table, a table that is coarser than the question, or an assumption of the model.

An answer distinguishes values of some attributes in groups: counts by 5-year bands of age, or "Female" against all
others. For each attribute two levels matter (`Distinction`): the coarsest one whose values sum to the groups, and the
coarsest one that separates any two groups. A margin *settles* an attribute at the first level or a finer one, and
*tells of* it at the second or a finer one. Then the answer is

- *published* if one margin settles all its attributes: it consists of sums of cells of that marginal. No other answer
  follows from the equations of the marginals alone. The projections on the spaces that margins span commute. So a
  product of functions of single attributes lies in the sum of these spaces only if it lies in one of them.
- *supported* if one margin tells of all its attributes: beyond the detail of that margin, the answer is the model's.
- *assumed* otherwise. The maximum-entropy distribution is a product of functions of the margins, so attributes that no
  margin tells of together do not interact in it. Two of them have an odds ratio of 1 given all others, whatever the
  data. The values of an attribute that no margin tells of are equally likely. These are assumptions, not findings
  about the data.

Cliques of a chordal graph are margins. So if a collection has a junction tree, attributes that are told of in pairs
are told of all together. So the smallest groups without a margin are single attributes and pairs. Other collections
can have larger groups, such as the three attributes of three pairs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np

from models.arrays import CodeArray, IndexArray
from models.frozen import frozen
from models.tables.hierarchy import Hierarchy, Margin

NOT_ASKED = -1
"""Group number of base values that an answer leaves out."""

NO_LEVEL = -1
"""Level below all levels: no table is as fine."""


class BasisKind(StrEnum):
    """Degree to which published tables back an answer."""

    PUBLISHED = "published"
    SUPPORTED = "supported"
    ASSUMED = "assumed"
    NONE = "none"
    """An answer without an estimate: only its bounds hold."""

    def __repr__(self) -> str:
        return repr(self.value)


@frozen
class Distinction:
    """Coarsest level whose values each lie in one group of an answer, and coarsest level that separates two groups.

    The second level is as coarse or coarser. Either may be `NO_LEVEL`.
    """

    constant_level: int
    separating_level: int

    @classmethod
    def of_level(cls, hierarchy: Hierarchy, level: int) -> "Distinction | None":
        """Return the distinction between the values of a level; None if the level has one value only."""
        return cls.of_groups(hierarchy, 0, hierarchy.lift(0, level).astype(np.intp))

    @classmethod
    def of_groups(cls, hierarchy: Hierarchy, finest: int, groups: IndexArray) -> "Distinction | None":
        """Return the distinction between groups of base values; None if there is one group of all values, or none.

        groups: the group of each base value, shape (size(0),), `NOT_ASKED` if the answer leaves it out. A single group
        is separated from the values left out, several groups from each other. finest: the finest published level. Base
        values below it are taken to be equally likely, so groups with equal shares of its values are separated by no
        table.
        """
        compared = np.where(groups < 0, NOT_ASKED, groups)
        inside = compared >= 0
        if not inside.any() or np.all(compared == compared[0]):
            return None
        settled = NO_LEVEL
        while settled < hierarchy.height and _is_constant(compared, hierarchy.lift(0, settled + 1)):
            settled += 1
        if np.all(compared[inside] == compared[inside][0]):
            compared, inside = inside.astype(np.intp), np.ones_like(inside)
        separating = hierarchy.height
        while separating > NO_LEVEL and np.ptp(hierarchy.lift(0, separating)[inside]) == 0:
            separating -= 1
        if settled < finest <= separating and _has_equal_shares(compared[inside], hierarchy.lift(0, finest)[inside]):
            separating = finest - 1
        return cls(settled, max(separating, settled))


def _is_constant(groups: IndexArray, codes: CodeArray) -> bool:
    of_code = np.empty(int(codes.max()) + 1, dtype=groups.dtype)
    of_code[codes] = groups
    return bool(np.array_equal(of_code[codes], groups))


def _has_equal_shares(groups: IndexArray, codes: CodeArray) -> bool:
    pairs, counts = np.unique(np.stack([codes, groups]).astype(np.intp), axis=1, return_counts=True)
    of_code, of_group = np.bincount(codes), np.bincount(groups)
    present = np.count_nonzero(of_code), np.count_nonzero(of_group)
    return len(counts) == present[0] * present[1] and bool(
        np.all(counts * len(groups) == of_code[pairs[0]] * of_group[pairs[1]])
    )


@frozen
class Basis:
    """Published margins or assumptions that an answer rests on.

    margins: the finest published margins, over the attributes of the answer, that tell of all of them. They are empty
    if the answer is assumed or needs no table. assumed: the smallest groups of attributes that no margin tells of
    together.
    """

    kind: BasisKind
    margins: tuple[Margin, ...] = ()
    assumed: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if (self.kind is BasisKind.ASSUMED) != bool(self.assumed):
            raise ValueError(
                f"an answer is assumed if and only if attributes are named, not {self.kind} with {self.assumed}"
            )

    def __bool__(self) -> bool:
        return self.kind is not BasisKind.ASSUMED

    def as_json(self) -> dict[str, Any]:
        """Return the basis as plain values."""
        return {"kind": self.kind.value, "assumed": self.assumed, "shown": tuple(map(dict, self.margins))}

    def __repr__(self) -> str:
        groups = (" and ".join(group) for group in self.assumed)
        return f"Basis({'; '.join([self.kind.value, *groups, *map(str, self.margins)])})"


CERTAIN = Basis(BasisKind.PUBLISHED)
"""Basis of an answer that follows from the published counts, even if no single table shows it."""


def basis_of(margins: Iterable[Margin], distinctions: Mapping[str, Distinction]) -> Basis:
    """Return the basis of an answer among published margins.

    Parameters
    ----------
    margins
        The published margins.
    distinctions
        By attribute of the answer, the levels that it distinguishes.
    """
    if not distinctions:
        return CERTAIN
    published = list(margins)
    telling = [
        margin for margin in published if _all_at_most(margin, {a: d.separating_level for a, d in distinctions.items()})
    ]
    if not telling:
        return Basis(BasisKind.ASSUMED, (), _untold_groups(published, distinctions))
    settles = {a: d.constant_level for a, d in distinctions.items()}
    kind = BasisKind.PUBLISHED if any(_all_at_most(margin, settles) for margin in telling) else BasisKind.SUPPORTED
    return Basis(kind, _finest([Margin({a: margin[a] for a in distinctions}) for margin in telling]))


def bases_of_pairs(
    margins: Iterable[Margin], distinctions: Mapping[str, Distinction]
) -> Iterator[tuple[tuple[str, str], Basis]]:
    """Yield the basis of an answer about each pair of attributes, in the order of `distinctions`."""
    published = list(margins)
    telling = {a: [m for m in published if a in m and m[a] <= d.separating_level] for a, d in distinctions.items()}
    for a, b in combinations(distinctions, 2):
        if both := [m for m in telling[a] if b in m and m[b] <= distinctions[b].separating_level]:
            yield (a, b), basis_of(both, {a: distinctions[a], b: distinctions[b]})
        else:
            untold = tuple((attribute,) for attribute in (a, b) if not telling[attribute])
            yield (a, b), Basis(BasisKind.ASSUMED, (), untold or ((a, b),))


def _all_at_most(margin: Margin, levels: Mapping[str, int]) -> bool:
    return all(attribute in margin and margin[attribute] <= level for attribute, level in levels.items())


def _finest(margins: Sequence[Margin]) -> tuple[Margin, ...]:
    distinct = list(dict.fromkeys(margins))
    return tuple(m for m in distinct if not any(other != m and _all_at_most(other, m) for other in distinct))


def _untold_groups(margins: Sequence[Margin], distinctions: Mapping[str, Distinction]) -> tuple[tuple[str, ...], ...]:
    """Return single attributes and pairs that no margin tells of together; if there are none, one smallest larger group."""
    groups_told = [
        frozenset(a for a, d in distinctions.items() if a in m and m[a] <= d.separating_level) for m in margins
    ]
    attributes_told = frozenset().union(*groups_told)
    pairs = {pair for group in set(groups_told) for pair in combinations([a for a in distinctions if a in group], 2)}
    single = [(a,) for a in distinctions if a not in attributes_told]
    apart = [pair for pair in combinations([a for a in distinctions if a in attributes_told], 2) if pair not in pairs]
    if single or apart:
        return (*single, *apart)
    group = list(distinctions)
    for attribute in distinctions:
        rest = [a for a in group if a != attribute]
        if not any(told_group.issuperset(rest) for told_group in groups_told):
            group = rest
    return (tuple(group),)

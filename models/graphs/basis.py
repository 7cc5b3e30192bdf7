"""What an answer rests on: a published table, one that is coarser than asked, or an assumption of the model.

An answer tells the values of some attributes apart, in groups: counts by 5-year bands of age, or "Female" against all
others. Of each attribute two levels matter (`Distinction`): that from which on tables are too coarse to give the groups by
sums, and that from which on they tell no two groups apart. Let a margin *settle* an attribute at the first or a finer one,
and *tell of* it at the second or a finer one. Then the answer is

- *published* if one margin settles all the attributes: it is made of sums of cells of that marginal. No other answer is the
  same in all tables with the same marginals by their equations alone: a product of functions of single attributes lies in
  the sum of the spaces that margins span only if it lies in one of them, since the projections on these commute.
- *supported* if one margin tells of all of them: finer than that margin, the answer is that of the model.
- *assumed* otherwise. The maximum-entropy distribution is a product of functions of the margins, so attributes that no
  margin tells of together do not interact in it, whatever the data: two of them have an odds ratio of 1 given all others,
  and the values of one that no margin tells of are equally likely. That is an assumption, and no finding about the data.

In a collection with a junction tree, attributes of which each two are told of together are told of together all (cliques
of a chordal graph are margins), so the smallest groups without a margin are single attributes and pairs. In others there can
be larger ones, as in the three pairs of three attributes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np

from models.arrays import CodeArray, IndexArray
from models.tables.hierarchy import Hierarchy, Margin

NOT_ASKED = -1
"""The group of base values that an answer leaves out."""

NO_LEVEL = -1
"""Finer than all levels: no table is as fine."""


class Kind(StrEnum):
    """How far published tables back an answer."""

    PUBLISHED = "published"
    SUPPORTED = "supported"
    ASSUMED = "assumed"
    NONE = "none"
    """Of an answer without an estimate: only its bounds hold."""

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Distinction:
    """The coarsest level of which each value lies in one group of an answer, and the coarsest one that tells two apart.

    The second is as coarse or coarser. Either may be `NO_LEVEL`.
    """

    constant_level: int
    separating_level: int

    @classmethod
    def of_level(cls, hierarchy: Hierarchy, level: int) -> "Distinction | None":
        """Between the values of a level; None where it has one value only."""
        if hierarchy.size(level) < 2:
            return None
        same = (other for other in range(hierarchy.height, level, -1) if hierarchy.size(other) == hierarchy.size(level))
        several = (other for other in range(hierarchy.height, level, -1) if hierarchy.size(other) > 1)
        return cls(next(same, level), next(several, level))

    @classmethod
    def of_groups(cls, hierarchy: Hierarchy, finest: int, groups: IndexArray) -> "Distinction | None":
        """Between groups of base values; None where there is one group, of all values, or none.

        groups: the group of each base value, shape (size(0),), `NOT_ASKED` where the answer leaves it out. One group is
        told apart from what is left out, several from each other. finest: the finest published level, below which base
        values are taken to be equally likely: no table tells groups apart that its values have equal shares of.
        """
        asked = np.where(groups < 0, NOT_ASKED, groups)
        inside = asked >= 0
        if not inside.any() or np.all(asked == asked[0]):
            return None
        settled = NO_LEVEL
        while settled < hierarchy.height and _is_constant(asked, hierarchy.lift(0, settled + 1)):
            settled += 1
        if np.all(asked[inside] == asked[inside][0]):
            asked, inside = inside.astype(np.intp), np.ones_like(inside)
        told = hierarchy.height
        while told > NO_LEVEL and np.ptp(hierarchy.lift(0, told)[inside]) == 0:
            told -= 1
        if settled < finest <= told and _has_equal_shares(asked[inside], hierarchy.lift(0, finest)[inside]):
            told = finest - 1
        return cls(settled, max(told, settled))


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


@dataclass(frozen=True)
class Basis:
    """What an answer rests on.

    shown: the finest published margins of the attributes that tell of all of them; empty if the answer is assumed, or
    needs no table. assumed: the smallest groups of attributes that no margin tells of together.
    """

    kind: Kind
    shown: tuple[Margin, ...] = ()
    assumed: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if (self.kind is Kind.ASSUMED) != bool(self.assumed):
            raise ValueError(
                f"an answer is assumed if and only if attributes are named, not {self.kind} with {self.assumed}"
            )

    def __bool__(self) -> bool:
        return self.kind is not Kind.ASSUMED

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"kind": self.kind.value, "assumed": self.assumed, "shown": tuple(map(dict, self.shown))}

    def __repr__(self) -> str:
        groups = (" and ".join(group) for group in self.assumed)
        return f"Basis({'; '.join([self.kind.value, *groups, *map(str, self.shown)])})"


CERTAIN = Basis(Kind.PUBLISHED)
"""The basis of an answer that follows from the published counts, whether or not one table shows it."""


def basis_of(margins: Iterable[Margin], asked: Mapping[str, Distinction]) -> Basis:
    """What an answer about some attributes, each with the distinction that it makes, rests on among published margins."""
    if not asked:
        return CERTAIN
    known = list(margins)
    telling = [margin for margin in known if _all_at_most(margin, {a: d.separating_level for a, d in asked.items()})]
    if not telling:
        return Basis(Kind.ASSUMED, (), _untold_groups(known, asked))
    settles = {a: d.constant_level for a, d in asked.items()}
    kind = Kind.PUBLISHED if any(_all_at_most(margin, settles) for margin in telling) else Kind.SUPPORTED
    return Basis(kind, _finest([Margin({a: margin[a] for a in asked}) for margin in telling]))


def bases_of_pairs(
    margins: Iterable[Margin], asked: Mapping[str, Distinction]
) -> Iterator[tuple[tuple[str, str], Basis]]:
    """For each two attributes, in the order of `asked`, what an answer about the two of them rests on."""
    known = list(margins)
    telling = {a: [m for m in known if a in m and m[a] <= d.separating_level] for a, d in asked.items()}
    for a, b in combinations(asked, 2):
        if both := [m for m in telling[a] if b in m and m[b] <= asked[b].separating_level]:
            yield (a, b), basis_of(both, {a: asked[a], b: asked[b]})
        else:
            untold = tuple((attribute,) for attribute in (a, b) if not telling[attribute])
            yield (a, b), Basis(Kind.ASSUMED, (), untold or ((a, b),))


def _all_at_most(margin: Margin, levels: Mapping[str, int]) -> bool:
    return all(attribute in margin and margin[attribute] <= level for attribute, level in levels.items())


def _finest(margins: Sequence[Margin]) -> tuple[Margin, ...]:
    distinct = list(dict.fromkeys(margins))
    return tuple(m for m in distinct if not any(other != m and _all_at_most(other, m) for other in distinct))


def _untold_groups(margins: Sequence[Margin], asked: Mapping[str, Distinction]) -> tuple[tuple[str, ...], ...]:
    """Single attributes and pairs that no margin tells of together; where all are, one smallest group of more."""
    told = [frozenset(a for a, d in asked.items() if a in m and m[a] <= d.separating_level) for m in margins]
    known = frozenset().union(*told)
    pairs = {pair for group in set(told) for pair in combinations([a for a in asked if a in group], 2)}
    alone = [(a,) for a in asked if a not in known]
    apart = [pair for pair in combinations([a for a in asked if a in known], 2) if pair not in pairs]
    if alone or apart:
        return (*alone, *apart)
    group = list(asked)
    for attribute in asked:
        rest = [a for a in group if a != attribute]
        if not any(told_group.issuperset(rest) for told_group in told):
            group = rest
    return (tuple(group),)

"""Hierarchies, domains and margins: how values merge level by level, and which levels a table shows."""

from collections.abc import Collection as AnyCollection
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence
from copy import copy
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from models.arrays import CodeArray, CountArray, IndexArray, read_only, smallest_code_dtype
from models.errors import DomainMismatchError, HierarchyError
from models.frozen import frozen

SUPPRESSED = "*"

MISSING = "missing"
"""Value of rows that have none."""

_MAX_GRID = 1_000_000
"""Longest integer range that is filled up with the integers that nobody has."""
_MAX_INT64 = np.iinfo(np.int64).max

MAX_LEVELS, MAX_LABELS = 1000, 4_000_000
"""Most levels of a hierarchy, and most labels of all its levels. A million whole numbers have a quarter of these labels
if each level has half as many as the one below."""


def check_widths(widths: Sequence[int | Decimal]) -> None:
    """Raise HierarchyError unless intervals of these widths nest."""
    exact = list(map(Fraction, widths))
    nest = all(width > 0 for width in exact) and not any(wide <= fine or wide % fine for fine, wide in pairwise(exact))
    _check_steps(widths, nest, "each interval width must be a proper multiple of the one before")


def check_lengths(lengths: Sequence[int]) -> None:
    """Raise HierarchyError unless each prefix is shorter than the one before."""
    fall = all(length > 0 for length in lengths) and all(long > short for long, short in pairwise(lengths))
    _check_steps(lengths, fall, "prefix lengths must be positive and fall from level to level")


def _check_steps(steps: Sequence[int | Decimal], are_valid: bool, rule: str) -> None:
    if not are_valid:
        step_list = ", ".join(map(str, steps))
        raise HierarchyError(f"{rule}, got [{step_list if len(step_list) <= 200 else step_list[:200] + '...'}]")
    _check_height(len(steps))


def _check_height(levels: int) -> None:
    if levels > MAX_LEVELS:
        raise HierarchyError(f"a hierarchy has at most {MAX_LEVELS:,} levels, not {levels:,}; leave some out")


@frozen
class Hierarchy:
    """Totally ordered generalizations of one attribute.

    labels: `labels[level][code]` names a value. Level 0 holds the base values, and the last level, `height`, only `*`.
    A hierarchy of height 0 says nothing about its attribute. Codes follow the order of first appearance. parents:
    `parents[level][code]` is the code of that value at `level + 1`. order: codes of the base values that lie on a
    line, lowest first, without values such as "missing"; None if there is no order. has_names: whether labels are
    plain names, even if they look like numbers or intervals. level_names: the name of each level that is also known as
    an attribute by itself, empty for others; or none at all. Raises HierarchyError for a repeated label or one that is
    no text, for a missing parent, and for an order of other values.

    >>> Hierarchy.from_rows([("Ulm", "Germany", "*"), ("Jena", "Germany", "*"), ("Ely", "England", "*")]).labels[1]
    ('Germany', 'England')
    """

    labels: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...] | None = None
    has_names: bool = False
    level_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels or self.labels[-1] != (SUPPRESSED,):
            raise HierarchyError(f"a hierarchy needs a last level that is all {SUPPRESSED!r}")
        _check_height(self.height)
        if len(self.parents) != self.height:
            raise HierarchyError(f"{self.height + 1} levels need {self.height} parent maps, got {len(self.parents)}")
        if len(self.level_names) not in (0, self.height + 1):
            raise HierarchyError(f"{self.height + 1} levels need as many names, or none, got {len(self.level_names)}")
        for level, (children, parents, above) in enumerate(zip(self.labels, self.parents, self.labels[1:])):
            if not all(issubclass(kind, str) for kind in set(map(type, children))):
                raise HierarchyError(f"the labels of level {level} must be texts")
            if len(set(children)) != len(children):
                raise HierarchyError(f"level {level} names a value twice")
            if len(parents) != len(children) or set(parents) != set(range(len(above))):
                raise HierarchyError(f"the values of level {level} do not cover those of level {level + 1}")
        self._check_order()

    def _check_order(self) -> None:
        if not set(self.order or ()) <= set(range(self.size(0))):
            raise HierarchyError("an order is one of base values")
        if len(set(self.order or ())) < len(self.order or ()):
            raise HierarchyError("an order has a base value twice")

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], most_labels: int = MAX_LABELS) -> "Hierarchy":
        """Build a hierarchy from one row per base value, `value, level1, ..., *`: the content of an ARX hierarchy file.

        Raises HierarchyError with the number, from 1, of the first row that is ragged, repeated, not nested or does
        not end in `*`. Raises it also for more than `most_labels` labels at all levels together.
        """
        codes: list[dict[str, int]] = []
        parents: list[list[int]] = []
        remaining = most_labels
        if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
            raise HierarchyError('a hierarchy is a list of rows such as ("Ulm", "Germany", "*")')
        for number, row in enumerate(rows, 1):
            if isinstance(row, str | bytes) or not isinstance(row, Sequence):
                raise HierarchyError(f'row {number} is no row of labels such as ("Ulm", "Germany", "*")')
            if not codes:
                if len(row) < 2 and list(row) != [SUPPRESSED]:
                    raise HierarchyError(
                        f"row 1 has {len(row)} column; a row is a value, its generalizations, and {SUPPRESSED}"
                    )
                _check_height(len(row) - 1)
                codes, parents = [{} for _ in row], [[] for _ in row[1:]]
            if len(row) != len(codes):
                raise HierarchyError(f"row {number} has {len(row)} columns where row 1 has {len(codes)}")
            if row[-1] != SUPPRESSED:
                raise HierarchyError(f"row {number} does not end in {SUPPRESSED}")
            if row[0] in codes[0]:
                raise HierarchyError(f"row {number} repeats the base value of an earlier row")
            path = [codes_of_level.setdefault(label, len(codes_of_level)) for codes_of_level, label in zip(codes, row)]
            for level, (parent_codes, code, parent) in enumerate(zip(parents, path, path[1:])):
                if code == len(parent_codes):
                    parent_codes.append(parent)
                    remaining -= 1
                elif parent_codes[code] != parent:
                    raise HierarchyError(
                        f"row {number} is not nested: its value at level {level} is under another value "
                        f"of level {level + 1} in an earlier row"
                    )
            if remaining < 0:
                raise HierarchyError(f"there are more than {most_labels} labels, those of all levels counted")
        if not codes:
            raise HierarchyError("a hierarchy needs at least one row")
        return cls(tuple(tuple(codes_of_level) for codes_of_level in codes), tuple(map(tuple, parents)))

    @classmethod
    def flat(cls, values: Iterable[str]) -> "Hierarchy":
        """Build a hierarchy that publishes or suppresses: the given distinct values under one `*`.

        >>> Hierarchy.flat(["no", "yes"]).labels
        (('no', 'yes'), ('*',))
        """
        return cls.from_rows((value, SUPPRESSED) for value in values)

    @classmethod
    def from_prefixes(cls, values: Iterable[str], lengths: Sequence[int]) -> "Hierarchy":
        """Build a hierarchy of strings (postcodes, ICD codes) cut to ever shorter prefixes; `*` replaces each character
        cut off.

        Raises HierarchyError for lengths that do not fall.

        >>> Hierarchy.from_prefixes(["14850", "14853", "13063"], [4, 2]).labels[1:3]
        (('1485*', '1306*'), ('14***', '13***'))
        """
        check_lengths(lengths)
        return cls.from_rows(
            (value, *(value[:length] + "*" * max(len(value) - length, 0) for length in lengths), SUPPRESSED)
            for value in values
        )

    @classmethod
    def from_intervals(
        cls,
        values: Iterable[str],
        widths: Sequence[int],
        start: int = 0,
        apart: Sequence[int] = (),
        *,
        full: bool = True,
    ) -> "Hierarchy":
        """Build a hierarchy of whole numbers in intervals of growing width, counted from `start`.

        apart: numbers that are intervals by themselves at the first width, and divide the interval around them. The
        base values are all whole numbers of the outermost intervals that the given values touch. So the hierarchy
        reveals no more about the data than those intervals do. Without `full` they are the given values, and one of
        each interval. If no number is negative and `start` is positive, no interval reaches below 0. Raises
        HierarchyError for widths that do not divide, or other values.

        >>> Hierarchy.from_intervals(["23", "41"], [10, 20]).labels[1:3]
        (('20-29', '30-39', '40-49', '50-59'), ('20-39', '40-59'))
        >>> Hierarchy.from_intervals(["23", "41"], [10], apart=[40, 25]).labels[1]
        ('20-24', '25', '26-29', '30-39', '40', '41-49')
        >>> Hierarchy.from_intervals(["0", "7"], [5], start=1).labels[1]
        ('0', '1-5', '6-10')
        """
        numbers = []
        for position, value in enumerate(values, 1):
            try:
                numbers.append(int(value))
            except ValueError:
                raise HierarchyError(f"value {position} is not a whole number, which intervals need") from None
        return cls._binned(numbers, (widths, start, apart), None, full)

    @classmethod
    def from_decimal_intervals(
        cls,
        numbers: Iterable[Decimal],
        widths: Sequence[Decimal],
        start: Decimal = Decimal(0),
        apart: Sequence[Decimal] = (),
        *,
        full: bool = True,
    ) -> "Hierarchy":
        """Build a hierarchy of numbers in intervals of growing width, counted from `start`: `18.5-<25` holds 18.5 and
        not 25.

        It works like `from_intervals`. The base values have as many decimals as the numbers, widths and start. If
        these are too many, the base values are the given numbers.

        >>> bands = Hierarchy.from_decimal_intervals([Decimal("18.5"), Decimal("21")], [Decimal("2.5"), Decimal("5")])
        >>> bands.labels[1:3]
        (('15-<17.5', '17.5-<20', '20-<22.5', '22.5-<25'), ('15-<20', '20-<25'))
        >>> Hierarchy.from_decimal_intervals([Decimal("0.5")], [Decimal(1)], apart=[Decimal("0.5")]).labels[1]
        ('0-<0.5', '0.5-<0.6', '0.6-<1')
        """
        distinct, exact = set(numbers), Context(prec=400)
        last_digits = [number.normalize(exact).as_tuple() for number in (*distinct, *widths, start, *apart)]
        exponents = [digits.exponent for digits in last_digits if isinstance(digits.exponent, int)]
        if len(exponents) < len(last_digits):
            raise HierarchyError("intervals are of numbers, not of infinity or what is no number")
        return cls._binned(distinct, (widths, start, apart), max(-min(exponents), 0), full)

    @classmethod
    def _binned(
        cls,
        numbers: Iterable[int | Decimal],
        intervals: tuple[Sequence[int | Decimal], int | Decimal, Sequence[int | Decimal]],
        decimals: int | None,
        full: bool,
    ) -> "Hierarchy":
        """Build intervals in units of the last decimal; without decimals the end of an interval is inside, else outside."""
        widths, start, apart = intervals
        check_widths(widths)
        unit = 10 ** (decimals or 0)
        values = [above * unit // below for above, below in (number.as_integer_ratio() for number in numbers)]
        steps, single, (first,) = ([int(Fraction(n) * unit) for n in scaled] for scaled in (widths, apart, [start]))
        if not values or not steps:
            raise HierarchyError("intervals need at least one width and one value")

        def spelled(number: int) -> str:
            quotient, fraction = divmod(abs(number), unit)
            decimal = f".{fraction:0{decimals}d}".rstrip("0").rstrip(".") if fraction else ""
            return f"{'-' if number < 0 else ''}{quotient}{decimal}"

        def label(low: int, end: int) -> str:
            if decimals is None:
                return f"{low}-{end - 1}" if end - low > 1 else str(low)
            return f"{spelled(low)}-<{spelled(end)}"

        offsets = np.array(sorted({number - first for number in values}), dtype=object)
        low, high = offsets[0] // steps[-1] * steps[-1], (offsets[-1] // steps[-1] + 1) * steps[-1]
        if first > 0 and offsets[0] >= -first > low:
            low = -first
        dtype = np.int64 if low > -_MAX_INT64 and high < _MAX_INT64 else object
        cuts = sorted({end for number in single for end in (number - first, number - first + 1) if low < end < high})
        lower = offsets.astype(dtype)
        if high - low <= _MAX_GRID:
            first_of_each = np.arange(low // steps[0] * steps[0], high, 1 if full else steps[0], dtype=dtype)
            lower = np.union1d(np.maximum(first_of_each, low), [*offsets, *cuts])
        labels, parents = [tuple(map(str if decimals is None else spelled, (lower + first).tolist()))], []
        for step in steps:
            bounds = np.array([low, *cuts, high], dtype=lower.dtype)
            begins = np.maximum(lower // step * step, bounds[np.searchsorted(bounds, lower, side="right") - 1])
            lower, code = np.unique(begins, return_inverse=True)
            ends = np.minimum(lower // step * step + step, bounds[np.searchsorted(bounds, lower, side="right")])
            labels.append(tuple(map(label, (lower + first).tolist(), (ends + first).tolist())))
            parents.append(tuple(code.tolist()))
            cuts = []
        return cls((*labels, (SUPPRESSED,)), (*parents, (0,) * len(lower)))

    @property
    def height(self) -> int:
        """Level of `*`."""
        return len(self.labels) - 1

    def size(self, level: int) -> int:
        """Return the number of values at a level."""
        return len(self.labels[level])

    @cached_property
    def _generalizations(self) -> tuple[CodeArray, ...]:
        maps: list[CodeArray] = [np.arange(self.size(0), dtype=smallest_code_dtype(self.size(0)))]
        for parents, above in zip(self.parents, self.labels[1:]):
            maps.append(np.array(parents, dtype=smallest_code_dtype(len(above)))[maps[-1]])
        return tuple(map(read_only, maps))

    def lift(self, fine: int, coarse: int) -> CodeArray:
        """Return codes at level `coarse` of the values at level `fine`: shape (size(fine),), smallest unsigned dtype."""
        if not 0 <= fine <= coarse <= self.height:
            raise HierarchyError(f"cannot lift level {fine} to level {coarse} of a hierarchy of height {self.height}")
        if fine == 0:
            return self._generalizations[coarse]
        lifted = np.zeros(self.size(fine), dtype=smallest_code_dtype(self.size(coarse)))
        lifted[self._generalizations[fine]] = self._generalizations[coarse]
        return lifted

    def leaf_counts(self, level: int) -> CountArray:
        """Return the number of base values under each value of a level: shape (size(level),)."""
        return self._leaf_counts[level]

    @cached_property
    def _leaf_counts(self) -> tuple[CountArray, ...]:
        counted = (np.bincount(codes, minlength=self.size(level)) for level, codes in enumerate(self._generalizations))
        return tuple(read_only(counts.astype(np.int64)) for counts in counted)

    def ordered_by(self, labels: Sequence[str]) -> "Hierarchy":
        """Return the hierarchy with an order of its base values, lowest first; other values have no place in it.

        Raises HierarchyError for a label that is no base value, or is named twice.

        >>> Hierarchy.flat(["high", "low", "unknown"]).ordered_by(["low", "high"]).order
        (1, 0)
        """
        is_ascending, ordered = tuple(labels) == self.labels[0], copy(self)
        vars(ordered)["order"] = tuple(range(len(labels)) if is_ascending else map(self._codes[0].get, labels))
        ordered._check_order()
        return ordered

    def order_among(self, level: int, codes: Iterable[int]) -> tuple[int, ...] | None:
        """Return some values of a level, lowest first.

        None if a base value of one of them has no place, or if the base values of two of them are interleaved.

        >>> ages = Hierarchy.from_rows([("1", "odd", "*"), ("2", "even", "*"), ("3", "odd", "*")]).ordered_by("123")
        >>> ages.order_among(0, [2, 0]), ages.order_among(1, [0, 1])
        ((0, 2), None)
        """
        if self.order is None:
            return None
        above, chosen = self._generalizations[level], np.unique(np.fromiter(codes, dtype=np.intp))
        line = above[np.fromiter(self.order, dtype=np.intp)].astype(np.intp)
        line = line[np.isin(line, chosen)]
        ascending = line[np.diff(line, prepend=-1) != 0]
        is_line = len(ascending) == len(chosen) and len(line) == np.isin(above, chosen).sum()
        return tuple(ascending.tolist()) if is_line else None

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row per base value, `value, level1, ..., *`, as `from_rows` reads them."""
        columns = zip(self.labels, self._generalizations)
        return list(zip(*([labels[code] for code in codes.tolist()] for labels, codes in columns)))

    def restricted_to(self, base_codes: Iterable[int]) -> "Hierarchy":
        """Return the hierarchy over some of its base values; the values of each level stay in their order."""
        base = np.unique(np.fromiter(base_codes, dtype=np.intp))
        codes = [np.unique(generalization[base]) for generalization in self._generalizations]
        labels = tuple(
            tuple(level_values[code] for code in some.tolist()) for level_values, some in zip(self.labels, codes)
        )
        parents = tuple(
            tuple(np.searchsorted(above, np.array(level_values)[some]).tolist())
            for level_values, some, above in zip(self.parents, codes, codes[1:])
        )
        return Hierarchy(labels, parents, self._order_of_some(0, base.tolist()), self.has_names, self.level_names)

    def with_value_apart(self, label: str) -> "Hierarchy":
        """Return the hierarchy with one more base value, the last, with the same name at all levels below `*`.

        A base value of this name stays where it is. If a higher level has a value of this name, the new one is under
        it.

        >>> Hierarchy.from_intervals(["23"], [10]).with_value_apart("missing").labels[1]
        ('20-29', 'missing')
        """
        labels, parents = list(self.labels), list(self.parents)
        for level in range(self.height):
            if self.code(label, level) is not None:
                break
            above = self.code(label, level + 1) if level + 1 < self.height else 0
            labels[level] = (*labels[level], label)
            parents[level] = (*parents[level], self.size(level + 1) if above is None else above)
        return replace(self, labels=tuple(labels), parents=tuple(parents))

    def over_levels(self, levels: Sequence[int], codes: Iterable[int]) -> "Hierarchy":
        """Return the hierarchy with some values of one level as its base values, restricted to some levels and `*`.

        levels: ascending; if none is below `*`, only `*` remains. codes: of the values at the first of the levels,
        which stay in their order. Raises HierarchyError for levels that do not ascend.

        >>> towns = Hierarchy.from_prefixes(["14850", "14853", "13063"], [4, 2])
        >>> towns.over_levels([1], [0, 1]).rows()
        [('1485*', '*'), ('1306*', '*')]
        >>> towns.over_levels([], []).rows()
        [('*',)]
        """
        kept_levels = [*(level for level in levels if level != self.height), self.height]
        if any(not 0 <= fine < coarse for fine, coarse in pairwise(kept_levels)):
            raise HierarchyError(f"levels of a hierarchy of height {self.height} must ascend, got {list(levels)}")
        if len(kept_levels) == 1:
            return Hierarchy(((SUPPRESSED,),), ())
        finest = sorted(set(codes))
        columns = (
            [self.labels[level][code] for code in self.lift(kept_levels[0], level)[finest]] for level in kept_levels
        )
        part = Hierarchy.from_rows(list(zip(*columns)))
        order, names = self._order_of_some(kept_levels[0], finest), self.level_names
        level_names = tuple(names[level] for level in kept_levels if names)
        return replace(part, order=order, has_names=self.has_names, level_names=level_names if any(level_names) else ())

    def _order_of_some(self, level: int, codes: Sequence[int]) -> tuple[int, ...] | None:
        """Return the order of some values of a level, by their places among these, without values that have no place."""
        if self.order is None:
            return None
        without = set(self.lift(0, level)[sorted(set(range(self.size(0))) - set(self.order))].tolist())
        order = self.order_among(level, [code for code in codes if code not in without])
        places = {code: place for place, code in enumerate(codes)}
        return None if order is None else tuple(places[code] for code in order)

    @cached_property
    def _codes(self) -> tuple[dict[str, int], ...]:
        return tuple({label: code for code, label in enumerate(labels)} for labels in self.labels)

    def codes(self, labels: Iterable[str], level: int) -> IndexArray:
        """Codes of labels at a level, -1 for each label that it does not have: shape (labels,).

        >>> Hierarchy.flat(["no", "yes"]).codes(["yes", "maybe"], 0).tolist()
        [1, -1]
        """
        return np.array([self._codes[level].get(label, -1) for label in labels], dtype=np.intp)

    def code(self, label: str, level: int) -> int | None:
        """Return the code of a label at a level, or None if the level has no such value."""
        return self._codes[level].get(label)


class Margin(Mapping[str, int]):
    """Level of each attribute of a marginal: `{"age": 1, "occupation": 0}`. Immutable, hashable, equal to the mapping.

    Level 0 is the base value. An attribute that is left out is at the level of `*`.

    levels: by attribute.
    """

    __slots__ = ("_levels",)

    def __init__(self, levels: Mapping[str, int]) -> None:
        self._levels = dict(sorted(levels.items()))

    def __getitem__(self, attribute: str) -> int:
        return self._levels[attribute]

    def __contains__(self, attribute: object) -> bool:
        return attribute in self._levels  # Mapping's default, by an exception, is ten times slower

    def items(self) -> ItemsView[str, int]:
        """Return attributes with their levels, by name; several times as fast as Mapping's default."""
        return self._levels.items()

    def keys(self) -> KeysView[str]:
        """Return the attributes, by name."""
        return self._levels.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self._levels)

    def __len__(self) -> int:
        return len(self._levels)

    def __hash__(self) -> int:
        return hash(tuple(self._levels.items()))

    def __repr__(self) -> str:
        return f"Margin({self._levels!r})"

    def __str__(self) -> str:
        return ", ".join(f"{attribute}:{level}" for attribute, level in self.items()) or "(empty)"


# Domains. KG06 6.1 turns a hierarchy of height h into induced attributes L_1 .. L_h, the steps of the path from `*` down to
# a base value. A *mask* has one bit for each. An attribute's bits lie together, L_1 lowest, so resolution r is r bits.


Mask: TypeAlias = int
"""Set of induced attributes, one bit each."""


class InducedAttribute(NamedTuple):
    """Step of refinement, from `level + 1` of an attribute to `level` (KG06 6.1)."""

    attribute: str
    level: int


def vertices_of(mask: Mask) -> Iterator[int]:
    """Yield the numbers of the bits that are set, ascending.

    Parameters
    ----------
    mask
        Nonnegative.
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@frozen
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
        if len(self.attributes) != (hierarchies := len(self.hierarchies)):
            raise DomainMismatchError(f"{len(self.attributes)} attributes came with {hierarchies} hierarchies")

    @classmethod
    def of(cls, hierarchies: Mapping[str, Hierarchy]) -> "Domain":
        """Return the domain of a mapping's attributes, in its order."""
        return cls(tuple(hierarchies), tuple(hierarchies.values()))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{a}: {h.size(0)} values, {h.height} levels" for a, h in self.items())
        return f"Domain({sizes})"

    def items(self) -> Iterator[tuple[str, Hierarchy]]:
        """Return pairs of attribute and hierarchy."""
        return zip(self.attributes, self.hierarchies)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {attribute: i for i, attribute in enumerate(self.attributes)}

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Number of the first vertex of each attribute, and after them the number of all vertices."""
        return tuple(accumulate((h.height for h in self.hierarchies), initial=0))

    @property
    def vertex_count(self) -> int:
        """Number of induced attributes."""
        return self.offsets[-1]

    def index(self, attribute: str) -> int:
        """Return the position of an attribute. Raises DomainMismatchError if the domain has no such attribute."""
        try:
            return self._index[attribute]
        except (KeyError, TypeError):  # a list is no key
            names = ", ".join(self.attributes)
            raise DomainMismatchError(f"there is no attribute {attribute!r}; the attributes are {names}") from None

    def hierarchy(self, attribute: str) -> Hierarchy:
        """Return the hierarchy of an attribute. Raises DomainMismatchError if the domain has no such attribute."""
        return self.hierarchies[self.index(attribute)]

    @cached_property
    def named_places(self) -> dict[str, tuple[str, int]]:
        """Attribute and level of each attribute, and of each name of a level that no attribute has."""
        levels = {name: (a, level) for a, h in self.items() for level, name in enumerate(h.level_names) if name}
        attributes = {a: (a, 0) for a in self.attributes}
        return attributes | levels | attributes

    def by_names(self, margin: Mapping[str, int]) -> dict[str, int]:
        """Return levels with the names of levels that have one in place of their numbers: from its own, each is at 0."""
        names = {place: name for name, place in self.named_places.items()}
        return {names.get(place, place[0]): 0 if place in names else place[1] for place in margin.items()}

    def size(self, margin: Mapping[str, int]) -> int:
        """Return the number of cells of a margin, empty ones included."""
        return self.cell_count(self.mask(margin))

    def mask(self, margin: Mapping[str, int]) -> Mask:
        """Return the induced attributes of a margin. Raises DomainMismatchError for an unknown attribute or level."""
        mask = 0
        for attribute, level in margin.items():
            index = self.index(attribute)
            height = self.hierarchies[index].height
            if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= height:
                raise DomainMismatchError(f"{attribute!r} has the levels 0 to {height}, not {level!r}")
            mask |= ((1 << (height - level)) - 1) << self.offsets[index]
        return mask

    def margin(self, mask: Mask) -> Margin:
        """Return the margin of a valid mask; suppressed attributes are left out.

        Raises DomainMismatchError if the mask skips a step of a path, and so is no generalization (KG06 6.1).
        """
        present = mask & ((1 << self.vertex_count) - 1)
        levels = {self.attributes[place]: self._level(place, present) for place in self.places(present)}
        if self.mask(levels) != mask:
            raise DomainMismatchError("a set of induced attributes must hold every coarser step of each attribute")
        return Margin(levels)

    def levels(self, mask: Mask) -> dict[str, int]:
        """Return the level at which a valid mask shows each attribute, in the domain's order; that of `*` if not at all."""
        return {attribute: self._level(place, mask) for place, attribute in enumerate(self.attributes)}

    def _level(self, place: int, mask: Mask) -> int:
        return self.hierarchies[place].height - (mask & self.attribute_masks[place]).bit_count()

    @cached_property
    def attribute_masks(self) -> tuple[Mask, ...]:
        """Mask of all induced attributes of each attribute."""
        return tuple(((1 << h.height) - 1) << offset for h, offset in zip(self.hierarchies, self.offsets))

    @cached_property
    def _attribute_of(self) -> tuple[int, ...]:
        return tuple(i for i, h in enumerate(self.hierarchies) for _ in range(h.height))

    def places(self, mask: Mask) -> Iterator[int]:
        """Yield the positions of the attributes that a mask of this domain shows, ascending."""
        while mask:
            place = self._attribute_of[(mask & -mask).bit_length() - 1]
            yield place
            mask &= ~self.attribute_masks[place]

    @cached_property
    def _cell_counts(self) -> dict[Mask, int]:
        return {}

    def cell_count(self, mask: Mask) -> int:
        """Return the number of cells of the margin of a valid mask, empty ones included; cached."""
        if (cells := self._cell_counts.get(mask)) is None:
            cells = prod(self.hierarchies[place].size(self._level(place, mask)) for place in self.places(mask))
            self._cell_counts[mask] = cells
        return cells

    @cached_property
    def induced_attributes(self) -> tuple[InducedAttribute, ...]:
        """Attribute and level of each vertex number."""
        return tuple(
            InducedAttribute(attribute, level)
            for attribute, hierarchy in self.items()
            for level in range(hierarchy.height - 1, -1, -1)
        )

    @cached_property
    def later_steps(self) -> Mask:
        """Mask of the induced attributes without the first step of each attribute."""
        return sum(attribute_mask & (attribute_mask << 1) for attribute_mask in self.attribute_masks)

    def crossings(self, one: Mask, margins: AnyCollection[Mask]) -> Iterator[tuple[int, int, Mask]]:
        """Yield pairs of attributes that a margin and another one show at crossing levels, by place, with the other
        margin.

        One margin is finer in the first attribute, and the other in the second. No margin is as fine in both
        attributes: both would be sums of such a margin, so that their differences would tell nothing new.
        """
        later = self.later_steps
        finer = one << 1 & later
        for other in margins:
            if (here := one & ~other & other << 1 & later) and (there := other & ~one & finer):
                for places in product(self.places(here), self.places(there)):
                    both = (one | other) & sum(self.attribute_masks[place] for place in places)
                    if all(both & ~mask for mask in margins):
                        yield *places, other

    def all_steps(self, vertex: int) -> Mask:
        """Return the steps of the attribute of an induced attribute."""
        return self.attribute_masks[self._attribute_of[vertex]]

    def coarser_steps(self, vertex: int) -> Mask:
        """Return the earlier steps of the same attribute: L_1 .. L_{i-1} for L_i."""
        return self.attribute_masks[self._attribute_of[vertex]] & ((1 << vertex) - 1)

    def finer_steps(self, vertex: int) -> Mask:
        """Return the later steps of the same attribute: L_{i+1} .. L_h for L_i."""
        return self.attribute_masks[self._attribute_of[vertex]] >> (vertex + 1) << (vertex + 1)

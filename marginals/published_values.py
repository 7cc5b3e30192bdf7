"""Which published values a condition means, for queries of a release: for each attribute a set of its base values.

A query answers what the published levels allow. It says of each attribute by itself which values are meant, so it refuses a
condition that compares two attributes, or that an "or" or "not" makes one on several.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

import numpy as np

from checks.changes import Meet, Narrowing
from marginals.arguments import elements_of, require
from marginals.conditions import (
    AmbiguousWordError,
    Choice,
    Column,
    Conjunction,
    Constant,
    Disjunction,
    Formula,
    Inequality,
    Labels,
    Meaning,
    Membership,
    Negation,
    NothingInRangeError,
    NoValueError,
    UnjudgedError,
    Where,
    columns_of,
    formula_of,
    no_range,
    parsed,
)
from marginals.errors import InputError
from marginals.messages import LONGEST_WORDS, first_few, is_words, suggested
from marginals.tables.intervals import Range, numbers_of
from marginals.tables.table import values_at
from marginals.tables.values import number_text
from models.arrays import BoolArray, CountArray
from models.errors import HierarchyError
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import SUPPRESSED, Domain, Hierarchy

_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def values_meant(
    domain: Domain, finest_levels: Mapping[str, int], where: Where, *, of_table: bool = False
) -> dict[str, BoolArray]:
    """For each attribute of a condition whether each base value is meant, shape (size(0),).

    of_table: as for `meanings`. Raises InputError as it does, and UnjudgedError where the condition cannot be judged of some
    value: only a count has bounds with and without such rows.
    """
    found = meanings(domain, finest_levels, where, of_table=of_table)
    for attribute, meaning in found.items():
        labels = domain.hierarchy(attribute).labels[0]
        if meaning.cut.any():
            raise InputError(
                f"a range cuts through the value {labels[int(meaning.cut.argmax())]!r} of {attribute!r}; give it the ends "
                "of published values, or ask count() or mean(), whose bounds hold with these rows and without"
            )
        if meaning.unjudged.any():
            raise unjudged_error(attribute, [labels[code] for code in np.flatnonzero(meaning.unjudged)])
    return {attribute: meaning.surely for attribute, meaning in found.items()}


def unjudged_error(attribute: str, values: Sequence[str]) -> UnjudgedError:
    """Return the refusal of an answer that would leave out rows with these values."""
    number = "1 value" if len(values) == 1 else f"{len(values):,} values"
    return UnjudgedError(
        attribute,
        f"whether {number} of {attribute!r} lie in the range cannot be judged: {first_few(list(map(repr, values)))} is no "
        "number that can be read; count() gives bounds with and without these rows, and values can be named with | between",
    )


def meanings(
    domain: Domain,
    finest_levels: Mapping[str, int],
    where: Where,
    *,
    of_table: bool = False,
    words: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Meaning]:
    """For each attribute of a condition which base values it means, and of which it cannot be judged.

    of_table: whether base values are those of a table: their numbers are what they are, whatever labels are above. words:
    the meanings of labels by attribute, which a condition may name in their place. Raises InputError, naming the attribute,
    for an attribute, label or range that there is not, for conditions that exclude each other, and for what says nothing of
    each attribute by itself.
    """
    values = _PublishedValues(domain, finest_levels, of_table, words or {})
    if isinstance(where, Mapping):
        known: dict[str, Any] = {name: value for name, value in where.items() if isinstance(value, Meaning)}
        rest = {name: value for name, value in where.items() if name not in known}
        return known | values.meant(formula_of(rest)) if rest or not known else known
    conditions = [where] if isinstance(where, str) else elements_of(where, "a condition", _CONDITIONS)
    for condition in conditions:
        require(condition, str, "a condition", _CONDITIONS)
    return values.meant(Conjunction(tuple(map(values.parsed, conditions))))


_CONDITIONS = 'a text such as "age >= 30", a list of such, or labels by attribute, {"sex": "Female"}'


def values_told(domain: Domain, text: str) -> dict[str, Meaning]:
    """Which base values are meant, by those of the conditions that must all hold that the labels of a domain decide.

    Raises InputError for a text that is no condition.
    """
    values = _PublishedValues(domain, dict.fromkeys(domain.attributes, 0))
    formula = values.parsed(text)
    told: dict[str, Meaning] = {}
    for term in formula.terms if isinstance(formula, Conjunction) else (formula,):
        try:
            meant = values.meant(term)
        except NothingInRangeError as error:
            nothing = np.zeros(domain.hierarchy(error.attribute).size(0), dtype=np.bool_)
            meant = {error.attribute: Meaning.certain(nothing)}
        except InputError:
            continue
        if not any(inside.cut.any() for inside in meant.values()):
            told |= {name: told[name] & inside if name in told else inside for name, inside in meant.items()}
    return told


def known_attribute(domain: Domain, attribute: str) -> str:
    """The attribute, if there is one of that name. Raises InputError, with close matches, where there is none."""
    require(attribute, str, "the name of an attribute", 'a text, such as "age"')
    if attribute not in domain.attributes:
        raise InputError(f"there is no attribute {attribute!r}; {suggested(attribute, domain.attributes, 'there are')}")
    return attribute


@dataclass(frozen=True)
class _PublishedValues:
    _domain: Domain
    _finest: Mapping[str, int]
    _of_table: bool = False
    _words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def parsed(self, text: str) -> Formula:
        try:
            names = self._domain.attributes
            return parsed(text, names, lambda name, value: name in names and self._labels(name).is_value(value))
        except AmbiguousWordError:
            raise
        except InputError:
            parts = re.match(r"\s*(.*?)\s*(=|[<>]=?|\sin\s|$)(.*)", text, re.DOTALL)
            if parts is None or not parts[2]:
                forms = "NAME=LABEL, NAME=LABEL|LABEL or NAME=LOW-HIGH"
                raise InputError(f"a condition is {forms}, not {text!r}") from None
            if not text.strip().startswith(self._domain.attributes):
                known_attribute(self._domain, parts[1])
            if parts[1] in self._domain.attributes and parts[2][0] in "<>" and not re.search(r"\b(and|or)\b", parts[3]):
                raise no_range(parts[1], parts[2] + parts[3]) from None
            raise

    def meant(self, formula: Formula) -> dict[str, Meaning]:
        match formula:
            case Choice(column=column, texts=texts):
                return self._any_value(column.name, map(self._labels(column.name).meaning_of, texts))
            case Membership(column=column, values=values):
                return self._any_value(column.name, (self._equal(column.name, value) for value in values))
            case Inequality():
                return self._compared(formula)
            case Conjunction(terms=terms):
                return _all_of([self.meant(term) for term in terms])
            case Disjunction(terms=terms):
                meant = [self.meant(term) for term in terms]
                names = columns_of(formula)
                if len(names) > 1 or any(len(term) != 1 for term in meant):
                    raise _of_several("or", names)
                return self._any_value(names[0], (term[names[0]] for term in meant))
            case Negation(term=term):
                return self._not(term)

    def _labels(self, attribute: str) -> Labels:
        name = known_attribute(self._domain, attribute)
        words = self._words.get(name, {})
        return Labels(name, self._domain.hierarchy(name), self._finest[name], self._of_table, words)

    def _any_value(self, attribute: str, chosen: Iterable[Meaning]) -> dict[str, Meaning]:
        found, attribute = list(chosen), known_attribute(self._domain, attribute)
        nothing = np.zeros(self._domain.hierarchy(attribute).size(0), dtype=np.bool_)
        return {attribute: reduce(or_, found) if found else Meaning.certain(nothing)}

    def _compared(self, comparison: Inequality) -> dict[str, Meaning]:
        left, sign, right = comparison.left, comparison.sign, comparison.right
        if not isinstance(left, Column):
            left, sign, right = right, _MIRRORED[sign], left
        if not isinstance(left, Column):
            raise InputError("a condition compares an attribute with a value")
        labels = self._labels(left.name)
        if isinstance(right, Column):
            if right.name in self._domain.attributes:
                raise InputError(
                    f"a query cannot compare {left.name!r} with {right.name!r}: the release says of each by itself which "
                    "values occur; name the values of each"
                )
            if sign != "==":
                raise no_range(left.name, sign + right.name)
            raise InputError(
                f"there is no attribute {right.name!r} to compare {left.name!r} with; if it is a value, write it between "
                f"quotes, {left.name} {sign} {right.name!r}"
            )
        if sign == "==":
            return {left.name: self._equal(left.name, right)}
        if isinstance(right, str):
            raise no_range(left.name, sign + right)
        return {left.name: labels.meaning_of(sign + _digits(right))}

    def _equal(self, attribute: str, value: Constant) -> Meaning:
        labels = self._labels(attribute)
        if not isinstance(value, str):
            return labels.meaning_of(_digits(value))
        if (inside := labels.labelled(value)) is None:
            raise labels.no_value(value)
        return Meaning.certain(inside)

    def _not(self, term: Formula) -> dict[str, Meaning]:
        match term:
            case Negation(term=inner):
                return self.meant(inner)
            case Disjunction(terms=terms):
                return _all_of([self._not(term) for term in terms])
        names = columns_of(term)
        if len(names) > 1:
            if isinstance(term, Inequality):
                self.meant(term)  # says what is wrong with it
            raise _of_several("not", names)
        [(name, inside)] = self.meant(term).items()
        return {name: ~inside}


def _all_of(terms: list[dict[str, Meaning]]) -> dict[str, Meaning]:
    meant: dict[str, Meaning] = {}
    for term in terms:
        for attribute, inside in term.items():
            before = meant.get(attribute, inside)
            both = meant[attribute] = before & inside if attribute in meant else inside
            if before.possibly.any() and inside.possibly.any() and not both.possibly.any():
                raise InputError(
                    f"no value of {attribute!r} meets all conditions on it, of which each must hold; for one or the other, "
                    f"put | between: {attribute}=LABEL|LABEL"
                )
    return meant


def _of_several(word: str, names: tuple[str, ...]) -> InputError:
    return InputError(
        f"a query says of each attribute by itself which values are meant, and all must hold; this one has {word!r} over "
        f"conditions on {' and '.join(map(repr, names))}: ask for the parts one by one"
    )


def _digits(number: float) -> str:
    return str(int(number)) if number == number // 1 else number_text(Decimal(repr(number)))


# One hierarchy of an attribute for several releases. Labels and counts say which levels of two are the same. If neither
# holds the other, labels that spell out what they stand for, `20-24` and `20-29` or `148**` and `14***`, say how they nest.


def matched_levels(
    part: Hierarchy, whole: Hierarchy, fits: Callable[[int, int], bool] = lambda _level, _place: True
) -> tuple[int, ...] | None:
    """For each level of a hierarchy the finest of another that has its labels and groups them likewise; None without one.

    fits: whether a level of the first can be a level of the second, for another reason.
    """
    places: list[int] = []
    for level in range(part.height):
        matching = (
            place
            for place in range(places[-1] + 1 if places else 0, whole.height)
            if set(part.labels[level]) <= set(whole.labels[place])
            and (not places or _generalizes_alike(part, level, whole, places[-1], place))
            and fits(level, place)
        )
        if (place := next(matching, None)) is None:
            return None
        places.append(place)
    return (*places, whole.height)


def _generalizes_alike(part: Hierarchy, level: int, whole: Hierarchy, below: int, place: int) -> bool:
    lifted, codes = whole.lift(below, place), part.lift(level - 1, level)
    return all(
        whole.labels[place][lifted[whole.code(label, below)]] == part.labels[level][codes[code]]
        for code, label in enumerate(part.labels[level - 1])
    )


@dataclass(frozen=True, eq=False)
class CountedHierarchy:
    """A hierarchy, and how many rows the values of the finest published level have: shape (size(finest),).

    finest: the level of `*` where none is published.
    """

    hierarchy: Hierarchy
    finest: int
    counts: CountArray

    def counts_at(self, level: int) -> Mapping[str, int] | None:
        """The rows of the values of a level that have some, None where that is not published."""
        if level < self.finest:
            return None
        codes = self.hierarchy.lift(self.finest, level)
        rows = np.bincount(codes, self.counts, minlength=self.hierarchy.size(level)).astype(np.int64).tolist()
        return {label: count for label, count in zip(self.hierarchy.labels[level], rows) if count}

    def levels_in(self, whole: "CountedHierarchy") -> tuple[int, ...] | None:
        """The levels of another hierarchy that are those of this one, by counts if both have them, else by labels."""
        by_labels = matched_levels(self.hierarchy, whole.hierarchy)
        return self._counted_levels_in(whole) or (by_labels if self._has_all_below(whole, by_labels) else None)

    def _counted_levels_in(self, whole: "CountedHierarchy") -> tuple[int, ...] | None:
        def fits(level: int, place: int) -> bool:
            rows, other = self.counts_at(level), whole.counts_at(place)
            return None in (rows, other) or rows == other

        levels = matched_levels(self.hierarchy, whole.hierarchy, fits)
        return levels if self._has_all_below(whole, levels) else None

    def _has_all_below(self, whole: "CountedHierarchy", levels: tuple[int, ...] | None) -> bool:
        # values without rows can be missing where they would be published, but not below
        if levels is None or not self.finest:
            return True
        place = levels[self.finest]
        below = np.bincount(whole.hierarchy.lift(levels[0], place), minlength=whole.hierarchy.size(place))
        own_below = dict(zip(self.hierarchy.labels[self.finest], self.hierarchy.leaf_counts(self.finest).tolist()))
        labels = self.counts_at(self.finest) or {}
        return all(own_below[label] == below[whole.hierarchy.code(label, place)] for label in labels)

    def over(self, hierarchy: Hierarchy, levels: tuple[int, ...]) -> "CountedHierarchy":
        """The same counts in another hierarchy, of which these levels are those of this one."""
        finest = levels[self.finest]
        counts = np.zeros(hierarchy.size(finest), dtype=np.int64)
        for label, count in (self.counts_at(self.finest) or {}).items():
            counts[hierarchy.code(label, finest)] = count
        return CountedHierarchy(hierarchy, finest, counts)

    def merged(self, other: "CountedHierarchy") -> "CountedHierarchy | None":
        """The hierarchy that holds both, with the finer counts; None where labels and counts do not say how they nest."""
        if (both := self._merged(other)) is None:
            return None
        whole, parts = both.hierarchy, (self.hierarchy, other.hierarchy)
        order = whole.order if all(_lies_alike(part, whole) for part in parts) else None
        whole = replace(whole, order=order, has_names=any(part.has_names for part in parts))
        return replace(both, hierarchy=whole)

    def _merged(self, other: "CountedHierarchy") -> "CountedHierarchy | None":
        for part, whole in ((other, self), (self, other)):
            if (levels := part.levels_in(whole)) is not None:
                return min(whole, part.over(whole.hierarchy, levels), key=lambda counted: counted.finest)
        for fine, coarse in ((self, other), (other, self)):
            hierarchy = _interleaved(fine.hierarchy, coarse.hierarchy)
            levels = None if hierarchy is None else matched_levels(fine.hierarchy, hierarchy)
            if hierarchy is not None and levels is not None:
                whole = fine.over(hierarchy, levels)
                if coarse._counted_levels_in(whole) is not None:
                    return whole
        return None

    @property
    def published_levels(self) -> "CountedHierarchy":
        """The same from the finest published level on."""
        levels = range(self.finest, self.hierarchy.height)
        codes = range(self.hierarchy.size(self.finest))
        return CountedHierarchy(self.hierarchy.over_levels(levels, codes), 0, self.counts)


def _lies_alike(part: Hierarchy, whole: Hierarchy) -> bool:
    if part.order is None or whole.order is None:
        return True
    levels = matched_levels(part, whole)
    codes = [whole.code(part.labels[0][code], levels[0]) for code in part.order] if levels else []
    known = tuple(code for code in codes if code is not None)
    return bool(levels) and whole.order_among(levels[0] if levels else 0, known) == known


def _interleaved(fine: Hierarchy, coarse: Hierarchy) -> Hierarchy | None:
    base_in_coarse = next(filter(None, (_values_over(fine, level, coarse) for level in range(fine.height))), None)
    if base_in_coarse is None:
        return None
    paths = [coarse.lift(0, level)[base_in_coarse] for level in range(coarse.height)]
    levels = [[fine.labels[level][code] for code in fine.lift(0, level)] for level in range(fine.height)]
    levels += [[labels[code] for code in path] for labels, path in zip(coarse.labels, paths)]
    # The same labels for the same values are one level; of nested levels, one with fewer values is above.
    distinct = sorted(dict.fromkeys(map(tuple, levels)), key=lambda labels: -len(set(labels)))
    try:
        return replace(Hierarchy.from_rows(zip(*distinct, [SUPPRESSED] * fine.size(0))), order=fine.order)
    except HierarchyError:
        return None


def _values_over(fine: Hierarchy, level: int, coarse: Hierarchy) -> list[int] | None:
    """For each base value of the first the base value of the second over it, by how its label at a level is spelled.

    None where one has none, or several.
    """
    ranges = sorted((numbers, code) for code, numbers in enumerate(numbers_of(coarse)) if numbers is not None)
    lows = [numbers.low for numbers, _ in ranges]
    are_disjoint = not any(one.meets(other) for (one, _), (other, _) in pairwise(ranges))
    prefixes = {
        (label.rstrip(SUPPRESSED), len(label)): code
        for code, label in enumerate(coarse.labels[0])
        if label.endswith(SUPPRESSED)
    }

    def over(label: str, numbers: Range | None) -> int | None:
        if (code := coarse.code(label, 0)) is not None:
            return code
        if numbers is not None and ranges:
            wide, code = ranges[max(bisect_right(lows, numbers.low) - 1, 0)]
            return code if are_disjoint and wide.holds(numbers) else None
        found = [prefixes[key] for length in range(len(label)) if (key := (label[:length], len(label))) in prefixes]
        return found[0] if len(found) == 1 else None

    codes = list(map(over, fine.labels[level], numbers_of(fine, level)))
    return None if None in codes else [code for code in (codes[c] for c in fine.lift(0, level)) if code is not None]


EXAMPLE = 'such as "age >= 21" or "sex == \'Female\'"'
"""What a condition looks like."""


@dataclass(frozen=True)
class Part:
    """The rows whose values a condition means. text: says of each attribute by itself which values.

    >>> from marginals.example import table
    >>> int(Part("age >= 40").values(table.domain)["age"].sum())
    20
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip() or not is_words(self.text):
            raise InputError(f"a part is said in one line of at most {LONGEST_WORDS} characters, {EXAMPLE}")

    def __str__(self) -> str:
        return self.text

    def values(self, domain: Domain) -> Mapping[str, BoolArray]:
        """For each attribute that is named, whether each base value is meant: shape (size(0),).

        Raises InputError, naming the attribute, for what cannot be judged of each value of each attribute by itself.
        """
        try:
            return values_meant(domain, dict.fromkeys(domain.attributes, 0), self.text, of_table=True)
        except UnjudgedError as error:
            raise InputError(
                f"{self.text!r} cannot be judged of some values of {error.attribute!r}, which are no numbers: list those "
                "that stand for no value under data.missing, or name the values of the part with | between"
            ) from None
        except NoValueError as error:  # whose message lists values, and of these the rows may decide which there are
            raise InputError(
                f"{self.text!r} names a value that {error.attribute!r} does not have; write it as the column or its "
                "hierarchy does, numbers as a range"
            ) from None

    def excluding(self, counted: ContingencyTable) -> str | None:
        """The attribute of which a table counts a value that the condition excludes; None where labels tell of none.

        >>> from marginals.example import table
        >>> Part("age >= 40").excluding(table.counts), Part("age < 90").excluding(table.counts)
        ('age', None)
        """
        for name, inside in values_told(counted.domain, self.text).items():
            level = counted.margin.get(name)
            if level is not None:  # of a value that cannot be judged it is not known
                meant = values_at(counted.domain.hierarchy(name), inside.possibly, level)
                if not meant[counted.column(name, level)].all():
                    return name
        return None


def inside_all(parts: Collection[Part]) -> Narrowing:
    """Leaves out the cells of a meet outside of one of the parts: there only one of the two releases counts anybody."""

    def narrowed(meet: Meet) -> Meet:
        # A label can stand for two values: with rows in the one release, and in the other.
        labels = {name: list(map(value.name, range(value.count))) for name, value in meet.values.items()}
        domain = Domain.of({name: Hierarchy.flat(dict.fromkeys(known)) for name, known in labels.items()})
        stays = np.ones(len(meet.changes), dtype=bool)
        for part in parts:
            with suppress(InputError):  # an attribute that the meet does not show
                for name, inside in values_told(domain, part.text).items():
                    codes = [domain.hierarchy(name).labels[0].index(label) for label in labels[name]]
                    stays &= inside.surely[codes][meet.codes[list(labels).index(name)]]
        return meet.among(stays)

    return narrowed

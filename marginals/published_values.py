"""Published values that a condition means, for queries of a release: for each attribute a set of its base values.

A query answers what the published levels allow. It names the values of each attribute separately. So it refuses a condition
that compares two attributes, or that joins several by "or" or "not".
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from checks.changes import Meet, Narrowing
from marginals.arguments import require, require_whole_number
from marginals.conditions import (
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
from marginals.tables.table import values_at
from marginals.tables.values import number_text
from models.arrays import BoolArray
from models.frozen import frozen
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Domain, Hierarchy

_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


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
    """Return the base values that a condition means, and those for which it is not decided, by attribute.

    of_table: whether base values are those of a table, with exact numbers. words: meanings of labels.
    """
    values = _PublishedValues(domain, finest_levels, of_table, words or {})
    if isinstance(where, Mapping):
        read: dict[str, Any] = {name: value for name, value in where.items() if isinstance(value, Meaning)}
        rest = {name: value for name, value in where.items() if name not in read}
        return read | values.meanings(formula_of(rest)) if rest or not read else read
    conditions = [where] if isinstance(where, str) else where
    return values.meanings(Conjunction(tuple(map(values.parsed, conditions))))


def decided_values(domain: Domain, text: str) -> dict[str, Meaning]:
    """Return the base values that a condition means, as far as the labels of a domain decide it."""
    values = _PublishedValues(domain, dict.fromkeys(domain.attributes, 0))
    formula = values.parsed(text)
    result: dict[str, Meaning] = {}
    for term in formula.terms if isinstance(formula, Conjunction) else (formula,):
        try:
            of_term = values.meanings(term)
        except NothingInRangeError as error:
            attribute, _ = known_place(domain, error.attribute)
            nothing = np.zeros(domain.hierarchy(attribute).size(0), dtype=np.bool_)
            of_term = {attribute: Meaning.certain(nothing)}
        except InputError:
            continue
        if not any(inside.cut.any() for inside in of_term.values()):
            result |= {name: result[name] & inside if name in result else inside for name, inside in of_term.items()}
    return result


def known_attribute(domain: Domain, attribute: str) -> str:
    """Return the name of an attribute. Raises InputError for another one, as `known_place`."""
    of, _ = known_place(domain, attribute)
    if of != attribute:
        raise InputError(f"{attribute!r} is a level of {of!r}: its numbers, if it has any, are those of {of!r}")
    return attribute


def known_place(domain: Domain, name: str) -> tuple[str, int]:
    """Return an attribute and a level by the name of either. Raises InputError, with close matches, if there is none."""
    require(name, str, "the name of an attribute", 'a text, such as "age"')
    if name not in domain.named_places:
        kind = "attribute" if len(domain.named_places) == len(domain.attributes) else "attribute or published level"
        raise InputError(f"there is no {kind} {name!r}; {suggested(name, [*domain.named_places], 'there are')}")
    return domain.named_places[name]


def levels_by_attribute(domain: Domain, levels: Mapping[str, int]) -> dict[str, int]:
    """Return levels by attribute, where names of levels count from their own. Raises InputError for one named twice."""
    result: dict[str, int] = {}
    for name, level in levels.items():
        attribute, first = known_place(domain, name)
        require_whole_number(level, f"the level of {name!r}", 0, domain.hierarchy(attribute).height - first)
        if attribute in result:
            raise InputError("an attribute is named twice")
        result[attribute] = first + int(level)
    return result


@frozen
class _PublishedValues:
    _domain: Domain
    _finest: Mapping[str, int]
    _of_table: bool = False
    _words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def parsed(self, text: str) -> Formula:
        names = tuple(self._domain.named_places)
        try:
            return parsed(text, names, lambda name, value: name in names and self._labels(name).is_value(value))
        except InputError:
            parts = re.match(r"\s*(.*?)\s*(=|[<>]=?|\sin\s|$)(.*)", text, re.DOTALL)
            if parts is None or not parts[2]:
                forms = "NAME=LABEL, NAME=LABEL|LABEL or NAME=LOW-HIGH"
                raise InputError(f"a condition is {forms}, not {text!r}") from None
            if not text.strip().startswith(names):
                known_attribute(self._domain, parts[1])
            if parts[1] in names and parts[2][0] in "<>" and not re.search(r"\b(and|or)\b", parts[3]):
                raise no_range(parts[1], parts[2] + parts[3]) from None
            raise

    def meanings(self, formula: Formula) -> dict[str, Meaning]:
        match formula:
            case Choice(column=column, texts=texts):
                return self._any_value(column.name, map(self._labels(column.name).meaning_of, texts))
            case Membership(column=column, values=values):
                return self._any_value(column.name, (self._equal(column.name, value) for value in values))
            case Inequality():
                return self._compared(formula)
            case Conjunction(terms=terms):
                return _all_of([self.meanings(term) for term in terms])
            case Disjunction(terms=terms):
                choices = [self.meanings(term) for term in terms]
                if len(names := self._attributes_of(formula)) > 1:
                    raise _of_several("or", names)
                return {name: reduce(or_, (choice[name] for choice in choices)) for name in names}
            case Negation(term=term):
                return self._not(term)

    def _attributes_of(self, formula: Formula) -> tuple[str, ...]:
        places = self._domain.named_places
        return tuple(dict.fromkeys(places.get(name, (name, 0))[0] for name in columns_of(formula)))

    def _labels(self, name: str) -> Labels:
        attribute, level = known_place(self._domain, name)
        hierarchy, finest = self._domain.hierarchy(attribute), max(self._finest[attribute] - level, 0)
        if level:
            hierarchy = hierarchy.over_levels(range(level, hierarchy.height), range(hierarchy.size(level)))
        end = next((n for n, other in enumerate(hierarchy.level_names) if other not in ("", name)), None)
        labels = Labels(name, hierarchy, finest, self._of_table, end=end)
        words = self._words.get(attribute, {}).items()
        own_words = {
            label: word for label, word in words if any(hierarchy.code(label, n) is not None for n in labels.levels)
        }
        return replace(labels, words=own_words)

    def _any_value(self, name: str, chosen: Iterable[Meaning]) -> dict[str, Meaning]:
        choices, (attribute, level) = list(chosen), known_place(self._domain, name)
        hierarchy = self._domain.hierarchy(attribute)
        nothing = np.zeros(hierarchy.size(level), dtype=np.bool_)
        meaning, places = reduce(or_, choices) if choices else Meaning.certain(nothing), hierarchy.lift(0, level)
        if name == attribute:
            return {name: meaning}
        if meaning.cut.any():
            raise InputError(f"the range cuts through a value of {name!r}: name its values, or ask for {attribute!r}")
        return {attribute: Meaning(meaning.surely[places], meaning.possibly[places], meaning.shares[places])}

    def _compared(self, comparison: Inequality) -> dict[str, Meaning]:
        left, sign, right = comparison.left, comparison.sign, comparison.right
        if not isinstance(left, Column):
            left, sign, right = right, _MIRRORED[sign], left
        if not isinstance(left, Column):
            raise InputError("a condition compares an attribute with a value")
        labels = self._labels(left.name)
        if isinstance(right, Column):
            if right.name in self._domain.named_places:
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
            return self._any_value(left.name, [self._equal(left.name, right)])
        if isinstance(right, str):
            raise no_range(left.name, sign + right)
        return self._any_value(left.name, [labels.meaning_of(sign + _digits(right))])

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
                return self.meanings(inner)
            case Disjunction(terms=terms):
                return _all_of([self._not(term) for term in terms])
        names = self._attributes_of(term)
        if len(names) > 1:
            if isinstance(term, Inequality):
                self.meanings(term)  # says what is wrong with it
            raise _of_several("not", names)
        [(name, inside)] = self.meanings(term).items()
        return {name: ~inside}


def _all_of(terms: list[dict[str, Meaning]]) -> dict[str, Meaning]:
    result: dict[str, Meaning] = {}
    for term in terms:
        for attribute, inside in term.items():
            before = result.get(attribute, inside)
            both = result[attribute] = before & inside if attribute in result else inside
            if before.possibly.any() and inside.possibly.any() and not both.possibly.any():
                raise InputError(
                    f"no value of {attribute!r} meets all conditions on it, of which each must hold; for one or the other, "
                    f"put | between: {attribute}=LABEL|LABEL"
                )
    return result


def _of_several(word: str, names: tuple[str, ...]) -> InputError:
    return InputError(
        f"a query says of each attribute by itself which values are meant, and all must hold; this one has {word!r} over "
        f"conditions on {' and '.join(map(repr, names))}: ask for the parts one by one"
    )


def _digits(number: float) -> str:
    return str(int(number)) if number == number // 1 else number_text(Decimal(repr(number)))


EXAMPLE = 'such as "age >= 21" or "sex == \'Female\'"'


@frozen
class Part:
    """Rows whose values a condition means. text: the condition, which names values of each attribute separately.

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
        """Return which base values are meant, by attribute: shape (size(0),). Raises InputError if some are not decided."""
        try:
            by_attribute = meanings(domain, dict.fromkeys(domain.attributes, 0), self.text, of_table=True)
        except NoValueError as error:  # whose message lists values, and of these the rows may decide which there are
            raise InputError(
                f"{self.text!r} names a value that {error.attribute!r} does not have; write it as the column or its "
                "hierarchy does, numbers as a range"
            ) from None
        for name, meaning in by_attribute.items():
            if meaning.cut.any():
                value = domain.hierarchy(name).labels[0][int(meaning.cut.argmax())]
                raise InputError(f"a range cuts through the value {value!r} of {name!r}; give it the ends of values")
            if meaning.unjudged.any():
                raise InputError(
                    f"{self.text!r} cannot be judged of some values of {name!r}, which are no numbers. List those that "
                    "stand for no value under data.missing, or name the values of the part with | between"
                )
        return {name: meaning.surely for name, meaning in by_attribute.items()}

    def excluding(self, counted: ContingencyTable) -> str | None:
        """Return the attribute of a value that the condition excludes and a table counts; None if labels tell of none.

        >>> from marginals.example import table
        >>> Part("age >= 40").excluding(table.counts), Part("age < 90").excluding(table.counts)
        ('age', None)
        """
        for name, inside in decided_values(counted.domain, self.text).items():
            level = counted.margin.get(name)
            if level is not None:
                possible = values_at(counted.domain.hierarchy(name), inside.possibly, level)
                if not possible[counted.column(name, level)].all():
                    return name
        return None


def inside_all(parts: Collection[Part]) -> Narrowing:
    """Return a function that leaves out cells outside of a part, where only one of two releases counts anybody."""

    def narrowed(meet: Meet) -> Meet:
        # A label can stand for two values: with rows in the one release, and in the other.
        labels = {name: list(map(value.name, range(value.count))) for name, value in meet.values.items()}
        domain = Domain.of({name: Hierarchy.flat(dict.fromkeys(of_name)) for name, of_name in labels.items()})
        stays = np.ones(len(meet.changes), dtype=bool)
        for part in parts:
            with suppress(InputError):  # an attribute that the meet does not show
                for name, inside in decided_values(domain, part.text).items():
                    codes = [domain.hierarchy(name).labels[0].index(label) for label in labels[name]]
                    stays &= inside.surely[codes][meet.codes[list(labels).index(name)]]
        return meet.among(stays)

    return narrowed

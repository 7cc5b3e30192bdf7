"""Which published values a condition means, for queries of a release: for each attribute a set of its base values.

A query answers what the published levels allow. It says of each attribute by itself which values are meant, so it refuses a
condition that compares two attributes, or that an "or" or "not" makes one on several.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from marginals.conditions.formula import (
    Choice,
    Column,
    Comparison,
    Conjunction,
    Constant,
    Disjunction,
    Formula,
    Membership,
    Negation,
    columns_of,
)
from marginals.conditions.grammar import Where, formula_of, parsed
from marginals.conditions.labels import Labels, NothingInRangeError, Range
from marginals.errors import InputError
from marginals.suggestions import suggested
from models.arrays import BoolArray
from models.tables.domain import Domain

_MIRRORED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def values_meant(domain: Domain, finest_levels: Mapping[str, int], where: Where) -> dict[str, BoolArray]:
    """For each attribute of a condition whether each base value is meant, shape (size(0),).

    Conditions on the same attribute must all hold. Raises InputError, naming the attribute, for an attribute or label
    that there is not, for a range that no value lies in or that cuts through one, for conditions that exclude each other,
    and for what says nothing of each attribute by itself.
    """
    values = _PublishedValues(domain, finest_levels)
    if isinstance(where, Mapping):
        return values.meant(formula_of(where))
    return values.meant(Conjunction(tuple(map(values.parsed, [where] if isinstance(where, str) else where))))


def values_told(domain: Domain, text: str) -> dict[str, BoolArray]:
    """As `values_meant`, of those of the conditions that must all hold that the labels of a domain decide.

    Of an attribute of which no value is meant it says so, where its values are numbers. Raises InputError for a text that is
    no condition.
    """
    values = _PublishedValues(domain, dict.fromkeys(domain.attributes, 0))
    formula = values.parsed(text)
    told: dict[str, BoolArray] = {}
    for term in formula.terms if isinstance(formula, Conjunction) else (formula,):
        try:
            meant = values.meant(term)
        except NothingInRangeError as error:
            meant = {error.attribute: np.zeros(domain.hierarchy(error.attribute).size(0), dtype=np.bool_)}
        except InputError:
            continue
        for name, inside in meant.items():
            told[name] = told.get(name, inside) & inside
    return told


def known_attribute(domain: Domain, attribute: str) -> str:
    """The attribute, if there is one of that name. Raises InputError, with close matches, where there is none."""
    if attribute not in domain.attributes:
        raise InputError(f"there is no attribute {attribute!r}; {suggested(attribute, domain.attributes, 'there are')}")
    return attribute


class _PublishedValues:
    """The values of a domain, as far as levels of it are published."""

    def __init__(self, domain: Domain, finest_levels: Mapping[str, int]) -> None:
        self._domain, self._finest = domain, finest_levels

    def parsed(self, text: str) -> Formula:
        """The formula in a text; what it cannot be is said as of a query."""
        try:
            return parsed(text, self._domain.attributes, self._is_value)
        except InputError:
            parts = re.match(r"\s*(.*?)\s*(=|[<>]=?|\sin\s|$)(.*)", text, re.DOTALL)
            if parts is None or not parts[2]:
                raise InputError(
                    f"a condition is NAME=LABEL, NAME=LABEL|LABEL or NAME=LOW-HIGH, not {text!r}"
                ) from None
            if not text.strip().startswith(self._domain.attributes):
                known_attribute(self._domain, parts[1])
            if parts[1] in self._domain.attributes and parts[2][0] in "<>" and not re.search(r"\b(and|or)\b", parts[3]):
                raise _no_range(parts[1], parts[2] + parts[3]) from None
            raise

    def _is_value(self, name: str, text: str) -> bool:
        return name in self._domain.attributes and self._labels(name).is_value(text)

    def meant(self, formula: Formula) -> dict[str, BoolArray]:
        """For each attribute whether each base value is meant."""
        match formula:
            case Choice(column=column, texts=texts):
                labels = self._labels(column.name)
                inside = np.zeros(labels.hierarchy.size(0), dtype=np.bool_)
                for text in texts:
                    inside |= labels.meant(text)
                return {column.name: inside}
            case Membership(column=column, values=values):
                inside = np.zeros(self._labels(column.name).hierarchy.size(0), dtype=np.bool_)
                for value in values:
                    inside |= self._equal(column.name, value)
                return {column.name: inside}
            case Comparison():
                return self._compared(formula)
            case Conjunction(terms=terms):
                return _all_of([self.meant(term) for term in terms])
            case Disjunction(terms=terms):
                return self._any_of(formula, [self.meant(term) for term in terms])
            case Negation(term=term):
                return self._not(term)

    def _labels(self, attribute: str) -> Labels:
        name = known_attribute(self._domain, attribute)
        return Labels(name, self._domain.hierarchy(name), self._finest[name])

    def _compared(self, comparison: Comparison) -> dict[str, BoolArray]:
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
                raise _no_range(left.name, sign + right.name)
            raise InputError(
                f"there is no attribute {right.name!r} to compare {left.name!r} with; if it is a value, write it between "
                f"quotes, {left.name} {sign} {right.name!r}"
            )
        if sign == "==":
            return {left.name: self._equal(left.name, right)}
        if isinstance(right, str):
            raise _no_range(left.name, sign + right)
        return {left.name: labels.meant(sign + _digits(right))}

    def _equal(self, attribute: str, value: Constant) -> BoolArray:
        labels = self._labels(attribute)
        text = value if isinstance(value, str) else _digits(value)
        inside = labels.labelled(text)
        if inside is None and not isinstance(value, str) and labels.is_value(f">={text}"):
            return labels.between(Range(Decimal(text), Decimal(text)), text)
        if inside is None:
            raise labels.no_value(text)
        return inside

    def _any_of(self, formula: Formula, terms: list[dict[str, BoolArray]]) -> dict[str, BoolArray]:
        names = columns_of(formula)
        if len(names) > 1 or any(len(term) != 1 for term in terms):
            raise _of_several("or", names)
        return {names[0]: np.asarray(np.logical_or.reduce([term[names[0]] for term in terms]))}

    def _not(self, term: Formula) -> dict[str, BoolArray]:
        match term:
            case Negation(term=inner):
                return self.meant(inner)
            case Disjunction(terms=terms):
                return _all_of([self._not(each) for each in terms])
        names = columns_of(term)
        if len(names) > 1:
            if isinstance(term, Comparison):
                self.meant(term)  # says what is wrong with it
            raise _of_several("not", names)
        [(name, inside)] = self.meant(term).items()
        return {name: ~inside}


def _all_of(terms: list[dict[str, BoolArray]]) -> dict[str, BoolArray]:
    """The values of each attribute that all terms mean. Raises InputError where they exclude each other."""
    meant: dict[str, BoolArray] = {}
    for term in terms:
        for attribute, inside in term.items():
            before = meant.get(attribute, inside)
            meant[attribute] = before & inside
            if before.any() and inside.any() and not meant[attribute].any():
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


def _no_range(attribute: str, text: str) -> InputError:
    return InputError(
        f"{attribute!r} cannot be asked for {text!r}: ranges are of numbers; name the values, with | between"
    )


def _digits(number: float) -> str:
    """A number as a label writes it."""
    return str(int(number)) if number == number // 1 else format(Decimal(repr(number)), "f")

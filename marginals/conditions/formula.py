"""The syntax tree of a condition: comparisons of columns, and what and, or and not make of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Column:
    """The values of a column."""

    name: str


Constant: TypeAlias = "str | int | float"
Operand: TypeAlias = "Column | Constant"


@dataclass(frozen=True)
class Comparison:
    """Whether one value is ==, <, <=, > or >= another; a column is among them."""

    left: Operand
    sign: str
    right: Operand


@dataclass(frozen=True)
class Membership:
    """Whether the value of a column is among some, all numbers or all texts."""

    column: Column
    values: tuple[Constant, ...]


@dataclass(frozen=True)
class Choice:
    """Whether the value of a column is one of those that texts mean: labels, and ranges of numbers, as in `age=20-39`.

    texts: any of them will do. What a text means depends on the labels that the column has, and is not decided here.
    """

    column: Column
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Negation:
    """Whether something does not hold."""

    term: "Formula"


@dataclass(frozen=True)
class Conjunction:
    """Whether all hold."""

    terms: "tuple[Formula, ...]"


@dataclass(frozen=True)
class Disjunction:
    """Whether one holds at least."""

    terms: "tuple[Formula, ...]"


Atom: TypeAlias = Comparison | Membership | Choice
Formula: TypeAlias = "Atom | Negation | Conjunction | Disjunction"


def atoms(formula: Formula) -> Iterator[Atom]:
    """The comparisons in a formula."""
    match formula:
        case Negation(term=term):
            yield from atoms(term)
        case Conjunction(terms=terms) | Disjunction(terms=terms):
            for term in terms:
                yield from atoms(term)
        case _:
            yield formula


def operands(atom: Atom) -> tuple[Operand, ...]:
    """What is compared."""
    match atom:
        case Comparison(left=left, right=right):
            return (left, right)
        case Membership(column=column, values=values):
            return (column, *values)
        case Choice(column=column):
            return (column,)


def columns_of(formula: Formula) -> tuple[str, ...]:
    """The names of the columns that a formula is about, none twice."""
    named = (operand.name for atom in atoms(formula) for operand in operands(atom) if isinstance(operand, Column))
    return tuple(dict.fromkeys(named))

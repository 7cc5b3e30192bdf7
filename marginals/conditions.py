"""Language of conditions, which select rows of a table, in the notation of queries or in that of rules.

    condition  = either
    either     = both { "or" both }
    both       = single { "and" single }
    single     = "not" single | "(" condition ")" | choice | comparison
    choice     = column ("=" | ["not"] "in") values | column sign number "|" values
    values     = value { "|" value }
    value      = label | label "@" level | range | sign number | text
    comparison = operand sign operand { sign operand } | column ["not"] "in" list
    operand    = column | number | text
    list       = "[" [ constant { "," constant } ] "]"          constants: all numbers or all texts; also in parentheses
    sign       = "==" | "!=" | "<" | "<=" | ">" | ">="          != only between operands
    column     = a word, a name between backticks, or a name that the table has and that is not read otherwise
    text       = characters between quotes, as in Python

Between parentheses, & | ~ stand for and, or and not, and bind as in Python. A choice is the notation of queries, such as
`age in 20-39` or `diagnosis=Asthma|Migraine`. A comparison is the notation of rules, such as `age > 80 and sex ==
'Female'`. One condition may have both.

A label is written without quotes. It goes on to the last place where it is still a label of the column. Otherwise it ends
at a parenthesis that it has not opened, at an "and" or "or" before a condition, or at the end. The columns' labels give a
value its meaning (`Labels`). A name is the longest name of a column that a sign follows.

A condition may also be a mapping, `{"age": "20-39", "race": ["White", "Black"]}`, whose values are choices, or several
texts, all of which must hold.
"""

import ast
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from itertools import islice
from operator import or_
from typing import TypeAlias

import numpy as np

from marginals.arguments import require
from marginals.errors import InputError
from marginals.messages import suggested
from marginals.tables.intervals import Range, base_numbers, interval, names_missing
from marginals.tables.spellings import cell_text
from marginals.tables.values import PLAIN, POINT, has_leading_zero
from models.arrays import BoolArray, FloatArray
from models.frozen import frozen
from models.tables.hierarchy import MISSING, SUPPRESSED, Hierarchy


@frozen
class Column:
    """Values of a column."""

    name: str


Constant: TypeAlias = "str | int | float"
Operand: TypeAlias = "Column | Constant"


@frozen
class Inequality:
    """Comparison of two values by ==, <, <=, > or >=; one of them is of a column."""

    left: Operand
    sign: str
    right: Operand


@frozen
class Membership:
    """Test that the value of a column is in a list, all numbers or all texts."""

    column: Column
    values: tuple[Constant, ...]


@frozen
class Choice:
    """Test that one of some texts means the value of a column: labels, and ranges of numbers, as in `age=20-39`."""

    column: Column
    texts: tuple[str, ...]


@frozen
class Negation:
    """Condition that a term does not hold."""

    term: "Formula"


@frozen
class Conjunction:
    """Condition that all terms hold."""

    terms: "tuple[Formula, ...]"


@frozen
class Disjunction:
    """Condition that at least one term holds."""

    terms: "tuple[Formula, ...]"


Atom: TypeAlias = Inequality | Membership | Choice
Formula: TypeAlias = "Atom | Negation | Conjunction | Disjunction"


def operands(atom: Atom) -> tuple[Operand, ...]:
    """Return the columns and constants of an atom."""
    if isinstance(atom, Inequality):
        return (atom.left, atom.right)
    return (atom.column, *atom.values) if isinstance(atom, Membership) else (atom.column,)


def columns_of(formula: Formula) -> tuple[str, ...]:
    """Return the names of the columns in a formula, none twice."""
    match formula:
        case Negation(term=term):
            return columns_of(term)
        case Conjunction(terms=terms) | Disjunction(terms=terms):
            return tuple(dict.fromkeys(name for term in terms for name in columns_of(term)))
    return tuple(dict.fromkeys(operand.name for operand in operands(formula) if isinstance(operand, Column)))


Values: TypeAlias = str | float | Iterable[str | float]
"""A label or a range of numbers, a number, or several of these, of which one must hold."""

Where: TypeAlias = Mapping[str, Values] | Sequence[str]
"""`{"age": "20-39", "race": ["White", "Black"]}`, or `["age in 20-39", "race=White|Black"]`, or one such text."""

IsValue: TypeAlias = Callable[[str, str], bool]

EXACT = 2**53  # the limit of whole numbers that every engine tells apart

_DEEPEST = 100  # parentheses and negations

_LONGEST = 20_000  # characters


def formula_of(where: Where, names: Collection[str] = ()) -> Formula:
    """Return the formula of a condition, or of several, all of which must hold. Raises InputError for anything else."""
    terms: list[Formula]
    if isinstance(where, Mapping):
        for name in where:
            require(name, str, "the name of an attribute", 'a text, such as {"age": "20-39"}')
        terms = [Choice(Column(name), _texts_of(name, values)) for name, values in where.items()]
    else:
        terms = [parsed(text, names) for text in ([where] if isinstance(where, str) else where)]
    return terms[0] if len(terms) == 1 else Conjunction(tuple(terms))


def _texts_of(name: str, values: Values) -> tuple[str, ...]:
    if isinstance(values, str):
        return (cell_text(values),)
    if isinstance(values, float | int | np.number):
        return (str(int(values)) if values == values // 1 else str(values),)
    if isinstance(values, tuple) or not isinstance(values, Iterable):
        # A pair could be the ends of a range as well as two values.
        raise InputError(f"{name!r} is asked for by a label, a range such as '20-39', or a list of labels")
    return tuple(text for part in values for text in _texts_of(name, part))


def parsed(condition: str, names: Collection[str] = (), is_value: IsValue | None = None) -> Formula:
    """Return the formula of a text. `is_value`: tests whether a text is a choice of a column's values."""
    if len(condition) > _LONGEST:
        raise InputError(f"a condition has {len(condition)} characters, more than the {_LONGEST} that are read")
    if not _is_text(condition):
        raise InputError(
            f"the condition {in_message(condition)} is no text: it has a NUL or a half of a surrogate pair"
        )
    return _Reader(cell_text(condition), names, is_value).formula()


def _is_text(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def in_message(condition: object) -> str:
    """Return a condition as quoted in a message."""
    text = condition if isinstance(condition, str) else str(condition)
    return repr(text if len(text) <= 200 else text[:200] + "...")


QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(
    rf"(?P<blank>\s+)|(?P<text>[rRuU]?(?:'''.*?'''|\"\"\".*?\"\"\"|{QUOTED}))|(?P<column>{_BACKTICKS.pattern})"
    rf"|(?P<number>(?:\d[\w.]*|\.\d\w*)(?:(?<=[eE])[-+]\d+)?)|(?P<word>{_WORD.pattern})|(?P<sign>.)",
    re.DOTALL,
)
_READ_OTHERWISE = re.compile(rf"{_WORD.pattern}|{PLAIN}|{QUOTED}|(?:.*\W)?(?:and|or|not)(?:\W.*)?", re.DOTALL)
"""Names that are a word, or that read as a constant or as several terms; the latter stand between backticks."""

_NOT = re.compile(r"not\b")
_RESERVED = {"and", "or", "not", "in", "is", "None", "True", "False"}
_SIGNS = {ast.Eq: "==", ast.NotEq: "==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

_SIGN = re.compile(r"\s*(?:[=!<>]=?|(?<!\w)(?:not\s+)?in\b)")
_CHOICE = re.compile(r"\s*=(?!=)\s*|\s+(not\s+)?in\s+|\s*(?=[<>])")
_IS_CHOICE = re.compile(rf"\s*=(?!=)|\s+(?:not\s+)?in\s+(?![\[(\s])|\s*[<>]=?\s*{PLAIN}\s*\|")
_BEFORE_TERM = re.compile(r"(?:[\s(~]|not\b)*")
_CONSTANT = re.compile(rf"(?:{QUOTED}|{PLAIN})", re.DOTALL)
_QUOTED_VALUE = re.compile(rf"\s*(?:{QUOTED})(?=\s*(?:\||\)|$|(?:and|or)\b))", re.DOTALL)
_STOP = re.compile(r"[()|]|\s+(?:and|or)\b")

_ENDS = 50  # at most, of a label, which may have parentheses, "and" and "or" within


class _Reader:
    """Reading of one condition: a scan marks the choices and the columns in it, and Python's parser reads the rest."""

    def __init__(self, condition: str, names: Collection[str], is_value: IsValue | None) -> None:
        self._text = condition.strip()
        self._names = sorted(names, key=len, reverse=True)
        self._is_value = is_value
        self._marked: list[Column | Formula] = []

    def formula(self) -> Formula:
        try:
            return self._formula(self._parsed())
        except (RecursionError, MemoryError):
            raise self._too_deep() from None

    def _parsed(self) -> ast.expr:
        source = "".join(self._pieces()).strip()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # backslashes that escape nothing
                return ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, Warning):
            raise self._unreadable() from None

    def _pieces(self) -> Iterator[str]:
        place, begins, deep, negated = 0, True, 0, 0
        while place < len(self._text):
            if begins and (choice := self._choice(place)) is not None:
                yield self._mark(choice[0])
                place, begins, negated = choice[1], False, 0
                continue
            if (name := self._name(place)) is not None:
                yield self._mark(Column(name))
                place, begins, negated = place + len(name), False, 0
                continue
            match = _TOKEN.match(self._text, place)
            assert match is not None, "any character is a token"
            place, kind, token = match.end(), match.lastgroup, match[0]
            if token == "#":
                raise self._refusal("has a # outside quotes; quote a column by backticks")
            if kind == "blank":
                yield " "
                continue
            deep += (token in "([") - (token in ")]")
            is_negation = token in ("not", "~")
            negated = negated + 1 if is_negation else negated if token == "(" else 0
            if deep + negated > _DEEPEST:
                raise self._too_deep()
            begins = is_negation or token in ("and", "or", "(", "&", "|")
            if kind == "column" or (kind == "word" and token not in _RESERVED):
                token = self._mark(Column(token.strip("`")))
            yield token

    def _mark(self, part: "Column | Formula") -> str:
        self._marked.append(part)
        return f" _{len(self._marked) - 1} "

    def _name(self, place: int) -> str | None:
        for name in self._names:
            if not _READ_OTHERWISE.fullmatch(name) and self._text.startswith(name, place):
                rest = self._text[place + len(name) :].lstrip()
                if not rest or rest[0] in "=!<>)&|" or re.match(r"(in|not|and|or)\b", rest):
                    return name
        return None

    def _formula(self, node: ast.expr) -> Formula:
        match node:
            case ast.Name(id=mark) if not isinstance(choice := self._marked[int(mark[1:])], Column):
                return choice
            case ast.BoolOp(op=op, values=terms):
                return (Conjunction if isinstance(op, ast.And) else Disjunction)(tuple(map(self._formula, terms)))
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as op):
                terms = []
                while isinstance(node, ast.BinOp) and type(node.op) is type(op):  # as many as somebody writes
                    terms.append(node.right)
                    node = node.left
                formulas = tuple(map(self._formula, [node, *reversed(terms)]))
                return Conjunction(formulas) if isinstance(op, ast.BitAnd) else Disjunction(formulas)
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=term):
                return Negation(self._formula(term))
            case ast.Compare(left=first, ops=signs, comparators=others):
                compared = tuple(map(self._compared, [first, *others], signs, others))
                return compared[0] if len(compared) == 1 else Conjunction(compared)
        raise self._unreadable()

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Formula:
        first = self._operand(left)
        if isinstance(sign, ast.In | ast.NotIn):
            if not isinstance(first, Column):
                raise self._unreadable()
            membership = Membership(first, self._list(right))
            return membership if isinstance(sign, ast.In) else Negation(membership)
        second = self._operand(right)
        if type(sign) not in _SIGNS:
            raise self._unreadable()
        if not isinstance(first, Column) and not isinstance(second, Column):
            raise self._refusal("compares constants with each other; compare columns with constants")
        comparison = Inequality(first, _SIGNS[type(sign)], second)
        return Negation(comparison) if isinstance(sign, ast.NotEq) else comparison

    def _operand(self, node: ast.expr) -> Operand:
        match node:
            case ast.Name(id=mark) if isinstance(column := self._marked[int(mark[1:])], Column):
                return column
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()) | ast.UnaryOp(op=ast.Invert()):
                raise self._refusal("combines comparisons by & or |; put each of them in parentheses")
            case ast.Constant(value=bool() as word):
                raise self._refusal(f"compares with {word}; write it as the text '{word}', or as the table spells it")
            case ast.Constant(value=str() as text):
                if not _is_text(text):
                    raise self._refusal("spells a NUL or a half of a surrogate pair, which are no text")
                return text
            case ast.Constant(value=int() | float() as number):
                if not abs(number) < EXACT:
                    raise self._refusal("has a number of 2**53 or more, beyond which not all are told apart")
                return number
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as positive):
                if not isinstance(constant := self._operand(positive), str | Column):
                    return -constant
        raise self._unreadable()

    def _list(self, node: ast.expr) -> tuple[Constant, ...]:
        values = list(map(self._operand, node.elts if isinstance(node, ast.List | ast.Tuple) else [node]))
        constants = tuple(value for value in values if not isinstance(value, Column))
        if len(constants) < len(values) or len({isinstance(value, str) for value in constants}) > 1:
            raise self._refusal("needs a list of constants after in, all numbers or all texts")
        return constants

    def _choice(self, place: int) -> tuple[Formula, int] | None:
        beginning = self._beginning(place)
        begin = beginning and _CHOICE.match(self._text, beginning[1])
        if not beginning or not begin:
            return None
        name, after_name = beginning
        start, end = begin.end(), None
        if self._is_value is not None:
            ends = [end for end, _ in islice(self._ends(start), _ENDS)]
            end = next((end for end in reversed(ends) if self._is_value(name, self._text[start:end].strip())), None)
        if end is None and not _NOT.match(self._text, place) and _IS_CHOICE.match(self._text, after_name):
            end = next(end for end, is_certain in self._ends(start) if is_certain)
        if end is None:
            return None
        choice = Choice(Column(name), (self._text[start:end].strip(),))
        return Negation(choice) if begin[1] else choice, end

    def _beginning(self, place: int) -> tuple[str, int] | None:
        if quoted := _BACKTICKS.match(self._text, place):
            return quoted[1], quoted.end()
        for name in self._names:
            if self._text.startswith(name, place) and _SIGN.match(self._text, place + len(name)):
                return name, place + len(name)
        word = _WORD.match(self._text, place)
        return None if word is None or word[0] in ("and", "or", "not", "in") else (word[0], word.end())

    def _ends(self, begin: int) -> Iterator[tuple[int, bool]]:
        quoted = _QUOTED_VALUE.match(self._text, begin)
        place, depth = quoted.end() if quoted else begin, 0
        while stop := _STOP.search(self._text, place):
            place, sign = stop.end(), stop[0]
            if sign == "(":
                depth += 1
            elif sign == ")":
                if depth == 0:
                    yield stop.start(), True
                depth = max(depth - 1, 0)
            elif sign == "|":
                quoted = _QUOTED_VALUE.match(self._text, place)
                place = quoted.end() if quoted else place
            else:
                yield stop.start(), depth == 0 and self._begins_term(place)
        yield len(self._text), True

    def _begins_term(self, place: int) -> bool:
        before = _BEFORE_TERM.match(self._text, place)
        place = place if before is None else before.end()
        beginning, constant = self._beginning(place), _CONSTANT.match(self._text, place)
        return any(
            (beginning and _SIGN.match(self._text, beginning[1]), constant and _SIGN.match(self._text, constant.end()))
        )

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"the condition {in_message(self._text)} {problem}")

    def _too_deep(self) -> InputError:
        return self._refusal(f"goes deeper than {_DEEPEST} parentheses; make it several rules")

    def _unreadable(self) -> InputError:
        return self._refusal(
            "cannot be read; it compares columns with constants, such as \"age > 80 and sex == 'Female'\""
        )


# Meaning of a text among the labels of an attribute: a label of any level, several of them, or a range of numbers.
#
# A text that is a label is that label, unless it begins with < or >. If it stands for different sets of values at different
# levels, it is refused; `label@level` names one. A range means the base values that lie in it.


_PART = re.compile(rf"\s*(?:{QUOTED})\s*(?=\||$)|[^|]*", re.DOTALL)


class _ConditionError(InputError):
    """Error of a condition that an attribute cannot answer."""

    def __init__(self, attribute: str, message: str) -> None:
        super().__init__(message)
        self.attribute = attribute


class NoValueError(_ConditionError):
    """Error of a text that means none of the values of an attribute."""


class NothingInRangeError(NoValueError):
    """Error of a range in which none of the values of an attribute lies, though they are numbers."""


def unquoted(text: str) -> str | None:
    """Characters between the quotes of a text; None for one without quotes around it."""
    if not re.fullmatch(QUOTED, text.strip(), re.DOTALL):
        return None
    try:
        return str(ast.literal_eval(text.strip()))
    except (SyntaxError, ValueError):
        return None


@frozen(eq=False)
class Meaning:
    """Base values that a condition means: surely, and possibly if a value is not decided. Each array has shape (size(0),).

    A value that is no number, and one that a range cuts, is not decided. `shares`: nan of a value that is no number.
    `low`, `high`: the ends of the range, if it cuts a value.
    """

    surely: BoolArray
    possibly: BoolArray
    shares: FloatArray
    low: FloatArray = field(default_factory=lambda: np.array(-np.inf))
    high: FloatArray = field(default_factory=lambda: np.array(np.inf))

    @classmethod
    def certain(cls, inside: BoolArray) -> "Meaning":
        """Meaning of a condition that is decided for every value."""
        return cls.between(inside, inside)

    @classmethod
    def between(cls, surely: BoolArray, possibly: BoolArray) -> "Meaning":
        """Meaning of a condition that may not hold for all rows of a value, and is estimated to."""
        return cls(surely, possibly, possibly.astype(np.float64))

    @property
    def cut(self) -> BoolArray:
        """Values that stand for numbers of which only some are in the range."""
        return np.asarray(self.possibly & ~self.surely & ~np.isnan(self.shares))

    @property
    def unjudged(self) -> BoolArray:
        """Values that are no numbers, so that the condition is not decided for them."""
        return np.asarray(self.possibly & ~self.surely & np.isnan(self.shares))

    def __or__(self, other: "Meaning") -> "Meaning":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        for one, rest in ((self, other), (other, self)):
            low, high = np.where(rest.possibly, low, one.low), np.where(rest.possibly, high, one.high)
        surely, possibly = self.surely | other.surely, self.possibly | other.possibly
        shares = np.where(surely, 1.0, 1 - (1 - self.shares) * (1 - other.shares))
        return Meaning(surely, possibly, shares, low, high)

    def __and__(self, other: "Meaning") -> "Meaning":
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        possibly = self.possibly & other.possibly & (low <= high)
        shares = np.where(possibly, self.shares * other.shares, 0.0)
        return Meaning(self.surely & other.surely, possibly, shares, low, high)

    def __invert__(self) -> "Meaning":
        return Meaning(~self.possibly, ~self.surely, 1 - self.shares)


class UnjudgedError(_ConditionError):
    """Error of a condition that is not decided for some values of an attribute."""


@frozen(eq=False)
class Labels:
    """Labels below the level `end`, if given, which has another name. of_table: base values have exact numbers."""

    attribute: str
    hierarchy: Hierarchy
    finest: int = 0
    of_table: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    end: int | None = None

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels whose labels are read: those below another name, and `*`."""
        return (*range(self.hierarchy.height)[: self.end], self.hierarchy.height)

    def meaning_of(self, text: str) -> Meaning:
        """Meaning of a text among the labels. Raises InputError for an unknown label or an empty range."""
        numbers = Range.of(text) if self.has_numbers else None
        is_comparison = numbers is not None and text.lstrip().startswith(("<", ">"))  # also where a label is spelled so
        if not is_comparison and (inside := self.labelled(text)) is not None:
            return Meaning.certain(inside)
        if len(parts := self.parts(text)) > 1:
            return reduce(or_, map(self.meaning_of, parts))
        if numbers is not None:
            return self.between(numbers, text)
        numbers = Range.of(text)
        if numbers is not None and not numbers.is_point and any(map(interval, self.hierarchy.labels[0])):
            raise InputError(
                f"{self.attribute!r} cannot be asked for the range {text!r}: its labels are names, which need not "
                "stand for the numbers that they look like. Name values, with | between"
            )
        if text.lstrip().startswith(("<", ">")):
            raise no_range(self.attribute, text)
        if (exact := unquoted(text)) is not None and (inside := self.labelled(exact)) is not None:
            return Meaning.certain(inside)
        raise self.no_value(text)

    def is_value(self, text: str) -> bool:
        """Return whether a text can mean values: every part of it is a label, or a range where values are numbers."""
        if self._labelled(text):
            return True
        if len(parts := self.parts(text)) > 1:
            return all(map(self.is_value, parts))
        is_several = text.startswith(("<", ">")) and _JOINED.search(text)  # `>=5 and years<6` ends before the "and"
        return not (is_several or _LIST.fullmatch(text)) and Range.of(text) is not None and self.has_numbers

    def labelled(self, text: str) -> BoolArray | None:
        """Base values under a label; None for none. Raises InputError for a text that means different values."""
        meanings = self._labelled(text)
        if len(meanings) > 1:
            choices = " or ".join(map(repr, meanings))
            raise InputError(f"{text!r} does not name one value of {self.attribute!r}; write {choices} instead")
        return next(iter(meanings.values()), None)

    def _labelled(self, text: str) -> dict[str, BoolArray]:
        labels = (text, f"{self.attribute} {text}", *(label for label, word in self.words.items() if word == text))
        if meanings := self._at((label, level) for label in labels for level in self.levels):
            return meanings
        label, _, chosen = text.rpartition("@")
        if label and chosen.isdecimal() and int(chosen) in self.levels:
            return self._at([(label, int(chosen))])
        canonical = POINT.canonical(text)
        return {} if canonical == text or has_leading_zero(text) else self._labelled(canonical)

    def _at(self, places: Iterable[tuple[str, int]]) -> dict[str, BoolArray]:
        """Different sets of base values under labels at levels, by the `label@level` of each that comes first."""
        sets: dict[bytes, tuple[str, BoolArray]] = {}
        for label, level in places:
            if (code := self.hierarchy.code(label, level)) is not None:
                inside = np.asarray(self.hierarchy.lift(0, level) == code)
                sets.setdefault(inside.tobytes(), (f"{label}@{level}", inside))
        return dict(sets.values())

    def parts(self, text: str) -> Sequence[str]:
        """Texts with | between them; a | within quotes divides nothing, unless the pieces are labels."""
        divided = [part.strip() for part in text.split("|")]
        if all(map(self._labelled, divided)):
            return divided
        return parts(text)

    def between(self, numbers: Range, text: str) -> Meaning:
        """Return the base values in a range, which messages quote as `text`. A value that is no number is not decided."""
        labels = self.hierarchy.labels[0]
        shares = np.zeros(len(labels))
        inside, meets = np.zeros((2, len(labels)), dtype=np.bool_)
        for code, reading in enumerate(base_numbers(self.hierarchy, self.of_table)):
            if reading is None:
                meets[code], shares[code] = (False, 0.0) if labels[code] == MISSING else (True, np.nan)
            elif numbers.meets(reading):
                is_whole = numbers.holds(reading)
                meets[code] = True
                inside[code] = is_whole and not names_missing(labels[code])
                shares[code] = 1.0 if is_whole else reading.share_in(numbers)
        if not meets.any():
            none = f"no value of {self.attribute!r} lies in the range {text!r}"
            raise NothingInRangeError(self.attribute, str(self.no_value(text)) if numbers.is_point else none)
        meaning = Meaning(inside, meets, shares)
        low, high = (
            np.where(meaning.cut, float(numbers.low), -np.inf),
            np.where(meaning.cut, float(numbers.high), np.inf),
        )
        return replace(meaning, low=low, high=high)

    def no_value(self, text: str) -> InputError:
        """Error for a text that means none of the values; it tells nothing of rows below the published levels."""
        if self.hierarchy.labels[self.finest] == (SUPPRESSED,):
            return NoValueError(
                self.attribute, f"no marginal shows {self.attribute!r}, so the release tells nothing of its values"
            )
        if not (labels := self.hierarchy.labels[self.finest : self.end]):
            other = self.hierarchy.level_names[self.end or 0]
            return NoValueError(self.attribute, f"no marginal shows values of {self.attribute!r}; ask for {other!r}")
        published = [label for level in labels for label in level if label != SUPPRESSED]
        finest = f"the finest that are published, at level {self.finest}, are"
        names = [*published, *(word for label, word in self.words.items() if label in published)]
        suggestion = suggested(text, list(dict.fromkeys(names)), finest)
        return NoValueError(self.attribute, f"{self.attribute!r} has no published value {text!r}; {suggestion}")

    @property
    def has_numbers(self) -> bool:
        """Return whether some base value is a number, or a range."""
        return any(base_numbers(self.hierarchy, self.of_table))


_JOINED = re.compile(r"\b(?:and|or)\b|[&,]")
_LIST = re.compile(r"\[[^\[\]]*\]|\([^()]*\)")
"""Values between the marks of a list, which is no range in Python's notation: `age in [20, 25]`."""


def no_range(attribute: str, text: str) -> InputError:
    """Error for a range of values that are no numbers."""
    return InputError(
        f"{attribute!r} cannot be asked for {text!r}: ranges are of numbers, as {attribute}>3 or {attribute}=20-39; or name "
        "values, with | between"
    )


def parts(text: str) -> list[str]:
    """Texts with | between them; one within quotes divides nothing."""
    divided, place = [], 0
    while place <= len(text) and (match := _PART.match(text, place)):
        divided.append(match[0].strip())
        place = match.end() + 1
    return divided

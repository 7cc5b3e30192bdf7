"""Choices in the text of a condition, such as `age in 20-39`, and names of columns that are no words.

They are found first, and words are put in their places; what is left has the grammar of Python
(`marginals.conditions.grammar` has the whole of it).
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from marginals.conditions.formula import Choice, Column, Formula, Negation
from marginals.errors import InputError

IsValue: TypeAlias = Callable[[str, str], bool]
"""Whether a column, by its name, is known to have the values that a text means."""


QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
BACKTICKS = re.compile(r"`([^`\n]+)`")


def no_value_is_known(_column: str, _text: str) -> bool:
    """Where the labels of a column are not known before its rows are read."""
    return False


def in_message(condition: object) -> str:
    """A condition in a message."""
    text = condition if isinstance(condition, str) else str(condition)
    return repr(text if len(text) <= 200 else text[:200] + "...")


def unused_word(condition: str, stem: str) -> str:
    """A word, for the beginning of others, that the condition does not contain."""
    while stem in condition:
        stem += "_"
    return stem


class Scanned(NamedTuple):
    """A text, and the columns and choices that some of its words stand for."""

    text: str
    columns: Mapping[str, str]
    choices: Mapping[str, Formula]


_SIGN = re.compile(r"\s*(?:[=!<>]=?|(?<!\w)(?:not\s+)?in\b)")
_IS_CHOICE = re.compile(r"\s*=(?!=)\s*|\s+(not\s+)?in\s+(?![\[(])", re.DOTALL)
_NUMBER_OR = re.compile(r"\s*[<>]=?\s*[-+]?\d+(?:\.\d+)?\s*\|")
_WORD = re.compile(r"[^\W\d]\w*")
_BEFORE_TERM = re.compile(r"(?:[\s(~]|not\b)*")
_CONSTANT = re.compile(rf"(?:{QUOTED}|[-+]?\d[\d.]*)", re.DOTALL)
_ELSEWHERE = re.compile(rf"{QUOTED}|\s+|\w+|[=!<>]=|.", re.DOTALL)


class Scanner:
    """The reading of choices and of names that are no words, for which words of Python are put."""

    def __init__(self, condition: str, names: Collection[str], is_value: IsValue) -> None:
        self._condition, self._text, self._is_value = condition, condition.strip(), is_value
        self._names = sorted(names, key=len, reverse=True)
        self._columns: dict[str, str] = {}
        self._choices: dict[str, Formula] = {}

    def whole(self) -> Choice | None:
        """The choice that the whole text is, if it means values that a column is known to have."""
        for name in self._names:
            if not self._text.startswith(name):
                continue
            rest = self._text[len(name) :]
            for begin in re.finditer(r"\A\s*=\s*|\A\s+in\s+|\A\s*(?=[<>])", rest):
                values = rest[begin.end() :].strip()
                if self._is_value(name, values):
                    return Choice(Column(name), (values,))
        return None

    def scanned(self) -> Scanned:
        """The text with words for choices and names, and what they stand for. Raises InputError for a # outside them."""
        written: list[str] = []
        place, term, operand = 0, True, True
        column_stem, choice_stem = (unused_word(self._condition, stem) for stem in ("_column", "_choice"))
        while place < len(self._text):
            if term and (begun := self._choice(place)) is not None:
                formula, place = begun
                word = f"{choice_stem}_{len(self._choices)}"
                self._choices[word] = formula
                written.append(f" {word} ")
                term = operand = False
                continue
            if operand and (named := self._name(place)) is not None:
                name, place = named
                word = f"{column_stem}_{len(self._columns)}"
                self._columns[word] = name
                written.append(f" {word} ")
                term = operand = False
                continue
            token = _ELSEWHERE.match(self._text, place)
            assert token is not None
            place = token.end()
            written.append(token[0])
            if token[0] == "#":
                raise InputError(
                    f"the condition {in_message(self._condition)} has a # outside quotes; quote a column by backticks"
                )
            if not token[0].isspace():
                term = token[0] in ("and", "or", "not", "&", "|", "~") or (term and token[0] == "(")
                operand = term or token[0] in ("==", "!=", "<", "<=", ">", ">=")
        return Scanned("".join(written), self._columns, self._choices)

    def _name(self, place: int) -> tuple[str, int] | None:
        """The name of a column that begins at a place and is no word, or that a sign or the end follows."""
        if quoted := BACKTICKS.match(self._text, place):
            return quoted[1], quoted.end()
        for name in self._names:
            end = place + len(name)
            if not _WORD.fullmatch(name) and self._text.startswith(name, place):
                rest = self._text[end:].lstrip()
                if not rest or rest[0] in "=!<>)&|" or re.match(r"(in|not|and|or)\b", rest):
                    return name, end
        return None

    def _choice(self, place: int) -> tuple[Formula, int] | None:
        """The choice that begins at a place, and where it ends."""
        for name, end in self._beginnings(place):
            if begin := _IS_CHOICE.match(self._text, end):
                values, after = self._values(name, begin.end())
                choice = Choice(Column(name), (values,))
                return (Negation(choice) if begin[1] else choice), after
            if re.match(r"\s*[<>]", self._text[end:]):
                values, after = self._values(name, end)
                if _NUMBER_OR.match(self._text, end) or self._is_value(name, values):
                    return Choice(Column(name), (values,)), after
        return None

    def _beginnings(self, place: int) -> Iterator[tuple[str, int]]:
        """The names that may begin at a place, and where they end: the longest that the table has and a sign follows."""
        if quoted := BACKTICKS.match(self._text, place):
            yield quoted[1], quoted.end()
            return
        for name in self._names:
            if self._text.startswith(name, place) and _SIGN.match(self._text, place + len(name)):
                yield name, place + len(name)
                return
        if (word := _WORD.match(self._text, place)) and word[0] not in ("and", "or", "not", "in"):
            yield word[0], word.end()

    def _values(self, name: str, begin: int) -> tuple[str, int]:
        """The text of the values that begin at a place, and where they end."""
        ends = list(self._ends(begin))
        for end, _ in reversed(ends):
            if self._is_value(name, self._text[begin:end].strip()):
                return self._text[begin:end].strip(), end
        end = next(end for end, is_certain in ends if is_certain)
        return self._text[begin:end].strip(), end

    def _ends(self, begin: int) -> Iterator[tuple[int, bool]]:
        """Where values that begin at a place may end, the first first, and whether they must unless they are a label."""
        place, depth, at_value = begin, 0, True
        while place < len(self._text):
            if at_value and (
                quoted := re.compile(rf"(?:{QUOTED})(?=\s*(?:\||\)|$|(?:and|or)\b))").match(self._text, place)
            ):
                place, at_value = quoted.end(), False
                continue
            sign = self._text[place]
            if sign == "(":
                depth += 1
            elif sign == ")":
                if depth == 0:
                    yield place, True
                depth = max(depth - 1, 0)
            elif joined := re.compile(r"\s+(?:and|or)\b").match(self._text, place):
                yield place, depth == 0 and self._begins_term(joined.end())
            at_value = sign == "|" or (at_value and sign.isspace())
            place += 1
        yield len(self._text), True

    def _begins_term(self, place: int) -> bool:
        """Whether a condition seems to begin at a place: a name or a constant that a sign follows."""
        before = _BEFORE_TERM.match(self._text, place)
        place = place if before is None else before.end()
        ends = [end for _, end in self._beginnings(place)]
        if constant := _CONSTANT.match(self._text, place):
            ends.append(constant.end())
        return any(_SIGN.match(self._text, end) for end in ends)

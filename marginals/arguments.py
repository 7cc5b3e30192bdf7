"""Arguments of the public functions: a value of another type is one sentence that says what to give instead."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from math import inf
from numbers import Real
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, TypeVar, cast

from marginals.errors import InputError
from marginals.messages import printable
from marginals.replaced import REPLACED


def path_of(value: object) -> Path:
    """A path that is given as text or as a Path. Raises InputError for anything else."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"files and folders are named by a text or a pathlib.Path, not by {kind_of(value)}")
    try:
        is_name = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InputError("a path has a NUL or a half of a surrogate pair, which no file has in its name")
    path = Path(value)
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in path.parts):
        raise InputError(f"files and folders have names of at most {_LONGEST_NAME} bytes; name one that is there")
    return path


_LONGEST_NAME = 255


def require(value: object, kind: type | UnionType, name: str, instead: str) -> None:
    """Raise InputError unless a value is of a kind. name: of the argument. instead: what to give, as one types it."""
    if not isinstance(value, kind):
        raise InputError(f"{name} cannot be {kind_of(value)}; give {instead}")


def require_function(value: object, name: str, instead: str) -> None:
    """Raise InputError for what cannot be called."""
    if not callable(value):
        raise InputError(f"{name} cannot be {kind_of(value)}; give {instead}")


def elements_of(value: object, name: str, instead: str, kind: type | UnionType = object) -> list[Any]:
    """The elements of something that is no text. Raises InputError where it has none, or one of another kind."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{name} cannot be {kind_of(value)}; give {instead}")
    elements = list(value)
    for element in elements:
        require(element, kind, f"an element of {name}", instead)
    return elements


def require_whole_number(value: object, name: str, least: int, most: int | None = None) -> None:
    """Raise InputError unless a value is a whole number within bounds, of Python or of NumPy."""
    whole(least, most).check(value, name)


def require_names(names: Iterable[object], key: str, among: Sequence[str], kind: str) -> None:
    """Raise InputError for a name that is not among others. key: where it stands. kind: what it should be."""
    for name in names:
        if not isinstance(name, str) or name not in among:
            raise InputError(
                f"{key} names {printable(str(name))!r}, which is no {kind} of the table; these are "
                f"{', '.join(among) or 'none'}"
            )


def published_of(value: Any, name: str) -> Any:
    """Return the published marginals of a release, or of the content of a bundle. Raises InputError for what has none."""
    published = getattr(value, "published", value)
    if not hasattr(type(published), "everything"):
        raise InputError(f"{name} cannot be {kind_of(value)}; give what marginals.open_release(folder) returns")
    return published


def require_share(value: object, name: str) -> None:
    """Raise InputError unless a value is a number from 0 to 1."""
    number(0, 1).check(value, name)


def kind_of(value: object) -> str:
    """Word of a message for a value that may be of the data: its type, or the number itself."""
    if value is None or (isinstance(value, int | float) and not 1e30 <= abs(value) < inf):
        return repr(value)
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


class Taken(NamedTuple):
    """Values that an argument takes. words: after "is". test: of a value. read: of the first argument and a value."""

    words: str
    test: Callable[[Any], bool]
    read: Callable[[Any, Any], Any] | None = None

    def check(self, value: object, name: str, more: str = "") -> None:
        """Raise InputError for a value that is none. more: what the message says besides."""
        if not self.test(value):
            raise InputError(f"{name} is {self.words}, not {kind_of(value)}{more}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def whole(least: int, most: int | None = None) -> Taken:
    """Whole numbers of Python or of NumPy, from `least` on."""
    last = inf if most is None else most

    def test(value: Any) -> bool:
        is_whole = hasattr(value, "__index__") and not isinstance(value, bool) and not getattr(value, "shape", ())
        return is_whole and least <= value.__index__() <= last

    return Taken(f"a whole number from {least:,} {'on' if most is None else f'to {most:,}'}", test)


def number(least: float, most: float = inf, *, inside: bool = False) -> Taken:
    """Numbers from `least` to `most`; inside: without these ends."""

    def test(value: Any) -> bool:
        return _is_number(value) and (least < value < most if inside else least <= value <= most)

    first, second = ("between", "and") if inside else ("from", "to")
    return Taken("a number of at least 0" if most == inf else f"a number {first} {least:g} {second} {most:g}", test)


def one_of(*texts: str) -> Taken:
    """Texts to choose from."""
    return Taken(" or ".join(map(repr, texts)), lambda value: isinstance(value, str) and value in texts)


def instance(kind: type | UnionType, words: str) -> Taken:
    """Instances of a type."""
    return Taken(words, lambda value: isinstance(value, kind))


def _are_texts_or_table(value: object) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, Sequence) and not isinstance(value, bytes) and all(isinstance(text, str) for text in value)


NAME = instance(str, "the name of an attribute")
ATTRIBUTES = Taken("the name of an attribute, a list of names, or a level for each", _are_texts_or_table)
CONDITION = Taken("a condition: a text, a list of texts, or labels by attribute", _are_texts_or_table)
FLAG, FUNCTION = instance(bool, "True or False"), Taken("a function of a frame", callable)
PATH = instance(str | os.PathLike, "the path of a file, as a text or a pathlib.Path")

Function = TypeVar("Function", bound=Callable[..., Any])


def takes(example: str, /, **taken: Taken) -> Callable[[Function], Function]:
    """Return a decorator that refuses arguments of other kinds by an InputError with `example`, a right call."""

    def checked(function: Function) -> Function:
        declared = signature(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = declared.bind(*args, **kwargs)
            except TypeError as error:
                for name in kwargs.keys() - declared.parameters.keys():
                    if instead := REPLACED.get(f"argument {name}"):
                        raise InputError(f"the argument {name} was taken out: {instead}") from None
                raise InputError(f"{function.__name__}: {error}; write {example}") from None
            for name, value in bound.arguments.items():
                if name not in taken or value is declared.parameters[name].default:
                    continue
                taken[name].check(value, name, f"; write {example}")
                if (read := taken[name].read) is not None:
                    bound.arguments[name] = read(args[0], value)
            return function(*bound.args, **bound.kwargs)

        return cast(Function, call)

    return checked

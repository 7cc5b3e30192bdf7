"""What Python hands to the public functions: a value of another type is one sentence that says what to give instead."""

import os
from collections.abc import Iterable
from math import inf
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any

from marginals.errors import InputError


def path_of(value: object) -> Path:
    """A path that is given as text or as a Path. Raises InputError for anything else.

    >>> path_of("release").name
    'release'
    """
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"files and folders are named by a text or a pathlib.Path, not by {kind_of(value)}")
    path = Path(value)
    if any(len(part.encode(errors="surrogatepass")) > _LONGEST_NAME for part in path.parts):
        raise InputError(f"files and folders have names of at most {_LONGEST_NAME} bytes; name one that is there")
    return path


_LONGEST_NAME = 255
"""Bytes of a name that file systems take."""


def require(value: object, kind: type | UnionType, name: str, instead: str) -> None:
    """Raise InputError unless a value is of a kind. name: of the argument. instead: what to give, as somebody would type it.

    >>> from collections.abc import Mapping
    >>> require(None, Mapping, "attributes", '{"age": "quasi-identifier"}')
    Traceback (most recent call last):
        ...
    marginals.errors.InputError: attributes cannot be None; give {"age": "quasi-identifier"}
    """
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
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else least - 1
    if number < least or (most is not None and number > most):
        upwards = "on" if most is None else f"to {most:,}"
        raise InputError(f"{name} is a whole number from {least:,} {upwards}, not {kind_of(value)}")


def require_release(value: object, name: str) -> None:
    """Raise InputError unless a value has published margins, as a release and the content of a bundle have."""
    if not hasattr(type(value), "everything"):
        raise InputError(f"{name} cannot be {kind_of(value)}; give what marginals.open_release(folder) returns")


def require_share(value: object, name: str) -> None:
    """Raise InputError unless a value is a number from 0 to 1.

    >>> require_share(2.5, "suppression")
    Traceback (most recent call last):
        ...
    marginals.errors.InputError: suppression is a number from 0 to 1, not 2.5
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name} is a number from 0 to 1, not {kind_of(value)}")


def kind_of(value: object) -> str:
    """What a message calls a value that may be of the data: its type, a number itself."""
    if value is None or (isinstance(value, int | float) and not 1e30 <= abs(value) < inf):
        return repr(value)
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"

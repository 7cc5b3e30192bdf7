"""Results as plain values: the JSON of anything that the library answers."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from numbers import Integral, Rational, Real
from typing import Any


def plain(value: object) -> Any:
    """A result as plain values, which `json.dumps` writes.

    A class names by `PLAIN` the attributes that are told, in their order; a dataclass that does not tells the fields that
    its `repr` shows. None stands for what is infinite or not known.

    >>> from fractions import Fraction
    >>> plain({"shares": (Fraction(1, 3), float("inf"), 2)})
    {'shares': ['1/3', None, 2]}
    >>> import numpy as np
    >>> plain(np.array([1, 2]) > 1)
    [False, True]
    >>> plain({"binding": np.bool_(True)})
    {'binding': True}
    >>> plain(Fraction)
    'Fraction'
    """
    match value:
        case None | bool() | str():
            return value
        case type():
            return value.__name__
        case Enum():
            return plain(value.value)
        case Integral():
            return int(value)
        case Rational():
            return str(value)
        case Real():
            return float(value) if isfinite(value) else None
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
    if names := getattr(type(value), "PLAIN", None):
        return {name: plain(getattr(value, name)) for name in names}
    if (as_json := getattr(value, "as_json", None)) is not None:
        return plain(as_json())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.repr}
    if (named := getattr(value, "_asdict", None)) is not None:
        return plain(named())
    if (tolist := getattr(value, "tolist", None)) is not None:  # arrays, and a truth value of NumPy
        return plain(tolist())
    return [plain(item) for item in value] if isinstance(value, Iterable) else str(value)

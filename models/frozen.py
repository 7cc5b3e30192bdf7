"""Dataclasses that are never changed, and share their methods.

`dataclass(frozen=True)` compiles six methods for each class. A command imports 180 classes, which took a quarter of its
time (.12 of .45 seconds of `marginals verify`). These compile `__init__` alone.
"""

from collections.abc import Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, eq: bool = True, kw_only: bool = False) -> Any:
    """Make a class a frozen dataclass; `fields`, `replace`, `asdict` and `is_dataclass` know it.

    Parameters
    ----------
    cls
        A class with annotated fields.
    eq
        Whether objects are equal, and hash alike, by their fields; if not, only an object itself is equal to it.
    kw_only
        Whether fields are given by name only.

    Returns
    -------
    The class, or without one the decorator.

    Examples
    --------
    >>> @frozen
    ... class Interval:
    ...     low: int
    ...     high: int = 9
    >>> Interval(3)
    Interval(low=3, high=9)
    >>> Interval(3) == Interval(3, 9)
    True
    >>> Interval(3).high = 5
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot change 'high' of 'Interval'
    """
    if cls is None:
        return partial(_frozen, eq=eq, kw_only=kw_only)
    return _frozen(cls, eq=eq, kw_only=kw_only)


def _frozen(cls: Any, eq: bool, kw_only: bool) -> Any:
    defined = dict(vars(cls))
    parents = [vars(base)["__dataclass_params__"] for base in cls.__mro__[1:] if "__dataclass_params__" in vars(base)]
    for parameters in parents:
        parameters.frozen = False  # or no class that is compiled as one that changes may inherit
    cls = dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
    for parameters in [*parents, cls.__dataclass_params__]:
        parameters.frozen = True
    cls.__setattr__, cls.__delattr__ = _set_once, _refuse
    if "__repr__" not in defined:
        cls.__repr__ = _repr
    compared = [one for one in fields(cls) if one.compare]
    if eq and "__eq__" not in defined:
        cls.__eq__, cls.__compared__ = _eq, _values(compared)
    if eq and (defined.get("__hash__") is None and ("__eq__" in defined or "__hash__" not in defined)):
        cls.__hash__ = _hash
        cls.__hashed__ = _values([one for one in fields(cls) if (one.compare if one.hash is None else one.hash)])
    return cls


def _values(some: Sequence[Field[Any]]) -> Any:
    return attrgetter(*(one.name for one in some)) if some else type


def _set_once(self: Any, name: str, value: object) -> None:
    # `__init__` sets each field, and nothing sets one again. A subclass that is no dataclass may have more attributes.
    one = self.__dataclass_fields__.get(name)
    if one is None and "__dataclass_fields__" not in vars(type(self)):
        object.__setattr__(self, name, value)
    elif name in self.__dict__ or one is None or not (one.init or one.default_factory is not MISSING):
        _refuse(self, name)
    else:
        self.__dict__[name] = value


def _refuse(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot change {name!r} of {type(self).__name__!r}")


@recursive_repr()
def _repr(self: Any) -> str:
    values = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({values})"


def _eq(self: Any, other: Any) -> bool:
    return self.__compared__(self) == self.__compared__(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__hashed__(self))

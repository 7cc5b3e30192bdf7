"""The keys of a TOML file as a table: what each takes, in words. A section is read by such a table, and all else refused.

A class of settings has such a table in its fields, by which configs are read and what Python hands over is checked.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, field, fields, replace
from decimal import Decimal
from math import isfinite
from numbers import Integral, Number
from typing import Any, ClassVar, Self

from marginals.errors import InputError
from marginals.replaced import REPLACED
from models.frozen import frozen


@frozen
class Key:
    """A key of a section: what it takes, the same in words that follow "the key X must", and its default if it has one."""

    takes: Callable[[Any], bool]
    must: str
    required: bool = False
    default: Any = None

    def check(self, where: str, value: Any) -> Any:
        """The value. Raises InputError naming the key, which is called `where`."""
        if not self.takes(value):
            raise InputError(f"the key {where} must {self.must}").about(where)
        return value

    def of_each(self, where: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a table, if each is taken."""
        return {name: self.check(f"{where}.{name}", value) for name, value in table.items()}


Keys = Mapping[str, Key]


class Settings:
    """Base of classes of settings: an argument that was taken out is refused with what there is instead."""

    section: ClassVar[str]  # section of a config with the same keys

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Raise InputError for an argument that was taken out."""
        for name in settings:
            if instead := REPLACED.get(f"{cls.section}.{name}"):
                raise InputError(f"the argument {name} was taken out: {instead}")
        return super().__new__(cls)


def check_keys(content: Mapping[str, Any], names: Iterable[str], prefix: str = "") -> None:
    """Raise InputError for a key that is none of these. prefix: of their names in messages."""
    names = [prefix + key for key in names]
    for key in content:
        section = f"{prefix.partition('.')[0]}.".lstrip(".")
        if instead := REPLACED.get(prefix + key, REPLACED.get(section + key)):
            raise InputError(f"the key {prefix}{key} was taken out: {instead}")
        if prefix + key not in names:
            raise InputError(f"unknown key {prefix}{key}; known are {', '.join(names)}").about(prefix + key)


def section(content: object, name: str, keys: Keys) -> dict[str, Any]:
    """A section by its table of keys, with defaults. Raises InputError for another key, one that is not taken, or none."""
    if not isinstance(content, dict):
        raise InputError(f"{name} must be a section [{name}]").about(name)
    check_keys(content, keys, f"{name}.")
    for key, kind in keys.items():
        if key in content or kind.required:
            kind.check(f"{name}.{key}", content.get(key))
    return {key: kind.default for key, kind in keys.items() if kind.default is not None} | content


def setting(default: Any, key: Key) -> Any:
    """Return a field of a class of settings: its default, and what else it can be."""
    if default == {}:
        return field(default_factory=dict, hash=False, metadata={"key": key})
    return field(default=default, metadata={"key": key})


def keys_of(settings: type[Any]) -> dict[str, Key]:
    """Return the keys of a class of settings, with the defaults of its fields."""
    keys = {}
    for of in fields(settings):
        default = of.default_factory() if callable(of.default_factory) else of.default
        keys[of.name] = replace(of.metadata.get("key", ANY), default=None if default is MISSING else default)
    return keys


def check_settings(settings: Any) -> None:
    """Raise InputError for a setting that its key does not take; None is taken where it is the default."""
    for of in fields(settings):
        if (value := getattr(settings, of.name)) is not None or of.default is not None:
            of.metadata.get("key", ANY).check(of.name, value)


def is_number(value: object) -> bool:
    """True if something is a number, and no truth value."""
    is_comparable = not isinstance(value, Decimal) or not value.is_nan()
    return isinstance(value, Number) and not isinstance(value, bool | complex) and is_comparable


def is_whole(value: object) -> bool:
    """True if something is a whole number, of Python or of NumPy, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_text(value: object) -> bool:
    """True if something is text."""
    return isinstance(value, str)


def is_table(value: object) -> bool:
    """True if something is a table."""
    return isinstance(value, dict)


def is_finite(value: object) -> bool:
    """True if something is a finite number."""
    return is_number(value) and (isinstance(value, int) or isfinite(value))  # type: ignore[arg-type]


def are(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return whether something is a list of such values."""
    return lambda values: isinstance(values, list | tuple) and all(map(kind, values))


ANY = Key(lambda _: True, "")  # a key that is checked elsewhere
FLAG = Key(lambda value: isinstance(value, bool), "be true or false")
TEXTS = Key(are(is_text), "be a list of texts")


def text(must: str, required: bool = False) -> Key:
    """Return the key of a text."""
    return Key(is_text, must, required)


def one_of(choices: Collection[str], spell: Callable[[Any], str] = json.dumps) -> Key:
    """Return the key of one of some texts."""
    return Key(lambda value: is_text(value) and value in choices, f"be {' or '.join(map(spell, choices))}")

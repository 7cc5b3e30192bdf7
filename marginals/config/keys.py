"""Sections of a TOML file, each read by its table of keys; all else is refused."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from marginals.errors import InputError
from marginals.settings import Key

Hint = Callable[[str, Collection[str]], str]
Keys = Mapping[str, Key]


REPLACED: Mapping[str, str] = {
    "search.start": "a search begins with every attribute by itself; Policy(start=...) in Python begins elsewhere",
    "search.max_cells": "search.max_attributes bounds a margin",
    "risk.step_utility": "every level below * is worth 1; leave it out",
}
"""Keys that were taken out, and what there is instead."""


def known_are(_key: str, known: Collection[str]) -> str:
    """All keys that there are."""
    return f"known are {', '.join(known)}"


def check_keys(content: Mapping[str, Any], known: Iterable[str], prefix: str = "", hint: Hint = known_are) -> None:
    """Raise InputError for a key that is none of these. prefix: of their names in messages."""
    names = [prefix + key for key in known]
    for key in content:
        if instead := REPLACED.get(prefix + key):
            raise InputError(f"the key {prefix}{key} was taken out: {instead}")
        if prefix + key not in names:
            raise InputError(f"unknown key {prefix}{key}; {hint(prefix + key, names)}")


def section(content: object, name: str, keys: Keys, hint: Hint = known_are) -> dict[str, Any]:
    """A section by its table of keys. Raises InputError for another key, a value that a key does not take, or none."""
    if not isinstance(content, dict):
        raise InputError(f"{name} must be a section [{name}]")
    check_keys(content, keys, f"{name}.", hint)
    for key, kind in keys.items():
        if key in content or kind.required:
            kind.check(f"{name}.{key}", content.get(key))
    return content

"""The keys of a TOML file as a table: what each takes, in words. A section is read by such a table, and all else refused."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from marginals.errors import InputError

Hint = Callable[[str, Collection[str]], str]


@dataclass(frozen=True)
class Key:
    """What a key takes. must: the same in words that follow "the key X must". required: whether it has to be there."""

    takes: Callable[[Any], bool]
    must: str
    required: bool = False

    def check(self, where: str, value: Any) -> Any:
        """The value. Raises InputError naming the key, which is called `where`."""
        if not self.takes(value):
            raise InputError(f"the key {where} must {self.must}").about(where)
        return value

    def of_each(self, where: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a table, each of which is such a one."""
        return {name: self.check(f"{where}.{name}", value) for name, value in table.items()}


Keys = Mapping[str, Key]


def known_are(_key: str, known: Collection[str]) -> str:
    """All keys that there are."""
    return f"known are {', '.join(known)}"


def check_keys(content: Mapping[str, Any], known: Iterable[str], prefix: str = "", hint: Hint = known_are) -> None:
    """Raise InputError for a key that is none of these. prefix: of their names in messages."""
    names = [prefix + key for key in known]
    for key in content:
        if prefix + key not in names:
            raise InputError(f"unknown key {prefix}{key}; {hint(prefix + key, names)}").about(prefix + key)


def section(content: object, name: str, keys: Keys, hint: Hint = known_are) -> dict[str, Any]:
    """A section by its table of keys. Raises InputError for another key, a value that a key does not take, or none."""
    if not isinstance(content, dict):
        raise InputError(f"{name} must be a section [{name}]").about(name)
    check_keys(content, keys, f"{name}.", hint)
    for key, kind in keys.items():
        if key in content or kind.required:
            kind.check(f"{name}.{key}", content.get(key))
    return content


def is_number(value: object) -> bool:
    """Whether something is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether something is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_text(value: object) -> bool:
    """Whether something is text."""
    return isinstance(value, str)


def is_table(value: object) -> bool:
    """Whether something is a table."""
    return isinstance(value, dict)


def is_finite(value: object) -> bool:
    """Whether something is a finite number."""
    return is_number(value) and (isinstance(value, int) or isfinite(value))  # type: ignore[arg-type]


def are(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether something is a list of such."""
    return lambda values: isinstance(values, list) and all(map(kind, values))


ANY = Key(lambda _: True, "")
"""What is looked at elsewhere."""

FLAG = Key(lambda value: isinstance(value, bool), "be true or false")
TEXTS = Key(are(is_text), "be a list of texts")


def text(must: str, required: bool = False) -> Key:
    """A text."""
    return Key(is_text, must, required)


def one_of(choices: Collection[str], spell: Callable[[Any], str] = json.dumps) -> Key:
    """One of some texts."""
    return Key(lambda value: is_text(value) and value in choices, f"be {' or '.join(map(spell, choices))}")

"""Tests run again where a limit is small: what they promise must not depend on which way is taken.

A limit is a constant that chooses between two ways of computing, or how much is looked at together. Small tables stay below
all of them; with the limit set to one or a few, the tests that compare with brute force take the way of the large ones.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import product
from typing import Any

import pytest

from project import ROOT

LIMIT = re.compile(
    r"^(_?(?:MOST|MAX|LARGE|LARGEST|CELLS|BLOCK|CHUNK|LISTED|SPARSE|NUMBERS|SMALL)(?:_\w+)?|\w+_(?:LIMIT|ONCE)) = [\d_.]+",
    re.MULTILINE,
)
"""Constants that sound like limits."""


def limits_of(floor: str) -> set[str]:
    return {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)} {name}"
        for path in (ROOT / floor).rglob("*.py")
        for name in LIMIT.findall(path.read_text())
    }


def gone_beyond(elsewhere: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Limits that tests of other files go beyond by themselves. elsewhere: for each file names by module."""
    assert all((ROOT / "tests" / f"{file}.py").is_file() for file in elsewhere)
    return {f"{module} {name}" for own in elsewhere.values() for module, names in own.items() for name in names.split()}


def listed(tests: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, Any]]:
    """Each test with each of the limits that it runs again below, and the small value."""
    return [(test, limit, value) for test, limits in tests.items() for limit, value in limits.items()]


def set_limit(monkeypatch: pytest.MonkeyPatch, limit: str, value: Any) -> None:
    """Set a limit in its module, and in those that import it."""
    where, name = limit.split()
    before = getattr(import_module(where), name)
    for module in [module for key, module in sys.modules.items() if key.startswith(("models.", "checks."))]:
        if vars(module).get(name) is before and (module.__name__ == where or not name.startswith("_")):
            monkeypatch.setattr(module, name, value)


def run(test: str) -> None:
    """Run a test, `file::name` or `file::name[parameter]` in the folder tests, with each of its parameters or with one."""
    file, name, *chosen = re.split(r"::|[\[\]]", test.removesuffix("]"))
    function = getattr(import_module(f"tests.{file.replace('/', '.')}"), name)
    for arguments in cases(function):
        if set(chosen) <= set(map(str, arguments.values())):
            function(**arguments)


def cases(function: Any) -> Iterator[Mapping[str, Any]]:
    choices = []
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            names = mark.args[0].split(", ") if isinstance(mark.args[0], str) else mark.args[0]
            values = [getattr(each, "values", each if len(names) > 1 else (each,)) for each in mark.args[1]]
            choices.append([dict(zip(names, each, strict=True)) for each in values])
    for chosen in product(*choices):
        yield {name: value for arguments in chosen for name, value in arguments.items()}

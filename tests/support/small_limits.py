"""Tests run again where a limit is small: what they promise must not depend on which way is taken.

A limit is a constant that chooses between two ways of computing, or how much is looked at together. Small tables stay below
all of them; with the limit set to one or a few, the tests that compare with brute force take the way of the large ones.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

LIMIT = re.compile(
    r"^(_?(?:MOST|MAX|LARGE|LARGEST|CELLS|BLOCK|CHUNK|LISTED|SPARSE|NUMBERS|SMALL)(?:_\w+)?|\w+_(?:LIMIT|ONCE)) = [\d_.]+",
    re.MULTILINE,
)
"""Constants that sound like limits."""


def limits_of(floor: str) -> set[str]:
    """The constants of a floor that sound like limits, as `module NAME`."""
    return {
        f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)} {name}"
        for path in (ROOT / floor).rglob("*.py")
        for name in LIMIT.findall(path.read_text())
    }


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
    """The arguments that the marks of a test name."""
    choices = []
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            names = mark.args[0].split(", ") if isinstance(mark.args[0], str) else mark.args[0]
            values = [getattr(each, "values", each if len(names) > 1 else (each,)) for each in mark.args[1]]
            choices.append([dict(zip(names, each, strict=True)) for each in values])
    for chosen in product(*choices):
        yield {name: value for arguments in chosen for name, value in arguments.items()}

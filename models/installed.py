"""Lazy loading by name: the public names of a package, and objects of installed packages.

A package offers the names that its `__init__.pyi` lists, which type checkers also read. Names load on first use,
because pandas and SciPy take a second. Another package declares its objects in its `pyproject.toml`, in a group for
each kind:

    [project.entry-points."marginals.strategies"]
    my-search = "my_package:my_search"

Names of the program itself come first and are never looked up among these.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import get_data
from sys import modules
from typing import TYPE_CHECKING, Any

from models.errors import ExtensionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def open_door(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package whose stub has lines `from home import name as name`.

    A submodule is an attribute, too, and is imported on first use. A line `# no NAME any more: ...` refuses a name
    that was removed, and says what replaces it.
    """
    stub = (get_data(package, "__init__.pyi") or b"").decode()
    homes = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", stub, re.MULTILINE)}
    taken_out = dict(re.findall(r"^# no (\w+) any more: (.+)$", stub, re.MULTILINE))

    def offered(name: str) -> Any:
        if (home := homes.get(name, package)) != package:
            value = getattr(import_module(home), name)
        else:
            try:
                value = import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
                instead = f" any more: {taken_out[name]}" if name in taken_out else ""
                raise AttributeError(f"module {package!r} has no attribute {name!r}{instead}") from None
        setattr(modules[package], name, value)
        return value

    def listed_names() -> list[str]:
        return sorted({*vars(modules[package]), *homes})

    return sorted(homes), offered, listed_names


CRITERIA, STRATEGIES = "marginals.criteria", "marginals.strategies"
OBJECTIVES = "marginals.objectives"
"""Groups of entry points: diversity criteria, search strategies and search objectives."""


@cache
def installed(group: str, name: str) -> Any:
    """Return the object that an installed package declares in a group under a name; None if there is none.

    Raises ExtensionError if it cannot be loaded, or if two packages declare different objects under the name.
    """
    entries = {entry.value: entry for entry in _entries(group) if entry.name == name}
    if len(entries) > 1:
        raise ExtensionError(
            f"two installed packages declare {name!r} in {group}, as {' and as '.join(sorted(entries))}: remove one of them"
        )
    for entry in entries.values():
        try:
            return entry.load()
        except Exception as error:  # whatever somebody else's module does while it is imported
            why = f"cannot be loaded ({type(error).__name__}): repair or remove that package"
            raise ExtensionError(_declared(entry, why)) from error
    return None


def refusal(group: str, name: str, expected: str) -> ExtensionError:
    """Return the error for an installed object that is not of its kind. expected: what it must be."""
    entry = next(entry for entry in _entries(group) if entry.name == name)
    return ExtensionError(_declared(entry, f"is not {expected}"))


def name_of(thing: object) -> str:
    """Return the name of a thing that was passed by name, as a function or as an object."""
    return thing if isinstance(thing, str) else str(getattr(thing, "__name__", thing))


def _declared(entry: "EntryPoint", which: str) -> str:
    package = f"the package {entry.dist.name}" if entry.dist is not None else "an installed package"
    return f"{package} declares {entry.name!r} in {entry.group} as {entry.value}, which {which}"


@cache
def _entries(group: str) -> tuple["EntryPoint", ...]:
    from importlib.metadata import entry_points  # slow to import, and few need it

    return tuple(entry_points(group=group))

"""The names that a package offers, from the list that type checkers read: its `__init__.pyi`.

The module of a name is imported when the name is first asked for, because pandas and scipy take a second to load.
"""

import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import get_data
from sys import modules
from typing import Any


def open_door(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose list has lines `from home import name as name`.

    A submodule is an attribute, too, and is imported when it is first asked for.
    """
    stub = (get_data(package, "__init__.pyi") or b"").decode()
    homes = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", stub, re.MULTILINE)}

    def offered(name: str) -> Any:
        if (home := homes.get(name, package)) != package:
            value = getattr(import_module(home), name)
        else:
            try:
                value = import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
                raise AttributeError(f"module {package!r} has no attribute {name!r}") from None
        setattr(modules[package], name, value)
        return value

    def listed_names() -> list[str]:
        return sorted({*vars(modules[package]), *homes})

    return sorted(homes), offered, listed_names

"""Publish anonymized marginals: small generalized tables of counts that meet privacy criteria jointly.

>>> import marginals
>>> table = marginals.read_table(frame, {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10]),
...                                      "diagnosis": "sensitive"})              # doctest: +SKIP
>>> release = marginals.publish(table, marginals.Policy(k_link=5, diversity="entropy:3"))  # doctest: +SKIP
>>> release.write("release")                                                     # doctest: +SKIP
"""

import re
from importlib import import_module
from pkgutil import get_data
from typing import Any

from marginals.ending import guard
from marginals.floors import ensure_own

guard()
for _floor in ("models", "checks"):  # names that a user's own files may have; bottom floor first
    ensure_own(_floor)

__version__ = "0.1.0"

_LIST = get_data(__name__, "__init__.pyi").decode()
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", _LIST, re.MULTILINE)}
"""Where each name lives, from the list that type checkers read.

Its module is imported when the name is first asked for: pandas takes a second to load.
"""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if (home := _HOMES.get(name, __name__)) != __name__:
        value = getattr(import_module(home), name)
    else:
        try:
            value = import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

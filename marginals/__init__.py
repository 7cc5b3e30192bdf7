"""Publish anonymized marginals: small generalized tables of counts that stay private together.

>>> import marginals
>>> table = marginals.read_table(frame, {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10]),
...                                      "diagnosis": "sensitive"})              # doctest: +SKIP
>>> release = marginals.publish(table, marginals.Policy(k_link=5, diversity="entropy:3"))  # doctest: +SKIP
>>> release.write("release")                                                     # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import checks
import models

# `models` and `checks` are names that a user's own files may have; bottom floor first, so that the message is about it.
for _floor in (models, checks):
    if getattr(_floor, "PROJECT", None) != "anonymized-marginals":
        raise ImportError(
            f"marginals needs its own package {_floor.__name__!r}, but Python found {_floor.__file__} first; "
            "rename that file or run from another folder"
        )

if TYPE_CHECKING:
    from marginals import interchange as interchange
    from marginals.assessing import assess
    from marginals.attacking import attack
    from marginals.attribute import Attribute, Role
    from marginals.config import read_config, read_hierarchy
    from marginals.disclosing import DisclosureRule, disclose, generalize, hide
    from marginals.errors import BundleError, InputError, NothingPublishableError
    from marginals.hilbert_mapping import hilbert
    from marginals.policy import Policy
    from marginals.publishing import anonymize, publish
    from marginals.release import Release, open_release
    from marginals.risk import Risk, disclosure_risk
    from marginals.sweeping import sweep
    from marginals.table import Rows, Table, read_rows, read_table
    from marginals.verification import verify
    from models.errors import MarginalsError
    from models.hierarchy import Hierarchy

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "BundleError",
    "DisclosureRule",
    "Hierarchy",
    "InputError",
    "MarginalsError",
    "NothingPublishableError",
    "Policy",
    "Release",
    "Risk",
    "Role",
    "Rows",
    "Table",
    "anonymize",
    "assess",
    "attack",
    "disclose",
    "disclosure_risk",
    "generalize",
    "hide",
    "hilbert",
    "interchange",
    "open_release",
    "publish",
    "read_config",
    "read_hierarchy",
    "read_rows",
    "read_table",
    "sweep",
    "verify",
]

_HOMES = {
    "Attribute": "marginals.attribute",
    "BundleError": "marginals.errors",
    "DisclosureRule": "marginals.disclosing",
    "Hierarchy": "models.hierarchy",
    "InputError": "marginals.errors",
    "MarginalsError": "models.errors",
    "NothingPublishableError": "marginals.errors",
    "Policy": "marginals.policy",
    "Release": "marginals.release",
    "Risk": "marginals.risk",
    "Role": "marginals.attribute",
    "Rows": "marginals.table",
    "Table": "marginals.table",
    "anonymize": "marginals.publishing",
    "assess": "marginals.assessing",
    "attack": "marginals.attacking",
    "disclose": "marginals.disclosing",
    "disclosure_risk": "marginals.risk",
    "generalize": "marginals.disclosing",
    "hide": "marginals.disclosing",
    "hilbert": "marginals.hilbert_mapping",
    "open_release": "marginals.release",
    "publish": "marginals.publishing",
    "read_config": "marginals.config",
    "read_hierarchy": "marginals.config",
    "read_rows": "marginals.table",
    "read_table": "marginals.table",
    "sweep": "marginals.sweeping",
    "verify": "marginals.verification",
}
"""Where each name lives. Its module is imported when the name is first asked for: pandas takes a second to load."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        try:
            value = import_module(f"marginals.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"marginals.{name}":
                raise
            raise AttributeError(f"module 'marginals' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

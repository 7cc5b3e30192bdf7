"""Publish anonymized marginals: small generalized tables of counts that stay private together.

>>> import marginals
>>> table = marginals.read_table(frame, {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10]),
...                                      "diagnosis": "sensitive"})              # doctest: +SKIP
>>> release = marginals.publish(table, marginals.Policy(k_link=5, diversity="entropy:3"))  # doctest: +SKIP
>>> release.write("release")                                                     # doctest: +SKIP
"""

import checks
import models

# `models` and `checks` are names that a user's own files may have; bottom floor first, so that the message is about it.
for _floor in (models, checks):
    if getattr(_floor, "PROJECT", None) != "anonymized-marginals":
        raise ImportError(
            f"marginals needs its own package {_floor.__name__!r}, but Python found {_floor.__file__} first; "
            "rename that file or run from another folder"
        )

from marginals import interchange
from marginals.assessing import assess
from marginals.attacking import attack
from marginals.attribute import Attribute, Role
from marginals.config import read_config
from marginals.disclosing import DisclosureRule, disclose, generalize, hide
from marginals.errors import BundleError, InputError, NothingPublishableError
from marginals.hilbert import hilbert
from marginals.policy import Policy
from marginals.publishing import anonymize, publish
from marginals.release import Release, open_release
from marginals.risk import Risk, disclosure_risk
from marginals.sweep import sweep
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
    "read_rows",
    "read_table",
    "sweep",
    "verify",
]

"""Publish anonymized marginals: small generalized tables of counts that stay private together.

>>> import marginals
>>> table = marginals.read_table(frame, {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10]),
...                                      "diagnosis": "sensitive"})              # doctest: +SKIP
>>> release = marginals.publish(table, marginals.Policy(k_link=5, diversity="entropy:3"))  # doctest: +SKIP
>>> release.write("release")                                                     # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marginals.floors import ensure_own

for _floor in ("models", "checks"):  # names that a user's own files may have; bottom floor first
    ensure_own(_floor)

if TYPE_CHECKING:
    from checks.diversity.criterion import Diversity
    from checks.diversity.registry import register_diversity, unregister_diversity
    from checks.errors import CriterionError, DisclosureRuleError, SensitivityError
    from marginals import interchange as interchange
    from marginals.anonymizers.local_recoding import hilbert, sweep
    from marginals.anonymizers.recoded_file import verify_recoded
    from marginals.attacks import attack
    from marginals.auditing import Audit, audit
    from marginals.bundle.verification import verify
    from marginals.config.release_toml import disclosure_risk, read_config, read_hierarchy
    from marginals.disclosure import DisclosureRule, disclose, generalize, hide
    from marginals.errors import (
        AssumptionWarning,
        BundleError,
        IncompatibleReleasesError,
        InputError,
        NothingPublishableError,
        TooLittleMemoryError,
        WorkerLostError,
    )
    from marginals.published_values import Part
    from marginals.publishing.frontier import frontier, plot_frontier
    from marginals.publishing.policy import Policy
    from marginals.publishing.publishing import publish
    from marginals.publishing.single_tables import anonymize, assess
    from marginals.release.comparing import compare
    from marginals.release.mixture import Mixture, mixture
    from marginals.release.release import Release, open_release
    from marginals.risk import RiskAssessment
    from marginals.selection import Selection, fit_model, select
    from marginals.steward import StewardReport
    from marginals.tables.attribute import Attribute, Role
    from marginals.tables.levels import read_population
    from marginals.tables.source import TableSource, read_rows, read_table
    from marginals.tables.table import Rows, Table
    from models.errors import (
        ContradictionError,
        DomainMismatchError,
        HierarchyError,
        MarginalsError,
        NotDecomposableError,
        NotFittedError,
        NothingAllowedError,
        SelectionError,
        TimeOverError,
        TooManyCellsError,
    )
    from models.tables.contingency_table import ContingencyTable
    from models.tables.hierarchy import Domain, Hierarchy

__version__ = "0.1.0"

__all__ = [
    "AssumptionWarning",
    "Attribute",
    "Audit",
    "BundleError",
    "ContingencyTable",
    "ContradictionError",
    "CriterionError",
    "DisclosureRule",
    "DisclosureRuleError",
    "Diversity",
    "Domain",
    "DomainMismatchError",
    "Hierarchy",
    "HierarchyError",
    "IncompatibleReleasesError",
    "InputError",
    "MarginalsError",
    "Mixture",
    "NotDecomposableError",
    "NotFittedError",
    "NothingAllowedError",
    "NothingPublishableError",
    "Part",
    "Policy",
    "Release",
    "RiskAssessment",
    "Role",
    "Rows",
    "Selection",
    "SelectionError",
    "SensitivityError",
    "StewardReport",
    "Table",
    "TableSource",
    "TimeOverError",
    "TooLittleMemoryError",
    "TooManyCellsError",
    "WorkerLostError",
    "anonymize",
    "assess",
    "attack",
    "audit",
    "compare",
    "disclose",
    "disclosure_risk",
    "fit_model",
    "frontier",
    "generalize",
    "hide",
    "hilbert",
    "interchange",
    "mixture",
    "open_release",
    "plot_frontier",
    "publish",
    "read_config",
    "read_hierarchy",
    "read_population",
    "read_rows",
    "read_table",
    "register_diversity",
    "select",
    "sweep",
    "unregister_diversity",
    "verify",
    "verify_recoded",
]

_HOMES = {
    "AssumptionWarning": "marginals.errors",
    "Attribute": "marginals.tables.attribute",
    "Audit": "marginals.auditing",
    "BundleError": "marginals.errors",
    "ContingencyTable": "models.tables.contingency_table",
    "ContradictionError": "models.errors",
    "CriterionError": "checks.errors",
    "DisclosureRule": "marginals.disclosure",
    "DisclosureRuleError": "checks.errors",
    "Diversity": "checks.diversity.criterion",
    "Domain": "models.tables.hierarchy",
    "DomainMismatchError": "models.errors",
    "Hierarchy": "models.tables.hierarchy",
    "HierarchyError": "models.errors",
    "IncompatibleReleasesError": "marginals.errors",
    "InputError": "marginals.errors",
    "MarginalsError": "models.errors",
    "Mixture": "marginals.release.mixture",
    "NotDecomposableError": "models.errors",
    "NotFittedError": "models.errors",
    "NothingAllowedError": "models.errors",
    "NothingPublishableError": "marginals.errors",
    "Part": "marginals.published_values",
    "Policy": "marginals.publishing.policy",
    "Release": "marginals.release.release",
    "RiskAssessment": "marginals.risk",
    "Role": "marginals.tables.attribute",
    "Rows": "marginals.tables.table",
    "Selection": "marginals.selection",
    "SelectionError": "models.errors",
    "SensitivityError": "checks.errors",
    "StewardReport": "marginals.steward",
    "Table": "marginals.tables.table",
    "TableSource": "marginals.tables.source",
    "TimeOverError": "models.errors",
    "TooLittleMemoryError": "marginals.errors",
    "TooManyCellsError": "models.errors",
    "WorkerLostError": "marginals.errors",
    "anonymize": "marginals.publishing.single_tables",
    "assess": "marginals.publishing.single_tables",
    "attack": "marginals.attacks",
    "audit": "marginals.auditing",
    "compare": "marginals.release.comparing",
    "disclose": "marginals.disclosure",
    "disclosure_risk": "marginals.config.release_toml",
    "fit_model": "marginals.selection",
    "generalize": "marginals.disclosure",
    "hide": "marginals.disclosure",
    "hilbert": "marginals.anonymizers.local_recoding",
    "frontier": "marginals.publishing.frontier",
    "mixture": "marginals.release.mixture",
    "plot_frontier": "marginals.publishing.frontier",
    "open_release": "marginals.release.release",
    "publish": "marginals.publishing.publishing",
    "read_config": "marginals.config.release_toml",
    "read_hierarchy": "marginals.config.release_toml",
    "read_population": "marginals.tables.levels",
    "read_rows": "marginals.tables.source",
    "read_table": "marginals.tables.source",
    "register_diversity": "checks.diversity.registry",
    "select": "marginals.selection",
    "sweep": "marginals.anonymizers.local_recoding",
    "unregister_diversity": "checks.diversity.registry",
    "verify": "marginals.bundle.verification",
    "verify_recoded": "marginals.anonymizers.recoded_file",
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

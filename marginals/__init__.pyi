# What `import marginals` offers: the only list of it, one name a line. Type checkers read it, and `__init__.py` does.

from checks.criterion_laws import check_criterion as check_criterion
from checks.diversity.criterion import Diversity as Diversity
from checks.diversity.implications import implies as implies
from checks.diversity.registry import register_diversity as register_diversity
from checks.diversity.registry import unregister_diversity as unregister_diversity
from checks.errors import CriterionError as CriterionError
from checks.errors import DisclosureRuleError as DisclosureRuleError
from checks.errors import SensitivityError as SensitivityError
from marginals import example as example
from marginals import interchange as interchange
from marginals.accuracy import compare as compare
from marginals.attacks import attack as attack
from marginals.auditing.audits import Audit as Audit
from marginals.auditing.audits import audit as audit
from marginals.bundle.imprint import Imprint as Imprint
from marginals.config.release_toml import disclosure_risk as disclosure_risk
from marginals.config.release_toml import read_config as read_config
from marginals.config.release_toml import read_hierarchy as read_hierarchy
from marginals.errors import AssumptionWarning as AssumptionWarning
from marginals.errors import BundleError as BundleError
from marginals.errors import DataWarning as DataWarning
from marginals.errors import IncompatibleReleasesError as IncompatibleReleasesError
from marginals.errors import InputError as InputError
from marginals.errors import NothingPublishableError as NothingPublishableError
from marginals.errors import TooLittleMemoryError as TooLittleMemoryError
from marginals.errors import WorkerLostError as WorkerLostError
from marginals.published_values import Part as Part
from marginals.publishing.frontier import frontier as frontier
from marginals.publishing.policy import Policy as Policy
from marginals.publishing.population import Population as Population
from marginals.publishing.publishing import publish as publish
from marginals.publishing.single_tables import anonymize as anonymize
from marginals.publishing.single_tables import assess as assess
from marginals.recoding.hilbert import hilbert as hilbert
from marginals.recoding.recoded_file import verify_recoded as verify_recoded
from marginals.recoding.sweep import sweep as sweep
from marginals.release.release import Release as Release
from marginals.release.release import open_release as open_release
from marginals.release.verification import verify as verify
from marginals.results import plain as plain
from marginals.risk.assessment import RiskAssessment as RiskAssessment
from marginals.risk.rules import DisclosureRule as DisclosureRule
from marginals.risk.rules import disclose as disclose
from marginals.risk.rules import generalize as generalize
from marginals.risk.rules import hide as hide
from marginals.selection import Selection as Selection
from marginals.selection import fit_model as fit_model
from marginals.selection import select as select
from marginals.steward import StewardReport as StewardReport
from marginals.tables.attribute import Attribute as Attribute
from marginals.tables.attribute import Role as Role
from marginals.tables.levels import read_population as read_population
from marginals.tables.source import TableSource as TableSource
from marginals.tables.source import read_rows as read_rows
from marginals.tables.source import read_table as read_table
from marginals.tables.table import Rows as Rows
from marginals.tables.table import Table as Table
from marginals.usefulness import prediction_accuracy as prediction_accuracy
from marginals.usefulness import query_error as query_error
from models.errors import ContradictionError as ContradictionError
from models.errors import DomainMismatchError as DomainMismatchError
from models.errors import ExtensionError as ExtensionError
from models.errors import HierarchyError as HierarchyError
from models.errors import MarginalsError as MarginalsError
from models.errors import NotDecomposableError as NotDecomposableError
from models.errors import NotFittedError as NotFittedError
from models.errors import NothingAllowedError as NothingAllowedError
from models.errors import SelectionError as SelectionError
from models.errors import TimeOverError as TimeOverError
from models.errors import TooManyCellsError as TooManyCellsError
from models.tables.contingency_table import ContingencyTable as ContingencyTable
from models.tables.hierarchy import Domain as Domain
from models.tables.hierarchy import Hierarchy as Hierarchy

# no plot_frontier any more: frame.pivot_table("kl_divergence", "k", ["diversity", "strategy"]).plot(logx=True)
# no thin any more: anonymize(table, policy, suppression=...) shows the rows of failing classes with * instead
# no mixture any more: marginals.verify(*folders) judges several releases together; their expected counts can be averaged
# no Mixture any more: marginals.verify(*folders) judges several releases together; their expected counts can be averaged

__version__: str

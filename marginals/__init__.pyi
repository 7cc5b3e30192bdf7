# What `import marginals` offers: the only list of it, one name a line. Type checkers read it, and `__init__.py` does.

from marginals import example as example
from marginals.accuracy import compare as compare
from marginals.answers import Answer as Answer
from marginals.attacks import attack as attack
from marginals.auditing.audits import audit as audit
from marginals.bundle.imprint import Imprint as Imprint
from marginals.config.release_toml import read_config as read_config
from marginals.config.release_toml import read_hierarchy as read_hierarchy
from marginals.errors import InputError as InputError
from marginals.published_values import Part as Part
from marginals.publishing.frontier import frontier as frontier
from marginals.publishing.policy import Policy as Policy
from marginals.publishing.population import Population as Population
from marginals.publishing.publishing import publish as publish
from marginals.publishing.single_tables import anonymize as anonymize
from marginals.release.release import Release as Release
from marginals.release.release import open_release as open_release
from marginals.release.verification import verify as verify
from marginals.results import plain as plain
from marginals.selection import select as select
from marginals.steward import StewardReport as StewardReport
from marginals.tables.attribute import Attribute as Attribute
from marginals.tables.attribute import Role as Role

# no read_population any more: give the attribute a hierarchy, made of these counts
from marginals.tables.source import TableSource as TableSource
from marginals.tables.source import read_rows as read_rows
from marginals.tables.source import read_table as read_table
from marginals.tables.table import Table as Table
from models.errors import MarginalsError as MarginalsError
from models.tables.hierarchy import Hierarchy as Hierarchy

# no plot_frontier any more: frame.pivot_table("kl_divergence", "k", ["diversity", "strategy"]).plot(logx=True)
# no thin any more: anonymize(table, policy, suppression=...) shows the rows of failing classes with * instead
# no mixture any more: marginals.verify(*folders) judges several releases together; their expected counts can be averaged
# no Mixture any more: marginals.verify(*folders) judges several releases together; their expected counts can be averaged

# no Audit any more: marginals.auditing.Audit
# no Diversity any more: marginals.criteria.Diversity
# no check_criterion any more: marginals.criteria.check_criterion
# no implies any more: assess --eligible lists what implies a functional diversity
# no register_diversity any more: marginals.criteria.register_diversity
# no unregister_diversity any more: marginals.criteria.unregister_diversity
# no BundleError any more: marginals.errors.BundleError
# no ContradictionError any more: marginals.errors.ContradictionError
# no CriterionError any more: marginals.errors.CriterionError
# no DataWarning any more: marginals.errors.DataWarning
# no DisclosureRuleError any more: marginals.errors.DisclosureRuleError
# no DomainMismatchError any more: marginals.errors.DomainMismatchError
# no ExtensionError any more: marginals.errors.ExtensionError
# no HierarchyError any more: marginals.errors.HierarchyError
# no IncompatibleReleasesError any more: marginals.errors.IncompatibleReleasesError
# no NotDecomposableError any more: marginals.errors.NotDecomposableError
# no NotFittedError any more: marginals.errors.NotFittedError
# no NothingAllowedError any more: marginals.errors.NothingAllowedError
# no NothingPublishableError any more: marginals.errors.NothingPublishableError
# no SelectionError any more: marginals.errors.SelectionError
# no SensitivityError any more: marginals.errors.SensitivityError
# no TimeOverError any more: marginals.errors.TimeOverError
# no TooLittleMemoryError any more: marginals.errors.TooLittleMemoryError
# no TooManyCellsError any more: marginals.errors.TooManyCellsError
# no WorkerLostError any more: marginals.errors.WorkerLostError
# no hilbert any more: marginals.recoding.hilbert
# no prediction_accuracy any more: marginals.recoding.prediction_accuracy
# no query_error any more: marginals.recoding.query_error
# no sweep any more: marginals.recoding.sweep
# no verify_recoded any more: marginals.recoding.verify_recoded
# no DisclosureRule any more: marginals.risk.DisclosureRule
# no RiskAssessment any more: marginals.risk.RiskAssessment
# no disclose any more: marginals.risk.disclose
# no disclosure_risk any more: marginals.risk.disclosure_risk
# no generalize any more: marginals.risk.generalize
# no hide any more: marginals.risk.hide
# no Selection any more: marginals.selection.Selection
# no fit_model any more: marginals.selection.fit_model
# no AssumptionWarning any more: marginals.errors.AssumptionWarning
# no assess any more: marginals.recoding.assess
# no Rows any more: marginals.tables.table.Rows
# no ContingencyTable any more: models.ContingencyTable
# no Domain any more: models.Domain
# no interchange any more: release.to("polars"), release.tables

__version__: str

# What `marginals.risk` offers; `__init__.py` reads it.

from marginals.config.release_toml import disclosure_risk as disclosure_risk
from marginals.risk.assessment import RiskAssessment as RiskAssessment
from marginals.risk.rules import DisclosureRule as DisclosureRule
from marginals.risk.rules import disclose as disclose
from marginals.risk.rules import generalize as generalize
from marginals.risk.rules import hide as hide

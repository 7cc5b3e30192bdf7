"""What the assessment of disclosure risk refuses."""

from models.errors import MarginalsError


class SensitivityError(MarginalsError, ValueError):
    """Weights that are negative, of the wrong shape, or larger for a more general value."""


class IncomparableError(MarginalsError, ValueError):
    """Dictionaries that LSFB09 Proposition 1 does not compare, so that neither risk bounds the other."""


class DisclosureRuleError(MarginalsError, ValueError):
    """A disclosure rule, prior or requirement that makes no sense for the records at hand."""

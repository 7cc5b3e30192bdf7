"""Errors of the privacy floor. An unsafe table is no error: checks return findings."""

from models.errors import MarginalsError


class CriterionError(MarginalsError, ValueError):
    """A privacy criterion that cannot be read or makes no sense.

    >>> import marginals
    >>> marginals.Policy(diversity="entropy:0")
    Traceback (most recent call last):
    checks.errors.CriterionError: entropy:l needs l of at least 1, got 0
    """


class SensitivityError(MarginalsError, ValueError):
    """Weights that are negative, of the wrong shape, or larger for a more general value.

    >>> from checks.risk.harm import Constant
    >>> Constant(-1.0)
    Traceback (most recent call last):
    checks.errors.SensitivityError: a sensitivity must not be negative, got -1.0
    """


class IncomparableError(MarginalsError, ValueError):
    """Dictionaries that LSFB09 Proposition 1 does not compare, so that neither risk bounds the other."""


class DisclosureRuleError(MarginalsError, ValueError):
    """A disclosure rule, prior or requirement that makes no sense for the records at hand.

    >>> import marginals
    >>> from marginals.example import attributes, frame
    >>> marginals.disclose(marginals.read_rows(frame, attributes), [marginals.DisclosureRule("age", level=9)])
    Traceback (most recent call last):
    checks.errors.DisclosureRuleError: 'age' has the levels 0 to 3, not 9
    """

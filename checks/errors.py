"""What the privacy floor refuses. An unsafe table is no error: checks return findings."""

from models.errors import MarginalsError


class CriterionError(MarginalsError, ValueError):
    """A privacy criterion that cannot be read or makes no sense.

    >>> import marginals
    >>> try:
    ...     marginals.Policy(diversity="entropy:0")
    ... except CriterionError as error:
    ...     print(error)
    entropy:l needs l of at least 1, got 0
    """


class SensitivityError(MarginalsError, ValueError):
    """Weights that are negative, of the wrong shape, or larger for a more general value.

    >>> from checks.risk.harm import Constant
    >>> try:
    ...     Constant(-1.0)
    ... except SensitivityError as error:
    ...     print(error)
    a sensitivity must not be negative, got -1.0
    """


class IncomparableError(MarginalsError, ValueError):
    """Dictionaries that LSFB09 Proposition 1 does not compare, so that neither risk bounds the other."""


class DisclosureRuleError(MarginalsError, ValueError):
    """A disclosure rule, prior or requirement that makes no sense for the records at hand.

    >>> import marginals
    >>> from marginals.example import attributes, frame
    >>> try:
    ...     marginals.disclose(marginals.read_rows(frame, attributes), [marginals.DisclosureRule("age", level=9)])
    ... except DisclosureRuleError as error:
    ...     print(error)
    'age' has the levels 0 to 3, not 9
    """

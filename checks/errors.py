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

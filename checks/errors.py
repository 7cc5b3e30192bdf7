"""What the privacy floor refuses. An unsafe table is no error: checks return findings."""

from models.errors import MarginalsError


class CriterionError(MarginalsError, ValueError):
    """A privacy criterion that cannot be read or makes no sense.

    >>> import marginals
    >>> try:
    ...     marginals.Policy(diversity="entropy:x")
    ... except CriterionError as error:
    ...     print(error)
    the diversity 'entropy:x' is not of the form distinct:l, simple:l, entropy:l, recursive:c,l [or equal], functional:tau,l
    """

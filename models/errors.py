"""What the mathematics refuses, as one family of exceptions."""


class MarginalsError(Exception):
    """Root of every error this project raises on purpose; its text is one sentence for the user.

    >>> from models.tables.hierarchy import Hierarchy
    >>> try:
    ...     Hierarchy.from_rows([("Ulm", "Germany")])
    ... except MarginalsError as error:
    ...     print(error)
    row 1 does not end in *
    """


class HierarchyError(MarginalsError, ValueError):
    """Rows that do not describe nested generalizations of distinct values."""


class DomainMismatchError(MarginalsError, ValueError):
    """An attribute, level or table that does not belong to the domain at hand."""


class NotDecomposableError(MarginalsError, ValueError):
    """A collection of margins that no junction tree can hold."""


class ContradictionError(MarginalsError, ValueError):
    """Marginals that no single table can have."""


class SelectionError(MarginalsError, ValueError):
    """A model search that was asked for what there is not."""

"""Errors of the mathematics, as one family of exceptions."""

from typing import Self


class MarginalsError(Exception):
    """Root of every error that this project raises on purpose; its text is one sentence for the user.

    >>> from models.tables.hierarchy import Hierarchy
    >>> Hierarchy.from_rows([("Ulm", "Germany")])
    Traceback (most recent call last):
    models.errors.HierarchyError: row 1 does not end in *
    """

    key: str = ""
    """The config key or argument that the error is about; empty if it is about none."""

    def about(self, key: str) -> Self:
        """Set the key that the error is about, and return the error."""
        self.key = key
        return self


class HierarchyError(MarginalsError, ValueError):
    """Rows that do not describe nested generalizations of distinct values.

    >>> import marginals
    >>> marginals.Hierarchy.from_rows([("Ulm", "Germany", "*"), ("Linz", "Austria")])
    Traceback (most recent call last):
    models.errors.HierarchyError: row 2 has 2 columns where row 1 has 3
    """


class DomainMismatchError(MarginalsError, ValueError):
    """An attribute, level or table that does not belong to the domain at hand.

    >>> from marginals.example import release
    >>> release.model.expected({"age": 9})
    Traceback (most recent call last):
    models.errors.DomainMismatchError: 'age' has the levels 0 to 3, not 9
    """


class NotDecomposableError(MarginalsError, ValueError):
    """A collection of margins that no junction tree can hold.

    >>> from marginals.example import table
    >>> from models.graphs.junction_tree import JunctionTree
    >>> pairs = [("age", "sex"), ("sex", "diagnosis"), ("age", "diagnosis")]
    >>> JunctionTree.of(table.domain, [table.domain.mask(dict.fromkeys(pair, 0)) for pair in pairs])
    Traceback (most recent call last):
    models.errors.NotDecomposableError: the interaction graph has a chordless cycle, or a clique ...
    """


class ContradictionError(MarginalsError, ValueError):
    """Marginals that no single table can have.

    >>> import numpy as np
    >>> from marginals.example import table
    >>> ages = table.counts.rolled_up({"age": 0})
    >>> young = table.domain.hierarchy("age").code("22", 0)
    >>> others = type(ages).from_cells(table.domain, {"age": 0}, {"age": np.array([young])}, np.array([48]))
    >>> ages.positions_in(others)
    Traceback (most recent call last):
    models.errors.ContradictionError: the marginals age:0 and age:0 disagree on an empty cell
    """


class SelectionError(MarginalsError, ValueError):
    """An invalid request to a model search.

    >>> from marginals.example import table
    >>> from models.search import select
    >>> select(table.counts, "best")
    Traceback (most recent call last):
    models.errors.SelectionError: there is no objective 'best'; there is bic, aic, ...
    """


class NothingAllowedError(SelectionError):
    """A model search that reached no collection that its constraint allows.

    >>> from marginals.example import table
    >>> from models.search import Problem, Refusal, forward
    >>> forward(Problem(table.cube, lambda cliques, new: Refusal("nothing pleases")), lambda: False)
    Traceback (most recent call last):
    models.errors.NothingAllowedError: the search came to no collection that the constraint allows (nothing pleases). ...
    """


class TooManyCellsError(MarginalsError):
    """A table or join with more cells than the caller allows.

    >>> from marginals.example import release
    >>> from models.programs.consistent_tables import possible_cells
    >>> possible_cells(release.published.collection, limit=2)
    Traceback (most recent call last):
    models.errors.TooManyCellsError: the published cells that may be occupied are more than 2
    """


class NotFittedError(MarginalsError):
    """A maximum-entropy distribution that iterative fitting does not reach; only its published margins have counts.

    >>> issubclass(NotFittedError, MarginalsError)
    True
    """


class TimeOverError(MarginalsError):
    """A deadline that came before the work was done.

    >>> TimeOverError("the time was over before this was decided").key
    'search.time_limit'
    """

    key = "search.time_limit"


class ExtensionError(MarginalsError, ValueError):
    """An object of an installed package, or a user's own function, that does not have the expected form.

    >>> import marginals
    >>> from marginals.example import table
    >>> policy = marginals.Policy(k_link=4, diversity="none", strategy=lambda problem, stop: "no result")
    >>> marginals.publish(table, policy)
    Traceback (most recent call last):
    models.errors.ExtensionError: the search strategy <lambda> gives back no SearchResult: ...
    """

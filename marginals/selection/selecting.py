"""From a frame to a graphical model: searched for, or given."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Collection as AnyCollection
from functools import partial
from typing import Any

from marginals.errors import InputError
from marginals.selection.counted import counted
from marginals.selection.formats import cliques_of
from marginals.selection.selection import Selection
from marginals.timing import Seconds, within
from models.errors import DomainMismatchError, NotDecomposableError, SelectionError
from models.search.constraint import Constraint, Refusal, Unconstrained
from models.search.objective import Objective
from models.search.result import Strategy
from models.search.selection import Limits, SelectedModel, fitted
from models.search.selection import select as selected
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask

Allowed = Callable[[tuple[tuple[str, ...], ...]], bool | str | None]
"""Whether a model with these cliques is allowed: True or None; False, or the reason why not."""


def select(
    data: Any,
    criterion: str | Objective = "bic",
    strategy: str | Strategy = "auto",
    required: Iterable[Sequence[str]] = (),
    forbidden: Iterable[Sequence[str]] = (),
    constraint: Allowed | None = None,
    max_attributes: int | None = None,
    parameters: str = "nominal",
    counts: str | None = None,
    time_limit: Seconds = 20.0,
    seed: int = 0,
) -> Selection:
    """The decomposable graphical model of a table that a criterion prefers.

    data: a frame of pandas, or of what else narwhals knows, a column for each attribute; or a Table, or a
    ContingencyTable. counts: the column of a frame that says how many rows each row stands for. criterion: "bic",
    "aic", "likelihood-ratio" (forward and backward by tests at 5 percent), "kl" (as close as the limits allow), or an
    objective such as `models.search.LikelihoodRatio(rows, alpha)`. strategy: "auto" proves the best model where that
    takes no more than about half of the time, else searches in both directions, from the empty and the full graph; or
    one of "greedy", "greedy-backward", "greedy-both", "anneal", "genetic", "rebuild", "exact"; or a function of that
    shape. required: cliques, or pairs, that stay; forbidden: attributes that no clique holds together. constraint: a
    function of the cliques that says whether they are allowed. max_attributes: of a clique. parameters: those that
    the criterion counts, "nominal", every cell of a margin, or "adjusted", cells that have rows. time_limit: seconds;
    the search ends with the best so far, and `gap` says what is known of it. seed: of strategies that draw at random.
    A parameter for each thing a search can vary.

    Raises InputError for data that cannot be counted, SelectionError for an unknown name or limits that contradict.

    >>> import pandas as pd
    >>> people = pd.DataFrame(
    ...     {"smokes": ["no", "no", "yes", "yes"], "coughs": ["no", "yes", "no", "yes"], "Freq": [40, 10, 12, 38]}
    ... )
    >>> select(people, counts="Freq").independences()
    ()
    >>> select(people, counts="Freq", forbidden=[("smokes", "coughs")]).independences()
    ('smokes is independent of coughs.',)
    """
    rows = counted(data, counts)
    domain = rows.domain
    limits = Limits(
        _groups(required, "required", domain),
        _groups(forbidden, "forbidden", domain),
        max_attributes,
        Unconstrained() if constraint is None else _on_masks(constraint, domain),
    )

    def again(table: ContingencyTable) -> SelectedModel:
        return selected(table, criterion, strategy, limits, parameters, within(time_limit), seed)

    return Selection(again(rows.counts), rows, again)


def fit_model(data: Any, model: Any, counts: str | None = None) -> Selection:
    """A decomposable model that is given, fitted to a table: to test it, and to compare it with a selected one.

    data, counts: as for `select`. model: cliques, such as [("a", "b"), ("b", "c")]; R's text of them, as gRbase writes it;
    the path of a GraphML file; a graph of networkx or a network of pgmpy. Attributes that it leaves out stand by themselves.
    Raises InputError for what is none of these or names an unknown attribute, NotDecomposableError for another model.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"smokes": ["no", "yes"] * 4, "coughs": ["no", "yes", "yes", "yes"] * 2})
    >>> fit_model(people, 'list(c("smokes"), c("coughs"))').degrees_of_freedom
    1
    """
    rows = counted(data, counts)
    cliques = _groups(cliques_of(model), "the model", rows.domain)
    try:
        found = fitted(rows.counts, cliques)
    except NotDecomposableError as error:
        raise NotDecomposableError(f"only decomposable models can be fitted in closed form: {error}") from None
    return Selection(found, rows, partial(fitted, cliques=cliques))


def _groups(groups: Iterable[Sequence[str]], what: str, domain: Domain) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes. Raises InputError for what is no such list, or an unknown name."""
    groups = [groups] if isinstance(groups, str) else list(groups)
    if any(isinstance(group, str) for group in groups):
        raise InputError(f"{what} is a list of groups of attributes, such as [('age', 'sex')]")
    for name in (name for group in groups for name in group):
        try:
            domain.index(name)
        except DomainMismatchError as error:
            raise InputError(f"{what}: {error}") from None
    return tuple(map(tuple, groups))


def _on_masks(allowed: Allowed, domain: Domain) -> Constraint:
    """A person's constraint, of attributes' names, as one of a search."""
    order = domain.attributes.index

    def constraint(cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:  # noqa: ARG001
        names = tuple(sorted(tuple(sorted(domain.margin(clique), key=order)) for clique in cliques))
        if len({name for clique in names for name in clique}) < len(domain.attributes):
            return Refusal("not all attributes are there yet")  # a collection on the way of an exact search
        answer = allowed(names)
        if answer is None or answer is True:
            return None
        if answer is False or isinstance(answer, str):
            return Refusal(answer or "the constraint does not allow it")
        raise SelectionError(f"a constraint answers True, False or the reason why not, got {type(answer).__name__}")

    return constraint

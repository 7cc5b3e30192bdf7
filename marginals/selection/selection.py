"""A selected graphical model: what it says of the table, how sure that is, and where it can be taken."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.interchange.pgmpy_network import to_pgmpy
from marginals.jobs import Jobs
from marginals.names.independences_in_words import independences_in_words
from marginals.publishing.policy import Policy
from marginals.publishing.searching import Progress, no_progress
from marginals.release.release import Release
from marginals.release.search_trace import by_reason, search_trace
from marginals.selection.comparing import ModelComparison, compared
from marginals.selection.counted import Counted
from marginals.selection.drawing import drawn_graph
from marginals.selection.edge_frame import edge_frame
from marginals.selection.formats import r_cliques, write_graph
from marginals.selection.predicting import predicted
from marginals.selection.releasing import released
from marginals.timing import Seconds, within
from models.deadline import Deadline
from models.inference.marginal_model import MarginalModel
from models.search.constraint import RefusedMove
from models.search.result import SearchResult
from models.search.selection import SelectedModel, window
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import OccupiedCube
from models.tables.domain import Domain

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

Again = Callable[[ContingencyTable], SelectedModel]
"""The same search on other counts of the same attributes."""


@dataclass(frozen=True, eq=False)
class Selection:
    """A decomposable graphical model of a table.

    found: the model and the search. rows: the counts it is of. again: selects from other counts in the same way.

    >>> import marginals
    >>> people = pd.DataFrame([("no", "no"), ("yes", "yes")] * 9 + [("no", "yes")], columns=["smokes", "coughs"])
    >>> marginals.select(people)
    Selection(smokes coughs; deviance 0 on 0 degrees of freedom; none is better by the criterion)
    """

    found: SelectedModel
    rows: Counted
    again: Again

    def __repr__(self) -> str:
        gap = self.gap
        told = "how far from the best is not known" if gap is None else f"at most {gap:.6g} from the best"
        if gap == 0:
            told = "none is better by the criterion"
        if self.search.strategy == "given":
            told = "given, not searched for"
        dropped = f"; {self.rows.dropped} rows with a missing value dropped" if self.rows.dropped else ""
        return f"Selection({self.found}; {told}{dropped})"

    @property
    def search(self) -> SearchResult:
        """How the model was found; KL divergences in nats."""
        return self.found.search

    @property
    def model(self) -> MarginalModel:
        """The distribution: expected counts of any margin, bounds, samples; as `Release.model`."""
        return self.found.model

    @property
    def domain(self) -> Domain:
        """The attributes with their values."""
        return self.rows.domain

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each maximal clique, in the table's order."""
        return self.found.cliques

    @property
    def graph(self) -> "nx.Graph[str]":
        """The graph on the attributes, of networkx: not adjacent means independent given the others."""
        return self.found.graph

    @property
    def junction_tree(self) -> "nx.Graph[tuple[str, ...]]":
        """The junction tree, of networkx: nodes are cliques, edges carry `separator`; a forest where parts stand apart."""
        import networkx as nx

        order = self.domain.attributes.index
        tree: nx.Graph[tuple[str, ...]] = nx.Graph()
        names = {margin: tuple(sorted(margin, key=order)) for margin in self.found.tree.margins}
        tree.add_nodes_from(names.values())
        for a, b in self.found.tree.graph().edges:
            tree.add_edge(names[a], names[b], separator=tuple(sorted({*a} & {*b}, key=order)))
        return tree

    @property
    def deviance(self) -> float:
        """Twice the log-likelihood ratio against the saturated model, G squared."""
        return self.found.deviance

    @property
    def degrees_of_freedom(self) -> int:
        """Residual degrees of freedom, every cell counted, as R's `loglin` counts."""
        return self.found.degrees_of_freedom

    @property
    def adjusted_degrees_of_freedom(self) -> int:
        """The same of the cells that the model can fill, and of the parameters that the rows can estimate."""
        return self.found.adjusted_degrees_of_freedom

    @property
    def p_value(self) -> float:
        """Of the deviance, by chi-squared with the nominal degrees of freedom; small where the model does not fit."""
        return self.found.p_value

    @property
    def adjusted_p_value(self) -> float:
        """The same with the adjusted degrees of freedom."""
        return self.found.adjusted_p_value

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the rows, in nats."""
        return self.found.log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's criterion: 2 parameters - 2 log-likelihood, every cell counted."""
        return self.found.aic

    @property
    def bic(self) -> float:
        """Schwarz's criterion: ln(rows) parameters - 2 log-likelihood, every cell counted."""
        return self.found.bic

    @property
    def gap(self) -> float | None:
        """By how much at most another model is better, on the scale of AIC and BIC; 0: proven to be the best.

        None where nothing is known: for a test of significance there is no best model.
        """
        return self.found.gap

    @property
    def binding(self) -> Mapping[str, tuple[str, ...]]:
        """What binds at the model: the moves from it that would gain, by the reason why they are refused.

        The commonest reason first, and of its moves the one that would gain most. What is required is not asked for.

        >>> import marginals
        >>> people = pd.DataFrame([("no", "no"), ("yes", "yes")] * 9 + [("no", "yes")], columns=["smokes", "coughs"])
        >>> marginals.select(people, max_attributes=1).binding
        {'a margin of more than 1 attributes': ('show smokes with coughs',)}
        """
        return by_reason(RefusedMove(_plain(move), reason) for move, reason in self.found.binding)

    def trace(self, every: int = 1) -> pd.DataFrame:
        """The search step by step, with the likelihood-ratio test of each; the columns are those of `search_trace`.

        `gain` and `criterion` are of what was searched by, in nats a row: AIC and BIC divided by twice the number of rows.
        every: only each so-many-th step, and always the best and the last one. Raises InputError where it is below 1.
        """
        frame = search_trace(self.search, self.model.total, self.found.problem.objective, every)
        return frame.assign(move=[_plain(move) for move in frame["move"]])

    def tests(self, ordered: Iterable[str] | None = None) -> pd.DataFrame:
        """A test of each edge: what the model loses without it.

        Columns: first and second; given, their common neighbours; deviance between the two models; df, and
        df_adjusted to the cells that have rows; p, by adjusted degrees of freedom where the search counted so; p_holm
        and p_fdr, corrected for the number of edges (Holm 1979; Benjamini and Hochberg 1995). Of an edge in one
        clique with ordered values also a test that uses the order, generalized Cochran-Mantel-Haenszel given the same
        neighbours: "linear-by-linear" where both are ordered, scores 0, 1, 2, ..; "mean scores" where one is, by
        ranks within strata (Kruskal-Wallis where nothing is given). The tests do not know that the same rows selected
        the model: p-values are too small.

        ordered: attributes whose values have the order in which they stand; by default ordered categoricals and numbers.
        """
        names = self.rows.ordered if ordered is None else frozenset(ordered)
        for name in names:
            self.domain.index(name)
        adjusted = isinstance(self.found.problem.cube, OccupiedCube)
        return edge_frame(self.found, names, adjusted)

    def independences(self) -> tuple[str, ...]:
        """The conditional independences that the model assumes, in words; together they are the whole model."""
        return independences_in_words(self.found.tree)

    def compare(self, other: "Selection") -> ModelComparison:
        """The model beside another of the same table; tested against each other where one contains the other.

        Raises InputError where the other is of other counts.
        """
        return compared(self.found, other.found)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The graph, by matplotlib. axes: where to; by default a new figure. Raises InputError without matplotlib."""
        title = f"deviance {self.deviance:.1f} on {self.degrees_of_freedom} df, p = {self.p_value:.3g}"
        return drawn_graph(self.graph, title, axes)

    def simulate(self, rows: int, seed: int) -> pd.DataFrame:
        """Independent rows drawn from the model, values as the frame had them. These are no anonymized data."""
        if rows < 0:
            raise InputError(f"a sample has 0 rows or more, not {rows}")
        codes = self.model.sampler.draw(rows, np.random.default_rng(seed))
        return pd.DataFrame({a: self.rows.values(a, codes[a]) for a in self.domain.attributes})

    def predict(self, rows: pd.DataFrame, target: str) -> pd.DataFrame:
        """The probability of each value of an attribute for rows that have the other ones: one column a value.

        Only its neighbours in the graph matter; other columns may be missing. NaN where no row of the table has the
        neighbours' values. Raises InputError for a missing column or an unknown value.
        """
        return predicted(self.found, self.rows, rows, target)

    def bootstrap(
        self,
        times: int,
        seed: int = 0,
        jobs: int = 2,
        time_limit: Seconds = 60.0,
        progress: Progress = no_progress,
    ) -> pd.DataFrame:
        """The share of resampled tables in which each pair is adjacent, the search repeated in each (Efron 1979).

        Columns: first, second, share, tables (of how many, fewer than `times` where the time is over; a search that has
        begun is ended), selected (whether this model has the edge); most frequent first. jobs: processes that search at
        once, where the system can fork; they change nothing else. time_limit: seconds. progress: told how many are done.
        Raises InputError for numbers that make no sense.
        """
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise InputError(f"a bootstrap needs one resampled table or more, not {times!r}")
        run, deadline = Jobs(jobs), within(time_limit)
        work = partial(_resampled, self.rows.counts, self.again, deadline)
        draws = list(enumerate(np.random.SeedSequence(seed).spawn(times)))
        each = run(work, draws, lambda done: progress("resampled tables", done, times))
        got = [edges for edges in each if edges is not None]
        weights = Counter(edge for edges in got for edge in edges)
        frame = self._edge_weights({edge: number / len(got) for edge, number in weights.items()}, "share")
        frame.insert(3, "tables", len(got))
        return frame

    def average(self, time_limit: Seconds = 20.0) -> pd.DataFrame:
        """The probability of each edge over all models near the best (Occam's window: Madigan and Raftery 1994).

        Models are weighted by exp(-BIC / 2), by AIC with exp(-AIC / 2); those that are 20 times less likely than the best do
        not count. Columns: first, second, probability, selected. `attrs["models"]` has the cliques and weight of each model.
        Raises SelectionError for other criteria.
        """
        deadline = within(time_limit)
        models = window(self.found, lambda: deadline.is_over)
        domain = self.domain
        weights: dict[frozenset[str], float] = {}
        listed = []
        for cliques, weight in models:
            names = [tuple(sorted(domain.margin(mask), key=domain.attributes.index)) for mask in sorted(cliques)]
            for edge in {frozenset(pair) for own in names for pair in combinations(own, 2)}:
                weights[edge] = weights.get(edge, 0.0) + weight
            listed.append((tuple(names), weight))
        frame = self._edge_weights(weights, "probability")
        frame.attrs["models"] = listed
        return frame

    def _edge_weights(self, weights: Mapping[frozenset[str], float], name: str) -> pd.DataFrame:
        graph = self.graph
        lines = [
            {
                "first": a,
                "second": b,
                name: min(weights.get(frozenset((a, b)), 0.0), 1.0),
                "selected": graph.has_edge(a, b),
            }
            for a, b in combinations(self.domain.attributes, 2)
        ]
        frame = pd.DataFrame(lines, columns=["first", "second", name, "selected"])
        return frame.sort_values(name, ascending=False, kind="stable", ignore_index=True)

    def to_release(self, policy: Policy, sensitive: Sequence[str] = ()) -> Release:
        """The marginals of the cliques as a release, where a policy allows them as they are.

        sensitive: the sensitive attributes, the others being quasi-identifiers; a Table knows its roles itself. Raises
        NothingPublishableError where the policy refuses the model; `marginals.publish` then looks for what it allows.
        """
        return released(self.found, self.rows, policy, sensitive)

    def to_r(self) -> str:
        """The cliques for R: `loglin(table, <this>)`, `gRim::dmod(<this>, table)`, `gRbase::ug(<this>)`."""
        return r_cliques(self.cliques)

    def to_pgmpy(self) -> Any:
        """The model as a network of pgmpy, with its probabilities. Raises InputError where pgmpy is not installed."""
        return to_pgmpy(self)

    def write_graphml(self, path: str | Path) -> None:
        """Write the graph as GraphML, for networkx, Gephi, yEd, igraph and others."""
        write_graph(self.graph, path)

    @cached_property
    def fitted(self) -> pd.DataFrame:
        """The cells that have rows, with their counts and the counts that the model expects."""
        table = self.rows.counts
        codes = dict(zip(table.attributes, table.codes))
        expected = np.exp(self.model.closed_form.log_probability(codes)) * table.total
        frame = pd.DataFrame({a: self.rows.values(a, codes[a]) for a in table.attributes})
        return frame.assign(count=table.counts, expected=expected)


def _resampled(
    counts: ContingencyTable, again: Again, deadline: Deadline, draw: tuple[int, np.random.SeedSequence]
) -> list[frozenset[str]] | None:
    """The edges of the model of one resampled table; None where the time was over before, but for the first one."""
    number, seed = draw
    if number and deadline.is_over:
        return None
    drawn = np.random.default_rng(seed).multinomial(counts.total, counts.counts / counts.total)
    columns = dict(zip(counts.attributes, counts.codes))
    table = ContingencyTable.from_cells(counts.domain, counts.margin, columns, drawn)
    return [frozenset(edge) for edge in again(table).graph.edges]


def _plain(move: str) -> str:
    """A move in the words of a graph: all attributes stand at their values."""
    return move.replace(" at level 0", "")

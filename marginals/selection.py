"""Graphical models of a table: selected or specified, tested, compared and exported."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any
from warnings import warn

import networkx as nx
import numpy as np
import pandas as pd

from marginals.arguments import elements_of, require, require_function, require_whole_number
from marginals.deadline import Seconds, within
from marginals.errors import DataWarning, InputError
from marginals.interchange import to_pgmpy
from marginals.jobs import in_processes
from marginals.later import nw
from marginals.messages import printable
from marginals.names import independences_in_words
from marginals.publishing.searching import Progress, no_progress
from marginals.replaced import Renewed
from marginals.steward import by_reason, search_trace
from marginals.tables.distinct_rows import reals, unread
from marginals.tables.frames import in_narwhals
from marginals.tables.table import Table
from models.arrays import CodeArray, CountArray
from models.deadline import Deadline
from models.errors import DomainMismatchError, NotDecomposableError, NotFittedError, SelectionError, TooManyCellsError
from models.frozen import frozen
from models.inference.log_linear import edge_test
from models.search.doors import GivenObjective, GivenStrategy
from models.search.problem import Refusal, RefusedMove, Unconstrained
from models.search.selection import Limits, SelectedModel, at_one_level, fitted, p_value
from models.search.selection import select as selected
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import occupied
from models.tables.hierarchy import Domain, Hierarchy, Mask, vertices_of

# Different numbers of a column, and other values, beyond which it is taken for a measurement or a key.
_MOST_NUMBERS = 30
_MOST_VALUES = 200

_NAMES_OF_COUNTS = ("freq", "count", "counts")


@frozen(eq=False)
class FrequencyTable:
    """Counts of the combinations of values.

    counts: over a domain without generalizations. dtypes: types of the columns of the frame. dropped: rows with a missing
    value, which do not count. notes: sentences about data that are left out.
    """

    counts: ContingencyTable
    dtypes: Mapping[str, pd.CategoricalDtype]
    dropped: int = 0
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, values: Mapping[str, pd.Categorical], rows: CountArray, dropped: int, dropped_in: Mapping[str, int]
    ) -> "FrequencyTable":
        """Count rows without missing values; values without a row are left out."""
        if not rows.any():
            raise InputError("no row of the frame has a value in every column and counts")
        used = {a: column[rows > 0].remove_unused_categories() for a, column in values.items()}
        unused = {a: len(values[a].categories) - len(column.categories) for a, column in used.items()}
        columns = ", ".join(f"{number} of {name}" for name, number in unused.items() if number)
        domain = Domain.of({a: Hierarchy.flat(list(map(str, column.categories))) for a, column in used.items()})
        codes = {a: column.codes.astype(np.intp) for a, column in used.items()}
        table = ContingencyTable.from_cells(domain, dict.fromkeys(used, 0), codes, rows[rows > 0])
        dtypes = {a: column.dtype for a, column in used.items()}
        notes = []
        if dropped:
            from marginals.say.table import dropped_lines  # slow to import, and most frames lack nothing

            notes.append(next(dropped_lines(table.total, dropped, dropped_in)))
        if columns:
            notes.append(f"Values that no row has are left out, and count no degrees of freedom: {columns}.")
        return cls(table, dtypes, dropped, tuple(notes))

    def values(self, attribute: str, codes: CodeArray) -> pd.Categorical:
        """Values of the frame for codes."""
        return pd.Categorical.from_codes(codes.astype(np.intp).tolist(), dtype=self.dtypes[attribute])


def counted(data: Any, counts: str | None = None) -> FrequencyTable:
    """Count a frame of rows, a Table, or a contingency table.

    data: a frame of pandas or of another library that narwhals knows; each column is an attribute. counts: the column with
    the number of rows that each row stands for, as `Freq` in R's `as.data.frame(table)`. Ordered categoricals and numbers
    are ordered. Rows with a missing value are dropped, and so are values of a frame or Table without a row. Raises
    InputError, naming the column.

    >>> people = pd.DataFrame({"smokes": ["no", "yes", "no"], "stairs": [1, 2, None]})
    >>> rows = counted(people)
    >>> rows.counts, rows.dropped
    (ContingencyTable(smokes:0, stairs:0; 2 cells, 2 rows), 1)
    """
    if isinstance(data, Table | ContingencyTable):
        table = at_one_level(data.base_counts if isinstance(data, Table) else data)
        dtypes = {a: pd.CategoricalDtype(list(table.domain.hierarchy(a).labels[0])) for a in table.attributes}
        if isinstance(data, ContingencyTable):
            return FrequencyTable(table, dtypes)
        values = {a: pd.Categorical.from_codes(c, dtype=dtypes[a]) for a, c in zip(table.attributes, table.codes)}
        return FrequencyTable.of(values, table.counts, data.missing, data.missing_in)
    return _of_frame(_in_pandas(data), counts)


def _in_pandas(data: Any) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data
    from narwhals import selectors

    opened = in_narwhals(data, "a frame, a Table or a ContingencyTable").lazy().collect()
    beyond_arrow = selectors.by_dtype(nw.Int128, nw.UInt128)
    frame: pd.DataFrame = opened.with_columns(beyond_arrow.cast(nw.String)).to_pandas()
    return frame


def _of_frame(frame: pd.DataFrame, counts: str | None) -> FrequencyTable:
    is_named = all(name is not None for name in (*frame.index.names, *frame.columns.names))
    if is_named and all(pd.api.types.is_integer_dtype(kind) for kind in frame.dtypes):  # as pandas.crosstab makes them
        raise InputError(
            f"the frame looks like a cross table, whose columns are values of {frame.columns.names[0]!r}; bring it into one "
            "row for each combination: frame.stack().rename('Freq').reset_index(), and say counts='Freq'"
        )
    columns = [str(column) for column in frame.columns]
    if len(set(columns)) < len(columns):
        raise InputError("two columns of the frame have the same name")
    frame = frame.set_axis(columns, axis=1)
    if counts is not None and (not isinstance(counts, str) or counts not in columns):
        raise InputError(f"the frame has no column {printable(str(counts))!r} with counts")
    likely = next((column for column in columns if counts is None and column.lower() in _NAMES_OF_COUNTS), None)
    if likely is not None and pd.api.types.is_numeric_dtype(frame[likely]):
        raise InputError(
            f"the column {likely!r} looks like counts of rows: say counts={likely!r}; if it is an attribute, rename it"
        )
    attributes = [column for column in columns if column != counts]
    if not attributes:
        raise InputError("the frame has no column to select a model of")
    rows = np.ones(len(frame), dtype=np.int64) if counts is None else _row_counts(frame[counts], counts)
    lacking = frame[attributes].isna()
    is_whole = ~lacking.any(axis=1).to_numpy()
    dropped_in = {name: int(lost) for name, lost in zip(attributes, rows @ lacking.to_numpy()) if lost}
    dropped_in = dict(sorted(dropped_in.items(), key=lambda name_lost: -name_lost[1]))
    values = {column: _categorical(frame.loc[is_whole, column]) for column in attributes}
    return FrequencyTable.of(values, rows[is_whole], int(rows[~is_whole].sum()), dropped_in)


def _row_counts(column: "pd.Series[Any]", name: str) -> CountArray:
    numbers = reals(column)
    if not ((numbers >= 0) & (numbers < 1 << 53) & (numbers == np.floor(numbers))).all():
        raise InputError(
            f"the counts in {name!r} must be whole numbers, 0 or more and below 2^53; round weights yourself to use them as "
            "counts"
        )
    return numbers.astype(np.int64)


def _categorical(column: "pd.Series[Any]") -> pd.Categorical:
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.Categorical(column)
    else:
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        try:
            values = pd.Categorical(column, ordered=numeric)
        except (TypeError, NotImplementedError):
            raise unread(f"the column {column.name!r}") from None
        most = _MOST_NUMBERS if numeric else _MOST_VALUES
        if len(values.categories) > most:
            raise InputError(
                f"the column {column.name!r} has {len(values.categories):,} different values in {len(column):,} rows. Put "
                "them into a few groups (pandas.cut), make the column a categorical, or leave it out"
            )
    texts = [str(value) for value in values.categories]
    if len(set(texts)) < len(texts):
        raise InputError(f"two values of the column {column.name!r} read alike")
    if not texts:
        raise InputError(f"the column {column.name!r} has no value")
    return values


# Columns of tests, with the types of those that are no text.
_COLUMNS = dict.fromkeys(("first", "second", "given"), "") | {
    "deviance": "float64",
    "df": "Int64",
    "df_adjusted": "Int64",
    "p": "float64",
}


def _line(selected: SelectedModel, edge: tuple[str, str], adjusted: bool) -> dict[str, object]:
    domain = selected.collection.domain
    offsets = dict(zip(domain.attributes, domain.offsets))
    line: dict[str, object] = {"first": edge[0], "second": edge[1]}
    try:
        test = edge_test(selected.model, offsets[edge[0]], offsets[edge[1]])
    except (NotFittedError, TooManyCellsError):
        return line | {"given": "", "deviance": np.nan}
    used = test.adjusted_degrees_of_freedom if adjusted else test.degrees_of_freedom
    return line | {
        "given": ", ".join(domain.induced_attributes[vertex].attribute for vertex in vertices_of(test.condition)),
        "deviance": test.deviance,
        "df": test.degrees_of_freedom,
        "df_adjusted": pd.NA if test.adjusted_degrees_of_freedom is None else test.adjusted_degrees_of_freedom,
        "p": p_value(test.deviance, test.degrees_of_freedom if used is None else used),
    }


def _cliques_of(model: Any) -> tuple[tuple[str, ...], ...]:
    if isinstance(model, nx.Graph):
        if model.is_directed():
            raise InputError("the model is a directed graph; give the undirected one, in pgmpy `to_markov_model()`")
        return tuple(sorted(tuple(sorted(map(str, clique))) for clique in nx.find_cliques(nx.Graph(model))))
    if isinstance(model, Iterable) and not isinstance(model, str | Path):
        cliques = [[names_given] if isinstance(names_given, str) else names_given for names_given in model]
        if all(isinstance(clique, Iterable) for clique in cliques):
            return tuple(tuple(map(str, clique)) for clique in cliques)
    raise InputError("a model is given by its cliques, [('a', 'b'), ('c',)], or by a graph of networkx")


@frozen
class ModelComparison:
    """Comparison of a model with another one of the same table.

    aic, bic: of the first less that of the other, so below 0 the first is better. nested: one graph contains the other.
    Otherwise there is no likelihood-ratio test, so its fields are None. only_in_one, only_in_other: edges.
    """

    aic: float
    bic: float
    nested: bool
    deviance: float | None
    degrees_of_freedom: int | None
    adjusted_degrees_of_freedom: int | None
    p_value: float | None
    only_in_one: tuple[tuple[str, str], ...]
    only_in_other: tuple[tuple[str, str], ...]


Again = Callable[[ContingencyTable], SelectedModel]  # the same search on other counts


@frozen(eq=False)
class Selection(SelectedModel, Renewed):
    """A decomposable graphical model of a table.

    rows: the counts. reselect: repeats the selection on other counts.

    >>> import marginals
    >>> people = pd.DataFrame([("no", "no"), ("yes", "yes")] * 9 + [("no", "yes")], columns=["smokes", "coughs"])
    >>> marginals.select(people)
    Selection(smokes coughs; deviance 0 on 0 degrees of freedom; no decomposable model is better)
    """

    rows: FrequencyTable
    reselect: Again

    def __repr__(self) -> str:
        distance = "how far from the best is not known"
        if self.search.strategy == "given":
            distance = "given, not searched for"
        elif self.gap is not None:
            distance = "no decomposable model is better"
            if self.gap:
                distance = f"at most {self.gap:.6g} from the best decomposable model"
        dropped = f"; {self.rows.dropped} rows with a missing value dropped" if self.rows.dropped else ""
        return f"Selection({super().__repr__()}; {distance}{dropped})"

    @property
    def domain(self) -> Domain:
        """The attributes with their values."""
        return self.rows.counts.domain

    @property
    def binding(self) -> Mapping[str, tuple[str, ...]]:
        """Refused moves that would improve the model, by the reason of their refusal.

        The commonest reason comes first, with its best move first. Requirements are no reasons.

        >>> import marginals
        >>> people = pd.DataFrame([("no", "no"), ("yes", "yes")] * 9 + [("no", "yes")], columns=["smokes", "coughs"])
        >>> marginals.select(people, max_attributes=1).binding
        {'a margin of more than 1 attributes': ('show smokes with coughs',)}
        """
        return by_reason(RefusedMove(_plain(move), reason) for move, reason in self.refused_moves)

    def trace(self) -> pd.DataFrame:
        """The steps of the search, with the likelihood-ratio test of each; the columns are those of `search_trace`.

        `gain` and `criterion` are in nats a row: AIC and BIC are divided by twice the number of rows.
        """
        frame = search_trace(self.search, self.model.total, self.problem.objective)
        return frame.assign(move=[_plain(move) for move in frame["move"]])

    def tests(self) -> pd.DataFrame:
        """A test of each edge against the model without it.

        Columns: first and second; given, their common neighbours; deviance between the two models; df, and df_adjusted to
        the cells with rows; p. p uses adjusted degrees of freedom if the search did. The p-values are too small, because the
        same rows selected the model, and because many edges are tested.
        """
        order, adjusted = self.domain.attributes.index, self.problem.cube.parameters is occupied
        edges = sorted((tuple(sorted(edge, key=order)) for edge in self.graph.edges), key=lambda e: [*map(order, e)])
        lines = [_line(self, (first, second), adjusted) for first, second in edges]
        return pd.DataFrame(lines, columns=list(_COLUMNS)).astype({c: kind for c, kind in _COLUMNS.items() if kind})

    def independences(self) -> tuple[str, ...]:
        """The conditional independences that the model assumes, in words; together they are the whole model."""
        return independences_in_words(self.tree)

    def compare(self, other: "Selection") -> ModelComparison:
        """Compare the model with another of the same table, with a test if one contains the other.

        Raises InputError if the other is of other counts.
        """
        cubes = (model.collection.cube for model in (self, other))
        mine, its = (cube.table(sum(cube.domain.attribute_masks)) for cube in cubes)
        if mine.domain != its.domain or len(mine) != len(its) or not equal_cells([mine, its]):
            raise InputError("the two models are of different tables, so their deviances cannot be compared")
        edges, its_edges = ({frozenset(edge): edge for edge in model.graph.edges} for model in (self, other))
        lacking = tuple(edge for pair, edge in edges.items() if pair not in its_edges)
        added = tuple(edge for pair, edge in its_edges.items() if pair not in edges)
        aic, bic = self.aic - other.aic, self.bic - other.bic
        if lacking and added:
            return ModelComparison(aic, bic, False, None, None, None, None, lacking, added)
        smaller, larger = (self, other) if added else (other, self)
        deviance = max(smaller.deviance - larger.deviance, 0.0)
        degrees = smaller.degrees_of_freedom - larger.degrees_of_freedom
        adjusted = smaller.adjusted_degrees_of_freedom - larger.adjusted_degrees_of_freedom
        return ModelComparison(aic, bic, True, deviance, degrees, adjusted, p_value(deviance, degrees), lacking, added)

    def simulate(self, rows: int, seed: int) -> pd.DataFrame:
        """Independent rows drawn from the model, with the values of the frame. These are no anonymized data."""
        require_whole_number(rows, "rows", 0)
        codes = self.model.draw(rows, np.random.default_rng(seed))
        return pd.DataFrame({a: self.rows.values(a, codes[a]) for a in self.domain.attributes})

    def bootstrap(
        self, times: int, seed: int = 0, jobs: int = 2, time_limit: Seconds = 60.0, progress: Progress = no_progress
    ) -> pd.DataFrame:
        """The share of resampled tables in which each pair is adjacent; the search is repeated in each (Efron 1979).

        Columns: first, second, share, tables (their number), selected (this model has the edge). The most frequent pair
        comes first. There are fewer tables than `times` if the time is over. jobs: processes that search at once, if the
        system can fork. time_limit: seconds. Raises InputError for numbers that make no sense.
        """
        require_whole_number(times, "times", 1)
        require_whole_number(jobs, "jobs", 1)
        deadline = within(time_limit)
        work = partial(_resampled, self.rows.counts, self.reselect, deadline)
        draws = list(enumerate(np.random.SeedSequence(seed).spawn(times)))
        edge_sets = in_processes(jobs, work, draws, lambda done: progress("resampled tables", done, times))
        got = [edges for edges in edge_sets if edges is not None]
        times_adjacent, graph = Counter(edge for edges in got for edge in edges), self.graph
        lines = [
            (a, b, times_adjacent[frozenset((a, b))] / len(got), len(got), graph.has_edge(a, b))
            for a, b in combinations(self.domain.attributes, 2)
        ]
        frame = pd.DataFrame(lines, columns=["first", "second", "share", "tables", "selected"])
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def to_r(self) -> str:
        """The cliques for R: `loglin(table, <this>)`, `gRim::dmod(<this>, table)`, `gRbase::ug(<this>)`."""
        escaped = str.maketrans({"\\": "\\\\", '"': '\\"'})
        cliques = [", ".join(f'"{name.translate(escaped)}"' for name in clique) for clique in self.cliques]
        return f"list({', '.join(f'c({names})' for names in cliques)})"

    def to_pgmpy(self) -> Any:
        """The model as a network of pgmpy, with its probabilities. Raises InputError if pgmpy is not installed."""
        return to_pgmpy(self)

    @cached_property
    def fitted(self) -> pd.DataFrame:
        """The cells with rows, their counts and the counts that the model expects."""
        table = self.rows.counts
        codes = dict(zip(table.attributes, table.codes))
        expected = np.exp(self.model.closed_form.log_probability(codes)) * table.total
        frame = pd.DataFrame({a: self.rows.values(a, codes[a]) for a in table.attributes})
        return frame.assign(count=table.counts, expected=expected)


def _resampled(
    counts: ContingencyTable, reselect: Again, deadline: Deadline, draw: tuple[int, np.random.SeedSequence]
) -> list[frozenset[str]] | None:
    number, seed = draw
    if number and deadline.is_over:
        return None
    drawn = np.random.default_rng(seed).multinomial(counts.total, counts.counts / counts.total)
    columns = dict(zip(counts.attributes, counts.codes))
    table = ContingencyTable.from_cells(counts.domain, counts.margin, columns, drawn)
    return [frozenset(edge) for edge in reselect(table).graph.edges]


def _plain(move: str) -> str:
    return move.replace(" at level 0", "")


# Function of a model's cliques: True or None allows it, False or a reason refuses it.
Allowed = Callable[[tuple[tuple[str, ...], ...]], bool | str | None]


def select(
    data: Any,
    criterion: GivenObjective = "bic",
    strategy: GivenStrategy = "auto",
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

    The parameters are the data, the criterion, the strategy, and their limits:

    - data: a frame of pandas or of another library that narwhals knows, a column for each attribute; or a Table, or a
      ContingencyTable. counts: the column of a frame with the number of rows that each row stands for.
    - criterion: "bic", "aic", "likelihood-ratio" (tests at 5 percent), "kl" (as close as the limits allow) or "bdeu". Or an
      objective such as `models.search.LikelihoodRatio(rows, alpha)`, a function of a clique's counts
      (`models.search.objective_of`), or the name of an installed objective.
    - strategy: "auto" is "local", with a proof that nothing is better if it takes at most about half of the time. Others are
      "local", "forward", "backward", "both", "exact", a function of that shape, or the name of an installed one.
    - required: cliques, or pairs, that stay. forbidden: attributes that stand in no clique together. constraint: a function
      of the cliques that allows or refuses them. max_attributes: of a clique.
    - parameters: "nominal" counts every cell of a margin, "adjusted" the cells with rows.
    - time_limit: seconds; the search ends with the best model so far, and `gap` says how far it may be from the best.
    - seed: of strategies that draw at random.

    Raises InputError for data that cannot be counted, SelectionError for an unknown name or contradictory limits.

    >>> import pandas as pd
    >>> people = pd.DataFrame(
    ...     {"smokes": ["no", "no", "yes", "yes"], "coughs": ["no", "yes", "no", "yes"], "Freq": [40, 10, 12, 38]}
    ... )
    >>> select(people, counts="Freq").independences()
    ()
    >>> select(people, counts="Freq", forbidden=[("smokes", "coughs")]).independences()
    ('smokes is independent of coughs.',)
    """
    require_whole_number(seed, "seed", 0)
    if constraint is not None:
        require_function(constraint, "constraint", "a function of cliques, lambda cliques: True")
    require(parameters, str, "parameters", '"nominal" or "adjusted"')
    rows = _noted(counted(data, counts))
    domain = rows.counts.domain
    allows = Unconstrained() if constraint is None else partial(_on_names, constraint, domain)
    together, apart = _groups(required, "required", domain), _groups(forbidden, "forbidden", domain)
    limits = Limits(together, apart, max_attributes, allows)
    search = partial(selected, criterion=criterion, strategy=strategy, limits=limits, parameters=parameters, seed=seed)
    return _selection(rows, partial(_in_time, search, time_limit))


def _noted(rows: FrequencyTable) -> FrequencyTable:
    for note in rows.notes:
        warn(note, DataWarning, stacklevel=3)
    return rows


def fit_model(data: Any, model: Any, counts: str | None = None) -> Selection:
    """Fit a decomposable model to a table, to test it or to compare it with a selected one.

    data, counts: as for `select`. model: cliques, such as [("a", "b"), ("b", "c")]; a graph of networkx or a network of
    pgmpy. Attributes that it leaves out are independent. Raises InputError for another kind of model or an unknown
    attribute, NotDecomposableError for a model that is not decomposable.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"smokes": ["no", "yes"] * 4, "coughs": ["no", "yes", "yes", "yes"] * 2})
    >>> fit_model(people, ["smokes", "coughs"]).degrees_of_freedom
    1
    """
    rows = _noted(counted(data, counts))
    cliques = _groups(_cliques_of(model), "the model", rows.counts.domain)
    try:
        return _selection(rows, partial(fitted, cliques=cliques))
    except NotDecomposableError as error:
        raise NotDecomposableError(f"only decomposable models can be fitted in closed form: {error}") from None


def _in_time(search: Callable[..., SelectedModel], seconds: Seconds, table: ContingencyTable) -> SelectedModel:
    return search(table, deadline=within(seconds))


def _selection(rows: FrequencyTable, reselect: Again) -> Selection:
    model = reselect(rows.counts)
    return Selection(model.collection, model.search, model.problem, rows, reselect)


def _groups(groups: Iterable[Sequence[str]], what: str, domain: Domain) -> tuple[tuple[str, ...], ...]:
    instead = "a list of groups of attributes, such as [('age', 'sex')]"
    groups = [groups] if isinstance(groups, str) else elements_of(groups, what, instead)
    if any(isinstance(group, str) or not isinstance(group, Iterable) for group in groups):
        raise InputError(f"{what} is {instead}")
    for name in (name for group in groups for name in group):
        try:
            domain.index(name)
        except DomainMismatchError as error:
            raise InputError(f"{what}: {error}") from None
    return tuple(map(tuple, groups))


def _on_names(allowed: Allowed, domain: Domain, cliques: AnyCollection[Mask], _new: Mask, /) -> Refusal | None:
    order = domain.attributes.index
    names = tuple(sorted(tuple(sorted(domain.margin(clique), key=order)) for clique in cliques))
    if len({name for clique in names for name in clique}) < len(domain.attributes):
        return Refusal("not all attributes are there yet")  # a collection on the way of an exact search
    answer = allowed(names)
    if answer is None or answer is True:
        return None
    if answer is False or isinstance(answer, str):
        return Refusal(answer or "the constraint does not allow it")
    raise SelectionError(f"a constraint answers True, False or the reason why not, got {type(answer).__name__}")

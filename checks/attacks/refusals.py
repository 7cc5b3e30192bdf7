"""What readers conclude from additions that a release lacks: attributes, finer levels, pairs of attributes side by side.

Who knows the algorithm knows that whatever the claims allow and tells more than chance would is published. So each
addition that a search would have tried was refused, or would have told too little (`models.search.chance`), and the tables
in which it would have been allowed and paid for are excluded. Two tables with margins of 100/100 and 3/197 and a least
count of 3 that are not shown together: were the counts 0 and 3, they would be, so they are 1 and 2.

- An *addition* is one more vertex or edge of the interaction graph that leaves a junction tree (KG06 6.2). The margin it
  makes is that of the vertices with what separates them, so what is known of its counts beforehand are the two margins
  without the one and without the other vertex, in each cell of the separator by itself (Lauritzen, Graphical Models, 3.1).
- Where the tables with the published marginals are few, they are laid out, those are kept in which no addition would have
  been taken, and what these have in common is what the reader knows. Else each addition is looked at by itself; and where
  its own tables are too many, by the bounds of its counts.
- Tables are excluded only where an addition is allowed for certain and gains for certain. So more may follow for somebody
  who runs the search itself on every table: that no addition proves anything does not mean that nothing follows.
- Where tables are too many to be laid out, an addition that has a price counts as one that may tell too little.
- Less may follow where a search stops at a level that tells nothing on the way to one that does. A release does not name
  such levels; so with the hierarchies of the table this reads the search exactly, and without them as if it looked further.

All limits are numbers of tables and cells, so that the same release always gets the same answer.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import cached_property, reduce
from itertools import combinations, islice, product
from math import prod
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim, Question
from checks.classes import nonsensitive_part
from checks.finding import SEARCHING
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, x_log_x
from models.deadline import NEVER, Deadline
from models.errors import MarginalsError
from models.graphs.interaction_graph import AddEdge, AddVertex, InteractionGraph, allowed_moves
from models.graphs.junction_tree import Collection, maximal_masks
from models.programs.all_tables import MOST_TABLES, all_tables
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DOUBTFUL, DataCube, interactions
from models.tables.hierarchy import Domain, Margin, Mask

USUAL_SENSITIVE_MARGINS = 3
"""Margins that may show the same sensitive attribute where a policy says nothing of it."""

_MOST_CELLS = 1 << 18
"""Cells of the margin of an addition that are laid out."""

_MOST_CELLS_IN_ALL = 1 << 21
"""The same of all additions together."""

_MOST_LAID_OUT = 4_096
"""Cells of tables that are laid out one by one, before those are left out that must be empty."""

_MOST_CHECKS = 300
"""Tables on which claims about sensitive values are checked, for each addition."""

_MOST_CHECKS_IN_ALL = 1_500
"""The same of all additions together."""

_MOST_NUMBERS_IN_ALL = 20_000_000
"""Counts of all tables that are laid out one by one, for all additions together."""

_MOST_MARGINS = 400
"""Margins in which it is looked for what tables have in common, beside those that additions make and the finest."""

_ATTRIBUTES = 3
"""Attributes that such a margin has at most."""

_ROUNDING = 1e-9
"""Nats by which what an addition gains can be off."""


class Outcome(Enum):
    """What the refusal of one addition tells. The value is its name in JSON."""

    PROVES = "proves"
    """A count or a sensitive value that the tables leave open is certain."""
    SOME = "some"
    """Some combination of several has a small count, or the addition would tell too little; it is not certain which."""
    OPEN = "open"
    """Tables are excluded, or may be, but those that are left have no small count and no sensitive value in common."""
    ALWAYS = "always"
    """It would have been refused whatever the data, so that it was tells nothing."""
    UNEXPLAINED = "unexplained"
    """No claim can have refused it: it was left out for another reason."""
    NOT_EXAMINED = "not examined"
    """There are too many tables or cells, or the time was over."""


@dataclass(frozen=True)
class CertainRange:
    """A cell whose count is small for certain. values: label by attribute; levels: of these; lower, upper: its bounds."""

    values: Mapping[str, str]
    levels: Mapping[str, int]
    lower: int
    upper: int


@dataclass(frozen=True)
class CertainValue:
    """A class all of whose people have one sensitive value for certain, and that has some.

    values: of the class, label by attribute. rows: at least.
    """

    values: Mapping[str, str]
    sensitive: str
    value: str
    rows: int


@dataclass(frozen=True)
class Addition:
    """An addition that a release lacks, and what follows from that.

    margin: what it would have made. added: attribute and level: one of which finer values would be shown by themselves,
    or two that would be shown together. candidate_classes, classes: of the classes that both share, how many can have
    refused it, and how many there are; 0 where the tables were laid out. counts_only: whether a small count is the only
    reason that there can be, for what tells enough. may_gain_nothing: whether it can also have been left out since it
    tells too little. unexamined: margins in which it was not looked for what is certain. note: why it was not examined.
    """

    margin: Margin
    added: tuple[tuple[str, int], ...]
    outcome: Outcome
    candidate_classes: int = 0
    classes: int = 0
    counts_only: bool = True
    may_gain_nothing: bool = False
    small: tuple[CertainRange, ...] = ()
    values: tuple[CertainValue, ...] = ()
    unexamined: int = 0
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "margin": dict(self.margin),
            "added": dict(self.added),
            "outcome": self.outcome.value,
            "candidate_classes": self.candidate_classes,
            "classes": self.classes,
            "counts_only": self.counts_only,
            "may_gain_nothing": self.may_gain_nothing,
            "small": [asdict(cell) for cell in self.small],
            "values": [asdict(value) for value in self.values],
            "margins_not_examined": self.unexamined,
            "note": self.note,
        }


@dataclass(frozen=True)
class Refusals:
    """What all additions together tell that a release lacks.

    least: counts from 1 to least - 1 are small. additions: each by itself. tables, left: how many tables have the published
    marginals, and in how many of them no addition would have been taken; None where they are too many to be laid out, and
    what several additions prove together was not examined. small, values: what is certain, of all additions. unnamed:
    attributes that no table shows and whose values are not known, which were not examined. unexamined: margins in which it
    was not looked for what is certain: of all additions, or where these were not judged together of each, one by one.
    """

    least: int
    additions: tuple[Addition, ...] = ()
    tables: int | None = None
    left: int | None = None
    small: tuple[CertainRange, ...] = ()
    values: tuple[CertainValue, ...] = ()
    unnamed: tuple[str, ...] = ()
    unexamined: int = 0

    def of(self, outcome: Outcome) -> tuple[Addition, ...]:
        """The additions with an outcome."""
        return tuple(addition for addition in self.additions if addition.outcome is outcome)

    @property
    def together(self) -> bool:
        """Whether all additions were judged together."""
        return self.tables is not None

    @property
    def contradict(self) -> bool:
        """Whether no table explains the release: the claims alone did not limit the search."""
        return self.left == 0

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "least": self.least,
            "tables": self.tables,
            "left": self.left,
            "small": [asdict(cell) for cell in self.small],
            "values": [asdict(value) for value in self.values],
            "additions": [addition.as_json() for addition in self.additions],
            "unnamed": list(self.unnamed),
            "margins_not_examined": self.unexamined,
        }


def refusals(
    collection: Collection,
    sensitive: AnyCollection[str],
    claims: Sequence[Claim],
    least: int,
    deadline: Deadline = NEVER,
    most: int = MOST_TABLES,
    price: float = 0.0,
) -> Refusals:
    """What the additions tell that a decomposable collection lacks whose claims hold.

    least: counts from 1 to least - 1 are small. deadline: what is not looked at by then is not examined. most: tables that
    are laid out. price: nats that each free parameter of an addition must gain: what gains less may have been left out, and
    what gains less than DOUBTFUL times as much where its two attributes by themselves do not gain that either. So the
    parameters are a release, what is small, and what limits the reader: time, tables, what an addition had to gain.

    Raises NotDecomposableError.
    """
    domain = collection.domain
    cliques = tuple(collection.junction_tree.cliques)
    graph = InteractionGraph.of(domain, cliques)
    rules = _Rules(collection, cliques, tuple(sensitive), tuple(claims), least, price, _Budget())
    possible = [_Possible.of(move, graph) for move in allowed_moves(graph) if isinstance(move, AddVertex | AddEdge)]
    unnamed = tuple(a for a in domain.attributes if domain.hierarchy(a).height == 0)
    together = _together(rules, possible, deadline, most)
    if together is not None:
        scope, remaining, judged = together
        all_of_them, *common_facts = scope.in_common(
            [remaining, *(verdict.kept for verdict in judged)], [one.clique for one in possible]
        )
        additions = tuple(
            _laid_out(scope, one, verdict, common) for one, verdict, common in zip(possible, judged, common_facts)
        )
        remaining_count = int(np.count_nonzero(remaining))
        small, values = _distinct(all_of_them.small), tuple(all_of_them.values)
        unexamined = max(all_of_them.unexamined, *(addition.unexamined for addition in additions), 0)
        return Refusals(least, additions, len(scope.tables), remaining_count, small, values, unnamed, unexamined)
    additions = tuple(_judged(rules, one, deadline, most) for one in possible)
    small = _distinct(cell for addition in additions for cell in addition.small)
    values = tuple({str(value): value for addition in additions for value in addition.values}.values())
    unexamined = sum(addition.unexamined for addition in additions)
    return Refusals(least, additions, None, None, small, values, unnamed, unexamined)


def _distinct(cells: Iterable[CertainRange]) -> tuple[CertainRange, ...]:
    """Each cell once, few attributes first."""
    certain_ranges: dict[tuple[tuple[str, str], ...], CertainRange] = {}
    for cell in cells:
        key = tuple(cell.values.items())
        old = certain_ranges.get(key)
        narrow = (
            cell
            if old is None
            else CertainRange(cell.values, cell.levels, max(old.lower, cell.lower), min(old.upper, cell.upper))
        )
        certain_ranges[key] = narrow
    return tuple(sorted(certain_ranges.values(), key=lambda cell: (len(cell.values), cell.upper, cell.lower)))


@dataclass
class _Budget:
    """Cells of margins, counts of tables, and checks of claims that may still be looked at."""

    cells: int = _MOST_CELLS_IN_ALL
    numbers: int = _MOST_NUMBERS_IN_ALL
    checks: int = _MOST_CHECKS_IN_ALL


@dataclass(frozen=True)
class _Possible:
    """An addition. clique: the margin it makes; first, second: vertices that it joins, second -1 for a vertex alone."""

    clique: Mask
    first: int
    second: int

    @classmethod
    def of(cls, move: AddVertex | AddEdge, graph: InteractionGraph) -> "_Possible":
        if isinstance(move, AddVertex):
            return cls(graph.domain.coarser_steps(move.vertex) | 1 << move.vertex, move.vertex, -1)
        return cls(move.clique(graph), move.first, move.second)

    @property
    def separator(self) -> Mask:
        """What is shared."""
        return self.clique & ~(1 << self.first) & ~(1 << self.second if self.second >= 0 else 0)

    @property
    def sides(self) -> tuple[Mask, ...]:
        """The published margins with the one vertex and with the other."""
        if self.second < 0:
            return (self.separator,)
        return self.separator | 1 << self.first, self.separator | 1 << self.second

    def added(self, domain: Domain) -> tuple[tuple[str, int], ...]:
        """The vertices by attribute and level."""
        names = domain.induced_attributes
        return tuple((names[v].attribute, names[v].level) for v in (self.first, self.second) if v >= 0)


@dataclass(frozen=True, eq=False)
class _Rules:
    """What the publisher judges an addition by."""

    collection: Collection
    cliques: tuple[Mask, ...]
    sensitive: tuple[str, ...]
    claims: tuple[Claim, ...]
    least: int
    price: float
    budget: _Budget

    @property
    def domain(self) -> Domain:
        return self.collection.domain

    def limit(self, clique: Mask) -> str:
        """Why it cannot be judged whether an addition would be allowed; empty where it can."""
        after = maximal_masks([*self.cliques, clique])
        for attribute in self.sensitive:
            attribute_mask = self.domain.attribute_masks[self.domain.index(attribute)]
            claimed = any(isinstance(claim, AttributeClaim) and claim.about == attribute for claim in self.claims)
            if clique & attribute_mask and not claimed and not any(mask & attribute_mask for mask in self.cliques):
                # No release claims anything of what it does not show, whatever its publisher demanded.
                return f"the release claims nothing of {attribute}, so what would have had to hold of it is not known"
            if clique & attribute_mask and any(claim.criterion == "register" for claim in self.claims):
                return "it had to hold for readers with a register too, which the published files alone do not tell"
            if clique & attribute_mask and sum(bool(mask & attribute_mask) for mask in after) > USUAL_SENSITIVE_MARGINS:
                return f"more than {USUAL_SENSITIVE_MARGINS} tables would show {attribute}, which no search tries by default"
        return ""

    @cached_property
    def least_class(self) -> int:
        """Rows that every class must have."""
        return max((claim.least_count for claim in self.claims if isinstance(claim, CountClaim)), default=1)

    @cached_property
    def least_cell(self) -> int:
        """Rows that every cell must have, sensitive values counted."""
        cells = (claim.least_cell for claim in self.claims if isinstance(claim, CountClaim))
        return max((cell for cell in cells if cell is not None), default=1)

    def cost(self, margin: Mask, *sides: Mask) -> float:
        """Nats that two vertices must gain in a margin: the price of its free parameters beyond those of its sides.

        sides: the margins without the one and without the other; they share what separates these.
        """
        cells = self._priced.cell_count
        first, second = sides
        return (
            self.price * (cells(margin) - cells(first) - cells(second) + cells(first & second)) if self.price else 0.0
        )

    @cached_property
    def _priced(self) -> DataCube:
        return DataCube(self.collection.tables, parameters=interactions)

    def public(self, mask: Mask) -> Mask:
        """The part of a margin without sensitive attributes."""
        return nonsensitive_part(self.domain, mask, self.sensitive)

    def is_small(self, public: CountArray, cells: CountArray) -> BoolArray:
        """Of tables: which have a class or a cell with too few rows. Shapes (tables, classes) and (tables, cells)."""
        classes = np.any((public >= 1) & (public < self.least_class), axis=1)
        return np.asarray(classes | np.any((cells >= 1) & (cells < self.least_cell), axis=1))

    def shows(self, mask: Mask) -> bool:
        """Whether a margin shows a sensitive attribute."""
        return self.public(mask) != mask

    def beyond_counts(self, clique: Mask) -> tuple[Claim, ...]:
        """The claims that an addition can break though all of its classes and cells are large enough.

        Margins without a sensitive attribute matter to counts only (KG06 Prop. 7.3, and design 4.5 for k-combinatorial).
        """
        sensitive_shown = [a for a in self.sensitive if clique & self.domain.attribute_masks[self.domain.index(a)]]
        return tuple(
            claim
            for claim in self.claims
            if not (isinstance(claim, CountClaim) and (claim.is_about_single_margins or not sensitive_shown))
            and not (isinstance(claim, AttributeClaim) and claim.about not in sensitive_shown)
        )

    def allows(self, clique: Mask, table: ContingencyTable, claims: Sequence[Claim]) -> bool:
        """Whether claims are proven to hold of the release with one more table, as a search proves them."""
        cube = DataCube([table, *self.collection.tables])
        collection = Collection.of(cube, maximal_masks([*self.cliques, clique]))
        question = Question(collection, self.sensitive, SEARCHING)
        return all(claim.check(question).holds for claim in claims)


class _Kept(NamedTuple):
    """Of tables, each of shape (tables,): in which an addition is not taken, has a small count, would tell too little.

    is_decided: whether claims were checked on all of them; where not, those that were not are kept.
    """

    kept: BoolArray
    small: BoolArray
    nothing: BoolArray
    is_decided: bool = True


class _Scope:
    """Some attributes at some levels, and all tables over them that have the published marginals.

    tables: shape (tables, cells), of the cells that can have rows.
    """

    def __init__(self, rules: _Rules, mask: Mask, tables: CountArray, codes: Mapping[str, IndexArray]) -> None:
        self.rules, self.mask, self.tables, self._codes = rules, mask, tables, codes

    @classmethod
    def of(cls, rules: _Rules, mask: Mask, most: int) -> "_Scope | None":
        """None where the cells or tables are too many."""
        domain = rules.domain
        levels = domain.margin(mask)
        if domain.size(levels) > _MOST_LAID_OUT or rules.budget.numbers < 0:
            return None
        codes = _grid(domain, levels)
        margins = maximal_masks([clique & mask for clique in rules.cliques]) or [0]
        totals = [_dense(rules.collection, margin) for margin in margins]
        keys = [_keys(domain, levels, codes, margin) for margin in margins]
        if not np.any([margin == 0 for margin in margins]):
            totals.append(np.array([rules.collection.cube.total]))
            keys.append(np.zeros(domain.size(levels), dtype=np.intp))
        occupied = np.all([total[key] > 0 for total, key in zip(totals, keys)], axis=0)
        codes = {attribute: code[occupied] for attribute, code in codes.items()}
        tables = all_tables([key[occupied] for key in keys], totals, most)
        rules.budget.numbers -= 4 * most if tables is None else tables.size
        return None if tables is None else cls(rules, mask, tables, codes)

    @property
    def domain(self) -> Domain:
        return self.rules.domain

    def rows(self, margin: Mask | Mapping[str, int]) -> CountArray:
        """The counts of a margin in each table: shape (tables, cells of the margin)."""
        levels = margin if isinstance(margin, Mapping) else self.domain.margin(margin)
        keys = _keys(self.domain, self.domain.margin(self.mask), self._codes, levels)
        counts = np.zeros((len(self.tables), self.domain.size(levels)), dtype=np.int64)
        if len(keys):
            order = np.argsort(keys, kind="stable")
            places, starts = np.unique(keys[order], return_index=True)
            counts[:, places] = np.add.reduceat(self.tables[:, order], starts, axis=1)
        return counts

    def judged(self, one: _Possible) -> "_Kept":
        """The tables in which an addition is not taken."""
        rules, cells = self.rules, self.rows(one.clique)
        small, nothing = rules.is_small(self.rows(rules.public(one.clique)), cells), self._gains_nothing(one, cells)
        refused_tables = small | nothing
        claims = rules.beyond_counts(one.clique)
        if rules.limit(one.clique):
            return _Kept(np.ones_like(refused_tables), small, nothing)
        if not claims or refused_tables.all():
            return _Kept(refused_tables, small, nothing)
        open_tables = np.flatnonzero(~refused_tables)
        distinct, which = np.unique(cells[open_tables], axis=0, return_inverse=True)
        rules.budget.checks -= min(len(distinct), _MOST_CHECKS)
        if len(distinct) > _MOST_CHECKS or rules.budget.checks < 0:
            refused_tables[open_tables] = True  # nothing is excluded that was not looked at
            return _Kept(refused_tables, small, nothing, is_decided=False)
        refused = np.array(
            [
                not rules.allows(one.clique, _table(self.domain, one.clique, table_counts), claims)
                for table_counts in distinct
            ]
        )
        refused_tables[open_tables] = refused[which.ravel()]
        return _Kept(refused_tables, small, nothing)

    def _gains_nothing(self, one: _Possible, cells: CountArray) -> BoolArray:
        """Tables in which an addition would gain no more than it costs: shape (tables,).

        cells: of its margin, shape (tables, cells).
        """
        domain, margin = self.domain, self.domain.margin(one.clique)
        codes = _grid(domain, margin)

        def published(mask: Mask) -> CountArray:
            return _dense(self.rules.collection, mask)[_keys(domain, margin, codes, mask)]

        if one.second < 0:
            leaf, parent = _leaves(domain, one, codes)
            return np.asarray(np.all(cells * parent == published(one.separator) * leaf, axis=1))
        first, second = map(published, one.sides)
        nothing = np.asarray(np.all(cells * published(one.separator) == first * second, axis=1))
        if not (cost := self.rules.cost(one.clique, *one.sides)):
            return nothing
        # As a search settles: what does not pay, and what does not pay twice the price where its pair does not either.
        gain = self._gain(one.clique, *one.sides)
        alone = [domain.coarser_steps(vertex) | 1 << vertex for vertex in (one.first, one.second)]
        pair = alone[0] | alone[1]
        doubtful = self._gain(pair, *alone) <= DOUBTFUL * self.rules.cost(pair, *alone) + _ROUNDING
        little = (gain <= cost + _ROUNDING) | (gain <= DOUBTFUL * cost + _ROUNDING) & doubtful
        return np.asarray(nothing | little)

    def _gain(self, margin: Mask, first: Mask, second: Mask) -> FloatArray:
        """What a margin tells of two vertices beyond its sides, in nats: of each table, shape (tables,)."""

        def entropy(mask: Mask) -> FloatArray:
            return np.asarray(-x_log_x(self.rows(mask)).sum(axis=1))

        saved = entropy(first) + entropy(second) - entropy(first & second) - entropy(margin)
        return np.asarray(saved / self.rules.collection.cube.total)

    def in_common(self, sets: Sequence[BoolArray], whole: Sequence[Mask] = ()) -> list["_Common"]:
        """For each set of tables the small counts and sensitive values that all of these share, and not all tables do.

        whole: margins that are looked at however many attributes they have, as is that of all attributes.
        """
        levels = self.domain.margin(self.mask)
        examined: dict[Mask, Mapping[str, int]] = {mask: self.domain.margin(mask) for mask in (*whole, self.mask)}
        examined |= {self.domain.mask(margin): margin for margin in islice(self._margins(), _MOST_MARGINS)}
        number = prod(self.domain.hierarchy(a).height - level + 1 for a, level in levels.items()) - 1
        # Of all tables, or of none, nothing more is in common.
        unexamined = [number - len(examined) if explaining.any() and not explaining.all() else 0 for explaining in sets]
        result = [_Common([], [], cut) for cut in unexamined]
        for margin in examined.values():
            rows = self.rows(margin)
            before = _small(rows, self.rules.least)
            for explaining, common in zip(sets, result):
                if not explaining.any():
                    continue
                cell_counts = rows[explaining]
                for cell in np.flatnonzero(_small(cell_counts, self.rules.least) & ~before).tolist():
                    low, high = int(cell_counts[:, cell].min()), int(cell_counts[:, cell].max())
                    common.small.append(CertainRange(_labels(self.domain, margin, cell), margin, low, high))
                common.values.extend(self._values(margin, rows, explaining))
        return result

    def _margins(self) -> Iterator[dict[str, int]]:
        finest = self.domain.margin(self.mask)
        for number in range(1, min(_ATTRIBUTES, len(finest)) + 1):
            for chosen in combinations(finest, number):
                for levels in product(*(range(finest[a], self.domain.hierarchy(a).height) for a in chosen)):
                    yield dict(zip(chosen, levels))

    def _values(self, margin: Mapping[str, int], rows: CountArray, explaining: BoolArray) -> Iterator[CertainValue]:
        for axis, attribute in enumerate(margin):
            if attribute not in self.rules.sensitive:
                continue
            shape = [self.domain.hierarchy(a).size(level) for a, level in margin.items()]
            by_value = np.moveaxis(rows.reshape(len(rows), *shape), axis + 1, -1)
            by_value = by_value.reshape(len(rows), -1, shape[axis])
            before, after = _one_value(by_value), _one_value(by_value[explaining])
            others = {a: level for a, level in margin.items() if a != attribute}
            for place, value in np.argwhere(after & ~before).tolist():
                label = self.domain.hierarchy(attribute).labels[margin[attribute]][value]
                least = int(by_value[explaining, place].sum(axis=1).min())
                yield CertainValue(_labels(self.domain, others, place), attribute, label, least)


class _Common(NamedTuple):
    """What some tables have in common, and not all have. unexamined: margins that were not looked at."""

    small: list[CertainRange]
    values: list[CertainValue]
    unexamined: int


def _together(
    rules: _Rules, possible: Sequence[_Possible], deadline: Deadline, most: int
) -> tuple[_Scope, BoolArray, list[_Kept]] | None:
    """All tables over all attributes, those in which no addition is taken, and the same of each; None for too many."""
    mask = reduce(or_, [*rules.cliques, *(one.clique for one in possible)], 0)
    scope = _Scope.of(rules, mask, most)
    if scope is None:
        return None
    judged = []
    for one in possible:
        if deadline.is_over:
            return None
        try:
            judged.append(scope.judged(one))
        except MarginalsError:
            return None
    # What no claim can have refused was left out for another reason, and excludes nothing.
    explained = [verdict.kept for verdict in judged if verdict.kept.any()]
    everything: BoolArray = np.ones(len(scope.tables), dtype=np.bool_)
    return scope, reduce(and_, explained, everything), judged


def _laid_out(scope: _Scope, one: _Possible, judged: _Kept, common: _Common) -> Addition:
    """What an addition tells by itself, of tables that are laid out. common: to those in which it is not taken."""
    domain, explaining = scope.domain, judged.kept
    telling = explaining & ~judged.nothing
    counts_only, nothing = bool(np.all(judged.small[telling])), bool(np.any(judged.nothing & ~judged.small))
    addition = Addition(
        domain.margin(one.clique),
        one.added(domain),
        Outcome.OPEN,
        counts_only=counts_only,
        may_gain_nothing=nothing,
        small=_distinct(common.small),
        values=tuple(common.values),
        unexamined=common.unexamined,
    )
    if limit := scope.rules.limit(one.clique):
        return replace(addition, outcome=Outcome.NOT_EXAMINED, note=limit)
    if not judged.is_decided:
        note = "claims would have to be checked on too many tables"
        return replace(addition, outcome=Outcome.NOT_EXAMINED, note=note)
    if not explaining.any():
        return replace(addition, outcome=Outcome.UNEXPLAINED)
    if explaining.all():
        return replace(addition, outcome=Outcome.ALWAYS, counts_only=bool(judged.small.all()))
    if addition.small or addition.values:
        return replace(addition, outcome=Outcome.PROVES)
    return replace(addition, outcome=Outcome.SOME if counts_only and telling.any() else Outcome.OPEN)


def _judged(rules: _Rules, one: _Possible, deadline: Deadline, most: int) -> Addition:
    """What an addition tells by itself."""
    domain = rules.domain
    margin, added = domain.margin(one.clique), one.added(domain)
    cells = domain.size(margin)
    if limit := rules.limit(one.clique):
        return Addition(margin, added, Outcome.NOT_EXAMINED, note=limit)
    rules.budget.cells -= min(cells, _MOST_CELLS)
    if cells > _MOST_CELLS or rules.budget.cells < 0:
        note = f"its margin has {cells:,} cells, too many to be laid out"
        return Addition(margin, added, Outcome.NOT_EXAMINED, note=note)
    if deadline.is_over:
        return Addition(margin, added, Outcome.NOT_EXAMINED, note="the time was over")
    scope = _Scope.of(rules, one.clique, most)
    try:
        if scope is not None:
            judged = scope.judged(one)
            (common,) = scope.in_common([judged.kept])
            return _laid_out(scope, one, judged, common)
    except MarginalsError as error:
        return Addition(margin, added, Outcome.NOT_EXAMINED, note=str(error))
    if rules.beyond_counts(one.clique) or rules.shows(one.separator):
        note = f"more than {most:,} tables are possible, and not only counts of the margin decide"
        return Addition(margin, added, Outcome.NOT_EXAMINED, counts_only=False, note=note)
    return _by_bounds(rules, one, most)


def _by_bounds(rules: _Rules, one: _Possible, most: int) -> Addition:
    """The same where only counts decide, from what each count can be, in each class of the separator by itself."""
    domain, collection = rules.domain, rules.collection
    margin, added = domain.margin(one.clique), one.added(domain)
    codes = _grid(domain, margin)
    shared = _keys(domain, margin, codes, one.separator)
    total = _dense(collection, one.separator)[shared]
    sides = [_dense(collection, side)[_keys(domain, margin, codes, side)] for side in one.sides]
    upper = np.min(sides, axis=0)
    if len(sides) == 2:
        lower = np.maximum(sides[0] + sides[1] - total, 0)
    else:
        parts = np.bincount(shared)
        lower = np.where(parts[shared] == 1, total, 0)
    # Beside a sensitive attribute that is added classes are published ones, so only the counts of cells can be too small.
    least = rules.least_cell if rules.shows(one.clique) else max(rules.least_class, rules.least_cell)
    can_be = np.maximum(lower, 1) <= np.minimum(upper, least - 1)
    must_be = (lower >= 1) & (upper < least)
    candidate_classes = np.unique(shared[can_be])
    classes = len(np.unique(shared[total > 0]))
    nothing = (rules.price > 0 and one.second >= 0) or _may_gain_nothing(collection, one, total, sides, codes)

    coarser = prod(domain.hierarchy(a).height - level + 1 for a, level in margin.items()) - 2

    def addition(outcome: Outcome, **facts: Any) -> Addition:
        is_open = outcome in (Outcome.SOME, Outcome.PROVES)
        facts |= {"may_gain_nothing": nothing, "unexamined": coarser if is_open else 0}
        return Addition(margin, added, outcome, len(candidate_classes), classes, **facts)

    if must_be.any():
        return addition(Outcome.ALWAYS)
    if not len(candidate_classes):
        return addition(Outcome.UNEXPLAINED)
    if len(candidate_classes) > 1 or nothing:
        return addition(Outcome.SOME)
    cells = np.flatnonzero((shared == candidate_classes[0]) & (upper > 0))
    whole = np.array([int(total[cells[0]])])
    keys: list[IndexArray] = [np.zeros(len(cells), dtype=np.intp)]
    totals: list[CountArray] = [whole]
    for side, counts in zip(one.sides if len(sides) == 2 else (), sides):
        places, key = np.unique(_keys(domain, margin, codes, side)[cells], return_inverse=True)
        at = np.zeros(len(places), dtype=np.int64)
        at[key] = counts[cells]
        keys.append(key)
        totals.append(at)
    tables = all_tables(keys, totals, most)
    if tables is None:
        return addition(Outcome.SOME)
    remaining_tables = tables[np.any((tables >= 1) & (tables < least), axis=1)]
    certain = (
        np.flatnonzero(_small(remaining_tables, rules.least) & ~_small(tables, rules.least))
        if len(remaining_tables)
        else ()
    )
    small = tuple(
        CertainRange(
            _labels(domain, margin, int(cells[at])),
            dict(margin),
            int(remaining_tables[:, at].min()),
            int(remaining_tables[:, at].max()),
        )
        for at in certain
    )
    return addition(Outcome.PROVES if small else Outcome.SOME, small=small)


def _small(rows: CountArray, least: int) -> BoolArray:
    """Cells whose counts are from 1 to least - 1 in all tables: shape (cells,)."""
    return np.asarray((rows.min(axis=0) >= 1) & (rows.max(axis=0) < least))


def _one_value(by_value: CountArray) -> BoolArray:
    """Classes and values that all of the class certainly have: shape (classes, values), of (tables, classes, values)."""
    most, least = by_value.max(axis=0), by_value.min(axis=0)
    alone = (most > 0).sum(axis=1, keepdims=True) == 1
    return np.asarray(alone & (least >= 1))


def _may_gain_nothing(
    collection: Collection,
    one: _Possible,
    total: CountArray,
    sides: Sequence[CountArray],
    codes: Mapping[str, IndexArray],
) -> bool:
    """Whether there are whole numbers of which an addition tells nothing."""
    if len(sides) == 2:
        return bool(np.all(sides[0] * sides[1] % np.maximum(total, 1) == 0))
    leaf, parent = _leaves(collection.domain, one, codes)
    return bool(np.all(total * leaf % parent == 0))


def _leaves(domain: Domain, one: _Possible, codes: Mapping[str, IndexArray]) -> tuple[CountArray, CountArray]:
    """Base values under each value of a vertex that stands alone, and under the value one step coarser."""
    attribute, level = domain.induced_attributes[one.first]
    hierarchy = domain.hierarchy(attribute)
    coarser = hierarchy.lift(level, level + 1)[codes[attribute]]
    return hierarchy.leaf_counts(level)[codes[attribute]], hierarchy.leaf_counts(level + 1)[coarser]


def _grid(domain: Domain, margin: Mapping[str, int]) -> dict[str, IndexArray]:
    """The code of each attribute in each cell of a margin, the last attribute fastest."""
    shape = [domain.hierarchy(a).size(level) for a, level in margin.items()]
    return dict(zip(margin, np.unravel_index(np.arange(int(np.prod(shape))), shape))) if shape else {}


def _keys(
    domain: Domain, levels: Mapping[str, int], codes: Mapping[str, IndexArray], margin: Mask | Mapping[str, int]
) -> IndexArray:
    """The cell of a margin that each of some cells falls into. levels, codes: of these cells, no coarser."""
    shown_levels = margin if isinstance(margin, Mapping) else domain.margin(margin)
    keys: IndexArray = np.zeros(len(next(iter(codes.values()), [0])), dtype=np.intp)
    for attribute, level in shown_levels.items():
        hierarchy = domain.hierarchy(attribute)
        keys = keys * hierarchy.size(level) + hierarchy.lift(levels[attribute], level)[codes[attribute]]
    return keys


def _dense(collection: Collection, mask: Mask) -> CountArray:
    """The counts of a margin, empty cells too: shape (cells,), the last attribute fastest."""
    if not mask:
        return np.array([collection.cube.total], dtype=np.int64)
    domain, table = collection.domain, collection.cube.table(mask)
    shape = [domain.hierarchy(a).size(level) for a, level in table.margin.items()]
    counts = np.zeros(shape, dtype=np.int64)
    counts[tuple(table.column(a, level).astype(np.intp) for a, level in table.margin.items())] = table.counts
    return counts.ravel()


def _table(domain: Domain, mask: Mask, counts: CountArray) -> ContingencyTable:
    """The table of a margin with the given counts, empty cells too."""
    margin = domain.margin(mask)
    return ContingencyTable.from_cells(domain, margin, _grid(domain, margin), counts)


def _labels(domain: Domain, margin: Mapping[str, int], cell: int) -> dict[str, str]:
    """The labels of a cell of a margin, the last attribute fastest."""
    shape = [domain.hierarchy(a).size(level) for a, level in margin.items()]
    codes = np.unravel_index(cell, shape) if shape else ()
    return {a: domain.hierarchy(a).labels[level][int(code)] for (a, level), code in zip(margin.items(), codes)}

"""Small combinations of values: those that published tables prove to have few rows.

A combination is small if it has 1 to k - 1 rows. It is certain to be small if that is so in every table of whole
numbers with the published marginals. Along a junction tree no combination of all attributes is, if no published class
is small. Without one, AB, BC and AC of 3 0 2 3 0 0 3 0 over 000 .. 111 admit one table, and it has a 2. Possible
tables, made from the published counts only, prove that a combination is not certain to be small. Programs of three
attributes can prove that it is.

Examined are combinations of up to three values at any published level, also with any other value in place of one. Those of
all attributes are examined at their finest published levels; of up to ten attributes also those of any number of them.
"""

from collections import Counter, deque
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, combinations, groupby, product
from math import inf, prod
from operator import or_
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checks.classes import k_link, nonsensitive_part
from checks.combinatorial import k_combinatorial
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict, WorstClass
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray, begins_of, grouped, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, TimeOverError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, Support, maximal_masks
from models.inference.possible_tables import allowed_rows, possible_table
from models.programs.consistent_tables import PossibleCells, Program, possible_cells, solve
from models.programs.extremes import Effort, Unknowns, narrow, sums_of_cells
from models.tables.contingency_table import Cells, look_up, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

_WHOLE = 1e-6
"""Distance within which a count of a program counts as whole."""

_FEW_CELLS = 500
"""Most cells for which programs demand whole numbers; real numbers prove less."""

_PROVEN_CELLS = 5_000
"""Most cells for which a program is asked whether any table has the marginals."""

_LATE = "the time was over before possible tables had cleared every combination; more seconds may prove the claim"

_PROOF_SECONDS = 1.0
"""Seconds of that program; the search for a table follows if they end first."""


def no_small_certain(
    collection: Collection,
    sensitive: AnyCollection[str],
    k: int,
    budget: Budget = FULL,
    witnesses: "list[Witnesses] | None" = None,
    criterion: str = "no-small-certain",
) -> Finding:
    """Decide whether the published tables prove no examined combination to have 1 to k - 1 rows.

    The finding holds with a junction tree and k-combinatorial anonymity, or if possible tables clear each combination. It
    fails if programs of three attributes find one that is certain to be small. sensitive: attributes that are set aside.
    witnesses: results of earlier searches; a new one is added. Its parameters are a claim and a question.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return replace(link, criterion=criterion, parameters=parameters)
    if collection.is_decomposable or collection.supports:
        finding = k_combinatorial(collection, sensitive, k, budget)
        if finding.holds:
            return replace(finding, criterion=criterion, parameters=parameters)
    unknown = Finding(criterion, Verdict.UNDECIDED, parameters, link.worst, (Algorithm.INTEGER_PROGRAMMING,), 0)
    if not collection.is_decomposable:
        searching = budget.until(budget.deadline.share(2))
        cleared = _cleared_by_possible_tables(
            collection, sensitive, k, searching, [] if witnesses is None else witnesses
        )
        if cleared is not None:
            return Finding(criterion, Verdict.HOLDS, parameters, link.worst, (Algorithm.POSSIBLE_TABLES,), cleared)
        if searching.deadline.is_over:
            unknown = replace(unknown, note=_LATE)
    masks = {nonsensitive_part(collection.domain, mask, sensitive) for mask in collection.masks}
    effort = Effort(budget.seconds, budget.nodes, budget.programs, budget.deadline)
    examined, is_complete = 0, True
    for question in _questions(Collection.of(collection.cube, masks, collection.supports), budget.cells):
        if effort.is_over:
            is_complete = False
            break
        if question is None:
            is_complete = False
            continue
        cell, count, is_decided = _certainly_small(*question, k, effort)
        examined += count
        if cell is not None:
            return replace(unknown, verdict=Verdict.FAILS, worst=cell, examined=examined, note="")
        is_complete = is_complete and is_decided
    note = (
        "" if is_complete else "the budget ended before programs had been asked about all that tables link in a cycle"
    )
    return replace(unknown, examined=examined, note=unknown.note or note)


def require_some_table(collection: Collection, budget: Budget) -> None:
    """Raise ContradictionError if a program proves that no table has the marginals; a search for one takes long."""
    try:
        cells = possible_cells(collection, _PROVEN_CELLS)
    except TooManyCellsError:
        return
    if collection.cube.total and not len(cells):
        raise ContradictionError("no table has these marginals")
    nodes, least = budget.nodes if len(cells) <= _FEW_CELLS else 0, np.zeros(len(cells))
    solve(least, Program(cells.constraints, cells.counts, least, least + inf), _PROOF_SECONDS, nodes)


def _cleared_by_possible_tables(
    collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget, witnesses: "list[Witnesses]"
) -> int | None:
    """Return how many combinations are small in some table, if possible tables clear all in time; else None."""
    question = (collection.cube, {*collection.masks}, {*sensitive}, k, tuple(collection.supports))
    result = next((earlier for earlier in witnesses if earlier.of == question), None)
    if result is None:
        require_some_table(collection, budget)
        try:
            witnessing = Witnessing(collection, sensitive, k, budget.deadline, witnesses)
        except (TimeOverError, TooManyCellsError):
            return None
        result = witnessing.look(inf, budget.deadline)
        witnesses.append(result)
    return result.small if result.clear_all else None


def _questions(public: Collection, most: int) -> Iterator[tuple[PossibleCells, Mask] | None]:
    """Yield the margins of each three attributes, by few tables and then by all; None for more than `most` cells."""
    domain = public.domain

    def of_few_values(margins: Iterable[Mask]) -> list[Mask]:
        return sorted(set(margins), key=lambda margin: (domain.cell_count(margin), margin))

    def has_tree(by: Mask) -> bool:
        return public.within(by).is_decomposable

    levels = [sorted({mask & steps for mask in public.masks} - {0}) for steps in domain.attribute_masks]
    public_levels = [*filter(None, levels)]
    threes = {
        sum(steps[-1] for steps in some): some for some in combinations(public_levels, min(len(public_levels), 3))
    }
    linked = [three for three in of_few_values(threes) if not has_tree(three)]
    coarse = (
        (margin, [margin])
        for three in linked
        for margin in of_few_values(map(sum, product(*threes[three])))
        if not has_tree(margin)
    )
    fine = ((three, of_few_values(map(sum, product(*([0, *steps] for steps in threes[three]))))) for three in linked)
    for by, margins in chain(coarse, fine):
        try:
            cells = possible_cells(public.within(by), most)
        except TooManyCellsError:
            yield None
            continue
        yield from ((cells, margin) for margin in margins if len(list(domain.places(margin))) > 1)


def _certainly_small(cells: PossibleCells, margin: Mask, k: int, effort: Effort) -> tuple[WorstClass | None, int, bool]:
    """Return a cell that certainly has 1 to k - 1 rows, or None; the number of cells; whether all are decided."""
    levels = cells.cells.domain.margin(margin)
    places, groups = cells.grouped(levels)
    unknowns = sums_of_cells(cells, groups, len(places), is_whole=len(cells) <= _FEW_CELLS)

    def open_bounds(block: Unknowns) -> BoolArray:
        is_open = (block.upper > 0) & (block.seen_low > _WHOLE) & (block.seen_high < k - _WHOLE)
        if np.any(is_open & (block.lower > 0) & (block.upper < k)):
            return np.zeros((2, len(block)), dtype=np.bool_)  # one such cell is enough
        # Upper bounds matter only for cells that certainly have a row.
        is_proven = np.where(block.lower > 0, block.tried[1], block.tried[0]) == 1
        is_open &= block.is_whole | ~is_proven
        return np.stack([is_open & (block.lower == 0), is_open & (block.lower > 0)])

    narrow([unknowns], open_bounds, effort)
    lower, upper = unknowns.lower, unknowns.upper
    small = np.flatnonzero((lower > 0) & (upper < k))
    if not len(small):
        return None, len(places), not open_bounds(unknowns).any()
    labels = cells.labels(int(places[small[0]]), levels)
    margins = [dict(table.margin) for table in cells.tables]
    between = int(lower[small[0]]), int(upper[small[0]])
    return WorstClass(cell=labels, margins=margins, count_between=between), len(places), True


# Witnesses: possible tables in which a small combination has no rows, or at least k. They are made from the published
# counts, and then by exchanging values. Each is compared with all published tables before it clears a combination.
#
# Two rows that agree in everything that tables show together with an attribute may exchange its values, and no count
# changes. All rows that agree may exchange them in any order (data swapping: Dalenius and Reiss 1982). If two rows differ
# in one other attribute, an opposite exchange elsewhere restores the counts. For three attributes with all pairs no other
# moves exist (Diaconis and Sturmfels, Annals of Statistics 26, 1998). Exchanges do not connect all possible tables, so
# searches that are stuck continue from a table in which an open combination is forbidden.


MOST_MARGINS = 60_000
"""Most margins of examined combinations."""

FEW_ATTRIBUTES = 10
"""Most attributes for which combinations of any number of them are examined."""

_AT_ALL_LEVELS = 3
"""Most attributes of a combination that is examined at every published level."""

_MOVES = 256
"""Moves of a round."""

_AIMED_AT = 16
"""Margins, or blocks of them, whose open combinations the moves of a round try to empty or fill."""

_IDLE, _ANEW = 20, 2
"""Rounds in a row without a witness after which a search ends; each `_ANEW`-th of them makes another table."""

_SHAKES, _MOST_FORBIDDEN = 1, 1 << 20
"""Shakes of a search for a table without a combination, and most cells of the combination's margin."""

_MOST_CELLS = 2**62
"""Most cells of all attributes together, so that their combinations can be numbered."""

_LOOKS = 3_000
"""Margins and blocks of margins that are examined after each round, in turn."""

_BLOCK = 1 << 23
"""Most cells of margins that are counted together."""

_DENSE = 16
"""A block is counted whole if more than one cell in so many is open."""

_EXACT_ROWS = 2**24
"""Bound below which counts are exact as float32."""


_About: TypeAlias = tuple[DataCube, AnyCollection[Mask], AnyCollection[str], int, tuple[Support, ...]]
"""Question of a search: cube, published margins, sensitive attributes, k, and supports."""


class Witnesses(NamedTuple):
    """Result of a search for witnesses.

    small: combinations that were small in the first table. rounds: of the search. waiting: small combinations that no
    table has cleared. of: the question. first: the possible table of all published margins, if found.
    """

    small: int
    rounds: int
    waiting: "tuple[OpenCells, ...]"
    of: _About
    first: "_Codes | None"

    @property
    def clear_all(self) -> bool:
        """True if no combination is certain to be small."""
        return not self.waiting

    def blamed(self, domain: Domain, gains: Mapping[Mask, float]) -> Mask | None:
        """Return the further table to leave out first: it shows two attributes of the most open cells for its gain."""
        waiting = Counter[frozenset[str]]()
        for some in self.waiting:
            waiting[frozenset(some.levels)] += len(some.keys)
        shares = {
            mask: sum(number for names, number in waiting.items() if len(names & domain.margin(mask).keys()) > 1)
            for mask in gains
        }
        blamed = [mask for mask, share in shares.items() if share]
        return max(blamed, key=lambda mask: (shares[mask] / max(gains[mask], 1e-9), mask), default=None)


_Codes: TypeAlias = Mapping[str, CodeArray]
"""Codes of the rows by attribute, at its finest published level: shape (rows,)."""


class Witnessing:
    """Search for witnesses, which can continue, also with fewer tables.

    collection: the published marginals. sensitive: attributes that are set aside. earlier: results of searches, whose first
    table is taken if they are of the same marginals. The search depends on published counts only, unless a deadline ends it.
    Sensitive values are ignored if one margin shows all of them, because they can be added to any table of the others.
    Otherwise the margins that show them are kept.

    Raises TooManyCellsError for too many margins, TimeOverError if no possible table is found.
    """

    def __init__(
        self,
        collection: Collection,
        sensitive: AnyCollection[str],
        k: int,
        deadline: Deadline = NEVER,
        earlier: Sequence[Witnesses] = (),
    ) -> None:
        self._domain, self._sensitive, self._k = collection.domain, sensitive, k
        self._supports = tuple(collection.supports)
        cube, masks = collection.cube, {*collection.masks}
        self._of: _About = (cube, masks, {*sensitive}, k, self._supports)
        self._published = Collection.of(cube, self._fixed(masks), self._supports)
        self._finest = self._domain.margin(reduce(or_, self._published.masks, 0))
        # Each table of all margins is one of some of them, so that the claims of a release share the first table.
        of_all = next((result.first for result in earlier if result.of[:2] == (cube, masks)), None)
        of_all = of_all or possible_table(Collection.of(cube, masks), 0, deadline)
        table = possible_table(self._published, 0, deadline, of_all)
        if table is None:
            raise TimeOverError("no table with all published counts was found in time")
        self._first, self._rng = of_all, np.random.default_rng(0)
        self._codes: _Codes = _as_places(table)
        self._base = _Exchanged(self._domain, self._finest, self._codes)
        self._examined: set[Mask] = set()
        self._waiting: deque[OpenCells] = deque()
        self._small = self._rounds = 0
        self.keep(masks, deadline)

    def look(self, rounds: float, deadline: Deadline = NEVER) -> Witnesses:
        """Search for so many rounds, or until nothing is open, witnesses become rare, or the deadline comes."""
        last, idle = self._rounds + rounds, 0
        while self._waiting and self._rounds < last and idle < _IDLE and not deadline.is_over:
            self._rounds += 1
            rows = self._elsewhere(2 * idle > _IDLE, deadline) if idle % _ANEW == _ANEW - 1 else self._exchanged()
            self._codes = rows.codes
            idle = 0 if self._clear(rows, deadline) else idle + 1
        return Witnesses(self._small, self._rounds, tuple(self._waiting), self._of, self._first)

    def _elsewhere(self, is_stuck: bool, deadline: Deadline) -> "_Exchanged":
        """Return the rows of a table in which one open combination has no rows; a stuck search without one starts anew."""
        place = int(self._rng.integers(len(self._waiting)))
        forbidden = self._waiting[place].without(self._domain, int(self._rng.integers(len(self._waiting[place].keys))))
        table, seed = None, int(self._rng.integers(1 << 30))
        if forbidden is not None:
            collection = replace(self._published, supports=(*self._supports, forbidden))
            table = possible_table(collection, seed, deadline, self._codes, _SHAKES)
        if table is None and is_stuck:
            table = possible_table(self._published, seed, deadline)
        return _Exchanged(self._domain, self._finest, self._codes if table is None else _as_places(table))

    def _exchanged(self) -> "_Exchanged":
        """Return the rows after the exchanges of a round."""
        codes = {a: code.copy() for a, code in self._codes.items()}
        rows = _Exchanged(self._domain, self._finest, codes, self._tables, self._supports)
        # Margins with many open combinations are drawn more often.
        sizes = np.sqrt([len(some.keys) for some in self._waiting])
        places = self._rng.choice(len(sizes), min(_AIMED_AT, len(sizes)), replace=False, p=sizes / sizes.sum())
        pulls = [self._waiting[place].pull(rows, self._k, self._rng) for place in sorted(places.tolist())]
        moves = _moves(self._domain, self._finest, self._tables)
        for place in self._rng.permutation(len(moves))[:_MOVES].tolist():
            rows.make(moves[place], self._rng, pulls)
        if any(
            (np.sort(rows.keys(table)) != np.sort(self._base.keys(table))).any() for table in self._tables
        ) or not all(allowed_rows(support, rows.levels, rows.codes).all() for support in self._supports):
            raise ContradictionError("exchanges of values changed a published count, so they prove nothing")
        return rows

    def _clear(self, rows: "_Exchanged", deadline: Deadline) -> bool:
        """Keep the combinations that are small among other rows too; return whether some are not."""
        is_any = False
        for _ in range(min(_LOOKS, len(self._waiting))):
            if deadline.is_over:
                break
            some = self._waiting.popleft()
            stay = _small(some.counts_in(rows), self._k)
            is_any = is_any or not stay.all()
            if stay.any():
                self._waiting.append(replace(some, keys=some.keys[stay], counts=some.counts[stay]))
        return is_any

    def keep(self, masks: AnyCollection[Mask], deadline: Deadline = NEVER) -> None:
        """Continue with some of the tables only. Cleared combinations stay cleared; those of a dropped table are new.

        Raises TimeOverError if the deadline comes first.
        """
        cube, _, sensitive, k, supports = self._of
        self._of = cube, {*masks}, sensitive, k, supports
        public = self._public(masks)
        new = [mask for mask in combined_margins(self._domain, public) if mask not in self._examined] if public else []
        self._examined.update(new)
        opened = []
        for some in _opened(self._base, new, self._k):
            if deadline.is_over:
                raise TimeOverError("the time was over before all combinations had been counted")
            opened.append(some)
        self._small += sum(len(some.keys) for some in opened)
        self._waiting.extend(opened)
        self._tables = list(map(self._domain.margin, self._fixed(masks)))

    def _fixed(self, masks: AnyCollection[Mask]) -> list[Mask]:
        """Return the maximal margins whose counts possible tables must have."""
        supports = [self._domain.mask(support.cells.margin) for support in self._supports]
        largest = maximal_masks({*masks, *supports})
        telling = [mask for mask in largest if nonsensitive_part(self._domain, mask, self._sensitive) != mask]
        return list(maximal_masks(masks if len(telling) > 1 else self._public(masks)))

    def _public(self, masks: AnyCollection[Mask]) -> list[Mask]:
        return sorted({nonsensitive_part(self._domain, mask, self._sensitive) for mask in masks} - {0})


def _as_places(table: Mapping[str, CodeArray]) -> dict[str, CodeArray]:
    return {a: codes.astype(np.intp) for a, codes in table.items()}


class _Move(NamedTuple):
    """Exchange of values of an attribute among rows that agree on it at a level, and on all others but `against`."""

    attribute: str
    within: int
    against: str | None = None


def _moves(domain: Domain, finest: Mapping[str, int], tables: Sequence[Mapping[str, int]]) -> list[_Move]:
    single, against = [], []
    for a in finest:
        levels = {table[a] for table in tables if a in table and len(table) > 1}
        # Rows that agree on a at a level have the same cells in tables that show it no finer.
        for level in sorted({*levels, domain.hierarchy(a).height} - {finest[a]}):
            single.append(_Move(a, level))
            others = {b for table in tables if table.get(a, level) < level for b in table if b != a}
            against += [_Move(a, level, b) for b in sorted(others)]
    return single + against


class _Exchanged:
    """Rows at the finest published levels, their counts, and exchanges of their values."""

    def __init__(
        self,
        domain: Domain,
        levels: Mapping[str, int],
        codes: _Codes,
        tables: Sequence[Mapping[str, int]] = (),
        supports: Sequence[Support] = (),
    ) -> None:
        self.domain, self.levels, self.codes, self._tables, self._supports = domain, levels, codes, tables, supports
        self._rows = len(next(iter(codes.values())))
        self._columns: dict[tuple[str, int], CodeArray] = {}
        self._dense: tuple[Sequence[str], _ExactFloats] | None = None

    def lift(self, attribute: str, level: int) -> CodeArray:
        return self.domain.hierarchy(attribute).lift(self.levels[attribute], level)

    def _column(self, attribute: str, level: int) -> CodeArray:
        column = self._columns.get((attribute, level))
        if column is None:
            column = self.lift(attribute, level).astype(np.int32)[self.codes[attribute]]
            self._columns[attribute, level] = column
        return column

    def keys(self, levels: Mapping[str, int]) -> CodeArray:
        """Return the number of each row's cell of a margin."""
        radices = [self.domain.hierarchy(a).size(level) for a, level in levels.items()]
        return pack([self._column(a, level) for a, level in levels.items()], radices, self._rows)[0]

    def cells(self, levels: Mapping[str, int], keys: CodeArray) -> CountArray:
        counts = np.zeros(len(keys), dtype=np.int64)
        distinct, rows = np.unique(self.keys(levels), return_counts=True)  # ascending, so that they are found fast
        places, is_known = look_up(distinct, keys)
        counts[places[is_known]] = rows[is_known]
        return counts

    def dense(self, names: Sequence[str]) -> "_ExactFloats":
        if self._dense is None or self._dense[0] != names:
            levels = {a: self.levels[a] for a in names}
            shape = [self.domain.hierarchy(a).size(level) for a, level in levels.items()]
            counts = np.bincount(self.keys(levels), minlength=prod(shape)).reshape(shape)
            exact: type[np.float32 | np.float64] = np.float32 if self._rows < _EXACT_ROWS else np.float64
            self._dense = names, counts.astype(exact)
        return self._dense[1]

    def make(self, move: _Move, rng: "np.random.Generator", pulls: "Sequence[_Pull]") -> None:
        values = self.codes[move.attribute]
        rows = self._partners(move, rng)
        rows = rows.compress(values[rows[0]] != values[rows[1]], axis=1)
        for support in self._supports:
            after = [
                {**{a: self.codes[a][one] for a in self.codes}, move.attribute: values[other]}
                for one, other in (rows, rows[::-1])
            ]
            rows = rows.compress(np.logical_and(*(allowed_rows(support, self.levels, new) for new in after)), axis=1)
        before = values[rows]
        pulling = [pull for pull in pulls if move.attribute in pull.parts]
        gains: CountArray = np.zeros(rows.shape[1], dtype=np.int64)
        for pull in pulling:
            gains += pull.gains(rows, pull.steps(move.attribute, before))
        is_made = gains >= 0 if move.against is None else self._balanced(move, move.against, rows, gains)
        rows, before = rows.compress(is_made, axis=1), before.compress(is_made, axis=1)
        for pull in pulling:
            pull.numbers[rows] += pull.steps(move.attribute, before)
        values[rows] = before[::-1]
        self._dense = None
        for level in range(self.domain.hierarchy(move.attribute).height + 1):
            self._columns.pop((move.attribute, level), None)

    def _finest(self, move: _Move, *, other: str | None = None) -> dict[str, int]:
        """Return the finest levels that tables show with the attribute below the move's level, and with `other`."""
        finest: dict[str, int] = {}
        for table in self._tables:
            if table.get(move.attribute, move.within) < move.within and (other is None or other in table):
                for a, level in table.items():
                    finest[a] = min(level, finest.get(a, level))
        return finest

    def _partners(self, move: _Move, rng: "np.random.Generator") -> IndexArray:
        agreed = {a: level for a, level in self._finest(move).items() if a != move.against}
        keys = self.keys({**agreed, move.attribute: move.within})
        order = grouped(keys, 2 * int(rng.integers(1 << 30)) + 1)
        ordered = keys[order]
        places = np.arange(len(order)) - begins_of(ordered)
        first = np.flatnonzero((places[:-1] & 1 == 0) & (ordered[1:] == ordered[:-1]))
        return np.stack([order[first], order[first + 1]])

    def _balanced(self, move: _Move, other: str, rows: IndexArray, gains: CountArray) -> BoolArray:
        both = self._finest(move, other=other)
        codes, others = (self._column(a, both[a])[rows] for a in (move.attribute, other))
        changes = np.flatnonzero((codes[0] != codes[1]) & (others[0] != others[1]))
        is_made: BoolArray = gains >= 0
        is_made[changes] = False
        codes, others, gains = codes[:, changes], others[:, changes], gains[changes]
        rest = self.keys({a: level for a, level in both.items() if a not in (move.attribute, other)})[rows[0, changes]]
        columns = [*(end(axis=0) for ends in (codes, others) for end in (ends.min, ends.max)), rest]
        kinds, _ = pack(columns, [int(column.max(initial=0)) + 1 for column in columns], len(rest))
        ups, downs = _opposite(kinds, (codes[0] < codes[1]) == (others[0] < others[1]), gains)
        is_gaining = gains[ups] + gains[downs] >= 0
        is_made[changes[ups[is_gaining]]] = is_made[changes[downs[is_gaining]]] = True
        return is_made


def _opposite(kinds: CodeArray, is_up: BoolArray, gains: CountArray) -> tuple[IndexArray, IndexArray]:
    """Return places of upward exchanges, and of as many downward ones of the same kinds; the best come first."""
    by_gain = np.argsort(-gains.clip(-9_999, 9_999).astype(np.int16), kind="stable")  # sorted fast, as int16
    by_gain = by_gain[np.argsort(is_up[by_gain], kind="stable")]
    order = by_gain[grouped(kinds[by_gain])]
    begins, ups = begins_of(kinds[order]), is_up[order]
    # Downward exchanges of a kind come first; `downs` becomes the place of the first upward one within its kind.
    downs = np.cumsum(~ups)
    downs += ~ups[begins] - downs[begins]
    ranks = np.arange(len(order)) - begins - downs
    chosen = np.flatnonzero(ups & (ranks < downs))
    return order[chosen], order[begins[chosen] + ranks[chosen]]


_ExactFloats: TypeAlias = NDArray[np.float32 | np.float64]
"""Counts as floats that are exact."""


def _small(counts: _ExactFloats | CountArray, k: int) -> BoolArray:
    return ~((counts <= 0) | (counts >= k))  # so that what is no number clears nothing


class _Pull:
    """Combinations of some attributes that should lose their rows, or get more.

    parts: for each attribute the contribution of its values to the number of a combination. weights: of each number, or
    of each of `keys`; positive if one more row is better, negative if it is worse.
    """

    def __init__(
        self, parts: Mapping[str, CodeArray], weights: NDArray[np.int16], keys: CodeArray | None, codes: _Codes
    ) -> None:
        self._weights, self._keys = weights, keys
        dtype = np.dtype(np.int32 if keys is None else np.int64)  # narrow ones are fast
        self.parts: Mapping[str, CodeArray] = {a: part.astype(dtype) for a, part in parts.items()}
        self.numbers: CodeArray = reduce(np.add, [part[codes[a]] for a, part in self.parts.items()])

    def steps(self, attribute: str, codes: CodeArray) -> CodeArray:
        parts = self.parts[attribute][codes]
        return parts[::-1] - parts

    def gains(self, rows: IndexArray, steps: CodeArray) -> CountArray:
        numbers = self.numbers[rows]
        gains = self._worth(numbers + steps) - self._worth(numbers)
        return np.asarray(gains[0] + gains[1])

    def _worth(self, numbers: CodeArray) -> NDArray[np.int16]:
        if self._keys is None:
            return self._weights[numbers]
        places, is_known = look_up(numbers, self._keys)
        return np.where(is_known, self._weights[places], np.int16(0))


@frozen(eq=False)
class OpenCells:
    """Open cells of one margin, or of a block of margins of the same attributes that are counted together.

    levels: of each attribute, one for a margin. keys: of the cells, ascending. A block has an axis for each attribute,
    and along it the values of one level after another. counts: in the first table. others: an attribute whose value in
    the counted rows is any other than the cell's; the last one of a margin.
    """

    levels: Mapping[str, tuple[int, ...]]
    keys: CodeArray
    counts: CountArray
    is_block: bool
    others: str | None = None

    @classmethod
    def of_margin(cls, base: _Exchanged, levels: Mapping[str, int], k: int, others: str | None) -> "OpenCells":
        """Return the small cells of a margin."""
        counts: CountArray | _ExactFloats
        keys, counts = np.unique(base.keys(levels), return_counts=True)  # hashing, without counts, takes longer
        if others is not None:  # a value without rows counts too, if the other values have few rows
            rest, rows = np.unique(base.keys(_without_last(levels)), return_counts=True)
            values = np.arange(base.domain.hierarchy(others).size(levels[others]))
            more = (rest[rows < k].astype(np.int64)[:, None] * len(values) + values).ravel()
            keys, _ = np.unique(np.concatenate([keys, more]), return_counts=True)
        nothing = np.zeros(0, dtype=np.int64)
        every = cls({a: (level,) for a, level in levels.items()}, keys, nothing, is_block=False, others=others)
        if others is not None:
            counts = every.counts_in(base)
        small = _small(counts, k)
        return replace(every, keys=keys[small], counts=counts[small].astype(smallest_code_dtype(k)))

    @classmethod
    def of_block(
        cls, base: _Exchanged, margins: Sequence[Mapping[str, int]], k: int, others: str | None
    ) -> "OpenCells":
        """Return the small cells of several margins of the same attributes."""
        levels = {a: tuple(sorted({margin[a] for margin in margins})) for a in margins[0]}
        nothing = np.zeros(0, dtype=np.int64)
        block = cls(levels, nothing, nothing, is_block=True, others=others)
        sizes = [[base.domain.hierarchy(a).size(level) for level in of_attribute] for a, of_attribute in levels.items()]
        counts = block._counts(base, [np.arange(sum(of_levels)) for of_levels in sizes])
        is_examined = np.zeros(counts.shape, dtype=np.bool_)
        for margin in margins:
            places = [of_attribute.index(level) for of_attribute, level in zip(levels.values(), margin.values())]
            is_examined[tuple(slice(sum(s[:place]), sum(s[: place + 1])) for s, place in zip(sizes, places))] = True
        keys = np.flatnonzero(_small(counts, k) & is_examined)
        return replace(block, keys=keys.astype(np.int32), counts=counts.ravel()[keys].astype(smallest_code_dtype(k)))

    def counts_in(self, rows: _Exchanged) -> CountArray | _ExactFloats:
        """Return the counts of the cells among other rows: shape (len(keys),)."""
        if self.is_block:
            shape = self._shape(rows.domain)
            if _DENSE * len(self.keys) > prod(shape):
                return np.asarray(self._counts(rows, list(map(np.arange, shape))).ravel()[self.keys])
            cells = np.unravel_index(self.keys, shape)
            is_used = [np.bincount(axis, minlength=size) > 0 for axis, size in zip(cells, shape)]
            used = self._counts(rows, list(map(np.flatnonzero, is_used)))
            return np.asarray(used[tuple((np.cumsum(some) - 1)[axis] for some, axis in zip(is_used, cells))])
        levels = {a: level for a, (level,) in self.levels.items()}
        counts = rows.cells(levels, self.keys)
        if self.others is None:
            return counts
        rest = self.keys // rows.domain.hierarchy(self.others).size(levels[self.others])
        begins = np.append(True, rest[1:] != rest[:-1])  # the keys ascend
        return np.asarray(rows.cells(_without_last(levels), rest[begins])[np.cumsum(begins) - 1] - counts)

    def without(self, domain: Domain, place: int) -> Support | None:
        """Return the cells of the margin outside one open combination; None if they are too many."""
        codes = dict(zip(self.levels, np.unravel_index([int(self.keys[place])], self._shape(domain))))
        margin = dict[str, int]()
        for a, levels in self.levels.items():
            for level in levels:
                margin[a] = level
                if codes[a][0] < (size := domain.hierarchy(a).size(level)):
                    break
                codes[a] = codes[a] - size
        if (size := domain.size(margin)) > _MOST_FORBIDDEN:
            return None
        every = np.unravel_index(np.arange(size), [domain.hierarchy(a).size(level) for a, level in margin.items()])
        is_out = np.logical_or.reduce([(column != codes[a]) ^ (a == self.others) for a, column in zip(margin, every)])
        ones = np.ones(np.count_nonzero(is_out))
        return Support(Cells.of(domain, margin, {a: column[is_out] for a, column in zip(margin, every)}, ones), ones)

    def pull(self, rows: _Exchanged, k: int, rng: "np.random.Generator") -> _Pull:
        """Return the open cells with a weight for each: emptying or filling it, preferably the shorter way."""
        weights = np.where(rng.random(len(self.counts)) * k < self.counts, 1, -1).astype(np.int16)
        shape = self._shape(rows.domain)
        keys: CodeArray | None = self.keys
        if prod(shape) <= _BLOCK:
            keys, spread = None, np.zeros(prod(shape), dtype=np.int16)
            spread[self.keys], weights = weights, spread
        if self.is_block:
            factors = [self._is_above(rows, a).T for a in self.levels]
            pulled = _products(weights.reshape(shape).astype(np.float32), factors).ravel()
            weights = pulled.clip(-8_000, 8_000).astype(np.int16)  # gains are sums of four
            lifts: list[CodeArray] = [np.arange(rows.domain.hierarchy(a).size(rows.levels[a])) for a in self.levels]
            shape = tuple(map(len, lifts))
        else:
            lifts = [rows.lift(a, level).astype(np.intp) for a, (level,) in self.levels.items()]
            if self.others is not None:  # there are fewer others if the cell has more
                weights = -weights
        parts = {a: lift * prod(shape[place + 1 :]) for place, (a, lift) in enumerate(zip(self.levels, lifts))}
        return _Pull(parts, weights, keys, rows.codes)

    def _shape(self, domain: Domain) -> tuple[int, ...]:
        return tuple(sum(map(domain.hierarchy(a).size, levels)) for a, levels in self.levels.items())

    def _is_above(self, rows: _Exchanged, attribute: str) -> NDArray[np.float32]:
        """Return 1 if a finest value counts for a value along the axis, else 0: shape (values, finest values)."""
        hierarchy, levels = rows.domain.hierarchy(attribute), self.levels[attribute]
        is_above = np.vstack([rows.lift(attribute, n) == np.arange(hierarchy.size(n))[:, None] for n in levels])
        return (~is_above if attribute == self.others else is_above).astype(np.float32)

    def _counts(self, rows: _Exchanged, used: Sequence[IndexArray]) -> _ExactFloats:
        factors = [self._is_above(rows, a)[places] for a, places in zip(self.levels, used)]
        return _products(rows.dense(tuple(self.levels)), factors)


def _products(counts: _ExactFloats, factors: Sequence[NDArray[np.float32]]) -> _ExactFloats:
    """Return the product of an array with a matrix along each axis."""
    with np.errstate(invalid="ignore"):  # OpenBLAS can set this flag although all is finite (numpy issue 24067)
        # Axes that shrink the most come first.
        for axis in sorted(range(len(factors)), key=lambda axis: len(factors[axis]) / factors[axis].shape[1]):
            before, length, after = counts.shape[:axis], counts.shape[axis], counts.shape[axis + 1 :]
            if not after:
                counts = counts @ factors[axis].T
            else:
                summed = factors[axis] @ counts.reshape(prod(before), length, prod(after))
                counts = summed.reshape(*before, len(factors[axis]), *after)
    return counts


def _without_last(levels: Mapping[str, int]) -> dict[str, int]:
    return dict(list(levels.items())[:-1])


def _opened(base: _Exchanged, masks: Sequence[Mask], k: int) -> Iterator[OpenCells]:
    domain = base.domain
    for places, same in groupby(masks, key=lambda mask: tuple(domain.places(mask))):
        names = [domain.attributes[place] for place in places]
        some = [{a: domain.margin(mask)[a] for a in names} for mask in same]
        cells = prod(sum(map(domain.hierarchy(a).size, {margin[a] for margin in some})) for a in names)
        is_block = max(cells, domain.size({a: base.levels[a] for a in names})) <= _BLOCK
        for others in (None, *(names if len(names) <= _AT_ALL_LEVELS else ())):
            # Any other of two values is the second one, which is examined itself.
            margins = [m for m in some if others is None or domain.hierarchy(others).size(m[others]) > 2]
            if margins and is_block and len(names) <= _AT_ALL_LEVELS:
                opened = [OpenCells.of_block(base, margins, k, others)]
            else:
                ordered = sorted(names, key=lambda a: a == others)
                opened = [OpenCells.of_margin(base, {a: m[a] for a in ordered}, k, others) for m in margins]
            yield from (one for one in opened if len(one.keys))


def combined_margins(domain: Domain, public: Sequence[Mask]) -> list[Mask]:
    """Return the margins whose cells are the examined combinations of two values and more.

    Raises TooManyCellsError if they are too many.
    """
    finest = reduce(or_, public, 0)
    attribute_masks = [domain.attribute_masks[place] for place in domain.places(finest)]
    levels = {
        attribute_mask: sorted({mask & attribute_mask for mask in public} - {0}) for attribute_mask in attribute_masks
    }
    margins: set[Mask] = {finest}
    for number in range(2, _AT_ALL_LEVELS + 1):
        for some in combinations(attribute_masks, number):
            margins.update(map(sum, product(*(levels[part] for part in some))))
            if len(margins) > MOST_MARGINS:
                raise TooManyCellsError(
                    f"combinations of {len(attribute_masks)} attributes at their levels are more than the {MOST_MARGINS:,} "
                    "tables that can be examined; publish fewer columns or fewer levels"
                )
    if len(attribute_masks) <= FEW_ATTRIBUTES:
        for number in range(_AT_ALL_LEVELS + 1, len(attribute_masks)):
            margins.update(finest & sum(some) for some in combinations(attribute_masks, number))
    if (cells := domain.cell_count(finest)) > _MOST_CELLS:
        raise TooManyCellsError(
            f"{cells:,} combinations of all attributes are too many to be numbered; publish fewer columns"
        )
    unpublished = [mask for mask in margins if not any(not mask & ~part for part in public)]
    return sorted(unpublished, key=lambda mask: (list(domain.places(mask)), mask))  # by attributes, for `groupby`

"""Small combinations: which nonsensitive values published tables prove to belong to few people, and which they do not.

A combination is small if it has 1 to k - 1 rows, and certain to be so if it has in every table of whole numbers with the
published marginals. Along a junction tree none is where no published class is small. Tables that close a cycle can prove one
to be: AB, BC and AC of 3 0 2 3 0 0 3 0 over 000 .. 111 admit one table, and it has a 2. Possible tables that are made from
the published counts alone show that nothing is certain; programs of three attributes can show that something is.

Combinations of up to three values are looked at, at any level that a table shows, also with any other value in place of one;
and of all attributes at their finest published levels, of at most ten attributes of any number of them.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, groupby, product
from math import inf, prod
from operator import or_
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from checks.classes import k_link, nonsensitive_part
from checks.combinatorial import k_combinatorial
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict, WorstClass
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray, begins_of, grouped, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection, Support, maximal_masks
from models.inference.possible_tables import allowed_rows, possible_table
from models.programs.consistent_tables import PossibleCells, possible_cells
from models.programs.extremes import Effort, Unknowns, narrow, sums_of_cells
from models.tables.contingency_table import look_up, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

_WHOLE = 1e-6
"""Rows within which a count of a table that a program found is taken for a whole number."""

_FEW_CELLS = 500
"""Cells up to which programs ask for tables of whole numbers; of more only for tables of any numbers, which prove less."""

CRITERION = "no-small-certain"

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def no_small_certain(
    collection: Collection,
    sensitive: AnyCollection[str],
    k: int,
    budget: Budget = FULL,
    witnesses: "Witnesses | None" = None,
) -> Finding:
    """Whether published tables prove no combination of nonsensitive values that is looked at to have 1 .. k-1 rows.

    Holds with a junction tree and k-combinatorial anonymity, else where possible tables clear each that is looked at. Fails
    with one that programs of three attributes find. witnesses: of a search that is over, taken if they are of these tables.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return replace(link, criterion=CRITERION, parameters=parameters)
    if collection.is_decomposable or collection.supports:
        finding = k_combinatorial(collection, sensitive, k, budget)
        if finding.holds:
            return replace(finding, criterion=CRITERION, parameters=parameters)
    if not collection.is_decomposable:
        shown = _cleared_by_possible_tables(collection, sensitive, k, budget.deadline, witnesses)
        if shown is not None:
            return Finding(CRITERION, Verdict.HOLDS, parameters, link.worst, (Algorithm.POSSIBLE_TABLES,), shown)
    masks = {nonsensitive_part(collection.domain, mask, sensitive) for mask in collection.masks}
    unknown = Finding(CRITERION, Verdict.UNDECIDED, parameters, link.worst, (Algorithm.INTEGER_PROGRAMMING,), 0)
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
            return replace(unknown, verdict=Verdict.FAILS, worst=cell, examined=examined)
        is_complete = is_complete and is_decided
    note = (
        "" if is_complete else "the budget ended before programs had been asked about all that tables link in a cycle"
    )
    return replace(unknown, examined=examined, note=note)


def _cleared_by_possible_tables(
    collection: Collection, sensitive: AnyCollection[str], k: int, deadline: Deadline, witnesses: "Witnesses | None"
) -> int | None:
    """How many combinations are small in some table, if possible tables clear all of them in half of the time; else None."""
    supports = tuple(collection.supports)
    if witnesses is None or witnesses.of != (collection.cube, {*collection.masks}, {*sensitive}, k, supports):
        try:
            witnessing = Witnessing(
                collection.cube, collection.masks, sensitive, k, deadline=deadline.share(2), supports=supports
            )
        except (TimeOverError, TooManyCellsError):
            return None
        witnesses = witnessing.look(inf, deadline.share(2))
    return witnesses.small if witnesses.clear_all else None


def _questions(public: Collection, most: int) -> Iterator[tuple[PossibleCells, Mask] | None]:
    """Margins of each three attributes by few tables, then by all; None for those of more than `most` cells."""
    domain = public.domain

    def of_few_values(margins: Iterable[Mask]) -> list[Mask]:
        return sorted(set(margins), key=lambda margin: (domain.cell_count(margin), margin))

    def has_tree(by: Mask) -> bool:
        return public.within(by).is_decomposable

    levels = [sorted({mask & own for mask in public.masks} - {0}) for own in domain.attribute_masks]
    shown = [*filter(None, levels)]
    threes = {sum(own[-1] for own in some): some for some in combinations(shown, min(len(shown), 3))}
    linked = [three for three in of_few_values(threes) if not has_tree(three)]
    coarse = (
        (margin, [margin])
        for three in linked
        for margin in of_few_values(map(sum, product(*threes[three])))
        if not has_tree(margin)
    )
    fine = ((three, of_few_values(map(sum, product(*([0, *own] for own in threes[three]))))) for three in linked)
    for by, margins in chain(coarse, fine):
        try:
            cells = possible_cells(public.within(by), most)
        except TooManyCellsError:
            yield None
            continue
        yield from ((cells, margin) for margin in margins if len(list(domain.places(margin))) > 1)


def _certainly_small(cells: PossibleCells, margin: Mask, k: int, effort: Effort) -> tuple[WorstClass | None, int, bool]:
    """A cell that surely has 1 .. k-1 rows, or None; the cells; whether nothing is open of any of them."""
    levels = cells.cells.domain.margin(margin)
    places, groups = cells.grouped(levels)
    unknowns = sums_of_cells(cells, groups, len(places), is_whole=len(cells) <= _FEW_CELLS)

    def open_bounds(block: Unknowns) -> BoolArray:
        is_open = (block.upper > 0) & (block.seen_low > _WHOLE) & (block.seen_high < k - _WHOLE)
        if np.any(is_open & (block.lower > 0) & (block.upper < k)):
            return np.zeros((2, len(block)), dtype=np.bool_)  # found
        # Upper bounds matter of cells that surely have a row.
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


# Witnesses: tables with the same counts, in which a small combination has no rows, or k. They are made from the counts, and
# then by exchanging values. Each is counted against all published tables before it clears anything.
#
# Two rows that agree on all that tables show together with an attribute may exchange its values, and no count changes;
# so may all rows that agree on it, in any order (data swapping: Dalenius and Reiss 1982). Where two rows differ in one
# other attribute, another exchange elsewhere, of the same values the other way round, changes the counts back. Of three
# attributes with all pairs nothing else moves anything (Diaconis and Sturmfels, Annals of Statistics 26, 1998).


MOST_MARGINS = 60_000
"""Of combinations that are looked at."""

FEW_ATTRIBUTES = 10
"""Up to so many, combinations of any number of them are looked at."""

_AT_ALL_LEVELS = 3
"""Attributes of a combination, at most, that is looked at at every level that a table shows."""

CHAINS = 2
"""Copies of the rows that are exchanged, each by itself, so that two processors take no longer for them than for one."""

_MOVES = 256
"""Between two looks."""

_AIMED_AT = 16
"""Margins, or blocks of them, whose open combinations the moves between two looks empty or fill."""

_IDLE, _ANEW = 10, 3
"""Rounds in a row that find no witness, after which others will seldom find one, and after which tables are made anew."""

_MOST_CELLS = 2**62
"""Of all attributes together, so that their combinations have numbers."""

_LOOKS = 3_000
"""Margins and blocks of margins that are looked at after the moves of a round, in turn."""

_BLOCK = 1 << 23
"""Cells of margins that are counted together."""

_EXACT_ROWS = 2**24
"""Counts below this are exact as float32."""


_About: TypeAlias = tuple[DataCube, AnyCollection[Mask], AnyCollection[str], int, tuple[Support, ...]]


class Witnesses(NamedTuple):
    """What exchanges have shown: of small combinations, those `waiting` that no rows with the same tables cleared.

    of: published counts, the margins among them, sensitive attributes, from how many rows on nothing is small, and which
    combinations are possible.
    """

    small: int
    rounds: int
    waiting: "tuple[OpenCells, ...]"
    of: _About

    @property
    def clear_all(self) -> bool:
        """Whether no combination is certain to be small."""
        return not self.waiting

    def blamed(self, domain: Domain, gains: Mapping[Mask, float]) -> Mask | None:
        """The further table to leave out first: it shows two attributes of the most open cells for what it gains."""
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
"""By attribute the code of each row at the finest level of any table: shape (rows,)."""

_Task: TypeAlias = "tuple[_Codes, np.random.Generator, tuple[OpenCells, ...], Sequence[Mapping[str, int]]]"
"""Rows that a round begins with, what draws the moves, open combinations, and the tables whose counts stay as they are."""

_Round: TypeAlias = tuple[_Codes, np.random.Generator, list[BoolArray]]
"""Rows after the moves of a round, and of what has waited the longest, which open cells these rows do not clear."""

Runs: TypeAlias = Callable[[Callable[[_Task], _Round], Sequence[_Task]], list[_Round]]
"""How parts of a piece of work are done, side by side or not: the results, in their order."""


def one_by_one(work: Callable[[Part], Answer], parts: Sequence[Part]) -> list[Answer]:
    """Parts of a piece of work done in their order.

    >>> one_by_one(abs, [1, -2])
    [1, 2]
    """
    return [work(part) for part in parts]


class Witnessing:
    """The search for witnesses, which can go on where it ended, and beside fewer tables.

    run: does the parts of a round, maybe in several processes. The search is the same whatever the rows are, unless a
    deadline ends it. Sensitive values go along where one margin has all of them, since any table of the other values can be
    given them then; else the margins that show them say more about the others, and are among those that stay as they are.

    Raises TooManyCellsError for too many margins, TimeOverError where no table was found in time.
    """

    def __init__(
        self,
        cube: DataCube,
        masks: AnyCollection[Mask],
        sensitive: AnyCollection[str],
        k: int,
        run: Runs = one_by_one,
        deadline: Deadline = NEVER,
        supports: Sequence[Support] = (),
    ) -> None:
        """Its parameters are the question, who works on it, and when to stop."""
        self._domain, self._sensitive, self._k, self._run = cube.domain, sensitive, k, run
        self._supports, self._seed = tuple(supports), 0
        self._of: _About = (cube, {*masks}, {*sensitive}, k, self._supports)
        self._published = Collection.of(cube, self._fixed(masks), supports)
        self._finest = self._domain.margin(reduce(or_, self._published.masks, 0))
        self._begin(deadline)
        self._base = _Rows(self._domain, self._finest, self._chains[0][0])
        self._looked_at: set[Mask] = set()
        self._waiting: deque[OpenCells] = deque()
        self._small = self._made = 0
        self.keep(masks)

    def _begin(self, deadline: Deadline) -> None:
        chains = list[tuple[_Codes, np.random.Generator]]()
        for seed in range(self._seed, self._seed + CHAINS):
            table = possible_table(self._published, seed, deadline)
            if table is None:
                raise TimeOverError("no table with all published counts was found in time")
            chains.append(({a: codes.astype(np.intp) for a, codes in table.items()}, np.random.default_rng(seed)))
        self._chains, self._seed = chains, self._seed + CHAINS

    def look(self, rounds: float, deadline: Deadline = NEVER) -> Witnesses:
        """What is open after so many rounds more; fewer where nothing is, no more is found, or the deadline comes."""
        last, idle = self._made + rounds, 0
        while self._waiting and self._made < last and idle < _IDLE and not deadline.is_over:
            if idle % _ANEW == _ANEW - 1:
                with suppress(TimeOverError):
                    self._begin(deadline)
            done = self._run(self._round, [(*chain, tuple(self._waiting), self._tables) for chain in self._chains])
            self._chains = [(codes, rng) for codes, rng, _ in done]
            self._made += 1
            idle = 0 if self._clear([stays for _, _, stays in done]) else idle + 1
        return Witnesses(self._small, self._made, tuple(self._waiting), self._of)

    def _round(self, task: _Task) -> _Round:
        """Make the moves of a round, by what stays the same in this search: a process may have it as it was."""
        codes, rng, waiting, tables = task
        rows = _Rows(self._domain, self._finest, {a: code.copy() for a, code in codes.items()}, tables, self._supports)
        # Some of the margins whose combinations are open, those with many rather than others.
        sizes = np.sqrt([len(some.keys) for some in waiting])
        places = rng.choice(len(sizes), min(_AIMED_AT, len(sizes)), replace=False, p=sizes / sizes.sum())
        pulls = [waiting[place].pull(rows, self._k, rng) for place in sorted(places.tolist())]
        moves = _moves(self._domain, self._finest, tables)
        for place in rng.permutation(len(moves))[:_MOVES].tolist():
            rows.make(moves[place], rng, pulls)
        if any((np.sort(rows.keys(table)) != np.sort(self._base.keys(table))).any() for table in tables) or not all(
            allowed_rows(support, rows.levels, rows.codes).all() for support in self._supports
        ):
            raise ContradictionError("exchanges of values changed a published count, so they show nothing")
        return rows.codes, rng, [_small(some.counts_in(rows), self._k) for some in waiting[:_LOOKS]]

    def _clear(self, stays: Sequence[Sequence[BoolArray]]) -> bool:
        is_any = False
        for of_chains in zip(*stays):
            some = self._waiting.popleft()
            stay = np.logical_and.reduce(of_chains)
            is_any = is_any or not stay.all()
            if stay.any():
                self._waiting.append(replace(some, keys=some.keys[stay], counts=some.counts[stay]))
        return is_any

    def keep(self, masks: AnyCollection[Mask]) -> None:
        """Go on beside some of the tables alone. What is cleared stays so; what a dropped table showed is new."""
        cube, _, sensitive, k, supports = self._of
        self._of = cube, {*masks}, sensitive, k, supports
        public = self._public(masks)
        new = [mask for mask in combined_margins(self._domain, public) if mask not in self._looked_at] if public else []
        self._looked_at.update(new)
        opened = list(_opened(self._base, new, self._k))
        self._small += sum(len(some.keys) for some in opened)
        self._waiting.extend(opened)
        self._tables = list(map(self._domain.margin, self._fixed(masks)))

    def _fixed(self, masks: AnyCollection[Mask]) -> list[Mask]:
        """The largest margins that possible tables are to have."""
        supports = [self._domain.mask(support.cells.margin) for support in self._supports]
        largest = maximal_masks({*masks, *supports})
        telling = [mask for mask in largest if nonsensitive_part(self._domain, mask, self._sensitive) != mask]
        return list(maximal_masks(masks if len(telling) > 1 else self._public(masks)))

    def _public(self, masks: AnyCollection[Mask]) -> list[Mask]:
        return sorted({nonsensitive_part(self._domain, mask, self._sensitive) for mask in masks} - {0})


class _Move(NamedTuple):
    """Values of one attribute change places among rows that agree on it at a level, and on all else but `against`."""

    attribute: str
    within: int
    against: str | None = None


def _moves(domain: Domain, finest: Mapping[str, int], tables: Sequence[Mapping[str, int]]) -> list[_Move]:
    alone, against = [], []
    for a in finest:
        levels_told = {table[a] for table in tables if a in table and len(table) > 1}
        # Within a level rows agree on what coarser tables show.
        for level in sorted({*levels_told, domain.hierarchy(a).height} - {finest[a]}):
            alone.append(_Move(a, level))
            others = {b for table in tables if table.get(a, level) < level for b in table if b != a}
            against += [_Move(a, level, b) for b in sorted(others)]
    return alone + against


class _Rows:
    """Rows that are counted, and whose values, at the finest levels of any table, may be exchanged."""

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
        """Of each row the number of its cell of a margin; some equal and ordered ones beyond _MOST_CELLS."""
        radices = [self.domain.hierarchy(a).size(level) for a, level in levels.items()]
        return pack([self._column(a, level) for a, level in levels.items()], radices, self._rows)[0]

    def cells(self, levels: Mapping[str, int], keys: CodeArray) -> CountArray:
        places, is_known = look_up(self.keys(levels), keys)
        return np.bincount(places[is_known], minlength=len(keys))

    def dense(self, names: Sequence[str]) -> "_ExactFloats":
        if self._dense is None or self._dense[0] != names:
            levels = {a: self.levels[a] for a in names}
            shape = [self.domain.hierarchy(a).size(level) for a, level in levels.items()]
            counts = np.bincount(self.keys(levels), minlength=prod(shape)).reshape(shape)
            exact: type[np.float32 | np.float64] = np.float32 if self._rows < _EXACT_ROWS else np.float64
            self._dense = names, counts.astype(exact)
        return self._dense[1]

    def make(self, move: _Move, rng: np.random.Generator, pulls: "Sequence[_Pull]") -> None:
        values = self.codes[move.attribute]
        rows = self._partners(move, rng)
        rows = rows.compress(values[rows[0]] != values[rows[1]], axis=1)
        for support in self._supports:
            after = [
                {**{a: self.codes[a][one] for a in self.codes}, move.attribute: values[other]}
                for one, other in (rows, rows[::-1])
            ]
            rows = rows.compress(np.logical_and(*(allowed_rows(support, self.levels, own) for own in after)), axis=1)
        before = values[rows]
        own = [pull for pull in pulls if move.attribute in pull.parts]
        gains: CountArray = np.zeros(rows.shape[1], dtype=np.int64)
        for pull in own:
            gains += pull.gains(rows, pull.steps(move.attribute, before))
        is_made = gains >= 0 if move.against is None else self._balanced(move, move.against, rows, gains)
        rows, before = rows.compress(is_made, axis=1), before.compress(is_made, axis=1)
        for pull in own:
            pull.numbers[rows] += pull.steps(move.attribute, before)
        values[rows] = before[::-1]
        self._dense = None
        for level in range(self.domain.hierarchy(move.attribute).height + 1):
            self._columns.pop((move.attribute, level), None)

    def _finest(self, move: _Move, *, beside: str | None = None) -> dict[str, int]:
        """The finest levels that tables show with the attribute, and with `beside`, finer than rows agree on it."""
        finest: dict[str, int] = {}
        for table in self._tables:
            if table.get(move.attribute, move.within) < move.within and (beside is None or beside in table):
                for a, level in table.items():
                    finest[a] = min(level, finest.get(a, level))
        return finest

    def _partners(self, move: _Move, rng: np.random.Generator) -> IndexArray:
        agreed = {a: level for a, level in self._finest(move).items() if a != move.against}
        keys = self.keys({**agreed, move.attribute: move.within})
        order = grouped(keys, 2 * int(rng.integers(1 << 30)) + 1)
        ordered = keys[order]
        places = np.arange(len(order)) - begins_of(ordered)
        first = np.flatnonzero((places[:-1] & 1 == 0) & (ordered[1:] == ordered[:-1]))
        return np.stack([order[first], order[first + 1]])

    def _balanced(self, move: _Move, other: str, rows: IndexArray, gains: CountArray) -> BoolArray:
        both = self._finest(move, beside=other)
        codes, beside = (self._column(a, both[a])[rows] for a in (move.attribute, other))
        changes = np.flatnonzero((codes[0] != codes[1]) & (beside[0] != beside[1]))
        made: BoolArray = gains >= 0
        made[changes] = False
        codes, beside, gains = codes[:, changes], beside[:, changes], gains[changes]
        rest = self.keys({a: level for a, level in both.items() if a not in (move.attribute, other)})[rows[0, changes]]
        columns = [*np.sort(codes, axis=0), *np.sort(beside, axis=0), rest]
        kinds, _ = pack(columns, [int(column.max(initial=0)) + 1 for column in columns], len(rest))
        ups, downs = _opposite(kinds, (codes[0] < codes[1]) == (beside[0] < beside[1]), gains)
        is_gaining = gains[ups] + gains[downs] >= 0
        made[changes[ups[is_gaining]]] = made[changes[downs[is_gaining]]] = True
        return made


def _opposite(kinds: CodeArray, is_up: BoolArray, gains: CountArray) -> tuple[IndexArray, IndexArray]:
    """Places of exchanges that go up, and of as many of the same kinds that go down, those that gain the most first."""
    by_gain = np.argsort(-gains.clip(-9_999, 9_999).astype(np.int16), kind="stable")  # sorted fast, as int16
    by_gain = by_gain[np.argsort(is_up[by_gain], kind="stable")]
    order = by_gain[grouped(kinds[by_gain])]
    begins, ups = begins_of(kinds[order]), is_up[order]
    # Of each kind those that go down come first: the first that goes up stands so many places after the first of them.
    downs = np.cumsum(~ups)
    downs += ~ups[begins] - downs[begins]
    ranks = np.arange(len(order)) - begins - downs
    chosen = np.flatnonzero(ups & (ranks < downs))
    return order[chosen], order[begins[chosen] + ranks[chosen]]


_ExactFloats: TypeAlias = NDArray[np.float32 | np.float64]
"""Counts as floats of a size that holds each as it is."""


def _small(counts: _ExactFloats | CountArray, k: int) -> BoolArray:
    return (counts > 0) & (counts < k)


class _Pull:
    """Combinations of some attributes that are to lose their rows, or to get more.

    parts: of each attribute what its values add to the number of a combination. weights: of each number, or of each of
    `keys`, positive if one more row is better, negative if it is worse.
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


@dataclass(frozen=True, eq=False)
class OpenCells:
    """The open cells of some attributes at some of their levels: of one margin, or of several that are counted together.

    levels: of each attribute, one for a margin. keys: of the cells, ascending, in a block with an axis for each attribute
    and along it the values of one level after the other. counts: of the rows themselves. others: an attribute of which
    the rows counted have any other value than the cell's; the last one of a margin.
    """

    levels: Mapping[str, tuple[int, ...]]
    keys: CodeArray
    counts: CountArray
    is_block: bool
    others: str | None = None

    @classmethod
    def of_margin(cls, base: _Rows, levels: Mapping[str, int], k: int, others: str | None) -> "OpenCells":
        """The small cells of a margin."""
        keys = np.unique(base.keys(levels))
        if others is not None:  # also of a value that nobody has, beside values of the rest that few have
            rest, rows = np.unique(base.keys(_without_last(levels)), return_counts=True)
            values = np.arange(base.domain.hierarchy(others).size(levels[others]))
            keys = np.union1d(keys, rest[rows < k].astype(np.int64)[:, None] * len(values) + values)
        nothing = np.zeros(0, dtype=np.int64)
        every = cls({a: (level,) for a, level in levels.items()}, keys, nothing, is_block=False, others=others)
        counts = every.counts_in(base)
        small = _small(counts, k)
        return replace(every, keys=keys[small], counts=counts[small].astype(smallest_code_dtype(k)))

    @classmethod
    def of_block(cls, base: _Rows, margins: Sequence[Mapping[str, int]], k: int, others: str | None) -> "OpenCells":
        """The small cells of several margins of the same attributes."""
        levels = {a: tuple(sorted({margin[a] for margin in margins})) for a in margins[0]}
        nothing = np.zeros(0, dtype=np.int64)
        block = cls(levels, nothing, nothing, is_block=True, others=others)
        sizes = [[base.domain.hierarchy(a).size(level) for level in own] for a, own in levels.items()]
        counts = block._counts(base, [np.arange(sum(of_levels)) for of_levels in sizes])
        asked = np.zeros(counts.shape, dtype=np.bool_)
        for margin in margins:
            places = [own.index(level) for own, level in zip(levels.values(), margin.values())]
            asked[tuple(slice(sum(s[:place]), sum(s[: place + 1])) for s, place in zip(sizes, places))] = True
        keys = np.flatnonzero(_small(counts, k) & asked)
        return replace(block, keys=keys.astype(np.int32), counts=counts.ravel()[keys].astype(smallest_code_dtype(k)))

    def counts_in(self, rows: _Rows) -> CountArray | _ExactFloats:
        """Counts of the cells among other rows: shape (len(keys),)."""
        if self.is_block:
            cells = np.unravel_index(self.keys, self._shape(rows.domain))
            used, places = zip(*(np.unique(axis, return_inverse=True) for axis in cells))
            return np.asarray(self._counts(rows, used)[places])
        levels = {a: level for a, (level,) in self.levels.items()}
        counts = rows.cells(levels, self.keys)
        if self.others is None:
            return counts
        rest = self.keys // rows.domain.hierarchy(self.others).size(levels[self.others])
        distinct, inverse = np.unique(rest, return_inverse=True)
        return np.asarray(rows.cells(_without_last(levels), distinct)[inverse] - counts)

    def pull(self, rows: _Rows, k: int, rng: np.random.Generator) -> _Pull:
        """The open cells, each to be emptied or filled: rather the way that is shorter."""
        weights = np.where(rng.random(len(self.counts)) * k < self.counts, 1, -1).astype(np.int16)
        shape = self._shape(rows.domain)
        keys: CodeArray | None = self.keys
        if prod(shape) <= _BLOCK:
            keys, spread = None, np.zeros(prod(shape), dtype=np.int16)
            spread[self.keys], weights = weights, spread
        if self.is_block:
            factors = [self._is_above(rows, a).T for a in self.levels]
            weights = _products(weights.reshape(shape).astype(np.float32), factors).ravel().astype(np.int16)
            lifts: list[CodeArray] = [np.arange(rows.domain.hierarchy(a).size(rows.levels[a])) for a in self.levels]
            shape = tuple(map(len, lifts))
        else:
            lifts = [rows.lift(a, level).astype(np.intp) for a, (level,) in self.levels.items()]
            if self.others is not None:  # the others are fewer where the cell has more
                weights = -weights
        parts = {a: lift * prod(shape[place + 1 :]) for place, (a, lift) in enumerate(zip(self.levels, lifts))}
        return _Pull(parts, weights, keys, rows.codes)

    def _shape(self, domain: Domain) -> tuple[int, ...]:
        return tuple(sum(map(domain.hierarchy(a).size, levels)) for a, levels in self.levels.items())

    def _is_above(self, rows: _Rows, attribute: str) -> NDArray[np.float32]:
        """1 where rows of a finest value count for one of the levels, else 0: shape (values along the axis, finest ones)."""
        hierarchy, levels = rows.domain.hierarchy(attribute), self.levels[attribute]
        is_above = np.vstack([rows.lift(attribute, n) == np.arange(hierarchy.size(n))[:, None] for n in levels])
        return (~is_above if attribute == self.others else is_above).astype(np.float32)

    def _counts(self, rows: _Rows, used: Sequence[IndexArray]) -> _ExactFloats:
        factors = [self._is_above(rows, a)[places] for a, places in zip(self.levels, used)]
        return _products(rows.dense(tuple(self.levels)), factors)


def _products(counts: _ExactFloats, factors: Sequence[NDArray[np.float32]]) -> _ExactFloats:
    """Sums of an array with an axis in whose place the rows of each matrix stand."""
    # The axis first of which the fewest places are left of its values.
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


def _opened(base: _Rows, masks: Sequence[Mask], k: int) -> Iterator[OpenCells]:
    domain = base.domain
    for places, same in groupby(masks, key=lambda mask: tuple(domain.places(mask))):
        names = [domain.attributes[place] for place in places]
        some = [{a: domain.margin(mask)[a] for a in names} for mask in same]
        cells = prod(sum(map(domain.hierarchy(a).size, {margin[a] for margin in some})) for a in names)
        is_block = max(cells, domain.size({a: base.levels[a] for a in names})) <= _BLOCK
        for others in (None, *(names if len(names) <= _AT_ALL_LEVELS else ())):
            # Of two values the others are those of the second, which is looked at itself.
            asked = [m for m in some if others is None or domain.hierarchy(others).size(m[others]) > 2]
            if asked and is_block and len(names) <= _AT_ALL_LEVELS:
                opened = [OpenCells.of_block(base, asked, k, others)]
            else:
                ordered = sorted(names, key=lambda a: a == others)
                opened = [OpenCells.of_margin(base, {a: m[a] for a in ordered}, k, others) for m in asked]
            yield from (one for one in opened if len(one.keys))


def combined_margins(domain: Domain, public: Sequence[Mask]) -> list[Mask]:
    """The margins whose cells are the combinations that a claim is about, of two values and more.

    Raises TooManyCellsError where these are too many.
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
                    "tables that can be looked at; publish fewer columns or fewer levels"
                )
    if len(attribute_masks) <= FEW_ATTRIBUTES:
        for number in range(_AT_ALL_LEVELS + 1, len(attribute_masks)):
            margins.update(finest & sum(some) for some in combinations(attribute_masks, number))
    if (cells := domain.cell_count(finest)) > _MOST_CELLS:
        raise TooManyCellsError(
            f"{cells:,} combinations of all attributes are too many to be numbered; publish fewer columns"
        )
    shown_margins = [mask for mask in margins if not any(not mask & ~part for part in public)]
    return sorted(
        shown_margins, key=lambda mask: (list(domain.places(mask)), mask)
    )  # those of the same attributes together

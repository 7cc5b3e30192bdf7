"""Small combinations: which nonsensitive values published tables prove to belong to few people, and which they do not.

A combination is small where it has 1 to k - 1 rows, and certain to be so where it has in every table of whole numbers with
the published marginals. Along a junction tree no combination is certain to be small where no published class is, since the
tree's tables can be glued so that it has as many rows as its smallest class, or none. Tables that close a cycle can prove
one to be: AB, BC and AC of 3 0 2 3 0 0 3 0 over 000 .. 111 admit one table alone, and it has a 2. What of three attributes
the tables leave can be asked of programs, by anybody; that nothing is certain is shown by tables that the publisher finds.

Looked at are combinations of up to three values, each at any level that a table shows, and of all attributes at their
finest published levels; where at most ten attributes are shown, of any number of them at these levels. Of up to three
values the others are looked at too: who has all of them but one, and there any other value. Not looked at are other sets of
people: values of a level that no table shows, and more than three values at coarser levels.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain, combinations, groupby, product
from math import prod
from operator import or_
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from checks.classes import k_link, nonsensitive_part
from checks.combinatorial import k_combinatorial
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict, WorstClass
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import NotDecomposableError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree, maximal_masks
from models.programs.consistent_tables import PossibleCells, possible_cells
from models.programs.extremes import Effort, Unknowns, narrow, sums_of_cells
from models.tables.contingency_table import is_dense, look_up, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

_WHOLE = 1e-6
"""Rows within which a count of a table that a program found is taken for a whole number."""

_FEW_CELLS = 500
"""Cells up to which programs ask for tables of whole numbers; of more only for tables of any numbers, which prove less."""

CRITERION = "no-small-certain"

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def refuted(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    """Whether published tables prove some combination of nonsensitive values to have 1 .. k-1 rows.

    Fails with such a combination. Holds where the tables have a junction tree and k-combinatorial anonymity. Otherwise it is
    undecided: of each three attributes that tables link in a cycle, programs were asked about the combinations of two and
    three values, as far as the budget went, and none was proven to be small.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return replace(link, criterion=CRITERION, parameters=parameters)
    if collection.is_decomposable:
        finding = k_combinatorial(collection, sensitive, k, budget)
        if finding.holds:
            return replace(finding, criterion=CRITERION, parameters=parameters)
    masks = {nonsensitive_part(collection.domain, mask, sensitive) for mask in collection.masks}
    unknown = Finding(CRITERION, Verdict.UNDECIDED, parameters, link.worst, (Algorithm.INTEGER_PROGRAMMING,), 0)
    effort = Effort(budget.seconds, budget.nodes, budget.programs, budget.deadline)
    examined, is_complete = 0, True
    for question in _questions(Collection.of(collection.cube, masks), budget.cells):
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


def _questions(public: Collection, most: int) -> Iterator[tuple[PossibleCells, Mask] | None]:
    """Margins of each three attributes, those of few values first: by all that is shown no finer, then by all that is shown.

    The first are small, and the usual cycle, three tables of two attributes each, is of that kind. most: cells that some
    tables leave possible; None stands for questions about more.
    """
    domain, union = public.domain, reduce(or_, public.masks, 0)

    def of_few_values(margins: AnyCollection[Mask]) -> list[Mask]:
        return sorted(margins, key=lambda margin: (domain.cell_count(margin), margin))

    def levels(three: Mask) -> list[list[Mask]]:
        own_masks = (domain.attribute_masks[place] for place in domain.places(three))
        return [sorted({mask & own for mask in public.masks} - {0}) for own in own_masks]

    finest = [union & domain.attribute_masks[place] for place in domain.places(union)]
    threes = of_few_values([three for three in map(sum, combinations(finest, 3)) if not _has_tree(public, three)])
    coarse = (
        (margin, [margin])
        for three in threes
        for margin in of_few_values(set(map(sum, product(*levels(three)))))
        if not _has_tree(public, margin)
    )
    fine = ((three, of_few_values(set(map(sum, product(*([0, *own] for own in levels(three))))))) for three in threes)
    for by, margins in chain(coarse, fine):
        try:
            cells = possible_cells(public.within(by), most)
        except TooManyCellsError:
            yield None
            continue
        yield from ((cells, margin) for margin in margins if len(list(domain.places(margin))) > 1)


def _has_tree(public: Collection, by: Mask) -> bool:
    try:
        JunctionTree.of(public.domain, {mask & by for mask in public.masks} - {0})
    except NotDecomposableError:
        return False
    return True


def _certainly_small(cells: PossibleCells, margin: Mask, k: int, effort: Effort) -> tuple[WorstClass | None, int, bool]:
    """A cell of a margin that surely has 1 .. k-1 rows, or None; the cells, and whether nothing is open of any of them.

    A cell is cleared by a table in which it has no row, or k; of many cells by a table of any numbers, which proves less.
    """
    levels = cells.domain.margin(margin)
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


# Exchanges: other rows with the same tables of counts, found by exchanging values between rows that are alike enough.
#
# Two rows that agree on all that tables show together with an attribute may exchange its values, and no count changes;
# so may all rows that agree on it, in any order (data swapping: Dalenius and Reiss 1982). Where two rows differ in one
# other attribute, the exchange changes what is shown of the two attributes, and another exchange elsewhere, of the same
# values the other way round, changes it back. Of three attributes with a table of each two, nothing but these moves
# anything (Diaconis and Sturmfels, Annals of Statistics 26, 1998).

_MOST_GAIN = 2**14
"""Those that gain more are as good."""

_WORD = 64
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: keys that differ stay different, and go all over the place."""


class _Move(NamedTuple):
    """Values of one attribute change places.

    within: rows agree on it at this level. against: the one other attribute in which rows may differ, so that two exchanges
    are needed; None where any order of the values will do.
    """

    attribute: str
    within: int
    against: str | None = None


class _Exchanges(NamedTuple):
    """Pairs of rows that exchange their values of an attribute.

    one, two: places of rows, shape (pairs,), each row in one pair at most. of_one, of_two: the codes that they have before.
    """

    attribute: str
    one: IndexArray
    two: IndexArray
    of_one: CodeArray
    of_two: CodeArray

    def some(self, chosen: IndexArray | BoolArray) -> "_Exchanges":
        """Those at some places."""
        return _Exchanges(self.attribute, self.one[chosen], self.two[chosen], self.of_one[chosen], self.of_two[chosen])


class _ExchangedRows:
    """Rows whose values may be exchanged, one move after the other, so that tables of them stay the same.

    codes: by attribute at its finest level in any table, which `levels` gives, shape (rows,). tables: their margins.
    """

    def __init__(
        self,
        domain: Domain,
        levels: Mapping[str, int],
        codes: Mapping[str, CodeArray],
        tables: Sequence[Mapping[str, int]],
    ) -> None:
        self._domain, self._levels, self._tables = domain, dict(levels), [dict(table) for table in tables]
        self.codes = {a: np.array(code) for a, code in codes.items()}
        self._rows = len(next(iter(self.codes.values()), ()))
        self._columns: dict[tuple[str, int], CodeArray] = {}

    @cached_property
    def moves(self) -> list[_Move]:
        """All that there are: those of one attribute alone, then those against another that some table shows with it."""
        alone, against = [], []
        for a in self._levels:
            levels_told = {table[a] for table in self._tables if a in table and len(table) > 1}
            # Within a level rows agree on what coarser tables show.
            for level in sorted({*levels_told, self._domain.hierarchy(a).height} - {self._levels[a]}):
                alone.append(_Move(a, level))
                others = {b for table in self._tables if table.get(a, level) < level for b in table if b != a}
                against += [_Move(a, level, b) for b in sorted(others)]
        return alone + against

    def make(self, move: _Move, rng: np.random.Generator, aim: "_Aim") -> None:
        """Make a move at random, without the exchanges, or two opposite ones together, that lose by the aim."""
        one, two = self._partners(move, rng)
        values = self.codes[move.attribute]
        of_one, of_two = values[one], values[two]
        pairs = _Exchanges(move.attribute, one, two, of_one, of_two).some(np.flatnonzero(of_one != of_two))
        gains = aim.gains(pairs)
        made = pairs.some(gains >= 0 if move.against is None else self._balanced(move, move.against, pairs, gains))
        aim.follow(made)
        values[made.one], values[made.two] = made.of_two, made.of_one
        for level in range(self._domain.hierarchy(move.attribute).height + 1):
            self._columns.pop((move.attribute, level), None)

    def _column(self, attribute: str, level: int) -> CodeArray:
        column = self._columns.get((attribute, level))
        if column is None:
            lift = self._domain.hierarchy(attribute).lift(self._levels[attribute], level)
            column = self._columns[attribute, level] = lift.astype(np.int32)[self.codes[attribute]]
        return column

    def _finest(self, move: _Move, *, beside: str | None = None) -> dict[str, int]:
        """What tables show together with the attribute, finer than rows agree on it; of those beside another, or of all.

        By attribute at the finest level of all these tables.
        """
        finest: dict[str, int] = {}
        for table in self._tables:
            if table.get(move.attribute, move.within) < move.within and (beside is None or beside in table):
                for a, level in table.items():
                    finest[a] = min(level, finest.get(a, level))
        return finest

    def _keys(self, levels: Mapping[str, int]) -> CodeArray:
        """Equal where rows agree on some attributes at some levels."""
        columns = [self._column(a, level) for a, level in levels.items()]
        radices = [self._domain.hierarchy(a).size(level) for a, level in levels.items()]
        return pack(columns, radices, self._rows)[0]

    def _partners(self, move: _Move, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
        """Pairs of rows at random, each row in one at most, that agree on all but the values that the move changes."""
        context = self._finest(move)
        if move.against is not None:
            context.pop(move.against, None)
        keys = self._keys({**context, move.attribute: move.within})
        order = _grouped(keys, 2 * int(rng.integers(1 << 30)) + 1)
        ordered = keys[order]
        is_same = ordered[1:] == ordered[:-1]
        begins = np.r_[0, np.flatnonzero(~is_same) + 1].astype(np.int32)
        lengths = np.diff(np.r_[begins, np.int32(len(ordered))])
        place = np.arange(len(ordered), dtype=np.int32) - np.repeat(begins, lengths)
        first = np.flatnonzero((place[:-1] & 1 == 0) & is_same)
        return order[first], order[first + 1]

    def _balanced(self, move: _Move, other: str, pairs: _Exchanges, gains: CountArray) -> BoolArray:
        """Which exchanges are made: those that change no table, and two that change it in opposite ways.

        Those that gain the most of one way are made with those that gain the most of the other.
        """
        one, two = pairs.one, pairs.two
        both = self._finest(move, beside=other)
        codes, beside = self._column(move.attribute, both[move.attribute]), self._column(other, both[other])
        changes = np.flatnonzero((beside[one] != beside[two]) & (codes[one] != codes[two]))
        made = gains >= 0
        made[changes] = False
        first, second = one[changes], two[changes]
        rest = self._keys({a: level for a, level in both.items() if a not in (move.attribute, other)})[first]
        columns = [codes[first], codes[second], beside[first], beside[second]]
        is_up = (columns[0] < columns[1]) == (columns[2] < columns[3])
        ends = [pick(*pair) for pair in (columns[:2], columns[2:]) for pick in (np.minimum, np.maximum)]
        kinds, _ = pack([*ends, rest], [int(column.max(initial=0)) + 1 for column in (*ends, rest)], len(rest))
        ups, downs = _opposite(kinds, is_up, gains[changes])
        gaining = gains[changes[ups]] + gains[changes[downs]] >= 0
        made[changes[ups[gaining]]] = made[changes[downs[gaining]]] = True
        return made


def _grouped(keys: CodeArray, factor: int = 1) -> IndexArray:
    """An order in which equal keys stand together: those of one key as they come, or shuffled by an odd factor.

    Numbers are sorted faster than places. Where the keys are too large to carry their places, they are scattered: those of
    different keys may then stand among one another, seldom.
    """
    bits = max(len(keys) - 1, 1).bit_length()
    size = 1 << bits
    wide = keys.astype(np.uint64)
    if int(keys.max(initial=0)).bit_length() + bits > _WORD:
        wide *= _SCATTER
        wide >>= np.uint64(bits)
    wide <<= np.uint64(bits)
    # Multiplied by an odd number, no two places below a power of two become one.
    wide |= np.arange(len(keys), dtype=np.uint64) * np.uint64(factor % size) & np.uint64(size - 1)
    wide.sort()
    return (wide * np.uint64(pow(factor, -1, size)) & np.uint64(size - 1)).astype(np.intp)


def _opposite(kinds: CodeArray, is_up: BoolArray, gains: CountArray) -> tuple[IndexArray, IndexArray]:
    """Places of exchanges that go up, and of as many of the same kinds that go down, those that gain the most first."""
    if not len(kinds):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    by_gain = np.argsort(-gains.clip(-_MOST_GAIN, _MOST_GAIN).astype(np.int16), kind="stable")
    by_gain = by_gain[np.argsort(is_up[by_gain], kind="stable")]
    order = by_gain[_grouped(kinds[by_gain])]
    ordered = kinds[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[begins, len(ordered)])
    downs = np.add.reduceat(~is_up[order], begins, dtype=np.intp)
    # Of each kind those that go down come first: the first that goes up stands so many places after the first of them.
    rank = np.arange(len(ordered)) - np.repeat(begins + downs, lengths)
    has_partner = is_up[order] & (rank < np.repeat(downs, lengths))
    up = np.flatnonzero(has_partner)
    return order[up], order[np.repeat(begins, lengths)[up] + rank[up]]


# Witnesses: other rows with the same tables, in which a combination that is small has no rows, or k. Who has the rows finds
# them by exchanging values; nothing of them is kept but which combinations they clear, since any of them is as possible as
# the rows themselves. A combination that is not small needs none: the rows are a witness. Sensitive values follow their
# people, since of one table with a sensitive attribute the class counts alone matter to who has which other values.

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

_IDLE = 10
"""Rounds in a row that find no witness, after which others will seldom find one."""

_MOST_CELLS = 2**62
"""Of all attributes together, so that their combinations have numbers."""

_LOOKS = 3_000
"""Margins and blocks of margins that are looked at after the moves of a round, in turn."""

_BLOCK = 1 << 23
"""Cells of margins that are counted together."""

_NO_GAIN = 1e-9
"""Of a wanted table: it is left out before those that gain."""


class Witnesses(NamedTuple):
    """What exchanges have shown.

    small: combinations of 1 .. k-1 rows that were looked at. rounds: of exchanges that were made. waiting: those that no
    other rows with the same tables have cleared. For the publisher: a release holds nothing of it but that none was left.
    """

    small: int
    rounds: int
    waiting: "tuple[OpenCells, ...]"

    @property
    def clear_all(self) -> bool:
        """Whether no combination is certain to be small."""
        return not self.waiting

    def blamed(self, domain: Domain, gains: Mapping[Mask, float]) -> Mask | None:
        """The further table to leave out first; None where none shows two attributes of an open combination.

        gains: of the further tables. Left out is the one that does so for the most combinations for what it gains.
        """
        waiting = Counter[frozenset[int]]()
        for some in self.waiting:
            waiting[frozenset(map(domain.index, some.levels))] += len(some.keys)
        shares = {}
        for mask in gains:
            table_places = frozenset(domain.places(mask))
            shares[mask] = sum(number for places, number in waiting.items() if len(places & table_places) > 1)
        blamed = [mask for mask, share in shares.items() if share]
        return max(blamed, key=lambda mask: (shares[mask] / max(gains[mask], _NO_GAIN), mask), default=None)


class Runs(Protocol):
    """How parts of a piece of work are done, side by side or not."""

    def __call__(self, work: "Callable[[Part], Answer]", parts: "Sequence[Part]", /) -> "list[Answer]":
        """What the work gives for each part, in their order."""
        ...


def one_by_one(work: "Callable[[Part], Answer]", parts: "Sequence[Part]", /) -> "list[Answer]":
    """Parts of a piece of work done in their order.

    >>> one_by_one(abs, [1, -2])
    [1, 2]
    """
    return [work(part) for part in parts]


class _Chain(NamedTuple):
    """Rows that exchanges change more and more, by their codes, and what draws the next ones."""

    codes: Mapping[str, CodeArray]
    rng: np.random.Generator


class _Task(NamedTuple):
    """What a round begins with. waiting: open combinations. tables: the margins whose counts the moves leave as they are."""

    chain: _Chain
    waiting: "tuple[OpenCells, ...]"
    tables: Sequence[Mapping[str, int]]


class _Round(NamedTuple):
    """A chain after the moves of a round. stays: of what has waited the longest, which open cells its rows do not clear."""

    chain: _Chain
    stays: list[BoolArray]


class Witnessing:
    """The search for witnesses, which can go on where it ended, and beside fewer tables.

    cube: holds the rows. masks: all margins that are published; each sensitive attribute stands in one of them. run: does
    the parts of a round, which can go into several processes. The search is the same whatever the sensitive values are, and
    for the same seed unless a deadline ends it: its parameters are what is published, what is claimed, and how long to look.
    Raises TooManyCellsError for more margins of combinations than can be looked at.
    """

    def __init__(
        self,
        cube: DataCube,
        masks: AnyCollection[Mask],
        sensitive: AnyCollection[str],
        k: int,
        seed: int = 0,
        run: Runs = one_by_one,
    ) -> None:
        self._domain, self._sensitive, self._k, self._run = cube.domain, sensitive, k, run
        public = self._public(masks)
        self._finest = self._domain.margin(reduce(or_, public, 0))
        table = cube.table(self._domain.mask(self._finest))
        codes = {
            a: np.repeat(table.column(a, level), table.counts).astype(np.intp) for a, level in self._finest.items()
        }
        self._base = _Counted(self._domain, self._finest, codes)
        self._looked_at: set[Mask] = set()
        self._waiting: deque[OpenCells] = deque()
        self._small = self._made = 0
        self._chains = [_Chain(codes, rng) for rng in np.random.default_rng(seed).spawn(CHAINS)]
        self._open(public)

    def look(self, rounds: int, deadline: Deadline = NEVER) -> Witnesses:
        """What is open after so many rounds more; fewer where nothing is, no more is found, or the deadline comes."""
        last, idle = self._made + rounds, 0
        can_move = bool(_ExchangedRows(self._domain, self._finest, self._chains[0].codes, self._tables).moves)
        while self._waiting and can_move and self._made < last and idle < _IDLE and not deadline.is_over:
            done = self._run(self._round, [_Task(chain, tuple(self._waiting), self._tables) for chain in self._chains])
            self._chains = [one.chain for one in done]
            self._made += 1
            idle = 0 if self._cleared([one.stays for one in done]) else idle + 1
        return Witnesses(self._small, self._made, tuple(self._waiting))

    def _round(self, task: _Task) -> _Round:
        """Make the moves of a round. Of this search only what stays the same is used: a process may have it as it was."""
        rng = task.chain.rng
        rows = _ExchangedRows(self._domain, self._finest, task.chain.codes, task.tables)
        aim = _Aim(self._pulls(task.waiting, rng), rows.codes)
        for place in rng.permutation(len(rows.moves))[:_MOVES].tolist():
            rows.make(rows.moves[place], rng, aim)
        counted = _Counted(self._domain, self._finest, rows.codes)
        stays = [_small(some.counts_in(counted), self._k) for some in task.waiting[:_LOOKS]]
        return _Round(_Chain(rows.codes, rng), stays)

    def _cleared(self, stays: Sequence[Sequence[BoolArray]]) -> bool:
        """Whether rows clear anything of what has waited the longest; what none of them clears waits again."""
        is_any = False
        for of_chains in zip(*stays):
            some = self._waiting.popleft()
            stay = np.logical_and.reduce(of_chains)
            is_any = is_any or not stay.all()
            if stay.any():
                self._waiting.append(replace(some, keys=some.keys[stay], counts=some.counts[stay]))
        return is_any

    def _pulls(self, waiting: "Sequence[OpenCells]", rng: np.random.Generator) -> "list[_Pull]":
        """Some of the margins whose combinations are open, those with many rather than others."""
        sizes = np.sqrt([len(some.keys) for some in waiting])
        places = rng.choice(len(sizes), min(_AIMED_AT, len(sizes)), replace=False, p=sizes / sizes.sum())
        return [waiting[place].pull(self._base, self._k, rng) for place in sorted(places.tolist())]

    def keep(self, masks: AnyCollection[Mask]) -> None:
        """Go on beside some of the tables alone. What is cleared stays so, since rows with more tables in common have these
        too. New are combinations that a table showed which is left out, and those of many values at the finest levels left.
        """
        self._open(self._public(masks))

    def _open(self, public: Sequence[Mask]) -> None:
        """All small combinations of which tables tell wait, but for those of margins that were looked at."""
        new = [mask for mask in combined_margins(self._domain, public) if mask not in self._looked_at] if public else []
        self._looked_at.update(new)
        opened = list(_opened(self._base, new, self._k))
        self._small += sum(len(some.keys) for some in opened)
        self._waiting.extend(opened)
        self._tables = list(map(self._domain.margin, maximal_masks(public)))

    def _public(self, masks: AnyCollection[Mask]) -> list[Mask]:
        return sorted({nonsensitive_part(self._domain, mask, self._sensitive) for mask in masks} - {0})


_ExactFloats: TypeAlias = NDArray[np.float32 | np.float64]
"""Counts as floats of a size that holds each as it is."""

_EXACT_ROWS = 2**24
"""Counts below this are exact as float32."""

_WIDE = 2**31 - 1
"""Cells that int32 numbers."""


class _Counted:
    """Rows by their codes, counted by some attributes.

    levels: of each attribute the finest, at which the codes are. codes: shape (rows,).
    """

    def __init__(self, domain: Domain, levels: Mapping[str, int], codes: Mapping[str, CodeArray]) -> None:
        self.domain, self.levels, self._codes = domain, levels, codes
        self.rows = len(next(iter(codes.values())))
        self._kept: tuple[Mask, _ExactFloats] | None = None
        self._keys: list[tuple[str, int, CodeArray]] = []
        self._exact: type[np.float32 | np.float64] = np.float32 if self.rows < _EXACT_ROWS else np.float64

    def lift(self, attribute: str, level: int) -> CodeArray:
        """Of each value of an attribute at its finest level the one above it at another."""
        return self.domain.hierarchy(attribute).lift(self.levels[attribute], level)

    def keys(self, margin: Mask) -> CodeArray:
        """Of each row the number of its cell of a margin: shape (rows,). Those of the first attributes are kept."""
        levels = list(_levels(self.domain, margin).items())
        shared = 0
        while shared < min(len(levels), len(self._keys)) and self._keys[shared][:2] == levels[shared]:
            shared += 1
        del self._keys[shared:]
        space = prod(self.domain.hierarchy(a).size(level) for a, level in levels[:shared])
        for a, level in levels[shared:]:
            size = self.domain.hierarchy(a).size(level)
            space *= size
            lift = self.lift(a, level)
            keys: CodeArray = (lift.astype(np.int32) if space <= _WIDE else lift.astype(np.int64))[self._codes[a]]
            if self._keys:
                keys += self._keys[-1][2].astype(keys.dtype, copy=False) * size
            self._keys.append((a, level, keys))
        return self._keys[-1][2]

    def cells(self, margin: Mask, keys: CodeArray) -> CountArray:
        """Counts of some cells of a margin: shape (len(keys),)."""
        space = self.domain.cell_count(margin)
        if is_dense(space, self.rows):
            return np.bincount(self.keys(margin), minlength=space)[keys]
        places, found = look_up(self.keys(margin), keys)
        return np.bincount(places[found], minlength=len(keys))

    def dense(self, names: Sequence[str]) -> "_ExactFloats":
        """Counts of attributes at their finest levels, an axis each; of those asked about last they are kept."""
        finest = self.domain.mask({a: self.levels[a] for a in names})
        if self._kept is None or self._kept[0] != finest:
            counts = np.bincount(self.keys(finest), minlength=self.domain.cell_count(finest))
            self._kept = finest, counts.reshape(_radices(self.domain, finest)).astype(self._exact)
        return self._kept[1]


def _levels(domain: Domain, margin: Mask) -> dict[str, int]:
    """The levels of a margin, in the order of the domain's attributes."""
    levels = domain.margin(margin)
    return {a: levels[a] for a in (domain.attributes[place] for place in domain.places(margin))}


def _radices(domain: Domain, margin: Mask) -> list[int]:
    return [domain.hierarchy(a).size(level) for a, level in _levels(domain, margin).items()]


def _strides(radices: Sequence[int]) -> list[int]:
    """What one more of each digit adds to a number, the last digit the least."""
    return [prod(radices[place + 1 :]) for place in range(len(radices))]


def _small(counts: _ExactFloats | CountArray, k: int) -> BoolArray:
    return (counts > 0) & (counts < k)


class _Pull(NamedTuple):
    """Combinations of some attributes that are to lose their rows, or to get more.

    parts: of each attribute what its values add to the number of a combination. weights: of each number, or of each of
    `keys` if there are any, whether a row more is better: 0 for all others.
    """

    parts: Mapping[str, IndexArray]
    weights: NDArray[np.int16]
    keys: CodeArray | None = None

    def numbers(self, codes: Mapping[str, CodeArray]) -> CodeArray:
        """The combination of each row: shape (rows,)."""
        numbers = sum(part[codes[a]] for a, part in self.parts.items())
        return np.asarray(numbers, dtype=np.intp if self.keys is not None else np.int32)

    def step(self, exchanges: _Exchanges) -> CodeArray:
        """What the first rows' combinations grow by."""
        part = self.parts[exchanges.attribute]
        step = part[exchanges.of_two] - part[exchanges.of_one]
        return step if self.keys is not None else step.astype(np.int32)

    def worth(self, numbers: CodeArray) -> NDArray[np.int16]:
        """Whether a row more is better for some combinations: 1, or more, -1, or less."""
        if self.keys is None:
            return self.weights[numbers]
        places, is_known = look_up(numbers, self.keys)
        return np.where(is_known, self.weights[places], np.int16(0))


class _Aim:
    """What exchanges of rows are to bring about, by the combinations that their rows are in now."""

    def __init__(self, pulls: Sequence[_Pull], codes: Mapping[str, CodeArray]) -> None:
        self._pulls = [(pull, pull.numbers(codes)) for pull in pulls]

    def gains(self, exchanges: _Exchanges) -> CountArray:
        """How many rows more are where more are better: shape (pairs,)."""
        gains = np.zeros(len(exchanges.one), dtype=np.int64)
        for pull, numbers in self._pulls:
            if exchanges.attribute in pull.parts:
                one, two = numbers[exchanges.one], numbers[exchanges.two]
                step = pull.step(exchanges)
                gains += pull.worth(one + step)
                gains += pull.worth(two - step)
                gains -= pull.worth(one)
                gains -= pull.worth(two)
        return gains

    def follow(self, exchanges: _Exchanges) -> None:
        """The combinations after the exchanges."""
        for pull, numbers in self._pulls:
            if exchanges.attribute in pull.parts:
                step = pull.step(exchanges)
                numbers[exchanges.one] += step
                numbers[exchanges.two] -= step


@dataclass(frozen=True, eq=False)
class OpenCells:
    """The open cells of some attributes at some of their levels: of one margin, or of several that are counted together.

    levels: of each attribute, one for a margin. keys: of the cells, ascending, in a block with an axis for each attribute
    and along it the values of one level after the other. counts: of the rows themselves. is_block: whether they are counted
    together. others: an attribute of which the rows counted have any other value than the cell's. There can be millions of
    cells, which go to other processes each round, so the numbers are narrow.
    """

    levels: Mapping[str, tuple[int, ...]]
    keys: CodeArray
    counts: CountArray
    is_block: bool
    others: str | None = None

    @classmethod
    def of_margin(cls, base: _Counted, margin: Mask, k: int, others: str | None = None) -> "OpenCells":
        """The small cells of a margin."""
        keys = np.unique(base.keys(margin))
        if others is not None:
            keys = np.union1d(keys, _values_of_few(base, margin, others, k))
        levels = {a: (level,) for a, level in _levels(base.domain, margin).items()}
        every = cls(levels, keys, np.zeros(0, dtype=np.int64), is_block=False, others=others)
        counts = every.counts_in(base)
        small = _small(counts, k)
        return replace(every, keys=keys[small], counts=counts[small].astype(smallest_code_dtype(k)))

    @classmethod
    def of_block(cls, base: _Counted, margins: Sequence[Mask], k: int, others: str | None = None) -> "OpenCells":
        """The small cells of several margins of the same attributes."""
        told = [_levels(base.domain, margin) for margin in margins]
        levels = {a: tuple(sorted({one[a] for one in told})) for a in told[0]}
        block = cls(levels, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64), is_block=True, others=others)
        counts = block._counts(base, [np.arange(length) for length in block._shape(base.domain)])
        asked = np.zeros(counts.shape, dtype=np.bool_)
        for one in told:
            asked[tuple(block._part(base.domain, a, level) for a, level in one.items())] = True
        keys = np.flatnonzero(_small(counts, k) & asked)
        return replace(block, keys=keys.astype(np.int32), counts=counts.ravel()[keys].astype(smallest_code_dtype(k)))

    def counts_in(self, counted: _Counted) -> CountArray | _ExactFloats:
        """Counts of the cells among other rows: shape (len(keys),)."""
        if self.is_block:
            cells = np.unravel_index(self.keys, self._shape(counted.domain))
            used, places = zip(*(np.unique(axis, return_inverse=True) for axis in cells))
            return np.asarray(self._counts(counted, used)[places])
        margin = counted.domain.mask({a: level for a, (level,) in self.levels.items()})
        counts = counted.cells(margin, self.keys)
        if self.others is None:
            return counts
        rest, size, stride = _without(counted.domain, margin, self.others)
        sought, places = np.unique(self.keys // (size * stride) * stride + self.keys % stride, return_inverse=True)
        return counted.cells(rest, sought)[places] - counts

    def pull(self, base: _Counted, k: int, rng: np.random.Generator) -> _Pull:
        """The open cells, each to be emptied or filled: rather the way that is shorter.

        In a block each cell at the finest levels has its part in as many open ones as it is in.
        """
        directions = np.where(rng.random(len(self.counts)) * k < self.counts, 1, -1).astype(np.int16)
        shape = self._shape(base.domain)
        if self.is_block:
            block: _ExactFloats = np.zeros(shape, dtype=np.float32)
            block.ravel()[self.keys] = directions
            for axis, (a, levels) in enumerate(self.levels.items()):
                block = _along(axis, self._is_above(base, a, levels).T, block)
            strides = _strides(block.shape)
            parts = {a: np.arange(size) * stride for a, size, stride in zip(self.levels, block.shape, strides)}
            return _Pull(parts, block.ravel().astype(np.int16))
        parts = {
            a: base.lift(a, level) * np.intp(stride)
            for (a, (level,)), stride in zip(self.levels.items(), _strides(shape))
        }
        if self.others is not None:  # the others are fewer where the cell has more
            directions = -directions
        if prod(shape) > _BLOCK:
            return _Pull(parts, directions, self.keys)
        weights = np.zeros(prod(shape), dtype=np.int16)
        weights[self.keys] = directions
        return _Pull(parts, weights)

    def _part(self, domain: Domain, attribute: str, level: int) -> slice:
        """Where the values of a level stand along an attribute's axis."""
        before = sum(domain.hierarchy(attribute).size(other) for other in self.levels[attribute] if other < level)
        return slice(before, before + domain.hierarchy(attribute).size(level))

    def _shape(self, domain: Domain) -> tuple[int, ...]:
        return tuple(sum(map(domain.hierarchy(a).size, levels)) for a, levels in self.levels.items())

    def _is_above(self, counted: _Counted, attribute: str, levels: Sequence[int]) -> NDArray[np.float32]:
        """1 where rows of a finest value count for one of the levels, else 0: shape (values along the axis, finest ones)."""
        hierarchy = counted.domain.hierarchy(attribute)
        parts = [counted.lift(attribute, level) == np.arange(hierarchy.size(level))[:, None] for level in levels]
        is_above = np.concatenate(parts)
        return (~is_above if attribute == self.others else is_above).astype(np.float32)

    def _counts(self, counted: _Counted, used: Sequence[IndexArray]) -> _ExactFloats:
        """Counts of the block at some places of each axis."""
        counts = counted.dense(tuple(self.levels))
        sizes = counts.shape
        # The axis first of which the fewest places are left of its values.
        axes = sorted(range(len(sizes)), key=lambda axis: len(used[axis]) / sizes[axis])
        for axis, (a, levels) in ((axis, list(self.levels.items())[axis]) for axis in axes):
            if levels == (counted.levels[a],) and a != self.others:
                counts = counts.take(used[axis], axis)
                continue
            counts = _along(axis, self._is_above(counted, a, levels)[used[axis]], counts)
        return counts


def _along(axis: int, factors: NDArray[np.float32], counts: _ExactFloats) -> _ExactFloats:
    """Sums of an array with an axis in whose place the rows of a matrix stand."""
    before, length, after = counts.shape[:axis], counts.shape[axis], counts.shape[axis + 1 :]
    if not after:
        return counts @ factors.T
    summed = factors @ counts.reshape(prod(before), length, prod(after))
    return summed.reshape(*before, len(factors), *after)


def _without(domain: Domain, margin: Mask, attribute: str) -> tuple[Mask, int, int]:
    """A margin without one of its attributes, how many values that has, and what one more of it adds to a cell's number."""
    names = list(_levels(domain, margin))
    radices = _radices(domain, margin)
    place = names.index(attribute)
    return margin & ~domain.attribute_masks[domain.index(attribute)], radices[place], _strides(radices)[place]


def _values_of_few(base: _Counted, margin: Mask, attribute: str, k: int) -> CodeArray:
    """The cells of every value of an attribute, also one that nobody has, beside values of the others that few have."""
    rest, size, stride = _without(base.domain, margin, attribute)
    without, counts = np.unique(base.keys(rest), return_counts=True)
    few = without[counts < k].astype(np.int64)
    first = few // stride * (size * stride) + few % stride
    return np.asarray((first[:, None] + np.arange(size) * stride).ravel())


def _opened(base: _Counted, margins: Sequence[Mask], k: int) -> Iterator[OpenCells]:
    """The small cells of some margins, which are all open. Margins of the same attributes stand together."""
    domain = base.domain
    for names, same in groupby(margins, key=lambda margin: tuple(_levels(domain, margin))):
        some = list(same)
        levels = {a: {_levels(domain, margin)[a] for margin in some} for a in names}
        cells = prod(sum(map(domain.hierarchy(a).size, levels[a])) for a in names)
        finest = domain.cell_count(domain.mask({a: base.levels[a] for a in names}))
        for others in (None, *(names if len(names) <= _AT_ALL_LEVELS else ())):
            # Of two values the others are those of the second, which is looked at itself.
            asked = [margin for margin in some if others is None or _without(domain, margin, others)[1] > 2]
            if len(asked) > 1 and max(cells, finest) <= _BLOCK:
                opened = [OpenCells.of_block(base, asked, k, others)]
            else:
                opened = [OpenCells.of_margin(base, margin, k, others) for margin in asked]
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

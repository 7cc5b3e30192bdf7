"""Certain cells: what follows without any doubt from published marginals about few attributes at a time.

A reader who puts marginals together can work out counts that no marginal shows. Here they are counted over all margins of
up to three attributes of which one is sensitive: the counts that are *determined*, since every table with the published
marginals has the same, and the cells of which at least one row *exists* in every such table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from checks.attacks.knowledge import Knowledge, Rows
from models.arrays import BoolArray, CountArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import TooManyCellsError
from models.programs.cell_bounds import CountBounds

ATTRIBUTES = 3
"""Attributes that a margin may have, the sensitive one among them."""

MOST_CELLS = 1 << 22
"""Cells of a margin, empty ones included, that are laid out."""

_MOST_SECONDS = 2.0
"""For the programs of one cell."""

Levels = Mapping[str, int]


@dataclass(frozen=True)
class CertainCell:
    """A cell whose count is determined. values: label by attribute. levels: of these. rows: the count."""

    values: Mapping[str, str]
    levels: Levels
    rows: int


@dataclass(frozen=True)
class CertainCells:
    """What is certain of the cells of all margins of up to `attributes` attributes at their finest published levels.

    determined: cells with one possible count, which is not 0. exists: cells that have a row for certain, those included.
    small: cells that are determined and have fewer rows than the largest k that is claimed. undecided: further cells that
    may be among these, since the time was over. unread: margins that were not looked at, for the same reason or their size.
    worst: of all published levels the determined cell with the fewest rows, as far as was looked; None where there is none.
    """

    determined: int
    exists: int
    small: int
    undecided: int
    unread: int
    worst: CertainCell | None
    attributes: int = ATTRIBUTES

    @property
    def is_complete(self) -> bool:
        """Whether the numbers are exact; where not, there are at least so many."""
        return not self.undecided and not self.unread


def certain_cells(
    knowledge: Knowledge,
    sensitive: str,
    views: Mapping[str, Sequence[Levels]],
    k: int,
    deadline: Deadline,
) -> CertainCells:
    """Count what is certain about a sensitive attribute.

    views: of each attribute how margins can show it, the finest first: at each published level, or, of one that is known
    in several ways at once, by a level of each. k: the largest one that is claimed, 0 for none. deadline: what is not
    decided by then stays undecided.
    """
    found = _Found(k)
    finest = {attribute: own[:1] for attribute, own in views.items()}
    left: list[tuple[Knowledge, dict[str, int], _Search]] = []
    for margin in _margins(sensitive, finest):
        if deadline.is_over or knowledge.domain.size(margin) > MOST_CELLS:
            found.unread += 1
            continue
        try:
            known = knowledge.about(margin)
            search = _searched(known, margin, deadline)
        except TooManyCellsError:
            found.unread += 1
            continue
        if len(search.waiting) and sum(len(other.lower) for *_, other in left) < MOST_CELLS:
            left.append((known, margin, search))
        else:
            found.add(known, margin, search)
    # What takes programs comes last, so that no cell that is hard to decide takes the time of others.
    for place, (known, margin, search) in enumerate(left):
        _programmed(known, margin, search, deadline.share(len(left) - place))
        found.add(known, margin, search)
    worst = found.worst
    seen = list(_margins(sensitive, finest))
    for margin in _margins(sensitive, views):
        if deadline.is_over:
            break
        if margin not in seen and knowledge.domain.size(margin) <= MOST_CELLS:
            worst = _smaller(knowledge, margin, _smallest(knowledge, margin, worst, deadline), worst)
    return CertainCells(found.determined, found.exists, found.small, found.undecided, found.unread, worst)


def certainly_small(
    knowledge: Knowledge, views: Mapping[str, Sequence[Levels]], k: int, deadline: Deadline = NEVER
) -> CertainCell | None:
    """A cell of up to three of some attributes at their finest that has at least one row for certain, and fewer than k.

    Found by bounds alone and before the deadline, so there may be others. rows: the most that it can have.
    """
    finest = {attribute: own[:1] for attribute, own in views.items()}
    for place, attribute in enumerate(finest):
        for margin in _margins(attribute, dict(list(finest.items())[: place + 1])):
            if deadline.is_over:
                return None
            if knowledge.domain.size(margin) > MOST_CELLS:
                continue
            lower, upper, _ = knowledge.about(margin).bounds(margin)
            if np.any(small := (lower > 0) & (upper < k)):
                return _smaller(knowledge, margin, np.where(small, upper, 0), None)
    return None


def _margins(sensitive: str, views: Mapping[str, Sequence[Levels]]) -> Iterator[dict[str, int]]:
    """All margins of the sensitive attribute and up to two others, few attributes first."""
    others = [attribute for attribute in views if attribute != sensitive]
    for number in range(ATTRIBUTES):
        for chosen in combinations(others, number):
            for each in product(*(views[attribute] for attribute in (*chosen, sensitive))):
                yield {name: level for levels in each for name, level in levels.items()}


class _Found:
    """Numbers of cells, over the margins so far."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.determined = self.exists = self.small = self.undecided = self.unread = 0
        self.worst: CertainCell | None = None

    def add(self, known: Knowledge, margin: Levels, search: "_Search") -> None:
        """Count the cells of a margin."""
        lower, upper = search.lower, search.upper
        determined = (lower == upper) & (lower > 0)
        self.determined += int(np.count_nonzero(determined))
        self.exists += int(np.count_nonzero(lower))
        self.small += int(np.count_nonzero(determined & (upper < self.k)))
        undecided = search.is_open() if known.is_whole else lower < upper
        self.undecided += 0 if search.is_sharp and known.is_whole else int(np.count_nonzero(undecided))
        self.worst = _smaller(known, margin, np.where(determined, lower, 0), self.worst)


def _searched(known: Knowledge, margin: Levels, deadline: Deadline) -> "_Search":
    """What bounds, tables and flows tell of a margin."""
    search = _Search(*known.bounds(margin))
    for rows in known.tables() if len(search.waiting) else ():
        search.see(rows(margin))
        if not len(search.waiting):
            break
    for cell in search.waiting.tolist():
        if deadline.is_over:
            break
        if cell in search.waiting:
            search.learn(cell, *known.settled(margin, cell, 0.0), margin)
    return search


def _programmed(known: Knowledge, margin: Levels, search: "_Search", deadline: Deadline) -> None:
    """Decide what is waiting by programs, as far as there is time."""
    for cell in search.waiting.tolist():
        if deadline.is_over:
            break
        if cell in search.waiting:
            search.learn(cell, *known.settled(margin, cell, min(deadline.left, _MOST_SECONDS)), margin)


class _Search:
    """Cells of a margin of which it is looked for what is certain, until none is waiting.

    lower, upper: proven bounds. is_sharp: whether all of them are. least, most: of the counts seen to be possible, the
    bounds turned round where none was. waiting: cells that are open.
    """

    def __init__(self, lower: CountArray, upper: CountArray, is_sharp: bool) -> None:
        self.lower, self.upper, self.is_sharp = lower.copy(), upper.copy(), is_sharp
        self.least, self.most = upper.copy(), lower.copy()
        self.waiting: IndexArray = np.flatnonzero(self.is_open() & (not is_sharp))

    def is_open(self) -> BoolArray:
        """Cells that may have a row for certain, or be determined, beyond what is proven."""
        may_exist = (self.lower == 0) & (self.least > 0)
        may_be_determined = (self.lower > 0) & (self.least >= self.most)
        return np.asarray((self.lower < self.upper) & (may_exist | may_be_determined))

    def see(self, rows: CountArray) -> None:
        """Learn that these counts are possible."""
        cells = self.waiting
        self.least[cells] = np.minimum(self.least[cells], rows[cells])
        self.most[cells] = np.maximum(self.most[cells], rows[cells])
        self.waiting = cells[self.is_open()[cells]]

    def learn(self, cell: int, bounds: CountBounds, tables: Sequence[Rows], margin: Levels) -> None:
        """Learn what one cell was settled to, and the tables that were found."""
        self.lower[cell] = max(self.lower[cell], bounds.lower)
        self.upper[cell] = min(self.upper[cell], bounds.upper)
        if bounds.sharp:
            self.least[cell], self.most[cell] = bounds.lower, bounds.upper
            self.waiting = self.waiting[self.waiting != cell]
        for rows in tables:
            self.see(rows(margin))


def _smaller(knowledge: Knowledge, margin: Levels, rows: CountArray, worst: CertainCell | None) -> CertainCell | None:
    """The first cell with the fewest rows, if these are fewer than those of the worst so far. rows: 0 for no candidate."""
    candidates = np.flatnonzero(rows)
    if not len(candidates):
        return worst
    cell = int(candidates[rows[candidates].argmin()])
    if worst is not None and rows[cell] >= worst.rows:
        return worst
    shape = [knowledge.domain.hierarchy(a).size(level) for a, level in margin.items()]
    codes = np.unravel_index(cell, shape)
    labels = {
        a: knowledge.domain.hierarchy(a).labels[level][int(code)] for (a, level), code in zip(margin.items(), codes)
    }
    return CertainCell(labels, dict(margin), int(rows[cell]))


def _smallest(knowledge: Knowledge, margin: Levels, worst: CertainCell | None, deadline: Deadline) -> CountArray:
    """A determined cell of a margin with fewer rows than the worst so far, and with the fewest: its rows, 0 elsewhere.

    Only what is the same in every table that was seen can be determined.
    """
    determined: CountArray = np.zeros(knowledge.domain.size(margin), dtype=np.int64)
    knowledge = knowledge.about(margin)
    tables = [rows(margin) for rows in knowledge.tables()]
    if not tables:
        try:
            lower, upper, _ = knowledge.bounds(margin)
        except TooManyCellsError:
            return determined
        return np.where((lower == upper) & (lower > 0), lower, 0)
    rows = tables[0]
    is_same = np.logical_and.reduce([rows == others for others in tables])
    candidates = np.flatnonzero(is_same & (rows > 0) & (rows < (np.inf if worst is None else worst.rows)))
    candidates = candidates[np.argsort(rows[candidates], kind="stable")]
    while len(candidates) and not deadline.is_over:
        cell, candidates = int(candidates[0]), candidates[1:]
        bounds, more = knowledge.settled(margin, cell, min(deadline.left, _MOST_SECONDS))
        if bounds.lower == bounds.upper:
            determined[cell] = bounds.lower
            break
        for others in more:
            candidates = candidates[others(margin)[candidates] == rows[candidates]]
    return determined

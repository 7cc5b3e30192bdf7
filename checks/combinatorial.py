"""k-combinatorial anonymity: no cell that some consistent table can fill must hold fewer than k rows (KG06 Def. 4.2).

U(t) is the largest count that a nonnegative integer table with the given marginals can put on the nonsensitive cell t.
A collection passes if no t has 0 < U(t) < k. For a decomposable collection with one sensitive attribute C:

    U(t) = min( sum_s min_{i: C in E_i} T_Ei(t, s),  min_{j: C not in E_j} T_Ej(t) ).

If cliques show C at several levels, the inner part nests. Let cliques of a level allow some rows for a value. They are
at most the sum of the rows that finer cliques allow for its children. If k-link holds, only cliques with C can break
k-combinatorial anonymity, and only if there are at least two of them. Several sensitive attributes are searched as
groups.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checks.classes import k_link, nonsensitive_part
from checks.finding import DECISIVE, FULL, Algorithm, Budget, Finding, Verdict, WorstClass, verdict_of
from checks.maxent.hull import TooManyVectorsError
from checks.maxent.sensitive_tree import ClassSource, FittingClasses, SensitiveTree
from models.arrays import BoolArray, FloatArray, IndexArray
from models.errors import TimeOverError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree, cyclic_parts
from models.programs.consistent_tables import possible_cells
from models.programs.extremes import Effort, Unknowns, narrow, sums_of_cells
from models.programs.packing import Packing
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Mask

# Sensitive attributes that are published together, directly or by way of others, and the cliques that show them: these
# are a connected part of the junction tree, and every separator within it holds one of the attributes.


JOINT_CELLS = 20_000
"""Most cells of the sensitive attributes of a group that rows are packed into."""

_LIMITS = 1 << 25
"""Most limits of all classes of a group together."""


class SensitiveGroup(NamedTuple):
    """Sensitive attributes that are linked by cliques, and the cliques that show any of them."""

    attributes: tuple[str, ...]
    cliques: tuple[Mask, ...]


def sensitive_groups(
    domain: Domain, cliques: AnyCollection[Mask], sensitive: AnyCollection[str]
) -> list[SensitiveGroup]:
    """Return the groups of sensitive attributes that cliques show, in the domain's order; a clique links its attributes."""
    steps = {name: mask & -mask for name, mask in zip(domain.attributes, domain.attribute_masks) if name in sensitive}
    groups: dict[Mask, tuple[Mask, ...]] = {}
    for clique in cliques:
        if steps_in := clique & sum(steps.values()):
            linked = [mask for mask in groups if mask & steps_in]
            held = [member for mask in linked for member in groups.pop(mask)]
            groups[reduce(or_, linked, steps_in)] = (*held, clique)
    return [
        SensitiveGroup(tuple(name for name, step in steps.items() if step & steps_in), held)
        for steps_in, held in groups.items()
    ]


@frozen(eq=False)
class GroupTree(FittingClasses[ContingencyTable]):
    """Cliques of a group of several sensitive attributes, joined along their separators.

    packing: of rows into the sensitive cells, by the sensitive parts of cliques. blocks: the part of each clique.
    """

    cube: DataCube
    packing: Packing
    blocks: tuple[int, ...]

    @classmethod
    def of(cls, cube: DataCube, group: SensitiveGroup) -> "GroupTree":
        """Return the tree of a group of a decomposable collection. Raises TooManyCellsError if it is too large."""
        domain, attributes = cube.domain, group.attributes
        tree = JunctionTree.of(domain, group.cliques)

        def table_of(mask: Mask) -> ContingencyTable:
            return cube.table(nonsensitive_part(domain, mask, attributes))

        classes = tuple(map(table_of, tree.cliques))
        separators = tuple(map(table_of, tree.separators))
        parts = [clique & ~nonsensitive_part(domain, clique, attributes) for clique in tree.cliques]
        masks = sorted(set(parts))
        packing = Packing.of(cube, masks, JOINT_CELLS)
        if sum(map(len, classes)) * packing.width > _LIMITS:
            raise TooManyCellsError("the classes with their sensitive values are too many to be laid out")
        return cls(tree, classes, separators, cube, packing, tuple(map(masks.index, parts)))

    def limits(self, cap: float) -> tuple[FloatArray, ...]:
        """Return the limits of each class of each clique: its counts, at most `cap`, in its own margin's part; `cap`
        elsewhere.

        Shape (classes, packing.width). The limits of a class combination are the componentwise minima.
        """
        limits = []
        for clique, classes, block in zip(self.tree.cliques, self.classes, self.blocks):
            cells, sensitive_cells = self.cube.table(clique), self.packing.tables[block]
            counts = np.zeros((len(classes), len(sensitive_cells)))
            counts[cells.positions_in(classes), cells.positions_in(sensitive_cells)] = cells.counts
            limits.append(_padded(counts, self.packing.begins[block], self.packing.width, cap))
        return tuple(limits)

    def describe(self, combination: Sequence[int]) -> WorstClass:
        """Return a class combination for a reader: its cell, each attribute at the finest level, and the margins."""
        return WorstClass(self.cell(combination), margins=self.tree.margins)


def _padded(counts: NDArray[Any], begin: int, width: int, cap: float) -> FloatArray:
    limits = np.full((len(counts), width), cap)
    limits[:, begin : begin + counts.shape[1]] = np.minimum(counts, cap)
    return limits


Part: TypeAlias = SensitiveTree | GroupTree
"""Cliques of one sensitive attribute, or of several that are linked."""


def _level_begins(tree: SensitiveTree) -> dict[int, int]:
    levels = sorted({classes.level for classes in tree.classes})
    sizes = [tree.domain.hierarchy(tree.sensitive).size(level) for level in levels]
    return dict(zip(levels, np.cumsum([0, *sizes]).tolist()))


def level_limits(tree: SensitiveTree, cap: float = np.inf) -> tuple[FloatArray, ...]:
    """Return the limits of each class of each clique: its counts, at most `cap`, at its own level; `cap` elsewhere."""
    begins = _level_begins(tree)
    width = sum(map(tree.domain.hierarchy(tree.sensitive).size, begins))
    return tuple(_padded(classes.counts, begins[classes.level], width, cap) for classes in tree.classes)


def upper_bounds(tree: SensitiveTree, limits: FloatArray) -> FloatArray:
    """Return U of class combinations, from the componentwise minima of their `level_limits`: shape (n,)."""
    hierarchy, begins = tree.domain.hierarchy(tree.sensitive), _level_begins(tree)
    finest = min(begins)
    allowed, below = limits[:, : hierarchy.size(finest)], finest
    for level, begin in list(begins.items())[1:]:
        sums = allowed @ np.eye(hierarchy.size(level))[hierarchy.lift(below, level)]
        allowed, below = np.minimum(sums, limits[:, begin : begin + hierarchy.size(level)]), level
    return np.asarray(allowed.sum(axis=1), dtype=np.float64)


_PARTIAL, _PARTIALS = 5, 1_000_000
"""Work for a partial combination, in units of branch and bound, and the most partial combinations that are examined."""

_FLOW = 50
"""Partial combinations that cost as much as one flow."""

_NUMBERS = 1 << 21
"""Limits that are processed together."""


@dataclass
class _RoomCheck:
    """Check of how many rows the limits of class combinations leave room for, exact for single cells; it counts the work."""

    part: Part
    k: int
    budget: Budget
    examined: int = 0
    algorithms: dict[Algorithm, None] = field(default_factory=dict)
    undecided: WorstClass | None = None

    @cached_property
    def effort(self) -> Effort:
        return Effort(self.budget.seconds, self.budget.nodes, self.budget.programs, self.part.deadline)

    @cached_property
    def limits(self) -> tuple[FloatArray, ...]:
        cap = float(self.k)
        return level_limits(self.part, cap) if isinstance(self.part, SensitiveTree) else self.part.limits(cap)

    def screened(self, limits: FloatArray, enough: float = 1.0) -> FloatArray:
        """Return how many rows surely fit, up to `enough`, 0 only if none fits; exact for one attribute."""
        if isinstance(self.part, GroupTree):
            return self.part.packing.screened(limits, enough)
        return upper_bounds(self.part, limits)

    def spend(self, work: int) -> None:
        self.examined += work
        if self.examined > min(self.budget.branches // _PARTIAL, _PARTIALS):
            raise TooManyVectorsError

    def failing(self, chosen: IndexArray, limits: FloatArray) -> WorstClass | None:
        """Return the first cell that some rows fit into, but fewer than k; a cell that cannot be decided is recorded."""
        _, first = np.unique(limits, axis=0, return_index=True)
        for place in np.sort(first).tolist():
            self.part.deadline.check()
            least, most = self._rows(limits[place], self.k)
            if least < self.k <= most:
                self.undecided = self._described(chosen[place], least, most)
            if most < self.k:
                exactly = (least, most) if least == most else self._rows(limits[place], most)
                return self._described(chosen[place], *exactly)
        return None

    def _rows(self, limits: FloatArray, enough: int) -> tuple[int, int]:
        if isinstance(self.part, SensitiveTree):
            exactly = int(upper_bounds(self.part, limits[None])[0])
            return exactly, exactly
        packing = self.part.packing
        self.algorithms[Algorithm.MAXIMUM_FLOW if packing.takes_flow(limits) else Algorithm.INTEGER_PROGRAMMING] = None
        self.spend(_FLOW)
        return packing.rows(limits, enough, self.effort)

    def _described(self, combination: IndexArray, least: int, most: int) -> WorstClass:
        worst = self.part.describe(combination.tolist())
        if least == most or most == 1:  # some row is known to fit
            return replace(worst, count=most)
        return replace(worst, count_between=(max(least, 1), most))

    def finding(self, verdict: Verdict, worst: WorstClass | None = None) -> Finding:
        if verdict is Verdict.UNDECIDED or (verdict is Verdict.HOLDS and self.undecided is not None):
            verdict, worst = Verdict.UNDECIDED, self.undecided
        algorithms = (Algorithm.BRANCH_AND_BOUND, *self.algorithms)
        return Finding("k-combinatorial", verdict, {"k": self.k}, worst, algorithms, self.examined)


def by_search(part: Part, k: int, budget: Budget = FULL) -> Finding:
    """Search for a class combination with 0 < U < k, clique by clique, those with the fewest sure rows first.

    A partial combination is dropped if no row fits, or k rows in any case. Undecided if the budget has too little
    work.
    """
    check = _RoomCheck(part, k, budget)
    factors = check.limits
    arriving = part.messages(lambda clique: factors[clique].copy(), np.minimum)

    def screen(chosen: IndexArray, limits: FloatArray) -> IndexArray:
        check.spend(len(chosen))
        lowest = limits
        for clique in range(chosen.shape[1], len(factors)):
            parent = part.tree.parents[clique]
            if parent < chosen.shape[1]:
                lowest = np.minimum(lowest, arriving[clique][part.outward[clique][chosen[:, parent]]])
        surely = check.screened(lowest, float(k))
        possible = surely if lowest is limits else check.screened(limits)
        places = np.flatnonzero((possible > 0) & (surely < k))
        return np.asarray(places[np.argsort(surely[places], kind="stable")], dtype=np.intp)

    width = max(factors[0].shape[1], 0 if isinstance(part, SensitiveTree) else len(part.packing.places[0]), 1)
    try:
        for chosen, limits in part.depth_first(factors, np.minimum, screen, max(_NUMBERS // width, 16)):
            if (worst := check.failing(chosen, limits)) is not None:
                return check.finding(Verdict.FAILS, worst)
    except TooManyVectorsError:
        return check.finding(Verdict.UNDECIDED)
    return check.finding(Verdict.HOLDS)


def k_combinatorial(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    """Decide whether a collection is k-combinatorially anonymous.

    With a junction tree the verdict is by groups of sensitive attributes that are published together, else by
    programming. The cell shown is below k, or else has the smallest count U. Undecided if the budget ends first.

    Parameters
    ----------
    collection
        The published marginals.
    sensitive
        Attributes that are set aside.
    k
        Least number of rows.
    budget
        Work that the check may do.

    Raises
    ------
    TimeOverError
        If the budget's deadline comes first.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return replace(link, criterion="k-combinatorial", parameters=parameters)
    if not collection.is_decomposable:
        return _of_cyclic_parts(collection, sensitive, k, budget)
    groups = sensitive_groups(collection.domain, collection.junction_tree.cliques, sensitive)
    parts: list[Part] = []
    findings: list[Finding] = []
    for group in groups:
        if len(group.cliques) == 1:  # every class has k rows, so one clique cannot break the claim
            continue
        try:
            parts.append(tree_of_group(collection, group))
            finding = by_search(parts[-1].until(budget.deadline), k, budget)
        except TooManyCellsError as error:
            finding = Finding("k-combinatorial", Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, str(error))
        if finding.verdict is Verdict.FAILS:
            return finding
        findings.append(finding)
    if not findings:
        return replace(link, criterion="k-combinatorial", parameters=parameters)
    decisive = min(findings, key=lambda finding: DECISIVE.index(finding.verdict))
    if not decisive.holds:
        return decisive
    algorithms = dict.fromkeys(algorithm for finding in findings for algorithm in finding.algorithms)
    examined = sum(finding.examined for finding in findings)
    together = replace(decisive, algorithms=tuple(algorithms), examined=examined)
    return _with_nearest(together, [part.until(budget.deadline) for part in parts], link, budget)


def _of_cyclic_parts(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    # The other margins can be glued to the parts: U is the least of U in each part and of the counts in other margins.
    domain = collection.domain
    aside = sum(mask for name, mask in zip(domain.attributes, domain.attribute_masks) if name in sensitive)
    findings = []
    for part in cyclic_parts(collection, aside):
        decide = k_combinatorial if part.is_decomposable else by_programming
        findings.append(decide(part, sensitive, k, budget))
    decisive = min(findings, key=lambda finding: DECISIVE.index(finding.verdict))
    return replace(decisive, examined=sum(finding.examined for finding in findings))


def tree_of_group(collection: Collection, group: SensitiveGroup) -> Part:
    """Return the tree of a group of a decomposable collection. Raises TooManyCellsError if it is too large."""
    if len(group.attributes) > 1:
        return GroupTree.of(collection.cube, group)
    (attribute,) = group.attributes
    return SensitiveTree.of(collection.junction_tree, attribute, ClassSource(collection.cube.table, attribute))


def _with_nearest(holding: Finding, parts: Sequence[Part], link: Finding, budget: Budget) -> Finding:
    # The cell shown is the smallest one found if the budget's proof ends the search.
    nearest, examined = link, 0
    limited = replace(budget, programs=min(budget.programs, _NEAREST_PROGRAMS))
    for part in parts:
        while (count := nearest.worst_class.count) is not None and count > holding.parameters["k"]:
            try:
                closer = by_search(part, count, replace(limited, branches=_PARTIAL * (budget.proof - examined)))
            except TimeOverError:
                closer = replace(holding, verdict=Verdict.UNDECIDED, examined=0)
            examined += closer.examined
            if closer.verdict is Verdict.UNDECIDED:
                note = "the cell shown is the one with the smallest count that was found; others may have a smaller one"
                return replace(holding, worst=nearest.worst, examined=holding.examined + examined, note=note)
            if closer.verdict is Verdict.HOLDS:
                break
            nearest = closer
    return replace(holding, worst=nearest.worst, examined=holding.examined + examined)


_NEAREST_PROGRAMS = 50
"""Most programs of one search for a cell that is nearer to failing."""


# k-combinatorial anonymity where cliques show several sensitive attributes together.
#
# Let t be a nonsensitive cell of a decomposable collection and u_E the counts of T_E in t, over the sensitive attributes of
# E. Then U(t) is the largest sum of a table x of nonnegative whole numbers over the sensitive cells whose E-margin is at
# most u_E for every clique E. The part of any table in t is such an x. Conversely x can be placed on t: the rest of each
# T_E is nonnegative and agrees on separators, so it can be glued to one table with these marginals.
#
# Packings of two groups that no cliques link can be joined row by row: U(t) is the least over the groups and the cliques
# without any. So a group with 0 < U < k breaks the collection. If each class has k rows, nothing else can.
#
# Rows that fit surely settle most cells, flows and integer programs the others. Linear programs would pass bad cells: the
# cliques {S, R, Q}, {X, S}, {Y, R}, {Z, Q} over two values each with the rows 000|000, 100|011, 011|101 and 111|110 of
# (XYZ|SRQ) have U(000) = 1 and a linear optimum of 2.


def by_programming(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    """Decide k-combinatorial anonymity by programs; undecided, with the proven interval of a cell, when the budget ends."""
    undecided = Finding(
        "k-combinatorial", Verdict.UNDECIDED, {"k": k}, None, (Algorithm.INTEGER_PROGRAMMING,), examined=0
    )
    try:
        cells = possible_cells(collection, budget.cells)
    except TooManyCellsError as error:
        return replace(undecided, note=str(error))
    domain = collection.domain
    public = {a: level for a, level in cells.cells.margin.items() if a not in sensitive}
    places, groups = cells.grouped(public)
    unknowns = sums_of_cells(cells, groups, len(places))

    def is_below(block: Unknowns) -> BoolArray:
        return np.asarray(block.attained[1] & (block.upper > 0) & (block.upper < k))

    def open_bounds(block: Unknowns) -> BoolArray:
        is_open = ~block.attained[1] & (block.seen_high < k) & (block.upper > 0)
        return np.stack([np.zeros(len(block), dtype=np.bool_), is_open & ~is_below(block).any()])

    effort = Effort(budget.seconds, budget.nodes, budget.programs, budget.deadline)
    narrow([unknowns], open_bounds, effort)
    solved = replace(undecided, examined=budget.programs - effort.programs)
    failing, waiting = np.flatnonzero(is_below(unknowns)), np.flatnonzero(open_bounds(unknowns)[1])
    if not len(failing) and not len(waiting):
        return replace(solved, verdict=Verdict.HOLDS)
    cell = int(failing[unknowns.upper[failing].argmin()] if len(failing) else waiting[0])
    most = int(unknowns.upper[cell])
    margins = [dict(m) for m in collection.margins if nonsensitive_part(domain, domain.mask(m), sensitive)]
    worst = WorstClass(cells.labels(int(places[cell]), public), margins=margins)
    if len(failing):
        return replace(solved, verdict=Verdict.FAILS, worst=replace(worst, count=most))
    what = "time was over" if budget.deadline.is_over else "budget of programs ended"
    note = f"the {what} before every cell was decided"
    return replace(solved, worst=replace(worst, count_between=(0, most)), note=note)


# A least count of every cell: no count from 1 to m - 1 is published, and none is proven by the published counts.
#
# Let U(S) be the largest count that a table with the given marginals can have in a set S of cells at the finest published
# levels. A collection passes if no S has 0 < U(S) < m. Then no count in 1 .. m - 1 follows: a count that is determined is
# its own U. Single cells decide, since U(S) is at least U(t) for each t in S. So this is k-combinatorial anonymity with no
# attribute set aside, and k = m, and every published count must be 0 or at least m.
#
# With a junction tree that is enough. Let t be a joint cell in which each clique's T_E(t) is positive, and n >= m the
# least of these. Take n rows from the cell of t in every clique. The rest agrees on separators, so it can be glued to one
# table. With n more rows in t it has the published marginals: U(t) = n. The same holds for several levels (KG06 6.1).
#
# Without a junction tree it is not: AB, BC and AC with the joint counts 3 0 2 3 0 0 3 0 over 000 .. 111 show no count
# below 3 and determine a 2. Nor is it enough if combinations are impossible. Then programs decide each cell of the cyclic
# parts.


def min_cell(collection: Collection, least: int, budget: Budget = FULL) -> Finding:
    """Decide whether no published count, and no upper bound that the marginals prove, is in 1 .. least - 1.

    The cell shown is the smallest published one, or the one with the bound. The verdict is exact with a junction tree,
    in linear time; else programs decide, or the verdict is undecided.

    Parameters
    ----------
    collection
        The published marginals.
    least
        Least number of rows of a cell.
    budget
        Work that the check may do.
    """
    # A collection without margins publishes the number of all rows.
    counted = collection if collection.masks else replace(collection, masks=(0,))
    published = replace(k_link(counted, (), least), criterion="min-cell")
    if not published.holds:
        return published
    if collection.is_decomposable:
        return replace(published, algorithms=(Algorithm.K_LINK,))
    decisive = _of_cyclic_parts(collection, (), least, budget)
    examined = published.examined + decisive.examined
    if not decisive.holds:
        return replace(decisive, criterion="min-cell", examined=examined)
    note = "the cell shown is the smallest published one; together the tables can bound another one by less"
    return replace(published, algorithms=decisive.algorithms, examined=examined, note=note)


# Labels: if a label tells that m values occur, with n rows together, no value has more than n - m + 1 rows (4.17).


ToldByLabels = Mapping[str, Mapping[str, int]]
"""Number of values that readers know to occur, each with at least one row, by attribute and label.

For other labels only the count is known."""


def label_counts(collection: Collection, labels: ToldByLabels, least: int) -> Finding:
    """Decide whether labels, with the counts of the published values, imply no count in 1 .. least - 1.

    The values of every level from the finest published one on are examined. The label shown is the first that does.
    """
    worst, note, examined = None, "", 0
    for attribute in filter(collection.shows, collection.domain.attributes):
        occurring_by_label, finest = labels.get(attribute, {}), collection.finest_level(attribute)
        hierarchy = collection.domain.hierarchy(attribute)
        counted = collection.cube.table(collection.domain.mask({attribute: finest}))
        for level in range(finest, hierarchy.height if occurring_by_label else finest):
            above = hierarchy.lift(finest, level)[counted.codes[0]]
            rows = np.bincount(above, counted.counts, minlength=hierarchy.size(level))
            for label, number in zip(hierarchy.labels[level], rows.astype(np.int64).tolist()):
                if (occurring := occurring_by_label.get(label)) is None:
                    continue
                examined += 1
                most = max(number - max(occurring - 1, 0), 0)  # of one of the values
                if worst is None and occurring and number and most < least > 1:
                    worst = WorstClass({attribute: label}, {attribute: level}, count=most)
                    note = (
                        f"the label {label!r} of {attribute!r} tells that {occurring:,} values occur, with {number:,} rows "
                        f"together, so none of them has more than {most:,}"
                    )
    return Finding("labels", verdict_of(worst is None), {"k": least}, worst, (Algorithm.MINIMUM,), examined, note)


def crowded(collection: Collection, least: int) -> tuple[str, ...]:
    """Return the attributes with small counts if readers knew that all values below the published ones occur."""
    result = []
    for attribute in filter(collection.shows, collection.domain.attributes):
        hierarchy, finest = collection.domain.hierarchy(attribute), collection.finest_level(attribute)
        counted = collection.cube.table(collection.domain.mask({attribute: finest}))
        below = hierarchy.leaf_counts(finest)[counted.codes[0]]
        if ((below > 1) & (counted.counts - below + 1 < least)).any():
            result.append(attribute)
    return tuple(result)

"""Leaving out rows until the rest is diverse: full-domain tables with the fewest rows left out (MKGV07, end of section 5).

Each class loses as few rows as it can, or all of them. This does not protect from readers who know that a person is in the
table, and how many share its published values: they count the rows that are left out, which have frequent values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checks.diversity.criteria import Distinct, Entropy, Functional, Recursive, Simple
from checks.diversity.criterion import Diversity, satisfies
from checks.errors import CriterionError
from checks.requirements import Requirements
from marginals.errors import InputError
from marginals.recoding.lattice import Progress, minimal_levels, named_table, no_progress
from marginals.recoding.local_recoding import LocalRecoding
from marginals.results import plain
from marginals.tables.table import Table
from models.arrays import CountArray, IndexArray
from models.tables.contingency_table import ContingencyTable
from models.tables.generalized_cells import GeneralizedCells, Taxonomy, nodes_of
from models.tables.hierarchy import Margin

_EVEN = (Distinct, Simple, Entropy, Recursive, Functional)
"""Criteria that depend on the shares alone, and hold the better the more even these are."""


def kept_rows(counts: CountArray, diversity: Diversity | None, k: int = 1) -> CountArray:
    """Of each class the most rows that satisfy a criterion and are at least k, by value; none where no rows do.

    counts: shape (classes, values), rows; so is the result. diversity: distinct, simple, entropy, recursive or functional.
    """
    remaining = np.array(counts, dtype=np.int64)
    if diversity is not None and len(remaining):
        fails = ~satisfies(diversity, remaining)
        remaining[fails] = _levelled(remaining[fails], diversity)
    remaining[remaining.sum(axis=1) < k] = 0
    return remaining


def _levelled(counts: CountArray, diversity: Diversity) -> CountArray:
    # What majorizes a class that fails fails, too, and of all ways to keep s rows the most even one lowers the most frequent
    # values to one height. Whole heights pass up to some T; above it each number of values that are one higher is tried.
    low, high = np.zeros(len(counts), dtype=np.int64), counts.max(axis=1, initial=0)
    while (low + 1 < high).any():
        middle = np.maximum((low + high) // 2, 1)
        passes = satisfies(diversity, np.minimum(counts, middle[:, None]))
        low, high = np.where(passes, middle, low), np.where(passes, high, middle)
    levelled = np.minimum(counts, low[:, None])
    is_higher = (counts > low[:, None]) & (low > 0)[:, None]
    place = np.cumsum(is_higher, axis=1)
    for number in range(1, counts.shape[1] + 1):
        raised = np.minimum(counts, low[:, None]) + (is_higher & (place <= number))
        more = is_higher.sum(axis=1) >= number
        more[more] = satisfies(diversity, raised[more])
        levelled[more] = raised[more]
    return levelled


@dataclass(frozen=True, eq=False)
class ThinnedTable:
    """One full-domain table without some rows, so that it satisfies the requirements.

    thinned: classes that lost some rows, dropped: all. In the utility and the divergence, of rows left out nothing is known.
    """

    levels: Margin
    left_out: int
    thinned: int
    dropped: int
    recoding: LocalRecoding
    information_utility: float
    kl_divergence: float

    def __repr__(self) -> str:
        levels = ", ".join(f"{attribute}={level}" for attribute, level in self.levels.items())
        return f"ThinnedTable({levels}; {self.left_out} rows left out)"

    def as_json(self) -> dict[str, object]:
        """The table as plain values."""
        names = ("levels", "left_out", "thinned", "dropped", "kl_divergence")
        told = {name: plain(getattr(self, name)) for name in names} | plain(self.recoding)
        return {**told, "information_utility": self.information_utility}


def thinned_tables(
    table: Table,
    requirements: Requirements,
    share: float,
    progress: Progress = no_progress,
) -> tuple[ThinnedTable, ...]:
    """All minimal full-domain tables with at most a share of the rows left out, best KL divergence first.

    Exact: merging two classes never makes more rows be left out, as what is left of both is diverse together. Raises
    InputError for requirements that rows cannot be left out for.
    """
    diversity, k = _judged(requirements), requirements.class_size or 1
    spare = int(share * table.rows)

    def passes(levels: Mapping[str, int]) -> bool:
        counts = _class_counts(_shown(table, levels), table)
        return int(counts.sum() - kept_rows(counts, diversity, k).sum()) <= spare

    margins = minimal_levels(table.cube, table.quasi_identifiers, passes, progress)
    tables = [thinned_table(table, levels, requirements) for levels in margins]
    return tuple(sorted(tables, key=lambda one: (one.kl_divergence, tuple(one.levels.values()))))


def thinned_table(table: Table, levels: Mapping[str, int], requirements: Requirements) -> ThinnedTable:
    """The table at some levels of its quasi-identifiers, with the fewest rows left out. Raises as `thinned_tables`."""
    diversity, k = _judged(requirements), requirements.class_size or 1
    counts = _class_counts(_shown(table, levels), table)
    remaining = kept_rows(counts, diversity, k)
    left_out = int(counts.sum() - remaining.sum())
    table = named_table(table, {**levels, **dict.fromkeys(table.sensitive, 0)}, requirements.least_count + left_out)
    margin = _shown(table, levels)
    rows = remaining[_places(margin, table)]
    nodes, roots = nodes_of(margin), [Taxonomy(hierarchy).root for hierarchy in table.domain.hierarchies]
    shown = GeneralizedCells.from_rows(table.domain, nodes, rows)
    both = GeneralizedCells.from_rows(table.domain, np.vstack([nodes, roots]), np.append(rows, left_out))
    sizes = remaining.sum(axis=1)
    return ThinnedTable(
        levels=Margin(levels),
        left_out=left_out,
        thinned=int(((sizes > 0) & (sizes < counts.sum(axis=1))).sum()),
        dropped=int((sizes == 0).sum()),
        recoding=LocalRecoding(shown, table.quasi_identifiers, table.sensitive),
        information_utility=both.information_utility,
        kl_divergence=both.kl_divergence(table.base_counts),
    )


def _shown(table: Table, levels: Mapping[str, int]) -> ContingencyTable:
    return table.cube.table(table.domain.mask({**levels, **dict.fromkeys(table.sensitive, 0)}))


def _places(counted: ContingencyTable, table: Table) -> tuple[IndexArray, IndexArray]:
    public = {name: level for name, level in counted.margin.items() if name in table.quasi_identifiers}
    class_of = counted.positions_in(counted.rolled_up(public))
    value = counted.column(table.sensitive[0], 0) if table.sensitive else np.zeros(len(counted), dtype=np.intp)
    return class_of.astype(np.intp), value.astype(np.intp)


def _class_counts(counted: ContingencyTable, table: Table) -> CountArray:
    class_of, value = _places(counted, table)
    values = table.domain.hierarchy(table.sensitive[0]).size(0) if table.sensitive else 1
    counts = np.zeros((int(class_of.max(initial=-1)) + 1, values), dtype=np.int64)
    np.add.at(counts, (class_of, value), counted.counts)
    return counts


def _judged(requirements: Requirements) -> Diversity | None:
    if requirements.register:
        raise InputError(
            "register = true is about readers who know who is in the table; they count the rows that are left out, too, so "
            "leaving out rows does not keep it; take it out of [privacy] if no reader has such a register"
        )
    if (requirements.cell_size or 1) > 1:
        raise InputError("rows are left out of classes, which does not keep a least count of cells; leave out min_cell")
    if len(requirements.sensitive) > 1:
        raise InputError(
            f"rows are left out for one sensitive attribute, and the table has {len(requirements.sensitive)}; give the role "
            '"ignored" to the others'
        )
    try:
        diversity = requirements.common_diversity
    except CriterionError:
        raise InputError("rows are left out for one diversity, at level 0; demand one alone") from None
    plain = [claim.class_diversity for claim in requirements.diversity_claims] or [None]
    is_even = isinstance(diversity, _EVEN) and not getattr(diversity, "dont_care", None)
    if isinstance(diversity, Functional):
        is_even = diversity.induction is None
    if diversity is not None and (plain != [diversity] or not is_even):
        raise InputError(
            f"rows are left out for distinct, simple, entropy, recursive or functional diversity, and not for {diversity}"
        )
    return diversity

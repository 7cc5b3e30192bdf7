"""Tables with roles for Hypothesis, and slow, plain checks of what local recoding publishes."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from checks import Functional
from dice import Dice, Thrown
from marginals import Role, Table
from marginals.recoding.local_recoding import LocalRecoding
from models import ContingencyTable, GeneralizedCells
from privacy_strategies import fractions_between
from strategies import contingency_tables, domains


@Thrown
def tables(dice: Dice, sensitive_count: int = 1) -> Table:
    """2 .. 4 attributes in any order, of which so many are sensitive, with 1 .. 60 rows."""
    domain = domains.of(dice, min_attributes=sensitive_count + 1)
    counts = contingency_tables.of(dice, domain)
    secret = dice.some(sensitive_count, domain.attributes)
    return Table(counts, {a: Role.SENSITIVE if a in secret else Role.QUASI_IDENTIFIER for a in domain.attributes})


@Thrown
def requirements(dice: Dice, most: int = 5) -> Functional:
    """Any (tau, l) with l of at most `most`."""
    shares = fractions_between(Fraction(1, 10), Fraction(9, 10), 12)
    return Functional(dice.one_of(shares), dice.between(2, most))


def line_holds(frequencies: Sequence[Fraction], requirement: Functional) -> bool:
    """TZ09 Def. 4 word by word. frequencies: shares of a class, in any order."""
    largest = accumulate(sorted(frequencies, reverse=True)[: requirement.l - 1])  # the sums of the k largest
    step = (1 - requirement.tau) / (requirement.l - 1)
    return all(held <= requirement.tau + step * (k - 1) for k, held in enumerate(largest, 1))


def classes_hold(recoding: LocalRecoding, table: Table, requirement: Functional) -> bool:
    """Whether each class of the published frame is diverse, base values that occur in the table being equally likely.

    Published values are told apart by the cells, not by their labels, of which a hierarchy may repeat some.
    """
    for attribute in table.sensitive:
        axis = table.domain.index(attribute)
        hierarchy = table.domain.hierarchy(attribute)
        occurring = set(table.counts.column(attribute, 0).tolist())
        public = [table.domain.index(a) for a in table.quasi_identifiers]
        classes: dict[tuple[int, ...], dict[int, int]] = {}
        taxonomy = recoding.cells.taxonomies[axis]
        occurring_under = {
            node: {
                leaf
                for leaf, code in enumerate(hierarchy.lift(0, int(taxonomy.levels[node])).tolist())
                if code == node - taxonomy.offsets[taxonomy.levels[node]]
            }
            & occurring
            for node in set(recoding.cells.nodes[:, axis].tolist())
        }
        evenly = lcm(*(len(under) for under in occurring_under.values() if under))  # so that rows are whole numbers
        for nodes, count in zip(recoding.cells.nodes.tolist(), recoding.cells.counts.tolist()):
            under = occurring_under[nodes[axis]]
            held = classes.setdefault(tuple(nodes[i] for i in public), {})
            for leaf in under:
                held[leaf] = held.get(leaf, 0) + count * evenly // len(under)
        for masses in {tuple(sorted(held.values())) for held in classes.values()}:
            if not line_holds([Fraction(mass, sum(masses)) for mass in masses], requirement):
                return False
    return True


def rows_that_fit(table: ContingencyTable, cells: GeneralizedCells) -> int:
    """How many rows of a base table can go, each into one published cell that covers all its values, none overfull.

    All of them and no fewer when the cells recode the table: a maximum flow from the rows to the cells.
    """
    pairs: list[tuple[int, int]] = []
    sizes = [taxonomy.size for taxonomy in cells.taxonomies]
    of_values = [taxonomy.levels[column] for taxonomy, column in zip(cells.taxonomies, cells.nodes.T)]
    patterns, pattern_of = np.unique(np.stack(of_values, axis=1), axis=0, return_inverse=True)
    for number, levels in enumerate(patterns):
        held = np.flatnonzero(pattern_of.ravel() == number)
        places = dict(zip(np.ravel_multi_index(tuple(cells.nodes[held].T), sizes).tolist(), held.tolist()))
        shown = [t.at_level(int(level))[codes] for t, level, codes in zip(cells.taxonomies, levels, table.codes)]
        for row, node in enumerate(np.ravel_multi_index(tuple(shown), sizes).tolist()):
            if node in places:
                pairs.append((row, places[node]))
    source, sink = len(table) + len(cells), len(table) + len(cells) + 1
    edges = [(source, row, count) for row, count in enumerate(table.counts.tolist())]
    edges += [(row, len(table) + cell, table.total) for row, cell in pairs]
    edges += [(len(table) + cell, sink, count) for cell, count in enumerate(cells.counts.tolist())]
    tails, heads, room = (np.array(column, dtype=np.int32) for column in zip(*edges))
    graph = csr_array(coo_array((room, (tails, heads)), shape=(sink + 1, sink + 1)))
    return int(maximum_flow(graph, source, sink).flow_value)

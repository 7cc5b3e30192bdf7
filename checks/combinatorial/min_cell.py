"""A least count of every cell: no count from 1 to m - 1 is published, and none is proven by what is published.

Let U(S) be the largest count that a nonnegative integer table with the given marginals can have in a set S of cells of
the joint domain at the finest published levels. A collection passes when no S at all has 0 < U(S) < m. Then no count in
1 .. m - 1 follows from the tables, be it by differences, by complements, since the rows in all are known, or otherwise: a
count that is determined is its own U. It says nothing of lower bounds: "at least 3 of these 15" can follow.

Single cells decide: U(S) is at least U(t) for each t in S, and positive only where some U(t) is. So this is k-combinatorial
anonymity (KG06 Def. 4.2) with no attribute set aside, and k = m. A published count that is positive has a possible cell in
it, of which U is not more: so every published count must be 0 or at least m, with or without a junction tree.

With a junction tree that is enough. Let E_1 .. E_p be the cliques, t a joint cell in which each T_E(t) is positive, and n
the least of these, n >= m. Take n rows from the cell of t in every clique. What is left is nonnegative, and where two
cliques overlap both have lost n in the same cell of their separator, so they still agree. Nonnegative integer tables that
agree on the separators of a junction tree can be glued, one clique after another, to a nonnegative integer table with all
of them as its marginals (rows with the same separator cell are matched in any order). With n more rows in t it has the
published marginals, and U(t) = n. Where cliques show an attribute at several levels the separators hold the coarser one,
and the same is true of the induced attributes (KG06 6.1).

Without a junction tree it is not: AB, BC and AC with the joint counts 3 0 2 3 0 0 3 0 over 000 .. 111 show no count
below 3 and determine a 2. Nor is it where combinations of values are known to be impossible: (a1, b) = 3, (a2, b) = 4,
(b, c1) = 3, (b, c2) = 4 determine a 1 when (a1, c1) cannot be. There each cell has its linear, then its integer program;
but only of the cyclic parts of the collection, as the other margins can be glued to them: U(t) is the least of theirs
and of the others' counts.
"""

from dataclasses import replace

from checks.budget import FULL, Budget
from checks.classes.k_anonymity import k_link
from checks.combinatorial.programmed_bounds import by_programming
from checks.finding import Algorithm, Finding, Verdict
from models.graphs.collection import Collection
from models.graphs.cyclic_parts import cyclic_parts


def min_cell(collection: Collection, least: int, budget: Budget = FULL) -> Finding:
    """Whether no published count, and no upper bound that the marginals prove, is in 1 .. least - 1.

    Shown is the smallest published cell, or that with the bound in question. Exact where there is a junction tree, in time
    linear in the published cells; else by programs, undecided when they do not come to an end within the budget.
    """
    # Of a collection without margins the number of all rows is published.
    counted = collection if collection.masks else replace(collection, masks=(0,))
    published = replace(k_link(counted, (), least), criterion="min-cell")
    if not published.holds:
        return published
    parts = cyclic_parts(collection)
    if not parts:
        return replace(published, algorithms=(Algorithm.K_LINK,))
    programmed = [by_programming(part, (), least, budget) for part in parts]
    decisive = min(programmed, key=lambda finding: _TELLING.index(finding.verdict))
    examined = published.examined + sum(finding.examined for finding in programmed)
    if not decisive.holds:
        return replace(decisive, criterion="min-cell", examined=examined)
    note = "the cell shown is the smallest published one; together the tables can bound another one by less"
    return replace(published, algorithms=decisive.algorithms, examined=examined, note=note)


_TELLING = (Verdict.FAILS, Verdict.UNDECIDED, Verdict.HOLDS)
"""What is true of the whole where it is true of one part, first."""

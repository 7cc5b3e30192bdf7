"""Coverage: whether tables that agree on the counts they share are tables of one population.

Tables of whole numbers that agree in pairs need not have a population: three tables of two attributes each may agree where
no table of the three attributes has them. They have one where subsets of them stand in a junction tree: along it two tables
at a time are joined, people of each shared cell in any order (Lauritzen 1996, 3.1; Dobra and Fienberg 2000).
"""

from collections.abc import Iterable, Sequence, Set
from typing import TypeAlias

from models.graphs.elimination import elimination_cliques

Attributes: TypeAlias = frozenset[str]


def is_covered(shown: Iterable[Attributes], complete: Sequence[Attributes]) -> bool:
    """Whether a junction tree, each of its cliques a part of a complete table, covers the attributes of all shown tables.

    complete: tables that show each of their attributes as finely as any table does. False where no tree was found, which
    need not mean that there is none.

    >>> ring = [frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("ad")]
    >>> is_covered(ring, ring), is_covered(ring, [frozenset("abd"), frozenset("bcd")])
    (False, True)
    """

    def inside(clique: Set[str]) -> bool:
        return any(clique <= table for table in complete)

    return elimination_cliques(shown, inside) is not None


def missing(shown: Iterable[Attributes], complete: Sequence[Attributes]) -> list[Attributes]:
    """Attributes of tables that would have to be complete for the shown tables to be covered; the fewest that were found.

    >>> pairs = [frozenset(pair) for pair in ("ab", "ac", "ad", "bc", "bd", "cd")]
    >>> [sorted(each) for each in missing(pairs, [frozenset("abc")])]
    [['a', 'b', 'c', 'd']]
    """
    cliques = sorted(set(elimination_cliques(shown) or []), key=lambda clique: (-len(clique), sorted(clique)))
    wanted: list[Attributes] = []
    for clique in cliques:
        if not any(clique <= table for table in (*complete, *wanted)):
            wanted.append(clique)
    return wanted

"""The conditional independences that a decomposable model assumes, a sentence each."""

from collections.abc import Sequence

from marginals.names.level_names import shown_at
from models.graphs.collection import Collection
from models.graphs.independences import Independence, independences
from models.graphs.junction_tree import JunctionTree
from models.graphs.triangulation import triangulated_tree
from models.tables.domain import Domain, Mask, vertices_of


def independences_in_words(tree: JunctionTree) -> tuple[str, ...]:
    """What the model of a junction tree assumes, one sentence for each of its separators; none for a single clique.

    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({name: Hierarchy.flat(["no", "yes"]) for name in ("smokes", "coughs", "rides", "age")})
    >>> for sentence in independences_in_words(JunctionTree.of(domain, [0b0011, 0b0110, 0b1010])):
    ...     print(sentence)
    Given coughs, these are independent of each other: smokes; rides; age.
    >>> independences_in_words(JunctionTree.of(domain, [0b0001, 0b0110]))
    ('smokes is jointly independent of coughs and rides.',)
    """
    return tuple(independence_in_words(statement, tree.domain) for statement in independences(tree))


def assumed_independences(collection: Collection) -> tuple[str, ...]:
    """What the maximum-entropy distribution of any collection assumes.

    Without a junction tree these are the sentences of one whose cliques hold all margins and supports: they are true, since
    the distribution is a product of functions of the cliques, or a limit of such, but need not be all that are.

    >>> from marginals.example import release
    >>> assumed_independences(release.collection)
    ('Given diagnosis, age in 10-year bands is independent of sex.',)
    """
    return independences_in_words(
        collection.junction_tree if collection.is_decomposable else triangulated_tree(collection)
    )


def independence_in_words(statement: Independence, domain: Domain) -> str:
    """One statement, as in "given b, a is independent of c and d".

    Where more than two parts are independent of each other, they are listed, semicolons between them.
    """
    condition = f"Given {_listed(_names(statement.given, domain))}, " if statement.given else ""
    parts = [_names(part, domain) for part in statement.parts]
    if len(parts) > 2:
        opening = "these are independent of each other" if condition else "These are independent of each other"
        return f"{condition}{opening}: {'; '.join(map(_listed, parts))}."
    first, second = parts
    verb = "is" if len(first) == 1 else "are"
    jointly = "jointly " if len(first) + len(second) > 2 else ""
    return f"{condition}{_listed(first)} {verb} {jointly}independent of {_listed(second)}."


def _names(mask: Mask, domain: Domain) -> list[str]:
    """The attributes of some induced attributes, each in the finest of its levels among them, if it has several."""
    last = {domain.induced_attributes[v].attribute: domain.induced_attributes[v].level for v in vertices_of(mask)}
    hierarchies = {attribute: domain.hierarchy(attribute) for attribute in last}
    return [a if hierarchies[a].height == 1 else shown_at(a, hierarchies[a], level) for a, level in last.items()]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]

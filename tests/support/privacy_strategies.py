"""Hypothesis strategies for privacy: criteria, classes, and collections with a sensitive attribute."""

from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from checks.diversity.criterion import Diversity
from checks.diversity.distinct import Distinct
from checks.diversity.entropy import Entropy
from checks.diversity.functional import Functional
from checks.diversity.negative_disclosure import NegativeDisclosure
from checks.diversity.npd_recursive import NpdRecursive
from checks.diversity.recursive import Recursive
from checks.diversity.simple import Simple
from checks.maxent.sensitive_tree import SensitiveTree, sensitive_tree
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask, vertices_of
from models.tables.hierarchy import Hierarchy
from strategies import decomposable_masks, hierarchies


def numbers(least: int | Fraction, most: int) -> st.SearchStrategy[Fraction]:
    """Parameters as users write them: whole numbers, decimals, and fractions that no decimal can say."""
    return st.integers(-(-least // 1), most).map(Fraction) | st.fractions(least, most, max_denominator=12)


def diversities(most: int = 6) -> st.SearchStrategy[Diversity]:
    """Any criterion with l of at most `most`.

    distinct:3      simple:2.5      entropy:10/3      recursive:0.75,2
    """
    above_one = st.integers(2, most)
    return st.one_of(
        st.builds(Distinct, st.integers(1, most)),
        st.builds(Simple, numbers(1, most)),
        st.builds(Entropy, numbers(1, most)),
        st.builds(Recursive, numbers(Fraction(1, 12), 4), above_one, st.booleans()),
    )


def functionals(most: int = 6) -> st.SearchStrategy[Functional]:
    """Functional (tau, l)-diversity, l of at most `most`.

    functional:1/3,4
    """
    return st.builds(
        Functional, st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12), st.integers(2, most)
    )


@st.composite
def criteria(draw: st.DrawFn, values: int = 6) -> Diversity:
    """Any criterion for so many values that merging cannot break, don't-care and protected values included.

    npd-recursive of recursive:1/3,2 that does not care about 1, and 5 percent of each of 0 and 1
    """
    l = st.integers(2, 5) | st.fractions(Fraction(4, 3), 5, max_denominator=4)
    kind = draw(st.sampled_from(["distinct", "simple", "entropy", "recursive", "functional", "negative", "npd"]))
    dont_care = draw(st.frozensets(st.integers(0, values - 1), max_size=2))
    c = draw(numbers(Fraction(1, 12), 4))
    positive = Recursive(c, draw(st.integers(1, 6)), draw(st.booleans()), dont_care)
    negative = NegativeDisclosure(draw(st.fractions(1, 40, max_denominator=3)), frozenset({0, draw(st.integers(0, 1))}))
    kinds: dict[str, Diversity] = {
        "distinct": Distinct(draw(st.integers(1, 6))),
        "simple": Simple(Fraction(draw(l))),
        "entropy": Entropy(Fraction(draw(l))),
        "recursive": positive,
        "functional": draw(functionals(6)),
        "negative": negative,
        "npd": NpdRecursive(positive, negative),
    }
    return kinds[kind]


def tree_of(collection: Collection, sensitive: str) -> SensitiveTree:
    """The sensitive tree of a drawn collection; another one is drawn where that does not tell two values apart."""
    tree = sensitive_tree(collection, sensitive)
    assume(tree is not None and len(tree.labels) >= 2)
    assert tree is not None
    return tree


def tree_of_classes(*classes: tuple[int, ...]) -> SensitiveTree:
    """The sensitive tree of a single table: the counts of the sensitive values in each class."""
    sizes = {"q": len(classes), "s": len(classes[0])}
    domain = Domain.of({name: Hierarchy.flat(f"{name}{i}" for i in range(size)) for name, size in sizes.items()})
    codes = dict(zip("qs", np.indices(tuple(sizes.values())).reshape(2, -1)))
    table = ContingencyTable.from_cells(domain, {"q": 0, "s": 0}, codes, np.array(classes).ravel())
    tree = sensitive_tree(Collection.of(DataCube([table]), [table.mask]), "s")
    assert tree is not None
    return tree


def classes(max_values: int = 6, max_count: int = 8) -> st.SearchStrategy[list[int]]:
    """Counts of 1 .. 6 sensitive values in one class, many of them 0, not all."""
    count = st.just(0) | st.integers(0, max_count)
    return st.integers(1, max_values).flatmap(lambda m: st.lists(count, min_size=m, max_size=m)).filter(any)


def dense_tables(domain: Domain) -> st.SearchStrategy[ContingencyTable]:
    """A table over the base values in which about half the cells are filled, so that classes have several rows."""
    shape = [len(hierarchy.rows()) for hierarchy in domain.hierarchies]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    counts = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 5]), min_size=prod(shape), max_size=prod(shape)).filter(any)
    levels = dict.fromkeys(domain.attributes, 0)
    return counts.map(lambda drawn: ContingencyTable.from_cells(domain, levels, codes, np.array(drawn)))


@st.composite
def sensitive_masks(draw: st.DrawFn, domain: Domain, sensitive: str) -> tuple[Mask, ...]:
    """The maximal margins of a decomposable collection, of which often several show the sensitive attribute.

    Any collection at all; or one over the other attributes with steps of the sensitive attribute added, each of them to
    a connected part of its junction tree. As margins, s being the sensitive attribute, of height 2:

        {a: 0, s: 1}, {b: 0, s: 1}, {a: 1, c: 0, s: 0}          {a: 0, b: 0}, {b: 0, s: 0}, {b: 1, c: 0, s: 0}
    """
    if draw(st.integers(0, 4)) == 0:
        return draw(decomposable_masks(domain))
    others = Domain.of({a: hierarchy for a, hierarchy in domain.items() if a != sensitive})
    most = max((draw(decomposable_masks(others)) for _ in range(3)), key=len)
    cliques = [domain.mask(others.margin(mask)) for mask in most] or [0]
    subtree = list(range(len(cliques)))
    for step in vertices_of(domain.attribute_masks[domain.index(sensitive)]):
        if draw(st.integers(0, 2)) == 0:
            holding = draw(st.sampled_from([v for i in subtree for v in vertices_of(cliques[i])] or [step]))
            subtree = [i for i in subtree if cliques[i] >> holding & 1] or subtree
        for i in subtree:
            cliques[i] |= 1 << step
        if draw(st.integers(0, 4)) == 0:
            break
    return tuple(cliques)


@st.composite
def sensitive_domains(draw: st.DrawFn, max_cells: int, max_values: int) -> tuple[Domain, str]:
    """A domain of 3 or 4 attributes, each of at least 2 base values, and the name of one of up to max_values values.

    (Domain(b: 2 values, 1 levels, s: 4 values, 3 levels, a: 3 values, 2 levels), "s")
    """
    several = {"s": draw(hierarchies(max_values).filter(lambda h: len(h.rows()) > 1))}
    room = max_cells // len(several["s"].rows())
    for name in "abc"[: draw(st.integers(2, 3))]:
        if room > 1:
            several[name] = draw(hierarchies(min(room, 3)).filter(lambda h: len(h.rows()) > 1))
            room //= len(several[name].rows())
    return Domain.of({name: several[name] for name in draw(st.permutations(list(several)))}), "s"


@st.composite
def sensitive_collections(draw: st.DrawFn, max_cells: int = 48, max_values: int = 6) -> tuple[Collection, str]:
    """A valid decomposable collection over a well filled random table, and the name of its sensitive attribute.

    (Collection(a:1, s:0; b:0, s:0), "s")
    """
    domain, sensitive = draw(sensitive_domains(max_cells, max_values))
    cube = DataCube([draw(dense_tables(domain))])
    return Collection.of(cube, draw(sensitive_masks(domain, sensitive))), sensitive

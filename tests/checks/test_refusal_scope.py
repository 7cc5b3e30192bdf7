"""How far a refusal reaches: what it says of other collections, on which searches prune, is true of them all.

The claims are checked by brute force, never by the constraint's own verdict on the other collection.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest

from checks import Distinct, Diversity, Entropy, Functional, PrivacyConstraint, Recursive, Requirements, Simple
from filled_tables import filled
from models import Collection, DataCube, Domain, Hierarchy, Mask, Problem, RefusalScope, exact
from privacy_oracles import (
    base_values,
    class_sizes,
    conditionals,
    finest,
    is_diverse,
    is_functional,
    is_k_combinatorial,
    largest_counts,
    reached,
    reached_tau,
)
from search_oracles import all_collections, allowed_values, goes_on_from, has_junction_tree, never

CRITERIA = ["distinct", "simple", "entropy", "recursive:2", "recursive:3", "functional"]

SHAPES = [(1, 1, 1), (1, 1, 1, 1), (2, 1, 1), (1, 1, 2), (2, 1, 2), (1, 1, 1, 2), (2, 1, 1, 1)]
"""Heights of the attributes, the sensitive one last."""

GENERALIZED = {1: Hierarchy.flat("xyz"), 2: Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])}

Part = tuple[Collection, frozenset[Mask]]


def parts(rng: np.random.Generator, trials: int) -> Iterator[Part]:
    """Collections in which several margins show the attribute s, and some of their margins, from which they go on."""
    for _ in range(trials):
        heights = SHAPES[rng.integers(len(SHAPES))]
        domain = Domain.of({name: GENERALIZED[h] for name, h in zip([*"abc"[: len(heights) - 1], "s"], heights)})
        counts = rng.choice([0, 0, 1, 2, 3, 5, 8], size=[3] * len(heights)) * (rng.random([3] * len(heights)) < 0.9)
        cube = DataCube([filled(domain, counts)])
        first_step = domain.attribute_masks[-1] & -domain.attribute_masks[-1]
        candidates = [c for c in all_collections(domain) if sum(bool(m & first_step) for m in c) > 1]
        whole = sorted(candidates, key=sorted)[rng.integers(len(candidates))]
        part = frozenset(rng.permutation(sorted(whole))[: rng.integers(1, len(whole) + 1)].tolist())
        if has_junction_tree(domain, part) and goes_on_from(whole, part):
            yield Collection.of(cube, whole), part


def strongest(kind: str, collection: Collection, sensitive: str) -> Diversity:
    """About the strongest criterion of a kind that all margins with the base sensitive values satisfy alone.

    So that margins fail together where anything can.
    """
    base = collection.domain.mask({sensitive: 0})
    alone = [Collection.of(collection.cube, [mask]) for mask in collection.masks if not base & ~mask]
    vectors = [vector for one in alone for vector in conditionals(one, sensitive).values()]
    match kind.split(":"):
        case ["distinct"]:
            return Distinct(int(min((reached(Distinct(1), v) for v in vectors), default=2)))
        case ["simple"]:
            return Simple(min((Fraction(sum(v)) / max(v) for v in vectors), default=Fraction(3, 2)))
        case ["entropy"]:
            lowest = min((reached(Entropy(Fraction(1)), v) for v in vectors), default=1.5)
            return Entropy(max(Fraction(floor(lowest * 100), 100), Fraction(1)))
        case ["recursive", l]:
            ratios = [reached(Recursive(Fraction(1), int(l)), v) for v in vectors]
            most = max((ratio for ratio in ratios if np.isfinite(ratio)), default=1.0)
            return Recursive(Fraction(ceil(most * 100) + 1, 100), int(l))
        case ["functional"]:
            taus = [reached_tau(Functional(Fraction(1, 2), 3), v) for v in vectors]
            return Functional(Fraction(min(max(ceil(max(taus, default=0.5) * 100), 1), 99), 100), 3)
    raise AssertionError(kind)


def is_maxent_diverse(collection: Collection, sensitive: str, diversity: Diversity) -> bool:
    """KG06 Def. 4.3 over every published cell."""
    margin = finest(collection.margins)
    if sensitive not in margin:
        return True
    hierarchy, vectors = collection.domain.hierarchy(sensitive), conditionals(collection, sensitive).values()
    if isinstance(diversity, Functional):
        return all(is_functional(diversity, base_values(hierarchy, margin[sensitive], vector)) for vector in vectors)
    return all(is_diverse(diversity, vector) for vector in vectors)


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("names", [("s",), ("s", "a")], ids=["one", "two"])
def test_what_is_not_diverse_together_is_not_so_in_any_longer_collection(kind: str, names: tuple[str, ...]) -> None:
    """KG06 Prop. 7.2: the exact search prunes by it, and its proof is only as good."""
    seen = Counter[str]()
    for whole, part in parts(np.random.default_rng(0), 120):
        diversity = strongest(kind, whole, "s")
        refusal = PrivacyConstraint(whole.cube, Requirements(names, diversity=diversity))(part, 0)
        if refusal is not None and refusal.scope is not RefusalScope.ITSELF:
            seen[refusal.scope.value] += 1
            assert not all(is_maxent_diverse(whole, attribute, diversity) for attribute in names), (whole, part)
    assert seen["longer"] >= 4, seen


@pytest.mark.parametrize("names", [("s",), ("s", "a")], ids=["one", "two"])
def test_what_is_not_k_combinatorial_together_is_not_so_in_any_longer_collection(names: tuple[str, ...]) -> None:
    """A table that has the part's marginals can be glued to one that has them all; by integer programming."""
    longer = 0
    for whole, part in parts(np.random.default_rng(1), 400):
        k = min(class_sizes(whole, names))
        refusal = PrivacyConstraint(whole.cube, Requirements(names, k_combinatorial=k))(part, 0)
        if refusal is not None:
            assert refusal.scope is RefusalScope.LONGER, "k is such that every margin has it alone"
            if (longer := longer + 1) > 10:
                break
            assert not is_k_combinatorial(largest_counts(whole, names), k), (whole, part)
    assert longer >= 5, longer


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_too_many_margins_are_too_many_in_any_longer_collection(limit: int) -> None:
    longer = 0
    for whole, part in parts(np.random.default_rng(2), 150):
        if refusal := PrivacyConstraint(whole.cube, Requirements(("s",)), limit)(part, 0):
            assert refusal.scope is RefusalScope.LONGER
            longer += 1
            assert sum("s" in margin for margin in whole.margins) > limit
    assert longer >= 5, longer


def crossed() -> tuple[DataCube, Mask, Mask]:
    """Two attributes s, t of two values over four: who knows one of their values knows two of the other's four.

    With {s fine, t coarse} and {s coarse, t fine} together all four stay possible, though coarse ones are two.
    """
    pairs = Hierarchy.from_rows([(f"v{i}", f"g{i // 2}", "*") for i in range(4)])
    domain = Domain.of({"s": pairs, "t": pairs})
    cube = DataCube([filled(domain, [[3, 0, 1, 0], [0, 1, 0, 3], [2, 0, 5, 0], [0, 6, 0, 1]])])
    return cube, domain.mask({"s": 0, "t": 1}), domain.mask({"s": 1, "t": 0})


def test_too_few_coarse_values_say_nothing_of_collections_that_show_finer_ones() -> None:
    """Each of the two margins shows only two values of one attribute; the two together show four of both."""
    cube, first, second = crossed()
    constraint = PrivacyConstraint(cube, Requirements(("s", "t"), diversity=Distinct(3)))
    for margin in (first, second):
        refusal = constraint([margin], margin)
        assert refusal is not None
        assert refusal.scope is RefusalScope.ITSELF
    assert constraint([first, second], 0) is None


def test_the_exact_search_finds_what_can_only_be_reached_through_coarse_values() -> None:
    """It begins with either margin, both of which are refused; still it may not take their refusals for all there is."""
    cube, first, second = crossed()
    problem = Problem(cube, PrivacyConstraint(cube, Requirements(("s", "t"), diversity=Distinct(3))))
    found = exact(problem, never)
    assert set(found.cliques) == {first, second}
    assert found.value == pytest.approx(min(allowed_values(problem).values()))
    assert found.optimal

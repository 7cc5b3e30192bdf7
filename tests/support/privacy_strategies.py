"""Hypothesis strategies for privacy: criteria, classes, and collections with a sensitive attribute."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import ceil, floor

import numpy as np
from hypothesis import assume

from checks import (
    Distinct,
    Diversity,
    Entropy,
    Functional,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    SensitiveTree,
    Simple,
    sensitive_tree,
)
from dice import Dice, Thrown
from filled_tables import filled, flat_domain, published
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, Mask, vertices_of
from strategies import decomposable_masks, hierarchies


@cache
def fractions_between(least: int | Fraction, most: int | Fraction, max_denominator: int) -> tuple[Fraction, ...]:
    return tuple(
        fraction
        for below in range(1, max_denominator + 1)
        for above in range(ceil(least * below), floor(most * below) + 1)
        if (fraction := Fraction(above, below)).denominator == below
    )


@Thrown
def numbers(dice: Dice, least: int | Fraction, most: int) -> Fraction:
    """Parameters as users write them: whole numbers, decimals, and fractions that no decimal can say."""
    return dice.one_of(fractions_between(least, most, 12 if dice.yes() else 1))


@Thrown
def diversities(dice: Dice, most: int = 6) -> Diversity:
    kind = dice.one_of([Distinct, Simple, Entropy, Recursive])
    if kind is Distinct:
        return Distinct(dice.between(1, most))
    if kind is Recursive:
        return Recursive(numbers.of(dice, Fraction(1, 12), 4), dice.between(2, most), dice.yes())
    return kind(numbers.of(dice, 1, most))


@Thrown
def functionals(dice: Dice, most: int = 6) -> Functional:
    """Functional (tau, l)-diversity, l of at most `most`."""
    return Functional(dice.one_of(fractions_between(Fraction(1, 12), Fraction(11, 12), 12)), dice.between(2, most))


@Thrown
def criteria(dice: Dice, values: int = 6) -> Diversity:
    """Any criterion for so many values that merging cannot break, don't-care and protected values included."""
    kind = dice.one_of(["distinct", "simple", "entropy", "recursive", "functional", "negative", "npd"])
    if kind == "distinct":
        return Distinct(dice.between(1, 6))
    if kind in ("simple", "entropy"):
        l = Fraction(dice.between(2, 5)) if dice.yes() else dice.one_of(fractions_between(Fraction(4, 3), 5, 4))
        return Simple(l) if kind == "simple" else Entropy(l)
    if kind == "functional":
        return functionals.of(dice, 6)
    dont_care = frozenset(dice.below(values) for _ in range(dice.below(3)))
    positive = Recursive(numbers.of(dice, Fraction(1, 12), 4), dice.between(1, 6), dice.yes(), dont_care)
    negative = NegativeDisclosure(dice.one_of(fractions_between(1, 40, 3)), frozenset({0, dice.below(2)}))
    return {"recursive": positive, "negative": negative, "npd": NpdRecursive(positive, negative)}[kind]


def tree_of(collection: Collection, sensitive: str) -> SensitiveTree:
    """The sensitive tree of a drawn collection; another one is drawn where that does not tell two values apart."""
    tree = sensitive_tree(collection, sensitive)
    assume(tree is not None and len(tree.labels) >= 2)
    assert tree is not None
    return tree


def tree_of_classes(*classes: tuple[int, ...]) -> SensitiveTree:
    """The sensitive tree of a single table: the counts of the sensitive values in each class."""
    table = filled(flat_domain(q=len(classes), s=len(classes[0])), classes)
    tree = sensitive_tree(published(table, "qs"), "s")
    assert tree is not None
    return tree


def random_star(margins: Sequence[Sequence[str]], effect: float, values: int, size: int, seed: int = 0) -> Collection:
    """Margins of attributes of `size` values and of s, of 100,000 rows that depend on s by logits of this deviation."""
    rng = np.random.default_rng(seed)
    base = np.exp(-0.6 * rng.normal(size=values))
    columns = {"s": rng.choice(values, 100_000, p=base / base.sum())}
    for name in sorted({name for margin in margins for name in margin}):
        logits = (effect * rng.normal(size=(values, size)))[columns["s"]]
        columns[name] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    domain = Domain.of({n: Hierarchy.flat(map(str, range(values if n == "s" else size))) for n in columns})
    tables = []
    for margin in margins:
        cells = {name: columns[name] for name in (*margin, "s")}
        tables.append(
            ContingencyTable.from_cells(domain, dict.fromkeys(cells, 0), cells, np.ones(100_000, dtype=np.int64))
        )
    return Collection.of(DataCube(tables), [table.mask for table in tables])


@Thrown
def classes(dice: Dice, max_values: int = 6, max_count: int = 8) -> list[int]:
    """Counts of 1 .. 6 sensitive values in one class, many of them 0, not all."""
    counts = [dice.between(0, max_count) if dice.yes() else 0 for _ in range(dice.between(1, max_values))]
    if not any(counts):
        counts[dice.below(len(counts))] = dice.between(1, max_count)
    return counts


@Thrown
def dense_tables(dice: Dice, domain: Domain) -> ContingencyTable:
    """A table over the base values in which about half the cells are filled, so that classes have several rows."""
    counts = [dice.one_of([0, 0, 0, 1, 2, 3, 5]) for _ in range(domain.cell_count(sum(domain.attribute_masks)))]
    if not any(counts):
        counts[dice.below(len(counts))] = dice.one_of([1, 2, 3, 5])
    return filled(domain, counts)


@Thrown
def sensitive_masks(dice: Dice, domain: Domain, sensitive: str) -> tuple[Mask, ...]:
    """The maximal margins of a decomposable collection, of which often several show the sensitive attribute.

    Any collection at all; or one over the other attributes with steps of the sensitive attribute added, each of them to
    a connected part of its junction tree.
    """
    if dice.below(5) == 0:
        return decomposable_masks.of(dice, domain)
    others = Domain.of({a: hierarchy for a, hierarchy in domain.items() if a != sensitive})
    most = max((decomposable_masks.of(dice, others) for _ in range(3)), key=len)
    return _with_steps(dice, domain, [domain.mask(others.margin(mask)) for mask in most] or [0], sensitive)


def _with_steps(dice: Dice, domain: Domain, cliques: list[Mask], sensitive: str) -> tuple[Mask, ...]:
    """Cliques with a junction tree, to connected parts of which steps of another attribute are added."""
    cliques, subtree = list(cliques), list(range(len(cliques)))
    for step in vertices_of(domain.attribute_masks[domain.index(sensitive)]):
        if dice.below(3) == 0:
            holding = dice.one_of([v for i in subtree for v in vertices_of(cliques[i])] or [step])
            subtree = [i for i in subtree if cliques[i] >> holding & 1] or subtree
        for i in subtree:
            cliques[i] |= 1 << step
        if dice.below(5) == 0:
            break
    return tuple(cliques)


@Thrown
def sensitive_domains(dice: Dice, max_cells: int, max_values: int) -> tuple[Domain, str]:
    """A domain of 3 or 4 attributes, each of at least 2 base values, and the name of one of up to max_values values, which
    lie in the order of their codes.
    """
    tree = hierarchies.of(dice, max_values, min_values=2)
    several = {"s": tree.ordered_by(tree.labels[0])}
    room = max_cells // several["s"].size(0)
    for name in "abc"[: dice.between(2, 3)]:
        if room > 1:
            several[name] = hierarchies.of(dice, min(room, 3), min_values=2)
            room //= several[name].size(0)
    return Domain.of({name: several[name] for name in dice.shuffled(several)}), "s"


@Thrown
def sensitive_collections(dice: Dice, max_cells: int = 48, max_values: int = 6) -> tuple[Collection, str]:
    """A valid decomposable collection over a well filled random table, and the name of its sensitive attribute."""
    domain, sensitive = sensitive_domains.of(dice, max_cells, max_values)
    cube = DataCube([dense_tables.of(dice, domain)])
    return Collection.of(cube, sensitive_masks.of(dice, domain, sensitive)), sensitive


@Thrown
def several_sensitive(dice: Dice, max_cells: int = 128) -> tuple[Collection, list[str]]:
    """A valid decomposable collection over a random table, and two or three sensitive attributes that cliques show
    together as a rule, at different levels at times.
    """
    names, room, several = list("stu"[: dice.one_of([2, 3, 3])]), max_cells, {}
    for name in [*names, *"abcd"]:
        if room > 1:
            most = 3 if name in names and dice.yes() else 2
            several[name] = hierarchies.of(dice, min(room, most), min_values=2)
            room //= several[name].size(0)
    domain = Domain.of({name: several[name] for name in dice.shuffled(several)})
    cliques = _around_one(dice, domain, names) if dice.below(3) else _on_a_skeleton(dice, domain, names)
    counts = [dice.one_of([0, 0, 0, 1, 1, 2]) for _ in range(domain.cell_count(sum(domain.attribute_masks)))]
    counts[dice.below(len(counts))] += 1
    return Collection.of(DataCube([filled(domain, counts)]), cliques), names


def _around_one(dice: Dice, domain: Domain, names: list[str]) -> tuple[Mask, ...]:
    """A margin of all the sensitive attributes, and one for each other attribute with a part of an earlier margin."""

    def level_from(name: str, level: int) -> int:
        return dice.one_of([level, level, dice.between(level, domain.hierarchy(name).height)])

    margins = [{name: level_from(name, 0) for name in names}]
    in_turn = dice.yes()
    for number, other in enumerate(a for a in domain.attributes if a not in names):
        earlier = margins[0] if in_turn else dice.one_of(margins)
        shared = [names[number % len(names)]] if in_turn else [name for name in earlier if dice.below(5) < 2]
        kept = {name: level_from(name, earlier[name]) for name in shared}
        margins.append({**kept, other: 0})
    return tuple(map(domain.mask, margins))


def _on_a_skeleton(dice: Dice, domain: Domain, names: list[str]) -> tuple[Mask, ...]:
    """Any collection over the other attributes, to connected parts of which the sensitive ones are added in turn."""
    others = Domain.of(
        {a: hierarchy for a, hierarchy in domain.items() if a not in names} or {"s": domain.hierarchy("s")}
    )
    skeletons = (decomposable_masks.of(dice, others) for _ in range(3))
    cliques = tuple(domain.mask(others.margin(mask)) for mask in max(skeletons, key=len)) or (0,)
    for name in names:
        cliques = _with_steps(dice, domain, list(cliques), name)
    return cliques

"""Oracles for privacy that walk over every published cell; exact where a verdict could hang on rounding.

Published cells are those of the joint table at the finest level that some margin shows of each attribute. Arrays have
one axis an attribute of the domain, of length 1 where no margin shows it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, exp, inf, lcm, log, prod

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, linprog, milp

from brute_force import Array, dense_marginal, joint_array, lifted, summed
from checks import Distinct, Diversity, Entropy, Functional, NegativeDisclosure, NpdRecursive, Recursive, Simple
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, Margin, Mask

Levels = Mapping[str, int]
Index = tuple[NDArray[np.intp], ...]
Cell = tuple[int, ...]


def base_table(cube: DataCube) -> ContingencyTable:
    return cube.table(sum(cube.domain.attribute_masks))


def without(margin: Levels, attributes: AnyCollection[str]) -> Margin:
    return Margin({a: level for a, level in margin.items() if a not in attributes})


def finest(margins: Sequence[Levels]) -> Margin:
    """For each attribute that some margin shows the lowest level among them."""
    shown = {attribute for margin in margins for attribute in margin}
    return Margin({a: min(margin[a] for margin in margins if a in margin) for a in shown})


def places_within(domain: Domain, fine: Levels, coarse: Levels) -> Index:
    """Index that sends each cell of a margin to its cell in a coarser one."""
    return np.ix_(*(lifted(h, fine.get(a, -1), coarse.get(a, -1)) for a, h in domain.items()))


def cell_of(domain: Domain, margin: Levels, labels: Mapping[str, str]) -> Cell:
    at = {a: list(dict.fromkeys(row[level] for row in domain.hierarchy(a).rows())) for a, level in margin.items()}
    return tuple(at[a].index(labels[a]) if a in margin else 0 for a in domain.attributes)


def marginal(collection: Collection, margin: Levels) -> Array:
    return dense_marginal(joint_array(base_table(collection.cube)), collection.domain, margin)


def class_sizes(collection: Collection, sensitive: AnyCollection[str]) -> list[int]:
    """Rows of every class that is not empty in every marginal, the sensitive attributes summed out."""
    tables = [marginal(collection, without(margin, sensitive)) for margin in collection.margins]
    return [int(count) for table in tables for count in table.ravel() if count]


def possible_cells(collection: Collection) -> NDArray[np.bool_]:
    domain, fine = collection.domain, finest(collection.margins)
    possible = np.ones([len(lifted(h, fine.get(a, -1), -1)) for a, h in domain.items()], dtype=bool)
    for margin in collection.margins:
        possible &= marginal(collection, margin)[places_within(domain, fine, margin)] > 0
    return possible


def largest_counts(collection: Collection, sensitive: AnyCollection[str]) -> NDArray[np.int64]:
    """U(t) for every published nonsensitive cell t: the most rows that a nonnegative integer table with the given
    marginals can have there, by integer programming over the published cells (KG06 Def. 4.2).

    The axes of the sensitive attributes have length 1. The collection must not be empty.
    """
    domain, fine = collection.domain, finest(collection.margins)
    possible = possible_cells(collection)
    rows, totals = [], []
    for margin in collection.margins:
        table = marginal(collection, margin)
        where = np.arange(table.size).reshape(table.shape)[places_within(domain, fine, margin)][possible]
        positive = np.flatnonzero(table)
        rows.append(where == positive[:, None])
        totals.append(table.ravel()[positive])
    published = LinearConstraint(np.vstack(rows).astype(float), np.concatenate(totals), np.concatenate(totals))
    index = places_within(domain, fine, without(fine, sensitive))
    bounds = np.zeros([axis.max() + 1 for axis in index], dtype=np.int64)
    number = np.arange(bounds.size).reshape(bounds.shape)[index][possible]
    for cell in np.unique(number):
        best = milp(-(number == cell).astype(float), integrality=1, constraints=published)
        assert best.status == 0, best.message
        bounds.ravel()[cell] = round(-best.fun)
    return bounds


def largest_batch(people: ContingencyTable, masks: Sequence[Mask], least: int) -> ContingencyTable:
    """The most of some people with nobody or at least so many in each cell of some margins."""
    while True:
        shown = [people.rolled_up(people.domain.margin(mask)) for mask in masks]
        enough = np.all([table.counts[people.positions_in(table)] >= least for table in shown], axis=0)
        if enough.all():
            return people
        codes = {name: column[enough] for name, column in zip(people.attributes, people.codes)}
        people = ContingencyTable.from_cells(people.domain, people.margin, codes, people.counts[enough])


def is_k_combinatorial(bounds: NDArray[np.int64], k: int) -> bool:
    """Whether no nonsensitive cell can be filled and must then hold fewer than k rows."""
    return not ((bounds > 0) & (bounds < k)).any()


def maximum_entropy(collection: Collection) -> NDArray[np.object_]:
    """Expected counts of the maxent distribution at the published cells, as fractions.

    Iterative proportional fitting, which for a decomposable collection arrives exactly after a few sweeps.
    """
    domain, fine = collection.domain, finest(collection.margins)
    possible = possible_cells(collection)
    q = np.where(possible, Fraction(1), Fraction(0))
    constraints = [
        (places_within(domain, fine, margin), marginal(collection, margin).astype(int).astype(object))
        for margin in collection.margins
    ]
    for _ in range(10):
        before = q
        for index, target in constraints:
            current = summed(q, index)
            ratio = np.array([Fraction(t) / c if c else c for t, c in zip(target.ravel(), current.ravel())], object)
            q = q * ratio.reshape(target.shape)[index]
        if (q == before).all():
            return q
    raise AssertionError("fitting does not end: the collection is not decomposable")


def conditionals(collection: Collection, sensitive: str) -> dict[Cell, list[Fraction]]:
    """For every published cell of all other attributes of positive probability what the maxent distribution says about
    the sensitive value, in the scale of counts: one entry a published value, in the order of the hierarchy's codes.
    """
    axis = collection.domain.attributes.index(sensitive)
    vectors = np.moveaxis(maximum_entropy(collection), axis, -1)
    cells = {(*cell[:axis], 0, *cell[axis:]): list(vectors[cell]) for cell in np.ndindex(vectors.shape[:-1])}
    return {cell: vector for cell, vector in cells.items() if any(vector)}


def whole_numbers(vector: Sequence[Fraction | int]) -> list[int]:
    positive = [Fraction(v) for v in vector if v > 0]
    scaled = [int(v * lcm(*(v.denominator for v in positive))) for v in positive]
    return [v // int(np.gcd.reduce(scaled)) for v in scaled]


def entropy_reaches(vector: Sequence[Fraction | int], effective: Fraction) -> bool:
    """Whether the entropy is at least ln(effective): n^n >= l^n * prod n_i^n_i in whole numbers.

    Where these would have millions of digits, by 80 digits; what agrees so far counts as equal.
    """
    counts = whole_numbers(vector)
    total = sum(counts)
    if total < 2000:
        return (total * effective.denominator) ** total >= effective.numerator**total * prod(n**n for n in counts)
    with localcontext() as context:
        context.prec = 80
        shares = [Decimal(n) / total for n in counts]
        excess = -sum(p * p.ln() for p in shares) - (Decimal(effective.numerator) / effective.denominator).ln()
        return excess > Decimal(10) ** -60 or abs(excess) <= Decimal(10) ** -60


def head_and_tail(recursive: Recursive, vector: Sequence[Fraction | int]) -> tuple[Fraction, Fraction]:
    """r_y and tail(s_y) of MKGV07 Def. 4.3, the values numbered from 1 by falling frequency; (0, 0) without an s_y."""
    order = sorted(range(len(vector)), key=lambda value: -vector[value])
    r = dict(enumerate((Fraction(vector[value]) for value in order), 1))
    y = next((j for j, value in enumerate(order, 1) if value not in recursive.dont_care), None)
    if y is None:
        return Fraction(0), Fraction(0)
    if y <= recursive.l - 1:
        return r[y], sum((r[j] for j in r if j >= recursive.l), Fraction(0))
    return r[y], sum((r[j] for j in r if j >= recursive.l - 1 and j != y), Fraction(0))


def is_diverse(diversity: Diversity, vector: Sequence[Fraction | int]) -> bool:
    """The exact verdict on one class, read off MKGV07 Defs. 4.1 to 4.4 and KG06 Def. 2.5."""
    counts = list(map(Fraction, vector))
    match diversity:
        case Distinct(l):
            return len([n for n in counts if n > 0]) >= l
        case Simple(l):
            return all(n / sum(counts) <= 1 / Fraction(l) for n in counts)
        case Entropy(l):
            return entropy_reaches(counts, Fraction(l))
        case Recursive(c, l, strict):
            head, tail = head_and_tail(diversity, counts)
            return l == 1 or head == 0 or head < c * tail or (head == c * tail and not strict)
        case NegativeDisclosure(percent, protected):
            return all(counts[value] / sum(counts) >= Fraction(percent) / 100 for value in protected)
        case NpdRecursive(positive, negative):
            return is_diverse(positive, counts) and is_diverse(negative, counts)
    raise AssertionError(f"no definition of {diversity}")


def keeps_odds(
    times: Fraction,
    percent: Fraction,
    together: Iterable[Iterable[str]],
    whole: Mapping[str, int],
    rows: Mapping[str, int | Fraction],
    most_rows: int = 1,
) -> bool:
    """Whether no group of values is surer than design 4.23 allows. whole, rows: of known values. most_rows: of a person."""
    for group in map(set, together):
        p = min(Fraction(most_rows * sum(whole[v] for v in group), sum(whole.values())), Fraction(1))
        most = ceil(100 * max(percent / 100, times * p / (1 - p + times * p)))
        if most < 100 and 100 * most_rows * sum(rows[v] for v in group) > most * sum(rows.values()):
            return False
    return True


def base_values(hierarchy: Hierarchy, level: int, vector: Sequence[Fraction]) -> list[Fraction]:
    """What a vector by the values of a level says of the base values: those under one value are equally likely."""
    above = lifted(hierarchy, 0, level).tolist()
    return [vector[value] / above.count(value) for value in above]


def functional_excess(functional: Functional, shares: Sequence[Fraction]) -> dict[int, tuple[Fraction, Fraction]]:
    """F(k) and the psi(k) of tau = 0 for every k below l (TZ09 Defs. 3 and 4)."""
    ordered = sorted(shares, reverse=True)
    return {
        k: (sum(ordered[:k], Fraction(0)) / sum(ordered), Fraction(k - 1, functional.l - 1))
        for k in range(1, min(functional.l, len(ordered) + 1))
    }


def is_functional(functional: Functional, shares: Sequence[Fraction]) -> bool:
    """F(k) <= psi(k) for every k, psi the line from tau at 1 to 1 at l (TZ09 Def. 4). shares: of base values."""
    line = functional_excess(functional, shares).values()
    return all(held <= functional.tau + (1 - functional.tau) * rise for held, rise in line)


def are_diverse(diversity: Diversity, hierarchy: Hierarchy, level: int, vectors: Iterable[Sequence[Fraction]]) -> bool:
    """Whether every class passes. vectors: by the values of a level."""
    if isinstance(diversity, Functional):
        return all(is_functional(diversity, base_values(hierarchy, level, vector)) for vector in vectors)
    return all(is_diverse(diversity, vector) for vector in vectors)


def reached_tau(functional: Functional, shares: Sequence[Fraction]) -> float:
    return float(max((held - rise) / (1 - rise) for held, rise in functional_excess(functional, shares).values()))


def reached(diversity: Diversity, vector: Sequence[Fraction | int]) -> float:
    """The parameter at which one class is on the boundary: an l, the c of recursive diversity, or a percentage."""
    counts = list(map(Fraction, vector))
    shares = [float(n / sum(counts)) for n in counts]
    match diversity:
        case Distinct():
            return len([share for share in shares if share > 0])
        case Simple():
            return 1 / max(shares)
        case Entropy():
            return exp(-sum(p * log(p) for p in shares if p > 0))
        case Recursive(_, l):
            head, tail = head_and_tail(diversity, counts)
            return 0 if l == 1 or head == 0 else float(head / tail) if tail else inf
        case NegativeDisclosure(_, protected):
            return 100 * min(shares[value] for value in protected)
    raise AssertionError(f"no parameter of {diversity}")


def on_boundary(diversity: Diversity, vector: Sequence[Fraction]) -> Diversity:
    """A criterion of the same kind whose bound some class meets exactly, where that is a fraction."""
    if isinstance(diversity, Simple):
        return Simple(Fraction(sum(vector)) / max(vector))
    if isinstance(diversity, NpdRecursive):
        return NpdRecursive(on_boundary(diversity.positive, vector), on_boundary(diversity.negative, vector))
    if isinstance(diversity, NegativeDisclosure):
        percent = 100 * Fraction(min(vector[value] for value in diversity.protected)) / sum(vector)
        return replace(diversity, percent=percent) if 0 < percent < 100 else diversity
    if isinstance(diversity, Recursive) and diversity.l > 1:
        place = max(diversity.heads(len(vector)), key=lambda s: vector[s], default=None)
        if place is not None:
            others = sorted(v for s, v in enumerate(vector) if s != place)
            tail = sum(others[: diversity.tail_size(len(vector))])
            if tail and vector[place]:
                return Recursive(Fraction(vector[place]) / tail, diversity.l, diversity.strict, diversity.dont_care)
    if isinstance(diversity, Entropy):
        return Entropy(Fraction(sum(v > 0 for v in vector)))
    if isinstance(diversity, Functional):
        masses = sorted(vector if diversity.induction is None else diversity.induction.exactly(vector), reverse=True)
        held = [sum(masses[:k]) / Fraction(sum(masses)) for k in range(1, min(diversity.l - 1, len(masses)) + 1)]
        tau = max((share * (diversity.l - 1) - k) / (diversity.l - 1 - k) for k, share in enumerate(held))
        if 0 < tau < 1:
            return replace(diversity, tau=tau)
    return diversity


Ground = Callable[[int, int], Fraction]
"""How far two values are from each other."""


def exact_work(vector: Sequence[int], whole: Sequence[int], ground: Ground) -> Fraction:
    """The least work of moving one distribution onto another, with a proof in whole numbers that there is no less."""
    size, rows, total = len(whole), sum(vector), sum(whole)
    distances = [[ground(i, j) for j in range(size)] for i in range(size)]
    scale = lcm(*(each.denominator for own in distances for each in own))
    cost = np.array([[int(each * scale) for each in own] for own in distances])
    leaving, arriving = np.array(vector) * total, np.array(whole) * rows
    sides = np.vstack([np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))])
    found = linprog(cost.ravel(), A_eq=sides, b_eq=np.concatenate([leaving, arriving]), method="highs-ds")
    flow = np.rint(found.x).astype(np.int64).reshape(size, size)
    prices = np.rint(found.eqlin.marginals).astype(np.int64)
    work = int((flow * cost).sum())
    assert (flow >= 0).all()
    assert (flow.sum(axis=1) == leaving).all()
    assert (flow.sum(axis=0) == arriving).all()
    assert (prices[:size, None] + prices[None, size:] <= cost).all()
    assert work == int(prices[:size] @ leaving + prices[size:] @ arriving)
    return Fraction(work, scale * rows * total)

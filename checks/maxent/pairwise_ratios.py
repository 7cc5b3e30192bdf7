"""Pairwise ratios: maxent diversity where the tail is a single value (KG06 section 7).

With l as large as the number of sensitive values, recursive (c, l)-diversity bounds the ratio of any two values. The
largest ratio of each ordered pair over all class combinations comes from one max-product pass along the tree; no join.
"""

from fractions import Fraction

import numpy as np

from checks.diversity.criterion import BOUNDARY, Diversity, LargestRatio
from checks.finding import Verdict, verdict_of
from checks.maxent.log_tree import LogTree
from checks.maxent.outcome import Outcome
from checks.maxent.sensitive_tree import SensitiveTree


def pairwise_ratios(tree: SensitiveTree, diversity: Diversity) -> Outcome:
    """Decide a criterion that bounds the ratio of any two values. Linear in the total size of the cliques.

    Ratios near the bound are decided by the same pass with fractions. Raises ValueError for a criterion that is about
    anything else: recursive diversity whose l is not the number of values, or with a don't-care set.
    """
    values = len(tree.labels)
    largest = diversity.largest_ratio(values)
    if largest is None:
        raise ValueError(f"pairwise ratios decide criteria that bound the ratio of any two values, not {diversity}")
    log_tree = LogTree(tree)
    pairs = [(head, tail) for head in range(values) for tail in range(values) if head != tail]
    if not pairs:
        return Outcome(Verdict.HOLDS, None, 0, proven_worst=True)
    coefficients = np.zeros((values, len(pairs)))
    for column, (head, tail) in enumerate(pairs):
        coefficients[tail, column], coefficients[head, column] = 1, -1
    lowest = log_tree.minima(coefficients)
    combination = tuple(log_tree.minimizers(coefficients[:, [int(lowest.argmin())]])[0].tolist())
    slack = float(largest.c) * np.exp(np.clip(lowest, -700, 700)) - 1
    fails = bool(np.any(slack < -BOUNDARY))
    for pair in np.flatnonzero(np.abs(slack) <= BOUNDARY):
        fails = fails or not _passes_exactly(tree, largest, *pairs[pair])
    return Outcome(verdict_of(not fails), combination, len(pairs), proven_worst=True)


def _passes_exactly(tree: SensitiveTree, bound: LargestRatio, head: int, tail: int) -> bool:
    """Whether the largest ratio of two values stays below c, by max-product with fractions; infinite ratios break it."""
    arriving: list[list[Fraction | None]] = [[] for _ in tree.classes]
    for clique in reversed(range(len(tree.classes))):
        own = tree.expanded(tree.classes[clique])
        separator = tree.expanded(tree.separators[clique])
        best: list[Fraction | None] = [None] * len(tree.separators[clique])
        for position, above in enumerate(tree.inward[clique].tolist()):
            a, b = (Fraction(int(own[position, value])) for value in (head, tail))
            if clique:
                a, b = (n / int(separator[above, value]) if n else n for n, value in ((a, head), (b, tail)))
            below = [arriving[child][tree.outward[child][position]] for child in tree.tree.children[clique]]
            if a == 0 or any(ratio is None for ratio in below):
                continue
            if b == 0 or any(ratio is not None and ratio < 0 for ratio in below):
                best[above] = Fraction(-1)
                continue
            ratio = a / b
            for factor in below:
                ratio *= factor if factor is not None else 1
            best_above = best[above]
            if best_above is None or (best_above >= 0 and ratio > best_above):
                best[above] = ratio
        arriving[clique] = best
    ratios = [ratio for ratio in arriving[0] if ratio is not None]
    return all(ratio >= 0 and (ratio < bound.c or (not bound.strict and ratio == bound.c)) for ratio in ratios)

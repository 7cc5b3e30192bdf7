"""Which attributes to disclose when attributes are taken to be independent in the dictionary (LSFB09 section 4.2).

Then `|rho(y)|` is the product over the attributes of how many of N entries agree in each, and a multiplicative loss is
least for the k attributes with the smallest e^w_j * alpha_j(*) / alpha_j(y_j): one pass over the dictionary, and no
search. Attributes may also be independent in clusters only.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from checks.risk.dictionary import Dictionary, consistent_counts
from checks.risk.disclosure import Disclosure
from checks.risk.errors import DisclosureRuleError
from checks.risk.loss import losses
from checks.risk.optimal_disclosure import DecisionProblem, Optimum
from checks.risk.record import Records, distance_from_root
from checks.risk.sensitivity import Constant, Multiplicative, product
from models.arrays import BoolArray, CountArray, FloatArray

MAX_CLUSTER = 12
"""Largest number of attributes of one cluster; every subset of it is counted in the dictionary."""


def attribute_counts(records: Records, dictionary: Dictionary) -> CountArray:
    """How many entries agree with each value of each record: shape (records, attributes). O(N m + n m)."""
    columns = []
    for taxonomy, entered, sought in zip(records.space.taxonomies, dictionary.entries.nodes.T, records.nodes.T):
        below = np.bincount(entered, minlength=taxonomy.size)
        above = np.zeros_like(below)
        own = below.copy()
        for node, parent in enumerate(taxonomy.parents[:-1].tolist()):
            below[parent] += below[node]
        for node in range(taxonomy.root - 1, -1, -1):
            above[node] = above[taxonomy.parents[node]] + own[taxonomy.parents[node]]
        columns.append((below + above)[sought])
    return np.stack(columns, axis=1).astype(np.int64)


def select_independent(records: Records, dictionary: Dictionary, weights: FloatArray, disclosed: int) -> BoolArray:
    """The attributes to disclose of each record for the least Phi4 loss: shape (records, attributes).

    disclosed: how many attributes each record shows. weights: the exponents w_j, shape (attributes,) or (records,
    attributes). Of attributes that are equally good the first ones are taken. Raises DisclosureRuleError for more
    attributes than there are.
    """
    counts = attribute_counts(records, dictionary)
    _check(disclosed, len(records.space))
    scores = _scores(np.broadcast_to(weights, counts.shape), counts, len(dictionary))
    chosen = np.zeros(counts.shape, dtype=bool)
    np.put_along_axis(chosen, np.argsort(scores, axis=1, kind="stable")[:, :disclosed], True, axis=1)
    return chosen


def select_clustered(
    records: Records, dictionary: Dictionary, weights: FloatArray, clusters: Sequence[Sequence[int]], disclosed: int
) -> BoolArray:
    """The same where only attributes of different clusters are independent. clusters: positions, a partition.

    Exact: every subset of a cluster is counted in the dictionary, and the clusters share out the number of disclosed
    attributes by dynamic programming. O(sum over clusters of 2^size).
    """
    if sorted(axis for cluster in clusters for axis in cluster) != list(range(len(records.space))):
        raise DisclosureRuleError("clusters must hold each attribute once")
    _check(disclosed, len(records.space))
    exponents = np.broadcast_to(weights, records.nodes.shape)
    best = np.full((len(records), disclosed + 1), np.inf)
    best[:, 0] = 0.0
    selected = np.zeros((len(records), disclosed + 1, len(records.space)), dtype=bool)
    reachable = 0
    for cluster in clusters:
        options = _cluster_options(records, dictionary, exponents, cluster)
        best, selected = _combined(best, selected, options, reachable, disclosed)
        reachable += len(cluster)
    return selected[:, disclosed]


def selected_disclosure(problem: DecisionProblem, clusters: Sequence[Sequence[int]], disclosed: int) -> Optimum:
    """So many attributes of each record, as they are, with the least Phi4 loss if attributes are independent.

    clusters: positions of attributes that may depend on each other; each other attribute is independent of all. The loss
    that comes back is the exact one. Raises DisclosureRuleError for several dictionaries, a Psi that is not 0, a
    sensitivity that is no product over the attributes, for clusters that overlap or are larger than `MAX_CLUSTER`, and
    for another number of attributes than there are.
    """
    if len(problem.dictionaries) != 1:
        raise DisclosureRuleError("attributes are chosen against one dictionary, not against several")
    largest = max(map(len, clusters), default=0)
    if largest > MAX_CLUSTER:
        raise DisclosureRuleError(f"a cluster of {largest} attributes is too large; {MAX_CLUSTER} are the limit")
    grouped = {axis for cluster in clusters for axis in cluster}
    partition = [*clusters, *([axis] for axis in range(len(problem.originals.space)) if axis not in grouped)]
    exponents = _exponents(problem)
    if clusters:
        chosen = select_clustered(problem.originals, problem.dictionaries[0], exponents, partition, disclosed)
    else:
        chosen = select_independent(problem.originals, problem.dictionaries[0], exponents, disclosed)
    disclosure = Disclosure(problem.originals, np.where(chosen, 0, problem.originals.space.heights))
    loss = losses(disclosure.records, problem.dictionaries[0], problem.harm)
    utility = distance_from_root(disclosure.records, problem.steps)
    return Optimum(disclosure, np.ones(len(loss), dtype=bool), loss, utility, len(loss), problem.weights)


def _exponents(problem: DecisionProblem) -> FloatArray:
    """What e is raised to for each value of each record: shape (records, attributes)."""
    harm, originals = problem.harm, problem.originals
    if harm.missed.is_personal or harm.missed(originals, np.arange(len(originals))).any():
        raise DisclosureRuleError(
            "attributes are chosen as independent ones only where a person who is missed has no harm"
        )
    if isinstance(harm.identified, Constant):
        return np.zeros(originals.nodes.shape)
    if not isinstance(harm.identified, Multiplicative):
        raise DisclosureRuleError("attributes are chosen as independent ones only by a multiplicative sensitivity")
    weights = harm.identified.weights
    exponents = np.zeros(originals.nodes.shape)
    for number, term in enumerate(weights.terms):
        of_term = weights.of_terms[..., number]
        if len(term) > 1 and np.any(of_term):
            raise DisclosureRuleError("attributes are chosen as independent ones only without interactions")
        if len(term) == 1:
            exponents[:, term[0]] += product(of_term, weights.shares[term[0]][originals.nodes[:, term[0]]])
    return exponents


Option = tuple[tuple[int, ...], FloatArray]
"""Some attributes of a cluster, and the score of disclosing them for each record."""


def _cluster_options(
    records: Records, dictionary: Dictionary, weights: FloatArray, cluster: Sequence[int]
) -> list[Option]:
    options: list[Option] = []
    for size in range(len(cluster) + 1):
        for subset in combinations(cluster, size):
            hidden = records.space.heights.copy()
            hidden[list(subset)] = 0
            counts = consistent_counts(records.generalized(hidden), dictionary)
            options.append((subset, _scores(weights[:, subset].sum(axis=1), counts, len(dictionary))))
    return options


def _combined(
    best: FloatArray, selected: BoolArray, options: Sequence[Option], reachable: int, disclosed: int
) -> tuple[FloatArray, BoolArray]:
    """The best of each number of attributes once one more cluster may contribute."""
    combined, chosen = np.full_like(best, np.inf), np.zeros_like(selected)
    settled = np.zeros(best.shape, dtype=bool)
    for subset, score in options:
        for number in range(min(reachable, disclosed - len(subset)) + 1):
            total = number + len(subset)
            # A part that rules out every entry identifies nobody, whatever the others weigh.
            impossible = np.isneginf(best[:, number]) | np.isneginf(score)
            sums = np.where(impossible, -np.inf, best[:, number] + np.where(impossible, 0.0, score))
            better = (sums < combined[:, total]) | ~settled[:, total]
            combined[better, total] = sums[better]
            chosen[better, total] = selected[better, number]
            for axis in subset:
                chosen[better, total, axis] = True
            settled[:, total] = True
    return combined, chosen


def _scores(weights: FloatArray, counts: CountArray, entries: int) -> FloatArray:
    """The exponent plus ln(alpha(*) / alpha(y)): -inf where nobody agrees, since then nobody is found."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = weights + np.log(entries) - np.log(counts)
    return np.where(counts == 0, -np.inf, scores)


def _check(disclosed: int, attributes: int) -> None:
    if not 0 <= disclosed <= attributes:
        raise DisclosureRuleError(f"between 0 and {attributes} attributes can be disclosed, not {disclosed}")

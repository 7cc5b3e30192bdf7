"""Harm of disclosed records and releases: their sensitivity, and the expected loss (LSFB09)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product as product_of
from math import isfinite
from typing import TypeAlias

import numpy as np

from checks.errors import DisclosureRuleError, SensitivityError
from checks.risk.attackers import (
    Dictionary,
    Records,
    consistent_counts,
    identification_probability,
)
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only, read_only_copy
from models.frozen import frozen
from models.tables.contingency_table import match, match_size, pack
from models.tables.generalized_cells import Taxonomy

# Sensitivity: how much harm a disclosed record does to the person it describes once identified (LSFB09 section 3.3).
#
# Weights are nonnegative; an infinite one forbids to disclose a value. A value's own weight, its *share*, falls from 1 for a
# base value to 0 for `*` on the way up the hierarchy; weights of attributes, people and interactions multiply it.


@frozen(eq=False)
class Weights:
    """Weights of disclosed values: for each term, a set of attributes, its contribution to the sum or the exponent.

    shares: for each attribute the share of each node of its taxonomy, shape (nodes,). It is 0 for `*`, and never above
    the share of a node below. terms: sets of attribute positions; one attribute each for Phi1, Phi2 and Phi4, up to k
    for Phi3. The empty set is added whatever is disclosed. of_terms: shape (terms,), or (people, terms) if they are
    personal. A term adds its weight times the shares of its attributes; 0 times infinity is 0. Raises
    SensitivityError.
    """

    shares: tuple[FloatArray, ...]
    terms: tuple[tuple[int, ...], ...]
    of_terms: FloatArray

    def __post_init__(self) -> None:
        if not all(np.all(share >= 0) for share in self.shares):
            raise SensitivityError("the weight of a value is missing or negative")
        weights = read_only_copy(self.of_terms, np.float64)
        if weights.ndim not in (1, 2) or weights.shape[-1] != len(self.terms):
            raise SensitivityError(f"{len(self.terms)} weights were expected for everybody, or for each person")
        if not np.all(weights >= 0):
            raise SensitivityError("a weight is missing or negative")
        if not all(0 <= axis < len(self.shares) for term in self.terms for axis in term):
            raise SensitivityError("a weight is for attributes of the records")
        object.__setattr__(self, "shares", tuple(map(read_only_copy, self.shares)))
        object.__setattr__(self, "of_terms", weights)

    @classmethod
    def linear(cls, shares: Iterable[FloatArray], of_attributes: FloatArray | Sequence[float]) -> "Weights":
        """Return one term for each attribute. of_attributes: shape (attributes,) or (people, attributes)."""
        attribute_shares = tuple(shares)
        terms = tuple((axis,) for axis in range(len(attribute_shares)))
        return cls(attribute_shares, terms, np.asarray(of_attributes, dtype=np.float64))

    def normalized(self, total: float) -> "Weights":
        """Return the weights scaled so that those of each person sum to a total (LSFB09 section 3.3)."""
        sums = self._sums()
        if not np.all(sums > 0):
            raise SensitivityError("the weights of somebody are all 0, and cannot be scaled")
        return replace(self, of_terms=self.of_terms * (total / sums))

    def limited(self, total: float) -> "Weights":
        """Return the weights of each person scaled down if they sum to more than a total (LSFB09 section 3.3)."""
        return replace(self, of_terms=self.of_terms * (total / np.maximum(self._sums(), total)))

    def _sums(self) -> FloatArray:
        sums = self.of_terms.sum(axis=-1, keepdims=True)
        if not np.all(np.isfinite(sums)):
            raise SensitivityError("an infinite weight cannot be scaled")
        return np.asarray(sums)

    def total(self, records: Records, people: IndexArray) -> FloatArray:
        """Return the sum of all terms for each record: shape (records,). people: of each record, if weights are personal."""
        total = np.zeros(len(records))
        for number in self._weighing:
            term, weight = self.terms[number], self.of_terms[..., number]
            if self.is_personal:
                weight = weight[people]
            elif term:  # one weight for everybody is multiplied with the share of each node, not of each record
                weight = product(weight, self.shares[term[0]])[records.nodes[:, term[0]]]
                term = term[1:]
            for axis in term:
                weight = product(weight, self.shares[axis][records.nodes[:, axis]])
            total += weight
        return total

    @property
    def is_personal(self) -> bool:
        """True if they depend on whom a record is about."""
        return self.of_terms.ndim == 2

    @property
    def axes(self) -> frozenset[int]:
        """Positions of the attributes with a weight that is not 0."""
        return frozenset(axis for number in self._weighing for axis in self.terms[number])

    @cached_property
    def _weighing(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(np.atleast_2d(self.of_terms).any(axis=0)).tolist())


@frozen(eq=False)
class Linear:
    """Sum of the weights of disclosed values: Phi1, with personal weights Phi2, with interactions Phi3 (eqs. 2-4)."""

    weights: Weights

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:
        """Return the sum for each record. people: the number of the person that each is about."""
        return self.weights.total(records, people)


@frozen(eq=False)
class Multiplicative:
    """Exponential of the sum of weights, Phi4 (eq. 5). A completely suppressed record has sensitivity 1."""

    weights: Weights

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:
        """Return the product for each record; infinite if it is too large for a float."""
        with np.errstate(over="ignore"):
            return np.exp(self.weights.total(records, people))


Sensitivity: TypeAlias = Linear | Multiplicative
"""Phi or Psi: a sensitivity in [0, inf] for each record."""


def Constant(value: float | FloatArray) -> Linear:  # noqa: N802  (a sensitivity, named like the others)
    """Return the sensitivity that is equal whatever is disclosed, for everybody or each person (LSFB09 section 5)."""
    if not np.all(np.asarray(value) >= 0):
        raise SensitivityError(f"a sensitivity must not be negative, got {np.min(value)}")
    return Linear(Weights((), ((),), np.asarray(value, dtype=np.float64)[..., None]))


HARMLESS = Constant(0.0)
"""Psi of an attacker whose wrong guesses harm nobody."""


def product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Multiply so that 0 times infinity is 0: nothing disclosed, or no chance of identification, does no harm."""
    with np.errstate(invalid="ignore"):
        return np.where((one == 0) | (other == 0), 0.0, one * other)


def harmonic_shares(taxonomy: Taxonomy, base: FloatArray | None = None) -> FloatArray:
    """Return the modified harmonic mean up the hierarchy: a parent weighs 1 / sum(1 / w_i) over its children, `*` 0.

    So w / l over l children of weight w (LSFB09 section 8). base: the weights of the base values, shape (leaves,); 1 each
    by default. Returns shape (nodes,).
    """
    hierarchy = taxonomy.hierarchy
    weights = np.ones(hierarchy.size(0)) if base is None else np.asarray(base, dtype=np.float64)
    if weights.shape != (hierarchy.size(0),):
        raise SensitivityError(f"an attribute of {hierarchy.size(0)} values came with other weights")
    if not np.all(weights >= 0):
        raise SensitivityError("the weight of a value is missing or negative")
    # Reciprocals add up level by level, so only those of the base values under a node matter.
    with np.errstate(divide="ignore"):
        levels = range(hierarchy.height + 1)
        sums = [np.bincount(hierarchy.lift(0, level), 1.0 / weights) for level in levels]
        shares = 1.0 / np.concatenate(sums)
    shares[taxonomy.root] = 0.0
    return read_only(shares)


# Loss and risk of disclosing records to attackers with some dictionary (LSFB09 Definitions 2 to 4, section 3.2): the harm to
# its person expected over the guess, p(Z = 1) Phi(y) + p(Z = 0) Psi(y), with 0 times infinity 0, and its mean.


@frozen
class Harm:
    """Harm Phi if the attacker finds the person, and Psi if not: by default no harm."""

    identified: Sensitivity
    missed: Sensitivity = HARMLESS

    @property
    def is_personal(self) -> bool:
        """True if it depends on whom a record is about."""
        return self.identified.weights.is_personal or self.missed.weights.is_personal

    def loss(self, records: Records, people: IndexArray, counts: CountArray) -> FloatArray:
        """Return the loss of each record, in [0, inf]. counts: of the entries consistent with it, shape (records,)."""
        return expected_harm(self.identified(records, people), self.missed(records, people), counts)


def expected_harm(identified: FloatArray, missed: FloatArray, counts: CountArray) -> FloatArray:
    """Return the expected harm of a guess among `counts` entries; certainly missed if there are none: shape (records,)."""
    # Divided, not multiplied by a rounded reciprocal: c / k must be exactly what k entries make of c.
    shared = np.divide(identified, counts, out=np.zeros(len(counts)), where=counts > 0)
    return shared + product(1.0 - identification_probability(counts), missed) if missed.any() else shared


def losses(disclosed: Records, dictionary: Dictionary, harm: Harm) -> FloatArray:
    """Return the loss of each disclosed record, shape (records,); record i is about person i.

    Parameters
    ----------
    disclosed
        The records.
    dictionary
        The attacker's entries.
    harm
        Harm if the person is found, and if not.
    """
    return harm.loss(disclosed, np.arange(len(disclosed)), consistent_counts(disclosed, dictionary))


def risk(disclosed: Records, dictionary: Dictionary, harm: Harm) -> float:
    """Return R(delta, theta): the mean loss (Definition 3). Raises DisclosureRuleError for no records."""
    return weighted_mean(losses(disclosed, dictionary, harm))


def weighted_mean(values: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the mean over records, each with its weight, or once; 0 times infinity is 0."""
    if not len(values):
        raise DisclosureRuleError("risk is a mean over records, and there are none")
    return float(values.mean()) if weights is None else float(product(weights / weights.sum(), values).sum())


def as_distribution(probabilities: FloatArray, length: int, of: str) -> FloatArray:
    """Return the probabilities if there are `length` of them, which sum to 1. Raises DisclosureRuleError otherwise."""
    if probabilities.shape != (length,) or not length or not np.all(probabilities >= 0):
        raise DisclosureRuleError(f"{length} probabilities were expected, one for each {of}, none negative")
    if not np.isclose(probabilities.sum(), 1.0):
        raise DisclosureRuleError(f"the probabilities of each {of} must sum to 1")
    return probabilities


# Record linkage: an attacker first joins a disclosed record with a public one, then looks for the person (LSFB09 6). The
# enlarged record y v z shows in each attribute the finer of both values.

MAX_LINKS = 20_000_000
"""Most pairs of a disclosed and a public record that are laid out."""


@frozen(eq=False)
class Links:
    """Links of an attacker: numbers of disclosed and of public records, and p(z | y): shape (links,) each.

    right: whether both are about one person (the paper's W); None if all are. Raises DisclosureRuleError if the
    probabilities of a record are negative or sum to more than 1.
    """

    disclosed: IndexArray
    public: IndexArray
    probability: FloatArray
    right: BoolArray | None = None

    def __post_init__(self) -> None:
        if len({len(part) for part in vars(self).values() if part is not None}) > 1:
            raise DisclosureRuleError("links need a disclosed and a public record and a probability each")
        totals = np.bincount(self.disclosed, self.probability)
        if np.any(self.probability < 0) or np.any(totals > 1 + 1e-9):
            raise DisclosureRuleError("the links of a record need probabilities that sum to at most 1")


def uniform_links(disclosed: Records, public: Records) -> Links:
    """Link each disclosed record with each consistent public one, all equally likely."""
    pairs, size = [np.zeros((2, 0), dtype=np.intp)], 0
    for (levels, rows), (other_levels, entries) in product_of(disclosed.by_levels(), public.by_levels()):
        sides = [(disclosed, rows), (public, entries)]
        joint_nodes = [side[chosen].generalized(np.maximum(levels, other_levels)).nodes for side, chosen in sides]
        keys, _ = pack(list(np.concatenate(joint_nodes).T), disclosed.space.sizes, len(rows) + len(entries))
        size += match_size(keys[: len(rows)], keys[len(rows) :])
        if size > MAX_LINKS:
            raise DisclosureRuleError(f"more than {MAX_LINKS} pairs of records could be linked")
        first, second = match(keys[: len(rows)], keys[len(rows) :])
        pairs.append(np.stack([rows[first], entries[second]]))
    record, other = np.concatenate(pairs, axis=1)
    return Links(record, other, 1.0 / np.bincount(record, minlength=len(disclosed))[record])


def enlarged(disclosed: Records, public: Records) -> Records:
    """Return the finer value of each pair, record by record. Raises DisclosureRuleError if two contradict each other."""
    if not disclosed.is_consistent_with(public).all():
        raise DisclosureRuleError("a disclosed record is linked with a public one that contradicts it")
    return Records(disclosed.space, np.where(disclosed.levels <= public.levels, disclosed.nodes, public.nodes))


def linkage_losses(
    disclosed: Records,
    public: Records,
    links: Links,
    dictionary: Dictionary,
    harm: Harm,
) -> FloatArray:
    """Return the expected loss of each disclosed record over its links; a link that is not right misses the person."""
    people = np.arange(len(disclosed))
    joined = enlarged(disclosed[links.disclosed], public[links.public])
    of_links = harm.loss(joined, links.disclosed, consistent_counts(joined, dictionary))
    if links.right is not None:
        of_links = np.where(links.right, of_links, harm.missed(disclosed, people)[links.disclosed])
    expected = np.bincount(links.disclosed, product(links.probability, of_links), minlength=len(disclosed))
    linked = np.bincount(links.disclosed, links.probability, minlength=len(disclosed))
    unlinked = np.where(np.isclose(linked, 1.0), 0.0, 1.0 - linked)
    return expected + product(unlinked, harm.loss(disclosed, people, consistent_counts(disclosed, dictionary)))


# The best disclosure of a record: three ways to weigh its loss against its utility (LSFB09 eqs. 7 to 9). Each judges every
# record by itself; only for the trade-off is that equivalent to judging the means.


@frozen
class Preference:
    """Number to choose by. Raises DisclosureRuleError if it is not finite."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isfinite(value):
                raise DisclosureRuleError(f"a {name} to choose by must be a finite number, not {value}")


@frozen
class LeastRisk(Preference):
    """Preference for the least loss with at least a utility (eq. 8); ties go to the most utility, then the most steps."""

    utility: float


@frozen
class MostUtility(Preference):
    """Preference for the most utility with at most a loss (eq. 7); ties go to the least loss, then the most steps."""

    loss: float


@frozen
class TradeOff(Preference):
    """Preference for the least loss - price * utility (eq. 9); ties go to the most utility, then the most steps."""

    price: float


def score(objective: Preference, loss: FloatArray, utility: FloatArray) -> FloatArray:
    """Return whether disclosures are not allowed, then two costs, shape (3, n): the lexicographically least is the best."""
    match objective:
        case LeastRisk(least):
            costs = [utility < least, loss, -utility]
        case MostUtility(most):
            costs = [loss > most, -utility, loss]
        case TradeOff(price):
            costs = [np.zeros(len(loss)), loss - price * utility, -utility]
    return np.stack(costs)

"""The harm that disclosed records and releases do: how sensitive they are, and what is lost by them (LSFB09)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Protocol

import numpy as np

from checks.errors import DisclosureRuleError, SensitivityError
from checks.risk.attackers import (
    AlikeValues,
    Dictionary,
    Records,
    approximate_counts,
    consistent_counts,
    identification_probability,
)
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, read_only, read_only_copy
from models.errors import DomainMismatchError
from models.graphs.junction_tree import Collection
from models.inference.calibrated_tree import CellExpectations, Factor
from models.programs.cell_bounds import bounds_of_cells
from models.tables.contingency_table import match, match_size, pack
from models.tables.generalized_cells import Taxonomy

# Sensitivity: how much harm a disclosed record does to the person it describes once identified (LSFB09 section 3.3).
#
# Weights are nonnegative; an infinite one forbids to disclose a value at any chance of identification. A value's own
# weight, its *share*, falls from 1 for a base value to 0 for `*` on the way up the hierarchy; weights of attributes,
# of people and of interactions multiply it.


class Sensitivity(Protocol):
    """Phi or Psi: a sensitivity for each record, shape (records,), in [0, inf].

    people: for each record the number of the person it is about, where weights are personal.
    """

    @property
    def axes(self) -> frozenset[int]:
        """The positions of the attributes whose values it depends on; of none, unless it says otherwise."""
        return frozenset()

    @property
    def is_personal(self) -> bool:
        """Whether it depends on whom a record is about; not, unless it says otherwise."""
        return False

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:
        """The sensitivity of each record."""


@dataclass(frozen=True)
class Constant(Sensitivity):
    """The same harm whatever is disclosed: what k-anonymity assumes (LSFB09 section 5), and Psi = 0."""

    value: float = 0.0

    def __post_init__(self) -> None:
        if not self.value >= 0:
            raise SensitivityError(f"a sensitivity must not be negative, got {self.value}")

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:  # noqa: ARG002  (part of the protocol)
        """The value, for each record."""
        return np.full(len(records), float(self.value))


@dataclass(frozen=True, eq=False)
class PerPerson(Sensitivity):
    """A harm of each person's own, whatever is disclosed: Psi of people to whom it matters differently to be missed.

    values: by person, shape (people,), copied in. Raises SensitivityError for a missing or negative one.
    """

    values: FloatArray

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.values) >= 0):
            raise SensitivityError("the harm to a person is missing or negative")
        object.__setattr__(self, "values", read_only_copy(self.values, np.float64))

    @property
    def is_personal(self) -> bool:
        """It is."""
        return True

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:  # noqa: ARG002  (part of the protocol)
        """The value of each record's person."""
        return np.asarray(self.values[people])


@dataclass(frozen=True, eq=False)
class Weights:
    """What it weighs to disclose values: for each term, a set of attributes, the sum or exponent that it contributes.

    shares: for each attribute the share of each node of its taxonomy, shape (nodes,), 0 for `*` and nowhere above that
    of a node below. terms: sets of attribute positions; one attribute each for Phi1, Phi2 and Phi4, up to k for Phi3.
    of_terms: shape (terms,), or (people, terms) where they are personal. A term contributes its weight times the shares
    of its attributes; 0 times infinity is 0. Raises SensitivityError.
    """

    shares: tuple[FloatArray, ...]
    terms: tuple[tuple[int, ...], ...]
    of_terms: FloatArray

    def __post_init__(self) -> None:
        for share in self.shares:
            if not np.all(share >= 0):
                raise SensitivityError("the weight of a value is missing or negative")
        object.__setattr__(self, "shares", tuple(map(read_only_copy, self.shares)))
        weights = np.array(self.of_terms, dtype=np.float64)
        if weights.ndim not in (1, 2) or weights.shape[-1] != len(self.terms):
            raise SensitivityError(f"{len(self.terms)} weights were expected for everybody, or for each person")
        if not np.all(weights >= 0):
            raise SensitivityError("a weight is missing or negative")
        if any(not term or not all(0 <= axis < len(self.shares) for axis in term) for term in self.terms):
            raise SensitivityError("a weight is for one or several attributes of the records")
        object.__setattr__(self, "of_terms", read_only(weights))

    @classmethod
    def linear(cls, shares: Iterable[FloatArray], of_attributes: FloatArray | Sequence[float]) -> "Weights":
        """One term for each attribute. of_attributes: shape (attributes,) or (people, attributes)."""
        attribute_shares = tuple(shares)
        return cls(
            attribute_shares,
            tuple((axis,) for axis in range(len(attribute_shares))),
            np.asarray(of_attributes, dtype=np.float64),
        )

    def normalized(self, total: float) -> "Weights":
        """The weights scaled so that those of each person sum to a total (LSFB09 section 3.3).

        Raises SensitivityError if all weights of somebody are 0, or one is infinite.
        """
        sums = self._sums()
        if not np.all(sums > 0):
            raise SensitivityError("the weights of somebody are all 0, and cannot be scaled")
        return replace(self, of_terms=self.of_terms * (total / sums))

    def limited(self, total: float) -> "Weights":
        """The weights of each person scaled down if they sum to more than a total (LSFB09 section 3.3).

        Raises SensitivityError if a weight is infinite.
        """
        return replace(self, of_terms=self.of_terms * (total / np.maximum(self._sums(), total)))

    def _sums(self) -> FloatArray:
        sums = self.of_terms.sum(axis=-1, keepdims=True)
        if not np.all(np.isfinite(sums)):
            raise SensitivityError("an infinite weight cannot be scaled")
        return np.asarray(sums)

    def total(self, records: Records, people: IndexArray) -> FloatArray:
        """The contributions of all terms to each record, summed: shape (records,)."""
        total = np.zeros(len(records))
        for number in self._weighing:
            weight = self.of_terms[number] if self.of_terms.ndim == 1 else self.of_terms[people, number]
            first, *others = self.terms[number]
            # One weight for everybody is multiplied with the share of each node, not of each record.
            shared = self.of_terms.ndim == 1
            nodes = records.nodes[:, first]
            weight = (
                product(weight, self.shares[first])[nodes] if shared else product(weight, self.shares[first][nodes])
            )
            for axis in others:
                weight = product(weight, self.shares[axis][records.nodes[:, axis]])
            total += weight
        return total

    @property
    def axes(self) -> frozenset[int]:
        """The positions of the attributes with a weight that is not 0."""
        return frozenset(axis for number in self._weighing for axis in self.terms[number])

    @cached_property
    def _weighing(self) -> tuple[int, ...]:
        """The terms with a weight that is not 0."""
        return tuple(np.flatnonzero(self.of_terms.reshape(-1, len(self.terms)).any(axis=0)).tolist())


@dataclass(frozen=True, eq=False)
class _Weighed(Sensitivity):
    """What depends on the weights of what is disclosed, and on nothing else."""

    weights: Weights

    @property
    def axes(self) -> frozenset[int]:
        """Those of the weights."""
        return self.weights.axes

    @property
    def is_personal(self) -> bool:
        """Whether the weights are."""
        return self.weights.of_terms.ndim == 2


@dataclass(frozen=True, eq=False)
class Linear(_Weighed):
    """The sum of the weights of what is disclosed: Phi1, with personal weights Phi2, with interactions Phi3 (eqs. 2-4)."""

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:
        """The sum for each record."""
        return self.weights.total(records, people)


@dataclass(frozen=True, eq=False)
class Multiplicative(_Weighed):
    """The exponential of that sum, Phi4 (eq. 5). A wholly suppressed record has sensitivity 1."""

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:
        """The product for each record; infinite where it is too large for a float."""
        with np.errstate(over="ignore"):
            return np.exp(self.weights.total(records, people))


def product(one: FloatArray, other: FloatArray) -> FloatArray:
    """The product where 0 times infinity is 0: nothing disclosed, or no chance of identification, does no harm."""
    with np.errstate(invalid="ignore"):
        return np.where((one == 0) | (other == 0), 0.0, one * other)


def harmonic_shares(taxonomy: Taxonomy, base: FloatArray | None = None) -> FloatArray:
    """The modified harmonic mean up the hierarchy: a parent weighs 1 / sum(1 / w_i) over its children, the root 0.

    So w / l over l children of weight w (LSFB09 section 8). base: the weights of the base values, shape (leaves,), each
    1 where nothing is said. Returns shape (nodes,).
    """
    weights = np.ones(taxonomy.hierarchy.size(0)) if base is None else np.asarray(base, dtype=np.float64)
    if weights.shape != (taxonomy.hierarchy.size(0),):
        raise SensitivityError(f"an attribute of {taxonomy.hierarchy.size(0)} values came with other weights")
    if not np.all(weights >= 0):
        raise SensitivityError("the weight of a value is missing or negative")
    # Reciprocals add up level by level, so those of the base values under a node are all that counts.
    with np.errstate(divide="ignore"):
        reciprocals = 1.0 / weights
        levels = range(taxonomy.hierarchy.height + 1)
        sums = [np.bincount(taxonomy.hierarchy.lift(0, level), reciprocals) for level in levels]
        shares = 1.0 / np.concatenate(sums)
    shares[taxonomy.root] = 0.0
    return read_only(shares)


# Loss and risk of disclosing records to attackers with some dictionary (LSFB09 Definitions 2 to 4, section 3.2).
#
# The loss of a record is the harm to its person, expected over the attacker's guess:
# p(Z = 1) Phi(y) + p(Z = 0) Psi(y), with 0 times infinity 0. The risk is the mean loss over the records.


HARMLESS = Constant(0.0)
"""Psi of an attacker whose wrong guesses harm nobody."""


@dataclass(frozen=True)
class Harm:
    """Phi, when the attacker finds the person, and Psi, when not."""

    identified: Sensitivity
    missed: Sensitivity = HARMLESS

    @property
    def is_personal(self) -> bool:
        """Whether it depends on whom a record is about."""
        return self.identified.is_personal or self.missed.is_personal

    def loss(self, records: Records, people: IndexArray, counts: CountArray) -> FloatArray:
        """The loss of each record. counts: of the entries that are consistent with it; shape (records,), in [0, inf]."""
        return expected_harm(self.identified(records, people), self.missed(records, people), counts)


def expected_harm(identified: FloatArray, missed: FloatArray, counts: CountArray) -> FloatArray:
    """The expected harm of a guess among `counts` entries; certainly missed where there are none: shape (records,)."""
    # Divided, not multiplied by a rounded reciprocal: c / k must be exactly what k entries make of c.
    if counts.all():
        shared = identified / counts
    else:
        shared = np.divide(identified, counts, out=np.zeros(len(counts)), where=counts > 0)
    if not missed.any():
        return shared
    return shared + product(1.0 - identification_probability(counts), missed)


def losses(disclosed: Records, dictionary: Dictionary, harm: Harm) -> FloatArray:
    """The loss of each disclosed record, shape (records,); record i is about person i."""
    return harm.loss(disclosed, np.arange(len(disclosed)), consistent_counts(disclosed, dictionary))


def risk(disclosed: Records, dictionary: Dictionary, harm: Harm) -> float:
    """R(delta, theta): the mean loss (Definition 3). Raises DisclosureRuleError for no records."""
    return expected(losses(disclosed, dictionary, harm))


def expected(loss: FloatArray) -> float:
    """The mean loss. Raises DisclosureRuleError for no records."""
    if not len(loss):
        raise DisclosureRuleError("risk is a mean over records, and there are none")
    return float(loss.mean())


def weighted_mean(values: FloatArray, weights: FloatArray | None) -> float:
    """The mean over records of which each counts as often as its weight says, once without weights; 0 * inf is 0."""
    return float(values.mean()) if weights is None else float(product(weights / weights.sum(), values).sum())


def record_weights(weights: FloatArray, length: int) -> FloatArray:
    """The weights, if there are `length` of them, finite and none negative, not all 0. Raises DisclosureRuleError."""
    checked = read_only_copy(np.asarray(weights, dtype=np.float64))
    if checked.shape != (length,) or not np.all((checked >= 0) & np.isfinite(checked)) or not checked.any():
        raise DisclosureRuleError(
            f"{length} weights were expected, one for each record, finite, none negative, not all 0"
        )
    return checked


def as_distribution(probabilities: FloatArray, length: int, of: str) -> FloatArray:
    """The probabilities, if there are `length` of them, which sum to 1. Raises DisclosureRuleError otherwise."""
    if probabilities.shape != (length,) or not length or not np.all(probabilities >= 0):
        raise DisclosureRuleError(f"{length} probabilities were expected, one for each {of}, none negative")
    if not np.isclose(probabilities.sum(), 1.0):
        raise DisclosureRuleError(f"the probabilities of each {of} must sum to 1")
    return probabilities


# Record linkage: an attacker first joins a disclosed record with a public one, then looks for the person (LSFB09 6).
#
# The enlarged record y v z shows in each attribute the finer of both values. It is more sensitive than what was
# disclosed, and tells more.


MAX_LINKS = 20_000_000
"""Pairs of a disclosed and a public record that are laid out."""


@dataclass(frozen=True, eq=False)
class Links:
    """What an attacker links: numbers of disclosed and of public records, and p(z | y): shape (links,) each.

    right: whether both are about one person (the paper's W); taken for granted where nothing is said. Raises
    DisclosureRuleError where the probabilities of a record are negative or exceed 1 in all.
    """

    disclosed: IndexArray
    public: IndexArray
    probability: FloatArray
    right: BoolArray = field(default_factory=lambda: np.ones(0, dtype=bool))

    def __post_init__(self) -> None:
        if not len(self.right):
            object.__setattr__(self, "right", np.ones(len(self.disclosed), dtype=bool))
        if not len(self.disclosed) == len(self.public) == len(self.probability) == len(self.right):
            raise DisclosureRuleError("links need a disclosed and a public record and a probability each")
        totals = np.bincount(self.disclosed, self.probability)
        if np.any(self.probability < 0) or np.any(totals > 1 + 1e-9):
            raise DisclosureRuleError("the links of a record need probabilities that sum to at most 1")


def uniform_links(disclosed: Records, public: Records) -> Links:
    """Each disclosed record linked with each consistent public one, all equally likely.

    Raises DisclosureRuleError for more than MAX_LINKS pairs.
    """
    disclosed_rows, dictionary_rows, size = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)], 0
    radices = (disclosed.space.roots + 1).tolist()
    for levels, rows in disclosed.by_levels():
        for other, entries in public.by_levels():
            shared = np.maximum(levels, other)
            both = np.concatenate(
                [disclosed[rows].generalized(shared).nodes, public[entries].generalized(shared).nodes]
            )
            keys, _ = pack(list(both.T), radices, len(both))
            ours, theirs = keys[: len(rows)], keys[len(rows) :]
            size += match_size(ours, theirs)
            if size > MAX_LINKS:
                raise DisclosureRuleError(f"more than {MAX_LINKS} pairs of records could be linked")
            first, second = match(ours, theirs)
            disclosed_rows.append(rows[first])
            dictionary_rows.append(entries[second])
    record = np.concatenate(disclosed_rows)
    fitting = np.bincount(record, minlength=len(disclosed))
    return Links(record, np.concatenate(dictionary_rows), 1.0 / fitting[record])


def enlarged(disclosed: Records, public: Records) -> Records:
    """The finer value of each pair, record by record. Raises DisclosureRuleError where two contradict each other."""
    if not disclosed.is_consistent_with(public).all():
        raise DisclosureRuleError("a disclosed record is linked with a public one that contradicts it")
    return Records(disclosed.space, np.where(disclosed.levels <= public.levels, disclosed.nodes, public.nodes))


NOTHING_ALIKE: Mapping[int, AlikeValues] = MappingProxyType({})
"""Values agree when they are equal or one is over the other."""


def linkage_losses(
    disclosed: Records,
    public: Records,
    links: Links,
    dictionary: Dictionary,
    harm: Harm,
    alike: Mapping[int, AlikeValues] = NOTHING_ALIKE,
) -> FloatArray:
    """The expected loss of each disclosed record: over its links, as it is where it is not linked: shape (records,).

    A link that is not right misses the person. alike: by position of the attribute, values of records, disclosed or
    public, and of the dictionary that agree when the person is looked for.
    """
    people = np.arange(len(disclosed))
    joined = enlarged(disclosed[links.disclosed], public[links.public])
    of_right_links = harm.loss(joined, links.disclosed, approximate_counts(joined, dictionary, alike))
    missed = harm.missed(disclosed, people)[links.disclosed]
    of_links = product(links.probability, np.where(links.right, of_right_links, missed))
    linked = np.bincount(links.disclosed, links.probability, minlength=len(disclosed))
    unlinked = np.where(np.isclose(linked, 1.0), 0.0, 1.0 - linked)
    alone = harm.loss(disclosed, people, approximate_counts(disclosed, dictionary, alike))
    return np.bincount(links.disclosed, of_links, minlength=len(disclosed)) + product(unlinked, alone)


# What the best disclosure of a record is: the three ways to weigh its loss against its utility (LSFB09 eqs. 7 to 9).
#
# Each asks every record by itself, as the paper's feasible set of section 4 does; for the trade-off, and only for it,
# that is the same as asking the means.


@dataclass(frozen=True)
class Objective(ABC):
    """An order of disclosures in which less loss, more utility and more disclosed steps are never worse.

    What disclosures are chosen by must be a finite number; else DisclosureRuleError is raised.
    """

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isfinite(value):
                raise DisclosureRuleError(f"a {name} to choose by must be a finite number, not {value}")

    @abstractmethod
    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """Shape (4, n): whether it is not allowed, then three costs; the lexicographically least is the best.

        steps: how many steps below `*` all values together are. They differ from utility where steps are worth more in
        some attributes, or nothing in others.
        """


@dataclass(frozen=True)
class LeastRisk(Objective):
    """The least loss with a utility of at least so much (eq. 8); among equals the most utility, then the most steps."""

    utility: float

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """Loss, then utility, then steps."""
        return np.stack([utility < self.utility, loss, -utility, -steps])


@dataclass(frozen=True)
class MostUtility(Objective):
    """The most utility with a loss of at most so much (eq. 7); among equals the least loss, then the most steps."""

    loss: float

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """Utility, then loss, then steps."""
        return np.stack([loss > self.loss, -utility, loss, -steps])


@dataclass(frozen=True)
class TradeOff(Objective):
    """The least loss - lambda * utility (eq. 9); among equals the most utility, then the most steps.

    price: lambda, the loss that one step of utility is worth.
    """

    price: float

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """The difference, then utility, then steps."""
        return np.stack([np.zeros(len(loss)), loss - self.price * utility, -utility, -steps])


def is_better(score: FloatArray, than: FloatArray) -> BoolArray:
    """Whether scores come before others, column by column: shape (n,), bool."""
    better: BoolArray = np.less(score[-1], than[-1])
    for value, other in zip(score[-2::-1], than[-2::-1]):
        better = np.less(value, other) | (np.equal(value, other) & better)
    return better


# The risk of a release: what people in a dictionary lose to an attacker who also holds some published marginals.
#
# A release discloses no records. Its attacker draws, from the rows that the maxent distribution expects to fit what is
# known of a person, one to be theirs. Two things can go wrong:
#
# - The row is somebody else's: e rows are expected to fit and c people of the dictionary fit as well, so that the link is
#   right with probability 1 / max(e, c, 1) at most.
# - There is no such row: fewer than one is expected to show the values drawn, which are the person's own with the
#   probability q(y | z) only, given the known values z.
#
# The person is found when neither happens, and loses the sensitivity of the row, at the finest published levels. Both
# probabilities bound the loss, and the less of both expectations is what is given; for one table as the only marginal and
# its rows as the dictionary that is the risk of disclosing the table (LSFB09 section 3.2).


@dataclass(frozen=True, eq=False)
class ReleaseRisk:
    """What each person of a dictionary risks: shape (people,) each.

    fitting: expected number of rows that fit the person, between the bounds that the marginals prove.
    identification_probability, loss: expected. least_loss, most_loss: where the number of rows that fit lies at its upper
    and at its lower bound; the latter does not count on values that are drawn wrong.
    """

    fitting: FloatArray
    identification_probability: FloatArray
    loss: FloatArray
    least_loss: FloatArray
    most_loss: FloatArray

    @property
    def risk(self) -> float:
        """The mean loss over the people."""
        return float(self.loss.mean())

    @property
    def bounds(self) -> tuple[float, float]:
        """The means of the least and of the most loss."""
        return float(self.least_loss.mean()), float(self.most_loss.mean())


def release_risk(collection: Collection, dictionary: Dictionary, sensitivity: Sensitivity) -> ReleaseRisk:
    """The risk of a release for the people of a dictionary over its attributes; entry i is about person i.

    Attributes of the dictionary that the release lacks must be suppressed. Raises DomainMismatchError where the
    attributes or hierarchies differ, SensitivityError for a sensitivity whose expectation has no closed form.
    """
    if dictionary.space.domain != collection.domain:
        raise DomainMismatchError("the dictionary and the release have different attributes or hierarchies")
    if not len(dictionary):
        raise DisclosureRuleError("risk is a mean over people, and the dictionary has none")
    expectations = CellExpectations.of(collection)
    space = dictionary.space
    finest = np.array([expectations.levels.get(a, h.height) for a, h in space.domain.items()], dtype=np.intp)
    published = dictionary.entries.generalized(finest)
    alike = consistent_counts(published, Dictionary(published))
    length = len(dictionary)
    fitting, lower, upper = np.zeros(length), np.zeros(length), np.zeros(length)
    harm, guessed_harm, guessed = np.zeros(length), np.zeros(length), np.zeros(length)
    squares = replace(expectations, power=2)
    for group in _groups(published):
        rows = group.rows
        fitting[rows] = group.of_rows(expectations.expected_counts(group.levels, group.codes, group.size))
        bounds = bounds_of_cells(collection, group.levels, group.codes, group.size)
        lower[rows], upper[rows] = (group.of_rows(bound.astype(np.float64)) for bound in bounds)
        harm[rows] = _per_row(_summed_harm(expectations, group, sensitivity), fitting[rows])
        guessed_harm[rows] = _per_row(_summed_harm(squares, group, sensitivity), fitting[rows] ** 2)
        guessed[rows] = _per_row(_summed_harm(squares, group, Constant(1.0)), fitting[rows] ** 2)
    possible = (upper > 0) & (fitting > 0)
    linked, least, most = (
        np.where(possible, 1.0 / np.maximum(np.maximum(count, alike), 1.0), 0.0)
        for count in (np.clip(fitting, lower, upper), upper, lower)
    )
    return ReleaseRisk(
        fitting=np.clip(fitting, lower, upper),
        identification_probability=np.minimum(linked, guessed),
        loss=np.minimum(product(linked, harm), guessed_harm),
        least_loss=np.minimum(product(least, harm), guessed_harm),
        most_loss=product(most, harm),
    )


def _per_row(sums: FloatArray, rows: FloatArray) -> FloatArray:
    """Means from sums, 0 where there is no row."""
    with np.errstate(invalid="ignore"):
        return np.where(rows > 0, sums / np.where(rows > 0, rows, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class _Group:
    """The people of one level vector, equal ones looked up once.

    rows: their numbers. cell_of: for each of them its cell. levels, codes: of the cells' attributes, codes of shape
    (size,) each. records: the cells.
    """

    rows: IndexArray
    cell_of: IndexArray
    levels: dict[str, int]
    codes: dict[str, CodeArray]
    records: Records

    @property
    def size(self) -> int:
        return len(self.records)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """The values of the cells, person by person."""
        return np.asarray(values[self.cell_of], dtype=np.float64)


def _groups(people: Records) -> Iterator[_Group]:
    for levels, rows in people.by_levels():
        cells, cell_of = people[rows].distinct()
        yield _Group(rows, cell_of, *_coded(cells, levels), cells)


def _coded(cells: Records, levels: IndexArray) -> tuple[dict[str, int], dict[str, CodeArray]]:
    finer, codes = {}, {}
    for axis, (attribute, hierarchy) in enumerate(cells.space.domain.items()):
        if levels[axis] < hierarchy.height:
            finer[attribute] = int(levels[axis])
            codes[attribute] = cells.nodes[:, axis] - cells.space.taxonomies[axis].offsets[levels[axis]]
    return finer, codes


def _summed_harm(expectations: CellExpectations, group: _Group, sensitivity: Sensitivity) -> FloatArray:
    """The sensitivities of all rows that fit each person of a group, summed: shape (people,)."""
    if isinstance(sensitivity, Constant):
        rows = expectations.expected_counts(group.levels, group.codes, group.size)
        return product(np.array(sensitivity.value), group.of_rows(rows))
    if isinstance(sensitivity, Linear):
        return _expected_sum(expectations, group, sensitivity.weights)
    if isinstance(sensitivity, Multiplicative):
        return _expected_product(expectations, group, sensitivity.weights)
    raise SensitivityError("the expected sensitivity of a release needs a constant, linear or multiplicative one")


def _expected_sum(expectations: CellExpectations, group: _Group, weights: Weights) -> FloatArray:
    """The expected sum of Phi1 to Phi3 over the rows that fit: linear, so each term by itself."""
    total = np.zeros(len(group.rows))
    for number, term in enumerate(weights.terms):
        factors = _factors(expectations, group.records, weights, term)
        if len(factors) < len(term):
            continue
        share = expectations.expected_counts(group.levels, group.codes, group.size, factors)
        of_term = weights.of_terms[number] if weights.of_terms.ndim == 1 else weights.of_terms[group.rows, number]
        total += product(of_term, group.of_rows(share))
    return total


def _factors(
    expectations: CellExpectations, cells: Records, weights: Weights, term: tuple[int, ...]
) -> dict[str, Factor]:
    """The share of each published value of the attributes of a term; what is not published has none."""
    factors: dict[str, Factor] = {}
    for axis in term:
        attribute = cells.space.domain.attributes[axis]
        if attribute in expectations.levels:
            offset = cells.space.taxonomies[axis].offsets[expectations.levels[attribute]]
            share = weights.shares[axis]
            factors[attribute] = lambda _, codes, share=share, offset=offset: share[offset + codes]  # type: ignore[misc]
    return factors


def _expected_product(expectations: CellExpectations, group: _Group, weights: Weights) -> FloatArray:
    """The expected sum of Phi4 over the rows that fit: its factors are those of the attributes, person by person."""
    if any(len(term) > 1 for term in weights.terms):
        raise SensitivityError("the expected sensitivity of a release has no closed form with multiplied interactions")
    personal = weights.of_terms.ndim == 2
    people = np.arange(len(group.rows)) if personal else None
    codes = {a: c[group.cell_of] for a, c in group.codes.items()} if personal else group.codes
    factors: dict[str, Factor] = {}
    for number, (axis,) in enumerate(weights.terms):
        attribute = group.records.space.domain.attributes[axis]
        for name, share in _factors(expectations, group.records, weights, (axis,)).items():
            term_weight = weights.of_terms[group.rows, number] if personal else weights.of_terms[number]
            before = factors.get(attribute)
            factors[name] = _exponential(share, term_weight, before)
    length = group.size if people is None else len(people)
    sums = expectations.expected_counts(group.levels, codes, length, factors)
    return sums if personal else group.of_rows(sums)


def _exponential(share: Factor, weight: FloatArray, before: Factor | None) -> Factor:
    """The factor e^(weight * share) of one term, times that of the terms before it."""

    def factor(cells: IndexArray, codes: CodeArray) -> FloatArray:
        with np.errstate(over="ignore"):
            cell_factor = np.exp(product(weight[cells] if weight.ndim else weight, share(cells, codes)))
        return cell_factor if before is None else cell_factor * before(cells, codes)

    return factor

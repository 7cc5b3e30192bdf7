"""Sensitivity: how much harm a disclosed record does to the person it describes once identified (LSFB09 section 3.3).

Weights are nonnegative; an infinite one forbids to disclose a value at any chance of identification. A value's own
weight, its *share*, falls from 1 for a base value to 0 for `*` on the way up the hierarchy; weights of attributes, of
people and of interactions multiply it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from checks.risk.errors import SensitivityError
from checks.risk.record import Records
from models.arrays import FloatArray, IndexArray, read_only, read_only_copy
from models.tables.taxonomy import Taxonomy


class Sensitivity(Protocol):
    """Phi or Psi: a sensitivity for each record, shape (records,), in [0, inf].

    people: for each record the number of the person it is about, where weights are personal.
    """

    @property
    def axes(self) -> frozenset[int]:
        """The positions of the attributes whose values it depends on."""
        ...

    @property
    def is_personal(self) -> bool:
        """Whether it depends on whom a record is about."""
        ...

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:
        """The sensitivity of each record."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same harm whatever is disclosed: what k-anonymity assumes (LSFB09 section 5), and Psi = 0."""

    value: float = 0.0

    def __post_init__(self) -> None:
        if not self.value >= 0:
            raise SensitivityError(f"a sensitivity must not be negative, got {self.value}")

    @property
    def axes(self) -> frozenset[int]:
        """None."""
        return frozenset()

    @property
    def is_personal(self) -> bool:
        """It is not."""
        return False

    def __call__(self, records: Records, people: IndexArray) -> FloatArray:  # noqa: ARG002  (part of the protocol)
        """The value, for each record."""
        return np.full(len(records), float(self.value))


@dataclass(frozen=True, eq=False)
class PerPerson:
    """A harm of each person's own, whatever is disclosed: Psi of people to whom it matters differently to be missed.

    values: by person, shape (people,), copied in. Raises SensitivityError for a missing or negative one.
    """

    values: FloatArray

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.values) >= 0):
            raise SensitivityError("the harm to a person is missing or negative")
        object.__setattr__(self, "values", read_only_copy(self.values, np.float64))

    @property
    def axes(self) -> frozenset[int]:
        """None."""
        return frozenset()

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
        kept = tuple(shares)
        return cls(kept, tuple((axis,) for axis in range(len(kept))), np.asarray(of_attributes, dtype=np.float64))

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
class _Weighed:
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


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The product where 0 times infinity is 0: nothing disclosed, or no chance of identification, does no harm."""
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)


def constant_shares(taxonomy: Taxonomy) -> FloatArray:
    """A value weighs the same however general, nothing when suppressed (eq. 2): shape (nodes,)."""
    return read_only((np.arange(taxonomy.size) != taxonomy.root).astype(np.float64))


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


def falls_towards_root(taxonomy: Taxonomy, shares: FloatArray) -> bool:
    """Whether no node weighs more than one below it and `*` nothing: what makes generalizing lower the sensitivity."""
    return bool(shares[taxonomy.root] == 0 and np.all(shares[taxonomy.parents] <= shares))

"""Loss and risk of disclosing records to attackers with some dictionary (LSFB09 Definitions 2 to 4, section 3.2).

The loss of a record is the harm to its person, expected over the attacker's guess:
p(Z = 1) Phi(y) + p(Z = 0) Psi(y), with 0 times infinity 0. The risk is the mean loss over the records.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checks.risk.dictionary import Dictionary, consistent_counts, identification_probability
from checks.risk.errors import DisclosureRuleError
from checks.risk.record import Records
from checks.risk.sensitivity import Constant, Sensitivity, product
from models.arrays import CountArray, FloatArray, IndexArray, read_only_copy

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


def risk(disclosed: Records, dictionary: Dictionary, harm: Harm, probability: FloatArray | None = None) -> float:
    """R(delta, theta): the expected loss (Definition 3). probability: of each record; equal without it."""
    return expected(losses(disclosed, dictionary, harm), probability)


def expected(loss: FloatArray, probability: FloatArray | None = None) -> float:
    """The mean loss, or the one weighted by the probabilities of the records. Raises DisclosureRuleError for no records."""
    if not len(loss):
        raise DisclosureRuleError("risk is a mean over records, and there are none")
    if probability is None:
        return float(loss.mean())
    return float(product(as_distribution(probability, len(loss), "record"), loss).sum())


def weighted_mean(values: FloatArray, weights: FloatArray | None) -> float:
    """The mean over records of which each counts as often as its weight says, once without weights; 0 * inf is 0."""
    return float(values.mean()) if weights is None else float(product(weights / weights.sum(), values).sum())


def record_weights(weights: FloatArray, length: int) -> FloatArray:
    """The weights, if there are `length` of them, finite and none negative, not all 0. Raises DisclosureRuleError."""
    kept = read_only_copy(np.asarray(weights, dtype=np.float64))
    if kept.shape != (length,) or not np.all((kept >= 0) & np.isfinite(kept)) or not kept.any():
        raise DisclosureRuleError(
            f"{length} weights were expected, one for each record, finite, none negative, not all 0"
        )
    return kept


def bayes_risk(disclosed: Records, dictionaries: Sequence[Dictionary], prior: Sequence[float], harm: Harm) -> float:
    """R(delta): the risk expected over dictionaries with a prior (Definition 4). Raises DisclosureRuleError."""
    weights = as_distribution(np.asarray(prior, dtype=np.float64), len(dictionaries), "dictionary")
    risks = np.array([risk(disclosed, dictionary, harm) for dictionary in dictionaries])
    return float(product(weights, risks).sum())


def worst_case_risk(disclosed: Records, dictionaries: Sequence[Dictionary], harm: Harm) -> float:
    """The largest risk over some dictionaries, which minimax rules keep low (section 4). Raises DisclosureRuleError."""
    if not dictionaries:
        raise DisclosureRuleError("a worst case needs at least one dictionary")
    return max(risk(disclosed, dictionary, harm) for dictionary in dictionaries)


def as_distribution(probabilities: FloatArray, length: int, of: str) -> FloatArray:
    """The probabilities, if there are `length` of them, which sum to 1. Raises DisclosureRuleError otherwise."""
    if probabilities.shape != (length,) or not length or not np.all(probabilities >= 0):
        raise DisclosureRuleError(f"{length} probabilities were expected, one for each {of}, none negative")
    if not np.isclose(probabilities.sum(), 1.0):
        raise DisclosureRuleError(f"the probabilities of each {of} must sum to 1")
    return probabilities

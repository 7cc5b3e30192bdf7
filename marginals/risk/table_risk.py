"""The risk of disclosing a table, record by record and dictionary by dictionary (LSFB09 Definitions 3 and 4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.risk.dictionary import identification_probability
from checks.risk.loss import weighted_mean
from checks.risk.sensitivity import product
from models.arrays import BoolArray, CountArray, FloatArray


@dataclass(frozen=True, eq=False)
class TableRisk:
    """The risk of disclosing a table (LSFB09 Definitions 3 and 4).

    names, prior: of the dictionaries. losses, counts: of each record under each dictionary, and how many of its entries
    are consistent with it, shape (dictionaries, records). utility: of each record, shape (records,). bounds: for each
    dictionary whether no attacker with one that is more general and holds the same people can do more without linkage
    (Proposition 1). own_fits: for each dictionary whether the person's own entry fits each record, shape (records,);
    None where it is not known which entry that is. linked: the losses where records are first linked with public ones,
    as losses; None where they are not. weights: how often each record counts in means, shape (records,); once where it is
    None.
    """

    names: tuple[str, ...]
    prior: FloatArray
    losses: FloatArray
    counts: CountArray
    utility: FloatArray
    bounds: tuple[bool, ...]
    own_fits: tuple[BoolArray | None, ...]
    linked: FloatArray | None = None
    weights: FloatArray | None = None

    @property
    def probabilities(self) -> FloatArray:
        """The probability that each person is identified under each dictionary: shape (dictionaries, records)."""
        return np.stack([identification_probability(counts) for counts in self.counts])

    @property
    def expected_losses(self) -> FloatArray:
        """The loss of each record expected over the dictionaries: shape (records,)."""
        return np.asarray(product(self.prior[:, None], self.losses).sum(axis=0))

    @property
    def linked_risks(self) -> FloatArray | None:
        """The mean loss under each dictionary of records that are linked first; None where they are not linked."""
        return None if self.linked is None else self._means(self.linked)

    @property
    def risks(self) -> FloatArray:
        """The mean loss under each dictionary."""
        return self._means(self.losses)

    @property
    def mean_utility(self) -> float:
        """The mean utility of the records."""
        return weighted_mean(self.utility, self.weights)

    @property
    def mean_probabilities(self) -> FloatArray:
        """The mean probability that a person is identified, by dictionary."""
        return self._means(self.probabilities)

    def _means(self, by_dictionary: FloatArray) -> FloatArray:
        return np.array([weighted_mean(values, self.weights) for values in by_dictionary])

    @property
    def mean_worst_loss(self) -> float:
        """The mean over the records of the largest loss over the dictionaries, which minimax rules keep low."""
        return weighted_mean(self.losses.max(axis=0), self.weights)

    @property
    def linked_bayes_risk(self) -> float | None:
        """The risk of records that are linked first, expected over the dictionaries; None where they are not linked."""
        return None if self.linked_risks is None else float(product(self.prior, self.linked_risks).sum())

    @property
    def single_fits(self) -> tuple[int, ...]:
        """By dictionary the number of records that exactly one entry fits, whoever that entry is about."""
        return tuple(np.count_nonzero(self.counts == 1, axis=1).tolist())

    @property
    def right_fits(self) -> tuple[int | None, ...]:
        """For how many of these that entry is the person's own; None where it is not known which that is."""
        pairs = zip(self.counts, self.own_fits)
        return tuple(None if own is None else int(np.count_nonzero((counts == 1) & own)) for counts, own in pairs)

    @property
    def bayes_risk(self) -> float:
        """The risk expected over the dictionaries."""
        return float(product(self.prior, self.risks).sum())

    @property
    def worst_case_risk(self) -> float:
        """The largest risk over the dictionaries."""
        return float(self.risks.max())

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite, and for the risk by linkage where there is none.

        identified: records that one entry fits; identified_right: those of them whose entry is the person's own, null
        where it is not known which that is.
        """
        return {
            "records": len(self.utility),
            "utility": self.mean_utility,
            "bayes_risk": finite_or_none(self.bayes_risk),
            "worst_case_risk": finite_or_none(self.worst_case_risk),
            "dictionaries": [self._dictionary_as_json(number) for number in range(len(self.names))],
        }

    def _dictionary_as_json(self, number: int) -> dict[str, Any]:
        linked = None if self.linked_risks is None else float(self.linked_risks[number])
        return {
            "name": self.names[number],
            "risk": finite_or_none(float(self.risks[number])),
            "largest_loss": finite_or_none(float(self.losses[number].max())),
            "identification_probability": float(self.mean_probabilities[number]),
            "identified": self.single_fits[number],
            "identified_right": self.right_fits[number],
            "fewest_consistent": int(self.counts[number].min()),
            "is_upper_bound": self.bounds[number],
            "linked_risk": None if linked is None else finite_or_none(linked),
        }


def finite_or_none(value: float) -> float | None:
    """A number for JSON, None where it is infinite."""
    return float(value) if np.isfinite(value) else None

"""Losses and risks are the sums that LSFB09 writes down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Constant, Dictionary, DisclosureRuleError, Harm, Linear, Records, RecordSpace, Weights, losses
from checks.risk.harm import as_distribution, expected, risk
from models import Domain, Hierarchy
from risk_strategies import constant_shares, dictionaries, entries_consistent_with, records, sensitivities, spaces

SPACE = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob", "Cy"]), "test": Hierarchy.flat(["+", "-"])}))
NAMES = Dictionary(Records.from_codes(SPACE, {"name": np.array([0, 0, 1])}))


def phi(*weights: float) -> Linear:
    return Linear(Weights.linear(map(constant_shares, SPACE.taxonomies), weights))


@given(st.data())
def test_the_loss_is_the_expected_harm_of_the_guess(data: st.DataObject) -> None:
    space = data.draw(spaces())
    disclosed, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    harm = Harm(*(data.draw(sensitivities(space, len(disclosed))) for _ in range(2)))
    people = np.arange(len(disclosed))
    identified, missed = harm.identified(disclosed, people), harm.missed(disclosed, people)
    for row, loss in enumerate(losses(disclosed, dictionary, harm)):
        entries = entries_consistent_with(dictionary, disclosed[np.array([row])])
        p = 1 / entries if entries else 0.0
        assert loss == pytest.approx((p * identified[row] if p else 0) + ((1 - p) * missed[row] if p < 1 else 0))


def test_never_disclose_counts_only_where_somebody_can_be_found() -> None:
    """LSFB09 3.2: an infinite Phi forbids any chance of identification, an infinite Psi forbids the disclosure."""
    disclosed = Records(SPACE, np.array([[2, 0], [1, 2], [0, 0]]))
    assert losses(disclosed, NAMES, Harm(phi(1, np.inf))).tolist() == [0, 1, np.inf]
    assert losses(disclosed, NAMES, Harm(Constant(1), phi(0, np.inf))).tolist() == [np.inf, 1, np.inf]


def test_risks_over_dictionaries() -> None:
    disclosed = Records(SPACE, np.array([[0, 0], [1, 2]]))
    everybody = Dictionary(Records.from_codes(SPACE, {"test": np.array([0, 0, 0, 1])}))
    harm = Harm(phi(1, 3))
    assert risk(disclosed, NAMES, harm) == pytest.approx((4 / 2 + 1 / 1) / 2)
    assert risk(disclosed, everybody, harm) == pytest.approx((4 / 3 + 1 / 4) / 2)


def test_what_is_no_distribution_is_refused() -> None:
    for prior in ([0.5], [0.5, 0.4], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(DisclosureRuleError):
            as_distribution(np.array(prior), 2, "dictionary")
    with pytest.raises(DisclosureRuleError):
        expected(np.zeros(0))

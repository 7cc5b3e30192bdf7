"""Losses and risks are the sums that LSFB09 writes down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.errors import DisclosureRuleError
from checks.risk.attackers import Dictionary, Records, RecordSpace
from checks.risk.harm import (
    Constant,
    Harm,
    Linear,
    Weights,
    bayes_risk,
    constant_shares,
    expected,
    losses,
    risk,
    worst_case_risk,
)
from models.tables.hierarchy import Domain, Hierarchy
from risk_strategies import dictionaries, records, sensitivities, spaces

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
        entries = len(dictionary.consistent_with(disclosed[np.array([row])]))
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
    assert risk(disclosed, NAMES, harm, np.array([0.25, 0.75])) == pytest.approx(4 / 2 * 0.25 + 1 * 0.75)
    both = [NAMES, everybody]
    assert bayes_risk(disclosed, both, [0.4, 0.6], harm) == pytest.approx(0.4 * 1.5 + 0.6 * (4 / 3 + 1 / 4) / 2)
    assert worst_case_risk(disclosed, both, harm) == pytest.approx(1.5)


@given(st.data())
def test_the_bayes_risk_lies_below_the_worst_case(data: st.DataObject) -> None:
    space = data.draw(spaces())
    disclosed = data.draw(records(space))
    known = data.draw(st.lists(dictionaries(space), min_size=1, max_size=3))
    harm = Harm(data.draw(sensitivities(space, len(disclosed))))
    prior = np.random.default_rng(0).dirichlet(np.ones(len(known)))
    worst = worst_case_risk(disclosed, known, harm)
    assert bayes_risk(disclosed, known, list(prior), harm) <= worst * (1 + 1e-12)
    assert worst == max(risk(disclosed, dictionary, harm) for dictionary in known)


def test_what_is_no_distribution_is_refused() -> None:
    disclosed = Records(SPACE, np.array([[0, 0]]))
    for prior in ([0.5], [0.5, 0.4], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(DisclosureRuleError):
            bayes_risk(disclosed, [NAMES, NAMES], prior, Harm(Constant(1)))
    with pytest.raises(DisclosureRuleError):
        expected(np.zeros(0))
    with pytest.raises(DisclosureRuleError):
        worst_case_risk(disclosed, [], Harm(Constant(1)))

"""The harm that a steward describes is the sensitivity that is computed."""

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import Linear, Multiplicative, Records, RecordSpace
from marginals.risk import HarmModel, PeopleTable
from models import Domain, Hierarchy

SPACE = RecordSpace(Domain.of({"town": Hierarchy.flat(["A", "B"]), "ill": Hierarchy.flat(["f", "g", "h"])}))
RECORDS = Records(SPACE, np.array([[0, 0], [2, 1], [1, 3]]))
"""A and f; * and g; B and *."""

PEOPLE = PeopleTable("the table", pd.DataFrame({"id": ["p", "q", "r"]}), "id")


def sensitivities(model: HarmModel, people: PeopleTable = PEOPLE) -> list[float]:
    return [float(value) for value in model.sensitivity(SPACE, people)(RECORDS, np.arange(3))]


def test_without_weights_identification_itself_costs_one() -> None:
    assert sensitivities(HarmModel()) == [1, 1, 1]
    assert HarmModel().attributes == ()


def test_weights_and_interactions_add_up_or_multiply() -> None:
    model = HarmModel(Linear, {"ill": 2.0, "town": 1.0}, ((("ill", "town"), 4.0),))
    assert sensitivities(model) == [7, 2, 1]
    product = HarmModel(Multiplicative, model.weights, model.interactions)
    assert sensitivities(product) == pytest.approx(np.exp([7, 2, 1]))
    assert set(model.attributes) == {"ill", "town"}


def test_weights_of_attributes_that_are_not_disclosed_do_not_count() -> None:
    assert sensitivities(HarmModel(Linear, {"ill": 2.0, "car": 5.0}, ((("ill", "car"), 4.0),))) == [2, 2, 0]


def test_people_may_have_weights_of_their_own() -> None:
    own = PeopleTable("w.csv", pd.DataFrame({"id": ["r", "p", "stranger"], "town": ["3", "inf", "9"]}))
    assert sensitivities(HarmModel(Linear, {"town": 1.0, "ill": 0.5}, personal=own)) == [np.inf, 0.5, 3]
    with pytest.raises(marginals.InputError, match="the role identifier"):
        sensitivities(HarmModel(Linear, {}, personal=own), PeopleTable("the table", PEOPLE.frame))


def test_a_weight_that_is_none_is_named_by_its_row() -> None:
    own = PeopleTable("w.csv", pd.DataFrame({"id": ["p", "q"], "town": ["1", "-1"]}))
    with pytest.raises(marginals.InputError, match=r"column 'town' of w.csv: the weight in row 2"):
        sensitivities(HarmModel(Linear, {"town": 1.0}, personal=own))


def test_values_may_have_weights_of_their_own() -> None:
    """LSFB09 section 3.3: HIV is more sensitive than flu. A value that is not named weighs what `*` says, else nothing."""
    assert sensitivities(HarmModel(Linear, {"ill": {"g": 5.0}})) == [0, 5, 0]
    assert sensitivities(HarmModel(Linear, {"ill": {"g": 5.0, "*": 0.5}, "town": 1.0})) == [1.5, 5, 1]
    own = PeopleTable("w.csv", pd.DataFrame({"id": ["q"], "ill": ["2"]}))
    assert sensitivities(HarmModel(Linear, {"ill": {"g": 5.0}}, personal=own)) == [0, 10, 0]
    with pytest.raises(
        marginals.InputError, match=r"risk.weights.ill gives a weight to 'x', which is no value of that"
    ):
        sensitivities(HarmModel(Linear, {"ill": {"x": 5.0}}))


def test_a_group_weighs_by_the_harmonic_mean_of_its_values() -> None:
    """LSFB09 section 8: 1 / (1/5 + 1/1) for the group of the two."""
    space = RecordSpace(Domain.of({"ill": Hierarchy.from_rows([("HIV", "virus", "*"), ("flu", "virus", "*")])}))
    records = Records(space, np.array([[0], [1], [2], [3]]))
    model = HarmModel(Linear, {"ill": {"HIV": 5.0, "flu": 1.0}})
    found = model.sensitivity(space, PEOPLE)(records, np.arange(4))
    assert sorted(found.tolist()) == pytest.approx([0, 1 / (1 / 5 + 1), 1, 5])


def test_infinite_harm_of_being_missed_is_warned_of() -> None:
    (warning,) = HarmModel(missed=np.inf).warnings
    assert "risk.missed is inf" in warning
    assert HarmModel(missed=3.0).warnings == ()


def test_interactions_need_weights_to_be_added_to() -> None:
    with pytest.raises(marginals.InputError, match="give these too"):
        HarmModel(interactions=((("ill", "town"), 1.0),))


def test_the_harm_to_who_is_missed() -> None:
    harm = HarmModel(missed=0.25).harm(SPACE, PEOPLE)
    assert harm.missed(RECORDS, np.arange(3)).tolist() == [0.25] * 3


def test_interactions_and_being_missed_may_be_personal() -> None:
    """Phi3 with w_jh,r (LSFB09 eq. 4), and Psi by person, by identifier."""
    own = PeopleTable(
        "w.csv", pd.DataFrame({"id": ["r", "p", "q"], "both": [9, 4, 1], "lost": ["0", "inf", "2"]}), "id"
    )
    model = HarmModel(Linear, {"ill": 2.0, "town": 1.0}, ((("ill", "town"), "both"),), "lost", own)
    # p shows both attributes, q and r one each.
    assert sensitivities(model) == [7, 2, 1]
    assert model.harm(SPACE, PEOPLE).missed(RECORDS, np.arange(3)).tolist() == [np.inf, 2, 0]
    plain = HarmModel(
        Linear, {"ill": 2.0, "town": 1.0}, ((("ill", "town"), 0.5), (("ill", "town"), "both")), personal=own
    )
    assert sensitivities(plain) == [7.5, 2, 1]


def test_harm_of_peoples_own_that_is_not_said_is_asked_for() -> None:
    own = PeopleTable("w.csv", pd.DataFrame({"id": ["p", "q"], "both": [4, -1], "lost": [1, 1]}), "id")
    with pytest.raises(marginals.InputError, match="1 of 3 people have no row there"):
        HarmModel(Linear, {"ill": 1.0}, missed="lost", personal=own).harm(SPACE, PEOPLE)
    with pytest.raises(marginals.InputError, match=r"w.csv has no column 'cost'"):
        HarmModel(Linear, {"ill": 1.0}, missed="cost", personal=own).harm(SPACE, PEOPLE)
    with pytest.raises(marginals.InputError, match=r"no table that has it; risk\.personal_weights names that table"):
        HarmModel(Linear, {"ill": 1.0}, missed="lost").with_personal(None)
    two = PeopleTable("the table", pd.DataFrame({"id": ["p", "q"]}), "id")
    with pytest.raises(marginals.InputError, match=r"column 'both' of w.csv: the weight in row 2"):
        HarmModel(Linear, {}, ((("ill", "town"), "both"),), personal=own).sensitivity(SPACE, two)

"""Attackers cannot be described so that nothing could be computed of them."""

import pandas as pd
import pytest

import marginals
from checks import DisclosureRuleError
from marginals import DisclosureRule, RiskAssessment
from marginals.example import attributes, frame
from marginals.risk import Attackers, HarmModel, Linkage, PeopleTable, Similarity

ROWS = marginals.read_rows(frame, attributes)
KNOWN = PeopleTable.of_quasi_identifiers(ROWS)


def table(**columns: list[str]) -> PeopleTable:
    return PeopleTable("other.csv", pd.DataFrame(columns))


@pytest.mark.parametrize("prior", [(), (0.5,), (0.5, 0.6), (2.0, -1.0), (0.5, 0.25, 0.25)])
def test_a_prior_is_a_probability_for_each_dictionary(prior: tuple[float, ...]) -> None:
    with pytest.raises(DisclosureRuleError):
        Attackers((KNOWN, KNOWN), prior)


@pytest.mark.parametrize(
    ("attackers", "harm", "said"),
    [
        (Attackers((table(car=["Fiat"]),)), HarmModel(), "nobody could be found in it"),
        (Attackers((KNOWN,), linkage=Linkage(table(car=["Fiat"]))), HarmModel(), "nothing could be linked with it"),
        (Attackers((KNOWN,), linkage=Linkage(table(age=["22"]), ("age",))), HarmModel(), "'age', which the table has"),
        (Attackers((KNOWN,), linkage=Linkage(table(age=["22"]), ("car",))), HarmModel(), "'car', which is no column"),
        (Attackers((KNOWN,), linkage=Linkage(table(age=["22"], car=[""]), ("car",))), HarmModel(), "has no value"),
        (Attackers((KNOWN,), similarity=Similarity(("car",))), HarmModel(), "'car', which is no attribute"),
        (Attackers((KNOWN,)), HarmModel(weights={"car": 1.0}), "'car', which is no attribute"),
    ],
)
def test_attackers_and_harm_that_do_not_fit_the_table_are_refused(
    attackers: Attackers, harm: HarmModel, said: str
) -> None:
    with pytest.raises(marginals.InputError, match=said):
        RiskAssessment.of(ROWS, attackers, harm)


def test_what_linking_adds_may_have_weights() -> None:
    attackers = Attackers((KNOWN,), linkage=Linkage(table(age=["22"], car=["Fiat"]), ("car",)))
    assert RiskAssessment.of(ROWS, attackers, HarmModel(weights={"car": 1.0})).of_table().linked is not None


def test_rules_and_levels_of_an_assessment_are_those_of_the_disclosed_table() -> None:
    rules = (DisclosureRule("sex", condition="age < 30"),)
    assessment = RiskAssessment.of(ROWS, Attackers((KNOWN,)), HarmModel(), rules, {"age": 1})
    assert assessment.rules == rules
    young = int((frame["age"].astype(int) < 30).sum())
    levels = {"age": [0, 48, 0, 0], "sex": [48 - young, young], "diagnosis": [48, 0]}
    assert assessment.table.disclosure.level_counts() == levels
    with pytest.raises(marginals.MarginalsError, match="levels 0 to 3"):
        RiskAssessment.of(ROWS, Attackers((KNOWN,)), HarmModel(), levels={"age": 4})


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan")])
def test_a_threshold_of_similarity_lies_between_0_and_1(threshold: float) -> None:
    with pytest.raises(marginals.InputError, match="threshold"):
        Similarity(("town",), threshold)

"""No promise is made about a column if whoever knows that it follows from another one finds out more."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, Policy, Role, Table
from marginals.publishing.dependent import require_independent
from models import Hierarchy

QUASI, SENSITIVE = Role.QUASI_IDENTIFIER, Role.SENSITIVE
RNG = np.random.default_rng(1)
RACE = RNG.choice(["A", "B"], 1500, p=[0.3, 0.7])
BY_RACE = {"A": [0.04] * 7 + [0.24] * 3, "B": [0.12] * 7 + [0.16 / 3] * 3}
SCORE = np.array([RNG.choice(10, p=BY_RACE[own]) for own in RACE]) + 1
HIGH = np.where(SCORE > 7, "high", "low")


def table(roles: dict[str, Role], **columns: Any) -> Table:
    values = {name: Attribute(role, missing="as a value") for name, role in roles.items()}
    return marginals.read_table(
        pd.DataFrame({"race": RACE, **columns}), {"race": Attribute(QUASI), **values}, missing=[""]
    )


def is_refused(counted: Table, **settings: Any) -> bool:
    try:
        require_independent(counted, Policy(k_link=10, **{"diversity": "public", **settings}))
    except InputError:
        return True
    return False


def test_a_class_of_a_published_score_is_not_promised_to_be_uncertain() -> None:
    bound = 3 * (share := float((HIGH == "high").mean())) / (1 + 2 * share)
    assert (HIGH[RACE == "A"] == "high").mean() > bound, "what scores by race tell whoever knows the rule"
    counted = table({"score": SENSITIVE, "high": SENSITIVE}, score=SCORE, high=HIGH)
    with pytest.raises(InputError, match=r"'high' follows from 'score'.*level in the hierarchy of 'score'"):
        marginals.publish(counted, Policy(k_link=10, diversity="public", alone=["high"]))
    assert is_refused(counted)
    assert not is_refused(counted, alone=["high", "score"]), "two tables of everybody"
    assert not is_refused(counted, alone=["score"], diversity={"high": "public", "score": "none"})
    assert is_refused(counted, alone=["score"]), (
        "a table of high by race divides the scores as the table of scores does"
    )
    assert is_refused(counted, alone=["high"], diversity={"high": "public", "score": "none"})
    assert not is_refused(counted, diversity="none")
    assert not is_refused(counted, must_not_publish=[{"score": 0}], diversity={"high": "public", "score": "none"})


@pytest.mark.parametrize("many", [45, 60, 200])
def test_a_rule_of_many_numbers_is_found_whatever_their_order(many: int) -> None:
    code = RNG.integers(0, many, 20_000)
    group = RNG.permutation(many)[code] % 3
    columns = {"code": code.astype(str), "group": np.array(["x", "y", "z"])[group]}
    flat = Hierarchy.flat([str(number) for number in range(many)])
    roles = {"code": Attribute(SENSITIVE, flat, label_form="numbers"), "group": Attribute(SENSITIVE)}
    assert is_refused(marginals.read_table(pd.DataFrame(columns), roles))


def test_what_others_may_know_is_no_secret_with_a_release_or_without() -> None:
    assert not is_refused(table({"score": QUASI, "high": SENSITIVE}, score=SCORE, high=HIGH))
    assert not is_refused(table({"score": SENSITIVE, "high": QUASI}, score=SCORE, high=HIGH))


def test_a_missing_value_tells_too_and_exact_numbers_tell_their_classes() -> None:
    died = np.where(SCORE > 5, "yes", "no")
    year = np.where(died == "yes", RNG.integers(2000, 2006, len(SCORE)).astype(str), "")
    counted = table({"died": SENSITIVE, "year": SENSITIVE}, died=died, year=year)
    assert is_refused(counted)
    assert not is_refused(counted, alone=["year"]), "all who have a year died, so that tells nothing of which"
    pay = RNG.lognormal(10, 0.6, len(SCORE)).round(2)
    assert len({*pay.tolist()}) > 0.99 * len(pay)
    rich = np.where(pay > 30_000, "yes", "no")
    assert is_refused(table({"pay": SENSITIVE, "rich": SENSITIVE}, pay=pay, rich=rich), alone=["rich"])
    bands = np.floor(pay / 10_000) * 10_000
    within = np.where(pay > 36_500, "yes", "no")
    assert is_refused(table({"pay": SENSITIVE, "rich": SENSITIVE}, pay=bands, rich=within), alone=["rich"]), (
        "one band is cut"
    )
    within[pay < 5_000] = "yes"
    loose = np.where(RNG.random(len(pay)) < 0.1, "yes", within)
    assert not is_refused(table({"pay": SENSITIVE, "rich": SENSITIVE}, pay=bands, rich=loose), alone=["rich"])
    rich[::7] = ""
    assert is_refused(table({"pay": SENSITIVE, "rich": SENSITIVE}, pay=pay, rich=rich), alone=["rich"])


@given(st.integers(0, 10**6), st.integers(20, 1500), st.integers(2, 1500), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_columns_that_go_together_by_chance_alone_are_not_refused(seed: int, rows: int, many: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {"x": rng.integers(0, many, rows).astype(str), "y": rng.integers(0, few, rows).astype(str)}
    columns["x"] = np.char.add("v", columns["x"])
    frame = pd.DataFrame({"race": RACE[:rows], **columns})
    counted = marginals.read_table(frame, {"race": "quasi-identifier", "x": "sensitive", "y": "sensitive"})
    assert not is_refused(counted)

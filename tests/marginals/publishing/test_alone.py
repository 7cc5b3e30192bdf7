"""Attributes that have a table of their own only, since beside others they would give a sensitive one away."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import parse_diversity
from marginals import Attribute, InputError, Policy, publish, read_table

PROPOSED = ("recursive:3,4", "recursive:3,3", "recursive:3,2", "recursive:10,2", "distinct:2")
"""The criteria that a first config proposes."""


def table(rows: int = 400):
    rng = np.random.default_rng(3)
    pay = rng.integers(0, 6, rows)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "town": rng.choice(list("abc"), rows), "pay": pay})
    frame["grade"] = np.where(pay < 3, "low", "high")
    roles = {"sex": "quasi-identifier", "town": "quasi-identifier", "pay": "sensitive", "grade": "sensitive"}
    return read_table(frame.astype(str), {name: Attribute(role) for name, role in roles.items()})


@pytest.mark.parametrize("base", ["none", "auto", "best", {"sex": 0}])
def test_what_is_alone_has_one_table_and_no_other_attribute_beside_it(base: object) -> None:
    """With any base table; the others are published as they would be."""
    demanded = {"pay": "distinct:3", "grade": "distinct:2"}
    policy = Policy(k_link=5, diversity=demanded, base=base, alone=["grade"], objective="kl")
    margins = publish(table(), policy).release.margins
    assert [set(margin) for margin in margins if "grade" in margin] == [{"grade"}]
    assert any({"pay"} < set(margin) for margin in margins)


def test_what_is_alone_is_a_list_of_sensitive_attributes() -> None:
    with pytest.raises(InputError, match="alone names 'sex'"):
        publish(table(), Policy(k_link=5, diversity="distinct:2", alone=["sex"]))
    for wrong in ([3], "grade"):
        with pytest.raises(InputError, match="alone"):
            Policy(alone=wrong)  # type: ignore[arg-type]


@given(
    st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=2, max_size=5),
    st.sampled_from([*PROPOSED, "entropy:2", "entropy:3", "simple:2"]),
)
def test_dividing_values_leaves_no_criterion_of_shares_worse(values: list[list[int]], name: str) -> None:
    """So what is as diverse as demanded is so too where each value is divided into finer ones."""
    criterion = parse_diversity(name)
    coarse, fine = [sum(own) for own in values], [rows for own in values for rows in own]
    if sum(coarse) and criterion.decide(coarse):
        assert criterion.decide(fine)


def test_all_divisions_of_small_classes() -> None:
    """The same of every class of up to five rows of two values, each in two halves."""
    for halves in product(range(3), repeat=4):
        coarse = [halves[0] + halves[1], halves[2] + halves[3]]
        for name in PROPOSED:
            criterion = parse_diversity(name)
            assert not sum(coarse) or not criterion.decide(coarse) or criterion.decide(list(halves))

"""Attributes that have a table of their own only, since beside others they would give a sensitive one away."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import parse_diversity
from marginals import Attribute, InputError, Policy, publish, read_table
from marginals.publishing.proposals import WEAKER


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


def test_what_is_alone_must_be_sensitive() -> None:
    with pytest.raises(InputError, match="alone names 'sex', which is no sensitive attribute of the table"):
        publish(table(), Policy(k_link=5, diversity="distinct:2", alone=["sex"]))
    with pytest.raises(InputError, match="alone is a list of sensitive attributes"):
        Policy(alone=[3])  # type: ignore[list-item]


def test_a_list_of_names_is_needed() -> None:
    with pytest.raises(InputError, match="alone"):
        Policy(alone="grade")


def posterior(classes: list[list[int]], finer: list[list[int]]) -> list[list[float]]:
    """People with each finer value in each class, on average over all worlds in which each finer value has one coarse value.

    classes: rows of each value in each class. finer: rows of each finer value under each value; in all classes together.
    """
    people = [number for number, own in enumerate(classes) for _ in range(sum(own))]
    names = [(v, f) for v, own in enumerate(finer) for f, rows in enumerate(own) for _ in range(rows)]
    kinds = sorted(set(names))
    found = [Counter() for _ in classes]
    worlds = 0
    for world in set(permutations(names)):
        counts = Counter((people[place], v) for place, (v, _) in enumerate(world))
        if all(counts[c, v] == rows for c, own in enumerate(classes) for v, rows in enumerate(own)):
            worlds += 1
            for place, kind in enumerate(world):
                found[people[place]][kind] += 1
    assert worlds
    return [[own[kind] / worlds for kind in kinds] for own in found]


@pytest.mark.parametrize(
    ("classes", "finer"),
    [
        ([[2, 1], [1, 3]], [[2, 1], [1, 3]]),
        ([[2, 2], [1, 2]], [[1, 2], [4]]),
        ([[1, 1, 1], [2, 1, 0]], [[2, 1], [1, 1], [1]]),
    ],
)
def test_what_a_column_alone_tells_by_what_it_determines_is_the_share_of_its_value_divided(
    classes: list[list[int]], finer: list[list[int]]
) -> None:
    """By all worlds, in each of which a finer column determines the coarser one that has classes."""
    expected = []
    for own in classes:
        parts = [rows * f / sum(finer[v]) for v, rows in enumerate(own) for f in finer[v]]
        expected.append(parts)
    assert np.allclose(posterior(classes, finer), expected)


@given(
    st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=2, max_size=5),
    st.sampled_from([*WEAKER, "entropy:2", "entropy:3", "simple:2"]),
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
        for name in WEAKER:
            criterion = parse_diversity(name)
            assert not sum(coarse) or not criterion.decide(coarse) or criterion.decide(list(halves))

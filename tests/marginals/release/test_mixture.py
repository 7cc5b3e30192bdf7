"""Mixtures: the weighted mean of joint distributions, weights that no others beat, and privacy judged on all marginals.

And plausible tables and intervals of one release, as an analyst asks for them.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from brute_force import iterative_proportional_fitting, joint_array
from checks import Verdict
from marginals import Policy
from marginals.example import release
from models import Collection, DataCube
from privacy_oracles import base_table
from strategies import contingency_tables, decomposable_masks, domains
from written_bundles import release_of


@st.composite
def mixtures(draw):
    """A cube, two or three decomposable releases of it, and weights."""
    domain = draw(domains(max_attributes=3, max_values=3, max_cells=30))
    cube = DataCube([draw(contingency_tables(domain))])
    finest = [domain.mask({name: 0}) for name in domain.attributes]
    masks = [finest, draw(decomposable_masks(domain)), draw(decomposable_masks(domain))]
    shares = draw(st.lists(st.integers(1, 9), min_size=3, max_size=3))
    return cube, masks, [share / sum(shares) for share in shares]


@settings(max_examples=25)
@given(mixtures())
def test_a_mixture_is_the_weighted_mean_of_the_joint_distributions(drawn):
    cube, masks, weights = drawn
    releases = [release_of(Collection.of(cube, each)) for each in masks if each]
    weights = [w / sum(weights[: len(releases)]) for w in weights[: len(releases)]]
    mixed = marginals.mixture(releases, weights)
    domain, p = cube.domain, joint_array(base_table(cube)) / cube.total
    parts = [iterative_proportional_fitting(p, domain, one.margins) for one in releases]
    joint = sum(weight * part for weight, part in zip(weights, parts))
    for place, name in enumerate(domain.attributes):
        for code, label in enumerate(domain.hierarchy(name).labels[0]):
            expected = cube.total * joint.take(code, axis=place).sum()
            assert mixed.expected_count({name: label}) == pytest.approx(expected, abs=1e-7)


def test_releases_that_are_private_by_themselves_are_judged_together():
    """Asthma or flu where somebody lives, asthma or gout of somebody's sex: of both together it is asthma."""
    people = [("x", "m", "asthma")] * 2 + [("x", "f", "flu"), ("y", "f", "flu")] * 2
    people += [("y", "m", "gout"), ("y", "f", "gout")]
    named = pd.DataFrame(people, columns=["town", "sex", "ill"])
    whole = marginals.read_table(named, {"town": "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive"})
    policy = Policy(diversity="distinct:2", base="none", max_attributes=2, max_sensitive_margins=1)
    shown = [{"town": 0, "ill": 0}, {"sex": 0, "ill": 0}]
    parts = [marginals.publish(whole, replace(policy, must_publish=[margin])).release for margin in shown]
    assert all(part.verify().ok for part in parts)
    mixed = marginals.mixture(parts)
    (found,) = mixed.verify().checks
    assert found.verdict is Verdict.FAILS
    assert found.worst.cell["town"] == "x"
    assert not mixed.verify(["diversity=distinct:2"]).ok
    assert mixed.verify(["k-link=2"]).ok


def test_a_mixture_of_the_same_release_is_that_release():
    mixed = marginals.mixture([release, release], [0.3, 0.7])
    assert mixed.crosstab("sex", "diagnosis").equals(mixed.crosstab(["sex"], {"diagnosis": 0}))
    np.testing.assert_allclose(mixed.crosstab("sex", "diagnosis"), release.crosstab("sex", "diagnosis"))


def test_the_same_seed_gives_the_same_tables_and_says_so() -> None:
    first, second = (list(release.plausible_tables(2, seed=4)) for _ in range(2))
    assert all(a.equals(b) for a, b in zip(first, second))
    assert [table.attrs["plausible_table"] for table in first] == [0, 1]
    assert {table.attrs["seed"] for table in first} == {4}
    assert first[0].attrs["version"] == marginals.__version__
    assert not first[0].equals(first[1])


def test_a_condition_is_counted_as_a_function_would_within_its_bounds() -> None:
    condition = release.plausible_interval("age=20-29 and sex=Female", count=30, seed=2)
    function = release.plausible_interval(
        lambda table: float(((table.age == "20-29") & (table.sex == "Female")).sum()), count=30, seed=2
    )
    bounds = release.counts(["age", "sex"]).loc[("20-29", "Female")]
    assert condition.middle == function.middle
    assert condition.lower == max(function.lower, bounds.lower)
    assert condition.upper == min(function.upper, bounds.upper)
    assert condition.lower <= condition.middle <= condition.upper


def test_what_is_published_has_an_interval_of_one_number() -> None:
    interval = release.plausible_interval("sex=Female and diagnosis=Flu", count=10)
    count = release.count("sex=Female and diagnosis=Flu")
    assert (interval.lower, interval.upper) == (count.lower, count.upper)


def test_every_plausible_number_lies_within_the_bounds() -> None:
    bounds = release.counts(["age", "sex"])
    for table in release.plausible_tables(20, seed=3):
        counted = table.groupby(["age", "sex"], observed=False).size()
        assert np.all(bounds.lower <= counted.reindex(bounds.index))
        assert np.all(counted.reindex(bounds.index) <= bounds.upper)

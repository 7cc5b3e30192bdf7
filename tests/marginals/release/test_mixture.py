"""Mixtures: the weighted mean of joint distributions, weights that no others beat, and privacy judged on all marginals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import marginals
from brute_force import iterative_proportional_fitting, joint_array
from checks import Verdict
from marginals import InputError, NotFittedError, Policy, Release, Role
from marginals.bundle.content import BundleContent
from marginals.example import frame, release
from models import Collection, DataCube
from models.inference.maximum_entropy import WITHIN, mixture_weights
from privacy_oracles import base_table
from strategies import contingency_tables, decomposable_masks, domains


def released(cube, masks, claims=()):
    whole = Collection.of(cube, masks)
    alone = Collection.of(DataCube(whole.tables), whole.masks)
    roles = dict.fromkeys(cube.domain.attributes, Role.QUASI_IDENTIFIER)
    return Release(BundleContent(alone, roles, claims))


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
    releases = [released(cube, each) for each in masks if each]
    weights = [w / sum(weights[: len(releases)]) for w in weights[: len(releases)]]
    mixed = marginals.mixture(releases, weights)
    domain, p = cube.domain, joint_array(base_table(cube)) / cube.total
    parts = [iterative_proportional_fitting(p, domain, one.margins) for one in releases]
    joint = sum(weight * part for weight, part in zip(weights, parts))
    for place, name in enumerate(domain.attributes):
        for code, label in enumerate(domain.hierarchy(name).labels[0]):
            expected = cube.total * joint.take(code, axis=place).sum()
            assert mixed.expected_count({name: label}) == pytest.approx(expected, abs=1e-7)
    codes = np.argwhere(joint > 0)
    rows = pd.DataFrame(
        {name: np.array(domain.hierarchy(name).labels[0])[codes[:, i]] for i, name in enumerate(domain.attributes)}
    )
    assert mixed.log_likelihood(rows) == pytest.approx(np.log(joint[joint > 0]).mean(), abs=1e-7)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_no_weights_are_better_than_those_fitted(seed, size):
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet(np.full(6, 0.5), size) + 1e-9
    rows = rng.integers(0, 5, 6) + (np.arange(6) == 0)

    def loss(logits):
        weights = np.exp(logits - logits.max())
        return -(rows @ np.log(weights / weights.sum() @ likely)) / rows.sum()

    found = mixture_weights(np.log(likely), rows.astype(float))
    assert found.sum() == pytest.approx(1)
    best = minimize(loss, np.zeros(size), tol=1e-10).fun
    assert -(rows @ np.log(found @ likely)) / rows.sum() <= best + 2 * WITHIN


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
    assert mixed.verify(["k-link=1"]).ok


def test_a_mixture_of_the_same_release_is_that_release():
    mixed = marginals.mixture([release, release], [0.3, 0.7])
    assert mixed.crosstab("sex", "diagnosis").equals(mixed.crosstab(["sex"], {"diagnosis": 0}))
    np.testing.assert_allclose(mixed.crosstab("sex", "diagnosis"), release.crosstab("sex", "diagnosis"))
    aged = frame.assign(age=frame["age"].astype(int))
    assert mixed.log_likelihood(aged) == pytest.approx(marginals.mixture([release]).log_likelihood(frame))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: marginals.mixture([]), "0 releases"),
        (lambda: marginals.mixture([release], [0.5, 0.5]), "1 releases came with 2 weights"),
        (lambda: marginals.mixture([release, release], [1.5, -0.5]), "numbers from 0 that sum to 1"),
        (lambda: marginals.mixture([release]).log_likelihood(frame[["age", "sex"]]), "no column 'diagnosis'"),
        (lambda: marginals.mixture([release]).log_likelihood(frame[:0]), "no rows"),
        (lambda: marginals.mixture([release]).log_likelihood(frame.assign(sex="x")), "a value of 'sex' in the rows"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(wrong, said):
    with pytest.raises(InputError, match=said):
        wrong()


def test_a_row_that_is_impossible_under_every_release_is_said():
    with pytest.raises(NotFittedError, match="impossible under every"):
        mixture_weights(np.full((2, 1), -np.inf), np.ones(1))

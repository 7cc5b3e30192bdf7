"""Suggested analyses: each suggestion, written into the config, does what the steward's page says of it."""

from dataclasses import replace
from importlib import import_module
from itertools import count

import numpy as np
import pandas as pd
import pytest

import marginals
from html_pages import Page
from marginals import Attribute, Policy
from marginals import Policy as PolicyClass
from marginals.publishing import searching
from marginals.steward import Suggestion, no_suggestions


@pytest.fixture(scope="module")
def table() -> marginals.Table:
    """The last attribute is like the second or like the third, and only pairs may be published: one of both is lost."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 4000)
    b, c = (np.where(rng.random(4000) < 0.5, a, rng.integers(0, 4, 4000)) for _ in range(2))
    d = np.where(rng.random(4000) < 0.5, b, c)
    columns = {"a": a, "b": b, "c": c, "d": d}
    frame = pd.DataFrame({name: np.array(list("wxyz"))[codes] for name, codes in columns.items()})
    return marginals.read_table(
        frame, {n: Attribute("quasi-identifier") for n in "abc"} | {"d": Attribute("sensitive")}
    )


POLICY = Policy(k_link=5, base="none", max_attributes=2, diversity="none", strategy="look-ahead", objective="kl")


def published(table: marginals.Table, policy: PolicyClass) -> marginals.StewardReport:
    steward = marginals.publish(table, policy).steward
    assert steward is not None
    return steward


def test_what_is_suggested_is_what_comes_of_it(table: marginals.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the rounds of rebuilding that follow where something is wanted."""
    monkeypatch.setattr(import_module("models.search.greedy"), "FEW", 0)
    steward = published(table, POLICY)
    assert steward.suggestions
    errors = steward.two_way.by_table
    for suggestion in steward.suggestions:
        assert suggestion.was_tried
        assert suggestion.error == errors[suggestion.attributes]
        kinds = {pair.attributes: pair.kind for pair in steward.comparison.compared_pairs}
        assert kinds[suggestion.attributes] == "assumed"
        if suggestion.weight is None:
            assert suggestion.price is None
            continue
        wanted = [{"attributes": list(suggestion.attributes), "weight": suggestion.weight}]
        then = published(table, replace(POLICY, wanted=wanted))
        assert then.two_way.by_table[suggestion.attributes] == pytest.approx(suggestion.error_then)
        assert suggestion.error_then is not None
        assert suggestion.error_then <= suggestion.error / 2
        assert then.kl_divergence - steward.kl_divergence == pytest.approx(suggestion.price)
        assert all(other.attributes != suggestion.attributes for other in then.suggestions), "it is wanted already"


def test_the_page_says_what_to_write_and_what_it_costs(table: marginals.Table) -> None:
    steward = published(table, POLICY)
    tried = Suggestion(("a", "b"), 0.25, 10.0, 0.01, 0.125)
    others = (Suggestion(("a", "c"), 0.2), Suggestion(("a", "d"), 0.1, was_tried=False))
    given = replace(steward, suggest=lambda _: (tried, *others))
    text = " ".join(" ".join(Page(given.page(given)).text).split())
    assert '[[search.wanted]] attributes = ["a", "b"] weight = 10' in text
    assert "0.2500 0.0100 +0.1250" in text
    assert "No weight that was tried halves the error" in text
    assert "not tried in the time" in text
    assert tried.as_json()["price"] == 0.125
    without = replace(steward, suggest=no_suggestions)
    assert "Suggested analyses" not in " ".join(Page(without.page(without)).text)


def test_pairs_that_there_is_no_time_to_try_are_named(table: marginals.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginals.publishing.stewarding._FOR_SUGGESTIONS", -1.0)
    steward = published(table, POLICY)
    assert [suggestion.was_tried for suggestion in steward.suggestions] == [False] * len(steward.suggestions)
    assert steward.suggestions
    assert all(suggestion.price is None for suggestion in steward.suggestions)


@pytest.mark.slow
def test_another_strategy_is_compared_with_greedy_too(table: marginals.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = count()
    greedy = searching.STRATEGIES["greedy"]

    def counted(problem, stop):  # type: ignore[no-untyped-def]
        next(runs)
        return greedy(problem, stop)

    by_genetic = published(table, replace(POLICY, strategy="genetic", time_limit=0.5))
    attributes = [suggestion.attributes for suggestion in by_genetic.suggestions]
    monkeypatch.setitem(searching.STRATEGIES, "greedy", counted)
    again = published(table, replace(POLICY, strategy="genetic", time_limit=0.5))
    assert [suggestion.attributes for suggestion in again.suggestions] == attributes
    assert next(runs) > 0

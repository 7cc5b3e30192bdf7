"""No answer that rests on an assumption can be had without its word: every public method of a release is gone through.

Nor is a condition in the place of another argument dropped: the answer would be right for another question.
"""

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from marginals import AssumptionWarning, Attribute, InputError, Policy, Release
from marginals.example import attributes, frame, release
from models import Hierarchy
from shape_releases import release_of
from strategies import SHAPES

VALUES = {"age": "20-39", "sex": "Female", "diagnosis": "Flu"}
NUMBERS = {"sex": {"Female": 0.0, "Male": 1.0}, "diagnosis": {"Asthma": 0.0, "Flu": 1.0, "Gout": 3.0}}

ANSWERS: Final[dict[str, Callable[[Release, str, str], Any]]] = {
    "cells": lambda r, a, b: r.cells([a, b]),
    "count": lambda r, a, b: r.count({a: VALUES[a], b: VALUES[b]}),
    "counts": lambda r, a, b: r.counts([a, b]),
    "crosstab": lambda r, a, b: r.crosstab(a, b),
    "expected_count": lambda r, a, b: r.expected_count({a: VALUES[a], b: VALUES[b]}),
    "marginal": lambda r, a, b: r.marginal({name: r.model.finest_levels[name] for name in (a, b)}),
    "mean": lambda r, a, b: r.mean(b, {a: VALUES[a]}, NUMBERS[b]),
    "means": lambda r, a, b: r.means(b, a, values=NUMBERS[b]),
    "mutual_information": lambda r, a, b: r.mutual_information(a, b),
    "odds_ratio": lambda r, a, b: r.odds_ratio({a: VALUES[a]}, {b: VALUES[b]}),
    "quantile": lambda r, a, b: r.quantile(b, [0.5], {a: VALUES[a]}, NUMBERS[b]),
    "risk_difference": lambda r, a, b: r.risk_difference({a: VALUES[a]}, {b: VALUES[b]}),
    "risk_ratio": lambda r, a, b: r.risk_ratio({a: VALUES[a]}, {b: VALUES[b]}),
    "sample": lambda r, *_: r.sample(3),
    "exact_rows": lambda r, *_: r.exact_rows(),
    "share": lambda r, a, b: r.share({a: VALUES[a]}, {b: VALUES[b]}),
    "total": lambda r, a, b: r.total(b, {a: VALUES[a]}, NUMBERS[b]),
}
"""How each method that answers is asked about two attributes."""

NO_ANSWERS: Final[dict[str, str]] = {
    "what is published": "everything further margins", "it is the question itself": "supports",
    "whole tables of rows that are nobody's, as the method says": "plausible_tables",
    "an interval, which says what it assumes": "plausible_interval",
    "certain, whatever the kind of the estimates": "crosstab_bounds quantile_bounds",
    "the published marginals, the core of them": "collection", "the published labels": "domain",
    "a published count": "rows", "the folder that it is in": "path", "what is claimed": "claims least_count",
    "how much the marginals tell, a function of them": "information",
    "what is published together": "interaction_graph junction_tree",
    "what the model assumes, in words": "independences",
    "the model itself, for those who compute with it": "u_terms model",
    "verdicts on the marginals": "verify", "writes the marginals": "write",
    "writes the report, which shows the kind of every pair": "write_report",
}  # fmt: skip


def named(why: dict[str, str]) -> set[str]:
    """All names that a reason is given for."""
    return {name for names in why.values() for name in names.split()}


def word_of(answer: Any) -> tuple[str, list[tuple[str, ...]]]:
    """The kind that an answer says it is, and the attributes that it names."""
    if isinstance(answer, pd.DataFrame | pd.Series):
        return answer.attrs["kind"], list(answer.attrs["assumed"])
    return answer.kind, list(answer.basis.assumed)


@pytest.fixture(scope="module")
def one_table() -> Release:
    """A release of one table, so that everything about its two attributes is published."""
    table = marginals.read_table(frame[["sex", "diagnosis"]], dict.fromkeys(["sex", "diagnosis"], "quasi-identifier"))
    return marginals.publish(table, Policy(k_link=2, base="none", diversity="none")).release


def test_every_public_method_answers_with_its_kind_or_has_a_reason_why_not() -> None:
    """A new method fails here until it says which kind its answers are."""
    fields = {"published", "source"}
    public = {name for name, _ in inspect.getmembers(Release) if not name.startswith("_")} - fields
    assert public == ANSWERS.keys() | named(NO_ANSWERS)
    assert not ANSWERS.keys() & named(NO_ANSWERS)


TAKING_RELEASES: Final[dict[str, str]] = {
    "the steward's: the truth stands beside it": "compare query_error prediction_accuracy",
    "what is published": "published_frames to_duckdb to_polars",
    "the model itself, for those who compute with it": "write_uai to_pgmpy factors",
}


def test_every_public_function_that_takes_a_release_answers_nothing_or_says_its_kind() -> None:
    public = [
        (m, n) for m in (marginals, marginals.interchange) for n in m.__all__ if inspect.isfunction(getattr(m, n))
    ]
    takers = {
        name
        for module, name in public
        for parameter in inspect.signature(getattr(module, name)).parameters.values()
        if any(word in str(parameter.annotation) for word in ("Release", "Published", "Modelled"))
    }
    assert takers == named(TAKING_RELEASES)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_assumed_answer_says_so_and_warns_with_the_pair(name: str) -> None:
    assert {"age", "sex"} <= set(release.domain.attributes)
    assert not any({"age", "sex"} <= set(margin) for margin in release.margins)
    with pytest.warns(
        AssumptionWarning, match="age and sex together, so the model takes them to be independent"
    ) as caught:
        answer = ANSWERS[name](release, "age", "sex")
    assert [warning.filename for warning in caught] == [__file__], "one warning, at the line that asks"
    assert word_of(answer) == ("assumed", [("age", "sex")])


@pytest.mark.parametrize("name", ANSWERS)
def test_a_published_answer_says_so_and_warns_of_nothing(name: str, one_table: Release) -> None:
    assert [set(margin) for margin in one_table.margins] == [{"sex", "diagnosis"}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert word_of(ANSWERS[name](one_table, "diagnosis", "sex")) == ("published", [])


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda: release.count({"age": "22", "diagnosis": "Flu"}), "supported"),
        (lambda: release.crosstab({"age": 0}, "diagnosis"), "supported"),
        (lambda: release.crosstab({"age": 2}, "diagnosis"), "published"),
        (lambda: release.mean("age", where="diagnosis=Flu"), "supported"),
        (lambda: release.mean("age", "diagnosis=Flu", {"20-39": 0, "40-59": 1}), "published"),
        (lambda: release.crosstab({"age": 1}, "diagnosis", where="age>=40"), "published"),
        (lambda: release.odds_ratio("age=20-39", "diagnosis=Flu", where="age in 20-49"), "published"),
        (lambda: release.cells(), "assumed"),
        (lambda: release.cells("age"), "published"),
        (lambda: release.count({}), "published"),
        (lambda: release.count({"age": "20-59", "sex": "Female"}), "published"),  # of whatever age
        (lambda: release.crosstab("sex", "diagnosis", where={"age": []}), "published"),  # of nobody, whatever the data
        # The decades that are published with diagnosis do not tell 22 from 27.
        (lambda: release.odds_ratio("age=22", "diagnosis=Flu", where="age in 20-29"), "assumed"),
        (lambda: release.count("age=22|24|26|28|32|34|36|38|42|44|46|48|52|54|56|58|20|30|40|50"), "assumed"),
    ],
)
def test_kinds_of_questions(ask: Callable[[], Any], kind: str) -> None:
    assert word_of(ask())[0] == kind


@given(
    st.integers(0, 2**32 - 1), st.sampled_from(["chain", "star through a generalized value", "cycle", "disconnected"])
)
@settings(max_examples=60)
def test_a_published_count_is_exact_and_an_inexact_one_is_not_published(seed: int, shape: str) -> None:
    """What is published by its levels is what the bounds leave one number for."""
    rng = np.random.default_rng(seed)
    opened = OPENED[shape]
    where = {}
    for name, hierarchy in opened.domain.items():
        if rng.random() < 0.7:
            labels = hierarchy.labels[int(rng.integers(0, hierarchy.height))]
            where[name] = [
                str(label) for label in rng.choice(labels, int(rng.integers(1, len(labels) + 1)), replace=False)
            ]
    by_levels = opened.expected_count(where)
    bounded = opened.count(where)
    if by_levels.kind == "published":
        assert bounded.exact
        assert by_levels == pytest.approx(bounded.lower, abs=1e-7)
    assert (bounded.kind == "published") == bounded.exact


@pytest.fixture(scope="module", autouse=True)
def _opened(tmp_path_factory: pytest.TempPathFactory) -> None:
    for shape in SHAPES:
        if shape in ("chain", "star through a generalized value", "cycle", "disconnected"):
            OPENED[shape] = release_of(shape, tmp_path_factory.mktemp("shapes"))


OPENED: dict[str, Release] = {}


def only(*margins: dict[str, int]) -> Policy:
    """A policy that publishes these margins and no others."""
    return Policy(k_link=2, base="none", must_publish=[*margins], start="nothing", time_limit=0, diversity="none")


def test_bounds_that_meet_leave_nothing_to_assume() -> None:
    """Nobody with the first value of one attribute has the first of the other two: no count is left but 0."""
    people = pd.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["u"] * 4 + ["v"] * 4, "c": ["p"] * 4 + ["q"] * 4})
    policy = only({"a": 0, "b": 0}, {"b": 0, "c": 0})
    chain = marginals.publish(marginals.read_table(people, dict.fromkeys("abc", "quasi-identifier")), policy).release
    assert not any({"a", "c"} <= set(margin) for margin in chain.margins)
    assert not chain.supports(["a", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chain.count({"a": "x", "c": "q"}).kind == "published"
        assert chain.counts(["a", "c"]).attrs["kind"] == "published"
    with pytest.warns(AssumptionWarning):
        assert chain.expected_count({"a": "x", "c": "q"}).kind == "assumed"


def test_attributes_of_which_nothing_is_published_are_named_alone() -> None:
    table = marginals.read_table(frame, attributes)
    partial = marginals.publish(table, only({"sex": 0, "diagnosis": 0})).release
    assert not partial.collection.shows("age")
    found = partial.supports(["age", "sex"])
    assert (found.kind, found.assumed) == ("assumed", (("age",),))
    with pytest.warns(AssumptionWarning, match="no published table tells the values of age apart as asked"):
        assert partial.mutual_information("age", "sex") == 0
    assert partial.sample(2, base_values=True).attrs["assumed"] == (("age",),)
    assert partial.sample(2).attrs["kind"] == "published"


def test_a_level_that_merges_rare_values_alone_publishes_the_others() -> None:
    """Levels are compared by their values: 20 and 21 are groups of their own at the published level."""
    merged_to = {"20": "20", "21": "21", "22": "22 and over", "23": "22 and over"}
    ages = Hierarchy.from_rows([(age, group, "*") for age, group in merged_to.items()])
    people = pd.DataFrame({"age": ["20"] * 8 + ["21"] * 8 + ["22"] * 5 + ["23"], "sex": ["f", "m"] * 11})
    roles = {"age": Attribute("quasi-identifier", ages, labels="public"), "sex": "quasi-identifier"}
    merged = marginals.publish(marginals.read_table(people, roles), only({"age": 1, "sex": 0})).release
    assert merged.count({"age": "20", "sex": "f"}).kind == "published"
    assert merged.count({"age": "22", "sex": "f"}).kind == "supported"
    assert merged.crosstab({"age": 0}, "sex").attrs["kind"] == "supported"


def test_a_number_keeps_its_word_when_it_is_copied() -> None:
    mean = release.mean("age", where="diagnosis=Gout")
    assert isinstance(mean, float)
    for same in (copy.copy(mean), copy.deepcopy(mean), pickle.loads(pickle.dumps(mean))):
        assert same == mean
        assert same.basis == mean.basis


def test_rows_keep_their_word_in_a_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is written with pyarrow")
    release.sample(3).to_parquet(tmp_path / "rows.parquet")
    assert pd.read_parquet(tmp_path / "rows.parquet").attrs["kind"] == "assumed"


@pytest.mark.parametrize("seconds", ["sex=Female", ["sex=Female"], {"sex": "Female"}, True, float("nan"), -1, None])
def test_a_second_condition_is_no_number_of_seconds(seconds: Any) -> None:
    """It was dropped without a word, and the answer to the first was called published."""
    with pytest.raises(InputError, match=r"seconds is a number of at least 0, .* count\(\["):
        release.count("diagnosis=Flu", seconds)
    assert release.count(["diagnosis=Flu", "sex=Female"], 0.1).expected == 12


@pytest.mark.parametrize("compared", [release.risk_ratio, release.risk_difference, release.odds_ratio])
@pytest.mark.parametrize("other", ["sex=Female", "sex=Male"])
def test_a_third_condition_that_excludes_a_group_is_refused_and_the_argument_for_it_named(
    compared: Callable[..., Any], other: str
) -> None:
    """It is `where`; the answer was nan, and called published."""
    with pytest.raises(InputError, match=r'where excludes the rows .* against="'):
        compared("diagnosis=Gout", "sex=Male", other)
    assert round(release.risk_ratio("diagnosis=Gout", "sex=Male", against="sex=Female"), 6) == 7.36

"""No answer that rests on an assumption can be had without its word: every public method of a release is gone through.

Nor is a condition in the place of another argument dropped: the answer would be right for another question.
"""

import inspect
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
from marginals import Attribute, InputError, Policy, Release
from marginals.errors import AssumptionWarning
from marginals.example import attributes, frame, release
from models import Hierarchy
from search_oracles import required_only
from shape_releases import release_of
from strategies import SHAPES

VALUES = {"age": "20-39", "sex": "Female", "diagnosis": "Flu"}

NUMBERS_OF_ANSWERS: Final[dict[str, Callable[[Release, str, str], Any]]] = {
    "count": lambda r, a, b: r.count({a: VALUES[a], b: VALUES[b]}),
    "mean": lambda r, a, b: r.mean(a, where={b: VALUES[b]}),
    "quantile": lambda r, a, b: r.quantile(a, 0.5, where={b: VALUES[b]}),
    "share": lambda r, a, b: r.share({a: VALUES[a]}, where={b: VALUES[b]}),
    "total": lambda r, a, b: r.total(a, where={b: VALUES[b]}),
}
"""How each method that answers by a number is asked about two attributes, the first of numbers."""

FRAMES: Final[dict[str, Callable[[Release, str, str], Any]]] = {
    "effect": lambda r, a, b: r.effect({a: VALUES[a]}, {b: VALUES[b]}),
    "mean": lambda r, a, b: r.mean(a, by=b),
    "quantile": lambda r, a, b: r.quantile(a, [0.5], where={b: VALUES[b]}),
    "rows": lambda r, *_: r.rows(3),
    "table": lambda r, a, b: r.table(a, b),
}
"""How each method that answers by a frame is asked about two attributes."""

NO_ANSWERS: Final[dict[str, str]] = {
    "what is published": "tables domain attributes published", "it is the question itself": "supports",
    "statistics of drawn tables, whose kind is that of all columns": "estimate",
    "regressions, which are refused if a pair is assumed": "fit",
    "a picture, whose title is the kind": "plot",
    "the folder that it is in": "path", "what is claimed": "claims",
    "the model itself, for those who compute with it": "model to",
    "verdicts on the marginals": "verify attack", "writes the marginals": "write", "names the release": "cite",
    "writes the report, which shows the kind of every pair": "report",
}  # fmt: skip


def named(why: dict[str, str]) -> set[str]:
    return {name for names in why.values() for name in names.split()}


def word_of(answer: Any) -> tuple[str, list[tuple[str, ...]]]:
    """The kind that an answer says it is, and the attributes that it names."""
    if isinstance(answer, pd.DataFrame | pd.Series):
        return answer.attrs["kind"], list(answer.attrs["assumed"])
    return answer.kind, list(answer.basis.assumed)


@pytest.fixture(scope="module")
def one_table() -> Release:
    """A release of one table, so that everything about its two attributes is published."""
    table = marginals.read_table(frame[["age", "sex"]], dict.fromkeys(["age", "sex"], "quasi-identifier"))
    return marginals.publish(table, Policy(k_link=2, base="none", diversity="none")).release


def test_every_public_method_answers_with_its_kind_or_has_a_reason_why_not() -> None:
    public = {name for name, _ in inspect.getmembers(Release) if not name.startswith("_")} | {"published"}
    asked = {*NUMBERS_OF_ANSWERS, *FRAMES}
    assert public == asked | named(NO_ANSWERS)
    assert not asked & named(NO_ANSWERS)
    assert len(public) <= 25


@pytest.mark.parametrize("name", NUMBERS_OF_ANSWERS)
def test_an_assumed_number_says_so_and_is_no_float_by_itself(name: str) -> None:
    assert not any({"age", "sex"} <= set(margin) for margin in release.published.everything.margins)
    answer = NUMBERS_OF_ANSWERS[name](release, "age", "sex")
    assert word_of(answer) == ("assumed", [("age", "sex")])
    assert "assumed" in repr(answer)
    assert "age and sex" in answer.explain()
    with pytest.raises(InputError, match=r"write \.value"):
        float(answer)


@pytest.mark.parametrize("name", FRAMES)
def test_an_assumed_frame_says_so_and_warns_with_the_pair(name: str) -> None:
    with pytest.warns(
        AssumptionWarning, match="age and sex together, so the model takes them to be independent"
    ) as caught:
        answer = FRAMES[name](release, "age", "sex")
    assert [warning.filename for warning in caught] == [__file__], "one warning, at the line that asks"
    assert word_of(answer) == ("assumed", [("age", "sex")])


@pytest.mark.parametrize("ask", [*NUMBERS_OF_ANSWERS.values(), *FRAMES.values()])
def test_a_published_answer_says_so_and_warns_of_nothing(ask: Callable[..., Any], one_table: Release) -> None:
    assert [set(margin) for margin in one_table.published.everything.margins] == [{"age", "sex"}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert word_of(ask(one_table, "age", "sex")) == ("published", [])


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda: release.count({"age": "22", "diagnosis": "Flu"}), "supported"),
        (lambda: release.table({"age": 0}, "diagnosis"), "supported"),
        (lambda: release.table({"age": 2}, "diagnosis"), "published"),
        (lambda: release.mean("age", where="diagnosis=Flu"), "supported"),
        (lambda: release.table({"age": 1}, "diagnosis", where="age>=40"), "published"),
        (lambda: release.effect("diagnosis=Flu", "age=20-39", where="age in 20-49"), "published"),
        (lambda: release.table(["age", "sex", "diagnosis"]), "assumed"),
        (lambda: release.table("age"), "published"),
        (lambda: release.count({}), "published"),
        (lambda: release.count({"age": "20-59", "sex": "Female"}), "published"),  # of whatever age
        (lambda: release.table("sex", "diagnosis", where={"age": []}), "published"),  # of nobody, whatever the data
        # The decades that are published with diagnosis do not tell 22 from 27.
        (lambda: release.effect("diagnosis=Flu", "age=22", where="age in 20-29"), "assumed"),
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
    rng = np.random.default_rng(seed)
    opened = OPENED[shape]
    where = {}
    for name, hierarchy in opened.domain.items():
        if rng.random() < 0.7:
            labels = hierarchy.labels[int(rng.integers(0, hierarchy.height))]
            where[name] = [
                str(label) for label in rng.choice(labels, int(rng.integers(1, len(labels) + 1)), replace=False)
            ]
    counted = opened.count(where)
    assert (counted.kind == "published") == counted.exact
    if counted.exact:
        assert counted.value == counted.lower


@pytest.fixture(scope="module", autouse=True)
def _opened(tmp_path_factory: pytest.TempPathFactory) -> None:
    for shape in SHAPES:
        if shape in ("chain", "star through a generalized value", "cycle", "disconnected"):
            OPENED[shape] = release_of(shape, tmp_path_factory.mktemp("shapes"))


OPENED: dict[str, Release] = {}


def only(*margins: dict[str, int]) -> Policy:
    return Policy(k_link=2, base="none", must_publish=[*margins], strategy=required_only, diversity="none")


def test_bounds_that_meet_leave_nothing_to_assume() -> None:
    """Nobody with the first value of one attribute has the first of the other two: no count is left but 0."""
    people = pd.DataFrame({"a": ["x"] * 4 + ["y"] * 4, "b": ["u"] * 4 + ["v"] * 4, "c": ["p"] * 4 + ["q"] * 4})
    policy = only({"a": 0, "b": 0}, {"b": 0, "c": 0})
    chain = marginals.publish(marginals.read_table(people, dict.fromkeys("abc", "quasi-identifier")), policy).release
    assert not any({"a", "c"} <= set(margin) for margin in chain.published.everything.margins)
    assert not chain.supports(["a", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chain.count({"a": "x", "c": "q"}).kind == "published"
        assert chain.table(["a", "c"], bounds=True).attrs["kind"] == "published"


def test_attributes_of_which_nothing_is_published_are_named_alone() -> None:
    table = marginals.read_table(frame, attributes)
    partial = marginals.publish(table, only({"sex": 0, "diagnosis": 0})).release
    assert not partial.published.collection.shows("age")
    found = partial.supports(["age", "sex"])
    assert (found.kind, found.assumed) == ("assumed", (("age",),))
    with pytest.warns(AssumptionWarning, match="no published table tells the values of age apart as asked"):
        partial.table({"age": 0}, "sex")
    assert partial.rows(2, base_values=True).attrs["assumed"] == (("age",),)
    assert partial.rows(2).attrs["kind"] == "published"


def test_a_level_that_merges_rare_values_alone_publishes_the_others() -> None:
    """Levels are compared by their values: 20 and 21 are groups of their own at the published level."""
    merged_to = {"20": "20", "21": "21", "22": "22 and over", "23": "22 and over"}
    ages = Hierarchy.from_rows([(age, group, "*") for age, group in merged_to.items()])
    people = pd.DataFrame({"age": ["20"] * 8 + ["21"] * 8 + ["22"] * 5 + ["23"], "sex": ["f", "m"] * 11})
    roles = {"age": Attribute("quasi-identifier", ages, labels="public"), "sex": "quasi-identifier"}
    merged = marginals.publish(marginals.read_table(people, roles), only({"age": 1, "sex": 0})).release
    assert merged.count({"age": "20", "sex": "f"}).kind == "published"
    assert merged.count({"age": "22", "sex": "f"}).kind == "supported"
    assert merged.table({"age": 0}, "sex").attrs["kind"] == "supported"


def test_rows_keep_their_word_in_a_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is written with pyarrow")
    release.rows(3).to_parquet(tmp_path / "rows.parquet")
    assert pd.read_parquet(tmp_path / "rows.parquet").attrs["kind"] == "assumed"


@pytest.mark.parametrize("second", ["sex=Female", ["sex=Female"], {"sex": "Female"}, True, float("nan"), -1, None])
def test_a_second_condition_is_refused_with_a_right_call(second: Any) -> None:
    with pytest.raises(InputError, match=r"count: .*; write release\.count\("):
        release.count("diagnosis=Flu", second)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="seconds is a number of at least 0"):
        release.count("diagnosis=Flu", seconds="sex=Female")  # type: ignore[arg-type]
    assert release.count(["diagnosis=Flu", "sex=Female"], seconds=0.1).value == 12


@pytest.mark.parametrize("other", ["sex=Female", "sex=Male"])
def test_a_third_condition_is_refused_and_the_argument_for_it_named(other: str) -> None:
    with pytest.raises(InputError, match="against="):
        release.effect("diagnosis=Gout", "sex=Male", other)  # type: ignore[misc]
    with pytest.raises(InputError, match=r'where excludes the rows .* against="'):
        release.effect("diagnosis=Gout", "sex=Male", where=other)
    found = release.effect("diagnosis=Gout", "sex=Male", against="sex=Female")
    assert round(found.value["risk ratio"], 6) == 7.36


def test_nan_is_never_published() -> None:
    """Nobody of either group has another illness than gout, so there are no odds."""
    found = release.effect("sex=Male", "diagnosis=Gout", where="age=50-59")
    for _, row in found.iterrows():
        assert (row["kind"] == "none") == np.isnan(row["value"])

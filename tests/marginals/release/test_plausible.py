"""Statistics and intervals by drawn tables of one release, as an analyst asks for them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Answer, Hierarchy, InputError
from marginals.example import release


def test_tables_are_drawn_once_and_the_same_seed_gives_the_same() -> None:
    frames: list[pd.DataFrame] = []

    def seen(rows: pd.DataFrame) -> float:
        frames.append(rows)
        return 0.0

    for _ in range(2):
        release.estimate(seen, tables=20, seed=4)
    assert all(a.equals(b) for a, b in zip(frames[:20], frames[20:]))
    assert [rows.attrs["number"] for rows in frames[:20]] == list(range(20))
    assert {rows.attrs["seed"] for rows in frames} == {4}
    assert frames[0].attrs["version"] == marginals.__version__
    assert not frames[0].equals(frames[1])
    once = [table.codes["age"] for table in release.model.drawn_tables(20, 4)]
    assert all(a is b.codes["age"] for a, b in zip(once, release.model.drawn_tables(20, 4)))


def test_an_interval_of_a_count_is_that_of_a_function_within_its_bounds() -> None:
    count = release.count("age=20-29 and sex=Female")
    function = release.estimate(lambda rows: ((rows.age == "20-29") & (rows.sex == "Female")).sum(), seed=2)
    assert isinstance(function, marginals.answers.Answer)
    interval, by_function = count.interval(seed=2), function.interval(seed=2)
    assert interval.low == max(by_function.low, count.lower)
    assert interval.high == min(by_function.high, count.upper)
    assert interval.low <= function.value <= interval.high
    wide, narrow = (count.interval(level=level) for level in (0.99, 0.5))
    assert wide.low <= narrow.low <= narrow.high <= wide.high


@pytest.mark.parametrize(
    "answer",
    [
        release.count("age>=40 and sex=Male"),
        release.count("sex=Female and diagnosis=Flu"),  # published: both bounds are the count
        release.share("sex=Male", where="age=20-29"),
        release.mean("age", where="sex=Female"),
        release.total("age", where="sex=Female"),
        release.quantile("age", 0.5, where="sex=Female"),
    ],
)
def test_every_number_has_an_interval_within_its_bounds(answer: marginals.answers.Answer) -> None:
    low, high = answer.interval()
    assert answer.lower <= low <= high <= answer.upper


def test_every_drawn_number_lies_within_the_bounds() -> None:
    bounds = release.table("age", "sex", bounds=True)

    def check(rows: pd.DataFrame) -> pd.Series:
        counted = rows.groupby(["age", "sex"], observed=False).size()
        assert np.all(bounds.lower <= counted.reindex(bounds.index))
        assert np.all(counted.reindex(bounds.index) <= bounds.upper)
        return counted

    found = release.estimate(check, seed=3)
    assert list(found.columns) == ["value", "low", "high", "kind"]  # type: ignore[union-attr]
    assert (found.low <= found.value).all()  # type: ignore[union-attr]


def test_an_answer_of_estimate_keeps_to_what_it_was_asked_with() -> None:
    young = lambda rows: ((rows["age"] == "20-29") & (rows["sex"] == "Female")).sum()  # noqa: E731
    asked = release.estimate(young, level=0.5, tables=30, seed=3)
    assert asked.interval() == release.estimate(young).interval(level=0.5, tables=30, seed=3)
    assert asked.interval() != asked.interval(level=0.95)


@pytest.mark.parametrize("wrong", [{"level": 2}, {"level": "high"}, {"tables": 3}, {"seed": -1}, {"rows": 9}])
def test_a_wrong_argument_of_an_interval_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(marginals.InputError, match=r"write answer\.interval"):
        release.count("age=20-29 and sex=Female").interval(**wrong)


def test_a_frame_of_statistics_has_a_row_for_each_of_its_cells() -> None:
    found = release.estimate(lambda rows: pd.crosstab(rows.sex, rows.diagnosis), tables=20)
    published = release.table("sex", "diagnosis")["value"]
    assert found.value.to_dict() == found.low.to_dict() == published.to_dict()  # type: ignore[union-attr]


def test_a_drawn_table_answers_as_its_rows_do() -> None:
    """It is a model whose distribution is its rows; values finer than the published ones share them equally."""
    table = next(release.model.drawn_tables(1, 5))
    ages = release.domain.hierarchy("age")
    labels = np.array(ages.labels[1])[table.codes["age"]]
    for level in (0, 1, 2):
        counts = table.expected({"sex": 0, "age": level})
        for sex in (0, 1):
            for code, label in enumerate(ages.labels[level]):
                above = {row[level]: row for row in ages.rows()}[label]
                rows = (table.codes["sex"] == sex) & np.isin(labels, [r[1] for r in ages.rows() if r[level] == label])
                size = sum(row[1] == above[1] for row in ages.rows()) if level == 0 else 1
                assert counts[sex, code] == pytest.approx(rows.sum() / size)


def test_numbers_lie_within_their_labels() -> None:
    for rows in (release.rows(200), release.rows(exact=True), release.rows(50, base_values=True)):
        ends = rows["age"].astype(str).str.split("-")
        assert (ends.str[0].astype(int) <= rows["age_number"]).all()
        assert (rows["age_number"] <= ends.str[-1].astype(int)).all()
        assert (rows["age_number"] % 1 == 0).all(), "whole ages are drawn as whole numbers"


def test_a_function_that_gives_labels_is_refused() -> None:
    with pytest.raises(InputError, match="no numbers"):
        release.estimate(lambda rows: rows.sex)


def test_a_regression_finds_what_was_put_there_and_refuses_what_is_assumed() -> None:
    pytest.importorskip("statsmodels", reason="regressions need it")
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, 4000)
    ill = rng.random(4000) < 1 / (1 + np.exp(3 - 0.05 * age))
    frame = pd.DataFrame(
        {"age": age.astype(str), "ill": np.where(ill, "yes", "no"), "town": rng.choice(["a", "b"], 4000)}
    )
    roles = {
        "age": marginals.Attribute("quasi-identifier", intervals=[10]),
        "ill": "quasi-identifier",
        "town": "quasi-identifier",
    }
    policy = marginals.Policy(
        k_link=2, base="none", diversity="none", max_attributes=2, must_publish=[{"age": 1, "ill": 0}]
    )
    made = marginals.publish(marginals.read_table(frame, roles), policy).release
    found = made.fit("ill ~ age", "logit")
    assert found.low["age"] <= 0.05 <= found.high["age"]
    assert found.value["age"] == pytest.approx(0.05, abs=0.01)
    assert found.value["Intercept"] == pytest.approx(-3, abs=0.5)
    for refused in ("ill ~ nothing", "ill", "~ age", "nothing ~ age", "ill ~ age +"):
        with pytest.raises(InputError):
            made.fit(refused)
    with pytest.raises(InputError, match="no published table shows what is asked of age and sex"):
        release.fit("age ~ sex")


OPEN = pd.DataFrame({"age": ["20", "30", "40", "50", "60", "65 and over"] * 8, "sex": ["f", "m"] * 24})


def released_with_open_ages(values: dict[str, str]) -> marginals.Release:
    hierarchy = Hierarchy.from_rows([(age, "old" if age[-1] == "r" else "young", "*") for age in OPEN.age.unique()])
    age = marginals.Attribute("quasi-identifier", hierarchy=hierarchy, values=values)
    table = marginals.read_table(OPEN, {"age": age, "sex": "quasi-identifier"})
    return marginals.publish(table, marginals.Policy(k_link=2, diversity="none", base="none")).release


def test_rows_whose_label_has_no_end_are_drawn() -> None:
    rows = released_with_open_ages({}).rows(200)
    assert set(rows.age_number) == {20.0, 30.0, 40.0, 50.0, 60.0, 65.0}


def test_a_label_without_an_end_is_bounded_by_what_its_publisher_says(tmp_path: Path) -> None:
    released_with_open_ages({"65 and over": "65 to 110", "20": "10 to 15"}).write(tmp_path / "release")
    told = marginals.open_release(tmp_path / "release")
    silent = released_with_open_ages({})
    mean, total = told.mean("age"), told.total("age")
    assert isinstance(mean, Answer)
    assert (mean.lower, mean.upper, total.upper) == ((200 + 65) / 6, (200 + 110) / 6, 8 * (200 + 110))
    assert mean.value == silent.mean("age").value
    assert silent.mean("age").upper == np.inf
    assert mean.stated == ("65 and over is 65 to 110",)
    assert "if these labels mean what the publisher says: 65 and over is 65 to 110" in mean.explain()
    assert told.mean("age", where="age<60").stated == ()
    assert told.attributes.loc["age", "open ends"] == "65 and over (65 to 110)"


def test_intervals_of_slopes_and_correlations_hold_what_was_counted() -> None:
    """Numbers are drawn within their groups as the groups around suggest; asked are numbers that go together."""
    rng = np.random.default_rng(3)
    trait = rng.normal(size=600)
    people = pd.DataFrame(
        {name: np.clip(450 + 80 * (weight * trait + rng.normal(size=600)), 300, 599).astype(int).astype(str)
         for name, weight in {"age": 1.0, "pay": 0.8, "days": 0.5}.items()}
    )  # fmt: skip
    attributes = {name: marginals.Attribute("quasi-identifier", intervals=[100]) for name in people}
    shown = [{"age": 1, "pay": 1}, {"pay": 1, "days": 1}]
    policy = marginals.Policy(k_link=5, diversity="none", must_publish=shown)
    release = marginals.publish(marginals.read_table(people, attributes), policy).release
    pairs = [(a, b) for a in people for b in people if a != b]

    def slopes(rows: pd.DataFrame) -> pd.Series:
        numbers = {a: rows.get(f"{a}_number", rows[a]).astype(float) for a in people}
        found = [np.cov(numbers[a], numbers[b]) for a, b in pairs]
        return pd.Series([c[0, 1] / c[1, 1] for c in found] + [c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]) for c in found])

    found, truth = release.estimate(slopes, tables=40), slopes(people)
    assert isinstance(found, pd.DataFrame)
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.9

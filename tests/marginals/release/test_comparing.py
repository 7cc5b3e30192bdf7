"""A release beside its table: every number is what somebody finds who works on the rows themselves."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, InputError, Policy
from marginals.example import release, table
from models import TooManyCellsError


def people(rows: int = 600) -> pd.DataFrame:
    """Older people die more; the town says nothing; shoes go with the sex."""
    rng = np.random.default_rng(7)
    age, sex = rng.integers(20, 60, rows), rng.choice(["f", "m"], rows)
    return pd.DataFrame(
        {
            "age": age.astype(str),
            "sex": sex,
            "town": rng.choice(["ash", "elm", "oak"], rows),
            "shoe": np.where(sex == "f", rng.integers(36, 41, rows), rng.integers(40, 46, rows)).astype(str),
            "dead": np.where(rng.random(rows) < np.where(age >= 45, 0.4, 0.05), "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def made() -> Any:
    attributes = {name: Attribute("quasi-identifier", ladder="fitted") for name in ("age", "sex", "town", "shoe")}
    counted = marginals.read_table(people(), attributes | {"dead": Attribute("sensitive")}, k=5)
    policy = Policy(k_link=5, base="none", max_attributes=2, wanted=[{"attributes": ["dead", "sex"]}], diversity="none")
    return marginals.publish(counted, policy)


def test_pairs_are_compared_as_on_the_rows(made: Any) -> None:
    rows, n = people(), 600
    comparison = made.steward.comparison
    assert [pair.attributes for pair in comparison.compared_pairs] == list(
        combinations(["age", "sex", "town", "shoe", "dead"], 2)
    )
    for pair in comparison.compared_pairs:
        a, b = pair.attributes
        both, one, other = Counter(zip(rows[a], rows[b])), Counter(rows[a]), Counter(rows[b])
        phi = sum(count**2 / (one[x] * other[y]) for (x, y), count in both.items()) - 1
        beyond = max(phi - (len(one) - 1) * (len(other) - 1) / (n - 1), 0)
        most = min(len(values) - (len(values) - 1) ** 2 / (n - 1) for values in (one, other)) - 1
        assert pair.cramers_v == pytest.approx((beyond / most) ** 0.5)
        apart = sum(abs(both[x, y] - one[x] * other[y] / n) for x, y in product(one, other)) / 2 / n
        exact = comparison.yardsticks["exact one-way tables, all else independent"]
        assert exact.two_way.by_table[a, b] == pytest.approx(apart)
        assert pair.kind == made.release.supports([a, b]).kind
        assert comparison.release.two_way.by_table[a, b] == pair.total_variation


def test_a_release_that_was_read_is_compared_as_the_one_that_was_made(made: Any, tmp_path: Path) -> None:
    read = marginals.open_release(made.write(tmp_path / "release").release.path)
    attributes = {name: Attribute("quasi-identifier", ladder="fitted") for name in ("age", "sex", "town", "shoe")}
    counted = marginals.read_table(people(), attributes | {"dead": Attribute("sensitive")}, k=5)
    again, first = marginals.compare(read, counted), made.steward.comparison
    assert again.most_lost() == first.most_lost()
    summary = again.summary().drop(columns="wanted")
    pd.testing.assert_frame_equal(summary, first.summary().loc[summary.index].drop(columns="wanted"))
    other = marginals.read_table(people().iloc[:-1], attributes | {"dead": Attribute("sensitive")}, k=5)
    with pytest.raises(InputError, match="another table"):
        marginals.compare(read, other)


def test_yardsticks_stand_beside_it_with_what_was_wanted(made: Any) -> None:
    comparison = made.steward.comparison
    fair, independent = comparison.yardsticks.values()
    assert comparison.release.two_way.mean < fair.two_way.mean
    assert list(comparison.release.wanted.by_table) == [("sex", "dead")]
    assert independent.wanted.by_table["sex", "dead"] == independent.two_way.by_table["sex", "dead"]
    assert independent.one_way.mean == pytest.approx(0)


def test_the_fair_yardstick_is_of_each_attribute_the_finest_table_that_the_policy_allows(made: Any) -> None:
    """By hand: the first level whose groups have five rows or none, spread evenly over its values."""
    rows, spread, real = people(), {}, {}
    for name, hierarchy in made.steward.domain.items():
        codes = [hierarchy.code(str(value), 0) for value in rows[name]]
        real[name] = np.eye(hierarchy.size(0))[codes]
        for level in range(hierarchy.height):
            lifted = hierarchy.lift(0, level)
            groups = np.bincount(lifted[codes], minlength=hierarchy.size(level))
            if name == "dead" or not ((groups > 0) & (groups < 5)).any():
                spread[name] = (groups / np.bincount(lifted))[lifted] / len(rows)
                break
    comparison = made.steward.comparison
    fair = comparison.yardsticks["the best one-way tables within the policy"]
    for one, other in combinations(spread, 2):
        apart = np.abs(real[one].T @ real[other] / len(rows) - np.outer(spread[one], spread[other])).sum() / 2
        assert fair.two_way.by_table[one, other] == pytest.approx(apart)
    assert comparison.mean_of("the best one-way tables within the policy") == fair.two_way.mean
    off = {name: np.abs(real[name].mean(axis=0) - spread[name]).sum() / 2 for name in spread}
    assert set(comparison.coarse) == {name for name, error in off.items() if error >= 0.01}


def test_what_is_too_large_or_too_many_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginals.accuracy._PAIRS", 1)
    some = marginals.compare(release, table)
    assert len(some.compared_pairs) == 1
    assert some.release.two_way.left_out == 2
    monkeypatch.setattr("marginals.accuracy._PAIRS", 1000)
    monkeypatch.setattr("marginals.accuracy._CELLS", 100)
    some = marginals.compare(release, table)
    assert [pair.attributes for pair in some.compared_pairs] == [("age", "sex"), ("sex", "diagnosis")]
    assert some.release.two_way.left_out == 0, "its total variation is known all the same"

    def refuse(*_: object) -> float:
        raise TooManyCellsError("too many")

    monkeypatch.setattr("marginals.accuracy.total_variation", refuse)
    some = marginals.compare(release, table)
    assert some.release.one_way.left_out == 3


def test_nothing_is_said_of_pairs_when_the_time_is_over_midway() -> None:
    """A mean of those reached by then would be another on another day; single attributes are always told of."""
    over = iter([False, False, True])
    told = marginals.accuracy.comparison(table.cube, release.model, {}, stop=lambda: next(over))
    assert (told.release.two_way.by_table, told.release.two_way.left_out, told.compared_pairs) == ({}, 3, ())
    assert len(told.release.one_way.by_table) == 3


def test_attributes_with_one_value_are_compared_too() -> None:
    rows = pd.DataFrame({"town": ["ash"] * 20, "ill": ["no", "yes"] * 10})
    counted = marginals.read_table(rows, {"town": Attribute("quasi-identifier"), "ill": Attribute("sensitive")})
    made = marginals.publish(counted, Policy(k_link=5, base="none", max_attributes=1, diversity="none"))
    [pair] = made.steward.comparison.compared_pairs
    assert (pair.kind, pair.cramers_v) == ("published", 0)
    assert "Nothing to speak of" in made.steward.page(made.steward).decode()


def test_columns_that_are_missing_in_the_same_rows_are_not_associated_by_that() -> None:
    """Two questions that the same people skip went together by Cramer's V 0.75, all of it the missing values."""
    rng = np.random.default_rng(2)
    asked = rng.random(900) < 0.6
    rows = pd.DataFrame({name: np.where(asked, rng.choice(["yes", "no"], 900), "") for name in ("window", "early")})
    roles = {
        "window": Attribute("quasi-identifier", missing="as a value"),
        "early": Attribute("sensitive", missing="as a value"),
    }
    counted = marginals.read_table(rows.assign(age="30"), {**roles, "age": Attribute("quasi-identifier")}, missing=[""])
    apart = marginals.publish(counted, Policy(k_link=5, base="none", max_attributes=1, diversity="none"))
    [pair] = [p for p in apart.steward.comparison.compared_pairs if p.attributes == ("window", "early")]
    assert pair.cramers_v < 0.1
    assert pair.total_variation > 0.2, "the release shows neither beside the other"


def wide(columns: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 3, 200)
    return pd.DataFrame(
        {f"c{i}": np.where(rng.random(200) < 0.6, first, rng.integers(0, 3, 200)) for i in range(columns)}
    )


def compared(frame: pd.DataFrame, wanted: Sequence[tuple[str, ...]] = (), seconds: float = 60) -> Any:
    counted = marginals.read_table(frame.astype(str), dict.fromkeys(frame, "quasi-identifier"))
    analyses = [{"attributes": list(names)} for names in wanted]
    policy = Policy(k_link=2, base="none", max_attributes=1, wanted=analyses, strategy="forward")
    made = marginals.publish(counted, policy, seconds=seconds)
    assert {len(margin) for margin in made.release.published.everything.margins} == {1}
    return made.steward.comparison


def test_of_many_pairs_a_fixed_sample_is_compared_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginals.accuracy._PAIRS", 20)
    monkeypatch.setattr("marginals.accuracy._ALL_CELLS", 9 * 7)  # of the others the total variation alone is known
    frame = wide()
    made = compared(frame)
    assert made.release.two_way.sample.startswith("20 of 66 tables")
    assert len(made.compared_pairs) == 7
    asked = [pair for pair in combinations(frame, 2) if pair not in made.release.two_way.by_table][:2]
    with_wanted = compared(frame, asked)
    assert with_wanted.release.two_way == made.release.two_way
    assert list(with_wanted.release.wanted.by_table) == asked
    shares = {name: frame[name].value_counts(normalize=True) for name in frame}
    for (a, b), error in made.release.two_way.by_table.items():
        both = pd.crosstab(frame[a], frame[b], normalize=True)
        alone = np.outer(shares[a].reindex(both.index), shares[b].reindex(both.columns))
        assert error == pytest.approx(np.abs(both.to_numpy() - alone).sum() / 2)

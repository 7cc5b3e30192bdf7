"""Sensitive numbers and dates are published in groups, unless the steward wishes otherwise."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import Attribute, InputError, Policy, read_config, read_rows

ROWS = 300


def people(values: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"sex": ["f", "m"] * (len(values) // 2), "pay": values})


def pays(seed: int = 3) -> list[str]:
    return np.random.default_rng(seed).lognormal(10, 0.5, ROWS).astype(int).astype(str).tolist()


def labels(texts: list[str], **said: object) -> tuple[str, ...]:
    attributes = {"sex": "quasi-identifier", "pay": Attribute("sensitive", **said)}  # type: ignore[arg-type]
    return marginals.read_table(people(texts), attributes, k=10).domain.hierarchy("pay").labels[0]


@given(st.integers(11, 60), st.integers(0, 3), st.sampled_from([1, 7, 1000]), st.integers(0, 2**32 - 1))
def test_no_group_of_numbers_is_a_single_number(distinct: int, decimals: int, scale: int, seed: int) -> None:
    """No published label is a number of the table but a frequent 0, and each number lies in the band that has its count."""
    rng = np.random.default_rng(seed)
    numbers = sorted({round(float(n) * scale / 10**decimals, decimals) for n in rng.integers(0, 500, distinct)})
    texts = [f"{number:.{decimals}f}" for number in numbers]
    if len(texts) <= 11:  # so few are categories
        return
    table = marginals.read_table(pd.DataFrame({"pay": texts * 4}), {"pay": "sensitive"}, k=3)
    hierarchy = table.domain.hierarchy("pay")
    assert set(texts) & {label for level in hierarchy.labels for label in level} <= {"0"}
    for (label,), count in table.counts.cells():
        low, high = (0.0, 0.0) if label == "0" else (float(end.lstrip("<")) for end in label.rsplit("-", 1))
        assert label != "0" or count >= 0.05 * table.rows
        above = (
            (lambda number, high=high: number < high) if "<" in label else (lambda number, high=high: number <= high)
        )
        assert 4 * sum(low <= number and above(number) for number in numbers) == count


@pytest.mark.parametrize(("at_forty", "is_apart"), [(60, True), (10, False)])
@pytest.mark.parametrize("decimals", [0, 1])
def test_a_number_that_many_rows_have_is_a_group_by_itself(at_forty: int, is_apart: bool, decimals: int) -> None:
    """Of 60 people with 40 hours and 18 with 41 to 49, in one group, readers would expect eight at 40."""
    others = [f"{hours:.{decimals}f}" for hours in range(10, 90) for _ in range(2)]
    texts = [f"{40:.{decimals}f}"] * at_forty + others
    table = marginals.read_table(people(texts), {"sex": "quasi-identifier", "pay": "sensitive"}, k=2)
    at = {label: int(count) for (label,), count in table.cube.table(table.domain.mask({"pay": 0})).cells()}
    assert at.get("40", at.get("40-<40.1")) == (at_forty + 2 if is_apart else None)
    assert sum(at.values()) == len(texts)


@pytest.mark.parametrize(("zeros", "first", "second"), [(20, "0", "1-"), (14, "0-", ""), (1, "0-", "")])
def test_zero_is_a_group_by_itself_where_a_twentieth_has_it(zeros: int, first: str, second: str) -> None:
    """None of something is another thing than a little: with 0 and 4,999 in one band readers would expect few at 0."""
    shown = labels(["0"] * zeros + pays()[: ROWS - zeros])
    assert shown[0] == "0" if second else shown[0].startswith(first)
    assert shown[1].startswith(second)


@pytest.mark.parametrize(("zeros", "is_apart"), [(30, True), (12, False)])
def test_beside_numbers_below_it_zero_is_a_group_as_any_other_number_that_many_have(zeros: int, is_apart: bool) -> None:
    """Days from an arrest to a hearing: most have 0, some have fewer."""
    shown = labels(["0"] * zeros + ["-700"] * 3 + pays()[: ROWS - 3 - zeros])
    assert ("0" in shown) is is_apart


@pytest.mark.parametrize("said", [{"ladder": "fitted"}, {"intervals": [500], "ladder": "fitted"}])
def test_what_was_written_for_another_role_is_coarse_enough_once_it_is_sensitive(said: dict[str, object]) -> None:
    """`init` lets a fitted ladder of quasi-identifiers begin with about a hundred bands, or with the values themselves."""
    shown = labels(pays())
    assert labels(pays(), **said) == shown
    assert all("-" in label for label in shown)
    assert len(shown) < 60


def test_bands_that_were_written_for_the_table_stay_when_it_grows() -> None:
    for factor in (0.5, 1, 2):
        later = [str(int(factor * int(pay))) for pay in pays(4)]
        assert {"5000-9999", "20000-24999"} <= set(labels(later, intervals=[5000], ladder="fitted"))
        assert ("5000-9999" in labels(later)) is (factor == 1)


def test_a_part_has_the_groups_of_the_whole() -> None:
    frame = people(sorted(pays(), key=int)).assign(sex=["f"] * 280 + ["m"] * 20)
    roles = {"sex": "quasi-identifier", "pay": "sensitive"}
    part = marginals.read_table(frame, roles, k=2, where=marginals.Part("sex == 'm'"))
    assert part.part is not None
    whole = marginals.read_table(frame, roles, k=2).domain.hierarchy("pay").labels[0]
    assert part.part.whole.domain.hierarchy("pay").labels[0] == whole
    assert {*part.domain.hierarchy("pay").labels[0]} <= {*whole}


def test_the_steward_can_wish_for_single_values(tmp_path: Path) -> None:
    assert set(labels(pays(), single_values=True)) == set(pays())
    people(pays()).to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text('data.path = "people.csv"\n[attributes.pay]\nrole = "sensitive"\nsingle_values = true\n')
    assert read_config(config).source.attributes["pay"].single_values


def test_few_numbers_and_numbers_with_words_are_names_and_given_intervals_stay() -> None:
    assert labels([str(n) for n in range(20, 40)] * 10, intervals=[3, 6])[:2] == ("18-20", "21-23")
    assert labels([str(n) for n in range(1, 8)] * 20) == tuple("1234567")
    codes = {str(code): f"illness {code}" for code in range(20)}
    assert len(labels([str(code) for code in range(20)] * 10, values=codes)) == 20


def test_dates_are_grouped_by_the_unit_of_which_there_are_a_dozen() -> None:
    days = pd.date_range("2020-01-01", periods=ROWS * 4, freq="D").strftime("%Y-%m-%d")[::4].tolist()
    assert labels(days)[0] == "2020-Q1"
    assert labels(days, dates=["day", "month"], ladder="fitted")[0] == "2020-01"
    assert labels(days, dates=["day", "month"])[0] == "2020-01-01"
    assert labels(["1970-05-01", *days[1:]])[-1] == labels(days)[-1], "one date long before the others"


def test_values_of_which_only_some_are_numbers_are_refused_without_being_named() -> None:
    values = [*pays()[:-20], *["about 40 k"] * 20]
    with pytest.raises(InputError, match=r"'pay' .*single_values = true") as refused:
        labels(values)
    assert "about" not in str(refused.value)
    assert labels(["cook", "smith", "1"] * 100) == ("1", "cook", "smith")


def test_rows_are_disclosed_as_they_are() -> None:
    rows = read_rows(people(pays()), {"pay": "sensitive", "sex": "quasi-identifier"})
    assert set(rows.domain.hierarchy("pay").labels[0]) == set(pays())


def test_missing_values_stay_apart_at_every_level() -> None:
    values = ["" if place % 100 == 0 else pay for place, pay in enumerate(pays())]
    attributes = {"pay": Attribute("sensitive", missing="as a value")}
    hierarchy = marginals.read_table(people(values), attributes, k=10).domain.hierarchy("pay")
    assert hierarchy.height > 3
    assert all("missing" in level for level in hierarchy.labels[:-1])
    assert set(labels(pays())) & set(hierarchy.labels[0])


def test_a_release_shows_only_groups_whatever_its_config_says_of_levels() -> None:
    table = marginals.read_table(people(pays()), {"sex": "quasi-identifier", "pay": "sensitive"}, k=10)
    policy = Policy(k_link=10, min_cell=3, diversity="recursive:3,4", must_publish=[{"pay": 0}], base="none")
    with pytest.raises(marginals.errors.NothingPublishableError):
        marginals.publish(table, policy)
    release = marginals.publish(table, Policy(k_link=10, min_cell=3, diversity="recursive:3,4")).release
    assert release.published.smallest_sensitive["pay"] >= 3
    assert not set(pays()) & set(release.domain.hierarchy("pay").labels[0])

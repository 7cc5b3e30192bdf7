"""A condition in the place of another argument is never dropped: the answer would be right for another question."""

from collections.abc import Callable
from typing import Any

import pytest

from marginals import InputError
from marginals.example import release


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

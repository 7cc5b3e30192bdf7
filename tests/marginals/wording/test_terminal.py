"""What a terminal says of a number of rows: its bounds in their order, and whether they are the best."""

import pytest

from marginals.release.estimates import Estimate
from marginals.wording.terminal import estimate_lines


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        (Estimate(2.5, 1, 4, sharp=True), ["about 2.5 rows expected", "between 1 and 4 for certain; no closer bounds"]),
        (
            Estimate(2.5, 0, 9, sharp=False),
            ["about 2.5 rows expected", "between 0 and 9 for certain; closer bounds may"],
        ),
        (Estimate(3.0, 3, 3, sharp=True), ["3 rows, exactly"]),
        (Estimate(3.0, 3, 3, sharp=False), ["3 rows, exactly"]),
    ],
)
def test_an_estimate_is_told_by_its_bounds_and_whether_they_are_the_best(estimate: Estimate, said: list[str]) -> None:
    lines = list(estimate_lines(estimate))
    assert len(lines) == len(said)
    assert all(line.startswith(beginning) for line, beginning in zip(lines, said))

"""What a terminal says of a number of rows, and of how well was searched."""

import pytest

from marginals.estimates import Estimate
from marginals.example import release
from marginals.wording import estimate_lines, search_line
from models.graphs.basis import CERTAIN as PUBLISHED
from models.graphs.basis import Basis, Kind
from models.search import SearchResult

BY_ASSUMPTION = "assumed: no published table shows what is asked of age and sex together, so the model takes them to be"
ASSUMED = Basis(Kind.ASSUMED, assumed=(("age", "sex"),))


BETWEEN = "between {} for certain; {}".format


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        (
            Estimate(2.5, 1, 4, True, PUBLISHED),
            ["about 2.5 rows", BETWEEN("1 and 4", "no closer"), "published: it follows"],
        ),
        (
            Estimate(2.5, 0, 9, False, ASSUMED),
            ["about 2.5 rows", BETWEEN("0 and 9", "closer bounds may"), BY_ASSUMPTION],
        ),
        (Estimate(None, 0, 9, False, ASSUMED), ["no estimate: the time was over", BETWEEN("0 and 9", "closer")]),
        (Estimate(3.0, 3, 3, True, PUBLISHED), ["3 rows, exactly", "published: "]),
        (Estimate(3.0, 3, 3, False, PUBLISHED), ["3 rows, exactly", "published: "]),
    ],
)
def test_an_estimate_is_told_by_its_bounds_and_whether_they_are_the_best(estimate: Estimate, said: list[str]) -> None:
    lines = list(estimate_lines(estimate, release.domain))
    assert len(lines) == len(said)
    assert all(line.startswith(beginning) for line, beginning in zip(lines, said))


@pytest.mark.parametrize(
    ("bound", "optimal", "wanted", "said"),
    [
        (0.5, True, (), "; no decomposable collection within the policy and search limits is better."),
        (None, False, (), "."),
        (
            0.5004,
            False,
            (),
            "; no decomposable collection within the policy and search limits gets below 0.500 nats; this one is at most "
            "0.251 above that.",
        ),
        (
            0.5004,
            False,
            (0.1,),
            "; no decomposable collection within the policy and search limits gets below 0.500 nats, wanted analyses "
            "counted; this one is at most 0.251 above that.",
        ),
    ],
)
def test_what_no_release_can_beat_is_said(
    bound: float | None, optimal: bool, wanted: tuple[float, ...], said: str
) -> None:
    search = SearchResult("greedy", (), 0.7501, 9, optimal, (), value=0.7501, bound=bound, wanted=wanted)
    assert search_line(search) == f"Search: greedy, 9 collections looked at{said}"

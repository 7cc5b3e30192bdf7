"""What a terminal says of a number of rows, and of how well was searched."""

from dataclasses import replace

import pytest

from checks import Algorithm, Finding, KCombinatorial, MaxentDiversity, Verdict, WorstClass, parse_diversity
from checks.attacks.knowledge import CertainCell, CertainCells
from checks.attacks.published_counts import Counts, PublishedCounts
from marginals.estimates import Estimate
from marginals.example import publication, release
from marginals.wording import (
    ALGORITHM_KNOWN,
    ClaimInWords,
    certain_in_words,
    dropped_lines,
    estimate_lines,
    few_rows,
    finding_lines,
    in_words,
    odds_in_words,
    published_lines,
    removed_in_words,
    search_line,
    smallest_line,
    suppressed_rows,
    told_findings,
    told_together,
)
from models import Basis, SearchResult
from models.graphs.basis import CERTAIN as PUBLISHED
from models.graphs.basis import Kind

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
        (0.3, False, (), "."),  # below half of what was found: it says nothing
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


@pytest.mark.parametrize(
    ("value", "said"), [(0.7, "; those passed over are 0.051 nats better by the objective."), (0.8, ".")]
)
def test_what_was_passed_over_for_its_pairs_is_said(value: float, said: str) -> None:
    """By how much it is better is rounded up; where it is worse, nothing is said of that."""
    other = SearchResult("auto", (), value, 9, optimal=False, steps=(), value=value)
    search = replace(other, value=0.7501, runner_up=other)
    assert search_line(search) == (
        "Search: auto, 9 collections looked at. The search ended in two ways: with counts of one half of the rows, these "
        f"tables tell more of pairs of attributes in the other half{said}"
    )


@pytest.mark.parametrize(
    ("release", "best", "said"),
    [
        (6.0, 7.0, "the release removes 25 percent of the KL divergence; the best single table removes 12 percent."),
        (6.0, None, "the release removes 25 percent of the KL divergence."),
        (10.0, 8.0, "the release adds 25 percent of the KL divergence; the best single table removes 0 percent."),
    ],
)
def test_what_is_gained_has_its_reference_and_gets_larger_with_what_it_praises(
    release: float, best: float | None, said: str
) -> None:
    report = replace(publication.steward, kl_divergence=release, kl_suppressed=8.0, kl_best_table=best)
    assert removed_in_words(report) == f"Relative to suppressing all quasi-identifiers, {said}"
    assert removed_in_words(replace(report, kl_suppressed=0.0)) == ""


@pytest.mark.parametrize(
    ("odds", "said"),
    [(1.19799, "at most 1.197"), (1.0, "however little"), (1.0004, "however little"), (1e6, "at most 1,000,000")],
)
def test_odds_are_rounded_down_so_that_the_sentence_holds(odds: float, said: str) -> None:
    assert odds_in_words(odds).endswith(said) or said in odds_in_words(odds)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (KCombinatorial(1), ""),
        (KCombinatorial(2), "has only 1 row. It does not mean that 2 rows have it."),
        (KCombinatorial(10), "has only 1 to 9 rows. It does not mean that 10 rows have it."),
        (KCombinatorial(3, rows_per_person=1), "has only 1 or 2 people. It does not mean that 3 people have it."),
    ],
)
def test_k_combinatorial_says_what_it_does_not_mean(claim: KCombinatorial, said: str) -> None:
    assert claim.meaning().endswith(said)
    assert ("It does not mean" in claim.meaning()) == bool(said)


def counted(small: int, number: int) -> PublishedCounts:
    cell = CertainCell({"age": "20"}, {"age": 0}, 1)
    return PublishedCounts(10, Counts(number, small, (cell,) * small), {})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (next(dropped_lines(94, 1, {"age": 1})), "Dropped 1 of 95 rows with missing values: 1 lacks age."),
        (next(dropped_lines(1, 0, {})), "None of the 1 row lacks a value."),
        (next(dropped_lines(7000, 0, {})), "None of the 7,000 rows lacks a value."),
        (
            next(published_lines(counted(1, 95))),
            "Published as they are: 1 of 95 counts is below 10; the smallest: age=20: 1",
        ),
        (
            next(published_lines(counted(0, 1200))),
            "Published as they are: 0 of 1,200 counts are below 10; there are none",
        ),
        (few_rows(1), "a group of 1 row"),
        (few_rows(3), "a group of 1 or 2 rows"),
        (few_rows(1200), "a group of 1 to 1,199 rows"),
        (suppressed_rows(1), "1 row suppressed: it has * in every quasi-identifier, and is a class"),
        (
            certain_in_words(CertainCells(1, 1, 1, 0, 0, None)),
            "in the tables of up to 3 attributes with it that readers can work out, each attribute at its finest published "
            "level, 1 count is determined exactly, 1 of them below the largest k claimed; 1 cell has a row for certain",
        ),
        (smallest_line(replace(release.verify(), smallest_sensitive={})), ""),
        (
            smallest_line(replace(release.verify(), smallest_sensitive={"a": 4000, "b": 5000})),
            "The smallest count with a sensitive value is 4,000.",
        ),
        (ALGORITHM_KNOWN.rpartition(", ")[2], "conclude"),
    ],
)
def test_one_and_many_and_thousands_are_told_apart(line: str, said: str) -> None:
    assert line == said


def kept(attribute: str, diversity: str, odds: float | None, verdict: Verdict = Verdict.HOLDS) -> Finding:
    parameters = {"diversity": diversity, "sensitive": attribute}
    worst = WorstClass(cell={"age": f"that of {attribute}"}, reached=1.0)
    return Finding("maxent-diversity", verdict, parameters, worst, (Algorithm.NONE,), 0, odds=odds)


def test_what_many_sensitive_attributes_keep_is_told_once_with_the_one_that_the_least_knowledge_breaks() -> None:
    findings = [
        kept("job", "entropy:3", 2.0),
        kept("pay", "distinct:2", 1.5),
        kept("vote", "entropy:3", 4.0),
        kept("debt", "entropy:3", None, Verdict.FAILS),
    ]
    (verdict, lines), (failing, alone) = told_findings(findings)
    assert (verdict, failing) == (Verdict.HOLDS, Verdict.FAILS)
    assert lines[:3] == ["maxent-diversity of 3 sensitive attributes", "entropy:3: job, vote", "distinct:2: pay"]
    assert [line.split(":")[0] for line in lines[3:4]] == ["of pay, closest case"]
    assert "that of pay" in lines[3]
    assert lines[4].startswith("of pay, it still holds")
    assert "factor of at most 1.5." in lines[4]
    assert alone == list(finding_lines(findings[-1]))
    few = told_findings(findings[:2])
    assert [lines for _, lines in few] == [list(finding_lines(finding)) for finding in findings[:2]]


def test_claims_that_say_the_same_of_several_attributes_are_told_together() -> None:
    def claim(attribute: str, diversity: str, odds: float, verdict: Verdict = Verdict.HOLDS) -> ClaimInWords:
        stated = MaxentDiversity(parse_diversity(diversity), attribute)
        return in_words(stated, kept(attribute, diversity, odds, verdict), ["job", "pay", "vote"])

    claims = [claim("job", "entropy:3", 2.0), claim("pay", "distinct:2", 1.5), claim("vote", "entropy:3", 4.0)]
    (together,) = told_together(claims)
    assert together.clauses == {claims[0].clause: ["job", "vote"], claims[1].clause: ["pay"]}
    assert together.least == claims[1]
    assert claims[0].clause in claims[0].meaning
    assert claims[0].clause not in together.meaning
    alone, others = told_together([claim("debt", "entropy:3", 1.0, Verdict.FAILS), *claims])
    assert alone.meaning == alone.claims[0].meaning
    assert not alone.clauses
    assert others == together

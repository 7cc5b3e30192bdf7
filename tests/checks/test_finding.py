"""Findings: a verdict that was not reached is no pass, and what is said is plain JSON."""

import json

import pytest

from checks import Algorithm, Finding, Verdict, WorstClass
from checks.finding import verdict_of

WORST = WorstClass({"age": "30-39"}, count=2)


def finding(verdict: Verdict, note: str = "") -> Finding:
    return Finding("k-link", verdict, {"k": 3}, WORST, (Algorithm.MINIMUM,), 7, note)


@pytest.mark.parametrize(("verdict", "holds"), list(zip(Verdict, [True, False, False])))
def test_only_what_is_proven_holds(verdict: Verdict, holds: bool) -> None:
    assert finding(verdict).holds is holds
    assert finding(verdict).as_json()["holds"] is holds


def test_a_decided_check_holds_or_fails() -> None:
    assert verdict_of(True) is Verdict.HOLDS
    assert verdict_of(False) is Verdict.FAILS


@pytest.mark.parametrize("verdict", Verdict)
def test_a_finding_is_plain_json_with_all_it_says(verdict: Verdict) -> None:
    plain = finding(verdict).as_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain == {
        "criterion": "k-link",
        "holds": verdict is Verdict.HOLDS,
        "verdict": verdict.value,
        "parameters": {"k": 3},
        "worst": {"cell": {"age": "30-39"}, "count": 2},
        "algorithm": "minimum",
        "examined": 7,
    }


def test_a_note_is_there_when_there_is_one() -> None:
    assert finding(Verdict.FAILS, "half of the work was done").as_json()["note"] == "half of the work was done"
    assert "note" not in finding(Verdict.FAILS).as_json()


def test_with_nothing_to_look_at_there_is_no_worst() -> None:
    assert Finding("k-link", Verdict.HOLDS, {"k": 3}, None, (Algorithm.MINIMUM,), 0).as_json()["worst"] is None


def test_a_finding_reads_as_one_line() -> None:
    assert str(finding(Verdict.FAILS)) == "k-link (k 3): fails"
    two = Finding(
        "maxent-diversity", Verdict.UNDECIDED, {"diversity": "entropy:6", "sensitive": "s"}, None, (Algorithm.JOIN,), 0
    )
    assert str(two) == "maxent-diversity (diversity entropy:6, sensitive s): undecided"


def test_of_a_worst_class_what_is_known_is_told_and_infinite_is_null() -> None:
    everything = WorstClass({"a": "x"}, {"a": 1}, [{"a": 1}], [{"u": 2}], 2, (0, 3), {"u": 1.0}, 1.5)
    assert list(everything.as_json()) == [
        "margin",
        "cell",
        "margins",
        "counts",
        "count",
        "count_between",
        "distribution",
        "reached",
    ]
    assert WorstClass().as_json() == {}
    assert WorstClass(cell={}, reached=float("inf")).as_json() == {"cell": {}, "reached": None}


def test_every_algorithm_has_a_name_and_a_sentence_of_its_own() -> None:
    assert len({algorithm.sentence for algorithm in Algorithm}) == len(Algorithm)
    assert all(Algorithm(algorithm.value) is algorithm for algorithm in Algorithm)
    both = Finding("k-link", Verdict.HOLDS, {}, None, (Algorithm.ITERATIVE_FITTING, Algorithm.HULL), 0)
    assert both.algorithm == "iterative fitting, hull"

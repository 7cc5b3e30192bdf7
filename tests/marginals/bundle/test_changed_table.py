"""Releases of a table that changed: each is judged by itself, and the smallest change that both tell is named."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import marginals
from checks import Claim, Distinct, Finding, KLink, MaxentDiversity, Verdict
from command_line import run
from marginals import Attribute, Hierarchy
from written_bundles import write_margins

HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED
JOBS, TOWNS, ILLNESSES = ["clerk", "cook", "nurse"], ["Ulm", "Jena"], ["flu", "cold"]
BEFORE = pd.DataFrame(
    [
        (job, town, illness)
        for i, job in enumerate(JOBS)
        for j, town in enumerate(TOWNS)
        for k, illness in enumerate(ILLNESSES)
        for _ in range(12 + 3 * i + 2 * j + k)
    ],
    columns=["job", "town", "illness"],
)
BAKERS = pd.DataFrame([("baker", "Ulm", "flu")] * 12, columns=list(BEFORE))
ROLES = {"job": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"}
JOB, JOBS_BY_TOWN, ILLNESS_BY_TOWN = {"job": 0}, {"job": 0, "town": 0}, {"illness": 0, "town": 0}


def bundle(
    folder: Path, people: pd.DataFrame, *margins: dict[str, int], claims: Sequence[Claim] = (KLink(10),), **stated: Any
) -> Path:
    return write_margins(marginals.read_table(people, ROLES), margins, folder, claims, **stated)


def told(change: Finding) -> tuple[Mapping[str, str], int, int]:
    """The cell of base values that differs, with its rows before and after."""
    worst = marginals.plain(change.worst)
    assert worst["margin"] == dict.fromkeys(worst["cell"], 0)
    assert worst["difference"] == worst["after"] - worst["before"]
    return worst["cell"], worst["before"], worst["after"]


def last(*folders: Path, **asked: Any) -> Finding:
    """The last finding about bundles: of their difference, unless something else is demanded."""
    return marginals.verify(*folders, **asked).checks[-1]


def leaving(people: pd.DataFrame, number: int, **values: str) -> pd.DataFrame:
    chosen = people[np.logical_and.reduce([people[name] == value for name, value in values.items()])]
    return people.drop(chosen.index[:number])


def test_three_people_who_left_are_named(tmp_path: Path) -> None:
    first = bundle(tmp_path / "2025", BEFORE, JOBS_BY_TOWN, ILLNESS_BY_TOWN)
    after = leaving(BEFORE, 3, job="cook", town="Ulm", illness="flu")
    second = bundle(tmp_path / "2026", after, JOBS_BY_TOWN, {"illness": 0})
    verification = marginals.verify(first, second)
    integrity, *own, change = verification.checks
    assert integrity.holds
    assert [finding.parameters["release"] for finding in own] == [str(first), str(second)]
    assert all(finding.holds for finding in own)
    assert (change.criterion, change.verdict) == ("difference", FAILS)
    assert change.parameters == {"k": 10, "earlier": str(first), "later": str(second)}
    assert told(change) == ({"job": "cook", "town": "Ulm"}, 31, 28)
    assert not verification.ok
    result = run("verify", first, second, "--rule", "cms-11", status=1)
    assert "job=cook, town=Ulm" in result.output
    rules = marginals.verify(first, second, rules=["cms-11"]).rules
    assert [rule.as_json()["release"] for rule in rules] == [str(first), str(second)], "each table has its answer"
    (backwards,) = (found for found in marginals.verify(second, first).checks if found.criterion == "difference")
    assert told(backwards) == ({"job": "cook", "town": "Ulm"}, 28, 31)


def test_releases_of_one_table_are_put_together_before_they_are_compared(tmp_path: Path) -> None:
    jobs = bundle(tmp_path / "jobs", BEFORE, JOBS_BY_TOWN)
    illnesses = bundle(tmp_path / "illnesses", BEFORE, ILLNESS_BY_TOWN)
    later = bundle(tmp_path / "later", leaving(BEFORE, 2, illness="flu", town="Jena"), ILLNESS_BY_TOWN)
    change = last(jobs, later, illnesses)
    assert told(change) == ({"town": "Jena", "illness": "flu"}, 51, 49)
    assert (change.parameters["earlier"], change.parameters["later"]) == (f"{jobs}, {illnesses}", str(later))
    months = [bundle(tmp_path / f"{left}", leaving(BEFORE, left, job="cook"), JOBS_BY_TOWN) for left in (5, 10, 15)]
    found = [finding for finding in marginals.verify(*months).checks if finding.criterion == "difference"]
    assert [Path(str(finding.parameters["earlier"])).name for finding in found] == ["5", "5", "10"]


def test_without_a_least_count_nothing_is_small(tmp_path: Path) -> None:
    diverse = [MaxentDiversity(Distinct(2), "illness")]
    first = bundle(tmp_path / "first", BEFORE, ILLNESS_BY_TOWN, claims=diverse)
    second = bundle(tmp_path / "second", BEFORE.iloc[1:], ILLNESS_BY_TOWN, claims=diverse)
    assert last(first, second).verdict is UNDECIDED
    assert last(first, second, claims=["difference=2"]).verdict is FAILS
    assert marginals.verify(first, second, claims=["difference=1"]).ok


def test_people_are_counted_if_rows_are_of_people(tmp_path: Path) -> None:
    first, second = (
        bundle(tmp_path / str(left), leaving(BEFORE, left, job="cook"), JOB, claims=[KLink(4)], rows_per_person=3)
        for left in (0, 10)
    )
    change = last(first, second)
    assert (change.parameters["rows_per_person"], change.verdict) == (3, FAILS)
    assert last(first, second, claims=["difference=3"]).holds


def test_a_small_difference_is_undecided_if_all_releases_say_that_readers_know_of_turnover(tmp_path: Path) -> None:
    """The third release does not say it; and of more than the 10 rows that are claimed nothing is stated."""
    first, second, third = (
        bundle(tmp_path / f"{left}", leaving(BEFORE, left, job="cook"), JOB, turnover_known=left < 4)
        for left in (0, 3, 6)
    )
    change = last(first, second)
    assert change.verdict is UNDECIDED
    assert marginals.plain(change.worst)["difference"] == -3
    assert run("verify", first, second).exit_code == 1
    found = [f.verdict for f in marginals.verify(first, second, third).checks if f.criterion == "difference"]
    assert found == [UNDECIDED, FAILS, FAILS]
    asked = {k: last(first, second, claims=[f"difference={k}"]).verdict for k in (3, 10, 11)}
    assert asked == {3: HOLDS, 10: UNDECIDED, 11: FAILS}


Bands = Mapping[str, range]


def ages(folder: Path, numbers: Sequence[int], bands: Bands) -> Path:
    """A release of ages in those bands that somebody is in, by sex: half of the people of each age."""
    named = [next(band for band, own in bands.items() if age in own) for age in numbers]
    occurring = Hierarchy.flat([band for band in bands if band in named])
    roles = {"age": Attribute("quasi-identifier", hierarchy=occurring), "sex": "quasi-identifier"}
    people = pd.DataFrame({"age": named, "sex": ["f", "m"] * (len(numbers) // 2)})
    return write_margins(marginals.read_table(people, roles), [{"age": 0, "sex": 0}], folder, [KLink(10)])


def with_ages(**numbers: int) -> list[int]:
    """So many people of each age: `_20=40`."""
    return [int(age[1:]) for age, people in numbers.items() for _ in range(people)]


EARLIER = with_ages(_20=40, _24=40, _25=40, _29=40, _30=60, _36=60)
TENS: Bands = {"20-29": range(20, 30), "30 and over": range(30, 40)}
FIFTEENS: Bands = {"under 35": range(20, 35), "35-39": range(35, 40)}


def test_overlapping_bands_are_compared_if_they_hang_together_and_are_undecided_else(tmp_path: Path) -> None:
    first = ages(tmp_path / "first", EARLIER, TENS)
    second = ages(tmp_path / "second", [*EARLIER, *with_ages(_20=40)], FIFTEENS)
    change = last(first, second)
    assert told(change) == ({"sex": "f"}, 140, 160)
    assert change.verdict is UNDECIDED
    assert "'age'" in change.note
    assert last(first, second, claims=["difference=21"]).verdict is FAILS


def test_a_value_that_is_new_had_no_rows(tmp_path: Path) -> None:
    more = pd.concat([BEFORE, BAKERS])
    first = bundle(tmp_path / "first", BEFORE, JOBS_BY_TOWN)
    assert marginals.verify(first, bundle(tmp_path / "second", more, JOBS_BY_TOWN)).ok
    few = bundle(tmp_path / "few", more.iloc[:-3], JOBS_BY_TOWN, claims=[KLink(2)])
    assert told(last(first, few)) == ({"job": "baker", "town": "Ulm"}, 0, 9)
    change = last(first, bundle(tmp_path / "third", more[more["job"] != "clerk"], JOBS_BY_TOWN))
    assert change.verdict is UNDECIDED, "clerks may be called bakers now"
    assert "'job'" in change.note

"""Releases of a table that changed: each is judged by itself, and the smallest change that both tell is named."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from checks import Claim, Distinct, KLink, MaxentDiversity, Verdict
from checks.changes import CellDifference
from command_line import main
from marginals.bundle import together
from marginals.bundle.reading import content_of, union
from marginals.bundle.snapshot import Snapshot
from marginals.bundle.together import by_table
from marginals.publishing.publishing import releasable
from models import Collection, DataCube
from work import count_calls
from written_bundles import Content, bundle_content, write_bundle

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
ROLES = {"job": "quasi-identifier", "town": "quasi-identifier", "illness": "sensitive"}


def bundle(
    folder: Path,
    people: pd.DataFrame,
    margins: Sequence[dict[str, int]],
    claims: Sequence[Claim] = (KLink(10),),
    rows_per_person: int | None = None,
    turnover_known: bool = False,
) -> Path:
    table = marginals.read_table(people, ROLES)
    masks = [table.domain.mask(margin) for margin in margins]
    collection = Collection.of(DataCube([table.cube.table(mask) for mask in masks]), masks)
    content = bundle_content(
        collection, table.roles, tuple(claims), rows_per_person=rows_per_person, turnover_known=turnover_known
    )
    write_bundle(content, folder)
    return folder


def leaving(people: pd.DataFrame, number: int, **values: str) -> pd.DataFrame:
    """Without the first so many people of these values."""
    chosen = people[np.logical_and.reduce([people[name] == value for name, value in values.items()])]
    return people.drop(chosen.index[:number])


JOBS_BY_TOWN, ILLNESS_BY_TOWN = {"job": 0, "town": 0}, {"illness": 0, "town": 0}


def test_three_people_who_left_are_named(tmp_path: Path) -> None:
    first = bundle(tmp_path / "2025", BEFORE, [JOBS_BY_TOWN, ILLNESS_BY_TOWN])
    after = leaving(BEFORE, 3, job="cook", town="Ulm", illness="flu")
    second = bundle(tmp_path / "2026", after, [JOBS_BY_TOWN, {"illness": 0}])
    verification = marginals.verify(first, second)
    integrity, *own, change = verification.checks
    assert integrity.holds
    assert [finding.parameters["release"] for finding in own] == [str(first), str(second)]
    assert all(finding.holds for finding in own)
    assert (change.criterion, change.verdict) == ("difference", Verdict.FAILS)
    assert change.parameters == {"k": 10, "earlier": str(first), "later": str(second)}
    assert change.worst == CellDifference({"job": "cook", "town": "Ulm"}, {"job": 0, "town": 0}, 31, 28)
    assert not verification.ok
    result = CliRunner().invoke(main, ["verify", str(first), str(second)])
    assert result.exit_code == 1
    assert "job=cook, town=Ulm; difference -3" in result.output
    (backwards,) = (found for found in marginals.verify(second, first).checks if found.criterion == "difference")
    assert backwards.worst == CellDifference({"job": "cook", "town": "Ulm"}, {"job": 0, "town": 0}, 28, 31)


def test_enough_people_are_no_small_difference_and_the_answer_says_what_it_is_not(tmp_path: Path) -> None:
    first = bundle(tmp_path / "2025", BEFORE, [JOBS_BY_TOWN])
    second = bundle(tmp_path / "2026", leaving(BEFORE, 10, job="cook", town="Ulm"), [JOBS_BY_TOWN])
    verification = marginals.verify(first, second)
    change = verification.checks[-1]
    assert verification.ok
    assert "no count is negative" in change.note
    assert "mean the same" in change.note
    assert not marginals.verify(first, second, claims=["difference=11"]).ok
    asked = marginals.verify(first, second, claims=["difference=11", "difference=3", "k-link=2"])
    assert [(finding.criterion, finding.parameters["k"]) for finding in asked.checks[1:]] == [
        ("k-link", 2),
        ("k-link", 2),
        ("difference", 11),
    ]


def test_a_corrected_record_is_a_change_though_the_numbers_of_rows_agree(tmp_path: Path) -> None:
    corrected = BEFORE.copy()
    corrected.loc[corrected.index[0], "job"] = "nurse"
    first = bundle(tmp_path / "first", BEFORE, [JOBS_BY_TOWN])
    second = bundle(tmp_path / "second", corrected, [{"job": 0}])
    change = marginals.verify(first, second).checks[-1]
    assert change.verdict is Verdict.FAILS
    assert isinstance(change.worst, CellDifference)
    assert abs(change.worst.difference) == 1


def test_releases_of_one_table_are_put_together_before_they_are_compared(tmp_path: Path) -> None:
    """What the two of the first year tell of the illness is in one of them only."""
    jobs = bundle(tmp_path / "jobs", BEFORE, [JOBS_BY_TOWN])
    illnesses = bundle(tmp_path / "illnesses", BEFORE, [ILLNESS_BY_TOWN])
    after = leaving(BEFORE, 2, illness="flu", town="Jena")
    later = bundle(tmp_path / "later", after, [ILLNESS_BY_TOWN])
    content = [(str(path), content_of(Snapshot.of(path))) for path in (jobs, later, illnesses)]
    assert [[name for name, _ in group.bundles] for group in by_table(content)] == [
        [str(jobs), str(illnesses)],
        [str(later)],
    ]
    change = marginals.verify(jobs, later, illnesses).checks[-1]
    assert change.worst == CellDifference({"town": "Jena", "illness": "flu"}, {"town": 0, "illness": 0}, 51, 49)
    assert change.parameters["earlier"] == f"{jobs}, {illnesses}"
    months = [bundle(tmp_path / f"{left}", leaving(BEFORE, left, job="cook"), [JOBS_BY_TOWN]) for left in (5, 10, 15)]
    found = [finding for finding in marginals.verify(*months).checks if finding.criterion == "difference"]
    assert [Path(str(finding.parameters["earlier"])).name for finding in found] == ["5", "5", "10"]


def test_without_a_least_count_nothing_is_small(tmp_path: Path) -> None:
    diverse = MaxentDiversity(Distinct(2), "illness")
    first = bundle(tmp_path / "first", BEFORE, [ILLNESS_BY_TOWN], [diverse])
    second = bundle(tmp_path / "second", BEFORE.iloc[1:], [ILLNESS_BY_TOWN], [diverse])
    change = marginals.verify(first, second).checks[-1]
    assert change.verdict is Verdict.UNDECIDED
    assert "--check difference=K" in change.note
    assert marginals.verify(first, second, claims=["difference=2"]).checks[-1].verdict is Verdict.FAILS
    assert marginals.verify(first, second, claims=["difference=1"]).ok


def test_people_are_counted_where_rows_are_of_people(tmp_path: Path) -> None:
    """Ten rows that are gone may be four people with three rows each."""
    first, second = (
        bundle(tmp_path / str(left), leaving(BEFORE, left, job="cook"), [{"job": 0}], [KLink(4)], rows_per_person=3)
        for left in (0, 10)
    )
    change = marginals.verify(first, second).checks[-1]
    assert change.parameters["rows_per_person"] == 3
    assert change.verdict is Verdict.FAILS
    assert marginals.verify(first, second, claims=["difference=3"]).checks[-1].holds


def test_a_small_difference_is_undecided_where_all_releases_say_that_readers_know_of_turnover(tmp_path: Path) -> None:
    first, second, third = (
        bundle(tmp_path / f"{left}", leaving(BEFORE, left, job="cook"), [{"job": 0}], turnover_known=left < 4)
        for left in (0, 3, 6)
    )
    change = marginals.verify(first, second).checks[-1]
    assert change.verdict is Verdict.UNDECIDED
    assert isinstance(change.worst, CellDifference)
    assert change.worst.difference == -3
    assert "proves nobody where at least 10 came and at least 10 left" in change.note
    assert "the files cannot" in change.note
    assert CliRunner().invoke(main, ["verify", str(first), str(second)]).exit_code == 1
    verdicts = [
        each.verdict for each in marginals.verify(first, second, third).checks if each.criterion == "difference"
    ]
    assert verdicts == [Verdict.UNDECIDED, Verdict.FAILS, Verdict.FAILS], "the third says nothing of it"
    asked = {k: marginals.verify(first, second, claims=[f"difference={k}"]).checks[-1].verdict for k in (3, 10, 11)}
    assert asked == {3: Verdict.HOLDS, 10: Verdict.UNDECIDED, 11: Verdict.FAILS}, "of more than 10 nothing is stated"


def test_what_cannot_be_asked_is_said_in_one_sentence(tmp_path: Path) -> None:
    first = bundle(tmp_path / "first", BEFORE, [JOBS_BY_TOWN])
    with pytest.raises(marginals.InputError, match="name at least two"):
        marginals.verify(first, claims=["difference=10"])
    for text in ("difference=0", "difference=ten", "difference=", "difference=1.5"):
        with pytest.raises(marginals.InputError, match="difference=K"):
            marginals.verify(first, first, claims=[text])
    same = marginals.verify(first, first, claims=["difference=10"])
    assert same.ok
    assert "of one table" in same.checks[-1].note


def ages(folder: Path, numbers: Sequence[int], bands: dict[str, range], extra: Sequence[dict[str, int]] = ()) -> Path:
    """A release of ages in bands, as fitted levels name them, by sex: half of the people of each age."""
    rows = [(str(age), band, "*") for band, own in bands.items() for age in own]
    attributes = {
        "age": marginals.Attribute("quasi-identifier", hierarchy=marginals.Hierarchy.from_rows(rows)),
        "sex": "quasi-identifier",
        "illness": "sensitive",
    }
    people = pd.DataFrame({"age": list(map(str, numbers)), "sex": ["f", "m"] * (len(numbers) // 2), "illness": "flu"})
    table = marginals.read_table(people, attributes)
    masks = [table.domain.mask(margin) for margin in ({"age": 1, "sex": 0}, *extra)]
    collection = releasable(Collection.of(DataCube([table.cube.table(mask) for mask in masks]), masks), ())
    write_bundle(bundle_content(collection, table.roles, (KLink(10),)), folder)
    return folder


def with_ages(**numbers: int) -> list[int]:
    """So many people of each age: `_20=40`."""
    return [int(age[1:]) for age, people in numbers.items() for _ in range(people)]


EARLIER = with_ages(_20=40, _24=40, _25=40, _29=40, _30=60, _36=60)
TENS, FIFTEENS = (
    {"20-29": range(20, 30), "30 and over": range(30, 40)},
    {"under 35": range(20, 35), "35-39": range(35, 40)},
)
FIVES = {"20-24": range(20, 25), "25-29": range(25, 30), "30 and over": range(30, 40)}


def test_ladders_that_nest_are_compared_at_the_coarser_level(tmp_path: Path) -> None:
    first = ages(tmp_path / "first", EARLIER, TENS)
    second = ages(tmp_path / "second", [*EARLIER, *with_ages(_21=16)], FIVES)
    change = marginals.verify(first, second).checks[-1]
    assert change.worst == CellDifference({"age": "20-29", "sex": "f"}, {"age": 0, "sex": 0}, 80, 88)
    assert change.verdict is Verdict.FAILS
    assert marginals.verify(first, second, claims=["difference=8"]).checks[-1].holds


def test_overlapping_bands_are_compared_where_they_hang_together_and_are_undecided_else(tmp_path: Path) -> None:
    first = ages(tmp_path / "first", EARLIER, TENS)
    second = ages(tmp_path / "second", [*EARLIER, *with_ages(_20=40)], FIFTEENS)
    change = marginals.verify(first, second).checks[-1]
    assert change.worst == CellDifference({"sex": "f"}, {"sex": 0}, 140, 160)
    assert change.verdict is Verdict.UNDECIDED
    assert "values of 'age' in one release overlap with values in the other" in change.note
    assert marginals.verify(first, second, claims=["difference=21"]).checks[-1].verdict is Verdict.FAILS


def test_bands_overlap_only_where_somebody_is(tmp_path: Path) -> None:
    """Nobody was 35 or older before, but only a release with a band for these tells that."""
    young = with_ages(_20=40, _24=40, _25=40, _30=60)
    first = ages(tmp_path / "first", young, FIVES)
    bands = {"20-24": range(20, 25), "25-34": range(25, 35), "35-39": range(35, 40)}
    second = ages(tmp_path / "second", [*young, *with_ages(_26=4, _36=60)], bands)
    change = marginals.verify(first, second).checks[-1]
    assert change.verdict is Verdict.UNDECIDED
    named = ages(tmp_path / "named", young, {**FIVES, "30-34": range(30, 35)} | {"30 and over": range(35, 40)})
    change = marginals.verify(named, second).checks[-1]
    assert change.worst == CellDifference({"age": "25-34", "sex": "f"}, {"age": 0, "sex": 0}, 50, 52)


def test_a_value_that_is_new_had_no_rows(tmp_path: Path) -> None:
    more = pd.concat([BEFORE, pd.DataFrame([("baker", "Ulm", "flu")] * 12, columns=list(BEFORE))])
    gone = more[more["job"] != "clerk"]
    first = bundle(tmp_path / "first", BEFORE, [JOBS_BY_TOWN])
    second = bundle(tmp_path / "second", more, [JOBS_BY_TOWN])
    assert marginals.verify(first, second).ok
    few = bundle(tmp_path / "few", more.iloc[:-3], [JOBS_BY_TOWN], [KLink(2)])
    assert marginals.verify(first, few).checks[-1].worst == CellDifference(
        {"job": "baker", "town": "Ulm"}, {"job": 0, "town": 0}, 0, 9
    )
    third = bundle(tmp_path / "third", gone, [JOBS_BY_TOWN])
    change = marginals.verify(first, third).checks[-1]
    assert change.verdict is Verdict.UNDECIDED, "clerks may be called bakers now"
    assert "labels do not tell how the values of 'job'" in change.note


def test_nobody_of_a_value_was_there_so_the_others_are_compared(tmp_path: Path) -> None:
    """Twelve bakers are new, and all jobs together grew by ten: so two of the others left."""
    more = pd.concat([BEFORE.iloc[2:], pd.DataFrame([("baker", "Ulm", "flu")] * 12, columns=list(BEFORE))])
    first = bundle(tmp_path / "first", BEFORE, [{"job": 0}, {"town": 0}])
    second = bundle(tmp_path / "second", more, [{"job": 0, "town": 0}])
    change = marginals.verify(first, second).checks[-1]
    assert isinstance(change.worst, CellDifference)
    assert change.worst.difference == -2
    assert change.verdict is Verdict.FAILS


def test_rules_are_answered_for_each_table(tmp_path: Path) -> None:
    first = bundle(tmp_path / "first", BEFORE, [JOBS_BY_TOWN])
    second = bundle(tmp_path / "second", leaving(BEFORE, 10, job="cook", town="Ulm"), [JOBS_BY_TOWN])
    result = CliRunner().invoke(main, ["verify", str(first), str(second), "--rule", "cms-11"])
    for folder in (first, second):
        assert f"Rule cms-11 on {folder}, all that was checked holds: " in result.output
    assert [rule.as_json()["release"] for rule in marginals.verify(first, second, rules=["cms-11"]).rules] == [
        str(first),
        str(second),
    ]


def test_the_marginals_of_one_table_are_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [bundle(tmp_path / str(n), BEFORE, [margin]) for n, margin in enumerate((JOBS_BY_TOWN, ILLNESS_BY_TOWN))]
    unions = []

    def counted(bundles: Sequence[tuple[str, Content]]) -> Content:
        unions.append(len(bundles))
        return union(bundles)

    monkeypatch.setattr(together, "union", counted)
    assert marginals.verify(*folders).ok
    assert unions == [2]


def test_a_damaged_file_is_still_named(tmp_path: Path) -> None:
    first = bundle(tmp_path / "first", BEFORE, [JOBS_BY_TOWN])
    second = bundle(tmp_path / "second", BEFORE.iloc[3:], [JOBS_BY_TOWN])
    table = next((second / "marginals").glob("*.csv"))
    table.write_text(table.read_text().replace("Jena", "Ulm", 1))
    (integrity,) = marginals.verify(first, second).checks
    assert integrity.worst.as_json()["file"].startswith("marginals/")


@pytest.mark.data
def test_three_people_of_adult_are_named_with_little_work(tmp_path: Path, shared_data: Path) -> None:
    people = pd.read_csv(shared_data / "adult" / "adult.csv", dtype=str)[["sex", "race", "occupation"]]
    roles = {"sex": "quasi-identifier", "race": "quasi-identifier", "occupation": "sensitive"}
    gone = people[(people["sex"] == "Male") & (people["occupation"] == "Adm-clerical")].index[:1]
    others = people[(people["sex"] == "Female") & (people["occupation"] == "Sales")].index[:2]
    folders = []
    for name, rows in (("2025", people), ("2026", people.drop([*gone, *others]))):
        table = marginals.read_table(rows, roles)
        policy = marginals.Policy(k_link=6, base="none", diversity="none")
        marginals.publish(table, policy).write(tmp_path / name)
        folders.append(tmp_path / name)
    verification, calls = count_calls(lambda: marginals.verify(*folders))
    assert calls < 100_000
    change = verification.checks[-1]
    assert change.verdict is Verdict.FAILS
    assert isinstance(change.worst, CellDifference)
    assert abs(change.worst.difference) in (1, 2)

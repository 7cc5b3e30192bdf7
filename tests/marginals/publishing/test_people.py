"""A release of people: no published class has fewer than k of them, which its files alone prove to anybody."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import CriterionError, Verdict
from marginals import (
    Attribute,
    Policy,
    Release,
    Table,
    anonymize,
    attack,
    open_release,
    publish,
    read_rows,
    read_table,
    verify,
)
from marginals.errors import NothingPublishableError
from marginals.recoding import assess
from written_bundles import change_package

ROLES = {
    "age": Attribute("quasi-identifier", intervals=[10, 20]),
    "town": Attribute("quasi-identifier"),
    "cause": Attribute("sensitive"),
}
UNITS: list[dict[str, Any]] = [
    {"one_row": "first"}, {"one_row": "last"}, {"one_row": "random"}, {"rows_per_person": 2}, {"rows_per_person": 3},
]  # fmt: skip


def visits(seed: int, people: int = 60, most: int = 7) -> pd.DataFrame:
    """Visits of people at ages and in towns that are theirs, mostly; few come often."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    rng.shuffle(who)
    age, town = rng.integers(20, 60, people), rng.integers(0, 3, people)
    moved = rng.random(len(who)) < 0.1
    return pd.DataFrame(
        {
            "id": who,
            "age": age[who],
            "town": np.array(["Ost", "West", "Nord"])[np.where(moved, rng.integers(0, 3, len(who)), town[who])],
            "cause": rng.choice(["flu", "gout", "cough", "none", "fall", "burn"], len(who)),
        }
    )


def ids_of_classes(release: Release, table: Table, rows: pd.DataFrame) -> dict[tuple[str, ...], int]:
    """For each class of each published table how many ids are in it, row by row."""
    counted: dict[tuple[str, ...], int] = {}
    for marginal in release.published.collection.tables:
        labels: dict[str, pd.Series] = {}
        for attribute, level in marginal.margin.items():
            if attribute in release.published.sensitive:
                continue
            own = release.domain.hierarchy(attribute).labels[level]
            original = table.domain.hierarchy(attribute)
            fitting = next(lv for lv in range(original.height + 1) if set(own) <= set(original.labels[lv]))
            label_of = {
                base: original.labels[fitting][int(code)]
                for base, code in zip(original.labels[0], original.lift(0, fitting))
            }
            labels[attribute] = rows[attribute].astype(str).map(label_of)
        if labels:
            classes = pd.DataFrame(labels).assign(id=rows["id"]).groupby(list(labels))["id"].nunique()
            counted |= {(*labels, *map(str, np.atleast_1d(cell))): n for cell, n in zip(classes.index, classes)}
    return counted


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(UNITS), st.integers(2, 4))
def test_no_published_class_has_fewer_than_k_ids(seed: int, unit: Mapping[str, Any], k: int) -> None:
    frame = visits(seed)
    table = read_table(frame, ROLES, person="id", **unit)
    try:
        release = publish(table, Policy(k_link=k, k_combinatorial=k, diversity="distinct:2", base="none")).release
    except NothingPublishableError:
        return
    rows = read_rows(frame, ROLES, person="id", **unit)
    counted = ids_of_classes(release, table, rows.frame)
    assert min(counted.values(), default=k) >= k
    assert rows.frame["id"].value_counts().max() <= unit.get("rows_per_person", 1)


def released(folder: Path, rows_per_person: Any, **policy: Any) -> Path:
    unit = {"person": "id"} if isinstance(rows_per_person, int) else {}
    table = read_table(visits(3, people=400), ROLES, rows_per_person=rows_per_person, **unit)
    publish(table, Policy(**{"k_link": 5, "base": "none", "diversity": "none"} | policy)).write(folder / "release")
    return folder / "release"


@pytest.mark.parametrize("rows_per_person", [1, 3, "any"])
def test_a_bundle_says_how_many_rows_a_person_has_and_anybody_checks_people_from_its_files(
    rows_per_person: Any, tmp_path: Path
) -> None:
    folder = released(tmp_path, rows_per_person, diversity="distinct:2")
    assert json.loads((folder / "datapackage.json").read_text())["release"]["rows_per_person"] == rows_per_person
    release, verification = open_release(folder), verify(folder)
    assert release.published.rows_per_person == rows_per_person
    assert verification.ok
    demanded = {} if rows_per_person == "any" else {"rows_per_person": rows_per_person}
    assert verification.checks[1].parameters == {"k": 5, **demanded}
    assert bool(verification.warnings) is (rows_per_person == "any")
    smallest = verification.checks[1].worst_class.count
    assert smallest is not None
    rows = rows_per_person if isinstance(rows_per_person, int) else 1
    assert verify(folder, claims=[f"k-link={smallest // rows}"]).ok
    assert not verify(folder, claims=[f"k-link={smallest // rows + 1}"]).ok


def with_release(folder: Path, rows_per_person: int) -> Path:
    """The bundle with another number, and without the seal and the report that would tell."""
    (folder / "report.html").unlink(missing_ok=True)
    change_package(folder, lambda package: package["release"].pop("report", None))
    return change_package(folder, lambda package: package["release"].update(rows_per_person=rows_per_person))


def test_the_same_tables_fail_where_a_person_can_have_more_rows(tmp_path: Path) -> None:
    folder = released(tmp_path, 1, k_combinatorial=5, diversity="recursive:3,2")
    assert verify(folder).ok
    verdicts = {
        finding.criterion: finding.verdict for finding in verify(with_release(folder, rows_per_person=50)).checks
    }
    assert verdicts.pop("integrity") is Verdict.HOLDS
    assert set(verdicts.values()) == {Verdict.FAILS}
    assert not verify(with_release(folder, rows_per_person=50), claims=["k-link=5"]).ok


def test_what_cannot_be_decided_of_people_is_undecided_and_never_judged_on_rows(tmp_path: Path) -> None:
    folder = released(tmp_path, 3)
    finding = verify(folder, claims=["diversity=entropy:1.1"]).checks[1]
    assert finding.verdict is Verdict.UNDECIDED
    assert "3 rows" in finding.note
    assert verify(with_release(folder, rows_per_person=1), claims=["diversity=entropy:1.1"]).ok


def test_releases_that_count_people_otherwise_are_not_judged_together(tmp_path: Path) -> None:
    folder = released(tmp_path, 1)
    other = tmp_path / "other"
    open_release(folder).write(other)
    assert verify(folder, other).ok
    together = verify(folder, with_release(other, rows_per_person=2))
    assert not together.ok
    assert any(check.criterion == "composition" and "rows_per_person" in check.note for check in together.checks)
    assert "rows_per_person" in attack(folder, other).note


def test_tables_by_themselves_are_judged_of_people_too() -> None:
    frame = visits(3, people=400)
    table = read_table(frame, ROLES, person="id", rows_per_person=3)
    policy = Policy(k_link=5, diversity="distinct:2")
    findings = assess(table, policy).checks
    assert findings[0].parameters == {"k": 5, "rows_per_person": 3}
    levels = anonymize(table, policy).minimal[0].levels
    assert assess(table, policy, levels).ok
    smallest = table.counts.rolled_up({**levels}).counts.min()
    assert smallest >= 15


@pytest.mark.parametrize("diversity", ["entropy:2", "functional:1/2,3"])
@pytest.mark.parametrize("use", [publish, assess, anonymize])
def test_a_diversity_that_cannot_be_decided_of_people_is_refused(use: Any, diversity: str) -> None:
    table = read_table(visits(3), ROLES, person="id", rows_per_person=2)
    with pytest.raises(CriterionError, match="2 rows each"):
        use(table, Policy(k_link=2, diversity=diversity))

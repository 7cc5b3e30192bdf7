"""Names of groups in what leaves the house: releases, series of them, anonymized tables."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import MinCell, Verdict
from command_line import run
from marginals import Attribute, Policy
from marginals.errors import NothingPublishableError
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from small_release import write_release
from written_bundles import change_descriptor, release_of

MISSING = "missing"

T = 11
RULE = Policy(rules="cms-11", base="none")


def people(seed: int = 0, **columns: dict[str, int]) -> pd.DataFrame:
    """People with so many rows of each value of each column, in any order."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {name: rng.permutation(np.repeat(list(own), list(own.values()))) for name, own in columns.items()}
    )


def one_way(release: marginals.Release, name: str) -> dict[str, int]:
    """The counts of the finest published values, by their labels."""
    collection = release.published.collection
    table = collection.cube.table(collection.domain.mask({name: collection.finest_level(name)}))
    return {labels[0]: count for labels, count in table.cells()}


def named_in(label: str, values: set[str]) -> set[str]:
    return {part for part in re.split(", | and | or ", label) if part in values}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"20": 30, "21": 30, "22": 11, "": 1}, {"20": 30, "21 and over or missing": 42}),
        ({"20": 30, "21": 30, "22": 11, "": 14}, {"20": 30, "21": 30, "22": 11, "missing": 14}),
        ({"clerk": 60, "smith": 50, "cook": 11, "": 1}, {"clerk": 60, "other x": 62}),
    ],
)
def test_few_missing_values_cannot_be_counted(values: dict[str, int], found: dict[str, int]) -> None:
    """The 22-year-olds or missing of 12 rows would be 11 of 22 years and one without an age."""
    rows = sum(values.values())
    frame = people(x=values, sex={"F": rows // 2, "M": rows - rows // 2})
    roles = {"x": Attribute("quasi-identifier", ladder="fitted", missing="as a value"), "sex": "quasi-identifier"}
    release = marginals.publish(marginals.read_table(frame, roles, k=T), RULE).release
    assert one_way(release, "x") == found


JOBS = ["clerk", "cook", "smith", "nun", "poet", "miner", "actor"]
TREE = Hierarchy.from_rows([(job, "north" if job < "m" else "south", "*") for job in JOBS])
KINDS = {
    "jobs": (Attribute("quasi-identifier", ladder="fitted"), JOBS),
    "tree": (Attribute("quasi-identifier", hierarchy=TREE, ladder="fitted"), JOBS),
    "ages": (Attribute("quasi-identifier", ladder="fitted"), list(map(str, range(20, 30)))),
    "weights": (Attribute("quasi-identifier", ladder="fitted"), ["60.1", "61.2", "61.24", "63.5", "70.31", "80"]),
    "prefixes": (Attribute("quasi-identifier", prefixes=[1], ladder="fitted"), ["11", "12", "13", "21", "22", "31"]),
}


@pytest.mark.parametrize("seed", range(12))
def test_labels_of_random_releases_name_all_members_or_none(seed: int) -> None:
    """Read as a person would: and of what is named because it occurs, each could have as many rows as are demanded."""
    rng = np.random.default_rng(seed)
    chosen = {kind: KINDS[kind] for kind in rng.choice(sorted(KINDS), 3, replace=False)}
    least, rows = int(rng.integers(3, 7)), int(rng.integers(60, 200))
    frame, roles = {}, {}
    for kind, (attribute, values) in chosen.items():
        counts_missing = rng.random() < 0.5
        pool = [*values, *([""] if counts_missing else [])]
        frame[kind] = rng.choice(pool, rows, p=rng.dirichlet(np.full(len(pool), 0.4)))
        roles[kind] = Attribute(
            attribute.role,
            attribute.hierarchy,
            prefixes=attribute.prefixes,
            ladder="fitted",
            missing="as a value" if counts_missing else "drop",
        )
    table = marginals.read_table(pd.DataFrame(frame), roles, k=least)
    try:
        release = marginals.publish(table, Policy(min_cell=least, base="none")).release
    except NothingPublishableError:
        return
    assert release.verify().ok
    for kind, (_, values) in chosen.items():
        if not release.published.collection.shows(kind):
            continue
        known = {*values, MISSING}
        meanings: dict[str, set[str]] = {}
        published = release.domain.hierarchy(kind)
        counts = one_way(release, kind)
        by_rows = {row[0]: row for row in published.rows()}
        for row in published.rows():
            for label in row[:-1]:
                meanings.setdefault(label, set()).add(row[0])
        assert set(counts) == set(published.labels[0])
        of_value = pd.Series(frame[kind]).replace("", MISSING).value_counts()
        for label, count in counts.items():
            named = named_in(label, known)
            if kind in ("jobs", "prefixes") and named and "*" not in label:
                assert of_value[sorted(named)].sum() == count, "all are named, or none"
                assert of_value[sorted(named)].min() >= least
        for label, below in meanings.items():
            if len(below) > 1 and "other" in label:
                assert all(
                    part in label for each in below for part in re.split(", | and | or ", each) if "other" in part
                )
        assert all(
            len({row[level] for row in by_rows.values()}) == published.size(level) for level in range(published.height)
        )


def test_of_a_public_hierarchy_no_fitted_level_is_told_that_no_marginal_shows() -> None:
    tree = Attribute("quasi-identifier", hierarchy=TREE, ladder="fitted", labels="public")
    frame = people(job=dict(zip(JOBS, [40, 30, 3, 4, 20, 2, 9])), sex={"F": 54, "M": 54})
    table = marginals.read_table(frame, {"job": tree, "sex": "quasi-identifier"}, k=4)
    height = table.domain.hierarchy("job").height
    policy = Policy(k_link=4, base="none", must_publish=[{"job": height - 1}], must_not_publish=[{"job": height - 2}])
    release = marginals.publish(table, policy).release
    assert height > 3
    published = release.domain.hierarchy("job")
    assert published.height == 2
    assert set(published.labels[0]) == {*JOBS}
    assert release.verify().ok


def test_names_stay_in_a_series_though_the_counts_would_give_others(tmp_path: Path) -> None:
    """Named now that they are more, the three would be known to have been few before."""
    roles = {"job": Attribute("quasi-identifier", ladder="fitted"), "sex": "quasi-identifier"}
    policy = Policy(min_cell=T, base="none", max_waiting=1.0)
    first = people(job={"clerk": 60, "nun": 4, "poet": 4, "actor": 4}, sex={"F": 36, "M": 36})
    more = people(job={"clerk": 40, "nun": 20, "poet": 20, "actor": 20}, sex={"F": 50, "M": 50})
    names = []
    for number, frame in enumerate((first, pd.concat([first, more]))):
        publication = marginals.publish(marginals.read_table(frame, roles, k=T), policy, ledger=tmp_path / "ledger")
        publication.write(tmp_path / str(number))
        names.append(set(one_way(publication.release, "job")))
        assert marginals.verify(tmp_path / str(number)).ok
    assert names == [{"clerk", "other job"}] * 2
    alone = marginals.publish(marginals.read_table(pd.concat([first, more]), roles, k=T), policy).release
    assert "nun" in one_way(alone, "job")


def test_an_anonymized_table_has_the_names_of_the_level_that_it_shows(tmp_path: Path) -> None:
    rows = dict(zip(JOBS, [40, 30, 4, 3, 6, 2, 9]))
    for k in (4, 12, 40):
        frame = people(job=rows, sex={"F": 47, "M": 47})
        roles = {"job": 'quasi-identifier\nladder = "fitted"', "sex": "quasi-identifier"}
        config = write_release(tmp_path, frame, roles, f"[privacy]\nk_link = {k}\n")
        run("anonymize", config, "--out", tmp_path / f"{k}.csv", status=0)
        written = pd.read_csv(tmp_path / f"{k}.csv")
        counts = written.groupby("job")["count"].sum().to_dict()
        for label, count in counts.items():
            named = named_in(label, {*JOBS})
            assert not named or frame["job"].isin(named).sum() == count
            assert len(named) < 2 or count - len(named) + 1 >= k
            assert "and" not in label, "nothing below this level is shown"


def bundle(folder: Path, labels: dict[str, int], occurring: object = None) -> Path:
    """A bundle of one attribute with these labels and counts. occurring: what it says of labels, if anything."""
    domain = Domain.of({"job": Hierarchy.flat(labels)})
    table = ContingencyTable.from_cells(domain, {"job": 0}, {"job": np.arange(len(labels))}, list(labels.values()))
    release_of(Collection.of(DataCube([table]), [table.mask]), claims=[MinCell(T)]).write(folder)
    if occurring is not None:
        change_descriptor(folder, lambda release: release.update(occurring=occurring))
    return folder


@pytest.mark.parametrize(
    ("label", "occurring", "verdict", "is_said"),
    [
        ("cook and others", {"job": {"cook and others": 2}}, Verdict.HOLDS, True),
        ("cook and others", {"job": {"cook and others": 3}}, Verdict.FAILS, True),
        ("cook and others", {"job": {"cook and others": 0}}, Verdict.HOLDS, True),
        ("cook, nun", {}, Verdict.HOLDS, True),
        ("cook and others", {}, Verdict.HOLDS, True),
        ("22 or missing", {}, Verdict.HOLDS, True),
        ("other job", {"job": {"other job": 0}}, Verdict.HOLDS, True),
        ("cook", {}, Verdict.HOLDS, False),
    ],
)
def test_what_a_bundle_says_of_its_labels_is_judged_and_said(
    tmp_path: Path, label: str, occurring: object, verdict: Verdict, is_said: bool
) -> None:
    found = marginals.verify(bundle(tmp_path, {"clerk": 30, label: 12}, occurring)).checks[1]
    assert (found.verdict, "'job'" in found.note) == (verdict, is_said)


@pytest.mark.parametrize(
    ("label", "count", "verdict"),
    [
        ("cook, waiter and nurse", T, Verdict.UNDECIDED),
        ("cook, waiter and nurse", T + 2, Verdict.HOLDS),
        ("22 or missing", T, Verdict.UNDECIDED),
        ("other job", T, Verdict.HOLDS),
    ],
)
def test_a_bundle_that_does_not_say_which_values_occur_may_be_undecided(
    tmp_path: Path, label: str, count: int, verdict: Verdict
) -> None:
    """Three cooks, waiters and nurses are one each if all occur, and only the bundle could say that they need not."""
    silent = bundle(tmp_path / "silent", {"clerk": 30, label: count})
    for folders in ([silent], [silent, silent]):
        found = marginals.verify(*folders).checks[1]
        assert (found.verdict, found.parameters) == (verdict, {"k": T})
        assert ("release.occurring" in found.note) is (verdict is Verdict.UNDECIDED)
    assert marginals.verify(bundle(tmp_path / "stated", {"clerk": 30, label: count}, {})).checks[1].holds


def test_labels_of_a_release_are_read_as_they_were_written(tmp_path: Path) -> None:
    """T is 11: were nuns named as cooks are, the rest of their group would be one juggler."""
    frame = people(job={"clerk": 60, "cook": 12, "nun": 11, "juggler": 1}, sex={"F": 42, "M": 42})
    table = marginals.read_table(
        frame, {"job": Attribute("quasi-identifier", ladder="fitted"), "sex": "quasi-identifier"}, k=T
    )
    written = marginals.publish(table, RULE).write(tmp_path / "out").release
    assert one_way(written, "job") == {"clerk": 60, "cook": 12, "other job": 12}
    told = marginals.open_release(tmp_path / "out").published.labels
    assert told == written.published.labels
    assert {name: {*labels} for name, labels in told.items()} == {"job": {"other job"}}


def test_a_bundle_that_lists_values_below_a_count_is_said_to_rest_on_their_having_no_rows(tmp_path: Path) -> None:
    """Eleven ages from 80 on, eleven people: whoever knows that all ages occur knows that each has one."""
    ages = Hierarchy.from_rows([(str(age), "60-79" if age < 80 else "80-90", "*") for age in range(60, 91)])
    domain = Domain.of({"age": ages})
    for count, is_said in ((T, True), (2 * T, False)):
        table = ContingencyTable.from_cells(domain, {"age": 1}, {"age": np.arange(2)}, [90, count])
        release_of(Collection.of(DataCube([table]), [table.mask]), claims=[MinCell(T)]).write(tmp_path / f"{count}")
        finding = marginals.verify(tmp_path / f"{count}").checks[1]
        assert finding.holds
        assert ("'age'" in finding.note) == is_said

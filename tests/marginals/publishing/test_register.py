"""Releases for readers who know the nonsensitive values of everybody: published, verified, attested, attacked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import marginals
from checks import ATTESTED, KLink, MaxentDiversity, Register, Verdict, parse_diversity
from command_line import run
from marginals import InputError, Policy, Table
from marginals.errors import NothingPublishableError
from models import Collection
from small_release import contents
from written_bundles import release_of

VERIFIED = "verified"

EVEN = {("a1", "b1"): 55, ("a1", "b2"): 55, ("a2", "b1"): 55, ("a2", "b2"): 55}
SKEWED = {("a1", "b1"): 60, ("a1", "b2"): 50, ("a2", "b1"): 50, ("a2", "b2"): 60}
BOTH = [{"A": 0, "S": 0}, {"B": 0, "S": 0}]
APART: dict[str, Any] = {"base": "none", "must_publish": BOTH, "must_not_publish": [{"A": 0, "B": 0}]}
ROLES = {"A": "quasi-identifier", "B": "quasi-identifier", "S": "sensitive"}


def table_of(rows: dict[tuple[str, str, str], int]) -> Table:
    frame = pd.DataFrame([key for key, count in rows.items() for _ in range(count)], columns=["A", "B", "S"])
    return marginals.read_table(frame, ROLES)


def evenly(sizes: dict[tuple[str, str], int]) -> Table:
    """Half of each class has each of two values, but for two of 55 people."""
    rows = {(a, b, s): (count + (s == "s1")) // 2 for (a, b), count in sizes.items() for s in ("s1", "s2")}
    swapped = {("a1", "b1", "s1"): -1, ("a1", "b1", "s2"): 1, ("a2", "b2", "s1"): -1, ("a2", "b2", "s2"): 1}
    odd = sizes is EVEN
    return table_of({key: count + (swapped.get(key, 0) if odd else 0) for key, count in rows.items()})


def certain() -> Table:
    """The table of design 4.18: its two tables with S make S of 22 people certain to a reader with a register.

    No two columns have the same counts, by which they could be one.
    """
    of_each = {("a1", "b1"): (51, 50), ("a1", "b2"): (10, 0), ("a2", "b1"): (0, 12), ("a2", "b2"): (60, 42)}
    return table_of({(a, b, s): n for (a, b), counts in of_each.items() for s, n in zip(("s1", "s2"), counts)})


def released(
    table: Table, margins: Sequence[dict[str, int]], basis: str = VERIFIED, text: str = "simple:3/2"
) -> marginals.Release:
    """A release of some margins, with a diversity that is also claimed of readers with a register."""
    collection = Collection.of(table.cube, map(table.domain.mask, margins))
    diversity = MaxentDiversity(parse_diversity(text), "S")
    return release_of(
        collection, table.roles, (KLink(5), diversity, Register(diversity.diversity, diversity.sensitive, basis=basis))
    )


def test_a_demand_for_readers_with_a_register_refuses_what_makes_somebody_certain() -> None:
    plain = Policy(k_link=10, diversity="recursive:2,2", **APART)
    assert len(marginals.publish(certain(), plain).release.published.everything.margins) == 2
    with pytest.raises(NothingPublishableError, match="register fails for the margins together"):
        marginals.publish(certain(), Policy(**{**vars(plain), "register": True}))
    free = Policy(k_link=10, diversity="recursive:2,2", base="none", must_not_publish=[{"A": 0, "B": 0}], register=True)
    release = marginals.publish(certain(), free).release
    assert sum("S" in margin for margin in release.published.everything.margins) == 1
    finding = release.verify().checks[-1]
    assert finding.holds
    assert finding.as_json()["basis"] == VERIFIED


def test_an_attack_says_of_whom_a_register_makes_the_value_certain(tmp_path: Path) -> None:
    plain = Policy(k_link=10, diversity="recursive:2,2", **APART)
    folder = marginals.publish(certain(), plain).write(tmp_path / "out").release.path
    assert folder is not None
    (unknown,) = marginals.attack(folder).register
    assert (unknown.basis, unknown.certain) == ("not examined", None)
    (known,) = marginals.attack(folder, truth=certain()).register
    assert (known.basis, known.certain, known.largest_share, known.people) == ("table", 22, 1.0, 225)


def test_one_table_tells_a_register_what_its_classes_say(tmp_path: Path) -> None:
    release = released(certain(), [{"A": 0, "S": 0}]).write(tmp_path / "one")
    (readers,) = marginals.attack(tmp_path / "one").register
    assert (readers.basis, readers.certain) == ("files", 0)
    assert readers.largest_share == pytest.approx(61 / 111)
    assert release.verify().checks[-1].holds


def test_published_joint_classes_let_anybody_judge() -> None:
    joint = {"A": 0, "B": 0}
    assert released(evenly(EVEN), [*BOTH, joint]).verify().checks[-1].verdict is Verdict.HOLDS
    found = released(certain(), [*BOTH, joint]).verify().checks[-1]
    assert found.verdict is Verdict.FAILS
    assert found.worst_class.cell in ({"A": "a1", "B": "b2"}, {"A": "a2", "B": "b1"})


def test_what_only_the_table_shows_is_attested_and_never_holds(tmp_path: Path) -> None:
    policy = Policy(k_link=10, diversity="simple:3/2", register=True, **APART)
    marginals.publish(evenly(EVEN), policy).write(tmp_path / "even")
    stated = json.loads((tmp_path / "even" / "datapackage.json").read_text())["release"]["privacy"]
    assert stated[-1] == {"criterion": "register", "diversity": "simple:1.5", "sensitive": "S", "basis": "attested"}
    verification = marginals.verify(tmp_path / "even")
    finding = verification.checks[-1]
    assert finding.verdict is Verdict.ATTESTED
    assert not finding.holds
    assert finding.worst is None
    assert verification.ok
    assert verification.attested == (finding,)
    assert verification.warnings
    told = run("verify", tmp_path / "even", "--json")
    assert (told.exit_code, json.loads(told.stdout)["checks"][-1]["verdict"]) == (0, "attested")
    asked = run("verify", tmp_path / "even", "--check", "register=simple:3/2", "--json", status=1)
    assert json.loads(asked.output)["checks"][-1]["verdict"] == "undecided"
    assert "anybody can check 2 of them, the publisher vouches for 1" in (tmp_path / "even" / "report.html").read_text()


def test_a_bundle_with_an_attestation_is_a_function_of_its_marginals(tmp_path: Path) -> None:
    policy = Policy(k_link=10, diversity="simple:3/2", register=True, **APART)
    tables = [
        evenly(SKEWED),
        table_of(
            {(a, b, s): 30 if a[1] != b[1] else 25 for a in ("a1", "a2") for b in ("b1", "b2") for s in ("s1", "s2")}
        ),
    ]
    folders = []
    for number, table in enumerate(tables):
        marginals.publish(table, policy).write(tmp_path / str(number))
        folders.append(contents(tmp_path / str(number)))
    assert folders[0] == folders[1]


def test_a_class_that_fails_refutes_an_attestation() -> None:
    attested = released(certain(), BOTH, ATTESTED, "simple:2")
    assert attested.verify().checks[-1].verdict is Verdict.FAILS
    assert released(certain(), BOTH, ATTESTED).verify().checks[-1].verdict is Verdict.ATTESTED
    assert released(certain(), BOTH).verify().checks[-1].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("basis", [VERIFIED, ATTESTED])
def test_two_bundles_together_are_judged_by_all_their_tables(basis: str, tmp_path: Path) -> None:
    """Each table with S by itself is safe; the two are the case of design 4.18, whoever attests what of one of them."""
    released(certain(), BOTH[:1], basis).write(tmp_path / "a")
    released(certain(), BOTH[1:], basis).write(tmp_path / "b")
    released(certain(), [{"A": 0, "B": 0}]).write(tmp_path / "c")
    for each in ("a", "b"):
        assert marginals.verify(tmp_path / each).ok
    (found,) = [own for own in marginals.verify(tmp_path / "a", tmp_path / "b").checks if own.criterion == "register"]
    assert found.verdict is Verdict.UNDECIDED
    found = [own for own in marginals.verify(tmp_path / "a", tmp_path / "c").checks if own.criterion == "register"]
    assert {own.verdict for own in found} == {Verdict.HOLDS}
    (found,) = [own for own in marginals.verify(*map(tmp_path.joinpath, "abc")).checks if own.criterion == "register"]
    assert found.verdict is Verdict.FAILS


def test_an_attestation_is_of_the_tables_of_its_bundle_alone(tmp_path: Path) -> None:
    released(evenly(EVEN), BOTH, ATTESTED).write(tmp_path / "attested")
    released(evenly(EVEN), BOTH[:1]).write(tmp_path / "part")
    verification = marginals.verify(tmp_path / "attested", tmp_path / "part")
    assert {own.verdict for own in verification.checks if own.criterion == "register"} == {Verdict.UNDECIDED}
    assert not verification.ok


def test_releases_of_a_table_that_changed_show_somebody_more_than_once(tmp_path: Path) -> None:
    more = table_of({(a, b, s): 40 for a in ("a1", "a2") for b in ("b1", "b2") for s in ("s1", "s2")})
    released(certain(), BOTH[:1]).write(tmp_path / "before")
    released(more, BOTH[:1]).write(tmp_path / "after")
    found = [
        own for own in marginals.verify(tmp_path / "before", tmp_path / "after").checks if own.criterion == "register"
    ]
    assert [own.verdict for own in found] == [Verdict.UNDECIDED] * 2


def test_readers_with_a_register_are_refused_where_they_see_somebody_twice(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": ["a"] * 20, "S": ["s", "t"] * 10})
    policy = Policy(k_link=2, diversity="distinct:2", register=True)
    for rows in (2, "any"):
        table = marginals.read_table(frame, {"A": "quasi-identifier", "S": "sensitive"}, rows_per_person=rows)
        with pytest.raises(InputError, match="several rows"):
            marginals.publish(table, policy)
    table = marginals.read_table(frame, {"A": "quasi-identifier", "S": "sensitive"})
    with pytest.raises(InputError, match="beside a ledger"):
        marginals.publish(table, policy, ledger=tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


def test_a_value_that_is_missing_makes_no_class_diverse() -> None:
    rows = {("a1", "b1", "flu"): 20, ("a1", "b1", "missing"): 20, ("a2", "b1", "flu"): 20, ("a2", "b1", "cold"): 20}
    release = released(table_of(rows), [{"A": 0, "S": 0}], text="distinct:2")
    assert [own.verdict for own in release.verify().checks[1:]] == [Verdict.FAILS, Verdict.FAILS]
    with pytest.raises(NothingPublishableError):
        marginals.publish(
            table_of(rows), Policy(k_link=5, diversity="distinct:2", base="none", must_publish=BOTH[:1], register=True)
        )

"""Verifying bundles: each is intact, their union is judged as readers see it who hold them all, by what a reader demands."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import (
    Claim,
    Finding,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    MinCell,
    Question,
    Register,
    Verdict,
    parse_claim,
    parse_diversity,
)
from command_line import run
from marginals import Attribute, InputError, Table
from marginals.bundle import content
from models import Domain, Hierarchy
from models.deadline import Deadline
from written_bundles import (
    DESCRIPTOR,
    SEAL,
    change_descriptor,
    change_package,
    first_of,
    put_file,
    report_of,
    write_margins,
)

HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED
ROLES = {"job": "quasi-identifier", "town": "quasi-identifier", "ill": "sensitive"}
CLAIMS = (KLink(3), KCombinatorial(3), MaxentDiversity(parse_diversity("entropy:1.5"), "ill"))
JOB_ILL, TOWN_ILL, JOB_TOWN = ({a: 0, b: 0} for a, b in (("job", "ill"), ("town", "ill"), ("job", "town")))

PEOPLE = {("a", "u", "flu"): 2, ("a", "v", "cold"): 2, ("b", "u", "cold"): 3, ("b", "v", "flu"): 3}
"""Rows of each job, town and illness: 4 and 6 of the jobs, 5 of each town, 5 of each illness."""

SMALL = marginals.read_table(
    pd.DataFrame([cell for cell, rows in PEOPLE.items() for _ in range(rows)], columns=list(ROLES)), ROLES
)
NAMES = ["one", "two", "three"]
every_place = pytest.mark.parametrize("place", range(3))


def people(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    latent = rng.integers(0, 3, rows)
    mixed = {
        name: np.where(rng.random(rows) < 0.5, latent % size, rng.integers(0, size, rows))
        for name, size in (("job", 3), ("town", 3), ("ill", 4))
    }
    return pd.DataFrame({name: [f"{name}{code}" for code in codes] for name, codes in mixed.items()})


def bundle(folder: Path, *margins: dict[str, int], table: Table | None = None) -> Path:
    """Some margins of 400 people, or of another table, with three claims."""
    return write_margins(table or marginals.read_table(people(), ROLES), margins, folder, CLAIMS)


def small_bundle(folder: Path, attribute: str, *claims: Claim) -> Path:
    return write_margins(SMALL, [{attribute: 0}], folder, claims)


def verified(*folders: Path) -> Any:
    """The verification by Python, with which the command agrees in its exit status and its first line."""
    verification = marginals.verify(*folders)
    result = run("verify", *folders)
    assert result.exit_code == (0 if verification.ok else 1)
    assert result.output.split()[:2] == [verification.checks[0].verdict.value, "integrity"]
    return verification


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three bundles of one table without a flaw, each with a claim of its own."""
    return [small_bundle(tmp_path / name, attribute, KLink(k)) for name, attribute, k in zip(NAMES, ROLES, (1, 2, 3))]


def test_the_claims_of_all_bundles_are_checked_together(tmp_path: Path) -> None:
    """Each town has 5 rows, as is claimed of the towns; a job has 4, as another bundle shows."""
    jobs, towns = small_bundle(tmp_path / "jobs", "job", KLink(3)), small_bundle(tmp_path / "towns", "town", KLink(5))
    assert verified(jobs).ok
    assert verified(towns).ok
    for folders in ((jobs, towns), (towns, jobs)):
        found = {check.parameters["k"]: check for check in verified(*folders).checks[1:]}
        assert {k: check.verdict for k, check in found.items()} == {3: HOLDS, 5: FAILS}
        assert (found[5].worst_class.cell, found[5].worst_class.count) == ({"job": "a"}, 4)


def test_a_claim_that_several_bundles_make_is_checked_once(tmp_path: Path) -> None:
    folders = [small_bundle(tmp_path / a, a, KLink(3), KLink(k)) for a, k in (("job", 1), ("town", 2), ("ill", 1))]
    assert [check.parameters["k"] for check in verified(*folders).checks[1:]] == [3, 1, 2]


def add_rows(folder: Path) -> None:
    (folder / "marginals" / "rows.csv").write_text("name,ill\nann,flu\n")


def change_report(folder: Path) -> None:
    page = folder / "report.html"
    page.write_bytes(page.read_bytes().replace(b"rows", b"ROWS"))


def change_seal(folder: Path) -> None:
    content = (folder / SEAL).read_text()
    (folder / SEAL).write_text(content.replace(content[0], "0" if content[0] != "0" else "1"))


@every_place
@pytest.mark.parametrize(
    ("damage", "file"), [(add_rows, "marginals/rows.csv"), (change_report, "report.html"), (change_seal, SEAL)]
)
def test_damage_is_named_in_whichever_bundle_it_is(
    three: list[Path], place: int, damage: Callable[[Path], None], file: str
) -> None:
    damage(three[place])
    (check,) = verified(*three).checks
    assert check.worst.file == file


@every_place
def test_a_missing_seal_or_claim_is_noted_in_whichever_bundle(three: list[Path], place: int) -> None:
    (three[place] / SEAL).unlink()
    unsealed = verified(*three)
    assert unsealed.ok
    assert "no seal" in unsealed.checks[0].note
    shutil.rmtree(three[place])
    small_bundle(three[place], "job")
    assert "nothing is claimed" not in verified(*three).checks[0].note
    for folder in three:
        shutil.rmtree(folder)
        small_bundle(folder, "job")
    assert "nothing is claimed" in verified(*three).checks[0].note
    assert "nothing is claimed" in verified(three[place]).checks[0].note
    assert not any("nothing is claimed" in c.note for c in marginals.verify(three[0], claims=["k-link=2"]).checks)


def test_two_bundles_whose_union_has_no_junction_tree_are_verified_together(tmp_path: Path) -> None:
    one, two = bundle(tmp_path / "one", JOB_TOWN, TOWN_ILL), bundle(tmp_path / "two", JOB_ILL)
    verification = verified(one, two)
    assert [c.criterion for c in verification.checks] == ["integrity", "k-link", "k-combinatorial", "maxent-diversity"]
    assert verification.ok
    assert verification.checks[2].algorithm == "integer programming"
    assert verification.checks[3].algorithm.startswith("iterative fitting")
    assert not marginals.verify(one, two, claims=["diversity=entropy:3.99"]).ok


def groups_of(width: int) -> Hierarchy:
    """1 to 5, by names of a release's own, in groups whose labels do not tell what is in them."""
    return Hierarchy.from_rows([(f"{n} of {width}", f"group {'abc'[n // width]}{width}", "*") for n in range(1, 6)])


def grouped(folder: Path, width: int, *margins: Mapping[str, int]) -> tuple[Path, Table]:
    """A release of 20 people by such groups."""
    frame = pd.DataFrame({"age": [f"{n} of {width}" for n in (1, 2, 3, 4)] * 5, "ill": ["a", "b"] * 10})
    attributes = {"age": Attribute("quasi-identifier", hierarchy=groups_of(width)), "ill": "sensitive"}
    table = marginals.read_table(frame, attributes)
    return write_margins(table, margins, folder / str(width), CLAIMS), table


def test_bundles_that_generalize_differently_are_intact_and_not_judged_together(tmp_path: Path) -> None:
    folders = [grouped(tmp_path, width, {"age": 1}, {"ill": 0})[0] for width in (2, 5)]
    verification = verified(*folders)
    assert not verification.ok
    integrity, composition, *own = verification.checks
    assert (integrity.criterion, integrity.verdict) == ("integrity", HOLDS)
    assert (composition.criterion, composition.verdict) == ("composition", UNDECIDED)
    assert all(said in composition.note for said in ("'age'", *map(str, folders)))
    assert [finding.parameters["release"] for finding in own] == [str(f) for f in folders for _ in range(3)]
    for folder in folders:
        alone = marginals.verify(folder).checks[1:]
        assert [f.verdict for f in alone] == [f.verdict for f in own if f.parameters["release"] == str(folder)]
    demanded = marginals.verify(*folders, claims=["k-link=2", "diversity=distinct:2"])
    assert [f.criterion for f in demanded.checks[2:]] == ["k-link", "maxent-diversity"] * 2


def test_attacks_on_bundles_that_generalize_differently_are_measured_on_each_alone(tmp_path: Path) -> None:
    (one, _), (two, table) = (grouped(tmp_path, width, {"age": 1, "ill": 0}) for width in (2, 5))
    attacks = marginals.attack(one, two)
    assert attacks.attacked == ()
    for folder in (one, two):
        assert marginals.plain(attacks.apart[str(folder)]) == marginals.plain(marginals.attack(folder))
    result = run("attack", one, two, "--json", status=1)
    assert list(json.loads(result.stdout)["apart"]) == [str(one), str(two)]
    with pytest.raises(InputError, match="one by one"):
        marginals.attack(one, two, truth=table)


def test_an_attack_on_several_that_is_stopped_names_each_that_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [grouped(tmp_path, width, {"age": 1}, {"ill": 0})[0] for width in (2, 5)]

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("marginals.attacks.certainties", stopped)
    told = run("attack", *folders, "--verbose", status=1).stdout
    assert "Not measured together:" in told
    assert f"{folders[1]}: not examined (time was over)." in " ".join(told.split())


def test_bundles_that_differ_in_what_is_sensitive_are_not_judged_together(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": ["0"] * 3 + ["1"] * 30, "b": ["u", "v", "w"] * 11, "a": ["0", "1", "1"] * 11})
    for name, shown, role in (("one", ["x", "b"], "sensitive"), ("two", ["x", "a"], "quasi-identifier")):
        table = marginals.read_table(frame[shown], {shown[0]: role, shown[1]: "quasi-identifier"})
        write_margins(table, [dict.fromkeys(shown, 0)], tmp_path / name, (KLink(10),))
    assert not marginals.verify(tmp_path / "two").ok
    together = marginals.verify(tmp_path / "one", tmp_path / "two")
    assert not together.ok
    composed = next(check for check in together.checks if check.criterion == "composition")
    assert composed.verdict is UNDECIDED
    assert "'x'" in composed.note
    judged = [(c.parameters["release"], c.verdict) for c in together.checks if c.criterion == "k-link"]
    assert judged == [(str(tmp_path / "one"), HOLDS), (str(tmp_path / "two"), FAILS)]


AGES = {"0-9": 12, "10-19": 18, "20-29": 30}
HALVES = dict(zip(AGES, ("young", "young", "old")))


def aged(folder: Path, name: str, labels: Mapping[str, str], role: str = "quasi-identifier") -> Path:
    """A bundle of 60 people in which the ages stand in a column of this name, under these labels."""
    rows = [labels.get(age, age) for age, count in AGES.items() for _ in range(count)]
    halves = [(labels.get(age, age), half, "*") for age, half in HALVES.items()]
    hierarchy = None if len({*rows}) == 2 else Hierarchy.from_rows(halves)
    table = marginals.read_table(pd.DataFrame({name: rows}), {name: Attribute(role, hierarchy=hierarchy)})
    return write_margins(table, [{name: 0}], folder, (KCombinatorial(3),))


@pytest.mark.parametrize(
    ("name", "labels", "role"),
    [
        ("Age", {}, "quasi-identifier"),
        (" a-g\uff45", dict(zip(AGES, "123")), "quasi-identifier"),
        ("years", {}, "sensitive"),
        ("years", dict(zip(AGES, "312")), "quasi-identifier"),
        ("years", {age: f" {age.upper()}  YEARS" for age in AGES}, "quasi-identifier"),
        ("years", HALVES, "quasi-identifier"),
        ("years", dict(zip(AGES, "MMF")), "quasi-identifier"),
        ("years", dict(zip(AGES, ("0-19", "0-19", "20+"))), "quasi-identifier"),
        ("years", dict(zip(AGES, ("0-9", "10-34", "10-34"))), "quasi-identifier"),
        ("years", dict(zip(AGES, ("0-4", "5-24", "5-24"))), "quasi-identifier"),
    ],
)
def test_what_may_be_one_column_under_two_names_is_no_pass(
    tmp_path: Path, name: str, labels: dict[str, str], role: str
) -> None:
    """Alike in its name, its counts under whatever labels, or counts that fit by what labels say."""
    folders = [aged(tmp_path / "one", "age", {}), aged(tmp_path / "two", name, labels, role)]
    together = verified(*folders)
    [composed] = [check for check in together.checks if check.criterion == "composition"]
    assert composed.verdict is UNDECIDED
    assert f"'age' and {name!r}" in composed.note
    assert marginals.attack(*folders).note == composed.note


@pytest.mark.parametrize(
    ("counts", "others", "verdict"),
    [
        ({"a": 20, "b": 40}, {"a": 22, "b": 40}, UNDECIDED),
        ({"a": 20, "b": 40}, {"A ": 22, "b": 40}, UNDECIDED),
        ({"a": 20, "b": 40}, {"a": 42, "b": 20}, HOLDS),
        ({"a": 20, "b": 40}, {"c": 22, "d": 40}, HOLDS),
    ],
)
def test_columns_of_tables_that_differ_are_compared_by_labels_and_shares(
    tmp_path: Path, counts: dict[str, int], others: dict[str, int], verdict: Verdict
) -> None:
    folders = []
    for name, rows in (("age", counts), ("years", others)):
        frame = pd.DataFrame({name: [label for label, count in rows.items() for _ in range(count)]})
        table = marginals.read_table(frame, {name: "quasi-identifier"})
        folders.append(write_margins(table, [{name: 0}], tmp_path / name, (KLink(2),)))
    changed = verified(*folders).checks[-1]
    assert (changed.criterion, changed.verdict) == ("difference", verdict)
    assert ("'age' and 'years' may be one column" in changed.note) is (verdict is UNDECIDED)


def test_names_that_two_releases_give_to_other_columns_are_no_pass(tmp_path: Path) -> None:
    """By their names the releases contradict each other, so they would be of two tables that differ a lot."""
    rows = pd.DataFrame({"job": ["y"] * 12 + ["n"] * 48, "town": ["y"] * 25 + ["n"] * 35})
    folders = []
    for folder, names in (("one", ["job", "town"]), ("two", ["town", "job"])):
        table = marginals.read_table(rows.set_axis(names, axis=1), dict.fromkeys(names, "quasi-identifier"))
        folders.append(write_margins(table, [dict.fromkeys(names, 0)], tmp_path / folder, (KLink(5),)))
    changed = verified(*folders).checks[-1]
    assert (changed.criterion, changed.verdict) == ("difference", UNDECIDED)
    assert "'job' and 'town'" in changed.note


def test_releases_that_contradict_each_other_are_of_two_tables_however_they_generalize(tmp_path: Path) -> None:
    folders = []
    for name, cut, rows in (("one", 20, 60), ("two", 15, 40)):
        frame = pd.DataFrame({"age": [*range(10, 30)] * 3, "job": ["y"] * rows + ["n"] * (60 - rows)})
        bands = Hierarchy.from_rows(
            (str(age), f"10-{cut - 1}" if age < cut else f"{cut}-29", "*") for age in range(10, 30)
        )
        roles = {"age": Attribute("quasi-identifier", hierarchy=bands), "job": "quasi-identifier"}
        table = marginals.read_table(frame, roles)
        folders.append(write_margins(table, [{"age": 1}, {"job": 0}], tmp_path / name, (KLink(2),)))
    checks = verified(*folders).checks
    assert [checks[0].holds, checks[-1].criterion] == [True, "difference"]


def test_columns_that_only_look_a_little_alike_are_judged_together(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": ["y", "n", "n"] * 9, "A": ["n", "y", "y", "y"] * 6 + ["n"] * 3, "b": ["y"] * 24 + ["n"] * 3}
    )
    table = marginals.read_table(frame, dict.fromkeys(frame, "quasi-identifier"))
    one = write_margins(table, [{"a": 0}, {"A": 0}], tmp_path / "one", (KLink(3),))
    two = write_margins(table, [{"a": 0}, {"b": 0}], tmp_path / "two", (KLink(3),))
    assert verified(one, two).ok


def test_hierarchies_agree_only_if_each_value_has_as_many_base_values(tmp_path: Path) -> None:
    """All have something of the lung. If that is flu or cold, no base value has more than half of the rows; if it is flu
    alone, one has all: what holds by one of the hierarchies does not hold of both.
    """
    claim = "diversity=functional:0.5,2"
    lungs = {"two": [("flu", "lung", "*"), ("cold", "lung", "*")], "one": [("flu", "lung", "*")]}
    for name, paths in lungs.items():
        sensitive = Attribute("sensitive", hierarchy=Hierarchy.from_rows([*paths, ("gout", "joint", "*")]))
        table = marginals.read_table(pd.DataFrame({"ill": ["flu"] * 4}), {"ill": sensitive})
        write_margins(table, [{"ill": 1}], tmp_path / name)
    assert marginals.verify(tmp_path / "two", claims=[claim]).ok
    assert not marginals.verify(tmp_path / "one", claims=[claim]).ok
    for folders in (("two", "one"), ("one", "two")):
        together = marginals.verify(*(tmp_path / name for name in folders), claims=[claim])
        assert together.checks[0].holds
        assert not together.ok


def test_values_may_be_numbered_differently(tmp_path: Path) -> None:
    one = bundle(tmp_path / "one", JOB_ILL)
    job = Attribute("quasi-identifier", hierarchy=Hierarchy.flat(["job2", "job0", "job1"]))
    table = marginals.read_table(people(), {**ROLES, "job": job})
    assert marginals.verify(one, bundle(tmp_path / "two", JOB_TOWN, table=table)).checks[0].holds


def test_claims_are_asked_for_as_text_or_as_objects(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "one", JOB_ILL)
    release = marginals.open_release(folder)
    texts = ["k-link=20", "diversity=entropy:2"]
    objects = [KLink(20), MaxentDiversity(parse_diversity("entropy:2"), "ill")]
    expected = [finding.as_json() for finding in release.verify(objects).checks]
    assert [finding["parameters"] for finding in expected] == [
        {"k": 20},
        {"diversity": "entropy:2", "sensitive": "ill"},
    ]
    for claims in (texts, objects, [texts[0], objects[1]]):
        assert [f.as_json() for f in marginals.verify(folder, claims=claims).checks[1:]] == expected
        assert [f.as_json() for f in release.verify(claims).checks] == expected
    assert release.verify(texts[0]).as_json() == release.verify(texts[:1]).as_json(), "one text is one claim"
    assert release.verify([]).checks == ()
    assert len(release.verify().checks) == 3


def drop_rows(folder: Path) -> None:
    def change(package: dict[str, Any]) -> None:
        package["release"].update(rows=0, information=0.0)
        for resource in package["resources"]:
            if "marginal" in resource:
                resource["marginal"]["total"] = 0
                content = (folder / resource["path"]).read_bytes()
                put_file(folder, resource, content.splitlines(keepends=True)[0])

    change_package(folder, change)


def suppress_all(folder: Path) -> None:
    """Leave one marginal, a number of rows beside `*`."""

    def change(package: dict[str, Any]) -> None:
        first = first_of(package, "marginal")
        hierarchies = [resource for resource in package["resources"] if "hierarchy" in resource]
        package["resources"] = [first, *hierarchies]
        heights = {r["hierarchy"]["attribute"]: len(r["schema"]["fields"]) - 1 for r in hierarchies}
        names = first["schema"]["primaryKey"]
        first["marginal"]["levels"] = {name: heights[name] for name in names}
        for file in (folder / "marginals").iterdir():
            file.unlink()
        put_file(folder, first, f"{','.join(names)},count\n{'*,' * len(names)}{first['marginal']['total']}\n".encode())
        del package["release"]["information"]

    change_package(folder, change)


@pytest.mark.parametrize("change", [drop_rows, suppress_all])
def test_whoever_reads_what_verifies_gets_an_answer(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Bundles of other programs that tell nothing of anybody: the page, the attacks, and several of them together."""
    folder = bundle(tmp_path / "one", JOB_ILL, TOWN_ILL)
    change(folder)
    unjudged = [marginals.verify(*folders, claims=["k-link=2"]).checks for folders in ([folder], [folder, folder])]
    assert [[c.criterion for c in checks if not c.holds] for checks in unjudged] == [["report"], ["report"] * 2]
    release = marginals.open_release(folder)
    release.report(tmp_path / "page.html")
    put = (tmp_path / "page.html").read_bytes()
    change_descriptor(folder, lambda release: put_file(folder, release["report"], put))
    assert marginals.verify(folder, claims=["k-link=2"]).ok
    assert marginals.verify(folder, folder, claims=["k-link=2"]).ok
    assert marginals.plain(marginals.attack(folder))
    assert release.count([]).value == release.model.total
    if not release.model.total:
        assert marginals.verify(folder).ok
        assert release.count({"job": "job1"}).value == 0


@pytest.mark.parametrize("word", [b"</h1>", b"</html>"])
def test_a_report_that_promises_more_than_its_files_is_not_judged(tmp_path: Path, word: bytes) -> None:
    """The page has its hash and the bundle its seal, and whoever made them may have written anything into it."""
    folder, other = (bundle(tmp_path / name, JOB_ILL) for name in ("one", "other"))
    assert marginals.verify(folder).ok
    page = (folder / "report.html").read_bytes().replace(word, b"Differential privacy with epsilon 0.1" + word)
    change_descriptor(folder, lambda release: put_file(folder, release["report"], page))
    for folders, stated in (([folder], {}), ([other, folder], {"release": str(folder)})):
        result = run("verify", *folders, "--json")
        [open_check] = [check for check in json.loads(result.stdout)["checks"] if not check["holds"]]
        assert (result.exit_code, open_check["criterion"], open_check["verdict"]) == (1, "report", "undecided")
        assert open_check["parameters"] == stated
    assert marginals.open_release(folder).verify().ok, "what it claims is proven all the same"


@pytest.mark.parametrize("path", ["report.html", "summary.HTM", "docs/index.xhtml"])
def test_a_page_that_is_declared_as_another_file_is_not_judged(tmp_path: Path, path: str) -> None:
    def change(package: dict[str, Any]) -> None:
        package["release"].pop("report")
        package["resources"].append({"name": "page", "path": path})
        put_file(folder, package["resources"][-1], page)

    folder = bundle(tmp_path / "one", JOB_ILL)
    page = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    change_package(folder, change)
    [open_check] = [check for check in verified(folder).checks if not check.holds]
    assert (open_check.criterion, open_check.verdict, open_check.parameters) == ("report", UNDECIDED, {"file": path})


def edited(folder: Path, **release: object) -> Path:
    return change_package(folder, lambda package: package["release"].update(release))


def test_a_bundle_that_says_more_than_is_judged_is_read_and_warned_of(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "one", JOB_ILL)
    before = marginals.open_release(folder)
    edited(folder, utility={"kl_divergence": 1.25})
    verification = verified(folder)
    assert verification.ok
    (warning,) = verification.warnings
    assert str(folder) in warning
    assert "release.utility" in warning
    assert "release.utility" in str(verification)
    assert "release.utility" in run("verify", folder).stdout
    assert json.loads(run("verify", folder, "--json").stdout)["warnings"] == [warning]
    after = marginals.open_release(folder)
    assert repr(after) == repr(before)
    assert report_of(after.published) == report_of(before.published)
    two = marginals.verify(folder, edited(bundle(tmp_path / "two", {"town": 0}), utility=[1]))
    assert [str(f) in w for f, w in zip((folder, tmp_path / "two"), two.warnings)] == [True, True]
    change_report(folder)
    damaged = marginals.verify(folder)
    assert (damaged.ok, damaged.warnings) == (False, (warning,))


def test_information_that_does_not_follow_from_the_marginals_is_a_matter_of_integrity(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "one", JOB_ILL, TOWN_ILL)
    stated = json.loads((folder / DESCRIPTOR).read_text())["release"]["information"]
    exact = marginals.open_release(folder).model.information
    assert stated == round(exact, 6) > 0.01
    assert marginals.verify(folder).warnings == ()
    for right in (stated, round(stated, 3), round(stated, 2), exact, stated + 9e-7):
        assert marginals.verify(edited(folder, information=right)).ok, right
    wrong: list[object] = [stated + 2.1e-6, stated - 2.1e-6, round(stated, 3) + 0.001, -stated, 1, 1e300, True, None]
    for information in (*wrong, "much", [stated]):
        (check,) = marginals.verify(edited(folder, information=information)).checks
        assert (check.criterion, check.holds) == ("integrity", False), information
        assert "release.information" in check.worst.problem
        assert marginals.open_release(folder).model.information == pytest.approx(stated, abs=1e-6), (
            "computed, not believed"
        )


def test_information_without_a_junction_tree_is_fitted_and_not_written(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "one", JOB_TOWN, TOWN_ILL, JOB_ILL)
    assert "information" not in json.loads((folder / DESCRIPTOR).read_text())["release"]
    release = marginals.open_release(folder)
    assert "information" not in repr(release)
    assert release.model.information > 0
    verification = marginals.verify(edited(folder, information=release.model.information))
    assert verification.ok
    (warning,) = verification.warnings
    assert "no junction tree" in warning


KINDS = ("diversity", "register")
PLAIN = Hierarchy.flat(["flu", "cold", "cancer", "missing"])
NODE = Hierarchy.from_rows([("flu", "flu", "*"), ("cold", "cold", "*"), ("cancer", "missing", "*")])
"""A hostile one, that calls a group missing."""
CANCER = {"a": ["cancer"], "b": ["flu", "cold"]}
"""Everybody in a town has cancer."""
every_kind = pytest.mark.parametrize("kind", KINDS)


def towns(
    folder: Path, values: Mapping[str, Sequence[str]], text: str, hierarchy: Hierarchy = PLAIN, role: str = "sensitive"
) -> Path:
    """Ten rows of each value of each town, with one table of both. text: the diversity that is claimed."""
    rows = [(town, value) for town, inside in values.items() for value in inside for _ in range(10)]
    frame = pd.DataFrame(rows, columns=["town", "ill"])
    flat = Attribute(role, hierarchy=Hierarchy.flat(hierarchy.labels[0]))
    table = marginals.read_table(frame, {"town": "quasi-identifier", "ill": flat})
    domain = Domain.of(
        {**dict(table.domain.items()), "ill": hierarchy}
    )  # which no table is read with, if it is hostile
    table = replace(table, counts=replace(table.counts, domain=domain))
    of = MaxentDiversity(parse_diversity(text), "ill")
    return write_margins(
        table, [TOWN_ILL], folder, (of, Register(of.diversity, of.sensitive)) if role == "sensitive" else ()
    )


def demanded(folder: Path, demand: str | Claim) -> Finding:
    return marginals.verify(folder, claims=[demand]).checks[-1]


@every_kind
def test_bundles_that_leave_out_a_value_are_judged_over_all_of_them(kind: str, tmp_path: Path) -> None:
    folders = [towns(tmp_path / name, CANCER, "distinct:2 leaving out cancer") for name in ("one", "two")]
    assert marginals.verify(folders[0]).ok
    found = demanded(folders[0], f"{kind}=distinct:2")
    assert found.verdict is FAILS
    assert "'cancer'" in found.note
    own = demanded(folders[0], f"{kind}=distinct:2 leaving out cancer")
    assert (own.verdict, own.note) == (HOLDS, "")
    assert marginals.verify(*folders, claims=[f"{kind}=distinct:2"]).checks[-1].verdict is FAILS


@every_kind
@pytest.mark.parametrize("text", ["distinct:2", "distinct:2 leaving out missing"])
def test_a_value_that_is_missing_is_left_out_whatever_the_bundle_claims(text: str, kind: str, tmp_path: Path) -> None:
    """Beside missing ones it makes no class diverse; if nothing else is there, there is none to tell."""
    folder = towns(tmp_path / "out", {"a": ["flu", "missing"], "b": ["flu", "cold"]}, text)
    assert demanded(folder, f"{kind}=distinct:2").verdict is FAILS
    found = demanded(towns(tmp_path / "empty", {"a": ["missing"], "b": ["flu", "cold"]}, text), f"{kind}=distinct:2")
    assert (found.verdict, found.note) == (HOLDS, "")


@every_kind
def test_a_group_that_a_bundle_calls_missing_is_not_left_out(kind: str, tmp_path: Path) -> None:
    folder = towns(tmp_path / "out", CANCER, "distinct:2 leaving out missing", NODE)
    assert demanded(folder, f"{kind}=distinct:2").verdict is FAILS
    assert not marginals.verify(folder).ok


def test_a_demand_names_its_attribute_whatever_the_bundle_calls_it(tmp_path: Path) -> None:
    folder = towns(tmp_path / "out", CANCER, "distinct:2", role="quasi-identifier")
    found = demanded(folder, MaxentDiversity(parse_diversity("distinct:2"), "ill"))
    assert (found.criterion, found.verdict) == ("maxent-diversity", FAILS)
    with pytest.raises(InputError, match="'illness'"):
        demanded(folder, MaxentDiversity(parse_diversity("distinct:2"), "illness"))


def test_a_demand_is_made_of_each_way_in_which_bundles_generalize_an_attribute(tmp_path: Path) -> None:
    folders = []
    for name, groups in (("one", ("1-2", "1-2", "3-4", "3-4")), ("two", ("1", "2-4", "2-4", "2-4"))):
        coarse = {town: [groups[n] for n in numbers] for town, numbers in (("a", (0, 1)), ("b", range(4)))}
        folders.append(towns(tmp_path / name, coarse, "distinct:1", Hierarchy.flat(dict.fromkeys(groups))))
    claim = MaxentDiversity(parse_diversity("distinct:2"), "ill")
    assert FAILS in [finding.verdict for finding in marginals.verify(*folders, claims=[claim]).checks[1:]]


@pytest.mark.parametrize("seed", range(12))
def test_new_names_and_labels_turn_no_failure_into_a_pass(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 2, 120)
    columns = {"a": rng.integers(0, 2, 120), "b": b, "c": np.where(rng.random(120) < 0.92, b, 1 - b)}
    k = min(int(np.bincount(2 * columns[x] + columns[y], minlength=4).min()) for x, y in ("ab", "ac", "bc"))

    def written(place: int, pair: str, renamed: bool) -> Path:
        names = [f"{name}{place}" if renamed and rng.random() < 0.7 else name for name in pair]
        labels = [rng.permutation(["x", "y"]) if renamed else np.array(["0", "1"]) for _ in pair]
        frame = pd.DataFrame({name: own[columns[a]] for name, own, a in zip(names, labels, pair)})
        table = marginals.read_table(frame, dict.fromkeys(names, "quasi-identifier"))
        folder = tmp_path / f"{pair}{renamed}"
        return write_margins(table, [dict.fromkeys(names, 0)], folder, (KCombinatorial(k), MinCell(k)))

    plain, renamed = ([written(n, pair, new) for n, pair in enumerate(("ab", "ac", "bc"))] for new in (False, True))
    assert marginals.verify(*plain).ok is (seed in (0, 3, 4, 8, 9, 10, 11))
    assert not marginals.verify(*renamed).ok


def test_the_claim_with_most_combinations_is_judged_last_with_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It had an equal share of the time, and stayed undecided although the others left most of theirs."""
    judged: list[tuple[object, float]] = []
    answer = content.answer

    def noted(claim: Claim, question: Question) -> Finding:
        finding = answer(claim, question)
        judged.append((finding.parameters["k"], question.budget.deadline.left))
        return finding

    names = {4: "no-small-certain", 3: "no-small-cell-certain", 2: "no-small-certain", 5: "k-link"}
    claims = [parse_claim({"criterion": name, "k": k}) for k, name in names.items()]
    published = marginals.publish(SMALL, marginals.Policy(k_link=2, diversity="none")).release.published.claiming(
        claims
    )
    monkeypatch.setattr(content, "answer", noted)
    checks = replace(published, deadline=Deadline.after(100, monotonic)).verify().checks
    assert [finding.parameters["k"] for finding in checks] == [*names]
    assert [k for k, _ in judged] == [5, 2, 3, 4]
    assert judged[-1][1] > 60 > judged[0][1]

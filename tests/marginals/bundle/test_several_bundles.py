"""What verifying asks of one bundle it asks of each of several, whichever comes first, last or between."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from checks import Claim, KLink, Verdict
from command_line import main
from marginals.bundle.content import Verification
from minisign_programs import write_keys, write_stub
from models import Collection, DataCube
from written_bundles import bundle_content, write_bundle

PEOPLE = {("a", "u", "flu"): 2, ("a", "v", "cold"): 2, ("b", "u", "cold"): 3, ("b", "v", "flu"): 3}
"""Rows of each job, town and illness: 4 and 6 of the jobs, 5 of each town, 5 of each illness."""

TABLE = marginals.read_table(
    pd.DataFrame([cell for cell, rows in PEOPLE.items() for _ in range(rows)], columns=["job", "town", "ill"]),
    {"job": "quasi-identifier", "town": "quasi-identifier", "ill": "sensitive"},
)
NAMES = ["one", "two", "three"]


def bundle(folder: Path, margin: dict[str, int], claims: Sequence[Claim] = ()) -> Path:
    mask = TABLE.domain.mask(margin)
    collection = Collection.of(DataCube([TABLE.cube.table(mask)]), [mask])
    write_bundle(bundle_content(collection, TABLE.roles, tuple(claims)), folder)
    return folder


def verified(*folders: Path) -> Verification:
    """What Python says, with which the command agrees in its exit code and its first line."""
    verification = marginals.verify(*folders)
    result = CliRunner().invoke(main, ["verify", *map(str, folders)])
    assert result.exit_code == (0 if verification.ok else 1)
    assert result.output.split()[:2] == [verification.checks[0].verdict.value, "integrity"]
    return verification


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three bundles of one table without a flaw, each with a claim of its own."""
    margins: list[dict[str, int]] = [{"job": 0}, {"town": 0}, {"ill": 0}]
    return [bundle(tmp_path / name, margin, [KLink(k)]) for name, margin, k in zip(NAMES, margins, (1, 2, 3))]


def test_the_claims_of_all_bundles_are_checked_together(tmp_path: Path) -> None:
    """Each town has 5 rows, as is claimed of the towns; a job has 4, as another bundle shows."""
    jobs, towns = bundle(tmp_path / "jobs", {"job": 0}, [KLink(3)]), bundle(tmp_path / "towns", {"town": 0}, [KLink(5)])
    assert verified(jobs).ok
    assert verified(towns).ok
    for folders in ((jobs, towns), (towns, jobs)):
        found = {check.parameters["k"]: check for check in verified(*folders).checks[1:]}
        assert {k: check.verdict for k, check in found.items()} == {3: Verdict.HOLDS, 5: Verdict.FAILS}
        assert (found[5].worst_class.cell, found[5].worst_class.count) == ({"job": "a"}, 4)


def test_a_claim_that_several_bundles_make_is_checked_once(tmp_path: Path) -> None:
    folders = [bundle(tmp_path / a, {a: 0}, [KLink(3), KLink(k)]) for a, k in (("job", 1), ("town", 2), ("ill", 1))]
    assert [check.parameters["k"] for check in verified(*folders).checks[1:]] == [3, 1, 2]


def test_the_files_of_all_bundles_are_in_order_where_nothing_is_said(three: list[Path]) -> None:
    verification = verified(*three)
    assert verification.ok
    assert verification.checks[0].note == ""
    assert [check.parameters.get("k") for check in verification.checks] == [None, 1, 2, 3]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_no_descriptor_declares_is_named_in_whichever_bundle_it_lies(three: list[Path], name: str) -> None:
    (three[NAMES.index(name)] / "marginals" / "rows.csv").write_text("name,ill\nann,flu\n")
    (check,) = verified(*three).checks
    assert check.worst.file == "marginals/rows.csv"


@pytest.mark.parametrize("name", NAMES)
def test_a_report_that_was_changed_is_named_in_whichever_bundle_it_lies(three: list[Path], name: str) -> None:
    page = three[NAMES.index(name)] / "report.html"
    page.write_bytes(page.read_bytes().replace(b"rows", b"ROWS"))
    (check,) = verified(*three).checks
    assert check.worst.file == "report.html"


@pytest.mark.parametrize("name", NAMES)
def test_a_seal_that_is_missing_is_told_and_one_that_is_wrong_refused_in_whichever_bundle(
    three: list[Path], name: str
) -> None:
    seal = three[NAMES.index(name)] / "datapackage.json.sha256"
    content = seal.read_text()
    seal.unlink()
    unsealed = verified(*three)
    assert unsealed.ok
    assert "the descriptor has no seal" in unsealed.checks[0].note
    seal.write_text(content.replace(content[0], "0" if content[0] != "0" else "1"))
    (check,) = verified(*three).checks
    assert check.worst.file == "datapackage.json.sha256"


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_without_any_claim_is_told_of_only_where_there_is_none_at_all(three: list[Path], name: str) -> None:
    """Beside the claims of others something is checked; of three without a claim nothing is."""
    shutil.rmtree(three[NAMES.index(name)])
    bundle(three[NAMES.index(name)], {"job": 0})
    assert "nothing is claimed" not in verified(*three).checks[0].note
    for folder in three:
        shutil.rmtree(folder)
        bundle(folder, {"job": 0})
    assert "nothing is claimed" in verified(*three).checks[0].note


@pytest.mark.parametrize("name", NAMES)
def test_a_signature_that_is_not_checked_is_told_and_one_that_is_missing_refused_in_whichever_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PATH", str(write_stub(tmp_path / "bin")))
    keys, signed = write_keys(tmp_path, "ours"), tmp_path / "signed"
    marginals.publish(TABLE, marginals.Policy(k_link=2, diversity="none")).write(signed, sign=keys.secret)
    folders = [tmp_path / each for each in NAMES]
    for is_signed in (True, False):
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(signed, folder)
            if (folder.name == name) is not is_signed:
                (folder / "datapackage.json.minisig").unlink()
        assert "it is signed, but the signature was not checked" in verified(*folders).checks[0].note
        (check,) = marginals.verify(*folders, key=keys.public).checks
        assert check.worst.as_json() == {
            "file": "datapackage.json.minisig",
            "problem": "it is missing: the bundle is not signed",
        }

"""Who publishes a release, when, whom to ask and under which licence: as typed, in its report, descriptor and citation."""

import json
import shutil
from pathlib import Path

import pytest

import marginals
from marginals import BundleError, Imprint, InputError
from marginals.bundle.imprint import NAMES
from marginals.example import table
from small_release import write_config
from written_bundles import sealed

POLICY = marginals.Policy(k_link=4, diversity="distinct:2")
TOLD = Imprint("A <census>", "City of <Ulm>", "2026-11-26", "data@ulm.example", "CC-BY-4.0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = marginals.publish(table, POLICY, title=TOLD).write(tmp_path_factory.mktemp("imprint") / "release")
    assert written.release.path is not None
    return written.release.path


def test_readers_are_told_what_was_typed_and_nothing_else(folder: Path) -> None:
    release = marginals.open_release(folder)
    assert release.published.imprint == TOLD
    assert json.loads((folder / "datapackage.json").read_text())["release"]["imprint"] == TOLD.entries
    page = (folder / "report.html").read_text()
    assert "City of &lt;Ulm&gt; \u00b7 2026-11-26 \u00b7 data@ulm.example \u00b7 CC-BY-4.0" in page
    assert release.cite().startswith("City of <Ulm>. 2026-11-26. A <census>. ")
    verification = release.verify()
    assert verification.ok
    assert not verification.warnings


def test_without_one_nothing_is_written_of_it(tmp_path: Path) -> None:
    """No date either: the same tables give the same bundle on any day."""
    marginals.publish(table, POLICY).write(tmp_path / "release")
    assert "imprint" not in json.loads((tmp_path / "release" / "datapackage.json").read_text())["release"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["two\nlines", "x" * 201, 7])
def test_what_is_no_line_of_text_is_refused_by_its_key(name: str, text: object) -> None:
    with pytest.raises(InputError, match=f"^release.{name} must be one line of text"):
        Imprint.of({name: text})


def test_a_config_says_it_and_a_bundle_that_says_it_badly_is_damaged(folder: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text('[release]\npublisher = "Ulm"\nlicence = "CC0-1.0"\n' + config.read_text())
    assert marginals.read_config(config).imprint == Imprint(publisher="Ulm", licence="CC0-1.0")
    package = json.loads((folder / "datapackage.json").read_text())
    package["release"]["imprint"] = {"publisher": ["Ulm"]}
    shutil.copytree(folder, tmp_path / "bad")
    content = json.dumps(package).encode()
    (tmp_path / "bad" / "datapackage.json").write_bytes(content)
    (tmp_path / "bad" / "datapackage.json.sha256").write_bytes(sealed(content))
    with pytest.raises(BundleError, match=r"release\.imprint: release\.publisher must be one line"):
        marginals.open_release(tmp_path / "bad")

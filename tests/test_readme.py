"""The README is short, its Python runs as written after its first command, and it shows what that command says."""

import contextlib
import re
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

import report_picture
from marginals.commands.main import main
from project import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "report.png"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def printed(work: Path) -> str:
    """What the demo says, in whose folder the README's reader then is."""
    with contextlib.chdir(work):
        result = CliRunner().invoke(main, ["demo", "demo"])
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.slow
def test_the_notebook_example_runs_after_the_demo(work: Path, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed
    monkeypatch.chdir(work)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(block, names)
    assert (work / "release" / "datapackage.json").is_file()


def test_the_demo_prints_what_the_readme_shows(printed: str) -> None:
    """Lines of the output in their order; only where the README has dots, others stand between them."""
    shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    parts = shown[1].rstrip("\n").split("\n...")
    assert re.match(r"\n(?:.*\n)*?".join(re.escape(part.lstrip("\n")) for part in parts), printed), shown[1]
    assert 10 <= sum(line != "..." for line in shown[1].splitlines()) <= 14


def test_the_readme_is_short() -> None:
    """Links count by their words alone, and so do tables and code."""
    words = re.sub(r"\]\([^)]*\)", "]", README)
    assert len(re.findall(r"\w[\w'.,:-]*", words)) <= 900


def test_the_picture_is_of_the_report_that_the_demo_writes(work: Path, printed: str) -> None:
    assert printed
    pytest.importorskip("PIL")
    report = (work / "demo" / "release" / "report.html").read_bytes()
    assert report_picture.named_by(PICTURE) == sha256(report).hexdigest(), report_picture.__doc__

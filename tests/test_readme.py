"""The README's Python runs as written, after its first command."""

import contextlib
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from marginals.commands.main import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


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
    shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    assert printed == shown[1]

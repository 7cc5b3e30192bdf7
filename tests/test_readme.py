"""The README's Python runs as written, after its first command."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from marginals.commands.main import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_notebook_example_runs_after_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["demo", "demo"]).exit_code == 0
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(block, names)
    assert (tmp_path / "release" / "datapackage.json").is_file()


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["demo", "demo"]).stdout == shown[1]

"""Progress for programs that start a command: a JSON object a line."""

import json

import pytest

from marginals.commands.options import ProgressBars
from marginals.deadline import PROGRESS_IN_LINES


def test_progress_in_lines_is_told_at_most_ten_times_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(*PROGRESS_IN_LINES)
    with ProgressBars(wanted=False) as progress:
        for done in range(50):
            progress("tables", done, 50)
        progress("verifying", 0, 0)
    out, err = capsys.readouterr()
    assert out == ""
    told = [json.loads(line) for line in err.splitlines()]
    assert told[0] == {"task": "tables", "done": 0, "total": 50}
    assert told[-1] == {"task": "verifying", "done": 0, "total": 0}
    assert len(told) < 10


def test_nothing_is_told_unasked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv(PROGRESS_IN_LINES[0], raising=False)
    with ProgressBars(wanted=True) as progress:
        progress("tables", 1, 2)
    assert capsys.readouterr() == ("", "")

"""A long run that can be interrupted: the lines of each script are kept once it has ended, and not measured again.

A file of JSON lines. Those of a script end with one that says `ended`, at which commit, on which machine and when. A script
that failed is not kept, so it is run again; so is one that ended at another commit, or with other arguments.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]


def kept(path: Path, script: str, arguments: Sequence[str], commit: str | None) -> list[Line] | None:
    """The lines of a script that ended at this commit with these arguments; None where there are none.

    Raises ValueError where the file has a line that is no JSON object.
    """
    wanted = (script, _without_folders(arguments), commit)
    found = [lines for lines, told in _runs(path) if (told["ended"], told["arguments"], told["commit"]) == wanted]
    return found[-1] if found and commit is not None else None


def newest(path: Path) -> dict[str, tuple[list[Line], Line]]:
    """Of each script the lines that it added last, and the circumstances.

    Raises ValueError where the file has a line that is no JSON object.
    """
    return {told["ended"]: (lines, told) for lines, told in _runs(path)}


def _runs(path: Path) -> Iterator[tuple[list[Line], Line]]:
    """The lines of each script that ended, and the one that says so."""
    lines: list[Line] = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else (), 1):
        try:
            line = dict(json.loads(text))
        except (TypeError, ValueError):
            raise ValueError(f"{path} line {number}: expected a JSON object; take the line away") from None
        if "ended" in line:
            yield lines, line
            lines = []
        else:
            lines.append(line)


def keep(path: Path, script: str, arguments: Sequence[str], lines: Iterable[Line], told: Line) -> bool:
    """Add the lines of a script to the file, all of them or none; whether it did. told: the circumstances.

    Nothing is kept of a script that failed, nor where there is no commit by which its lines could be found again.
    """
    lines = list(lines)
    if told["commit"] is None or any("failed" in line for line in lines):
        return False
    ended = {"ended": script, "arguments": _without_folders(arguments), **told}
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    half = path.with_suffix(".part")
    half.write_text(before + "".join(f"{json.dumps(line)}\n" for line in [*lines, ended]), encoding="utf-8")
    half.replace(path)
    return True


def _without_folders(arguments: Sequence[str]) -> list[str]:
    """Arguments without what they tell of the machine: of a path its last part."""
    return [Path(argument).name if os.sep in argument else argument for argument in arguments]

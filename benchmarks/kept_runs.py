"""A long run that can be interrupted: the lines of each script are kept once it has ended, and not measured again.

A file of JSON lines. Those of a script end with one that says `ended`, at which commit, on which machine and when. A script
that failed is not kept, so it is run again; so is one that ended at another commit, or with other arguments.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]


def kept(path: Path, script: str, arguments: Sequence[str], commit: str | None) -> list[Line] | None:
    """The lines of a script that ended at this commit with these arguments; None where there are none.

    Raises ValueError where the file has a line that is no JSON object.
    """
    if commit is None or not path.is_file():
        return None
    found, lines = None, []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            line = dict(json.loads(text))
        except (TypeError, ValueError):
            raise ValueError(f"{path} line {number}: expected a JSON object; take the line away") from None
        if "ended" not in line:
            lines.append(line)
            continue
        if (line["ended"], line["arguments"], line["commit"]) == (script, list(arguments), commit):
            found = lines
        lines = []
    return found


def keep(path: Path, script: str, arguments: Sequence[str], lines: Iterable[Line], told: Line) -> bool:
    """Add the lines of a script to the file, all of them or none; whether it did. told: the circumstances.

    Nothing is kept of a script that failed, nor where there is no commit by which its lines could be found again.
    """
    lines = list(lines)
    if told["commit"] is None or any("failed" in line for line in lines):
        return False
    ended = {"ended": script, "arguments": list(arguments), **told}
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    half = path.with_suffix(".part")
    half.write_text(before + "".join(f"{json.dumps(line)}\n" for line in [*lines, ended]), encoding="utf-8")
    half.replace(path)
    return True

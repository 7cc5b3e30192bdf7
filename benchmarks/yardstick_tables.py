"""The kept measurements of benchmarks/yardsticks.py as tables in Markdown, the ones that docs/yardsticks.md shows."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "results" / "yardsticks.jsonl"

_COLUMNS = ("way", "two-way", "three-way", "two-way, records", "three-way, records", "regressions", "seconds")


def tables(kept: Path) -> str:
    """One table for each public table, in the order of the file, and before them with which settings peers ran.

    Of lines that measure the same, and of settings, the last ones count: a later run adds what an earlier one had no time
    for.
    Raises OSError where there is no such file.
    """
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    settings = [_settings(line["settings"]) for line in lines if "settings" in line][-1:]
    described = {line["table"]: line for line in lines if "records" in line}
    return "\n\n".join([*settings, *(_table(line, lines) for line in described.values())])


def _settings(used: Mapping[str, Any]) -> str:
    return (
        f"MST and AIM are those of private-pgm {used['private_pgm']}. AIM's models have at most {used['megabytes']:g} MB, "
        f"each of its fits {used['iterations']} iterations (its own settings are 80 MB and 1,000). A run of more than "
        f"{used['seconds']:g} seconds was stopped."
    )


def _table(described: Mapping[str, Any], lines: list[dict[str, Any]]) -> str:
    measured = list(
        {line["way"]: line for line in lines if line.get("table") == described["table"] and "way" in line}.values()
    )
    values = ", ".join(f"{name} {size}" for name, size in described["sizes"].items())
    heading = f"**{described['table']}**, {described['records']:,} records; values of each column: {values}"
    kinds = list(dict.fromkeys(_kind(line)[0] for line in measured))
    measured.sort(key=lambda line: (kinds.index(_kind(line)[0]), _kind(line)[1]))
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *map(tuple, map(_row, measured))]
    return heading + "\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _kind(line: Mapping[str, Any]) -> tuple[str, float]:
    """A way without its epsilon, and that; 0 for one that has none."""
    kind, _, epsilon = line["way"].partition(", epsilon ")
    return kind, float(epsilon or 0)


def _row(line: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be had is a dash: records are the tables of those who make records."""
    yield line["way"]
    if "two_way" not in line:
        yield line.get("stopped", "failed")
        yield from ("-",) * (len(_COLUMNS) - 2)
        return
    exact = "two_way_of_records" in line
    for name in ("two_way", "three_way"):
        yield f"{line[name]:.3f}" if exact else "-"
    for name in ("two_way", "three_way"):
        yield f"{line[name + '_of_records' if exact else name]:.3f}"
    yield ", ".join(f"{error:.2f}" for error in line["regressions"])
    yield f"{line['seconds_of_way']:.0f}"

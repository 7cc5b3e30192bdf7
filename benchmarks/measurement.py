"""One measurement: what was done, how large it was, how long it took and how much memory, beside its yardstick.

Every benchmark prints them as JSON lines; `python benchmarks` makes a table of them, and fits how they grow. Lines without
`seconds` say something else: what was skipped and why, or whether a target was met.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

SIZES = ("rows", "attributes", "cells", "margins")
"""What a measurement can grow with."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Measurement:
    """Seconds and memory of one case of a benchmark.

    sizes: of `SIZES` those that are chosen, not those that follow. megabytes: the peak of a process where the case has its
    own, else of what one more run allocates. yardstick: what takes `yardstick_seconds`. facts: whatever else is to be told.
    """

    benchmark: str
    case: str
    sizes: Mapping[str, int]
    seconds: float
    megabytes: float | None = None
    yardstick: str = ""
    yardstick_seconds: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.sizes if name not in SIZES]
        if unknown or any(size < 1 for size in self.sizes.values()):
            raise ValueError(f"sizes must be positive numbers of {', '.join(SIZES)}, got {dict(self.sizes)}")
        if self.seconds < 0 or bool(self.yardstick) != (self.yardstick_seconds is not None):
            raise ValueError(f"{self.benchmark} {self.case}: a time below zero, or a yardstick without time or name")

    @property
    def ratio(self) -> float | None:
        """How many times its yardstick this takes."""
        return self.seconds / self.yardstick_seconds if self.yardstick_seconds else None

    def line(self) -> dict[str, Any]:
        """As one JSON object."""
        line: dict[str, Any] = {"benchmark": self.benchmark, "case": self.case, "sizes": dict(self.sizes)}
        line["seconds"] = _rounded(self.seconds)
        if self.megabytes is not None:
            line["megabytes"] = _rounded(self.megabytes)
        if self.yardstick_seconds is not None:
            line |= {"yardstick": self.yardstick, "yardstick_seconds": _rounded(self.yardstick_seconds)}
            line |= {"ratio": None if self.ratio is None else _rounded(self.ratio)}
        return line | dict(self.facts)

    def print(self) -> None:
        """Print the JSON line at once."""
        say(**self.line())


def measurement_of(line: Mapping[str, Any]) -> Measurement | None:
    """The measurement that a JSON object tells, None where it tells something else."""
    if "seconds" not in line or "sizes" not in line:
        return None
    names = ("benchmark", "case", "sizes", "seconds", "megabytes", "yardstick", "yardstick_seconds")
    facts = {name: value for name, value in line.items() if name not in (*names, "ratio")}
    return Measurement(**{name: line[name] for name in names if name in line}, facts=facts)


def say(**line: Any) -> None:
    """Print one JSON line at once."""
    print(json.dumps(line), flush=True)


class Lines:
    """JSON lines, printed at once and kept."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def say(self, **line: Any) -> None:
        """Print and keep one."""
        self.kept.append(json.dumps(line))
        print(self.kept[-1], flush=True)

    def write(self, path: Path) -> None:
        """All lines, or nothing."""
        half = path.with_suffix(".part")
        half.write_text("\n".join([*self.kept, ""]), encoding="utf-8")
        half.replace(path)


def circumstances() -> dict[str, Any]:
    """When and on what something is measured: date, processor, cores, load, Python, and the commit of this folder."""
    folder = Path(__file__).parent
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=folder, capture_output=True, text=True)
    described = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", described.read_text()) if described.is_file() else None
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": named[1] if named else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "commit": asked.stdout.strip() or None,
    }


def skipped(benchmark: str, reason: str) -> None:
    """Say that a benchmark, or a part of it, was not run."""
    say(benchmark=benchmark, skipped=reason)


def fastest(
    function: Callable[[], Result],
    runs: int = 5,
    enough: float = 5.0,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, Result]:
    """Seconds, the least of some runs or of as many as take `enough` seconds together, and the last result."""
    seconds: list[float] = []
    while len(seconds) < runs and sum(seconds) < enough:
        begin = clock()
        result = function()
        seconds.append(clock() - begin)
    return min(seconds), result


def peak_megabytes(function: Callable[[], object]) -> float:
    """What one run allocates at most on top of what there is, in Python and NumPy; it is slower than others."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def options(script: str, text: str | None) -> argparse.ArgumentParser:
    """The parser of a script's options; its docstring is the help."""
    return argparse.ArgumentParser(
        prog=f"python benchmarks/{Path(script).name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _rounded(number: float) -> float:
    """Four significant digits."""
    return float(f"{number:.4g}")

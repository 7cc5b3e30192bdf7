"""One measurement: what was done, how large it was, how long it took and how much memory, beside its yardstick.

Every benchmark prints them as JSON lines; `python benchmarks` makes a table of them, and fits how they grow. Lines without
`seconds` say something else: what was skipped and why, or whether a target was met.

A line says how busy the machine was, too. `others`: cores that other programs took, on average since the benchmark began;
`busy`: whether these were more than a tenth of one, so that its seconds are not to be quoted, but at most its ratios.
"""

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

SIZES = ("rows", "attributes", "cells", "margins")
"""What a measurement can grow with."""

Result = TypeVar("Result")

BUSY = 0.1
"""Cores of others beyond which a machine was busy."""


class Seconds(float):
    """The least of some runs' seconds. median: of the same runs. processor: the least of this process's processor time."""

    median: float
    processor: float

    @classmethod
    def of(cls, walls: Sequence[float], processors: Sequence[float]) -> "Seconds":
        """From the clock on the wall and the processor's of each run."""
        seconds = cls(min(walls))
        seconds.median, seconds.processor = median(walls), min(processors)
        return seconds


@dataclass(frozen=True)
class Machine:
    """What a machine had done at a moment: seconds of all its cores, of this process with its children, and of the wall."""

    all_cores: float
    own: float
    wall: float

    @classmethod
    def now(cls) -> "Machine | None":
        """At this moment; None where the system does not tell."""
        told = Path("/proc/stat")
        if not told.is_file():
            return None
        user, nice, system, _, _, *interrupts = map(int, told.read_text().split("\n", 1)[0].split()[1:8])
        work = user + nice + system + sum(interrupts[:2])
        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own = sum(each.ru_utime + each.ru_stime for each in spent)
        return cls(work / os.sysconf("SC_CLK_TCK"), own, time.monotonic())

    def others(self, since: "Machine") -> float:
        """Cores that other programs took since an earlier moment, on average."""
        wall = self.wall - since.wall
        return max(self.all_cores - since.all_cores - self.own + since.own, 0.0) / wall if wall > 0 else 0.0


BEGAN = Machine.now()
"""When the benchmark began."""


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

    @property
    def processor_seconds(self) -> float | None:
        """The processor time, where several runs were timed."""
        return self.seconds.processor if isinstance(self.seconds, Seconds) else None

    @property
    def processor_ratio(self) -> float | None:
        """How many times the processor time of its yardstick this takes, where both were timed."""
        if not isinstance(self.seconds, Seconds) or not isinstance(self.yardstick_seconds, Seconds):
            return None
        return self.seconds.processor / max(self.yardstick_seconds.processor, 1e-9)

    def line(self) -> dict[str, Any]:
        """As one JSON object."""
        line: dict[str, Any] = {"benchmark": self.benchmark, "case": self.case, "sizes": dict(self.sizes)}
        line["seconds"] = _rounded(self.seconds)
        if isinstance(self.seconds, Seconds):
            line["median_seconds"] = _rounded(self.seconds.median)
            line["processor_seconds"] = _rounded(self.seconds.processor)
        if self.megabytes is not None:
            line["megabytes"] = _rounded(self.megabytes)
        if self.yardstick_seconds is not None:
            line |= {"yardstick": self.yardstick, "yardstick_seconds": _rounded(self.yardstick_seconds)}
            line |= {"ratio": None if self.ratio is None else _rounded(self.ratio)}
        if self.processor_ratio is not None:
            line["processor_ratio"] = _rounded(self.processor_ratio)
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
    """Print one JSON line at once; where it is a measurement, with how busy the machine was."""
    print(json.dumps(line | (busyness() if "seconds" in line else {})), flush=True)


def busyness() -> dict[str, Any]:
    """The load, the cores that others took since the benchmark began, and whether that was busy; as far as it is known."""
    told: dict[str, Any] = {"load": round(os.getloadavg()[0], 1)} if hasattr(os, "getloadavg") else {}
    now = Machine.now()
    if BEGAN is None or now is None:
        return told
    others = now.others(BEGAN)
    return told | {"others": round(others, 2), "busy": others > BUSY}


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
) -> tuple[Seconds, Result]:
    """Seconds of some runs, or of as many as take `enough` seconds together, and the last result."""
    (timed,) = interleaved({"": function}, runs, enough, clock).values()
    return timed


def interleaved(
    functions: Mapping[str, Callable[[], Result]],
    runs: int = 5,
    enough: float = 5.0,
    clock: Callable[[], float] = time.perf_counter,
    worked: Callable[[], float] = time.process_time,
) -> dict[str, tuple[Seconds, Result]]:
    """Seconds of each function, and its last result, by its name: A B, B A, so that what slows a machine slows all alike.

    Each second round is the other way round, since what runs before a function may take the caches from it. Rounds end
    after `runs` of them, or once the slowest function took `enough` seconds. worked: the clock of the processor.
    """
    walls: dict[str, list[float]] = {name: [] for name in functions}
    processors: dict[str, list[float]] = {name: [] for name in functions}
    results: dict[str, Result] = {}
    order = list(functions)
    for _ in range(runs):
        for name in order:
            function = functions[name]
            begin, before = clock(), worked()
            results[name] = function()
            walls[name].append(clock() - begin)
            processors[name].append(worked() - before)
        order.reverse()
        if max(map(sum, walls.values())) >= enough:
            break
    return {name: (Seconds.of(walls[name], processors[name]), results[name]) for name in functions}


def of_children() -> float:
    """Seconds of the processor in the processes that this one started, and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


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

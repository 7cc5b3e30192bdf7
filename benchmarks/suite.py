"""The benchmarks, which arguments each takes to be quick or long, and how they are run and tabulated."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from growth import Series
from measurement import Measurement, measurement_of

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Script:
    """A benchmark.

    quick: its arguments in a run of some minutes, None where it has nothing quick; long: in a whole one. options: those that
    it takes over from `python benchmarks`.
    """

    name: str
    quick: tuple[str, ...] | None = ()
    long: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file."""
        return Path(__file__).parent / f"{self.name}.py"

    def arguments(self, chosen: argparse.Namespace) -> tuple[str, ...] | None:
        """Its arguments under the options of `python benchmarks`, None where it takes no part.

        What is asked for by name takes part, also when it has nothing quick.
        """
        arguments = self.long if chosen.long else self.quick
        if chosen.only:
            arguments = (arguments or ()) if self.name in chosen.only else None
        if arguments is None:
            return None
        given = {option: getattr(chosen, option.lstrip("-").replace("-", "_")) for option in self.options}
        values = {option: () if value is True else (str(value),) for option, value in given.items() if value}
        return (*arguments, *(part for option, value in values.items() for part in (option, *value)))


SCRIPTS = (
    Script("counting"),
    Script("lattice_search", options=("--arx",)),
    Script("stepwise_search", quick=("--quick",), options=("--chordalysis", "--ess")),
    Script("privacy_checks", quick=("--quick",)),
    Script("publish_adult"),
    Script("start_up"),
    Script("release_queries"),
    Script("published_tables", quick=("--blocks", "20", "40", "--programs", "1")),
    Script("iterative_fitting"),
    Script("large_releases"),
    Script("wide_publishing", quick=("--quick",)),
    Script("anonymity_peers", options=("--peer-python", "--make-peer-environment")),
    Script("hundred_million", quick=("1e7",)),
    Script("lands_end", quick=None),
    Script("chance_gains", quick=None),
    Script("similarity_foreground", quick=None),
    Script("six_tables", quick=None),
    Script("plausible_coverage", quick=None),
    Script("proven_optima", quick=None),
)


def run(script: Script, arguments: Sequence[str]) -> Iterator[Line]:
    """The JSON lines of a benchmark as they come, in a process of its own, on one thread of linear algebra.

    A benchmark that fails ends with a line that says so; what it says on standard error goes there.
    """
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    command = [sys.executable, str(script.path), *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace", env=environment
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            try:
                line = json.loads(text)
            except ValueError:
                line = None
            yield {"benchmark": script.name} | (line if isinstance(line, dict) else {"said": text.rstrip("\n")})
    if process.returncode:
        yield {"benchmark": script.name, "failed": f"it ended with status {process.returncode}"}


def measurements_of(lines: Iterable[Line]) -> list[Measurement]:
    """The lines that are measurements."""
    return [measurement for line in lines if (measurement := measurement_of(line))]


def table(measurements: Sequence[Measurement]) -> str:
    """A row for each measurement: what, how large, how long, how many times its yardstick, how much memory, how good."""
    rows = [
        {
            "benchmark": measurement.benchmark,
            "case": measurement.case,
            "size": in_words(measurement.sizes),
            "seconds": number(measurement.seconds),
            "yardstick": measurement.yardstick,
            "its seconds": number(measurement.yardstick_seconds),
            "ratio": number(measurement.ratio),
            "MB": number(measurement.megabytes),
            "quality": measurement.facts.get("quality", ""),
        }
        for measurement in measurements
    ]
    return _aligned(rows)


def growth_table(series: Sequence[Series]) -> str:
    """A row for each series: the exponents of time and memory, their spread, and the exponent of the last step alone."""
    rows = []
    for line in (one.line() for one in series):
        row = {
            "benchmark": line["of"],
            "case": line["case"],
            "fixed": in_words(line["fixed"]),
            "with": line["with"],
            "from": f"{line['from']:,}",
            "to": f"{line['to']:,}",
        }
        for quantity, short in (("seconds", "time"), ("megabytes", "memory")):
            law = line.get(quantity, {})
            row |= {f"{short} ^": number(law.get("exponent"))}
            row |= {f"{short} spread": number(law.get("spread")), f"{short} last ^": number(law.get("last_exponent"))}
        rows.append(row)
    return _aligned(rows)


def remarks(lines: Iterable[Line]) -> list[str]:
    """Whatever is no measurement, one sentence each: targets, projections, what was skipped or failed."""
    tellers: dict[str, Callable[[Any], str]] = {
        "skipped": lambda reason: f"skipped: {reason}",
        "failed": lambda reason: f"FAILED: {reason}",
        "said": lambda text: f"said: {text}",
        "projected": lambda rows: f"projected to {rows:,} rows",
    }
    found = []
    for line in lines:
        if "target" in line:
            rest = [str(value) for name, value in line.items() if name not in ("benchmark", "target", "met")]
            where = f" ({', '.join(rest)})" if rest else ""
            found.append(f"{line['benchmark']} {'met' if line['met'] else 'MISSED'}: {line['target']}{where}")
        for key, tell in tellers.items():
            if key in line:
                rest = {name: value for name, value in line.items() if name not in ("benchmark", key)}
                more = ", ".join(f"{name} {json.dumps(value)}" for name, value in rest.items())
                found.append(f"{line['benchmark']} {tell(line[key])}{more and f' ({more})'}")
                break
    return found


def in_words(sizes: Mapping[str, int]) -> str:
    """Sizes as a table shows them."""
    return ", ".join(f"{size:,} {name}" for name, size in sizes.items())


def number(value: float | None) -> str:
    """Three significant digits, without exponent unless it is far from one; nothing for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if 100 <= abs(value) < 1e9 else f"{value:.3g}"


def _aligned(rows: Sequence[Mapping[str, str]]) -> str:
    """Columns of text to the left, of numbers to the right."""
    frame = pd.DataFrame(rows)
    left = {
        name: f"{{:<{max(map(len, (name, *frame[name])))}}}".format
        for name in ("benchmark", "case", "fixed", "size", "yardstick")
        if name in frame
    }
    return str(frame.to_string(index=False, formatters=left, justify="left")) if rows else ""

"""The page docs/benchmarks.md, some twenty lines of what `results/long.jsonl` keeps of the newest run of each script.

`python benchmarks --page` makes it anew, with a few pictures of how things grow where Matplotlib is installed. All lines go
to `results/measurements.csv`, and the power laws through their sizes to `results/growth.csv`.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from growth import Series, all_series
from growth_plots import draw, picture_name
from kept_runs import Line, newest
from measurement import SIZES, Measurement
from suite import SCRIPTS, in_words, measurements_of, number, remarks

KEPT = Path(__file__).parent / "results" / "long.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "benchmarks"
MEASUREMENTS = KEPT.parent / "measurements.csv"
GROWTH = KEPT.parent / "growth.csv"

BUSY = r" \*"
OURS = "marginals"
"""How the yardstick of another program's line begins."""

Runs = Mapping[str, tuple[Sequence[Line], Line]]


@dataclass(frozen=True)
class Row:
    """A line of the page. task: in words. script, case, sizes: the measurement; the sizes named decide, not all need be."""

    task: str
    script: str
    case: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    other: str = ""

    def matches(self, one: Measurement) -> bool:
        """Whether it is that measurement."""
        return one.case == self.case and self.sizes.items() <= one.sizes.items()


ROWS = (
    Row("All three-way tables of 7 attributes, counted", "counting", "three-way table, drawn", {"rows": 10_000_000}),
    Row("All minimal 6-anonymous tables of Adult", "lattice_search", "Adult 6-anonymous beside ARX, whole processes"),
    Row("The same of a census", "lattice_search", "census 6-anonymous beside ARX, whole processes"),
    Row("A decomposable model of Adult", "stepwise_search", "Adult, pyAgrum", other="pyAgrum"),
    Row("The same", "stepwise_search", "Adult, Chordalysis", other="Chordalysis"),
    Row("The same", "stepwise_search", "Adult, ess", other="ess"),
    Row("The same of drawn tables", "stepwise_search", "drawn, Chordalysis", {"attributes": 400}, "Chordalysis"),
    Row(
        "Maxent diversity checked",
        "privacy_checks",
        "chain, effect 0.3, recursive:3,6, beside its join",
        other="joining all margins",
    ),
    Row(
        "k-combinatorial anonymity checked",
        "privacy_checks",
        "chain, effect 0.3, k-combinatorial:6, beside its join",
        other="the same",
    ),
    Row("Adult published", "publish_adult", "whole command"),
    Row("A wide table published", "wide_publishing", "publish", {"attributes": 400}),
    Row("A long and wide table published", "wide_publishing", "publish", {"attributes": 60}),
    Row("A large table published", "hundred_million", "publish", {"rows": 100_000_000}),
    Row("Lands End published", "lands_end", "publish", {"rows": 4_591_581}),
    Row("A release of few tables asked by the command", "start_up", "query, few tables", other="importing NumPy"),
    Row("A large release verified", "large_releases", "pairs: verify"),
    Row("1,000 queries", "release_queries", "1,000 queries, pgmpy", other="pgmpy"),
    Row("Synthetic rows", "release_queries", "sample, pyagrum", other="pyAgrum"),
    Row("Synthetic rows", "release_queries", "sample, mbi", other="mbi"),
    Row("Iterative fitting of three pairs", "iterative_fitting", "three pairs, ipfn", {"cells": 97_336}, "ipfn"),
    Row("The same", "iterative_fitting", "three pairs, mbi", {"cells": 97_336}, "mbi"),
    Row("The same", "iterative_fitting", "three pairs, loglin", {"cells": 1_000_000}, "loglin of R"),
    Row("k and l of Adult measured", "anonymity_peers", "k and l, pycanon", {"rows": 45_222}, "pycanon"),
    Row("Published tables audited", "published_tables", "300 blocks"),
)
"""What a reader asks first: how long the common tasks take, and compared with which other work."""

GROWING = (("hundred_million", "rows"), ("stepwise_search", "attributes"), ("wide_publishing", "attributes"))
"""The pictures on the page: a script, and the size that its measurements grow with."""

_HEAD = """# How long it takes

{circumstances}

Each row names a task, its seconds, and what they are compared with: another program, or a piece of work that any program
must do (counting cells once, reading the file). "Its time / ours" is the time of that other work as a multiple of ours:
above 1, `marginals` is faster; below 1, slower. Seconds are the least of some runs, by the clock on the wall. Both are
measured in turns within one run, so the multiple depends less on the machine than the seconds do. MB is the peak of the
process where the case has a process, else what the case allocates.
"""

_REST = """A line with \\* was measured while the machine was busy; its multiple may be quoted, its seconds not.

Scripts check targets, too: {met} are met and {missed} missed.{which}

## How it grows
"""

_TAIL = """## Everything that was measured

- [measurements.csv](../benchmarks/results/measurements.csv): all {count:,} lines, with processor time, memory and the commit
- [growth.csv](../benchmarks/results/growth.csv): the exponents of the power laws through the sizes of each case
- [long.jsonl](../benchmarks/results/long.jsonl): the raw lines of all runs, as
  `python benchmarks --long --keep benchmarks/results/long.jsonl` added them

`python benchmarks --page` makes this page and the two tables of the newest run of each script.
"""


def page(path: Path = KEPT) -> str:
    """The text of the page. Raises ValueError where a line that is kept is no JSON object."""
    runs = newest(path)
    measurements = {script: measurements_of(lines) for script, (lines, _) in runs.items()}
    rows = [_cells(row, one) for row in ROWS for one in measurements.get(row.script, ()) if row.matches(one)]
    targets = [remark for lines, _ in runs.values() for remark in remarks([line for line in lines if "target" in line])]
    missed = [target for target in targets if " MISSED: " in target]
    growing = [all_series(measurements.get(script, ())) for script, _ in GROWING]
    pictures = [
        f"![Growth of {script} with {size}]({PICTURES.name}/{picture_name(script, size)})\n"
        for (script, size), series in zip(GROWING, growing)
        if any(one.grows == size for one in series)
    ]
    names = ["task", "size", "seconds", "compared with", "its seconds", "its time / ours", "MB"]
    return "\n".join(
        [
            _HEAD.format(circumstances=_circumstances([told for _, told in runs.values()])),
            _markdown(names, rows),
            _REST.format(
                met=len(targets) - len(missed),
                missed=len(missed),
                which="".join(f"\n- {target}" for target in missed),
            ),
            *pictures,
            _TAIL.format(count=sum(map(len, measurements.values()))),
        ]
    )


def files(path: Path = KEPT) -> dict[Path, str]:
    """The page and the tables beside it, by their paths."""
    runs = newest(path)
    return {PAGE: page(path), MEASUREMENTS: _measurements_csv(runs), GROWTH: _growth_csv(runs)}


def write() -> list[Path]:
    """Write the page, its tables and its pictures, as far as Matplotlib is installed; what was written."""
    texts = files()
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    series = _all_series(newest(KEPT))
    shown = [one for one in series if (one.benchmark, one.grows) in GROWING]
    return [*texts, *(draw(shown, PICTURES) if find_spec("matplotlib") else [])]


def _circumstances(told: Sequence[Line]) -> str:
    """When and where it was measured: of all runs together, in their order."""
    dates, commits, machines = (
        " and ".join(dict.fromkeys(values))
        for values in (
            [run["date"] for run in told],
            [run["commit"] for run in told],
            [f"{run['cores']} cores ({run['processor']})" for run in told],
        )
    )
    return f"Measured on {dates} at commit {commits}, on {machines}."


def _cells(row: Row, one: Measurement) -> list[str]:
    """Of another program's line `seconds` are its own and the yardstick is ours; of the others it is the other way."""
    is_other = one.yardstick.startswith(OURS)
    ours, theirs = (one.yardstick_seconds, one.seconds) if is_other else (one.seconds, one.yardstick_seconds)
    return [
        row.task + (BUSY if one.facts.get("busy") else ""),
        in_words(one.sizes),
        number(ours),
        row.other or one.yardstick,
        number(theirs),
        number(theirs / ours if ours and theirs else None),
        "" if is_other else number(one.megabytes),
    ]


def _measurements_csv(runs: Runs) -> str:
    """A line for each measurement: what and how large, seconds and megabytes, when and at which commit."""
    facts = ("processor_seconds", "processor_ratio", "quality", "busy")
    sizes = sorted(SIZES)
    names = ["benchmark", "case", *sizes, "seconds", "megabytes", "yardstick", "yardstick_seconds", "ratio", *facts]
    return _csv(
        [*names, "date", "commit"],
        (
            [
                *(script.name, one.case, *(one.sizes.get(size, "") for size in sizes), one.seconds, one.megabytes),
                *(one.yardstick, one.yardstick_seconds, one.ratio, *(one.facts.get(fact, "") for fact in facts)),
                *(told["date"], told["commit"]),
            ]
            for script in SCRIPTS
            if script.name in runs
            for lines, told in [runs[script.name]]
            for one in measurements_of(lines)
        ),
    )


def _growth_csv(runs: Runs) -> str:
    """A line for each series: the exponents of the power laws through all sizes, and through the last two."""
    names = ["benchmark", "case", "fixed", "grows", "from", "to"]
    laws = [(quantity, key) for quantity in ("seconds", "megabytes") for key in ("exponent", "last_exponent")]
    rows = []
    for one in _all_series(runs):
        line = one.line()
        exponents = [line.get(quantity, {}).get(key, "") for quantity, key in laws]
        rows.append([one.benchmark, one.case, in_words(one.fixed), one.grows, line["from"], line["to"], *exponents])
    return _csv([*names, *(f"{quantity}_{key}" for quantity, key in laws)], rows)


def _all_series(runs: Runs) -> list[Series]:
    return all_series([one for lines, _ in runs.values() for one in measurements_of(lines)])


def _csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *rows])
    return text.getvalue()


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

"""The page docs/benchmarks.md: what `results/long.jsonl` keeps of the newest run of each script, as tables.

`python benchmarks --page` makes it anew, with pictures of how things grow where Matplotlib is installed.
"""

import ast
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from growth import Series, all_series
from growth_plots import draw, picture_name
from kept_runs import Line, newest
from measurement import Measurement
from suite import SCRIPTS, in_words, measurements_of, number, remarks

KEPT = Path(__file__).parent / "results" / "long.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PICTURES = PAGE.parent / "benchmarks"

BUSY = r" \*"

_HEAD = """# How long it takes, and how it grows

What the newest run of each benchmark measured, as `python benchmarks --long --keep benchmarks/results/long.jsonl` kept it,
or the same without `--long`, where arguments are named; `python benchmarks --page` makes this page of it.

- *seconds*: the least of some runs, by the clock on the wall; *processor*: the least of their processor time, all threads.
- *beside*: another program, or a piece of work that any program must do, measured in turns with it; *ratio*: the seconds as
  a multiple of its seconds; *by processor*: the same of processor time. A line of another program tells in the same way how
  many times as long as ours it takes.
- *MB*: the peak of a process where the case has its own, else of what the case allocates.
- *earlier*: what was measured before the work on width and speed, on another machine.
- A line with \\* was measured while the machine was busy with other things, too: its ratios may be quoted, its seconds not.
"""


def page(path: Path = KEPT) -> str:
    """The text of the page. Raises ValueError where a line that is kept is no JSON object."""
    runs = newest(path)
    parts = [_HEAD]
    for script in SCRIPTS:
        if script.name not in runs:
            continue
        lines, told = runs[script.name]
        said = (ast.get_docstring(ast.parse(script.path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
        parts.append(f"## {script.name}\n\n{said}\n\n{_circumstances(told)}\n")
        measurements = measurements_of(lines)
        if measurements:
            parts.append(_table(measurements))
        if series := all_series(measurements):
            parts.append(_growth(series))
            pictures = dict.fromkeys(picture_name(script.name, one.grows) for one in series)
            parts += [f"![Growth of {script.name}]({PICTURES.name}/{picture})\n" for picture in pictures]
        if rest := remarks(lines):
            parts.append("".join(f"- {remark}\n" for remark in rest))
    return "\n".join(parts)


def write() -> list[Path]:
    """Write the page and its pictures, as far as Matplotlib is installed; what was written."""
    PAGE.write_text(page(), encoding="utf-8")
    lines = [line for kept, _ in newest(KEPT).values() for line in kept]
    pictures = draw(all_series(measurements_of(lines)), PICTURES) if find_spec("matplotlib") else []
    return [PAGE, *pictures]


def _circumstances(told: Line) -> str:
    how = f" with `{' '.join(told['arguments'])}`" if told["arguments"] else ""
    where = f"on {told['cores']} cores ({told['processor']})"
    return f"Measured{how} on {told['date']} at commit {told['commit']}, {where}."


def _table(measurements: Sequence[Measurement]) -> str:
    """A row for each measurement."""
    rows = []
    is_judged = any("quality" in one.facts for one in measurements)
    for one in measurements:
        facts = [one.facts.get(fact) for fact in ("processor_seconds", "processor_ratio")]
        processor, processor_ratio = (number(fact) if isinstance(fact, float | int) else "" for fact in facts)
        rows.append(
            [
                one.case + (BUSY if one.facts.get("busy") else ""),
                in_words(one.sizes),
                number(one.seconds),
                processor,
                f"{one.yardstick}: {number(one.yardstick_seconds)}" if one.yardstick else "",
                number(one.ratio),
                processor_ratio,
                number(one.megabytes),
                *([str(one.facts.get("quality", ""))] if is_judged else []),
                str(one.facts.get("earlier", "")),
            ]
        )
    names = ["case", "size", "seconds", "processor", "beside", "ratio", "by processor", "MB"]
    names += [*(["quality"] if is_judged else []), "earlier"]
    return _markdown(names, rows)


def _growth(series: Sequence[Series]) -> str:
    """A row for each series: the exponents of the power laws through its sizes."""
    rows = []
    for one in series:
        line = one.line()
        laws = [line.get(quantity, {}).get(key) for quantity in ("seconds", "megabytes") for key in _EXPONENTS]
        span = f"{line['from']:,} to {line['to']:,} {one.grows}"
        rows.append([one.case, in_words(one.fixed), span, *map(number, laws)])
    names = ["how it grows", "fixed", "from, to", "time: exponent", "of the last step", "memory: exponent"]
    return _markdown([*names, "of the last step"], rows)


_EXPONENTS = ("exponent", "last_exponent")


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

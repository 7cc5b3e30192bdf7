"""All benchmarks with one command: JSON lines as they come, then a table, how things grow, and what was aimed at.

    python benchmarks                                  # the quick parts, some minutes
    python benchmarks --only counting --only privacy_checks
    python benchmarks --json results.jsonl --plots pictures --make-peer-environment
    python benchmarks --long                           # everything, up to 100,000,000 rows
    python benchmarks --long --keep long.jsonl         # the same, where an interrupted run goes on after its last script
    python benchmarks --page                           # docs/benchmarks.md, of what benchmarks/results/long.jsonl keeps
    python benchmarks --pages                          # the numbers of written pages, measured anew and put there

Each script in this folder also runs by itself. Measurements need quiet processors; they are no part of the tests' verdict.
pgmpy, pyAgrum, ipfn, mbi and R's loglin take part where they are installed, Chordalysis, ess and ARX where clones of them
are named; anjana and pycanon run in an environment of their own. Programs that do the same take turns. Lines of a busy
machine say so.
The table's ratio is the time as a multiple of the yardstick's. MB is the peak of a process where the case has its own, else
what the case allocates. Growth is fitted as size^exponent through all sizes of a series; `spread` is the factor by which
measurements lie off it, `last ^` the exponent of the largest step alone.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import kept_runs
import long_page
import page_numbers
from arx import CLONE as ARX
from growth import all_series
from growth_plots import draw
from measurement import circumstances, options
from selection_peers import CHORDALYSIS, ESS
from suite import SCRIPTS, growth_table, measurements_of, remarks, run, table


def main() -> int:
    parser = parser_of_all()
    chosen = parser.parse_args()
    if chosen.pages:
        return renew_pages(chosen.only or list(page_numbers.SCRIPTS))
    if chosen.page:
        for path in long_page.write():
            print(f"wrote {path}")
        return 0
    if chosen.plots and find_spec("matplotlib") is None:
        parser.error("--plots needs matplotlib; install it, or leave the option out")
    if chosen.plots:
        try:
            chosen.plots.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--plots {chosen.plots}: {error.strerror}")
    lines: list[dict[str, object]] = []
    with ExitStack() as stack:
        out = stack.enter_context(chosen.json.open("w", encoding="utf-8")) if chosen.json else sys.stdout
        for line in measured(chosen):
            lines.append(line)
            print(json.dumps(line), file=out, flush=True)
        measurements = measurements_of(lines)
        series = all_series(measurements)
        for one in series:
            print(json.dumps(one.line()), file=out, flush=True)
    for part in (table(measurements), growth_table(series), "\n".join(remarks(lines))):
        print(f"\n{part}" if part else "")
    if chosen.plots:
        for path in draw(series, chosen.plots):
            print(f"wrote {path}")
    return int(any("failed" in line for line in lines))


def parser_of_all() -> argparse.ArgumentParser:
    """The options; those of single scripts are handed to them."""
    parser = options(__file__, __doc__)
    parser.prog = "python benchmarks"
    names = [script.name for script in SCRIPTS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--long", action="store_true", help="all sizes, and the long benchmarks too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON lines there; default: print them")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FILE",
        help="add each script's lines to it; those there of this commit are not run",
    )
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the growth curves there (extra `plot`)")
    parser.add_argument(
        "--peer-python", metavar="PATH", help="for anonymity_peers: a Python that has anjana and pycanon"
    )
    parser.add_argument("--make-peer-environment", action="store_true", help="for anonymity_peers: install these first")
    CHORDALYSIS.add_to(parser, "stepwise_search")
    ESS.add_to(parser, "stepwise_search")
    ARX.add_to(parser, "lattice_search")
    parser.add_argument(
        "--page", action="store_true", help="make docs/benchmarks.md of the kept lines; measure nothing"
    )
    parser.add_argument("--pages", action="store_true", help="measure the numbers of written pages, and put them there")
    return parser


def measured(chosen: argparse.Namespace) -> Iterator[dict[str, object]]:
    """The lines of all scripts that take part, as they come."""
    commit = circumstances()["commit"]
    for script in SCRIPTS:
        if (arguments := script.arguments(chosen)) is None:
            continue
        before = kept_runs.kept(chosen.keep, script.name, arguments, commit) if chosen.keep else None
        print(f"{'running' if before is None else 'kept'} {script.name}", file=sys.stderr, flush=True)
        lines: list[dict[str, object]] = []
        for line in run(script, arguments) if before is None else before:
            lines.append(dict(line))
            yield lines[-1]
        if chosen.keep and before is None:
            # Of the state in which it began: a commit made meanwhile is none of what was measured.
            kept_runs.keep(chosen.keep, script.name, arguments, lines, circumstances() | {"commit": commit})


def renew_pages(names: Sequence[str]) -> int:
    """Measure what written pages tell of these benchmarks, keep it, and change the pages."""
    told = circumstances()
    new, failed = [], False
    for script in SCRIPTS:
        if script.name in names and script.name in page_numbers.SCRIPTS:
            print(f"running {script.name}", file=sys.stderr, flush=True)
            for line in run(script, page_numbers.SCRIPTS[script.name]):
                print(json.dumps(line), flush=True)
                failed |= "failed" in line
                if page_numbers.is_wanted(line):
                    new.append(
                        {**line, "date": told["date"], "processor_name": told["processor"], "commit": told["commit"]}
                    )
    lines = page_numbers.replaced(page_numbers.kept(), new)
    pages = page_numbers.filled(page_numbers.written(), lines)
    page_numbers.KEPT.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

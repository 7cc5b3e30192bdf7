"""All benchmarks with one command: JSON lines as they come, then a table, how things grow, and what was aimed at.

    python benchmarks                                  # the quick parts, some minutes
    python benchmarks --only counting --only privacy_checks
    python benchmarks --json results.jsonl --plots pictures --make-peer-environment
    python benchmarks --long                           # everything, up to 100,000,000 rows
    python benchmarks --long --keep long.jsonl         # the same, where an interrupted run goes on after its last script
    python benchmarks --readme                         # the numbers of the README, measured anew and put there

Each script in this folder also runs by itself. Measurements need quiet processors; they are no part of the tests' verdict.
pgmpy, pyAgrum and ipfn take part where they are installed, Chordalysis and ARX where clones of them are named; anjana and
pycanon run in an environment of their own. Programs that do the same take turns. Lines of a busy machine say so.
The table's ratio is the time as a multiple of the yardstick's. MB is the peak of a process where the case has its own, else
what the case allocates. Growth is fitted as size^exponent through all sizes of a series; `spread` is the factor by which
measurements lie off it, `last ^` the exponent of the largest step alone.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import kept_runs
import readme_numbers
from growth import all_series
from growth_plots import draw
from measurement import circumstances, options
from suite import SCRIPTS, growth_table, measurements_of, remarks, run, table


def main() -> int:
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
    parser.add_argument(
        "--chordalysis", metavar="FOLDER", help="for stepwise_search: a clone of github.com/fpetitjean/Chordalysis"
    )
    parser.add_argument(
        "--arx", metavar="FOLDER", help="for lattice_search: a clone of github.com/arx-deidentifier/arx"
    )
    parser.add_argument("--make-peer-environment", action="store_true", help="for anonymity_peers: install these first")
    parser.add_argument("--readme", action="store_true", help="measure the numbers of the README, and put them there")
    chosen = parser.parse_args()
    if chosen.readme:
        return renew_readme(chosen.only or list(readme_numbers.SCRIPTS))
    if chosen.plots and find_spec("matplotlib") is None:
        parser.error("--plots needs matplotlib; install it, or leave the option out")
    if chosen.plots:
        try:
            chosen.plots.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--plots {chosen.plots}: {error.strerror}")
    lines: list[dict[str, object]] = []
    commit = circumstances()["commit"]
    with ExitStack() as stack:
        out = stack.enter_context(chosen.json.open("w", encoding="utf-8")) if chosen.json else sys.stdout

        def tell(line: dict[str, object]) -> None:
            lines.append(line)
            print(json.dumps(line), file=out, flush=True)

        for script in SCRIPTS:
            # What is asked for by name is run, also when it has nothing quick.
            arguments = script.arguments(chosen.long)
            if chosen.only:
                arguments = (arguments or ()) if script.name in chosen.only else None
            if arguments is None:
                continue
            if script.name == "anonymity_peers":
                arguments += ("--peer-python", chosen.peer_python) if chosen.peer_python else ()
                arguments += ("--make-peer-environment",) if chosen.make_peer_environment else ()
            if script.name == "stepwise_search" and chosen.chordalysis:
                arguments += ("--chordalysis", chosen.chordalysis)
            if script.name == "lattice_search" and chosen.arx:
                arguments += ("--arx", chosen.arx)
            before = kept_runs.kept(chosen.keep, script.name, arguments, commit) if chosen.keep else None
            print(f"{'running' if before is None else 'kept'} {script.name}", file=sys.stderr, flush=True)
            begin = len(lines)
            for line in run(script, arguments) if before is None else before:
                tell(dict(line))
            if chosen.keep and before is None:
                # Of the state in which it began: a commit made meanwhile is none of what was measured.
                kept_runs.keep(chosen.keep, script.name, arguments, lines[begin:], circumstances() | {"commit": commit})
        measurements = measurements_of(lines)
        series = all_series(measurements)
        for one in series:
            tell(one.line())
    for part in (table(measurements), growth_table(series), "\n".join(remarks(lines))):
        print(f"\n{part}" if part else "")
    if chosen.plots:
        for path in draw(series, chosen.plots):
            print(f"wrote {path}")
    return int(any("failed" in line for line in lines))


def renew_readme(names: Sequence[str]) -> int:
    """Measure what the README tells of these benchmarks, keep it, and change the README."""
    told = circumstances()
    new, failed = [], False
    for script in SCRIPTS:
        if script.name in names and script.name in readme_numbers.SCRIPTS:
            print(f"running {script.name}", file=sys.stderr, flush=True)
            for line in run(script, readme_numbers.SCRIPTS[script.name]):
                print(json.dumps(line), flush=True)
                failed |= "failed" in line
                if readme_numbers.is_wanted(line):
                    new.append(
                        {**line, "date": told["date"], "processor_name": told["processor"], "commit": told["commit"]}
                    )
    lines = readme_numbers.replaced(readme_numbers.kept(), new)
    text = readme_numbers.filled(readme_numbers.README.read_text(encoding="utf-8"), lines)
    readme_numbers.KEPT.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    readme_numbers.README.write_text(text, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

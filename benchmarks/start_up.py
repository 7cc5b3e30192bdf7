"""How long commands take that have little to do: processes from their start to their end, beside one that imports NumPy.

`query` and `verify` on releases of Adult with few tables and with many, `--help`, and Python that imports `marginals` or
nothing. All take turns. Needs the real table: ../shared/data, or the folder that MARGINALS_DATA names.
"""

import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import publish_adult
from measurement import Measurement, interleaved, of_children, options, say, skipped

RUNS = 12
TIMES_NUMPY, MORE_SECONDS = 1.2, 0.15
"""What `query` and `verify` may take: so many times an import of NumPy, and so much more."""

MOST_HELP, MOST_IMPORT = 0.12, 0.05
"""Seconds that the help may take, and `import marginals` beyond bare Python."""


def marginals(*arguments: str) -> tuple[str, ...]:
    """The command as a process."""
    return (sys.executable, "-c", "from marginals.commands.main import main; main()", *arguments)


def release_of_config(folder: Path) -> Path:
    """A release of Adult with few tables, by the policy of KG06 section 8."""
    (folder / "release.toml").write_text(publish_adult.config())
    subprocess.run(
        marginals("publish", "release.toml", "--out", "release"), check=True, capture_output=True, cwd=folder
    )
    return folder / "release"


def release_of_guesses(folder: Path) -> Path:
    """A release of all columns of Adult by the config that `marginals init` writes, which has many tables."""
    shutil.copy(publish_adult.DATA / "adult.csv", folder)
    for arguments in (("init", "adult.csv"), ("publish", "release.toml", "--out", "release")):
        subprocess.run(marginals(*arguments), check=True, capture_output=True, cwd=folder)
    return folder / "release"


def main() -> None:
    options(__file__, __doc__).parse_args()
    if not publish_adult.DATA.is_dir():
        skipped("start_up", "the Adult table is not here")
        return
    commands = {
        "python": (sys.executable, "-c", "pass"),
        "numpy": (sys.executable, "-c", "import numpy"),
        "import marginals": (sys.executable, "-c", "import marginals"),
        "marginals --help": marginals("--help"),
    }
    tables: dict[str, int] = {}
    with ExitStack() as stack:
        for make, size in ((release_of_config, "few tables"), (release_of_guesses, "many tables")):
            release = make(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            for name, rest in (("query", ["sex=Female"]), ("verify", [])):
                commands[f"{name}, {size}"] = marginals(name, str(release), *rest)
                tables[f"{name}, {size}"] = len(list((release / "marginals").glob("*.csv")))
        runs = {
            name: partial(subprocess.run, command, check=True, capture_output=True)
            for name, command in commands.items()
        }
        turns = interleaved(runs, RUNS, enough=60, worked=of_children)
    took = {name: seconds for name, (seconds, _) in turns.items()}
    for name in ("import marginals", "marginals --help", *tables):
        yardstick = "python" if name == "import marginals" else "numpy"
        facts = {"tables": tables[name]} if name in tables else {}
        Measurement("start_up", name, {}, took[name], None, yardstick, took[yardstick], facts).print()
    allowed = TIMES_NUMPY * took["numpy"].processor + MORE_SECONDS
    for name in tables:
        target = f"{name} in {TIMES_NUMPY} times the processor time of an import of NumPy and {MORE_SECONDS} s"
        say(benchmark="start_up", target=target, met=took[name].processor <= allowed)
    met = took["marginals --help"].processor <= MOST_HELP
    say(benchmark="start_up", target=f"--help in {MOST_HELP} s of processor time", met=met)
    met = took["import marginals"].processor - took["python"].processor <= MOST_IMPORT
    say(benchmark="start_up", target=f"import marginals in {MOST_IMPORT} s more than Python alone", met=met)


if __name__ == "__main__":
    main()

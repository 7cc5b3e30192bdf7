"""What users type, timed beside the fastest other program that is known for it: the rows of docs/benchmarks.md.

    python benchmarks/tasks.py [TASK ...] [--peers PYTHON] [--keep] [--page]

Adult comes from ../shared/data or the folder that MARGINALS_DATA names; the rest is made here. `--peers` names a Python
with what `peers.py` needs; without it the peers are left out. Seconds are processor time, medians of some runs: of whole
commands as the operating system counts it, of functions without imports and reading. `--keep` keeps the lines.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from measurement import circumstances, options, skipped

HERE = Path(__file__).parent
KEPT = HERE / "results" / "tasks.jsonl"
PAGE = HERE.parent / "docs" / "benchmarks.md"
ADULT = Path(os.environ.get("MARGINALS_DATA", HERE.parents[1] / "shared" / "data")) / "adult" / "adult.csv"
QUASI_IDENTIFIERS = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
NETWORKS = ("child", "insurance", "alarm", "hailfinder", "win95pts")
RUNS = 3
Line = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A folder to work in, and the Python of the peers; None where there is none."""

    folder: Path
    python: str | None

    def command(self, *words: object, runs: int = RUNS, fresh: str | None = None) -> tuple[float, str]:
        """Median processor seconds of a command of ours, and what it printed. fresh: what is removed before each run."""
        command = [sys.executable, "-c", "from marginals.commands.main import main; main()", *map(str, words)]
        return self._timed(command, runs, fresh)

    def program(self, text: str, runs: int = RUNS) -> Line:
        """What a program that uses the package prints, as JSON; the median of its seconds."""
        lines = [json.loads(self._timed([sys.executable, "-c", text])[1]) for _ in range(runs)]
        return lines[-1] | {"seconds": median(line["seconds"] for line in lines)}

    def other(self, name: str, *words: object, runs: int = 1) -> Line:
        """The same of the peers; nothing where there are none."""
        if self.python is None:
            return {}
        command = [self.python, "-W", "ignore", str(HERE / "peers.py"), *map(str, words)]
        lines = [json.loads(self._timed(command)[1].splitlines()[-1]) for _ in range(runs)]
        seconds = median(line["seconds"] for line in lines)
        return {"peer": name, "peer_seconds": seconds, "peer_result": lines[-1]["result"]}

    def _timed(self, command: Sequence[str], runs: int = 1, fresh: str | None = None) -> tuple[float, str]:
        seconds, printed = [], ""
        for _ in range(runs):
            if fresh is not None:
                shutil.rmtree(self.folder / fresh, ignore_errors=True)
            with tempfile.TemporaryFile("w+") as out:
                started = subprocess.Popen(command, cwd=self.folder, stdout=out)
                _, status, usage = os.wait4(started.pid, 0)
                out.seek(0)
                printed = out.read()
            if os.waitstatus_to_exitcode(status) not in (0, 1):
                raise RuntimeError(f"{command[1:]} ended with status {os.waitstatus_to_exitcode(status)}")
            seconds.append(usage.ru_utime + usage.ru_stime)
        return median(seconds), printed


def adult(place: Place) -> Iterator[Line]:
    """A file of 13 columns from the first config to questions, as `init` guesses it."""
    shutil.copy(ADULT, place.folder / "adult.csv")
    size = "45,222 rows, 13 columns"
    seconds, _ = place.command("init", "adult.csv", "--force")
    yield {"typed": "marginals init adult.csv", "size": size, "seconds": seconds}
    seconds, said = place.command("publish", "release.toml", "--out", "release", "--json", fresh="release")
    published = json.loads(said)
    two_way = published["errors"]["two_way"]["mean"]
    tables = f"{len(published['margins'])} tables"
    result = f"{tables}, KL {published['kl_divergence']:.3f}, two-way total variation {two_way:.3g}"
    yield {"typed": "marginals publish release.toml", "size": size, "seconds": seconds, "result": result}
    seconds, _ = place.command("verify", "release", "--seconds", 1_000)
    yield {"typed": "marginals verify release", "size": f"that release, {tables}", "seconds": seconds}


def release(place: Place) -> Iterator[Line]:
    """What readers ask of that release."""
    shutil.copy(ADULT, place.folder / "adult.csv")
    place.command("init", "adult.csv", runs=1)
    _, said = place.command("publish", "release.toml", "--out", "release", "--json", runs=1)
    published = json.loads(said)
    size, two_way = f"a release of Adult, {len(published['margins'])} tables", published["errors"]["two_way"]["mean"]
    seconds, _ = place.command("query", "release", "sex=Female", "race=White", "--seconds", 1_000)
    yield {"typed": "marginals query release sex=Female race=White", "size": size, "seconds": seconds}
    names, rng = list(pd.read_csv(place.folder / "adult.csv", nrows=1)), np.random.default_rng(0)
    sets = [rng.choice(names, number, replace=False).tolist() for number in rng.integers(2, 4, 100)]
    (place.folder / "asked.json").write_text(json.dumps(sets))
    yield {
        "typed": "release.counts(names), 100 times",
        "size": f"{size}; sets of two or three attributes",
        **place.program(_COUNTS),
        "result": two_way,
        **place.other("pyAgrum, a network learnt from the rows", "tables", "adult.csv", "asked.json"),
        "measures": "two-way total variation",
    }
    yield {
        "typed": "release.sample(1_000_000)",
        "size": size,
        **place.program(_SAMPLE),
        **place.other("pyAgrum, that network", "sample", "adult.csv", 1_000_000),
    }


_COUNTS = """
import json, time, warnings, marginals
warnings.simplefilter("ignore")  # of tables that no published one shows
release, sets = marginals.open_release("release"), json.load(open("asked.json"))
begin = time.process_time()
for names in sets:
    release.counts(names)
print(json.dumps({"seconds": time.process_time() - begin}))
"""

_SAMPLE = """
import json, time, warnings, marginals
warnings.simplefilter("ignore")  # of tables that no published one shows
release = marginals.open_release("release")
begin = time.process_time()
release.sample(1_000_000)
print(json.dumps({"seconds": time.process_time() - begin}))
"""


def single_tables(place: Place) -> Iterator[Line]:
    """What a table itself gives away, and the best generalized one, with the same hierarchies for all programs."""
    folder = ADULT.parent / "hierarchies"
    frame = pd.read_csv(ADULT, dtype=str)[[*QUASI_IDENTIFIERS, "occupation"]]
    frame.to_csv(place.folder / "eight.csv", index=False)
    config = "[data]\npath = 'eight.csv'\ndomain = 'observed'\n[privacy]\nk_link = 10\ndiversity = 'none'\n"
    config += "[attributes.occupation]\nrole = 'sensitive'\n"
    for name in QUASI_IDENTIFIERS:
        config += f"[attributes.{name}]\nrole = 'quasi-identifier'\nhierarchy = '{folder / name}.csv'\n"
        config += "label_form = 'names'\n" if name == "age" else ""
    (place.folder / "eight.toml").write_text(config)
    size = f"{len(frame):,} rows, 8 columns"
    seconds, _ = place.command("assess", "eight.toml")
    pycanon = place.other("pycanon, k and l alone", "k_and_l", "eight.csv", *QUASI_IDENTIFIERS, runs=RUNS)
    yield {"typed": "marginals assess release.toml", "size": size, "seconds": seconds, **pycanon}
    seconds, _ = place.command("anonymize", "eight.toml", "--out", "one.csv", "--force")
    made = pd.read_csv(place.folder / "one.csv", dtype=str, keep_default_na=False)
    classes = made["count"].astype(int).groupby([made[name] for name in QUASI_IDENTIFIERS]).sum()
    yield {
        "typed": "marginals anonymize release.toml --out one.csv",
        "size": f"{size}, k = 10; the minimal table of least KL divergence",
        "seconds": seconds,
        "result": float((classes**2).sum()),
        **place.other("anjana, k-anonymity", "k_anonymous", "eight.csv", folder, *QUASI_IDENTIFIERS, runs=RUNS),
        "measures": "discernibility",
    }


def networks(place: Place) -> Iterator[Line]:
    """A decomposable model by BIC of rows drawn from public networks, as `select` does it unless told otherwise."""
    if place.python is None:
        skipped("tasks", "networks need pgmpy: --peers")
        return
    subprocess.run([place.python, "-W", "ignore", HERE / "peers.py", "networks", place.folder], check=True)
    for name in NETWORKS:
        ours = place.program(_SELECT.replace("NAME", name), runs=1)
        yield {
            "typed": "marginals.select(frame)",
            "size": f"{name}: 10,000 rows, {ours.pop('attributes')} columns",
            **ours,
            "runs": 1,
            **place.other("pyAgrum, a greedy DAG made chordal and pruned", "chordal", f"{name}.csv"),
            "measures": "BIC",
        }


_SELECT = """
import json, time, marginals, pandas as pd
from models import Deadline
frame = pd.read_csv("NAME.csv", dtype=str, keep_default_na=False)
begin = time.process_time()
# 20 s, the default, of the processor: others may keep this machine busy.
found = marginals.select(frame, time_limit=Deadline.after(20, time.process_time))
print(json.dumps({"seconds": time.process_time() - begin, "result": found.bic, "attributes": frame.shape[1]}))
"""


def large(place: Place) -> Iterator[Line]:
    """A file of nine columns as `init` guesses it, with fitted levels."""
    subprocess.run([sys.executable, "-c", _LARGE], check=True, cwd=place.folder, stderr=subprocess.DEVNULL)
    size = "10,000,000 rows, 9 columns of Parquet"
    peer = place.other("DuckDB, one GROUP BY of all columns", "group_by", "large.parquet", runs=RUNS)
    seconds, _ = place.command("init", "large.parquet", "--out", "large.toml", "--force", runs=1)
    yield {"typed": "marginals init large.parquet", "size": size, "seconds": seconds, "runs": 1, **peer}
    seconds, said = place.command("publish", "large.toml", "--out", "large", "--json", runs=1, fresh="large")
    published = json.loads(said)
    result = f"{len(published['margins'])} tables, KL {published['kl_divergence']:.3f}"
    yield {
        "typed": "marginals publish release.toml",
        "size": size,
        "seconds": seconds,
        "runs": 1,
        "result": result,
        **peer,
    }


_LARGE = """
import duckdb
duckdb.sql('''COPY (SELECT
    (18 + 70 * pow(random(), 1.5))::INT AS age, (random() * 2)::INT AS sex, (pow(random(), 3) * 500)::INT AS region,
    (pow(random(), 2) * 15)::INT AS education, (pow(random(), 2) * 40)::INT AS occupation, (random() * 4)::INT AS marital,
    (pow(random(), 4) * 20)::INT AS origin, (random() * random() * 60)::INT AS hours,
    CASE WHEN random() < .3 THEN 'yes' ELSE 'no' END AS diagnosis
FROM range(10000000)) TO 'large.parquet' (FORMAT parquet)''')
"""


def audited(place: Place) -> Iterator[Line]:
    """Two-way tables of Adult in which counts below 5 are suppressed, with totals."""
    frame = pd.read_csv(ADULT, dtype=str)
    pairs = [("education", "occupation"), ("occupation", "race"), ("education", "race"), ("race", "workclass")]
    files = [f"{one}_{other}.csv" for one, other in pairs]
    for file, (one, other) in zip(files, pairs):
        counts = pd.crosstab(frame[one], frame[other], margins=True, margins_name="Total")
        counts.astype(object).where((counts == 0) | (counts >= 5), "<5").to_csv(place.folder / file)
    seconds, _ = place.command("audit", *files, "--json")
    size = f"{len(files)} tables of two columns, counts below 5 suppressed"
    yield {"typed": "marginals audit TABLE ...", "size": size, "seconds": seconds}


TASKS: dict[str, Callable[[Place], Iterator[Line]]] = {
    task.__name__: task for task in (adult, release, single_tables, networks, large, audited)
}

_HEAD = """# How long it takes

Each row is what a user types, and names the command that measured it. Seconds are processor time, user and system together,
because other programs kept the machine busy ({cores} cores, {processor}). They are medians of {runs} runs, or of one if the
row says so. Commands are measured as whole processes, Python functions without imports and reading. The other program is the
fastest that we know for the same task, or for the nearest to it. Measured on {date} at commit {commit}, with
Python {python}, {versions}.

"""

_TAIL = """
Lower is better for BIC, KL divergence, total variation and discernibility. `select` searches for 20 s at most unless told
otherwise; here these are seconds of processor time. `audit` looks for 30 s. A network that pyAgrum learnt of the rows
protects nobody.

`python benchmarks/tasks.py --page` makes this page of the lines in `benchmarks/results/tasks.jsonl`, which `--keep` keeps;
`--peers` names a Python with the packages that `benchmarks/peers.py` lists.
"""


def page(lines: Sequence[Line]) -> str:
    """The page of the lines that are kept."""
    about, *rows = lines
    text = _HEAD.format(**about)
    text += (
        "| typed | of | seconds | result | other program | its seconds | its result | `python benchmarks/tasks.py` |\n"
    )
    text += "|---|---|---|---|---|---|---|---|\n"
    for row in rows:
        cells = [
            f"`{row['typed']}`",
            row["size"],
            f"{row['seconds']:.3g}" + (" (one run)" if row.get("runs") == 1 else ""),
            _result(row, "result"),
            row.get("peer", "none known"),
            f"{row['peer_seconds']:.3g}" if "peer_seconds" in row else "-",
            _result(row, "peer_result"),
            f"`{row['task']}`",
        ]
        text += f"| {' | '.join(cells)} |\n"
    return text + _TAIL


def _result(row: Line, name: str) -> str:
    found = row.get(name)
    if found is None:
        return "-"
    if isinstance(found, float):
        return f"{row['measures']} {found:,.0f}" if found > 1000 else f"{row['measures']} {found:.3g}"
    return str(found)


def kept() -> list[Line]:
    """What it was measured on, and the lines, in the order of the tasks."""
    return [json.loads(text) for text in KEPT.read_text(encoding="utf-8").splitlines()]


def keep(name: str, lines: Sequence[Line], peers: str | None) -> None:
    """Keep the lines of a task in place of its old ones."""
    old = kept()[1:] if KEPT.is_file() else []
    new = [line for task in TASKS for line in (lines if task == name else old) if line["task"] == task]
    about = {"runs": RUNS, **circumstances(), "versions": _versions(peers)}
    KEPT.write_text("".join(json.dumps(line) + "\n" for line in (about, *new)), encoding="utf-8")


def _versions(peers: str | None) -> str:
    if peers is None:
        return "without other programs"
    text = "from importlib.metadata import version as v; print(*(f'{n} {v(n)}' for n in NAMES), sep=', ')"
    names = "('pyAgrum', 'pycanon', 'anjana', 'duckdb')"
    done = subprocess.run([peers, "-c", text.replace("NAMES", names)], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def main() -> None:
    """Measure the tasks that are named, or all."""
    parser = options(__file__, __doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"some of {', '.join(TASKS)}")
    parser.add_argument("--peers", metavar="PYTHON", help="a Python that has the other programs")
    parser.add_argument("--keep", action="store_true", help="keep the lines, in place of those of the same task")
    parser.add_argument("--page", action="store_true", help="make the page of the lines that are kept")
    chosen = parser.parse_args()
    if chosen.page:
        PAGE.write_text(page(kept()), encoding="utf-8")
        return
    if not ADULT.is_file():
        skipped("tasks", "the Adult table is not here")
        return
    for name in chosen.tasks or TASKS:
        lines = []
        with tempfile.TemporaryDirectory() as folder:
            for line in TASKS[name](Place(Path(folder), chosen.peers)):
                lines.append({"task": name} | line)
                print(json.dumps(lines[-1]), flush=True)
        if chosen.keep:
            keep(name, lines, chosen.peers)


if __name__ == "__main__":
    main()

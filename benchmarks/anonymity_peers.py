"""Single tables beside pycanon, which checks k-anonymity and l-diversity, and anjana, which generalizes until they hold.

Both pin old versions of NumPy and pandas, so they run in an environment of their own: `--peer-python` names its Python,
`--make-peer-environment` makes one in a temporary folder with pip, from PyPI. Without either, ours is measured alone.

Adult with race, sex, age and marital status, occupation sensitive, by decades of rows, from a frame in memory. The yardstick
of ours is one group-by of pandas over all columns; that of the peers is ours. What pycanon reports must be what ours does,
on the table as it is and on minimal generalizations. What anjana makes must be as anonymous as asked, by our check too,
and one of our minimal tables or a generalization of one.
"""

import json
import os
import subprocess
import tempfile
import venv
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
from measurement import Measurement, fastest, options, peak_megabytes, skipped

from marginals import Attribute, Hierarchy, Policy, Table, anonymize, assess, read_hierarchy, read_table
from marginals.publishing.single_tables import Assessed

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
NAMES = ("race", "sex", "age", "marital-status")
SENSITIVE = "occupation"
SIZES = (1_000, 10_000, 45_222)
K, L = 6, 6
POLICIES = {
    "k_anonymity": Policy(k_link=K, diversity="none"),
    "l_diversity": Policy(k_link=K, diversity=f"distinct:{L}"),
}
PROGRAM = Path(__file__).parent / "peer_programs" / "anjana_and_pycanon.py"
PEERS = ("anjana", "pycanon")


def made_environment(folder: str) -> str:
    """The Python of a new environment that has the peers. Raises CalledProcessError when pip cannot install them."""
    venv.create(folder, with_pip=True)
    python = Path(folder) / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEERS], check=True, capture_output=True, text=True)
    return str(python)


def hierarchies() -> dict[str, Path]:
    return {name: DATA / "hierarchies" / f"{name}.csv" for name in NAMES}


def trees() -> dict[str, Hierarchy]:
    return {name: read_hierarchy(path) for name, path in hierarchies().items()}


def counted(frame: pd.DataFrame) -> Table:
    attributes: dict[str, Attribute | str] = {
        name: Attribute("quasi-identifier", tree, label_form="names" if name == "age" else "numbers")
        for name, tree in trees().items()
    }
    return read_table(frame, attributes | {SENSITIVE: "sensitive"})


def generalized(frame: pd.DataFrame, levels: dict[str, int]) -> pd.DataFrame:
    """The same rows, with labels of these levels."""
    rows = {name: {row[0]: row[levels[name]] for row in tree.rows()} for name, tree in trees().items()}
    return frame.assign(**{name: frame[name].map(rows[name]) for name in NAMES})


def answers(assessed: Assessed) -> dict[str, float]:
    reached = assessed.assessment.diversity[SENSITIVE]
    return {"k": assessed.assessment.k_anonymity, "distinct": reached.distinct, "entropy": reached.entropy}


def require_same(ours: dict[str, float], theirs: dict[str, Any]) -> None:
    """Pycanon cuts its entropy l off to a whole number, which rounding may bring below a whole one."""
    whole = {int(ours["entropy"] - 1e-9), int(ours["entropy"] + 1e-9)}
    if any(ours[name] != theirs[name] for name in ("k", "distinct")) or theirs["entropy"] not in whole:
        raise AssertionError(f"pycanon says {theirs}, ours {ours}")


def asked(python: str, folder: Path, frames: list[pd.DataFrame]) -> dict[str, Any]:
    """What the peer program answers. Raises CalledProcessError where it does not run."""
    paths = [folder / f"{number}.csv" for number in range(len(frames))]
    for path, frame in zip(paths, frames):
        frame.to_csv(path, index=False)
    trees = {name: str(path) for name, path in hierarchies().items()}
    task = {"tables": list(map(str, paths)), "quasi_identifiers": NAMES, "sensitive": SENSITIVE, "hierarchies": trees}
    command = [python, str(PROGRAM), json.dumps(task | {"k": K, "l": L})]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure(rows: int, python: str | None) -> None:
    columns = [*NAMES, SENSITIVE]
    frame = pd.read_csv(DATA / "adult.csv", dtype=str, keep_default_na=False)[columns].head(rows)
    group_by, _ = fastest(lambda: frame.groupby(columns, sort=False).size())

    def line(case: str, seconds: float, ours: float | None = None, memory: float | None = None, **facts: Any) -> None:
        yardstick = "group-by of pandas" if ours is None else "marginals"
        beside = group_by if ours is None else ours
        Measurement(
            "anonymity_peers", case, {"rows": len(frame)}, seconds, memory, yardstick, beside, facts=facts
        ).print()

    def check() -> Assessed:
        return assess(counted(frame), Policy())

    checking, assessed = fastest(check)
    line("k and l", checking, memory=peak_megabytes(check), **answers(assessed))
    making, minimal = {}, {}
    for name, policy in POLICIES.items():
        making[name], minimal[name] = fastest(lambda p=policy: anonymize(counted(frame), p))
        line(f"{name}, all minimal tables", making[name], minimal=len(minimal[name].minimal))
    if python is None:
        return
    table = counted(frame)
    checks = [dict.fromkeys(NAMES, 0), *(dict(one.levels) for one in minimal["l_diversity"].minimal)]
    with tempfile.TemporaryDirectory() as folder:
        answer = asked(python, Path(folder), [generalized(frame, levels) for levels in checks])
    for levels, theirs in zip(checks, answer["checks"]):
        require_same(answers(assess(table, Policy(), levels)), theirs)
    same = {"same_answers": len(checks), "versions": answer["versions"]}
    line("k and l, pycanon", answer["checks"][0]["seconds"], checking, **same)
    for name, made in answer["made"].items():
        levels = made["levels"]
        if levels is None:
            skipped("anonymity_peers", f"anjana finds no {name} of {len(frame)} rows")
            continue
        ours = assess(table, POLICIES[name], levels)
        require_same(answers(ours), made["checked"])
        finer = [one for one in minimal[name].minimal if all(one.levels[a] <= levels[a] for a in NAMES)]
        assert ours.ok, f"anjana's table is not what was asked: {levels}"
        assert finer, f"anjana's table is finer than all minimal ones: {levels}"
        is_minimal = any(dict(one.levels) == levels for one in finer)
        line(f"{name}, one table by anjana", made["seconds"], making[name], levels=levels, minimal=is_minimal)


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--peer-python", metavar="PATH", help="a Python that has anjana and pycanon")
    parser.add_argument("--make-peer-environment", action="store_true", help="install them in a temporary folder")
    chosen = parser.parse_args()
    if not DATA.is_dir():
        skipped("anonymity_peers", "the Adult table is not here")
        return
    with ExitStack() as stack:
        python = chosen.peer_python
        if chosen.make_peer_environment and python is None:
            try:
                python = made_environment(stack.enter_context(tempfile.TemporaryDirectory()))
            except (OSError, subprocess.CalledProcessError) as error:
                skipped("anonymity_peers anjana, pycanon", f"they cannot be installed here: {_reason(error)}")
        elif python is None:
            skipped("anonymity_peers anjana, pycanon", "neither --peer-python nor --make-peer-environment was given")
        elif reason := unusable(python):
            skipped("anonymity_peers anjana, pycanon", reason)
            python = None
        for rows in SIZES:
            measure(rows, python)


def unusable(python: str) -> str:
    """Why a Python cannot run the peers, empty where it can."""
    try:
        subprocess.run([python, "-c", f"import {', '.join(PEERS)}"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{python} does not have them: {_reason(error)}"
    return ""


def _reason(error: OSError | subprocess.CalledProcessError) -> str:
    """The last thing that was said."""
    said = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
    return said.splitlines()[-1] if said else "without a reason"


if __name__ == "__main__":
    main()

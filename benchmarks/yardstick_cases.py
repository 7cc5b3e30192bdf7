"""Three public tables, what is asked of them, and how far others' tables and records are from them: for yardsticks.py."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measurement import say, skipped
from sklearn.linear_model import LinearRegression, LogisticRegression

from marginals import Attribute, Policy, Table, read_hierarchy, read_table
from models import MarginalModel, total_variation

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data")) / "adult"


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
            {
                name: Attribute(
                    "quasi-identifier", trees[name], ladder="fitted", label_form="names" if name == "age" else "numbers"
                )
                for name in adult
            }
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

"""What `attack` calls certain about the demo, and nothing else, is so in every table with its published marginals.

From the CSV files alone. Other tables with the same marginals are made from the rows by exchanging values; what one of them
shows otherwise is not certain. Of what all have in common, linear programs over all attributes that matter say the rest.
"""

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, vstack

from command_line import main

SENSITIVE = "diagnosis"
K = 10
ROUNDS = 900
Margin = dict[str, int]
Codes = dict[str, np.ndarray]


@dataclass
class Bundle:
    """codes: of the rows, by attribute. lifts: code at each level by base code. margins: what is published."""

    codes: Codes
    lifts: dict[str, list[np.ndarray]]
    margins: list[Margin]

    def size(self, attribute: str, level: int) -> int:
        return int(self.lifts[attribute][level].max()) + 1

    def counts(self, codes: Codes, margin: Mapping[str, int]) -> np.ndarray:
        shape = [self.size(*item) for item in margin.items()]
        cells = np.ravel_multi_index([self.lifts[a][level][codes[a]] for a, level in margin.items()], shape)
        return np.bincount(cells, minlength=int(np.prod(shape)))

    @property
    def attributes(self) -> list[str]:
        return list(self.codes)

    @property
    def asked(self) -> list[Margin]:
        """All margins of the sensitive attribute and up to two others."""
        others = [a for a in self.attributes if a != SENSITIVE]
        chosen = (names for number in range(3) for names in combinations(others, number))
        return [dict.fromkeys((*names, SENSITIVE), 0) for names in chosen]


def read(folder: Path) -> Bundle:
    """The demo; its rows are coded by the hierarchies of its release."""
    margins = []
    for path in sorted((folder / "release" / "marginals").glob("*.csv")):
        parts = (part.rsplit(".", 1) for part in path.stem.split("-"))
        margins.append({attribute: int(level) for attribute, level in parts})
    attributes = sorted({attribute for margin in margins for attribute in margin})
    rows = pd.read_csv(folder / "census.csv", dtype=str, keep_default_na=False)[attributes]
    rows = rows[~rows.isin(["?", ""]).any(axis=1)]
    codes, lifts = {}, {}
    for attribute in attributes:
        with (folder / "release" / "hierarchies" / f"{attribute}.csv").open(newline="", encoding="utf-8") as file:
            levels = list(zip(*list(csv.reader(file))[1:]))
        codes[attribute] = rows[attribute].map({label: code for code, label in enumerate(levels[0])}).to_numpy(int)
        lifts[attribute] = [pd.factorize(np.array(labels))[0] for labels in levels]
    bundle = Bundle(codes, lifts, margins)
    for margin in margins:
        name = "-".join(f"{a}.{level}" for a, level in margin.items())
        published = pd.read_csv(folder / "release" / "marginals" / f"{name}.csv")["count"]
        assert sorted(published) == sorted(filter(None, bundle.counts(codes, margin))), name
    return bundle


def exchanges(bundle: Bundle) -> list[tuple[Margin, tuple[str, ...]]]:
    """Attributes whose values rows may exchange that agree at some levels, so that no published marginal changes.

    Each marginal with attributes of both kinds must keep what is exchanged, or what is not.
    """
    found = {}
    for number in range(1, 4):
        for moved in combinations(bundle.attributes, number):
            sides = [
                [{a: level for a, level in margin.items() if (a in moved) is inside} for inside in (True, False)]
                for margin in bundle.margins
            ]
            mixed = [both for both in sides if all(both)]
            if len(mixed) > 7:
                continue
            for kept in product(*mixed):
                levels: Margin = {}
                for side in kept:
                    levels |= {a: min(level, levels.get(a, level)) for a, level in side.items()}
                found[tuple(sorted(levels.items())), moved] = (levels, moved)
    return list(found.values())


def other_tables(bundle: Bundle, rng: np.random.Generator) -> Iterator[Codes]:
    """Rows with the same published marginals; often as unlike as can be, since values are exchanged in order."""
    codes = dict(bundle.codes)
    moves = exchanges(bundle)

    def order(attributes: Sequence[str], group: np.ndarray) -> np.ndarray:
        keys = [rng.random(len(group))]
        if rng.random() > 0.1:
            chosen = rng.permutation(attributes)[:3]
            keys += [rng.permutation(bundle.size(a, 0))[codes[a]] for a in chosen]
        return np.lexsort((*keys, group))

    while True:
        for _ in range(rng.integers(1, 7)):
            levels, moved = moves[rng.integers(len(moves))]
            group = np.zeros(len(codes[SENSITIVE]), dtype=np.int64)
            for attribute, level in levels.items():
                group = group * 1000 + bundle.lifts[attribute][level][codes[attribute]]
            source = order(moved, group)
            target = order([a for a in bundle.attributes if a not in moved], group)
            for attribute in moved:
                values = codes[attribute].copy()
                values[target] = codes[attribute][source]
                codes[attribute] = values
        yield codes


@dataclass
class Programs:
    """Linear programs over the cells of some attributes, each at a level; what links them is among them."""

    bundle: Bundle
    levels: Margin
    asked: Margin

    def __post_init__(self) -> None:
        bundle, levels = self.bundle, self.levels
        grid = dict(zip(levels, np.indices([bundle.size(*item) for item in levels.items()]).reshape(len(levels), -1)))

        def cells(margin: Margin) -> np.ndarray:
            coded = []
            for attribute, level in margin.items():
                lift = np.zeros(bundle.size(attribute, levels[attribute]), dtype=int)
                lift[bundle.lifts[attribute][levels[attribute]]] = bundle.lifts[attribute][level]
                coded.append(lift[grid[attribute]])
            return np.ravel_multi_index(coded, [bundle.size(*item) for item in margin.items()])

        number = len(grid[SENSITIVE])
        rows, counts = [], []
        for margin in bundle.margins:
            shown = {a: max(level, levels[a]) for a, level in margin.items() if a in levels}
            if shown:
                counts.append(bundle.counts(bundle.codes, shown))
                ones = (np.ones(number), (cells(shown), np.arange(number)))
                rows.append(csr_matrix(ones, shape=(len(counts[-1]), number)))
        constraints, totals = vstack(rows).tocsr(), np.concatenate(counts).astype(float)
        possible = np.flatnonzero(np.asarray((constraints[totals == 0] > 0).sum(axis=0)).ravel() == 0)
        constraints = constraints[:, possible]
        used = np.diff(constraints.indptr) > 0
        self.constraint = LinearConstraint(constraints[used], totals[used], totals[used])
        self.cell = cells(self.asked)[possible]

    def extreme(self, cell: int, direction: int) -> int:
        """The most (1) or least (-1) rows of a cell, rounded to what whole numbers can have."""
        objective = -direction * (self.cell == cell).astype(float)
        solved = milp(objective, constraints=self.constraint, bounds=Bounds(0, np.inf))
        assert solved.status == 0, solved.message
        return int(np.floor(-solved.fun + 1e-6)) if direction > 0 else int(np.ceil(solved.fun - 1e-6))


def linking(asked: Margin) -> Margin:
    """What links the attributes of a margin in the published marginals of the demo, at the levels at which it does."""
    if set(asked) <= {SENSITIVE, "age"}:
        return dict(asked)
    links = {"age": 1, "sex": 0}
    if set(asked) & {"postcode", "occupation", "education", "sex"}:
        links["education"] = 0 if "occupation" in asked else 1
    return links | asked


@pytest.mark.skipif("MARGINALS_TIMES" not in os.environ, reason="takes ten minutes; make nightly")
def test_what_is_certain_about_the_demo_is_certain_by_brute_force(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["demo", str(tmp_path / "demo")]).exit_code == 0
    bundle = read(tmp_path / "demo")
    asked = bundle.asked
    least = [bundle.counts(bundle.codes, margin) for margin in asked]
    most = [counts.copy() for counts in least]
    published = [bundle.counts(bundle.codes, margin) for margin in bundle.margins]
    for number, codes in zip(range(ROUNDS), other_tables(bundle, np.random.default_rng(0))):
        if number % 100 == 0:
            for margin, counts in zip(bundle.margins, published):
                assert np.array_equal(bundle.counts(codes, margin), counts)
        for margin, lowest, highest in zip(asked, least, most):
            counts = bundle.counts(codes, margin)
            np.minimum(lowest, counts, out=lowest)
            np.maximum(highest, counts, out=highest)
    found = {"attributes": 3, "determined": 0, "exists": 0, "small": 0}
    for margin, lowest, highest in zip(asked, least, most):
        programs = Programs(bundle, linking(margin), margin) if lowest.any() else None
        for cell in np.flatnonzero(lowest):
            fewest = programs.extreme(cell, -1)
            found["exists"] += fewest > 0
            if fewest > 0 and lowest[cell] == highest[cell] == programs.extreme(cell, 1):
                found["determined"] += fewest == lowest[cell]
                found["small"] += fewest == lowest[cell] < K
    attacked = CliRunner().invoke(main, ["attack", str(tmp_path / "demo" / "release"), "--json"])
    certain = json.loads(attacked.stdout)["certain"]["diagnosis"]
    assert {name: certain[name] for name in found} == found

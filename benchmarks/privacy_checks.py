"""Privacy checks over joins of 10^8 to 10^15 class combinations, against the join where it still runs.

Simulated collections in which 4 to 12 marginals hold a sensitive attribute of 14 values: chains {A_i, A_i+1, C}, and
stars {A_i, B_i, C}. The dependence on C is chosen so that both verdicts occur. One JSON line a case; then the growth of
time with the number of marginals, and how many times slower the join is. `--quick` looks at a few cases.

On one thread: products of small matrices are slower on two where these are busy, by up to a hundred times.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np

from checks.finding import Verdict
from checks.k_combinatorial import by_join as k_combinatorial_by_join
from checks.k_combinatorial import k_combinatorial
from checks.l_diversity import parse_diversity
from checks.maxent_diversity import by_join, maxent_diversity
from checks.pairwise_ratios import pairwise_ratios
from checks.sensitive_tree import SensitiveTree, sensitive_tree
from models.collection import Collection
from models.contingency_table import ContingencyTable
from models.data_cube import DataCube
from models.domain import Domain
from models.hierarchy import Hierarchy

VALUES, ROWS, K = 14, 200_000, 6
CRITERIA = ("recursive:3,6", "entropy:6")


def simulate(
    shape: str, marginals: int, effect: float, size: int = 10, seed: int = 0, values: int = VALUES
) -> Collection:
    """A collection whose attributes depend on C by logits of this standard deviation."""
    rng = np.random.default_rng(seed)
    base = np.exp(-0.6 * rng.normal(size=values))
    sensitive = rng.choice(values, ROWS, p=base / base.sum())
    columns = {"C": sensitive}
    previous = None
    for i in range(2 * marginals if shape == "star" else marginals + 1):
        logits = (effect * rng.normal(size=(values, size)))[sensitive]
        if shape == "chain" and previous is not None:
            logits = logits + (effect * rng.normal(size=(size, size)))[previous]
        previous = columns[f"A{i:02}"] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    names = [name for name in columns if name != "C"]
    domain = Domain.of({n: Hierarchy.flat(map(str, range(values if n == "C" else size))) for n in columns})
    pairs = list(zip(names[::2], names[1::2])) if shape == "star" else list(zip(names, names[1:]))
    ones = np.ones(ROWS, dtype=np.int64)
    tables = []
    for pair in pairs:
        margin = dict.fromkeys((*pair, "C"), 0)
        tables.append(ContingencyTable.from_cells(domain, margin, {n: columns[n] for n in margin}, ones))
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, the least of three, and the result."""
    best, result = np.inf, None
    for _ in range(3):
        begin = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - begin)
    return best, result


def tree_of(collection: Collection) -> SensitiveTree:
    tree = sensitive_tree(collection, "C")
    assert tree is not None
    return tree


def scale(quick: bool) -> None:
    seconds: dict[tuple[str, str], list[tuple[int, float]]] = {}
    undecided = 0
    sizes = {"star": (4, 5, 6, 7), "chain": (7, 8, 9, 10, 11, 12, 13)}
    for shape, numbers in sizes.items():
        for marginals in numbers[:: 3 if quick else 1]:
            for effect in (0.05, 0.1, 0.3, 0.7):
                collection = simulate(shape, marginals, effect)
                tree = tree_of(collection)
                cases: dict[str, Callable[[], Any]] = {
                    criterion: partial(maxent_diversity, collection, "C", parse_diversity(criterion))
                    for criterion in CRITERIA
                }
                cases[f"k-combinatorial:{K}"] = partial(k_combinatorial, collection, ["C"], K)
                for name, check in cases.items():
                    took, finding = timed(check)
                    undecided += finding.verdict is Verdict.UNDECIDED
                    seconds.setdefault((shape, name), []).append((marginals, took))
                    line = {
                        "benchmark": "privacy_checks",
                        "shape": shape,
                        "attributes": len(collection.domain.attributes),
                        "marginals": marginals,
                        "effect": effect,
                        "join": f"{tree.combination_count:.1e}",
                        "check": name,
                        "verdict": finding.verdict.value,
                        "algorithm": finding.algorithm,
                        "examined": finding.examined,
                        "worst_is_proven": not finding.note,
                        "seconds": round(took, 4),
                    }
                    print(json.dumps(line), flush=True)
    for (shape, name), points in seconds.items():
        marginals, took = np.array(points).T
        slope = np.polyfit(np.log(marginals), np.log(took), 1)[0]
        print(
            json.dumps(
                {
                    "benchmark": "privacy_checks growth",
                    "shape": shape,
                    "check": name,
                    "slowest": round(float(took.max()), 3),
                    "exponent_in_marginals": round(float(slope), 2),
                }
            )
        )
    print(json.dumps({"benchmark": "privacy_checks undecided", "cases": undecided}))


def against_the_join() -> None:
    """The join at 10^7 combinations, on the same collections."""
    for effect in (0.05, 0.1, 0.3):
        collection = simulate("chain", 6, effect)
        tree = tree_of(collection)
        for criterion in CRITERIA:
            diversity = parse_diversity(criterion)
            took, finding = timed(lambda d=diversity, c=collection: maxent_diversity(c, "C", d))
            begin = time.perf_counter()
            outcome = by_join(tree, diversity)
            join = time.perf_counter() - begin
            assert outcome.verdict is finding.verdict
            report(criterion, effect, tree, took, join, finding.verdict)
        took, finding = timed(lambda c=collection: k_combinatorial(c, ["C"], K))
        begin = time.perf_counter()
        joined = k_combinatorial_by_join(tree, K)
        join = time.perf_counter() - begin
        assert joined.verdict is finding.verdict
        report(f"k-combinatorial:{K}", effect, tree, took, join, finding.verdict)


def report(check: str, effect: float, tree: SensitiveTree, took: float, join: float, verdict: Verdict) -> None:
    line = {
        "benchmark": "privacy_checks against the join",
        "check": check,
        "effect": effect,
        "join": f"{tree.combination_count:.1e}",
        "verdict": verdict.value,
        "seconds": round(took, 4),
        "join_seconds": round(join, 2),
        "times_slower": round(join / took, 1),
    }
    print(json.dumps(line), flush=True)


def pairwise() -> None:
    """Pairwise ratios on 30 attributes: l = number of values."""
    for values in (4, 14):
        collection = simulate("chain", 28, 0.2, values=values)
        tree = tree_of(collection)
        diversity = parse_diversity(f"recursive:1000,{values}")
        took, outcome = timed(lambda t=tree, d=diversity: pairwise_ratios(t, d))  # type: ignore[arg-type]
        line = {
            "benchmark": "pairwise ratios",
            "attributes": len(collection.domain.attributes),
            "values": values,
            "verdict": outcome.verdict.value,
            "seconds": round(took, 4),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    scale(arguments.quick)
    against_the_join()
    pairwise()

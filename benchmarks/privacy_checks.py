"""Privacy checks over joins of 10^8 to 10^15 class combinations, against the join where it still runs.

Simulated collections in which 4 to 12 marginals hold a sensitive attribute of 14 values: chains {A_i, A_i+1, C}, and
stars {A_i, B_i, C}. The dependence on C is chosen so that both verdicts occur. One JSON line a case, with one bincount of
the cells of each marginal as the yardstick; then how many times slower the join is. `--quick` looks at a few cases.

On one thread: products of small matrices are slower on two where these are busy, by up to a hundred times.
"""

import os
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from measurement import Measurement, fastest, options, peak_megabytes, say

from checks import SensitiveTree, Verdict, by_join, k_combinatorial, maxent_diversity, parse_diversity, sensitive_tree
from checks.combinatorial import by_join as k_combinatorial_by_join
from checks.diversity.criterion import LargestRatio
from checks.maxent.hull import pairwise_ratios
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

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


def tree_of(collection: Collection) -> SensitiveTree:
    tree = sensitive_tree(collection, "C")
    assert tree is not None
    return tree


def bincounts(collection: Collection) -> float:
    """Seconds of one bincount for each marginal: what any check takes that looks at every count."""
    tables = [collection.cube.table(mask) for mask in collection.masks]
    weights = [(np.arange(len(table)), table.counts) for table in tables]
    return fastest(lambda: [np.bincount(keys, counts) for keys, counts in weights], runs=20)[0]


def scale(quick: bool) -> None:
    undecided = 0
    sizes = {"star": (4, 5, 6, 7), "chain": (7, 8, 9, 10, 11, 12, 13)}
    for shape, numbers in sizes.items():
        for marginals in numbers[:: 3 if quick and shape == "chain" else 1]:
            for effect in (0.1, 0.3) if quick else (0.05, 0.1, 0.3, 0.7):
                collection = simulate(shape, marginals, effect)
                tree = tree_of(collection)
                yardstick = bincounts(collection)
                cases: dict[str, Callable[[], Any]] = {
                    criterion: partial(maxent_diversity, collection, "C", parse_diversity(criterion))
                    for criterion in CRITERIA
                }
                cases[f"k-combinatorial:{K}"] = partial(k_combinatorial, collection, ["C"], K)
                for name, check in cases.items():
                    took, finding = fastest(check, runs=3)
                    undecided += finding.verdict is Verdict.UNDECIDED
                    facts = {
                        "attributes": len(collection.domain.attributes),
                        "join": f"{tree.combination_count:.1e}",
                        "verdict": finding.verdict.value,
                        "algorithm": finding.algorithm,
                        "examined": finding.examined,
                        "worst_is_proven": not finding.note,
                    }
                    Measurement(
                        "privacy_checks",
                        f"{shape}, effect {effect}, {name}",
                        {"margins": marginals},
                        took,
                        peak_megabytes(check),
                        "a bincount of each marginal",
                        yardstick,
                        facts,
                    ).print()
    say(benchmark="privacy_checks", target="every case is decided", met=not undecided, undecided=undecided)


def against_the_join(quick: bool) -> None:
    """The join at 10^7 combinations, on the same collections."""
    for effect in (0.1,) if quick else (0.05, 0.1, 0.3):
        collection = simulate("chain", 6, effect)
        tree = tree_of(collection)
        cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
        for criterion in CRITERIA:
            diversity = parse_diversity(criterion)
            cases[criterion] = partial(maxent_diversity, collection, "C", diversity), partial(by_join, tree, diversity)
        cases[f"k-combinatorial:{K}"] = (
            partial(k_combinatorial, collection, ["C"], K),
            partial(k_combinatorial_by_join, tree, K),
        )
        for name, (check, join) in cases.items():
            took, finding = fastest(check, runs=3)
            joining, outcome = fastest(join, runs=1)
            assert outcome.verdict is finding.verdict
            facts = {"join": f"{tree.combination_count:.1e}", "verdict": finding.verdict.value}
            case = f"chain, effect {effect}, {name}, beside its join"
            Measurement("privacy_checks", case, {"margins": 6}, took, None, "join", joining, facts).print()


def pairwise() -> None:
    """Pairwise ratios on 30 attributes: l = number of values."""
    for values in (4, 14):
        collection = simulate("chain", 28, 0.2, values=values)
        tree = tree_of(collection)
        bound = LargestRatio(Fraction(1000), strict=True)
        took, outcome = fastest(lambda t=tree, b=bound: pairwise_ratios(t, b), runs=3)  # type: ignore[misc]
        Measurement(
            "privacy_checks",
            f"pairwise ratios of {values} values",
            {"margins": 28},
            took,
            None,
            "a bincount of each marginal",
            bincounts(collection),
            {"attributes": len(collection.domain.attributes), "verdict": outcome.verdict.value},
        ).print()


if __name__ == "__main__":
    parser = options(__file__, __doc__)
    parser.add_argument("--quick", action="store_true", help="a few cases")
    arguments = parser.parse_args()
    scale(arguments.quick)
    against_the_join(arguments.quick)
    pairwise()

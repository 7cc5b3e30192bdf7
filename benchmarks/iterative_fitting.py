"""Iterative proportional fitting of collections that have no closed form, beside ipfn where it is installed.

The three pairs of three attributes, dense, so that the cells of the only clique grow by decades; rings of pairs whose number
grows; and grids of pairs. The yardstick is one bincount of all possible cells: what fitting one margin takes at least. Both
programs must come to the same table, and take turns.
"""

from importlib.util import find_spec
from itertools import combinations, product

import numpy as np
from measurement import Measurement, Seconds, fastest, interleaved, options, peak_megabytes, skipped

from models.graphs.collection import Collection
from models.inference.iterative_fitting import TOLERANCE, Fit, iterative_fit
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

EDGES = (10, 22, 46, 100)
"""Values of each of the three attributes, so that their cubes are 10^3 to 10^6."""

PEER_UP_TO = 46
"""Values up to which the peer is measured."""

RINGS = (3, 10, 30, 100, 300)
GRIDS = ((3, 4), (4, 4), (4, 7), (5, 7))
"""Attributes on each side, and their values."""
VALUES, ROWS = 4, 100_000


def collection(
    columns: dict[str, np.ndarray], counts: np.ndarray, values: int, pairs: list[tuple[str, str]]
) -> Collection:
    domain = Domain.of({name: Hierarchy.flat(map(str, range(values))) for name in columns})
    tables = [
        ContingencyTable.from_cells(domain, dict.fromkeys(pair, 0), {a: columns[a] for a in pair}, counts)
        for pair in pairs
    ]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def cube(values: int) -> tuple[np.ndarray, Collection]:
    """A dense table of which all three attributes together depend on each other, and the pairs that are published."""
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 20, (values,) * 3)
    codes = dict(zip("abc", np.indices(dense.shape).reshape(3, -1)))
    return dense, collection(codes, dense.ravel(), values, list(combinations("abc", 2)))


def ring(margins: int) -> Collection:
    """Each attribute depends on the one before it, and the last pair closes the ring."""
    rng = np.random.default_rng(0)
    names = [f"a{i:04}" for i in range(margins)]
    columns = {names[0]: rng.integers(0, VALUES, ROWS)}
    for before, name in zip(names, names[1:]):
        fresh = rng.random(ROWS) < 0.5
        columns[name] = np.where(fresh, rng.integers(0, VALUES, ROWS), columns[before])
    return collection(columns, np.ones(ROWS, dtype=np.int64), VALUES, [*zip(names, names[1:]), (names[-1], names[0])])


def grid(side: int, values: int) -> Collection:
    """Each attribute depends on the one above it and on the one to its left; all neighbours are published as pairs."""
    rng = np.random.default_rng(0)
    columns: dict[str, np.ndarray] = {}
    pairs = []
    for row, column in product(range(side), repeat=2):
        before = [f"a{r}{c}" for r, c in ((row - 1, column), (row, column - 1)) if r >= 0 and c >= 0]
        name, drawn = f"a{row}{column}", rng.integers(0, values, ROWS)
        for other in before:
            drawn = np.where(rng.random(ROWS) < 0.4, columns[other], drawn)
        columns[name] = drawn
        pairs += [(other, name) for other in before]
    return collection(columns, np.ones(ROWS, dtype=np.int64), values, pairs)


def fit(published: Collection) -> Fit:
    return iterative_fit(published, limit=10_000_000)


def measure(case: str, sizes: dict[str, int], published: Collection, took: Seconds | None = None) -> None:
    """Print how long a fit takes. took: where it was measured already, beside a peer."""
    seconds, fitted = fastest(lambda: fit(published), runs=3)
    cells = sum(len(clique.expected) for clique in fitted.cliques)
    keys = np.random.default_rng(0).integers(0, max(len(published.cube.table(mask)) for mask in published.masks), cells)
    weights = np.ones(cells)
    bincount, _ = fastest(lambda: np.bincount(keys, weights), runs=20)
    Measurement(
        "iterative_fitting",
        case,
        sizes,
        took or seconds,
        peak_megabytes(lambda: fit(published)),
        "bincount of the cells",
        bincount,
        {"fitted_cells": cells, "residual": fitted.residual},
    ).print()


def beside_peer(values: int, dense: np.ndarray, published: Collection) -> Seconds:
    """The same fit by ipfn, on a dense array, in turns with ours, whose seconds are returned."""
    from ipfn.ipfn import ipfn

    axes = [[0, 1], [0, 2], [1, 2]]
    targets = [dense.sum(axis=({0, 1, 2} - set(kept)).pop()).astype(np.float64) for kept in axes]

    def theirs() -> np.ndarray:
        start = np.full(dense.shape, dense.sum() / dense.size)
        fitted: np.ndarray = ipfn(start, targets, axes, convergence_rate=TOLERANCE, rate_tolerance=0).iteration()
        return fitted

    turns = interleaved({"ours": lambda: fit(published), "ipfn": theirs}, runs=3)
    (ours, fitted), (seconds, found) = turns["ours"], turns["ipfn"]
    (clique,) = fitted.cliques
    here = found[tuple(clique.codes[a] for a in "abc")]
    assert len(here) == dense.size, "the peer's table has other cells"
    assert np.allclose(here, clique.expected, rtol=1e-8), "the peer fits another table"
    Measurement(
        "iterative_fitting",
        "three pairs, ipfn",
        {"cells": values**3},
        seconds,
        yardstick="marginals",
        yardstick_seconds=ours,
        facts={"same_answer": True},
    ).print()
    return ours


def main() -> None:
    options(__file__, __doc__).parse_args()
    has_peer = find_spec("ipfn") is not None
    if not has_peer:
        skipped("iterative_fitting ipfn", "it is not installed")
    for values in EDGES:
        dense, published = cube(values)
        took = beside_peer(values, dense, published) if has_peer and values <= PEER_UP_TO else None
        measure("three pairs", {"cells": values**3}, published, took)
    for margins in RINGS:
        measure("ring of pairs", {"margins": margins}, ring(margins))
    for side, values in GRIDS:
        sizes = {"attributes": side * side, "margins": 2 * side * (side - 1)}
        measure(f"grid of {side} by {side}, {values} values", sizes, grid(side, values))


if __name__ == "__main__":
    main()

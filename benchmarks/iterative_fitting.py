"""Iterative proportional fitting of collections that have no closed form, beside ipfn, mbi and R's loglin if they are here.

The three pairs of three attributes, dense, so that the cells of the only clique grow by decades; rings of pairs whose number
grows; and grids of pairs. The yardstick is one bincount of all possible cells: what fitting one margin takes at least. A
sketch in plain NumPy, from the same counts to the same list of cells, and the peers, on dense arrays, take turns with ours;
all must come to the same table. mbi, which climbs the likelihood, stops much earlier than the others do, at a misfit that is
told; loglin stops at our misfit of the largest count.
"""

import shutil
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measurement import Measurement, Seconds, fastest, interleaved, options, peak_megabytes, skipped
from peer_program import PROGRAMS, started

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, iterative_fit
from models.inference.iterative_fitting import TOLERANCE, Fit

Dense = np.ndarray[Any, np.dtype[np.float64]]

EDGES = (10, 22, 46, 100)
"""Values of each of the three attributes, so that their cubes are 10^3 to 10^6."""

PEER_UP_TO = {"ipfn": 46, "mbi": 46}
"""Values up to which these are measured."""

TURNS = {10: 20, 22: 20, 46: 5, 100: 3}
"""How often each is fitted by all in turns: what takes less than a millisecond often, since its first times vary."""

MBI_STEPS = 50
"""Of its limited-memory BFGS."""

AXES = tuple(combinations(range(3), 2))

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


def sketch(values: int, published: Collection) -> Dense:
    """The fit in plain NumPy, on a dense array."""
    counts = []
    for table in map(published.cube.table, published.masks):
        kept = tuple("abc".index(name) for name in table.attributes)
        counts.append((kept, np.zeros([values if axis in kept else 1 for axis in range(3)])))
        counts[-1][1].reshape(values, values)[table.codes] = table.counts
    fitted = np.full((values,) * 3, published.cube.total / values**3)
    misfit = np.inf
    while misfit > TOLERANCE:
        misfit = 0.0
        for kept, wanted in counts:
            ratio = wanted / fitted.sum(axis=summed(kept), keepdims=True)
            misfit = max(misfit, float(np.abs(1 / ratio - 1).max()))
            fitted *= ratio
    cells = np.nonzero(fitted)
    dense: Dense = fitted[cells].reshape(fitted.shape)  # of which none is 0
    return dense


def summed(kept: tuple[int, ...]) -> tuple[int, ...]:
    """The other axes."""
    return tuple({0, 1, 2} - set(kept))


def ipfn_run(dense: Dense) -> Callable[[], Dense]:
    from ipfn.ipfn import ipfn

    published = [dense.sum(axis=summed(kept)) for kept in AXES]

    def run() -> Dense:
        start, axes = np.full(dense.shape, dense.sum() / dense.size), [list(kept) for kept in AXES]
        fitted: Dense = ipfn(start, published, axes, convergence_rate=TOLERANCE, rate_tolerance=0).iteration()
        return fitted

    return run


def mbi_run(dense: Dense) -> Callable[[], Dense]:
    warnings.simplefilter("ignore")
    import jax  # type: ignore[import-not-found]

    jax.config.update("jax_enable_x64", True)
    import mbi  # type: ignore[import-not-found]

    domain = mbi.Domain(tuple("abc"), dense.shape)
    published = {
        pair: mbi.Factor(domain.project(pair), jax.numpy.asarray(dense.sum(axis=summed(kept))))
        for kept in AXES
        if (pair := tuple("abc"[axis] for axis in kept))
    }
    likelihood = mbi.marginal_loss.mle_loss_fn(mbi.CliqueVector(domain, list(published), published))
    climb = partial(mbi.estimation.LBFGS().estimate, domain, likelihood, float(dense.sum()), iters=MBI_STEPS)

    def run() -> Dense:
        fitted: Dense = np.asarray(climb().project(tuple("abc")).values)
        return fitted

    run()  # what comes after is compiled
    return run


def beside_peers(values: int, dense: Dense, published: Collection, peers: list[str]) -> Seconds:
    """The same fit on a dense array by all that take part, in turns with ours, whose seconds are returned."""
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: fit(published),
        "NumPy sketch": lambda: sketch(values, published),
    }
    starts = {"ipfn": ipfn_run, "mbi": mbi_run}
    runs |= {name: starts[name](dense) for name in peers if values <= PEER_UP_TO.get(name, 0)}
    with ExitStack() as stack:
        if "loglin" in peers:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            dense.ravel(order="F").tofile(folder / "counts")
            misfit = TOLERANCE * max(dense.sum(axis=summed(kept)).max() for kept in AXES)
            command = ["Rscript", PROGRAMS / "fit_pairs.R", folder / "counts", str(values), repr(float(misfit))]
            loglin = stack.enter_context(started([*command, folder / "fit"]))
            runs["loglin"] = loglin.run
        turns = interleaved(runs, runs=TURNS[values])
        if "loglin" in peers:
            fitted = np.fromfile(folder / "fit").reshape(dense.shape, order="F")
            turns["loglin"] = loglin.seconds, fitted
    ours, own = turns.pop("ours")
    (clique,) = own.cliques
    assert len(clique.expected) == dense.size, "ours has other cells than the dense table"
    for name, (seconds, found) in turns.items():
        here = found[tuple(clique.codes[a] for a in "abc")]
        misfit = max(np.abs(found.sum(axis=summed(kept)) / dense.sum(axis=summed(kept)) - 1).max() for kept in AXES)
        assert np.allclose(here, clique.expected, rtol=1e-6), f"{name} fits another table"
        facts = {"same_answer": True, "misfit": float(misfit)}
        case = f"three pairs, {name}"
        Measurement("iterative_fitting", case, {"cells": values**3}, seconds, None, "marginals", ours, facts).print()
    return ours


def main() -> None:
    options(__file__, __doc__).parse_args()
    has = {name: find_spec(name) is not None for name in PEER_UP_TO} | {"loglin": shutil.which("Rscript") is not None}
    for name in (name for name, here in has.items() if not here):
        skipped(f"iterative_fitting {name}", "Rscript is not installed" if name == "loglin" else "it is not installed")
    for values in EDGES:
        dense, published = cube(values)
        took = beside_peers(values, dense.astype(np.float64), published, [name for name, here in has.items() if here])
        measure("three pairs", {"cells": values**3}, published, took)
    for margins in RINGS:
        measure("ring of pairs", {"margins": margins}, ring(margins))
    for side, values in GRIDS:
        sizes = {"attributes": side * side, "margins": 2 * side * (side - 1)}
        measure(f"grid of {side} by {side}, {values} values", sizes, grid(side, values))


if __name__ == "__main__":
    main()

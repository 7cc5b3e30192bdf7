"""Cross tables of a release: a row for each cell that can be occupied, with its kind of answer and certain bounds."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from marginals.conditions import Where
from marginals.errors import InputError
from marginals.estimates import Attributes, MeantRows, as_margin, categories, cells_of, free_name, marked
from marginals.tables.intervals import numbers_at
from models.arrays import CodeArray, CountArray, FloatArray, IndexArray
from models.graphs.basis import CERTAIN, Basis, BasisKind
from models.inference.frechet_bounds import MarginBounds
from models.inference.marginal_model import MarginalModel
from models.inference.two_by_two import share_bounds
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    import pandas as pd

NORMALIZED = {"rows": 1, "columns": 0, "all": None}
"""Of what the cells of a cross table are shares, with the axis that is summed over."""


def table(
    model: MarginalModel,
    rows: Attributes,
    columns: Attributes,
    where: Where,
    normalize: str | None,
    *,
    bounds: bool,
) -> "pd.DataFrame":
    """Return the possible cells of a cross table, or their shares; with certain bounds if asked."""
    import pandas as pd

    down, across = as_margin(model, rows), as_margin(model, columns)
    if shared := [a for a in down if a in across]:
        raise InputError(f"{shared[0]!r} cannot stand in the rows and in the columns")
    margin, meant = {**down, **across}, MeantRows.of(model, where)
    if not margin:
        raise InputError(
            'a table is of attributes, such as release.table("age", "sex"); release.count() counts all rows'
        )
    is_judged = not (bounds and meant.unjudged)
    cells = cells_of(model, margin, meant) if is_judged else _possible(meant, margin)
    codes = {a: cells.column(a) for a in margin if a in cells.margin}
    is_counted = cells.counts.dtype.kind != "f"
    basis = CERTAIN if is_counted else meant.basis(margin)
    value, kinds = cells.counts, np.full(len(cells), basis.kind.value, dtype=object)
    if normalize is not None:
        value = _shares_of(value, _groups(codes, {"rows": down, "columns": across, "all": ()}[normalize]))
    if not is_judged:
        value, kinds = np.full(len(cells), np.nan), np.full(len(cells), BasisKind.NONE.value, dtype=object)
    told: dict[str, Any] = {"value": value}
    if bounds:
        found = _bounds(meant, down, across, normalize)
        places = tuple(codes.get(a, np.zeros(len(cells), dtype=np.intp)) for a in margin)
        lower, upper = found.lower[places], found.upper[places]
        is_exact = lower == upper
        if is_exact.all():
            basis = CERTAIN
        kinds = np.where(is_exact, BasisKind.PUBLISHED.value, kinds)
        told = {"value": np.where(is_exact, lower, value), "lower": lower, "upper": upper}
    told |= {"kind": kinds}
    alike = covered_by(model, margin, basis)
    if any(alike.values()):
        told["alike"] = _alike(model.domain, margin, codes, alike)
    order = np.lexsort([codes[a] for a in reversed(codes)]) if codes else np.arange(len(cells))
    named = {free_name(name, margin): np.asarray(column)[order] for name, column in told.items()}
    ordered = {a: column[order] for a, column in codes.items()}
    frame = pd.DataFrame(numbers(model.domain, margin, ordered) | named, index(model.domain, margin, ordered))
    if bounds:
        frame.attrs["sharp"] = found.sharp
    return marked(frame, basis)


def _possible(meant: MeantRows, margin: Mapping[str, int]) -> Cells:
    places = np.nonzero(meant.by(margin).upper)
    return Cells.of(meant.model.domain, margin, dict(zip(margin, places)), np.ones(len(places[0])))


def index(domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray]) -> "pd.Index[Any] | None":
    """Return the labels of cells, a level for each attribute: categories in their order, ordered if they are numbers."""
    import pandas as pd

    columns = [categories(domain, a, margin[a], column) for a, column in codes.items()]
    if not columns:
        return None
    return (
        pd.Index(columns[0], name=next(iter(codes)))
        if len(columns) == 1
        else pd.MultiIndex.from_arrays(columns, names=list(codes))
    )


def numbers(domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray]) -> dict[str, FloatArray]:
    """Return for each attribute whose labels are numbers, or ranges of them, the middle of the label: `age_number`."""
    found = {}
    for a, column in codes.items():
        if (told := numbers_at(domain.hierarchy(a), margin[a])) is not None:
            found[free_name(f"{a}_number", margin)] = told.points[column]
    return found


def _groups(codes: Mapping[str, CodeArray], attributes: Collection[str]) -> IndexArray | None:
    chosen = [codes[a] for a in attributes if a in codes]
    return np.unique(np.stack(chosen), axis=1, return_inverse=True)[1].ravel() if chosen else None


def _shares_of(counts: FloatArray, groups: IndexArray | None) -> FloatArray:
    if groups is None:
        return np.asarray(counts / max(counts.sum(), 1e-300))
    return np.asarray(counts / np.bincount(groups, counts)[groups])


def _bounds(
    meant: MeantRows, down: Mapping[str, int], across: Mapping[str, int], normalize: str | None
) -> MarginBounds:
    found = meant.by({**down, **across})
    if normalize is None:
        return found
    hierarchy = meant.model.domain.hierarchy
    shape = [int(np.prod([hierarchy(a).size(level) for a, level in side.items()])) for side in (down, across)]
    cells = found.lower.reshape(shape), found.upper.reshape(shape)
    (lower, upper), is_known = _share_bounds(meant, down, across, NORMALIZED[normalize], cells)
    is_sharp = (found.sharp and is_known) or bool(np.array_equal(lower, upper, equal_nan=True))
    return MarginBounds(lower.reshape(found.lower.shape), upper.reshape(found.lower.shape), is_sharp)  # type: ignore[arg-type]


def _share_bounds(
    meant: MeantRows,
    down: Mapping[str, int],
    across: Mapping[str, int],
    summed: int | None,
    cells: tuple[CountArray, CountArray],
) -> tuple[tuple[FloatArray, FloatArray], bool]:
    lower, upper = cells
    if summed is None:
        total = meant.bounds()
        whole = np.array(total.lower), np.array(total.upper)
    else:
        bounds = meant.by(down if summed else across)
        whole = np.expand_dims(bounds.lower.ravel(), summed), np.expand_dims(bounds.upper.ravel(), summed)
    others = [end.sum(axis=summed, keepdims=True) - end for end in (lower, upper)]
    return share_bounds(cells, (others[0], others[1]), whole), bool(np.array_equal(*whole))


def covered_by(model: MarginalModel, levels: Mapping[str, int], basis: Basis) -> dict[str, dict[str, str]]:
    """Return by attribute the values of a level that one published group covers with others, each with that group.

    The group is that of the finest table of all attributes together: the model says the same of all values in it.
    """
    covered = {}
    for attribute, level in levels.items():
        level_shown = min((margin[attribute] for margin in basis.margins if attribute in margin), default=level)
        if basis.kind is BasisKind.SUPPORTED and level_shown > level:
            hierarchy = model.domain.hierarchy(attribute)
            parents = hierarchy.lift(level, level_shown)
            several = np.bincount(parents, minlength=hierarchy.size(level_shown)) > 1
            covered[attribute] = {
                label: hierarchy.labels[level_shown][parent]
                for label, parent in zip(hierarchy.labels[level], parents.tolist())
                if several[parent]
            }
    return covered


def _alike(
    domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray], covered: Mapping[str, Mapping[str, str]]
) -> list[str]:
    by_attribute = []
    for a, groups in covered.items():
        if a in codes:
            texts = [
                f"{a} {groups[label]}" if label in groups else "" for label in domain.hierarchy(a).labels[margin[a]]
            ]
            by_attribute.append([texts[code] for code in codes[a].tolist()])
    return [", ".join(filter(None, each)) for each in zip(*by_attribute)]

"""Cross tables of a release: a row for each cell that can be occupied, with its kind of answer and certain bounds."""

from collections.abc import Collection, Mapping
from math import prod
from typing import Any

import numpy as np

from marginals.conditions import Where
from marginals.errors import InputError
from marginals.estimates import Attributes, MeantRows, as_margin, categories, cells_of, free_name, marked
from marginals.later import pd
from marginals.tables.intervals import numbers_at
from models.arrays import CodeArray, FloatArray
from models.graphs.basis import CERTAIN, Basis, BasisKind
from models.inference.frechet_bounds import MarginBounds
from models.inference.marginal_model import MarginalModel
from models.inference.two_by_two import share_bounds
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Domain

NORMALIZED = {"rows": 1, "columns": 0, "all": None}  # the axis that is summed over for the totals


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
    down, across = as_margin(model, rows), as_margin(model, columns)
    if shared := [a for a in down if a in across]:
        raise InputError(f"{shared[0]!r} cannot stand in the rows and in the columns")
    margin, selected = {**down, **across}, MeantRows.of(model, where)
    if not margin:
        raise InputError(
            'a table is of attributes, such as release.table("age", "sex"); release.count() counts all rows'
        )
    is_judged = not (bounds and selected.unjudged)
    cells = cells_of(model, margin, selected) if is_judged else _possible(selected, margin)
    codes = {a: cells.column(a) for a in margin if a in cells.margin}
    is_counted = cells.counts.dtype.kind != "f"
    basis = CERTAIN if is_counted else selected.basis(margin)
    value, kinds = cells.counts, np.full(len(cells), basis.kind.value, dtype=object)
    if normalize is not None:
        value = _shares_of(value, codes, {"rows": down, "columns": across, "all": ()}[normalize])
    if not is_judged:
        value, kinds = np.full(len(cells), np.nan), np.full(len(cells), BasisKind.NONE.value, dtype=object)
    columns_of_cells: dict[str, Any] = {"value": value}
    if bounds:
        ends = _bounds(selected, down, across, normalize)
        places = tuple(codes.get(a, np.zeros(len(cells), dtype=np.intp)) for a in margin)
        lower, upper = ends.lower[places], ends.upper[places]
        is_exact = lower == upper
        if is_exact.all():
            basis = CERTAIN
        kinds = np.where(is_exact, BasisKind.PUBLISHED.value, kinds)
        columns_of_cells = {"value": np.where(is_exact, lower, value), "lower": lower, "upper": upper}
    columns_of_cells["kind"] = kinds
    covered = covered_by(model, margin, basis)
    if any(covered.values()):
        columns_of_cells["alike"] = _alike(model.domain, margin, codes, covered)
    order = np.lexsort([codes[a] for a in reversed(codes)]) if codes else np.arange(len(cells))
    named = {free_name(name, margin): np.asarray(column)[order] for name, column in columns_of_cells.items()}
    ordered = {a: column[order] for a, column in codes.items()}
    frame = pd.DataFrame(numbers(model.domain, margin, ordered) | named, index(model.domain, margin, ordered))
    if bounds:
        frame.attrs["sharp"] = ends.sharp
    return marked(frame, basis)


def _possible(selected: MeantRows, margin: Mapping[str, int]) -> Cells:
    places = np.nonzero(selected.by(margin).upper)
    return Cells.of(selected.model.domain, margin, dict(zip(margin, places)), np.ones(len(places[0])))


def index(domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray]) -> "pd.Index[Any] | None":
    """Return the labels of cells, a level for each attribute: categories in their order, ordered if they are numbers."""
    columns = [categories(domain, a, margin[a], column) for a, column in codes.items()]
    if len(columns) > 1:
        return pd.MultiIndex.from_arrays(columns, names=list(codes))
    return pd.Index(columns[0], name=next(iter(codes))) if columns else None


def numbers(domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray]) -> dict[str, FloatArray]:
    """Return for each attribute whose labels are numbers, or ranges of them, the middle of the label: `age_number`."""
    points = {}
    for a, column in codes.items():
        if (of_labels := numbers_at(domain.hierarchy(a), margin[a])) is not None:
            points[free_name(f"{a}_number", margin)] = of_labels.points[column]
    return points


def _shares_of(counts: FloatArray, codes: Mapping[str, CodeArray], attributes: Collection[str]) -> FloatArray:
    chosen = [codes[a] for a in attributes if a in codes]
    if not chosen:
        return np.asarray(counts / max(counts.sum(), 1e-300))
    groups = np.unique(np.stack(chosen), axis=1, return_inverse=True)[1].ravel()
    return np.asarray(counts / np.bincount(groups, counts)[groups])


def _bounds(
    selected: MeantRows, down: Mapping[str, int], across: Mapping[str, int], normalize: str | None
) -> MarginBounds:
    counts = selected.by({**down, **across})
    if normalize is None:
        return counts
    hierarchy, summed = selected.model.domain.hierarchy, NORMALIZED[normalize]
    shape = [prod(hierarchy(a).size(level) for a, level in side.items()) for side in (down, across)]
    cells = counts.lower.reshape(shape), counts.upper.reshape(shape)
    sums = selected.bounds() if summed is None else selected.by(down if summed else across)
    sizes = [1 if summed in (None, axis) else size for axis, size in enumerate(shape)]
    totals = [np.reshape(end, sizes) for end in (sums.lower, sums.upper)]
    others = [end.sum(axis=summed, keepdims=True) - end for end in cells]
    lower, upper = share_bounds(cells, (others[0], others[1]), (totals[0], totals[1]))
    is_sharp = (counts.sharp and np.array_equal(totals[0], totals[1])) or np.array_equal(lower, upper, equal_nan=True)
    return MarginBounds(lower.reshape(counts.lower.shape), upper.reshape(counts.lower.shape), is_sharp)  # type: ignore[arg-type]


def covered_by(model: MarginalModel, levels: Mapping[str, int], basis: Basis) -> dict[str, dict[str, str]]:
    """Return the values that share a group of the finest table with others, and that group, by attribute."""
    covered = {}
    for attribute, level in levels.items():
        level_shown = min((margin[attribute] for margin in basis.margins if attribute in margin), default=level)
        if basis.kind is BasisKind.SUPPORTED and level_shown > level:
            hierarchy = model.domain.hierarchy(attribute)
            parents = hierarchy.lift(level, level_shown)
            several = np.bincount(parents, minlength=hierarchy.size(level_shown)) > 1
            groups = hierarchy.labels[level_shown]
            above = zip(hierarchy.labels[level], parents.tolist())
            covered[attribute] = {label: groups[parent] for label, parent in above if several[parent]}
    return covered


def _alike(
    domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray], covered: Mapping[str, Mapping[str, str]]
) -> list[str]:
    by_attribute = []
    for a, groups in covered.items():
        if a in codes:
            labels = domain.hierarchy(a).labels[margin[a]]
            texts = [f"{a} {groups[label]}" if label in groups else "" for label in labels]
            by_attribute.append([texts[code] for code in codes[a].tolist()])
    return [", ".join(filter(None, texts)) for texts in zip(*by_attribute)]

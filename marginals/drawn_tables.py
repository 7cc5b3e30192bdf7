"""Statistics of whole tables with every published count: any function of rows, and regressions.

No row is somebody's. Associations that no table shows are drawn as strong as those that one shows. How often intervals by
such tables hold the truth is measured (page of yardsticks). A number within a published group is drawn as the neighbouring
groups suggest.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marginals.answers import Answer, Bounds, drawn, interval_of
from marginals.errors import InputError
from marginals.estimates import assumption, basis_by, free_name, marked, rows_frame
from marginals.later import pd
from marginals.tables.intervals import LabelNumbers, numbers_at
from models.arrays import CodeArray, FloatArray
from models.inference.marginal_model import DrawnTable, MarginalModel
from models.tables.hierarchy import Domain

Statistic = Callable[["pd.DataFrame"], Any]  # numbers of a table with a row for each person
FAMILIES = ("ols", "logit", "poisson")  # as statsmodels calls them

_STEEPEST = 1.8  # density within a group; 2 leaves nobody at its lower end


def with_numbers(
    domain: Domain, levels: Mapping[str, int], rows: "pd.DataFrame", rng: "np.random.Generator"
) -> "pd.DataFrame":
    """Return rows of labels with a number within each label beside attributes whose labels are numbers: `age_number`."""
    codes = {a: rows[a].cat.codes.to_numpy() for a in map(str, rows)}
    numbers = {}
    for a in codes:
        if (labels := numbers_at(domain.hierarchy(a), levels[a])) is not None:
            others = [(codes[b], domain.hierarchy(b).size(levels[b])) for b in codes if b != a]
            numbers[free_name(f"{a}_number", levels)] = _within(labels, codes[a], others, rng)
    frame = rows.assign(**numbers)
    frame.attrs.update(rows.attrs)
    return frame


def _within(
    labels: LabelNumbers, codes: CodeArray, others: Sequence[tuple[CodeArray, int]], rng: "np.random.Generator"
) -> FloatArray:
    low, high, are_whole = labels.low[codes], labels.high[codes], labels.is_whole[codes]
    numbers = labels.points[codes].copy()
    spread = np.isfinite(low) & np.isfinite(high) & (low < high)  # others have no end
    low, width = np.where(spread, low, 0.0), np.where(spread, high - low + are_whole, 0.0)
    slope = np.clip(_slopes(labels, codes, others), -_STEEPEST, _STEEPEST)
    half = np.where(np.abs(slope) < 1e-6, 1e-6, slope) / 2
    place = (half - 1 + np.sqrt((1 - half) ** 2 + 4 * half * rng.random(len(codes)))) / (2 * half)
    inside = low + np.clip(place, 0, 1 - 1e-9) * width
    numbers[spread] = np.where(are_whole, np.floor(inside), inside)[spread]
    return numbers


def _slopes(labels: LabelNumbers, codes: CodeArray, others: Sequence[tuple[CodeArray, int]]) -> FloatArray:
    """Differences in density between the ends of each row's label, for rows like it, by the neighbouring labels."""
    order = np.argsort(labels.low, kind="stable")
    order = order[np.isfinite(labels.low[order]) & np.isfinite(labels.high[order])]
    place = np.full(len(labels.low), -1)
    place[order] = np.arange(len(order))
    at = place[codes]
    has_ends = at >= 0
    at = at[has_ends]
    widths = (labels.high - labels.low + labels.is_whole)[order]
    rows = np.bincount(at, minlength=len(order)).astype(np.float64)
    slopes = np.zeros(len(codes))
    slopes[has_ends] = _steps((rows / np.where(widths > 0, widths, 1))[:, None])[at, 0]
    for other, size in others:
        values = other[has_ends]
        cells = np.bincount(at * size + values, minlength=len(order) * size).reshape(len(order), size)
        slopes[has_ends] += _steps((cells + 1 / size) / (rows[:, None] + 1))[at, values]
    return slopes


def _steps(densities: FloatArray) -> FloatArray:
    """Half the difference of each group's neighbours, relative to its density; shape (groups, columns)."""
    padded = np.concatenate([densities[:1], densities, densities[-1:]])
    return np.asarray((padded[2:] - padded[:-2]) / 2 / np.maximum(densities, 1e-300))


def frame_of_table(table: DrawnTable) -> "pd.DataFrame":
    """Return a drawn table as a frame, with its seed and number in `attrs`."""
    from marginals import __version__

    levels = {name: table.finest_levels[name] for name in table.codes}
    rows = rows_frame(table.domain, levels, table.codes)
    frame = with_numbers(table.domain, levels, rows, np.random.default_rng(table.origin))
    frame.attrs |= {"seed": table.origin[0], "number": table.origin[1], "version": __version__}
    return frame


def estimate(
    model: MarginalModel, function: Statistic, level: float, tables: int, seed: int
) -> "Answer | pd.DataFrame":
    """Return a number of drawn tables as an answer, and a Series or a frame of numbers as a frame."""
    results = [_result(function, frame_of_table(table)) for table in drawn(model, tables, seed)]
    basis = basis_by(model, model.finest_levels)
    if not isinstance(results[0], pd.Series | pd.DataFrame):
        middle = interval_of(list(map(_number, results)), level)[1]

        def ask(table: Any) -> float:
            return _number(_result(function, frame_of_table(table)))

        return Answer(middle, basis, Bounds(), model, ask, _drawing=(level, tables, seed))
    try:
        together = pd.concat([one.stack() if isinstance(one, pd.DataFrame) else one for one in results], axis=1)
        numbers = together.to_numpy(dtype=np.float64)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the function gives no numbers of the same kind for each table: {error}") from None
    ends = [interval_of(row, level) if np.isfinite(row).all() else (np.nan,) * 3 for row in numbers.tolist()]
    low, value, high = np.array(ends).reshape(-1, 3).T
    kinds = np.where(np.isnan(value), "none", basis.kind.value)
    return marked(pd.DataFrame({"value": value, "low": low, "high": high, "kind": kinds}, together.index), basis)


def _result(function: Statistic, frame: "pd.DataFrame") -> Any:
    try:
        return function(frame)
    except InputError:
        raise
    except Exception as error:  # whatever somebody's function does with a frame
        numbers = ", ".join(name for name in map(str, frame) if name.endswith("_number"))
        raise InputError(
            f"the function fails on a drawn table ({type(error).__name__}: {error}); columns are labels"
            + (f", and numbers are in {numbers}" if numbers else "")
        ) from error


def _number(result: Any) -> float:
    if isinstance(result, bool | int | float | np.number | np.bool_):
        return float(result)
    raise InputError(
        f"the function gives a {type(result).__name__}; a number, a Series or a frame of numbers is needed"
    )


def fit(model: MarginalModel, formula: str, family: str, level: float, tables: int, seed: int) -> "pd.DataFrame":
    """Return the coefficients of a regression, fitted to drawn tables and pooled by Rubin's rules."""
    from scipy.stats import t

    names = [a for a in model.domain.attributes if re.search(rf"(?<!\w){re.escape(a)}(?!\w)", formula)]
    outcome = next((a for a in names if re.search(rf"(?<!\w){re.escape(a)}(?!\w)", formula.partition("~")[0])), None)
    if outcome is None or "~" not in formula:
        raise InputError('a regression is a formula of published attributes, such as "asthma ~ age + sex"')
    basis = basis_by(model, {a: model.finest_levels[a] for a in names})
    if basis.assumed:
        raise InputError(f"{assumption(basis.assumed)}; a regression would find that, and nothing of the data")
    fits = [_fitted(frame_of_table(table), names, outcome, formula, family) for table in drawn(model, tables, seed)]
    values, errors = (np.array([one[place].to_numpy() for one in fits]) for place in (0, 1))
    within, between = (errors**2).mean(axis=0), values.var(axis=0, ddof=1) * (1 + 1 / tables)
    freedom = (tables - 1) * (1 + within / np.maximum(between, 1e-300)) ** 2
    value, error = values.mean(axis=0), np.sqrt(within + between)
    reach = t.ppf((1 + level) / 2, freedom) * error
    columns = {"value": value, "std_error": error, "low": value - reach, "high": value + reach}
    return marked(pd.DataFrame(columns, fits[0][0].index).assign(kind=basis.kind.value), basis)


def _fitted(
    frame: "pd.DataFrame", names: Sequence[str], outcome: str, formula: str, family: str
) -> "tuple[pd.Series[float], pd.Series[float]]":
    from marginals.tables.opening import require  # loaded here: few ask for regressions

    api = require("statsmodels.formula.api", "fit", "a regression")
    data = frame[[*names]].astype(str)
    for a in names:
        if (number := free_name(f"{a}_number", names)) in frame:
            data[a] = frame[number]
    if family == "logit" and set(data[outcome]) != {0, 1}:
        values = [label for label in frame[outcome].cat.categories if (frame[outcome] == label).any()]
        if len(values) != 2:
            raise InputError(f"{outcome!r} has {len(values)} values; a logistic regression is of 2")
        data[outcome] = (frame[outcome] == values[1]).astype(float).to_numpy()
    try:
        result = getattr(api, family)(formula, data).fit(**({} if family == "ols" else {"disp": 0}))
    except Exception as error:  # of patsy, NumPy and statsmodels, whatever a formula or a table makes them do
        raise InputError(f"statsmodels cannot fit {formula!r} ({type(error).__name__}: {error})") from error
    return result.params, result.bse

"""The tests of a model's edges as one frame, with corrections for testing many."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from models.arrays import FloatArray
from models.errors import NotFittedError, TooManyCellsError
from models.inference.edges.edge_tests import EdgeTest, edge_test
from models.inference.edges.ordinal_tests import ScoreTest, linear_by_linear, mean_scores
from models.search.selection import SelectedModel, p_value
from models.tables.domain import vertices_of


def edge_frame(found: SelectedModel, ordered: frozenset[str], adjusted: bool) -> pd.DataFrame:
    """One row for each edge of the model, in the table's order; `Selection.tests` says what the columns are."""
    domain = found.collection.domain
    names = domain.attributes
    edges = sorted(
        (tuple(sorted(edge, key=names.index)) for edge in found.graph.edges), key=lambda e: [*map(names.index, e)]
    )
    lines = [_line(found, (first, second), ordered, adjusted) for first, second in edges]
    frame = pd.DataFrame(lines, columns=list(_COLUMNS)).astype({c: kind for c, kind in _COLUMNS.items() if kind})
    frame["p_holm"], frame["p_fdr"] = holm(frame["p"].to_numpy()), _false_discovery(frame["p"].to_numpy())
    return frame if ordered else frame.drop(columns=[column for column in frame if str(column).startswith("ordinal")])


_COLUMNS = {
    "first": "",
    "second": "",
    "given": "",
    "deviance": "float64",
    "df": "Int64",
    "df_adjusted": "Int64",
    "p": "float64",
    "p_holm": "float64",
    "p_fdr": "float64",
    "ordinal_test": "",
    "ordinal_statistic": "float64",
    "ordinal_df": "Int64",
    "ordinal_p": "float64",
}


def _line(found: SelectedModel, edge: tuple[str, str], ordered: frozenset[str], adjusted: bool) -> dict[str, object]:
    domain = found.collection.domain
    offsets = dict(zip(domain.attributes, domain.offsets))
    line: dict[str, object] = {"first": edge[0], "second": edge[1]}
    try:
        test = edge_test(found.model, offsets[edge[0]], offsets[edge[1]])
    except (NotFittedError, TooManyCellsError):
        return line | {"given": "", "deviance": np.nan, "ordinal_test": ""}
    used = test.adjusted_degrees_of_freedom if adjusted else test.degrees_of_freedom
    given = [domain.induced_attributes[vertex].attribute for vertex in vertices_of(test.given)]
    line |= {
        "given": ", ".join(given),
        "deviance": test.deviance,
        "df": test.degrees_of_freedom,
        "df_adjusted": pd.NA if test.adjusted_degrees_of_freedom is None else test.adjusted_degrees_of_freedom,
        "p": p_value(test.deviance, test.degrees_of_freedom if used is None else used),
    }
    name, score = ordinal_test(test, edge, ordered)
    line["ordinal_test"] = name
    if score is not None:
        line |= {"ordinal_statistic": score.statistic, "ordinal_df": score.degrees_of_freedom}
        line["ordinal_p"] = p_value(*score)
    return line


def ordinal_test(test: EdgeTest, edge: Sequence[str], ordered: frozenset[str]) -> tuple[str, ScoreTest | None]:
    """The test that uses the order of the values, where one of the two attributes has one."""
    counts, (first, second) = test.counts, edge
    if counts is None or not ordered & {first, second}:
        return "", None
    if {first, second} <= ordered:
        return "linear-by-linear", linear_by_linear(counts)
    return "mean scores", mean_scores(counts if second in ordered else counts.swapaxes(0, 1))


def holm(p: FloatArray) -> FloatArray:
    """P-values corrected so that all that are below a level are right, but for that probability (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    corrected: FloatArray = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected


def _false_discovery(p: FloatArray) -> FloatArray:
    """P-values corrected for the share of false ones among those below a level (Benjamini and Hochberg 1995)."""
    corrected: FloatArray = np.full(len(p), np.nan)
    known = ~np.isnan(p)
    if known.any():
        corrected[known] = false_discovery_control(p[known])
    return corrected

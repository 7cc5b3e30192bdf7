"""`select` against all decomposable models, on thirty real tables: no model has a better score than the one it gives.

The tables are parts of data sets that come with statsmodels and scikit-learn. Some have categories that no row has, some
structural zeros (a column that follows from another), some ordered values.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, combinations
from math import lgamma, log, prod

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import marginals

pytestmark = [pytest.mark.filterwarnings("ignore::marginals.errors.DataWarning")]

_FEW = 6
"""Different values of a column up to which it is taken as it is; others are cut into three bands of as many rows."""

GROUPS = {
    "fair": [
        "rate_marriage age yrs_married children religious", "religious educ occupation occupation_husb",
        "rate_marriage occupation affairs", "age educ affairs",
    ],
    "anes96": ["TVnews selfLR ClinLR DoleLR PID", "age educ income vote", "PID vote educ"],
    "randhie": [
        "mdvis lncoins idp lpi", "physlm disea hlthg hlthf hlthp", "idp hlthg hlthp disea", "mdvis physlm disea",
    ],
    "modechoice": ["mode choice ttme invc gc", "hinc psize choice"],
    "star98": ["LOWINC PERASIAN PERBLACK PERHISP", "PERMINTE AVYRSEXP AVSALK", "PTRATIO PCTAF PCTCHRT PCTYRRND LOWINC"],
    "spector": ["GPA TUCE PSI GRADE"],
    "statecrime": ["violent murder hs_grad poverty single", "white urban poverty"],
    "macrodata": ["realgdp realcons unemp infl", "tbilrate unemp realint infl"],
    "ccard": ["AVGEXP AGE INCOME OWNRENT"],
    "iris": ["sepal_length sepal_width petal_length petal_width target"],
    "wine": ["alcohol malic_acid ash hue target", "magnesium flavanoids proline target", "hue ash target"],
    "breast_cancer": [
        "mean_radius mean_texture mean_area mean_smoothness target",
        "worst_radius worst_concavity target",
    ],
    "diabetes": ["age sex bmi bp target", "s1 s2 s3 s4 s5", "sex s6 target"],
}  # fmt: skip
NAMES = [(name, group) for name, groups in GROUPS.items() for group in groups]


@cache
def data_set(name: str) -> pd.DataFrame:
    if name in ("iris", "wine", "breast_cancer", "diabetes"):
        datasets = pytest.importorskip("sklearn.datasets")
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        return frame.rename(columns=lambda column: column.removesuffix(" (cm)").replace(" ", "_"))
    datasets = pytest.importorskip("statsmodels.datasets")
    return getattr(datasets, name).load_pandas().data


def table(name: str, group: str) -> pd.DataFrame:
    """The columns as categories; every third table with more of them than rows have, every third with structural zeros."""
    frame = data_set(name)[group.split()]
    number = NAMES.index((name, group))
    banded = {}
    for column in frame:
        values = frame[column]
        if values.nunique() > _FEW:
            values = pd.qcut(values.rank(method="first"), 3, labels=["low", "middle", "high"])
        banded[column] = values.astype("category")
    frame = pd.DataFrame(banded)
    first = frame.columns[0]
    if number % 3 == 0:
        frame[first] = frame[first].cat.add_categories(["nobody", "nothing"])
    if number % 3 == 1 and len(frame.columns) < 5:
        frame["least"] = (frame[first] == frame[first].cat.categories[0]).astype("category")
    return frame


def score_of(frame: pd.DataFrame, score: str) -> Callable[[tuple[str, ...]], float]:
    """The score of a set of attributes, from a count of the frame's rows; more is better."""
    rows = len(frame)

    @cache
    def of(attributes: tuple[str, ...]) -> float:
        if not attributes:
            return 0.0
        counts = frame.groupby(list(attributes), observed=True).size().to_numpy()
        cells = prod(frame[name].nunique() for name in attributes)
        likelihood = float((counts * np.log(counts / rows)).sum())
        if score == "bdeu":
            each = [lgamma(1 / cells + count) - lgamma(1 / cells) for count in counts.tolist()]
            return lgamma(1) - lgamma(1 + rows) + sum(each)
        return likelihood - (cells - 1) * (log(rows) / 2 if score == "bic" else 1.0)

    return of


def decomposable_models(names: list[str]) -> Iterator[tuple[list[tuple[str, ...]], list[tuple[str, ...]]]]:
    edges = list(combinations(names, 2))
    for chosen in chain.from_iterable(combinations(edges, number) for number in range(len(edges) + 1)):
        graph = nx.Graph(chosen)
        graph.add_nodes_from(names)
        if not nx.is_chordal(graph):
            continue
        cliques = [tuple(sorted(clique, key=names.index)) for clique in nx.chordal_graph_cliques(graph)]
        crossing = nx.Graph()
        crossing.add_nodes_from(cliques)
        for one, other in combinations(cliques, 2):
            crossing.add_edge(one, other, weight=len({*one} & {*other}))
        tree = nx.maximum_spanning_tree(crossing)
        yield cliques, [tuple(sorted({*one} & {*other}, key=names.index)) for one, other in tree.edges]


def test_there_are_thirty_tables() -> None:
    assert len(NAMES) >= 30


@pytest.mark.parametrize(("name", "group"), NAMES)
def test_no_decomposable_model_has_a_better_score(name: str, group: str) -> None:
    frame = table(name, group)
    names = list(frame.columns)
    models = list(decomposable_models(names))
    for criterion in ("bic", "aic", "bdeu"):
        of = score_of(frame, criterion)
        best = max(sum(map(of, cliques)) - sum(map(of, separators)) for cliques, separators in models)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            selected = marginals.select(frame, criterion)
        chosen = set(selected.cliques)
        cliques, separators = next(model for model in models if set(model[0]) == chosen)
        assert sum(map(of, cliques)) - sum(map(of, separators)) == pytest.approx(best, rel=1e-10)
        assert selected.gap == pytest.approx(0.0, abs=1e-6)

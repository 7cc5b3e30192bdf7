"""What `select`, `publish` and `frontier` give back goes to other processes, and says what it left out."""

import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import marginals
from marginals.example import table
from marginals.selection import false_discovery

POLICY = marginals.Policy(k_link=4, diversity="distinct:2")


def survey(rows=400, seed=5):
    """Ordered sizes and two columns that go with them."""
    rng = np.random.default_rng(seed)
    size = rng.integers(0, 3, rows)
    frame = pd.DataFrame({"size": pd.Categorical.from_codes(size, ["S", "M", "L"], ordered=True)})
    return frame.assign(
        sold=np.where(rng.random(rows) < 0.2 + 0.3 * size, "yes", "no"), day=rng.choice(["Mo", "Di"], rows)
    )


def few_attributes(cliques):
    """A constraint of one's own that another process can import."""
    return all(len(clique) <= 2 for clique in cliques)


def test_a_selection_is_the_same_after_pickle():
    chosen = marginals.select(survey(), constraint=few_attributes)
    again = pickle.loads(pickle.dumps(chosen))
    assert repr(again) == repr(chosen)
    pd.testing.assert_frame_equal(again.tests(), chosen.tests())
    pd.testing.assert_frame_equal(again.bootstrap(3, jobs=1), chosen.bootstrap(3, jobs=1))


def test_a_publication_is_the_same_after_pickle_and_its_report_can_still_be_asked():
    publication = marginals.publish(table, POLICY)
    again = pickle.loads(pickle.dumps(publication))
    assert again.release.verify().checks == publication.release.verify().checks
    assert again.steward.two_way == publication.steward.two_way
    assert again.steward.binding == publication.steward.binding
    pd.testing.assert_frame_equal(again.steward.trace(), publication.steward.trace())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["spawn", "joblib"])
def test_loops_run_in_other_processes(way):
    criteria = ["bic", "aic"]
    if way == "joblib":
        joblib = pytest.importorskip("joblib")
        chosen = joblib.Parallel(n_jobs=2)(joblib.delayed(marginals.select)(survey(), name) for name in criteria)
    else:
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            chosen = list(pool.map(partial(marginals.select, survey()), criteria))
            published = pool.submit(marginals.publish, table, POLICY).result()
        assert repr(published) == repr(marginals.publish(table, POLICY))
    assert [one.cliques for one in chosen] == [marginals.select(survey(), name).cliques for name in criteria]


@pytest.mark.parametrize("criterion", ["bic", "aic", "likelihood-ratio", "kl"])
@pytest.mark.parametrize("strategy", ["auto", "exact", "genetic", "greedy-backward"])
def test_a_trace_is_never_empty(criterion, strategy):
    if criterion == "likelihood-ratio" and strategy in ("exact", "genetic"):
        pytest.skip("a test of significance has no best model")
    assert len(marginals.select(survey()[["day", "sold"]], criterion, strategy).trace())


def test_a_model_without_steps_says_so():
    given = marginals.fit_model(survey(), [("size", "sold")])
    assert given.trace()["move"].str.startswith("no step is noted").tolist() == [True]


def test_a_category_without_rows_is_no_value():
    """Two more sizes that nobody has change nothing, and a note names how many there are."""
    frame = survey()
    wider = frame.assign(size=frame["size"].cat.set_categories(["XS", "S", "M", "L", "XL"], ordered=True))
    plain = marginals.select(frame)
    with pytest.warns(marginals.DataWarning, match=r"count no degrees of freedom: 2 of size\.") as caught:
        model = marginals.select(wider)
    assert caught[0].filename == __file__
    for name in ("cliques", "degrees_of_freedom", "p_value", "bic", "deviance"):
        assert getattr(model, name) == getattr(plain, name)
    pd.testing.assert_frame_equal(model.tests(), plain.tests())
    assert model.fitted["size"].cat.categories.tolist() == ["S", "M", "L"]
    assert model.predict(frame.head(2), "size").columns.tolist() == ["S", "M", "L"]


def test_a_value_of_a_table_without_rows_is_no_value():
    frame = survey().astype({"size": str}).query("size != 'M'")
    hierarchy = marginals.Hierarchy.from_rows([[size, "*"] for size in ("S", "M", "L")])
    attribute = marginals.Attribute("quasi-identifier", hierarchy=hierarchy)
    read = marginals.read_table(frame, {"size": attribute, "sold": "quasi-identifier", "day": "quasi-identifier"})
    with pytest.warns(marginals.DataWarning, match="1 of size"):
        model = marginals.select(read)
    assert model.degrees_of_freedom == marginals.select(frame).degrees_of_freedom


def test_dropped_rows_are_warned_of_with_the_columns_that_lack_a_value():
    frame = survey()
    frame.loc[:9, "sold"] = None
    frame.loc[9:11, "day"] = None
    with pytest.warns(marginals.DataWarning) as caught:
        marginals.select(frame)
    assert str(caught[0].message) == "Dropped 12 of 400 rows with missing values: 10 lack sold, 3 day."
    with pytest.warns(marginals.DataWarning, match="Dropped 12 of 400"):
        marginals.fit_model(frame, [("sold",)])
    with warnings.catch_warnings(record=True, action="always") as caught:
        marginals.select(survey())
    assert not caught


def test_rows_that_all_lack_a_value_are_refused_in_a_sentence():
    frame = pd.DataFrame({"size": pd.Categorical(["S", None]), "sold": [None, "yes"]})
    with pytest.raises(marginals.InputError, match=r"no value|no row"):
        marginals.select(frame)


@pytest.mark.parametrize("p", [[0.01, 0.04, 0.03], [0.2], [0.5, 0.5, 1.0, 0.0], [1e-9, 0.9, 0.04, 0.04, 0.3]])
def test_false_discoveries_are_corrected_as_scipy_does(p):
    assert false_discovery(np.array(p)) == pytest.approx(false_discovery_control(p))


def test_a_figure_of_policies_has_lines_that_differ_in_more_than_colour():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    grid = marginals.frontier(table, POLICY, k=[2, 4], strategies=["greedy", "exact", "rebuild"], jobs=1)
    figure = marginals.plot_frontier(grid)
    lines = figure.axes[0].lines
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == len(lines) == 3
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3, "lines that coincide are all seen"


@pytest.mark.slow
def test_a_first_selection_loads_nothing_for_one_function_and_takes_little_time():
    """1,000 rows by 6 columns. Seconds of the processor, beside an import of pandas in the same run."""
    program = """
import sys, time
import numpy as np, pandas as pd
pandas = time.process_time()
import marginals
rng = np.random.default_rng(0)
frame = pd.DataFrame({name: rng.integers(0, 4, 1000) for name in "abcdef"})
frame["b"] = (frame.a + rng.integers(0, 2, 1000)) % 4
marginals.select(frame)
heavy = [name for name in ("scipy.stats", "scipy.optimize", "jinja2", "matplotlib", "duckdb") if name in sys.modules]
print(pandas, time.process_time(), *heavy)
"""

    def ratio() -> float:
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        pandas, whole, *heavy = run.stdout.split()
        assert heavy == []
        return float(whole) / float(pandas)

    assert any(ratio() < 5 for _ in range(3))

"""From a frame to a model: what the result says is what the counts say, also in another process."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import InputError
from marginals.example import table
from models import NotDecomposableError


def survey(rows=400, seed=3):
    """Coughs depend on smoking, smoking on age; the sign of the zodiac on nothing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, rows)
    smokes = rng.random(rows) < 0.2 + 0.25 * age
    coughs = rng.random(rows) < 0.2 + 0.5 * smokes
    frame = pd.DataFrame({"age": pd.Categorical.from_codes(age, ["young", "middle", "old"], ordered=True)})
    return frame.assign(
        smokes=np.where(smokes, "yes", "no"),
        coughs=np.where(coughs, "yes", "no"),
        sign=rng.choice(["lion", "fish"], rows),
    )


@pytest.fixture(scope="module")
def selected():
    return marginals.select(survey())


def test_a_frame_of_rows_and_one_of_counts_give_the_same(selected):
    frame = survey()
    counted = frame.value_counts().reset_index(name="Freq")
    other = marginals.select(counted, counts="Freq")
    assert selected.cliques == other.cliques == (("age", "smokes"), ("sign",), ("smokes", "coughs"))
    assert selected.deviance == pytest.approx(other.deviance)
    assert selected.gap == 0
    assert "no decomposable model is better" in repr(selected)
    assert marginals.select(selected.rows.counts).cliques == selected.cliques


@pytest.mark.parametrize("counts", [[0.9, 1.5, 2.99], [1, -1, 2], [1, None, 2], ["1", "few", "2"]])
def test_counts_that_are_no_whole_numbers_are_refused_in_a_sentence_without_them(counts):
    frame = pd.DataFrame({"a": ["x", "y", "z"], "Freq": counts})
    with pytest.raises(InputError, match="counts in 'Freq' must be whole numbers") as caught:
        marginals.select(frame, counts="Freq")
    assert not any(str(value) in str(caught.value) for value in ("1.5", "few", "-1"))


def test_each_edge_has_its_test(selected):
    frame = survey()
    tests = selected.tests()
    assert tests[["first", "second"]].to_numpy().tolist() == [["age", "smokes"], ["smokes", "coughs"]]
    smaller = marginals.selection.fit_model(frame, [("smokes", "coughs")])
    comparison = smaller.compare(selected)
    assert comparison.nested
    assert (comparison.deviance, comparison.p_value) == pytest.approx(tests.loc[0, ["deviance", "p"]].tolist())
    assert comparison.degrees_of_freedom == tests.loc[0, "df"]


def test_processes_change_nothing_of_a_bootstrap_and_it_tells_how_far_it_is(selected):
    told = []
    two = selected.bootstrap(6, seed=3, progress=lambda *done: told.append(done))
    assert told == [("resampled tables", done, 6) for done in range(1, 7)]
    assert two.equals(selected.bootstrap(6, seed=3, jobs=1))


def test_rows_of_the_model_come_again_with_the_same_seed(selected):
    drawn = selected.simulate(50, seed=1)
    assert drawn.equals(selected.simulate(50, seed=1))
    assert list(drawn["age"].cat.categories) == ["young", "middle", "old"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bootstrap_ends_in_time_and_says_how_many_tables_it_had(selected, jobs):
    shares = selected.bootstrap(500, jobs=jobs, time_limit=0.01)
    (tables,) = set(shares["tables"])
    assert 1 <= tables < 500
    counts = shares["share"] * tables
    assert counts.to_numpy() == pytest.approx(counts.round().to_numpy())


def test_limits_of_a_person_are_kept_by_every_strategy():
    frame = survey()
    for strategy in ("auto", "forward", "exact"):
        kept = marginals.select(frame, strategy=strategy, required=[("age", "sign")], forbidden=[("smokes", "coughs")])
        assert kept.graph.has_edge("age", "sign")
        assert not kept.graph.has_edge("smokes", "coughs")
        few = marginals.select(
            frame, strategy=strategy, constraint=lambda cliques: len(cliques) >= 4 or "fewer margins"
        )
        assert len(few.cliques) == 4
    joined = marginals.select(frame, constraint=lambda cliques: len(cliques) <= 2)  # refuses where searches begin
    assert (len(joined.cliques), joined.gap) == (2, 0)


def test_the_trace_tells_what_each_step_gains_by_the_criterion():
    for criterion in ("bic", "aic", "kl"):
        found = marginals.select(survey(), criterion=criterion, strategy="forward")
        trace, rows = found.trace(), found.model.total
        price = {"bic": np.log(rows) / (2 * rows), "aic": 1 / rows, "kl": 0.0}[criterion]
        saved = trace["before"] - trace["after"]
        assert trace["gain"].to_numpy() == pytest.approx((saved - price * trace["degrees_of_freedom"]).to_numpy())
        assert (-trace["criterion"].diff()[1:]).to_numpy() == pytest.approx(trace["gain"][1:].to_numpy())
        assert trace["criterion"].iloc[-1] == pytest.approx(found.search.value)


def test_other_programs_take_the_model_and_give_it_back(selected):
    frame = survey()
    for given in (selected.graph, selected.cliques):
        again = marginals.selection.fit_model(frame, given)
        assert (again.cliques, again.deviance) == (selected.cliques, pytest.approx(selected.deviance))
        assert again.gap is None
    with pytest.raises(NotDecomposableError):
        marginals.selection.fit_model(
            frame, [("age", "smokes"), ("smokes", "coughs"), ("coughs", "sign"), ("age", "sign")]
        )
    for wrong in (selected.to_r(), 7, "nothing.graphml", [("weight",)]):
        with pytest.raises(InputError):
            marginals.selection.fit_model(frame, wrong)


def test_pgmpy_has_the_same_distribution(selected):
    pytest.importorskip("pgmpy")
    network = selected.to_pgmpy()
    assert network.check_model()
    assert marginals.selection.fit_model(survey(), network).cliques == selected.cliques


POLICY = marginals.Policy(k_link=4, diversity="distinct:2")


def few_attributes(cliques):
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


def test_a_model_without_steps_says_so():
    given = marginals.selection.fit_model(survey(), [("age", "smokes")])
    assert given.trace()["move"].str.startswith("no step is noted").tolist() == [True]


def test_a_category_without_rows_is_no_value():
    """Two more ages that nobody has change nothing, and a note names how many there are."""
    frame = survey()
    wider = frame.assign(
        age=frame["age"].cat.set_categories(["baby", "young", "middle", "old", "oldest"], ordered=True)
    )
    plain = marginals.select(frame)
    with pytest.warns(marginals.errors.DataWarning, match=r"count no degrees of freedom: 2 of age\.") as caught:
        model = marginals.select(wider)
    assert caught[0].filename == __file__
    for name in ("cliques", "degrees_of_freedom", "p_value", "bic", "deviance"):
        assert getattr(model, name) == getattr(plain, name)
    pd.testing.assert_frame_equal(model.tests(), plain.tests())
    assert model.fitted["age"].cat.categories.tolist() == ["young", "middle", "old"]


def test_dropped_rows_are_warned_of_with_the_columns_that_lack_a_value():
    frame = survey()
    frame.loc[:9, "smokes"] = None
    frame.loc[9:11, "sign"] = None
    with pytest.warns(marginals.errors.DataWarning) as caught:
        marginals.select(frame)
    assert "Dropped 12 of 400" in str(caught[0].message)
    assert "10 lack smokes, few sign" in str(caught[0].message)
    with pytest.warns(marginals.errors.DataWarning, match="Dropped 12 of 400"):
        marginals.selection.fit_model(frame, [("smokes",)])
    with warnings.catch_warnings(record=True, action="always") as caught:
        marginals.select(survey())
    assert not caught

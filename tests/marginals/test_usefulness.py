"""What analysts lose: errors of random counts and predictions, of releases and of anonymized tables alike."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import main
from marginals.anonymizers.local_recoding import LocalRecoding
from marginals.bundle.reading import over_table
from marginals.example import frame, release, table
from marginals.usefulness import _estimated
from models import Collection, MarginalModel, Taxonomy, answers, random_count_queries
from small_release import write_config


@given(st.integers(1, 3), st.integers(0, 99))
def test_a_query_of_a_release_is_the_sum_of_what_is_expected_of_base_cells(conditions: int, seed: int) -> None:
    """Brute force: every base cell of the model, added up where it satisfies the conditions."""
    over, named = over_table(release, table)
    model = over.model
    queries = random_count_queries(named.base_counts, conditions, 5, np.random.default_rng(seed))
    expected = model.expected(dict.fromkeys(model.domain.attributes, 0))
    taxonomies = list(map(Taxonomy, model.domain.hierarchies))
    for query, estimate in zip(queries.nodes.tolist(), _estimated(model, queries)):
        cells = product(*(range(size) for size in expected.shape))
        inside = [
            cell for cell in cells if all(t.shares_under(n)[code] > 0 for t, n, code in zip(taxonomies, query, cell))
        ]
        assert estimate == pytest.approx(sum(expected[cell] for cell in inside))


@given(st.integers(0, 3), st.integers(0, 1), st.integers(1, 3))
def test_a_table_is_measured_alike_as_a_marginal_and_as_a_recoding(age: int, sex: int, conditions: int) -> None:
    levels = {"age": age, "sex": sex}
    mask = table.domain.mask({**levels, "diagnosis": 0})
    queries = random_count_queries(table.base_counts, conditions, 20, np.random.default_rng(age))
    alone = _estimated(MarginalModel(Collection.of(table.cube, [mask])), queries)
    np.testing.assert_allclose(alone, answers(LocalRecoding.full_domain(table, levels).cells, queries))


def test_nothing_is_lost_by_the_table_itself() -> None:
    whole = LocalRecoding.full_domain(table, {"age": 0, "sex": 0})
    assert marginals.query_error(whole, table, 2) == 0
    pytest.importorskip("sklearn")
    assert marginals.prediction_accuracy(whole, table, "diagnosis").relative == 1


def test_predictions_are_between_the_commonest_value_and_the_rows() -> None:
    pytest.importorskip("sklearn")
    told = marginals.prediction_accuracy(release, table, "diagnosis")
    assert told.commonest == frame["diagnosis"].value_counts().max() / len(frame)
    assert told.commonest < told.learnt <= told.from_rows
    assert told == marginals.prediction_accuracy(release, table, "diagnosis")
    assert told.as_json()["relative"] == told.learnt / told.from_rows


def test_what_makes_no_sense_is_refused() -> None:
    other = marginals.read_table(frame.iloc[:40], {"age": "quasi-identifier", "sex": "quasi-identifier"})
    with pytest.raises(marginals.InputError, match="conditions"):
        marginals.query_error(release, table, 4)
    with pytest.raises(marginals.InputError, match="no attribute"):
        marginals.prediction_accuracy(release, table, "height")
    with pytest.raises(marginals.InputError, match="another table"):
        marginals.query_error(release, other, 1)


def test_the_command_compares_a_release_with_its_table(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    config = write_config(tmp_path)
    out = tmp_path / "release"

    def run(*arguments: object) -> str:
        done = CliRunner().invoke(main, list(map(str, arguments)))
        assert done.exit_code == 0, done.output
        return done.stdout

    run("publish", config, "--out", out)
    told = json.loads(run("compare", config, out, "--conditions", 1, "--json"))
    published, counted = marginals.open_release(out), marginals.read_config(config).read_table()
    assert told["query_error"] == {"conditions": 1, "mean": marginals.query_error(published, counted, 1)}
    assert [one["target"] for one in told["prediction"]] == ["disease"]
    said = run("compare", config, out, "--target", "sex")
    assert said.startswith("Not for publication")
    assert "Predicting sex: right for" in said

"""What is written for other programs is read back by them and says the same."""

from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import marginals
import marginals.example
from marginals import interchange
from shape_releases import release_of

SHAPES_OUT = ["chain", "star through a generalized value", "tree of triangles", "cycle", "disconnected", "singleton"]


@pytest.fixture(params=SHAPES_OUT)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> marginals.Release:
    return release_of(request.param, tmp_path)


@pytest.fixture(scope="module")
def bundle(demo: Path) -> Path:
    return demo / "release"


def finest(release: marginals.Release) -> dict[str, int]:
    return {a: level for a, level in release.model.finest_levels.items() if level < release.domain.hierarchy(a).height}


def published_joint(release: marginals.Release) -> np.ndarray:
    return release.model.expected(finest(release)) / release.model.total


def read_uai(text: str) -> tuple[list[int], np.ndarray]:
    """Cardinalities and normalized joint of a UAI file, read as the specification says, token by token."""
    tokens = iter(text.split())
    assert next(tokens) == "MARKOV"
    sizes = [int(next(tokens)) for _ in range(int(next(tokens)))]
    scopes = [[int(next(tokens)) for _ in range(int(next(tokens)))] for _ in range(int(next(tokens)))]
    joint = np.ones(sizes)
    for scope in scopes:
        entries = [float(next(tokens)) for _ in range(int(next(tokens)))]
        assert len(entries) == np.prod([sizes[v] for v in scope])
        table = dict(zip(product(*(range(sizes[v]) for v in scope)), entries))  # the last variable runs fastest
        for cell in np.ndindex(*sizes):
            joint[cell] *= table[tuple(cell[v] for v in scope)]
    assert next(tokens, None) is None
    return sizes, joint


def test_a_bundle_is_a_valid_data_package(bundle: Path, release: marginals.Release) -> None:
    frictionless = pytest.importorskip("frictionless", reason="frictionless is not installed")
    for folder in (bundle, release.path):
        report = frictionless.Package(str(folder / "datapackage.json")).validate()
        assert report.valid, report.flatten(["type", "message"])


def test_a_changed_count_is_noticed_by_frictionless(bundle: Path, tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless", reason="frictionless is not installed")
    marginals.open_release(bundle).write(tmp_path / "copy")
    file = sorted((tmp_path / "copy" / "marginals").glob("*.csv"))[0]
    file.write_text(file.read_text().replace(",1", ",2", 1))
    assert not frictionless.Package(str(tmp_path / "copy" / "datapackage.json")).validate().valid


def test_uai_says_the_distribution_as_the_specification_reads_it(release: marginals.Release, tmp_path: Path) -> None:
    labels = interchange.write_uai(release, tmp_path / "model.uai")
    text = (tmp_path / "model.uai").read_text()
    assert not set("eE") & set(text.removeprefix("MARKOV")), "no exponents: not every reader takes them"
    sizes, joint = read_uai(text)
    assert sizes == [len(states) for states in labels.values()]
    assert list(labels) == list(finest(release))
    np.testing.assert_allclose(joint, published_joint(release), atol=1e-12)


def test_uai_is_read_by_pyagrum(release: marginals.Release, tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    labels = interchange.write_uai(release, tmp_path / "model.uai")
    inference = gum.ShaferShenoyMRFInference(gum.loadMRF(str(tmp_path / "model.uai")))
    inference.makeInference()
    for place, attribute in enumerate(labels):
        expected = release.model.expected({attribute: finest(release)[attribute]}) / release.model.total
        np.testing.assert_allclose(inference.posterior(place).toarray(), expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore::FutureWarning:pgmpy", "ignore::DeprecationWarning")
def test_pgmpy_answers_as_we_do(release: marginals.Release) -> None:
    inference = pytest.importorskip("pgmpy.inference", reason="pgmpy is not installed", exc_type=ImportError)
    if len(finest(release)) == 1:
        pytest.skip("pgmpy takes no network of one variable")
    network = interchange.to_pgmpy(release)
    assert network.check_model()
    eliminated = inference.VariableElimination(network)
    levels = finest(release)
    for pair in nx.complete_graph(list(levels)).edges:
        answer = eliminated.query(list(pair), show_progress=False)
        ours = release.model.expected({a: levels[a] for a in answer.variables}) / release.model.total
        np.testing.assert_allclose(answer.values, ours, atol=1e-9)
        for a in pair:
            assert answer.state_names[a] == list(release.domain.hierarchy(a).labels[levels[a]])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_synthetic_rows_come_back_as_they_were_drawn(bundle: Path, tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    release = marginals.open_release(bundle)
    file = tmp_path / f"rows.{suffix}"
    interchange.rows_writer(file)(release.rows(300, seed=5))
    read = pd.read_csv(file, dtype=str) if suffix == "csv" else pd.read_parquet(file)
    pd.testing.assert_frame_equal(read.astype(str), release.rows(300, seed=5).astype(str))
    assert {path.name for path in tmp_path.iterdir()} == {file.name}, "nothing else is left beside it"


def test_a_database_has_every_table_and_levels_that_join_them(tmp_path: Path) -> None:
    release = marginals.example.release
    pytest.importorskip("duckdb")
    connection = release.to("duckdb", tmp_path / "release.duckdb")
    for name, frame in release.tables.items():
        assert connection.execute(f'SELECT sum("count"), count(*) FROM "{name}"').fetchone() == (48, len(frame))
    by_age = connection.execute(
        'SELECT l.level2, sum(t."count") FROM "age.1-diagnosis.0" t '
        'JOIN (SELECT DISTINCT level1, level2 FROM "levels of age") l ON l.level1 = t.age GROUP BY 1 ORDER BY 1'
    ).fetchall()
    assert dict(by_age) == {str(label): count for label, count in release.table({"age": 2}).value.items()}
    connection.close()
    with pytest.raises(marginals.InputError, match="there already"):
        release.to("duckdb", tmp_path / "release.duckdb")


def test_frames_of_polars_hold_the_published_counts() -> None:
    release = marginals.example.release
    pytest.importorskip("polars")
    frames = release.to("polars")
    assert frames.keys() == release.tables.keys()
    assert all(frame["count"].sum() == 48 for frame in frames.values())

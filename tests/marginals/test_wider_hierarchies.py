"""Rows that are disclosed have the levels of the tables that are published, whatever dictionaries hold beside them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main

CONFIG = """
[data]
path = "table.csv"
engine = "{engine}"
[attributes.id]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
ladder = "fitted"
[attributes.job]
role = "quasi-identifier"
ladder = "fitted"
[attributes.illness]
role = "sensitive"
[privacy]
k_link = 5
[risk]
dictionaries = {dictionaries}
[[risk.rules]]
attribute = "age"
level = 2
"""


def project(folder: Path, engine: str = "pandas", **dictionaries: pd.DataFrame) -> Path:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "id": np.arange(300),
            "age": np.minimum(20 + rng.geometric(0.07, 300), 90),
            "job": rng.choice(["cook", "nurse", "smith", "baker", "judge"], 300, p=[0.5, 0.3, 0.15, 0.04, 0.01]),
            "illness": rng.choice(["flu", "cold"], 300),
        }
    )
    for name, frame in {"table": table, **dictionaries}.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    names = [f"{name}.csv" for name in dictionaries]
    (folder / "release.toml").write_text(CONFIG.format(engine=engine, dictionaries=names))
    return folder / "release.toml"


def test_the_levels_of_a_fitted_ladder_are_those_that_are_published(tmp_path: Path) -> None:
    config = marginals.read_config(project(tmp_path))
    domain = config.read_table().domain
    assert domain.hierarchy("age").height > 3
    assert marginals.disclosure_risk(config).originals.space.domain == domain
    assert config.read_rows().domain == domain


@pytest.mark.slow
def test_every_engine_discloses_at_the_same_levels_and_their_risk_is_told(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    written = {}
    for engine in ("pandas", "duckdb"):
        config, out = project(tmp_path, engine), tmp_path / f"{engine}.csv"
        result = CliRunner().invoke(main, ["disclose", str(config), "--out", str(out), "--keep-order"])
        assert result.exit_code == 0, result.output
        written[engine] = pd.read_csv(out, dtype=str)
    assert written["pandas"].equals(written["duckdb"])
    told = marginals.disclosure_risk(marginals.read_config(config)).table.records.labels()
    assert list(told["age"]) == list(written["pandas"]["age"])


def test_values_that_only_a_dictionary_has_are_put_into_the_ladder(tmp_path: Path) -> None:
    """Somebody of 97 fits everybody who is shown with the open group of the oldest, which has that age too."""
    known = pd.DataFrame({"age": ["21", "97", "97"], "job": ["cook", "cook", "*"]})
    assessment = marginals.disclosure_risk(marginals.read_config(project(tmp_path, known=known)))
    alone = marginals.disclosure_risk(marginals.read_config(project(tmp_path)))
    ages = assessment.originals.space.domain.hierarchy("age")
    own = alone.originals.space.domain.hierarchy("age")
    assert (own.code("97", 0), ages.code("97", 0)) == (None, ages.size(0) - 1)
    assert [label for labels in ages.labels[1:-1] for label in labels if "over" in label]
    oldest = ages.code("97", 0)
    assert oldest is not None
    level = 2
    fits = assessment.of_table().counts[0]
    group = ages.lift(0, level)
    codes = np.array([ages.code(str(age), 0) for age in assessment.table.rows.frame["age"]])
    jobs = assessment.table.rows.frame["job"].to_numpy()
    young = ages.code("21", 0)
    expected = (group[codes] == group[oldest]) * (1 + (jobs == "cook")) + (group[codes] == group[young]) * (
        jobs == "cook"
    )
    assert fits.tolist() == expected.astype(int).tolist()


def test_a_dictionary_of_values_that_rows_have_changes_no_level(tmp_path: Path) -> None:
    known = pd.DataFrame({"age": ["21", "22"], "job": ["cook", "nurse"]})
    assessment = marginals.disclosure_risk(marginals.read_config(project(tmp_path, known=known)))
    assert assessment.originals.space.domain == marginals.read_config(tmp_path / "release.toml").read_table().domain

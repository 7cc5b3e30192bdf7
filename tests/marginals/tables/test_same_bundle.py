"""One table gives the same bundle, byte for byte, in whatever way it comes."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from marginals import Attribute, Policy, Table, publish, read_table
from table_readers import WAYS, handed_over

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2

ways = pytest.mark.parametrize("way", WAYS)


def bundle(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def made_table(rows: int = 2000) -> pd.DataFrame:
    """Leading zeros, spaces, quotes, commas, accents; decimals, whole numbers and times; and values that are missing."""
    rng = np.random.default_rng(7)
    age = rng.integers(20, 60, rows).astype(float)
    district = np.array(["01480", "01485", "13063", "13068"])[(age // 10 + rng.integers(0, 2, rows)).astype(int) % 4]
    kinds = np.array(['"quoted", with comma', " spaced ", "Ärztin", "?", "NA", "null", ""])
    work = kinds[np.minimum(rng.integers(0, 14, rows), 6)]
    illness = np.array(["flu", "measles", "none", "cough"])[(age // 7 + rng.integers(0, 3, rows)).astype(int) % 4]
    seen = pd.Series(
        pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 4 * 365, rows) // 30 * 30 * 24 + 5, "h")
    )
    return pd.DataFrame(
        {
            "age": np.where(rng.random(rows) < 0.05, np.nan, age),
            "bmi": np.clip(np.round(rng.normal(25, 2, rows), 1), 21, 28.4),
            "seen": seen.where(rng.random(rows) < 0.7, seen.dt.normalize()),
            "district": district,
            "work": work,
            "illness": illness,
            "id": "x",
        }
    )


ATTRIBUTES: dict[str, Attribute | str] = {
    "age": Attribute("quasi-identifier", intervals=[5, 10, 20], missing="as a value"),
    "bmi": Attribute("quasi-identifier", intervals=[0.5, 2.5, 5], start=18.5),
    "seen": Attribute("quasi-identifier", dates=["day", "quarter", "year"]),
    "district": Attribute("quasi-identifier", prefixes=[3], ladder="fitted"),
    "work": Attribute("quasi-identifier", ladder="alike"),
    "illness": "sensitive",
    "id": "identifier",
}


@cache
def by_pandas() -> tuple[Table, dict[str, bytes]]:
    with TemporaryDirectory() as folder:
        return published(Path(folder), made_table())


def published(folder: Path, source: object) -> tuple[Table, dict[str, bytes]]:
    table = read_table(source, ATTRIBUTES, missing=["?", ""], k=10)
    publish(table, Policy(k_link=10, k_combinatorial=10, diversity="distinct:2", strategy="forward")).write(
        folder / "out"
    )
    return table, bundle(folder / "out")


@ways
def test_a_made_table(way: str, tmp_path: Path) -> None:
    source = handed_over(made_table(), way, tmp_path)
    (found, files), (expected, expected_files) = published(tmp_path, source), by_pandas()
    assert found.domain == expected.domain
    assert dict(found.counts.cells()) == dict(expected.counts.cells())
    assert (found.missing, found.missing_in) == (expected.missing, expected.missing_in)
    assert files == expected_files
    for name, label in (("age", "missing"), ("bmi", "21-<23.5"), ("seen", "2024-Q1")):
        assert any(label in level for level in found.domain.hierarchy(name).labels)

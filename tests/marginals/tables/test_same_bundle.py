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


TYPED = {
    "whole": [37, 38, 37],
    "float": [37.0, 38.0, 37.0],
    "half": [0.5, 1e20, 0.5],
    "narrow": np.array([0.1, 2, 0.1], dtype=np.float32),
    "flag": [True, False, True],
    "day": pd.to_datetime(["2020-01-01", "2020-02-29", "2020-01-01"]),
    "time": pd.to_datetime(["2020-01-01 12:30", "2020-02-29 00:00", "2020-01-01 12:30"]),
    "zoned": pd.to_datetime(["2020-01-01 12:30+02:00", "2020-02-29 00:00+02:00", "2020-01-01 12:30+02:00"]),
    "category": pd.Categorical(["b", "a", "b"]),
    "text": ["037", "37.0", "037"],
}
TEXTS = {
    "whole": {"37", "38"},
    "float": {"37", "38"},
    "half": {"0.5", "100000000000000000000"},
    "narrow": {"0.1", "2"},
    "flag": {"True", "False"},
    "day": {"2020-01-01", "2020-02-29"},
    "time": {"2020-01-01 12:30:00", "2020-02-29"},
    "zoned": {"2020-01-01 12:30:00", "2020-02-29"},
    "category": {"a", "b"},
    "text": {"037", "37.0"},
}


def texts_by(way: str, column: str) -> set[str]:
    """The texts of a column; a relation of DuckDB has no zone but that of its session, in which it prints instants."""
    if column != "zoned" or way not in ("duckdb", "ibis"):
        return TEXTS[column]
    import duckdb

    zone = "UTC" if way == "ibis" else duckdb.sql("SELECT current_setting('TimeZone')").fetchall()[0][0]
    local = pd.Series(TYPED["zoned"]).dt.tz_convert(zone).dt.tz_localize(None)
    return {str(when).removesuffix(" 00:00:00") for when in local}


@pytest.mark.parametrize("column", TYPED)
@pytest.mark.parametrize("way", [w for w in WAYS if "csv" not in w and w != "spark"])
def test_values_of_every_type_have_one_text_and_null_and_nan_are_missing(way: str, column: str, tmp_path: Path) -> None:
    frames = (
        pd.DataFrame({"v": TYPED[column], "w": "a"}),
        pd.DataFrame({"v": pd.Series(TYPED[column]).reindex(range(5)), "w": list("aaaab")}),
    )
    for missing, frame in zip((0, 2), frames):
        source = handed_over(frame, way, tmp_path)
        table = read_table(source, {"v": "quasi-identifier", "w": "sensitive"})
        assert {value for (value, _), _ in table.counts.cells()} == texts_by(way, column)
        assert sorted(table.counts.counts.tolist()) == [1, 2]
        assert (table.rows, table.missing) == (3, missing)
        assert table.domain.hierarchy("w").labels[0] == ("a",)

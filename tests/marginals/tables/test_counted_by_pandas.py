"""What is read is what pandas counts: row by row, in pieces, and where the rows stay with an engine."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import Attribute, Table, read_rows, read_table
from marginals.tables.distinct_rows import DistinctRows, merged

ATTRIBUTES: Mapping[str, Attribute | str] = {
    "age": Attribute("quasi-identifier", intervals=[5, 10]),
    "town": Attribute("quasi-identifier", prefixes=[1]),
    "ill": "sensitive",
}
NO_VALUE = ["", "?"]


def people(rows: int = 40, seed: int = 2) -> pd.DataFrame:
    """Some rows lack a value, in every part of the table."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.choice(["21", "22", "27", "38", "?"], rows),
            "town": rng.choice(["oak", "old", "elm", ""], rows),
            "ill": rng.choice(["flu", "cold"], rows),
        }
    )


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame.isin(NO_VALUE).any(axis=1)]


def assert_is_counted(table: Table, frame: pd.DataFrame) -> None:
    """The rows with all values, by their values; the others are dropped, and told how many they are."""
    kept = complete(frame)
    assert (table.rows, table.missing) == (len(kept), len(frame) - len(kept))
    assert dict(table.counts.cells()) == kept.value_counts(list(table.counts.attributes)).to_dict()


@pytest.mark.parametrize("domain", ["declared", "observed"])
@pytest.mark.parametrize("as_file", [False, True])
def test_rows_one_by_one_have_the_domain_that_is_asked_for_and_their_own_values(
    tmp_path: Path, domain: str, as_file: bool
) -> None:
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    source = tmp_path / "people.csv" if as_file else frame
    rows = read_rows(source, ATTRIBUTES, NO_VALUE, domain=domain)
    ages = rows.domain.hierarchy("age").labels[0]
    assert list(ages) == (["21", "22", "27", "38"] if domain == "observed" else [str(n) for n in range(20, 40)])
    assert rows.domain == read_table(source, ATTRIBUTES, NO_VALUE, domain=domain).domain
    kept = complete(frame)
    for name, codes in rows.codes.items():
        labels = rows.domain.hierarchy(name).labels[0]
        assert [labels[code] for code in codes] == kept[name].tolist()
    assert (len(rows), rows.missing) == (len(kept), len(frame) - len(kept))


@pytest.mark.parametrize("chunk", [1, 3, 7, 40])
@pytest.mark.parametrize("kind", ["csv", "parquet", "csv in parts", "parquet in parts"])
def test_rows_without_a_value_are_dropped_and_counted_in_every_piece_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, chunk: int
) -> None:
    monkeypatch.setattr("marginals.tables.files._CHUNK", chunk)
    frame, parts = people(), 3 if kind.endswith("parts") else 1
    (tmp_path / "people").mkdir()
    for number in range(parts):
        part = frame.iloc[number * len(frame) // parts : (number + 1) * len(frame) // parts]
        if kind.startswith("csv"):
            part.to_csv(tmp_path / "people" / f"{number}.csv", index=False)
        else:
            part.to_parquet(tmp_path / "people" / f"{number}.parquet", index=False)
    assert_is_counted(read_table(tmp_path / "people", ATTRIBUTES, NO_VALUE, engine="pandas"), frame)


parts = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), min_size=1, max_size=4), min_size=1, max_size=4
)


@given(parts)
def test_pieces_that_are_put_together_keep_all_rows(pieces: list[list[tuple[str, int]]]) -> None:
    """Values have other places in each piece."""
    made = []
    for counted in pieces:
        texts = list(dict.fromkeys(text for text, _ in counted))
        codes = np.array([texts.index(text) for text, _ in counted])
        made.append(DistinctRows.of({"x": texts}, {"x": codes}, np.array([n for _, n in counted])))
    whole = merged(made)
    frame = pd.DataFrame([row for counted in pieces for row in counted], columns=["x", "rows"])
    found = {whole.values["x"][code]: int(count) for code, count in zip(whole.codes["x"], whole.counts)}
    assert found == frame.groupby("x")["rows"].sum().to_dict()
    assert len(found) == len(whole), "none twice"


@pytest.mark.parametrize(
    ("k", "finest"),
    [
        (1, {"age": 0, "town": 0}),
        (6, {"age": 0, "town": 0}),
        (7, {"age": 1, "town": 0}),
        (9, {"age": 1, "town": 1}),
        (13, {"age": 2, "town": 1}),
        (30, {"age": 2, "town": 2}),
        (61, {"age": 3, "town": 2}),
    ],
)
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_an_engine_gives_levels_as_fine_as_k_rows_allow_and_no_finer(k: int, finest: dict[str, int]) -> None:
    """Six rows have each age, 12 each five years, 30 each ten; eight have a town, and 16 its first letter."""
    polars = pytest.importorskip("polars")
    age = [str(n) for n in (20, 21, 25, 26, 27, 30, 31, 32, 35, 36) for _ in range(6)]
    town = ["oak"] * 8 + ["old"] * 8 + ["elm"] * 44
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": age, "town": rng.permutation(town), "ill": rng.choice(["flu", "cold", "gout"], 60)})
    pushed = read_table(polars.from_pandas(frame).lazy(), ATTRIBUTES, NO_VALUE, memory=0, k=k)
    assert pushed.out_of_core is not None
    assert pushed.out_of_core.finest == {**finest, "ill": 0}
    for name, level in finest.items():
        hierarchy = pushed.domain.hierarchy(name)
        sizes = []
        for labels, place in ((hierarchy.labels[n], hierarchy.lift(0, n)) for n in range(hierarchy.height + 1)):
            above = dict(zip(hierarchy.labels[0], np.array(labels)[place]))
            sizes.append(int(frame[name].map(above).value_counts().min()))
        assert level == next((n for n, size in enumerate(sizes) if size >= k), hierarchy.height)

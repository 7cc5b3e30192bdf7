"""Tables are what pandas counts, row by row, in pieces and where the rows stay with an engine; sources cannot be wrong."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from marginals import Attribute, InputError, Table, TableSource, read_rows, read_table
from table_readers import set_limit

ATTRIBUTES: Mapping[str, Attribute | str] = {
    "age": Attribute("quasi-identifier", intervals=[5, 10]),
    "town": Attribute("quasi-identifier", prefixes=[1]),
    "ill": "sensitive",
    "name": "identifier",
}
NO_VALUE = ["", "?"]


def people(rows: int = 40, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"n{number}" for number in range(rows)],
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
    assert (table.quasi_identifiers, table.sensitive) == (("age", "town"), ("ill",))


def in_parts(frame: pd.DataFrame, folder: Path, kind: str) -> Path:
    folder.mkdir()
    for number in range(3):
        part = frame.iloc[number * len(frame) // 3 : (number + 1) * len(frame) // 3]
        if kind == "csv":
            part.to_csv(folder / f"{number}.csv", index=False)
        else:
            part.to_parquet(folder / f"{number}.parquet", index=False)
    return folder


@pytest.mark.parametrize("domain", ["declared", "observed"])
@pytest.mark.parametrize("kind", ["frame", "file", "folder"])
def test_rows_one_by_one_are_those_that_are_counted_in_their_order(tmp_path: Path, domain: str, kind: str) -> None:
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    source = {"frame": frame, "file": tmp_path / "people.csv", "folder": in_parts(frame, tmp_path / "parts", "csv")}[
        kind
    ]
    rows = read_rows(source, ATTRIBUTES, NO_VALUE, domain=domain)
    ages = rows.domain.hierarchy("age").labels[0]
    assert list(ages) == (["21", "22", "27", "38"] if domain == "observed" else [str(n) for n in range(20, 40)])
    assert rows.domain == read_table(source, ATTRIBUTES, NO_VALUE, domain=domain).domain
    kept = complete(frame)
    assert rows.frame["name"].tolist() == kept["name"].tolist()
    for name, codes in rows.codes.items():
        labels = rows.domain.hierarchy(name).labels[0]
        assert [labels[code] for code in codes] == kept[name].tolist()
    assert (len(rows), rows.missing) == (len(kept), len(frame) - len(kept))
    for wrong, settings in (({"sex": "sensitive"}, {}), (ATTRIBUTES, {"domain": "guessed"})):
        with pytest.raises(InputError, match=r"no column .sex.|key domain"):
            read_rows(source, wrong, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("chunk", [1, 3, 7, 40])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_without_a_value_are_dropped_and_counted_in_every_piece_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, chunk: int
) -> None:
    set_limit(monkeypatch, "_CELLS", chunk)
    frame = people()
    folder = in_parts(frame, tmp_path / "parts", kind)
    assert_is_counted(read_table(folder, ATTRIBUTES, NO_VALUE), frame)
    one = folder / f"0.{kind}"
    assert_is_counted(read_table(one, ATTRIBUTES, NO_VALUE), frame.iloc[: len(frame) // 3])


@pytest.mark.parametrize(
    ("k", "finest"),
    [
        (1, {"age": 0, "town": 0}), (6, {"age": 0, "town": 0}), (7, {"age": 1, "town": 0}),
        (9, {"age": 1, "town": 1}), (13, {"age": 2, "town": 1}), (30, {"age": 2, "town": 2}),
        (61, {"age": 3, "town": 2}),
    ],
)  # fmt: skip
def test_an_engine_gives_levels_as_fine_as_k_rows_allow_and_no_finer(
    k: int, finest: dict[str, int], tmp_path: Path
) -> None:
    """Six rows have each age, 12 each five years, 30 each ten; eight have a town, and 16 its first letter."""
    pytest.importorskip("duckdb")
    age = [str(n) for n in (20, 21, 25, 26, 27, 30, 31, 32, 35, 36) for _ in range(6)]
    town = ["oak"] * 8 + ["old"] * 8 + ["elm"] * 44
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": age, "town": rng.permutation(town), "ill": rng.choice(["flu", "cold", "gout"], 60)})
    roles = {name: ATTRIBUTES[name] for name in frame}
    frame.to_csv(tmp_path / "people.csv", index=False)
    pushed = read_table(tmp_path / "people.csv", roles, NO_VALUE, memory=0, k=k)
    assert pushed.out_of_core is not None
    assert pushed.out_of_core.finest == {**finest, "ill": 0}
    for name, level in finest.items():
        hierarchy = pushed.domain.hierarchy(name)
        sizes = []
        for labels, place in ((hierarchy.labels[n], hierarchy.lift(0, n)) for n in range(hierarchy.height + 1)):
            above = dict(zip(hierarchy.labels[0], np.array(labels)[place]))
            sizes.append(int(frame[name].map(above).value_counts().min()))
        assert level == next((n for n, size in enumerate(sizes) if size >= k), hierarchy.height)


def test_a_prefix_that_cuts_some_codes_is_taken_and_one_that_cuts_none_is_refused() -> None:
    codes = pd.DataFrame({"icd": ["J12.3", "J12", "A4"]})
    for prefixes in ([4, 1], [3], [2]):
        table = read_table(codes, {"icd": Attribute("quasi-identifier", prefixes=prefixes)})
        levels = table.domain.hierarchy("icd").labels
        assert all(fine != coarse for fine, coarse in zip(levels, levels[1:]))
    for prefixes in ([9, 2], [5], [7, 6]):
        with pytest.raises(InputError, match=rf"'icd' of the table: no value is longer than {prefixes[0]}"):
            read_table(codes, {"icd": Attribute("quasi-identifier", prefixes=prefixes)})


USED = {"sex": Attribute("quasi-identifier"), "age": Attribute("sensitive"), "note": Attribute("ignored")}
THREE = pd.DataFrame({"sex": ["f", "m", "?"], "age": [20, 30, 40], "note": ["x", "y", "z"]})


def test_columns_without_a_role_may_be_called_count() -> None:
    counted = pd.DataFrame({"sex": ["f", "m"], "count": ["17", "18"]})
    assert read_table(counted, {"sex": "sensitive", "count": "ignored"}, counts=False).rows == 2


def test_a_source_counts_and_reads_the_rows_and_names_the_columns(tmp_path: Path) -> None:
    THREE.to_csv(tmp_path / "people.csv", index=False, sep=";")
    attributes, missing = dict(USED), ["?"]
    frame = TableSource(origin=THREE, attributes=attributes, missing=missing)  # type: ignore[arg-type]
    attributes.clear()
    missing.clear()  # the source does not change
    file = TableSource(origin=str(tmp_path / "people.csv"), attributes=USED, missing=("?",), separator=";")
    for source in (frame, file):
        assert source.missing == ("?",)
        assert source.columns() == ("sex", "age", "note")
        assert list(source.used) == ["sex", "age"]
        assert (source.table().rows, source.table().missing) == (2, 1)
        assert (len(source.rows()), source.rows().missing) == (2, 1)
    assert file.path == tmp_path / "people.csv"
    assert frame.path is None
    with pytest.raises(InputError, match="a frame in memory"):
        frame.files()
    with pytest.raises(InputError, match="no table"):
        TableSource(origin=tmp_path / "none.csv", attributes=USED).columns()

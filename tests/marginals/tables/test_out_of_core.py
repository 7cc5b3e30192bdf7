"""Tables that do not fit: what leaves the engine is coarser, what is published is the same."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import Attribute, InputError, Policy, Table, publish, read_table
from marginals.errors import NothingPublishableError
from marginals.recoding import assess
from models import equal_cells
from table_readers import CELL, handed_over

ATTRIBUTES: dict[str, Attribute | str] = {
    "age": Attribute("quasi-identifier", intervals=[5, 10, 40]),
    "zip": Attribute("quasi-identifier", prefixes=[3, 2]),
    "sex": "quasi-identifier",
    "illness": "sensitive",
}


def people(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 30, rows)
    frame = pd.DataFrame(
        {
            "age": age.astype(str),
            "zip": [f"{z:05}" for z in 1000 + 7 * rng.integers(0, 300, rows)],
            "sex": rng.choice(["f", "m", "?"], rows, p=[0.5, 0.49, 0.01]),
            "illness": np.array(["flu", "measles", "none", "cough"])[(age // 3 + rng.integers(0, 3, rows)) % 4],
        }
    )
    frame.loc[0, ["zip", "sex"]] = ["99999", "?"]  # a value that is in no row that counts
    return frame


@dataclass(frozen=True)
class Read:
    table: Table
    whole: Table


def lazily(kind: str, folder: Path) -> Path:
    pytest.importorskip("duckdb")
    path = folder / f"people.{kind}"
    people().to_csv(path, index=False) if kind == "csv" else people().to_parquet(path)
    return path


def read(source: Path, cells: int, k: int = 20) -> Read:
    table = read_table(source, ATTRIBUTES, ["?"], memory=cells * CELL, k=k)
    return Read(table, read_table(people(), ATTRIBUTES, ["?"]))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_levels_that_no_margin_can_be_published_at_never_leave_the_engine(kind: str, tmp_path: Path) -> None:
    found = read(lazily(kind, tmp_path), cells=1600)
    assert found.table.out_of_core is not None
    assert (found.table.rows, found.table.missing) == (found.whole.rows, found.whole.missing)
    assert found.table.domain == found.whole.domain
    assert dict(found.table.counts.margin) == {"age": 0, "zip": 1, "sex": 0, "illness": 0}
    by_zip = found.whole.counts.rolled_up({"zip": 0}).counts
    assert by_zip.min() < 20 <= found.whole.counts.rolled_up({"zip": 1}).counts.min()
    assert equal_cells([found.table.counts, found.whole.counts.rolled_up(found.table.counts.margin)])


@pytest.mark.parametrize("cells", [1600, 300])
@pytest.mark.parametrize("base", ["best", "none"])
def test_what_is_published_is_the_same(base: str, cells: int, tmp_path: Path) -> None:
    """With 1600 cells the coarser table fits, with 300 margins are counted when they are asked for."""
    found = read(lazily("parquet", tmp_path), cells)
    policy = Policy(k_link=20, k_combinatorial=20, diversity="distinct:2", base=base)
    made = [publish(table, policy) for table in (found.table, found.whole)]
    assert made[0].release.published.everything.margins == made[1].release.published.everything.margins
    for publication, folder in zip(made, ("pushed", "whole")):
        publication.write(tmp_path / folder)
    for file in (tmp_path / "whole").rglob("*.csv"):
        assert (tmp_path / "pushed" / file.relative_to(tmp_path / "whole")).read_bytes() == file.read_bytes()
    reports = [publication.steward for publication in made]
    assert reports[0].kl_divergence == pytest.approx(reports[1].kl_divergence, abs=1e-12)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_margins_that_are_asked_for_one_by_one(kind: str, tmp_path: Path) -> None:
    found = read(lazily(kind, tmp_path), cells=300)
    pushed, whole = found.table.cube, found.whole.cube
    for margin in ({"age": 1, "sex": 0}, {"zip": 1, "illness": 0}, {"zip": 2, "age": 2}, {"age": 0}, {"zip": 0}):
        mask = whole.domain.mask(margin)
        assert equal_cells([pushed.table(mask), whole.table(mask)])
        assert pushed.entropy(mask) == whole.entropy(mask)
    base = sum(whole.domain.attribute_masks)
    too_large = whole.domain.mask({"age": 0, "zip": 1, "sex": 0, "illness": 0})
    assert len(whole.table(too_large)) > 300
    for mask in (base, too_large):
        assert pushed.entropy(mask) == pytest.approx(whole.entropy(mask), abs=1e-12)
        assert pushed.least_count(mask) == whole.least_count(mask)
        assert not pushed.holds(mask)
    with pytest.raises(InputError, match=r"more than the 300 that fit.*data\.memory"):
        pushed.table(base)


def test_what_needs_all_rows_says_so_and_what_nothing_satisfies_is_known_without(tmp_path: Path) -> None:
    table = read(lazily("parquet", tmp_path), cells=1600).table
    with pytest.raises(InputError, match=r"the 1600 that fit.*data\.memory"):
        assess(table, Policy())
    with pytest.raises(NothingPublishableError, match=f"{table.rows + 1:,} rows .* {table.rows:,} rows"):
        publish(table, Policy(k_link=table.rows + 1, diversity="none"))


@pytest.mark.parametrize("way", ["polars lazy", "duckdb"])
def test_another_library_hands_over_distinct_rows_that_fit(way: str, tmp_path: Path) -> None:
    lazy, whole = handed_over(people(), way, tmp_path), read_table(people(), ATTRIBUTES, ["?"])
    assert equal_cells([read_table(lazy, ATTRIBUTES, ["?"]).counts, whole.counts])
    with pytest.raises(InputError, match=r"more distinct rows than fit.*Parquet.*DuckDB.*data\.memory"):
        read_table(lazy, ATTRIBUTES, ["?"], memory=300 * CELL)


@given(st.data())
def test_any_table_any_margin(data: st.DataObject) -> None:
    """Whatever is missing, an engine that holds next to nothing counts as the table in memory does."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb")
    row = st.tuples(*(st.sampled_from(values) for values in (["a", "b", "c", None], ["1", "2", "?"], ["x", "y"])))
    rows = data.draw(
        st.lists(row, min_size=1, max_size=30).filter(lambda rows: any(r[0] and r[1] != "?" for r in rows))
    )
    frame = pyarrow.table(dict(zip("pqs", map(list, zip(*rows)))))
    attributes: dict[str, Attribute | str] = {
        "p": "quasi-identifier",
        "q": Attribute("quasi-identifier", intervals=[2]),
        "s": "sensitive",
    }
    whole = read_table(frame, attributes, ["?"])
    with TemporaryDirectory() as folder:
        parquet.write_table(frame, f"{folder}/people.parquet")
        memory = data.draw(st.integers(0, 8)) * CELL
        pushed = read_table(f"{folder}/people.parquet", attributes, ["?"], memory=memory, k=2)
    assert (pushed.rows, pushed.missing, pushed.domain) == (whole.rows, whole.missing, whole.domain)
    for levels in itertools.product(*(range(h.height + 1) for h in whole.domain.hierarchies)):
        mask = whole.domain.mask(dict(zip(whole.domain.attributes, levels)))
        try:
            table = pushed.cube.table(mask)
        except InputError:
            assert len(whole.cube.table(mask)) > 0
            continue
        assert equal_cells([table, whole.cube.table(mask)])

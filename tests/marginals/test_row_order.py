"""The order of disclosed rows tells nothing, unless somebody insists: by every engine, with as little memory as there is."""

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import marginals
from command_line import main
from marginals.disclosure import AsRead, Shuffled, in_order, positions

CONFIG = """
[data]
path = "people.csv"
engine = "ENGINE"
[attributes.number]
role = "quasi-identifier"
[attributes.diagnosis]
role = "sensitive"
[privacy]
k_link = 1
[[risk.rules]]
attribute = "diagnosis"
condition = "number < 10"
"""
ROWS = 400
"""Their numbers rise, so a list of names in that order says whose each is."""


def test_each_order_is_as_likely_as_any_other() -> None:
    drawn = Counter(tuple(positions(Shuffled(), 3).tolist()) for _ in range(6000))
    assert set(drawn) == set(permutations(range(3)))
    assert all(abs(count - 1000) < 6 * 30 for count in drawn.values()), "six standard deviations"
    assert positions(AsRead(), 3).tolist() == [0, 1, 2]


def test_without_a_seed_nobody_draws_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from a generator whose state a few rows tell: from the operating system's secrets."""
    asked = []
    monkeypatch.setattr("os.urandom", lambda count: asked.append(count) or bytes(range(count)))
    assert positions(Shuffled(), 20).tolist() != positions(Shuffled(seed=0), 20).tolist()
    assert asked == [160]
    with pytest.raises(marginals.InputError, match="seed"):
        Shuffled(-1)


@given(st.lists(st.integers(1, 20), max_size=6), st.integers(0, 4000), st.integers(0, 2**32), st.data())
def test_blocks_and_memory_make_no_difference(sizes: list[int], memory: int, seed: int, data: st.DataObject) -> None:
    rows = sum(sizes)
    codes = np.stack([np.arange(rows), -np.arange(rows)], axis=1).astype(np.int32)

    def blocks() -> Iterator[NDArray[np.int32]]:
        yield from np.split(codes, np.cumsum(sizes)[:-1]) if sizes else []

    order = data.draw(st.sampled_from([Shuffled(seed), AsRead()]))
    found = [row for block in in_order(order, blocks(), rows, memory) for row in block.tolist()]
    assert found == codes[positions(order, rows)].tolist()


def written(folder: Path, *arguments: str, engine: str, command: str = "disclose") -> list[str]:
    pd.DataFrame({"number": range(1000, 1000 + ROWS), "diagnosis": ["flu", "gout"] * (ROWS // 2)}).to_csv(
        folder / "people.csv", index=False
    )
    (folder / "release.toml").write_text(CONFIG.replace("ENGINE", engine))
    out = folder / "out.csv"
    result = CliRunner().invoke(main, [command, str(folder / "release.toml"), "--out", str(out), "--force", *arguments])
    assert result.exit_code == 0, result.output
    return out.read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(("command", "engine"), [("disclose", "pandas"), ("disclose", "duckdb"), ("risk", "auto")])
def test_rows_are_shuffled_by_every_engine_unless_their_order_is_asked_for(
    command: str, engine: str, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")
    kept = written(tmp_path, "--keep-order", engine=engine, command=command)
    assert kept[:2] == ["number,diagnosis", "1000,flu"]
    assert kept == [kept[0], *sorted(kept[1:])]
    orders = [
        written(tmp_path, *more, engine=engine, command=command) for more in ([], [], ["--seed", "3"], ["--seed", "3"])
    ]
    assert all(lines[0] == kept[0] and sorted(lines[1:]) == kept[1:] for lines in orders)
    assert orders[2] == orders[3]
    assert len({tuple(lines) for lines in (kept, *orders)}) == 4
    # Of numbers in random order, about half rise from one row to the next; 400 rows, twelve standard deviations.
    for lines in orders:
        rises = sum(a < b for a, b in zip(lines[1:], lines[2:]))
        assert abs(rises - ROWS / 2) < 12 * (ROWS / 12) ** 0.5


def test_engines_write_the_same_bytes_with_one_seed(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    by_engine = [written(tmp_path, "--seed", "7", engine=engine) for engine in ("pandas", "duckdb")]
    assert by_engine[0] == by_engine[1]
    assert by_engine[0] == written(tmp_path, "--seed", "7", engine="auto", command="risk")


def test_options_that_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text(CONFIG.replace("ENGINE", "auto"))
    for command, arguments in (
        ("disclose", ["--out", str(tmp_path / "out.csv"), "--seed", "1", "--keep-order"]),
        ("risk", ["--keep-order"]),
        ("risk", ["--seed", "1"]),
        ("disclose", ["--out", str(tmp_path / "out.csv"), "--seed", "-1"]),
    ):
        assert CliRunner().invoke(main, [command, str(tmp_path / "release.toml"), *arguments]).exit_code == 2
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_duckdb_keeps_the_order_of_many_rows_of_several_files_with_little_memory(tmp_path: Path) -> None:
    """Several threads read several parts of the files at once; keys and rows must still belong together."""
    from marginals import DisclosureRule
    from marginals.disclosure import disclose_file
    from models import Domain, Hierarchy

    pytest.importorskip("duckdb")
    folder, out = tmp_path / "parts", tmp_path / "out.csv"
    folder.mkdir()
    numbers = [str(number) for number in range(100_000)]
    frame = pd.DataFrame({"number": numbers, "text": ['a "long", text' * 5] * len(numbers)})
    frame[:60_000].to_csv(folder / "a.csv", index=False)
    frame[60_000:].to_csv(folder / "b.csv", index=False)
    domain = Domain.of({"number": Hierarchy.flat(numbers)})
    source = marginals.TableSource(
        origin=folder, attributes={"number": marginals.Attribute("quasi-identifier")}, memory=1 << 20
    )
    for order in (AsRead(), Shuffled(5)):
        assert disclose_file(source, out, domain, [DisclosureRule("number", None, "number < 1")], order) == len(numbers)
        lines = out.read_text().splitlines()[1:]
        wanted = ["*", *numbers[1:]]
        assert lines == [wanted[i] for i in positions(order, len(numbers))]

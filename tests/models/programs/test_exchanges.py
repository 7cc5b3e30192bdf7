"""Exchanges of values between rows keep every table, and reach every table of rows that has the same ones where few do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import ContingencyTable, CountArray, Domain, Hierarchy, Mask, all_tables
from models.programs.exchanges import ExchangedRows, Exchanges, Move, _grouped
from strategies import Core, cores, further_masks


def rows_of(core: Core, masks: tuple[Mask, ...]) -> ExchangedRows:
    cube, domain = core.collection.cube, core.collection.domain
    levels = core.collection.of(cube, masks).finest_levels
    shown = {a: level for a, level in levels.items() if level < domain.hierarchy(a).height}
    table = cube.table(domain.mask(shown))
    codes = {a: np.repeat(table.column(a, level), table.counts) for a, level in shown.items()}
    return ExchangedRows(domain, shown, codes, [domain.margin(mask) for mask in masks])


@pytest.mark.slow
@settings(max_examples=200)
@given(cores(max_cells=200), st.data())
def test_no_move_changes_a_table(core: Core, data: st.DataObject) -> None:
    own = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    masks = tuple({mask & own for mask in (*core.collection.masks, *data.draw(further_masks(core)))} - {0})
    rows = rows_of(core, masks)
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    domain, total = core.collection.domain, core.collection.cube.total
    for _ in range(20 if rows.moves else 0):
        rows.make(rows.moves[rng.integers(len(rows.moves))], rng)
        for mask in masks:
            margin = domain.margin(mask)
            now = {a: rows.column(a, level) for a, level in margin.items()}
            table, before = (
                ContingencyTable.from_cells(domain, margin, now, np.ones(total)),
                core.collection.cube.table(mask),
            )
            assert np.array_equal(table.counts, before.counts)
            assert all(np.array_equal(one, other) for one, other in zip(table.codes, before.codes))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_three_tables_of_two_attributes_each_leave_what_exchanges_reach(seed: int) -> None:
    """Every table with these marginals is met: of three attributes of two values they differ by one move."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat("01") for name in "abc"})
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    counts = rng.integers(1, 4, 8)
    pairs = [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}]
    codes = {a: np.repeat(own, counts) for a, own in zip("abc", cells)}
    keys = [cells[0] * 2 + cells[1], cells[1] * 2 + cells[2], cells[0] * 2 + cells[2]]
    every = all_tables(keys, [np.bincount(key, counts).astype(np.int64) for key in keys])
    assert every is not None
    rows = ExchangedRows(domain, dict.fromkeys("abc", 0), codes, pairs)
    assert all(move.against is None or move.within == 1 for move in rows.moves)
    met = set()
    for _ in range(2000):
        rows.make(rows.moves[rng.integers(len(rows.moves))], rng)
        place = rows.codes["a"] * 4 + rows.codes["b"] * 2 + rows.codes["c"]
        met.add(tuple(np.bincount(place, minlength=8).tolist()))
    assert met == {tuple(own) for own in every.tolist()}


def test_rows_that_agree_on_all_but_one_attribute_take_any_order_of_it() -> None:
    domain = Domain.of({name: Hierarchy.flat("012") for name in "ab"})
    codes = {"a": np.array([0, 1, 2, 0]), "b": np.array([0, 0, 0, 1])}
    rows = ExchangedRows(domain, dict.fromkeys("ab", 0), codes, [{"a": 0, "b": 0}])
    seen = set()
    for seed in range(60):
        rows.make(Move("a", 1), np.random.default_rng(seed))
        seen.add(tuple(rows.codes["a"].tolist()))
    assert {own[3] for own in seen} == {0}
    assert len(seen) == 6


@pytest.mark.parametrize("seed", range(4))
def test_no_move_loses_what_is_preferred(seed: int) -> None:
    """Rows have a value in each cell of three attributes; three tables of two attributes each stay what they are."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat("0123") for name in "abc"})
    codes = {name: rng.integers(0, 4, 300) for name in "abc"}
    worth = rng.integers(-3, 4, (4, 4, 4))
    rows = ExchangedRows(domain, dict.fromkeys("abc", 0), codes, [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}])

    def total() -> int:
        return int(worth[tuple(rows.codes.values())].sum())

    class Worth:
        def gains(self, exchanges: Exchanges) -> CountArray:
            codes, one, two = rows.codes, exchanges.one, exchanges.two
            exchanged = {a: code.copy() for a, code in codes.items()}
            exchanged[exchanges.attribute][one], exchanged[exchanges.attribute][two] = (
                exchanges.of_two,
                exchanges.of_one,
            )
            gained = worth[tuple(exchanged.values())] - worth[tuple(codes.values())]
            return (gained[one] + gained[two]).astype(np.int64)

        def follow(self, exchanges: Exchanges) -> None:
            made.append(len(exchanges.one))

    made: list[int] = []
    start = [total()]
    for _ in range(10):
        for move in rows.moves:
            assert rows.make(move, rng, Worth()) == 2 * made[-1]
            start.append(total())
    assert start == sorted(start)
    assert start[-1] > start[0]
    for a, b in ("ab", "bc", "ac"):
        assert np.array_equal(
            np.bincount(rows.codes[a] * 4 + rows.codes[b], minlength=16),
            np.bincount(codes[a] * 4 + codes[b], minlength=16),
        )


@pytest.mark.parametrize("largest", [3, 1 << 20, 1 << 62])
def test_rows_of_one_key_stand_together(largest: int) -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, largest, 40)[rng.integers(0, 40, 500)]
    order = _grouped(keys)
    assert sorted(order.tolist()) == list(range(500))
    ordered = keys[order]
    assert np.count_nonzero(ordered[1:] != ordered[:-1]) == len(set(keys.tolist())) - 1
    assert all(np.array_equal(order[ordered == key], np.flatnonzero(keys == key)) for key in set(keys.tolist()))
    shuffled = _grouped(keys, 2 * 123_456 + 1)
    assert sorted(shuffled.tolist()) == list(range(500))
    assert not np.array_equal(shuffled, order)
    assert np.array_equal(np.sort(keys[shuffled][1:] != keys[shuffled][:-1]), np.sort(ordered[1:] != ordered[:-1]))

"""Each type of column has one spelling or one refusal, whoever holds the table: types by doors."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, InputError
from table_readers import spark_session

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")

UTC = dt.UTC
SUMMER, WINTER = dt.datetime(2024, 7, 2, 3, tzinfo=UTC), dt.datetime(2024, 1, 2, 3, tzinfo=UTC)
DURATIONS, HALF, BYTES, LISTS = "durations", "numbers of 16 bits", "bytes", "lists or the like"
TYPES: list[tuple[Any, list[Any], list[str] | str]] = [
    (pa.int8(), [1, -2, 3], ["-2", "1", "3"]),
    (pa.uint64(), [2**63, 5], ["5", "9223372036854775808"]),
    (pa.int64(), [2**53 + 1, -7], ["-7", "9007199254740993"]),
    (pa.float16(), [np.float16(0.5), None], HALF),
    (pa.float32(), [0.1, 1.0, None], ["0.1", "1", "missing"]),
    (pa.float64(), [0.1, 1e20, 1e-7, -0.0, float("nan"), None], ["0", "0.0000001", "0.1", "1" + "0" * 20, "missing"]),
    (pa.bool_(), [True, False, None], ["False", "True", "missing"]),
    (pa.string(), ["a", " b ", "", None], ["a", "b", "missing"]),
    (pa.large_string(), ["a", None], ["a", "missing"]),
    (pa.string_view(), ["a", None], ["a", "missing"]),
    (pa.dictionary(pa.int8(), pa.string()), ["b", "a", None], ["a", "b", "missing"]),
    (pa.dictionary(pa.int8(), pa.int64()), [2, 1, None], ["1", "2", "missing"]),
    (pa.binary(), [b"a", None], BYTES),
    (pa.binary(2), [b"ab", None], BYTES),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("2.00"), None], ["1.5", "2", "missing"]),
    (pa.decimal256(40, 2), [Decimal("1.50"), None], ["1.5", "missing"]),
    (pa.date32(), [dt.date(2024, 1, 2), None], ["2024-01-02", "missing"]),
    (pa.date64(), [dt.date(2024, 1, 2), None], ["2024-01-02", "missing"]),
    (pa.timestamp("s"), [dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(2024, 1, 2)], ["2024-01-02", "2024-01-02 03:04:05"]),
    (pa.timestamp("ms"), [dt.datetime(2024, 1, 2, 3, 4, 5, 120_000)], ["2024-01-02 03:04:05.120000"]),
    (pa.timestamp("us"), [dt.datetime(2024, 1, 2, 3, 4, 5, 123_456)], ["2024-01-02 03:04:05.123456"]),
    (pa.timestamp("us", "Europe/Berlin"), [SUMMER, WINTER], ["2024-01-02 04:00:00", "2024-07-02 05:00:00"]),
    (pa.timestamp("us", "+05:30"), [SUMMER], ["2024-07-02 08:30:00"]),
    (pa.timestamp("us", "+0100"), [1, 2], "times in a zone that is not known"),
    (pa.time32("s"), [dt.time(1, 2, 3), None], ["01:02:03", "missing"]),
    (pa.time64("us"), [dt.time(1, 2, 3, 5), None], ["01:02:03.000005", "missing"]),
    (pa.duration("us"), [dt.timedelta(days=1), None], DURATIONS),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([1, 2, 3]), None], DURATIONS),
    (pa.list_(pa.int8()), [[1], None], LISTS),
    (pa.struct([("x", pa.int8())]), [{"x": 1}, None], LISTS),
    (pa.null(), [None, None], ["missing"]),
]  # fmt: skip
DOORS = (
    "arrow",
    "pandas",
    "pandas of arrow",
    "polars",
    "polars lazy",
    "duckdb",
    "parquet",
    "spark",
)
ATTRIBUTES = {"x": Attribute("quasi-identifier", missing="as a value"), "s": Attribute("sensitive")}


LACKING = (
    "PanicException",
    "ComputeError",
    "NotImplementedException",
    "ArrowNotImplementedError",
    "UnsupportedOperationException",
    "PySparkTypeError",
)
"""What libraries raise of a type of Arrow that they lack."""


def opened(table: Any, door: str, folder: Path) -> Any:
    """The table behind a door; raises what another library says of a type that it lacks."""
    if door == "parquet":
        pa.parquet.write_table(table, folder / "t.parquet")
        return folder / "t.parquet"
    ways = {
        "arrow": lambda: table,
        "pandas": table.to_pandas,
        "pandas of arrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: polars.from_arrow(table),
        "polars lazy": lambda: polars.from_arrow(table).lazy(),
        "duckdb": lambda: duckdb.from_arrow(table),
        "spark": lambda: spark_session().createDataFrame(table),
    }
    return ways[door]()


UNCOUNTED = "cannot be counted by its engine"


def cases() -> Iterator[Any]:
    """DuckDB and Spark have no zone of a column; Spark has decimals of 38 digits, and does not count times of the day."""
    for kind, values, right in TYPES:
        for door in DOORS:
            if door in ("duckdb", "spark") and getattr(kind, "tz", None):
                continue
            if getattr(kind, "tz", None) == "+0100" and door not in ("arrow", "parquet"):
                continue  # no other library opens it
            if door == "spark" and pa.types.is_decimal256(kind):
                continue
            result = UNCOUNTED if door == "spark" and pa.types.is_time64(kind) else right
            yield pytest.param(kind, values, result, door, id=f"{kind}-{door}")


@pytest.mark.parametrize(("kind", "values", "right", "door"), list(cases()))
def test_a_type_has_one_spelling_or_one_refusal(
    kind: Any, values: list[Any], right: list[str] | str, door: str, tmp_path: Path
) -> None:
    import pyarrow.parquet  # noqa: F401 - as `pa.parquet`

    table = pa.table({"x": pa.array([*values] * 4, kind), "s": [*"uuvv"] * len(values)})
    try:
        source = opened(table, door, tmp_path)
    except BaseException as error:
        if type(error).__name__ not in LACKING:
            raise
        pytest.skip(f"{door.split()[-1]} has no such type: {kind}")
    if isinstance(right, str):
        of_column = "" if right == UNCOUNTED else "column 'x' of (the table|t.parquet) holds "
        with pytest.raises(marginals.InputError, match=of_column + right):
            marginals.read_table(source, ATTRIBUTES)
        assert marginals.read_table(source, {"s": "sensitive"}).rows == len(table)
    else:
        read = marginals.read_table(source, ATTRIBUTES)
        assert sorted({x for (x, _), _ in read.counts.cells()}) == right


@pytest.mark.parametrize("is_lazy", [False, True])
def test_a_type_that_arrow_lacks_is_text_or_refused_where_it_is_used(is_lazy: bool) -> None:
    frame = polars.DataFrame(
        {
            "x": polars.Series([1, 2**100] * 4, dtype=polars.Int128),
            "several": polars.Series([[1]] * 8, dtype=polars.List(polars.Int128)),
            "s": [*"uuvv"] * 2,
            "n": [2] * 8,  # so that the first rows are looked at
        }
    )
    source = frame.lazy() if is_lazy else frame
    assert marginals.read_table(source, {"s": "sensitive"}).rows == 8
    read = marginals.read_table(source, ATTRIBUTES)
    assert {x for (x, _), _ in read.counts.cells()} == {"1", str(2**100)}
    with pytest.raises(InputError, match="column 'several' of the table holds lists or the like"):
        marginals.read_table(source, {"several": "quasi-identifier"})


@pytest.mark.parametrize("is_lazy", [False, True])
def test_models_are_selected_beside_numbers_that_arrow_does_not_have(is_lazy: bool) -> None:
    numbers = [1, 2**100, 1, 2**100]
    frame = polars.DataFrame({"x": polars.Series(numbers, dtype=polars.Int128), "n": [1, 2, 3, 4]})
    source = frame.lazy() if is_lazy else frame
    texts = {"x": list(map(str, numbers)), "n": [1, 2, 3, 4]}
    for counts in ("n", None):
        found, plain = (marginals.select(own, counts=counts).rows.counts for own in (source, pd.DataFrame(texts)))
        assert dict(found.cells()) == dict(plain.cells())
    wide = polars.DataFrame(
        {"y": ["a", "b"], "few": [1, 2], "many": [1, 2**100]},
        schema_overrides={"few": polars.Int128, "many": polars.Int128},
    )
    assert marginals.select(wide.select("y", "few"), counts="few").rows.counts.total == 3
    with pytest.raises(InputError, match="below 2"):
        marginals.select(wide.select("y", "many"), counts="many")


LISTS_IN_FRAMES = {"x": [[1], [2]], "count": [11, 12]}


@pytest.mark.parametrize(
    "frame",
    [
        polars.DataFrame(LISTS_IN_FRAMES),
        pa.table(LISTS_IN_FRAMES),
        pd.DataFrame(LISTS_IN_FRAMES),
        pd.DataFrame(LISTS_IN_FRAMES).astype({"x": pd.ArrowDtype(pa.list_(pa.int64()))}),
        polars.DataFrame({"x": [{"of": 1}, {"of": 2}], "count": [11, 12]}),
    ],
    ids=["polars", "pyarrow", "pandas", "pandas of arrow", "polars structs"],
)
def test_lists_are_refused_where_a_frame_is_no_table_of_people(frame: Any) -> None:
    with pytest.raises(InputError, match="'x' holds lists"):
        marginals.select(frame, counts="count")
    if not isinstance(frame, pd.DataFrame):
        with pytest.raises(InputError, match="a column of a table holds lists"):
            marginals.audit(frame)


def test_two_columns_of_one_name_are_refused_at_every_door() -> None:
    twice = pa.Table.from_arrays([pa.array(["x"]), pa.array([11])], names=["a", "a"])
    for door in (
        partial(marginals.read_table, attributes={"a": "quasi-identifier"}),
        marginals.select,
        marginals.audit,
    ):
        with pytest.raises(InputError, match="two columns of one name"):
            door(twice)

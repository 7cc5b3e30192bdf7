"""Dates and times: spelled in several ways, cut to units that nest, alike by every engine."""

from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import Attribute, InputError, Policy, publish, read_config, read_table
from marginals.tables.values import UNITS, date_hierarchy, date_text
from models import HierarchyError
from table_readers import WAYS, handed_over

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2

SLOW = {"spark", "csv by spark"}
ways = pytest.mark.parametrize("way", [pytest.param(w, marks=[pytest.mark.slow] if w in SLOW else []) for w in WAYS])
ladders = st.sets(st.sampled_from([unit for unit in UNITS if unit != "week"]), min_size=1).map(
    lambda units: sorted(units, key=UNITS.index)
)


@given(st.datetimes(datetime(1000, 1, 1)))
def test_a_time_is_what_it_is_however_it_is_spelled(when: datetime) -> None:
    expected = str(when.replace(microsecond=0)).removesuffix(" 00:00:00")
    for spelling in ("%Y-%m-%d %H:%M:%S", "%Y/%m/%dT%H:%M:%SZ", "%d.%m.%Y %H:%M:%S", "%Y.%m.%d %H:%M:%S.000+02:00"):
        assert date_text(f" {when:{spelling}} ") == expected
    assert date_text(f"{when.day}.{when.month}.{when.year}") == f"{when:%Y-%m-%d}"


@pytest.mark.parametrize(
    "text", ["", "2023", "2023-11", "11/12/2023", "31.11.2023", "2023-13-01", "12.11.23", "2023-11-12 25:00", "today"]
)
def test_what_is_no_date(text: str) -> None:
    assert date_text(text) is None


@cache
def days_of(label: str) -> frozenset[date]:
    """The days that a label stands for, as a reader takes it."""
    if "W" in label:
        monday = date.fromisocalendar(int(label[:4]), int(label[-2:]), 1)
        return frozenset(monday + timedelta(n) for n in range(7))
    if label.endswith("s"):
        years, months = range(int(label[:4]), int(label[:4]) + 10), range(1, 13)
    elif "Q" in label:
        years, months = range(int(label[:4]), int(label[:4]) + 1), range(3 * int(label[-1]) - 2, 3 * int(label[-1]) + 1)
    elif len(label) == 4:
        years, months = range(int(label), int(label) + 1), range(1, 13)
    elif len(label) == 7:
        years, months = range(int(label[:4]), int(label[:4]) + 1), range(int(label[-2:]), int(label[-2:]) + 1)
    else:
        return frozenset([date.fromisoformat(label)])
    begin = date(years[0], months[0], 1)
    end = date(years[-1], months[-1], 28)
    line = (begin + timedelta(n) for n in range((end - begin).days + 5))
    return frozenset(day for day in line if day.year in years and day.month in months)


@given(
    st.lists(st.dates(date(2018, 1, 1), date(2021, 12, 31)), min_size=1, max_size=3), ladders | st.just(["day", "week"])
)
def test_each_day_lies_in_its_units_and_each_unit_is_full(days: list[date], units: list[str]) -> None:
    hierarchy = date_hierarchy(map(str, days), units)
    rows = hierarchy.rows()
    assert set(map(str, days)) <= {row[0] for row in rows}
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    for level in range(1, hierarchy.height):
        inside: dict[str, set[date]] = {}
        for row in rows:
            inside.setdefault(row[level], set()).add(date.fromisoformat(row[0]))
        assert all(members == days_of(label) for label, members in inside.items())


def test_times_are_those_given_and_lie_in_the_day_of_theirs() -> None:
    hierarchy = date_hierarchy(["2020-02-29", "2020-02-29 12:30:00", "2020-01-01 00:00:01.5"], ["day", "month"])
    assert hierarchy.rows() == [
        ("2020-01-01 00:00:01.5", "2020-01-01", "2020-01", "*"),
        ("2020-02-29", "2020-02-29", "2020-02", "*"),
        ("2020-02-29 12:30:00", "2020-02-29", "2020-02", "*"),
    ]


def test_the_ends_of_the_calendar_and_days_far_apart() -> None:
    assert date_hierarchy(["9999-12-31", "9999-12-01"], ["month", "decade"]).size(0) == 3652
    assert date_hierarchy(["0001-01-01"], ["year"]).labels[1] == ("0001",)
    assert date_hierarchy(["0001-01-01", "9999-12-31"], ["year"]).size(0) == 2


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (["hour"], "dates are cut to day, week, month, quarter, year, decade, not to 'hour'"),
        (["year", "month"], "each unit of dates must be longer than the one before"),
        (["month", "month"], "each unit of dates must be longer"),
        (["week", "month"], "weeks lie in no month and no year"),
    ],
)
def test_units_that_do_not_nest_are_refused(units: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        Attribute("quasi-identifier", dates=units)
    with pytest.raises(HierarchyError, match=message):
        date_hierarchy(["2020-01-01"], units)
    config = tmp_path / "release.toml"
    config.write_text(f"data.path = 'x.csv'\n[attributes.seen]\nrole = 'sensitive'\ndates = {units}")
    with pytest.raises(InputError, match=rf"attributes\.seen\.dates: {message}"):
        read_config(config)


def test_a_text_that_is_no_date_is_refused_with_its_row() -> None:
    with pytest.raises(InputError, match="row 2 is no date such as 2023-11-12"):
        read_table(
            pd.DataFrame({"seen": ["2023-11-12", "11/12/2023"]}),
            {"seen": Attribute("quasi-identifier", dates=["month"])},
        )


def visits(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    seen = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 4 * 365, rows) // 30 * 30 * 24 + 5, "h")
    return pd.DataFrame(
        {"seen": seen.where(rng.random(rows) < 0.7, seen.normalize()), "ill": rng.choice(["yes", "no"], rows)}
    )


def bundle(source: object, engine: str, folder: Path) -> dict[str, bytes]:
    attributes = {
        "seen": Attribute("quasi-identifier", dates=["day", "quarter", "year"]),
        "ill": Attribute("sensitive"),
    }
    publish(read_table(source, attributes, engine=engine), Policy(k_link=5, diversity="none")).write(folder)
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.mark.slow
@ways
def test_every_engine_gives_the_same_bundle(way: str, tmp_path: Path) -> None:
    expected = bundle(visits(), "auto", tmp_path / "expected")
    source, engine = handed_over(visits(), way, tmp_path)
    assert bundle(source, engine, tmp_path / "out") == expected
    assert any(b"2024-Q1" in content or b"2024-01" in content for content in expected.values())


def test_german_days_are_the_same() -> None:
    attributes = {"seen": Attribute("quasi-identifier", dates=["month"])}
    german = pd.DataFrame({"seen": ["12.11.2023", "1.2.2024"]})
    assert dict(read_table(german, attributes).base_counts.cells()) == {("2023-11-12",): 1, ("2024-02-01",): 1}

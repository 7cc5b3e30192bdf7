"""Whose rows these are: of each person one row counts, or a few, the same whatever reads the table in whatever order."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginals import InputError, Policy, Table, publish, read_rows, read_table
from marginals.errors import TooLittleMemoryError
from table_readers import CELL, WAYS, handed_over, run_init

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2

ROLES = {"age": "quasi-identifier", "sex": "quasi-identifier", "cause": "sensitive"}
WAYS_TO_COUNT: list[dict[str, Any]] = [
    {"one_row": "first"}, {"one_row": "last"}, {"one_row": "random"}, {"rows_per_person": 2}, {"rows_per_person": 3},
]  # fmt: skip
NO_ORDER = {"polars lazy", "duckdb", "ibis", "spark"}


def visits(rows: int = 400, people: int = 90, seed: int = 5) -> pd.DataFrame:
    """Visits of people, some of nobody, some without a value; ids look like numbers and like texts with accents."""
    rng = np.random.default_rng(seed)
    names = np.array(["", *(f"p{i}é" if i % 2 else f"{i:03}" for i in range(people))])
    who = np.minimum(rng.integers(0, people + 5, rows), people)
    return pd.DataFrame(
        {
            "patient": names[who],
            "age": np.array(["20-39", "40-59", "60+", ""])[np.minimum((who + rng.integers(0, 2, rows)) % 7 // 2, 3)],
            "sex": np.array(["f", "m"])[who % 2],
            "cause": rng.choice(["flu", "gout", "?", "cough"], rows, p=[0.5, 0.2, 0.1, 0.2]),
        }
    )


def cells(table: Table) -> Counter[tuple[str, ...]]:
    return Counter(dict(table.counts.cells()))


def whole_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame.isin(["", "?"]).any(axis=1)]


def counted(frame: pd.DataFrame) -> Counter[tuple[str, ...]]:
    return Counter(frame[list(ROLES)].itertuples(index=False, name=None))


@pytest.mark.parametrize("keep", ["first", "last"])
def test_the_first_or_last_row_that_lacks_no_value_counts(keep: str) -> None:
    frame = visits()
    whole = whole_rows(frame)
    expected = whole.drop_duplicates("patient", keep=keep)  # type: ignore[call-overload]
    table = read_table(frame, ROLES, ["", "?"], person="patient", one_row=keep)
    assert cells(table) == counted(expected)
    assert (table.missing, table.left_out) == (len(frame) - len(whole), len(whole) - len(expected))
    assert table.rows_per_person == 1
    lacking = frame.isin(["", "?"]).sum()
    assert table.missing_in == {name: int(n) for name, n in lacking.sort_values(ascending=False).items() if n}


@pytest.mark.parametrize("unit", WAYS_TO_COUNT[2:], ids=str)
def test_of_what_is_drawn_nobody_has_more_rows_than_count_and_all_rows_are_those_of_the_table(
    unit: dict[str, Any],
) -> None:
    frame = visits()
    rows = read_rows(frame, ROLES, ["", "?"], person="patient", **unit)
    most = unit.get("rows_per_person", 1)
    having = whole_rows(frame)["patient"].value_counts()
    assert rows.frame["patient"].value_counts().to_dict() == having.clip(upper=most).to_dict()
    assert counted(rows.frame) == cells(read_table(frame, ROLES, ["", "?"], person="patient", **unit))
    assert rows.frame.index.isin(whole_rows(frame).index).all()
    assert rows.missing == len(frame) - len(whole_rows(frame))


@settings(deadline=None)
@given(st.lists(st.tuples(*(st.sampled_from("abc") for _ in range(4))), min_size=1, max_size=12), st.randoms())
def test_what_is_drawn_does_not_depend_on_the_order_of_rows_or_columns(
    rows: list[tuple[str, ...]], random: Any
) -> None:
    frame = pd.DataFrame(rows, columns=["patient", *ROLES])
    shuffled = frame.sample(frac=1, random_state=random.randrange(2**31)).sample(
        frac=1, axis=1, random_state=random.randrange(2**31)
    )
    for unit in WAYS_TO_COUNT[2:]:
        one, other = (read_table(each, ROLES, person="patient", **unit) for each in (frame, shuffled))
        assert cells(one) == cells(other)
        assert (one.left_out, one.rows) == (other.left_out, other.rows)


def test_what_is_drawn_is_drawn_evenly_a_row_that_occurs_twice_twice_as_often() -> None:
    people = 6_000
    frame = pd.DataFrame({"patient": np.repeat(np.arange(people), 4), "cause": ["a", "b", "b", "c"] * people})
    table = read_table(frame, {"cause": "quasi-identifier"}, person="patient", one_row="random")
    drawn = np.array([cells(table)[value,] for value in "abc"]) / people
    np.testing.assert_allclose(drawn, [0.25, 0.5, 0.25], atol=4 * np.sqrt(0.25 / people))
    three = read_table(frame, {"cause": "quasi-identifier"}, person="patient", rows_per_person=3)
    left_out = 1 - np.array([cells(three)[value,] for value in "abc"]) / (people * np.array([1, 2, 1]))
    np.testing.assert_allclose(left_out, 0.25, atol=4 * np.sqrt(0.25 / people))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_hand_a_table_over_counts_the_same_rows_and_notices_a_key(way: str, tmp_path: Path) -> None:
    frame = visits()
    who = frame["patient"].map({name: i for i, name in enumerate(frame["patient"].unique())})
    split = frame.assign(household=(who // 4).astype(str), member=(who % 4).astype(str))
    split.loc[frame["patient"] == "", "member"] = ""
    source = handed_over(split, way, tmp_path)
    (key,) = read_table(source, ROLES, ["", "?"]).repeating
    named = frame["patient"][frame["patient"] != ""]
    assert str(key) == f"'patient' looks like a key and repeats: {named.nunique()} values in {len(named)} rows"
    for unit in WAYS_TO_COUNT:
        if way in NO_ORDER and unit.get("one_row") in ("first", "last"):
            with pytest.raises(InputError, match=r'no order.* one_row = "random"'):
                read_table(source, ROLES, ["", "?"], person="patient", **unit)
            continue
        expected = read_table(frame, ROLES, ["", "?"], person="patient", **unit)
        table = read_table(source, ROLES, ["", "?"], person="patient", **unit)
        assert cells(table) == cells(expected), unit
        assert (table.missing, table.left_out) == (expected.missing, expected.left_out)
        assert table.domain.hierarchy("age").labels == expected.domain.hierarchy("age").labels
    together = read_table(source, ROLES, ["", "?"], person=["household", "member"], rows_per_person=2)
    alone = read_table(frame, ROLES, ["", "?"], person="patient", rows_per_person=2)
    assert (together.rows, together.left_out, together.missing) == (alone.rows, alone.left_out, alone.missing)
    with pytest.raises(InputError, match="the key person must name the column that says whose row it is, or several"):
        read_table(source, ROLES, person=["household", "household"], one_row="random")


def test_people_who_do_not_fit_into_memory_are_refused_with_the_setting(tmp_path: Path) -> None:
    """Also where nobody has said whose rows these are, and a column may be a key."""
    frame = visits()
    frame.to_csv(tmp_path / "visits.csv", index=False)
    how: dict[str, Any] = {"person": "patient", "rows_per_person": 2}
    of_column = r"column 'patient' of visits\.csv.* data\.memory, or say rows_per_person = 1 if each row is of another"
    for unit, told in ((how, r"visits\.csv .*data\.memory"), ({}, of_column)):
        with pytest.raises(TooLittleMemoryError, match=told):
            read_table(tmp_path / "visits.csv", ROLES, ["", "?"], memory=60 * CELL, **unit)
    table = read_table(tmp_path / "visits.csv", ROLES, ["", "?"], memory=4 * (len(frame) + 1) * CELL, **how)
    assert cells(table) == cells(read_table(frame, ROLES, ["", "?"], **how))


ONE = [
    ("1001", "1001.0", "1,001", " 1001", "1001 ", "+1001", "1'001", "1\u202f001", "1001\u200b", "1001,0"),
    ("P7", "P7 ", "\tP7", "P7\u00a0", "\ufeffP7"),
    ("100000", "1e+05", "100,000", "100000.00"),
    ("Zo\u00eb", "Zoe\u0308"),
    (
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}",
        "3F2504E04F8911D39A0C0305E82C3301",
    ),
]
"""Spellings of one person."""

PERHAPS_ONE = {
    ("1001", "01001"): "'09999' and '9999'", ("1001", "1.001e3"): "'9.999x9' and '9999'", ("1001", "1.001"): "'9.999'",
    ("p7", "P7"): "'X9' and 'x9'", ("P-7", "P7"): "'X-9' and 'X9'", ("P007", "P7"): "'X009' and 'X9'",
    ("123-45-6789", "123456789"): "'999-99-9999' and '999999999'", ("P\u20137", "P-7"): "'X-9' and 'X\u20139'",
    ("P 7", "P7"): "'X 9'", ("12/3", "12-3"): "'99-9' and '99/9'", ("1001.5", "1001,5"): "'9999,9' and '9999.9'",
    ("'1001", "1001"): "9999", ("\uff11\uff10\uff10\uff11", "1001"): "'9999'", ("0x1F", "1F"): "'9X' and '9x9X'",
}  # fmt: skip
"""Two spellings that may be of one person, and the forms that are told."""


@pytest.mark.parametrize("spellings", ONE, ids=lambda spellings: spellings[0])
@pytest.mark.parametrize("way", ["frame", "files"])
def test_a_person_is_one_in_every_spelling(spellings: tuple[str, ...], way: str, tmp_path: Path) -> None:
    """Also in several files, read one after the other."""
    ids = [*(f"{10_000 + i}" for i in range(300)), *spellings]
    frame = pd.DataFrame({"patient": ids, "age": ["20-39", "40-59"] * (len(ids) // 2) + ["60+"] * (len(ids) % 2)})
    people = 301
    if way != "frame":
        for part in range(2):
            frame[part::2].to_csv(tmp_path / f"visits{part}.csv", index=False)
    source = frame if way == "frame" else f"{tmp_path}/visits*.csv"
    for unit in ("first", "random"):
        table = read_table(source, {"age": "sensitive"}, person="patient", one_row=unit)
        assert (table.rows, table.left_out) == (people, len(ids) - people)


@pytest.mark.parametrize("spellings", PERHAPS_ONE, ids=" ".join)
def test_two_keys_that_may_be_one_person_are_refused_by_their_form(spellings: tuple[str, str], tmp_path: Path) -> None:
    """The refusal shows no number."""
    ids = [spellings[0], *map(str, range(20_000, 20_300)), spellings[1]]
    pd.DataFrame({"patient": ids, "age": ["20-39", "40-59"] * 151}).to_csv(tmp_path / "visits.csv", index=False)
    for unit in ("first", "random"):
        with pytest.raises(InputError, match="one person in two spellings") as refused:
            read_table(tmp_path / "visits.csv", {"age": "sensitive"}, person="patient", one_row=unit)
        assert PERHAPS_ONE[spellings] in str(refused.value), refused.value
        assert not any(spelling in str(refused.value) for spelling in spellings if any(map(str.isdigit, spelling[1:])))


@pytest.mark.parametrize(
    "ids", [["12-3", "1-23"], ["1.5", "1.05"], ["007", "070", "700"], ["999", "1000"], ["-5", "5"]]
)
def test_keys_that_differ_are_different_people(ids: list[str]) -> None:
    frame = pd.DataFrame({"patient": ids, "age": "20-39"})
    assert read_table(frame, {"age": "sensitive"}, person="patient").rows == len(ids)


def test_a_person_alone_must_have_one_row() -> None:
    frame = visits()
    with pytest.raises(InputError, match=r"'patient' have several rows.* Say one_row"):
        read_table(frame, ROLES, ["", "?"], person="patient")
    single = whole_rows(frame).drop_duplicates("patient")
    table = read_table(single, ROLES, person="patient")
    assert (table.rows_per_person, table.left_out, table.rows) == (1, 0, len(single))


def test_a_column_without_a_name_can_say_whose_row_it_is(tmp_path: Path) -> None:
    """The index of several frames that were put together, as pandas writes it: before the others, without a name."""
    sheets = [pd.DataFrame({"sex": ["f", "m"] * 60, "year": year}) for year in (2023, 2024)]
    pd.concat(sheets).to_csv(tmp_path / "visits.csv")
    assert run_init(tmp_path / "visits.csv").exit_code == 0
    assert 'person = ""' in (tmp_path / "release.toml").read_text()
    table = read_table(tmp_path / "visits.csv", {"sex": "quasi-identifier"}, person="", one_row="first")
    assert (table.rows, table.rows_per_person) == (120, 1)


@pytest.mark.parametrize(
    ("column", "role", "is_key"),
    [
        ("patient", None, True), ("PatientID", None, True), ("subjid", "ignored", True),
        ("record", "identifier", True), ("respid", None, True), ("familyid", None, False), ("paid", None, False),
        ("record", None, False), ("name", "identifier", False), ("hospital_id", None, False),
        ("stratid", None, False), ("psu_id", None, False), ("ClusterID", "identifier", False),
        ("income", None, False),
    ],
)  # fmt: skip
def test_a_key_is_known_by_its_name_or_its_role(column: str, role: str | None, is_key: bool) -> None:
    frame = visits().rename(columns={"patient": column})
    table = read_table(frame, ROLES | ({column: role} if role else {}), ["", "?"])
    assert [key.columns for key in table.repeating] == ([(column,)] if is_key else [])


@pytest.mark.parametrize("values", [["f", "m"] * 50, list(range(100)), [[1], [2]] * 50])
def test_a_few_values_or_each_once_or_lists_are_no_key_that_repeats(values: list[Any]) -> None:
    frame = pd.DataFrame({"student": values, "sex": ["f", "m"] * 50})
    assert read_table(frame, {"sex": "quasi-identifier"}).repeating == ()


def test_blanks_are_no_key_that_repeats() -> None:
    frame = pd.DataFrame({"patient": [*map(str, range(50)), *[""] * 9, " "], "sex": ["f", "m"] * 30})
    assert read_table(frame, {"sex": "quasi-identifier"}, ["?"]).repeating == ()


def test_nothing_is_published_of_people_before_it_is_said_whose_rows_these_are() -> None:
    frame, policy = visits(), Policy(k_link=3, base="none", diversity="none")
    with pytest.raises(InputError, match=r"'patient' looks like a key.* person = .patient. with one_row"):
        publish(read_table(frame, ROLES, ["", "?"]), policy)
    for rows_per_person in (1, 4, "any"):
        release = publish(read_table(frame, ROLES, ["", "?"], rows_per_person=rows_per_person), policy).release
        assert release.published.rows_per_person == rows_per_person

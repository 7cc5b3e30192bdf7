"""Reading a table: rows counted once, missing values dropped and counted, bad input named without its values."""

from pathlib import Path

import pandas as pd
import pytest

from marginals import Attribute, Hierarchy, InputError, Role, Table, read_rows, read_table

ATTRIBUTES = {
    "age": Attribute("quasi-identifier", intervals=[5, 10]),
    "zip": Attribute(Role.QUASI_IDENTIFIER, prefixes=[2]),
    "disease": "sensitive",
    "name": "identifier",
}
CSV = "name,age,zip,disease\nann,31,123,flu\nbob,?,123,flu\ncid,33,124,\neve,31,123,flu\n"


def read(tmp_path: Path, text: str = CSV, **options: object) -> Table:
    path = tmp_path / "people.csv"
    path.write_text(text)
    return read_table(path, ATTRIBUTES, missing=["?", ""], **options)  # type: ignore[arg-type]


def test_rows_are_counted_and_missing_ones_dropped(tmp_path: Path) -> None:
    table = read(tmp_path)
    assert (table.rows, table.missing, len(table.counts)) == (2, 2, 1)
    assert table.quasi_identifiers == ("age", "zip")
    assert table.sensitive == ("disease",)
    assert "name" not in table.domain.attributes


def test_declared_intervals_hold_all_whole_numbers_and_observed_ones_only_those_seen(tmp_path: Path) -> None:
    assert read(tmp_path).domain.hierarchy("age").labels[0] == tuple(str(n) for n in range(30, 40))
    assert read(tmp_path, domain="observed").domain.hierarchy("age").labels[0] == ("31",)


def test_a_frame_and_a_file_of_it_count_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "name": list("abcd"),
            "age": [31.0, None, 33.0, 31.0],
            "zip": ["123"] * 4,
            "disease": ["flu", "flu", "x", "flu"],
        }
    )
    frame.to_parquet(tmp_path / "people.parquet")
    tables = [read_table(source, ATTRIBUTES) for source in (frame, tmp_path / "people.parquet")]
    for table in tables:
        assert dict(table.counts.cells()) == {("31", "123", "flu"): 2, ("33", "123", "x"): 1}
        assert table.missing == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (CSV.replace("33,124,\n", "secret,124,flu\n"), "'age' of people.csv: the value in row 3"),
        (CSV.replace("age,", "years,"), "no column 'age'"),
        (CSV.replace("name,", "age,"), "two columns|no column 'name'"),
        ("name,age,zip,disease\n", "no row"),
        ("", "cannot be read"),
        ('name,age,zip,disease\n"ann,31,secret', "people.csv"),
    ],
)
def test_bad_tables_are_refused_without_quoting_a_value(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        read(tmp_path, text)
    assert "secret" not in str(caught.value)


def test_a_value_outside_the_hierarchy_is_named_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex\nf\n?\nsecret\n")
    with pytest.raises(InputError, match=r"'sex' of people\.csv: the value in row 3 is not among") as caught:
        read_table(path, {"sex": Attribute("quasi-identifier", hierarchy=Hierarchy.flat("fm"))}, missing=["?"])
    assert "secret" not in str(caught.value)


def test_a_table_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table"):
        read_table(tmp_path / "none.csv", ATTRIBUTES)
    (tmp_path / "x.csv").write_bytes(b"name\n\xff\xfe\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_table(tmp_path / "x.csv", {"name": "sensitive"})
    (tmp_path / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"x\.parquet cannot be read"):
        read_table(tmp_path / "x.parquet", {"name": "sensitive"})


def test_nothing_to_publish_is_said() -> None:
    with pytest.raises(InputError, match="nothing to publish"):
        read_table(pd.DataFrame({"a": ["x"]}), {"a": "identifier"})
    counted = pd.DataFrame({"sex": ["f", "m"], "count": ["17", "18"]})
    with pytest.raises(InputError, match="the column 'count' is called what published tables call their counts"):
        read_table(counted, {"sex": "sensitive", "count": "quasi-identifier"})
    assert read_table(counted, {"sex": "sensitive", "count": "ignored"}).rows == 2
    with pytest.raises(InputError, match="role"):
        Attribute("secret")


def test_rows_one_by_one_are_those_that_are_counted(tmp_path: Path) -> None:
    """From a frame, a file and a folder alike, in order, and with the same refusals."""
    frame = pd.DataFrame({"age": ["30", "", "40", "30"], "ill": list("yyny"), "note": list("abcd")})
    (tmp_path / "parts").mkdir()
    frame[:2].to_csv(tmp_path / "parts" / "1.csv", index=False)
    frame[2:].to_csv(tmp_path / "parts" / "2.csv", index=False)
    roles = {"age": "quasi-identifier", "ill": "sensitive"}
    for source in (frame, tmp_path / "parts"):
        rows, table = read_rows(source, roles), read_table(source, roles)
        assert rows.domain == table.domain
        assert (len(rows), rows.missing) == (table.rows, table.missing) == (3, 1)
        assert rows.frame["note"].tolist() == ["a", "c", "d"]
        labels = rows.domain.hierarchy("age").labels[0]
        assert [labels[code] for code in rows.codes["age"]] == ["30", "40", "30"]
        with pytest.raises(InputError, match="domain is"):
            read_rows(source, roles, domain="guessed")
        with pytest.raises(InputError, match="no column 'sex'"):
            read_rows(source, {"sex": "sensitive"})


def test_a_prefix_that_cuts_some_codes_is_taken_and_one_that_cuts_none_is_refused() -> None:
    codes = pd.DataFrame({"icd": ["J12.3", "J12", "A4"]})
    for prefixes in ([4, 1], [3], [2]):
        table = read_table(codes, {"icd": Attribute("quasi-identifier", prefixes=prefixes)})
        levels = table.domain.hierarchy("icd").labels
        assert all(fine != coarse for fine, coarse in zip(levels, levels[1:]))
    for prefixes in ([9, 2], [5], [7, 6]):
        with pytest.raises(InputError, match=rf"column 'icd' of the table: no value is longer than {prefixes[0]}"):
            read_table(codes, {"icd": Attribute("quasi-identifier", prefixes=prefixes)})


@pytest.mark.parametrize(
    "given", [{"intervals": [10, 25]}, {"intervals": [0]}, {"prefixes": [2, 3]}, {"prefixes": [0]}]
)
def test_levels_that_do_not_nest_are_refused_before_a_table_is_read(given: dict[str, list[int]]) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(given))}: "):
        Attribute("quasi-identifier", **given)  # type: ignore[arg-type]

"""Files of statistics programs and spreadsheets: the same table as from CSV, and their labels."""

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, InputError, Role, TableSource, read_table
from marginals.bundle.reading import read_bundle
from marginals.config.first_config import initial_config
from marginals.tables.files import ColumnLabels, column_labels

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

PEOPLE = pd.DataFrame(
    {
        "age": [23.0, 41.0, 41.0, np.nan],
        "sex": [1.0, 2.0, 2.0, 1.0],
        "town": ["Ulm", "Köln", "Köln", "Ulm"],
        "born": [date(2000, 2, 29), date(1982, 1, 1), date(1982, 1, 1), date(1990, 5, 5)],
    }
)
ROLES = dict.fromkeys(PEOPLE, "quasi-identifier")
CELLS = {("23", "1", "Ulm", "2000-02-29"): 1, ("41", "2", "Köln", "1982-01-01"): 2}
DESCRIPTIONS = {"age": "age in\nyears", "sex": "", "town": "", "born": "date of birth"}
SEX = {"sex": {1: "male", 2: "female"}}


def saved(folder: Path, suffix: str, people: pd.DataFrame = PEOPLE) -> Path:
    path = folder / f"people{suffix}"
    labels = {"column_labels": {name: DESCRIPTIONS[name] for name in people}, "variable_value_labels": SEX}
    match suffix:
        case ".dta":
            pyreadstat.write_dta(people, str(path), **labels)
        case ".sav":
            pyreadstat.write_sav(people, str(path), **labels)
        case ".zsav":
            pyreadstat.write_sav(people, str(path), **labels, compress=True)
        case ".xlsx":
            people.to_excel(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".xlsx"])
def test_the_table_is_that_of_its_codes(suffix: str, tmp_path: Path) -> None:
    path = saved(tmp_path, suffix)
    table = read_table(path, ROLES)
    assert dict(table.base_counts.cells()) == CELLS
    assert table.missing == 1
    source = TableSource(origin=path, attributes={"age": Attribute("quasi-identifier")})
    assert source.columns() == tuple(PEOPLE)


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav"])
def test_labels_are_by_the_text_of_the_value(suffix: str, tmp_path: Path) -> None:
    labels = column_labels(saved(tmp_path, suffix))
    assert list(labels) == list(PEOPLE)
    assert labels["sex"] == ColumnLabels("", {"1": "male", "2": "female"})
    assert labels["age"] == ColumnLabels("age in years")
    assert column_labels(saved(tmp_path, ".xlsx")) == {}


def test_narrow_numbers_have_their_own_shortest_text(tmp_path: Path) -> None:
    path = tmp_path / "doses.dta"
    pd.DataFrame({"dose": np.array([0.1, 2.5, 2], dtype=np.float32)}).to_stata(path, write_index=False)
    table = read_table(path, {"dose": "quasi-identifier"})
    assert {value for (value,), _ in table.base_counts.cells()} == {"0.1", "2.5", "2"}


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_other_engines_do_not_read_them(engine: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'people\.dta is read by pandas only; leave out engine = "'):
        read_table(saved(tmp_path, ".dta"), ROLES, engine=engine)


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".sas7bdat", ".xlsx"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"age,sex\n31,f\n"])
def test_what_is_no_such_file_is_refused_in_a_sentence(suffix: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"people{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^people\{suffix} cannot be read"):
        read_table(path, ROLES)


def test_a_cut_off_file_is_refused(tmp_path: Path) -> None:
    for suffix in (".dta", ".xlsx"):
        path = saved(tmp_path, suffix)
        path.write_bytes(path.read_bytes()[:300])
        with pytest.raises(InputError, match="cannot be read"):
            read_table(path, ROLES)


def test_spreadsheets_that_are_not_read_say_how_to_save_them(tmp_path: Path) -> None:
    (tmp_path / "people.xls").write_bytes(b"x")
    with pytest.raises(InputError, match="of a kind that is not read; save the sheet as CSV"):
        read_table(tmp_path / "people.xls", ROLES)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        PEOPLE.to_excel(writer, sheet_name="people", index=False)
        PEOPLE.to_excel(writer, sheet_name="more", index=False)
    with pytest.raises(InputError, match="has 2 sheets with something in them, and must have one"):
        read_table(tmp_path / "two.xlsx", ROLES)


def test_empty_sheets_rows_and_columns_do_not_count(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "people.xlsx") as writer:
        PEOPLE.to_excel(writer, sheet_name="people", index=False, startrow=2, startcol=1)
        pd.DataFrame().to_excel(writer, sheet_name="empty", index=False)
    assert dict(read_table(tmp_path / "people.xlsx", ROLES).base_counts.cells()) == CELLS


def test_a_sheet_without_names_of_columns_is_refused(tmp_path: Path) -> None:
    PEOPLE.dropna().drop(columns="town").to_excel(tmp_path / "people.xlsx", index=False, header=False)
    with pytest.raises(InputError, match=r"people\.xlsx seems to have no header line"):
        read_table(tmp_path / "people.xlsx", {"age": "quasi-identifier"})


def test_one_of_several_files_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, ".dta")
    (tmp_path / "people.csv").write_text("age\n1\n")
    with pytest.raises(InputError, match="only CSV and Parquet can be several"):
        read_table(tmp_path / "people.*", ROLES)


@pytest.mark.parametrize("suffix", [".dta", ".xlsx"])
def test_init_reads_them(suffix: str, tmp_path: Path) -> None:
    many = pd.concat([PEOPLE] * 50, ignore_index=True)
    path = tmp_path / f"many{suffix}"
    pyreadstat.write_dta(many, str(path)) if suffix == ".dta" else many.to_excel(path, index=False)
    config = initial_config(path, tmp_path / "release.toml")
    assert f'path = "many{suffix}"' in config.text


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav"])
def test_init_hands_labels_on_to_the_config_and_the_release(suffix: str, tmp_path: Path) -> None:
    """Descriptions of columns and labels of values, of the columns that are used."""
    path = saved(tmp_path, suffix, pd.concat([PEOPLE.drop(columns="born")] * 50, ignore_index=True))
    initial_config(path, tmp_path / "release.toml").write(tmp_path / "release.toml")
    config = marginals.read_config(tmp_path / "release.toml")
    age, sex, town = (config.source.attributes[name] for name in ("age", "sex", "town"))
    assert (age.description, dict(age.values)) == ("age in years", {})
    assert (sex.description, dict(sex.values)) == ("", {"1": "male", "2": "female"})
    assert (town.description, dict(town.values)) == ("", {})
    marginals.publish(config.read_table(), config.policy).write(tmp_path / "release")
    codebook = read_bundle(tmp_path / "release").codebook
    assert codebook.descriptions == {"age": "age in years"}
    assert codebook.values == {"sex": {"1": "male", "2": "female"}}


def test_labels_tell_names_from_numbers_and_what_is_sensitive(tmp_path: Path) -> None:
    """A column of labelled codes holds names; one whose labels are illnesses is sensitive, and so is one described so."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.integers(1, 4, 300).astype(float) for name in ("q1", "q2", "q3")})
    frame["q3"] = rng.integers(1, 60, 300).astype(float)
    labels = {"q1": {1: "North", 2: "South", 3: "West"}, "q2": {1: "Diabetes", 2: "Asthma", 3: "Influenza"}}
    pyreadstat.write_sav(
        frame, str(tmp_path / "t.sav"), column_labels=["", "", "monthly income"], variable_value_labels=labels
    )
    guesses = initial_config(tmp_path / "t.sav", tmp_path / "release.toml").guesses
    assert "as its labels say" in guesses["q1"].why
    assert guesses["q2"].role is Role.SENSITIVE
    assert "its values look like health" in guesses["q2"].why
    assert guesses["q3"].role is Role.SENSITIVE
    assert "its description says income" in guesses["q3"].why


def test_without_its_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {"pyreadstat": saved(tmp_path, ".dta"), "openpyxl": saved(tmp_path, ".xlsx")}
    for library, extra in (("pyreadstat", "statistics"), ("openpyxl", "excel")):
        monkeypatch.setitem(__import__("sys").modules, library, None)
        with pytest.raises(InputError, match=rf"{library}: pip install .*\[{extra}\]"):
            read_table(paths[library], ROLES)

"""Files of statistics programs and workbooks: the same table as from CSV, with their labels, within bounds."""

import datetime
import random
import sys
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, InputError, Role, TableSource, read_rows, read_table
from table_readers import run_init, set_limit

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

PEOPLE = pd.DataFrame(
    {
        "age": [23.0, 41.0, 41.0, np.nan],
        "sex": [1.0, 2.0, 2.0, 1.0],
        "town": ["Ulm", "Köln", "Köln", "Ulm"],
        "born": [
            datetime.date(2000, 2, 29), datetime.date(1982, 1, 1), datetime.date(1982, 1, 1),
            datetime.date(1990, 5, 5),
        ],
    }
)  # fmt: skip
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


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".sas7bdat", ".xlsx"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"age,sex\n31,f\n", None])
def test_what_is_no_such_file_or_cut_off_is_refused(suffix: str, content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / f"people{suffix}"
    if content is None and suffix == ".sas7bdat":
        return  # nothing writes it
    path.write_bytes(saved(tmp_path, suffix).read_bytes()[:300] if content is None else content)
    with pytest.raises(InputError, match=rf"^people\{suffix} cannot be read"):
        read_table(path, ROLES)


def test_what_is_not_read_as_one_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.xls").write_bytes(b"x")
    with pytest.raises(InputError, match="save the sheet as CSV"):
        read_table(tmp_path / "people.xls", ROLES)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        PEOPLE.to_excel(writer, sheet_name="people", index=False)
        PEOPLE.to_excel(writer, sheet_name="more", index=False)
    with pytest.raises(InputError, match="2 sheets"):
        read_table(tmp_path / "two.xlsx", ROLES)
    PEOPLE.dropna().drop(columns="town").to_excel(tmp_path / "sheet.xlsx", index=False, header=False)
    with pytest.raises(InputError, match="no header line"):
        read_table(tmp_path / "sheet.xlsx", {"age": "quasi-identifier"})
    (tmp_path / "people.csv").write_text("age\n1\n")
    with pytest.raises(InputError, match="only CSV and Parquet"):
        read_table(tmp_path / "people.*", ROLES)


@pytest.mark.parametrize("suffix", [".dta", ".sav", ".zsav", ".xlsx"])
def test_init_hands_labels_on_to_the_config_and_the_release(suffix: str, tmp_path: Path) -> None:
    path = saved(tmp_path, suffix, pd.concat([PEOPLE.drop(columns="born")] * 50, ignore_index=True))
    run_init(path, status=0)
    config = marginals.read_config(tmp_path / "release.toml")
    has_labels = suffix != ".xlsx"
    age, sex, town = (config.source.attributes[name] for name in ("age", "sex", "town"))
    assert (age.description, dict(age.values)) == ("age in years" if has_labels else "", {})
    assert (sex.description, dict(sex.values)) == ("", {"1": "male", "2": "female"} if has_labels else {})
    assert (town.description, dict(town.values)) == ("", {})
    marginals.publish(config.read_table(), config.policy).write(tmp_path / "release")
    codebook = marginals.open_release(tmp_path / "release").published.codebook
    assert codebook.descriptions == ({"age": "age in years"} if has_labels else {})
    assert codebook.values == ({"sex": {"1": "male", "2": "female"}} if has_labels else {})


def test_labels_tell_names_from_numbers_and_what_is_sensitive(tmp_path: Path) -> None:
    """A column of labelled codes holds names; one whose labels are illnesses is sensitive, and so is one described so."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.integers(1, 4, 300).astype(float) for name in ("q1", "q2", "q3")})
    frame["q3"] = rng.integers(1, 60, 300).astype(float)
    labels = {"q1": {1: "North", 2: "South", 3: "West"}, "q2": {1: "Diabetes", 2: "Asthma", 3: "Influenza"}}
    pyreadstat.write_sav(
        frame, str(tmp_path / "t.sav"), column_labels=["", "", "monthly income"], variable_value_labels=labels
    )
    assert run_init(tmp_path / "t.sav").exit_code == 0
    text = (tmp_path / "release.toml").read_text()
    attributes = marginals.read_config(tmp_path / "release.toml").source.attributes
    assert [attributes[name].role for name in ("q2", "q3")] == [Role.SENSITIVE] * 2
    for name, why in (("q1", "as its labels say"), ("q2", "health"), ("q3", "its description says income")):
        assert why in text[text.index(f"[attributes.{name}]") :].partition("role")[0], name


def test_without_its_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {"pyreadstat": saved(tmp_path, ".dta"), "python_calamine": saved(tmp_path, ".xlsx")}
    for library, extra in (("pyreadstat", "statistics"), ("python_calamine", "excel")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(InputError, match=rf"{library}: pip install .*\[{extra}\]"):
            read_table(paths[library], ROLES)


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ROWS = "<row r='1'><c r='A1' t='str'><v>age</v></c></row><row r='2'><c r='A2'><v>31</v></c></row>"


def sheet(rows: str = ROWS, before: str = "", after: str = "") -> str:
    return f"{before}<worksheet xmlns='{MAIN}'><sheetData>{rows}</sheetData>{after}</worksheet>"


def written(folder: Path, parts: Mapping[str, str | bytes]) -> Path:
    """A workbook of one sheet; parts: what stands in the place of parts of it, or beside them."""
    relation = f"<Relationship Id='{{}}' Type='{RELATIONS}/{{}}' Target='{{}}'/>"
    related = relation.format("s", "worksheet", "worksheets/sheet1.xml")
    related += relation.format("t", "sharedStrings", "sharedStrings.xml") if "xl/sharedStrings.xml" in parts else ""
    related += relation.format("u", "styles", "styles.xml") if "xl/styles.xml" in parts else ""
    whole: dict[str, str | bytes] = {
        "_rels/.rels": f"<Relationships>{relation.format('w', 'officeDocument', 'xl/workbook.xml')}</Relationships>",
        "xl/workbook.xml": f"<workbook xmlns:r='{RELATIONS}'><sheets><sheet name='one' r:id='s'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships>{related}</Relationships>",
        "xl/worksheets/sheet1.xml": sheet(),
    }
    path = folder / "people.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (whole | dict(parts)).items():
            archive.writestr(name, content)
    return path


def read_workbook(path: Path, *columns: str) -> list[tuple[str, ...]]:
    attributes = {name: Attribute("quasi-identifier", missing="as a value") for name in columns or ("age",)}
    return sorted(cell for cell, count in read_table(path, attributes).counts.cells() for _ in range(count))


LAUGHS = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)
FILE = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
FAR = "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>"
EMPTY_FAR = "<row r='1048576'><c r='XFD1048576' s='1'/><c r='XFC1048576'><v></v></c></row>"
MANY = 40_000_000


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"xl/worksheets/sheet1.xml": sheet(before=LAUGHS + "]>")}, "document type or entities"),
        ({"xl/worksheets/sheet1.xml": sheet(before=FILE)}, "document type or entities"),
        ({"xl/worksheets/sheet1.xml": sheet(before=FILE).encode("utf-16")}, "document type or entities"),
        ({"xl/styles.xml": FILE + "<styleSheet/>"}, "document type or entities"),
        ({"xl/sharedStrings.xml": LAUGHS + "]><sst>&j;</sst>"}, "document type or entities"),
        ({"xl/worksheets/sheet1.xml": b"\0\1\2"}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": b""}, "is no XML"),
        ({"xl/workbook.xml": "<workbook"}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet(ROWS + FAR)}, "far from the table, up to row 1048576 and column 16384"),
        ({"xl/worksheets/sheet1.xml": sheet("<row r='9999999'><c><v>1</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet("<row><c r='XFE1'><v>1</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet("<row><c t='s'><v>7</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet(after="<x/>" * 200_001)}, "and other things beside its cells"),
        ({"xl/styles.xml": f"<styleSheet>{'<xf/>' * 200_001}</styleSheet>"}, "and other things beside its cells"),
        ({"xl/worksheets/sheet1.xml": f"<a b='{' ' * MANY}'/>"}, "a tag that is longer than any"),
        ({"xl/worksheets/sheet1.xml": sheet(f"<row><c t='str'><v>{'x' * MANY}</v></c></row>")}, "longer than any that"),
        ({"xl/worksheets/sheet1.xml": sheet(f"<row>{'<c><v>1</v></c>' * 16385}</row>")}, "is no XML"),
        ({"xl/workbook.xml": f"<w xmlns:r='{RELATIONS}'><sheet r:id='u'/></w>"}, "or lacks one"),
        ({"xl/_rels/workbook.xml.rels": f"<R><Relationship Id='s' Type='{RELATIONS}/worksheet' Target='../../x'/></R>"},
         "or lacks one"),
        ({"xl/_rels/workbook.xml.rels": f"<R><Relationship Id='s' Type='{RELATIONS}/worksheet' Target='no.xml'/></R>"},
         "or lacks one"),
        ({"xl/workbook.xml": "<workbook/>"}, "has 0 sheets"),
    ],
)  # fmt: skip
def test_what_is_no_sheet_of_rows_is_refused_in_little_memory(
    tmp_path: Path, parts: Mapping[str, str | bytes], said: str
) -> None:
    path = written(tmp_path, parts)
    tracemalloc.start()
    with pytest.raises(InputError, match=said):
        read_workbook(path)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("bound", "value", "parts", "said"),
    [
        ("MOST_UNPACKED", 10_000, {"xl/worksheets/sheet1.xml": sheet(after=" " * 10_000)}, "when it is unpacked"),
        ("MOST_CELLS", 1, {}, "more than the 1 cells"),
        ("MOST_TEXT", 2, {}, "2 characters of text"),
        ("MOST_TEXT", 9, {"xl/sharedStrings.xml": "<sst><si><t>0123456789</t></si></sst>"}, "9 characters of text"),
        ("MOST_CELLS", 1, {"xl/sharedStrings.xml": "<sst><si/><si/></sst>"}, "more than the 1 shared strings"),
    ],
)
def test_the_bounds_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, parts: Mapping[str, str], said: str
) -> None:
    path = written(tmp_path, parts)
    assert read_workbook(path) == [("31",)]
    set_limit(monkeypatch, bound, value)
    with pytest.raises(InputError, match=said):
        read_workbook(path)


def test_cells_without_content_cost_nothing_wherever_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, {"xl/worksheets/sheet1.xml": sheet(ROWS + EMPTY_FAR)})
    assert read_workbook(path) == [("31",)]


def test_a_part_is_no_larger_than_the_archive_says(tmp_path: Path) -> None:
    """What is behind it is not read: the sizes of the archive are no promise of ours."""
    path = written(tmp_path, {"xl/worksheets/sheet1.xml": sheet(after="<x/>" * 1000)})
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    place = content.rfind(size.to_bytes(4, "little"))
    content[place : place + 4] = (100).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_workbook(path)


VALUES = [None, "", 1, 2.5, 1e300, -3, 0.1, 10**18, True, False, "x", " y ", "ä🧪", "0012", "=1+1", "#N/A",
          datetime.date(2020, 1, 7), datetime.datetime(1904, 1, 5, 3, 4, 5), datetime.time(3, 4)]  # fmt: skip


def test_durations_are_refused_by_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["sex", "stay"])
    for hours in range(20, 40):
        book.active.append(["fm"[hours % 2], datetime.timedelta(hours=hours)])
    path = tmp_path / "stays.xlsx"
    book.save(path)
    with pytest.raises(InputError, match=r"'stay' .*holds durations"):
        read_table(path, {"sex": "quasi-identifier", "stay": "quasi-identifier"})
    assert read_table(path, {"sex": "quasi-identifier"}).rows == 20


@pytest.mark.parametrize("seed", range(12))
def test_every_value_is_the_one_that_openpyxl_reads(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    book = openpyxl.Workbook()
    book.epoch = rng.choice([openpyxl.utils.datetime.CALENDAR_MAC_1904, openpyxl.utils.datetime.CALENDAR_WINDOWS_1900])
    sheet_of_book = book.active
    assert sheet_of_book is not None
    columns = sorted(rng.sample(range(1, 20), 5))
    for column in columns:
        sheet_of_book.cell(1, column).value = f"c{column}"
    for row in (*rng.sample(range(2, 30), 9), 40):
        for column in columns:
            sheet_of_book.cell(row, column).value = rng.choice(VALUES)
    dated = sheet_of_book.cell(3, columns[0], rng.choice([1, 2.5, 44000]))
    dated.number_format = "yyyy"
    path = tmp_path / "values.xlsx"
    book.save(path)
    frame = pd.read_excel(path, engine="openpyxl", dtype=object, keep_default_na=False, na_values=[""]).dropna(
        how="all"
    )
    attributes = {f"c{column}": Attribute("quasi-identifier", missing="as a value") for column in columns}
    found, expected = (dict(read_table(source, attributes).counts.cells()) for source in (path, frame[[*attributes]]))
    assert found == expected
    assert read_rows(path, dict.fromkeys(attributes, "quasi-identifier")).frame.columns.tolist() == [*attributes]


def test_errors_of_excel_are_missing(tmp_path: Path) -> None:
    rows = (
        "<row><c t='str'><v>day</v></c></row><row><c t='e'><v>#REF!</v></c><c><v>1</v></c></row>"
        "<row><c s='1'><v>44000</v></c><c t='d'>"
        "<v>2020-06-18</v></c></row>"
        "<row><c t='inlineStr'><is><r><t>a</t></r><r><t>b</t></r><rPh><t>c</t></rPh></is></c></row>"
    )
    styles = "<styleSheet><cellXfs><xf/><xf numFmtId='14'/></cellXfs></styleSheet>"
    path = written(tmp_path, {"xl/worksheets/sheet1.xml": sheet(rows), "xl/styles.xml": styles})
    assert read_workbook(path, "day") == [("2020-06-18",), ("ab",), ("missing",)]

"""Workbooks are read within bounds, and each value as openpyxl and pandas read it."""

import datetime
import random
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from marginals import InputError
from marginals.tables import workbook
from marginals.tables.files import ProgramFile

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

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


def test_a_workbook_without_anything_odd_is_read(tmp_path: Path) -> None:
    frame = ProgramFile(written(tmp_path, {})).frame
    assert frame.to_dict("list") == {"age": [31]}


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
        ({"xl/worksheets/sheet1.xml": sheet(ROWS + FAR)}, "far from the table, up to the cell XFD1048576"),
        ({"xl/worksheets/sheet1.xml": sheet("<row r='9999999'><c><v>1</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet("<row><c r='XFE1'><v>1</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet("<row><c t='s'><v>7</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet("<row><c><v>many</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": sheet("<row><c><v>1e999</v></c></row>")}, "is no XML"),
        ({"xl/worksheets/sheet1.xml": "<a>" * 101}, "nested more than 100 deep"),
        ({"xl/worksheets/sheet1.xml": sheet(after="<x/>" * 200_001)}, "and other things beside its cells"),
        ({"xl/styles.xml": f"<styleSheet>{'<xf/>' * 200_001}</styleSheet>"}, "and other things beside its cells"),
        ({"xl/worksheets/sheet1.xml": f"<a b='{' ' * MANY}'/>"}, "a tag that is longer than any"),
        ({"xl/worksheets/sheet1.xml": sheet(f"<row><c t='str'><v>{'x' * MANY}</v></c></row>")}, "longer than any that"),
        ({"xl/worksheets/sheet1.xml": sheet(f"<row>{'<c><v>1</v></c>' * 16385}</row>")}, "is no XML"),
        ({"xl/workbook.xml": f"<w xmlns:r='{RELATIONS}'><sheet r:id='u'/></w>"}, "has no part"),
        ({"xl/_rels/workbook.xml.rels": f"<R><Relationship Id='s' Type='{RELATIONS}/worksheet' Target='../../x'/></R>"},
         "has no part"),
        ({"xl/_rels/workbook.xml.rels": f"<R><Relationship Id='s' Type='{RELATIONS}/worksheet' Target='no.xml'/></R>"},
         "has no part xl/no.xml"),
        ({"xl/workbook.xml": "<workbook/>"}, "has 0 sheets"),
    ],
)  # fmt: skip
def test_what_is_no_sheet_of_rows_is_refused_in_little_memory(
    tmp_path: Path, parts: Mapping[str, str | bytes], said: str
) -> None:
    path = written(tmp_path, parts)
    tracemalloc.start()
    with pytest.raises(InputError, match=said):
        _ = ProgramFile(path).frame
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("bound", "value", "parts", "said"),
    [
        ("MOST_UNPACKED", 10_000, {"xl/worksheets/sheet1.xml": sheet(after=" " * 10_000)}, "when it is unpacked"),
        ("MOST_CELLS", 1, {}, "more than the 1 cells"),
        ("MOST_TEXT", 2, {}, "2 characters of text"),
        ("MOST_TEXT", 9, {"xl/sharedStrings.xml": "<sst><si><t>0123456789</t></si></sst>"}, "9 characters of text"),
        ("MOST_STRINGS", 1, {"xl/sharedStrings.xml": "<sst><si/><si/></sst>"}, "more than the 1 shared strings"),
    ],
)
def test_the_bounds_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, parts: Mapping[str, str], said: str
) -> None:
    path = written(tmp_path, parts)
    assert not ProgramFile(path).frame.empty
    monkeypatch.setattr(workbook, bound, value)
    with pytest.raises(InputError, match=said):
        _ = ProgramFile(path).frame


def test_cells_without_content_cost_nothing_wherever_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, {"xl/worksheets/sheet1.xml": sheet(ROWS + EMPTY_FAR)})
    assert ProgramFile(path).frame.to_dict("list") == {"age": [31]}


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
        _ = ProgramFile(path).frame


def by_pandas(path: Path) -> pd.DataFrame:
    sheets = pd.read_excel(path, sheet_name=None, header=None, dtype=object, keep_default_na=False, na_values=[""])
    filled = [each.dropna(how="all").dropna(how="all", axis=1) for each in sheets.values()]
    [only] = [each for each in filled if each.size]
    return only.reset_index(drop=True)


VALUES = [None, "", 1, 2.5, 1e300, -3, 0.1, 10**18, True, False, "x", " y ", "ä🧪", "_x005F_a", "0012", "=1+1", "#N/A",
          datetime.date(2020, 1, 7), datetime.datetime(1900, 1, 5, 3, 4, 5), datetime.time(3, 4),
          datetime.timedelta(hours=30)]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_every_value_is_the_one_that_openpyxl_reads(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    book = openpyxl.Workbook()
    book.epoch = rng.choice([openpyxl.utils.datetime.CALENDAR_MAC_1904, openpyxl.utils.datetime.CALENDAR_WINDOWS_1900])
    table = book.active
    assert table is not None
    for row in rng.sample(range(1, 30), 9):
        for column in rng.sample(range(1, 20), 5):
            table.cell(row, column).value = rng.choice(VALUES)
    table.cell(1, 1).value = "first"
    table.cell(40, 1).value = 40
    table.cell(3, 3).number_format = "yyyy"
    path = tmp_path / "values.xlsx"
    book.save(path)
    read, expected = ProgramFile(path).frame, by_pandas(path)

    def shown(frame: pd.DataFrame) -> list[list[str]]:
        # Of equal values in a column pandas may show the first, which is True in the place of 1.
        same = {"True": "1", "False": "0"}
        return [[same.get(repr(value), repr(value)) for value in row] for row in frame.itertuples(index=False)]

    assert shown(read) == shown(expected.iloc[1:])


def test_errors_of_excel_and_dates_that_there_are_not_are_missing(tmp_path: Path) -> None:
    rows = (
        "<row><c t='str'><v>day</v></c></row><row><c t='e'><v>#REF!</v></c><c><v>1</v></c></row>"
        "<row><c s='1'><v>99999999999</v></c><c><v>2</v></c></row><row><c s='1'><v>44000</v></c><c t='d'>"
        "<v>2020-06-18</v></c></row>"
        "<row><c t='inlineStr'><is><r><t>a</t></r><r><t>b</t></r><rPh><t>c</t></rPh></is></c></row>"
    )
    styles = "<styleSheet><cellXfs><xf/><xf numFmtId='14'/></cellXfs></styleSheet>"
    frame = ProgramFile(written(tmp_path, {"xl/worksheets/sheet1.xml": sheet(rows), "xl/styles.xml": styles})).frame
    assert frame["day"].tolist()[2:] == [datetime.datetime(2020, 6, 18), "ab"]
    assert frame["day"].isna().tolist() == [True, True, False, False]

"""Tables are read as they are published: long and crossed, suppressed, rounded, as ranges and percentages; or refused."""

from pathlib import Path

import pytest

from marginals import InputError, audit
from marginals.audited_tables import (
    ATTRIBUTE_KEYS,
    SPEC_KEYS,
    TABLE_KEYS,
    CellTexts,
    Rounding,
    TableSpec,
    guessed_spec,
    labelled_cells,
    read_published,
    read_spec,
    read_tables,
    share_of,
)
from marginals.tables.values import count_in

ROOT = Path(__file__).parents[2]

LONG = "area,sex,count\nUlm,f,12\nUlm,m,*\nUlm,Total,30\nLinz,f,<5\nLinz,m,10-14\nLinz,Total,15\n"
CROSSED = "Persons by area and sex\n\narea;f;m;Total\nUlm;12;*;30\nLinz;<5;10-14;15\n"
SPEC = """
small = 3
[markers]
"*" = "unknown"
"<5" = [1, 4]
[attributes.sex]
totals = ["Total"]
[tables."t.csv"]
attributes = ["area"]
across = "sex"
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "count"),
    [("7", 7), ("1,234", 1234), ("1 234 567", 1234567), ("12.0", 12), ("1.234.567", 1234567), ("1.234", None)]
    + [(text, None) for text in ("12.5", "-3", "", "1,23")],
)
def test_counts(text: str, count: int | None) -> None:
    assert count_in(text) == count


def test_what_is_rounded_lies_in_its_range() -> None:
    for base in (2, 3, 5, 10):
        for count in range(30):
            below, above = count // base * base, -(-count // base) * base
            ways = {
                Rounding.DOWN: [below],
                Rounding.UP: [above],
                Rounding.RANDOM: [below, above],
                Rounding.NEAREST: [r for r in (below, above) if 2 * abs(r - count) <= base],
            }
            for way, shown in ways.items():
                for rounded in shown:
                    interval = CellTexts(base=base, rounding=way).interval(str(rounded))
                    assert interval is not None
                    assert interval[0] <= count <= interval[1]


def test_percentages_hold_every_count_that_they_may_be() -> None:
    for count in range(38):
        interval = share_of(f"{100 * count / 37:.1f}", (37, 37))
        assert interval is not None
        assert interval[0] <= count <= interval[1]


def test_long_and_crossed_tables_and_spreadsheets_say_the_same(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    long = write(tmp_path / "long.csv", LONG)
    crossed = write(tmp_path / "crossed.csv", CROSSED)
    book = openpyxl.Workbook()
    for row in (["Persons"], [], ["area", "f", "m", "Total"], ["Ulm", 12, "*", 30], ["Linz", "<5", "10-14", 15.0]):
        book.active.append(row)
    book.save(tmp_path / "sheet.xlsx")
    found = []
    for path in (long, crossed, tmp_path / "sheet.xlsx"):
        spec = guessed_spec([path]).spec
        cells = labelled_cells(read_published(path), spec.tables[path], spec.markers)
        found.append({(cell.labels, cell.interval) for cell in cells})
    assert found[0] == found[1] == found[2]


def test_a_guessed_spec_reads_as_it_was_guessed(tmp_path: Path) -> None:
    paths = [write(tmp_path / "long.csv", LONG), write(tmp_path / "ages.csv", "age,count\n0-17,5\n18+,9\nunder 18,5\n")]
    guessed = guessed_spec(paths, tmp_path)
    written = read_spec(write(tmp_path / "audit.toml", guessed.text))
    assert written == guessed.spec
    assert guessed.spec.attributes["age"].groups == {"under 18": ("0-17",)}
    assert [len(table) for tables in read_tables(written) for table in tables.tables] == [6, 2]


def test_labels_that_add_up_are_found(tmp_path: Path) -> None:
    rows = "".join(f"{y},{a},{b},{a + b},7,{a + b + 7}\n" for y, a, b in ((2001, 3, 4), (2002, 8, 1), (2003, 5, 5)))
    spec = guessed_spec([write(tmp_path / "t.csv", "year,x,y,north,south,Total\n" + rows)]).spec
    assert spec.attributes["group"].totals == ("Total",)
    turned = "year,north,x,y,south,Total\n" + "".join(
        f"{y},{a + b},{a},{b},7,{a + b + 7}\n" for y, a, b in ((2001, 3, 4), (2002, 8, 1), (2003, 5, 5))
    )
    spec = guessed_spec([write(tmp_path / "t.csv", turned)]).spec
    assert spec.attributes["group"].groups == {"north": ("x", "y")}


def test_a_total_that_is_larger_than_what_is_listed_counts_others_too(tmp_path: Path) -> None:
    spec = guessed_spec([write(tmp_path / "t.csv", "area,f,m,Total\nUlm,3,4,9\n")]).spec
    assert spec.attributes["sex"].others
    assert audit(tmp_path / "t.csv").parts[0].bounds is not None


def test_percentages_of_a_column(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "area,n,f,m\nUlm,30,33.3%,66.7%\n")
    table = TableSpec(("area",), across="sex", percent_of="n")
    cells = list(labelled_cells(read_published(tmp_path / "t.csv"), table, {}))
    assert [(cell.labels, cell.interval) for cell in cells] == [
        (("Ulm", ""), (30, 30)),  # the total of the row is a cell, too
        (("Ulm", "f"), (10, 10)),
        (("Ulm", "m"), (20, 20)),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('across = "sex"', 'acros = "sex"'), r"unknown key tables\.t\.csv\.acros; did you mean 'across'"),
        (("small = 3", "tiny = 3"), "unknown key tiny"),
        (('["area"]', '["aera"]'), "has no column 'aera'; did you mean 'area'"),
        (("[1, 4]", "[4, 1]"), r"markers\.<5 must be"),
        (('"*" = "unknown"', ""), "row 2, column 'm': '\\*' is neither a count nor a range"),
        (("[attributes.sex]", "[attributes.sexx]"), "no table has the attribute 'sexx'"),
        (("small = 3", "small = 0"), "small must be a whole number of at least 1"),
        (('across = "sex"', 'across = "sex"\nrounding = { base = 5, how = "so" }'), "how is one of"),
        (('across = "sex"', 'across = "sex"\ncount = "f"'), "needs one of the keys"),
        (('across = "sex"', 'across = "sex"\nscope = 3'), "scope must give values"),
        (("[attributes.sex]", "[attributes.sex]\ngroups = 3"), "groups must give"),
        (("[attributes.sex]", "[attributes.sex]\nothers = 3"), "others must be true or false"),
        (('"t.csv"', '"u.csv"'), "there is no table"),
        (("small = 3", "small ="), "not valid TOML"),
    ],
)
def test_what_makes_no_sense_is_refused_with_file_and_key(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    write(tmp_path / "t.csv", CROSSED)
    assert change[0] in SPEC
    write(tmp_path / "audit.toml", SPEC.replace(*change))
    with pytest.raises(InputError, match=message):
        audit(spec=tmp_path / "audit.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header"),
        ("a,b\n", "rows below"),
        ("a,a\n1,2\n", "two columns"),
        ("a,b\n1,2,3\n", "longer"),
        ("a,b\nx,y\n", "no column of counts"),
        ("area,count\nUlm,3\nUlm,4\n", "two counts"),
    ],
)
def test_files_that_are_no_tables_of_counts_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        audit(write(tmp_path / "t.csv", text))


def test_the_how_to_explains_every_key() -> None:
    page = (ROOT / "docs" / "how_to" / "audit.md").read_text(encoding="utf-8")
    keys = [*(k for k in SPEC_KEYS if k not in ("markers", "attributes", "tables")), "markers.TEXT"]
    keys += [f"attributes.NAME.{key}" for key in ATTRIBUTE_KEYS] + [f"tables.FILE.{key}" for key in TABLE_KEYS]
    for key in keys:
        assert f"| `{key}` |" in page, key


def test_percentages_of_the_one_column_of_whole_numbers_are_guessed(tmp_path: Path) -> None:
    """Of 30 and of 50 people, rounded to whole percentages: the counts are known, and so is the whole of each row."""
    path = write(tmp_path / "t.csv", "area,N,female (%),male (%)\nUlm,30,33,67\nLinz,50,24,76\nGraz,41,12,*\n")
    guessed = guessed_spec([path], tmp_path)
    (table,) = guessed.spec.tables.values()
    assert (table.attributes, table.across, table.percent_of) == (("area",), "sex", "N")
    assert 'percent_of = "N"' in guessed.text
    spec = tmp_path / "audit.toml"
    spec.write_text(guessed.text)
    (part,) = audit(spec=spec).parts
    names = {cell: part.linked.named(cell) for cell in range(len(part.linked))}
    found = {tuple(n.values()): (part.bounds.lower[c], part.bounds.upper[c]) for c, n in names.items() if part.bounds}
    assert found["Ulm", "female"] == (10, 10)
    assert found["Linz", "male"] == (38, 38)
    assert found["Graz", "male"] == (36, 36)  # suppressed, and 41 less 5
    with pytest.raises(InputError, match="shows percentages or rates and no counts; say of what in a spec: percent_of"):
        guessed_spec([write(tmp_path / "p.csv", "area,f,m\nUlm,33.3%,66.7%\nLinz,20.0%,80.0%\n")])


def test_percentages_beside_counts_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "area,f,f %,m,m %\nUlm,10,33.3,20,66.7\nLinz,*,*,40,80.0\n")
    (table,) = guessed_spec([path]).spec.tables.values()
    assert (table.attributes, table.across, table.ignore) == (("area",), "sex", ("f %", "m %"))


WONDER = """"Notes"\t"County"\t"County Code"\t"Gender"\t"Gender Code"\tDeaths\tPopulation\tCrude Rate
\t"Adams"\t"001"\t"Female"\t"F"\t24\t10312\t232.7
\t"Adams"\t"001"\t"Male"\t"M"\tSuppressed\t10101\tSuppressed
"Total"\t"Adams"\t"001"\t\t\t31\t20413\t151.9
\t"Boone"\t"003"\t"Female"\t"F"\tSuppressed\t2203\tSuppressed
\t"Boone"\t"003"\t"Male"\t"M"\t12\t2250\tUnreliable
"Total"\t\t\t\t\t60\t24866\t241.3
"---"
"Dataset: Underlying Cause of Death"
"Query Parameters:"
"Group By: County; Gender"
"""
"""In the shape of an export of CDC WONDER; the counts are made up."""


def test_exports_with_codes_rates_and_notes_below(tmp_path: Path) -> None:
    path = write(tmp_path / "wonder.txt", WONDER)
    (table,) = guessed_spec([path]).spec.tables.values()
    assert (table.attributes, table.count) == (("County", "Gender"), "Deaths")
    assert table.ignore == ("Notes", "County Code", "Gender Code", "Population", "Crude Rate")
    (part,) = audit(path).parts
    recovered = {
        tuple(part.linked.named(fact.cell).values()): fact.proven
        for fact in part.facts
        if fact.kind.value == "recovered"
    }
    assert recovered["Adams", "Male"] == (7, 7)


def test_a_table_behind_a_cover_sheet_with_titles_and_notes(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Deaths registered 2025"])
    book.active.append(["Published", 2026])
    sheet = book.create_sheet("Table 1")
    for row in (
        [],
        [None, "Table 1: deaths by area and sex"],
        [],
        [None, "Area", "Female", "Male", "Total", None],
        [None, "Ulm", 12, "c", 30],
        [None, "Linz", "c", 14, 15],
        [None, "Total", 13, 32, 45],
        [],
        [None, "Notes: c is a confidential count"],
        [None, "Source: civil registers"],
    ):
        sheet.append(row)
    book.save(tmp_path / "deaths.xlsx")
    file = read_published(tmp_path / "deaths.xlsx")
    assert file.header == ("Area", "Female", "Male", "Total")
    assert [row[0] for row in file.rows] == ["Ulm", "Linz", "Total"]
    (part,) = audit(tmp_path / "deaths.xlsx").parts
    assert sorted(fact.proven for fact in part.facts) == [(1, 1), (18, 18)]


@pytest.mark.parametrize("last", ["Graz,,", "a) Graz,,", "Graz,*,c", "Notes,*,*"])
def test_a_last_row_without_any_count_is_no_note(tmp_path: Path, last: str) -> None:
    """To lose a value would make the total look like the sum of the others."""
    file = read_published(write(tmp_path / "t.csv", f"area,f,m\nTotal,30,40\nUlm,12,14\n{last}\n"))
    assert [row[0] for row in file.rows] == ["Total", "Ulm", last.split(",")[0]]


def test_decimals_that_tell_rows_apart_are_values(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "sex,dose,count\nf,0.5,7\nf,1.5,7\nm,0.5,9\nm,1.5,8\n")
    (table,) = guessed_spec([path]).spec.tables.values()
    assert table.attributes == ("sex", "dose")

"""Files as offices and programs write them: one table in many disguises is read as it is, or refused by its line."""

import csv
import io
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from marginals import Attribute, InputError, read_config, read_rows, read_table
from table_readers import WAYS, handed_over, run_init
from written_rows import GROUPS, NAMES, ROLES, ROWS, changed, lines

CELLS = Counter(ROWS)
BODY = lines().partition("\n")[2]
NUMBERED = [f"{number},{line}" for number, line in enumerate(BODY.splitlines(), 1)]

READ: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "plain": (lines(), {}),
    "sep= of Excel": (lines("sep=;", separator=";"), {}),
    "sep= in quotes, padded": (lines('"sep=;";;;', separator=";", end="\r\n"), {}),
    "sep= of tabs": (lines("sep=\t", separator="\t"), {}),
    "title and blank line": (lines("Population of Ulm", ""), {"header": 3}),
    "title of Excel, padded": (lines("Population of Ulm,,,", ",,,"), {"header": 3}),
    "Eurostat": (lines("Data extracted on 05/03/2024 [ESTAT]", "Dataset:,People,,", "Updated:,2024,,", ""), {"header": 5}),
    "GENESIS": (lines("GENESIS-Tabelle: 12411-0005", "Bevölkerung;;;", "Stand;2024;;", separator=";", end="\r\n"),
                {"header": 4, "separator": ";"}),
    "sep= and a title": (lines("sep=;", "People", separator=";"), {"header": 3}),
    "quoted title of two lines": (lines('"People\nof Ulm"'), {"header": 3}),
    "row names of write.csv": ("\n".join(['"",' + ",".join(NAMES), *NUMBERED]) + "\n", {}),
    "row names of write.table": ("\n".join([",".join(NAMES), *NUMBERED]) + "\n", {}),
    "separators at the end": (lines().replace("\n", ",\n"), {}),
    "separators at the end of rows": (f"{','.join(NAMES)}\n" + BODY.replace("\n", ",\n"), {}),
    "separator at the end of the header": (f"{','.join(NAMES)},\n{BODY}", {}),
    "columns of nothing": (lines().replace("\n", ",,,\n"), {}),
    "Windows": (lines(end="\r\n"), {}),
    "old Macintosh": (lines(end="\r"), {}),
    "several ends of lines": (lines().replace("\n", "\r\n", 20), {}),
    "all ends of lines": (lines().replace("\n", "\r\n", 20)[::-1].replace("\n", "\r", 9)[::-1], {}),
    "UTF-16 without mark": (lines().encode("utf-16-le"), {}),
    "UTF-16 without mark, big": (lines().encode("utf-16-be"), {}),
    "UTF-16 and a title": (lines("People", "").encode("utf-16"), {"header": 3}),
    "blank lines among the rows": (lines().replace("\n", "\n\n"), {}),
    "all quoted": ("\n".join('"' + line.replace(",", '","') + '"' for line in lines().splitlines()), {}),
    "merged header, second line": (GROUPS + lines(), {"header": 2}),
    "header said to be the first": (lines(), {"header": 1}),
}  # fmt: skip
"""A table as a file has it, and what has to be said of it."""


@pytest.mark.parametrize("disguise", READ)
def test_one_table_in_many_disguises_is_that_table(tmp_path: Path, disguise: str) -> None:
    content, said = READ[disguise]
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = read_table(path, ROLES, **said)
    assert Counter(dict(table.base_counts.cells())) == CELLS


def test_a_field_of_several_lines_is_a_value(tmp_path: Path) -> None:
    """Where its lines are no rows: as the first, the last or a middle field, with commas in it and alone in its column."""
    for place, text in (
        (3, "flu,\nor not"),
        (0, "thirty\nor so"),
        (1, "fe\n\nmale"),
        (3, "a, b\nc, d, e"),
        (3, "no\n"),
    ):
        changed_text = changed(11, place, lambda _, text=text: f'"{text}"')  # type: ignore[misc]
        (tmp_path / "people.csv").write_text(changed_text)
        table = read_table(tmp_path / "people.csv", ROLES)
        row = tuple(text.strip() if n == place else value for n, value in enumerate(ROWS[9]))
        assert dict(table.base_counts.cells())[row] == 1
    text = "as far as\nanybody has told us so far"
    (tmp_path / "people.csv").write_text(lines() + f'31,female,North,"{text}"\n')
    assert read_table(tmp_path / "people.csv", ROLES).rows == 61
    (tmp_path / "people.csv").write_text(lines() + "total,female,North,flu\n" * 2)
    assert read_table(tmp_path / "people.csv", ROLES).rows == 62
    (tmp_path / "people.csv").write_text('note\nflu\n"a\nb"\nflu\n')
    assert read_table(tmp_path / "people.csv", {"note": "sensitive"}).rows == 3


@pytest.mark.parametrize("seed", range(20))
def test_two_stray_quotes_never_swallow_rows_unseen(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    text = lines()
    for row in sorted(rng.sample(range(2, 62), 2)):
        put = rng.choice([lambda text: f'"{text}', lambda text: f'{text}"', lambda text: f'{text[:1]}"{text[1:]}'])
        text = changed(row, rng.randrange(4), put, text)
    (tmp_path / "people.csv").write_text(text)
    with suppress(InputError):
        assert read_table(tmp_path / "people.csv", ROLES).rows == 60


@pytest.mark.parametrize("seed", range(30))
def test_any_text_is_read_as_the_csv_module_reads_it(tmp_path: Path, seed: int) -> None:
    """Ends of lines of all kinds, blank lines and rows, quotes: of a row that begins with nothing, nothing is lost."""
    rng = random.Random(seed)
    names, ends = "abc"[: rng.randint(1, 3)], rng.choice(["\n", "\r", ["\r\n"], "\n\r"])
    fields = ["x", "y", "Ulm", "", " ", '"q ""z"" q"', '"a,b"', '"u\nv"', '"k\rl"', "\u00a0", "\x1f", "1"]
    fields.remove(" ") if len(names) == 1 else None  # alone in a line it is a blank line
    rows = [[], *([rng.choice([[], [""] * len(names)]) for _ in range(rng.randrange(3))]), [*names]]
    rows += [[] if rng.random() < 0.15 else [rng.choice(fields) for _ in names] for _ in range(rng.randint(2, 30))]
    text = "".join(",".join(row) + rng.choice(ends) for row in rows)
    (tmp_path / "people.csv").write_bytes(text.encode())
    read = list(csv.reader(io.StringIO(text, newline="")))
    below = read[read.index([*names]) + 1 :]
    people = [row for row in below if "".join(row).strip(" \u00a0\x1f") or (len(names) == 1 and row)]
    attributes = {name: Attribute("quasi-identifier", missing="as a value") for name in names}
    with suppress(InputError):  # for quotes among what seem to be rows, and tables of nothing
        table = read_table(tmp_path / "people.csv", attributes, counts=False)
        expected = Counter(tuple(text.strip(" \u00a0\x1f") or "missing" for text in row) for row in people)
        assert Counter(dict(table.base_counts.cells())) == expected


def workbook(folder: Path, sheets: dict[str, list[Any]], merged: str = "") -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([int(cell) if str(cell).isdigit() else cell for cell in row])
        if merged:
            sheet.merge_cells(merged)
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


SHEETS: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "title": ([("People",), (), NAMES, *ROWS], {"header": 3}, "line 1 .* Write header = 3 "),
    "units": ([NAMES, ("(years)",), *ROWS], {}, "Remove line 2,"),
    "merged": ([("person", None, "place", "result"), NAMES, *ROWS], {"header": 2}, "line 1 .* Write header = 2 "),
    "note": ([NAMES, *ROWS, (), ("Source: office",)], {}, "line 63 .* a note or a total"),
    "total": ([NAMES, *ROWS, ("Total", None, None, 60)], {}, "line 62 .* a note or a total"),
    "repeated": ([NAMES, *ROWS, NAMES, *ROWS], {}, "line 62 .* repeats the names"),
}  # fmt: skip


@pytest.mark.parametrize("disguise", SHEETS)
def test_sheets_are_read_as_files_are(tmp_path: Path, disguise: str) -> None:
    rows, said, refused = SHEETS[disguise]
    path = workbook(tmp_path, {"people": rows}, "A1:B1" if disguise == "merged" else "")
    with pytest.raises(InputError, match=refused):
        read_table(path, ROLES)
    if said:
        assert Counter(dict(read_table(path, ROLES, **said).base_counts.cells())) == CELLS


def test_one_of_several_sheets_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path, {"2023": [NAMES, *ROWS[:9]], "2024": [NAMES, *ROWS], "empty": []})
    with pytest.raises(InputError, match=r'2 sheets .*"2023", "2024".*sheet = "2023" under \[data\]'):
        read_table(path, ROLES)
    assert Counter(dict(read_table(path, ROLES, sheet="2024").base_counts.cells())) == CELLS
    assert run_init(path).exit_code == 2
    assert run_init(path, "--sheet", "2024").exit_code == 0
    assert read_config(tmp_path / "release.toml").source.sheet == "2024"
    assert read_config(tmp_path / "release.toml").read_table().rows == 60
    (tmp_path / "t.csv").write_text(lines())
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    for name, setting in (("t.csv", {"sheet": "2024"}), ("t.parquet", {"header": 2})):
        with pytest.raises(InputError, match=r"leave out (sheet|header)"):
            read_table(tmp_path / name, ROLES, **setting)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "header", "columns"),
    [
        (READ["title and blank line"][0], 3, NAMES), (READ["Eurostat"][0], 5, NAMES), (READ["GENESIS"][0], 4, NAMES),
        (GROUPS + lines(), 2, NAMES),
        (lines("sep=;", separator=";"), None, NAMES),
    ],
)  # fmt: skip
def test_init_proposes_the_line_that_names_the_columns(
    tmp_path: Path, text: str, header: Any, columns: tuple[str, ...]
) -> None:
    (tmp_path / "people.csv").write_text(text)
    result = run_init(tmp_path / "people.csv", status=0)
    source = read_config(tmp_path / "release.toml").source
    assert source.header == header
    assert source.columns() == columns
    assert ("The columns are named by line" in result.stdout) == (header is not None)


def test_init_takes_the_header_that_somebody_names(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(GROUPS + lines())
    assert run_init(tmp_path / "people.csv", "--header", "2").exit_code == 0
    assert read_config(tmp_path / "release.toml").source.columns() == NAMES
    for wrong in ("0", "x", "1,2", ""):
        refused = run_init(tmp_path / "people.csv", "--header", wrong, status=2)
        assert "join the names of several lines" in " ".join(refused.stderr.split()), wrong
    refused = run_init(tmp_path / "people.csv", "--header", "99", status=2)
    assert "or --header 2 of init" in " ".join(refused.stderr.split())
    with pytest.raises(InputError, match="join the names of several lines in the file"):
        read_table(tmp_path / "people.csv", ROLES, header=[1, 2])  # type: ignore[arg-type]


# Tables of counts.


def counted(frame: pd.DataFrame, name: str = "Freq") -> pd.DataFrame:
    return frame.groupby(list(frame.columns), sort=False).size().reset_index(name=name)


PEOPLE = pd.DataFrame([row for n, row in enumerate(ROWS) for _ in range(2 + n % 3)], columns=list(NAMES))
COUNTS = counted(PEOPLE)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2
@pytest.mark.parametrize("way", WAYS)
def test_a_table_of_counts_is_asked_about_and_counted_by_every_engine(tmp_path: Path, way: str) -> None:
    source = handed_over(COUNTS, way, tmp_path)
    asked = r"looks like a table of counts: 'Freq' .* counts = \"Freq\" .* counts = false"
    with pytest.raises(InputError, match=asked):
        read_table(source, ROLES)
    table = read_table(source, ROLES, counts="Freq")
    assert Counter(dict(table.base_counts.cells())) == Counter(dict(read_table(PEOPLE, ROLES).base_counts.cells()))
    assert read_table(source, ROLES, counts=False).rows == len(COUNTS)


@pytest.mark.parametrize(
    "name", ["n", "n0", "COUNT(*)", "Anzahl", "_freq", "Frequency", "obs_value", "Persons", "Total"]
)
def test_names_of_counts(name: str) -> None:
    frame = counted(PEOPLE, name)
    for table in (
        frame,
        frame.reset_index().rename(columns={"index": ""}),
        frame.assign(key=[f"k{n}" for n in frame.index]),
    ):
        with pytest.raises(InputError, match="table of counts"):
            read_table(table, ROLES)


def test_counts_beside_numbered_columns_or_in_years_are_asked_about() -> None:
    years = counted(PEOPLE, "n_2019").assign(n_2020=7, n_2021=8)
    for table in (counted(PEOPLE, "n").assign(n1=0.5, n2=1.5), counted(PEOPLE, "n").assign(n1=1, n2=2, n3=3), years):
        with pytest.raises(InputError, match=r"table of counts: '(n|n_2019)'"):
            read_table(table, ROLES)


@pytest.mark.parametrize(
    "frame",
    [
        PEOPLE.assign(n=1), PEOPLE.assign(n=range(180)), COUNTS.assign(Freq=COUNTS["Freq"] + 0.5),
        COUNTS.rename(columns={"Freq": "visits"}), COUNTS.assign(Freq=1), PEOPLE.assign(obs=range(1, 181)),
        COUNTS.rename(columns={"Freq": "n0"}).assign(n1=7, n2=range(len(COUNTS))),
        PEOPLE.assign(income=range(180), size=3), PEOPLE.drop_duplicates().assign(n=range(1, len(COUNTS) + 1)),
    ],
)  # fmt: skip
def test_rows_of_people_are_not_asked_about(frame: pd.DataFrame) -> None:
    assert read_table(frame, ROLES).rows == len(frame)


@pytest.mark.parametrize("value", [-1, 1.5, None, "x", "", 1e300, "1.000,5"])
def test_what_is_no_count_is_refused(tmp_path: Path, value: Any) -> None:
    frame = COUNTS.astype({"Freq": object})
    frame.loc[3, "Freq"] = value
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(InputError, match=r"'Freq' of people\.csv: the value in row 4 is no whole number"):
        read_table(tmp_path / "people.csv", ROLES, counts="Freq")


def test_a_column_whose_name_is_part_of_that_of_the_counts_stays() -> None:
    frame = COUNTS.rename(columns={"Freq": "n_age"})
    assert read_table(frame, ROLES, counts="n_age").counts.total == len(PEOPLE)
    assert read_table(frame, ROLES, counts="n_age").domain.attributes == NAMES


def test_columns_that_cannot_be_read_or_have_one_name_do_not_hide_counts(tmp_path: Path) -> None:
    """Reading the first rows failed on columns that nobody uses, so that rows of counts were published as people."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table(COUNTS)
    number = table.num_rows
    lists = pa.DictionaryArray.from_arrays(pa.array([0] * number), pa.array([[1]]))
    for unused in ([b""] * number, [[1]] * number, pa.array([1] * number, pa.duration("s")), lists):
        with pytest.raises(InputError, match="looks like a table of counts"):
            read_table(table.append_column("photo", unused if unused is lists else [unused]), ROLES)
    parquet.write_table(
        table.append_column("photo", [[b""] * number]).append_column("photo", [[1] * number]), tmp_path / "t.parquet"
    )
    with pytest.raises(InputError, match="looks like a table of counts"):
        read_table(tmp_path / "t.parquet", ROLES)
    with pytest.raises(InputError, match="column 'photo' of the table holds lists or the like, not single values;"):
        read_table(table.append_column("photo", lists), ROLES | {"photo": "quasi-identifier"}, counts="Freq")


def test_a_table_of_counts_has_no_person_and_no_rows() -> None:
    with pytest.raises(InputError, match=r"counts names 'Freq'.*Leave out person"):
        read_table(COUNTS.assign(id=1), ROLES | {"id": "identifier"}, counts="Freq", person="id")
    with pytest.raises(InputError, match="counts names 'Freq'"):
        read_table(COUNTS, ROLES | {"Freq": "sensitive"}, counts="Freq")
    with pytest.raises(InputError, match="no column 'nothing'"):
        read_table(COUNTS, ROLES, counts="nothing")
    with pytest.raises(InputError, match=r"the key data\.counts is for tables of counts"):
        read_rows(COUNTS, ROLES, counts="Freq")
    with pytest.raises(InputError, match="looks like a table of counts"):
        read_rows(COUNTS, ROLES)
    margin = COUNTS.groupby(["age", "region", "diagnosis"])["Freq"].sum().reset_index().assign(sex="Sum")
    with pytest.raises(InputError, match="'sex' of the table has a value for a total"):
        read_table(pd.concat([COUNTS, margin]), ROLES, counts="Freq")
    assert read_table(pd.concat([COUNTS, COUNTS.assign(Freq=0)]), ROLES, counts="Freq").rows == len(PEOPLE)


@pytest.mark.parametrize("seed", range(6))
def test_a_table_of_counts_is_the_table_of_its_people(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 900).astype(str),
            "town": rng.choice(["Ulm", "Ely", "Bern", ""], 900, p=[0.5, 0.3, 0.15, 0.05]),
            "diagnosis": rng.choice(["flu", "gout", "asthma", "none"], 900),
        }
    )
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[5, 20]),
        "town": Attribute("quasi-identifier", missing="drop" if seed % 2 else "as a value"),
        "diagnosis": Attribute("sensitive"),
    }
    table, read = counted(people), []
    for frame in (people, table, table.sample(frac=1, random_state=seed)):
        frame.to_csv(tmp_path / "people.csv", index=False)
        counts = "Freq" if "Freq" in frame else None
        read.append(read_table(tmp_path / "people.csv", attributes, counts=counts))
    for other in read[1:]:
        assert (other.domain, other.rows, other.missing) == (read[0].domain, read[0].rows, read[0].missing)
        assert list(other.counts.cells()) == list(read[0].counts.cells())


def test_init_asks_whether_a_table_is_one_of_counts_and_nothing_is_read_until_then(tmp_path: Path) -> None:
    COUNTS.to_csv(tmp_path / "people.csv", index=False)
    result = run_init(tmp_path / "people.csv", status=0)
    assert "? Freq: " in result.stdout
    path = tmp_path / "release.toml"
    with pytest.raises(InputError, match="table of counts"):
        read_config(path).read_table()
    text = path.read_text()
    for answer, rows in (('counts = "Freq"', len(PEOPLE)), ("counts = false", len(COUNTS))):
        path.write_text(text.replace(f"# {answer}\n", f"{answer}\n"))
        assert read_config(path).read_table().rows == rows
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    assert run_init(tmp_path / "people.csv").exit_code == 0
    one_by_one = path.read_text()
    assert one_by_one[one_by_one.index("[attributes") :] == text[text.index("[attributes") :]

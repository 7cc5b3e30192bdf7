"""The form of CSV files: encodings, separators and headers are read by every engine or refused, and found by `init`."""

# ruff: noqa: RUF001 - Greek and Cyrillic letters are meant

import codecs
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from malformed_inputs import COMPRESSIONS
from marginals import InputError, read_config, read_rows, read_table
from table_readers import run_init

ROLES = {"age": "quasi-identifier", "wörk": "quasi-identifier"}
TEXT = 'age;wörk\n31;Ärztin\n"32";"Maß; nehmen"\n33;20 €\n31;Ärztin\n'
CELLS = {("31", "Ärztin"): 2, ("32", "Maß; nehmen"): 1, ("33", "20 €"): 1}
ENCODED = {
    "utf-8": ("auto", TEXT.encode()),
    "utf-8 with mark": ("auto", codecs.BOM_UTF8 + TEXT.encode()),
    "utf-16 little": ("auto", codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le")),
    "utf-16 big": ("auto", codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be")),
    "utf-32": ("auto", TEXT.encode("utf-32")),
    "utf-16 named": ("utf-16", TEXT.encode("utf-16")),
    "utf-16-le named, with mark": ("utf-16-le", TEXT.encode("utf-16")),
    "cp1252": ("cp1252", TEXT.encode("cp1252")),
    "windows-1252": ("windows-1252", TEXT.encode("cp1252")),
    "latin-9": ("iso-8859-15", TEXT.encode("iso-8859-15")),
    "mac": ("mac_roman", TEXT.encode("mac_roman")),
}


@pytest.mark.parametrize(
    ("way", "suffix"),
    [
        *((way, "") for way in ENCODED),
        *((way, suffix) for way in ("cp1252", "utf-8") for suffix in ("", *COMPRESSIONS)),
    ],
)
def test_the_table_is_the_same(way: str, suffix: str, tmp_path: Path) -> None:
    encoding, content = ENCODED[way]
    path = tmp_path / f"people.csv{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](content) if suffix else content)
    table = read_table(path, ROLES, separator=";", encoding=encoding)
    assert dict(table.base_counts.cells()) == CELLS
    assert len(read_rows(path, ROLES, separator=";", encoding=encoding)) == 4


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "cp1252"])
def test_no_letter_is_lost_where_a_large_file_is_cut_into_pieces(encoding: str, tmp_path: Path) -> None:
    letter = "é" if encoding == "cp1252" else "🧪"
    texts = [f"{'x' * (number % 7)}{letter * (number % 5)}ü" for number in range(200_000)]
    (tmp_path / "t.csv").write_bytes("\n".join(["text", *texts, ""]).encode(encoding))
    table = read_table(tmp_path / "t.csv", {"text": "quasi-identifier"}, encoding=encoding)
    assert dict(table.counts.cells()) == {(text,): count for text, count in Counter(texts).items()}


@pytest.mark.parametrize(("encoding", "content"), [("cp1252", b"age;w\xf6rk\n31;\x81\n"), ("utf-16", b"a\x00\n")])
def test_a_wrong_name_is_refused(encoding: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"people\.csv is not in {encoding}; .*data\.encoding"):
        read_table(tmp_path / "people.csv", ROLES, separator=";", encoding=encoding)


TOWNS = {
    "german": ("cp1252", "town;job\nKöln;Bäcker\nMünchen;Ärztin\nDüsseldorf;Schüler\n"),
    "one name": ("cp1252", "name;n\nMüller;3\nMeier;4\n"),
    "french": ("cp1252", "ville;métier\nOrléans;Boulangère\nBéziers;l’élève\nSète;employée\n"),
    "russian": ("cp1251", "город;работа\nМосква;врач\nКазань;учитель\nСамара;повар\n"),
    "greek": ("cp1253", "πόλη;εργασία\nΑθήνα;γιατρός\nΠάτρα;δάσκαλος\n"),
    "japanese": ("shift_jis", "都市;仕事\n東京;医者\n大阪;教師\n名古屋;学生\n"),
    "far from the beginning": ("cp1252", "town;job\n" + "Ulm;cook\n" * 100_000 + "Köln;nun\n" * 12),
}


@pytest.mark.parametrize("kind", TOWNS)
def test_init_guesses_the_encoding_or_asks_for_it(kind: str, tmp_path: Path) -> None:
    encoding, text = TOWNS[kind]
    path = tmp_path / "towns.csv"
    for written, told in ((encoding, encoding), ("utf-8", "auto"), ("utf-8-sig", "auto"), ("utf-16", "auto")):
        path.write_bytes(text.encode(written))
        if written not in ("cp1252", "utf-8", "utf-8-sig", "utf-16"):
            assert "towns.csv is neither in UTF-8 nor in cp1252; convert it" in run_init(path, status=2).output
            continue
        run_init(path, "--rare", "1", status=0)
        source = read_config(tmp_path / "release.toml").source
        assert (source.separator, source.encoding) == (";", told)


PEOPLE = pd.DataFrame(
    {
        "age": [str(20 + n % 40) for n in range(400)],
        "work": [['"quoted"; and | with\ttab, comma', " spaced ", "Ärztin", ""][n // 7 % 4] for n in range(400)],
        "diagnosis": [["flu", "gout", "measles"][n // 3 % 3] for n in range(400)],
    }
)
PEOPLES_ROLES = {"age": "quasi-identifier", "work": "quasi-identifier", "diagnosis": "sensitive"}
separators = pytest.mark.parametrize("separator", [",", ";", "\t", "|"])


def separated(folder: Path, separator: str) -> Path:
    PEOPLE.to_csv(folder / "people.csv", sep=separator, index=False)
    return folder / "people.csv"


@separators
def test_every_engine_reads_the_same_and_notices_and_names_another_separator(tmp_path: Path, separator: str) -> None:
    path, expected = separated(tmp_path, separator), read_table(PEOPLE, PEOPLES_ROLES)
    table = read_table(path, PEOPLES_ROLES, separator=separator)
    assert dict(table.counts.cells()) == dict(expected.counts.cells())
    assert table.missing == expected.missing
    assert len(read_rows(path, PEOPLES_ROLES, separator=separator)) == expected.rows
    with pytest.raises(InputError) as caught:
        read_table(path, PEOPLES_ROLES, separator=";" if separator == "," else ",")
    assert str(caught.value).endswith(f"data.separator = {json.dumps(separator)}")


@separators
def test_init_finds_the_separator_and_what_it_writes_is_published(tmp_path: Path, separator: str) -> None:
    run_init(separated(tmp_path, separator), status=0)
    config = tmp_path / "release.toml"
    assert read_config(config).source.separator == separator
    assert ("separator" in config.read_text()) == (separator != ",")
    assert read_config(config).source.attributes.keys() == set(PEOPLE.columns)
    run("publish", config, "--out", tmp_path / "release", status=0)


def test_tables_of_one_column_have_no_other_separator(tmp_path: Path) -> None:
    for name in ("age", "a;b"):
        (tmp_path / "t.csv").write_text(f"{name}\n31\n")
        assert read_table(tmp_path / "t.csv", {name: "sensitive"}).rows == 1


def test_a_file_of_nothing_has_no_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("")
    assert "no line with the names of the columns" in run_init(tmp_path / "t.csv", status=2).output


NAMES = ["name", "age", "sex", "postcode", "admitted", "icd", "diagnosis"]


def patients(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "name": [f"Anna{'xyz'[n % 3]} Secret{'abcdefghij'[n % 10] * (n // 10)}" for n in range(rows)],
            "age": rng.integers(18, 90, rows).astype(str),
            "sex": rng.choice(["f", "m"], rows),
            "postcode": [f"{code:05d}" for code in rng.integers(9000, 9300, rows)],
            "admitted": [f"2023-1{n % 3}-{10 + n % 19}" for n in range(rows)],
            "icd": [f"J{code}.{code % 10}" for code in rng.integers(10, 99, rows)],
            "diagnosis": rng.choice(["pneumonia", "asthma", "influenza"], rows),
        }
    )


def is_taken_for_a_record(text: str, folder: Path) -> bool:
    (folder / "t.csv").write_text(text)
    names = pd.read_csv(folder / "t.csv", nrows=0).columns
    try:
        read_table(folder / "t.csv", dict.fromkeys(names, "quasi-identifier"))
    except InputError as error:
        return "no header line" in str(error)
    return False


@pytest.mark.parametrize(
    "columns",
    [NAMES, NAMES[1:], ["sex", "age", "postcode"], ["name", "diagnosis"], ["age"], ["admitted"], ["icd", "sex"]],
)
def test_a_file_without_header_is_refused_and_nothing_of_its_first_record_told(
    tmp_path: Path, columns: list[str]
) -> None:
    path = tmp_path / "patients.csv"
    patients()[columns].to_csv(path, index=False, header=False)
    result = run_init(path, "--json", status=2)
    assert "patients.csv seems to have no header line" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["patients.csv"]
    said = [result.output]
    first = path.read_text().splitlines()[0].split(",")
    for separator in ",;\t":
        path.write_text(path.read_text().replace(",", separator))
        for read in (read_table, read_rows):
            with pytest.raises(InputError, match="no header line") as caught:
                read(path, dict.fromkeys(first, "quasi-identifier"), separator=separator)
            said.append(str(caught.value))
        path.write_text(path.read_text().replace(separator, ","))
    assert not any(value in text for value in first if len(value) > 1 for text in said)


def test_two_columns_of_one_value_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Secret,Secret,4\nx,y,5\n")
    result = run_init(tmp_path / "t.csv", status=2)
    assert "Secret" not in result.output


@pytest.mark.parametrize(
    "text",
    [
        "country,2019,2020,2021\nPeru,2000,2019,5\nChad,2019,7,2021\nMali,3000,1,1\n",
        "country,2010,2015,2020\nPeru,1,2,3\nChad,4,5,6\n", "country,2019\nPeru,17\nChad,2500\n",
        "m,f,age\n1,0,31\n0,1,32\n", "1,2,3,4,5\n5,4,3,2,1\n1,2,3,4,5\n3,3,3,3,3\n", "name,0\nx,17\ny,0\n",
        "400.5,401.0,402.5,405,410\n1.5,2,3,4,5\n400.5,2,3,4,5\n", "id,Asthma,Gout\n1,Asthma,\n2,,Gout\n3,no,Gout\n",
        "2023-11-12,2023-11-13\n5,7\n8,9\n", "sex,region\nf,north\nm,south\nf,north\n", "age\n31\n32\n", "a,b\n",
        "id,kind\n1,kind\n2,mean\n3,so-so\n", "q1,q2\na,b\nb,c\n",
    ],
)  # fmt: skip
def test_headers_that_look_strange_are_headers(text: str, tmp_path: Path) -> None:
    assert not is_taken_for_a_record(text, tmp_path)


@pytest.mark.parametrize("name", list(patients().columns))
def test_hardly_any_record_is_taken_for_a_header(name: str, tmp_path: Path) -> None:
    frame = patients().drop(columns=name)
    refused = 0
    for first in range(0, 300, 10):
        rows = pd.concat([frame.iloc[[first]], frame.drop(index=first)])
        refused += is_taken_for_a_record(rows.to_csv(index=False, header=False), tmp_path)
    assert refused == 30


WONDER_NOTES = """\
"---"
"Dataset: Underlying Cause of Death, 1999-2020"
"Query Parameters:"
"Year/Month: 2019"
"Group By: State; Gender"
"Show Totals: True"
"---"
"Help: See http://wonder.cdc.gov/wonder/help/ucd.html for more information."
"---"
Messages:
"1. Rows with suppressed Deaths are hidden."
"---"
Caveats:
"1. As of April 3, 2017, the underlying cause of death has been updated."
"""


def wonder_export() -> list[str]:
    """Lines of an export of CDC WONDER: notes first, totals of genders and of all, suppressed counts, codes beside names."""
    lines = ['"Notes"\t"State"\t"State Code"\t"Gender"\t"Gender Code"\tDeaths\tPopulation\tCrude Rate']
    for code, state in enumerate(["Alabama", "Alaska", "Arizona", "Arkansas", "California", "Colorado"], start=1):
        for gender, deaths in (("Female", "Suppressed" if code == 2 else 40 + code), ("Male", 70 * code)):
            lines.append(f'\t"{state}"\t"{code:02}"\t"{gender}"\t"{gender[0]}"\t{deaths}\t{90_000 * code}\t{code}.5')
        lines.append(f'"Total"\t"{state}"\t"{code:02}"\t\t\t{110 * code}\tNot Applicable\tNot Applicable')
    return [*lines, '"Total"\t\t\t\t\t2700\tNot Applicable\tNot Applicable']


def test_an_export_of_wonder_is_refused_step_by_step_until_it_is_a_table_of_counts(tmp_path: Path) -> None:
    path, config, lines = tmp_path / "deaths.txt", tmp_path / "release.toml", wonder_export()
    rows = [line for line in lines if not line.startswith('"Total"')]
    path.write_text("\n".join([*lines, WONDER_NOTES]))
    assert f"line {len(lines) + 1} of deaths.txt seems to be a note" in run_init(path, status=2).output
    path.write_text("\n".join([*lines, ""]))
    assert "column 'Notes' of deaths.txt marks totals of other rows" in run_init(path, status=2).output
    path.write_text("\n".join([*rows, ""]))
    run_init(path, status=0)
    assert 'counts = "Deaths"' in run("publish", config, "--out", tmp_path / "release", status=2).output
    text = config.read_text().replace('# counts = "Deaths"', 'counts = "Deaths"')
    config.write_text(text.replace("\ncounts = false", "").replace("\n# counts = false", ""))
    refused = run("publish", config, "--out", tmp_path / "release", status=2).output
    assert "no whole number of people" in refused
    assert "Suppressed" not in refused
    path.write_text("\n".join([row for row in rows if "Suppressed" not in row] + [""]))
    assert read_config(config).read_table().rows == sum(int(row.split("\t")[5]) for row in rows[1:] if "Sup" not in row)
    path.write_text("\n".join([*lines, ""]))
    assert "marks totals of other rows" in run("publish", config, "--out", tmp_path / "release", status=2).output

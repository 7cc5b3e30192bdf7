"""CSV files in other encodings than UTF-8: by their mark, by name, or as `init` guesses."""

# ruff: noqa: RUF001 - Greek and Cyrillic letters are meant

import codecs
import gzip
import io
import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from command_line import main
from marginals import Attribute, InputError, TableSource, read_config, read_rows, read_table
from marginals.config.first_config import initial_config
from marginals.tables import engines
from marginals.tables.files import CsvForm, likely_encoding, likely_form

ROLES = {"age": "quasi-identifier", "wörk": "quasi-identifier"}
TEXT = 'age;wörk\n31;Ärztin\n"32";"Maß; nehmen"\n33;20 €\n31;Ärztin\n'
CELLS = {("31", "Ärztin"): 2, ("32", "Maß; nehmen"): 1, ("33", "20 €"): 1}

every_engine = pytest.mark.parametrize("engine", ["auto", "pandas"])
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


COMPRESSED = [(way, suffix) for way in ("cp1252", "utf-8") for suffix in (".csv.gz", ".csv.xz", ".csv.zst", ".csv.bz2")]


@every_engine
@pytest.mark.parametrize(("way", "suffix"), [*((way, ".csv") for way in ENCODED), *COMPRESSED])
def test_the_table_is_the_same(way: str, engine: str, suffix: str, tmp_path: Path) -> None:
    encoding, content = ENCODED[way]
    path = tmp_path / f"people{suffix}"
    path.write_bytes(compressed(content, suffix))
    table = read_table(path, ROLES, engine=engine, separator=";", encoding=encoding)
    assert dict(table.base_counts.cells()) == CELLS
    assert len(read_rows(path, ROLES, separator=";", encoding=encoding)) == 4


def compressed(content: bytes, suffix: str) -> bytes:
    match suffix:
        case ".csv.gz":
            return gzip.compress(content)
        case ".csv.xz":
            return lzma.compress(content)
        case ".csv.bz2":
            return __import__("bz2").compress(content)
        case ".csv.zst":
            return bytes(pytest.importorskip("zstandard").compress(content))
    return content


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("way", ["utf-16 big", "cp1252"])
def test_engines_that_read_utf_8_only_say_so(way: str, engine: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb" if engine == "duckdb" else "pyspark")
    encoding, content = ENCODED[way]
    (tmp_path / "people.csv").write_bytes(content)
    named = {"duckdb": "DuckDB", "spark": "Spark"}[engine]
    said = rf'^people\.csv is in (utf-16.*|cp1252), and {named} reads UTF-8 only; read it with engine = "pandas", or change'
    with pytest.raises(InputError, match=said):
        read_table(tmp_path / "people.csv", ROLES, engine=engine, separator=";", encoding=encoding)


@pytest.mark.parametrize(
    ("way", "suffix", "reason"),
    [
        ("cp1252", ".csv", "people.csv is in cp1252, and DuckDB reads UTF-8 only"),
        ("utf-16 big", ".csv", "people.csv is in utf-16, and DuckDB reads UTF-8 only"),
        ("utf-8", ".csv.xz", "people.csv.xz is compressed, and DuckDB unpacks gzip only"),
        ("utf-8", ".csv", ""),
        ("utf-8", ".csv.gz", ""),
    ],
)
def test_why_pandas_reads_large_files_though_duckdb_is_there(
    way: str, suffix: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    encoding, content = ENCODED[way]
    path = tmp_path / f"people{suffix}"
    path.write_bytes(compressed(content, suffix))
    source = TableSource(
        origin=path,
        attributes={name: Attribute(role) for name, role in ROLES.items()},
        separator=";",
        encoding=encoding,
    )
    assert source.table().left_to_pandas == "", "a small file is soonest read by pandas"
    monkeypatch.setattr(engines, "LARGE", 0)
    assert source.table().left_to_pandas == reason
    assert replace(source, engine="pandas").table().left_to_pandas == ""


def test_publish_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(engines, "LARGE", 0)
    rows = "31;Köln\n31;Köln\n44;Ulm\n44;Ulm\n" * 9
    (tmp_path / "people.csv").write_bytes(f"age;town\n{rows}".encode("cp1252"))
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "people.csv"\nseparator = ";"\nencoding = "cp1252"\n'
        '[attributes.age]\nrole = "quasi-identifier"\n[attributes.town]\nrole = "quasi-identifier"\n'
        "[privacy]\nk_link = 2\n"
    )
    command = ["publish", str(tmp_path / "release.toml"), "--out", str(tmp_path / "release")]
    answer = CliRunner().invoke(main, command)
    assert answer.exit_code == 0, answer.output
    line = "people.csv is in cp1252, and DuckDB reads UTF-8 only: pandas reads it, which takes longer and more memory."
    assert line in answer.stderr.splitlines()
    assert "pandas" not in CliRunner().invoke(main, [*command, "--json"]).stderr


@pytest.mark.parametrize("engine", ["auto", "pandas", "duckdb"])
def test_what_is_not_in_utf_8_is_refused_with_what_to_do(engine: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(TEXT.encode("cp1252"))
    with pytest.raises(InputError, match=r'people\.csv is not in UTF-8; name its encoding, data\.encoding = "cp1252"'):
        read_table(tmp_path / "people.csv", ROLES, engine=engine, separator=";")


@pytest.mark.parametrize(("encoding", "content"), [("cp1252", b"age;w\xf6rk\n31;\x81\n"), ("utf-16", b"a\x00\n")])
def test_a_wrong_name_is_refused(encoding: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(InputError, match=rf"people\.csv is not in {encoding}; name another data\.encoding"):
        read_table(tmp_path / "people.csv", ROLES, separator=";", encoding=encoding)


@pytest.mark.parametrize("encoding", ["none such", "rot13", "hex", "utf-7", "unicode_escape", "", 8])
def test_what_is_no_encoding_is_refused(encoding: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the encoding is"):
        CsvForm(encoding=encoding)
    config = tmp_path / "release.toml"
    config.write_text(f"data.path = 'x.csv'\ndata.encoding = {encoding!r}\nattributes.age.role = 'sensitive'")
    with pytest.raises(InputError, match=r"the key data\.encoding must be"):
        read_config(config)


def test_a_row_that_is_cut_off_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes((TEXT + "33").encode("utf-16"))
    with pytest.raises(InputError, match=r"line 6 of people\.csv has fewer fields"):
        read_table(tmp_path / "people.csv", ROLES, separator=";")


@given(st.text(), st.sampled_from(["utf-16-le", "utf-16-be", "utf-32", "utf-16"]), st.integers(1, 7))
def test_recoding_in_pieces_is_recoding_at_once(text: str, encoding: str, size: int) -> None:
    from marginals.tables.files import _Recoded

    stream = _Recoded(io.BytesIO(text.encode(encoding)), encoding, "x.csv")
    read = b"".join(iter(lambda: stream.read(size), b""))
    assert read == text.encode(encoding).decode(encoding).encode()


TOWNS = {
    "german": ("cp1252", "town;job\nKöln;Bäcker\nMünchen;Ärztin\nDüsseldorf;Schüler\n"),
    "one name": ("cp1252", "name;n\nMüller;3\n"),
    "french": ("cp1252", "ville;métier\nOrléans;Boulangère\nBéziers;l’élève\nSète;employée\n"),
    "spanish": ("cp1252", "ciudad;diagnóstico\nCórdoba;neumonía\nLeón;¿niño?\n"),
    "area": ("cp1252", "area;price\n20 m²;20 €\n30 m²;£30\n"),
    "russian": ("cp1251", "город;работа\nМосква;врач\nКазань;учитель\nСамара;повар\n"),
    "greek": ("cp1253", "πόλη;εργασία\nΑθήνα;γιατρός\nΠάτρα;δάσκαλος\n"),
    "japanese": ("shift_jis", "都市;仕事\n東京;医者\n大阪;教師\n名古屋;学生\n"),
    "dos": ("cp850", "town;job\nKöln;Bäcker\nMünchen;Ärztin\n"),
    "polish": ("cp1250", "miasto;zawód\nŁódź;piekarz\nGdańsk;żołnierz\nPoznań;śpiewak\n"),
}


@pytest.mark.parametrize("kind", TOWNS)
def test_the_guess(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("charset_normalizer")
    encoding, text = TOWNS[kind]
    path = tmp_path / "towns.csv"
    path.write_bytes(text.encode(encoding))
    assert likely_encoding(path) == encoding
    assert likely_form(path) == CsvForm(";", encoding)
    for known in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes(text.encode(known))
        assert likely_form(path) == CsvForm(";", "auto")


def test_a_letter_far_from_the_beginning_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_bytes(b"town\n" + b"Ulm\n" * 100_000 + "Köln\n".encode("cp1252"))
    assert likely_encoding(path) == "cp1252"
    path.write_bytes(b"town\n" + b"Ulm\n" * 100_000 + "Köln\n".encode())
    assert likely_encoding(path) == "auto"


def test_init_writes_the_encoding_and_its_config_is_read(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_bytes(("town;age\n" + "Köln;31\nMünchen;32\n" * 100).encode("cp1252"))
    config = initial_config(path, tmp_path / "release.toml")
    assert 'encoding = "cp1252"' in config.text
    config.write(tmp_path / "release.toml")
    assert read_config(tmp_path / "release.toml").read_table().rows == 200

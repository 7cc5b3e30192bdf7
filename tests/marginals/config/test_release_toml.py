"""The config file: read strictly, each complaint naming file and key, none quoting a row's value."""

from pathlib import Path

import pytest

from marginals import InputError, read_config, read_hierarchy
from word_refusals import GOOD


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "release.toml"
    path.write_text(text)
    return path


def test_every_documented_key_is_understood(folder: Path) -> None:
    config = read_config(write(folder, GOOD))
    assert config.source.path == folder / "people.csv"
    assert config.source.missing == ("?", "")
    assert config.source.attributes["age"].intervals == (5, 10)
    assert config.source.attributes["age"].start == 2
    assert config.source.attributes["zip"].prefixes == (4, 3)
    assert config.source.attributes["sex"].hierarchy is not None
    assert (config.policy.k_link, config.policy.seed, config.policy.time_limit) == (2, 7, 1.5)
    assert config.policy.diversity == "recursive:3,2"
    assert config.policy.base == {"age": 1, "sex": 0}


def test_a_hierarchy_file_whose_line_does_not_end_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "town.csv").open("wb") as stream:
        stream.truncate(20 << 30)
    with pytest.raises(InputError, match=r"town\.csv cannot be read: it is larger than"):
        read_hierarchy(tmp_path / "town.csv")


def test_a_hierarchy_file_may_quote_and_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes('\ufeff"a;b";x;*\r\nc;x;*\r\n'.encode())
    assert read_hierarchy(path).labels[0] == ("a;b", "c")


MALFORMED = {
    "a number of 5,000 digits": "privacy.k_link = " + "9" * 5000,
    "5,000 arrays in each other": "x = " + "[" * 5000 + "]" * 5000,
    "a key of 100,000 parts": "a." * 100_000 + "b = 1",
    "a section of 100,000 parts": "[" + "a." * 100_000 + "b]",
    "two megabytes": "# " + "x" * 2_000_000,
    "a memory of many digits": GOOD.replace("[attributes.age]", f'memory = "{"9" * 5000} GB"\n[attributes.age]'),
    "a memory beyond any machine": GOOD.replace("[attributes.age]", f'memory = "{"9" * 30} GB"\n[attributes.age]'),
    "a hierarchy with a NUL": GOOD.replace('"sex.csv"', '"s\\u0000x.csv"'),
}


@pytest.mark.parametrize("malformed", MALFORMED)
def test_what_no_config_is_is_one_sentence_at_once(folder: Path, malformed: str) -> None:
    with pytest.raises(InputError, match=r"^\S*release.toml"):
        read_config(write(folder, MALFORMED[malformed]))


@pytest.mark.parametrize("text", ["a.b = '" + "x." * 500 + "'", "a = [" + "1.5, " * 500 + "]", "# " + "x." * 500])
def test_dots_that_part_no_key_are_no_matter(folder: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"unknown key a|must name the table"):
        read_config(write(folder, text))

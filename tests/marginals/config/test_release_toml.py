"""The config file: read strictly, each complaint naming file and key, none quoting a row's value."""

from pathlib import Path

import pytest

from marginals import InputError, read_config, read_hierarchy
from models import MarginalsError

GOOD = """
[data]
path = "people.csv"
missing = ["?", ""]
[attributes.age]
role = "quasi-identifier"
intervals = [5, 10]
start = 2
[attributes.zip]
role = "quasi-identifier"
prefixes = [4, 3]
[attributes.sex]
role = "quasi-identifier"
hierarchy = "sex.csv"
[attributes.disease]
role = "sensitive"
[attributes.name]
role = "identifier"
[privacy]
k_link = 2
k_combinatorial = 2
diversity = "recursive:3,2"
[base]
table = { age = 1, sex = 0 }
[search]
strategy = "greedy"
seed = 7
max_sensitive_margins = 2
time_limit = 1.5
"""


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


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("[privacy]", "[privacy]\nk_links = 2", "privacy.k_links"),
        ("[search]", "[search]\nsteps = 2", "search.steps"),
        ("[base]", "[bases]", "bases"),
        ('path = "people.csv"', "", "data.path"),
        ('missing = ["?", ""]', 'missing = "?"', "data.missing"),
        ('missing = ["?", ""]', 'domain = "some"', "data.domain"),
        ('role = "sensitive"', 'role = "secret"', "secret"),
        ('role = "sensitive"', "", "attributes.disease.role"),
        ('role = "sensitive"', 'role = "sensitive"\nprefixes = ["a"]', "attributes.disease.prefixes"),
        ('role = "sensitive"', 'role = "sensitive"\nprefixes = [1]\nintervals = [1]', "attributes.disease"),
        ('hierarchy = "sex.csv"', 'hierarchy = "gender.csv"', "gender.csv"),
        ('hierarchy = "sex.csv"', "hierarchy = 1", "attributes.sex.hierarchy"),
        ("k_link = 2", "k_link = 0", "k_link"),
        ("k_link = 2", 'k_link = "2"', "k_link"),
        ('"recursive:3,2"', '"recursive:3"', "recursive:3"),
        ('"recursive:3,2"', "6", "diversity"),
        ('strategy = "greedy"', 'strategy = "greed"', "greed"),
        ("{ age = 1, sex = 0 }", '"worst"', "worst"),
        ("time_limit = 1.5", 'time_limit = "long"', "time_limit"),
        ("[data]", "[data", "TOML"),
        ("intervals = [5, 10]", "intervals = [10, 25]", "attributes.age.intervals: each interval width must be"),
        ("intervals = [5, 10]", "intervals = [0]", "attributes.age.intervals: each interval width must be"),
        ("prefixes = [4, 3]", "prefixes = [3, 4]", "attributes.zip.prefixes: prefix lengths must"),
        ('role = "sensitive"', 'role = "ignored"', 'privacy.diversity needs an attribute whose role is "sensitive"'),
    ],
)
def test_what_is_wrong_is_named_in_one_sentence(folder: Path, old: str, new: str, named: str) -> None:
    assert old in GOOD
    with pytest.raises(MarginalsError) as caught:
        read_config(write(folder, GOOD.replace(old, new)))
    assert named in str(caught.value)
    assert "release.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml"):
        read_config(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ("a;x;*\nb;x\n", "row 2"),
        ("a;x;*\na;y;*\n", "row 2"),
        ("a;x;*\nb;x;+\n", "row 2"),
        ("a;x;p;*\nb;x;q;*\n", "row 2"),
    ],
)
def test_a_bad_hierarchy_names_file_and_row(tmp_path: Path, content: str, row: str) -> None:
    path = tmp_path / "h.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"h\.csv: {row}"):
        read_hierarchy(path)


def test_a_hierarchy_file_whose_line_does_not_end_is_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "town.csv").open("wb") as stream:
        stream.truncate(20 << 30)
    with pytest.raises(InputError, match=r"town\.csv cannot be read as UTF-8 text with semicolons"):
        read_hierarchy(tmp_path / "town.csv")


def test_a_hierarchy_file_may_quote_and_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes('\ufeff"a;b";x;*\r\nc;x;*\r\n'.encode())
    assert read_hierarchy(path).labels[0] == ("a;b", "c")


TABLE = "age,zip,sex,disease,name\n31,12345,f,flu,x\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "[attributes.disease]",
            "[attributes.diseases]",
            "people.csv has no column 'diseases'; did you mean 'disease'?",
        ),
        ("[attributes.disease]", "[attributes.Wohnort]", "people.csv has no column 'Wohnort'; it has 5 others"),
        ('"people.csv"', '"nobody.csv"', "there is no table at"),
        (
            "prefixes = [4, 3]",
            "prefixes = [9, 2]",
            "column 'zip' of people.csv: no value is longer than 9 characters, so the first of the prefixes [9, 2]",
        ),
    ],
)
def test_what_does_not_fit_the_table_is_said_with_the_name_of_the_config(
    folder: Path, old: str, new: str, said: str
) -> None:
    (folder / "people.csv").write_text(TABLE)
    config = read_config(write(folder, GOOD.replace(old, new)))
    for read in (config.read_table, config.read_rows):
        with pytest.raises(InputError) as caught:
            read()
        assert str(caught.value).startswith(f"release.toml: {said}")


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


def test_more_memory_than_any_machine_has_is_as_good_as_none(folder: Path) -> None:
    (folder / "people.csv").write_text("age,zip,sex,disease,name\n" + "31,12345,f,flu,x\n31,12345,m,gout,y\n" * 4)
    text = GOOD.replace("[attributes.age]", 'memory = "999999999999 GB"\n[attributes.age]')
    assert read_config(write(folder, text)).read_table().rows == 8

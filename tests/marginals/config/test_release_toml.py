"""The config file: read strictly, each complaint naming file and key, none quoting a row's value."""

from pathlib import Path

import pytest

from marginals import InputError, Policy, read_config, read_hierarchy
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


@pytest.mark.parametrize(
    "stated",
    [
        'search.start = "nothing"',
        "search.max_cells = 9",
        "risk.step_utility = {}",
        'attributes.a.population = "p.csv"',
        'data.engine = "duckdb"',
    ],
)
def test_a_key_that_was_taken_out_is_refused_with_what_there_is_instead(folder: Path, stated: str) -> None:
    text = f"{stated}\ndata.path = 't.csv'\nattributes.a.role = 'sensitive'"
    with pytest.raises(InputError, match=rf"the key {stated.split(' =')[0]} was taken out: \w+"):
        read_config(write(folder, text))


def test_a_published_table_is_a_base_by_its_levels(folder: Path) -> None:
    stated = "base.table = ['published.csv']\ndata.path = 't.csv'\nattributes.a.role = 'sensitive'"
    for text in (stated, stated.replace("['published.csv']", "'published.csv'")):
        with pytest.raises(InputError, match="a published table is named by its levels"):
            read_config(write(folder, text))
    with pytest.raises(InputError, match="a published table is named by its levels"):
        Policy(base=len)  # type: ignore[arg-type]


def test_the_measure_of_a_wanted_analysis_was_taken_out(folder: Path) -> None:
    wanted = 'search.wanted = [{ attributes = ["a"], measure = "divergence" }]'
    with pytest.raises(InputError, match=r"the key search\.wanted\.measure was taken out: .* KL divergence"):
        read_config(write(folder, f"{wanted}\ndata.path = 't.csv'\nattributes.a.role = 'sensitive'"))


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


def test_more_memory_than_any_machine_has_is_as_good_as_none(folder: Path) -> None:
    (folder / "people.csv").write_text("age,zip,sex,disease,name\n" + "31,12345,f,flu,x\n31,12345,m,gout,y\n" * 4)
    text = GOOD.replace("[attributes.age]", 'memory = "999999999999 GB"\n[attributes.age]')
    assert read_config(write(folder, text)).read_table().rows == 8

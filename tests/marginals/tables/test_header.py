"""A file without a header is refused and nothing of its first record told; headers are never taken for records."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from command_line import main
from marginals import InputError, read_rows, read_table
from marginals.demo import simulate_census
from marginals.tables.attribute import Column
from marginals.tables.source import looks_like_record

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


def headless(folder: Path, columns: list[str] = NAMES) -> Path:
    patients()[columns].to_csv(folder / "patients.csv", index=False, header=False)
    return folder / "patients.csv"


def read_back(text: str) -> list[Column]:
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    return [Column.of(str(name), frame[name]) for name in frame]


@pytest.mark.parametrize(
    "columns",
    [NAMES, NAMES[1:], ["sex", "age", "postcode"], ["name", "diagnosis"], ["age"], ["admitted"], ["icd", "sex"]],
)
def test_init_refuses_a_file_without_header_and_tells_nothing_of_its_first_record(
    tmp_path: Path, columns: list[str]
) -> None:
    path = headless(tmp_path, columns)
    result = CliRunner().invoke(main, ["init", str(path), "-o", str(tmp_path / "release.toml"), "--json"])
    assert result.exit_code == 2
    assert "patients.csv seems to have no header line" in result.stderr
    for value in path.read_text().splitlines()[0].split(","):
        assert len(value) == 1 or value not in result.output
    assert [file.name for file in tmp_path.iterdir()] == ["patients.csv"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_publishing_refuses_names_that_are_values_of_their_columns(tmp_path: Path, separator: str) -> None:
    path = headless(tmp_path)
    path.write_text(path.read_text().replace(",", separator))
    first = path.read_text().splitlines()[0].split(separator)
    roles = {first[1]: "quasi-identifier", first[3]: "quasi-identifier", first[6]: "sensitive"}
    for read in (read_table, read_rows):
        with pytest.raises(InputError, match="no header line") as caught:
            read(path, roles, separator=separator)
        assert not any(value in str(caught.value) for value in first if len(value) > 1)


def test_two_columns_of_one_value_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Secret,Secret,4\nx,y,5\n")
    result = CliRunner().invoke(main, ["init", str(tmp_path / "t.csv"), "-o", str(tmp_path / "release.toml")])
    assert result.exit_code == 2
    assert "Secret" not in result.output


def test_init_lists_a_column_without_a_name_as_the_config_writes_it(tmp_path: Path) -> None:
    patients().rename(columns={"age": ""}).to_csv(tmp_path / "patients.csv", index=False)
    result = CliRunner().invoke(main, ["init", str(tmp_path / "patients.csv"), "--out", str(tmp_path / "release.toml")])
    assert result.exit_code == 0, result.output
    assert 'quasi-identifier  "": ' in result.output
    assert '[attributes.""]' in (tmp_path / "release.toml").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "country,2019,2020,2021\nPeru,2000,2019,5\nChad,2019,7,2021\nMali,3000,1,1\n",
        "country,2010,2015,2020\nPeru,1,2,3\nChad,4,5,6\n",
        "country,2019\nPeru,17\nChad,2500\n",
        "m,f,age\n1,0,31\n0,1,32\n",
        "1,2,3,4,5\n5,4,3,2,1\n1,2,3,4,5\n3,3,3,3,3\n",
        "name,0\nx,17\ny,0\n",
        "400.5,401.0,402.5,405,410\n1.5,2,3,4,5\n400.5,2,3,4,5\n",
        "id,Asthma,Gout\n1,Asthma,\n2,,Gout\n3,no,Gout\n",
        "2023-11-12,2023-11-13\n5,7\n8,9\n",
        "sex,region\nf,north\nm,south\nf,north\n",
        "age\n31\n32\n",
        "a,b\n",
        "id,kind\n1,kind\n2,mean\n3,so-so\n",
        "q1,q2\na,b\nb,c\n",
    ],
)
def test_headers_that_look_strange_are_headers(text: str) -> None:
    assert not looks_like_record(read_back(text))


def test_the_census_has_a_header_and_none_without_it() -> None:
    census = simulate_census(np.random.default_rng(0), 1000)
    assert not looks_like_record(read_back(census.to_csv(index=False)))
    assert looks_like_record(read_back(census.to_csv(index=False, header=False)))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(patients().columns))
def test_hardly_any_record_is_taken_for_a_header(name: str) -> None:
    """Whatever row of the patients comes first; without one of the columns, too."""
    frame = patients().drop(columns=name)
    refused = 0
    for first in range(0, 300, 10):
        rows = pd.concat([frame.iloc[[first]], frame.drop(index=first)])
        refused += looks_like_record(read_back(rows.to_csv(index=False, header=False)))
    assert refused == 30


@pytest.mark.data
def test_adult_has_a_header_and_none_without_it(shared_data: Path) -> None:
    text = (shared_data / "adult" / "adult.csv").read_text()
    assert not looks_like_record(read_back(text))
    assert looks_like_record(read_back(text.split("\n", 1)[1]))

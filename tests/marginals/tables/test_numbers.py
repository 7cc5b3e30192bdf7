"""Numbers with decimals: read exactly, whatever their spelling, and binned alike by every engine."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals import Attribute, InputError, Policy, publish, read_config, read_rows, read_table
from marginals.tables.values import number_in, number_text
from table_readers import WAYS, handed_over

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis 12 on DuckDB 2

SLOW = {"spark", "csv by spark"}
ways = pytest.mark.parametrize("way", [pytest.param(w, marks=[pytest.mark.slow] if w in SLOW else []) for w in WAYS])


@given(st.decimals(-(10**9), 10**9, places=4))
def test_a_number_is_what_it_is_however_it_is_spelled(number: Decimal) -> None:
    for spelling in (str(number), f"{number:+}", f" {number} ", f"{number}0", f"{number:E}"):
        assert number_in(spelling) == number
        assert number_in(spelling.replace(".", ","), ",") == number
    text = number_text(number_in(str(number)) or Decimal(0))
    assert Fraction(text) == Fraction(number)
    assert "e" not in text.lower()
    assert text == "0" or not text.startswith("-0-")
    assert not text.endswith((".", "0")) or "." not in text


@given(st.floats(-1e15, 1e15).filter(lambda number: number != int(number) and abs(number) > 1e-9))
def test_a_fraction_is_read_to_fifteen_digits(number: float) -> None:
    assert number_in(repr(number)) == Decimal(f"{Decimal(repr(number)):.14e}")


@given(st.integers(-(10**40), 10**40))
def test_whole_numbers_are_read_as_they_are(number: int) -> None:
    assert number_in(str(number)) == number_in(f"{number}.0") == number
    assert number_text(Decimal(number)) == str(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-",
        ".",
        "1.2.3",
        "1,5",
        "1,00",
        "1 00",
        "1,23,45",
        "0,123",
        "1.000,5",
        "inf",
        "nan",
        "0x1",
        "1e",
        "١٢",
        "1e999",
    ],
)
def test_what_is_no_number(text: str) -> None:
    assert number_in(text) is None


@pytest.mark.parametrize("text", ["1.5", "1,234.5", "1.23,5", "1,2,3", ","])
def test_what_is_no_number_with_a_decimal_comma(text: str) -> None:
    assert number_in(text, ",") is None


BMI = Attribute("quasi-identifier", intervals=[0.5, 2.5, 5], start=18.5)


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    bmi = np.clip(np.round(rng.normal(25, 2, rows), 1), 21, 28.4)
    age = rng.integers(20, 60, rows).astype(float)
    return pd.DataFrame({"bmi": bmi, "age": age, "ill": np.where(bmi + rng.normal(0, 3, rows) > 25, "yes", "no")})


def bundle(source: object, engine: str, folder: Path) -> dict[str, bytes]:
    attributes = {"bmi": BMI, "age": Attribute("quasi-identifier", intervals=[5, 10]), "ill": Attribute("sensitive")}
    table = read_table(source, attributes, engine=engine)
    publish(table, Policy(k_link=5, k_combinatorial=5, diversity="none", objective="kl")).write(folder)
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return bundle(people(), "auto", tmp_path_factory.mktemp("pandas") / "out")


@pytest.mark.slow
@ways
def test_every_engine_gives_the_same_bundle(way: str, tmp_path: Path, expected: dict[str, bytes]) -> None:
    """Of texts such as 23.0 and of numbers of both widths."""
    source, engine = handed_over(people(), way, tmp_path)
    assert bundle(source, engine, tmp_path / "out") == expected
    assert any(b"21-<23.5" in content for content in expected.values())


def test_narrow_numbers_and_exact_ones_are_the_same(tmp_path: Path, expected: dict[str, bytes]) -> None:
    narrow = people().astype({"bmi": np.float32})
    assert bundle(narrow, "auto", tmp_path / "narrow") == expected
    exact = people().assign(bmi=[Decimal(str(value)).quantize(Decimal("0.001")) for value in people()["bmi"]])
    assert bundle(exact, "auto", tmp_path / "exact") == expected


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_a_decimal_comma(engine: str, tmp_path: Path, expected: dict[str, bytes]) -> None:
    pytest.importorskip(engine)
    people().to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    (tmp_path / "release.toml").write_text(
        "[data]\npath = 'people.csv'\nseparator = ';'\ndecimal = ','\n"
        f"engine = '{engine}'\n[attributes.bmi]\nrole = 'quasi-identifier'\nintervals = [0.5, 2.5, 5]\nstart = 18.5\n"
        "[attributes.age]\nrole = 'quasi-identifier'\nintervals = [5, 10]\n[attributes.ill]\nrole = 'sensitive'"
    )
    table = read_config(tmp_path / "release.toml").read_table()
    publish(table, Policy(k_link=5, k_combinatorial=5, diversity="none", objective="kl")).write(tmp_path / "out")
    files = (tmp_path / "out").rglob("*")
    assert {str(f.relative_to(tmp_path / "out")): f.read_bytes() for f in files if f.is_file()} == expected


def test_the_noise_of_floating_point_is_in_no_label() -> None:
    frame = pd.DataFrame({"dose": [0.1 + 0.2, 0.3, 0.7, 0.1 * 3, 0.8 - 0.1]})
    table = read_table(frame, {"dose": Attribute("quasi-identifier", intervals=[0.1, 1])})
    assert dict(table.base_counts.cells()) == {("0.3",): 3, ("0.7",): 2}
    assert table.domain.hierarchy("dose").labels[0] == tuple(f"{n / 10:g}" for n in range(10))


def test_a_whole_number_with_a_point_is_one() -> None:
    frame = pd.DataFrame({"age": ["163.0", "163", "0041", "4.1e1"]})
    table = read_table(frame, {"age": Attribute("quasi-identifier", intervals=[5, 10])})
    assert dict(table.base_counts.cells()) == {("163",): 2, ("41",): 2}
    assert len(read_rows(frame, {"age": Attribute("quasi-identifier", intervals=[5, 10])})) == 4


@pytest.mark.parametrize(
    ("texts", "widths", "decimal", "message"),
    [
        (
            ["31", "0.42"],
            [5, 10],
            ".",
            r"row 2 is not a whole number.*; give their widths with a decimal point, such as",
        ),
        (["31", "old"], [5, 10], ".", r"row 2 is not a whole number, which intervals need$"),
        (["31", "old"], [5.0, 10], ".", r"row 2 is not a number, which intervals need$"),
        (["31", "0,42"], [5.0, 10], ".", r"row 2 is not a number whose decimal sign is '\.', as data\.decimal says"),
        (["31", "0.42"], [5.0, 10], ",", r"row 2 is not a number whose decimal sign is ',', as data\.decimal says"),
        (["31", "1.234"], [5.0, 10], ",", r"row 2 is not a number whose decimal sign is ','"),
    ],
)
def test_what_cannot_be_binned_is_refused_with_its_row(
    texts: list[str], widths: list[float], decimal: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_table(
            pd.DataFrame({"age": texts}),
            {"age": Attribute("quasi-identifier", intervals=widths)},
            decimal=decimal,
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"intervals": [float("inf")]}, "not infinity"),
        ({"intervals": [0.5, 0.7]}, "intervals: each interval width must be a proper multiple"),
        ({"intervals": [0.0]}, "proper multiple"),
    ],
)
def test_widths_that_are_none_are_refused(settings: dict[str, list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Attribute("quasi-identifier", intervals=settings["intervals"])
    with pytest.raises(InputError, match=r"the decimal sign is '\.' or ',', not ';'"):
        read_table(pd.DataFrame({"age": ["1"]}), {"age": "sensitive"}, decimal=";")

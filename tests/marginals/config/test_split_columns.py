"""What several columns say together is kept back in all of them: half a coordinate, a birthday with a year, half a name."""

from collections.abc import Iterable, Mapping

import pytest

from marginals import Role
from marginals.config.column_guess import guess
from marginals.config.split_columns import as_one
from marginals.tables.attribute import Column


def roles(chosen: Iterable[str] = (), **texts: Iterable[object]) -> dict[str, Role]:
    columns = {name: Column.of(name, map(str, values)) for name, values in texts.items()}
    guesses = {name: guess(column) for name, column in columns.items()}
    return {name: own.role for name, own in as_one(guesses, columns, list(chosen)).items()}


ROWS = range(400)
TOWNS = [f"town {n % 7}" for n in ROWS]


@pytest.mark.parametrize(
    "pair", [("lat", "long"), ("latitude", "longitude"), ("x_coord", "y_coord"), ("easting", "northing")]
)
def test_coordinates_are_left_out_together_whether_or_not_one_of_them_has_decimals(pair: tuple[str, str]) -> None:
    one = {pair[0]: [f"44.{9000 + n}" for n in ROWS], pair[1]: [93200 + n % 250 for n in ROWS], "town": TOWNS}
    assert roles(**one) == {pair[0]: Role.IGNORED, pair[1]: Role.IGNORED, "town": Role.QUASI_IDENTIFIER}


def test_a_length_and_coarse_places_are_no_exact_coordinates() -> None:
    assert roles(long=[n % 150 for n in ROWS], town=TOWNS)["long"] is Role.QUASI_IDENTIFIER
    coarse = roles(x_coord=[n % 9 for n in ROWS], y_coord=[n % 13 for n in ROWS])
    assert set(coarse.values()) == {Role.QUASI_IDENTIFIER}


@pytest.mark.parametrize(
    "names",
    [
        ("birth_day", "birth_month", "birth_year"),
        ("dob_d", "dob_m", "dob_y"),
        ("Geburtstag_Tag", "Geburtsmonat", "Geburtsjahr"),
        ("dayborn", "mnthborn", "age"),
    ],
)
def test_of_a_day_of_birth_in_three_columns_the_day_is_left_out(names: tuple[str, str, str]) -> None:
    day, month, year = names
    born = {day: [n % 28 + 1 for n in ROWS], month: [n % 12 + 1 for n in ROWS], year: [20 + n % 37 for n in ROWS]}
    found = roles(**born)
    assert found[day] is Role.IGNORED
    assert found[month] is Role.QUASI_IDENTIFIER
    assert found[year] is Role.QUASI_IDENTIFIER
    assert roles(**{name: values for name, values in born.items() if name != month})[day] is Role.QUASI_IDENTIFIER
    assert roles([day], **born)[day] is Role.QUASI_IDENTIFIER


def letters(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


def test_names_and_addresses_that_are_split_identify() -> None:
    names: Mapping[str, list[str]] = {
        "first": [letters(n % 40) for n in ROWS],
        "last": [letters(1000 + n % 50) for n in ROWS],
    }
    assert set(roles(**names).values()) == {Role.IDENTIFIER}
    assert roles(first=names["first"])["first"] is Role.QUASI_IDENTIFIER
    streets = [f"{letters(n % 30)} street" for n in ROWS]
    found = roles(street=streets, house_number=[n % 60 + 1 for n in ROWS])
    assert found == {"street": Role.IDENTIFIER, "house_number": Role.IDENTIFIER}
    assert roles(street=streets)["street"] is Role.QUASI_IDENTIFIER

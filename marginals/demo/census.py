"""A made-up census with a health question, for trying everything out where no table about real people is at hand.

Each attribute is drawn given earlier ones: age and postcode first, then sex, education, marital status, occupation and
last the sensitive diagnosis. All tables below hold *weights*: only their ratios within a row of people matter, so that
two influences combine by multiplication. No person, place or rate in here is real.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy

MISSING = "?"
MISSING_PROBABILITY = 0.005
"""Share of rows in which education or occupation was left unanswered."""

YOUNGEST, OLDEST = 17, 90

_ANCHOR_AGES = (17, 20, 25, 35, 50, 60, 70, 80)
"""The columns of every `..._BY_AGE` table; ages in between are interpolated, later ones are like the last."""

_PEOPLE_BY_AGE = (80, 90, 110, 115, 100, 75, 45, 22)
_WOMEN_BY_AGE = (0.49, 0.49, 0.50, 0.50, 0.51, 0.52, 0.55, 0.61)


class _Region(NamedTuple):
    """Postcodes that share their first two digits."""

    population: int
    districts: int
    urbanity: float  # from -1, remote, to 1, inner city


_REGIONS = {
    "10": _Region(population=26, districts=5, urbanity=1.0),
    "12": _Region(population=18, districts=4, urbanity=0.6),
    "25": _Region(population=15, districts=4, urbanity=0.4),
    "31": _Region(population=12, districts=3, urbanity=0.0),
    "34": _Region(population=10, districts=3, urbanity=-0.2),
    "47": _Region(population=8, districts=3, urbanity=-0.4),
    "68": _Region(population=6, districts=2, urbanity=-0.8),
    "83": _Region(population=5, districts=2, urbanity=-1.0),
}
_PLACES_PER_DISTRICT = 3

_EDUCATION = (
    ("Primary school", "Compulsory school", "No degree", "*"),
    ("Lower secondary", "Compulsory school", "No degree", "*"),
    ("Upper secondary", "Further school", "No degree", "*"),
    ("Vocational training", "Further school", "No degree", "*"),
    ("Short college course", "First degree", "Degree", "*"),
    ("Bachelor", "First degree", "Degree", "*"),
    ("Master", "Higher degree", "Degree", "*"),
    ("Doctorate", "Higher degree", "Degree", "*"),
)
_EDUCATION_BY_AGE = {
    "Primary school": (6, 3, 3, 3, 5, 9, 16, 26),
    "Lower secondary": (64, 14, 9, 8, 11, 15, 20, 24),
    "Upper secondary": (30, 46, 24, 18, 20, 22, 21, 18),
    "Vocational training": (0, 12, 18, 20, 23, 22, 19, 15),
    "Short college course": (0, 25, 17, 13, 11, 10, 8, 6),
    "Bachelor": (0, 0, 23, 22, 17, 13, 9, 6),
    "Master": (0, 0, 6, 13, 10, 7, 5, 4),
    "Doctorate": (0, 0, 0, 3, 3, 2, 2, 1),
}
_CITY_ODDS_PER_EDUCATION_STEP = 1.2

_MARITAL_STATUS = (
    ("Never married", "Never married", "Not married", "*"),
    ("Married", "Married", "Married", "*"),
    ("Separated", "Formerly married", "Not married", "*"),
    ("Divorced", "Formerly married", "Not married", "*"),
    ("Widowed", "Formerly married", "Not married", "*"),
)
_MARITAL_STATUS_OF_WOMEN_BY_AGE = {
    "Never married": (100, 93, 68, 25, 13, 8, 6, 6),
    "Married": (0, 7, 29, 60, 61, 61, 52, 30),
    "Separated": (0, 0, 2, 5, 5, 3, 2, 1),
    "Divorced": (0, 0, 1, 10, 19, 19, 15, 9),
    "Widowed": (0, 0, 0, 0, 2, 9, 25, 54),
}
_MARITAL_STATUS_OF_MEN_BY_AGE = {
    "Never married": (100, 97, 82, 34, 17, 10, 7, 5),
    "Married": (0, 3, 16, 54, 62, 69, 72, 66),
    "Separated": (0, 0, 1, 4, 4, 3, 2, 1),
    "Divorced": (0, 0, 1, 8, 16, 15, 11, 6),
    "Widowed": (0, 0, 0, 0, 1, 3, 8, 22),
}

_OCCUPATION = (
    ("Manager", "Office work", "Employed", "*"),
    ("Professional", "Office work", "Employed", "*"),
    ("Clerical", "Office work", "Employed", "*"),
    ("Sales", "Service work", "Employed", "*"),
    ("Care and hospitality", "Service work", "Employed", "*"),
    ("Craft", "Manual work", "Employed", "*"),
    ("Machines and transport", "Manual work", "Employed", "*"),
    ("Farming", "Manual work", "Employed", "*"),
    ("Student", "Not employed", "Not employed", "*"),
    ("Retired", "Not employed", "Not employed", "*"),
    ("At home or seeking work", "Not employed", "Not employed", "*"),
)
_EMPLOYED_BY_AGE = (20, 52, 78, 84, 82, 62, 9, 1)
_NOT_EMPLOYED_BY_AGE = {
    "Student": (74, 38, 10, 1, 0, 0, 0, 0),
    "Retired": (0, 0, 0, 0, 1, 18, 82, 96),
    "At home or seeking work": (6, 10, 12, 15, 17, 20, 9, 3),
}
_JOB_BY_EDUCATION = {  # a column for each education, primary school to doctorate
    "Manager": (2, 4, 9, 8, 14, 20, 27, 20),
    "Professional": (1, 2, 6, 12, 22, 46, 57, 72),
    "Clerical": (5, 9, 23, 15, 27, 16, 8, 3),
    "Sales": (11, 16, 22, 11, 15, 8, 4, 2),
    "Care and hospitality": (23, 24, 18, 14, 12, 5, 2, 1),
    "Craft": (19, 18, 10, 27, 6, 3, 1, 1),
    "Machines and transport": (21, 17, 8, 10, 3, 1, 1, 1),
    "Farming": (18, 10, 4, 3, 1, 1, 1, 1),
}
_OCCUPATION_ODDS = {  # of women against men, of the inner city against the middling region
    "Manager": (0.7, 1.2),
    "Professional": (1.1, 1.2),
    "Clerical": (1.9, 1.1),
    "Sales": (1.1, 1.1),
    "Care and hospitality": (3.0, 1.0),
    "Craft": (0.15, 0.9),
    "Machines and transport": (0.2, 0.9),
    "Farming": (0.5, 0.2),
    "Student": (1.0, 1.2),
    "Retired": (1.0, 1.0),
    "At home or seeking work": (1.6, 1.0),
}

_DIAGNOSIS_BY_AGE = {
    "Asthma": (15, 13, 11, 9, 6, 5, 5, 4),
    "Back pain": (6, 9, 12, 16, 17, 14, 11, 9),
    "Cancer": (1, 1, 2, 4, 7, 10, 12, 12),
    "Depression": (11, 13, 14, 14, 12, 8, 6, 7),
    "Diabetes": (2, 2, 3, 5, 9, 12, 13, 11),
    "Heart disease": (1, 1, 1, 3, 7, 12, 17, 23),
    "Hypertension": (2, 3, 5, 10, 17, 19, 19, 18),
    "Injury": (24, 22, 17, 12, 9, 8, 9, 10),
    "Migraine": (12, 13, 13, 12, 8, 5, 3, 2),
    "Respiratory infection": (26, 23, 22, 15, 8, 7, 5, 4),
}
_DIAGNOSIS_ODDS = {  # of women against men, of the inner city against the middling region
    "Asthma": (1.1, 1.4),
    "Back pain": (1.1, 0.9),
    "Cancer": (0.9, 1.0),
    "Depression": (1.6, 1.2),
    "Diabetes": (0.8, 0.9),
    "Heart disease": (0.65, 0.9),
    "Hypertension": (0.9, 1.0),
    "Injury": (0.6, 0.8),
    "Migraine": (2.2, 1.0),
    "Respiratory infection": (1.0, 1.1),
}
_DIAGNOSIS_BY_WORK = {  # a column for each kind of work: office, service, manual, not employed
    "Asthma": (0.9, 1.0, 1.2, 1.0),
    "Back pain": (0.8, 1.2, 1.8, 0.9),
    "Cancer": (1.0, 1.0, 1.0, 1.1),
    "Depression": (1.1, 1.2, 0.7, 1.3),
    "Diabetes": (0.9, 1.0, 1.2, 1.1),
    "Heart disease": (1.0, 0.9, 1.1, 1.1),
    "Hypertension": (1.3, 1.0, 0.9, 1.0),
    "Injury": (0.6, 0.9, 1.9, 0.9),
    "Migraine": (1.4, 1.1, 0.7, 1.0),
    "Respiratory infection": (1.0, 1.4, 0.8, 1.0),
}


def simulate_census(rng: np.random.Generator, rows: int = 24_000) -> pd.DataFrame:
    """A table of invented people, one row each, every value a string as it would come from a CSV file.

    `person_id` identifies, `age` (17 to 90) to `occupation` are quasi-identifiers, `diagnosis` is sensitive. About one
    row in 200 has "?" for education or occupation. The same generator state and row count give the same table.
    """
    age = _age(rng, rows)
    postcode, urbanity = _postcode(rng, rows)
    is_woman = _is_woman(rng, age)
    education = _education(rng, age, urbanity)
    marital_status = _marital_status(rng, age, is_woman)
    occupation = _occupation(rng, age, is_woman, education, urbanity)
    diagnosis = _diagnosis(rng, age, is_woman, occupation, urbanity)
    unanswered = rng.random(rows)
    return pd.DataFrame(
        {
            "person_id": [f"P{number:06d}" for number in rng.permutation(rows) + 1],
            "age": age.astype(str),
            "postcode": postcode,
            "sex": np.where(is_woman, "Female", "Male"),
            "education": np.where(unanswered < MISSING_PROBABILITY / 2, MISSING, _labels(_EDUCATION_BY_AGE)[education]),
            "marital_status": _labels(_MARITAL_STATUS_OF_MEN_BY_AGE)[marital_status],
            "occupation": np.where(
                unanswered > 1 - MISSING_PROBABILITY / 2, MISSING, _labels(_OCCUPATION_ODDS)[occupation]
            ),
            "diagnosis": _labels(_DIAGNOSIS_BY_AGE)[diagnosis],
        }
    )


def census_hierarchies() -> dict[str, list[tuple[str, ...]]]:
    """For each attribute that needs a hierarchy file, its rows `value, level1, ..., *`."""
    return {
        "education": list(_EDUCATION),
        "marital_status": list(_MARITAL_STATUS),
        "occupation": list(_OCCUPATION),
    }


def _age(rng: np.random.Generator, rows: int) -> IndexArray:
    ages = np.arange(YOUNGEST, OLDEST + 1)
    weights = np.interp(ages, (*_ANCHOR_AGES, OLDEST), (*_PEOPLE_BY_AGE, 5))
    return rng.choice(ages, rows, p=weights / weights.sum())


def _postcode(rng: np.random.Generator, rows: int) -> tuple[NDArray[np.str_], FloatArray]:
    """Postcodes, region then district then place, and the urbanity of their regions. Later districts are smaller."""
    codes, weights, urbanity = [], [], []
    for prefix, region in _REGIONS.items():
        shares = np.outer(1 / np.arange(1, region.districts + 1), 1 / np.arange(1, _PLACES_PER_DISTRICT + 1))
        for (district, place), share in np.ndenumerate(shares / shares.sum()):
            codes.append(f"{prefix}{district + 1}{place + 1}0")
            weights.append(region.population * share)
            urbanity.append(region.urbanity)
    drawn = rng.choice(len(codes), rows, p=np.array(weights) / sum(weights))
    return np.array(codes)[drawn], np.array(urbanity)[drawn]


def _is_woman(rng: np.random.Generator, age: IndexArray) -> BoolArray:
    return rng.random(len(age)) < np.interp(age, _ANCHOR_AGES, _WOMEN_BY_AGE)


def _education(rng: np.random.Generator, age: IndexArray, urbanity: FloatArray) -> IndexArray:
    steps = np.arange(len(_EDUCATION_BY_AGE))
    return _draw(rng, _at_age(_EDUCATION_BY_AGE, age) * _CITY_ODDS_PER_EDUCATION_STEP ** np.outer(urbanity, steps))


def _marital_status(rng: np.random.Generator, age: IndexArray, is_woman: BoolArray) -> IndexArray:
    women, men = _at_age(_MARITAL_STATUS_OF_WOMEN_BY_AGE, age), _at_age(_MARITAL_STATUS_OF_MEN_BY_AGE, age)
    return _draw(rng, np.where(is_woman[:, None], women, men))


def _occupation(
    rng: np.random.Generator, age: IndexArray, is_woman: BoolArray, education: IndexArray, urbanity: FloatArray
) -> IndexArray:
    jobs = _columns(_JOB_BY_EDUCATION)[education] / 100
    employed = np.interp(age, _ANCHOR_AGES, _EMPLOYED_BY_AGE)[:, None] * jobs
    weights = np.hstack([employed, _at_age(_NOT_EMPLOYED_BY_AGE, age)])
    return _draw(rng, weights * _odds(_OCCUPATION_ODDS, is_woman, urbanity))


def _diagnosis(
    rng: np.random.Generator, age: IndexArray, is_woman: BoolArray, occupation: IndexArray, urbanity: FloatArray
) -> IndexArray:
    work = Hierarchy.from_rows(_OCCUPATION).lift(0, 1)[occupation]
    weights = _at_age(_DIAGNOSIS_BY_AGE, age) * _columns(_DIAGNOSIS_BY_WORK)[work]
    return _draw(rng, weights * _odds(_DIAGNOSIS_ODDS, is_woman, urbanity))


def _labels(table: Mapping[str, Sequence[float]]) -> NDArray[np.str_]:
    return np.array(list(table))


def _columns(table: Mapping[str, Sequence[float]]) -> FloatArray:
    """The columns of a table of weights: shape (columns, labels)."""
    return np.array(list(table.values()), dtype=np.float64).T


def _at_age(table: Mapping[str, Sequence[float]], age: IndexArray) -> FloatArray:
    """The weights of everybody's age: shape (rows, labels)."""
    ages = np.arange(YOUNGEST, OLDEST + 1)
    return np.stack([np.interp(ages, _ANCHOR_AGES, weights) for weights in table.values()], axis=1)[age - YOUNGEST]


def _odds(table: Mapping[str, Sequence[float]], is_woman: BoolArray, urbanity: FloatArray) -> FloatArray:
    """What sex and region multiply the weights with: shape (rows, labels)."""
    of_women, of_city = _columns(table)
    halves = np.where(is_woman, 0.5, -0.5)
    odds: FloatArray = of_women ** halves[:, None] * of_city ** urbanity[:, None]
    return odds


def _draw(rng: np.random.Generator, weights: FloatArray) -> IndexArray:
    """One column for each row, with probability proportional to its weight: the first of racing exponential clocks."""
    winners: IndexArray = (weights / rng.standard_exponential(weights.shape)).argmax(axis=1)
    return winners

"""A made-up census for trying everything out where no table about real people is at hand."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy

# The census has a health question. Each attribute is drawn given earlier ones: age and postcode first, then sex,
# education, marital status, occupation and last the sensitive diagnosis. `demo.toml` holds weights: only their ratios
# within a row of people matter, so that two influences combine by multiplication. No person, place or rate is real.

MISSING = "?"
MISSING_PROBABILITY = 0.005  # of education and of occupation
YOUNGEST, OLDEST = 17, 90

_PLACES_PER_DISTRICT = 3
_CITY_ODDS_PER_EDUCATION_STEP = 1.2


def census_config() -> str:
    """Return the `release.toml` that goes with the census: a commented example of every key."""
    return files("marginals").joinpath("census.toml").read_text(encoding="utf-8")


@cache
def _weights() -> dict[str, Any]:
    return tomllib.loads(files("marginals").joinpath("demo.toml").read_text(encoding="utf-8"))


def simulate_census(rng: np.random.Generator, rows: int = 24_000) -> pd.DataFrame:
    """A table of invented people, one row each, every value a string as it would come from a CSV file.

    `person_id` identifies, `age` (17 to 90) to `occupation` are quasi-identifiers, `diagnosis` is sensitive. About one
    row in 200 has "?" for education or occupation. The same generator state and row count give the same table.
    """
    weights, ages = _weights(), np.arange(YOUNGEST, OLDEST + 1)
    anchors = weights["anchor_ages"]
    of_age = np.interp(ages, (*anchors, OLDEST), (*weights["people_by_age"], 5))
    age: IndexArray = rng.choice(ages, rows, p=of_age / of_age.sum())
    postcode, urbanity = _postcode(rng, rows)
    is_woman = rng.random(rows) < np.interp(age, anchors, weights["women_by_age"])
    schooling = _at_age("education_by_age", age)
    steps = np.outer(urbanity, np.arange(schooling.shape[1]))
    education = _draw(rng, schooling * _CITY_ODDS_PER_EDUCATION_STEP**steps)
    women, men = (_at_age(f"marital_status_of_{who}_by_age", age) for who in ("women", "men"))
    marital_status = _draw(rng, np.where(is_woman[:, None], women, men))
    jobs = _columns("job_by_education")[education] / 100
    employed = np.interp(age, anchors, weights["employed_by_age"])[:, None] * jobs
    work = np.hstack([employed, _at_age("not_employed_by_age", age)])
    occupation = _draw(rng, work * _odds("occupation_odds", is_woman, urbanity))
    kind_of_work = Hierarchy.from_rows(census_hierarchies()["occupation"]).lift(0, 1)[occupation]
    illness = _at_age("diagnosis_by_age", age) * _columns("diagnosis_by_work")[kind_of_work]
    diagnosis = _draw(rng, illness * _odds("diagnosis_odds", is_woman, urbanity))
    unanswered = rng.random(rows)
    return pd.DataFrame(
        {
            "person_id": [f"P{number:06d}" for number in rng.permutation(rows) + 1],
            "age": age.astype(str),
            "postcode": postcode,
            "sex": np.where(is_woman, "Female", "Male"),
            "education": np.where(
                unanswered < MISSING_PROBABILITY / 2, MISSING, _labels("education_by_age")[education]
            ),
            "marital_status": _labels("marital_status_of_men_by_age")[marital_status],
            "occupation": np.where(
                unanswered > 1 - MISSING_PROBABILITY / 2, MISSING, _labels("occupation_odds")[occupation]
            ),
            "diagnosis": _labels("diagnosis_by_age")[diagnosis],
        }
    )


def census_hierarchies() -> dict[str, list[tuple[str, ...]]]:
    """Return the rows `value, level1, ..., *` of each attribute that needs a hierarchy file."""
    return {name: list(map(tuple, rows)) for name, rows in _weights()["hierarchies"].items()}


def _postcode(rng: np.random.Generator, rows: int) -> tuple[NDArray[np.str_], FloatArray]:
    """Postcodes, region then district then place, and the urbanity of their regions. Later districts are smaller."""
    codes, weights, urbanity = [], [], []
    for prefix, (population, districts, region_urbanity) in _weights()["regions"].items():
        shares = np.outer(1 / np.arange(1, districts + 1), 1 / np.arange(1, _PLACES_PER_DISTRICT + 1))
        for (district, place), share in np.ndenumerate(shares / shares.sum()):
            codes.append(f"{prefix}{district + 1}{place + 1}0")
            weights.append(population * share)
            urbanity.append(region_urbanity)
    drawn = rng.choice(len(codes), rows, p=np.array(weights) / sum(weights))
    return np.array(codes)[drawn], np.array(urbanity)[drawn]


def _labels(table: str) -> NDArray[np.str_]:
    return np.array(list(_weights()[table]))


def _columns(table: str) -> FloatArray:
    return np.array(list(_weights()[table].values()), dtype=np.float64).T


def _at_age(table: str, age: IndexArray) -> FloatArray:
    ages, anchors = np.arange(YOUNGEST, OLDEST + 1), _weights()["anchor_ages"]
    by_age = [np.interp(ages, anchors, weights) for weights in _weights()[table].values()]
    return np.stack(by_age, axis=1)[age - YOUNGEST]


def _odds(table: str, is_woman: BoolArray, urbanity: FloatArray) -> FloatArray:
    of_women, of_city = _columns(table)
    halves = np.where(is_woman, 0.5, -0.5)
    odds: FloatArray = of_women ** halves[:, None] * of_city ** urbanity[:, None]
    return odds


def _draw(rng: np.random.Generator, weights: FloatArray) -> IndexArray:
    """Draw a column for each row, with probability proportional to its weight: the first of racing exponential clocks."""
    winners: IndexArray = (weights / rng.standard_exponential(weights.shape)).argmax(axis=1)
    return winners

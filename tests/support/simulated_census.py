"""The simulated census of `marginals demo`, and a hospital of its people whose table changes from month to month."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from marginals.demo import census_config, census_hierarchies, simulate_census
from models.arrays import IndexArray


def census_people(rows: int) -> pd.DataFrame:
    """So many people, drawn with seed 0."""
    return simulate_census(np.random.default_rng(0), rows)


def hospital_months(rows: int, months: int) -> Iterator[pd.DataFrame]:
    """The patients of a hospital of so many, month by month, drawn with seed 0."""
    return simulate_hospital(np.random.default_rng(0), rows, months)


def write_census(folder: Path, rows: int) -> Path:
    census_people(rows).to_csv(folder / "census.csv", index=False)
    (folder / "hierarchies").mkdir()
    for attribute, labels in census_hierarchies().items():
        (folder / "hierarchies" / f"{attribute}.csv").write_text("".join(";".join(row) + "\n" for row in labels))
    (folder / "release.toml").write_text(census_config())
    return folder / "release.toml"


ADMITTED, DISCHARGED, CORRECTED = 0.009, 0.009, 0.002
"""Share of the patients who come, who leave, and whose record is corrected in a month: 2 percent together."""

CORRECTABLE = ("education", "marital_status", "occupation", "diagnosis")
"""Columns in which a record may have been wrong."""


def simulate_hospital(rng: np.random.Generator, rows: int, months: int) -> Iterator[pd.DataFrame]:
    """The table of each month, one row for each patient, as `simulate_census` gives it; of the first month so many rows.

    Whoever is admitted has an identifier that nobody had before. A corrected record takes one value, of a column drawn at
    random, from another patient. The same generator state gives the same tables.
    """
    patients = simulate_census(rng, rows)
    numbers = rows
    yield patients
    for _ in range(months - 1):
        stay = np.sort(rng.permutation(len(patients))[round(len(patients) * DISCHARGED) :])
        admitted = simulate_census(rng, round(len(patients) * ADMITTED))
        admitted["person_id"] = [f"P{numbers + number:06d}" for number in range(1, len(admitted) + 1)]
        numbers += len(admitted)
        wrong = rng.permutation(len(stay))[: round(len(patients) * CORRECTED)]
        patients = pd.concat([_corrected(rng, patients.iloc[stay], wrong), admitted], ignore_index=True)
        yield patients


def _corrected(rng: np.random.Generator, patients: pd.DataFrame, wrong: IndexArray) -> pd.DataFrame:
    column = rng.integers(len(CORRECTABLE), size=len(wrong))
    other = rng.integers(len(patients), size=len(wrong))
    corrected = patients.copy()
    for number, name in enumerate(CORRECTABLE):
        values, these = patients[name].to_numpy(copy=True), column == number
        values[wrong[these]] = values[other[these]]
        corrected[name] = values
    return corrected

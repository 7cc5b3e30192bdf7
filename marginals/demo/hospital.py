"""A made-up hospital whose table changes from month to month: some are admitted, some discharged, some records corrected.

Its patients are people of the simulated census (`marginals.demo.census`). No patient, place or rate in here is real.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from marginals.demo.census import simulate_census
from marginals.demo.census_config import CENSUS_CONFIG

ADMITTED, DISCHARGED, CORRECTED = 0.009, 0.009, 0.002
"""Share of the patients who come, who leave, and whose record is corrected in a month: 2 percent together."""

CORRECTABLE = ("education", "marital_status", "occupation", "diagnosis")
"""Columns in which a record may have been wrong."""


def hospital_config(table: str) -> str:
    """The config of the census for the table of a month. Readers of a hospital's releases know that patients come and go."""
    return CENSUS_CONFIG.replace("census.csv", table).replace('# turnover = "known"  ', 'turnover = "known"    ')


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


def _corrected(
    rng: np.random.Generator, patients: pd.DataFrame, wrong: "np.ndarray[tuple[int], np.dtype[np.intp]]"
) -> pd.DataFrame:
    """The patients with one value of each wrong record replaced by that of somebody else."""
    column = rng.integers(len(CORRECTABLE), size=len(wrong))
    other = rng.integers(len(patients), size=len(wrong))
    corrected = patients.copy()
    for number, name in enumerate(CORRECTABLE):
        values = patients[name].to_numpy()
        changed = values.copy()
        changed[wrong[column == number]] = values[other[column == number]]
        corrected[name] = changed
    return corrected

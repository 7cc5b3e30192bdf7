"""The simulated census and hospital of `marginals demo`: their people, and the folder that it writes, without a release."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from marginals.demo import census_config, census_hierarchies, simulate_census, simulate_hospital


def census_people(rows: int) -> pd.DataFrame:
    """So many people, drawn with seed 0."""
    return simulate_census(np.random.default_rng(0), rows)


def hospital_months(rows: int, months: int) -> Iterator[pd.DataFrame]:
    """The patients of a hospital of so many, month by month, drawn with seed 0."""
    return simulate_hospital(np.random.default_rng(0), rows, months)


def write_census(folder: Path, rows: int) -> Path:
    """The config, beside its table and hierarchies."""
    census_people(rows).to_csv(folder / "census.csv", index=False)
    (folder / "hierarchies").mkdir()
    for attribute, labels in census_hierarchies().items():
        (folder / "hierarchies" / f"{attribute}.csv").write_text("".join(";".join(row) + "\n" for row in labels))
    (folder / "release.toml").write_text(census_config())
    return folder / "release.toml"

"""Real tables of people, for what must hold of all.

Adult and Nursery are those of ../shared/data, the others come with statsmodels and scikit-learn. Each has some ten columns.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

DATA = Path(os.environ.get("MARGINALS_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class RealTable:
    """A table with its columns. numbers: those that are numbers; the others are categories."""

    name: str
    frame: pd.DataFrame
    numbers: tuple[str, ...]


def _adult() -> tuple[pd.DataFrame, tuple[str, ...]]:
    frame = pd.read_csv(DATA / "adult" / "adult.csv").drop(columns=["capital-gain", "capital-loss"])
    return frame, ("age", "hours-per-week")


def _nursery() -> tuple[pd.DataFrame, tuple[str, ...]]:
    return pd.read_csv(DATA / "nursery" / "nursery.csv"), ()


def _fair() -> tuple[pd.DataFrame, tuple[str, ...]]:
    from statsmodels.datasets import fair

    frame = fair.load_pandas().data
    frame["affairs"] = frame["affairs"].round(2)
    return frame, ("age", "yrs_married", "children", "educ", "affairs")


def _randhie() -> tuple[pd.DataFrame, tuple[str, ...]]:
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data.drop(columns=["lncoins", "fmde"])
    frame["lpi"], frame["disea"] = frame["lpi"].round(1), frame["disea"].round(1)
    return frame, ("mdvis", "lpi", "disea")


def _anes96() -> tuple[pd.DataFrame, tuple[str, ...]]:
    from statsmodels.datasets import anes96

    frame = anes96.load_pandas().data.drop(columns=["logpopul"])
    return frame, ("popul", "TVnews", "age", "income", "educ")


def _diabetes() -> tuple[pd.DataFrame, tuple[str, ...]]:
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame.round(1)
    return frame, tuple(name for name in frame.columns if name != "sex")


_TABLES: Mapping[str, Callable[[], tuple[pd.DataFrame, tuple[str, ...]]]] = {
    "Adult": _adult,
    "Nursery": _nursery,
    "fair": _fair,
    "randhie": _randhie,
    "anes96": _anes96,
    "diabetes": _diabetes,
}


def real_tables(most_rows: int = 20_000) -> Iterator[RealTable]:
    """Those that are here, of each a sample of so many rows at most."""
    for name, read in _TABLES.items():
        try:
            frame, numbers = read()
        except (OSError, ImportError):
            continue
        yield RealTable(name, frame.sample(min(most_rows, len(frame)), random_state=0).reset_index(drop=True), numbers)

"""No number that makes no sense is taken by a public function.

What each says of a value of another kind stands in tests/words/errors.txt.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import marginals
from marginals import Attribute, Policy
from marginals.example import attributes, frame, release, table

POLICY = Policy(k_link=2, diversity="none")

NAN, WITHOUT_END = float("nan"), float("inf")

COUNTS: dict[str, Callable[[Any], object]] = {
    "k of hilbert": lambda k: marginals.recoding.hilbert(table, k=k),
    "k of hilbert with a requirement": lambda k: marginals.recoding.hilbert(table, "functional:0.5,2", k=k),
    "k of sweep": lambda k: marginals.recoding.sweep(table, "functional:0.5,2", k=k),
    "k of frontier": lambda k: marginals.frontier(table, POLICY, k=[k], jobs=1),
    "k of read_table": lambda k: marginals.read_table(frame, attributes, k=k),
    "k_map": lambda k: marginals.Population(table, k_map=k),
    "times of bootstrap": lambda times: marginals.select(frame).bootstrap(times),
    "jobs of bootstrap": lambda jobs: marginals.select(frame).bootstrap(3, jobs=jobs),
    "max_attributes": lambda most: marginals.select(frame, max_attributes=most, time_limit=1),
    "small of audit": lambda small: marginals.audit(_tables(), small=small, jobs=1),
    **{
        f"{name} of a policy": lambda number, name=name: Policy(**{"diversity": "none", name: number})  # type: ignore[misc]
        for name in ("k_link", "k_combinatorial", "min_cell", "min_published_cell", "max_attributes")
    },
}
"""Public functions with a number of rows or of attributes; each begins at 1."""

SHARES: dict[str, Callable[[Any], object]] = {
    "suppression": lambda share: marginals.anonymize(table, POLICY, suppression=share),
    "population": lambda share: marginals.recoding.assess(table, POLICY, population=share),
    "delta_presence": lambda share: marginals.Population(table, delta_presence=(0, share)),
}


def _tables() -> Path:
    file = Path(tempfile.mkdtemp(), "small.csv")
    file.write_text("age,sex,count\nyoung,f,1\nyoung,m,20\nold,f,2\nold,m,30\n")
    return file


@pytest.mark.parametrize("number", [NAN, WITHOUT_END, -1, 0, 2.5, True, "3"], ids=repr)
@pytest.mark.parametrize("name", COUNTS)
def test_no_demand_is_a_number_that_is_no_count(name: str, number: object) -> None:
    with pytest.raises(marginals.MarginalsError):
        COUNTS[name](number)


@pytest.mark.parametrize("number", [NAN, WITHOUT_END, -1, 2.5, True, "3"], ids=repr)
@pytest.mark.parametrize("name", SHARES)
def test_no_share_is_outside_of_0_to_1(name: str, number: object) -> None:
    with pytest.raises(marginals.MarginalsError):
        SHARES[name](number)


@pytest.mark.parametrize("level", [NAN, -1, 2.5, True, "1"], ids=repr)
def test_no_level_is_no_whole_number(level: Any) -> None:
    disclosed = marginals.risk.disclose(marginals.read_rows(frame, attributes), [])
    with pytest.raises(marginals.MarginalsError, match="has the levels 0 to"):
        marginals.risk.generalize(disclosed, "age", None, level)


@pytest.mark.parametrize("protection", [NAN, -1, 2.5, True, "1"], ids=repr)
def test_no_protection_is_no_whole_number(protection: Any) -> None:
    with pytest.raises(marginals.InputError, match="protection is a whole number from 0 on"):
        marginals.audit(_tables(), protection=protection, jobs=1)


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    assert len(release.rows(int(np.int64(3)), seed=int(np.int64(1)))) == 3
    assert Attribute("quasi-identifier", intervals=[np.float64(0.5)]).intervals

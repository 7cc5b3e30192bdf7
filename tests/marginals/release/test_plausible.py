"""Plausible tables and intervals of one release, as an analyst asks for them."""

import numpy as np

import marginals
from marginals.example import release


def test_the_same_seed_gives_the_same_tables_and_says_so() -> None:
    first, second = (list(release.plausible_tables(2, seed=4)) for _ in range(2))
    assert all(a.equals(b) for a, b in zip(first, second))
    assert [table.attrs["plausible_table"] for table in first] == [0, 1]
    assert {table.attrs["seed"] for table in first} == {4}
    assert first[0].attrs["version"] == marginals.__version__
    assert not first[0].equals(first[1])


def test_a_condition_is_counted_as_a_function_would_within_its_bounds() -> None:
    condition = release.plausible_interval("age=20-29 and sex=Female", count=30, seed=2)
    function = release.plausible_interval(
        lambda table: float(((table.age == "20-29") & (table.sex == "Female")).sum()), count=30, seed=2
    )
    bounds = release.counts(["age", "sex"]).loc[("20-29", "Female")]
    assert condition.middle == function.middle
    assert condition.lower == max(function.lower, bounds.lower)
    assert condition.upper == min(function.upper, bounds.upper)
    assert condition.lower <= condition.middle <= condition.upper


def test_what_is_published_has_an_interval_of_one_number() -> None:
    interval = release.plausible_interval("sex=Female and diagnosis=Flu", count=10)
    count = release.count("sex=Female and diagnosis=Flu")
    assert (interval.lower, interval.upper) == (count.lower, count.upper)


def test_every_plausible_number_lies_within_the_bounds() -> None:
    bounds = release.counts(["age", "sex"])
    for table in release.plausible_tables(20, seed=3):
        counted = table.groupby(["age", "sex"], observed=False).size()
        assert np.all(bounds.lower <= counted.reindex(bounds.index))
        assert np.all(counted.reindex(bounds.index) <= bounds.upper)

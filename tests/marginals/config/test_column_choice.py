"""Which columns of a wide table a first config publishes."""

import tomllib

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from marginals import Role
from marginals.config.column_choice import MOST_COLUMNS, are_associated, associations, within_limit
from marginals.config.column_guess import Guess
from marginals.config.copies import Values
from marginals.config.first_config import initial_config
from marginals.publishing.policy import Wanted


def guesses(**roles: str) -> dict[str, Guess]:
    return {name: Guess(Role(role), "it has few values") for name, role in roles.items()}


def related(number: int) -> dict[str, Values]:
    """Columns of which the later ones go together with ever more others: b with none, c with d ..."""
    rng = np.random.default_rng(1)
    common = rng.integers(0, 2, 2000)
    return {f"c{i}": Values(common if i >= 3 else rng.integers(0, 2, 2000)) for i in range(number)}


def test_all_columns_stay_up_to_the_limit() -> None:
    made = guesses(**dict.fromkeys((f"c{i}" for i in range(MOST_COLUMNS)), "quasi-identifier"))
    assert within_limit(made, lambda _: pytest.fail("nothing is counted where nothing is left out")) == made


def test_wanted_sensitive_and_recognizable_columns_come_first_then_those_with_associations() -> None:
    values = related(6)
    named = {"c0": "wished", "c1": "diagnosis", "c2": "age", "c3": "x", "c4": "y", "c5": "z"}
    found = {named[name]: own for name, own in values.items()} | {"noise": Values(np.arange(2000) // 7 % 2)}
    made = guesses(
        noise="quasi-identifier",
        x="quasi-identifier",
        y="quasi-identifier",
        z="quasi-identifier",
        age="quasi-identifier",
        diagnosis="sensitive",
        wished="quasi-identifier",
        name="identifier",
    )
    for most, left in [(1, "noise x y z age diagnosis"), (3, "noise x y z"), (6, "noise"), (7, "")]:
        kept = within_limit(made, found.__getitem__, ["wished"], most)
        assert [name for name, own in kept.items() if own.role is Role.IGNORED] == left.split()
        for name in left.split():
            assert kept[name].why.startswith("it has few values; left out, as a search of")
    assert "with 0 of the other 6 columns" in within_limit(made, found.__getitem__, ["wished"], 6)["noise"].why


@pytest.mark.parametrize("noise", [0.0, 0.5, 0.9, 1.0])
def test_an_association_is_what_the_chi_squared_test_says(noise: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one = rng.integers(0, 4, 700)
        other = np.where(rng.random(700) < noise, rng.integers(0, 5, 700), one)
        one[rng.random(700) < 0.1] = -1
        both = (one >= 0) & (other >= 0)
        p = chi2_contingency(pd.crosstab(one[both], other[both]), correction=False).pvalue
        if not 1e-8 < p < 1e-5:  # the approximation is near, not exact
            assert are_associated(one, np.array([one * 0, other, one])).tolist() == [False, p < 3e-7, True]


def test_rare_values_are_counted_together_and_a_column_without_values_goes_with_none() -> None:
    rng = np.random.default_rng(3)
    names, group = rng.permutation(2000), rng.integers(0, 2, 2000)  # every row has a name of its own
    found = associations({"name": Values(names), "group": Values(group), "none": Values(np.full(2000, -1))})
    assert found == {"name": 0, "group": 0, "none": 0}


def test_init_proposes_all_of_fifty_columns(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"q{i}": rng.choice(["yes", "no", "maybe"], 400) for i in range(50)})
    frame.to_csv(tmp_path / "survey.csv", index=False)
    config = initial_config(tmp_path / "survey.csv", tmp_path / "release.toml")
    assert all(own.role.is_used for own in config.guesses.values())


def test_what_is_wanted_weighs_as_it_would_if_nothing_was_said(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: rng.choice(["yes", "no", "maybe"], 400) for name in ("vote", "town")})
    frame.to_csv(tmp_path / "survey.csv", index=False)
    config = initial_config(tmp_path / "survey.csv", tmp_path / "release.toml", wanted=["vote", "town"])
    (analysis,) = tomllib.loads(config.text)["search"]["wanted"]
    assert Wanted.of(analysis) == Wanted(("vote", "town"))

"""A value that is missing exactly where another column says so: nobody is expected to have died alive."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import main
from marginals import Role
from marginals.config.first_config import initial_config
from marginals.config.structural_missing import StructurallyMissing, structurally_missing


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=12), st.integers(1, 4))
def test_it_is_missing_exactly_where_the_other_says_so(rows: list[tuple[int, bool]], least: int) -> None:
    codes, gone = np.array([code for code, _ in rows]), np.array([lacks for _, lacks in rows])
    by_value: dict[int, set[bool]] = {}
    for code, lacks in rows:
        by_value.setdefault(code, set()).add(lacks)
    is_function = len(by_value) > 1 and all(len(lacks) == 1 for lacks in by_value.values())
    enough = least <= gone.sum() <= len(rows) - least
    found = structurally_missing({"x": gone}, {"by": codes}, least)
    assert found == ([StructurallyMissing("x", "by")] if is_function and enough else [])


def pensions(rows: int = 900) -> pd.DataFrame:
    """Who is retired has a year of retirement, and nobody else; the pay goes with it."""
    rng = np.random.default_rng(4)
    retired = rng.choice(["no", "yes"], rows)
    year = np.where(retired == "yes", rng.integers(2010, 2016, rows).astype(str), "")
    return pd.DataFrame({"retired": retired, "retirement_year": year, "region": rng.choice(list("nesw"), rows)})


def init(frame: pd.DataFrame, folder: Path, **more: list[str]) -> marginals.config.first_config.InitialConfig:  # type: ignore[name-defined]
    frame.to_csv(folder / "t.csv", index=False)
    config = initial_config(folder / "t.csv", folder / "release.toml", **more)  # type: ignore[arg-type]
    config.write(folder / "release.toml")
    return config


def test_the_two_are_wanted_together_and_nobody_is_retired_without_a_year(tmp_path: Path) -> None:
    config = init(pensions(), tmp_path)
    assert "it lacks a value exactly where retired says so" in config.guesses["retirement_year"].why
    assert config.guesses["retirement_year"].missing == "as a value"
    wanted = tomllib.loads(config.text)["search"]["wanted"]
    assert [analysis["attributes"] for analysis in wanted] == [["retired", "retirement_year"]]
    out = tmp_path / "out"
    printed = CliRunner().invoke(main, ["publish", str(tmp_path / "release.toml"), "--out", str(out), "--json"])
    assert printed.exit_code == 0, printed.output
    assert json.loads(printed.stdout)["wanted"][0]["margin"] is not None
    release = marginals.open_release(out)
    alive = release.marginal({"retired": 0, "retirement_year": 0})
    years = [year for year in alive.index.get_level_values("retirement_year").unique() if year != "missing"]
    assert years
    assert all(alive.get(("no", year), 0) == 0 for year in years)
    assert alive.get(("yes", "missing"), 0) == 0


def test_what_would_give_a_sensitive_column_away_has_a_table_of_its_own(tmp_path: Path) -> None:
    """That the date of the diagnosis is missing says who is not ill, which no demand on the dates keeps uncertain."""
    rng = np.random.default_rng(4)
    ill = rng.choice(["no", "yes"], 900)
    frame = pd.DataFrame({"hiv": ill, "since": np.where(ill == "yes", rng.integers(2000, 2016, 900).astype(str), "")})
    frame["region"] = rng.choice(list("nesw"), 900)
    assert init(frame, tmp_path).guesses["hiv"].role is Role.SENSITIVE
    config = init(frame, tmp_path)
    since = config.guesses["since"]
    assert (since.role, since.missing, since.is_alone) == (Role.SENSITIVE, "as a value", True)
    assert "it lacks a value exactly where hiv says so, so it would give that away beside others" in since.why
    assert tomllib.loads(config.text)["search"]["alone"] == ["since"]


def test_what_is_sensitive_only_as_most_others_are_is_asked_and_not_left_out(tmp_path: Path) -> None:
    """No release claims that it stays uncertain whether x is, beside the y that only those with x have."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.choice(["a", "b"], 900) for name in ("diagnosis", "religion", "hiv_status")})
    frame["x7"] = rng.choice(["no", "yes"], 900)
    frame["y7"] = np.where(frame["x7"] == "yes", rng.choice(["p", "q", "r"], 900), "")
    config = init(frame, tmp_path)
    assert config.guesses["x7"].role is Role.QUASI_IDENTIFIER
    assert config.guesses["x7"].question.endswith("it says where y7 lacks a value, which would give it away")
    assert config.guesses["y7"].missing == "as a value"
    assert [analysis["attributes"] for analysis in tomllib.loads(config.text)["search"]["wanted"]] == [["x7", "y7"]]


@pytest.mark.parametrize("damaged", [0, 500])
def test_one_exception_is_no_structure(tmp_path: Path, damaged: int) -> None:
    frame = pensions()
    frame.loc[damaged, "retired"] = "yes" if frame.loc[damaged, "retired"] == "no" else "no"
    assert "exactly where" not in init(frame, tmp_path).guesses["retirement_year"].why


def test_each_column_that_is_not_published_has_its_reason_on_the_stewards_page(tmp_path: Path) -> None:
    frame = pensions().assign(pid=np.arange(900).astype(str), same="x")
    init(frame, tmp_path)
    out = tmp_path / "out"
    printed = CliRunner().invoke(main, ["publish", str(tmp_path / "release.toml"), "--out", str(out)])
    assert printed.exit_code == 0, printed.output
    page = (tmp_path / "out-steward.html").read_text(encoding="utf-8")
    shown = {name for margin in marginals.open_release(out).margins for name in margin}
    for name in set(frame) - shown:
        assert f"<dt>{name}</dt><dd>" in page
    assert "Its role in release.toml is &#34;identifier&#34;, so it is never read." in page
    assert (
        "Its role in release.toml is &#34;ignored&#34;, so it is left out; if init wrote that, it says there why."
        in page
    )

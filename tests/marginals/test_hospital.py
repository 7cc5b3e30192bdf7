"""The simulated hospital changes by 2 percent a month."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from command_line import main
from marginals.demo import CORRECTABLE, simulate_hospital


def test_two_percent_change_each_month() -> None:
    months = list(simulate_hospital(np.random.default_rng(0), 3_000, 4))
    assert len(months) == 4
    seen: set[str] = set()
    for before, after in zip(months, months[1:]):
        seen |= set(before["person_id"])
        assert after["person_id"].is_unique
        both = before.merge(after, on="person_id", suffixes=("", "_now"))
        assert len(before) - len(both) == 27
        admitted = after[~after["person_id"].isin(before["person_id"])]
        assert len(admitted) == 27
        assert not seen & set(admitted["person_id"]), "nobody gets the number of somebody who was discharged"
        changed = pd.DataFrame(
            {name: both[name] != both[f"{name}_now"] for name in before.columns if name != "person_id"}
        )
        assert changed.sum(axis=1).max() == 1
        assert changed.to_numpy().sum() <= 6, "whose record is corrected to the same value does not change"
        assert set(changed.columns[changed.any()]) <= set(CORRECTABLE)


def test_the_same_seed_gives_the_same_months() -> None:
    one, other = (list(simulate_hospital(np.random.default_rng(7), 1_000, 3)) for _ in range(2))
    for first, second in zip(one, other):
        pd.testing.assert_frame_equal(first, second)


@pytest.mark.slow
def test_the_demo_publishes_months_beside_a_ledger(tmp_path: Path) -> None:
    folder = tmp_path / "hospital"
    answer = CliRunner().invoke(main, ["demo", str(folder), "--months", "3", "--rows", "2000"])
    assert answer.exit_code == 0, answer.output
    assert f"{folder / 'release-03'}  " in answer.output
    config = (folder / "release-02.toml").read_text()
    assert '\nturnover = "known" ' in config
    assert 'path = "census-02.csv"' in config
    listed = CliRunner().invoke(main, ["ledger", str(folder / "ledger"), "--json"])
    assert listed.exit_code == 0
    assert [release["out"] for release in json.loads(listed.output)["releases"]] == [True] * 3
    other = tmp_path / "other"
    told = CliRunner().invoke(main, ["demo", str(other), "--months", "2", "--rows", "2000", "--json"])
    months = json.loads(told.output)["months"]
    assert [month["out"] for month in months] == [str(other / "release-01"), str(other / "release-02")]
    assert 0 < months[1]["waiting"]["came"] < 30

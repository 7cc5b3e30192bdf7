"""The simulated hospital changes by 2 percent a month."""

import numpy as np
import pandas as pd

from marginals.demo.hospital import CORRECTABLE, simulate_hospital


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

"""Work on a class grows with the number of sensitive values, not with its square."""

from pathlib import Path

import numpy as np
import pandas as pd

import marginals
from marginals import Policy
from work import compare_with_sorting


def test_verifying_two_thousand_sensitive_values_takes_no_longer_than_some_sorts(tmp_path: Path) -> None:
    """The sum and the greatest common divisor of all were worked out anew for each value: thirty sorts of a million."""
    rng, rows = np.random.default_rng(0), 50_000
    frame = pd.DataFrame(
        {name: rng.integers(0, size, rows).astype(str) for name, size in [("a", 4), ("b", 4), ("s", 2000)]}
    )
    frame["s"] = "d" + frame["s"]
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}
    table = marginals.read_table(frame, roles)
    marginals.publish(table, Policy(k_link=3, diversity="distinct:2")).write(tmp_path / "release")
    verification, sorts = compare_with_sorting(lambda: marginals.verify(tmp_path / "release"))
    assert verification.ok
    assert sorts < 5

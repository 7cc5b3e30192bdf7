"""What stands in the way is said with its number and what helps; no rare value is named that may tell of somebody."""

import re
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals import Attribute, Policy
from marginals.errors import NothingPublishableError
from small_release import write_release

K = 10


def people() -> pd.DataFrame:
    """Two families of 18, few of 8, a hamlet of one, and a column that names everybody."""
    rng, rows = np.random.default_rng(3), 2000
    frame = pd.DataFrame(
        {
            "famsize": np.minimum(rng.geometric(0.45, rows), 7),
            "age": rng.integers(0, 100, rows),
            "town": rng.choice(["Ulm", "Aix"], rows),
            "name": [f"tokname{number:04}" for number in range(rows)],
            "ill": rng.choice(["flu", "cold", "gout"], rows, p=[0.6, 0.3, 0.1]),
        }
    )
    frame.loc[[0, 1], "famsize"] = 18
    frame.loc[[5, 6, 7], "famsize"] = 8
    frame.loc[9, "town"] = "tokhamlet0001"
    return frame


ATTRIBUTES = {
    "famsize": "quasi-identifier",
    "age": Attribute("quasi-identifier", intervals=[5, 10, 20]),
    "town": "quasi-identifier",
    "name": "quasi-identifier",
    "ill": "sensitive",
}


@pytest.fixture(scope="module")
def table() -> marginals.Table:
    return marginals.read_table(people(), ATTRIBUTES)


def test_each_attribute_that_is_left_out_is_told_with_its_number_and_what_helps(table: marginals.Table) -> None:
    policy = Policy(k_link=K, base="none", diversity="none")
    publication = marginals.publish(table, policy)
    told = publication.steward.unpublished
    assert set(told) == {"famsize", "town", "name"}
    for name, parts in (
        ("famsize", ("2 of its 9 values", "the rarest few;", 'ladder = "fitted"')),
        ("town", ("1 of its 3 values has fewer than 10 rows, the rarest few;", 'ladder = "fitted"')),
        ("name", ("2,000 of its 2,000 values", 'ladder = "fitted"')),
    ):
        assert all(part in told[name] for part in parts), told[name]
    assert "tok" not in str(told)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            Policy(k_link=K, base="none", must_publish=[{"town": 0, "age": 1}], diversity="none"),
            ["{ town = 0, age = 1 }", "k_link = 10: 1 of 41 classes", "the smallest few;", "{ age = 1, town = 1 }"],
        ),
        (Policy(k_link=K, diversity="entropy:3"), ['diversity = "entropy:3" fails for ill', "2.4"]),
        (Policy(k_link=K, k_combinatorial=3000, diversity="none"), ["k_combinatorial = 3000", "2,000 rows"]),
        (
            Policy(k_link=K, base="none", diversity="none", must_not_publish=[{"famsize": 0}, {"age": 3}, {"ill": 0}]),
            ["age: a margin that shows", "town: 1 of its 3 values"],
        ),
    ],
)
def test_a_policy_that_nothing_satisfies_tells_which_demand_and_by_how_much(
    table: marginals.Table, policy: Policy, said: list[str]
) -> None:
    with pytest.raises(NothingPublishableError) as refused:
        marginals.publish(table, policy)
    assert all(part in str(refused.value) for part in said), refused.value


def test_a_refused_margin_names_no_value_and_a_coarser_one_that_would_pass(tmp_path: Path) -> None:
    roles = {"famsize": "quasi-identifier", "age": "quasi-identifier\nintervals = [50]", "ill": "sensitive"}
    more = '[privacy]\nk_link = 10\ndiversity = "none"\n[base]\ntable = "none"\n[search]\n'
    more += "must_publish = [{ famsize = 0, age = 1 }]\n"
    write_release(tmp_path, people()[[*roles]], roles, more)
    command = ["publish", tmp_path / "release.toml", "--out", tmp_path / "out"]
    refused = run(*command, status=1)
    assert "smallest class" not in refused.stderr
    assert "{ age = 1, famsize = 1 }" in refused.stderr
    assert not (tmp_path / "out").exists()


@given(st.data())
def test_the_coarser_margin_passes_and_no_nearer_one_does(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    rows = data.draw(st.integers(5, 60))
    frame = pd.DataFrame({"own age": rng.integers(0, 16, rows), "sex": rng.choice(["f", "m"], rows)})
    attributes = {"own age": Attribute("quasi-identifier", intervals=[2, 8]), "sex": "quasi-identifier"}
    table = marginals.read_table(frame, attributes)
    k = data.draw(st.integers(2, 12))
    finest = data.draw(st.integers(0, 2))

    def sizes(age: int, sex: int) -> list[int]:
        keys = zip(frame["own age"] // (1, 2, 8, 16)[age], frame["sex"] if sex == 0 else ["*"] * rows)
        return list(Counter(keys).values())

    def passes(age: int, sex: int) -> bool:
        return min(sizes(age, sex)) >= k

    policy = Policy(k_link=k, base="none", must_publish=[{"own age": finest, "sex": 0}])
    if passes(finest, 0):
        assert marginals.publish(table, policy).release.verify().ok
        return
    with pytest.raises(NothingPublishableError) as refused:
        marginals.publish(table, policy)
    few, every = sum(size < k for size in sizes(finest, 0)), len(sizes(finest, 0))
    assert k > rows or f"{few} of {every} class" in str(refused.value)
    nodes = [(age, sex) for age, sex in product(range(finest, 4), (0, 1)) if (age, sex) != (3, 1)]
    passing = [node for node in nodes if passes(*node)]
    told = re.search(r'pass.*\{ "own age" = (\d), sex = (\d) \}', str(refused.value))
    assert (told is None) is (not passing)
    if told is not None:
        best = min(((age == 3) + (sex == 1), age + sex) for age, sex in passing)
        age, sex = int(told[1]), int(told[2])
        assert (age, sex) in passing
        assert ((age == 3) + (sex == 1), age + sex) == best

"""Rows are left out until the rest is diverse: never more than necessary, against trying all ways to leave some out."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import marginals
from checks import Distinct, Diversity, Entropy, Functional, Recursive, Simple
from command_line import main
from marginals.anonymizers.thinning import kept_rows, thinned_table
from marginals.example import table
from small_release import write_config

even = st.one_of(
    st.builds(Distinct, st.integers(1, 4)),
    st.builds(Simple, st.fractions(1, 4, max_denominator=4)),
    st.builds(Entropy, st.fractions(1, 4, max_denominator=4)),
    st.builds(Recursive, st.fractions(Fraction(1, 2), 4, max_denominator=4), st.integers(2, 4), strict=st.booleans()),
    st.builds(Functional, st.fractions(Fraction(1, 5), Fraction(9, 10), max_denominator=10), st.integers(2, 4)),
)


def most_kept(row: list[int], diversity: Diversity | None, k: int) -> int:
    """The most rows of a class that are enough and diverse, by trying all parts of it."""
    parts = product(*(range(count + 1) for count in row))
    return max((sum(p) for p in parts if sum(p) >= max(k, 1) and (diversity is None or diversity.decide(p))), default=0)


@given(st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=1, max_size=4), even | st.none(),
       st.integers(1, 8))  # fmt: skip
def test_no_class_loses_more_rows_than_it_must(rows: list[list[int]], diversity: Diversity | None, k: int) -> None:
    kept = kept_rows(np.array(rows), diversity, k)
    assert (kept <= np.array(rows)).all()
    assert kept.sum(axis=1).tolist() == [most_kept(row, diversity, k) for row in rows]
    for row in kept.tolist():
        assert not any(row) or (sum(row) >= k and (diversity is None or diversity.decide(row)))


@pytest.mark.slow
@given(st.sampled_from(["distinct:2", "entropy:2.5", "recursive:2,2", "simple:2", "functional:0.5,3"]), st.integers(1, 8),
       st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0]))  # fmt: skip
def test_the_minimal_tables_are_those_of_looking_at_every_node(diversity: str, k: int, share: float) -> None:
    policy = marginals.Policy(k_link=k, diversity=diversity)
    nodes = [{"age": age, "sex": sex} for age in range(4) for sex in range(2)]
    lost = {tuple(node.values()): thinned_table(table, node, policy.requirements_of(table)).left_out for node in nodes}
    passing = {node for node, left_out in lost.items() if left_out <= int(share * table.rows)}
    minimal = {node for node in passing if not any(o != node and all(a <= b for a, b in zip(o, node)) for o in passing)}
    found = marginals.thin(table, policy, share)
    assert {tuple(one.levels.values()) for one in found} == minimal
    assert all(one.recoding.rows + one.left_out == table.rows for one in found)
    assert [one.kl_divergence for one in found] == sorted(one.kl_divergence for one in found)


def test_without_rows_left_out_the_tables_are_those_of_anonymize() -> None:
    policy = marginals.Policy(k_link=4, diversity="entropy:2.5")
    (same,) = marginals.anonymize(table, policy).minimal
    (found,) = marginals.thin(table, policy, 0)
    assert (found.levels, found.left_out, found.thinned, found.dropped) == (same.levels, 0, 0, 0)
    assert found.kl_divergence == pytest.approx(same.kl_divergence)
    assert found.information_utility == pytest.approx(same.information_utility)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"diversity": "entropy:2", "register": True}, "register = true"),
        ({"k_link": 4, "diversity": "none", "min_cell": 3}, "least count of cells"),
        ({"diversity": "t-closeness:0.3"}, "not for t-closeness"),
        ({"diversity": "entropy:2 at odds 1.1"}, "not for entropy"),
        ({"diversity": "pd-recursive:2,2 may disclose Flu"}, "not for pd-recursive"),
    ],
)
def test_demands_that_leaving_out_does_not_keep_are_refused(policy: dict[str, object], said: str) -> None:
    with pytest.raises(marginals.InputError, match=said):
        marginals.thin(table, marginals.Policy(**policy), 0.1)
    with pytest.raises(marginals.InputError, match="from 0 to 1"):
        marginals.thin(table, marginals.Policy(k_link=2), 1.1)


@pytest.mark.slow
def test_the_command_writes_a_table_that_its_file_alone_verifies(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    out = tmp_path / "thinned.csv"

    def run(*options: object) -> Result:
        return CliRunner().invoke(main, ["anonymize", str(config), *map(str, options)])

    config.write_text(config.read_text().replace("entropy:2", "entropy:3"))
    done = run("--leave-out", 0.2, "--out", out)
    assert done.exit_code == 0, done.output
    assert "counts the rows left out too" in done.output
    told = json.loads(run("--leave-out", 0.2, "--out", tmp_path / "again.csv", "--json").stdout)["written"]
    assert 0 < told["left_out"] <= 0.2 * 600
    assert pd.read_csv(out)["count"].sum() == 600 - told["left_out"]
    verified = CliRunner().invoke(main, ["verify", str(out), "--config", str(config)])
    assert verified.exit_code == 0, verified.output
    assert run("--leave-out", 0.1, "--suppression", 0.1).exit_code == 2
    assert run("--leave-out", 0.1, "--method", "sweep").exit_code == 2

"""The table that KG06 begins with, Figure 1: 13 people, and their (2, 3)-diverse, 4-anonymous table."""

from pathlib import Path
from typing import Any

import pytest

import marginals

PEOPLE = """
zip,condition,age
14850,Measles,33
14853,Allergy,26
14853,Gout,22
14853,Cancer,32
14850,Flu,48
14850,Heart,47
14850,Flu,46
14853,Cancer,53
14853,Heart,51
13063,Flu,24
13063,Cancer,38
13068,Cancer,38
13068,Heart,30
"""
"""Figure 1(a)."""

CONFIG = """
data.path = "people.csv"
base.table = { zip = 1, age = 2 }
[attributes.zip]
role = "quasi-identifier"
prefixes = [4]
[attributes.age]
role = "quasi-identifier"
intervals = [20, 40]
start = 1
[attributes.condition]
role = "sensitive"
[privacy]
k_link = 4
diversity = "recursive:2,3 or equal"
"""
"""Figure 1(b): zip codes by four characters, ages up to 40 and above."""


@pytest.fixture
def config(tmp_path: Path) -> Any:
    (tmp_path / "people.csv").write_text(PEOPLE.lstrip())
    (tmp_path / "release.toml").write_text(CONFIG)
    return marginals.read_config(tmp_path / "release.toml")


def test_the_table_of_the_paper_is_diverse_as_the_paper_defines_it(config: Any) -> None:
    """KG06 Def. 2.5 allows the head to equal c times the tail, and two of the three groups do: 2, 2, 1 and 2, 1, 1."""
    table, levels = config.read_table(), dict(config.policy.base)
    assessed = marginals.recoding.assess(table, config.policy, levels)
    assert assessed.ok
    assert (assessed.assessment.classes, assessed.assessment.k_anonymity) == (3, 4)
    strict = marginals.Policy(k_link=4, diversity="recursive:2,3")
    assert [check.holds for check in marginals.recoding.assess(table, strict, levels).checks] == [True, False]


def test_it_can_be_published_and_claimed(config: Any, tmp_path: Path) -> None:
    """Figure 1(b) as the base table; what is published beside it satisfies the same."""
    release = marginals.publish(config.read_table(), config.policy).release
    release.write(tmp_path / "release")
    assert {"zip", "age", "condition"} in [set(margin) for margin in release.published.everything.margins]
    assert marginals.verify(tmp_path / "release").ok
    verified = marginals.verify(tmp_path / "release", claims=["diversity=recursive:2,3 or equal"])
    assert [(str(check.parameters.get("diversity")), check.holds) for check in verified.checks[1:]] == [
        ("recursive:2,3 or equal", True)
    ]
    assert not marginals.verify(tmp_path / "release", claims=["diversity=recursive:2,3"]).ok

"""What stands in the way is said with its number and what helps; no rare value is named that may tell of somebody."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import marginals
from checks import PrivacyConstraint
from command_line import main
from marginals import Attribute, NothingPublishableError, Policy
from marginals.publishing.obstacles import Obstacles, as_written, unmet_demands

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


def test_each_attribute_that_is_left_out_is_told_with_its_number_and_what_helps(
    table: marginals.Table, tmp_path: Path
) -> None:
    release = marginals.publish(table, Policy(k_link=K, base="none", diversity="none"))
    group = 'put the rare ones into larger groups (ladder = "fitted" does it), or leave the column out'
    assert release.steward.unpublished == {
        "famsize": "2 of its 9 values have fewer than 10 rows (18 has 2); merge the values above 6 "
        '(ladder = "fitted" does it), or leave the column out',
        "town": f"one of its values has 1 row, fewer than 10; {group}",
        "name": 'none of its 2,000 values has 10 rows; put them into larger groups (ladder = "fitted" does it), or leave '
        "the column out",
    }
    page = tmp_path / "page.html"
    release.steward.write(page)
    assert "18 has 2" in page.read_text()
    assert "18 has 2" not in marginals.pages.release_page.report_html(release.release.published).decode()


def test_the_only_rare_value_is_named_where_it_is_a_short_number() -> None:
    frame = people()
    frame["famsize"] = frame["famsize"].replace(8, 7)
    read = marginals.read_table(frame, ATTRIBUTES)
    release = marginals.publish(read, Policy(k_link=K, base="none", diversity="none"))
    assert release.steward.unpublished["famsize"].startswith(
        "its value 18 has 2 rows, fewer than 10; merge the values above 6 "
    )


@pytest.mark.parametrize(
    ("policy", "said", "smallest"),
    [
        (
            Policy(k_link=K, base="none", must_publish=[{"town": 0, "age": 1}], diversity="none"),
            "must_publish { town = 0, age = 1 } cannot be published: k_link = 10: 1 of 41 classes has fewer than 10 rows, "
            "the smallest 1; it would pass as age in 5-year bands: { age = 1, town = 1 }",
            "The smallest class: age=60-64, town=(a value of 1 row); 1 row.",
        ),
        (
            Policy(k_link=K, base={"age": 0, "famsize": 0}, diversity="distinct:2"),
            "it would pass as age in single years: { age = 0, famsize = 1 }",
            "The smallest class: famsize=2, age=0; 1 row.",
        ),
        (
            Policy(k_link=K, diversity="entropy:3"),
            "no single table satisfies the policy, not even one with all quasi-identifiers suppressed (diversity = "
            '"entropy:3" fails for ill in all rows together: as uncertain as 2.4',
            "",
        ),
        (
            Policy(k_link=K, k_combinatorial=3000, diversity="none"),
            "k_combinatorial = 3000 demands 3,000 rows in every class, and there are 2,000 rows in all",
            "",
        ),
        (
            Policy(k_link=K, max_cells=1, base="none", diversity="none"),
            "age: a margin of more than 1 cells. town: one of its values has 1 row, fewer than 10; ",
            "",
        ),
    ],
)
def test_a_policy_that_nothing_satisfies_tells_which_demand_and_by_how_much(
    table: marginals.Table, policy: Policy, said: str, smallest: str
) -> None:
    with pytest.raises(NothingPublishableError) as refused:
        marginals.publish(table, policy)
    assert said in str(refused.value)
    assert refused.value.in_the_table == smallest


def test_the_smallest_class_is_for_the_terminal_of_publish_alone(tmp_path: Path) -> None:
    frame = people()[["famsize", "age", "ill"]]
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "people.csv"\n[attributes.famsize]\nrole = "quasi-identifier"\n[attributes.age]\n'
        'role = "quasi-identifier"\nintervals = [50]\n[attributes.ill]\nrole = "sensitive"\n[privacy]\nk_link = 10\n'
        'diversity = "none"\n'
        '[base]\ntable = "none"\n[search]\nmust_publish = [{ famsize = 0, age = 1 }]\n'
    )
    command = ["publish", str(tmp_path / "release.toml"), "--out", str(tmp_path / "out")]
    run = CliRunner().invoke(main, command)
    assert run.exit_code == 1
    assert "The smallest class: " in run.stderr
    assert "it would pass as age in 50-year bands: { age = 1, famsize = 1 }" in run.stderr
    as_json = CliRunner().invoke(main, [*command, "--json"])
    assert "smallest class" not in as_json.stdout + as_json.stderr
    assert not (tmp_path / "out").exists()


def test_a_margin_is_written_as_a_config_has_it() -> None:
    assert as_written({"age": 1, "native country": 0}) == '{ age = 1, "native country" = 0 }'


@given(st.lists(st.integers(1, 6), min_size=2, max_size=7), st.integers(2, 6), st.booleans())
def test_what_is_to_be_merged_leaves_no_rare_value(sizes: list[int], k: int, texts: bool) -> None:
    """The values that are named have k rows each, and after merging so has every value; by counting."""
    names = [f"tok{number:04}" if texts else str(1000 + number) for number in range(len(sizes))]
    frame = pd.DataFrame({"size": [name for name, rows in zip(names, sizes) for _ in range(rows)]})
    table = marginals.read_table(frame, {"size": "quasi-identifier"})
    requirements = Policy(k_link=k).requirements(())
    obstacles = Obstacles(table, requirements, PrivacyConstraint(table.cube, requirements))
    if min(sizes) >= k:
        return
    said = obstacles.of_attribute("size", ())
    rows = dict(zip(names, sizes))
    assert all(rows[name] >= k for name in re.findall(r"tok\d{4}|\b1\d{3}\b", said)), said
    if "merge the values" in said:
        low, high = (re.search(rf"{side} (\d+)", said) for side in ("below", "above"))
        kept = [n for n in names if (low is None or int(n) >= int(low[1])) and (high is None or int(n) <= int(high[1]))]
        merged = [sum(r for n, r in rows.items() if n < kept[0]), sum(r for n, r in rows.items() if n > kept[-1])]
        assert all(rows[name] >= k for name in kept)
        assert all(not total or total >= k for total in merged)


@given(st.data())
def test_the_coarser_margin_passes_and_no_nearer_one_does(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    rows = data.draw(st.integers(5, 60))
    frame = pd.DataFrame({"age": rng.integers(0, 16, rows), "sex": rng.choice(["f", "m"], rows)})
    attributes = {"age": Attribute("quasi-identifier", intervals=[2, 8]), "sex": "quasi-identifier"}
    table = marginals.read_table(frame, attributes)
    k = data.draw(st.integers(1, 12))
    requirements = Policy(k_link=k).requirements(())
    constraint = PrivacyConstraint(table.cube, requirements)
    margin = {"age": data.draw(st.integers(0, 2)), "sex": 0}
    refused = Obstacles(table, requirements, constraint).of_margin(table.domain.mask(margin))

    def passes(age: int, sex: int) -> bool:
        width = {0: 1, 1: 2, 2: 8, 3: 16}[age]
        keys = list(zip(frame["age"] // width, frame["sex"] if sex == 0 else ["*"] * rows))
        return all(keys.count(key) >= k for key in keys)

    assert (refused is None) is passes(**margin)
    if refused is None:
        return
    nodes = [(age, sex) for age, sex in product(range(margin["age"], 4), (0, 1)) if (age, sex) != (3, 1)]
    passing = [node for node in nodes if passes(*node)]
    if not passing:
        assert "no coarser one" in refused.reason
        return
    best = min(((age == 3) + (sex == 1), age + sex) for age, sex in passing)
    told = re.search(r"\{ age = (\d), sex = (\d) \}", refused.reason)
    assert told is not None
    age, sex = int(told[1]), int(told[2])
    assert (age, sex) in passing
    assert ((age == 3) + (sex == 1), age + sex) == best


def test_demands_that_are_met_are_not_told(table: marginals.Table) -> None:
    requirements = Policy(k_link=K, diversity="distinct:3").requirements(("ill",))
    assert unmet_demands(table.cube.table(table.domain.mask({"ill": 0})), requirements) == []
    (unmet,) = unmet_demands(
        table.cube.table(table.domain.mask({"age": 0, "ill": 0})), Policy(k_link=100).requirements(())
    )
    assert unmet.startswith("k_link = 100: ")

"""A policy whose k-link and k-combinatorial differ: each is demanded, claimed and kept for what it is."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from checks import Claim, KCombinatorial, KLink
from command_line import main
from marginals import Attribute, Policy, Table
from models import Collection
from privacy_oracles import class_sizes, largest_counts

CONFIG = """
[data]
path = "people.csv"
[attributes.age]
role = "quasi-identifier"
intervals = [4, 8]
[attributes.sex]
role = "quasi-identifier"
[attributes.ill]
role = "sensitive"
[privacy]
k_link = {k_link}
k_combinatorial = {k_combinatorial}
[base]
table = "none"
"""


def people() -> pd.DataFrame:
    """The old have the flu, of whom five are men; the young have colds or gout."""
    old, young = np.arange(60) % 8 + 8, np.arange(60) % 8
    ill = ["flu"] * 60 + ["cold", "gout", "cold"] * 20
    sex = ["m"] * 5 + ["f"] * 55 + ["m", "f"] * 30
    return pd.DataFrame({"age": [*old, *young], "sex": sex, "ill": ill})


@pytest.fixture(scope="module")
def table() -> Table:
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[4, 8]),
        "sex": "quasi-identifier",
        "ill": "sensitive",
    }
    return marginals.read_table(people(), attributes)  # type: ignore[arg-type]


def smallest(table: Table, release: marginals.Release) -> tuple[int, int]:
    """The rows of the smallest class of a margin, and the most that the combination with least room can have.

    By walking over all cells that are published, and by integer programming; levels are known by their labels.
    """
    labels = {a: [set(level) for level in table.domain.hierarchy(a).labels] for a in table.domain.attributes}
    margins = [
        {a: labels[a].index(next(own for own in labels[a] if own >= set(release.domain.hierarchy(a).labels[level])))
         for a, level in margin.items()}
        for margin in release.margins
    ]  # fmt: skip
    published = Collection.of(table.cube, map(table.domain.mask, margins))
    most = largest_counts(published, ["ill"])
    return min(class_sizes(published, ["ill"])), int(most[most > 0].min())


def test_each_number_is_kept_for_what_it_is(table: Table) -> None:
    """Old men can be five at most by age and illness and by sex and illness together, though all classes have more rows."""
    by_class = marginals.publish(table, Policy(k_link=12, base="none", diversity="none")).release
    assert smallest(table, by_class)[0] >= 12
    assert 3 <= smallest(table, by_class)[1] < 12, "or the test says nothing"
    for k_link, k_combinatorial in ((12, 3), (3, 12), (12, None), (None, 12)):
        release = marginals.publish(
            table, Policy(k_link=k_link, k_combinatorial=k_combinatorial, base="none", diversity="none")
        ).release
        by_class_least, together = smallest(table, release)
        assert by_class_least >= (k_link or 1)
        assert together >= (k_combinatorial or 1)
        claims: list[Claim] = [KLink(k_link)] if k_link else []
        claims += [KCombinatorial(k_combinatorial)] if k_combinatorial else []
        assert list(release.claims) == claims


@pytest.mark.parametrize(("k_link", "k_combinatorial"), [(12, 3), (2, 7)])
def test_a_config_a_bundle_and_what_verifies_it_say_each_number_of_its_own(
    tmp_path: Path, k_link: int, k_combinatorial: int
) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    text = CONFIG.format(k_link=k_link, k_combinatorial=k_combinatorial)
    (tmp_path / "release.toml").write_text(text.replace("[base]", 'diversity = "none"\n[base]'))
    policy = marginals.read_config(tmp_path / "release.toml").policy
    assert (policy.k_link, policy.k_combinatorial) == (k_link, k_combinatorial)
    published = CliRunner().invoke(main, ["publish", str(tmp_path / "release.toml"), "--out", str(tmp_path / "out")])
    assert published.exit_code == 0, published.output
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    assert package["release"]["privacy"] == [
        {"criterion": "k-link", "k": k_link},
        {"criterion": "k-combinatorial", "k": k_combinatorial},
    ]
    checks = marginals.verify(tmp_path / "out").checks
    assert [(check.criterion, check.parameters.get("k")) for check in checks[1:]] == [
        ("k-link", k_link),
        ("k-combinatorial", k_combinatorial),
    ]
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(f"{k} rows." in page for k in (k_link, k_combinatorial))


def test_a_single_table_has_classes_as_large_as_both_numbers_demand(table: Table) -> None:
    """In a table by itself a class is a combination, and both numbers are about the rows that it has."""
    frame = people()
    for k_link, k_combinatorial in ((20, 2), (2, 20), (20, None), (None, 20)):
        found = marginals.anonymize(table, Policy(k_link=k_link, k_combinatorial=k_combinatorial)).minimal
        assert found
        for single in found:
            age = frame["age"] // [1, 4, 8, 16][single.levels["age"]]
            sex = frame["sex"] if single.levels["sex"] == 0 else "*"
            assert frame.groupby([age, sex] if single.levels["sex"] == 0 else [age]).size().min() >= 20


@pytest.mark.parametrize(("k_link", "k_combinatorial"), [(None, 20), (2, 20), (20, 2), (20, None)])
def test_what_a_table_itself_gives_away_is_judged_by_the_larger_number(
    table: Table, k_link: int | None, k_combinatorial: int | None
) -> None:
    policy = Policy(k_link=k_link, k_combinatorial=k_combinatorial, diversity="none")
    sizes = people().groupby(["age", "sex"]).size()
    (found,) = marginals.assess(table, policy).checks
    assert (found.holds, found.parameters["k"], found.worst_class.count) == (False, 20, sizes.min())
    assert marginals.assess(table, policy, {"age": 3}).ok, "32 and 88 rows"


def test_the_base_of_a_release_satisfies_the_larger_number_too(table: Table) -> None:
    """A base table with smaller classes could be in no release of the policy."""
    release = marginals.publish(table, Policy(k_link=2, k_combinatorial=20, diversity="none")).release
    assert smallest(table, release) >= (20, 20)


@pytest.mark.parametrize("method", ["sweep", "hilbert"])
def test_classes_that_are_recoded_one_by_one_have_as_many_rows_as_the_larger_number(
    tmp_path: Path, method: str
) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    privacy = CONFIG.format(k_link=2, k_combinatorial=20).replace("[base]", 'diversity = "functional:0.999,2"\n[base]')
    (tmp_path / "release.toml").write_text(privacy)
    command = ["anonymize", str(tmp_path / "release.toml"), "--method", method, "--out", str(tmp_path / "out.csv")]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    smallest = pd.read_csv(tmp_path / "out.csv").groupby(["age", "sex"])["count"].sum().min()
    assert smallest >= 20
    assert f" {smallest} rows." in result.output

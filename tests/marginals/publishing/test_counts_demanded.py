"""Counts that a policy demands: k-link and k-combinatorial, min_cell, and people of a population behind a sample."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import Claim, KCombinatorial, KLink, MinCell
from command_line import run
from marginals import Attribute, InputError, Policy, Table, read_table
from marginals.example import attributes, frame, release
from models import Collection
from privacy_oracles import class_sizes, largest_counts
from small_release import CONFIG, write_config, write_release


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """With min_cell = 11 in place of k_link."""
    path = write_config(tmp_path)
    path.write_text(CONFIG.replace("k_link = 5", "min_cell = 11"))
    return path


def test_a_release_keeps_min_cell_in_every_cell_and_everybody_can_check_that(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    printed = run("publish", config, "--out", out)
    assert (printed.exit_code, "No number below 11, shown or worked out." in printed.output) == (0, True), (
        printed.output
    )
    for file in (out / "marginals").glob("*.csv"):
        assert pd.read_csv(file)["count"].min() >= 11
    claims = json.loads((out / "datapackage.json").read_text())["release"]["privacy"]
    assert claims[0] == {"criterion": "min-cell", "k": 11}
    assert marginals.open_release(out).claims[0] == MinCell(11)
    assert marginals.verify(out).ok
    assert "set disease aside" not in (out / "report.html").read_text(encoding="utf-8")


def test_single_tables_are_judged_cell_by_cell(config: Path, tmp_path: Path) -> None:
    assessed = run("assess", config, "--json")
    checks = {check["criterion"]: check["verdict"] for check in json.loads(assessed.stdout)["checks"]}
    assert (assessed.exit_code, checks) == (1, {"min-cell": "fails", "l-diversity": "fails"})
    assert run("anonymize", config, "--out", tmp_path / "one.csv").exit_code == 0
    assert pd.read_csv(tmp_path / "one.csv")["count"].min() >= 11
    refused = run("anonymize", config, "--method", "sweep")
    assert (refused.exit_code, "leave min_cell out" in refused.output) == (2, True)


def test_of_people_with_several_rows_each_it_takes_as_many_rows_as_they_can_have(tmp_path: Path) -> None:
    several = frame.assign(id=[f"p{number // 2}" for number in range(len(frame))])
    counted = read_table(several, attributes, person="id", rows_per_person=2)
    release = marginals.publish(counted, Policy(min_cell=3, base="none", diversity="none")).release
    assert min(int(t.counts.min()) for t in release.published.collection.tables) >= 6
    release.write(tmp_path / "release")
    assert marginals.verify(tmp_path / "release", claims=["min-cell=3"]).ok
    smallest = min(int(t.counts.min()) for t in release.published.collection.tables)
    assert not marginals.verify(tmp_path / "release", claims=[f"min-cell={smallest // 2 + 1}"]).ok


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """600 people of 2,400; of every fourth there are more who are not in the table."""
    path = write_config(tmp_path)
    people = pd.read_csv(tmp_path / "people.csv").drop(columns="disease")
    pd.concat([people] * 4).to_csv(tmp_path / "everybody.csv", index=False)
    return path


def test_k_map_counts_people_of_the_population(sample: Path) -> None:
    """By sex and town, at levels of age, every row could be four times as many people as rows."""
    frame = pd.read_csv(sample.parent / "people.csv")
    smallest = int(frame.groupby(["age", "sex", "town"]).size().min()) * 4
    for k, status in ((smallest, 0), (smallest + 1, 1)):
        sample.write_text(
            CONFIG.replace("k_link = 5\n", "").replace('diversity = "entropy:2"', "")
            + f"[population]\npath = 'everybody.csv'\nk_map = {k}\n"
        )
        assessed = run("assess", sample, "--json", status=status)
        (check,) = json.loads(assessed.stdout)["checks"]
        assert (check["criterion"], check["worst"]["count"]) == ("k-map", smallest)
    found = json.loads(assessed.stdout)["reidentification"]
    assert found["journalist"]["highest"] == pytest.approx(found["prosecutor"]["highest"] / 4)
    assert found["marketer"] == pytest.approx(found["prosecutor"]["average"] / 4)


def test_delta_presence_bounds_the_probability_of_being_in_the_table(sample: Path) -> None:
    for bounds, status in (("[0.25, 0.25]", 0), ("[0.0, 0.24]", 1), ("[0.26, 1.0]", 1)):
        sample.write_text(
            CONFIG.replace("k_link = 5\n", "").replace('diversity = "entropy:2"', "")
            + f"[population]\npath = 'everybody.csv'\ndelta_presence = {bounds}\n"
        )
        assert run("assess", sample, "--levels", "age=1").exit_code == status
    configured = marginals.read_config(sample)
    population = configured.read_population()
    assert not marginals.recoding.assess(configured.read_table(), configured.policy, population=population).ok


def test_a_sampling_fraction_stands_for_a_population(sample: Path) -> None:
    sample.write_text(CONFIG + "[population]\nsampling_fraction = 0.25\n")
    found = json.loads(run("assess", sample, "--json").stdout)["reidentification"]
    assert found["estimated"]
    assert found["journalist"]["highest"] < found["prosecutor"]["highest"]
    assert run("publish", sample, "--out", sample.parent / "release").exit_code == 0


def test_releases_are_not_checked_for_them(sample: Path) -> None:
    sample.write_text(CONFIG + "[population]\npath = 'everybody.csv'\nk_map = 3\n")
    for command in (["publish", sample, "--out", sample.parent / "release"], ["anonymize", sample]):
        refused = run(*command, status=2)
        assert "single tables only" in refused.output
    sample.write_text(CONFIG)
    assert run("publish", sample, "--out", sample.parent / "release").exit_code == 0
    refused = run("verify", sample.parent / "release", "--check", "k-map=5")
    assert (refused.exit_code, "decided of single tables only" in refused.output) == (2, True)


def people() -> pd.DataFrame:
    """The old have the flu, of whom five are men; the young have colds or gout."""
    old, young = np.arange(60) % 8 + 8, np.arange(60) % 8
    ill = ["flu"] * 60 + ["cold", "gout", "cold"] * 20
    sex = ["m"] * 5 + ["f"] * 55 + ["m", "f"] * 30
    return pd.DataFrame({"age": [*old, *young], "sex": sex, "ill": ill})


OLD_AND_YOUNG = {"age": "quasi-identifier\nintervals = [4, 8]", "sex": "quasi-identifier", "ill": "sensitive"}


@pytest.fixture(scope="module")
def old_and_young() -> Table:
    attributes = {"age": Attribute("quasi-identifier", intervals=[4, 8]), "sex": "quasi-identifier", "ill": "sensitive"}
    return marginals.read_table(people(), attributes)  # type: ignore[arg-type]


def smallest(table: Table, release: marginals.Release) -> tuple[int, int]:
    """The rows of the smallest class of a margin, and the most that the combination with least room can have.

    By walking over all cells that are published, and by integer programming; levels are known by their labels.
    """
    labels = {a: [set(level) for level in table.domain.hierarchy(a).labels] for a in table.domain.attributes}
    margins = [
        {a: labels[a].index(next(own for own in labels[a] if own >= set(release.domain.hierarchy(a).labels[level])))
         for a, level in margin.items()}
        for margin in release.published.everything.margins
    ]  # fmt: skip
    published = Collection.of(table.cube, map(table.domain.mask, margins))
    most = largest_counts(published, ["ill"])
    return min(class_sizes(published, ["ill"])), int(most[most > 0].min())


def test_each_number_is_kept_for_what_it_is(old_and_young: Table) -> None:
    """Old men can be five at most by age and illness and by sex and illness together, though all classes have more rows."""
    by_class = marginals.publish(old_and_young, Policy(k_link=12, base="none", diversity="none")).release
    assert smallest(old_and_young, by_class)[0] >= 12
    assert 3 <= smallest(old_and_young, by_class)[1] < 12, "or the test says nothing"
    for k_link, k_combinatorial in ((12, 3), (3, 12), (12, None), (None, 12)):
        release = marginals.publish(
            old_and_young, Policy(k_link=k_link, k_combinatorial=k_combinatorial, base="none", diversity="none")
        ).release
        by_class_least, together = smallest(old_and_young, release)
        assert by_class_least >= (k_link or 1)
        assert together >= (k_combinatorial or 1)
        claims: list[Claim] = [KLink(k_link)] if k_link else []
        claims += [KCombinatorial(k_combinatorial)] if k_combinatorial else []
        assert list(release.claims) == claims


@pytest.mark.parametrize(("k_link", "k_combinatorial"), [(12, 3), (2, 7)])
def test_a_config_a_bundle_and_what_verifies_it_say_each_number_of_its_own(
    tmp_path: Path, k_link: int, k_combinatorial: int
) -> None:
    privacy = f'k_link = {k_link}\nk_combinatorial = {k_combinatorial}\ndiversity = "none"\n'
    write_release(tmp_path, people(), OLD_AND_YOUNG, f'[privacy]\n{privacy}[base]\ntable = "none"\n')
    policy = marginals.read_config(tmp_path / "release.toml").policy
    assert (policy.k_link, policy.k_combinatorial) == (k_link, k_combinatorial)
    run("publish", tmp_path / "release.toml", "--out", tmp_path / "out", status=0)
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


def test_a_single_table_has_classes_as_large_as_both_numbers_demand(old_and_young: Table) -> None:
    """In a table by itself a class is a combination, and both numbers are about the rows that it has."""
    frame = people()
    for k_link, k_combinatorial in ((20, 2), (2, 20), (20, None), (None, 20)):
        found = marginals.anonymize(old_and_young, Policy(k_link=k_link, k_combinatorial=k_combinatorial)).minimal
        assert found
        for single in found:
            age = frame["age"] // [1, 4, 8, 16][single.levels["age"]]
            sex = frame["sex"] if single.levels["sex"] == 0 else "*"
            assert frame.groupby([age, sex] if single.levels["sex"] == 0 else [age]).size().min() >= 20


@pytest.mark.parametrize(("k_link", "k_combinatorial"), [(None, 20), (2, 20), (20, 2), (20, None)])
def test_what_a_table_itself_gives_away_is_judged_by_the_larger_number(
    old_and_young: Table, k_link: int | None, k_combinatorial: int | None
) -> None:
    policy = Policy(k_link=k_link, k_combinatorial=k_combinatorial, diversity="none")
    sizes = people().groupby(["age", "sex"]).size()
    (found,) = marginals.recoding.assess(old_and_young, policy).checks
    assert (found.holds, found.parameters["k"], found.worst_class.count) == (False, 20, sizes.min())
    assert marginals.recoding.assess(old_and_young, policy, {"age": 3}).ok, "32 and 88 rows"


def test_the_base_of_a_release_satisfies_the_larger_number_too(old_and_young: Table) -> None:
    release = marginals.publish(old_and_young, Policy(k_link=2, k_combinatorial=20, diversity="none")).release
    assert smallest(old_and_young, release) >= (20, 20)


@pytest.mark.parametrize("method", ["sweep", "hilbert"])
def test_classes_that_are_recoded_one_by_one_have_as_many_rows_as_the_larger_number(
    tmp_path: Path, method: str
) -> None:
    privacy = 'k_link = 2\nk_combinatorial = 20\ndiversity = "functional:0.999,2"\n'
    write_release(tmp_path, people(), OLD_AND_YOUNG, f"[privacy]\n{privacy}")
    result = run("anonymize", tmp_path / "release.toml", "--method", method, "--out", tmp_path / "out.csv", status=0)
    smallest = pd.read_csv(tmp_path / "out.csv").groupby(["age", "sex"])["count"].sum().min()
    assert smallest >= 20
    assert f" {smallest} rows." in result.output


@pytest.mark.parametrize("name", ["k_link", "k_combinatorial", "min_cell", "min_published_cell"])
def test_a_count_of_1_would_be_a_claim_that_every_table_satisfies(name: str) -> None:
    demanded: dict[str, Any] = {name: 1}
    with pytest.raises(InputError, match=f"{name} must be a whole number from 2 .* such as 10, or leave it out"):
        Policy(diversity="none", **demanded)
    with pytest.raises(InputError, match="1 demands nothing, so write a larger number, such as 10"):
        release.verify([f"{name.replace('_', '-')}=1"])


@pytest.mark.parametrize(
    "text", ["distinct:1", "simple:1", "entropy:1", "recursive:3,1", "distinct:1 leaving out missing"]
)
def test_a_diversity_of_every_table_is_no_promise(text: str) -> None:
    for diversity in (text, {"diagnosis": ["distinct:2", text]}):
        with pytest.raises(InputError, match="demands nothing, as every table satisfies it"):
            Policy(k_link=4, diversity=diversity)
    for kind in ("diversity", "register"):
        with pytest.raises(InputError, match=f"demands nothing, as every table satisfies it; write {kind}=distinct:2"):
            release.verify([f"{kind}={text}"])


def test_a_grid_without_a_count_demands_none_and_cannot_ask_for_1(old_and_young: Table) -> None:
    policy = Policy(diversity="none")
    assert marginals.frontier(old_and_young, policy, strategies=["exact"], jobs=1).k.tolist() == [1]
    with pytest.raises(InputError, match="k is a whole number from 2"):
        marginals.frontier(old_and_young, policy, k=[1, 2], jobs=1)

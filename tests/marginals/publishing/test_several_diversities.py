"""A diversity of each sensitive attribute, and of each level: from a config to a release that others verify."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

import marginals
from checks import Distinct, Entropy, MaxentDiversity
from command_line import run
from marginals import InputError
from marginals.errors import NothingPublishableError
from small_release import write_release

CODES = {chapter: [f"{chapter}{number}" for number in range(1, 7)] for chapter in "AB"}

BOTH = '{ diagnosis = ["entropy:6", "distinct:2"], job = "distinct:2" }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Areas each of which has the six codes of one chapter, equally often; in all sexes alike, and jobs by the area too."""
    rows = [
        f"{area},{sex},{code},{job}"
        for (area, chapter), sex, job in product([("north", "A"), ("south", "B")], ["f", "m"], ["clerk", "farmer"])
        for code in CODES[chapter]
        for _ in range(2)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["area,sex,diagnosis,job", *rows]))
    (tmp_path / "diagnosis.csv").write_text(
        "\n".join(f"{code};{chapter};*" for chapter, codes in CODES.items() for code in codes)
    )
    return tmp_path


def config(folder: Path, diversity: str, labels: str = "") -> Path:
    roles = {
        "area": "quasi-identifier",
        "sex": "quasi-identifier",
        "diagnosis": f'sensitive\nhierarchy = "diagnosis.csv"\n{labels}',
        "job": "sensitive",
    }
    privacy = f"k_link = 5\nk_combinatorial = 5\ndiversity = {diversity}\n"
    more = f'[privacy]\n{privacy}[base]\ntable = "none"\n'
    return write_release(folder, pd.read_csv(folder / "rows.csv"), roles, more)


def published(folder: Path, diversity: str, labels: str = "", **changes: object) -> marginals.Release:
    read = marginals.read_config(config(folder, diversity, labels))
    return marginals.publish(read.read_table(), replace(read.policy, **changes)).release


BY_AREA = {"must_publish": [{"area": 0, "diagnosis": 0}]}
"""A search comes to codes by area by way of chapters by area, each of which is certain, and is refused."""

ONLY_CODES = {"max_attributes": 1, "must_publish": [{"diagnosis": 0}]}


def shows(release: marginals.Release, *attributes: str) -> bool:
    return any({*attributes} <= {*margin} for margin in release.published.everything.margins)


def test_codes_alone_are_published_with_every_chapter_certain(folder: Path) -> None:
    assert shows(published(folder, '"entropy:6"', **BY_AREA), "area", "diagnosis")
    release = published(folder, BOTH)
    assert not shows(release, "area", "diagnosis")
    assert shows(release, "diagnosis")
    assert release.verify().ok


@pytest.mark.parametrize("labels", ["", 'labels = "public"'])
def test_others_verify_every_level_from_the_files_alone(folder: Path, labels: str) -> None:
    release = published(folder, BOTH, labels)
    claims = [claim for claim in release.claims if isinstance(claim, MaxentDiversity)]
    assert claims == [
        MaxentDiversity(Entropy(6), "diagnosis"),
        MaxentDiversity(Distinct(2), "diagnosis", 1),
        MaxentDiversity(Distinct(2), "job"),
    ]
    release.write(folder / "release")
    stated = json.loads((folder / "release" / "datapackage.json").read_text())["release"]["privacy"]
    assert {"criterion": "maxent-diversity", "diversity": "distinct:2", "sensitive": "diagnosis", "level": 1} in stated
    levels = (folder / "release" / "hierarchies" / "diagnosis.csv").read_text().splitlines()[0]
    assert levels == "level0,level1,level2"
    assert marginals.verify(folder / "release").ok
    assert "level = 1" in (folder / "release" / "report.html").read_text()


def test_a_check_by_level_names_the_level_that_fails(folder: Path) -> None:
    published(folder, '"entropy:6"', 'labels = "public"', **BY_AREA).write(folder / "release")
    demanded = [MaxentDiversity(Entropy(6), "diagnosis"), MaxentDiversity(Distinct(2), "diagnosis", 1)]
    fine, coarse = marginals.verify(folder / "release", claims=demanded).checks[1:3]
    assert (fine.holds, coarse.holds, coarse.parameters["level"]) == (True, False, 1)
    for wrong in ("diversity={", "diversity={}", "diversity={ diagnosis = 3 }", 'diversity={ a = "b" }\nx = 1'):
        printed = run("verify", folder / "release", "--check", wrong)
        assert (printed.exit_code, "diversity" in printed.output) == (2, True)


def test_a_level_that_a_release_does_not_tell_is_undecided(folder: Path) -> None:
    published(folder, '{ diagnosis = "entropy:6", job = "none" }', **ONLY_CODES).write(folder / "release")
    demanded = [MaxentDiversity(Entropy(6), "diagnosis"), MaxentDiversity(Distinct(2), "diagnosis", 1)]
    verified = marginals.verify(folder / "release", claims=demanded)
    assert [finding.verdict.value for finding in verified.checks if finding.criterion != "integrity"] == [
        "holds",
        "undecided",
    ]


def test_nothing_that_satisfies_it_says_which_level_is_in_the_way(folder: Path) -> None:
    diversity = '{ diagnosis = ["distinct:2", "distinct:3"], job = "none" }'
    assert not shows(published(folder, diversity), "diagnosis")
    with pytest.raises(NothingPublishableError, match='"distinct:3" fails for diagnosis at level 1'):
        published(folder, diversity, base="best")


def test_two_releases_are_verified_by_the_levels_of_both(folder: Path) -> None:
    published(folder, BOTH).write(folder / "fine")
    read = marginals.read_config(config(folder, BOTH))
    demanded = {"diagnosis": ["none", "distinct:2"], "job": "none"}
    policy = marginals.Policy(k_link=5, diversity=demanded, base="none", must_not_publish=[{"diagnosis": 0}])
    release = marginals.publish(read.read_table(), policy).release
    assert [claim.level for claim in release.claims if isinstance(claim, MaxentDiversity)] == [0]
    release.write(folder / "coarse")
    together = marginals.verify(folder / "fine", folder / "coarse")
    assert together.ok
    assert sum("level" in finding.parameters for finding in together.checks) == 1


def test_single_tables_are_judged_by_level_too(folder: Path) -> None:
    path = config(folder, '{ diagnosis = ["entropy:6", "distinct:2"], job = "none" }')
    read = marginals.read_config(path)
    best = marginals.anonymize(read.read_table(), read.policy).best()
    assert best is not None
    assert best.levels["area"] == 1
    assessed = marginals.recoding.assess(read.read_table(), read.policy)
    assert [check.parameters.get("level", 0) for check in assessed.checks] == [0, 0, 1]
    printed = run("anonymize", path, "--out", folder / "table.csv")
    assert (printed.exit_code, "distinct:2 at level 1 in diagnosis" in printed.output) == (0, True)
    printed = run("anonymize", path, "--method", "hilbert")
    assert (printed.exit_code, "one diversity" in printed.output) == (2, True)


def test_levels_that_are_fitted_are_demanded_by_nobody(folder: Path) -> None:
    """Nobody knows beforehand which these are."""
    with pytest.raises(InputError, match="fitted to the counts"):
        published(folder, '{ diagnosis = ["distinct:2", "distinct:2"] }', 'ladder = "fitted"')

"""The risk of a release with numbers that are worked out by hand: its bounds, its prior, and whom it is of."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals import Release, Role, read_rows
from marginals.bundle.content import BundleContent
from marginals.risk import Attackers, BundleRisk, HarmModel, PeopleTable, bundle_risk
from models import Collection, DataCube
from written_bundles import write_bundle

JOBS = pd.DataFrame([("a", "u")] + [("a", "v")] * 3 + [("b", "u")] * 4 + [("b", "v")] * 2, columns=["job", "town"])
"""Four have job a and six job b; five live in each town. A release tells no more."""

SPY = PeopleTable("spy.csv", pd.DataFrame({"job": ["a"], "town": ["u"]}))
"""Whoever is of job a and town u: two rows are expected to fit, none at least and four at most."""

CLUB = PeopleTable("club.csv", pd.DataFrame({"job": ["b", "b"], "town": ["u", ""]}))
"""Job b and town u: three rows expected, one at least, five at most. Job b wherever: six rows, whatever the tables."""


def table() -> marginals.Table:
    return marginals.read_table(JOBS, {"job": "quasi-identifier", "town": "quasi-identifier"})


def content() -> BundleContent:
    counted = table()
    masks = [counted.domain.mask({"job": 0}), counted.domain.mask({"town": 0})]
    cube = DataCube([counted.cube.table(mask) for mask in masks])
    return BundleContent(Collection.of(cube, masks), dict.fromkeys(JOBS, Role.QUASI_IDENTIFIER))


def risk_for(attackers: Attackers, harm: HarmModel | None = None) -> BundleRisk:
    rows = read_rows(JOBS, {"job": "quasi-identifier", "town": "quasi-identifier"})
    return bundle_risk(Release(content()), "jobs", rows, attackers, harm or HarmModel())


def test_the_risk_of_one_person_lies_between_one_by_most_and_one_by_least_of_the_rows_that_fit() -> None:
    found = risk_for(Attackers((SPY,)))
    assert found.risk == pytest.approx(1 / 2)
    assert found.bounds == pytest.approx((1 / 4, 1))
    assert found.identification_probability == pytest.approx(1 / 2)
    assert (found.name, found.people) == ("jobs", 1)


def test_the_risk_of_people_is_their_mean() -> None:
    """Both of the club fit those of job b and town u: at least two of them cannot be told apart."""
    found = risk_for(Attackers((CLUB,)))
    assert found.risk == pytest.approx((1 / 3 + 1 / 6) / 2)
    assert found.bounds == pytest.approx(((1 / 5 + 1 / 6) / 2, (1 / 2 + 1 / 6) / 2))
    assert found.people == 2


@pytest.mark.parametrize("prior", [(0.25, 0.75), (0.9, 0.1), (1.0, 0.0)])
def test_risk_and_bounds_are_expected_over_the_dictionaries_by_their_prior(prior: tuple[float, float]) -> None:
    spy, club = risk_for(Attackers((SPY,))), risk_for(Attackers((CLUB,)))
    found = risk_for(Attackers((SPY, CLUB), prior))
    first, second = prior
    assert found.risk == pytest.approx(first * spy.risk + second * club.risk)
    assert found.bounds == pytest.approx([first * s + second * c for s, c in zip(spy.bounds, club.bounds)])
    expected = first * spy.identification_probability + second * club.identification_probability
    assert found.identification_probability == pytest.approx(expected)
    assert found.people == 3


def test_harm_weighs_what_is_disclosed() -> None:
    """Of job a a harm of 5, of the town one of 2, and nothing else: seven for whoever is found."""
    found = risk_for(Attackers((SPY,)), HarmModel(weights={"job": 5.0, "town": 2.0}))
    assert found.risk == pytest.approx(7 / 2)
    assert found.bounds == pytest.approx((7 / 4, 7))


def test_the_command_tells_the_same_numbers_and_the_least_risk_first(tmp_path: Path) -> None:
    JOBS.to_csv(tmp_path / "people.csv", index=False)
    SPY.frame.to_csv(tmp_path / "spy.csv", index=False)
    CLUB.frame.to_csv(tmp_path / "club.csv", index=False)
    roles = "".join(f'[attributes.{name}]\nrole = "quasi-identifier"\n' for name in JOBS)
    risk = '[risk]\ndictionaries = ["spy.csv", "club.csv"]\nprior = [0.25, 0.75]\n'
    (tmp_path / "release.toml").write_text(f'[data]\npath = "people.csv"\n{roles}[privacy]\nk_link = 1\n{risk}')
    write_bundle(content(), tmp_path / "in parts")
    whole = table().base_counts
    together = Collection.of(DataCube([whole]), [whole.mask])
    write_bundle(BundleContent(together, dict.fromkeys(JOBS, Role.QUASI_IDENTIFIER)), tmp_path / "as a whole")
    command = [
        "risk",
        str(tmp_path / "release.toml"),
        str(tmp_path / "as a whole"),
        str(tmp_path / "in parts"),
        "--json",
    ]
    answer = CliRunner().invoke(main, command)
    assert answer.exit_code == 0, answer.output
    apart, whole_release = json.loads(answer.stdout)["releases"]
    assert [Path(found["release"]).name for found in (apart, whole_release)] == ["in parts", "as a whole"]
    assert apart["risk"] == pytest.approx(0.25 * 1 / 2 + 0.75 * 1 / 4)
    assert apart["bounds"] == pytest.approx([0.25 * 1 / 4 + 0.75 * 11 / 60, 0.25 * 1 + 0.75 * 1 / 3])
    # One is of a and u, four of b and u, six of b.
    known = 0.25 * 1 + 0.75 * (1 / 4 + 1 / 6) / 2
    assert whole_release["risk"] == pytest.approx(known)
    assert whole_release["bounds"] == pytest.approx([known, known])

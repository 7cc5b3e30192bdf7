"""What a release leaves out of its hierarchies does not change what is concluded from it with the table at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import Verdict
from marginals import Attribute, Policy, Release
from models import Hierarchy
from search_oracles import required_only

CRAFTS = [("cook", "cook", "craft", "*"), ("chef", "cook", "craft", "*"), ("smith", "smith", "craft", "*")]
OFFICES = [(job, job, "office", "*") for job in ("clerk", "judge", "pope")]
JOBS = Hierarchy.from_rows([*CRAFTS, *OFFICES])
ILLS = Hierarchy.from_rows(
    [("flu", "viral", "*"), ("cold", "viral", "*"), ("gout", "other", "*"), ("ulcer", "other", "*")]
)
MARGINS = (
    [{"job": 1, "ill": 0}],
    [{"job": 2, "ill": 1}, {"job": 1, "sex": 0}],
    [{"job": 2, "sex": 0}, {"ill": 1, "sex": 0}],
)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    job = rng.choice(["cook", "chef", "smith", "clerk", "judge"], 300, p=[0.3, 0.2, 0.2, 0.2, 0.1])
    ill = np.where(rng.random(300) < 0.4, np.where(job == "cook", "flu", "gout"), rng.choice(ILLS.labels[0], 300))
    return pd.DataFrame({"job": job, "sex": rng.choice(["f", "m"], 300), "ill": ill})


def attributes(labels: str) -> dict[str, Attribute]:
    return {
        "job": Attribute("quasi-identifier", JOBS, labels=labels),
        "sex": Attribute("quasi-identifier"),
        "ill": Attribute("sensitive", ILLS, labels=labels),
    }


def release(margins: list[dict[str, int]], labels: str) -> Release:
    """Nothing but these margins, which are all that may be published."""
    table = marginals.read_table(people(), attributes(labels))
    policy = Policy(k_link=2, base="none", must_publish=margins, strategy=required_only, diversity="none")
    return marginals.publish(table, policy).release


@pytest.mark.parametrize("margins", MARGINS)
def test_attacks_with_the_truth_are_those_on_public_labels(margins: list[dict[str, int]], tmp_path: Path) -> None:
    truth = marginals.read_table(people(), attributes("private"))
    private, public = (
        marginals.attack(release(margins, labels).write(tmp_path / labels).path or "", truth=truth)
        for labels in ("private", "public")
    )
    assert marginals.plain(private.minimality) == marginals.plain(public.minimality)
    assert [of.determined for of in private.certain.values()] == [of.determined for of in public.certain.values()]
    for one, other in zip(private.attacked, public.attacked, strict=True):
        assert one.surest == other.surest


def written(labels: tuple[str, str], folder: Path) -> list[Path]:
    """Two releases, the first with illnesses and the second with their kinds."""
    releases = [release(margins, own) for margins, own in zip(MARGINS[:2], labels)]
    for number, each in enumerate(releases):
        each.write(folder / str(number))
    return [folder / str(number) for number in range(len(releases))]


@pytest.mark.parametrize("labels", [("private", "public"), ("public", "private"), ("public", "public")])
def test_releases_are_verified_together_where_one_says_how_their_labels_nest(
    labels: tuple[str, str], tmp_path: Path
) -> None:
    folders = written(labels, tmp_path)
    claims = ["k-link=2", "k-combinatorial=2", "diversity=distinct:2"]
    together = release([*MARGINS[0], *MARGINS[1]], "private").verify(claims)
    assert [check.verdict for check in marginals.verify(*folders, claims=claims).checks[1:]] == [
        check.verdict for check in together.checks
    ]
    assert marginals.attack(*folders).attacked


def test_releases_of_which_none_says_how_their_labels_nest_are_undecided_together(tmp_path: Path) -> None:
    checks = marginals.verify(*written(("private", "private"), tmp_path), claims=["k-link=2"]).checks
    assert checks[1].verdict is Verdict.UNDECIDED
    assert "generalize 'ill' differently" in checks[1].note


def test_a_query_below_the_published_levels_names_the_finest_and_not_what_rows_have() -> None:
    told = release(MARGINS[2], "private")
    for value in ("cook", "pope", "tailor", "19"):
        with pytest.raises(marginals.InputError) as refused:
            told.count({"job": value})
        assert str(refused.value).endswith("at level 0, are craft, office")


def test_an_attribute_that_no_marginal_shows_is_only_suppressed(tmp_path: Path) -> None:
    table = marginals.read_table(people(), attributes("private"))
    policy = Policy(
        k_link=2,
        base="none",
        strategy=required_only,
        must_publish=[{"sex": 0}],
        must_not_publish=[{"job": 2}, {"ill": 1}],
        diversity="none",
    )
    told = marginals.publish(table, policy).write(tmp_path / "release").release
    opened = marginals.open_release(tmp_path / "release")
    assert opened.domain == told.domain
    assert opened.domain.hierarchy("job").rows() == [("*",)]
    assert opened.published.unpublished == ("job", "ill")
    assert opened.verify().ok
    with pytest.raises(marginals.InputError, match="no marginal shows 'job'"):
        opened.count("job=cook")
    assert set(opened.rows(5, base_values=True)["job"]) == {"*"}
    assert opened.count(["job=*", "sex=f"]).exact
    assert marginals.attack(tmp_path / "release", truth=table).left_out == {"ill": "no marginal shows it"}
    opened.report(tmp_path / "report.html")


def test_numbers_behind_intervals_count_alike() -> None:
    frame = pd.DataFrame({"age": [20, 24, 31, 39, 39, 25] * 5, "ill": ["flu", "gout"] * 15})
    hierarchy = Hierarchy.from_intervals(["20", "39"], [5])
    releases = []
    for labels in ("private", "public"):
        given = {"age": Attribute("quasi-identifier", hierarchy, labels=labels), "ill": "sensitive"}
        policy = Policy(
            k_link=5, base="none", must_publish=[{"age": 1}], must_not_publish=[{"age": 0}], diversity="none"
        )
        releases.append(marginals.publish(marginals.read_table(frame, given), policy).release)
    private, public = releases
    assert private.mean("age").value == pytest.approx(public.mean("age").value)
    assert private.quantile("age", [0.1, 0.5, 0.9]).equals(public.quantile("age", [0.1, 0.5, 0.9]))
    cut, told = private.count("age>=22"), public.count("age>=22")
    assert (cut.lower, cut.upper, cut.value) == (told.lower, told.upper, pytest.approx(told.value))
    assert cut.cut == ("age 20-24",)
    rows = private.table("age", "ill", where="age>=22")
    assert rows["value"].sum() == pytest.approx(cut.value)
    assert set(rows["kind"]) == {cut.kind}

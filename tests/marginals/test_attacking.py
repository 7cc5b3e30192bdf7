"""Attacks on bundles: several together against each alone, what refused steps tell, and what the report says of both."""

import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import marginals
from checks import Claim, KCombinatorial, KLink, MaxentDiversity, parse_diversity
from checks.attacks.knowledge import certain_cells, knowledge
from checks.attacks.minimality import PossibleClaim, Refinement
from command_line import main
from html_pages import Page
from marginals import Attribute, Table
from marginals import attacks as composition_module
from marginals.attacks import NonsensitiveSmall, Threshold, disclosure_measures
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import union
from marginals.pages import release_page as report
from marginals.pages.release_page import report_html
from marginals.wording import certain_in_words, nonsensitive_in_words, refusal_in_words, threshold_in_words
from models import NEVER, Collection, DataCube, Hierarchy, Margin, MarginalModel, TooManyCellsError
from written_bundles import write_bundle


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def table_of(rows: list[tuple[str, str, str]]) -> Table:
    frame = pd.DataFrame(rows, columns=["town", "ill", "sex"])
    steps = Hierarchy.from_rows([("oak", "wood", "*"), ("elm", "wood", "*"), ("bay", "sea", "*")])
    hierarchy = Attribute("quasi-identifier", hierarchy=steps)
    return marginals.read_table(frame, {"town": hierarchy, "ill": "sensitive", "sex": "quasi-identifier"})


def published_of(table: Table, margins: list[dict[str, int]], claims: tuple[Claim, ...] = ()) -> BundleContent:
    masks = list(map(table.domain.mask, margins))
    return BundleContent(
        Collection.of(DataCube([table.cube.table(mask) for mask in masks]), masks), table.roles, claims
    )


def random_rows(seed: int, number: int) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(seed)
    drawn = zip(
        rng.choice(["oak", "elm", "bay"], number), rng.choice(["flu", "gout"], number), rng.choice(["f", "m"], number)
    )
    return [(str(town), str(ill), str(sex)) for town, ill, sex in drawn]


@pytest.mark.parametrize("seed", range(6))
def test_several_releases_tell_what_all_tables_with_their_marginals_say(seed: int, tmp_path: Path) -> None:
    """Two releases show the illness by town and by sex: all tables of 3 x 2 x 2 cells with both, and with each."""
    table = table_of([*random_rows(seed, 6), ("oak", "flu", "f")])
    by_town, by_sex = {"town": 0, "ill": 0}, {"sex": 0, "ill": 0}
    write_bundle(published_of(table, [by_town]), tmp_path / "a")
    write_bundle(published_of(table, [by_sex]), tmp_path / "b")
    (composed,) = marginals.attack(tmp_path / "a", tmp_path / "b").compositions
    assert dict(composed.margin) == {"town": 0, "sex": 0, "ill": 0}
    sizes = [table.domain.hierarchy(a).size(0) for a in ("town", "sex", "ill")]
    counts = np.zeros(sizes, dtype=np.int64)
    base = table.cube.table(table.domain.mask(dict(composed.margin)))
    counts[tuple(base.column(a, 0) for a in ("town", "sex", "ill"))] = base.counts
    women = [range(rows + 1) for rows in counts.sum(axis=1).ravel()]
    worlds = [np.stack([w, counts.sum(axis=1) - w], axis=1) for w in (np.reshape(f, (3, 2)) for f in product(*women))]
    both = [world for world in worlds if np.array_equal(world.sum(axis=0), counts.sum(axis=0))]
    alone = composed.each[0]
    for held, possible in ((composed.together, both), (alone, worlds)):
        low, high = np.min(possible, axis=0), np.max(possible, axis=0)
        assert held.reconstruction.cells == np.count_nonzero(high)
        assert held.reconstruction.determined == np.count_nonzero((low == high) & (high > 0))
        most = np.max([world.sum(axis=2) for world in possible], axis=0)
        assert held.smallest == most[most > 0].min()
    assert composed.together.skewness is not None
    assert all(
        held.skewness is not None and held.skewness <= composed.together.skewness + 1e-9 for held in composed.each
    )
    answer = json.loads(run("attack", tmp_path / "a", tmp_path / "b", "--json").stdout)
    assert answer["composition"] == [composed.as_json()]
    assert [held["releases"] for held in answer["composition"][0]["each"]] == [
        [str(tmp_path / "a")],
        [str(tmp_path / "b")],
    ]
    words = run("attack", tmp_path / "a", tmp_path / "b").output
    assert words.count("smallest possible class") == 3
    assert "each release by itself" in words


def test_a_release_that_is_not_known_alone_is_named_beside_what_all_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    people = [("oak", "flu", "f"), ("elm", "gout", "m"), ("oak", "gout", "f"), ("elm", "flu", "m")] * 5
    bundles = [("a", published_of(table_of(people), [{"town": 0, "ill": 0}]))]
    bundles += [("b", published_of(table_of(people), [{"ill": 0, "sex": 0}]))]
    together = union(bundles)
    model = MarginalModel(together.collection)
    holding = composition_module._holding

    def too_large(names: tuple[str, ...], *rest: Any) -> Any:
        if names == ("b",):
            raise TooManyCellsError("too many")
        return holding(names, *rest)

    monkeypatch.setattr(composition_module, "_holding", too_large)
    (composed,) = composition_module.composition(bundles, together, model)
    assert [held.releases for held in composed.each] == [("a",)]
    assert composed.unknown == {"b": "too many"}


def wong(folder: Path) -> Table:
    """Two of Oak and five of Elm; that they are not told apart says that the two are alike (distinct 2-diversity)."""
    rows = [("oak", "flu"), ("oak", "flu"), ("elm", "gout"), ("elm", "gout"), *[("elm", "mumps")] * 3]
    (folder / "people.csv").write_text("town,ill\n" + "".join(f"{town},{ill}\n" for town, ill in rows))
    (folder / "town.csv").write_text("oak;wood;*\nelm;wood;*\n")
    (folder / "release.toml").write_text(
        '[data]\npath = "people.csv"\n[attributes.town]\nrole = "quasi-identifier"\nhierarchy = "town.csv"\n'
        '[attributes.ill]\nrole = "sensitive"\n[privacy]\ndiversity = "distinct:2"\n'
    )
    return marginals.read_config(folder / "release.toml").read_table()


def test_those_who_know_the_people_conclude_more_from_a_refused_step(tmp_path: Path) -> None:
    claims = (MaxentDiversity(parse_diversity("distinct:2"), "ill"),)
    write_bundle(published_of(wong(tmp_path), [{"town": 1, "ill": 0}], claims), tmp_path / "release")
    answer = json.loads(run("attack", tmp_path / "release", "--truth", tmp_path / "release.toml", "--json").stdout)
    (holder,), (insider,) = answer["minimality"]["readers"], answer["minimality"]["readers_knowing_quasi_identifiers"]
    assert holder["possible_claims"] == insider["possible_claims"] == [{**claims[0].as_json(), "candidate_classes": 1}]
    assert (holder["acceptance_probability"], holder["largest_posterior_change"]) == (None, None)
    assert insider["acceptance_probability"] == pytest.approx(16 / 21)
    assert insider["largest_posterior_change"]["cell"] == {"town": "oak"}
    assert (
        insider["largest_posterior_change"]["before"],
        insider["largest_posterior_change"]["after"],
    ) == pytest.approx((3 / 7, 3 / 5))
    words = run("attack", tmp_path / "release", "--truth", tmp_path / "release.toml").output
    assert (
        "in the only class the finer value would leave a group with a distribution of ill that is not distinct:2"
        in words
    )
    assert "mumps from 0.429 to 0.6" in words
    assert "its probability was 0.238, so no belief changes by more than 0.762" in words


def test_what_counts_alone_refuse_tells_nothing_more_to_those_who_know_them(tmp_path: Path) -> None:
    write_bundle(published_of(wong(tmp_path), [{"town": 1, "ill": 0}], (KLink(3),)), tmp_path / "release")
    words = run("attack", tmp_path / "release", "--truth", tmp_path / "release.toml").output
    assert "refused whatever the data" in words.partition("for those who know all")[2]


@pytest.mark.parametrize(
    ("margins", "claims", "said"),
    [
        ([{"town": 1, "ill": 0}], (), "makes no claim"),
        ([{"town": 1, "ill": 0}], (KLink(100),), "not proven to hold"),
        ([{"town": 1, "ill": 0}, {"ill": 0, "sex": 0}, {"sex": 0, "town": 1}], (KLink(2),), "no junction tree"),
        ([{"town": 1, "ill": 0}, {"ill": 0, "sex": 0}], (KLink(2), KCombinatorial(2)), "several margins together"),
        (
            [{"town": 0, "ill": 0}],
            (KLink(1),),
            "not examined: levels that the release does not name, finer than any published",
        ),
        (
            [{"town": 1, "ill": 0}],
            (KLink(2),),
            "in one class the finer value would leave a group of 1 row (town=wood); by maximum entropy",
        ),
        ([{"town": 1, "ill": 0}, {"town": 0}], (KLink(2),), "no claim can have refused it"),
    ],
)
def test_words_say_what_a_refused_step_tells_or_why_it_tells_nothing(
    tmp_path: Path, margins: list[dict[str, int]], claims: tuple[Claim, ...], said: str
) -> None:
    people = [("oak", "flu", "f"), ("elm", "gout", "m"), ("bay", "flu", "m"), ("bay", "gout", "f")] * 10
    write_bundle(published_of(table_of(people), margins, claims), tmp_path / "release")
    result = run("attack", tmp_path / "release")
    assert result.exit_code == 0
    assert said in result.output


def test_a_truth_of_other_people_is_refused_without_a_word_about_them(tmp_path: Path) -> None:
    write_bundle(published_of(wong(tmp_path), [{"town": 1, "ill": 0}]), tmp_path / "release")
    for other in ("oak,flu\n" * 7, "oak,flu\nelm,scurvy\n"):
        (tmp_path / "people.csv").write_text("town,ill\n" + other)
        result = run("attack", tmp_path / "release", "--truth", tmp_path / "release.toml")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("Error: the truth is another table")
        assert not any(value in result.stderr for value in ("oak", "elm", "flu", "scurvy"))


def test_the_smallest_count_is_the_one_that_all_margins_leave() -> None:
    """No margin has a class of fewer than 4, yet together they leave room for 2 women of Oak: those with flu."""
    rows = [("oak", "flu", "f")] * 2 + [("oak", "gout", "m")] * 2 + [("elm", "mumps", "f"), ("elm", "gout", "m")] * 3
    published = published_of(
        table_of(rows), [{"town": 0, "ill": 0}, {"ill": 0, "sex": 0}], (KLink(2), KCombinatorial(2))
    )
    found = disclosure_measures(published, MarginalModel(published.collection))
    assert [(t.criterion, t.smallest, t.binding) for t in found.thresholds] == [
        ("k-link", 4, False),
        ("k-combinatorial", 2, True),
    ]
    small = disclosure_measures(published, MarginalModel(published.collection), most_cells=3)
    assert small.measures == ()
    assert "more than the 3" in small.left_out["ill"]
    assert small.thresholds == found.thresholds


def test_the_report_says_how_far_a_class_is_from_everybody_and_how_much_is_certain() -> None:
    """A junction tree: n(wood, ill) n(ill, sex) / n(ill) rows are expected of each cell; no count is certain here."""
    rows = random_rows(1, 200)
    published = published_of(table_of(rows), [{"town": 1, "ill": 0}, {"ill": 0, "sex": 0}], (KLink(2),))
    frame = pd.DataFrame(rows, columns=["town", "ill", "sex"])
    frame["town"] = frame["town"].map({"oak": "wood", "elm": "wood", "bay": "sea"})
    everybody = frame["ill"].value_counts(normalize=True)
    by_town, by_sex = (pd.crosstab(frame["ill"], frame[name]) for name in ("town", "sex"))
    distances = {}
    for town, sex in product(by_town, by_sex):
        rows_of = by_town[town] * by_sex[sex] / frame["ill"].value_counts()
        distances[town, sex] = (rows_of / rows_of.sum() - everybody).abs().sum() / 2
    town, sex = max(distances, key=lambda key: distances[key])
    percent = f"{100 * distances[town, sex]:.1f} percentage points"
    articles = Page(report_html(published)).texts("article")
    (skewness,) = (text for text in articles if text.startswith("Skewness: ill"))
    assert f"The class furthest from everybody: {percent}." in skewness
    assert f"by up to {percent}, the largest change of any class" in skewness
    assert f"town {town}" in skewness
    assert f"sex {sex}" in skewness
    (certain,) = (text for text in articles if text.startswith("Reconstruction: ill"))
    assert (
        "Of the 8 possible combinations of town in 2 groups, sex and ill, none has a count that readers can" in certain
    )
    # By the sea all have flu, and 3 of 5 of everybody: 40 points more. What is published are these counts themselves.
    few = [("oak", "flu", "f"), ("oak", "gout", "m"), ("elm", "gout", "f")] + [("bay", "flu", "f")] * 2
    articles = Page(report_html(published_of(table_of(few), [{"town": 1, "ill": 0}]))).texts("article")
    (certain,) = (text for text in articles if text.startswith("Reconstruction: ill"))
    assert "Of the 3 possible combinations of town in 2 groups and ill, 3 have counts that readers can" in certain
    (skewness,) = (text for text in articles if text.startswith("Skewness: ill"))
    assert "The class furthest from everybody: 40.0 percentage points." in skewness
    assert "town sea" in skewness


def test_the_report_calls_binding_what_is_met_without_a_row_to_spare_and_nothing_else() -> None:
    """The smallest counts are 4 and 2, as above."""
    rows = [("oak", "flu", "f")] * 2 + [("oak", "gout", "m")] * 2 + [("elm", "mumps", "f"), ("elm", "gout", "m")] * 3
    margins = [{"town": 0, "ill": 0}, {"ill": 0, "sex": 0}]
    claims = (KLink(2), KLink(4), KCombinatorial(2), KCombinatorial(1))
    articles = Page(report_html(published_of(table_of(rows), margins, claims))).texts("article")
    told = [text for text in articles if text.startswith("Minimality: ")]
    assert [text[: text.index(".")] for text in told] == [
        "Minimality: k-link, k = 2 The smallest count is 4",
        "Minimality: k-link, k = 4 The smallest count is 4: binding",
        "Minimality: k-combinatorial, k = 2 The smallest count is 2: binding",
        "Minimality: k-combinatorial, k = 1 The smallest count is 2",
    ]


def test_a_probability_lost_in_rounding_is_not_told_as_impossible() -> None:
    step = Refinement(
        Margin({"town": 1}), "town", 0, 2, (PossibleClaim(KLink(10), (0, 1)),), acceptance_probability=0.0
    )
    assert "no belief changes by more than 1e-12" in refusal_in_words(step)
    assert "refused whatever the data" in refusal_in_words(replace(step, is_certain=True))


def test_a_threshold_that_is_not_met_says_so(tmp_path: Path) -> None:
    assert "not met" in threshold_in_words(Threshold("k-link", 5, 3, is_missed=True))
    assert "not known" in threshold_in_words(Threshold("k-combinatorial", 5, None))
    rows = [("oak", "flu", "f")] * 2 + [("oak", "gout", "m")] * 2 + [("elm", "mumps", "f"), ("elm", "gout", "m")] * 3
    claims = (KLink(2), KCombinatorial(4))
    published = published_of(table_of(rows), [{"town": 0, "ill": 0}, {"ill": 0, "sex": 0}], claims)
    missed = disclosure_measures(published, MarginalModel(published.collection)).thresholds[1]
    assert (missed.smallest, missed.is_missed) == (None, True)
    write_bundle(published, tmp_path / "release")
    assert "k-combinatorial 4: the claim is not met" in run("attack", tmp_path / "release").output
    assert "1 row to spare" in threshold_in_words(Threshold("k-link", 5, 6))
    assert "without a row to spare" in threshold_in_words(Threshold("k-link", 5, 5))


def test_the_report_shows_what_attackers_could_conclude(monkeypatch: pytest.MonkeyPatch) -> None:
    published = published_of(table_of(random_rows(1, 200)), [{"town": 1, "ill": 0}, {"ill": 0, "sex": 0}], (KLink(2),))
    page = report_html(published).decode()
    assert page == report_html(published).decode()
    (measures,) = disclosure_measures(published, MarginalModel(published.collection)).measures
    assert (
        f"Of the {measures.reconstruction.cells:,} possible combinations of town in 2 groups, sex and ill, none has"
        in page
    )
    assert f"{100 * measures.skewness:.1f} percentage points" in page
    assert "Minimality: k-link" in page
    monkeypatch.setattr(report, "_LAID_OUT", 3)
    assert "Not examined: 8 cells bear on it, more than the 3 that are laid out." in report_html(published).decode()
    nothing = published_of(table_of(random_rows(1, 20)), [{"town": 1}])
    assert "no marginal shows it" in report_html(nothing).decode()


def test_what_is_certain_is_counted_in_json_and_named_in_words(tmp_path: Path) -> None:
    """Only women have gout, so town, sex and gout are determined together; of flu the oaks have at least 2 f and 5 m."""
    rows = [("oak", "flu", "f")] * 6 + [("oak", "flu", "m")] * 5 + [("elm", "flu", "m")] * 4
    rows += [("elm", "gout", "f")] * 3 + [("bay", "gout", "f")] * 4
    table = table_of(rows)
    release = published_of(table, [{"town": 0, "ill": 0}, {"sex": 0, "ill": 0}], (KLink(4),))
    write_bundle(release, tmp_path / "release")
    (attacked,) = json.loads(run("attack", tmp_path / "release", "--json").stdout)["attacks"]
    # ill 2; town and ill 4; sex and ill 3; all three 2. Of the 15 with flu 11 are oaks, 6 women and 9 men.
    assert attacked["reconstruction"]["certain"] == {"attributes": 3, "determined": 11, "exists": 13, "small": 2}
    assert attacked["reconstruction"]["undecided"] == {"cells": 0, "margins": 0}
    assert attacked["reconstruction"]["worst"] == {
        "values": {"town": "elm", "ill": "gout"},
        "levels": {"town": 0, "ill": 0},
        "rows": 3,
    }
    words = run("attack", tmp_path / "release").output
    assert "11 counts are determined exactly, 2 of them below the largest k claimed; 13 cells have a row" in words
    assert "town=elm, ill=gout: exactly 3 rows" in words


@pytest.mark.parametrize(
    "claims",
    [
        (KLink(2), KCombinatorial(6)),
        (KLink(6), KCombinatorial(2)),
        (KCombinatorial(6),),
        (KLink(1), KLink(6), KLink(2)),
    ],
)
def test_small_is_what_is_below_the_largest_number_claimed_of_any_kind(
    tmp_path: Path, claims: tuple[Claim, ...]
) -> None:
    """Rows by town and illness: 1, 5, 6 of flu, 7 and 3 of gout; by illness 12 and 10. Three are fewer than six."""
    counts = {("oak", "flu"): 1, ("elm", "flu"): 5, ("bay", "flu"): 6, ("oak", "gout"): 7, ("bay", "gout"): 3}
    rows = [(town, ill, "f") for (town, ill), number in counts.items() for _ in range(number)]
    write_bundle(published_of(table_of(rows), [{"town": 0, "ill": 0}], claims), tmp_path / "release")
    (attacked,) = json.loads(run("attack", tmp_path / "release", "--json").stdout)["attacks"]
    assert attacked["reconstruction"]["certain"] == {"attributes": 3, "determined": 7, "exists": 7, "small": 3}
    assert attacked["reconstruction"]["worst"]["values"] == {"town": "oak", "ill": "flu"}
    assert attacked["reconstruction"]["worst"]["rows"] == 1


def test_what_was_not_decided_in_time_is_said(tmp_path: Path) -> None:
    table = table_of(random_rows(1, 40))
    write_bundle(published_of(table, [{"town": 0, "ill": 0}, {"sex": 0, "ill": 0}]), tmp_path / "release")
    certain = marginals.attack(tmp_path / "release", seconds=1e-9).certain["ill"]
    assert (certain.determined, certain.unread, certain.is_complete) == (0, 4, False)
    assert "at least 0 counts" in certain_in_words(certain)
    assert "undecided in the time given: 0 cells and 4 tables" in certain_in_words(certain)


@pytest.mark.slow
def test_attack_on_the_demo_tells_what_queries_tell_cell_by_cell(demo: Path) -> None:
    """Over all margins of up to three attributes that have few enough cells to ask for each."""
    release = marginals.open_release(demo / "release")
    domain, finest = release.domain, release.model.finest_levels
    few = [a for a in domain.attributes if a != "diagnosis" and 1 < domain.hierarchy(a).size(finest[a]) <= 5]
    determined = exists = 0
    for margin in (("diagnosis", *chosen) for number in range(3) for chosen in combinations(few, number)):
        for labels in product(*(domain.hierarchy(a).labels[finest[a]] for a in margin)):
            answer = release.count(dict(zip(margin, labels)), seconds=20.0)
            assert answer.sharp
            determined += answer.exact and answer.lower > 0
            exists += answer.lower > 0
    views = {a: [{a: finest[a]}] for a in (*few, "diagnosis")}
    certain = certain_cells(knowledge(release.model.frechet_bounds), "diagnosis", views, 10, NEVER)
    assert certain.is_complete
    assert (certain.determined, certain.exists) == (determined, exists)


@pytest.mark.slow
def test_what_fitted_levels_tell_is_counted_where_the_table_is_known(tmp_path: Path) -> None:
    """Four ages are rare; with public counts of a population in place of the table, nothing is told of it."""
    ages = ["20"] * 30 + ["21"] * 3 + ["22"] * 40 + ["23"] * 2 + ["24"] * 30 + ["60"] * 3 + ["70"] * 4
    frame = pd.DataFrame({"age": ages, "ill": (["no", "yes", "no"] * 40)[: len(ages)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pd.Series(ages).value_counts().reindex(map(str, range(20, 71)), fill_value=0).to_csv(tmp_path / "people.csv")
    text = (
        'data.path = "t.csv"\nattributes.ill.role = "sensitive"\nbase.table = "none"\n'
        'privacy.k_link = 5\nprivacy.diversity = "none"\n'
        '[attributes.age]\nrole = "quasi-identifier"\nladder = "fitted"\n'
    )
    (tmp_path / "release.toml").write_text(text)
    config = marginals.read_config(tmp_path / "release.toml")
    table = config.read_table()
    release = marginals.publish(table, config.policy).write(tmp_path / "release").release
    assert release.path is not None
    minimality = marginals.attack(release.path, truth=table).minimality
    assert minimality.ladders is not None
    [told] = [told for told in minimality.ladders if told.level == 1]
    assert (told.attribute, told.groups, told.merged, told.fewer_than) == ("age", 4, 3, 5)
    assert marginals.attack(release.path).minimality.ladders is None
    said = run("attack", release.path, "--truth", tmp_path / "release.toml")
    assert "each of its 3 merged groups holds a value with fewer than 5 rows" in said.stdout
    assert "what steps tell that are fitted" in run("attack", release.path).stdout
    as_json = json.loads(run("attack", release.path, "--truth", tmp_path / "release.toml", "--json").stdout)
    assert as_json["minimality"]["ladders"][0] == told.as_json()
    (tmp_path / "public.toml").write_text(text + 'population = "people.csv"\n')
    public = marginals.read_config(tmp_path / "public.toml").read_table()
    assert marginals.attack(release.path, truth=public).minimality.ladders == ()


@pytest.mark.parametrize("both", range(4))
def test_what_is_missing_tells_those_who_know_the_algorithm(both: int, tmp_path: Path) -> None:
    """100 old and 100 young, 3 ill: only where 1 or 2 of the old are ill are there two tables, and these say so."""
    counts = {("old", "yes"): both, ("young", "yes"): 3 - both, ("old", "no"): 100 - both, ("young", "no"): 97 + both}
    rows = [cell for cell, number in counts.items() for _ in range(number)]
    table = marginals.read_table(
        pd.DataFrame(rows, columns=["age", "ill"]), dict.fromkeys(["age", "ill"], "quasi-identifier")
    )
    policy = marginals.Policy(k_link=3, k_combinatorial=3, min_cell=3)
    path = marginals.publish(table, policy).release.write(tmp_path / "out").path
    words = run("attack", path).output
    report_page = Page((tmp_path / "out" / "report.html").read_bytes()).texts("li")
    answer = json.loads(run("attack", path, "--json").stdout)["minimality"]["refusals"]
    said = "certain, though no table shows it: age=old, ill=yes: 1 to 2 rows"
    if both in (0, 3):
        assert len(marginals.open_release(path).collection.margins) == 1 or answer["small"] == []
        assert said not in words
        return
    assert said in words
    assert any(said in line for line in report_page)
    assert {(*cell["values"].values(), cell["lower"], cell["upper"]) for cell in answer["small"]} == {
        ("old", "yes", 1, 2),
        ("young", "yes", 1, 2),
    }
    assert (answer["tables"], answer["left"]) == (4, 2)


def test_small_counts_of_nonsensitive_attributes_are_looked_for_where_no_claim_excludes_them(tmp_path: Path) -> None:
    rows = [("oak", "flu", "f")] * 4 + [("oak", "gout", "m")] * 2 + [("elm", "gout", "f")] + [("bay", "flu", "m")] * 2
    published = published_of(table_of(rows), [{"town": 0}, {"sex": 0}, {"ill": 0}], (KLink(1),))
    write_bundle(published, tmp_path / "release")
    attacks = marginals.attack(tmp_path / "release")
    assert attacks.nonsensitive is not None
    assert attacks.nonsensitive.cell is not None
    # 1 of Elm and 2 by the bay are published counts already: the first that is found is one of these.
    assert attacks.nonsensitive.cell.rows < 10
    assert "certainly 1 row at least" in run("attack", tmp_path / "release").output
    many = [(town, ill, sex) for town in ("oak", "elm") for ill in ("flu", "gout") for sex in "fm"] * 5
    claims = (KLink(5), KCombinatorial(5))
    write_bundle(published_of(table_of(many), [{"town": 0, "sex": 0}, {"ill": 0}], claims), tmp_path / "claimed")
    claimed = marginals.attack(tmp_path / "claimed").nonsensitive
    assert claimed == NonsensitiveSmall(5, "k-combinatorial 5")
    assert "since k-combinatorial 5 holds" in run("attack", tmp_path / "claimed").output
    write_bundle(published_of(table_of(many), [{"town": 0, "sex": 0}, {"ill": 0}], (KLink(5),)), tmp_path / "unclaimed")
    assert marginals.attack(tmp_path / "unclaimed").nonsensitive == NonsensitiveSmall(5)
    assert "of more: not examined" in run("attack", tmp_path / "unclaimed").output
    assert "not all examined" in nonsensitive_in_words(NonsensitiveSmall(5, is_complete=False))

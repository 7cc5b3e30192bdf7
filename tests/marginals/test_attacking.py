"""Attacks on bundles: several together against each alone, what refused steps tell, and what the report says of both."""

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
import marginals.example
from checks import Claim, KCombinatorial, KLink, parse_claim
from command_line import run
from html_pages import Page
from marginals import Attribute, Table
from models import Hierarchy
from written_bundles import write_margins


def attacked(*folders: Path, truth: Path | None = None) -> dict[str, Any]:
    more = [] if truth is None else ["--truth", truth]
    assert run("attack", *folders, *more).exit_code == 0
    return dict(json.loads(run("attack", *folders, *more, "--json").stdout))


TOWNS = Hierarchy.from_rows([("oak", "wood", "*"), ("elm", "wood", "*"), ("bay", "sea", "*")])


def table_of(rows: list[tuple[str, str, str]]) -> Table:
    frame = pd.DataFrame(rows, columns=["town", "ill", "sex"])
    town = Attribute("quasi-identifier", hierarchy=TOWNS)
    return marginals.read_table(frame, {"town": town, "ill": "sensitive", "sex": "quasi-identifier"})


def random_rows(seed: int, number: int) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(seed)
    drawn = (rng.choice(values, number) for values in (["oak", "elm", "bay"], ["flu", "gout"], ["f", "m"]))
    return [(str(town), str(ill), str(sex)) for town, ill, sex in zip(*drawn)]


BY_TOWN, BY_WOOD, BY_SEX = {"town": 0, "ill": 0}, {"town": 1, "ill": 0}, {"ill": 0, "sex": 0}


@pytest.mark.parametrize("seed", range(6))
def test_several_releases_tell_what_all_tables_with_their_marginals_say(seed: int, tmp_path: Path) -> None:
    """Two releases show the illness by town and by sex: all tables of 3 x 2 x 2 cells with both."""
    table = table_of([*random_rows(seed, 6), ("oak", "flu", "f")])
    folders = [write_margins(table, [margin], tmp_path / str(n)) for n, margin in enumerate((BY_TOWN, BY_SEX))]
    certain = marginals.attack(*folders).certain["ill"]
    sizes = [table.domain.hierarchy(a).size(0) for a in ("town", "sex", "ill")]
    counts = np.zeros(sizes, dtype=np.int64)
    base = table.cube.table(table.domain.mask({"town": 0, "sex": 0, "ill": 0}))
    counts[tuple(base.column(a, 0) for a in ("town", "sex", "ill"))] = base.counts
    women = [range(rows + 1) for rows in counts.sum(axis=1).ravel()]
    worlds = [np.stack([w, counts.sum(axis=1) - w], axis=1) for w in (np.reshape(f, (3, 2)) for f in product(*women))]
    both = [world for world in worlds if np.array_equal(world.sum(axis=0), counts.sum(axis=0))]
    ends = [
        (np.min(sums, axis=0), np.max(sums, axis=0))
        for sums in ([world.sum(axis=axes) for world in both] for axes in ((), (0,), (1,), (0, 1)))
    ]
    assert certain.determined == sum(np.count_nonzero((low == high) & (low > 0)) for low, high in ends)
    assert certain.exists == sum(np.count_nonzero(low) for low, _ in ends)


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


@pytest.mark.parametrize(
    ("margins", "claims", "said"),
    [
        ([BY_WOOD], (), "makes no claim"),
        ([BY_WOOD], (KLink(100),), "not proven to hold"),
        ([BY_WOOD, BY_SEX, {"sex": 0, "town": 1}], (KLink(2),), "no junction tree"),
        ([BY_TOWN], (KLink(1),), "not examined: levels"),
        ([BY_WOOD], (KLink(2),), "town in 3 values by itself; sex by itself: it would show a group of 1 row"),
        ([BY_WOOD, {"town": 0}], (KLink(2),), "town in 3 values with ill in one table: what is left possible"),
    ],
)
def test_words_say_what_a_refusal_tells_or_why_it_tells_nothing(
    tmp_path: Path, margins: list[dict[str, int]], claims: tuple[Claim, ...], said: str
) -> None:
    people = [("oak", "flu", "f"), ("elm", "gout", "m"), ("bay", "flu", "m"), ("bay", "gout", "f")] * 10
    result = run("attack", write_margins(table_of(people), margins, tmp_path / "release", claims), status=0)
    assert said in result.output


def test_a_truth_of_other_people_is_refused_without_a_word_about_them(tmp_path: Path) -> None:
    write_margins(wong(tmp_path), [BY_WOOD], tmp_path / "release")
    for other in ("oak,flu\n" * 7, "oak,flu\nelm,scurvy\n"):
        (tmp_path / "people.csv").write_text("town,ill\n" + other)
        result = run("attack", tmp_path / "release", "--truth", tmp_path / "release.toml")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("Error: the truth is another table")
        assert not any(value in result.stderr for value in ("oak", "elm", "flu", "scurvy"))


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
    write_margins(table_of(rows), [BY_TOWN], tmp_path / "release", claims)
    found = attacked(tmp_path / "release")["certain"]["ill"]
    assert (found["attributes"], found["determined"], found["exists"], found["small"]) == (3, 7, 7, 3)
    assert found["worst"]["values"] == {"town": "oak", "ill": "flu"}
    assert found["worst"]["rows"] == 1


def test_what_was_not_decided_in_time_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that was not begun in time is not examined, and never one in which nothing was found."""
    write_margins(table_of(random_rows(1, 40)), [BY_TOWN, BY_SEX], tmp_path / "release")
    late = marginals.attack(tmp_path / "release", seconds=1e-9)
    assert late.is_stopped
    assert len(late.unmeasured) == 7
    assert not any(value for name, value in vars(late).items() if name not in ("unmeasured", "codebook"))
    monkeypatch.setattr("marginals.attacks.CERTAIN_SECONDS", 0.0)
    certain = marginals.attack(tmp_path / "release").certain["ill"]
    assert (certain.determined, certain.unread, certain.is_complete) == (0, 4, False)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_certain_is_what_queries_tell_cell_by_cell(seed: int, tmp_path: Path) -> None:
    """Over all margins of up to three attributes, each at its finest published level."""
    rng = np.random.default_rng(seed)
    sizes = {"town": 3, "ill": 2, "sex": 2, "job": 3}
    frame = pd.DataFrame({name: [f"{name}{code}" for code in rng.integers(0, n, 9)] for name, n in sizes.items()})
    table = marginals.read_table(frame, dict.fromkeys(frame, "quasi-identifier") | {"ill": "sensitive"})
    margins = [{"town": 0, "ill": 0}, {"ill": 0, "sex": 0}, {"sex": 0, "job": 0}]
    release = marginals.open_release(write_margins(table, margins, tmp_path / "release"))
    determined = exists = 0
    for margin in (("ill", *others) for number in range(3) for others in combinations(("town", "sex", "job"), number)):
        for labels in product(*(release.domain.hierarchy(a).labels[0] for a in margin)):
            answer = release.count(dict(zip(margin, labels)), seconds=20.0)
            assert answer.sharp
            determined += answer.exact and answer.lower > 0
            exists += answer.lower > 0
    certain = marginals.attack(tmp_path / "release").certain["ill"]
    assert certain.is_complete
    assert (certain.determined, certain.exists) == (determined, exists)


def test_what_fitted_levels_tell_is_counted_where_the_table_is_known(tmp_path: Path) -> None:
    ages = ["20"] * 30 + ["21"] * 3 + ["22"] * 40 + ["23"] * 2 + ["24"] * 30 + ["60"] * 3 + ["70"] * 4
    frame = pd.DataFrame({"age": ages, "ill": (["no", "yes", "no"] * 40)[: len(ages)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "release.toml").write_text(
        'data.path = "t.csv"\nattributes.ill.role = "sensitive"\nbase.table = "none"\n'
        'privacy.k_link = 5\nprivacy.diversity = "none"\n'
        '[attributes.age]\nrole = "quasi-identifier"\nladder = "fitted"\n'
    )
    config = marginals.read_config(tmp_path / "release.toml")
    folder = tmp_path / "release"
    marginals.publish(config.read_table(), config.policy).write(folder)
    [told] = [each for each in attacked(folder, truth=config.path)["minimality"]["ladders"] if each["level"] == 1]
    expected = {"attribute": "age", "groups": 4, "merged": 3, "fewer_than": 5}
    assert {key: told[key] for key in expected} == expected
    assert attacked(folder)["minimality"]["ladders"] is None


def test_what_likeness_tells_is_not_examined_at_whatever_level_it_merged(tmp_path: Path) -> None:
    """Counts of each value are published, yet that b and c were merged tells of tables with other columns."""
    rng = np.random.default_rng(0)
    jobs, towns = np.repeat(list("abc"), [40, 12, 12]), np.repeat(["n", "s", "s"], [40, 12, 12])
    roles = {
        "job": Attribute("quasi-identifier", ladder="alike"),
        "town": "quasi-identifier",
        "sex": "quasi-identifier",
    }
    frame = pd.DataFrame({"job": jobs, "town": towns, "sex": rng.choice(["f", "m"], 64)})
    table = marginals.read_table(frame, roles, k=5)
    policy = marginals.Policy(k_link=5, base="none")
    release = marginals.publish(table, policy).write(tmp_path / "r").release
    levels = {margin["job"] for margin in release.published.everything.margins if "job" in margin}
    (told,) = marginals.attack(tmp_path / "r", truth=table).minimality.ladders or ()
    assert levels == {0, told.level}
    assert "more than how often" in told.note


@pytest.mark.parametrize(
    ("labels", "shown", "small"),
    [
        ("private", {"other job", "doctor"}, {"kitchen": (2, 2)}),
        ("public", {"cook, waiter, nurse", "doctor"}, {"cook": (1, 1), "waiter": (1, 1), "kitchen": (2, 2)}),
    ],
)
def test_what_few_tables_explain_of_a_given_hierarchy_is_certain(
    labels: str, shown: set[str], small: dict[str, tuple[int, int]], tmp_path: Path
) -> None:
    """Of five in a kitchen and a clinic three are nurses, or others would have been merged."""
    places = {"cook": "kitchen", "waiter": "kitchen", "nurse": "clinic", "doctor": "clinic"}
    tree = Hierarchy.from_rows([(job, place, "*") for job, place in places.items()])
    jobs = Attribute("quasi-identifier", hierarchy=tree, ladder="fitted", labels=labels)
    frame = pd.DataFrame({"job": ["cook", "waiter", *["nurse"] * 3, *["doctor"] * 3]})
    table = marginals.read_table(frame, {"job": jobs}, k=3)
    release = (
        marginals.publish(table, marginals.Policy(k_link=3, min_cell=3, base="none")).write(tmp_path / "r").release
    )
    assert {label for (label,), _ in release.published.collection.tables[0].cells()} == shown
    (told,) = marginals.attack(tmp_path / "r", truth=table).minimality.ladders or ()
    assert {cell.values["job"]: (cell.lower, cell.upper) for cell in told.small} == small
    assert not told.unexamined


@pytest.mark.parametrize("both", range(4))
def test_what_is_missing_tells_those_who_know_the_algorithm(both: int, tmp_path: Path) -> None:
    """100 old and 100 young, 3 ill: only where 1 or 2 of the old are ill are there two tables, and these say so."""
    counts = {("old", "yes"): both, ("young", "yes"): 3 - both, ("old", "no"): 100 - both, ("young", "no"): 97 + both}
    rows = pd.DataFrame([cell for cell, number in counts.items() for _ in range(number)], columns=["age", "ill"])
    policy = marginals.Policy(k_link=3, k_combinatorial=3, min_cell=3)
    table = marginals.read_table(rows, dict.fromkeys(rows, "quasi-identifier"))
    marginals.publish(table, policy).write(tmp_path / "out")
    answer = attacked(tmp_path / "out")["minimality"]["refusals"]
    if both in (0, 3):
        assert len(marginals.open_release(tmp_path / "out").published.everything.margins) == 1 or answer["small"] == []
        return
    found = {(*cell["values"].values(), cell["lower"], cell["upper"]) for cell in answer["small"]}
    assert found == {("old", "yes", 1, 2), ("young", "yes", 1, 2)}
    assert (answer["tables"], answer["left"]) == (4, 2)
    report = " ".join(Page((tmp_path / "out" / "report.html").read_bytes()).texts("li"))
    assert "age=old, ill=yes: 1 to 2 rows" in report


def test_small_counts_of_nonsensitive_attributes_are_looked_for_where_no_claim_excludes_them(tmp_path: Path) -> None:
    rows = [("oak", "flu", "f")] * 4 + [("oak", "gout", "m")] * 2 + [("elm", "gout", "f")] + [("bay", "flu", "m")] * 2
    write_margins(table_of(rows), [{"town": 0}, {"sex": 0}, {"ill": 0}], tmp_path / "release", [KLink(1)])
    # 1 of Elm and 2 by the bay are published counts already: the first that is found is one of these.
    found = attacked(tmp_path / "release")["nonsensitive"]
    assert (found["verdict"], found["worst"]["count"]) == ("fails", 1)
    many = table_of([(town, ill, sex) for town in ("oak", "elm") for ill in ("flu", "gout") for sex in "fm"] * 5)
    write_margins(many, [{"town": 0, "sex": 0}, {"ill": 0}], tmp_path / "many", [KLink(5)])
    assert attacked(tmp_path / "many")["nonsensitive"]["verdict"] == "holds"


def test_that_small_counts_are_not_published_proves_nothing_of_tables_around_a_circle(tmp_path: Path) -> None:
    """All pairs of 3 0 2 3 0 0 3 0 over 000 .. 111 show no count below 3 and make a 2 certain."""
    rows = [cell for cell, count in zip(product("01", repeat=3), (3, 0, 2, 3, 0, 0, 3, 0)) for _ in range(count)]
    table = marginals.read_table(pd.DataFrame(rows, columns=list("abc")), dict.fromkeys("abc", "quasi-identifier"))
    pairs = [dict.fromkeys(pair, 0) for pair in ("ab", "bc", "ac")]
    write_margins(table, pairs, tmp_path / "release", [parse_claim({"criterion": "min-published-cell", "k": 3})])
    assert attacked(tmp_path / "release")["nonsensitive"]["verdict"] == "fails"


def test_small_counts_that_only_a_sensitive_column_links_are_found(tmp_path: Path) -> None:
    """At least 1 and at most 4 people have a1 and b1; no table shows both."""
    cells = {"a1b1s1": 3, "a1b2s1": 1, "a2b1s1": 1, "a1b2s2": 20, "a2b1s3": 20, "a2b2s4": 30}
    rows = [(cell[:2], cell[2:4], cell[4:]) for cell, count in cells.items() for _ in range(count)]
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}
    table = marginals.read_table(pd.DataFrame(rows, columns=list(roles)), roles)
    write_margins(table, [{"a": 0, "s": 0}, {"b": 0, "s": 0}], tmp_path / "release", [KLink(10)])
    found = attacked(tmp_path / "release")["nonsensitive"]
    assert (found["verdict"], found["worst"]["cell"]) == ("fails", {"a": "a1", "b": "b1"})


ROLES = {"town": "quasi-identifier", "illness": "sensitive"}
PEOPLE = pd.DataFrame(
    [
        (town, illness)
        for town, rows in (("Ulm", [60, 20, 12]), ("Jena", [12, 20, 60]))
        for illness, number in zip(("flu", "cold", "gout"), rows)
        for _ in range(number)
    ],
    columns=list(ROLES),
)


def publish(folder: Path, people: pd.DataFrame) -> Path:
    policy = marginals.Policy(k_link=10, diversity="distinct:3", base="none")
    marginals.publish(marginals.read_table(people, ROLES), policy).write(folder)
    return folder


def test_changes_of_a_table_are_told_of_all_pairs_with_the_illness(tmp_path: Path) -> None:
    folders = [publish(tmp_path / str(year), PEOPLE.iloc[gone:]) for year, gone in ((1, 0), (2, 2), (3, 3))]
    answer = attacked(*folders)
    pairs = [(change["earlier"], change["later"]) for change in answer["changes"]]
    assert pairs == [(str(one), str(other)) for one, other in combinations(folders, 2)]
    assert answer["changes"][1]["rows"] == [184, 181]
    assert answer["changes"][1]["told"][0]["smallest"][0]["difference"] == -3
    assert answer["changes"][1]["least"] == 10
    assert list(answer["apart"]) == list(map(str, folders))
    words = run("attack", *folders, "--verbose").output
    assert "town=Ulm, illness=flu: 60 before, 58 after" in words
    assert "town=Ulm: 2 rows more left than came with illness=flu" in words
    with pytest.raises(marginals.InputError, match="changed"):
        marginals.attack(*folders, truth=marginals.read_table(PEOPLE, ROLES))


def test_new_labels_that_do_not_tell_are_said(tmp_path: Path) -> None:
    later = PEOPLE.iloc[30:].replace({"Ulm": "Ulm and others"})
    (change,) = attacked(publish(tmp_path / "1", PEOPLE), publish(tmp_path / "2", later))["changes"]
    assert change["unclear"] == ["town"]


STATUS = Hierarchy.from_rows(
    [("at home", "with or absent", "*"), ("absent", "with or absent", "*"), ("single", "single", "*")]
)
RELATION = Hierarchy.from_rows([("husband", "family", "*"), ("wife", "family", "*"), ("other", "other", "*")])
BY_STATUS, BY_RELATION = {"status": 0, "relation": 1}, {"status": 1, "relation": 0}


@pytest.mark.parametrize(
    ("margins", "crosses"),
    [
        ([BY_STATUS, BY_RELATION], True),
        ([BY_STATUS, BY_RELATION, {"status": 0, "relation": 0}], False),  # this one shows both as finely as either
        ([BY_STATUS, {"relation": 0}], False),
        ([{"status": 1, "relation": 1}, BY_RELATION], False),
    ],
)
def test_tables_that_who_knows_impossible_combinations_can_subtract_are_named(
    tmp_path: Path, margins: list[dict[str, int]], crosses: bool
) -> None:
    """An absent spouse is no wife; and of combinations that nobody declared the claims say nothing."""
    rows = (
        [("at home", "husband")] * 30
        + [("at home", "wife")] * 20
        + [("absent", "other")] * 12
        + [("single", "other")] * 40
    )
    status, relation = (Attribute("quasi-identifier", hierarchy=of) for of in (STATUS, RELATION))
    table = marginals.read_table(
        pd.DataFrame(rows, columns=["status", "relation"]), {"status": status, "relation": relation}
    )
    folder = write_margins(table, margins, tmp_path / "release", claims=[KLink(10), KCombinatorial(10)])
    verified, told = run("verify", folder), json.loads(run("verify", folder, "--json").stdout)
    answer = attacked(folder)
    assert [crossing["first"] for crossing in told.get("crossing_levels", [])] == ["status"] * crosses
    assert [crossing["second"] for crossing in answer["crossing"]] == ["relation"] * crosses
    for printed in (verified.stdout, run("attack", folder).stdout):
        line = "One table shows status at level 0 with relation at level 1, another one at levels 1 and 0: these cross."
        assert (line in " ".join(printed.split())) is crosses
        assert "This holds for readers who know no impossible combination of values" in printed


def test_what_an_attack_had_before_is_refused_with_what_does_its_work() -> None:
    for name in ("compositions", "thresholds"):
        with pytest.raises(AttributeError, match=f"no '{name}' any more: "):
            getattr(marginals.example.release.attack(), name)

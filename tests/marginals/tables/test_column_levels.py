"""Columns that are levels of another one by a public rule: the release is that of a declared hierarchy, by both names."""

import json
import re
from ast import literal_eval
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import output, run
from first_configs import init
from marginals import Attribute, InputError, Part, Policy, Release, Table, open_release, publish, read_table
from marginals.errors import BundleError
from marginals.publishing.frontier import frontier
from marginals.publishing.population import Population
from marginals.publishing.single_tables import assess, chosen_table
from marginals.tables.source import TableSource
from models import Hierarchy
from small_release import write_release
from table_readers import handed_over
from window_clients import browsing
from written_bundles import change_descriptor, release_files, write_margins

refused = partial(pytest.raises, InputError)
quasi = partial(Attribute, role="quasi-identifier")
LEVEL = {"level_of": "age"}
SETTINGS = {"age": {}, "band": LEVEL, "half": LEVEL, "ill": {}}
USED = {name: quasi(**settings) for name, settings in SETTINGS.items()}


def people(seed: int = 0) -> pd.DataFrame:
    """Return 800 people whose age says their band, and half of life."""
    rng = np.random.default_rng(seed)
    age = rng.integers(10, 50, 800)
    frame = pd.DataFrame({"age": age, "band": [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in age]})
    return frame.assign(
        half=np.where(age < 30, "early", "late"), ill=np.where(rng.random(800) < 0.3 + age / 150, "y", "n")
    )


TEXTS = people().astype(str)


def read(frame: pd.DataFrame | None = None, *, k: int = 5, **settings: Any) -> Table:
    return read_table(people() if frame is None else frame, USED, k=k, **settings)


def policy(k: int = 5, **settings: Any) -> Policy:
    return Policy(k_link=k, diversity="none", **settings)


def released(table: Table, **settings: Any) -> Release:
    return publish(table, policy(**settings)).release


def by_file(frame: pd.DataFrame, *columns: str, **settings: str) -> Attribute:
    """Return an age with the hierarchy that these columns give."""
    paths = zip(frame.age.astype(str), *(frame[column] for column in columns))
    return quasi(hierarchy=Hierarchy.from_rows(sorted({(*path, "*") for path in paths})), **settings)


@pytest.mark.parametrize("k", [5, 50])
@pytest.mark.parametrize("seed", range(3))
def test_the_release_is_that_of_the_declared_hierarchy(k: int, seed: int) -> None:
    frame = people(seed).assign(sex=lambda rows: np.where(rows.index % 7 > rows.age / 10, "f", "m"))
    kinds = [{**USED, "sex": quasi()}, {"age": by_file(frame, "band", "half"), "ill": quasi(), "sex": quasi()}]
    shown = {"must_publish": [{"age": 1, "ill": 0}, {"age": 2, "sex": 0}], "must_not_publish": [{"age": 1, "sex": 0}]}
    for settings in ({}, shown):
        files = [release_files(released(read_table(frame, kind, k=k), k=k, **settings)) for kind in kinds]
        tables = [{path: each for path, each in own.items() if path.endswith(".csv")} for own in files]
        ages = [own.pop("hierarchies/age.csv") for own in tables]
        # A named level that no table shows is listed, too, so that conditions on it can be answered.
        assert ages[0] == ages[1] if settings else ages[0].startswith(ages[1][:6])
        assert tables[0] == tables[1]
    one, other = (json.loads(own["datapackage.json"]) for own in files)
    assert list(one["release"]["attributes"]["age"].pop("levels")) == ["band", "half"]
    assert {**one["release"], "report": 0} == {**other["release"], "report": 0}
    assert one["resources"] == other["resources"]


@pytest.mark.parametrize("k", [5, 50])
@pytest.mark.parametrize("seed", range(3))
def test_conditions_by_both_names_count_the_rows_and_tell_a_part(k: int, seed: int, tmp_path: Path) -> None:
    frame = people(seed)
    publish(read(frame, k=k), policy(k, must_publish=[{"band": 0, "ill": 0}])).write(tmp_path / "release")
    release = open_release(tmp_path / "release")
    age, is_ill = frame.age, frame.ill == "y"
    rows = {
        "age=20-29": frame.band == "20-29",
        "band >= 20": age >= 20,
        "age >= 20": age >= 20,
        "half=early or band=40-49": (age < 30) | (age >= 40),
        "band in 10-19|20-29 and half=early": age < 30,
        "band in 10-19|40-49": (age < 20) | (age >= 40),
    }
    for name, label in [("band", each) for each in frame.band.unique()] + [("half", "early"), ("half", "late")]:
        inside = rows[f"{name}={label}"] = frame[name] == label
        rows[f"{name}={label} and ill=y"] = inside & is_ill
        rows[f"not {name} = '{label}' and ill=y"] = ~inside & is_ill
        assert release.count({name: label, "ill": "y"}).value == (inside & is_ill).sum()
    for condition, counted in rows.items():
        assert release.count(condition).value == counted.sum(), condition
    for names, columns in ((["band", "ill"], ["band", "ill"]), ({"half": 0, "ill": 0}, ["half", "ill"])):
        assert release.table(names).value.to_dict() == frame.groupby(columns).size().to_dict()
    assert release.supports("band", "ill")
    one = release.count("age=25")
    assert one.lower <= (age == 25).sum() <= one.upper
    assert (one.lower < one.upper) == (k == 50)
    many = release.count("age >= 25")
    assert many.lower <= (age >= 25).sum() <= many.upper
    with refused(match="cuts through a value of 'band': name its values, or ask for 'age'"):
        release.count("band >= 25")
    with refused(match="cuts through a value of 'band'"):
        read(frame, k=k, where=Part("band >= 25"))
    for where in ("band=20-29", "half=early", "band in 10-19|40-49", "age=20-29"):
        written = publish(read(frame, k=k, where=Part(where)), policy(k)).write(tmp_path / where)
        part = open_release(written.release.path)
        assert part.count().value == rows[where].sum()
        assert part.verify().ok
        for band, counted in frame.band[rows[where]].value_counts().items():
            assert part.count(f"band={band}").lower == counted


def test_a_base_name_takes_no_label_and_no_number_of_a_level() -> None:
    frame = people().assign(half=lambda rows: rows.half.str.upper())
    release = released(read(frame), must_not_publish=[{"age": 0}, {"band": 0}])
    assert release.domain.hierarchy("age").labels[0] == ("EARLY", "LATE")
    assert release.count("half=LATE").value == (frame.half == "LATE").sum()
    for asked in ("age=LATE", "age in EARLY|LATE", {"age": "LATE"}, "age=25", "age = 'LATE'"):
        with refused(match="no marginal shows values of 'age'; ask for 'half'"):
            release.count(asked)
    with refused():
        release.count("half=25")
    release = released(read(), must_not_publish=[{"age": 0}])
    for asked in ("age=20-29@0", "age=early@1", "age='early@1'", "band=early@1", {"age": "20-29@0"}):
        with refused():
            release.count(asked)
    assert release.count("band=20-29@0").value == release.count("band=20-29").value
    with refused(match="no attribute or published level 'bend'"):
        release.count("bend=20-29")


@pytest.mark.parametrize(
    "named",
    [
        "{'must_publish': [{'band': 0, 'ill': 0}]}",
        "{'must_not_publish': [{'band': 0}]}",
        "{'must_not_publish': [{'half': 0}]}",
        "{'base': {'band': 0, 'ill': 0}}",
        "{'base': {'half': 0, 'ill': 0}, 'strategy': 'forward'}",
        "{'wanted': [{'attributes': ['band', 'ill']}, {'attributes': ['half', 'ill'], 'weight': 2.0}]}",
        "{'further_tables': [['band', 'ill']]}",
    ],
)
def test_settings_by_the_name_of_a_level_are_those_by_its_number(named: str) -> None:
    numbered = named.replace("'band': 0", "'age': 1").replace("'half': 0", "'age': 2")
    numbered = numbered.replace("'band'", "'age'").replace("'half'", "'age'")
    table, policies = read(), [policy(**literal_eval(settings)) for settings in (named, numbered)]
    margins = [publish(table, each).release.published.everything.margins for each in policies]
    assert margins[0] == margins[1]
    pd.testing.assert_frame_equal(*(frontier(table, each).drop(columns="seconds") for each in policies))


def test_a_single_table_is_named_by_either_name() -> None:
    table = read()
    for names in (({"band": 0}, {"age": 1}), ({"band": 1}, {"age": 2}), ({"half": 0, "ill": 1}, {"age": 2, "ill": 1})):
        assert len({repr(assess(table, policy(2), each).as_json()) for each in names}) == 1
        assert len({repr(chosen_table(table, policy(2), each).levels) for each in names}) == 1


def test_one_column_is_named_once() -> None:
    table = read()
    release = released(table)
    for ask in (
        lambda: released(table, must_publish=[{"age": 1, "band": 0}]),
        lambda: released(table, wanted=[{"attributes": ["age", "band"]}]),
        lambda: released(table, further_tables=[["age", "half"]]),
        lambda: release.table(["age", "band"]),
        lambda: release.table({"age": 2, "half": 0}),
        lambda: assess(table, policy(2), {"age": 1, "half": 0}),
    ):
        with refused(match="named twice"):
            ask()
    for ask in (release.mean, release.total, release.quantile):
        with refused(match="'band' is a level of 'age': its numbers, if it has any, are those of 'age'"):
            ask("band")


def test_impossible_pairs_know_both_names_and_the_labels_of_each() -> None:
    frame = people().assign(ill=lambda rows: rows.ill.mask(rows.band == "10-19", "n"))

    def read_with(column: str, label: str, other: str = "ill", of_other: str = "y") -> object:
        return read(frame, impossible=[{column: [label], other: [of_other], "confirmed": True}]).impossible

    assert read_with("band", "10-19") == read_with("age", "10-19")
    plain = {"half": ["early"], "ill": ["y"]}
    for own in ({"band": ["10-19"], "age": ["40"]}, {"band": ["10-19"], "half": ["late"]}):
        assert TableSource(origin=frame, attributes=USED, impossible=[own, plain]).impossible == (plain,)
        with refused(match=r"\(entry 2\) names a column and its own level"):
            read(frame, impossible=[plain, {**own, "confirmed": True}])
    for column, label in (("band", "15"), ("half", "10-19"), ("band", "early")):
        with refused(match=f"names the label '{label}', which '{column}' does not have"):
            read_with(column, label)


AGE, DECADE = TEXTS.age, people().age // 10
ONE = AGE.index == AGE.index[AGE == "33"][0]
TOGETHER = [("20", "a", ""), ("20", "", "x"), ("21", "a", "y"), ("21", "a", "y"), ("22", "b", "x"), ("23", "c", "x")]
CITIES = pd.DataFrame({"age": ["New York", "Albany", "Boston"] * 20, "band": ["New York", "New York", "MA"] * 20})
CUT = pd.DataFrame({"age": ["10-20", "20-30", "30-40"] * 10, "band": ["5-15", "5-15", "35-39"] * 10})
FOLLOWS = "'{}' of the table does not follow from '{}'"
SEVERAL = "one label at two levels for different values of 'age'(?!.*(label_form|number))"
TAKEN = "could be taken for other values of 'age'"
BOTH = "both must be quasi-identifiers"
NEITHER = "stand for any value and for none"


@pytest.mark.parametrize(
    ("frame", "changed", "words"),
    [
        (TEXTS.assign(band=TEXTS.band.mask(ONE, "elsewhere")), {}, FOLLOWS.format("band", "age")),
        (TEXTS.assign(half=TEXTS.half.mask(ONE, "elsewhere")), {}, FOLLOWS.format("half", "age")),
        (pd.DataFrame(TOGETHER, columns=["age", "band", "half"]), {"ill": None}, FOLLOWS.format("half", "band")),
        (TEXTS.assign(band=TEXTS.band.mask(AGE == "33", "")), {}, "values of 'age' have several, or none in any row"),
        (TEXTS.assign(band="age " + AGE), {}, "one of the two columns says it all"),
        (TEXTS.assign(band=(DECADE * 10).astype(str).replace("40", "40 +")), {}, SEVERAL),
        (TEXTS.assign(ab=DECADE).drop(columns="band"), {"band": None, "ab": LEVEL}, TAKEN),
        *[(CITIES, {"age": {"label_form": form}, "half": None, "ill": None}, SEVERAL) for form in ("numbers", "names")],
        (CUT, {"half": None, "ill": None}, TAKEN),
        (TEXTS.assign(half=TEXTS.half.replace("early", "10-19")), {"age": {"label_form": "names"}}, SEVERAL),
        *[
            (TEXTS.assign(band=TEXTS.band.replace("40-49", label)), {"age": {"missing": missing}}, NEITHER)
            for label in ("missing", "*")
            for missing in ("drop", "as a value")
        ],
        *[
            (TEXTS.rename(columns={"band": name}), {"band": None, name: LEVEL}, "rename the column")
            for name in ("ill=y and age", "ill ", "ill or ill", "count", "*")
        ],
        (TEXTS, {"band": {"level_of": "agee"}}, BOTH),
        (TEXTS, {"band": {"level_of": "band"}}, "no level of another column"),
        (TEXTS, {"half": {"level_of": "band"}}, "no level of another column"),
        *[(TEXTS, {"age": {"role": role}}, BOTH) for role in ("sensitive", "ignored")],
        *[(TEXTS, {"band": {"role": role, **LEVEL}}, BOTH) for role in ("sensitive", "ignored", "identifier")],
        (TEXTS, {"age": {"intervals": [10]}}, "leave out its intervals"),
        (TEXTS, {"age": {"ladder": "fitted"}}, "leave out its ladder"),
        (TEXTS, {"age": {"order": ["10"]}}, "leave out its order"),
        (TEXTS, {"band": {**LEVEL, "ladder": "fitted"}}, "leave out ladder here"),
        (TEXTS, {"band": {**LEVEL, "values": {"10-19": "teens"}}}, "describes both; leave out values here"),
        (TEXTS, {"band": {**LEVEL, "description": "x", "missing": "as a value"}}, "out missing, description here"),
    ],
)
def test_rows_and_settings_that_give_no_levels_are_refused(
    frame: pd.DataFrame, changed: Mapping[str, Mapping[str, Any] | None], words: str
) -> None:
    with refused(match=words) as error:
        settings = {name: own for name, own in {**SETTINGS, **changed}.items() if own is not None}
        read_table(frame, {name: quasi(**own) for name, own in settings.items()})
    assert not any(label in str(error.value) for label in ("elsewhere", "33", "15", "10-19", "New York"))


@pytest.mark.parametrize("form", ["numbers", "names"])
@pytest.mark.parametrize("missing", ["drop", "as a value"])
@pytest.mark.parametrize("label", ["missing", "*"])
def test_groups_of_a_file_are_not_called_as_rows_without_a_value_are(label: str, missing: str, form: str) -> None:
    with refused(match=NEITHER):
        by_file(TEXTS.assign(band=TEXTS.band.replace("40-49", label)), "band", missing=missing, label_form=form)
    apart = Hierarchy.from_rows([("1", "low", "*"), ("missing", "missing", "*")])
    assert quasi(hierarchy=apart, missing=missing, label_form=form).hierarchy == apart


def test_missing_values_follow_the_rule_of_the_base() -> None:
    frame = TEXTS.copy()
    gone = frame.index[:50]
    frame.loc[gone, "age"] = ""
    frame.loc[gone[:25], "band"] = ""
    frame.loc[frame.index[frame.age == "33"][1:], "band"] = ""
    table = read(frame)
    assert (table.rows, table.missing) == (750, 50)
    counting = {**USED, "age": quasi(missing="as a value")}
    for name in ("band", "half"):
        with refused(match=f"lack 'age', have '{name}'"):
            read_table(frame, counting, k=5)
        frame.loc[gone, name] = ""
    table = read_table(frame, counting, k=5)
    assert (table.rows, table.missing) == (800, 0)
    release = released(table)
    assert release.count("band=missing").value == release.count("age=missing").value == 50
    assert release.count("band=30-39").value == ((DECADE == 3) & (frame.age != "")).sum()


def test_spellings_are_one_value_before_the_rule_is_read() -> None:
    frame = TEXTS.copy()
    frame.loc[frame.index[frame.age == "33"][:3], "age"] = ["33.0", " 33", "33.00"]
    frame.loc[frame.index[frame.half == "late"][:2], "half"] = [" late", "late "]
    plain, spelled = read(), read(frame)
    assert (spelled.domain, dict(spelled.counts.cells())) == (plain.domain, dict(plain.counts.cells()))


def test_meanings_are_of_the_values_whatever_their_spelling_and_none_of_their_groups() -> None:
    book = {"33.0": "the prime", "30-39": "thirties", "41": "20-29"}
    release = released(read_table(people(), {**USED, "age": quasi(values=book)}, k=5))
    assert release.published.codebook.values == {"age": {"33": "the prime", "30-39": "thirties", "41": "20-29"}}
    assert release.count("band=thirties").value == release.count("band=30-39").value
    assert release.count("band=20-29").value == (DECADE == 2).sum()
    assert release.count("age=20-29").value == release.count("age=41").value
    for column, asked in (("age", "thirties"), ("band", "the prime")):
        with refused(match=f"'{column}' has no published value '{asked}'"):
            release.count(f"{column}={asked}")


def test_the_order_of_a_level_depends_on_no_value_below_it() -> None:
    """A rare town that comes first would put its region first."""
    rows = [("aa", "west")] + [("b", "east")] * 20 + [("c", "west")] * 20
    frame = pd.DataFrame(rows, columns=["town", "region"])
    release = released(read_table(frame, {"town": quasi(), "region": quasi(level_of="town")}, k=5))
    assert release.domain.hierarchy("town").labels == (("east", "west"), ("*",))
    assert release.published.everything.domain.hierarchy("town").level_names[0] == "region"


NAMED = ["a\nb", "a" * 201, "", "*", "count", "ill=y and age", "ill = y", "ill ", " ill", "ill  x", "'ill'"]
NAMED += ["ill or ill", "not ill", "ill IN y", "ill<", "(ill"]


@pytest.mark.parametrize(
    ("attribute", "levels", "words"),
    [
        ("age", {"ill": 0}, "as another level or attribute is named"),
        *[("age", levels, "must number levels") for levels in ({"band": 9}, {"band": "0"}, {"band": 0, "half": 0})],
        *[("age", {name: 0}, "must number levels by names, which have words of letters") for name in NAMED],
        ("ill", {"illness": 0}, "must number levels of a quasi-identifier"),
    ],
)
def test_damaged_names_of_levels_are_refused(attribute: str, levels: Any, words: str, tmp_path: Path) -> None:
    table = read_table(people(), {**USED, "ill": Attribute("sensitive")})
    folder = write_margins(table, [{"age": 1, "ill": 0}], tmp_path / "release")
    change_descriptor(folder, lambda release: release["attributes"][attribute].update(levels=levels))
    with pytest.raises(BundleError, match=words):
        open_release(folder)


@pytest.mark.parametrize("way", ["pandas", "polars", "polars lazy", "csv", "csv beyond memory", "parquet"])
def test_every_reader_gives_the_same_table(way: str, tmp_path: Path) -> None:
    source = handed_over(people(), way.removesuffix(" beyond memory"), tmp_path)
    plain, table = read(), read(source, **({"memory": 10_000} if "memory" in way else {}))
    assert (table.domain, table.rows) == (plain.domain, 800)
    published = [released(each).published.everything for each in (table, plain)]
    assert published[0].margins == published[1].margins


def test_only_rows_that_count_are_counted_and_all_rows_give_the_rule() -> None:
    frame = people().assign(person=lambda rows: rows.index // 2)
    table = read(frame, person="person", one_row="first")
    assert table.rows == 400
    assert table.domain.hierarchy("age") == read().domain.hierarchy("age")
    with refused(match=FOLLOWS.format("band", "age")):
        read(frame.assign(band=frame.band.where(frame.index != 1, "elsewhere")), person="person", one_row="first")


def test_a_config_takes_both_names_and_a_query_answers_them(tmp_path: Path) -> None:
    frame, level = people(), 'quasi-identifier\nlevel_of = "age"'
    roles = dict.fromkeys(frame, "quasi-identifier") | {"band": level, "half": level}
    wanted = 'must_publish = [{ band = 0, ill = 0 }]\nwanted = [{attributes = ["half", "ill"]}]\n'
    config = write_release(tmp_path, frame, roles, f"[privacy]\nk_link = 5\n[search]\n{wanted}")
    text = 'data.impossible = [{band = ["10-19"], ill = ["y"]}]\n' + config.read_text()
    config.write_text(f"data.where = 'half = early or band=30-39'\n{text}")
    output("publish", config, "--out", tmp_path / "release")
    counted = ((frame.age // 10 == 3) & (frame.ill == "y")).sum()
    for condition in ("band=30-39", "age=30-39", "half=late"):
        answer = json.loads(output("query", tmp_path / "release", condition, "ill=y", "--json"))
        assert answer["lower"] == answer["upper"] == counted
    assert "age in band" in (tmp_path / "release" / "report.html").read_text()
    config.write_text(text)
    output("anonymize", config, "--out", tmp_path / "table.csv")
    output("verify", tmp_path / "table.csv", "--config", config)
    config.write_text(text.replace("level_of", 'ladder = "fitted"\nlevel_of', 1))
    assert "leave out ladder here" in run("publish", config, "--out", tmp_path / "other", status=2).output
    assert not (tmp_path / "other").exists()


def test_a_ledger_keeps_the_names_of_levels_and_takes_none_later(tmp_path: Path) -> None:
    more = pd.concat([people(), people(7)[:300]], ignore_index=True)
    for number, rows in enumerate((people(), more)):
        publication = publish(read(rows), policy(), ledger=tmp_path / "ledger")
        release = publication.write(tmp_path / str(number)).release
        assert release.count("half=late").value == (rows.half == "late").sum()
    declared, other = {"age": by_file(people(), "band", "half"), "ill": quasi()}, tmp_path / "other"
    publish(read_table(people(), declared, k=5, where=Part("age<30")), policy(), ledger=other).write(tmp_path / "first")
    with refused(match="the ledger knows no level 'band'"):
        publish(read(where=Part("band in 10-19|20-29")), policy(), ledger=other)


TWINS = people().assign(twin=lambda rows: "age " + rows.age.astype(str), crosses=lambda rows: rows.age % 2)
NESTED = people().drop(columns="half").rename(columns={"band": "agegroup"})
MOSTLY = TEXTS[["age", "band", "ill"]].assign(band=TEXTS.band.mask(ONE, "elsewhere"))
UNNAMED = people().assign(children=lambda rows: rows.age // 10 % 2, income=lambda rows: rows.age * 100.5)
UNNAMED["taxed"] = np.where(UNNAMED.income < 3000, "yes", "no")
ASKED = 'is that a rule that everybody knows? Then write level_of = "age"'


@pytest.mark.parametrize(
    ("frame", "asked"),
    [
        (TWINS, {"band": ASKED, "half": ASKED, "twin": 'the role "ignored"'}),
        (
            NESTED.assign(agegroup_code=NESTED.age // 10, agesq=NESTED.age**2),
            {"agegroup": ASKED, "agegroup_code": 'says the same as "agegroup"', "agesq": 'says the same as "age"'},
        ),
        (people()[["age", "band", "ill"]][:40], {}),  # few rows
        (MOSTLY, {}),
        (UNNAMED[["age", "children", "ill"]], {}),  # no word speaks for it
        (UNNAMED[["income", "taxed", "ill"]], {}),
        # Rows that lack the band tell that the half follows from the band alone.
        (TEXTS[["age"]].assign(band=TEXTS.band.mask(ONE, ""), half=TEXTS.half.mask(ONE, "early")), {"band": ASKED}),
    ],
)
def test_init_asks_of_levels_and_copies_by_the_column_that_was_compared_and_decides_nothing(
    frame: pd.DataFrame, asked: Mapping[str, str], tmp_path: Path
) -> None:
    first = init(frame, tmp_path)
    questions = [question for question in first.questions if "in all rows" in question["reason"]]
    found = {name: question["reason"] for question in questions for name in question["columns"]}
    assert found.keys() == asked.keys()
    assert all(words in found[name] for name, words in asked.items())
    assert not any("level_of" in line for line in first.text.splitlines() if not line.startswith("#"))


@pytest.mark.parametrize("columns", [["age", "band", "half", "ill"], ["age", "ill"], ["age", "half", "ill"]])
def test_a_population_is_read_under_the_rule_of_the_table(columns: list[str], tmp_path: Path) -> None:
    frame, everybody = people(), pd.concat([people(seed) for seed in range(4)])
    frame.to_csv(tmp_path / "people.csv", index=False)
    everybody[columns].to_csv(tmp_path / "everybody.csv", index=False)
    rows = sorted({(str(age), band, half, "*") for age, band, half in zip(frame.age, frame.band, frame.half)})
    declared = {"age": quasi(hierarchy=Hierarchy.from_rows(rows)), "ill": quasi()}
    for level in (0, 1, 2):
        found = []
        for attributes in (USED, declared):
            source = TableSource(origin=tmp_path / "people.csv", attributes=attributes)
            population = Population.read(tmp_path / "everybody.csv", source, k_map=25, delta_presence=(0.2, 0.3))
            found.append(assess(source.table(5), policy(), {"age": level, "ill": 0}, population))
        assert found[0].checks == found[1].checks


def test_a_population_adds_values_and_contradicts_nothing(tmp_path: Path) -> None:
    frame, path = people(), tmp_path / "everybody.csv"
    known = TableSource(origin=frame[frame.age != 33], attributes=USED)
    frame.to_csv(path, index=False)
    least = int(frame.groupby(["band", "ill"]).size().min())
    for k in (least, least + 1):
        found = assess(known.table(5), policy(), {"age": 1, "ill": 0}, Population.read(path, known, k_map=k))
        assert [check.holds for check in found.checks if check.criterion == "k-map"] == [k == least]
    frame[["age", "ill"]].to_csv(path, index=False)
    with refused(match="'age' have several, or none in any row"):
        Population.read(path, known, k_map=100)
    frame.assign(half=np.where(frame.age < 20, "early", "late")).to_csv(path, index=False)
    with refused(match=r"everybody\.csv and the table does not follow from 'age'"):
        Population.read(path, known, k_map=100)
    other = read_table(
        frame.assign(band=np.where(frame.age < 25, "10-24", "25-49")), {**USED, "half": Attribute("ignored")}
    )
    with refused(match="the population puts a value under another label"):
        assess(known.table(5), policy(), {"age": 1, "ill": 0}, Population(other, k_map=100))


def test_wishes_that_levels_make_equal_are_one() -> None:
    wanted = [{"attributes": ["half", "ill"], "weight": 2.0}, {"attributes": ["ill", "band"]}, {"attributes": ["ill"]}]
    asked = policy(wanted=wanted, further_tables=[["band", "ill"], ["ill", "half"]]).of_attributes(read().domain)
    assert [(wish.attributes, wish.weight) for wish in asked.analyses] == [(("age", "ill"), 102.0), (("ill",), 100.0)]
    assert [*asked.further_tables] == [("age", "ill")]
    tables = publish(read(), policy(wanted=wanted)).steward.wanted
    assert [table.attributes for table in tables] == [("age", "ill"), ("ill",)]


def test_pages_of_the_window_name_levels_and_judge_a_question_at_the_level_that_it_names(tmp_path: Path) -> None:
    level = 'quasi-identifier\nlevel_of = "age"'
    roles = dict.fromkeys(SETTINGS, "quasi-identifier") | {"band": level, "half": level}
    asked = [["half", "ill"], ["ill", "band"], ["age", "ill"], ["sex", "ill"]]
    wanted = "".join(f"[[search.wanted]]\nattributes = {json.dumps(pair)}\n" for pair in asked)
    search = (
        "[search]\nmust_publish = [{ band = 0, ill = 0 }, { age = 0 }]\nmust_not_publish = [{ age = 0, ill = 0 }]\n"
    )
    frame = people().assign(sex=lambda rows: np.where(rows.index % 2, "f", "m"))
    config = write_release(
        tmp_path, frame, {**roles, "sex": "quasi-identifier"}, f"[privacy]\nk_link = 5\n{search}{wanted}"
    )
    with browsing(config) as browser:
        browser.window.counting.table(20)
        assert "The release is written to" in browser.publish()
        assert browser.window.jobs.latest("search").questions == ({"age", "ill"}, {"sex", "ill"})
        states = re.findall(r'class="(\w+)">[●◐○] (?:won|lost)', browser.page("/search"))
        assert states[:3] == ["published", "published", "supported"]
        page = browser.page("/explore", query_string={"level:age": "1", "level:ill": "0"})
        assert "release.table({&#39;band&#39;: 0, &#39;ill&#39;: 0}, bounds=True)" in page
    release = open_release(tmp_path / "release")
    for margin in release.published.everything.margins:
        assert release.table(release.domain.by_names(margin)).equals(release.table(dict(margin)))


@pytest.mark.parametrize("hidden", [[], [{"age": 0}]])
def test_codes_of_bands_are_labels_behind_the_name_of_their_level(hidden: list[dict[str, int]]) -> None:
    frame = people().assign(band=lambda rows: rows.age // 10, half=lambda rows: rows.age // 20 * 20)
    frame["ill"] = frame.ill.mask(frame.band == 1, "n")
    release = released(
        read(frame, impossible=[{"band": ["1"], "ill": ["y"], "confirmed": True}]), must_not_publish=hidden
    )
    assert release.domain.hierarchy("age").labels[-2] == ("half 0", "half 20", "half 40")
    rows = {"band=2": frame.band == 2, "band in [2, 3]": frame.band.isin([2, 3]), "not half == 20": frame.half != 20}
    for condition, inside in {**rows, "band=2.0|band 3 and half=20": rows["band in [2, 3]"]}.items():
        assert release.count(condition).value == inside.sum(), condition
    for refusal in ("band >= 2", "band=1-3", "band=20", "age=2", "age=band 2"):
        with refused():
            release.count(refusal)
    if hidden:
        with refused(match="the values of 'age' are no numbers"):
            release.mean("age")
    else:
        assert release.count("age >= 20").value == (frame.age >= 20).sum()


def test_codes_of_bands_of_names_stay_as_they_are() -> None:
    frame = people().assign(band=lambda rows: rows.age // 10).drop(columns="half")
    names = {"age": quasi(label_form="names"), "band": quasi(level_of="age"), "ill": quasi()}
    assert read_table(frame, names, k=5).domain.hierarchy("age").labels[1] == ("1", "2", "3", "4")

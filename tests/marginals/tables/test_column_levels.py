"""Columns that are levels of another one by a public rule: the release is that of a declared hierarchy, by both names."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from command_line import output, run
from first_configs import init
from marginals import Attribute, InputError, Part, Policy, open_release, publish, read_config, read_table
from marginals.config.release_toml import disclosure_risk
from marginals.errors import BundleError
from marginals.publishing.frontier import frontier
from marginals.publishing.population import Population
from marginals.publishing.single_tables import assess, chosen_table
from marginals.tables.source import TableSource
from models import Hierarchy

QUASI = "quasi-identifier"
AGES = {"age": Attribute(QUASI), "band": Attribute(QUASI, level_of="age"), "half": Attribute(QUASI, level_of="age")}
USED = {**AGES, "ill": Attribute(QUASI)}


def people(seed: int = 0) -> pd.DataFrame:
    """Return 800 people whose age says their band, and half of life."""
    rng = np.random.default_rng(seed)
    age = rng.integers(10, 50, 800)
    frame = pd.DataFrame({"age": age, "band": [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in age]})
    return frame.assign(
        half=np.where(age < 30, "early", "late"), ill=np.where(rng.random(800) < 0.3 + age / 150, "y", "n")
    )


def policy(k: int = 5, **settings: object) -> Policy:
    return Policy(k_link=k, diversity="none", **settings)


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of a bundle that hold tables and hierarchies."""
    return {file.name: file.read_bytes() for file in folder.rglob("*.csv")}


@pytest.mark.parametrize("k", [5, 50])
@pytest.mark.parametrize("seed", range(3))
def test_the_release_is_that_of_the_declared_hierarchy(k: int, seed: int, tmp_path: Path) -> None:
    frame = people(seed).assign(sex=lambda rows: np.where(rows.index % 7 > rows.age / 10, "f", "m"))
    rows = sorted({(str(a), band, half, "*") for a, band, half in zip(frame.age, frame.band, frame.half)})
    declared = {"age": Attribute(QUASI, hierarchy=Hierarchy.from_rows(rows)), "ill": Attribute(QUASI)}
    shown = {"must_publish": [{"age": 1, "ill": 0}, {"age": 2, "sex": 0}], "must_not_publish": [{"age": 1, "sex": 0}]}
    for number, settings in enumerate(({}, shown)):
        for name, attributes in (("columns", USED), ("file", declared)):
            table = read_table(frame, {**attributes, "sex": Attribute(QUASI)}, k=k)
            publish(table, policy(k, **settings)).write(tmp_path / f"{name}{number}")
    # A named level that no table shows is listed, too, so that conditions on it can be answered.
    one, other = files(tmp_path / "columns0"), files(tmp_path / "file0")
    assert one.pop("age.csv").startswith(other.pop("age.csv")[:6])
    assert one == other
    assert files(tmp_path / "columns1") == files(tmp_path / "file1")
    described = json.loads((tmp_path / "columns1" / "datapackage.json").read_text())
    other = json.loads((tmp_path / "file1" / "datapackage.json").read_text())
    assert list(described["release"]["attributes"]["age"].pop("levels")) == ["band", "half"]
    assert {**described["release"], "report": 0} == {**other["release"], "report": 0}
    assert described["resources"] == other["resources"]


@pytest.mark.parametrize("k", [5, 50])
@pytest.mark.parametrize("seed", range(3))
def test_conditions_by_both_names_count_the_rows(k: int, seed: int, tmp_path: Path) -> None:
    frame = people(seed)
    publish(read_table(frame, USED, k=k), policy(k, must_publish=[{"band": 0, "ill": 0}])).write(tmp_path / "release")
    release = open_release(tmp_path / "release")
    for name in ("band", "half"):
        for label in frame[name].unique():
            assert release.count(f"{name}={label}").value == (frame[name] == label).sum()
            both = ((frame[name] == label) & (frame.ill == "y")).sum()
            assert release.count({name: label, "ill": "y"}).value == both
            assert release.count(f"not {name} = '{label}' and ill=y").value == (frame.ill == "y").sum() - both
    assert release.count("age=20-29").value == (frame.band == "20-29").sum()
    assert release.count("band >= 20").value == release.count("age >= 20").value == (frame.age >= 20).sum()
    assert release.count("half=early or band=40-49").value == ((frame.age < 30) | (frame.age >= 40)).sum()
    assert release.count("band in 10-19|20-29 and half=early").value == (frame.age < 30).sum()
    assert release.table("band", "ill").value.to_dict() == frame.groupby(["band", "ill"]).size().to_dict()
    by_level = release.table({"half": 0, "ill": 0}).value.to_dict()
    assert by_level == frame.groupby(["half", "ill"]).size().to_dict()
    assert release.supports("band", "ill")
    one = release.count("age=25")
    assert one.lower <= (frame.age == 25).sum() <= one.upper
    assert (one.lower < one.upper) == (k == 50)


def test_a_base_name_takes_no_label_of_a_level() -> None:
    frame = people().assign(half=lambda rows: rows.half.str.upper())
    release = publish(read_table(frame, USED, k=5), policy(must_not_publish=[{"age": 0}, {"band": 0}])).release
    assert release.domain.hierarchy("age").labels[0] == ("EARLY", "LATE")
    assert release.count("half=LATE").value == (frame.half == "LATE").sum()
    for asked in ("age=LATE", "age in EARLY|LATE", {"age": "LATE"}, "age=25", "age = 'LATE'"):
        with pytest.raises(InputError, match="no marginal shows values of 'age'; ask for 'half'"):
            release.count(asked)
    with pytest.raises(InputError):
        release.count("half=25")


@pytest.mark.parametrize("k", [5, 50])
def test_a_range_that_cuts_a_band_is_one_of_ages(k: int) -> None:
    frame = people()
    release = publish(read_table(frame, USED, k=k), policy(k)).release
    with pytest.raises(InputError, match="cuts through a value of 'band': name its values, or ask for 'age'"):
        release.count("band >= 25")
    asked = release.count("age >= 25")
    assert asked.lower <= (frame.age >= 25).sum() <= asked.upper
    with pytest.raises(InputError, match="cuts through a value of 'band'"):
        read_table(frame, USED, k=k, where=Part("band >= 25"))


def test_a_declared_hierarchy_names_no_other_values_by_a_number_of_its_own() -> None:
    decades = Hierarchy.from_rows([(str(age), str(age // 10 * 10), "*") for age in range(10, 50)])
    with pytest.raises(InputError, match="'10' at two levels for different values"):
        Attribute(QUASI, hierarchy=decades)
    assert Attribute(QUASI, hierarchy=decades, label_form="names").has_names
    same = Hierarchy.from_rows([("1", "1", "*"), ("2", "2 and 3", "*"), ("3", "2 and 3", "*")])
    assert Attribute(QUASI, hierarchy=same).hierarchy == same


@pytest.mark.parametrize(
    "settings",
    [
        {"must_publish": [{"band": 0, "ill": 0}]},
        {"must_not_publish": [{"band": 0}]},
        {"base": {"band": 0, "ill": 0}},
        {"base": {"half": 0, "ill": 0}, "strategy": "forward"},
        {"wanted": [{"attributes": ["band", "ill"]}, {"attributes": ["half", "ill"], "weight": 2.0}]},
        {"further_tables": [["band", "ill"]], "max_sensitive_margins": 1},
    ],
)
def test_settings_by_the_name_of_a_level_are_those_by_its_number(settings: dict[str, object]) -> None:
    places = {"band": ("age", 1), "half": ("age", 2)}

    def numbered(value: object) -> object:
        if isinstance(value, dict) and "attributes" not in value:
            return {places.get(n, (n, 0))[0]: level + places.get(n, (n, 0))[1] for n, level in value.items()}
        if isinstance(value, dict):
            return {key: numbered(part) for key, part in value.items()}
        if isinstance(value, list):
            return [numbered(part) for part in value]
        return places.get(value, (value, 0))[0] if isinstance(value, str) else value

    table = read_table(people(), USED, k=5)
    by_name = publish(table, policy(**settings)).release
    by_number = publish(table, policy(**{key: numbered(value) for key, value in settings.items()})).release
    assert by_name.published.everything.margins == by_number.published.everything.margins


def test_wishes_that_levels_make_equal_are_one() -> None:
    wanted = [{"attributes": ["half", "ill"], "weight": 2.0}, {"attributes": ["ill", "band"]}, {"attributes": ["ill"]}]
    further = [["band", "ill"], ["ill", "half"]]
    table = read_table(people(), USED, k=5)
    asked = policy(wanted=wanted, further_tables=further).of_attributes(table.domain)
    assert [(wish.attributes, wish.weight) for wish in asked.analyses] == [(("age", "ill"), 102.0), (("ill",), 100.0)]
    assert [*asked.further_tables] == [("age", "ill")]
    tables = publish(table, policy(wanted=wanted)).steward.wanted
    assert [table.attributes for table in tables] == [("age", "ill"), ("ill",)]


def test_a_margin_that_names_one_column_twice_is_refused() -> None:
    with pytest.raises(InputError, match="an attribute is named twice"):
        publish(read_table(people(), USED, k=5), policy(must_publish=[{"age": 1, "band": 0}]))
    release = publish(read_table(people(), USED, k=5), policy()).release
    for names in (["age", "band"], {"age": 2, "half": 0}):
        with pytest.raises(InputError, match="named twice"):
            release.table(names)
    for ask in (release.mean, release.total, release.quantile):
        with pytest.raises(
            InputError, match="'band' is a level of 'age': its numbers, if it has any, are those of 'age'"
        ):
            ask("band")


@pytest.mark.parametrize(
    ("where", "bands"),
    [
        ("band = 20-29", ["20-29"]),
        ("half=early", ["10-19", "20-29"]),
        ("band in 10-19|40-49", ["10-19", "40-49"]),
        ("age = 20-29", ["20-29"]),
    ],
)
@pytest.mark.parametrize("k", [5, 50])
def test_a_part_is_told_by_either_name(where: str, bands: list[str], k: int, tmp_path: Path) -> None:
    frame = people()
    part = publish(read_table(frame, USED, k=k, where=Part(where)), policy(k))
    release = open_release(part.write(tmp_path / "release").release.path)
    assert release.count().value == frame.band.isin(bands).sum()
    assert release.verify().ok
    for band in bands:
        assert release.count(f"band={band}").lower == (frame.band == band).sum()


def test_impossible_pairs_know_both_names() -> None:
    frame = people()
    frame.loc[frame.band == "10-19", "ill"] = "n"
    tables = [
        read_table(frame, USED, k=5, impossible=[{name: ["10-19"], "ill": ["y"], "confirmed": True}])
        for name in ("band", "age")
    ]
    assert tables[0].impossible == tables[1].impossible
    for own in ({"band": ["10-19"], "age": ["40"]}, {"band": ["10-19"], "half": ["late"]}):
        plain = {"half": ["early"], "ill": ["y"]}
        assert TableSource(origin=frame, attributes=USED, impossible=[own, plain]).impossible == (plain,)
        assert read_table(frame, USED, k=5, impossible=[own, {**own, "confirmed": False}]).impossible == ()
        with pytest.raises(InputError, match=r"\(entry 2\) names a column and its own level"):
            read_table(frame, USED, k=5, impossible=[plain, {**own, "confirmed": True}])


@pytest.mark.parametrize("column", ["band", "half"])
def test_rows_that_contradict_the_rule_are_refused_without_their_values(column: str) -> None:
    frame = people()
    frame.loc[frame.index[frame.age == 33][0], column] = "elsewhere"
    with pytest.raises(InputError, match=f"'{column}' of the table does not follow from 'age'") as refused:
        read_table(frame, USED)
    assert "elsewhere" not in str(refused.value)
    assert "33" not in str(refused.value)


def test_a_rule_that_rows_tell_only_together_is_refused_if_it_contradicts_itself() -> None:
    rows = [("20", "a", ""), ("20", "", "x"), ("21", "a", "y"), ("21", "a", "y"), ("22", "b", "x"), ("23", "c", "x")]
    with pytest.raises(InputError, match="'half' of the table does not follow from 'band'"):
        read_table(pd.DataFrame(rows, columns=["age", "band", "half"]), AGES)


def test_missing_values_follow_the_rule_of_the_base() -> None:
    frame = people().astype(str)
    gone = frame.index[:50]
    frame.loc[gone, "age"] = ""
    frame.loc[gone[:25], "band"] = ""
    frame.loc[frame.index[frame.age == "33"][1:], "band"] = ""
    table = read_table(frame, USED)
    assert (table.rows, table.missing) == (750, 50)
    counting = {**USED, "age": Attribute(QUASI, missing="as a value")}
    for name in ("band", "half"):
        with pytest.raises(InputError, match=f"lack 'age', have '{name}'") as refused:
            read_table(frame, counting, k=5)
        assert not re.search("[0-9]", str(refused.value))
        frame.loc[gone, name] = ""
    table = read_table(frame, counting, k=5)
    assert (table.rows, table.missing) == (800, 0)
    release = publish(table, policy()).release
    assert release.count("band=missing").value == release.count("age=missing").value == 50
    thirties = (people().age // 10 == 3).to_numpy() & (frame.age != "").to_numpy()
    assert release.count("band=30-39").value == thirties.sum()


def test_a_value_that_no_row_maps_is_refused() -> None:
    frame = people().astype(str)
    frame.loc[frame.age == "33", "band"] = ""
    with pytest.raises(InputError, match="values of 'age' have several, or none in any row"):
        read_table(frame, USED)


def test_spellings_are_one_value_before_the_rule_is_read() -> None:
    frame = people().astype(str)
    frame.loc[frame.index[frame.age == "33"][:3], "age"] = ["33.0", " 33", "33.00"]
    frame.loc[frame.index[frame.half == "late"][:2], "half"] = [" late", "late "]
    plain, spelled = read_table(people(), USED, k=5), read_table(frame, USED, k=5)
    assert spelled.domain == plain.domain
    assert all(map(np.array_equal, spelled.counts.codes, plain.counts.codes))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"band": Attribute(QUASI, level_of="agee")}, "both must be quasi-identifiers"),
        ({"band": Attribute(QUASI, level_of="band")}, "no level of another column"),
        ({"half": Attribute(QUASI, level_of="band")}, "no level of another column"),
        ({"age": Attribute("sensitive")}, "both must be quasi-identifiers"),
        ({"band": Attribute("sensitive", level_of="age")}, "both must be quasi-identifiers"),
        ({"age": Attribute("ignored")}, "both must be quasi-identifiers"),
        ({"age": Attribute(QUASI, intervals=[10])}, "leave out its intervals"),
        ({"age": Attribute(QUASI, ladder="fitted")}, "leave out its ladder"),
        ({"age": Attribute(QUASI, order=["10"])}, "leave out its order"),
    ],
)
def test_a_base_without_place_for_levels_is_refused(changed: dict[str, Attribute], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_table(people(), {**USED, **changed})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ladder": "fitted"}, "leave out ladder here"),
        ({"values": {"10-19": "teens"}}, "whose section describes both; leave out values here"),
        ({"description": "ten years", "missing": "as a value"}, "leave out missing, description here"),
    ],
)
def test_a_level_has_no_settings_of_its_own(settings: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Attribute(QUASI, level_of="age", **settings)


def test_columns_that_say_the_same_are_refused() -> None:
    frame = people().assign(band=lambda rows: "age " + rows.age.astype(str))
    with pytest.raises(InputError, match="one of the two columns says it all"):
        read_table(frame, USED)


def test_numbers_that_do_not_hold_the_ages_are_no_labels_but_plain_names() -> None:
    frame = people().assign(band=lambda rows: rows.age // 10)
    with pytest.raises(InputError, match=r"could be taken for other values of 'age'.*label_form"):
        read_table(frame, USED)
    release = publish(read_table(frame, {**USED, "age": Attribute(QUASI, label_form="names")}, k=5), policy()).release
    assert release.count("band=3").value == (frame.band == 3).sum()


@pytest.mark.parametrize("form", ["numbers", "names"])
def test_one_label_for_different_values_has_another_name_as_its_only_remedy(form: str) -> None:
    numbers = people().assign(band=lambda rows: rows.age // 10 * 10)
    cities = pd.DataFrame({"age": ["New York", "Albany", "Boston"] * 20, "band": ["New York", "New York", "MA"] * 20})
    for frame in (numbers, cities):
        with pytest.raises(InputError, match="one label at two levels for different values of 'age'") as refused:
            read_table(frame, {"age": Attribute(QUASI, label_form=form), "band": AGES["band"]})
        assert not re.search("label_form|number|New York", str(refused.value))
    decades = Hierarchy.from_rows([(str(age), str(age // 10 * 10), "*") for age in range(10, 50)])
    with pytest.raises(InputError, match=r"Give one of them another name$"):
        Attribute(QUASI, hierarchy=decades)


def test_no_message_quotes_a_label_of_the_rows() -> None:
    frame = pd.DataFrame({"age": ["10-20", "20-30", "30-40"] * 10, "band": ["5-15", "5-15", "35-39"] * 10})
    with pytest.raises(InputError, match="could be taken for other values of 'age'") as refused:
        read_table(frame, {"age": Attribute(QUASI), "band": Attribute(QUASI, level_of="age")})
    assert "15" not in str(refused.value)


def test_meanings_are_of_the_values_whatever_their_spelling() -> None:
    book = {"33.0": "the prime", "30-39": "thirties"}
    table = read_table(people(), {**USED, "age": Attribute(QUASI, values=book)}, k=5)
    release = publish(table, policy()).release
    assert release.published.codebook.values == {"age": {"33": "the prime", "30-39": "thirties"}}
    assert release.count("band=thirties").value == release.count("band=30-39").value
    with pytest.raises(InputError, match="'age' has no published value 'thirties'"):
        release.count("age=thirties")


def test_a_label_of_two_meanings_is_refused() -> None:
    frame = people().astype(str)
    frame["half"] = frame.half.replace("early", "10-19")
    named = {**USED, "age": Attribute(QUASI, label_form="names")}
    with pytest.raises(InputError, match="one label at two levels for different values of 'age'") as refused:
        read_table(frame, named)
    assert "10-19" not in str(refused.value)


def test_the_order_of_a_level_depends_on_no_value_below_it() -> None:
    """A rare town that comes first would put its region first."""
    rows = [("aa", "west")] + [("b", "east")] * 20 + [("c", "west")] * 20
    frame = pd.DataFrame(rows, columns=["town", "region"])
    attributes = {"town": Attribute(QUASI), "region": Attribute(QUASI, level_of="town")}
    release = publish(read_table(frame, attributes, k=5), policy()).release
    assert release.domain.hierarchy("town").labels == (("east", "west"), ("*",))
    assert release.published.everything.domain.hierarchy("town").level_names[0] == "region"


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"ill": 0}, "as another level or attribute is named"),
        ({"band": 9}, "must number levels"),
        ({"band": "0"}, "must number levels"),
        ({"band": 0, "half": 0}, "must number levels"),
        *[
            ({name: 0}, "must number levels by names, which have words of letters")
            for name in (
                "a\nb",
                "a" * 201,
                "",
                "*",
                "count",
                "ill=y and age",
                "ill = y",
                "ill ",
                " ill",
                "ill  x",
                "'ill'",
            )
        ],
        *[
            ({name: 0}, "have no and, or, not, in or is")
            for name in ("ill or ill", "not ill", "ill IN y", "ill<", "(ill")
        ],
    ],
)
def test_damaged_names_of_levels_are_refused(levels: dict[str, object], words: str, tmp_path: Path) -> None:
    publish(read_table(people(), USED, k=60), policy(60)).write(tmp_path / "release")
    descriptor = tmp_path / "release" / "datapackage.json"
    content = json.loads(descriptor.read_text())
    content["release"]["attributes"]["age"]["levels"] = levels
    descriptor.write_text(json.dumps(content))
    with pytest.raises(BundleError, match=words):
        open_release(tmp_path / "release")


@pytest.mark.parametrize("form", ["pandas", "polars", "lazy", "csv", "csv beyond memory"])
def test_every_reader_gives_the_same_table(form: str, tmp_path: Path) -> None:
    frame, plain = people(), read_table(people(), USED, k=5)
    frame.to_csv(tmp_path / "people.csv", index=False)
    forms = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "lazy": lambda: pl.from_pandas(frame).lazy(),
    }
    settings = {"memory": 10_000} if "memory" in form else {}
    table = read_table(forms.get(form, lambda: tmp_path / "people.csv")(), USED, k=5, **settings)
    assert (table.domain, table.rows) == (plain.domain, 800)
    releases = [publish(each, policy()).release.published for each in (table, plain)]
    assert releases[0].everything.margins == releases[1].everything.margins


def test_only_rows_that_count_are_counted_and_all_rows_give_the_rule() -> None:
    frame = people().assign(person=lambda rows: rows.index // 2)
    table = read_table(frame, USED, k=5, person="person", one_row="first")
    assert table.rows == 400
    assert table.domain.hierarchy("age") == read_table(people(), USED, k=5).domain.hierarchy("age")
    contradiction = frame.assign(band=frame.band.where(frame.index != 1, "elsewhere"))
    with pytest.raises(InputError, match="'band' of the table does not follow from 'age'"):
        read_table(contradiction, USED, k=5, person="person", one_row="first")


CONFIG = """data = {path = "people.csv", reviewed = true, impossible = [{band = ["10-19"], ill = ["y"]}], PART}
privacy.k_link = 5
search = {must_publish = [{ band = 0, ill = 0 }], wanted = [{attributes = ["half", "ill"]}]}
[attributes]
age = {role = "quasi-identifier"}
band = {role = "quasi-identifier", level_of = "age"}
half = {role = "quasi-identifier", level_of = "age"}
ill = {role = "quasi-identifier"}
"""


def test_a_config_takes_both_names_and_a_query_answers_them(tmp_path: Path) -> None:
    frame, config = people(), tmp_path / "release.toml"
    frame.to_csv(tmp_path / "people.csv", index=False)
    config.write_text(CONFIG.replace("PART", "where = 'half = early or band=30-39'"))
    assert run("publish", config, "--out", tmp_path / "release").exit_code == 0
    inside = frame[frame.age < 40]
    for condition in ("band=30-39", "age=30-39", "half=late"):
        answer = json.loads(output("query", tmp_path / "release", condition, "ill=y", "--json"))
        assert answer["lower"] == answer["upper"] == ((inside.age >= 30) & (inside.ill == "y")).sum()
    assert "age in band" in (tmp_path / "release" / "report.html").read_text()
    config.write_text(CONFIG.replace(", PART", "").replace("level_of", 'ladder = "fitted", level_of', 1))
    result = run("publish", config, "--out", tmp_path / "other")
    assert result.exit_code == 2
    assert "leave out ladder here" in result.output
    assert not (tmp_path / "other").exists()


def test_a_ledger_keeps_the_names_of_levels(tmp_path: Path) -> None:
    frame, more = people(), pd.concat([people(), people(7)[:300]], ignore_index=True)
    for number, rows in enumerate((frame, more)):
        publication = publish(read_table(rows, USED, k=5), policy(), ledger=tmp_path / "ledger")
        release = publication.write(tmp_path / str(number)).release
        assert release.count("half=late").value == (rows.half == "late").sum()


def test_init_proposes_levels_and_decides_nothing(tmp_path: Path) -> None:
    frame = people().assign(twin=lambda rows: "age " + rows.age.astype(str), size=np.arange(800) % 7)
    first = init(frame, tmp_path)
    questions = [question for question in first.questions if "in all rows" in question["reason"]]
    asked = {name: question["reason"] for question in questions for name in question["columns"]}
    assert asked.keys() == {"band", "half", "twin"} or asked.keys() == {"band", "half", "age"}
    assert "level_of" in asked["band"] == asked["half"]
    assert (
        'is one of them enough? Then give the other the role "ignored"' in asked[({"twin", "age"} & asked.keys()).pop()]
    )
    assert "level_of" not in "".join(line for line in first.text.splitlines() if not line.startswith("#"))
    assert all("level_of" not in section for section in first.toml["attributes"].values())


def asked_of(frame: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Return the questions whether columns are levels, or copies, of others by the columns that are asked about."""
    questions = [each for each in init(frame, folder).questions if "in all rows" in each["reason"]]
    return {name: question["reason"] for question in questions for name in question["columns"]}


def test_init_names_the_column_that_was_compared(tmp_path: Path) -> None:
    nested = people().rename(columns={"band": "agegroup"}).drop(columns="half")
    asked = asked_of(nested.assign(agegroup_code=nested.age // 10, agesq=nested.age**2), tmp_path)
    assert 'is that a rule that everybody knows? Then write level_of = "age"' in asked.pop("agegroup")
    assert 'says the same as "agegroup"' in asked.pop("agegroup_code")
    assert 'says the same as "age"' in asked.pop("agesq")
    assert not asked


def test_init_asks_of_no_level_that_nothing_speaks_for(tmp_path: Path) -> None:
    frame = people().drop(columns=["band", "half"]).assign(children=lambda rows: rows.age // 10 % 2)
    frame["income"] = frame.age * 100.5
    frame["taxed"] = np.where(frame.income < 3000, "yes", "no")
    assert not asked_of(frame[["age", "children", "ill"]], tmp_path)
    assert not asked_of(frame[["income", "taxed", "ill"]], tmp_path)


def test_a_level_of_a_level_that_contradicts_the_base_is_no_level(tmp_path: Path) -> None:
    """Rows that lack the band tell that the half follows from the band alone."""
    frame = people().astype(str)
    frame.loc[frame.index[frame.age == "33"][0], ["band", "half"]] = ["", "early"]
    assert asked_of(frame[["age", "band", "half"]], tmp_path).keys() == {"band"}


def test_what_follows_by_chance_or_mostly_is_no_level(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 9, (14, 6)), columns=[*"abcdef"])
    assert not [q for q in init(frame, tmp_path).questions if "level_of" in q["reason"]]
    mostly = people()
    mostly.loc[5, "band"] = mostly.band[mostly.band != mostly.band[5]].iloc[0]
    reasons = [q for q in init(mostly[["age", "band", "ill"]], tmp_path).questions if "level_of" in q["reason"]]
    assert not reasons


def test_a_file_is_verified_with_a_config_that_has_levels(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text(CONFIG.replace(", PART", ""))
    assert run("anonymize", config, "--out", tmp_path / "table.csv").exit_code == 0
    assert run("verify", tmp_path / "table.csv", "--config", config).exit_code == 0


def test_a_sensitive_attribute_has_no_names_of_levels(tmp_path: Path) -> None:
    table = read_table(people(), {**AGES, "ill": Attribute("sensitive")}, k=5)
    publish(table, Policy(k_link=5, diversity="distinct:2")).write(tmp_path / "release")
    descriptor = tmp_path / "release" / "datapackage.json"
    content = json.loads(descriptor.read_text())
    content["release"]["attributes"]["ill"]["levels"] = {"illness": 0}
    descriptor.write_text(json.dumps(content))
    with pytest.raises(BundleError, match="must number levels of a quasi-identifier"):
        open_release(tmp_path / "release")


@pytest.mark.parametrize("name", ["ill=y and age", "ill ", "ill or ill", "count", "*"])
def test_a_name_that_could_take_over_a_condition_is_refused(name: str) -> None:
    frame = people().rename(columns={"band": name})
    with pytest.raises(InputError, match="rename the column"):
        read_table(frame, {"age": Attribute(QUASI), name: Attribute(QUASI, level_of="age"), "ill": Attribute(QUASI)})


@pytest.mark.parametrize("label", ["missing", "*"])
@pytest.mark.parametrize("missing", ["drop", "as a value"])
def test_groups_are_not_called_as_rows_without_a_value_are(label: str, missing: str) -> None:
    frame = people().assign(band=lambda rows: rows.band.replace("40-49", label))
    columns = {"age": Attribute(QUASI, missing=missing), "band": Attribute(QUASI, level_of="age")}
    with pytest.raises(InputError, match="stand for any value and for none"):
        read_table(frame, {**columns, "ill": Attribute(QUASI)})
    hierarchy = Hierarchy.from_rows(sorted({(str(age), band, "*") for age, band in zip(frame.age, frame.band)}))
    for form in ("numbers", "names"):
        with pytest.raises(InputError, match="stand for any value and for none"):
            Attribute(QUASI, hierarchy=hierarchy, missing=missing, label_form=form)
    apart = Hierarchy.from_rows([("1", "low", "*"), ("missing", "missing", "*")])
    assert Attribute(QUASI, hierarchy=apart).hierarchy == apart


def test_a_frontier_takes_both_names() -> None:
    table = read_table(people(), USED, k=5)
    for named, numbered in (
        ({"must_publish": [{"band": 0, "ill": 0}]}, {"must_publish": [{"age": 1, "ill": 0}]}),
        ({"must_not_publish": [{"half": 0}]}, {"must_not_publish": [{"age": 2}]}),
        ({"base": {"band": 0, "ill": 0}}, {"base": {"age": 1, "ill": 0}}),
        ({"further_tables": [["band", "ill"]]}, {"further_tables": [["age", "ill"]]}),
        ({"wanted": [{"attributes": ["band", "ill"]}]}, {"wanted": [{"attributes": ["age", "ill"]}]}),
    ):
        lines = [frontier(table, policy(**settings)).drop(columns="seconds") for settings in (named, numbered)]
        pd.testing.assert_frame_equal(*lines)


def test_a_level_of_another_name_is_not_asked_by_its_number() -> None:
    release = publish(read_table(people(), USED, k=5), policy(must_not_publish=[{"age": 0}])).release
    for asked in ("age=20-29@0", "age=early@1", "age='early@1'", "band=early@1", {"age": "20-29@0"}):
        with pytest.raises(InputError):
            release.count(asked)
    assert release.count("band=20-29@0").value == release.count("band=20-29").value
    with pytest.raises(InputError, match="no attribute or published level 'bend'"):
        release.count("bend=20-29")


def test_meanings_of_values_are_none_of_their_groups() -> None:
    frame = pd.DataFrame({"code": [*"1234"] * 20}).assign(band=lambda rows: np.where(rows.code < "3", "low", "high"))
    codes = Attribute(QUASI, values={"2": "low", "4": "top"})
    release = publish(
        read_table(frame, {"code": codes, "band": Attribute(QUASI, level_of="code")}, k=5), policy()
    ).release
    assert release.count("band=low").value == 40
    assert release.count("code=low").value == release.count("code=2").value == 20
    with pytest.raises(InputError, match="'band' has no published value 'top'"):
        release.count("band=top")


def test_analyses_name_a_column_once() -> None:
    for settings in ({"wanted": [{"attributes": ["age", "band"]}]}, {"further_tables": [["age", "half"]]}):
        with pytest.raises(InputError, match="an attribute is named twice"):
            publish(read_table(people(), USED, k=5), policy(**settings))


@pytest.mark.parametrize("role", ["ignored", "identifier"])
def test_the_role_of_a_level_is_that_of_its_base(role: str) -> None:
    with pytest.raises(InputError, match="both must be quasi-identifiers"):
        read_table(people(), {**USED, "band": Attribute(role, level_of="age")})


def test_impossible_pairs_name_labels_of_their_column() -> None:
    for column, label in (("band", "15"), ("half", "10-19"), ("band", "early")):
        with pytest.raises(InputError, match=f"names the label '{label}', which '{column}' does not have"):
            read_table(people(), USED, impossible=[{column: [label], "ill": ["y"], "confirmed": True}])


def test_a_single_table_is_named_by_either_name() -> None:
    table = read_table(people(), USED)
    for named, numbered in (
        ({"band": 0}, {"age": 1}),
        ({"band": 1}, {"age": 2}),
        ({"half": 0, "ill": 1}, {"age": 2, "ill": 1}),
    ):
        assert assess(table, policy(2), named).as_json() == assess(table, policy(2), numbered).as_json()
        assert chosen_table(table, policy(2), named).levels == chosen_table(table, policy(2), numbered).levels
    with pytest.raises(InputError, match="named twice"):
        assess(table, policy(2), {"age": 1, "half": 0})


ATTACKED = """data = {path = "people.csv", reviewed = true}
attributes.age.role = "quasi-identifier"
attributes.band = {role = "quasi-identifier", level_of = "age"}
attributes.sex.role = "quasi-identifier"
attributes.id.role = "identifier"
"""


@pytest.mark.parametrize("key", ["dictionaries", "linkage", "columns", "personal_weights"])
def test_attackers_who_know_a_level_are_not_left_out(key: str, tmp_path: Path) -> None:
    frame = people().assign(id=lambda rows: rows.index, sex=lambda rows: np.where(rows.index % 2, "f", "m"))
    frame.to_csv(tmp_path / "people.csv", index=False)
    file, config = tmp_path / "dict.csv", tmp_path / "release.toml"
    keys = {
        "dictionaries": 'dictionaries = ["dict.csv"]',
        "linkage": 'linkage = {table = "dict.csv"}',
        "columns": 'linkage = {table = "dict.csv", columns = ["band"]}',
        "personal_weights": 'weights = {age = 1}\npersonal_weights = "dict.csv"',
    }
    config.write_text(f"{ATTACKED}[risk]\n{keys[key]}\n")
    known = frame[["id", "band", "sex"]]
    for columns in (["id", "band", "sex"], ["id", "band"], ["id", "age", "band"]):
        frame[columns].to_csv(file, index=False)
        with pytest.raises(InputError, match=r"column 'band' of dict\.csv is a level"):
            disclosure_risk(read_config(config))
    if key == "dictionaries":
        known.rename(columns={"band": "age"}).to_csv(file, index=False)
        risks = [disclosure_risk(read_config(config), levels) for levels in ({"age": 1}, {"band": 0})]
        assert [risk.of_table().bayes_risk for risk in risks] == [pytest.approx(8 / 800)] * 2


def test_a_ledger_without_names_of_levels_takes_none(tmp_path: Path) -> None:
    frame = people()
    rows = sorted({(str(a), band, half, "*") for a, band, half in zip(frame.age, frame.band, frame.half)})
    declared = {"age": Attribute(QUASI, hierarchy=Hierarchy.from_rows(rows)), "ill": Attribute(QUASI)}
    first = publish(read_table(frame, declared, k=5, where=Part("age<30")), policy(), ledger=tmp_path / "ledger")
    first.write(tmp_path / "first")
    with pytest.raises(InputError, match="the ledger knows no level 'band'"):
        publish(read_table(frame, USED, k=5, where=Part("band in 10-19|20-29")), policy(), ledger=tmp_path / "ledger")


@pytest.mark.parametrize("columns", [["age", "band", "half", "ill"], ["age", "ill"], ["age", "half", "ill"]])
def test_a_population_is_read_under_the_rule_of_the_table(columns: list[str], tmp_path: Path) -> None:
    frame, everybody = people(), pd.concat([people(seed) for seed in range(4)])
    frame.to_csv(tmp_path / "people.csv", index=False)
    everybody[columns].to_csv(tmp_path / "everybody.csv", index=False)
    rows = sorted({(str(age), band, half, "*") for age, band, half in zip(frame.age, frame.band, frame.half)})
    declared = {"age": Attribute(QUASI, hierarchy=Hierarchy.from_rows(rows)), "ill": Attribute(QUASI)}
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
    with pytest.raises(InputError, match="'age' have several, or none in any row"):
        Population.read(path, known, k_map=100)
    frame.assign(half=np.where(frame.age < 20, "early", "late")).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"everybody\.csv and the table does not follow from 'age'"):
        Population.read(path, known, k_map=100)
    other = read_table(
        frame.assign(band=np.where(frame.age < 25, "10-24", "25-49")), {**USED, "half": Attribute("ignored")}
    )
    with pytest.raises(InputError, match="the population puts a value under another label"):
        assess(known.table(5), policy(), {"age": 1, "ill": 0}, Population(other, k_map=100))

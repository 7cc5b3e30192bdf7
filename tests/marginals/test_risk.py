"""Risks that are worked out by hand: the harm to people, whom an attacker's table fits, and the bounds of a release."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import run
from marginals.risk import RiskAssessment

PEOPLE = pd.DataFrame({"id": ["p", "q", "r"], "town": ["A", "A", "B"], "ill": ["f", "g", "h"]})
HIDDEN = """
[[risk.rules]]
attribute = "town"
condition = "id == 'q'"
[[risk.rules]]
attribute = "ill"
condition = "id == 'r'"
"""
"""Disclosed of p are A and f, of q the illness g, of r the town B."""

FOUND = 'dictionaries = ["all.csv"]\n'
"""One entry that fits everybody: whoever is sought is found, so the loss is the harm."""

BOTH = '[[risk.interactions]]\nattributes = ["ill", "town"]\nweight = '


def assessed(
    folder: Path, section: str, attributes: str = "", frame: pd.DataFrame = PEOPLE, k: int = 1, **tables: pd.DataFrame
) -> RiskAssessment:
    """The assessment by a config with this section. attributes: their keys beside the role. k: that of the policy."""
    every = {"table": frame, "all": pd.DataFrame({"town": ["*"]}), **tables}
    for name, content in every.items():
        content.to_csv(folder / f"{name}.csv", index=False)
    roles = {
        name: "identifier" if name == "id" else "sensitive" if name == "ill" else "quasi-identifier" for name in frame
    }
    listed = "".join(f'{name}.role = "{role}"\n' for name, role in roles.items())
    demand = f"k_link = {k}\n" if k > 1 else ""
    (folder / "release.toml").write_text(
        f'[data]\npath = "table.csv"\n[attributes]\n{listed}{attributes}[privacy]\n{demand}[risk]\n{section}'
    )
    return marginals.risk.disclosure_risk(marginals.read_config(folder / "release.toml"))


@pytest.mark.parametrize(
    ("section", "harm"),
    [
        ("", [1, 1, 1]),
        ("weights = { ill = 2.0, town = 1.0 }\n" + BOTH + "4.0\n", [7, 2, 1]),
        (
            'sensitivity = "multiplicative"\nweights = { ill = 2.0, town = 1.0 }\n' + BOTH + "4.0\n",
            np.exp([7, 2, 1]).tolist(),
        ),
        ("weights = { town = 1.0, ill = 0.5 }\npersonal_weights = 'own.csv'\n", [np.inf, 0.5, 3]),
        ("weights = { ill = { g = 5.0 } }\n", [0, 5, 0]),
        ('weights = { ill = { g = 5.0, "*" = 0.5 }, town = 1.0 }\n', [1.5, 5, 1]),
        ("weights = { ill = { g = 5.0 } }\npersonal_weights = 'of_ill.csv'\n", [0, 10, 0]),
        ("weights = { ill = 2.0, town = 1.0 }\npersonal_weights = 'every.csv'\n" + BOTH + "'both'\n", [7, 2, 1]),
        (
            "weights = { ill = 2.0, town = 1.0 }\npersonal_weights = 'every.csv'\n"
            + BOTH
            + "0.5\n"
            + BOTH
            + "'both'\n",
            [7.5, 2, 1],
        ),
    ],
)
def test_weights_of_attributes_values_people_and_interactions(tmp_path: Path, section: str, harm: list[float]) -> None:
    """LSFB09 section 3.3 and equation 4. An own weight takes the place of an attribute's, and multiplies those of values."""
    own = pd.DataFrame({"id": ["r", "p", "stranger"], "town": ["3", "inf", "9"]})
    every = pd.DataFrame({"id": ["r", "p", "q"], "both": [9, 4, 1]})
    of_ill = pd.DataFrame({"id": ["q"], "ill": ["2"]})
    found = (
        assessed(tmp_path, FOUND + section + HIDDEN, own=own, every=every, of_ill=of_ill)
        .of_table()
        .dictionaries[0]
        .losses
    )
    assert found == pytest.approx(harm)


def test_a_group_weighs_by_the_harmonic_mean_of_its_values(tmp_path: Path) -> None:
    """LSFB09 section 8: 1 / (1/5 + 1/1) for the group of the two."""
    frame = pd.DataFrame({"id": ["p", "q", "r", "s"], "town": ["A"] * 4, "ill": ["HIV", "flu", "flu", "flu"]})
    (tmp_path / "ill-levels.csv").write_text("HIV;virus;*\nflu;virus;*\n")
    section = FOUND + "weights = { ill = { HIV = 5.0, flu = 1.0 } }\n[[risk.rules]]\nattribute = 'ill'\nlevel = 1\n"
    section += "condition = \"id == 'r'\"\n[[risk.rules]]\nattribute = 'ill'\ncondition = \"id == 's'\"\n"
    found = assessed(tmp_path, section, 'ill.hierarchy = "ill-levels.csv"\n', frame).of_table().dictionaries[0].losses
    assert found == pytest.approx([5, 1, 1 / (1 / 5 + 1), 0])


@pytest.mark.parametrize(
    ("missed", "harm"), [("0.25", [0.25] * 3), ("'lost'", [np.inf, 2, 0])], ids=["everybody's", "people's own"]
)
def test_the_harm_to_who_is_missed(tmp_path: Path, missed: str, harm: list[float]) -> None:
    """Two entries fit everybody, and to be found costs nothing: half of the harm of being missed."""
    twice, own = pd.DataFrame({"town": ["*", "*"]}), pd.DataFrame({"id": ["r", "p", "q"], "lost": ["0", "inf", "2"]})
    section = f"{FOUND}weights = {{ ill = 0.0 }}\npersonal_weights = 'own.csv'\nmissed = {missed}\n"
    found = assessed(tmp_path, section, own=own, all=twice).of_table().dictionaries[0].losses
    assert found == pytest.approx(np.array(harm) / 2)


def test_people_are_found_by_an_identifier_or_row_by_row(tmp_path: Path) -> None:
    nameless, own = PEOPLE.drop(columns="id"), pd.DataFrame({"id": ["p"], "town": [1]})
    assert assessed(tmp_path, "", frame=nameless).of_table().dictionaries[0].identified_right == 1
    section = "weights = { town = 1.0 }\npersonal_weights = 'own.csv'\n"
    with pytest.raises(marginals.InputError, match="the role identifier"):
        assessed(tmp_path, section, frame=nameless, own=own).of_table()


LEVELS = [("1", "low", "*"), ("2", "low", "*"), ("3", "high", "*"), ("4", "4", "*"), ("5", "4", "*")]


@pytest.mark.parametrize(
    ("entry", "fitting"),
    [
        ("1", [1, 0, 0, 0, 0]), ("low", [1, 1, 0, 0, 0]), ("high", [0, 0, 1, 0, 0]), ("4", [0, 0, 0, 1, 0]),
        ("", [1] * 5),
    ],
)  # fmt: skip
def test_entries_are_labels_of_any_level_the_lowest_of_equal_ones(
    tmp_path: Path, entry: str, fitting: list[int]
) -> None:
    frame = pd.DataFrame({"age": [row[0] for row in LEVELS]})
    (tmp_path / "levels.csv").write_text("".join(";".join(row) + "\n" for row in LEVELS))
    known = pd.DataFrame({"age": [entry], "unknown": ["x"]})
    found = assessed(
        tmp_path,
        'dictionaries = ["known.csv"]\n',
        'age.hierarchy = "levels.csv"\nage.label_form = "names"\n',
        frame,
        known=known,
    )
    assert found.of_table().dictionaries[0].counts.tolist() == fitting


@pytest.mark.parametrize(
    "section",
    [
        'dictionaries = ["known.csv"]\n',
        'linkage = { table = "known.csv" }\n',
        'linkage = { table = "known.csv", columns = ["band"] }\n',
        'weights = { age = 1 }\npersonal_weights = "known.csv"\n',
    ],
)
def test_attackers_who_know_a_column_that_is_a_level_are_not_left_out(tmp_path: Path, section: str) -> None:
    people = [(str(2 * age + (sex == "f")), str(age), f"{age // 10}0s", sex) for age in range(10, 50) for sex in "fm"]
    frame = pd.DataFrame(people, columns=["id", "age", "band", "sex"])
    for columns in (["id", "band", "sex"], ["id", "band"], ["id", "age", "band"]):
        with pytest.raises(marginals.InputError, match=r"column 'band' of known\.csv is a level"):
            assessed(tmp_path, section, 'band.level_of = "age"\n', frame, known=frame[columns])
    if "dictionaries" in section:
        known = frame[["id", "band", "sex"]].rename(columns={"band": "age"})
        assessed(tmp_path, section, 'band.level_of = "age"\n', frame, known=known)
        for levels in ({"age": 1}, {"band": 0}):
            found = marginals.risk.disclosure_risk(marginals.read_config(tmp_path / "release.toml"), levels)
            assert found.of_table().bayes_risk == pytest.approx(8 / 80)


def test_an_attackers_table_may_spell_numbers_and_dates_otherwise(tmp_path: Path) -> None:
    own = pd.DataFrame({"pay": ["1e+05", "75000"], "age": ["31.0", "42.0"], "born": ["1999-12-31", "2000-01-01"]})
    known = pd.DataFrame({"pay": ["100000", "75,000"], "age": [31, 42], "born": ["31.12.1999", "2000-01-01T00:00Z"]})
    ladders = 'age.intervals = [5, 10]\nborn.dates = ["month", "year"]\n'
    found = assessed(tmp_path, 'dictionaries = ["known.csv"]\n', ladders, own, known=known)
    assert found.of_table().dictionaries[0].counts.tolist() == [1, 1]
    assert found.originals.space.domain == marginals.read_config(tmp_path / "release.toml").read_table().domain
    others = pd.DataFrame({"pay": ["2e+05", "200000.0", "1,00,000"]})
    wider = assessed(tmp_path, 'dictionaries = ["others.csv"]\n', "", own[["pay"]], others=others)
    assert wider.originals.space.domain.hierarchy("pay").labels[0] == ("75000", "100000", "200000")


def test_rules_and_levels_of_an_assessment_are_those_of_the_disclosed_table(tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text("A;x;*\nB;x;*\n")
    section = "[[risk.rules]]\nattribute = 'ill'\ncondition = \"town == 'A'\"\n"
    found = assessed(tmp_path, section, 'town.hierarchy = "towns.csv"\n')
    found = marginals.risk.disclosure_risk(marginals.read_config(tmp_path / "release.toml"), {"town": 1})
    assert found.table.disclosure.level_counts() == {"town": [0, 3, 0], "ill": [1, 2]}
    with pytest.raises(marginals.MarginalsError, match="from 0 to 2, not 3"):
        marginals.risk.disclosure_risk(marginals.read_config(tmp_path / "release.toml"), {"town": 3})


_RNG = np.random.default_rng(3)
WORKERS = pd.DataFrame(
    {
        "id": np.arange(300),
        "age": np.minimum(20 + _RNG.geometric(0.07, 300), 90),
        "job": _RNG.choice(["cook", "nurse", "smith", "baker", "judge"], 300, p=[0.5, 0.3, 0.15, 0.04, 0.01]),
        "ill": _RNG.choice(["flu", "cold"], 300),
    }
)
WIDE = 'age.ladder = "fitted"\njob.ladder = "fitted"\n'
COARSE = "[[risk.rules]]\nattribute = 'age'\nlevel = 2\n"


@pytest.mark.parametrize(
    "known", [None, ["21", "22"]], ids=["without a dictionary", "with one of values that rows have"]
)
def test_rows_are_disclosed_at_the_levels_that_are_published(tmp_path: Path, known: list[str] | None) -> None:
    tables = {"known": pd.DataFrame({"age": known, "job": ["cook", "nurse"]})} if known else {}
    section = 'dictionaries = ["known.csv"]\n' if known else ""
    found = assessed(tmp_path, section + COARSE, WIDE, WORKERS, 5, **tables)
    config = marginals.read_config(tmp_path / "release.toml")
    domain = config.read_table().domain
    assert domain.hierarchy("age").height > 3
    assert found.originals.space.domain == config.read_rows().domain == domain


def test_the_command_discloses_at_the_levels_whose_risk_is_told(tmp_path: Path) -> None:
    told = assessed(tmp_path, COARSE, WIDE, WORKERS, 5).table.records.labels()
    out = tmp_path / "out.csv"
    assert run("disclose", str(tmp_path / "release.toml"), "--out", str(out), "--force").exit_code == 0
    written = pd.read_csv(out, dtype=str)
    names = ["age", "job", "ill"]
    assert sorted(zip(*(written[name] for name in names))) == sorted(zip(*(told[name] for name in names)))


def test_values_that_only_a_dictionary_has_are_put_into_the_ladder(tmp_path: Path) -> None:
    """Somebody of 97 fits everybody who is shown with the open group of the oldest, which has that age too."""
    known = pd.DataFrame({"age": ["21", "97", "97"], "job": ["cook", "cook", "*"]})
    found = assessed(tmp_path, 'dictionaries = ["known.csv"]\n' + COARSE, WIDE, WORKERS, 5, known=known)
    ages = found.originals.space.domain.hierarchy("age")
    own = marginals.read_config(tmp_path / "release.toml").read_table().domain.hierarchy("age")
    assert (own.code("97", 0), ages.code("97", 0)) == (None, ages.size(0) - 1)
    assert [label for labels in ages.labels[1:-1] for label in labels if "over" in label]
    group = ages.lift(0, 2)
    groups = group[np.array([ages.code(str(age), 0) for age in WORKERS["age"]])]
    cooks = (WORKERS["job"] == "cook").to_numpy()
    expected = (groups == group[-1]) * (1 + cooks) + (groups == group[ages.code("21", 0)]) * cooks
    assert found.of_table().dictionaries[0].counts.tolist() == expected.astype(int).tolist()


def test_an_assessment_is_plain_risk_and_neither_it_nor_what_it_prints_shows_a_row(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"id": ["Zoe", "Xaver", "Quirin"], "town": ["Ulm", "Ulm", "Linz"], "ill": ["flu", "gout", "hiv"]}
    )
    assessment = assessed(tmp_path, "", frame=frame)
    plain = marginals.plain(assessment)
    assert plain["table"] == marginals.plain(assessment.of_table())
    assert plain["table"]["bayes_risk"] == assessment.of_table().bayes_risk
    assert marginals.plain(assessment.harm)["family"] == "Linear"
    printed = repr((assessment, assessment.table.rows, assessment.of_table()))
    assert not [text for text in frame.to_numpy().ravel() if text in f"{plain} {printed}"]
    assert "array" not in printed.replace(repr(assessment.of_table().prior), "")

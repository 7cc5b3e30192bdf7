"""`marginals risk`: what a config says of attackers and harm is what is computed, and bad input is one sentence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import MostUtility
from command_line import run

CONFIG = """
data.path = "table.csv"
privacy.k_link = 2
[attributes]
id.role = "identifier"
age = { role = "quasi-identifier", intervals = [10, 20] }
town.role = "quasi-identifier"
illness.role = "sensitive"
"""

TABLE = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(8)],
        "age": [21, 22, 35, 36, 47, 48, 51, 53],
        "town": ["A", "A", "A", "B", "B", "B", "B", "B"],
        "illness": ["flu", "cold", "flu", "cold", "flu", "flu", "cold", "flu"],
    }
)


def project(folder: Path, risk: str = "", **tables: pd.DataFrame) -> Path:
    for name, frame in {"table": TABLE, **tables}.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "release.toml").write_text(CONFIG + risk)
    return folder / "release.toml"


def answer(*arguments: object) -> dict[str, Any]:
    result = run("risk", *arguments, "--json", status=0)
    return dict(json.loads(result.stdout))


def test_without_a_section_being_found_is_the_harm(tmp_path: Path) -> None:
    config = project(tmp_path)
    table = answer(config)["table"]
    assert table == {
        "records": 8,
        "utility": 5.0,
        "bayes_risk": 1.0,
        "worst_case_risk": 1.0,
        "dictionaries": [
            {
                "name": "the table's quasi-identifiers", "risk": 1.0, "largest_loss": 1.0,
                "identification_probability": 1.0, "identified": 8, "identified_right": 8, "fewest_consistent": 1,
                "is_upper_bound": True, "linked_risk": None,
            }
        ],
    }  # fmt: skip
    generalized = answer(config, "--levels", "age=2")["table"]
    # 20-39 in A: 3 people, in B: 1; 40-59 in B: 4.
    assert generalized["bayes_risk"] == pytest.approx((1 + 1 + 1) / 8)
    assert generalized["dictionaries"][0]["identified"] == 1


def test_the_best_disclosure_its_frontier_and_files(tmp_path: Path) -> None:
    config = project(tmp_path, "\n[risk]\nweights = { age = 0.5, illness = 1.0 }\n")
    found = answer(config, "--utility", 3, "--frontier", "--out", tmp_path / "out.csv")
    best, edge = found["optimum"], found["frontier"]
    assert best["utility"] >= 3
    utilities, risks = [p["utility"] for p in edge], [p["risk"] for p in edge]
    assert utilities == sorted(utilities)
    assert risks == sorted(risks)
    assert risks[0] == 0
    assert np.interp(best["utility"], utilities, risks) <= best["risk"] + 1e-12
    assert edge[-1]["price"] is None
    out = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert list(out.columns) == ["age", "town", "illness"]
    text = run("risk", config, "--utility", 3, "--frontier").output
    assert "Best disclosure" in text
    assert "Least risk" in text


LINKAGE = """
[risk]
weights = { illness = 1.0, car = 3.0 }
[risk.linkage]
table = "public.csv"
columns = ["car"]
"""

PUBLIC = pd.DataFrame(
    {
        "id": ["p0", "p1", "q", "p3"],
        "town": ["A", "A", "A", "B"],
        "age": ["21", "20-39", "36", "36"],
        "car": ["Fiat", "Ford", "Fiat", "VW"],
    }
)


@pytest.mark.parametrize("identified", [True, False])
def test_records_are_linked_with_public_ones_first(tmp_path: Path, identified: bool) -> None:
    """Worked by hand. Shown are 20-39 in A (rows 0-2; three fit), in B (row 3; p3 fits), 40-59 in B (nobody fits).

    Linked with p0 one entry of the table fits, with p1 three, with q (of whom row 2, 35, is not one) none.
    """
    public = PUBLIC if identified else PUBLIC.drop(columns="id")
    config = project(tmp_path, LINKAGE, public=public)
    described = marginals.risk.disclosure_risk(marginals.read_config(config), {"age": 2})
    found = described.of_table()
    assert found.dictionaries[0].losses == pytest.approx([1 / 3] * 3 + [1] + [1 / 4] * 4)
    by_link = np.array([4 / 1, 4 / 3, 0])
    right = np.eye(3) if identified else np.ones((3, 3))
    expected = [*(right @ by_link / 3), 4, 1 / 4, 1 / 4, 1 / 4, 1 / 4]
    assert found.dictionaries[0].linked == pytest.approx(expected)
    table = answer(config, "--levels", "age=2")["table"]
    assert table["dictionaries"][0]["linked_risk"] == pytest.approx(np.mean(expected))
    assert "after linkage" in run("risk", config, "--levels", "age=2").output


def test_what_linking_adds_is_looked_up_in_the_dictionary(tmp_path: Path) -> None:
    section = LINKAGE.replace("[risk.linkage]", 'dictionaries = ["cars.csv"]\n[risk.linkage]')
    cars = pd.DataFrame({"town": ["A", "A", "B"], "car": ["Fiat", "Ford", "VW"]})
    public = PUBLIC.iloc[[0]].drop(columns="id")
    found = marginals.risk.disclosure_risk(marginals.read_config(project(tmp_path, section, cars=cars, public=public)))
    table = found.of_table()
    assert table.dictionaries[0].losses[0] == pytest.approx(1 / 2)
    assert table.dictionaries[0].linked is not None
    assert table.dictionaries[0].linked[0] == pytest.approx(4)


def test_who_alone_fits_may_be_somebody_else(tmp_path: Path) -> None:
    """As base values p1 alone is 22 in A; q, who is not in the table, alone is 35 in A; nobody is 36 in B."""
    voters = pd.DataFrame({"id": ["p1", "q"], "age": [22, 35], "town": ["A", "A"]})
    config = project(tmp_path, '\n[risk]\ndictionaries = ["voters.csv"]\n', voters=voters)
    (told,) = answer(config)["table"]["dictionaries"]
    assert (told["identified"], told["identified_right"]) == (2, 1)
    assert "one entry fits 2, their own for 1\n" in run("risk", config).output
    # p1's entry is of 51 in B: that fits p6, and p1's record fits nobody.
    voters.assign(age=[51, 35], town=["B", "A"]).to_csv(tmp_path / "voters.csv", index=False)
    (told,) = answer(config)["table"]["dictionaries"]
    assert (told["identified"], told["identified_right"]) == (2, 0)
    for unknown in (voters.drop(columns="id"), voters.assign(id="p1")):
        unknown.to_csv(tmp_path / "voters.csv", index=False)
        (told,) = answer(config)["table"]["dictionaries"]
        assert (told["identified"], told["identified_right"]) == (2, None)
    assert "one entry fits 2\n" in run("risk", config).output


@pytest.mark.parametrize("attributes", [63, 64, 70])
def test_any_number_of_attributes_has_a_risk_and_many_no_frontier(tmp_path: Path, attributes: int) -> None:
    """2 to that power is beyond what 64 bits hold."""
    names = [f"c{i}" for i in range(attributes)]
    pd.DataFrame({name: ["a", "b"] for name in names}).to_csv(tmp_path / "wide.csv", index=False)
    roles = "".join(f'[attributes.{name}]\nrole = "quasi-identifier"\n' for name in names)
    config = tmp_path / "wide.toml"
    config.write_text(f'[data]\npath = "wide.csv"\n{roles}[privacy]\nk_link = 2\n')
    run("risk", config, status=0)
    assert f"a frontier over {2**attributes:,} combinations" in run("risk", config, "--frontier", status=2).stderr


@pytest.mark.parametrize(
    ("section", "known", "bound"),
    [
        ("", {}, True), ("", {"town": ["*"] * 8}, True), ("missed = 2.0", {}, False),
        ("", {"id": [f"q{i}" for i in range(8)]}, False), ("", {"id": ["p0"] * 8}, False),
    ],
)  # fmt: skip
def test_a_dictionary_of_everybody_as_they_are_bounds_more_general_ones(
    tmp_path: Path, section: str, known: dict[str, list[str]], bound: bool
) -> None:
    """LSFB09 Proposition 1: entries may be as the originals or more general, not lack anybody, and found is worst."""
    voters = TABLE.assign(**known)[["id", "age", "town"]]
    config = project(tmp_path, f'\n[risk]\ndictionaries = ["voters.csv"]\n{section}\n', voters=voters)
    table = answer(config)["table"]
    assert table["dictionaries"][0]["is_upper_bound"] is bound


def test_what_is_asked_on_average_says_how_far_it_is_from_the_best(tmp_path: Path) -> None:
    config = project(tmp_path)
    each, mean = (answer(config, "--utility", 4, *more)["optimum"] for more in ([], ["--on-average"]))
    assert each["bound"] is None
    assert mean["bound"] <= mean["risk"] <= each["risk"]
    assert mean["utility"] >= 4
    assert "no disclosure with a mean utility of 4" in run("risk", config, "--utility", 4, "--on-average").stdout
    refused = run("risk", config, "--price", 1, "--on-average")
    assert (refused.exit_code, "--on-average" in refused.stderr) == (2, True)
    assert "the most is" in run("risk", config, "--utility", 40, "--on-average").stderr


def test_rows_may_count_more_than_once(tmp_path: Path) -> None:
    """The risk, the best disclosure and the frontier are those of the rows repeated, before the same dictionary."""
    often = [1, 0, 2, 3, 1, 1, 0, 2]
    section = '\n[risk]\ndictionaries = ["voters.csv"]\nweights = { illness = 1.0, town = 0.5 }\n'
    voters = pd.DataFrame({"town": ["A", "A", "B", "B", "B"], "age": ["21", "35", "36", "40-59", "*"]})
    weighted = project(
        tmp_path, section + 'row_weight = "often"\n[attributes.often]\nrole = "ignored"\n',
        table=TABLE.assign(often=often), voters=voters,
    )  # fmt: skip
    (tmp_path / "plain").mkdir()
    repeated = TABLE.loc[np.repeat(np.arange(8), often)].assign(id=[f"p{i}" for i in range(10)])
    plain = project(tmp_path / "plain", section, table=repeated, voters=voters)
    for options in ((), ("--utility", 3), ("--loss", 0.2), ("--frontier",), ("--loss", 0.3, "--on-average")):
        one, many = answer(weighted, *options), answer(plain, *options)
        for key in ("bayes_risk", "utility", "worst_case_risk"):
            assert one["table"][key] == pytest.approx(many["table"][key])
        found = one["table"]["dictionaries"][0]["identification_probability"]
        assert found == pytest.approx(many["table"]["dictionaries"][0]["identification_probability"])
        if one["optimum"] is not None and "--on-average" not in options:
            assert one["optimum"]["risk"] == pytest.approx(many["optimum"]["risk"])
        if one["frontier"] is not None:
            assert one["frontier"] == [pytest.approx(point) for point in many["frontier"]]


def test_the_worst_dictionary_of_each_row_can_be_what_counts(tmp_path: Path) -> None:
    section = '\n[risk]\ndictionaries = ["ages.csv", "towns.csv"]\nprior = [0.1, 0.9]\n'
    ages = pd.DataFrame({"age": ["21", "22", "35", "36"] + ["40-59"] * 4})
    towns = pd.DataFrame({"town": ["A"] * 2 + ["B"] * 5})
    config = project(tmp_path, section, ages=ages, towns=towns)
    expected, worst = answer(config, "--loss", 0.5)["optimum"], answer(config, "--loss", 0.5, "--minimax")["optimum"]
    # Expected over the dictionaries ages may be shown, which identify half of the people before the first one.
    assert expected["levels"]["age"][0] == 8
    assert worst["levels"]["age"][0] < 8
    assert worst["how"] == "row by row, against the worst dictionary"
    described = marginals.risk.disclosure_risk(marginals.read_config(config))
    chosen = replace(described, minimax=True).optimum(MostUtility(0.5))
    assert np.max(
        [of.losses for of in described.of_table(chosen.disclosure.records).dictionaries], axis=0
    ) == pytest.approx(chosen.loss)
    assert chosen.loss.max() <= 0.5
    least = answer(config, "--utility", 1, "--minimax")["optimum"]
    assert least["risk"] < answer(config, "--utility", 1)["table"]["worst_case_risk"]
    for refused in ("--frontier", "--on-average"):
        assert run("risk", config, "--loss", 0.5, "--minimax", refused).exit_code == 2

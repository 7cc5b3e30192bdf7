"""What is sensitive is published with a demand, or without one on purpose; and its smallest count is said."""

import json
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from checks import parse_diversity
from command_line import run
from marginals import Attribute, InputError, Policy, Table
from marginals.errors import NothingPublishableError
from small_release import write_release

PEOPLE = pd.DataFrame(
    {
        "town": ["a", "b"] * 60,
        "sex": ["f", "f", "m", "m"] * 30,
        "ill": ["flu", "gout", "cold"] * 40,
        "job": ["cook", "smith", "clerk", "nurse", "cook"] * 24,
    }
)
ROLES = {"town": "quasi-identifier", "sex": "quasi-identifier", "ill": "sensitive", "job": "sensitive"}
CONFIGURED = {name: role for name, role in ROLES.items() if name != "job"}


def two_sensitive() -> Table:
    return marginals.read_table(PEOPLE, ROLES, k=5)


@pytest.mark.parametrize(
    "policy",
    [
        {"k_link": 5, "diversity": "none"},
        {"k_link": 5, "diversity": {"ill": "none", "job": "distinct:2"}},
        {"k_link": 5, "diversity": {"ill": ["none"], "job": "none"}},
        {"k_link": 5, "max_sensitive_margins": 0, "base": "none"},
        {"k_link": 5, "must_not_publish": [{"ill": 0}], "diversity": {"job": "distinct:2"}, "base": "none"},
    ],
)
def test_what_was_said_on_purpose_or_cannot_be_shown_is_published(policy: dict) -> None:
    assert marginals.publish(two_sensitive(), Policy(**policy)).release.verify().ok


def test_commands_refuse_before_anything_is_written(tmp_path: Path) -> None:
    config = write_release(tmp_path, PEOPLE, CONFIGURED, "[privacy]\nk_link = 5\n")
    for command in (["publish", config, "--out", tmp_path / "out"], ["anonymize", config, "--out", tmp_path / "t.csv"]):
        refused = run(*command)
        assert (refused.exit_code, 'diversity = "none"' in refused.stderr) == (2, True)
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "t.csv").exists()
    assert run("anonymize", config).exit_code == 0


def test_the_smallest_count_with_a_sensitive_value_is_said(tmp_path: Path) -> None:
    """First of all in the report and on the steward's page, where nothing is demanded on purpose."""
    config = write_release(tmp_path, PEOPLE, CONFIGURED, '[privacy]\nk_link = 5\ndiversity = "none"\n')
    assert run("publish", config, "--out", tmp_path / "out").exit_code == 0
    for page in (tmp_path / "out" / "report.html", tmp_path / "out-steward.html"):
        assert "Nothing is demanded" in page.read_text().partition('<ul class="tiles">')[0]
    tables = [pd.read_csv(file) for file in (tmp_path / "out" / "marginals").iterdir()]
    smallest = min(int(table["count"].min()) for table in tables if "ill" in table)
    answer = json.loads(run("verify", tmp_path / "out", "--json").stdout)
    assert answer["smallest_sensitive_counts"] == {"ill": smallest}
    assert str(smallest) in run("verify", tmp_path / "out").stdout


def test_the_base_table_shows_the_finest_values_that_all_rows_together_may_be_shown_at() -> None:
    """One rare illness would else keep every table from being published; with levels it is shown among others."""
    rare = PEOPLE.assign(ill=["rare", *PEOPLE["ill"][1:]])
    policy = Policy(k_link=5, min_cell=3, diversity="distinct:2", base="best", max_sensitive_margins=None)
    roles = {"town": "quasi-identifier", "sex": "quasi-identifier"}
    with pytest.raises(NothingPublishableError):
        marginals.publish(marginals.read_table(rare, {**roles, "ill": "sensitive"}, k=5), policy)
    fitted = {**roles, "ill": Attribute("sensitive", ladder="fitted")}
    release = marginals.publish(marginals.read_table(rare, fitted, k=5), policy).release
    assert any({"ill", "town"} <= {*margin} for margin in release.published.everything.margins)
    assert release.published.smallest_sensitive["ill"] >= 3


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1), st.sampled_from(["", "as a value"]), st.booleans())
def test_no_group_shares_one_sensitive_value_and_no_count_is_below_three(seed: int, missing: str, two: bool) -> None:
    """By what stands in the tables alone: classes by the columns that are not sensitive, values that are known."""
    rng = np.random.default_rng(seed)
    rows = 160
    frame = pd.DataFrame({"town": rng.integers(0, 4, rows).astype(str), "sex": rng.choice(["f", "m"], rows)})
    towns = frame["town"].astype(int).to_numpy()
    frame["pay"] = (1000 * (1 + towns) + rng.lognormal(6, 1, rows).astype(int)).astype(str)
    frame["ill"] = np.where(rng.random(rows) < 0.8, towns.astype(str), rng.choice([*"abcdef"], rows))
    if missing:
        frame.loc[rng.random(rows) < 0.3, "pay"] = ""
    sensitive = {"pay": Attribute("sensitive", missing=missing or "drop", ladder="fitted")}
    sensitive |= {"ill": Attribute("sensitive", ladder="fitted")} if two else {}
    attributes = {"town": "quasi-identifier", "sex": "quasi-identifier", **sensitive}
    policy = Policy(k_link=5, k_combinatorial=5, min_cell=3, diversity="distinct:2")
    release = marginals.publish(marginals.read_table(frame, attributes, k=5), policy).release
    for table in release.published.collection.tables:
        for name in {*sensitive} & {*table.attributes}:
            groups: dict[tuple[str, ...], set[str]] = defaultdict(set)
            for cell, count in table.cells():
                values = dict(zip(table.attributes, cell))
                assert count >= 3
                groups[tuple(values[a] for a in values if a not in sensitive)].add(values[name])
            assert all(len(group - {"missing"}) != 1 for group in groups.values())


def test_verify_repeats_of_the_files_alone_that_missing_is_no_sensitive_value(tmp_path: Path) -> None:
    """All women who have a diagnosis have the flu; with `missing` as a diagnosis two would be possible."""
    frame = pd.DataFrame({"sex": ["f"] * 40 + ["m"] * 40, "ill": ["flu", ""] * 20 + ["flu", "gout"] * 20})
    attributes = {"sex": "quasi-identifier", "ill": Attribute("sensitive", missing="as a value")}
    table = marginals.read_table(frame, attributes)
    demanded = Policy(k_link=5, diversity="distinct:2", must_publish=[{"sex": 0, "ill": 0}], base="none")
    with pytest.raises(NothingPublishableError):
        marginals.publish(table, demanded)
    anyway = marginals.publish(table, Policy(**{**demanded.__dict__, "diversity": "none"})).release
    claim = "diversity=distinct:2 leaving out missing"
    assert [check.holds for check in anyway.write(tmp_path / "bare").verify().checks] == [True]
    assert not marginals.verify(tmp_path / "bare", claims=[claim]).ok
    assert not marginals.verify(tmp_path / "bare", claims=["diversity=distinct:2"]).ok, "whatever the bundle claims"
    assert not anyway.verify(["diversity=distinct:2"]).ok
    apart = marginals.publish(table, Policy(k_link=5, diversity="distinct:2", base="none")).release
    apart.write(tmp_path / "out")
    found = [str(finding) for finding in marginals.verify(tmp_path / "out").checks]
    assert any("distinct:2 leaving out missing" in each for each in found)
    asked = marginals.verify(tmp_path / "out", claims=["diversity=distinct:3"]).checks[-1]
    assert not asked.holds
    assert "leaving out missing" in str(asked)


OF_SHARES = ("recursive:3,4", "recursive:3,2", "recursive:10,2", "distinct:2", "entropy:2", "entropy:3", "simple:2")


def graded(rows: int = 400) -> Table:
    rng = np.random.default_rng(3)
    pay = rng.integers(0, 6, rows)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "town": rng.choice(list("abc"), rows), "pay": pay})
    frame["grade"] = np.where((pay < 3) ^ (rng.random(rows) < 0.1), "low", "high")
    roles = {"sex": "quasi-identifier", "town": "quasi-identifier", "pay": "sensitive", "grade": "sensitive"}
    return marginals.read_table(frame.astype(str), {name: Attribute(role) for name, role in roles.items()})


@pytest.mark.parametrize("base", ["none", "auto", "best", {"sex": 0}])
def test_what_is_alone_has_one_table_and_no_other_attribute_beside_it(base: object) -> None:
    demanded = {"pay": "distinct:3", "grade": "distinct:2"}
    policy = Policy(k_link=5, diversity=demanded, base=base, alone=["grade"], objective="kl")
    margins = marginals.publish(graded(), policy).release.published.everything.margins
    assert [set(margin) for margin in margins if "grade" in margin] == [{"grade"}]
    assert any({"pay"} < set(margin) for margin in margins)


def test_what_cannot_be_shown_is_left_out_beside_what_can_and_refused_by_itself() -> None:
    demanded = {"pay": "distinct:3", "grade": "distinct:9"}
    steward = marginals.publish(graded(), Policy(k_link=5, diversity=demanded)).steward
    assert "distinct:9" in steward.unpublished["grade"]
    with pytest.raises(NothingPublishableError, match="not even one with all quasi-identifiers suppressed"):
        marginals.publish(graded(), Policy(k_link=5, diversity={"pay": "distinct:8", "grade": "distinct:9"}))


@given(
    st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=2, max_size=5),
    st.sampled_from(OF_SHARES),
)
def test_dividing_values_leaves_no_criterion_of_shares_worse(values: list[list[int]], name: str) -> None:
    """So what is as diverse as demanded is so too where each value is divided into finer ones."""
    criterion = parse_diversity(name)
    coarse, fine = [sum(own) for own in values], [rows for own in values for rows in own]
    if sum(coarse) and criterion.decide(coarse):
        assert criterion.decide(fine)


def test_a_value_of_a_later_table_harms_until_somebody_says_that_it_does_not() -> None:
    """Somebody confirmed that "negative" harms nobody, of a table that had only "positive" beside it."""
    first = pd.DataFrame({"town": [*"ab"] * 50, "hiv": ["negative"] * 90 + ["positive"] * 10})
    later = first.assign(hiv=["negative"] * 85 + ["positive", "unclear", "unclear"] * 5)
    hiv = Attribute("sensitive", harmless=["negative"], confirmed=True)
    for frame, harmful in ((first, {"positive"}), (later, {"positive", "unclear"})):
        table = marginals.read_table(frame, {"town": "quasi-identifier", "hiv": hiv})
        release = marginals.publish(table, Policy(k_link=5, diversity="public")).release
        told = release.published.harmful["hiv"]
        assert {label for of in told.values for label in of.labels} == harmful
        assert told.harmless == ("negative",)


@pytest.mark.parametrize("diversity", ["at-most:60 of positive", "odds:10,50 may disclose negative", "public"])
@pytest.mark.parametrize("most", [{}, {"positive": 30}, {"*": 30}])
@pytest.mark.parametrize("harmless", [(), ("negative",)])
def test_what_is_said_of_harm_has_an_effect_beside_any_demand_or_is_refused(
    diversity: str, most: dict[str, int], harmless: tuple[str, ...]
) -> None:
    """Half of a town is positive, and nobody in the other one: a bound of 30 percent keeps the two columns apart."""
    frame = pd.DataFrame({"town": [*"ab"] * 50, "hiv": ["positive", "negative", "negative", "negative"] * 25})
    refused = "list others under harmless" if "*" in most and not harmless else ""
    if harmless and diversity != "public" and "*" not in most:
        refused = 'attributes.hiv.harmless has no effect .* write hiv = "public"'
    with pytest.raises(InputError, match=refused) if refused else nullcontext():
        hiv = Attribute("sensitive", harmless=harmless, confirmed=True, at_most=most)
        table = marginals.read_table(frame, {"town": "quasi-identifier", "hiv": hiv})
        release = marginals.publish(table, Policy(k_link=5, diversity=diversity, objective="kl")).release
        is_shown = any({"town", "hiv"} <= {*margin} for margin in release.published.everything.margins)
        assert is_shown is (not most and (diversity != "public" or bool(harmless)))


@pytest.mark.parametrize(
    ("column", "said", "refused"),
    [
        (
            "hiv",
            {"at_most": {"positive": 5}},
            r"'positive' by 5 percent, and 10 percent of all have it .rounded up.; raise it to 10",
        ),
        ("hiv", {"at_most": {"negative": 89.5}}, "by 89.5 percent, and 90 percent of all"),
        ("hiv", {"at_most": {"positive": 60}}, "would loosen the bound of 25 percent"),
        ("hiv", {"at_most": {"positive": 100}}, "above 0 and below 100"),
        ("hiv", {"at_most": {"positive": 0}}, "above 0 and below 100"),
        ("hiv", {"at_most": {"ill": 30}}, "'ill', which is no value"),
        ("hiv", {"harmless": ["ill"], "confirmed": True}, "'ill', which is no value"),
        ("hiv", {"harmless": "negative"}, "give a list"),
        ("hiv", {"at_most": {"*": 30}}, "list others under harmless, with confirmed = true"),
        ("town", {"harmless": ["a"]}, "leave them out for other roles"),
        ("town", {"at_most": {"a": 30}}, "leave them out for other roles"),
        ("hiv", {"harmless": ["Positive"], "confirmed": True}, ""),  # another spelling that the column has
        ("hiv", {"harmless": ["negative"], "confirmed": True, "at_most": {"*": 60}}, ""),
        ("code", {"harmless": ["0.0"], "confirmed": True, "at_most": {"1.0": 40, "1": 35}}, ""),
    ],
)
def test_what_is_said_of_harmful_values_is_refused_with_what_is_wrong(
    tmp_path: Path, column: str, said: dict, refused: str
) -> None:
    """By the attribute and by the config alike; a bound below the share of all rows with both numbers."""
    frame = pd.DataFrame({"town": [*"ab"] * 50, "hiv": ["negative"] * 90 + ["positive"] * 9 + ["Positive"]})
    frame["code"] = ["0"] * 70 + ["1"] * 30
    roles = {"town": "quasi-identifier", "hiv": "sensitive", "code": "sensitive"}
    bounds = "".join(f"at_most.{json.dumps(of)} = {most}\n" for of, most in said.get("at_most", {}).items())
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items() if key != "at_most") + bounds
    stated = roles | {column: f"{roles[column]}\n{lines}"}
    config = write_release(tmp_path, frame, stated, '[privacy]\nk_link = 5\ndiversity = "public"\n')
    answer = run("publish", config, "--out", tmp_path / "out")
    assert answer.exit_code == (2 if refused else 0), answer.output
    with pytest.raises(InputError, match=refused) if refused else nullcontext():
        attributes = {name: Attribute(role, **said if name == column else {}) for name, role in roles.items()}
        marginals.publish(marginals.read_table(frame, attributes), Policy(k_link=5, diversity="public"))

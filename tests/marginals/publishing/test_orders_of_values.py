"""In which order values lie is known from themselves, or said; never guessed. Distances depend on nothing unpublished."""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import marginals
from checks import MaxentDiversity, Verdict, parse_diversity
from command_line import run
from marginals import Attribute, InputError, Policy
from small_release import write_release

ORDERED = "t-closeness:0.3 ordered"
LOW_TO_HIGH = {"low": (20, 10), "mid": (10, 10), "high": (10, 20)}


def two_wards(counts: Mapping[str, tuple[int, int]]) -> pd.DataFrame:
    """A table of two wards. counts: of each value the rows of both."""
    rows = [(ward, value) for value, own in counts.items() for ward, n in zip("ab", own) for _ in range(n)]
    return pd.DataFrame(rows, columns=["ward", "days"])


def reached(table: marginals.Table, diversity: str = ORDERED) -> float:
    (check,) = marginals.recoding.assess(table, Policy(diversity=diversity)).checks
    assert check.worst is not None
    assert check.worst_class.reached is not None
    return check.worst_class.reached


def test_whole_numbers_lie_by_value_and_not_by_text() -> None:
    """By text 10 and 100 were neighbours, and the distance was a quarter of what it is."""
    counts = {"10": (60, 0), "100": (0, 60), **dict.fromkeys(("2", "20", "3", "30", "40"), (8, 8))}
    table = marginals.read_table(two_wards(counts), {"ward": "quasi-identifier", "days": "sensitive"})
    # Of each ward 30 of 100 rows are moved 4 steps of 6, from 10 over 20, 30 and 40 to 100.
    assert reached(table) == float(Fraction(30, 100) * Fraction(4, 6))


def test_values_without_rows_are_no_steps() -> None:
    """From 6 to 1000 it is one step where nothing lies between, though intervals of width 1 go through all of it."""
    counts = {"1": (60, 0), "6": (0, 60), **dict.fromkeys(("2", "3", "4", "5", "1000"), (10, 10))}
    given = Attribute("sensitive", intervals=[1, 1000], single_values=True)
    for days in ("sensitive", given):
        table = marginals.read_table(two_wards(counts), {"ward": "quasi-identifier", "days": days})
        assert reached(table) == float(Fraction(30, 110) * Fraction(5, 6))


@pytest.mark.parametrize("order", [["low", "mid", "high"], ["high", "low", "mid"]])
def test_words_lie_in_the_order_of_the_config_and_readers_are_told(tmp_path: Path, order: list[str]) -> None:
    roles = {"ward": "quasi-identifier", "days": f"sensitive\norder = {json.dumps(order)}"}
    more = '[privacy]\nk_link = 5\ndiversity = "t-closeness:0.3 ordered"\n[base]\ntable = "none"\n[search]\n'
    more += "must_publish = [{ ward = 0, days = 0 }]\n"
    config = write_release(tmp_path, two_wards(LOW_TO_HIGH), roles, more)
    assert run("publish", config, "--out", tmp_path / "out").exit_code == 0
    described = json.loads((tmp_path / "out" / "datapackage.json").read_text())["release"]["attributes"]["days"]
    assert described["order"] == order
    steps = abs(order.index("high") - order.index("low"))
    expected = float(Fraction(5, 40) * Fraction(steps, 2))
    found = json.loads(run("verify", tmp_path / "out", "--json").stdout)["checks"][-1]
    assert found["worst"]["reached"] == expected
    assert not json.loads(run("verify", tmp_path / "out", "--json").stdout).get("warnings")
    write_release(tmp_path, two_wards(LOW_TO_HIGH), {**roles, "days": "sensitive"}, more)
    for command in (["publish", config, "--out", tmp_path / "other"], ["assess", config], ["anonymize", config]):
        refused = run(*command, status=2)
        assert "order = [" in refused.output
        assert "low" not in refused.output.replace("lowest", "")
    assert not (tmp_path / "other").exists()


def test_an_ordered_category_says_the_order_and_another_does_not() -> None:
    frame = two_wards(LOW_TO_HIGH)
    roles = {"ward": "quasi-identifier", "days": "sensitive"}
    levels = ["low", "mid", "high", "none has it"]
    frame["days"] = pd.Categorical(frame["days"], categories=levels, ordered=True)
    assert reached(marginals.read_table(frame, roles)) == 5 / 40
    polars = pytest.importorskip("polars")
    schema = {"ward": polars.String, "days": polars.Enum(levels)}
    enum = polars.DataFrame(frame.astype(str).to_dict("list"), schema=schema)
    assert reached(marginals.read_table(enum, roles)) == 5 / 40
    frame["days"] = frame["days"].cat.as_unordered()
    with pytest.raises(InputError, match=r"order = \["):
        marginals.recoding.assess(marginals.read_table(frame, roles), Policy(diversity=ORDERED))


def test_fitted_groups_of_words_in_an_order_are_neighbours() -> None:
    order = ["none", "mild", "bad", "awful", "deadly"]
    counts = {"none": (30, 30), "mild": (2, 2), "bad": (20, 20), "awful": (2, 3), "deadly": (12, 12)}
    days = Attribute("sensitive", ladder="fitted", order=order)
    table = marginals.read_table(two_wards(counts), {"ward": "quasi-identifier", "days": days}, k=10)
    hierarchy = table.domain.hierarchy("days")
    assert hierarchy.height > 1
    for level in range(hierarchy.height):
        assert hierarchy.order_among(level, range(hierarchy.size(level))) is not None
    release = marginals.publish(table, Policy(k_link=5, min_cell=10, diversity=ORDERED, base="none")).release
    assert release.verify().ok


def test_a_reader_without_an_order_is_told_that_it_is_undecided() -> None:
    frame = two_wards(LOW_TO_HIGH)
    table = marginals.read_table(frame, {"ward": "quasi-identifier", "days": "sensitive"})
    release = marginals.publish(table, Policy(k_link=5, diversity="distinct:2", base="none")).release
    (found,) = release.published.claiming([MaxentDiversity(parse_diversity(ORDERED), "days")]).verify().checks
    assert found.verdict is Verdict.UNDECIDED


def test_an_order_survives_a_ledger(tmp_path: Path) -> None:
    days = Attribute("sensitive", order=["low", "mid", "high"])
    roles = {"ward": Attribute("quasi-identifier"), "days": days}
    joint = [{"ward": 0, "days": 0}]
    policy = Policy(k_link=5, diversity=ORDERED, base="none", must_publish=joint, max_waiting=1.0)
    for rows in (0, 10):
        more = two_wards({"low": (20 + rows, 10 + rows), "mid": (10 + rows, 10 + rows), "high": (10 + rows, 20 + rows)})
        published = marginals.publish(marginals.read_table(more, roles), policy, ledger=tmp_path / "ledger")
        published.write(tmp_path / f"release{rows}")
        assert marginals.verify(tmp_path / f"release{rows}").ok

"""How sure readers can be of harmful values: what a release says of them, against every class that its tables allow."""

import json
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import MaxentDiversity, parse_diversity
from command_line import run
from html_pages import Page
from marginals import Attribute, Policy, Table
from models import Hierarchy
from written_bundles import write_margins

ILLS = Hierarchy.from_rows(
    [("HIV", "lasting", "*"), ("gout", "lasting", "*"), ("flu", "flu", "*"), ("none", "none", "*")]
)
BY_TOWN, BY_SEX = {"town": 0, "ill": 0}, {"ill": 0, "sex": 0}


def table_of(seed: int, number: int = 120) -> Table:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"town": rng.choice(["oak", "elm", "bay"], number), "sex": rng.choice(["f", "m"], number)})
    frame["ill"] = rng.choice(["HIV", "gout", "flu", "none"], number, p=[0.1, 0.1, 0.2, 0.6])
    ill = Attribute("sensitive", hierarchy=ILLS)
    return marginals.read_table(frame, {"town": "quasi-identifier", "sex": "quasi-identifier", "ill": ill})


def expected_shares(table: Table, labels: set[str]) -> dict[tuple[str, str], Fraction]:
    """Of each town and sex: n(town, ill) n(ill, sex) / n(ill) rows are expected of each illness."""
    rows = {
        margin: table.cube.table(table.domain.mask(dict.fromkeys(margin, 0)))
        for margin in (("town", "ill"), ("sex", "ill"))
    }
    counts = {key: {tuple(cell): count for cell, count in own.cells()} for key, own in rows.items()}
    orders = {key: own.attributes for key, own in rows.items()}

    def count(margin: tuple[str, str], cell: Mapping[str, str]) -> int:
        return int(counts[margin].get(tuple(cell[name] for name in orders[margin]), 0))

    ills, shares = ("HIV", "gout", "flu", "none"), {}
    for town, sex in product(("oak", "elm", "bay"), ("f", "m")):
        expected = {}
        for ill in ills:
            whole = sum(count(("sex", "ill"), {"sex": own, "ill": ill}) for own in ("f", "m"))
            both = count(("town", "ill"), {"town": town, "ill": ill}) * count(("sex", "ill"), {"sex": sex, "ill": ill})
            expected[ill] = Fraction(both, whole) if whole else Fraction(0)
        shares[town, sex] = sum(expected[ill] for ill in labels) / sum(expected.values())
    return shares


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("text", "harmful", "harmless"),
    [
        ("odds:3,10 may disclose none", [{"HIV"}, {"gout"}, {"flu"}], ["none"]),
        ("at-most:90 of lasting", [{"HIV", "gout"}], ["flu", "none"]),
        ("odds:10,90", [{"HIV"}, {"gout"}, {"flu"}, {"none"}], []),
    ],
)
def test_the_largest_shares_are_those_of_all_classes(
    seed: int, text: str, harmful: list[set[str]], harmless: list[str], tmp_path: Path
) -> None:
    table = table_of(seed)
    claim = MaxentDiversity(parse_diversity(text), "ill")
    folder = write_margins(table, [BY_TOWN, BY_SEX], tmp_path / "release", [claim])
    answer = json.loads(run("verify", folder, "--json").stdout)
    (told,) = answer["harmful_values"]
    assert told["harmless"] == harmless
    rows: list[dict[str, Any]] = [*told["values"], *([told["together"]] if told["together"] else [])]
    unions = [set().union(*harmful)] if len(harmful) > 1 and harmless else []
    assert len(rows) == len(harmful) + len(unions)
    for row in rows:
        labels = {"HIV", "gout"} if row["labels"] == ["lasting"] else set(row["labels"])
        assert labels in [*harmful, *unions]
        shares = expected_shares(table, labels)
        assert row["largest"] == pytest.approx(float(max(shares.values())), rel=1e-12)
        assert shares[row["cell"]["town"], row["cell"]["sex"]] == max(shares.values())
    reached = [row["largest"] / row["bound"] for row in told["values"] if row["bound"]]
    assert reached == sorted(reached, reverse=True)
    # The terminal and the page tell the same.
    lines = run("verify", folder).stdout
    texts = " ".join(Page((folder / "report.html").read_bytes()).texts("td"))
    for row in rows:
        assert f"{100 * row['largest']:.4g} percent (town={row['cell']['town']}, sex={row['cell']['sex']})" in lines
        assert f"{100 * row['largest']:.4g} percent" in texts
    last = f"counted as harmless: {', '.join(harmless)}" if harmless else "every value counts as harmful"
    assert last in lines


@pytest.mark.parametrize("text", ["odds:3,10 may disclose none", "odds:10,90"])
def test_of_too_many_classes_each_value_is_looked_for_by_itself(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = MaxentDiversity(parse_diversity(text), "ill")
    folder = write_margins(table_of(5), [BY_TOWN, BY_SEX], tmp_path / "release", [claim])
    (few,) = marginals.verify(folder).as_json()["harmful_values"]
    monkeypatch.setattr("checks.maxent.surest.SMALL_JOIN", 0)
    assert marginals.verify(folder).as_json()["harmful_values"] == [few]
    monkeypatch.setattr("checks.maxent.surest._MOST_SETS", 1)
    (fewer,) = marginals.verify(folder).as_json()["harmful_values"]
    examined = [row["largest"] for row in fewer["values"] if row["largest"] is not None]
    assert len(examined) == 1
    assert examined[0] in [row["largest"] for row in few["values"]]
    assert " (not examined); everybody" in run("verify", folder).stdout


@pytest.mark.parametrize("labels", ["public", "private"])
@pytest.mark.parametrize("harmless", [("none", "flu", "none"), ("none", "flu", "HIV")])
def test_a_harmful_value_that_no_row_has_keeps_nothing_from_being_published(
    labels: str, harmless: tuple[str, ...], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"town": ["oak", "elm"] * 50, "ill": (["HIV"] + ["none"] * 9) * 10})
    ill = Attribute("sensitive", hierarchy=ILLS, harmless=harmless, confirmed=True, labels=labels)
    table = marginals.read_table(frame, {"town": "quasi-identifier", "ill": ill})
    published = marginals.publish(table, Policy(k_link=3, diversity="public", time_limit=5))
    steward = published.steward.page(published.steward).decode()
    assert ("How sure a reader of all tables can be of ill" in steward) is ("HIV" not in harmless)
    assert marginals.verify(published.write(tmp_path / "release").release.path or "").ok

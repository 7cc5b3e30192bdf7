"""Pairs of values that everybody knows nobody to have: declared in a config, stated in a release, taken into account."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from checks import MaxentDiversity, Verdict, parse_claim, parse_diversity
from command_line import output, run
from marginals import Attribute, InputError, Policy, Role, attack, publish, read_config, read_table, verify
from models import ContingencyTable, Domain, Hierarchy
from written_bundles import tables_content, write_bundle, write_margins

MARITAL = Hierarchy.from_rows(
    [("civil", "civil", "*"), ("forces", "forces or absent", "*"), ("absent", "forces or absent", "*"),
     ("single", "single", "*")]
)  # fmt: skip
RELATION = Hierarchy.from_rows(
    [("husband", "husband", "*"), ("wife", "other", "*"), ("child", "other", "*"), ("alone", "alone", "*")]
)
PAIR = {"marital": ["absent"], "relation": ["wife"]}


def spouses(folder: Path, **stated: object) -> Path:
    """Two tables at crossing levels: 20 - 18 = 2 people of the forces are children, if no absent spouse is a wife."""
    domain = Domain.of({"marital": MARITAL, "relation": RELATION})

    def table(levels: tuple[int, int], counts: dict[tuple[int, int], int]) -> ContingencyTable:
        codes = np.array(list(counts)).T
        return ContingencyTable.from_cells(
            domain, dict(zip(domain.attributes, levels)), dict(zip(domain.attributes, codes)), list(counts.values())
        )

    # of the second table: civil, forces or absent, single; of the first: husband, other, alone
    first = {
        (0, 0): 400,
        (0, 1): 105,
        (0, 2): 12,
        (1, 0): 11,
        (1, 1): 20,
        (2, 1): 70,
        (2, 2): 50,
        (3, 1): 390,
        (3, 2): 350,
    }
    second = {(0, 0): 400, (0, 1): 60, (0, 2): 45, (0, 3): 12, (1, 0): 11, (1, 1): 18, (1, 2): 72, (1, 3): 50, (2, 2): 390,
              (2, 3): 350}  # fmt: skip
    claims = [parse_claim({"criterion": name, "k": k}) for name, k in (("k-combinatorial", 10), ("min-cell", 3))]
    roles = dict.fromkeys(domain.attributes, Role.QUASI_IDENTIFIER)
    write_bundle(
        tables_content([table((0, 1), first), table((1, 0), second)], roles, claims, labels={}, **stated), folder
    )
    return folder


def test_a_count_that_follows_from_a_declared_pair_fails_what_is_claimed(tmp_path: Path) -> None:
    assert verify(spouses(tmp_path / "silent")).ok
    told = verify(spouses(tmp_path / "told", impossible=(PAIR,)))
    assert [finding.verdict for finding in told.checks if finding.criterion != "integrity"] == [Verdict.FAILS] * 2
    assert [finding.worst.count for finding in told.checks[1:] if finding.worst] == [2, 2]
    found = attack(tmp_path / "told").nonsensitive
    assert found is not None
    assert found.verdict is Verdict.FAILS
    assert "marital absent with relation wife" in output("attack", tmp_path / "told")
    # whoever holds both releases knows what one of them says
    assert not verify(tmp_path / "silent", tmp_path / "told").ok


def people(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    marital = rng.choice(["single", "married", "absent", "widowed"], rows, p=[0.4, 0.4, 0.05, 0.15])
    others = rng.choice(["child", "other", "alone"], rows, p=[0.5, 0.1, 0.4])
    relation = np.where(marital == "married", np.where(sex == "f", "wife", "husband"), others)
    columns = {"town": rng.choice(list("abcde"), rows), "income": rng.choice(["low", "high"], rows)}
    return pd.DataFrame({"sex": sex, "marital": marital, "relation": relation, **columns})


ROLES = dict.fromkeys(["sex", "marital", "relation", "town"], "quasi-identifier") | {"income": "sensitive"}
SPOUSES = {"marital": ["absent", "widowed", "single"], "relation": ["wife", "husband"], "confirmed": True}
POLICY = Policy(k_link=10, k_combinatorial=10, min_cell=3, diversity="distinct:2", time_limit=2.0)


@pytest.mark.parametrize("must_not", [[], [{"marital": 0, "relation": 0}], [{"marital": 0, "relation": 1}]])
def test_what_is_published_holds_given_the_pairs(tmp_path: Path, must_not: list[dict[str, int]]) -> None:
    """Where no table may show the two at base values, one of them is shown coarser, or not at all."""
    groups = Hierarchy.from_rows(
        [("wife", "family", "*"), ("husband", "family", "*"), ("child", "family", "*"), ("other", "else", "*"),
         ("alone", "else", "*")]
    )  # fmt: skip
    roles = ROLES | {"relation": Attribute("quasi-identifier", hierarchy=groups)}
    table = read_table(people(), roles, impossible=[SPOUSES, {"sex": ["m"], "relation": ["wife"], "confirmed": True}])
    policy = Policy(**{**vars(POLICY), "must_not_publish": must_not})
    release = publish(table, policy).write(tmp_path / "release").release
    assert verify(tmp_path / "release").ok
    assert bool(json.loads((tmp_path / "release/datapackage.json").read_text())["release"].get("impossible")) != bool(
        must_not[1:]
    )
    margins = [dict(margin) for margin in release.published.everything.margins]
    assert ({"marital": 0, "relation": 0} in margins) == (not must_not)


def test_unconfirmed_pairs_count_for_nothing_and_are_counted(tmp_path: Path) -> None:
    """What `init` proposes waits for somebody to confirm it; pairs are not judged beside a ledger."""
    people().to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    output("init", tmp_path / "people.csv", "--out", config)
    text = config.read_text()
    assert text.count("[[data.impossible]]") == text.count("confirmed = false") >= 5
    assert read_config(config).read_table().impossible == ()
    said = run("publish", config, "--out", tmp_path / "release").output
    assert f"{text.count('confirmed = false')} impossible pairs wait" in said
    config.write_text(text.replace("confirmed = false", "confirmed = true"))
    assert len(read_config(config).read_table().impossible) == text.count("confirmed = false")
    with pytest.raises(InputError, match=r"data\.impossible cannot be judged beside the other releases of a ledger"):
        publish(read_config(config).read_table(), POLICY, ledger=tmp_path / "ledger")


def surest(table: pd.DataFrame, margins: list[list[str]], excluded: tuple[int, int] | None) -> float:
    """Largest share of a value of s in a class of a and b, by proportional fitting of margins; no row is in a cell."""
    codes = tuple(table[name].astype("category").cat.codes.to_numpy() for name in "abs")
    counts = np.zeros([column.max() + 1 for column in codes])
    np.add.at(counts, codes, 1)
    joint = np.ones(counts.shape)
    if excluded is not None:
        joint[excluded] = 0
    for _ in range(2000):
        for margin in margins:
            others = tuple(place for place, name in enumerate("abs") if name not in margin)
            now = joint.sum(others, keepdims=True)
            joint = joint * np.divide(counts.sum(others, keepdims=True), now, out=np.zeros_like(now), where=now > 0)
    classes = joint.sum(2, keepdims=True)
    return float((joint / np.where(classes > 0, classes, 1)).max())


@pytest.mark.parametrize("seed", [0, 3])  # in which the pair makes readers surer
def test_a_bound_on_sensitive_values_holds_given_the_pairs(seed: int, tmp_path: Path) -> None:
    """Two tables of a sensitive column say more to readers who know that nobody has two values of the others."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice([f"{name}{n}" for n in range(3)], 300) for name in "ab"})
    frame = frame[(frame.a != "a0") | (frame.b != "b0")].reset_index(drop=True)
    frame["s"] = np.where(
        rng.random(len(frame)) < 0.15 + 0.3 * (frame.a == "a1") + 0.3 * (frame.b == "b1"), "yes", "no"
    )
    pair = {"a": ["a0"], "b": ["b0"]}
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive"}
    table = read_table(frame, roles, impossible=[pair | {"confirmed": True}])
    margins = [["a", "s"], ["b", "s"]]
    believed, known = (surest(frame, margins, excluded) for excluded in (None, (0, 0)))
    bound = (believed + known) / 2
    assert known > believed
    demand = parse_diversity(f"recursive:{bound / (1 - bound):.6f},2")
    for number, (impossible, verdict) in enumerate((((), Verdict.HOLDS), ((pair,), Verdict.UNDECIDED))):
        parts = [dict.fromkeys(margin, 0) for margin in margins]
        folder = write_margins(
            table, parts, tmp_path / str(number), [MaxentDiversity(demand, "s")], impossible=impossible
        )
        assert [f.verdict for f in verify(folder).checks if f.criterion == "maxent-diversity"] == [verdict]
    for diversity in ("public", demand):
        policy = Policy(k_link=5, diversity=diversity, base="none")
        published = publish(table, policy).release.published.everything
        assert surest(frame, [[*m] for m in published.margins], (0, 0)) <= max(
            bound, *(3 * p / (1 + 2 * p) + 0.01 for p in frame.s.value_counts(normalize=True))
        )

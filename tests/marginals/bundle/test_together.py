"""Releases whose values of an attribute differ, and ladders taken over."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from checks import KLink, Verdict
from command_line import run
from dice import Dice, Thrown
from marginals import InputError, Policy, Role, Table
from marginals.bundle.overlaps import overlapping_values
from marginals.bundle.together import ReleasedLadder, released_ladders
from marginals.example import release
from marginals.publishing.publishing import releasable
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from strategies import contingency_tables, domains, margins
from written_bundles import tables_content, write_bundle


def overlaps(one: list[str], other: list[str]) -> tuple[set[tuple[str, str]], bool]:
    pairs, is_clear = overlapping_values(Hierarchy.flat(one), Hierarchy.flat(other))
    return {(one[a], other[b]) for a, b in pairs.T.tolist()}, is_clear


@Thrown
def bands(dice: Dice) -> dict[str, set[int]]:
    """The numbers from 0 to 11 in bands, named as fitted levels name them."""
    ends = [0, *(n for n in range(1, 12) if dice.yes()), 12]
    named = {}
    for low, high in zip(ends, ends[1:]):
        name = str(low) if high == low + 1 else f"{low}-{high - 1}"
        name = f"under {high}" if low == 0 and high < 12 else f"{low} and over" if high == 12 and low else name
        named[name] = set(range(low, high))
    return named


@given(bands(), bands(), st.sets(st.integers(0, 11), min_size=1))
def test_bands_of_numbers_overlap_where_a_number_is_in_both(
    one: dict[str, set[int]], other: dict[str, set[int]], occurring: set[int]
) -> None:
    present = [label for label, own in one.items() if own & occurring]
    pairs, is_clear = overlaps(present, list(other))
    assert is_clear
    assert {(a, b) for a in present for b in other if one[a] & other[b]} == pairs


@pytest.mark.parametrize(
    ("one", "other", "pairs", "is_clear"),
    [
        ("a b", "a c b", "a:a b:b", True),  # nobody was at c
        ("a b other", "a c b other", "a:a b:b other:c other:other", False),
        ("a other", "other a", "a:a other:other", True),
        ("148** 15***", "14850 15*** 16***", "148**:14850 15***:15***", True),
        ("a b", "c d", "a:c a:d b:c b:d", False),
        ("a b,_c", "a b c", "a:a b,_c:b b,_c:c", True),  # a list of labels
        ("1 2 missing", "1-2", "1:1-2 2:1-2", True),
    ],
)
def test_labels_tell_what_overlaps_or_not_at_all(one: str, other: str, pairs: str, is_clear: bool) -> None:
    expected = {(a, b) for a, _, b in (pair.replace("_", " ").partition(":") for pair in pairs.split())}
    first, second = ([label.replace("_", " ") for label in labels.split()] for labels in (one, other))
    assert overlaps(first, second) == (expected, is_clear)
    assert overlaps(second, first) == ({(b, a) for a, b in expected}, is_clear)


def test_a_label_of_a_higher_level_is_what_lies_below_it() -> None:
    fine = Hierarchy.from_rows([("Ulm", "Germany", "*"), ("Jena", "Germany", "*"), ("Ely", "England", "*")])
    pairs, is_clear = overlapping_values(fine, Hierarchy.flat(["England", "Germany", "Spain"]))
    assert sorted(map(tuple, pairs.T.tolist())) == [(0, 1), (1, 1), (2, 0)]
    assert is_clear


@Thrown
def releases(dice: Dice) -> tuple[ContingencyTable, Collection]:
    domain = domains.of(dice, 1, 3)
    table = contingency_tables.of(dice, domain)
    masks = [domain.mask(margins.of(dice, domain)) for _ in range(dice.between(1, 3))]
    return table, Collection.of(DataCube([table]), masks)


@given(releases())
def test_the_same_table_with_the_levels_of_its_release_has_the_same_marginals(
    of_table: tuple[ContingencyTable, Collection],
) -> None:
    table, collection = of_table
    if not collection.masks:
        return
    published = releasable(collection, ())
    content = tables_content(published.tables, dict.fromkeys(table.attributes, Role.QUASI_IDENTIFIER))
    for name, ladder in released_ladders(content).items():
        given_before = table.domain.hierarchy(name)
        taken = ladder(given_before)
        assert taken.labels[0] == given_before.labels[0]
        released = published.domain.hierarchy(name)
        finest = published.finest_level(name)
        occurring = set(table.rolled_up({name: 0}).codes[0].tolist())
        for code, (value, *above) in enumerate(taken.rows()):
            if code in occurring:
                path = next(row for row in released.rows() if row[0] in (value, *given_before.rows()[code]))
                assert (value, *above)[-len(path[finest:]) :] == tuple(path[finest:])


@pytest.mark.parametrize(
    ("released", "values", "levels"),
    [
        ("under 20; 20-29; 30 and over", "17; 25; 99", "under 20; 20-29; 30 and over"),
        ("clerk; cook and others", "clerk; nurse", "clerk; cook and others"),
        ("clerk; cook; other", "clerk; nurse", "clerk; other"),
        ("Cambodia, Laos; Italy", "Laos; Italy; Cambodia", "Cambodia, Laos; Italy; Cambodia, Laos"),
        ("clerk; cook", "clerk; nurse", "clerk; nurse"),
        ("20-29; 30-39", "25; 41", "20-29; 41"),
        ("cook and others; clerk and others", "cook; baker", "cook; baker"),
    ],
)
def test_a_value_is_part_of_what_the_release_calls_it(released: str, values: str, levels: str) -> None:
    ladder = ReleasedLadder(Hierarchy.flat(released.split("; ")))
    assert [row[-2] for row in ladder(Hierarchy.flat(values.split("; "))).rows()] == levels.split("; ")


def config(folder: Path, more: str = "", role: str = "sensitive") -> Path:
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{age},{'flu' if age % 3 else 'gout'}\n" * (age % 4 + 1) for age in range(20, 80))
    (folder / "people.csv").write_text("age,illness\n" + rows)
    (folder / "release.toml").write_text(
        f'[data]\npath = "people.csv"\n{more}\n[attributes.age]\nrole = "quasi-identifier"\nladder = "fitted"\n'
        f'[attributes.illness]\nrole = "{role}"\n[privacy]\nk_link = 9\n[base]\ntable = "none"\n'
    )
    return folder / "release.toml"


def publish_into(folder: Path, table: Table) -> None:
    marginals.publish(table, Policy(k_link=9, base="none", diversity="none")).write(folder)


def test_a_config_takes_the_levels_of_a_release(tmp_path: Path) -> None:
    own = marginals.read_config(config(tmp_path / "first")).read_table()
    publish_into(tmp_path / "out", own)
    second = marginals.read_config(config(tmp_path / "second", 'ladders = "../out"'))
    table = second.read_table()
    published = marginals.open_release(tmp_path / "out").domain.hierarchy("age")
    assert set(published.labels) <= set(table.domain.hierarchy("age").labels)
    assert table.domain.hierarchy("age").labels != own.domain.hierarchy("age").labels
    assert "age" in own.ladders
    assert "age" not in table.ladders, "it is fitted to no row of this table"
    assert tmp_path / "second" / "../out" in second.reads
    answer = run("publish", second.path, "--out", tmp_path / "out")
    assert (answer.exit_code, "would replace" in answer.output) == (2, True)


@pytest.mark.parametrize(
    ("ladders", "role", "said"),
    [
        ('"nowhere"', "sensitive", "nowhere"),
        ("5", "sensitive", r"data\.ladders"),
        ('"../damaged"', "sensitive", "damaged is damaged"),
        ('"../towns"', "sensitive", "none of the attributes"),
        ('"../out"', "quasi-identifier", "'illness' sensitive"),
    ],
)
def test_folders_without_fitting_ladders_are_refused(tmp_path: Path, ladders: str, role: str, said: str) -> None:
    release.write(tmp_path / "damaged")
    next((tmp_path / "damaged" / "marginals").glob("*.csv")).write_text("age,count\n")
    towns = pd.DataFrame({"town": ["Ulm"] * 9 + ["Jena"] * 9})
    publish_into(tmp_path / "towns", marginals.read_table(towns, {"town": "quasi-identifier"}))
    publish_into(tmp_path / "out", marginals.read_config(config(tmp_path / "first")).read_table())
    with pytest.raises(InputError, match=rf"release\.toml: .*{said}"):
        marginals.read_config(config(tmp_path / "here", f"ladders = {ladders}", role))


def of_ages(folder: Path, bands: str, counts: list[int]) -> Path:
    """A bundle with a table of ages in some bands and one of sexes, of 60 people."""
    domain = Domain.of(
        {"age": Hierarchy.from_rows([(band, "*") for band in bands.split()]), "sex": Hierarchy.flat("fm")}
    )
    tables = [
        ContingencyTable.from_cells(domain, {name: 0}, {name: np.arange(len(numbers))}, np.array(numbers))
        for name, numbers in (("age", counts), ("sex", [30, 30]))
    ]
    roles = {"age": Role.QUASI_IDENTIFIER, "sex": Role.QUASI_IDENTIFIER}
    write_bundle(tables_content(tables, roles, (KLink(5),)), folder)
    return folder


@pytest.mark.parametrize("order", ["abc", "acb", "bac", "cba"])
def test_two_tables_stay_two_beside_a_third_that_generalizes_otherwise(order: str, tmp_path: Path) -> None:
    folders = {
        "a": of_ages(tmp_path / "a", "10-19 20-29 30-39", [20, 20, 20]),
        "b": of_ages(tmp_path / "b", "15-24 25-34 35-44", [30, 20, 10]),
        "c": of_ages(tmp_path / "c", "10-19 20-29 30-39", [21, 19, 20]),
    }
    findings = marginals.verify(*(folders[name] for name in order), claims=["difference=5"]).checks
    assert Verdict.FAILS in [finding.verdict for finding in findings if finding.criterion == "difference"]


def test_whether_bands_that_cross_can_be_of_one_table_is_undecided(tmp_path: Path) -> None:
    """40 people of 10 to 14 are not among 20 of 10 to 19; nobody looks at that, so nothing is said to be alike."""
    one = of_ages(tmp_path / "a", "10-19 20-29 30-39", [20, 20, 20])
    other = of_ages(tmp_path / "b", "10-14 15-24 25-44", [40, 10, 10])
    (finding,) = (
        f for f in marginals.verify(one, other, claims=["difference=5"]).checks if f.criterion == "difference"
    )
    assert finding.verdict is Verdict.UNDECIDED
    assert finding.note

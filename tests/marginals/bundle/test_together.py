"""Releases whose values of an attribute differ, against enumeration of all tables that fit both; and ladders taken over."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import marginals
from checks import Claim, KCombinatorial, KLink, MaxentDiversity, MinCell, Verdict, parse_diversity
from checks.claims import undecided
from command_line import run
from dice import Dice, Thrown
from marginals import InputError, Policy, Role, Table
from marginals.attacks import refined_certainties
from marginals.bundle.overlaps import overlapping_values
from marginals.bundle.together import ReleasedLadder, atoms_of, common_refinement, released_ladders
from marginals.example import release
from marginals.publishing.publishing import releasable
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, MarginalModel
from strategies import contingency_tables, domains, margins
from table_enumeration import all_tables, margins_with, ranges
from written_bundles import Content, tables_content, write_bundle

ROLES = {"age": Role.QUASI_IDENTIFIER, "sex": Role.QUASI_IDENTIFIER, "ill": Role.SENSITIVE}
OTHERS = {"sex": Hierarchy.flat("fm"), "ill": Hierarchy.flat(["flu", "hiv"])}
AGES = 6


def cut(ends: Sequence[int]) -> Hierarchy:
    """Ages from 0 to 5, cut before some of them, labelled as a release labels its finest intervals."""
    bounds = [0, *ends, AGES]
    labels = [f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in zip(bounds, bounds[1:])]
    return Hierarchy.from_rows([(label, "*") for label in labels])


def bundle_of(
    counts: NDArray[np.int64], ends: Sequence[int], margins: Sequence[Sequence[str]], claims: tuple[Claim, ...] = ()
) -> Content:
    """A release of a table of age by sex by ill, shape (6, 2, 2). margins: their attributes."""
    domain = Domain.of({"age": cut(ends), **OTHERS})
    within = np.digitize(np.arange(AGES), ends)
    age, sex, ill = np.indices(counts.shape).reshape(3, -1)
    codes = {"age": within[age], "sex": sex, "ill": ill}
    tables = [ContingencyTable.from_cells(domain, dict.fromkeys(m, 0), codes, counts.ravel()) for m in margins]
    return tables_content(tables, ROLES, claims)


def places_of(columns: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """A number for each distinct combination."""
    return np.unique(np.stack(columns), axis=1, return_inverse=True)[1].reshape(-1)


class Enumerated:
    """All tables over atoms, sex and ill that fit two releases, and what they have in common."""

    def __init__(
        self, counts: NDArray[np.int64], cuts: Sequence[Sequence[int]], margins: Sequence[Sequence[Sequence[str]]]
    ) -> None:
        ends = sorted({end for own in cuts for end in own})
        self.ages = np.digitize(np.arange(AGES), ends)
        size = len(ends) + 1
        truth = np.zeros((size, 2, 2), dtype=np.int64)
        np.add.at(truth, self.ages, counts)
        atom, sex, ill = np.indices(truth.shape).reshape(3, -1)
        first = [int(np.flatnonzero(self.ages == each)[0]) for each in range(size)]
        self.columns = {"age": atom, "sex": sex, "ill": ill}
        self.cut_columns = [np.digitize(first, own)[atom] for own in cuts]
        members, sums = [], []
        for own, published in zip(self.cut_columns, margins):
            for attributes in published:
                keys = places_of([own if a == "age" else self.columns[a] for a in attributes])
                for cell in range(keys.max() + 1):
                    members.append(np.flatnonzero(keys == cell).tolist())
                    sums.append(int(truth.ravel()[keys == cell].sum()))
        self.members, self.sums = members, sums
        self.tables = list(all_tables(members, sums, truth.size))

    def certain(self, attributes: Sequence[str], k: int) -> tuple[int, int, int]:
        found = np.zeros(3, dtype=np.int64)
        for margin in margins_with("ill", {a: [0] for a in attributes}):
            keys = places_of([self.columns[a] for a in margin])
            low, high = ranges(iter(self.tables), {"": keys})[""]
            same = (low == high) & (low > 0)
            found += [np.count_nonzero(same), np.count_nonzero(low), np.count_nonzero(same & (low < k))]
        return tuple(found.tolist())  # type: ignore[return-value]

    def least_possible(self, attributes: Sequence[str]) -> int:
        """The least of the largest counts of the nonsensitive cells that can be occupied."""
        keys = places_of([self.columns[a] for a in attributes if a != "ill"])
        _, high = ranges(iter(self.tables), {"": keys})[""]
        return int(high[high > 0].min())


CUTS = [((2, 4), (1, 3, 5)), ((3,), (2, 4)), ((2,), (4,)), ((1, 4), (2, 3))]
MARGINS = [
    ([["age", "ill"]], [["age", "ill"]]),
    ([["age", "ill"], ["sex", "ill"]], [["age", "ill"]]),
    ([["age", "ill"], ["age", "sex"]], [["age", "ill"]]),
    ([["age", "sex", "ill"]], [["age", "ill"]]),
]


@settings(max_examples=40)
@given(
    st.sampled_from(CUTS),
    st.sampled_from(MARGINS),
    st.lists(st.integers(0, AGES * 4 - 1), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_overlapping_values_tell_what_all_tables_that_fit_both_say(
    cuts: tuple[Sequence[int], Sequence[int]],
    margins: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]],
    people: list[int],
    k: int,
) -> None:
    counts = np.bincount(people, minlength=AGES * 4).reshape(AGES, 2, 2).astype(np.int64)
    claims = (KLink(k),)
    bundles = [(name, bundle_of(counts, *own, claims)) for name, own in zip("ab", zip(cuts, margins))]
    worlds = Enumerated(counts, cuts, margins)
    shown = sorted({a for published in margins for attributes in published for a in attributes})
    refined = common_refinement(bundles)
    certain = refined_certainties(refined)["ill"]
    assert certain.is_complete
    assert (certain.determined, certain.exists, certain.small) == worlds.certain(shown, k)
    (finding,) = refined.content.verify([KCombinatorial(k)]).checks
    least = min(worlds.least_possible(shown), *(_least_class(counts, own, m) for own, m in zip(cuts, margins)))
    assert finding.verdict is (Verdict.HOLDS if least >= k else Verdict.FAILS)


def _least_class(counts: NDArray[np.int64], ends: Sequence[int], margins: Sequence[Sequence[str]]) -> int:
    """The smallest class that a release shows, of its margins one by one."""
    age, sex, _ = np.indices(counts.shape).reshape(3, -1)
    columns = {"age": np.digitize(age, ends), "sex": sex}
    least = int(counts.sum())
    for attributes in margins:
        held = [columns[a] for a in attributes if a != "ill"]
        classes = np.bincount(places_of(held), counts.ravel()) if held else counts.sum(keepdims=True)
        least = min(least, int(classes[classes > 0].min()))
    return least


def test_one_person_is_left_between_two_intervals(tmp_path: Path) -> None:
    """Of 25-34 in one release all but one are 30-39 in the other, so one is 25-29, with HIV. Each passes alone."""
    domains = [
        Domain.of({"age": Hierarchy.from_rows([(a, "*") for a in labels]), "ill": Hierarchy.flat(["flu", "hiv"])})
        for labels in (["10-19", "20-29", "30-39"], ["15-24", "25-34", "35-44"])
    ]
    claims = (KLink(3), KCombinatorial(3), MaxentDiversity(parse_diversity("distinct:2"), "ill"))
    cells = [
        {(0, 0): 9, (0, 1): 4, (1, 0): 20, (1, 1): 6, (2, 0): 6, (2, 1): 4},
        {(0, 0): 29, (0, 1): 9, (1, 0): 6, (1, 1): 5},
    ]
    folders = []
    for name, domain, counted in zip("ab", domains, cells):
        codes = {"age": np.array([age for age, _ in counted]), "ill": np.array([ill for _, ill in counted])}
        table = ContingencyTable.from_cells(domain, {"age": 0, "ill": 0}, codes, list(counted.values()))
        write_bundle(tables_content([table], {a: ROLES[a] for a in ("age", "ill")}, claims), tmp_path / name)
        folders.append(tmp_path / name)
        assert marginals.verify(tmp_path / name).ok
    verification = marginals.verify(*folders)
    assert [check.verdict.value for check in verification.checks] == ["holds", "holds", "fails", "fails"]
    assert verification.checks[2].worst.as_json()["count"] == 1  # type: ignore[union-attr]
    assert all("'age'" in check.note for check in verification.checks[1:])
    attacks = marginals.attack(*folders)
    assert not attacks.note
    assert attacks.certain["ill"].worst is not None
    assert attacks.certain["ill"].worst.values == {"age": "25-29", "ill": "hiv"}
    result = run("attack", *folders, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["certain"]["ill"]["small"] == 1


def test_a_violation_is_named_where_all_combinations_are_too_many() -> None:
    """One person is 1 year old, which neither release shows; three more attributes have 40 values of two rows each."""
    age, rows = np.repeat([0, 1, 3, 5], [40, 1, 20, 19]), np.arange(80) % 40
    more = {name: Hierarchy.flat(map(str, range(40))) for name in "xyz"}
    bundles = []
    for name, ends in (("a", (2, 4)), ("b", (1, 5))):
        domain = Domain.of({"age": cut(ends), **more})
        codes = {"age": np.digitize(age, ends), **dict.fromkeys("xyz", rows)}
        ones = np.ones(80, dtype=np.int64)
        tables = [ContingencyTable.from_cells(domain, {a: 0}, codes, ones) for a in domain.attributes]
        bundles.append((name, tables_content(tables, dict.fromkeys(domain.attributes, Role.QUASI_IDENTIFIER))))
    refined = common_refinement(bundles)
    failing, holding = refined.content.verify([KCombinatorial(2), KCombinatorial(1)]).checks
    assert (failing.verdict, failing.worst_class.count) == (Verdict.FAILS, 1), "only the ages are tied to each other"
    assert holding.holds
    over = [undecided(KCombinatorial(k), "the time was over") for k in (2, 1)]
    named, still_open = refined.with_violations(over)
    assert (named.verdict, still_open.verdict) == (Verdict.FAILS, Verdict.UNDECIDED)
    assert (named.worst_class.cell, named.worst_class.count) == ({"age": "1"}, 1)
    sensitive = {**refined.content.roles, **dict.fromkeys(refined.parts["age"], Role.SENSITIVE)}
    refined = replace(refined, content=replace(refined.content, roles=sensitive))
    (aside,) = refined.with_violations(over[:1])
    (decided,) = refined.content.verify([MinCell(2)]).checks
    assert (decided.verdict, decided.worst_class.count) == (Verdict.FAILS, 1), "only the ages are tied to each other"
    (counted,) = refined.with_violations([undecided(MinCell(2), "the time was over")])
    assert aside.verdict is Verdict.UNDECIDED, "a small count of a sensitive value breaks no k-combinatorial anonymity"
    assert (counted.verdict, counted.worst_class.cell) == (Verdict.FAILS, {"age": "1"})


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_over_atoms_is_the_maximum_entropy_over_base_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (AGES, 2, 2))
    cuts, margins = [(2, 4), (1, 5)], [[["age", "ill"], ["age", "sex"]], [["age", "sex"], ["sex", "ill"]]]
    refined = common_refinement([(n, bundle_of(counts, c, m)) for n, c, m in zip("ab", cuts, margins)])
    joint = counts / counts.sum()
    one, other = np.digitize(np.arange(AGES), cuts[0]), np.digitize(np.arange(AGES), cuts[1])
    q = np.full(counts.shape, 1 / counts.size)
    for _ in range(1000):
        for ends, published in zip((one, other), margins):
            for attributes in published:
                axes = tuple(axis for axis, a in ((1, "sex"), (2, "ill")) if a not in attributes)
                groups = ends if "age" in attributes else np.zeros(AGES, dtype=np.intp)
                alike = (groups[:, None] == groups).astype(float)
                target, now = (np.tensordot(alike, each.sum(axis=axes, keepdims=True), 1) for each in (joint, q))
                q = q * target / now
    expected = MarginalModel(refined.content.collection).expected({"age (a)": 0, "age (b)": 0, "sex": 0, "ill": 0})
    by_atom = np.zeros(expected.shape)
    np.add.at(by_atom, (one, other), q * counts.sum())
    assert expected == pytest.approx(by_atom, abs=1e-6)


@given(st.lists(st.sets(st.integers(1, 19), max_size=5), min_size=1, max_size=3), st.integers(0, 3), st.booleans())
def test_atoms_of_intervals_are_those_of_the_tenths_in_them(cuts: list[set[int]], unit: int, is_open: bool) -> None:
    """Cut anew by brute force: the tenths that every release puts into the same intervals are one atom.

    unit: of half-open intervals; 0 for whole numbers. is_open: the last interval of whole numbers has no end.
    """

    def named(low: int, high: int) -> str:
        if unit:
            return f"{low * unit / 10:g}-<{high * unit / 10:g}"
        return f"{low}+" if is_open and high == 20 else str(low) if high == low + 1 else f"{low}-{high - 1}"

    parts = [(Hierarchy.flat(named(*ends) for ends in pairwise((0, *sorted(own), 20))), 0) for own in cuts]
    atoms = atoms_of(parts)
    assert atoms is not None
    places = [[sum(end <= tenth for end in own) for own in cuts] for tenth in range(20)]
    groups = [list(group) for _, group in groupby(range(20), key=places.__getitem__)]
    assert atoms.codes.T.tolist() == [places[group[0]] for group in groups]
    if unit:
        np.testing.assert_allclose(atoms.weights, [len(group) * unit / 10 for group in groups])
    assert list(atoms.labels) == [named(group[0], group[-1] + 1) for group in groups]


def test_intervals_of_whole_numbers_and_of_all_numbers_are_not_compared() -> None:
    whole, half_open = Hierarchy.flat(["20-24", "25-29"]), Hierarchy.flat(["20-<25", "25-<30"])
    assert atoms_of([(whole, 0), (half_open, 0)]) is None
    below = Hierarchy.flat(["<25", "25-29"])
    assert atoms_of([(whole, 0), (below, 0)]) is None, "where it begins is unknown"


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
    """Values of the first that nobody has are not named."""
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
    """A table, and what is published of it."""
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

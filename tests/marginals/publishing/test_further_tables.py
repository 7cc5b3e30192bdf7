"""Further tables: what they need, what is claimed of them, what a bundle says of them, and what is answered by them."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from itertools import combinations, product
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from first_configs import init
from marginals import InputError, Policy, Release, StewardReport, Table, interchange
from marginals.errors import BundleError
from models import Collection, Margin, possible_table
from small_release import contents
from written_bundles import change_package

NAMES = ("a", "b", "c", "d")
ROLES = dict.fromkeys(NAMES, "quasi-identifier") | {"ill": "sensitive"}
POLICY = Policy(
    k_link=10,
    diversity="distinct:3",
    register=True,
    max_sensitive_margins=1,
    further_tables="pairs",
    max_attributes=2,
    base="none",
    strategy="forward",
)


def people(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = (a + rng.integers(0, 3, rows)) % 4
    c = (a + b + rng.integers(0, 3, rows)) % 4
    d = (a + c + rng.integers(0, 2, rows)) % 4
    ill = (a + rng.integers(0, 4, rows)) % 5
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "ill": ill}).astype(str)


def further_margins(release: Release) -> list[Margin]:
    return [release.domain.margin(mask) for mask in release.published.further]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="module")
def table(frame: pd.DataFrame) -> Table:
    return marginals.read_table(frame, ROLES)


@pytest.fixture(scope="module")
def steward(table: Table) -> StewardReport:
    return marginals.publish(table, POLICY).steward


@pytest.fixture(scope="module")
def release(table: Table) -> Release:
    found = marginals.publish(table, POLICY).release
    assert len(found.published.further) == 3  # of six pairs a junction tree shows three
    return found


def test_nothing_is_known_of_people_with_several_rows_or_beside_a_ledger(
    frame: pd.DataFrame, table: Table, tmp_path: Path
) -> None:
    several = marginals.read_table(frame, ROLES, rows_per_person="any")
    policy = replace(POLICY, register=False)
    with pytest.raises(InputError, match="several rows"):
        marginals.publish(several, policy)
    with pytest.raises(InputError, match="ledger"):
        marginals.publish(table, policy, ledger=tmp_path / "ledger")


def test_all_claims_are_proven_from_the_files(release: Release, tmp_path: Path) -> None:
    release.write(tmp_path / "release")
    verified = marginals.verify(tmp_path / "release")
    assert verified.ok
    verdicts = {finding.criterion: finding.verdict.value for finding in verified.checks}
    assert verdicts == {
        "integrity": "holds",
        "k-link": "holds",
        "no-small-certain": "holds",
        "maxent-diversity": "holds",
        "register": "holds",
    }
    privacy = json.loads((tmp_path / "release/datapackage.json").read_text())["release"]["privacy"]
    assert {"criterion": "no-small-certain", "k": 10} in privacy


def test_a_bundle_says_which_tables_are_further_and_is_read_as_it_was_written(release: Release, tmp_path: Path) -> None:
    release.write(tmp_path / "release")
    package = json.loads((tmp_path / "release/datapackage.json").read_text())
    further = [own["marginal"]["levels"] for own in package["resources"] if own.get("marginal", {}).get("further")]
    assert sorted(map(sorted, further)) == sorted(map(sorted, further_margins(release)))
    again = marginals.open_release(tmp_path / "release")
    assert again.published.further == release.published.further
    assert again.published.collection.masks == release.published.collection.masks
    again.write(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "release")


def _further(package: dict[str, Any], told: object, names: Iterable[str] = ("ill",)) -> None:
    """Say of the marginals with some attributes whether they are further tables; of all, if none is named."""
    for own in package["resources"]:
        if "marginal" in own and {*names} <= {*own["marginal"]["levels"]}:
            own["marginal"]["further"] = told


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda package: _further(package, True), "'ill', which is sensitive"),
        (lambda package: _further(package, True, ()), "every marginal"),
        (lambda package: _further(package, "yes", ()), "true or false"),
        (lambda package: package["release"].update(rows_per_person=3), "several rows"),
    ],
)
def test_a_reader_refuses_further_tables_of_which_nothing_is_known(
    release: Release, tmp_path: Path, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    release.write(tmp_path / "release")
    with pytest.raises(BundleError, match=says):
        marginals.open_release(change_package(tmp_path / "release", change))


def told(release: Release, folder: Path) -> tuple[object, ...]:
    """All that anybody can see of a release: its files, what verifying them says, and synthetic rows made of them."""
    release.write(folder)
    rows = marginals.open_release(folder).rows(exact=True)
    pd.testing.assert_frame_equal(rows, release.rows(exact=True))
    return contents(folder), marginals.plain(marginals.verify(folder)), rows.to_csv()


@pytest.mark.parametrize("seed", [1, 2])
def test_two_tables_with_the_same_marginals_have_the_same_bundle_proof_and_synthetic_rows(
    frame: pd.DataFrame, seed: int, tmp_path: Path
) -> None:
    """Held fixed: the published counts. Beside the pairs demanded there is no room for another one in a junction tree."""
    core = [dict.fromkeys(pair, 0) for pair in ("ab", "ac", "ad", ("a", "ill"))]
    policy = replace(POLICY, must_publish=core, further_tables=[["b", "c"], ["c", "d"]])
    release = marginals.publish(marginals.read_table(frame, ROLES), policy).release
    assert sorted(map(dict, release.published.collection.margins), key=str) == sorted(core, key=str)
    assert len(release.published.further) == 2
    rows = release.rows(exact=True, seed=seed, base_values=True).sample(frac=1, random_state=seed)
    assert not rows.value_counts(["b", "d"], sort=False).equals(frame.value_counts(["b", "d"], sort=False))
    other = marginals.publish(marginals.read_table(rows.astype(str), ROLES), policy).release
    assert told(other, tmp_path / "other") == told(release, tmp_path / "one")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_choice_looks_at_nothing_but_the_counts_of_pairs(
    table: Table, frame: pd.DataFrame, release: Release, seed: int, tmp_path: Path
) -> None:
    """Held fixed: how many rows each pair of values has, of any two columns. A search of tables of two columns looks at
    these, and so do k_link and the gains of further tables, whether they are published or not.
    """
    domain = table.domain
    pairs = [domain.mask(dict.fromkeys(pair, 0)) for pair in combinations(domain.attributes, 2)]
    codes = possible_table(Collection.of(table.cube, pairs), seed)
    assert codes is not None
    rows = pd.DataFrame({name: np.array(domain.hierarchy(name).labels[0])[own] for name, own in codes.items()})
    assert not rows.value_counts(list(NAMES), sort=False).equals(frame.value_counts(list(NAMES), sort=False))
    other = marginals.publish(marginals.read_table(rows, ROLES), POLICY).release
    assert told(other, tmp_path / "other") == told(release, tmp_path / "one")


def test_a_bundle_holds_nothing_of_how_its_further_tables_were_chosen(
    table: Table, release: Release, tmp_path: Path
) -> None:
    named = replace(POLICY, further_tables=[sorted(margin) for margin in sorted(further_margins(release), key=str)])
    other = marginals.publish(table, named).release
    assert told(other, tmp_path / "other") == told(release, tmp_path / "one")


def swapped(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The same rows with other illnesses in each class of a, in another order."""
    rng = np.random.default_rng(seed)
    other = frame.copy()
    for _, rows in frame.groupby("a").groups.items():
        other.loc[rows, "ill"] = rng.permutation(frame.loc[rows, "ill"].to_numpy())
    return other.sample(frac=1, random_state=seed)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_given_the_core_the_choice_is_the_same_whatever_the_sensitive_column_holds(
    frame: pd.DataFrame, seed: int
) -> None:
    """The core is the same: what the search finds of nonsensitive columns, since a alone goes with the illness."""
    pinned = replace(POLICY, must_publish=[{"a": 0, "ill": 0}])
    first, second = (
        marginals.publish(marginals.read_table(rows, ROLES), pinned).release for rows in (frame, swapped(frame, seed))
    )
    assert first.published.collection.masks == second.published.collection.masks
    assert first.published.further == second.published.further


@pytest.fixture(scope="module")
def uneven() -> Table:
    rng = np.random.default_rng(0)
    a, b, c, d, ill = np.minimum(rng.geometric(0.4, (5, 3000)), 6)
    frame = pd.DataFrame({"a": a, "b": (a + b) % 6, "c": (a + b + c) % 6, "d": (a + c + d) % 6, "ill": ill})
    return marginals.read_table(frame.astype(str), ROLES)


LOOK = import_module("checks.small_combinations").Witnessing.look


def test_what_is_left_out_for_want_of_time_is_said(uneven: Table) -> None:
    spent = [0.0]

    def late(witnessing: Any, *_: Any) -> Any:
        spent[0] = 2 * POLICY.time_limit
        return LOOK(witnessing, 0)

    with (
        patch("checks.small_combinations.Witnessing.look", late),
        patch("marginals.publishing.publishing.SEARCH_CLOCK", lambda: monotonic() + spent[0]),
    ):
        steward = marginals.publish(uneven, POLICY).steward
    assert steward.further is not None
    assert not steward.further.tables
    assert "The time limit ended the search for a proof" in steward.page(steward).decode()


def test_published_pairs_are_answered_exactly(frame: pd.DataFrame, release: Release) -> None:
    for pair in combinations(NAMES, 2):
        counted = pd.crosstab(frame[pair[0]], frame[pair[1]])
        assert (release.table(*pair)["kind"] == "published").all()
        told = release.table(*pair).value.unstack(fill_value=0)
        np.testing.assert_allclose(told.to_numpy(), counted.loc[told.index, told.columns].to_numpy(), atol=1e-8)
        assert release.table(dict.fromkeys(pair, 0)).value.to_numpy().dtype.kind == "i"
        count = release.count({pair[0]: "1", pair[1]: ["0", "3"]})
        assert count.exact
        assert count.value == float(((frame[pair[0]] == "1") & frame[pair[1]].isin(["0", "3"])).sum())


def test_what_knows_no_further_tables_refuses_them_by_name(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has further tables"):
        interchange.write_uai(release, tmp_path / "network.uai")


def test_tables_are_left_out_beside_which_it_is_not_decided_what_can_be_worked_out() -> None:
    wide = pd.concat([people(4000), people(4000, seed=9).rename(columns=lambda name: f"{name}2")], axis=1)
    table = marginals.read_table(wide.drop(columns="ill2"), ROLES | {f"{name}2": "quasi-identifier" for name in NAMES})
    publication = marginals.publish(table, replace(POLICY, min_cell=3, no_small_certain=1), seconds=90)
    further = publication.steward.further
    assert further is not None
    assert further.left_out
    assert further.least == 3
    assert all(finding.holds for finding in publication.release.verify().checks)
    published = marginals.publish(table, replace(POLICY, min_published_cell=3, no_small_certain=1), seconds=90)
    assert "min-published-cell" in {own.criterion for own in published.release.verify().checks}


def test_no_program_about_least_cells_goes_on_once_the_time_is_over(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("marginals.publishing.publishing.SEARCH_CLOCK", lambda: clock[0])

    def progress(task: str, _done: int, _total: int) -> None:
        clock[0] += 1e6 * (task == "witnesses")

    policy = replace(POLICY, register=False, min_cell=3, no_small_certain=1)
    publication = marginals.publish(table, policy, progress)
    further = publication.steward.further
    assert further is not None
    assert further.is_late
    assert (len(further.tables), len(further.left_out)) == (0, 3)
    assert all(finding.holds for finding in publication.release.verify().checks)


@pytest.mark.parametrize("knows", [True, False])
def test_an_attack_says_what_was_not_examined(release: Release, table: Table, tmp_path: Path, knows: bool) -> None:
    release.write(tmp_path / "release")
    told = marginals.attack(tmp_path / "release", truth=table if knows else None, seconds=3)
    assert "further tables" in told.minimality.note
    assert told.likely is not None
    assert [own.basis for own in told.register] == ["files"]


@given(st.data())
def test_a_number_of_tables_is_not_exceeded_and_takes_the_first(data: st.DataObject) -> None:
    table = marginals.read_table(people(600), ROLES)
    number = data.draw(st.integers(1, 3))
    some = marginals.publish(table, replace(POLICY, further_tables=number)).release.published.further
    every = marginals.publish(table, POLICY).release.published.further
    assert some == every[:number]


def test_wanted_analyses_that_close_a_circle_come_first(table: Table) -> None:
    circled = [("b", "c"), ("c", "d"), ("b", "d")]
    policy = replace(POLICY, wanted=[{"attributes": list(pair)} for pair in circled], further_tables=1)
    release = marginals.publish(table, policy).release
    assert {frozenset(pair) for pair in circled} <= {
        frozenset(margin) for margin in release.published.everything.margins
    }
    assert set(*further_margins(release)) in map(set, circled)


def least_error(counts: np.ndarray, least: int) -> float:
    """The least total variation of the best answer from one allowed table of two columns, and from both by themselves."""
    errors = []
    for wide, high in product((1, 2, 4, 8, 16), repeat=2):
        blocks = np.ones((wide, high))
        told = counts.reshape(16 // wide, wide, 16 // high, high).sum((1, 3))
        if told[told > 0].min() < least:
            continue
        fitted = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        for _ in range(200):
            sums = fitted.reshape(16 // wide, wide, 16 // high, high).sum((1, 3))
            fitted *= np.kron(told / np.maximum(sums, 1e-300), blocks)
            fitted *= (counts.sum(1) / fitted.sum(1))[:, None]
            fitted *= counts.sum(0) / fitted.sum(0)
        errors.append(np.maximum(counts - fitted, 0).sum() / counts.sum())
    return float(min(errors))


@pytest.mark.parametrize("seed", [1, 23])
def test_the_core_leaves_room_for_the_best_table_of_a_pair(seed: int) -> None:
    """A search by divergence prefers levels here that cross those of the table with the least total variation."""
    rng = np.random.default_rng(seed)
    a = np.minimum(rng.geometric(0.15, 600), 16) - 1
    b = np.minimum(np.abs(a - rng.geometric(0.25, 600)), 15)
    ladder = marginals.Attribute("quasi-identifier", intervals=[2, 4, 8])
    table = marginals.read_table(pd.DataFrame({"a": a, "b": b}), dict.fromkeys("ab", ladder))
    policy = Policy(k_link=5, further_tables="pairs", base="none", strategy="forward")
    told = marginals.publish(table, policy).steward.two_way.by_table["a", "b"]
    counts = np.zeros((16, 16))
    np.add.at(counts, (a, b), 1)
    assert told == pytest.approx(least_error(counts, 5), abs=1e-4)


def circle() -> pd.DataFrame:
    """Counts of a, b and c whose three tables of pairs, each cell 0 or at least 3, admit no other, and one count is 2."""
    counts = dict(zip(product("01", repeat=3), (3, 0, 2, 3, 0, 0, 3, 0)))
    return pd.DataFrame([cell for cell, count in counts.items() for _ in range(count)], columns=list("abc"))


def test_a_table_beside_which_a_combination_is_certain_is_left_out_and_the_steward_is_told() -> None:
    table = marginals.read_table(circle(), dict.fromkeys("abc", "quasi-identifier"))
    chain = [{"a": 0, "b": 0}, {"b": 0, "c": 0}]
    policy = Policy(
        k_link=3,
        must_publish=chain,
        must_not_publish=[{"a": 0, "b": 0, "c": 0}],
        base="none",
        further_tables=[["a", "c"]],
    )
    publication = marginals.publish(table, policy)
    assert publication.release.published.further == ()
    beside = publication.steward.further
    assert beside is not None
    assert [dict(table.domain.margin(own.mask)) for own in beside.left_out] == [{"a": 0, "c": 0}]
    assert publication.release.verify().ok
    unwitnessed = marginals.publish(table, replace(policy, no_small_certain=1)).release
    assert len(unwitnessed.published.further) == 1
    assert not unwitnessed.verify(["no-small-certain=3"]).ok  # anybody can refute it


def test_a_table_beside_which_a_combination_with_a_sensitive_value_is_certain_is_left_out() -> None:
    """Two people with b 1 and c 0 are ill; a is 0 or 1 of each, so that no combination without the illness is certain."""
    ill = {"00": 5, "01": 5, "10": 1, "11": 5}
    counts = {a + bc: count for a in "01" for bc, count in ill.items()} | {"210": 6, "310": 6}
    frame = pd.DataFrame([[*cell] for cell, count in counts.items() for _ in range(count)], columns=list("abc"))
    frame["ill"] = np.where(frame["a"] < "2", "yes", "no")
    table = marginals.read_table(frame, dict.fromkeys("abc", "quasi-identifier") | {"ill": "sensitive"})
    policy = Policy(
        k_link=3,
        diversity="none",
        max_sensitive_margins=1,
        must_publish=[dict.fromkeys(pair, 0) for pair in (("a", "b"), ("b", "c"), ("a", "ill"))],
        must_not_publish=[{"a": 0, "b": 0, "c": 0}],
        base="none",
        further_tables=[["a", "c"]],
    )
    publication = marginals.publish(table, replace(policy, min_published_cell=3))
    assert publication.release.published.further == ()
    beside = publication.steward.further
    assert beside is not None
    assert [dict(table.domain.margin(own.mask)) for own in beside.left_out] == [{"a": 0, "c": 0}]
    assert "no-small-cell-certain" in {own.criterion for own in publication.release.verify().checks if own.holds}
    undemanded = marginals.publish(table, policy).release
    assert len(undemanded.published.further) == 1
    assert undemanded.verify(["no-small-certain=3", "min-published-cell=3"]).ok
    assert not undemanded.verify(["no-small-cell-certain=3"]).ok


def test_nothing_of_a_table_that_is_left_out_is_in_the_bundle(tmp_path: Path) -> None:
    """Beside its other tables (a, c) of the circle would make a combination certain; (d, e) does not."""
    d, number = np.repeat([0, 1], 200), np.arange(400)
    apart = {name: (d + (number % every == 0)) % 2 for name, every in (("d", 500), ("e", 4), ("f", 3))}
    frame = (
        pd.concat([circle(), pd.DataFrame(dict.fromkeys("abc", "2") | apart)]).fillna(0).astype(int, errors="ignore")
    )
    table = marginals.read_table(frame.astype(str), dict.fromkeys("abcdef", "quasi-identifier"))
    core = [dict.fromkeys(pair, 0) for pair in ("ab", "bc", "cd", "df", "ef")]
    policy = replace(POLICY, k_link=3, diversity=None, register=False, must_publish=core)
    with_both, with_one = (
        marginals.publish(table, replace(policy, further_tables=wanted))
        for wanted in ([["a", "c"], ["d", "e"]], [["d", "e"]])
    )
    assert with_both.steward.further is not None
    assert [dict(table.domain.margin(own.mask)) for own in with_both.steward.further.left_out] == [{"a": 0, "c": 0}]
    assert told(with_both.release, tmp_path / "both") == told(with_one.release, tmp_path / "one")


@pytest.mark.parametrize("preset", ["joint-proof", "more-pairs"])
def test_both_presets_of_a_first_config_fit_together(tmp_path: Path, preset: str) -> None:
    options = ["--sensitive", "ill", "--quasi-identifiers", ",".join(NAMES), "--preset", preset]
    first = init(people(1500), tmp_path, *options)
    config = first.config()
    assert (config.policy.further is None) == (preset == "joint-proof")
    policy = replace(config.policy, time_limit=0.5)
    assert marginals.publish(config.read_table(), policy).release.verify().ok


@pytest.mark.parametrize(
    ("public", "further"),
    [
        (("town", "job"), "pairs"),
        (("town", "job"), 2),
        (("town", "job"), [["town", "job"]]),
        (("town",), "pairs"),
        ((), "pairs"),
    ],
)
def test_where_no_nonsensitive_column_can_be_published_there_is_no_further_table(
    tmp_path: Path, public: tuple[str, ...], further: Any
) -> None:
    """As without them: twelve towns and twelve jobs of a person each, beside an illness that may be published."""
    frame = pd.DataFrame({name: [f"{name}{row}" for row in range(12)] for name in public} | {"ill": ["no", "yes"] * 6})
    table = marginals.read_table(frame, dict.fromkeys(public, "quasi-identifier") | {"ill": "sensitive"})
    policy = Policy(k_link=5, diversity="distinct:2", max_sensitive_margins=1, further_tables=further)
    written = marginals.publish(table, policy).release.write(tmp_path / "release").path
    without = marginals.publish(table, replace(policy, further_tables="none")).release
    assert contents(written / "marginals") == contents(without.write(tmp_path / "without").path / "marginals")
    assert marginals.verify(written).ok
    assert len(marginals.open_release(written).rows(5, seed=1)) == 5
    assert marginals.plain(marginals.attack(written))
    assert marginals.frontier(table, policy, jobs=1).margins.tolist() == [1]

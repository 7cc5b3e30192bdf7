"""The first release of a ledger shows margins beside which few are foreseen to wait, and about as many do."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import InputError, NothingPublishableError
from marginals.demo import simulate_hospital
from marginals.ledger import FewWaiting, SampledChanges, waiting_lines
from models import ContingencyTable, Domain, Hierarchy, RefusalScope, Unconstrained
from privacy_oracles import largest_batch
from strategies import contingency_tables, domains, margins

ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 10, 20]),
    "sex": "quasi-identifier",
    "diagnosis": "sensitive",
}
POLICY = marginals.Policy(k_link=10, diversity="distinct:3", base="none", turnover="known")


@given(st.data())
def test_finer_and_more_margins_have_no_fewer_waiting(data: st.DataObject) -> None:
    domain = data.draw(domains(min_attributes=1, max_attributes=3, max_cells=20))
    table = data.draw(contingency_tables(domain, 40).filter(lambda table: table.total > 0))
    fine = [domain.mask(margin) for margin in data.draw(st.lists(margins(domain), min_size=1, max_size=3))]
    coarse = [mask & domain.mask(data.draw(margins(domain))) for mask in fine[: data.draw(st.integers(1, 3))]]
    changes = SampledChanges(table, data.draw(st.integers(1, 6)), data.draw(st.integers(0, 3)))
    for share in (0.0, 0.3, 1.0):
        assert changes.are_few(coarse, share) or not changes.are_few(fine, share)


def test_who_waits_is_who_is_not_in_the_largest_batch() -> None:
    """Of 2 values with 900 and 100 people, 20 of those who came are looked at, of whom 10 change at a time."""
    domain = Domain.of({"a": Hierarchy.flat(["x", "y"])})
    counts = np.array([900, 100])
    table = ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.arange(2)}, counts)
    sample = np.random.default_rng(0).multivariate_hypergeometric(counts, 20, method="marginals")
    changed = ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.arange(2)}, sample)
    mask = domain.mask({"a": 0})
    for least in range(1, 25):
        enough = largest_batch(changed, [mask], least).total >= 10
        assert SampledChanges(table, least).are_few([mask], 0.04) == enough
    waiting = SampledChanges(table, 8).waiting([mask])
    assert SampledChanges(table, 8).are_few([mask], waiting)
    assert not SampledChanges(table, 8).are_few([mask], waiting - 0.002)


def test_a_margin_that_is_refused_by_itself_is_never_tried_again() -> None:
    domain = Domain.of({"a": Hierarchy.flat(list("uvwxyz")), "b": Hierarchy.flat(["p", "q"])})
    codes = dict(zip("ab", np.indices((6, 2)).reshape(2, -1)))
    table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.full(12, 100))
    both, one = domain.mask({"a": 0, "b": 0}), domain.mask({"b": 0})
    allows = FewWaiting(SampledChanges(table, 10), 0.05, Unconstrained())
    assert allows([one], one) is None
    refusal = allows([both, one], both)
    assert refusal is not None
    assert refusal.scope is RefusalScope.FINER
    assert "5 percent" in refusal.reason
    refusal = allows([both], 0)
    assert refusal is not None
    assert refusal.scope is RefusalScope.LONGER


@pytest.mark.slow
def test_about_as_many_wait_as_the_first_release_foresaw(tmp_path: Path) -> None:
    """Twelve months of 6,000 patients: at the most a few percent more than the tenth that the policy allows."""
    waiting = []
    for number, patients in enumerate(simulate_hospital(np.random.default_rng(0), 6_000, 12)):
        table = marginals.read_table(patients[list(ATTRIBUTES)], ATTRIBUTES)
        made = marginals.publish(table, POLICY, ledger=tmp_path / "ledger").write(tmp_path / f"{number}")
        assert made.steward.waiting is not None
        told = made.steward.waiting
        if number == 0:
            assert told.foreseen is not None
            assert told.foreseen <= 0.101
            assert f"about {100 * told.foreseen:.0f} percent" in made.steward.page(made.steward).decode()
        waiting.append((told.came + told.left) / len(patients))
    assert max(waiting) < 0.15
    assert min(waiting[6:]) < max(waiting) - 0.02, "somebody is shown"


def test_the_limit_makes_the_first_release_of_a_ledger_coarser_and_no_other(tmp_path: Path) -> None:
    (patients,) = simulate_hospital(np.random.default_rng(0), 2_000, 1)
    table = marginals.read_table(patients[list(ATTRIBUTES)], ATTRIBUTES)
    policy = replace(POLICY, turnover="unknown")
    plain = marginals.publish(table, policy).release
    free = marginals.publish(table, replace(policy, max_waiting=1), ledger=tmp_path / "free").release
    few = marginals.publish(table, policy, ledger=tmp_path / "few").release
    assert free.margins == plain.margins != few.margins
    assert few.information < plain.information
    with pytest.raises(NothingPublishableError, match=r"more than 0\.1 percent of the people would wait"):
        marginals.publish(table, replace(policy, max_waiting=0.001), ledger=tmp_path / "none")


@pytest.mark.parametrize("share", [0, 1.1, "few", True, float("nan")])
def test_a_share_that_is_none_is_refused(share: object) -> None:
    with pytest.raises(InputError, match="max_waiting"):
        marginals.Policy(k_link=5, max_waiting=share, diversity="none")  # type: ignore[arg-type]


def test_a_steward_is_told_what_few_waiting_costs(tmp_path: Path) -> None:
    """By both numbers, on the page and on the terminal; where it costs little, or nothing, nothing is said of it."""
    (patients,) = simulate_hospital(np.random.default_rng(0), 2_000, 1)
    table = marginals.read_table(patients[list(ATTRIBUTES)], ATTRIBUTES)
    few = marginals.publish(table, POLICY, ledger=tmp_path / "few").steward
    free = marginals.publish(table, replace(POLICY, max_waiting=1), ledger=tmp_path / "free").steward
    assert few is not None
    assert free is not None
    assert few.waiting is not None
    assert free.waiting is not None
    kept = few.waiting.kept
    assert kept is not None
    assert 0 <= kept < 0.9
    assert few.waiting.as_json()["kept"] == kept
    said = f"it shows {100 * kept:.0f} percent of what it would"
    assert said in " ".join(waiting_lines(few.waiting, few.domain))
    assert said in few.page(few).decode()
    assert free.waiting.kept is None
    assert "percent of what it would" not in " ".join(waiting_lines(free.waiting, free.domain))


def ledger_people(rows: int, more: float) -> pd.DataFrame:
    """Of old people more are ill, by so much; two in a thousand of the ill have what can be shown with others only."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, rows)
    ill = np.where(
        rng.random(rows) < 0.1 + more * (age > 60),
        rng.choice(["flu", "gout", "rare"], rows, p=[0.6, 0.398, 0.002]),
        "none",
    )
    town, job = rng.choice(list("abcdef"), rows), rng.choice(["cook", "driver", "nurse"], rows)
    return pd.DataFrame({"age": age.astype(str), "town": town, "job": job, "ill": ill})


@pytest.mark.parametrize("more", [0.1, 0.4])
def test_what_is_compared_shows_of_the_sensitive_column_what_may_be_published_and_the_share_kept_is_one(
    tmp_path: Path, more: float
) -> None:
    """It said 0 percent of a release that was coarse in single columns, and showed an illness that no release may show."""
    fitted = marginals.Attribute("quasi-identifier", ladder="fitted")
    attributes = {
        "age": fitted,
        "town": fitted,
        "job": "quasi-identifier",
        "ill": marginals.Attribute("sensitive", ladder="fitted"),
    }
    counted = marginals.read_table(ledger_people(1500, more), attributes, k=10)
    policy = marginals.Policy(k_link=10, min_cell=3, diversity="recursive:3,2", base="none", time_limit=10)
    made = marginals.publish(counted, policy, ledger=tmp_path / "ledger")
    assert made.steward.waiting is not None
    assert made.steward.waiting.kept is not None
    assert 0 <= made.steward.waiting.kept <= 1
    cells, hierarchy = counted.base_counts, counted.domain.hierarchy("ill")
    shares = cells.counts / cells.total
    flat = sum(math.log(counted.domain.hierarchy(name).size(0)) for name in counted.quasi_identifiers)
    allowed = [math.log(hierarchy.size(0))]  # of nothing that is shown
    for level in range(hierarchy.height):
        codes = hierarchy.lift(0, level)[cells.column("ill", 0)]
        rows = np.bincount(codes, weights=cells.counts, minlength=hierarchy.size(level))
        if rows.min() >= 10 and 3 * (rows.sum() - rows.max()) > rows.max():
            even = rows[codes] / cells.total / hierarchy.leaf_counts(level)[codes]
            allowed.append(-float((shares * np.log(even)).sum()))
    expected = float((shares * np.log(shares)).sum()) + flat + min(allowed)
    assert made.steward.kl_suppressed == pytest.approx(expected)
    if not made.release.published.collection.shows("ill"):
        assert all(claim.about != "ill" for claim in made.release.published.claims)

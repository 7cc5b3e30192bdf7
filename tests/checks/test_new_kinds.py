"""A new claim, or a new criterion, is one class and one line: bundles, checks, searches and reports work with it.

Neither class here has more than its base demands, and each is known to nothing but a line of one table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import checks.claims
import checks.diversity.registry
import marginals
from checks import (
    Algorithm,
    Claim,
    CriterionError,
    Finding,
    PrivacyConstraint,
    Question,
    Requirements,
    Verdict,
    parse_claim,
    parse_diversity,
    spelled,
)
from checks.claims import AttributeClaim, claims_from_text
from checks.diversity.criterion import numbers
from checks.finding import verdict_of
from marginals import Release
from marginals.example import release, table
from models import Collection
from privacy_strategies import sensitive_collections


@dataclass(frozen=True)
class MostCells(Claim):
    """No marginal has more cells than this."""

    cells: int
    criterion: ClassVar[str] = "most-cells"
    form: ClassVar[str] = "most-cells=N"

    @classmethod
    def from_json(cls, stated: Mapping[str, Any]) -> Self | None:
        return cls(stated["cells"]) if isinstance(stated.get("cells"), int) else None

    def as_json(self) -> dict[str, Any]:
        return {"criterion": self.criterion, "cells": self.cells}

    @classmethod
    def stated_in(cls, text: str) -> dict[str, Any] | None:
        return {"cells": int(text)} if text.isdecimal() else None

    def check(self, question: Question) -> Finding:
        most = max(map(len, question.collection.tables), default=0)
        verdict = verdict_of(most <= self.cells)
        return Finding("most-cells", verdict, self.parameters, None, (Algorithm.MINIMUM,), most)

    def title(self) -> str:
        return "Small tables"

    def meaning(self) -> str:
        return f"No table has more than {self.cells} cells."


@dataclass(frozen=True)
class Capped(marginals.Diversity):
    """No sensitive value has a share above `share`. Reached: the largest share."""

    share: Fraction
    name: ClassVar[str] = "capped"
    parameters: ClassVar[str] = "share"

    def __str__(self) -> str:
        return f"capped:{spelled(self.share)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        match numbers(text):
            case [share]:
                return cls(share)
        return None

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return float(self.share) / self.reached(vectors) - 1

    def reached(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(vectors.max(axis=1) / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return max(vector) <= self.share * sum(vector)


@pytest.fixture(autouse=True, scope="module")
def _one_line_each() -> Any:
    """The lines of the two tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(checks.claims._KINDS, "most-cells", MostCells)
        patch.setitem(checks.diversity.registry._KINDS, "capped", Capped)
        yield


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A release that states the claim."""
    published = replace(release.published, claims=(*release.claims, MostCells(99)))
    Release(published).write(tmp_path / "release")
    return tmp_path / "release"


@pytest.fixture
def capped(tmp_path: Path) -> Path:
    """What a policy publishes that demands the criterion."""
    policy = marginals.Policy(k_link=4, diversity="capped:0.5")
    marginals.publish(table, policy).write(tmp_path / "capped")
    return tmp_path / "capped"


def test_a_bundle_states_a_new_claim_and_is_verified(bundle: Path) -> None:
    assert marginals.open_release(bundle).claims[-1] == MostCells(99)
    verification = marginals.verify(bundle)
    assert verification.ok
    assert verification.checks[-1].parameters == {"cells": 99}
    assert not marginals.verify(bundle, claims=["most-cells=2"]).ok
    assert marginals.verify(bundle, bundle).ok


def test_the_report_says_what_a_new_claim_means(bundle: Path) -> None:
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "Small tables" in page
    assert "No table has more than 99 cells." in page


def test_the_minimality_attack_concludes_nothing_from_a_claim_that_it_does_not_know(bundle: Path) -> None:
    published = replace(release.published, claims=(MostCells(99),))
    Release(published).write(bundle)
    steps = marginals.attack(bundle).minimality.readers
    assert steps
    assert all(step.possible_claims is None for step in steps)
    assert {step.note for step in steps} == {"what most-cells demands of a class is not known"}


class AlsoSmall(Requirements):
    """Requirements with the claim beside them."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        return (*super().claims, MostCells(4))


@given(sensitive_collections(), st.none() | st.integers(1, 3))
def test_a_search_is_constrained_by_a_new_claim_on_its_sensitive_margins(
    drawn: tuple[Collection, str], k: int | None
) -> None:
    """As a whole, since nothing else is known of it; what fails says nothing of other collections."""
    collection, sensitive = drawn
    showing = [mask for mask in collection.masks if sensitive in collection.domain.margin(mask)]
    of_sensitive = Question(Collection.of(collection.cube, showing), [sensitive])
    refusals = [PrivacyConstraint(collection.cube, kind((sensitive,), k)) for kind in (Requirements, AlsoSmall)]
    plain, refusal = (constraint(collection.masks, 0) for constraint in refusals)
    small = not showing or MostCells(4).check(of_sensitive).verdict is Verdict.HOLDS
    assert (refusal is None) == (plain is None and small)
    assert plain is not None or refusal is None or refusal.reason == "most-cells fails for the margins together"


def test_a_policy_with_a_new_criterion_publishes_what_its_files_prove(capped: Path) -> None:
    *_, claim = marginals.open_release(capped).claims
    assert isinstance(claim, AttributeClaim)
    assert claim.class_diversity == Capped(Fraction(1, 2))
    verification = marginals.verify(capped)
    assert verification.ok
    assert verification.checks[-1].parameters == {"diversity": "capped:0.5", "sensitive": "diagnosis"}
    reached = verification.checks[-1].worst_class.reached
    assert reached is not None
    assert not marginals.verify(capped, claims=[f"diversity=capped:{reached - 1e-6:.9f}"]).ok
    page = unescape((capped / "report.html").read_text(encoding="utf-8"))
    assert "Maximum-entropy diversity of diagnosis, capped:0.5" in page
    assert "the sensitive value satisfies capped:0.5" in page
    assert marginals.attack(capped).as_json()


def test_a_new_criterion_is_judged_against_evidence_and_on_coarser_values(capped: Path) -> None:
    """By all corners, and by sums: it has neither a closed form nor cuts."""
    assert (
        marginals.verify(capped, claims=["odds=1.01"]).checks[-1].parameters["diversity"] == "capped:0.5 at odds 1.01"
    )
    assert not marginals.verify(capped, claims=["odds=9"]).ok
    assert marginals.verify(capped, claims=['diversity={ diagnosis = ["none", "capped:0.99"] }']).checks
    with pytest.raises(CriterionError, match="cannot be promised of people"):
        Requirements(("diagnosis",), diversity=Capped(Fraction(1, 2)), rows_per_person=2)


def test_errors_list_every_claim_and_every_criterion() -> None:
    names = "k-link, k-combinatorial, no-small-certain, min-cell, min-published-cell, maxent-diversity, register, "
    names += "relaxed-diversity or most-cells"
    with pytest.raises(CriterionError, match=f"is {names}, not"):
        parse_claim({"criterion": "most-cells"})
    forms = (
        "is k-link=K, k-combinatorial=K, no-small-certain=K, min-cell=K, min-published-cell=K, diversity=CRITERION, "
    )
    forms += "register=CRITERION, relaxed=EPSILON,L, most-cells=N or odds=G, not"
    with pytest.raises(CriterionError, match=forms):
        claims_from_text("most-cells=few", [])
    with pytest.raises(CriterionError, match=r"hierarchical\], capped:share$"):
        parse_diversity("capped")


@pytest.mark.parametrize(
    "criterion",
    ["k-link", "k-combinatorial", "min-cell", "no-small-certain", "min-published-cell", "maxent-diversity", "register"],
)
def test_every_line_leads_to_the_claim_of_its_name(criterion: str) -> None:
    stated = {"criterion": criterion, "k": 3, "diversity": "entropy:2", "sensitive": "s"}
    claim = parse_claim(stated)
    assert claim.criterion == claim.as_json()["criterion"] == criterion


@pytest.mark.parametrize(
    "text",
    ["", "k-link", "k-link=", "k-link=-1", "k-link=1.5", "k-link=" + "9" * 16, "min-cell=few", "k=3", "diversity"],
)
def test_a_text_that_asks_for_no_claim_is_refused(text: str) -> None:
    with pytest.raises(CriterionError):
        claims_from_text(text, ["s"])


def test_a_diversity_is_asked_of_each_sensitive_attribute_and_needs_one() -> None:
    claims = claims_from_text("diversity=distinct:2", ["s", "t"])
    assert [claim.about for claim in claims] == ["s", "t"]
    with pytest.raises(CriterionError, match="no sensitive attribute"):
        claims_from_text("diversity=distinct:2", [])

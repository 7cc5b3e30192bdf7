"""The registry of claims: a new claim is one class and one line, and bundles, reports and attacks work with it."""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

import marginals
from checks.claims import _HOMES, Claim, claims_from_text, parse_claim
from checks.errors import CriterionError
from checks.finding import FULL, Algorithm, Budget, Finding, verdict_of
from marginals.example import release
from marginals.release.release import Release
from models.graphs.junction_tree import Collection


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
    def from_text(cls, text: str, sensitive: Sequence[str]) -> list[Self] | None:  # noqa: ARG003
        return [cls(int(text))] if text.isdecimal() else None

    def check(self, collection: Collection, sensitive: AnyCollection[str], budget: Budget = FULL) -> Finding:  # noqa: ARG002
        most = max(map(len, collection.tables))
        return Finding(
            "most-cells", verdict_of(most <= self.cells), {"cells": self.cells}, None, (Algorithm.MINIMUM,), most
        )

    def title(self) -> str:
        return "Small tables"

    def meaning(self, sensitive: Sequence[str]) -> str:  # noqa: ARG002
        return f"No table has more than {self.cells} cells."

    def reason(self) -> str:
        return "too many cells"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_HOMES, "most-cells", f"{__name__}.MostCells")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    published = replace(release.published, claims=(*release.claims, MostCells(99)))
    Release(published).write(tmp_path / "release")
    return tmp_path / "release"


def test_a_bundle_states_it_and_is_verified(bundle: Path) -> None:
    assert marginals.open_release(bundle).claims[-1] == MostCells(99)
    verification = marginals.verify(bundle)
    assert verification.ok
    assert verification.checks[-1].parameters == {"cells": 99}
    assert not marginals.verify(bundle, claims=["most-cells=2"]).ok


def test_the_report_says_what_it_means(bundle: Path) -> None:
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "Small tables" in page
    assert "No table has more than 99 cells." in page


def test_the_minimality_attack_concludes_nothing_from_what_it_does_not_know(bundle: Path) -> None:
    published = replace(release.published, claims=(MostCells(99),))
    Release(published).write(bundle)
    steps = marginals.attack(bundle).minimality.holders
    assert steps
    assert all(step.suspects is None for step in steps)
    assert {step.note for step in steps} == {"what most-cells demands of a class is not known"}


def test_errors_list_every_claim() -> None:
    with pytest.raises(
        CriterionError, match="is k-link, k-combinatorial, min-cell, maxent-diversity or most-cells, not"
    ):
        parse_claim({"criterion": "most-cells"})
    forms = "is k-link=K, k-combinatorial=K, min-cell=K, diversity=CRITERION, most-cells=N or odds=G, not"
    with pytest.raises(CriterionError, match=forms):
        claims_from_text("most-cells=few", [])


@pytest.mark.parametrize("criterion", ["k-link", "k-combinatorial", "min-cell", "maxent-diversity"])
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

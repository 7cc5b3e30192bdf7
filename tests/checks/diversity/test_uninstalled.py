"""A criterion that a bundle names and nothing here knows: undecided, and never taken for one that passes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marginals
from checks import CriterionError, MaxentDiversity, Register, Verdict, parse_diversity
from checks.claims import claims_from_text
from checks.diversity.registry import Uninstalled, stated_diversity, uninstalled_in
from marginals import Release
from marginals.example import release


@pytest.mark.parametrize(
    "text", ["somebodys", "somebodys:3,x", "somebodys:4 at odds 2", "somebodys:4 leaving out missing"]
)
def test_its_text_is_read_back_in_bundles_only(text: str) -> None:
    stated = stated_diversity(text)
    assert str(stated) == text
    assert isinstance(uninstalled_in(stated), Uninstalled)
    with pytest.raises(CriterionError, match="install the package"):
        parse_diversity(text)
    with pytest.raises(CriterionError, match="not of the form"):
        claims_from_text(f"diversity={text}", ["diagnosis"])


@pytest.mark.parametrize(
    "text", ["", "Some Body's", "somebodys:\x1b[2J", "somebodys:3\n", f"somebodys:{'1' * 300}", "entropy:x"]
)
def test_what_cannot_be_told_as_it_stands_is_no_criterion(text: str) -> None:
    with pytest.raises(CriterionError):
        stated_diversity(text)


def test_it_judges_nothing() -> None:
    counts = np.array([[5, 5]])
    for judge in (Uninstalled("somebodys:4").slack, Uninstalled("somebodys:4").reached):
        with pytest.raises(CriterionError, match="is not installed here"):
            judge(counts)
    with pytest.raises(CriterionError, match="is not installed here"):
        Uninstalled("somebodys:4").decide([5, 5])


@pytest.mark.parametrize("text", ["somebodys:4", "somebodys:4 at odds 1.5", "somebodys:4 leaving out missing"])
def test_a_bundle_that_claims_it_is_undecided_with_what_to_install(text: str, tmp_path: Path) -> None:
    of = MaxentDiversity(stated_diversity(text), "diagnosis")
    others = tuple(claim for claim in release.claims if not isinstance(claim, MaxentDiversity))
    Release(replace(release.published, claims=(*others, of, Register(of)))).write(tmp_path / "release")
    verification = marginals.verify(tmp_path / "release")
    assert not verification.ok
    found = {check.criterion: check for check in verification.checks}
    for criterion in ("maxent-diversity", "register"):
        assert found[criterion].verdict is Verdict.UNDECIDED
        assert "install the package that declares it" in found[criterion].note
    assert found["integrity"].holds
    assert found["k-link"].holds

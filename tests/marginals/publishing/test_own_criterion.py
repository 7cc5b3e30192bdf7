"""A diversity criterion of one's own: one class and one line that registers it, and everything works with it."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import marginals
from checks import (
    Algorithm,
    CriterionError,
    MaxentDiversity,
    Requirements,
    Simple,
    Verdict,
    by_join,
    maxent_diversity,
    parse_diversity,
    spelled,
    spellings,
)
from command_line import run
from marginals.example import table
from models import Collection
from privacy_strategies import sensitive_collections, tree_of
from small_release import CONFIG, write_config

Vectors = NDArray[Any]


@dataclass(frozen=True)
class TopTwo(marginals.criteria.Diversity):
    """The two most frequent values have a share of at most `share` together. Reached: their share.

    Kept by merging: no two values have more of a sum than of one of its parts.
    """

    share: Fraction
    name: ClassVar[str] = "top-two"
    parameters: ClassVar[str] = "share"

    def __str__(self) -> str:
        return f"top-two:{spelled(self.share)}"

    @classmethod
    def parsed(cls, text: str) -> "TopTwo | None":
        return cls(Fraction(text)) if re.fullmatch(r"[\d./]+", text) else None

    def slack(self, vectors: Vectors) -> NDArray[np.float64]:
        return float(self.share) / self.reached(vectors) - 1

    def reached(self, vectors: Vectors) -> NDArray[np.float64]:
        return np.asarray(np.sort(vectors, axis=1)[:, -2:].sum(axis=1) / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return sum(sorted(vector)[-2:]) <= self.share * sum(vector)

    def meaning(self) -> str:
        return f"two values together are at most {spelled(self.share)} probable"


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    marginals.criteria.register_diversity(TopTwo)
    yield
    marginals.criteria.unregister_diversity("top-two")
    assert "top-two:share" not in spellings()


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """What the command line publishes by a config that names the criterion."""
    config = write_config(tmp_path)
    text = (
        CONFIG.replace("entropy:2", "top-two:0.9")
        .replace("[5, 10]", "[20]")
        .replace('[attributes.town]\nrole = "quasi-identifier"\n', "")
    )
    config.write_text(text + '[base]\ntable = "none"\n')
    run("publish", config, "--out", tmp_path / "release", status=0)
    return tmp_path / "release"


def test_a_config_publishes_and_the_files_verify(bundle: Path) -> None:
    stated = json.loads((bundle / "datapackage.json").read_text())["release"]["privacy"]
    assert {"criterion": "maxent-diversity", "diversity": "top-two:0.9", "sensitive": "disease"} in stated
    verification = marginals.verify(bundle)
    assert verification.ok
    finding = verification.checks[-1]
    assert finding.parameters == {"diversity": "top-two:0.9", "sensitive": "disease"}
    assert TopTwo(Fraction(9, 10)).meaning() in unescape((bundle / "report.html").read_text(encoding="utf-8"))


def test_it_judges_every_class_of_the_release(bundle: Path) -> None:
    """The share that the release reaches is what its cells say, and a smaller one is refused."""
    release = marginals.open_release(bundle)
    shown = [a for a, values in release.attributes["values"].items() if values]
    cells, public = release.table(shown).reset_index(), [name for name in shown if name != "disease"]
    classes = cells.groupby(public, observed=True) if public else [((), cells)]
    by_value = [sorted(rows.groupby("disease", observed=True)["value"].sum()) for _, rows in classes]
    shares = [sum(rows[-2:]) / sum(rows) for rows in by_value if sum(rows) > 0]
    assert max(shares) <= 0.9
    just, beyond = Fraction(max(shares) * (1 + 1e-6)), Fraction(max(shares) * (1 - 1e-6))
    for share, holds in ((just, True), (beyond, False)):
        text = f"diversity=top-two:{share.limit_denominator(10**9)}"
        assert marginals.verify(bundle, claims=[text]).ok is holds
        result = run("verify", bundle, "--check", text)
        assert result.exit_code == (0 if holds else 1)


@settings(max_examples=60)
@given(drawn=sensitive_collections())
def test_without_cuts_of_its_own_it_is_decided_as_the_join_decides(drawn: tuple[Collection, str]) -> None:
    tree = tree_of(*drawn)
    for share in (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
            found = maxent_diversity(*drawn, TopTwo(share))
        expected = by_join(tree, TopTwo(share)).verdict
        assert (found.algorithms, found.verdict) == ((Algorithm.HULL,), expected) or expected is Verdict.UNDECIDED


class Bounded(TopTwo):
    """It says besides that it is a bound on shares, by the name that any criterion has for it."""

    def share_bound(self) -> Any:
        return Simple(Fraction(2)).share_bound()._replace(top=2, limit=self.share)


def test_what_else_it_can_answer_it_is_asked() -> None:
    with pytest.raises(CriterionError, match="cannot be promised of people"):
        Requirements(("disease",), diversity=TopTwo(Fraction(1, 2)), rows_per_person=2)
    (claim,) = Requirements(("disease",), diversity=Bounded(Fraction(1, 2)), rows_per_person=2).claims
    assert isinstance(claim, MaxentDiversity)
    assert claim.class_diversity is not None
    assert claim.class_diversity.decide([1, 1, 1, 1, 1, 1, 1, 1])
    assert not claim.class_diversity.decide([1, 1, 1, 1, 1, 1, 1])


def test_where_it_is_not_registered_its_claim_is_undecided_and_a_demand_is_refused_with_the_known_forms(
    bundle: Path,
) -> None:
    marginals.criteria.unregister_diversity("top-two")
    try:
        verification = marginals.verify(bundle)
        assert str(marginals.open_release(bundle).claims[1].diversity) == "top-two:0.9"
        with pytest.raises(CriterionError, match="'top-two'"):
            parse_diversity("top-two:0.9")
    finally:
        marginals.criteria.register_diversity(TopTwo)
    assert not verification.ok
    (finding,) = (check for check in verification.checks if check.criterion == "maxent-diversity")
    assert finding.verdict.value == "undecided"
    assert "'top-two'" in finding.note
    with pytest.raises(CriterionError, match=r"top-two:share$"):
        parse_diversity("top-two")
    assert marginals.verify(bundle).ok


@pytest.mark.parametrize("written", ["top-two", "top-two:1/2", "entropy:2", "two on top"])
def test_what_nobody_could_read_back_is_not_published(written: str) -> None:
    class Miswritten(TopTwo):
        name: ClassVar[str] = "miswritten"

        def __str__(self) -> str:
            return written

    marginals.criteria.register_diversity(Miswritten)
    try:
        with pytest.raises(CriterionError, match=f"Miswritten.*'{written}'"):
            marginals.publish(table, marginals.Policy(k_link=4, diversity="miswritten:0.9"))
    finally:
        marginals.criteria.unregister_diversity("miswritten")


def test_a_name_can_be_registered_once_and_must_be_one() -> None:
    class Other(TopTwo):
        pass

    marginals.criteria.register_diversity(TopTwo)
    for taken in ("top-two", "entropy"):
        Other.name = taken
        with pytest.raises(CriterionError, match=f"'{taken}'"):
            marginals.criteria.register_diversity(Other)
    for name in ("", "Top", "a:b", "a b", "-a", "a-"):
        Other.name = name
        with pytest.raises(CriterionError, match="a name such as"):
            marginals.criteria.register_diversity(Other)
    with pytest.raises(CriterionError, match="'other'"):
        marginals.criteria.unregister_diversity("other")

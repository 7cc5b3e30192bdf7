"""`check_criterion` passes every criterion of the project, and finds what is wrong with one that is broken in each way."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import marginals
from checks import CriterionError, parse_diversity, spelled
from checks.diversity.criterion import numbers
from checks.diversity.registry import _KINDS

EXAMPLES = {
    "pd-recursive": ("2,2 may disclose a",),
    "npd-recursive": ("3,50,2 must protect a",),
    "negative-disclosure": ("40 must protect a",),
    "adjusted-entropy": ("2 may disclose a",),
    "alpha": ("1/2 of a",),
}


@pytest.mark.parametrize("name", _KINDS)
def test_every_criterion_of_the_project_keeps_the_laws(name: str) -> None:
    marginals.check_criterion(_KINDS[name], *EXAMPLES.get(name, ()))


@dataclass(frozen=True)
class Capped(marginals.Diversity):
    """No sensitive value has a share above `share`. Reached: the largest share."""

    share: Fraction
    name: ClassVar[str] = "capped-by-law"
    parameters: ClassVar[str] = "share"

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.share)}"

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(float(self.share) / self.reached(vectors) - 1)

    def reached(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(vectors.max(axis=1) / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return max(vector) <= self.share * sum(vector)


class Forgetful(Capped):
    """Its text loses its number."""

    def __str__(self) -> str:
        return f"{self.name}:1/2"


class Upside(Capped):
    """Its slack is negative where a class passes."""

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return -super().slack(vectors)


class Undefined(Capped):
    """Its slack is NaN for a class of one value."""

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.where((vectors > 0).sum(axis=1) > 1, super().slack(vectors), np.nan)


class Rounding(Capped):
    """It decides with floating point."""

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return float(max(vector) / sum(vector)) <= float(self.share)


class Sized(Capped):
    """It judges counts, not the distribution."""

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return super().decide(vector) or sum(vector) < 3

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.where(vectors.sum(axis=1) < 3, 1.0, super().slack(vectors))


class Dominated(Capped):
    """Some value has a share of at least `share`: two such classes can make one that has none."""

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return max(vector) >= self.share * sum(vector)

    def slack(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self.reached(vectors) / float(self.share) - 1)


class Careless(Capped):
    """It says that nothing violates it."""

    def violations(self, _bounds: object) -> list[object]:
        return []


class Hasty(Capped):
    """It judges products by their first value."""

    def slack_of_products(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
        products = first[:, None, :] * second[None, :, :]
        return np.where(products.sum(axis=2) > 0, 1.0, np.inf)


class Vague(Capped):
    """It answers with a number."""

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        return 1 if super().decide(vector) else 0  # type: ignore[return-value]


def test_a_sound_criterion_passes_and_is_unknown_again() -> None:
    marginals.check_criterion(Capped, "1/2", "2/3")
    with pytest.raises(CriterionError, match="not of the form"):
        parse_diversity("capped-by-law:1/2")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Forgetful, "which is not the same|not read back"),
        (Upside, "let it be positive where a class passes"),
        (Undefined, "slack is nan"),
        (Rounding, "is not exact on the boundary"),
        (Sized, "something else than of their shares"),
        (Dominated, "is not monotone"),
        (Careless, "is not pruned soundly: .* branch and bound would not see it"),
        (Hasty, "is not pruned soundly: "),
        (Vague, "True or False"),
    ],
)
def test_what_is_broken_is_found(kind: type[Capped], words: str) -> None:
    with pytest.raises(CriterionError, match=words):
        marginals.check_criterion(kind, "2/3")
    with pytest.raises(CriterionError, match="not of the form"):
        parse_diversity("capped-by-law:2/3")


def test_a_criterion_without_an_example_that_can_be_read_says_so() -> None:
    class Worded(Capped):
        @classmethod
        def parsed(cls, text: str) -> "Worded | None":
            return cls(*numbers(text.removeprefix("at most "))) if text.startswith("at most ") else None

    with pytest.raises(CriterionError, match="give an example"):
        marginals.check_criterion(Worded)
    with pytest.raises(CriterionError, match="does not take the example"):
        marginals.check_criterion(Worded, "few")

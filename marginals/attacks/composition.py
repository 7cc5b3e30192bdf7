"""Composition: what somebody who holds several releases concludes that nobody does who holds one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from checks.attacks.class_table import class_table, sensitive_levels
from checks.attacks.reconstruction import Reconstruction, reconstruction, smallest_class
from checks.attacks.skewness import skewness
from marginals.bundle.agreement import counted_hierarchy, in_common
from marginals.bundle.content import BundleContent
from models.errors import MarginalsError
from models.inference.marginal_model import MarginalModel


@dataclass(frozen=True)
class View:
    """What the holder of some releases concludes about the cells of one margin.

    smallest: bound on the least number of rows that any class that can have some can have at most, sensitive values set
    aside; a class may have to be smaller still.
    skewness: largest distance of a class's maxent posterior from everybody's, None where the attribute is not shown.
    """

    releases: tuple[str, ...]
    reconstruction: Reconstruction
    smallest: int
    skewness: float | None

    def as_json(self) -> dict[str, Any]:
        """The holding as plain values."""
        reconstruction = {**asdict(self.reconstruction), "share": self.reconstruction.share}
        return {
            "releases": list(self.releases),
            "reconstruction": reconstruction,
            "smallest_class": self.smallest,
            "skewness": self.skewness,
        }


@dataclass(frozen=True)
class Composition:
    """What readers can conclude about a sensitive attribute with all releases, and with each alone, of the same margin.

    unknown: releases of which that is not known alone, with the reason.
    """

    sensitive: str
    margin: Mapping[str, int]
    together: View
    each: tuple[View, ...]
    unknown: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The composition as plain values."""
        return {
            "sensitive": self.sensitive,
            "margin": dict(self.margin),
            "together": self.together.as_json(),
            "each": [holding.as_json() for holding in self.each],
            "unknown": dict(self.unknown),
        }


def composition(
    bundles: Sequence[tuple[str, BundleContent]], together: BundleContent, model: MarginalModel
) -> tuple[Composition, ...]:
    """For each sensitive attribute that can be laid out what all releases tell, and each.

    together: all of them as one, whose model is given.
    """
    models = [(name, _alone(published, together)) for name, published in bundles]
    names = tuple(name for name, _ in bundles)
    compositions = []
    for sensitive in together.sensitive:
        if not (levels := sensitive_levels(model, sensitive)):
            continue
        try:
            all_held = _holding(names, model, levels, together.sensitive)
        except MarginalsError:  # what is too large or cannot be fitted is said of the attribute already
            continue
        each, unknown = [], {}
        for name, alone in models:
            try:
                each.append(_holding((name,), alone, levels, together.sensitive))
            except MarginalsError as error:
                unknown[name] = str(error)
        compositions.append(Composition(sensitive, levels, all_held, tuple(each), unknown))
    return tuple(compositions)


def _alone(published: BundleContent, together: BundleContent) -> MarginalModel:
    """The model of one release in the domain of all."""
    attributes = together.domain.attributes
    return MarginalModel(
        in_common(published.collection, {a: counted_hierarchy(together.collection, a) for a in attributes}),
        together.deadline,
    )


def _holding(names: tuple[str, ...], model: MarginalModel, levels: Mapping[str, int], sensitive: Sequence[str]) -> View:
    own = sensitive_levels(model, list(levels)[-1])
    furthest = skewness(class_table(model, own)).distance if own else None
    bounds = model.frechet_bounds
    return View(names, reconstruction(bounds, levels), smallest_class(bounds, levels, sensitive), furthest)

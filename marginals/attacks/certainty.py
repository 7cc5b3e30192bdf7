"""Certainty: what readers of a release conclude about a sensitive attribute without any doubt, within a time."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from checks.attacks.certain_cells import CertainCells, Levels, certain_cells
from checks.attacks.knowledge import Knowledge, knowledge
from marginals.bundle.content import BundleContent
from marginals.bundle.together.refinement import CommonRefinement, published_views
from models.deadline import Deadline
from models.inference.frechet_bounds import FrechetBounds
from models.inference.marginal_model import MarginalModel

CERTAIN_SECONDS = 10.0
"""To look for what is certain; most releases need one or two."""


def certainties(published: BundleContent, model: MarginalModel, seconds: float) -> dict[str, CertainCells]:
    """What is certain about each sensitive attribute that is published. seconds: for all of them."""
    collection = published.collection
    views = {
        attribute: published_views(collection, attribute)
        for attribute in filter(collection.shows, published.domain.attributes)
    }
    known = knowledge(model.frechet_bounds)
    return _certainties(known, published.sensitive, views, _largest_k(published), seconds)


def refined_certainties(refined: CommonRefinement, seconds: float) -> dict[str, CertainCells]:
    """What is certain about each sensitive attribute with several bundles that generalize an attribute differently."""
    published, collection = refined.content, refined.content.collection
    attribute_of = {name: attribute for attribute, names in refined.parts.items() for name in names}
    sensitive = list(dict.fromkeys(attribute_of.get(name, name) for name in published.sensitive))
    known = knowledge(FrechetBounds.of(collection, published.deadline))
    certain = _certainties(known, sensitive, refined.views(), _largest_k(published), seconds)
    return {attribute: _in_atoms(refined, own) for attribute, own in certain.items()}


def _in_atoms(refined: CommonRefinement, certain: CertainCells) -> CertainCells:
    """The worst cell by what the labels of several bundles mean together."""
    if certain.worst is None:
        return certain
    return replace(
        certain, worst=replace(certain.worst, values=refined.by_atom(certain.worst.values, certain.worst.levels))
    )


def _largest_k(published: BundleContent) -> int:
    return max((claim.least_count for claim in published.claims if claim.least_count is not None), default=0)


def _certainties(
    known: Knowledge, sensitive: Sequence[str], views: Mapping[str, Sequence[Levels]], k: int, seconds: float
) -> dict[str, CertainCells]:
    shown = [attribute for attribute in sensitive if attribute in views]
    deadline = Deadline(time.monotonic() + seconds, time.monotonic)
    parts = range(len(shown), 0, -1)
    return {a: certain_cells(known, a, views, k, deadline.share(left)) for a, left in zip(shown, parts)}


def certain_json(certain: CertainCells) -> dict[str, Any]:
    """What is certain, as it stands below `reconstruction`."""
    return {
        "certain": {
            "attributes": certain.attributes,
            "determined": certain.determined,
            "exists": certain.exists,
            "small": certain.small,
        },
        "undecided": {"cells": certain.undecided, "margins": certain.unread},
        "worst": None if certain.worst is None else asdict(certain.worst),
    }

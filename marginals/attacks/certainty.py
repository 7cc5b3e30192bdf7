"""Certainty: what readers of a release conclude about a sensitive attribute without any doubt, within a time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from checks.attacks.certain_cells import CertainCells, certain_cells
from checks.attacks.knowledge import Knowledge
from checks.claims.claim import Claim
from models.graphs.collection import Collection

CERTAIN_SECONDS = 10.0
"""To look for what is certain; most releases need one or two."""


def certainties(
    known: Knowledge, collection: Collection, sensitive: Sequence[str], claims: Sequence[Claim], seconds: float
) -> dict[str, CertainCells]:
    """What is certain about each sensitive attribute that the collection shows. seconds: for all of them."""
    shown = [attribute for attribute in sensitive if collection.shows(attribute)]
    k = max((claim.least_count for claim in claims if claim.least_count is not None), default=0)
    levels = {
        attribute: tuple(sorted({margin[attribute] for margin in collection.margins if attribute in margin}))
        for attribute in collection.domain.attributes
    }
    deadline = time.monotonic() + seconds
    certain = {}
    for place, attribute in enumerate(shown):
        share = (deadline - time.monotonic()) / (len(shown) - place)
        certain[attribute] = certain_cells(known, attribute, levels, k, _until(time.monotonic() + share))
    return certain


def _until(deadline: float) -> Callable[[], float]:
    return lambda: deadline - time.monotonic()


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

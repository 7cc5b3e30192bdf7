"""The risk of releases for people whom attackers know, and which releases can be compared by it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from checks.risk.record import RecordSpace
from checks.risk.release_risk import release_risk
from checks.risk.sensitivity import product
from marginals.errors import InputError
from marginals.release.release import Release
from marginals.risk.attackers import Attackers
from marginals.risk.harm_model import HarmModel
from marginals.risk.table_risk import finite_or_none
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.tables.data_cube import DataCube
from models.tables.domain import Domain

_SAME_DIVERGENCE = 1e-6
"""Relative difference up to which two divergences are taken to be of the same table over the same base values."""


@dataclass(frozen=True)
class BundleRisk:
    """The risk of a release for the people of the dictionaries, and its utility, so that releases can be compared.

    bounds: of the risk, by what its marginals prove of the number of rows that fit each person. kl_divergence: as its
    publisher states it. kl_suppressed: the same of its table with all quasi-identifiers suppressed. Divergences to the
    same data can be compared where these agree, since they also count how many base values there could be.
    """

    name: str
    people: int
    risk: float
    bounds: tuple[float, float]
    identification_probability: float
    kl_divergence: float | None
    kl_suppressed: float | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite."""
        return {
            "release": self.name,
            "people": self.people,
            "risk": finite_or_none(self.risk),
            "bounds": [finite_or_none(bound) for bound in self.bounds],
            "identification_probability": self.identification_probability,
            "kl_divergence": self.kl_divergence,
            "kl_suppressed": self.kl_suppressed,
        }


def bundle_risk(release: Release, name: str, domain: Domain, attackers: Attackers, harm: HarmModel) -> BundleRisk:
    """The risk of a release for the people of the dictionaries, expected over these.

    name: of the release, as it is to be shown. domain: of the table, whose hierarchies name the base values that a
    bundle keeps to itself. Raises InputError for attackers or a harm that have no meaning for a release, or where
    hierarchies differ.
    """
    if objection := attackers.similarity.objection_to("releases"):
        raise InputError(objection)
    if harm.missed:
        raise InputError("risk.missed has no meaning for a release; leave it out")
    collection = _over_hierarchies_of(domain, release.collection)
    space = RecordSpace(collection.domain)
    try:
        by_dictionary = [
            release_risk(collection, people.dictionary(space), harm.sensitivity(space, people))
            for people in attackers.dictionaries
        ]
    except DomainMismatchError as error:
        raise InputError(f"{name}: {error}") from None
    prior = np.array(attackers.prior)
    numbers = zip(*((one.risk, *one.bounds) for one in by_dictionary))
    risk, least, most = (float(product(prior, np.array(values)).sum()) for values in numbers)
    probability = float(prior @ [one.identification_probability.mean() for one in by_dictionary])
    utility = release.published.utility
    stated = (None, None) if utility is None else (utility.kl_divergence, utility.kl_suppressed)
    return BundleRisk(name, sum(map(len, attackers.dictionaries)), risk, (least, most), probability, *stated)


def are_comparable(risks: Sequence[BundleRisk]) -> bool:
    """Whether the divergences of releases are over the same base values, as far as they are stated at all."""
    baselines = [risk.kl_suppressed for risk in risks if risk.kl_suppressed is not None]
    return not baselines or max(baselines) - min(baselines) <= _SAME_DIVERGENCE * max(1.0, *map(abs, baselines))


def least_risk_first(risks: Sequence[BundleRisk]) -> list[BundleRisk]:
    """Releases by rising risk, those of equal risk by name."""
    return sorted(risks, key=lambda risk: (risk.risk, risk.name))


def _over_hierarchies_of(domain: Domain, collection: Collection) -> Collection:
    """A collection over the hierarchies of the table, which name the base values that a bundle keeps to itself.

    Hierarchies that differ at a published level are not the table's, and stay.
    """
    hierarchies = {}
    for name, published in collection.domain.items():
        level = collection.finest_level(name)
        own = domain.hierarchy(name) if name in domain.attributes else published
        same = own.labels[level:] == published.labels[level:] and own.parents[level:] == published.parents[level:]
        hierarchies[name] = own if same and own.height == published.height else published
    over = Domain.of(hierarchies)
    return Collection.of(DataCube([replace(table, domain=over) for table in collection.tables]), collection.masks)

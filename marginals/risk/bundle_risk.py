"""The risk of releases for people whom attackers know, and which releases can be compared by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isclose, log
from typing import Any

import numpy as np

from checks.risk.record import RecordSpace
from checks.risk.release_risk import release_risk
from checks.risk.sensitivity import product
from marginals.bundle.agreement import recoded
from marginals.conditions.common_hierarchy import matched_levels
from marginals.errors import InputError
from marginals.release.release import Release
from marginals.risk.attackers import Attackers
from marginals.risk.harm_model import HarmModel
from marginals.risk.table_risk import finite_or_none
from marginals.tables.rows import Rows
from models.arrays import CodeArray
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class BundleRisk:
    """The risk of a release for the people of the dictionaries, and its information, so that releases can be compared.

    bounds: of the risk, by what its marginals prove of the number of rows that fit each person. total_information: nats
    that its marginals tell of the table, the counts of each attribute by itself among them; None where they form no
    junction tree. log_base_cells: ln of how many base cells its hierarchies have, which it cannot exceed; where releases
    of one table agree in that, their information compares.
    """

    name: str
    people: int
    risk: float
    bounds: tuple[float, float]
    identification_probability: float
    total_information: float | None
    log_base_cells: float

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite."""
        return {
            "release": self.name,
            "people": self.people,
            "risk": finite_or_none(self.risk),
            "bounds": [finite_or_none(bound) for bound in self.bounds],
            "identification_probability": self.identification_probability,
            "total_information": self.total_information,
            "log_base_cells": self.log_base_cells,
        }


def bundle_risk(release: Release, name: str, rows: Rows, attackers: Attackers, harm: HarmModel) -> BundleRisk:
    """The risk of a release for the people of the dictionaries, expected over these.

    name: of the release, as it is to be shown. rows: the table, whose hierarchies name the base values that a bundle
    keeps to itself. Raises InputError for attackers or a harm that have no meaning for a release, or where
    hierarchies differ.
    """
    if objection := attackers.similarity.objection_to("releases"):
        raise InputError(objection)
    if harm.missed:
        raise InputError("risk.missed has no meaning for a release; leave it out")
    collection = _over_hierarchies_of(rows, release.collection)
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
    information = MaximumEntropy(collection).total_information if collection.is_decomposable else None
    log_base_cells = fsum(log(hierarchy.size(0)) for hierarchy in collection.domain.hierarchies)
    people = sum(map(len, attackers.dictionaries))
    return BundleRisk(name, people, risk, (least, most), probability, information, log_base_cells)


def are_comparable(risks: Sequence[BundleRisk]) -> bool:
    """Whether what releases tell is over equally many base values, as far as it is known."""
    sizes = [risk.log_base_cells for risk in risks if risk.total_information is not None]
    return not sizes or isclose(min(sizes), max(sizes), rel_tol=1e-9)


def least_risk_first(risks: Sequence[BundleRisk]) -> list[BundleRisk]:
    """Releases by rising risk, those of equal risk by name."""
    return sorted(risks, key=lambda risk: (risk.risk, risk.name))


def _over_hierarchies_of(rows: Rows, collection: Collection) -> Collection:
    """A collection over the hierarchies of the table, which name the base values that a bundle keeps to itself.

    Hierarchies of which a published one is no part are not the table's; then that stays.
    """
    hierarchies, levels = {}, {}
    for name, published in collection.domain.items():
        own = rows.domain.hierarchy(name) if name in rows.domain.attributes else published
        places = _places(published, own, rows.codes[name]) if own is not published else None
        hierarchies[name] = published if places is None else own
        levels[name] = tuple(range(published.height + 1)) if places is None else places
    domain = Domain.of(hierarchies)
    tables = [recoded(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _places(published: Hierarchy, own: Hierarchy, codes: CodeArray) -> tuple[int, ...] | None:
    """The levels of the table's hierarchy that are those of a published one: rather levels whose values in the rows are all
    published, since a release of these rows shows each.
    """
    occurring = np.unique(codes)

    def fits(level: int, place: int) -> bool:
        seen = {own.labels[place][code] for code in own.lift(0, place)[occurring].tolist()}
        return seen <= set(published.labels[level])

    return matched_levels(published, own, fits) or matched_levels(published, own)

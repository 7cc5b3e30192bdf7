"""Disclosure risk of a table, and of releases: what attackers with some dictionary could do to the people in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from checks.risk.approximate_consistency import approximate_counts
from checks.risk.dictionary import Dictionary, consistent_counts, identification_probability
from checks.risk.frontier import Frontier, frontier
from checks.risk.loss import Harm
from checks.risk.objective import Objective
from checks.risk.optimal_disclosure import DecisionProblem, Optimum, branch_and_bound
from checks.risk.record import Records, RecordSpace, distance_from_root
from checks.risk.release_risk import release_risk
from checks.risk.sensitivity import Constant, Sensitivity, Weights, harmonic_shares, product
from marginals.attribute import Role
from marginals.config import Config
from marginals.disclosing import DisclosedTable, disclose
from marginals.errors import InputError
from marginals.people import identifiers_of, personal_weights, records_of, with_values_of
from marginals.release import Release
from marginals.risk_settings import RiskSettings
from marginals.similarity import alike_values
from marginals.sources.files import read_frame
from marginals.table import Rows
from models.arrays import BoolArray, CountArray, FloatArray
from models.collection import Collection
from models.data_cube import DataCube
from models.domain import Domain
from models.errors import DomainMismatchError

MAX_VECTORS = 10_000
"""Combinations of levels that a frontier looks at, for each record."""


@dataclass(frozen=True)
class AttackerTable:
    """What attackers may hold. identifier: its column that names people, if it has one."""

    name: str
    frame: pd.DataFrame
    identifier: str | None
    missing: tuple[str, ...]

    def dictionary(self, space: RecordSpace) -> Dictionary:
        """Its rows as entries of a dictionary. Raises InputError for a value that no hierarchy has."""
        return Dictionary(records_of(self.frame, space, self.name, self.missing))


@dataclass(frozen=True, eq=False)
class TableRisk:
    """The risk of disclosing a table (LSFB09 Definitions 3 and 4).

    names, prior: of the dictionaries. losses, probabilities: of each record under each dictionary, shape
    (dictionaries, records). utility: of each record, shape (records,).
    """

    names: tuple[str, ...]
    prior: FloatArray
    losses: FloatArray
    probabilities: FloatArray
    utility: FloatArray

    @property
    def risks(self) -> FloatArray:
        """The mean loss under each dictionary."""
        return np.asarray(self.losses.mean(axis=1))

    @property
    def bayes_risk(self) -> float:
        """The risk expected over the dictionaries."""
        return float(product(self.prior, self.risks).sum())

    @property
    def worst_case_risk(self) -> float:
        """The largest risk over the dictionaries."""
        return float(self.risks.max())

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite."""
        return {
            "records": len(self.utility),
            "utility": float(self.utility.mean()),
            "bayes_risk": finite(self.bayes_risk),
            "worst_case_risk": finite(self.worst_case_risk),
            "dictionaries": [
                {
                    "name": name,
                    "risk": finite(risk),
                    "largest_loss": finite(loss.max()),
                    "identification_probability": float(probability.mean()),
                    "identified": int(np.count_nonzero(probability == 1)),
                }
                for name, risk, loss, probability in zip(self.names, self.risks, self.losses, self.probabilities)
            ],
        }


@dataclass(frozen=True)
class BundleRisk:
    """The risk of a release for the people of the dictionaries, and its utility, so that releases can be compared.

    bounds: of the risk, by what its marginals prove of the number of rows that fit each person. kl_divergence: as its
    publisher states it.
    """

    name: str
    people: int
    risk: float
    bounds: tuple[float, float]
    identification_probability: float
    kl_divergence: float | None

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite."""
        return {
            "release": self.name,
            "people": self.people,
            "risk": finite(self.risk),
            "bounds": [finite(bound) for bound in self.bounds],
            "identification_probability": self.identification_probability,
            "kl_divergence": self.kl_divergence,
        }


@dataclass(frozen=True, eq=False)
class Risk:
    """A table, its disclosure under the rules of a config, and the attackers that it is disclosed to."""

    table: DisclosedTable
    attackers: tuple[AttackerTable, ...]
    settings: RiskSettings
    weights: AttackerTable | None = None

    @cached_property
    def problem(self) -> DecisionProblem:
        """Which disclosure to choose for each row."""
        originals = self.table.disclosure.originals
        dictionaries = tuple(attacker.dictionary(originals.space) for attacker in self.attackers)
        harm = Harm(self._sensitivity(originals.space, self._own), Constant(self.settings.missed))
        return DecisionProblem(originals, dictionaries, harm, self.settings.prior)

    @cached_property
    def _own(self) -> AttackerTable:
        identifier = next((n for n, role in self.table.rows.roles.items() if role is Role.IDENTIFIER), None)
        return AttackerTable("the table", self.table.rows.frame, identifier, ())

    def _sensitivity(self, space: RecordSpace, people: AttackerTable) -> Sensitivity:
        """The sensitivity of what is disclosed of these people, in the order of their rows."""
        if self.settings.weights is None:
            return Constant(1.0)
        attributes = space.domain.attributes
        weights = np.array([self.settings.weights.get(name, 0.0) for name in attributes])
        if self.weights is not None:
            if people.identifier is None:
                raise InputError("risk.personal_weights needs a column with the role identifier, in dictionaries too")
            numbers: dict[str, int] = {}
            rows = identifiers_of(people.frame, people.identifier, people.name, numbers)
            frame, name = self.weights.frame, self.weights.name
            weights = personal_weights(frame, people.identifier, name, numbers, attributes, weights)[rows]
        terms: list[tuple[int, ...]] = [(axis,) for axis in range(len(space))]
        interactions = [i for i in self.settings.interactions if set(i[0]) <= set(attributes)]
        terms += [tuple(space.domain.index(a) for a in names) for names, _ in interactions]
        extra = np.broadcast_to([weight for _, weight in interactions], (*weights.shape[:-1], len(interactions)))
        shares = tuple(map(harmonic_shares, space.taxonomies))
        return self.settings.family(Weights(shares, tuple(terms), np.concatenate([weights, extra], axis=-1)))

    def of_table(self, disclosed: Records | None = None) -> TableRisk:
        """The risk of what is disclosed, or of other generalizations of the rows."""
        records = self.table.records if disclosed is None else disclosed
        counts = [self._counts(records, dictionary) for dictionary in self.problem.dictionaries]
        people = np.arange(len(records))
        return TableRisk(
            tuple(attacker.name for attacker in self.attackers),
            np.array(self.settings.prior),
            np.stack([self.problem.harm.loss(records, people, held) for held in counts]),
            np.stack([identification_probability(held) for held in counts]),
            distance_from_root(records),
        )

    def _counts(self, records: Records, dictionary: Dictionary) -> CountArray:
        if not self.settings.similar:
            return consistent_counts(records, dictionary)
        return approximate_counts(records, dictionary, alike_values(records, dictionary, self.settings.similar))

    def _refuse_similar(self, what: str) -> None:
        if self.settings.similar:
            raise InputError(f"risk.similar goes with the risk of a table only, not with {what}; leave it out")

    def optimum(self, objective: Objective) -> Optimum:
        """The best disclosure of each row as it is, whatever the rules (LSFB09 section 4)."""
        self._refuse_similar("optimal disclosures")
        return branch_and_bound(self.problem, objective)

    def frontier(self, points: int = 100) -> Frontier:
        """The least risk for each mean utility. Raises InputError where there are too many combinations of levels."""
        self._refuse_similar("a frontier")
        vectors = int(np.prod(self.problem.originals.space.heights + 1))
        if vectors > MAX_VECTORS:
            raise InputError(
                f"a frontier over {vectors} combinations of levels is too much, {MAX_VECTORS} are the limit; "
                'give the role "ignored" to some columns'
            )
        return frontier(self.problem).thinned(points)

    def of_release(self, release: Release, name: str) -> BundleRisk:
        """The risk of a release for the people of the dictionaries, expected over these."""
        self._refuse_similar("releases")
        if self.settings.missed:
            raise InputError("risk.missed has no meaning for a release; leave it out")
        collection = _told_in_full(release.collection, self.table.rows.domain)
        space = RecordSpace(collection.domain)
        prior = np.array(self.settings.prior)
        try:
            found = [
                release_risk(collection, attacker.dictionary(space), self._sensitivity(space, attacker))
                for attacker in self.attackers
            ]
        except DomainMismatchError as error:
            raise InputError(f"{name}: {error}") from None
        averaged = [float(product(prior, np.array(v)).sum()) for v in zip(*((f.risk, *f.bounds) for f in found))]
        probability = float(prior @ [f.identification_probability.mean() for f in found])
        people = sum(len(attacker.frame) for attacker in self.attackers)
        return BundleRisk(name, people, averaged[0], (averaged[1], averaged[2]), probability, release.kl_divergence)


def _told_in_full(collection: Collection, domain: Domain) -> Collection:
    """A collection over the hierarchies of the table, which name the base values that a bundle keeps to itself.

    Hierarchies that differ at a published level are not the table's, and stay.
    """
    known = {}
    for name, hierarchy in collection.domain.items():
        level = hierarchy.height - collection.finest_resolution(name)
        full = domain.hierarchy(name) if name in domain.attributes else hierarchy
        same = full.labels[level:] == hierarchy.labels[level:] and full.parents[level:] == hierarchy.parents[level:]
        known[name] = full if same and full.height == hierarchy.height else hierarchy
    over = Domain.of(known)
    return Collection.of(DataCube([replace(table, domain=over) for table in collection.tables]), collection.masks)


def disclosure_risk(config: Config, levels: Mapping[str, int] | None = None) -> Risk:
    """The risk that a config describes: its table under its rules, with some attributes at levels throughout.

    Raises InputError for files, columns or conditions that cannot be used, DomainMismatchError or DisclosureRuleError
    for attributes and levels that do not exist.
    """
    rows, settings = config.read_rows(), config.risk
    identifier = next((n for n, a in config.attributes.items() if a.role is Role.IDENTIFIER), None)
    attackers = tuple(_attacker(path, identifier, config.missing) for path in settings.dictionaries)
    if not attackers:
        known = [name for name, role in rows.roles.items() if role in (Role.QUASI_IDENTIFIER, Role.IDENTIFIER)]
        attackers = (AttackerTable("the table's quasi-identifiers", rows.frame[known], identifier, config.missing),)
    for attacker in attackers:
        if not set(attacker.frame.columns) & set(rows.domain.attributes):
            raise InputError(f"{attacker.name} has no column of the table's, so nobody could be found in it")
    rows = with_values_of(config.attributes, rows, [attacker.frame for attacker in attackers])
    _check_names(settings, rows)
    table = disclose(rows, settings.rules)
    if levels:
        vector = [levels.get(name, 0) for name in rows.domain.attributes]
        _ = rows.domain.mask(levels)
        table = _at_levels(table, np.array(vector))
    weights = None if settings.personal_weights is None else _attacker(settings.personal_weights, identifier, ())
    return Risk(table, attackers, settings, weights)


def _attacker(path: Path, identifier: str | None, missing: tuple[str, ...]) -> AttackerTable:
    frame = read_frame(path)
    if not len(frame):
        raise InputError(f"{path.name} has no rows")
    return AttackerTable(path.name, frame, identifier if identifier in frame.columns else None, missing)


def _check_names(settings: RiskSettings, rows: Rows) -> None:
    named = [
        *(settings.weights or {}),
        *settings.similar,
        *(name for names, _ in settings.interactions for name in names),
    ]
    for name in named:
        if name not in rows.domain.attributes:
            known = ", ".join(rows.domain.attributes)
            raise InputError(f"section [risk] names {name!r}, which is no attribute of the table; these are {known}")


def _at_levels(table: DisclosedTable, vector: "np.ndarray[Any, np.dtype[np.intp]]") -> DisclosedTable:
    disclosure = table.disclosure
    return DisclosedTable(table.rows, type(disclosure)(disclosure.originals, np.maximum(disclosure.levels, vector)))


def finite(value: float) -> float | None:
    """A number for JSON, None where it is infinite."""
    return float(value) if np.isfinite(value) else None


def levels_chosen(optimum: Optimum, shown: BoolArray | None = None) -> dict[str, list[int]]:
    """For each attribute how many records are disclosed at each of its levels, 0 first (LSFB09 Fig. 11)."""
    levels = optimum.disclosure.levels if shown is None else optimum.disclosure.levels[shown]
    space = optimum.disclosure.originals.space
    return {
        attribute: np.bincount(column, minlength=height + 1).tolist()
        for attribute, height, column in zip(space.domain.attributes, space.heights.tolist(), levels.T)
    }


def compare(risks: Sequence[BundleRisk]) -> list[BundleRisk]:
    """Releases, the least risk first."""
    return sorted(risks, key=lambda found: (found.risk, found.name))

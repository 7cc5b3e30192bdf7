"""Disclosure risk of a table, and of releases: what attackers with some dictionary could do to the people in it.

Attackers look up disclosed records in their dictionary, or first link them with public records and look up what both say
together (LSFB09 section 6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from checks.risk.approximate_consistency import AlikeValues, approximate_counts
from checks.risk.dictionary import Dictionary, identification_probability
from checks.risk.errors import IncomparableError
from checks.risk.frontier import Frontier, frontier
from checks.risk.linkage import Links, linkage_losses, uniform_links
from checks.risk.loss import Harm
from checks.risk.objective import LeastRisk, Objective
from checks.risk.optimal_disclosure import DecisionProblem, Optimum, branch_and_bound
from checks.risk.record import Records, RecordSpace, distance_from_root
from checks.risk.release_risk import release_risk
from checks.risk.risk_bound import require_bound
from checks.risk.sensitivity import Constant, Sensitivity, Weights, harmonic_shares, product
from marginals.config.release_toml import Config
from marginals.disclosure.rules import DisclosedTable, disclose
from marginals.errors import InputError
from marginals.release.release import Release
from marginals.risk.record_reading import identifiers_of, personal_weights, records_of, with_values_of
from marginals.risk.settings import RiskSettings
from marginals.risk.similarity import alike_values
from marginals.tables.attribute import Role
from marginals.tables.rows import Rows
from marginals.tables.sources.files import read_frame
from marginals.tables.sources.pandas_frame import factorized
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import SUPPRESSED, Hierarchy

MAX_VECTORS = 10_000
"""Combinations of levels that a frontier looks at, for each record."""


_SAME = 1e-6
"""Relative difference up to which two divergences are taken to be of the same table over the same base values."""

QUICK = 10_000_000
"""Losses of a record at a combination of levels that a frontier computes without being asked to."""


@dataclass(frozen=True)
class AttackerTable:
    """What attackers may hold. identifier: its column that names people, if it has one."""

    name: str
    frame: pd.DataFrame
    identifier: str | None
    missing: tuple[str, ...]

    def records(self, space: RecordSpace) -> Records:
        """Its rows as records. Raises InputError for a value that no hierarchy has."""
        return records_of(self.frame, space, self.name, self.missing)

    def dictionary(self, space: RecordSpace) -> Dictionary:
        """Its rows as entries of a dictionary. Errors as for `records`."""
        return Dictionary(self.records(space))


@dataclass(frozen=True, eq=False)
class TableRisk:
    """The risk of disclosing a table (LSFB09 Definitions 3 and 4).

    names, prior: of the dictionaries. losses, counts: of each record under each dictionary, and how many of its entries
    are consistent with it, shape (dictionaries, records). utility: of each record, shape (records,). bounds: for each
    dictionary whether no attacker with one that is more general and holds the same people can do more without linkage
    (Proposition 1). own: for each dictionary whether the person's own entry fits each record, shape (records,); None
    where it is not known which that is. linked: the losses where records are first linked with public ones, as losses;
    None where they are not.
    """

    names: tuple[str, ...]
    prior: FloatArray
    losses: FloatArray
    counts: CountArray
    utility: FloatArray
    bounds: tuple[bool, ...]
    own: tuple[BoolArray | None, ...]
    linked: FloatArray | None = None

    @property
    def probabilities(self) -> FloatArray:
        """The probability that each person is found under each dictionary: shape (dictionaries, records)."""
        return np.stack([identification_probability(counts) for counts in self.counts])

    @property
    def expected_losses(self) -> FloatArray:
        """The loss of each record expected over the dictionaries: shape (records,)."""
        return np.asarray(product(self.prior[:, None], self.losses).sum(axis=0))

    @property
    def linked_risks(self) -> FloatArray | None:
        """The mean loss under each dictionary of records that are linked first."""
        return None if self.linked is None else np.asarray(self.linked.mean(axis=1))

    @property
    def risks(self) -> FloatArray:
        """The mean loss under each dictionary."""
        return np.asarray(self.losses.mean(axis=1))

    @property
    def linked_bayes_risk(self) -> float | None:
        """The risk of records that are linked first, expected over the dictionaries; None where they are not linked."""
        return None if self.linked_risks is None else float(product(self.prior, self.linked_risks).sum())

    @property
    def single_fits(self) -> tuple[int, ...]:
        """By dictionary how many records exactly one entry fits, whoever that is."""
        return tuple(np.count_nonzero(self.counts == 1, axis=1).tolist())

    @property
    def right_fits(self) -> tuple[int | None, ...]:
        """For how many of these that entry is the person's own; None where it is not known which that is."""
        pairs = zip(self.counts, self.own)
        return tuple(None if own is None else int(np.count_nonzero((counts == 1) & own)) for counts, own in pairs)

    @property
    def bayes_risk(self) -> float:
        """The risk expected over the dictionaries."""
        return float(product(self.prior, self.risks).sum())

    @property
    def worst_case_risk(self) -> float:
        """The largest risk over the dictionaries."""
        return float(self.risks.max())

    def as_json(self) -> dict[str, Any]:
        """As plain values; null stands for infinite, and for the risk by linkage where there is none.

        identified: records that one entry fits; identified_right: those of them whose entry is the person's own, null
        where it is not known which that is.
        """
        linked = [None] * len(self.names) if self.linked_risks is None else self.linked_risks.tolist()
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
                    "identified": single,
                    "identified_right": right,
                    "fewest_consistent": int(counts.min()),
                    "is_upper_bound": bound,
                    "linked_risk": None if by_linkage is None else finite(by_linkage),
                }
                for name, risk, loss, counts, probability, bound, by_linkage, single, right in zip(
                    self.names,
                    self.risks,
                    self.losses,
                    self.counts,
                    self.probabilities,
                    self.bounds,
                    linked,
                    self.single_fits,
                    self.right_fits,
                )
            ],
        }


@dataclass(frozen=True)
class BundleRisk:
    """The risk of a release for the people of the dictionaries, and its utility, so that releases can be compared.

    bounds: of the risk, by what its marginals prove of the number of rows that fit each person. kl_divergence: as its
    publisher states it. kl_suppressed: the same of its table with all quasi-identifiers suppressed; divergences to the
    same data compare where these agree, since they also count how many base values there could be.
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
            "risk": finite(self.risk),
            "bounds": [finite(bound) for bound in self.bounds],
            "identification_probability": self.identification_probability,
            "kl_divergence": self.kl_divergence,
            "kl_suppressed": self.kl_suppressed,
        }


@dataclass(frozen=True, eq=False)
class Risk:
    """A table, its disclosure under the rules of a config, and the attackers that it is disclosed to.

    public: what these link with it before.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from marginals.config.release_toml import Config
    >>> from marginals.example import attributes, frame
    >>> from marginals.publishing.policy import Policy
    >>> from marginals.tables.source import TableSource
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_csv(f"{folder}/people.csv", index=False)
    ...     people = TableSource(origin=f"{folder}/people.csv", attributes=attributes)
    ...     config = Config(Path(folder), people, Policy())
    ...     risk = disclosure_risk(config)
    >>> risk.frontier(points=3).risk
    array([0.02083333, 0.0669686 , 0.16666667])
    """

    table: DisclosedTable
    attackers: tuple[AttackerTable, ...]
    settings: RiskSettings
    weights: AttackerTable | None = None
    public: AttackerTable | None = None

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
        dictionaries, people = self.problem.dictionaries, np.arange(len(records))
        held_by = [self._people_in(attacker) for attacker in self.attackers]
        counts = [approximate_counts(records, known, self._alike(records, known)) for known in dictionaries]
        return TableRisk(
            tuple(attacker.name for attacker in self.attackers),
            np.array(self.settings.prior),
            np.stack([self.problem.harm.loss(records, people, held) for held in counts]),
            np.stack(counts),
            distance_from_root(records),
            tuple(self._is_bound(records, known, who) for known, who in zip(dictionaries, held_by)),
            tuple(self._own_fits(records, known, who) for known, who in zip(dictionaries, held_by)),
            None if self.public is None else self._linked_losses(records, self.public),
        )

    def _alike(self, records: Records, dictionary: Dictionary) -> Mapping[int, AlikeValues]:
        compared = [name for name in self.settings.similar if name in records.space.domain.attributes]
        return alike_values(records, dictionary, compared, self.settings.threshold)

    def _is_bound(self, records: Records, known: Dictionary, people: tuple[CountArray, CountArray] | None) -> bool:
        """Whether Proposition 1 holds: for exact consistency, with people known by identifier or those of the table."""
        if self.settings.similar or people is None:
            return False
        named = Dictionary(known.entries, people[1])
        try:
            require_bound(records, self.table.disclosure.originals, people[0], named, self.problem.harm)
        except IncomparableError:
            return False
        return True

    def _own_fits(
        self, records: Records, known: Dictionary, people: tuple[CountArray, CountArray] | None
    ) -> BoolArray | None:
        """Whether each record's person has an entry that fits it, where people are known and values agree exactly."""
        if self.settings.similar or people is None:
            return None
        entry = pd.Index(people[1]).get_indexer(pd.Index(people[0]))
        fits = entry >= 0
        fits[fits] = known.entries[entry[fits]].is_consistent_with(records[np.flatnonzero(fits)])
        return read_only(fits)

    def _people_in(self, attacker: AttackerTable) -> tuple[CountArray, CountArray] | None:
        """Numbers of the people of the table and of a dictionary, the same for the same; None where they are not known."""
        if not self.settings.dictionaries:
            return (np.arange(len(self.table.rows.frame)),) * 2
        try:
            return self._identifiers(attacker)
        except InputError:
            return None

    def _identifiers(self, other: AttackerTable) -> tuple[CountArray, CountArray] | None:
        """Numbers of the people of the table, and of those of another one, the same for the same; None without."""
        own, numbers = self._own, dict[str, int]()
        if own.identifier is None or other.identifier is None:
            return None
        here = identifiers_of(own.frame, own.identifier, own.name, numbers)
        return here, identifiers_of(other.frame, other.identifier, other.name, numbers)

    def _linked_losses(self, disclosed: Records, public: AttackerTable) -> FloatArray:
        """The losses of records that are linked with public ones first: shape (dictionaries, records)."""
        added = () if self.settings.linkage is None else self.settings.linkage.columns
        space = _enlarged(self.table.rows.domain, added, [public, *self.attackers])
        hidden = np.tile(space.roots[len(disclosed.space) :], (len(disclosed), 1))
        records, known = Records(space, np.hstack([disclosed.nodes, hidden])), public.records(space)
        links = self._links(records, known, public)
        harm = Harm(self._sensitivity(space, self._own), Constant(self.settings.missed))
        losses = []
        for attacker in self.attackers:
            dictionary = attacker.dictionary(space)
            alike = self._alike(Records(space, np.vstack([records.nodes, known.nodes])), dictionary)
            losses.append(linkage_losses(records, known, links, dictionary, harm, alike))
        return np.stack(losses)

    def _links(self, disclosed: Records, known: Records, public: AttackerTable) -> Links:
        """Links with all that fit. Which are right, identifiers say; without them, each is taken to be."""
        links, people = uniform_links(disclosed, known), self._identifiers(public)
        if people is None:
            return links
        return replace(links, right=people[0][links.disclosed] == people[1][links.public])

    def _refuse_similar(self, what: str) -> None:
        if self.settings.similar:
            raise InputError(f"risk.similar goes with the risk of a table only, not with {what}; leave it out")

    def optimum(self, objective: Objective) -> Optimum:
        """The best disclosure of each row as it is, whatever the rules (LSFB09 section 4), without linkage.

        Raises InputError for a utility that no row can have.
        """
        self._refuse_similar("optimal disclosures")
        rows, levels = np.arange(len(self.problem.originals)), 0 * self.problem.originals.space.heights
        most = self.problem.utility(rows, levels).max()
        if isinstance(objective, LeastRisk) and objective.utility > most:
            raise InputError(f"no row can have a utility of {objective.utility:g}; the most is {most:g}")
        return branch_and_bound(self.problem, objective)

    @property
    def is_quick(self) -> bool:
        """Whether a frontier takes less than about half a minute."""
        return self._combinations * len(self.problem.originals) <= QUICK

    @property
    def _combinations(self) -> int:
        """Combinations of levels, as a whole number of any size."""
        return prod(height + 1 for height in self.problem.originals.space.heights.tolist())

    @property
    def no_frontier(self) -> str | None:
        """Why there is no frontier; None where there is one."""
        if self.settings.similar:
            return "risk.similar goes with the risk of a table only, not with a frontier; leave it out"
        vectors = self._combinations
        if vectors > MAX_VECTORS:
            return (
                f"a frontier over {vectors} combinations of levels is too much, {MAX_VECTORS} are the limit; "
                'give the role "ignored" to some columns'
            )
        return None

    def frontier(self, points: int | None = None) -> Frontier:
        """The least risk for each mean utility, without linkage. Raises InputError where there is none.

        points: at most so many of its vertices; without it, all.
        """
        if self.no_frontier:
            raise InputError(self.no_frontier)
        edge = frontier(self.problem)
        return edge if points is None else edge.thinned(points)

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
        utility = release.published.utility
        stated = (None, None) if utility is None else (utility.kl_divergence, utility.kl_suppressed)
        return BundleRisk(name, people, averaged[0], (averaged[1], averaged[2]), probability, *stated)


def _enlarged(domain: Domain, columns: Sequence[str], tables: Sequence[AttackerTable]) -> RecordSpace:
    """The records of a domain with more columns, which hold whatever values the tables have, or nothing."""
    hierarchies = dict(domain.items())
    for column in columns:
        parts = [factorized(t.frame[column], {*t.missing, SUPPRESSED})[1] for t in tables if column in t.frame.columns]
        hierarchies[column] = Hierarchy.flat(sorted({value for values in parts for value in values}))
    return RecordSpace(Domain.of(hierarchies))


def _told_in_full(collection: Collection, domain: Domain) -> Collection:
    """A collection over the hierarchies of the table, which name the base values that a bundle keeps to itself.

    Hierarchies that differ at a published level are not the table's, and stay.
    """
    known = {}
    for name, hierarchy in collection.domain.items():
        level = collection.finest_level(name)
        full = domain.hierarchy(name) if name in domain.attributes else hierarchy
        same = full.labels[level:] == hierarchy.labels[level:] and full.parents[level:] == hierarchy.parents[level:]
        known[name] = full if same and full.height == hierarchy.height else hierarchy
    over = Domain.of(known)
    return Collection.of(DataCube([replace(table, domain=over) for table in collection.tables]), collection.masks)


def disclosure_risk(config: Config, levels: Mapping[str, int] | None = None) -> Risk:
    """The risk that a config describes: its table under its rules, with some attributes at levels throughout.

    Raises InputError for files, columns or conditions that cannot be used, DomainMismatchError or DisclosureRuleError
    for attributes and levels that do not exist.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from marginals.config.release_toml import Config
    >>> from marginals.example import attributes, frame
    >>> from marginals.publishing.policy import Policy
    >>> from marginals.tables.source import TableSource
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_csv(f"{folder}/people.csv", index=False)
    ...     people = TableSource(origin=f"{folder}/people.csv", attributes=attributes)
    ...     config = Config(Path(folder), people, Policy())
    ...     risk = disclosure_risk(config, {"age": 1})
    >>> round(risk.of_table().bayes_risk, 3)
    0.167
    """
    rows, settings = config.read_rows(), config.risk
    identifier = next((n for n, a in config.source.attributes.items() if a.role is Role.IDENTIFIER), None)
    attackers = tuple(
        _attacker(path, identifier, config.source.missing, config.source.separator) for path in settings.dictionaries
    )
    if not attackers:
        known = [name for name, role in rows.roles.items() if role in (Role.QUASI_IDENTIFIER, Role.IDENTIFIER)]
        attackers = (
            AttackerTable("the table's quasi-identifiers", rows.frame[known], identifier, config.source.missing),
        )
    for attacker in attackers:
        if not set(attacker.frame.columns) & set(rows.domain.attributes):
            raise InputError(f"{attacker.name} has no column of the table's, so nobody could be found in it")
    public = (
        None
        if settings.linkage is None
        else _attacker(settings.linkage.table, identifier, config.source.missing, config.source.separator)
    )
    if public is not None and not set(public.frame.columns) & set(rows.domain.attributes):
        raise InputError(f"{public.name} has no column of the table's, so nothing could be linked with it")
    held = [*attackers, *([] if public is None else [public])]
    rows = with_values_of(config.source.attributes, rows, [table.frame for table in held])
    _check_names(settings, rows, public)
    table = disclose(rows, settings.rules)
    if levels:
        vector = [levels.get(name, 0) for name in rows.domain.attributes]
        _ = rows.domain.mask(levels)
        table = _at_levels(table, np.array(vector))
    weights = (
        None
        if settings.personal_weights is None
        else _attacker(settings.personal_weights, identifier, (), config.source.separator)
    )
    return Risk(table, attackers, settings, weights, public)


def _attacker(path: Path, identifier: str | None, missing: tuple[str, ...], separator: str) -> AttackerTable:
    frame = read_frame(path, separator)
    if not len(frame):
        raise InputError(f"{path.name} has no rows")
    return AttackerTable(path.name, frame, identifier if identifier in frame.columns else None, missing)


def _check_names(settings: RiskSettings, rows: Rows, public: AttackerTable | None) -> None:
    added = () if settings.linkage is None else settings.linkage.columns
    for column in added:
        if column in rows.domain.attributes:
            raise InputError(
                f"risk.linkage.columns names {column!r}, which the table has; linking adds no column to it"
            )
        if public is None or column not in public.frame.columns:
            raise InputError(f"risk.linkage.columns names {column!r}, which is no column of the linked table")
        if not factorized(public.frame[column], {*public.missing, SUPPRESSED})[1]:
            raise InputError(f"risk.linkage.columns names {column!r}, of which the linked table has no value")
    named = [
        *(settings.weights or {}),
        *settings.similar,
        *(name for names, _ in settings.interactions for name in names),
    ]
    known = [*rows.domain.attributes, *added]
    for name in named:
        if name not in known:
            raise InputError(
                f"section [risk] names {name!r}, which is no attribute of the table; these are {', '.join(known)}"
            )


def _at_levels(table: DisclosedTable, vector: "np.ndarray[Any, np.dtype[np.intp]]") -> DisclosedTable:
    disclosure = table.disclosure
    return DisclosedTable(table.rows, type(disclosure)(disclosure.originals, np.maximum(disclosure.levels, vector)))


def finite(value: float) -> float | None:
    """A number for JSON, None where it is infinite."""
    return float(value) if np.isfinite(value) else None


def levels_chosen(space: RecordSpace, levels: IndexArray) -> dict[str, list[int]]:
    """For each attribute how many records are disclosed at each of its levels, 0 first (LSFB09 Fig. 11).

    levels: shape (records, attributes).
    """
    return {
        attribute: np.bincount(column, minlength=height + 1).tolist()
        for attribute, height, column in zip(space.domain.attributes, space.heights.tolist(), levels.T)
    }


def are_comparable(risks: Sequence[BundleRisk]) -> bool:
    """Whether the divergences of releases are over the same base values, as far as they are stated at all."""
    baselines = [found.kl_suppressed for found in risks if found.kl_suppressed is not None]
    return not baselines or max(baselines) - min(baselines) <= _SAME * max(1.0, *map(abs, baselines))


def compare(risks: Sequence[BundleRisk]) -> list[BundleRisk]:
    """Releases, the least risk first."""
    return sorted(risks, key=lambda found: (found.risk, found.name))

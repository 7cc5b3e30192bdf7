"""Disclosure risk of a table, and of releases: the harm that attackers with some dictionary could do to people (LSFB09)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isclose, log, prod
from typing import Any

import numpy as np

from checks.errors import DisclosureRuleError, IncomparableError
from checks.risk.attackers import (
    Dictionary,
    Records,
    RecordSpace,
    consistent_counts,
    distance_from_root,
    identification_probability,
)
from checks.risk.disclosure import (
    DecisionProblem,
    Frontier,
    Optimum,
    Progress,
    best_of_each,
    best_on_average,
    frontier,
    require_bound,
    unwatched,
)
from checks.risk.harm import (
    Constant,
    Harm,
    LeastRisk,
    Linear,
    MostUtility,
    Multiplicative,
    Objective,
    Sensitivity,
    TradeOff,
    Weights,
    harmonic_shares,
    linkage_losses,
    product,
    release_risk,
    weighted_mean,
)
from marginals.arguments import published_of, require
from marginals.bundle.content import Published, Released
from marginals.bundle.together import recoded
from marginals.errors import InputError
from marginals.published_values import matched_levels
from marginals.results import plain
from marginals.risk.attackers import Attackers, Linkage, PeopleTable
from marginals.risk.rules import DisclosedTable, DisclosureRule, disclose
from marginals.tables.distinct_rows import reals
from marginals.tables.table import Rows
from marginals.tables.values import BLANKS
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only
from models.errors import DomainMismatchError
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import DataCube
from models.tables.generalized_cells import Taxonomy
from models.tables.hierarchy import Domain, Hierarchy


@dataclass(frozen=True, eq=False)
class TableRisk:
    """The risk of disclosing a table (LSFB09 Definitions 3 and 4).

    losses, linked: of each record by dictionary, and if linked with public records first. counts: entries consistent with
    it; shape (dictionaries, records). bounds: for each dictionary whether Proposition 1 holds. own_fits: for each whether
    the person's own entry fits, shape (records,), None if unknown. weights: of records in means, None for 1 each.
    """

    names: tuple[str, ...]
    prior: FloatArray
    losses: FloatArray
    counts: CountArray
    utility: FloatArray
    bounds: tuple[bool, ...]
    own_fits: tuple[BoolArray | None, ...]
    linked: FloatArray | None = None
    weights: FloatArray | None = None

    def _means(self, by_dictionary: FloatArray) -> FloatArray:
        return np.array([weighted_mean(values, self.weights) for values in by_dictionary])

    @property
    def expected_losses(self) -> FloatArray:
        """The loss of each record expected over the dictionaries: shape (records,)."""
        return np.asarray(product(self.prior[:, None], self.losses).sum(axis=0))

    @property
    def risks(self) -> FloatArray:
        """The mean loss under each dictionary."""
        return self._means(self.losses)

    @property
    def linked_risks(self) -> FloatArray | None:
        """The mean loss under each dictionary of records that are linked first; None if they are not linked."""
        return None if self.linked is None else self._means(self.linked)

    @property
    def mean_utility(self) -> float:
        """The mean utility of the records."""
        return weighted_mean(self.utility, self.weights)

    @property
    def mean_probabilities(self) -> FloatArray:
        """The mean probability that a person is identified, by dictionary."""
        return self._means(np.stack([identification_probability(counts) for counts in self.counts]))

    @property
    def bayes_risk(self) -> float:
        """The risk expected over the dictionaries."""
        return float(product(self.prior, self.risks).sum())

    @property
    def linked_bayes_risk(self) -> float | None:
        """The risk of records that are linked first, expected over the dictionaries; None if they are not linked."""
        return None if self.linked is None else float(product(self.prior, self._means(self.linked)).sum())

    @property
    def worst_case_risk(self) -> float:
        """The largest risk over the dictionaries."""
        return float(self.risks.max())

    @property
    def single_fits(self) -> tuple[int, ...]:
        """By dictionary the number of records that exactly one entry fits, whoever that entry is about."""
        return tuple(np.count_nonzero(self.counts == 1, axis=1).tolist())

    @property
    def right_fits(self) -> tuple[int | None, ...]:
        """The number of these records whose entry is the person's own; None if it is not known which that is."""
        pairs = zip(self.counts, self.own_fits)
        return tuple(None if own is None else int(np.count_nonzero((counts == 1) & own)) for counts, own in pairs)

    def as_json(self) -> dict[str, Any]:
        """Plain values; null stands for infinite, for what linkage adds without it, and where own entries are not known."""
        columns = {
            "name": self.names,
            "risk": self.risks,
            "largest_loss": self.losses.max(axis=1),
            "identification_probability": self.mean_probabilities,
            "identified": self.single_fits,
            "identified_right": self.right_fits,
            "fewest_consistent": self.counts.min(axis=1),
            "is_upper_bound": self.bounds,
            "linked_risk": [None] * len(self.names) if self.linked_risks is None else self.linked_risks,
        }
        numbers = {"utility": self.mean_utility, "bayes_risk": self.bayes_risk, "worst_case_risk": self.worst_case_risk}
        dictionaries = [dict(zip(columns, values)) for values in zip(*columns.values())]
        return {"records": len(self.utility), **numbers, "dictionaries": plain(dictionaries)}


ALL_OTHERS = "*"
"""Names the values of an attribute to which no weight of their own is given."""


@dataclass(frozen=True)
class HarmModel:
    """The harm to a person who is identified, and to one who is missed (`missed`).

    family: the sum of the weights of what is disclosed, or e to that power. weights: of an attribute, or of its base values
    (`*`: those not named); infinite forbids disclosure, None makes identification itself a harm of 1. interactions: weights
    of disclosing all of a set of attributes. personal: people's own weights of attributes, which take their place and
    multiply those of values. An interaction and `missed` may name a column of `personal`, with a row for each person.
    Raises InputError for interactions or personal weights without `weights`.
    """

    family: type[Linear] | type[Multiplicative] = Linear
    weights: Mapping[str, float | Mapping[str, float]] | None = None
    interactions: tuple[tuple[tuple[str, ...], float | str], ...] = ()
    missed: float | str = 0.0
    personal: PeopleTable | None = None

    def __post_init__(self) -> None:
        if self.weights is None and (self.interactions or self.personal is not None):
            raise InputError("interactions and personal weights are added to the weights of attributes; give these too")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that weights and interactions name."""
        return (*(self.weights or {}), *(name for names, _ in self.interactions for name in names))

    def weight_of(self, attribute: str) -> float:
        """The factor of the shares of an attribute's values."""
        weight = (self.weights or {}).get(attribute, 0.0)
        return float(weight) if isinstance(weight, int | float) else 1.0

    def shares_of(self, attribute: str, taxonomy: Taxonomy) -> FloatArray:
        """The share of that weight of each node, shape (nodes,). Raises InputError for a weight of an unknown value."""
        by_value = (self.weights or {}).get(attribute)
        if by_value is None or isinstance(by_value, int | float):
            return harmonic_shares(taxonomy)
        values = taxonomy.hierarchy.labels[0]
        for value in by_value:
            if value != ALL_OTHERS and value not in values:
                raise InputError(
                    f"risk.weights.{attribute} gives a weight to {value!r}, which is no value of that attribute; "
                    f"weights are for values as they stand in the table, or for {ALL_OTHERS!r}, all others"
                )
        others = by_value.get(ALL_OTHERS, 0.0)
        return harmonic_shares(taxonomy, np.array([by_value.get(value, others) for value in values]))

    def harm(self, space: RecordSpace, people: PeopleTable) -> Harm:
        """The harm to some people, in the order of their rows. Raises InputError as `sensitivity` does."""
        missed = Constant(self._own(self.missed, people) if isinstance(self.missed, str) else self.missed)
        return Harm(self.sensitivity(space, people), missed)

    def sensitivity(self, space: RecordSpace, people: PeopleTable) -> Sensitivity:
        """The sensitivity of what is disclosed of some people, in the order of their rows.

        Raises InputError for personal weights of unknown people or that are no numbers, and as `shares_of`.
        """
        if self.weights is None:
            return Constant(1.0)
        attributes = space.domain.attributes
        interactions = [(names, weight) for names, weight in self.interactions if set(names) <= set(attributes)]
        terms: list[tuple[int, ...]] = [(axis,) for axis in range(len(space))]
        terms += [tuple(space.domain.index(name) for name in names) for names, _ in interactions]
        columns: list[float | FloatArray] = [self.weight_of(name) for name in attributes]
        if self.personal is not None:  # they take the place of these weights for the people that have a row
            row = _rows_about(self.personal, people)
            for axis, name in enumerate(attributes):
                if name in self.personal.frame.columns:
                    columns[axis] = np.where(row < 0, columns[axis], _numbers(self.personal, name)[row])
        columns += [self._own(w, people) if isinstance(w, str) else float(w) for _, w in interactions]
        if any(isinstance(column, np.ndarray) for column in columns):
            columns = [np.broadcast_to(column, len(people)) for column in columns]
        shares = tuple(map(self.shares_of, attributes, space.taxonomies))
        return self.family(Weights(shares, tuple(terms), np.stack(columns, axis=-1).astype(np.float64)))

    def _own(self, column: str, people: PeopleTable) -> FloatArray:
        if self.personal is None:
            raise InputError(
                f"section [risk] names the column {column!r} for people's own harm, and no table that has it; "
                "risk.personal_weights names that table"
            )
        if column not in self.personal.frame.columns:
            raise InputError(
                f"{self.personal.name} has no column {column!r}, which section [risk] names for people's harm"
            )
        row = _rows_about(self.personal, people)
        if lacking := int((row < 0).sum()):
            raise InputError(
                f"column {column!r} of {self.personal.name} is the harm of each person, and {lacking:,} of "
                f"{len(people):,} people have no row there"
            )
        return _numbers(self.personal, column)[row]


def _rows_about(personal: PeopleTable, people: PeopleTable) -> IndexArray:
    if people.identifier is None:
        raise InputError("risk.personal_weights needs a column with the role identifier, in dictionaries too")
    return personal.rows_about(people)


def _numbers(table: PeopleTable, column: str) -> FloatArray:
    """A column of weights: shape (rows,). Raises InputError naming the row of what is no weight."""
    column_values = table.frame[column]
    forbidden = column_values.astype(str).str.strip(BLANKS).str.lower().isin(["inf", "infinity", "+inf"]).to_numpy()
    values = np.where(forbidden, np.inf, reals(column_values))
    if not np.all(values >= 0):
        at_fault = int(np.argmax(~(values >= 0))) + 1
        raise InputError(f"column {column!r} of {table.name}: the weight in row {at_fault} is no number of 0 or more")
    return values


@dataclass(frozen=True)
class BundleRisk:
    """The risk of a release for the people of the dictionaries, and its information, so that releases can be compared.

    bounds: of the risk, by the proven number of rows that fit each person. total_information: nats that its marginals tell
    of the table; None without a junction tree. It is at most log_base_cells, and comparable where these agree.
    """

    release: str
    people: int
    risk: float
    bounds: tuple[float, float]
    identification_probability: float
    total_information: float | None
    log_base_cells: float


def are_comparable(risks: Sequence[BundleRisk]) -> bool:
    """Whether releases have equally many base cells, as far as it is known."""
    sizes = [risk.log_base_cells for risk in risks if risk.total_information is not None]
    return not sizes or isclose(min(sizes), max(sizes), rel_tol=1e-9)


def _over_hierarchies_of(rows: Rows, collection: Collection) -> Collection:
    # The table's hierarchies name the base values that a bundle keeps to itself. A release of these rows shows each of
    # their values, so levels of which that is true come first. Other published hierarchies stay as they are.
    hierarchies, levels = {}, {}
    for name, published in collection.domain.items():
        hierarchies[name], levels[name] = published, tuple(range(published.height + 1))
        if name not in rows.domain.attributes:
            continue
        whole, occurring = rows.domain.hierarchy(name), np.unique(rows.codes[name])

        def fits(level: int, place: int, published: Hierarchy = published, whole: Hierarchy = whole) -> bool:
            seen = {whole.labels[place][code] for code in whole.lift(0, place)[occurring].tolist()}  # noqa: B023
            return seen <= set(published.labels[level])

        places = matched_levels(published, whole, fits) or matched_levels(published, whole)
        if places is not None:
            hierarchies[name], levels[name] = whole, places
    domain = Domain.of(hierarchies)
    tables = [recoded(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


MAX_VECTORS = 10_000
"""Largest number of combinations of levels that a frontier is computed for; each is tried on every record."""

QUICK = 150_000_000
"""Largest frontier (records x combinations of levels) that is computed unasked: some ten seconds."""


@dataclass(frozen=True, eq=False)
class RiskAssessment:
    """A table as it is disclosed, and the attackers that it is disclosed to.

    row_weight: the column of the table that says how often each row counts in means, once by default. minimax: whether
    levels are chosen against the worst dictionary: with a bound on the loss of each row under the one that is worst for it,
    else for the least of the largest risk over the dictionaries.
    Raises InputError for attackers who could find nobody, or an attribute or a column that the table lacks.

    >>> from checks.risk.harm import Linear
    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> rows = read_rows(frame, attributes)
    >>> attackers = Attackers((PeopleTable.of_quasi_identifiers(rows),))
    >>> assessment = RiskAssessment.of(rows, attackers, HarmModel(Linear, {"diagnosis": 2.0}), levels={"age": 1})
    >>> round(assessment.of_table().bayes_risk, 3)
    0.333
    >>> RiskAssessment.of(rows, attackers, HarmModel()).frontier(points=3).risk
    array([0.02083333, 0.0669686 , 0.16666667])
    """

    table: DisclosedTable
    attackers: Attackers
    harm: HarmModel
    rules: tuple[DisclosureRule, ...] = ()
    row_weight: str | None = None
    minimax: bool = False

    def __post_init__(self) -> None:
        domain = self.table.rows.domain
        self.attackers.check(domain)
        known = [*domain.attributes, *self.attackers.added_columns]
        for name in self.harm.attributes:
            if name not in known:
                raise InputError(
                    f"section [risk] names {name!r}, which is no attribute of the table; these are {', '.join(known)}"
                )

    @classmethod
    def of(
        cls,
        rows: Rows,
        attackers: Attackers,
        harm: HarmModel,
        rules: Sequence[DisclosureRule] = (),
        levels: Mapping[str, int] | None = None,
    ) -> "RiskAssessment":
        """The rows disclosed under some rules, with some attributes at levels throughout.

        Raises InputError for attackers, a harm or conditions that do not fit the table, DomainMismatchError or
        DisclosureRuleError for attributes and levels that do not exist.
        """
        require(levels, Mapping | None, "levels", '{"age": 1}')
        _ = rows.domain.mask(levels or {})
        table = disclose(rows, [*rules, *(DisclosureRule(name, level) for name, level in (levels or {}).items())])
        return cls(table, attackers, harm, tuple(rules))

    @property
    def originals(self) -> Records:
        """The records of the table before anything is hidden or generalized."""
        return self.table.disclosure.originals

    @cached_property
    def problem(self) -> DecisionProblem:
        """Which disclosure to choose for each row."""
        space = self.originals.space
        dictionaries = tuple(Dictionary(people.records(space)) for people in self.attackers.dictionaries)
        harm = self.harm.harm(space, self._people)
        prior = None if self.minimax else self.attackers.prior
        return DecisionProblem(self.originals, dictionaries, harm, prior, weights=self.weights)

    @cached_property
    def weights(self) -> FloatArray | None:
        """How often each row counts in means, shape (rows,); None if each counts once. Raises InputError."""
        rows, column = self.table.rows, self.row_weight
        if column is None:
            return None
        if column not in rows.frame.columns:
            raise InputError(f"risk.row_weight names {column!r}, which is no column of the table")
        weights = reals(rows.frame[column])
        wrong = ~((weights >= 0) & np.isfinite(weights))
        if wrong.any():
            raise InputError(
                f"column {column!r}, named by risk.row_weight: the weight in row {int(np.argmax(wrong)) + 1} is no finite "
                "number of 0 or more"
            )
        if not weights.any():
            raise InputError(f"column {column!r}, named by risk.row_weight, is 0 in every row, so no row counts")
        return weights

    @property
    def most_utility(self) -> float:
        """The utility of a record with base values everywhere, which the page shows."""
        return float(self.originals.space.heights.sum())

    @cached_property
    def _people(self) -> PeopleTable:
        return PeopleTable.of_rows(self.table.rows)

    def of_table(self, disclosed: Records | None = None) -> TableRisk:
        """The risk of what is disclosed, or of other generalizations of the rows."""
        records = self.table.records if disclosed is None else disclosed
        dictionaries = self.problem.dictionaries
        own_entries = [self._own_entries(table) for table in self.attackers.dictionaries]
        counts = [consistent_counts(records, d) for d in dictionaries]
        people, linkage = np.arange(len(records)), self.attackers.linkage
        return TableRisk(
            names=tuple(table.name for table in self.attackers.dictionaries),
            prior=np.array(self.attackers.prior),
            losses=np.stack([self.problem.harm.loss(records, people, fitting) for fitting in counts]),
            counts=np.stack(counts),
            utility=distance_from_root(records),
            bounds=tuple(self._is_bound(records, d, entries) for d, entries in zip(dictionaries, own_entries)),
            own_fits=tuple(_own_fits(records, d, entries) for d, entries in zip(dictionaries, own_entries)),
            linked=None if linkage is None else self._linked_losses(records, linkage),
            weights=self.weights,
        )

    def _own_entries(self, dictionary: PeopleTable) -> IndexArray | None:
        try:
            return dictionary.rows_about(self._people)
        except InputError:
            return None

    def _is_bound(self, records: Records, dictionary: Dictionary, own_entries: IndexArray | None) -> bool:
        numbered = Dictionary(dictionary.entries, np.arange(len(dictionary)))
        try:
            if own_entries is not None:
                require_bound(records, self.originals, own_entries, numbered, self.problem.harm)
        except IncomparableError:
            return False
        return own_entries is not None

    def _linked_losses(self, disclosed: Records, linkage: Linkage) -> FloatArray:
        space = linkage.enlarged_space(self.table.rows.domain, self.attackers.dictionaries)
        unknown = np.tile(space.roots[len(disclosed.space) :], (len(disclosed), 1))
        records, public = Records(space, np.hstack([disclosed.nodes, unknown])), linkage.public.records(space)
        links = linkage.links(records, public, self._people)
        harm = self.harm.harm(space, self._people)
        dictionaries = [Dictionary(people.records(space)) for people in self.attackers.dictionaries]
        return np.stack([linkage_losses(records, public, links, dictionary, harm) for dictionary in dictionaries])

    def optimum(self, objective: Objective, progress: Progress = unwatched) -> Optimum:
        """The best disclosure of each row, whatever the rules (LSFB09 section 4), without linkage.

        Raises InputError for a utility that no row can have.
        """
        rows, levels = np.arange(len(self.originals)), 0 * self.originals.space.heights
        most = self.problem.utility(rows, levels).max()
        if isinstance(objective, LeastRisk) and objective.utility > most:
            raise InputError(f"no row can have a utility of {objective.utility:g}; the most is {most:g}")
        if self.minimax and isinstance(objective, LeastRisk | TradeOff):
            from checks.risk.worst_case import least_worst_risk  # loaded here: it needs scipy.optimize

            return least_worst_risk(self.problem, objective, progress)
        return best_of_each(self.problem, objective, progress)

    def optimum_on_average(self, objective: LeastRisk | MostUtility, progress: Progress = unwatched) -> Optimum:
        """The disclosure of all rows that is best on average (LSFB09 eqs. 7 and 8), without linkage.

        Raises InputError without a frontier, or if no disclosure with a finite risk is allowed.
        """
        self._require_frontier()
        try:
            return best_on_average(self.problem, objective, progress)
        except DisclosureRuleError as error:
            raise InputError(str(error)) from None

    def _require_frontier(self) -> None:
        if self.no_frontier:
            raise InputError(self.no_frontier)

    @property
    def is_quick(self) -> bool:
        """Whether a frontier takes some ten seconds at most."""
        return self._vector_count * len(self.originals) <= QUICK

    @property
    def _vector_count(self) -> int:
        return prod(height + 1 for height in self.originals.space.heights.tolist())

    @property
    def no_frontier(self) -> str | None:
        """Why there is no frontier; None if there is one."""
        if self.minimax:
            return "a frontier and means are of the risk expected over the dictionaries, not of the worst"
        if self._vector_count > MAX_VECTORS:
            return (
                f"a frontier over {self._vector_count:,} combinations of levels is too much, {MAX_VECTORS:,} are the limit; "
                'give the role "ignored" to some columns, or fewer levels, as ladder = "given" does'
            )
        return None

    def frontier(self, points: int | None = None, progress: Progress = unwatched) -> Frontier:
        """The least risk for each mean utility, without linkage. Raises InputError if there is none.

        points: how many of its vertices to keep at most; without it, all. progress: told of combinations of levels.
        """
        self._require_frontier()
        line = frontier(self.problem, progress)
        return line if points is None else line.thinned(points)

    def of_release(self, release: Published | Released, name: str) -> BundleRisk:
        """The risk of a release for the people of the dictionaries, expected over these. name: shown for the release.

        Raises InputError for attackers or a harm that have no meaning for a release, or if hierarchies differ.
        """
        published: Published = published_of(release, "release")
        if self.harm.missed:
            raise InputError("risk.missed has no meaning for a release; leave it out")
        if published.everything is not published.collection:
            raise InputError(
                f"{name} has further tables, and the risk of a release is that of tables with a junction tree; publish "
                'without (further_tables = "none" under [search])'
            )
        collection = _over_hierarchies_of(self.table.rows, published.collection)
        space, dictionaries = RecordSpace(collection.domain), self.attackers.dictionaries
        try:
            risks = [
                release_risk(collection, Dictionary(people.records(space)), self.harm.sensitivity(space, people))
                for people in dictionaries
            ]
        except DomainMismatchError as error:
            raise InputError(f"{name}: {error}") from None
        prior = np.array(self.attackers.prior)
        numbers = zip(*((one.risk, *one.bounds) for one in risks))
        risk, least, most = (float(product(prior, np.array(values)).sum()) for values in numbers)
        return BundleRisk(
            release=name,
            people=sum(map(len, dictionaries)),
            risk=risk,
            bounds=(least, most),
            identification_probability=float(prior @ [one.identification_probability.mean() for one in risks]),
            total_information=MarginalModel(collection).total_information if collection.is_decomposable else None,
            log_base_cells=fsum(log(hierarchy.size(0)) for hierarchy in collection.domain.hierarchies),
        )


def _own_fits(records: Records, dictionary: Dictionary, own_entries: IndexArray | None) -> BoolArray | None:
    if own_entries is None:
        return None
    fits = own_entries >= 0
    fits[fits] = dictionary.entries[own_entries[fits]].is_consistent_with(records[np.flatnonzero(fits)])
    return read_only(fits)

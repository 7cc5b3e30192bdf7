"""Disclosure risk of a table, and of releases: what attackers with some dictionary could do to the people in it (LSFB09)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np
import pandas as pd

from checks.risk.approximate_consistency import approximate_counts
from checks.risk.choosing.means import MeanOptimum, best_on_average
from checks.risk.dictionary import Dictionary
from checks.risk.errors import DisclosureRuleError, IncomparableError
from checks.risk.frontier import Frontier, frontier
from checks.risk.independent_selection import selected_disclosure
from checks.risk.linkage import linkage_losses
from checks.risk.objective import LeastRisk, MostUtility, Objective
from checks.risk.optimal_disclosure import DecisionProblem, Optimum, Progress, branch_and_bound, unwatched
from checks.risk.record import Records, distance_from_root
from checks.risk.risk_bound import require_bound
from marginals.disclosure.rules import DisclosedTable, DisclosureRule, disclose, generalize
from marginals.errors import InputError
from marginals.release.release import Release
from marginals.risk.attackers import Attackers, Linkage
from marginals.risk.bundle_risk import BundleRisk, bundle_risk
from marginals.risk.harm_model import HarmModel
from marginals.risk.people_table import PeopleTable
from marginals.risk.table_risk import TableRisk
from marginals.tables.rows import Rows
from models.arrays import BoolArray, FloatArray, IndexArray, read_only

MAX_VECTORS = 10_000
"""Largest number of combinations of levels that a frontier is computed for; each is tried on every record."""

QUICK = 150_000_000
"""Largest frontier (records x combinations of levels) that is computed unasked: some ten seconds."""


@dataclass(frozen=True, eq=False)
class RiskAssessment:
    """A table as it is disclosed, and the attackers that it is disclosed to.

    table: what is disclosed. attackers: what they hold. harm: what they do to whom they identify. rules: by which the
    table is disclosed. step_utility: what a step below `*` is worth, by attribute, 1 where nothing is said. row_weight: the
    column of the table that says how often each row counts in means, once where it is None; dictionaries stay as they
    are. minimax: whether what is chosen keeps the loss of each row under the dictionary that is worst for that row low,
    and not the expected one; the mean of these bounds the risk under every dictionary. clusters: attributes that depend on
    each other in the dictionaries where the others are taken to be independent.
    Raises InputError for attackers who could find nobody, or an attribute or a column that the table lacks.

    >>> from checks.risk.sensitivity import Linear
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
    step_utility: Mapping[str, float] = field(default_factory=dict)
    row_weight: str | None = None
    minimax: bool = False
    clusters: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        domain = self.table.rows.domain
        self.attackers.check(domain)
        attributes = [*domain.attributes, *self.attackers.added_columns]
        named = [(name, attributes) for name in (*self.harm.attributes, *self.attackers.similarity.attributes)]
        for name, known in (
            *named,
            *((name, domain.attributes) for name in (*self.step_utility, *chain(*self.clusters))),
        ):
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
        step_utility: Mapping[str, float] | None = None,
    ) -> "RiskAssessment":
        """The rows disclosed under some rules, with some attributes at levels throughout.

        Raises InputError for attackers, a harm or conditions that do not fit the table, DomainMismatchError or
        DisclosureRuleError for attributes and levels that do not exist.
        """
        table = disclose(rows, rules)
        _ = rows.domain.mask(levels or {})
        for attribute, level in (levels or {}).items():
            table = generalize(table, attribute, None, level)
        return cls(table, attackers, harm, tuple(rules), step_utility or {})

    @property
    def originals(self) -> Records:
        """The records of the table before anything is hidden or generalized."""
        return self.table.disclosure.originals

    @cached_property
    def problem(self) -> DecisionProblem:
        """Which disclosure to choose for each row."""
        space = self.originals.space
        dictionaries = tuple(people.dictionary(space) for people in self.attackers.dictionaries)
        harm = self.harm.harm(space, self._people)
        prior = None if self.minimax else self.attackers.prior
        return DecisionProblem(self.originals, dictionaries, harm, prior, self._steps, self.weights)

    @cached_property
    def weights(self) -> FloatArray | None:
        """How often each row counts in means, shape (rows,); None where each counts once. Raises InputError."""
        return None if self.row_weight is None else _row_weights(self.table.rows, self.row_weight)

    @property
    def _steps(self) -> tuple[float, ...]:
        return tuple(float(self.step_utility.get(name, 1.0)) for name in self.originals.space.domain.attributes)

    @property
    def most_utility(self) -> float:
        """The utility of a record with base values everywhere."""
        return float(self.originals.space.heights @ np.array(self._steps))

    @cached_property
    def _people(self) -> PeopleTable:
        """Whom the records are about."""
        return PeopleTable.of_rows(self.table.rows)

    def of_table(self, disclosed: Records | None = None) -> TableRisk:
        """The risk of what is disclosed, or of other generalizations of the rows."""
        records = self.table.records if disclosed is None else disclosed
        dictionaries, people = self.problem.dictionaries, np.arange(len(records))
        own_entries = [self._own_entries(table) for table in self.attackers.dictionaries]
        counts = [approximate_counts(records, d, self.attackers.alike(records, d)) for d in dictionaries]
        linkage = self.attackers.linkage
        return TableRisk(
            names=tuple(table.name for table in self.attackers.dictionaries),
            prior=np.array(self.attackers.prior),
            losses=np.stack([self.problem.harm.loss(records, people, fitting) for fitting in counts]),
            counts=np.stack(counts),
            utility=distance_from_root(records, self._steps),
            bounds=tuple(self._is_bound(records, d, entries) for d, entries in zip(dictionaries, own_entries)),
            own_fits=tuple(_own_fits(records, d, entries) for d, entries in zip(dictionaries, own_entries)),
            linked=None if linkage is None else self._linked_losses(records, linkage),
            weights=self.weights,
        )

    def _own_entries(self, dictionary: PeopleTable) -> IndexArray | None:
        """For each record the entry of its person, -1 for none; None where entries are not known by person.

        They are not where values may agree that are only similar, either: the person's own entry may be misspelled.
        """
        if self.attackers.similarity.attributes:
            return None
        try:
            return dictionary.rows_about(self._people)
        except InputError:
            return None

    def _is_bound(self, records: Records, dictionary: Dictionary, own_entries: IndexArray | None) -> bool:
        """Whether LSFB09 Proposition 1 makes the risk an upper bound of that under more general dictionaries."""
        if own_entries is None:
            return False
        numbered = Dictionary(dictionary.entries, np.arange(len(dictionary)))
        try:
            require_bound(records, self.originals, own_entries, numbered, self.problem.harm)
        except IncomparableError:
            return False
        return True

    def _linked_losses(self, disclosed: Records, linkage: Linkage) -> FloatArray:
        """The losses of records that are linked with public ones first: shape (dictionaries, records)."""
        space = linkage.enlarged_space(self.table.rows.domain, self.attackers.dictionaries)
        unknown = np.tile(space.roots[len(disclosed.space) :], (len(disclosed), 1))
        records, public = Records(space, np.hstack([disclosed.nodes, unknown])), linkage.public.records(space)
        links = linkage.links(records, public, self._people)
        harm = self.harm.harm(space, self._people)
        looked_up = Records(space, np.vstack([records.nodes, public.nodes]))
        losses = []
        for people in self.attackers.dictionaries:
            dictionary = people.dictionary(space)
            alike = self.attackers.alike(looked_up, dictionary)
            losses.append(linkage_losses(records, public, links, dictionary, harm, alike))
        return np.stack(losses)

    def optimum(self, objective: Objective, progress: Progress = unwatched) -> Optimum:
        """The best disclosure of each row as it is, whatever the rules (LSFB09 section 4), without linkage.

        progress: told of combinations of levels, row by row. Raises InputError for a utility that no row can have, or where
        values agree that are only similar.
        """
        if objection := self.attackers.similarity.objection_to("optimal disclosures"):
            raise InputError(objection)
        rows, levels = np.arange(len(self.originals)), 0 * self.originals.space.heights
        most = self.problem.utility(rows, levels).max()
        if isinstance(objective, LeastRisk) and objective.utility > most:
            raise InputError(f"no row can have a utility of {objective.utility:g}; the most is {most:g}")
        return branch_and_bound(self.problem, objective, progress)

    def optimum_of_attributes(self, count: int) -> Optimum:
        """So many attributes of each row, as they are, for the least loss where attributes are taken to be independent.

        Attributes of one cluster may depend on each other (LSFB09 section 4.2). Raises InputError for several dictionaries,
        for a harm that is no product over the attributes, for another number of attributes than there are, and where
        values agree that are only similar.
        """
        if objection := self.attackers.similarity.objection_to("optimal disclosures"):
            raise InputError(objection)
        attributes = self.originals.space.domain.attributes
        clusters = [[attributes.index(name) for name in cluster] for cluster in self.clusters]
        try:
            return selected_disclosure(self.problem, clusters, count)
        except DisclosureRuleError as error:
            raise InputError(str(error)) from None

    def optimum_on_average(self, objective: LeastRisk | MostUtility, progress: Progress = unwatched) -> MeanOptimum:
        """The disclosure of all rows that is best on average (LSFB09 eqs. 7 and 8), without linkage.

        progress: told of combinations of levels. Raises InputError where there are too many of them, where values agree that
        are only similar, or where no disclosure with a finite risk is allowed.
        """
        if self.no_frontier:
            raise InputError(self.no_frontier)
        try:
            return best_on_average(self.problem, objective, progress)
        except DisclosureRuleError as error:
            raise InputError(str(error)) from None

    @property
    def is_quick(self) -> bool:
        """Whether a frontier takes some ten seconds at most."""
        return self._vector_count * len(self.originals) <= QUICK

    @property
    def _vector_count(self) -> int:
        """Number of combinations of levels, as a whole number of any size."""
        return prod(height + 1 for height in self.originals.space.heights.tolist())

    @property
    def no_frontier(self) -> str | None:
        """Why there is no frontier; None where there is one."""
        if objection := self.attackers.similarity.objection_to("a frontier"):
            return objection
        if self._vector_count > MAX_VECTORS:
            return (
                f"a frontier over {self._vector_count} combinations of levels is too much, {MAX_VECTORS} are the limit; "
                'give the role "ignored" to some columns, or fewer levels, as ladder = "given" does'
            )
        return None

    def frontier(self, points: int | None = None, progress: Progress = unwatched) -> Frontier:
        """The least risk for each mean utility, without linkage. Raises InputError where there is none.

        points: how many of its vertices to keep at most; without it, all. progress: told of combinations of levels.
        """
        if self.no_frontier:
            raise InputError(self.no_frontier)
        line = frontier(self.problem, progress)
        return line if points is None else line.thinned(points)

    def of_release(self, release: Release, name: str) -> BundleRisk:
        """The risk of a release for the people of the dictionaries, expected over these. Raises InputError."""
        return bundle_risk(release, name, self.table.rows, self.attackers, self.harm)


def _row_weights(rows: Rows, column: str) -> FloatArray:
    if column not in rows.frame.columns:
        raise InputError(f"risk.row_weight names {column!r}, which is no column of the table")
    weights = pd.to_numeric(rows.frame[column], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~((weights >= 0) & np.isfinite(weights))
    if wrong.any():
        raise InputError(
            f"column {column!r}, named by risk.row_weight: the weight in row {int(np.argmax(wrong)) + 1} is no finite "
            "number of 0 or more"
        )
    if not weights.any():
        raise InputError(f"column {column!r}, named by risk.row_weight, is 0 in every row, so no row counts")
    return weights


def _own_fits(records: Records, dictionary: Dictionary, own_entries: IndexArray | None) -> BoolArray | None:
    """Whether each record's person has an entry that fits it; None where entries are not known by person."""
    if own_entries is None:
        return None
    fits = own_entries >= 0
    fits[fits] = dictionary.entries[own_entries[fits]].is_consistent_with(records[np.flatnonzero(fits)])
    return read_only(fits)

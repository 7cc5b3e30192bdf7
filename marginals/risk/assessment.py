"""Disclosure risk of a table, and of releases: the harm that attackers with some dictionary could do to people (LSFB09)."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from itertools import repeat
from math import prod
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
    Preference,
    Sensitivity,
    TradeOff,
    Weights,
    harmonic_shares,
    linkage_losses,
    product,
    weighted_mean,
)
from marginals.arguments import require, require_names
from marginals.errors import InputError
from marginals.published_values import levels_by_attribute
from marginals.risk.attackers import Attackers, Linkage, PeopleTable
from marginals.risk.rules import DisclosedTable, DisclosureRule, disclose
from marginals.tables.distinct_rows import reals
from marginals.tables.table import Rows
from marginals.tables.values import BLANKS
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.frozen import frozen
from models.tables.generalized_cells import Taxonomy


@frozen(eq=False)
class DictionaryRisk:
    """Risk of disclosing a table to attackers with one dictionary: means over its records, and numbers of records.

    identified: records that exactly one entry fits, whoever it is about. identified_right: those of them whose entry is the
    person's own; None if that is not known. fewest_consistent: entries that fit a record. is_upper_bound: whether
    Proposition 1 holds. linked_risk: of records that are linked first, else None. losses, linked: of each record.
    counts: entries that are consistent with it.
    """

    name: str
    risk: float
    largest_loss: float
    identification_probability: float
    identified: int
    identified_right: int | None
    fewest_consistent: int
    is_upper_bound: bool
    linked_risk: float | None
    losses: FloatArray = field(repr=False)
    linked: FloatArray | None = field(repr=False)
    counts: CountArray = field(repr=False)


@frozen(eq=False)
class TableRisk:
    """Risk of disclosing a table to attackers with some dictionaries (LSFB09 Definitions 3 and 4).

    prior: shape (dictionaries,). mean_utility: of the records.
    """

    dictionaries: tuple[DictionaryRisk, ...]
    prior: FloatArray
    mean_utility: float
    records: int

    @property
    def bayes_risk(self) -> float:
        """Risk expected over the dictionaries."""
        return float(product(self.prior, np.array([of.risk for of in self.dictionaries])).sum())

    @property
    def worst_case_risk(self) -> float:
        """Largest risk over the dictionaries."""
        return max(of.risk for of in self.dictionaries)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; null stands for infinite, and for what is not known."""
        risks = {"bayes_risk": self.bayes_risk, "worst_case_risk": self.worst_case_risk}
        return {"records": self.records, "utility": self.mean_utility, **risks, "dictionaries": self.dictionaries}


ALL_OTHERS = "*"  # values without a weight of their own


@frozen
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

    def shares_of(self, attribute: str, taxonomy: Taxonomy) -> FloatArray:
        """The share of that weight of each node, shape (nodes,). Raises InputError for a weight of an unknown value."""
        by_value = (self.weights or {}).get(attribute)
        if by_value is None or isinstance(by_value, int | float):
            return harmonic_shares(taxonomy)
        values = taxonomy.hierarchy.labels[0]
        for value in by_value:
            if value != ALL_OTHERS and value not in values:
                raise InputError(
                    f"risk.weights.{attribute} gives a weight to {value!r}, which is no value of that attribute. "
                    f"Weights are for values as they stand in the table, or for {ALL_OTHERS!r}, all others"
                )
        others = by_value.get(ALL_OTHERS, 0.0)
        return harmonic_shares(taxonomy, np.array([by_value.get(value, others) for value in values]))

    def harm(self, space: RecordSpace, people: PeopleTable) -> Harm:
        """The harm to some people, in the order of their rows. Raises InputError as `sensitivity` does."""
        missed = Constant(self._personal_harm(self.missed, people) if isinstance(self.missed, str) else self.missed)
        return Harm(self.sensitivity(space, people), missed)

    def sensitivity(self, space: RecordSpace, people: PeopleTable) -> Sensitivity:
        """The sensitivity of what is disclosed of some people, in the order of their rows. Raises InputError."""
        if self.weights is None:
            return Constant(1.0)
        attributes = space.domain.attributes
        interactions = [(names, weight) for names, weight in self.interactions if set(names) <= set(attributes)]
        terms: list[tuple[int, ...]] = [(axis,) for axis in range(len(space))]
        terms += [tuple(space.domain.index(name) for name in names) for names, _ in interactions]
        weights = [self.weights.get(name, 0.0) for name in attributes]  # those by value are in the shares
        columns: list[float | FloatArray] = [float(w) if isinstance(w, int | float) else 1.0 for w in weights]
        if self.personal is not None:  # they take the place of these weights for the people that have a row
            row = _rows_about(self.personal, people)
            for axis, name in enumerate(attributes):
                if name in self.personal.frame.columns:
                    columns[axis] = np.where(row < 0, columns[axis], _numbers(self.personal, name)[row])
        columns += [self._personal_harm(w, people) if isinstance(w, str) else float(w) for _, w in interactions]
        if any(isinstance(column, np.ndarray) for column in columns):
            columns = [np.broadcast_to(column, len(people)) for column in columns]
        shares = tuple(map(self.shares_of, attributes, space.taxonomies))
        return self.family(Weights(shares, tuple(terms), np.stack(columns, axis=-1).astype(np.float64)))

    def _personal_harm(self, column: str, people: PeopleTable) -> FloatArray:
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


MAX_VECTORS = 10_000  # combinations of levels of a frontier; each is tried on every record


@frozen(eq=False)
class RiskAssessment:
    """A table as it is disclosed, and the attackers that it is disclosed to.

    row_weight: the column of the table that says how often each row counts in means, once by default. minimax: whether
    levels are chosen against the worst dictionary. A bound on the loss then binds each row under the one that is worst for
    it. Otherwise the largest risk over the dictionaries is minimized.
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
        if self.harm.personal is not None:
            self.harm.personal.check(domain)
        linkage = self.attackers.linkage
        attributes = [*domain.attributes, *(linkage.columns if linkage else ())]
        require_names(self.harm.attributes, "section [risk]", attributes, "attribute")

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
        at_levels = levels_by_attribute(rows.domain, levels or {})
        table = disclose(rows, [*rules, *(DisclosureRule(name, level) for name, level in at_levels.items())])
        return cls(table, attackers, harm, tuple(rules))

    def as_json(self) -> dict[str, Any]:
        """Return the risk of what is disclosed, which says nothing of a single row, as the command `risk` writes it."""
        return {"table": self.of_table(), "minimax": self.minimax}

    @property
    def originals(self) -> Records:
        """The records of the table before anything is hidden or generalized."""
        return self.table.disclosure.originals

    @cached_property
    def problem(self) -> DecisionProblem:
        """Problem to choose a disclosure for each row."""
        space = self.originals.space
        dictionaries = tuple(Dictionary(people.records(space)) for people in self.attackers.dictionaries)
        harm = self.harm.harm(space, self._people)
        prior = None if self.minimax else self.attackers.prior
        return DecisionProblem(self.originals, dictionaries, harm, prior, weights=self.weights)

    @cached_property
    def weights(self) -> FloatArray | None:
        """Weights of the rows in means, shape (rows,); None if each counts once. Raises InputError."""
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

    @cached_property
    def _people(self) -> PeopleTable:
        return PeopleTable.of_rows(self.table.rows)

    def of_table(self, disclosed: Records | None = None) -> TableRisk:
        """The risk of what is disclosed, or of other generalizations of the rows."""
        records = self.table.records if disclosed is None else disclosed
        linkage, dictionaries = self.attackers.linkage, self.problem.dictionaries
        linked = repeat(None) if linkage is None else self._linked_losses(records, linkage)
        risks = map(partial(self._under, records), self.attackers.dictionaries, dictionaries, linked)
        utility = weighted_mean(distance_from_root(records), self.weights)
        return TableRisk(tuple(risks), np.array(self.attackers.prior), utility, len(records))

    def _under(
        self, records: Records, people: PeopleTable, dictionary: Dictionary, linked: FloatArray | None
    ) -> DictionaryRisk:
        counts, own_entries = consistent_counts(records, dictionary), self._own_entries(people)
        losses, identified = self.problem.harm.loss(records, np.arange(len(records)), counts), counts == 1
        is_right = None if own_entries is None else identified & _own_fits(records, dictionary, own_entries)
        return DictionaryRisk(
            people.name,
            weighted_mean(losses, self.weights),
            float(losses.max()),
            weighted_mean(identification_probability(counts), self.weights),
            int(identified.sum()),
            None if is_right is None else int(is_right.sum()),
            int(counts.min()),
            own_entries is not None and self._is_bound(records, dictionary, own_entries),
            None if linked is None else weighted_mean(linked, self.weights),
            losses,
            linked,
            counts,
        )

    def _own_entries(self, dictionary: PeopleTable) -> IndexArray | None:
        try:
            return dictionary.rows_about(self._people)
        except InputError:
            return None

    def _is_bound(self, records: Records, dictionary: Dictionary, own_entries: IndexArray) -> bool:
        numbered = Dictionary(dictionary.entries, np.arange(len(dictionary)))
        try:
            require_bound(records, self.originals, own_entries, numbered, self.problem.harm)
        except IncomparableError:
            return False
        return True

    def _linked_losses(self, disclosed: Records, linkage: Linkage) -> FloatArray:
        space = linkage.enlarged_space(self.table.rows.domain, self.attackers.dictionaries)
        unknown = np.tile(space.roots[len(disclosed.space) :], (len(disclosed), 1))
        records, public = Records(space, np.hstack([disclosed.nodes, unknown])), linkage.public.records(space)
        links = linkage.links(records, public, self._people)
        harm = self.harm.harm(space, self._people)
        dictionaries = [Dictionary(people.records(space)) for people in self.attackers.dictionaries]
        return np.stack([linkage_losses(records, public, links, dictionary, harm) for dictionary in dictionaries])

    def optimum(self, objective: Preference, progress: Progress = unwatched) -> Optimum:
        """The best disclosure of each row, whatever the rules (LSFB09 section 4), without linkage."""
        rows, levels = np.arange(len(self.originals)), 0 * self.originals.space.heights
        most = self.problem.utility(rows, levels).max()
        if isinstance(objective, LeastRisk) and objective.utility > most:
            raise InputError(f"no row can have a utility of {objective.utility:g}; the most is {most:g}")
        if self.minimax and isinstance(objective, LeastRisk | TradeOff):
            from checks.risk.worst_case import least_worst_risk  # loaded here: it needs scipy.optimize

            return least_worst_risk(self.problem, objective, progress)
        return best_of_each(self.problem, objective, progress)

    def optimum_on_average(self, objective: LeastRisk | MostUtility, progress: Progress = unwatched) -> Optimum:
        """The disclosure of all rows that is best on average (LSFB09 eqs. 7 and 8), without linkage."""
        self._require_frontier()
        try:
            return best_on_average(self.problem, objective, progress)
        except DisclosureRuleError as error:
            raise InputError(str(error)) from None

    def _require_frontier(self) -> None:
        if self.minimax:
            raise InputError("a frontier and means are of the risk expected over the dictionaries, not of the worst")
        if (vectors := prod(height + 1 for height in self.originals.space.heights.tolist())) > MAX_VECTORS:
            raise InputError(
                f"a frontier over {vectors:,} combinations of levels is too much, {MAX_VECTORS:,} are the limit. "
                'Give the role "ignored" to some columns, or fewer levels, as ladder = "given" does'
            )

    def frontier(self, points: int | None = None, progress: Progress = unwatched) -> Frontier:
        """The least risk for each mean utility, without linkage. points: how many vertices to keep at most; else all."""
        self._require_frontier()
        line = frontier(self.problem, progress)
        return line if points is None else line.thinned(points)


def _own_fits(records: Records, dictionary: Dictionary, own_entries: IndexArray) -> BoolArray:
    fits: BoolArray = own_entries >= 0
    fits[fits] = dictionary.entries[own_entries[fits]].is_consistent_with(records[np.flatnonzero(fits)])
    return fits

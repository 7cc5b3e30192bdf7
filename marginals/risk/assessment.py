"""Disclosure risk of a table, and of releases: what attackers with some dictionary could do to the people in it (LSFB09)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from math import fsum, inf, isclose, log, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from checks.errors import DisclosureRuleError, IncomparableError
from checks.risk.attackers import (
    AlikeValues,
    Dictionary,
    Records,
    RecordSpace,
    approximate_counts,
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
    selected_disclosure,
    unwatched,
)
from checks.risk.harm import (
    Constant,
    Harm,
    LeastRisk,
    Linear,
    Links,
    MostUtility,
    Multiplicative,
    Objective,
    Sensitivity,
    TradeOff,
    Weights,
    as_distribution,
    harmonic_shares,
    linkage_losses,
    product,
    release_risk,
    uniform_links,
    weighted_mean,
)
from marginals.bundle.content import Published
from marginals.bundle.reading import recoded
from marginals.errors import InputError
from marginals.published_values import matched_levels
from marginals.results import plain
from marginals.risk.rules import DisclosedTable, DisclosureRule, disclose, generalize
from marginals.tables.attribute import Attribute, Role
from marginals.tables.distinct_rows import factorized, reals
from marginals.tables.group_names import GroupNaming
from marginals.tables.levels import attribute_ladder
from marginals.tables.source import TableSource
from marginals.tables.table import Rows
from marginals.tables.values import BLANKS, NumberFormat, base_text
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, read_only
from models.errors import DomainMismatchError
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import DataCube
from models.tables.generalized_cells import Taxonomy
from models.tables.hierarchy import SUPPRESSED, Domain, Hierarchy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class TableRisk:
    """The risk of disclosing a table (LSFB09 Definitions 3 and 4).

    names, prior: of the dictionaries. losses, counts: of each record under each dictionary, and how many of its entries
    are consistent with it, shape (dictionaries, records). utility: of each record, shape (records,). bounds: for each
    dictionary whether no attacker with one that is more general and holds the same people can do more without linkage
    (Proposition 1). own_fits: for each dictionary whether the person's own entry fits each record, shape (records,);
    None where it is not known which entry that is. linked: the losses where records are first linked with public ones,
    as losses; None where they are not. weights: how often each record counts in means, shape (records,); once where it is
    None.
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

    @property
    def probabilities(self) -> FloatArray:
        """The probability that each person is identified under each dictionary: shape (dictionaries, records)."""
        return np.stack([identification_probability(counts) for counts in self.counts])

    @property
    def expected_losses(self) -> FloatArray:
        """The loss of each record expected over the dictionaries: shape (records,)."""
        return np.asarray(product(self.prior[:, None], self.losses).sum(axis=0))

    @property
    def linked_risks(self) -> FloatArray | None:
        """The mean loss under each dictionary of records that are linked first; None where they are not linked."""
        return None if self.linked is None else self._means(self.linked)

    @property
    def risks(self) -> FloatArray:
        """The mean loss under each dictionary."""
        return self._means(self.losses)

    @property
    def mean_utility(self) -> float:
        """The mean utility of the records."""
        return weighted_mean(self.utility, self.weights)

    @property
    def mean_probabilities(self) -> FloatArray:
        """The mean probability that a person is identified, by dictionary."""
        return self._means(self.probabilities)

    def _means(self, by_dictionary: FloatArray) -> FloatArray:
        return np.array([weighted_mean(values, self.weights) for values in by_dictionary])

    @property
    def linked_bayes_risk(self) -> float | None:
        """The risk of records that are linked first, expected over the dictionaries; None where they are not linked."""
        return None if self.linked_risks is None else float(product(self.prior, self.linked_risks).sum())

    @property
    def single_fits(self) -> tuple[int, ...]:
        """By dictionary the number of records that exactly one entry fits, whoever that entry is about."""
        return tuple(np.count_nonzero(self.counts == 1, axis=1).tolist())

    @property
    def right_fits(self) -> tuple[int | None, ...]:
        """For how many of these that entry is the person's own; None where it is not known which that is."""
        pairs = zip(self.counts, self.own_fits)
        return tuple(
            None if is_own is None else int(np.count_nonzero((counts == 1) & is_own)) for counts, is_own in pairs
        )

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
        told = {"records": len(self.utility), "utility": self.mean_utility}
        risks = {"bayes_risk": self.bayes_risk, "worst_case_risk": self.worst_case_risk}
        dictionaries = [self._dictionary_as_json(number) for number in range(len(self.names))]
        return {**told, **plain(risks), "dictionaries": plain(dictionaries)}

    def _dictionary_as_json(self, number: int) -> dict[str, Any]:
        return {
            "name": self.names[number],
            "risk": self.risks[number],
            "largest_loss": self.losses[number].max(),
            "identification_probability": self.mean_probabilities[number],
            "identified": self.single_fits[number],
            "identified_right": self.right_fits[number],
            "fewest_consistent": self.counts[number].min(),
            "is_upper_bound": self.bounds[number],
            "linked_risk": None if self.linked_risks is None else self.linked_risks[number],
        }


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """A named table with one row a person.

    identifier: its column that names people, None where there is none. missing: texts that stand for no value.
    is_row_by_row: whether its rows are about the people of the disclosed table, in the same order. decimal: the sign before
    the fraction of a number.
    """

    name: str
    frame: "pd.DataFrame"
    identifier: str | None = None
    missing: frozenset[str] = frozenset({""})
    is_row_by_row: bool = False
    decimal: str = "."

    @classmethod
    def of_rows(cls, rows: Rows) -> "PeopleTable":
        """All columns of the table that is disclosed."""
        identifier = next((name for name, role in rows.roles.items() if role is Role.IDENTIFIER), None)
        return cls("the table", rows.frame, identifier, rows.no_value, is_row_by_row=True, decimal=rows.decimal)

    @classmethod
    def of_quasi_identifiers(cls, rows: Rows) -> "PeopleTable":
        """What somebody knows who knows the quasi-identifiers of everybody in the table that is disclosed."""
        columns = [name for name, role in rows.roles.items() if role in (Role.QUASI_IDENTIFIER, Role.IDENTIFIER)]
        whole = cls.of_rows(rows)
        return cls(
            "the table's quasi-identifiers", rows.frame[columns], whole.identifier, rows.no_value, True, rows.decimal
        )

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def shared_columns(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """Those of some attributes that it has a column for."""
        return tuple(name for name in attributes if name in self.frame.columns)

    def values(self, column: str) -> tuple[str, ...]:
        """The different values of a column; none where there is no such column."""
        if column not in self.frame.columns:
            return ()
        return tuple(factorized(self.frame[column], {*self.missing, SUPPRESSED})[1])

    def records(self, space: RecordSpace) -> Records:
        """Its rows as records. A label may be of any level; where several levels have it, the lowest is meant.

        Missing values are suppressed, and so are attributes that the table has no column for. Raises InputError for a
        label that no level has, naming the column and the row (from 1), never the value.
        """
        nodes = np.tile(space.roots, (len(self), 1))
        for axis, (attribute, taxonomy) in enumerate(zip(space.domain.attributes, space.taxonomies)):
            if attribute in self.frame.columns:
                codes, labels = factorized(self.frame[attribute], {*self.missing, SUPPRESSED})
                column = np.append(_nodes(taxonomy, labels, self.decimal), taxonomy.root)[codes]
                if np.any(column < 0):
                    row = int(np.argmax(column < 0)) + 1
                    raise InputError(
                        f"column {attribute!r} of {self.name}: the value in row {row} is in no level of its hierarchy"
                    )
                nodes[:, axis] = column
        return Records(space, nodes)

    def dictionary(self, space: RecordSpace) -> Dictionary:
        """Its rows as entries of a dictionary. Raises InputError as `records` does."""
        return Dictionary(self.records(space))

    def rows_about(self, people: "PeopleTable") -> IndexArray:
        """For each row of another table the row here that is about the same person, -1 for none: shape (len(people),).

        People are matched by identifier, or by their order where both tables are row by row. Raises InputError where
        the other table has no column of identifiers, this one lacks it, or one of them names a person twice.
        """
        import pandas as pd

        if self.is_row_by_row and people.is_row_by_row:
            return np.arange(len(people))
        if people.identifier is None:
            raise InputError(f"{people.name} has no column that identifies people")
        sought = people._identifiers(people.identifier)
        return np.asarray(pd.Index(self._identifiers(people.identifier)).get_indexer(pd.Index(sought)))

    def _identifiers(self, column: str) -> NDArray[np.object_]:
        """The identifier in each row: shape (rows,)."""
        if column not in self.frame.columns:
            raise InputError(f"{self.name} has no column {column!r}, which identifies people")
        codes, labels = factorized(self.frame[column], set())
        if np.any(codes < 0) or len(labels) < len(codes):
            raise InputError(f"the column {column!r} of {self.name} must name each person once")
        return np.array(labels, dtype=object)[codes]


def _nodes(taxonomy: Taxonomy, labels: Sequence[str], decimal: str) -> IndexArray:
    """The lowest node of each label, or of the number or date that it spells; -1 where there is none: shape (labels,)."""
    # Read from the top down, so that the lowest of equal labels stays.
    node_of = {label: node for node, label in reversed(list(enumerate(taxonomy.labels)))}
    nodes = [node_of.get(label, -1) for label in labels]
    spelled = (node_of.get(base_text(label, decimal), -1) if node < 0 else node for label, node in zip(labels, nodes))
    return np.fromiter(spelled, dtype=np.intp, count=len(nodes))


ALL_OTHERS = "*"
"""Names the values of an attribute to which no weight of their own is given."""


@dataclass(frozen=True)
class HarmModel:
    """The harm to a person who is identified, and to one who is missed.

    family: how the weights of what is disclosed make up the harm: their sum, or e to that power. weights: of the base
    values of attributes, less up their hierarchies, infinite where disclosure is forbidden, 0 for an attribute that is
    not named; one for all values of an attribute, or by value, where 0 or the weight of `*` is for those not named. None
    where identification itself is a harm of 1, whatever is disclosed. interactions: sets of attributes, and the weight of
    disclosing all of a set. missed: harm to a person whom the attacker does not identify. personal: weights of people's
    own, in columns named like the attributes; `weights` holds for whom and what it does not name. An own weight takes the
    place of the weight of an attribute, and multiplies the weights of values. The weight of an interaction and `missed`
    may be the name of a column of `personal` instead of a number; then each person needs a row there.
    Raises InputError for interactions or personal weights where `weights` is None, or a column without `personal`.

    >>> import pandas as pd
    >>> own = PeopleTable("own.csv", pd.DataFrame({"id": ["p", "q"], "both": [4, 0]}), "id")
    >>> model = HarmModel(weights={"age": 1.0}, interactions=((("age", "illness"), "both"),), personal=own)
    """

    family: type[Linear] | type[Multiplicative] = Linear
    weights: Mapping[str, float | Mapping[str, float]] | None = None
    interactions: tuple[tuple[tuple[str, ...], float | str], ...] = ()
    missed: float | str = 0.0
    personal: PeopleTable | None = None

    def __post_init__(self) -> None:
        if self.weights is None and (self.interactions or self.personal is not None):
            raise InputError("interactions and personal weights are added to the weights of attributes; give these too")

    def with_personal(self, personal: PeopleTable | None) -> "HarmModel":
        """The same with a table of personal weights. Raises InputError where columns of one are named and there is none."""
        columns = [weight for weight in (self.missed, *(w for _, w in self.interactions)) if isinstance(weight, str)]
        if columns and personal is None:
            raise InputError(
                f"section [risk] names the column {columns[0]!r} for people's own harm, and no table that has it; "
                "risk.personal_weights names that table"
            )
        return replace(self, personal=personal)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that weights and interactions name."""
        return (*(self.weights or {}), *(name for names, _ in self.interactions for name in names))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What can be computed, but is hardly meant."""
        if self.missed != inf:
            return ()
        return (
            "risk.missed is inf: to be missed is infinitely harmful, so the risk is infinite wherever an attacker can be "
            "wrong; what must never be disclosed is said by an infinite weight in risk.weights",
        )

    def weight_of(self, attribute: str) -> float:
        """What the shares of its values are multiplied by."""
        weight = (self.weights or {}).get(attribute, 0.0)
        return float(weight) if isinstance(weight, int | float) else 1.0

    def shares_of(self, attribute: str, taxonomy: Taxonomy) -> FloatArray:
        """How much of that weight each node of an attribute's taxonomy has, shape (nodes,).

        Raises InputError where a weight is given to a value that is none of its base values.
        """
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

    def _own(self, column: str, people: PeopleTable) -> FloatArray:
        """What a column of the personal weights holds for each person. Raises InputError where it holds nothing."""
        if self.personal is None:
            raise InputError(f"the column {column!r} of people's own harm needs a table of personal weights")
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

    def sensitivity(self, space: RecordSpace, people: PeopleTable) -> Sensitivity:
        """The sensitivity of what is disclosed of some people, in the order of their rows.

        Raises InputError where personal weights cannot be matched with these people, or are no weights, or where a weight
        is given to a value that an attribute does not have.
        """
        if self.weights is None:
            return Constant(1.0)
        attributes = space.domain.attributes
        weights = np.array([self.weight_of(name) for name in attributes])
        if self.personal is not None:
            weights = _personal_weights(self.personal, people, attributes, weights)
        terms: list[tuple[int, ...]] = [(axis,) for axis in range(len(space))]
        interactions = [(names, weight) for names, weight in self.interactions if set(names) <= set(attributes)]
        terms += [tuple(space.domain.index(name) for name in names) for names, _ in interactions]
        extra = self._interaction_weights([weight for _, weight in interactions], people)
        if extra.ndim != weights.ndim:
            weights, extra = (np.broadcast_to(part, (len(people), part.shape[-1])) for part in (weights, extra))
        shares = tuple(map(self.shares_of, attributes, space.taxonomies))
        return self.family(Weights(shares, tuple(terms), np.concatenate([weights, extra], axis=-1)))

    def _interaction_weights(self, weights: Sequence[float | str], people: PeopleTable) -> FloatArray:
        """The weights of some interactions: shape (interactions,), or (people, interactions) where one is personal."""
        if not any(isinstance(weight, str) for weight in weights):
            return np.array(weights, dtype=np.float64)
        term_weights = [
            self._own(weight, people) if isinstance(weight, str) else np.full(len(people), weight) for weight in weights
        ]
        return np.stack(term_weights, axis=-1)


def _rows_about(personal: PeopleTable, people: PeopleTable) -> IndexArray:
    """For each person the row of the personal weights, -1 for none."""
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


def _personal_weights(
    personal: PeopleTable, people: PeopleTable, attributes: Sequence[str], default: FloatArray
) -> FloatArray:
    """The weights of attributes for each person: shape (len(people), attributes).

    default: for attributes without a column and people without a row, shape (attributes,).
    """
    row = _rows_about(personal, people)
    has_row = row >= 0
    weights = np.tile(default, (len(people), 1))
    for axis, attribute in enumerate(attributes):
        if attribute in personal.frame.columns:
            weights[has_row, axis] = _numbers(personal, attribute)[row[has_row]]
    return weights


THRESHOLD = 0.8
"""The similarity from which on the paper takes two values for consistent."""

_BLOCK = 512
"""Labels that are compared with all others at a time."""


@dataclass(frozen=True)
class Similarity:
    """Attributes whose base values agree when their Jaro similarity is at least a threshold, in (0, 1].

    Raises InputError for another threshold.
    """

    attributes: tuple[str, ...] = ()
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        _check_threshold(self.threshold)

    def objection_to(self, analysis: str) -> str | None:
        """Why an analysis cannot be done, since some values agree that are only similar; None where there are none."""
        if not self.attributes:
            return None
        return f"risk.similar goes with the risk of a table only, not with {analysis}; leave it out"


def alike_labels(
    left: Sequence[str], right: Sequence[str], threshold: float = THRESHOLD
) -> tuple[IndexArray, IndexArray]:
    """The pairs of positions whose labels have a Jaro similarity of at least the threshold: shape (pairs,) each.

    O(len(left) * len(right)). Raises InputError without rapidfuzz, or for a threshold outside (0, 1].
    """
    _check_threshold(threshold)
    try:
        process, distance = import_module("rapidfuzz.process"), import_module("rapidfuzz.distance")
    except ImportError:
        raise InputError("Jaro similarity needs rapidfuzz: pip install rapidfuzz") from None
    firsts, seconds = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    for start in range(0, len(left), _BLOCK):
        block = left[start : start + _BLOCK]
        scores = process.cdist(block, right, scorer=distance.Jaro.similarity, dtype=np.float64, workers=-1)
        first, second = np.nonzero(scores >= threshold)
        firsts.append(first + start)
        seconds.append(second)
    return np.concatenate(firsts), np.concatenate(seconds)


def alike_values(
    records: Records, dictionary: Dictionary, attributes: Iterable[str], threshold: float = THRESHOLD
) -> dict[int, AlikeValues]:
    """For some attributes the pairs of base values of records and of a dictionary that are alike, equal ones included."""
    alike = {}
    for attribute in attributes:
        axis = records.space.domain.index(attribute)
        labels = records.space.taxonomies[axis].labels
        nodes = [np.unique(r.nodes[r.levels[:, axis] == 0, axis]) for r in (records, dictionary.entries)]
        spellings = [[labels[node] for node in column.tolist()] for column in nodes]
        first, second = alike_labels(spellings[0], spellings[1], threshold)
        alike[axis] = nodes[0][first], nodes[1][second]
    return alike


def _check_threshold(threshold: float) -> None:
    if not 0 < threshold <= 1:
        raise InputError(f"a threshold of similarity lies above 0 and at most at 1, not at {threshold}")


# Attackers: which tables of people they may hold, and how they look people up in them (LSFB09 sections 3.2 and 6).
#
# They look a disclosed record up in their dictionary, or first link it with public records and look up what both say
# together.


@dataclass(frozen=True)
class Linkage:
    """Public records that attackers link with disclosed ones. columns: those of its columns that enlarge the records."""

    public: PeopleTable
    columns: tuple[str, ...] = ()

    def check(self, domain: Domain) -> None:
        """Raise InputError where nothing can be linked with a table over this domain, or a column adds nothing to it."""
        if not self.public.shared_columns(domain.attributes):
            raise InputError(f"{self.public.name} has no column of the table's, so nothing could be linked with it")
        for column in self.columns:
            if column in domain.attributes:
                raise InputError(
                    f"risk.linkage.columns names {column!r}, which the table has; linking adds no column to it"
                )
            if column not in self.public.frame.columns:
                raise InputError(f"risk.linkage.columns names {column!r}, which is no column of the linked table")
            if not self.public.values(column):
                raise InputError(f"risk.linkage.columns names {column!r}, of which the linked table has no value")

    def enlarged_space(self, domain: Domain, dictionaries: Sequence[PeopleTable]) -> RecordSpace:
        """The records of a domain with the added columns, flat over the values that the public table and these have."""
        hierarchies = dict(domain.items())
        for column in self.columns:
            values = {value for table in (self.public, *dictionaries) for value in table.values(column)}
            hierarchies[column] = Hierarchy.flat(sorted(values))
        return RecordSpace(Domain.of(hierarchies))

    def links(self, disclosed: Records, public: Records, people: PeopleTable) -> Links:
        """Links of each disclosed record with all public ones that fit it, all equally likely.

        people: whom the disclosed records are about, row by row. A link is right where identifiers say so; without
        identifiers every link is taken to be right. Raises InputError for identifiers that name a person twice,
        DisclosureRuleError for too many links.
        """
        links = uniform_links(disclosed, public)
        if people.identifier is None or self.public.identifier is None:
            return links
        return replace(links, right=self.public.rows_about(people)[links.disclosed] == links.public)


@dataclass(frozen=True)
class Attackers:
    """Attackers who hold one of some dictionaries.

    dictionaries: tables of people. prior: the probability of each. linkage: what attackers link with disclosed records
    before they look for people, None for nothing. similarity: which values they take for the same. Raises
    DisclosureRuleError where the prior is not one probability for each dictionary, 1 in all.
    """

    dictionaries: tuple[PeopleTable, ...]
    prior: tuple[float, ...] = (1.0,)
    linkage: Linkage | None = None
    similarity: Similarity = field(default_factory=Similarity)

    def __post_init__(self) -> None:
        as_distribution(np.asarray(self.prior, dtype=np.float64), len(self.dictionaries), "dictionary")

    @property
    def tables(self) -> tuple[PeopleTable, ...]:
        """All tables that they look into."""
        return self.dictionaries if self.linkage is None else (*self.dictionaries, self.linkage.public)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that linking adds to what is disclosed."""
        return () if self.linkage is None else self.linkage.columns

    def check(self, domain: Domain) -> None:
        """Raise InputError where they could find nobody in a table over this domain, or nothing to link with it."""
        for dictionary in self.dictionaries:
            if not dictionary.shared_columns(domain.attributes):
                raise InputError(f"{dictionary.name} has no column of the table's, so nobody could be found in it")
        if self.linkage is not None:
            self.linkage.check(domain)

    def alike(self, records: Records, dictionary: Dictionary) -> Mapping[int, AlikeValues]:
        """By position of the attribute the values that they take for the same. Raises InputError without rapidfuzz."""
        compared = [name for name in self.similarity.attributes if name in records.space.domain.attributes]
        return alike_values(records, dictionary, compared, self.similarity.threshold)


@dataclass(frozen=True)
class BundleRisk:
    """The risk of a release for the people of the dictionaries, and its information, so that releases can be compared.

    release: its name. bounds: of the risk, by what its marginals prove of the number of rows that fit each person.
    total_information: nats that its marginals tell of the table, the counts of each attribute by itself among them; None
    where they form no junction tree. log_base_cells: ln of how many base cells its hierarchies have, which it cannot exceed;
    where releases of one table agree in that, their information compares.
    """

    release: str
    people: int
    risk: float
    bounds: tuple[float, float]
    identification_probability: float
    total_information: float | None
    log_base_cells: float


def bundle_risk(release: Published, name: str, rows: Rows, attackers: Attackers, harm: HarmModel) -> BundleRisk:
    """The risk of a release for the people of the dictionaries, expected over these.

    name: of the release, as it is to be shown. rows: the table, whose hierarchies name the base values that a bundle
    keeps to itself. Raises InputError for attackers or a harm that have no meaning for a release, or where
    hierarchies differ.
    """
    if objection := attackers.similarity.objection_to("releases"):
        raise InputError(objection)
    if harm.missed:
        raise InputError("risk.missed has no meaning for a release; leave it out")
    if release.everything is not release.collection:
        raise InputError(
            f"{name} has further tables, and the risk of a release is that of tables with a junction tree; publish without "
            '(further_tables = "none" under [search])'
        )
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
    information = MarginalModel(collection).total_information if collection.is_decomposable else None
    log_base_cells = fsum(log(hierarchy.size(0)) for hierarchy in collection.domain.hierarchies)
    people = sum(map(len, attackers.dictionaries))
    return BundleRisk(name, people, risk, (least, most), probability, information, log_base_cells)


def are_comparable(risks: Sequence[BundleRisk]) -> bool:
    """Whether what releases tell is over equally many base values, as far as it is known."""
    sizes = [risk.log_base_cells for risk in risks if risk.total_information is not None]
    return not sizes or isclose(min(sizes), max(sizes), rel_tol=1e-9)


def least_risk_first(risks: Sequence[BundleRisk]) -> list[BundleRisk]:
    """Releases by rising risk, those of equal risk by name."""
    return sorted(risks, key=lambda risk: (risk.risk, risk.release))


def _over_hierarchies_of(rows: Rows, collection: Collection) -> Collection:
    """A collection over the hierarchies of the table, which name the base values that a bundle keeps to itself.

    Hierarchies of which a published one is no part are not the table's; then that stays.
    """
    hierarchies, levels = {}, {}
    for name, published in collection.domain.items():
        hierarchy = rows.domain.hierarchy(name) if name in rows.domain.attributes else published
        places = _places(published, hierarchy, rows.codes[name]) if hierarchy is not published else None
        hierarchies[name] = published if places is None else hierarchy
        levels[name] = tuple(range(published.height + 1)) if places is None else places
    domain = Domain.of(hierarchies)
    tables = [recoded(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _places(published: Hierarchy, hierarchy: Hierarchy, codes: CodeArray) -> tuple[int, ...] | None:
    """The levels of the table's hierarchy that are those of a published one: rather levels whose values in the rows are all
    published, since a release of these rows shows each.
    """
    occurring = np.unique(codes)

    def fits(level: int, place: int) -> bool:
        seen = {hierarchy.labels[place][code] for code in hierarchy.lift(0, place)[occurring].tolist()}
        return seen <= set(published.labels[level])

    return matched_levels(published, hierarchy, fits) or matched_levels(published, hierarchy)


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
    are. minimax: whether levels are chosen against the worst dictionary and not the expected one: with a bound on the loss
    of each row under the one that is worst for it, else for the least of the largest risk over the dictionaries. clusters:
    attributes that depend on each other in the dictionaries where the others are taken to be independent.
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
        if self.minimax and isinstance(objective, LeastRisk | TradeOff):
            from checks.risk.worst_case import least_worst_risk  # loaded here: it needs scipy.optimize

            return least_worst_risk(self.problem, objective, progress)
        return best_of_each(self.problem, objective, progress)

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

    def optimum_on_average(self, objective: LeastRisk | MostUtility, progress: Progress = unwatched) -> Optimum:
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
        if self.minimax:
            return "a frontier and means are of the risk expected over the dictionaries, not of the worst"
        if self._vector_count > MAX_VECTORS:
            return (
                f"a frontier over {self._vector_count:,} combinations of levels is too much, {MAX_VECTORS:,} are the limit; "
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

    def of_release(self, release: Published, name: str) -> BundleRisk:
        """The risk of a release for the people of the dictionaries, expected over these. Raises InputError."""
        return bundle_risk(release, name, self.table.rows, self.attackers, self.harm)


def _row_weights(rows: Rows, column: str) -> FloatArray:

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


def _own_fits(records: Records, dictionary: Dictionary, own_entries: IndexArray | None) -> BoolArray | None:
    """Whether each record's person has an entry that fits it; None where entries are not known by person."""
    if own_entries is None:
        return None
    fits = own_entries >= 0
    fits[fits] = dictionary.entries[own_entries[fits]].is_consistent_with(records[np.flatnonzero(fits)])
    return read_only(fits)


def with_values_of(source: TableSource, k: int, rows: Rows, others: Sequence[PeopleTable]) -> Rows:
    """The rows over hierarchies that hold the values of other tables too, where hierarchies are made from values.

    source, k: where the rows are from, and the k with which their fitted ladders begin. A flat hierarchy takes any value of
    the other tables; intervals, dates and prefixes take those that are of their kind. A fitted ladder with values that no
    row has is fitted again, these counted as held by nobody.
    """
    domain, hierarchies = rows.domain, dict(rows.domain.items())
    for name, hierarchy in hierarchies.items():
        attribute = source.attributes[name]
        if attribute.hierarchy is None and attribute.population is None and name not in source.ladders:
            base_values = set(hierarchy.labels[0])
            labels = {label for level in hierarchy.labels for label in level}
            for other in others:
                if name in other.frame.columns:
                    _, values = factorized(other.frame[name], {"", SUPPRESSED})
                    if attribute.dates or NumberFormat.of(hierarchy.labels[0]) is not None:
                        values = [v if v in labels else base_text(v, other.decimal) for v in values]
                    base_values |= {v for v in values if v not in labels and _is_base_value(attribute, v)}
            if len(base_values) > hierarchy.size(0):
                hierarchies[name] = _with_values(attribute, rows, name, base_values, k)
    wider = Domain.of(hierarchies)
    if wider == domain:
        return rows
    codes = {
        name: np.array([wider.hierarchy(name).code(v, 0) for v in domain.hierarchy(name).labels[0]], dtype=np.int64)[c]
        for name, c in rows.codes.items()
    }
    return replace(rows, domain=wider, codes=codes)


def _with_values(attribute: Attribute, rows: Rows, name: str, base_values: set[str], k: int) -> Hierarchy:
    """The hierarchy of an attribute with more base values than the rows have."""
    wider = attribute.hierarchy_of(base_values)
    if not attribute.is_fitted:
        return wider
    counts = np.zeros(wider.size(0), dtype=np.int64)
    wider_codes = [wider.code(label, 0) for label in rows.domain.hierarchy(name).labels[0]]
    np.add.at(counts, np.array(wider_codes, dtype=np.intp)[rows.codes[name]], 1)
    return attribute_ladder(GroupNaming.of(name, attribute, wider), counts, k)


def _is_base_value(attribute: Attribute, value: str) -> bool:
    """Whether a text that no level of the hierarchy has can be a base value of the attribute."""
    if attribute.intervals or attribute.dates:
        return attribute.base_value(value) == value
    return not attribute.prefixes or SUPPRESSED not in value

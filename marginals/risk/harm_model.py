"""The harm that identification does to a person: what it weighs to disclose which value of whom (LSFB09 section 3.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from checks.risk.loss import Harm
from checks.risk.record import RecordSpace
from checks.risk.sensitivity import Constant, Linear, Multiplicative, PerPerson, Sensitivity, Weights, harmonic_shares
from marginals.errors import InputError
from marginals.risk.people_table import PeopleTable
from models.arrays import FloatArray, IndexArray
from models.tables.taxonomy import Taxonomy

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
        missed = PerPerson(self._own(self.missed, people)) if isinstance(self.missed, str) else Constant(self.missed)
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
        each = [
            self._own(weight, people) if isinstance(weight, str) else np.full(len(people), weight) for weight in weights
        ]
        return np.stack(each, axis=-1)


def _rows_about(personal: PeopleTable, people: PeopleTable) -> IndexArray:
    """For each person the row of the personal weights, -1 for none."""
    if people.identifier is None:
        raise InputError("risk.personal_weights needs a column with the role identifier, in dictionaries too")
    return personal.rows_about(people)


def _numbers(table: PeopleTable, column: str) -> FloatArray:
    """A column of weights: shape (rows,). Raises InputError naming the row of what is no weight."""
    import pandas as pd

    values = pd.to_numeric(table.frame[column], errors="coerce").to_numpy(dtype=np.float64)
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

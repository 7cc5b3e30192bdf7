"""The risk of a release: what people in a dictionary lose to an attacker who also holds some published marginals.

A release discloses no records. Its attacker draws, from the rows that the maxent distribution expects to fit what is
known of a person, one to be theirs. Two things can go wrong:

- The row is somebody else's: e rows are expected to fit and c people of the dictionary fit as well, so that the link is
  right with probability 1 / max(e, c, 1) at most.
- There is no such row: fewer than one is expected to show the values drawn, which are the person's own with the
  probability q(y | z) only, given the known values z.

The person is found when neither happens, and loses the sensitivity of the row, at the finest published levels. Both
probabilities bound the loss, and the less of both expectations is what is given; for one table as the only marginal and
its rows as the dictionary that is the risk of disclosing the table (LSFB09 section 3.2).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from checks.errors import DisclosureRuleError, SensitivityError
from checks.risk.attackers import Dictionary, Records, consistent_counts
from checks.risk.harm import Constant, Linear, Multiplicative, Sensitivity, Weights, product
from models.arrays import CodeArray, FloatArray, IndexArray
from models.errors import DomainMismatchError
from models.graphs.junction_tree import Collection
from models.inference.calibrated_tree import CellExpectations, Factor
from models.programs.cell_bounds import bounds_of_cells


@dataclass(frozen=True, eq=False)
class ReleaseRisk:
    """What each person of a dictionary risks: shape (people,) each.

    fitting: expected number of rows that fit the person, between the bounds that the marginals prove.
    identification_probability, loss: expected. least_loss, most_loss: where the number of rows that fit lies at its upper
    and at its lower bound; the latter does not count on values that are drawn wrong.
    """

    fitting: FloatArray
    identification_probability: FloatArray
    loss: FloatArray
    least_loss: FloatArray
    most_loss: FloatArray

    @property
    def risk(self) -> float:
        """The mean loss over the people."""
        return float(self.loss.mean())

    @property
    def bounds(self) -> tuple[float, float]:
        """The means of the least and of the most loss."""
        return float(self.least_loss.mean()), float(self.most_loss.mean())


def release_risk(collection: Collection, dictionary: Dictionary, sensitivity: Sensitivity) -> ReleaseRisk:
    """The risk of a release for the people of a dictionary over its attributes; entry i is about person i.

    Attributes of the dictionary that the release lacks must be suppressed. Raises DomainMismatchError where the
    attributes or hierarchies differ, SensitivityError for a sensitivity whose expectation has no closed form.
    """
    if dictionary.space.domain != collection.domain:
        raise DomainMismatchError("the dictionary and the release have different attributes or hierarchies")
    if not len(dictionary):
        raise DisclosureRuleError("risk is a mean over people, and the dictionary has none")
    expectations = CellExpectations.of(collection)
    space = dictionary.space
    finest = np.array([expectations.levels.get(a, h.height) for a, h in space.domain.items()], dtype=np.intp)
    published = dictionary.entries.generalized(finest)
    alike = consistent_counts(published, Dictionary(published))
    length = len(dictionary)
    fitting, lower, upper = np.zeros(length), np.zeros(length), np.zeros(length)
    harm, guessed_harm, guessed = np.zeros(length), np.zeros(length), np.zeros(length)
    squares = replace(expectations, power=2)
    for group in _groups(published):
        rows = group.rows
        fitting[rows] = group.of_rows(expectations.expected_counts(group.levels, group.codes, group.size))
        bounds = bounds_of_cells(collection, group.levels, group.codes, group.size)
        lower[rows], upper[rows] = (group.of_rows(bound.astype(np.float64)) for bound in bounds)
        harm[rows] = _per_row(_summed_harm(expectations, group, sensitivity), fitting[rows])
        guessed_harm[rows] = _per_row(_summed_harm(squares, group, sensitivity), fitting[rows] ** 2)
        guessed[rows] = _per_row(_summed_harm(squares, group, Constant(1.0)), fitting[rows] ** 2)
    possible = (upper > 0) & (fitting > 0)
    linked, least, most = (
        np.where(possible, 1.0 / np.maximum(np.maximum(count, alike), 1.0), 0.0)
        for count in (np.clip(fitting, lower, upper), upper, lower)
    )
    return ReleaseRisk(
        fitting=np.clip(fitting, lower, upper),
        identification_probability=np.minimum(linked, guessed),
        loss=np.minimum(product(linked, harm), guessed_harm),
        least_loss=np.minimum(product(least, harm), guessed_harm),
        most_loss=product(most, harm),
    )


def _per_row(sums: FloatArray, rows: FloatArray) -> FloatArray:
    """Means from sums, 0 where there is no row."""
    with np.errstate(invalid="ignore"):
        return np.where(rows > 0, sums / np.where(rows > 0, rows, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class _Group:
    """The people of one level vector, equal ones looked up once.

    rows: their numbers. cell_of: for each of them its cell. levels, codes: of the cells' attributes, codes of shape
    (size,) each. records: the cells.
    """

    rows: IndexArray
    cell_of: IndexArray
    levels: dict[str, int]
    codes: dict[str, CodeArray]
    records: Records

    @property
    def size(self) -> int:
        return len(self.records)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """The values of the cells, person by person."""
        return np.asarray(values[self.cell_of], dtype=np.float64)


def _groups(people: Records) -> Iterator[_Group]:
    for levels, rows in people.by_levels():
        cells, cell_of = people[rows].distinct()
        yield _Group(rows, cell_of, *_coded(cells, levels), cells)


def _coded(cells: Records, levels: IndexArray) -> tuple[dict[str, int], dict[str, CodeArray]]:
    finer, codes = {}, {}
    for axis, (attribute, hierarchy) in enumerate(cells.space.domain.items()):
        if levels[axis] < hierarchy.height:
            finer[attribute] = int(levels[axis])
            codes[attribute] = cells.nodes[:, axis] - cells.space.taxonomies[axis].offsets[levels[axis]]
    return finer, codes


def _summed_harm(expectations: CellExpectations, group: _Group, sensitivity: Sensitivity) -> FloatArray:
    """The sensitivities of all rows that fit each person of a group, summed: shape (people,)."""
    if isinstance(sensitivity, Constant):
        rows = expectations.expected_counts(group.levels, group.codes, group.size)
        return product(np.array(sensitivity.value), group.of_rows(rows))
    if isinstance(sensitivity, Linear):
        return _expected_sum(expectations, group, sensitivity.weights)
    if isinstance(sensitivity, Multiplicative):
        return _expected_product(expectations, group, sensitivity.weights)
    raise SensitivityError("the expected sensitivity of a release needs a constant, linear or multiplicative one")


def _expected_sum(expectations: CellExpectations, group: _Group, weights: Weights) -> FloatArray:
    """The expected sum of Phi1 to Phi3 over the rows that fit: linear, so each term by itself."""
    total = np.zeros(len(group.rows))
    for number, term in enumerate(weights.terms):
        factors = _factors(expectations, group.records, weights, term)
        if len(factors) < len(term):
            continue
        share = expectations.expected_counts(group.levels, group.codes, group.size, factors)
        of_term = weights.of_terms[number] if weights.of_terms.ndim == 1 else weights.of_terms[group.rows, number]
        total += product(of_term, group.of_rows(share))
    return total


def _factors(
    expectations: CellExpectations, cells: Records, weights: Weights, term: tuple[int, ...]
) -> dict[str, Factor]:
    """The share of each published value of the attributes of a term; what is not published has none."""
    factors: dict[str, Factor] = {}
    for axis in term:
        attribute = cells.space.domain.attributes[axis]
        if attribute in expectations.levels:
            offset = cells.space.taxonomies[axis].offsets[expectations.levels[attribute]]
            share = weights.shares[axis]
            factors[attribute] = lambda _, codes, share=share, offset=offset: share[offset + codes]  # type: ignore[misc]
    return factors


def _expected_product(expectations: CellExpectations, group: _Group, weights: Weights) -> FloatArray:
    """The expected sum of Phi4 over the rows that fit: its factors are those of the attributes, person by person."""
    if any(len(term) > 1 for term in weights.terms):
        raise SensitivityError("the expected sensitivity of a release has no closed form with multiplied interactions")
    personal = weights.of_terms.ndim == 2
    people = np.arange(len(group.rows)) if personal else None
    codes = {a: c[group.cell_of] for a, c in group.codes.items()} if personal else group.codes
    factors: dict[str, Factor] = {}
    for number, (axis,) in enumerate(weights.terms):
        attribute = group.records.space.domain.attributes[axis]
        for name, share in _factors(expectations, group.records, weights, (axis,)).items():
            own = weights.of_terms[group.rows, number] if personal else weights.of_terms[number]
            before = factors.get(attribute)
            factors[name] = _exponential(share, own, before)
    length = group.size if people is None else len(people)
    sums = expectations.expected_counts(group.levels, codes, length, factors)
    return sums if personal else group.of_rows(sums)


def _exponential(share: Factor, weight: FloatArray, before: Factor | None) -> Factor:
    """The factor e^(weight * share) of one term, times that of the terms before it."""

    def factor(cells: IndexArray, codes: CodeArray) -> FloatArray:
        with np.errstate(over="ignore"):
            own = np.exp(product(weight[cells] if weight.ndim else weight, share(cells, codes)))
        return own if before is None else own * before(cells, codes)

    return factor

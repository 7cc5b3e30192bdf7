"""Mixtures: several releases of one table as one estimate of it (KG06 section 10 names sets of models as future work).

Each release has its maximum-entropy distribution q_i. Their mixture is q = sum of w_i q_i, with weights that sum to 1. It
need not have the counts of any release, and no theorem says whether it is nearer to the data than the distribution of all
marginals together; rows that are not in the table can. Readers of all releases hold every marginal, whatever the mixture.
Weights tell nothing beyond them as long as the table itself had no part in their choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.claims import Claim
from marginals import estimates
from marginals.arguments import elements_of, require
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.together import over_one_domain, union
from marginals.conditions import Where
from marginals.errors import InputError
from marginals.estimates import Quantity, basis_in, distinctions, marked, told, weakest
from marginals.published_values import values_meant
from marginals.release.release import Release
from marginals.release.verification import demanded
from marginals.tables.intervals import interval, numbers_of
from models.arrays import BoolArray, FloatArray, IndexArray
from models.errors import NotFittedError
from models.graphs.basis import Basis
from models.inference.marginal_model import MarginalModel
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Mixture:
    """Several releases of one table and the weight of each. `mixture` makes one.

    >>> import marginals
    >>> from marginals.example import frame, release, table
    >>> policy = marginals.Policy(k_link=3, diversity="none", base="none", must_publish=[{"age": 2, "sex": 0}])
    >>> pairs = marginals.publish(table, policy)
    >>> mixed = marginals.mixture([release, pairs.release])
    >>> round(mixed.expected_count({"age": "20-39", "sex": "Female"}), 2)
    15.65
    >>> [round(weight, 2) for weight in mixed.fitted(frame.sample(30, random_state=0)).weights]
    [0.0, 1.0]
    """

    releases: tuple[Release, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.releases or len(self.weights) != len(self.releases):
            raise InputError(f"{len(self.releases)} releases came with {len(self.weights)} weights; each needs one")
        if not all(weight >= 0 for weight in self.weights) or not abs(sum(self.weights) - 1) < 1e-9:
            raise InputError("the weights of a mixture are numbers from 0 that sum to 1")
        _ = self.published

    def __repr__(self) -> str:
        return f"Mixture({', '.join(f'{w:.3g} of {r!r}' for w, r in zip(self.weights, self.releases))})"

    @cached_property
    def published(self) -> BundleContent:
        """The marginals and the claims of all releases as one collection: what their readers hold."""
        return union(self._named)

    @cached_property
    def models(self) -> tuple[MarginalModel, ...]:
        """The distribution of each release, all over the same base values."""
        return tuple(map(MarginalModel, over_one_domain(self._named)))

    @property
    def domain(self) -> Domain:
        """The attributes with hierarchies that hold those of all releases."""
        return self.models[0].domain

    @property
    def _named(self) -> list[tuple[str, BundleContent]]:
        return [(f"release {place + 1}", release.published) for place, release in enumerate(self.releases)]

    def verify(self, claims: Sequence[str | Claim] | None = None) -> Verification:
        """Check the claims of all releases, or others, on all their marginals together.

        A claim that each release keeps by itself can fail here. Raises InputError or CriterionError for text that is no
        claim.
        """
        if claims is None:
            return self.published.verify()
        return demanded(self.published, claims)

    def expected_count(self, where: Where) -> Quantity:
        """Expected number of rows that a condition means, by the labels that all releases together show.

        A count that some release shows is exact there, and a mean with what the others suppose here; so its kind is that of
        the weakest release that has a weight.
        """
        meant = values_meant(self.domain, self.published.collection.finest_levels, where)
        expected = sum(w * model.expected_in(model.box(meant)) for w, model in zip(self.weights, self.models))
        return told(Quantity(expected, self._basis({}, meant)))

    def crosstab(self, rows: estimates.Attributes, columns: estimates.Attributes) -> "pd.DataFrame":
        """Expected counts of all combinations.

        rows, columns: attributes at the finest levels that the releases show together, or a level for each. Its kind, in
        `attrs`, is that of the weakest release that has a weight.
        """
        whole = MarginalModel(self.published.collection)
        down, across = estimates.as_margin(whole, rows), estimates.as_margin(whole, columns)
        parts = [
            weight * estimates.crosstab(model, down, across, ()) for weight, model in zip(self.weights, self.models)
        ]
        return told(marked(reduce(lambda one, other: one + other, parts), self._basis({**down, **across}, {})))

    def _basis(self, levels: Mapping[str, int], meant: Mapping[str, BoolArray]) -> Basis:
        weighty = [model for weight, model in zip(self.weights, self.models) if weight]
        return weakest([basis_in(model, distinctions(model, levels, meant)) for model in weighty])

    def log_likelihood(self, rows: "pd.DataFrame") -> float:
        """Mean logarithm of the probability of rows, nats; -inf where one is impossible.

        Values are judged at the finest levels that the releases show together, so that mixtures of the same releases can be
        compared. Raises InputError for values that no release shows, NotDecomposableError where a release has no junction
        tree.
        """
        logs, counts = self._log_probabilities(rows)
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp.reduce(logs + np.log(self.weights)[:, None], axis=0)
        return float(mixed @ counts / counts.sum())

    def fitted(self, rows: "pd.DataFrame") -> "Mixture":
        """The same releases with the weights under which rows are most likely, to a millionth of a nat a row.

        rows: such as are not in the table, one column an attribute. Weights that were fitted to the table itself tell of it
        what no marginal does, so do not publish them. Raises as `log_likelihood`, and NotFittedError where a row is
        impossible under every release.
        """
        logs, counts = self._log_probabilities(rows)
        return Mixture(self.releases, tuple(mixture_weights(logs, counts).tolist()))

    def _log_probabilities(self, rows: "pd.DataFrame") -> tuple[FloatArray, FloatArray]:
        """Of the different cells of some rows under each release, at the finest levels of all, and how often each is."""
        finest = self.published.collection.finest_levels
        shown_attributes = [a for a in self.domain.attributes if finest[a] < self.domain.hierarchy(a).height]
        if missing := [a for a in shown_attributes if a not in rows.columns]:
            raise InputError(f"the rows have no column {missing[0]!r}, which the releases show")
        if rows.empty:
            raise InputError("there are no rows to go by")
        columns = np.stack([_codes(self.domain, a, finest[a], rows[a]) for a in shown_attributes])
        cells, counts = np.unique(columns, axis=1, return_counts=True)
        leaves = np.zeros(len(counts))
        base = {}
        for attribute, hierarchy in self.domain.items():
            codes = (
                cells[shown_attributes.index(attribute)]
                if attribute in shown_attributes
                else np.zeros(len(counts), dtype=np.int64)
            )
            first = np.unique(hierarchy.lift(0, finest[attribute]), return_index=True)[1]
            base[attribute] = first[codes]
            leaves += np.log(hierarchy.leaf_counts(finest[attribute])[codes])
        logs = np.stack([model.closed_form.log_probability(base) + leaves for model in self.models])
        return logs, counts.astype(np.float64)


def mixture(releases: Sequence[Release], weights: Sequence[float] | None = None) -> Mixture:
    """Several releases of one table as one estimate, each with a weight; by default all with the same.

    Raises IncompatibleReleasesError or BundleError where they cannot be of one table, as far as labels and counts tell,
    InputError for weights that are not from 0 and sum to 1, and for further tables. The example is that of `Mixture`.

    >>> from marginals.example import release
    >>> mixture([release, release], [0.25, 0.75]).verify().ok
    True
    """
    a_list = "a list of what marginals.open_release(folder) returns"
    given = tuple(elements_of(releases, "releases", a_list))
    for place, release in enumerate(given, 1):
        require(release, Release, f"release {place}", a_list)
        if release.published.further:
            raise InputError(
                f"release {place} has further tables, and a mixture is one of distributions that have a closed form; mix "
                'releases without (further_tables = "none" under [search])'
            )
    equal = [1 / len(given)] * len(given) if given else []
    chosen = equal if weights is None else elements_of(weights, "weights", "a number for each release, [0.5, 0.5]")
    if any(isinstance(weight, bool) or not isinstance(weight, Real) for weight in chosen):
        raise InputError("the weights of a mixture are numbers from 0 that sum to 1")
    return Mixture(given, tuple(map(float, chosen)))


def _codes(domain: Domain, attribute: str, level: int, values: "pd.Series[Any]") -> IndexArray:
    """Codes at a level of values that are labels of it or below it, or lie in the interval that a label of it names."""
    hierarchy = domain.hierarchy(attribute)
    known: dict[str, int] = {}
    for finer in range(level, -1, -1):
        known |= dict(zip(hierarchy.labels[finer], hierarchy.lift(finer, level).tolist()))
    intervals = [(numbers, code) for code, numbers in enumerate(numbers_of(hierarchy, level)) if numbers is not None]

    def code(value: str) -> int:
        if value in known:
            return known[value]
        label_interval = interval(value)
        around = [code for numbers, code in intervals if label_interval and numbers.holds(label_interval)]
        if len(around) != 1:
            raise InputError(f"a value of {attribute!r} in the rows is none that the releases show")
        return around[0]

    distinct, places = np.unique(values.astype(str).to_numpy(dtype=object).astype(str), return_inverse=True)
    return np.array([code(value) for value in distinct.tolist()], dtype=np.int64)[places]


# Weights of a mixture of distributions under which some rows are most likely, by expectation and maximization.
#
# The likelihood is concave in the weights. With m_i the mean, by the rows' weights, of p_i / sum_j w_j p_j over the
# rows, a step multiplies w_i by m_i, which never lowers it, and no weights are better than these by more than ln max_i
# m_i nats a row: the mean of ln(sum v_i p_i / sum w_j p_j) is at most the logarithm of its mean, sum v_i m_i (Jensen;
# Cover, An Algorithm for Maximizing Expected Log Investment Return, 1984).


WITHIN = 1e-6
"""Nats a row that the best weights may be better by."""

_STEPS = 100_000


def mixture_weights(log_probabilities: FloatArray, rows: FloatArray) -> FloatArray:
    """The weights, shape (distributions,), that sum to 1.

    log_probabilities: of each cell under each distribution, shape (distributions, cells). rows: how often each cell is,
    shape (cells,), with a positive sum. Raises NotFittedError where some row is impossible under every distribution.

    >>> mixture_weights(np.log([[0.9, 0.1], [0.1, 0.9]]), np.array([3.0, 1.0])).round(2)
    array([0.81, 0.19])
    """
    highest = log_probabilities.max(axis=0)
    if np.isneginf(highest[rows > 0]).any():
        raise NotFittedError("some row is impossible under every one of the distributions, whatever their weights")
    likely = np.exp(log_probabilities[:, rows > 0] - highest[rows > 0])
    shares = rows[rows > 0] / rows.sum()
    weights = np.full(len(likely), 1 / len(likely))
    for _ in range(_STEPS):
        means = likely @ (shares / (weights @ likely))
        if np.log(means.max()) <= WITHIN:
            return weights
        weights = weights * means
        weights /= weights.sum()
    raise NotFittedError(f"the weights are not within {WITHIN} nats of the best after {_STEPS} steps")

"""Mixtures: several releases of one table as one estimate of it (KG06 section 10 names sets of models as future work).

Each release has its maximum-entropy distribution q_i. Their mixture is q = sum of w_i q_i, with weights that sum to 1. It
need not have the counts of any release. Readers of all releases hold every marginal, whatever the mixture.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from numbers import Real
from typing import TYPE_CHECKING

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
from models.arrays import BoolArray
from models.graphs.basis import Basis
from models.inference.marginal_model import MarginalModel
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Mixture:
    """Several releases of one table and the weight of each. `mixture` makes one.

    >>> import marginals
    >>> from marginals.example import release, table
    >>> policy = marginals.Policy(k_link=3, diversity="none", base="none", must_publish=[{"age": 2, "sex": 0}])
    >>> pairs = marginals.publish(table, policy)
    >>> mixed = marginals.mixture([release, pairs.release])
    >>> round(mixed.expected_count({"age": "20-39", "sex": "Female"}), 2)
    15.65
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
        """Check the claims of all releases, or others, on all their marginals together, where they can fail.

        Raises InputError or CriterionError for text that is no claim.
        """
        return self.published.verify() if claims is None else demanded(self.published, claims)

    def expected_count(self, where: Where) -> Quantity:
        """Expected number of rows that a condition means, by the labels that all releases together show.

        Its kind is that of the weakest release that has a weight.
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

"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.claims import Claim
from marginals import averages, comparisons, estimates, plausible
from marginals.arguments import kind_of, path_of, require, require_whole_number
from marginals.averages import Limits, Scale
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.reading import content_of
from marginals.bundle.signature import secret_key
from marginals.bundle.snapshot import Snapshot, WrittenBundle
from marginals.comparisons import TableBounds
from marginals.conditions import Where
from marginals.deadline import Seconds, within
from marginals.errors import InputError
from marginals.estimates import MOST_ROWS, Attributes, Estimate, Quantity, free_name, told
from marginals.named_rules import NamedRule, rules_of
from marginals.names import assumed_independences
from models.arrays import smallest_code_dtype
from models.graphs.basis import Basis
from models.graphs.junction_tree import Collection
from models.inference.log_linear import u_terms
from models.inference.marginal_model import MarginalModel
from models.inference.two_by_two import RISK_DIFFERENCE, RISK_RATIO
from models.tables.hierarchy import Domain, InducedAttribute, Margin

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from marginals.bundle.writing import Entering


_TAKEN_OUT = {
    "conditional": 'crosstab(given, attributes, normalize="rows")',
    "sample_base_values": "sample(rows, seed, base_values=True)",
}
"""What does the work of a method that is no more."""


@dataclass(frozen=True, eq=False)
class Release:
    """Marginals that are published together, ready to be analysed.

    published: the content. source: the bundle that it was read from or written to. The examples of the methods ask
    `marginals.example.release`, a release of 48 people.

    Each answer says which kind it is, as `kind` and `basis`, or in `attrs` of what is pandas: "published" if it is made of
    counts of one published table, "supported" if a published table shows the same attributes, but coarser than asked, and
    "assumed" if none does. The last warns, with `AssumptionWarning`.

    >>> import marginals
    >>> import pandas as pd
    >>> people = [("22", "f", "flu"), ("22", "m", "flu"), ("29", "f", "gout"), ("38", "m", "gout"), ("35", "m", "flu")]
    >>> table = marginals.read_table(
    ...     pd.DataFrame(people, columns=["age", "sex", "ill"]),
    ...     {"age": marginals.Attribute("quasi-identifier", intervals=[10]), "sex": "quasi-identifier", "ill": "sensitive"},
    ... )
    >>> marginals.publish(table, marginals.Policy(k_link=2, diversity="none")).release
    Release(5 rows, information 0 nats; age:0; sex:0; ill:0)
    """

    published: BundleContent
    source: WrittenBundle | None = None

    def __getattr__(self, name: str) -> Any:
        instead = f" any more: {_TAKEN_OUT[name]}" if name in _TAKEN_OUT else ""
        raise AttributeError(f"a Release has no {name!r}{instead}")

    def __repr__(self) -> str:
        stated = self.published.information
        information = "" if stated is None else f", information {stated:.4g} nats"
        where = f" where {self.published.where}" if self.published.where else ""
        return f"Release({self.rows} rows{where}{information}; {'; '.join(map(str, self.margins))})"

    def _repr_html_(self) -> str:
        """What a notebook shows: who published what, and the published tables with their cells and smallest counts."""
        published = self.published
        told_by = " · ".join(filter(None, (published.imprint.publisher, published.imprint.date, published.where)))
        rows = "".join(
            f"<tr><td>{escape(str(table.margin))}</td><td>{len(table):,}</td><td>{least:,}</td></tr>"
            for table in self.everything.tables
            for least in [min(table.counts.tolist(), default=0)]
        )
        return (
            f"<b>{escape(published.title)}</b><br>{escape(told_by)}{'<br>' if told_by else ''}{self.rows:,} rows"
            f"<table><tr><th>published table</th><th>cells</th><th>smallest count</th></tr>{rows}</table>"
        )

    def marginal(self, margin: Mapping[str, int]) -> "pd.Series[Any]":
        """Counts over any attributes at any levels, indexed by label, without cells of (expected) count 0.

        The series is `count`, of whole numbers, if a published marginal shows it; otherwise `expected_count`.

        >>> from marginals.example import release
        >>> release.marginal({"age": 2, "sex": 0})  # doctest: +NORMALIZE_WHITESPACE
        age    sex
        20-39  Female    16.309703
               Male      13.690297
        40-59  Female     6.690297
               Male      11.309703
        Name: expected_count, dtype: float64
        >>> release.marginal({"sex": 0, "diagnosis": 0})["Male"].to_dict()
        {'Asthma': 4, 'Flu': 5, 'Gout': 16}
        """
        require(margin, Mapping, "margin", 'a level for each attribute, such as {"age": 1}')
        return told(estimates.marginal(self.model, margin))

    def supports(self, attributes: Attributes) -> Basis:
        """How far published tables back a cross table of some attributes; false if it is assumed.

        attributes: names, at their finest published levels, or a level for each. `shown` are the finest margins that show
        them together, and `assumed` the smallest groups of them that none shows, mostly pairs.

        >>> from marginals.example import release
        >>> release.supports(["age", "diagnosis"])
        Basis(published; age:1, diagnosis:0)
        >>> release.supports({"age": 0, "diagnosis": 0})
        Basis(supported; age:1, diagnosis:0)
        >>> if not release.supports(["age", "sex", "diagnosis"]):
        ...     print(release.supports(["age", "sex", "diagnosis"]).assumed)
        (('age', 'sex'),)
        """
        return estimates.basis_by(self.model, estimates.as_margin(self.model, attributes))

    def counts(self, attributes: Attributes) -> "pd.DataFrame":
        """The possible cells of a margin: columns expected, lower, upper, exact.

        attributes: names, at their finest published levels, or a level for each. If `exact`, the published marginals leave
        one number only. `attrs["sharp"]` says whether all bounds are proven to be attained.

        >>> from marginals.example import release
        >>> release.counts({"age": 2, "sex": 0})  # doctest: +NORMALIZE_WHITESPACE
                       expected  lower  upper  exact
        age   sex
        20-39 Female  16.309703     13     22  False
              Male    13.690297      8     17  False
        40-59 Female   6.690297      1     10  False
              Male    11.309703      8     17  False
        """
        return told(estimates.counts(self.model, attributes))

    def count(self, where: Where, seconds: float = 0.0) -> Estimate:
        """Rows that a condition means: `{"age": "20-39", "race": ["White", "Black"]}` or `["age in 20-39", "sex=Female"]`.

        The bounds hold for certain, and `sharp` says whether they are proven to be the best. If not, integer programming
        may improve them for so many seconds, without the expected count then. Raises InputError for an unknown attribute
        or label.

        >>> from marginals.example import release
        >>> release.count({"age": "20-29", "sex": "Female"}).lower
        5
        >>> release.count({"age": "22", "diagnosis": "Flu"}).kind
        'supported'
        >>> release.count(["age in 20-39", "diagnosis=Asthma|Flu"])
        Estimate(expected=22.0, lower=22, upper=22, sharp=True, basis=Basis(published))
        """
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise InputError(
                f"seconds is a number of at least 0, not {kind_of(seconds)}; give several conditions as one, such as "
                'count(["age in 20-39", "sex=Female"])'
            )
        return told(estimates.count(self.model, where, seconds))

    def expected_count(self, where: Where) -> Quantity:
        """Expected number of rows that a condition means; labels may be of any level: `{"age": "30-34"}`.

        >>> from marginals.example import release
        >>> release.expected_count({"age": "20-39", "diagnosis": "Gout"})
        8.0
        """
        return told(estimates.expected_count(self.model, where))

    def crosstab(
        self,
        rows: Attributes = (),
        columns: Attributes = (),
        where: Where = (),
        *,
        normalize: str | None = None,
        margins: bool = False,
    ) -> "pd.DataFrame":
        """Expected counts of all combinations, ready for `scipy.stats.contingency`; of some rows only, if told which.

        normalize: "rows", "columns" or "all" for shares of these. margins: with sums as a last row and column, `All`.
        `attrs["covered_by"]` names, by attribute, values that are alike since one published group covers several of them.

        >>> from marginals.example import release
        >>> release.crosstab("sex", "diagnosis", where="age>=40").round(1)  # doctest: +NORMALIZE_WHITESPACE
        diagnosis  Asthma  Flu  Gout
        sex
        Female        3.5  2.1   1.1
        Male          1.5  0.9   8.9
        >>> release.crosstab("sex", "diagnosis", normalize="rows", margins=True).round(2)  # doctest: +NORMALIZE_WHITESPACE
        diagnosis  Asthma   Flu  Gout  All
        sex
        Female       0.39  0.52  0.09  1.0
        Male         0.16  0.20  0.64  1.0
        All          0.27  0.35  0.38  1.0
        """
        return told(estimates.crosstab(self.model, rows, columns, where, normalize, margins=margins))

    def crosstab_bounds(
        self, rows: Attributes = (), columns: Attributes = (), where: Where = (), *, normalize: str | None = None
    ) -> TableBounds:
        """Certain bounds of the cells of a cross table, or of shares: two frames, `lower` and `upper`, and `sharp`.

        A share is nan where its row, column or table is empty for certain.

        >>> from marginals.example import release
        >>> release.crosstab_bounds("sex", "diagnosis", where="age>=40").upper  # doctest: +NORMALIZE_WHITESPACE
        diagnosis  Asthma  Flu  Gout
        sex
        Female          5    3     2
        Male            4    3    10
        """
        return comparisons.crosstab_bounds(self.model, rows, columns, where, normalize)

    def share(self, part: Where, where: Where = ()) -> Quantity:
        """The share of the rows of a condition, by default of all, that another one holds for, too, with certain bounds.

        Rows without a value of an attribute of `part` are left out, unless it means them.

        >>> from marginals.example import release
        >>> release.share("diagnosis=Flu", where="sex=Female")
        0.5217 (0.5217 to 0.5217; published)
        >>> release.share("diagnosis=Flu", where="age=20-39")
        0.4667 (0.4667 to 0.4667; published)
        """
        return told(comparisons.share(self.model, part, where))

    def risk_ratio(self, outcome: Where, group: Where, where: Where = (), *, against: Where | None = None) -> Quantity:
        """The share of a group that has an outcome over that of another group, by default of everybody else, with bounds.

        Rows without a value of the outcome, or of a group that is compared with everybody else, are left out.

        >>> from marginals.example import release
        >>> release.risk_ratio("diagnosis=Gout", "sex=Male")
        7.36 (7.36 to 7.36; published)
        >>> release.risk_ratio("diagnosis=Gout", "age=50-59", against="age=20-29").lower
        inf
        """
        return told(comparisons.compared_shares(self.model, outcome, group, against, where, RISK_RATIO))

    def risk_difference(
        self, outcome: Where, group: Where, where: Where = (), *, against: Where | None = None
    ) -> Quantity:
        """The share of a group that has an outcome less that of another group, as `risk_ratio` compares them.

        >>> from marginals.example import release
        >>> release.risk_difference("diagnosis=Gout", "sex=Male", where="age>=40").sharp
        False
        """
        return told(comparisons.compared_shares(self.model, outcome, group, against, where, RISK_DIFFERENCE))

    def mean(
        self,
        attribute: str,
        where: Where = (),
        values: Mapping[str, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> Quantity:
        """The mean over the rows that a condition means, with the bounds between which it certainly lies.

        Rows without a value are left out. A label such as `20-29` stands for numbers between its ends: bounds hold whatever
        they are; the estimate takes whole numbers as equally likely, or the middle. A label without an end, `95 and over`,
        or a name, leaves the mean without a bound; the estimate takes its one end, and leaves names out.

        values: the number of each label of one level, where labels are none. limits: between which numbers all values are
        known to lie, `(0, 110)`.

        >>> from marginals.example import release
        >>> release.mean("age", where="diagnosis=Gout")
        43.39 (38.89 to 47.89; supported)
        >>> round(release.mean("sex", values={"Female": 0, "Male": 1}), 3)
        0.521
        """
        return told(averages.mean(self.model, attribute, where, Scale(values, limits)))

    def means(
        self,
        attribute: str,
        by: Attributes,
        where: Where = (),
        values: Mapping[str, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> "pd.DataFrame":
        """The mean of each group of rows with the same values of some attributes: columns mean, lower, upper, sharp.

        values, limits: as for `mean`. nan where no row is possible.

        >>> from marginals.example import release
        >>> release.means("age", by="diagnosis").round(1)  # doctest: +NORMALIZE_WHITESPACE
                   mean  lower  upper  sharp
        diagnosis
        Asthma     33.7   29.2   38.2   True
        Flu        33.3   28.8   37.8   True
        Gout       43.4   38.9   47.9   True
        """
        return told(averages.means(self.model, attribute, by, where, Scale(values, limits)))

    def total(
        self,
        attribute: str,
        where: Where = (),
        values: Mapping[str, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> Quantity:
        """The sum over the rows that a condition means, with certain bounds; as `mean`, of which it has the parameters.

        >>> from marginals.example import release
        >>> release.total("age", where="diagnosis=Gout")
        781 (700 to 862; supported)
        """
        return told(averages.total(self.model, attribute, where, Scale(values, limits)))

    def quantile(
        self,
        attribute: str,
        probabilities: Sequence[float] = (0.25, 0.5, 0.75),
        where: Where = (),
        values: Mapping[str, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> "pd.Series[float]":
        """For each probability the least value that at least so many of the rows do not exceed; as `mean` otherwise.

        >>> from marginals.example import release
        >>> release.quantile("age", [0.1, 0.5, 0.9]).to_dict()
        {0.1: 23.0, 0.5: 36.0, 0.9: 54.0}
        """
        return told(averages.quantiles(self.model, attribute, probabilities, where, Scale(values, limits)))

    def quantile_bounds(
        self,
        attribute: str,
        probabilities: Sequence[float] = (0.25, 0.5, 0.75),
        where: Where = (),
        values: Mapping[str, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> "pd.DataFrame":
        """Certain bounds of each quantile: columns lower, upper; `attrs["sharp"]` as in `Quantity`.

        >>> from marginals.example import release
        >>> release.quantile_bounds("age", [0.1, 0.5, 0.9])  # doctest: +NORMALIZE_WHITESPACE
                     lower  upper
        probability
        0.1           20.0   29.0
        0.5           30.0   39.0
        0.9           50.0   59.0
        """
        return averages.quantile_bounds(self.model, attribute, probabilities, where, Scale(values, limits))

    def odds_ratio(self, first: Where, second: Where, where: Where = ()) -> Quantity:
        """The odds ratio of two conditions, each on one attribute: `release.odds_ratio("sex=Male", "income=>50K")`.

        >>> from marginals.example import release
        >>> release.odds_ratio("sex=Male", "diagnosis=Flu")
        0.2292 (0.2292 to 0.2292; published)
        """
        return told(comparisons.odds_ratio(self.model, first, second, where))

    def mutual_information(self, first: Attributes, second: Attributes, given: Attributes = ()) -> Quantity:
        """Mutual information in nats under the maxent distribution, at the finest published or the given levels.

        >>> from marginals.example import release
        >>> round(release.mutual_information("sex", "diagnosis"), 3)
        0.18
        >>> round(release.mutual_information("age", "sex", given="diagnosis"), 3)
        0.0
        """
        return told(estimates.association(self.model, first, second, given))

    def u_terms(self, prior_rows: float = 0.0) -> "pd.DataFrame":
        """The u-terms of the log-linear model: columns `term`, a label for each attribute in it, and `u`.

        The terms of a cell sum to the logarithm of its expected count; each term sums to 0 over the values of each of its
        attributes. prior_rows: so many rows are counted in addition, spread evenly over all cells. Raises
        NotDecomposableError without a junction tree, NotFittedError for an empty published cell without prior rows.

        >>> from marginals.example import release
        >>> terms = release.u_terms(prior_rows=1)
        >>> list(terms["term"].unique())
        ['', 'age', 'sex', 'diagnosis', 'age, diagnosis', 'sex, diagnosis']
        >>> terms[terms["term"] == "sex, diagnosis"].round(2).tail(3)
                      term age   sex diagnosis     u
        25  sex, diagnosis      Male    Asthma -0.46
        26  sex, diagnosis      Male       Flu -0.49
        27  sex, diagnosis      Male      Gout  0.94
        """
        require(prior_rows, int | float | np.number, "prior_rows", "a number, such as 1.0")
        return terms_of(self.model, float(prior_rows))

    def independences(self) -> tuple[str, ...]:
        """What the maxent distribution takes as independent, a sentence for each separator of the junction tree.

        The published tables say nothing to the contrary. Without a junction tree the list need not be complete.

        >>> from marginals.example import release
        >>> release.independences()
        ('Given diagnosis, age in 10-year bands is independent of sex.',)
        """
        return assumed_independences(self.model.collection)

    def cells(self, attributes: Attributes | None = None) -> "pd.DataFrame":
        """Cells that are possible, as columns of labels, and their counts as `weight`, for weighted regressions.

        Of all published attributes by default. Raises TooManyCellsError where these are too many to be laid out.

        >>> from marginals.example import release
        >>> release.cells({"age": 2, "sex": 0})
             age     sex     weight
        0  20-39  Female  16.309703
        1  20-39    Male  13.690297
        2  40-59  Female   6.690297
        3  40-59    Male  11.309703
        """
        return told(estimates.weighted_cells(self.model, attributes))

    def sample(self, rows: int, seed: "int | np.random.Generator" = 0, *, base_values: bool = False) -> "pd.DataFrame":
        """Independent synthetic rows of the maxent distribution: the published attributes at their finest levels.

        base_values: all attributes at base values, drawn evenly among those under the published value. Raises InputError
        for fewer than no rows, DomainMismatchError where the release counts no rows at all.

        >>> from marginals.example import release
        >>> release.sample(2, seed=0)
             age     sex diagnosis
        0  40-49  Female    Asthma
        1  30-39  Female       Flu
        """
        return told(estimates.drawn(self.model, rows, _generator(rows, seed), base_values=base_values))

    def exact_rows(self, seed: int = 0, seconds: Seconds = 100.0, *, base_values: bool = False) -> "pd.DataFrame":
        """Synthetic rows, as many as were counted, in which every published count is exact: for programs that need rows.

        They are made from the published counts alone, so they tell no more than these. Many look like real rows, which is
        coincidence. Pairs of columns that no table shows rest on nothing, as in `sample`. base_values: all attributes at
        base values, drawn evenly among those under the published value. Raises TimeOverError if none are found in time.

        >>> from marginals.example import release
        >>> rows = release.exact_rows()
        >>> len(rows), (rows.sex == "Female").sum() == release.count({"sex": "Female"}).expected
        (48, np.True_)
        """
        require_whole_number(seed, "seed", 0)
        return told(estimates.exact_rows(self.model, self.everything, seed, within(seconds), base_values=base_values))

    @property
    def path(self) -> Path | None:
        """The folder that the release was read from or written to; None for one that is in no folder yet.

        >>> from marginals.example import release
        >>> print(release.path)
        None
        """
        return None if self.source is None else self.source.folder

    @property
    def least_count(self) -> int:
        """The largest count of rows that is claimed of anything; 1 if none is.

        >>> from marginals.example import release
        >>> release.least_count
        4
        """
        return self.published.least_count

    @property
    def collection(self) -> Collection:
        """The published marginals; where the release has further tables, its core, which has a junction tree.

        >>> from marginals.example import release
        >>> release.collection.is_decomposable
        True
        """
        return self.published.collection

    @property
    def everything(self) -> Collection:
        """All published marginals, further tables too.

        >>> from marginals.example import release
        >>> release.everything
        Collection(age:1, diagnosis:0; diagnosis:0, sex:0)
        """
        return self.published.everything

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies.

        >>> from marginals.example import release
        >>> release.domain.attributes
        ('age', 'sex', 'diagnosis')
        """
        return self.published.domain

    @property
    def rows(self) -> int:
        """Number of rows that every marginal counts.

        >>> from marginals.example import release
        >>> release.rows
        48
        """
        return self.collection.cube.total

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The published margins: for each its attributes with their levels.

        >>> from marginals.example import release
        >>> [str(margin) for margin in release.margins]
        ['age:1, diagnosis:0', 'diagnosis:0, sex:0']
        """
        return self.everything.margins

    @property
    def further(self) -> tuple[Margin, ...]:
        """The margins of further tables, of nonsensitive attributes, beside those that have a junction tree.

        >>> from marginals.example import release
        >>> release.further
        ()
        """
        return tuple(map(self.domain.margin, self.published.further))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is claimed of the release's privacy.

        >>> from marginals.example import release
        >>> [str(claim) for claim in release.claims]
        ['KLink(k=4)', "MaxentDiversity(diversity=Distinct(l=2), sensitive='diagnosis', level=0)"]
        """
        return self.published.claims

    @property
    def information(self) -> float:
        """The KL divergence in nats from the maxent distribution to independence of all attributes, without further tables.

        Without a junction tree it is fitted; raises NotFittedError or TooManyCellsError if that is not possible.

        >>> from marginals.example import release
        >>> round(release.information, 3)
        0.497
        """
        return self.model.information

    @cached_property
    def model(self) -> MarginalModel:
        """The maxent distribution as arrays; with further tables that of the core, fitted to them for each answer.

        >>> from marginals.example import release
        >>> release.model.finest_levels
        {'age': 1, 'sex': 0, 'diagnosis': 0}
        """
        return self.published.model

    def plausible_tables(self, count: int = 20, seed: int = 0) -> "Iterator[pd.DataFrame]":
        """So many whole tables with every published count, one after the other: a row for each person.

        What no published table shows is drawn as strong as what one shows, so the release does not decide a number that
        differs between them. No row is somebody's. Raises InputError with further tables, or without a junction tree.

        >>> from marginals.example import release
        >>> tables = release.plausible_tables(3, seed=1)
        >>> [int(((table.age == "20-29") & (table.sex == "Female")).sum()) for table in tables]
        [10, 8, 11]
        """
        self._require_no_further_tables()
        return plausible.drawn_tables(self.model, count, seed)

    def plausible_interval(
        self, statistic: plausible.Statistic | Where, level: float = 0.95, count: int = 50, seed: int = 0
    ) -> plausible.PlausibleInterval:
        """The interval of a statistic over tables with every published count; only bounds hold for certain.

        statistic: a function of a frame with a row for each person, or a condition whose rows are counted. Assumptions and
        errors as of `plausible_tables`.

        >>> from marginals.example import release
        >>> print(release.plausible_interval("age=20-29 and sex=Female"))
        6 to 14 (about 12; 95%, by 50 tables in which what no table shows is as strong as what is shown)
        """
        self._require_no_further_tables()
        return plausible.plausible_interval(self.model, statistic, level, count, seed)

    def _require_no_further_tables(self) -> None:
        if self.further:
            raise InputError(
                f"plausible tables do not keep to further tables, and this release has {len(self.further)}; "
                "bounds hold all the same: release.count(...)"
            )

    def interaction_graph(self) -> "nx.Graph[InducedAttribute]":
        """Which steps of generalization are published together, as a networkx graph.

        >>> from marginals.example import release
        >>> sorted(f"{step.attribute}:{step.level}" for step in release.interaction_graph())
        ['age:1', 'age:2', 'diagnosis:0', 'sex:0']
        """
        return self.everything.interaction_graph.to_networkx()

    def junction_tree(self) -> "nx.Graph[Margin]":
        """How the margins hang together: nodes are margins, edges carry their `separator`. Further tables are not in it.

        >>> from marginals.example import release
        >>> [(str(a), str(b), str(s)) for a, b, s in release.junction_tree().edges(data="separator")]
        [('age:1, diagnosis:0', 'diagnosis:0, sex:0', 'diagnosis:0')]
        """
        return self.collection.junction_tree.graph()

    def verify(
        self, claims: Sequence[str | Claim] | None = None, rules: Sequence[str | NamedRule] = ()
    ) -> Verification:
        """Check the claims of the release, or others, as text or as objects, on its marginals alone.

        rules: names, or TOML files, of rules to check, too. Raises InputError or CriterionError for no claim, or no rule.

        >>> from marginals.example import release
        >>> release.verify().ok
        True
        >>> print(release.verify())
        k-link (k 4): holds
        maxent-diversity (diversity distinct:2, sensitive diagnosis): holds
        >>> release.verify(["k-link=20"]).ok
        False
        >>> [rule.verdict.value for rule in release.verify(rules=["cms-11"]).rules]
        ['fails']
        """
        if claims is None and not rules:
            return self.published.verify()
        from marginals.release.verification import demanded  # slow to import, and few need it

        return demanded(self.published, claims or (), rules_of(rules))

    def write(self, path: str | Path, sign: str | Path | None = None) -> "Release":
        """Write the release as a bundle: all of it or nothing. Returns the release with its folder.

        sign: file of a secret key of minisign, which then signs the bundle; a key with a password needs a terminal. Raises
        InputError if minisign is missing or fails. A release for a ledger is written by its `Publication`.

        >>> from marginals.example import release
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     written = release.write(f"{folder}/release")
        ...     sorted(file.name for file in written.path.iterdir())
        ['datapackage.json', 'datapackage.json.sha256', 'hierarchies', 'marginals', 'report.html']
        """
        return write_release(self, path, sign)

    def write_report(self, path: str | Path) -> None:
        """Write the report, one HTML page, to a file. Raises InputError where it cannot be written, or lies in a bundle.

        >>> from marginals.example import release
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     release.write_report(f"{folder}/report.html")
        ...     Path(folder, "report.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        from marginals.bundle.writing import output_file  # slow to import, and few need it

        file = output_file(path_of(path))
        file.write(_report(self.published))


def _generator(rows: object, seed: "int | np.random.Generator") -> "np.random.Generator":
    """Random numbers for so many rows. Raises InputError for what is no number of rows, or no seed."""
    require_whole_number(rows, "rows", 0, MOST_ROWS)
    if not isinstance(seed, np.random.Generator):
        require_whole_number(seed, "seed", 0)
    return np.random.default_rng(seed)


def write_release(
    release: Release, path: str | Path, sign: str | Path | None = None, entering: "Entering | None" = None
) -> Release:
    """Write a release as a bundle, as `Release.write` does. entering: notes in a ledger that it is out."""
    from marginals.bundle.writing import write_bundle  # slow to import, and who reads a release needs none of it

    key = None if sign is None else secret_key(sign)
    return replace(
        release, source=write_bundle(release.published, path_of(path), _report(release.published), key, entering)
    )


def _report(published: BundleContent) -> bytes:
    from marginals.pages.release_page import report_html

    return report_html(published)


def open_release(path: str | Path, seconds: Seconds = None) -> Release:
    """The release in a bundle. Raises InputError where there is none, BundleError where it cannot be trusted.

    seconds: time budget for all work on the release, from now on. When it ends, checks are undecided, bounds are the best so
    far, and anything else raises TimeOverError.

    >>> from tempfile import TemporaryDirectory
    >>> import marginals.example
    >>> with TemporaryDirectory() as folder:
    ...     _ = marginals.example.release.write(f"{folder}/release")
    ...     open_release(f"{folder}/release").rows
    48
    """
    folder = path_of(path)
    deadline = within(seconds)
    snapshot = Snapshot.of(folder)
    return Release(content_of(snapshot, deadline), WrittenBundle(folder, snapshot.descriptor.identity))


def terms_of(model: MarginalModel, prior_rows: float = 0.0) -> "pd.DataFrame":
    """One row a value of a term: its name, the labels of its attributes, "" for all others, and `u`. Raises as `u_terms`."""
    import pandas as pd

    terms = u_terms(model.closed_form, prior_rows)
    begins = np.cumsum([0, *(values.size for values in terms.values())])
    published = [a for a in model.domain.attributes if model.finest_levels[a] < model.domain.hierarchy(a).height]
    level_labels = {a: model.domain.hierarchy(a).labels[model.finest_levels[a]] for a in published}
    labels = {a: pd.Index([free_name("", level), *level], dtype=str) for a, level in level_labels.items()}
    codes = {a: np.zeros(begins[-1], dtype=smallest_code_dtype(len(labels[a]))) for a in published}
    for begin, (attributes, values) in zip(begins, terms.items()):
        for attribute, column in zip(attributes, np.indices(values.shape).reshape(len(attributes), values.size)):
            codes[attribute][begin : begin + values.size] = column + 1
    names = [", ".join(attributes) for attributes in terms]
    columns = {
        free_name("term", published): pd.Categorical.from_codes(
            np.repeat(np.arange(len(names)), np.diff(begins)), pd.Index(names, dtype=str)
        ),
        **{a: pd.Categorical.from_codes(codes[a], labels[a]) for a in published},
        free_name("u", published): np.concatenate([values.ravel() for values in terms.values()]),
    }
    return pd.DataFrame(columns, copy=False)

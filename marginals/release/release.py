"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from checks.claims.claim import Claim
from marginals.bundle.asked_claims import asked_claims
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.signature import secret_key
from marginals.bundle.target import output_file
from marginals.bundle.writing import put_report, write_bundle
from marginals.conditions.grammar import Where
from marginals.errors import InputError
from marginals.release.estimates import (
    Attributes,
    Estimate,
    OddsRatio,
    as_margin,
    association,
    box_of,
    cells_of,
    count,
    counts,
    crosstab,
    distribution,
    labelled,
    odds,
    rows_frame,
)
from models.arrays import CodeArray
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.inference.sampling import drawn_leaves
from models.search import SearchResult
from models.tables.domain import Domain, InducedAttribute
from models.tables.margin import Margin

PageMaker = Callable[[BundleContent], bytes]
"""What makes the report of a release: a page of HTML."""


@dataclass(frozen=True, eq=False)
class Release:
    """Marginals that are published together, ready to be analysed.

    published: the content. page: what makes its report. path: the folder it was read from or written to. search: how it
    was found, when just made.

    >>> import marginals
    >>> import pandas as pd
    >>> people = [("22", "f", "flu"), ("22", "m", "flu"), ("29", "f", "gout"), ("38", "m", "gout"), ("35", "m", "flu")]
    >>> table = marginals.read_table(
    ...     pd.DataFrame(people, columns=["age", "sex", "ill"]),
    ...     {"age": marginals.Attribute("quasi-identifier", intervals=[10]), "sex": "quasi-identifier", "ill": "sensitive"},
    ... )
    >>> marginals.publish(table, marginals.Policy(k_link=2))
    Release(5 rows, KL divergence 2.684 nats; age:1, ill:0; ill:0, sex:0)

    The examples of the methods ask `marginals.example.release`, a release of 48 people.
    """

    published: BundleContent
    page: PageMaker
    path: Path | None = None
    search: SearchResult | None = None

    def __repr__(self) -> str:
        kl = "" if self.kl_divergence is None else f", KL divergence {self.kl_divergence:.4g} nats"
        return f"Release({self.rows} rows{kl}; {'; '.join(map(str, self.margins))})"

    @property
    def collection(self) -> Collection:
        """The published marginals.

        >>> from marginals.example import release
        >>> release.collection.is_decomposable
        True
        """
        return self.published.collection

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
        return self.collection.margins

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is claimed of the release's privacy.

        >>> from marginals.example import release
        >>> [str(claim) for claim in release.claims]
        ['KLink(k=4)', "MaxentDiversity(diversity=Distinct(l=2), sensitive='diagnosis')"]
        """
        return self.published.claims

    @property
    def kl_divergence(self) -> float | None:
        """KL divergence from the data to the maxent distribution of the release, nats, as its publisher states it.

        >>> from marginals.example import release
        >>> round(release.kl_divergence, 3)
        2.532
        """
        return None if self.published.utility is None else self.published.utility.kl_divergence

    @cached_property
    def model(self) -> MarginalModel:
        """The maxent distribution of the release, decomposable or not, as arrays; what has been asked is kept.

        >>> from marginals.example import release
        >>> release.model.finest_levels
        {'age': 1, 'sex': 0, 'diagnosis': 0}
        """
        return MarginalModel(self.collection)

    @property
    def maximum_entropy(self) -> MaximumEntropy:
        """The maxent distribution in closed form. Raises NotDecomposableError when it has none.

        >>> from marginals.example import release
        >>> release.maximum_entropy
        MaximumEntropy(collection=Collection(age:1, diagnosis:0; diagnosis:0, sex:0))
        """
        return self.model.closed_form

    def interaction_graph(self) -> "nx.Graph[InducedAttribute]":
        """Which steps of generalization are published together, as a networkx graph.

        >>> from marginals.example import release
        >>> sorted(f"{step.attribute}:{step.level}" for step in release.interaction_graph())
        ['age:1', 'age:2', 'diagnosis:0', 'sex:0']
        """
        return self.collection.interaction_graph.to_networkx()

    def junction_tree(self) -> "nx.Graph[Margin]":
        """How the margins hang together: nodes are margins, edges carry their `separator`.

        >>> from marginals.example import release
        >>> [(str(a), str(b), str(s)) for a, b, s in release.junction_tree().edges(data="separator")]
        [('age:1, diagnosis:0', 'diagnosis:0, sex:0', 'diagnosis:0')]
        """
        return self.collection.junction_tree.graph()

    def marginal(self, margin: Mapping[str, int]) -> "pd.Series[Any]":
        """Counts over any attributes at any levels, indexed by label.

        A series named `count`, of whole numbers, where a published marginal shows it exactly; otherwise one named
        `expected_count` from the maxent distribution. Cells of (expected) count 0 are left out.

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
        cells = cells_of(self.model, margin)
        name = "expected_count" if cells.counts.dtype.kind == "f" else "count"
        return labelled(self.model, cells, margin, {name: cells.counts})[name]

    def counts(self, attributes: Attributes) -> pd.DataFrame:
        """A margin with how surely it is known: columns expected, lower, upper, exact; one row a cell that is possible.

        attributes: names, at their finest published levels, or a level for each. Where `exact`, the published marginals
        leave one number only; when all rows are, `expected` holds whole numbers. `attrs["sharp"]` says whether all bounds
        are proven to be attained by tables with the published marginals.

        >>> from marginals.example import release
        >>> release.counts({"age": 2, "sex": 0})  # doctest: +NORMALIZE_WHITESPACE
                       expected  lower  upper  exact
        age   sex
        20-39 Female  16.309703     13     22  False
              Male    13.690297      8     17  False
        40-59 Female   6.690297      1     10  False
              Male    11.309703      8     17  False
        """
        return counts(self.model, attributes)

    def count(self, where: Where, seconds: float = 0.0) -> Estimate:
        """Rows that a condition means: `{"age": "20-39", "race": ["White", "Black"]}` or `["age in 20-39", "sex=Female"]`.

        The bounds hold for certain, and `sharp` says whether they are proven to be the best. Where they are not, integer
        programming may improve them for so many seconds; for sets of values it may then leave out the expected count,
        which need not be a whole number. Raises InputError for an attribute or label that there is not.

        >>> from marginals.example import release
        >>> release.count({"age": "20-29", "sex": "Female"}).lower
        5
        >>> release.count(["age in 20-39", "diagnosis=Asthma|Flu"])
        Estimate(expected=22.0, lower=22, upper=22, sharp=True)
        """
        return count(self.model, where, seconds)

    def expected_count(self, where: Where) -> float:
        """Expected number of rows that a condition means; labels may be of any level: `{"age": "30-34"}`.

        >>> from marginals.example import release
        >>> release.expected_count({"age": "20-39", "diagnosis": "Gout"})
        8.0
        """
        return self.model.expected_in(box_of(self.model, where))

    def crosstab(self, rows: Attributes, columns: Attributes, where: Where = ()) -> pd.DataFrame:
        """Expected counts of all combinations, ready for `scipy.stats.contingency`; of some rows only, if told which.

        >>> from marginals.example import release
        >>> release.crosstab("sex", "diagnosis", where="age>=40").round(1)  # doctest: +NORMALIZE_WHITESPACE
        diagnosis  Asthma  Flu  Gout
        sex
        Female        3.5  2.1   1.1
        Male          1.5  0.9   8.9
        """
        return crosstab(self.model, rows, columns, where)

    def conditional(self, attributes: Attributes, given: Attributes, where: Where = ()) -> pd.DataFrame:
        """Probabilities of `attributes` (columns) given others (rows); nan where nothing is given.

        >>> from marginals.example import release
        >>> release.conditional("diagnosis", given="sex").round(2)  # doctest: +NORMALIZE_WHITESPACE
        diagnosis  Asthma   Flu  Gout
        sex
        Female       0.39  0.52  0.09
        Male         0.16  0.20  0.64
        """
        table = crosstab(self.model, given, attributes, where)
        return table.div(table.sum(axis=1).replace(0.0, np.nan), axis=0)

    def mean(self, attribute: str, where: Where = (), values: Mapping[str, float] | None = None) -> float:
        """Expected value among the rows that a condition means. values: the number of each label, if labels are none.

        >>> from marginals.example import release
        >>> round(release.mean("age", where="diagnosis=Gout"), 2)
        43.39
        >>> round(release.mean("sex", values={"Female": 0, "Male": 1}), 3)
        0.521
        """
        numbers, probabilities = distribution(self.model, attribute, where, values)
        return float(numbers @ probabilities)

    def quantile(
        self,
        attribute: str,
        probabilities: Sequence[float] = (0.25, 0.5, 0.75),
        where: Where = (),
        values: Mapping[str, float] | None = None,
    ) -> "pd.Series[float]":
        """For each probability the least value that at least so many of the rows do not exceed.

        >>> from marginals.example import release
        >>> release.quantile("age", [0.1, 0.5, 0.9]).to_dict()
        {0.1: 23.0, 0.5: 36.0, 0.9: 54.0}
        """
        numbers, shares = distribution(self.model, attribute, where, values)
        if isinstance(probabilities, float | int):
            raise InputError("quantiles are asked for by a list of probabilities, such as [0.5]")
        if not all(0 <= p <= 1 for p in probabilities):
            raise InputError("a quantile is asked for with a probability from 0 to 1")
        places = np.searchsorted(np.cumsum(shares) * (1 + 1e-12), probabilities)
        found = numbers[np.minimum(places, len(numbers) - 1)]
        return pd.Series(found, index=pd.Index(probabilities, name="probability"), name=attribute)

    def odds_ratio(self, first: Where, second: Where, where: Where = ()) -> OddsRatio:
        """The odds ratio of two conditions, each on one attribute: `release.odds_ratio("sex=Male", "income=>50K")`.

        >>> from marginals.example import release
        >>> round(release.odds_ratio("sex=Male", "diagnosis=Flu").expected, 3)
        0.229
        """
        return odds(self.model, first, second, where)

    def mutual_information(self, first: Attributes, second: Attributes, given: Attributes = ()) -> float:
        """Mutual information in nats under the maxent distribution, at the finest published or the given levels.

        >>> from marginals.example import release
        >>> round(release.mutual_information("sex", "diagnosis"), 3)
        0.18
        >>> round(release.mutual_information("age", "sex", given="diagnosis"), 3)
        0.0
        """
        return association(self.model, first, second, given)

    def cells(self, attributes: Attributes | None = None) -> pd.DataFrame:
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
        published = [a for a, level in self.model.finest_levels.items() if level < self.domain.hierarchy(a).height]
        margin = as_margin(self.model, published if attributes is None else attributes)
        cells = cells_of(self.model, margin)
        return labelled(self.model, cells, margin, {"weight": cells.counts}).reset_index(drop=not cells.codes)

    def sample(self, rows: int, seed: int | np.random.Generator = 0) -> pd.DataFrame:
        """Independent synthetic rows of the maxent distribution: the published attributes at their finest levels.

        Raises InputError for fewer than no rows, DomainMismatchError where the release counts no rows at all.

        >>> from marginals.example import release
        >>> release.sample(2, seed=0)
             age     sex diagnosis
        0  40-49  Female    Asthma
        1  30-39  Female       Flu
        """
        codes = self._draw(rows, np.random.default_rng(seed))
        return rows_frame(self.model, self.model.finest_levels, codes)

    def sample_base_values(self, rows: int, seed: int | np.random.Generator = 0) -> pd.DataFrame:
        """As `sample`, all attributes at base values, drawn evenly among those under the published value.

        >>> from marginals.example import release
        >>> release.sample_base_values(2, seed=0)
          age     sex diagnosis
        0  48  Female    Asthma
        1  39  Female       Flu
        """
        rng = np.random.default_rng(seed)
        codes = self._draw(rows, rng)
        leaves = drawn_leaves(self.domain, self.model.finest_levels, codes, rows, rng)
        return rows_frame(self.model, dict.fromkeys(self.domain.attributes, 0), leaves)

    def _draw(self, rows: int, rng: np.random.Generator) -> dict[str, CodeArray]:
        if rows < 0:
            raise InputError(f"a sample has 0 rows or more, not {rows}")
        return self.model.sampler.draw(rows, rng)

    def trace(self) -> pd.DataFrame:
        """The search step by step, where the release was just made: `move`, KL divergence `before` and `after` it in
        nats, and `refused`, why better moves were passed over. Empty for a release that was opened.

        >>> from marginals.example import release
        >>> release.trace()[["before", "after"]].round(3)
           before  after
        0   3.028  2.849
        1   2.849  2.790
        2   2.790  2.532
        """
        steps = self.search.steps if self.search else ()
        return pd.DataFrame([asdict(step) for step in steps], columns=["move", "before", "after", "refused"])

    def verify(self, claims: Sequence[str | Claim] | None = None) -> Verification:
        """Check the claims of the release, or others, as text or as objects, on its marginals alone.

        Raises InputError or CriterionError for text that is no claim.

        >>> from marginals.example import release
        >>> release.verify().ok
        True
        >>> print(release.verify())
        k-link (k 4): holds
        maxent-diversity (diversity distinct:2, sensitive diagnosis): holds
        >>> release.verify(["k-link=20"]).ok
        False
        """
        return self.published.verify(None if claims is None else asked_claims(claims, self.published.sensitive))

    def write(self, path: str | Path, sign: str | Path | None = None) -> "Release":
        """Write the release as a bundle : all of it or nothing. Returns the release with its folder.

        sign: file of a secret key of minisign, which then signs the bundle. Raises InputError where that is not
        installed, or does not sign; a key with a password needs a terminal to ask for it.

        >>> from marginals.example import release
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     written = release.write(f"{folder}/release")
        ...     sorted(file.name for file in written.path.iterdir())
        ['datapackage.json', 'datapackage.json.sha256', 'hierarchies', 'marginals', 'report.html']
        """
        folder = Path(path)
        key = None if sign is None else secret_key(sign)
        write_bundle(self.published, folder, self.page(self.published), key)
        return replace(self, path=folder)

    def write_report(self, path: str | Path | None = None, sign: str | Path | None = None) -> None:
        """Write the report, one HTML page, to a file, or without one into the bundle that the release was read from.

        sign: file of the secret key of minisign by which the bundle is signed again; one that is signed already keeps
        its report without. Raises InputError where it cannot be written or signed, and for a file in a bundle.

        >>> from marginals.example import release
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     release.write_report(f"{folder}/report.html")
        ...     Path(folder, "report.html").read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        if path is not None and sign is not None:
            raise InputError("a report in a file of its own is not signed; what is signed is the bundle")
        file = None if path is None else output_file(Path(path))
        page = self.page(self.published)
        if file is None:
            if self.path is None:
                raise InputError("the release is in no folder yet; write it, or name a file for its report")
            put_report(self.path, page, None if sign is None else secret_key(sign))
            return
        file.write(page)

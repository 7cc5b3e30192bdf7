"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import networkx as nx
import pandas as pd

from checks.claims.claim import Claim
from marginals.bundle.asked_claims import asked_claims
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.signature import secret_key
from marginals.bundle.target import output_file
from marginals.bundle.writing import put_report, write_bundle
from marginals.errors import InputError
from marginals.release.analysis import ModelAnalysis
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.search import SearchResult
from models.tables.domain import Domain, InducedAttribute
from models.tables.margin import Margin

PageMaker = Callable[[BundleContent], bytes]
"""What makes the report of a release: a page of HTML."""


@dataclass(frozen=True, eq=False)
class Release(ModelAnalysis):
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

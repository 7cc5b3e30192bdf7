"""Releases: published marginals as an analyst sees them, without the data they came from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from checks.claims.claim import Claim
from marginals.bundle.content import BundleContent, Verification
from marginals.bundle.signature import secret_key
from marginals.errors import InputError
from marginals.named_rules.rule import NamedRule, rules_of
from marginals.release.analysis import ModelAnalysis
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.domain import Domain, InducedAttribute
from models.tables.margin import Margin

if TYPE_CHECKING:
    import networkx as nx

    from marginals.bundle.writing import Entering, WrittenBundle
    from marginals.release.steward import StewardReport

PageMaker = Callable[[BundleContent], bytes]
"""What makes the report of a release: a page of HTML."""


@dataclass(frozen=True, eq=False)
class Release(ModelAnalysis):
    """Marginals that are published together, ready to be analysed.

    published: the content. page: what makes its report. written: the bundle it was read from or written to. steward: what
    only its publisher knows of it, when just made; it is not written with the release. entering: of a release that was
    made for a ledger, how it is entered there when it is written.

    >>> import marginals
    >>> import pandas as pd
    >>> people = [("22", "f", "flu"), ("22", "m", "flu"), ("29", "f", "gout"), ("38", "m", "gout"), ("35", "m", "flu")]
    >>> table = marginals.read_table(
    ...     pd.DataFrame(people, columns=["age", "sex", "ill"]),
    ...     {"age": marginals.Attribute("quasi-identifier", intervals=[10]), "sex": "quasi-identifier", "ill": "sensitive"},
    ... )
    >>> marginals.publish(table, marginals.Policy(k_link=2))
    Release(5 rows, information 0.02769 nats; age:0, ill:0; ill:0, sex:0)

    The examples of the methods ask `marginals.example.release`, a release of 48 people.
    """

    published: BundleContent
    page: PageMaker
    written: "WrittenBundle | None" = None
    steward: "StewardReport | None" = None
    entering: "Entering | None" = None

    def __repr__(self) -> str:
        stated = self.published.information
        information = "" if stated is None else f", information {stated:.4g} nats"
        where = f" where {self.published.where}" if self.published.where else ""
        return f"Release({self.rows} rows{where}{information}; {'; '.join(map(str, self.margins))})"

    @property
    def path(self) -> Path | None:
        """The folder that the release was read from or written to; None for one that is in no folder yet.

        >>> from marginals.example import release
        >>> print(release.path)
        None
        """
        return None if self.written is None else self.written.folder

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
        ['KLink(k=4)', "MaxentDiversity(diversity=Distinct(l=2), sensitive='diagnosis', level=0)"]
        """
        return self.published.claims

    @property
    def information(self) -> float:
        """What the release tells beyond the counts of each attribute by itself, nats.

        The KL divergence from its maxent distribution to the one in which attributes are independent, each with its
        published counts. It follows from the marginals. Without a junction tree it is fitted; raises NotFittedError or
        TooManyCellsError where that is not possible.

        >>> from marginals.example import release
        >>> round(release.information, 3)
        0.497
        """
        return self.model.information

    @property
    def total_information(self) -> float:
        """All that the release tells, the counts of each attribute by itself among it, nats: ln of the number of possible
        base cells, less the entropy of the maxent distribution. Raises as `information` does.

        Of two releases of one table over the same base values the one that tells more has the smaller KL divergence from
        the data, by the difference.

        >>> from marginals.example import release
        >>> round(release.total_information, 3)
        0.54
        """
        return self.model.total_information

    @cached_property
    def model(self) -> MarginalModel:
        """The maxent distribution of the release, decomposable or not, as arrays; what has been asked is kept.

        >>> from marginals.example import release
        >>> release.model.finest_levels
        {'age': 1, 'sex': 0, 'diagnosis': 0}
        """
        return MarginalModel(self.collection, self.published.deadline)

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

    def verify(
        self, claims: Sequence[str | Claim] | None = None, rules: Sequence[str | NamedRule] = ()
    ) -> Verification:
        """Check the claims of the release, or others, as text or as objects, on its marginals alone.

        rules: named ones, or TOML files with one, whose demands are checked beside the claims given. Raises InputError or
        CriterionError for text that is no claim, or no rule.

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
        from marginals.bundle.asked_claims import asked_claims  # slow to import, and few need it

        sensitive = self.published.sensitive
        asked = asked_claims(claims or (), sensitive, self.published.claims)
        return self.published.claiming(asked, [rule.applied(sensitive) for rule in rules_of(rules)]).verify()

    def write(self, path: str | Path, sign: str | Path | None = None) -> "Release":
        """Write the release as a bundle : all of it or nothing. Returns the release with its folder.

        sign: file of a secret key of minisign, which then signs the bundle. Raises InputError where that is not
        installed, or does not sign; a key with a password needs a terminal to ask for it. A release that was made for a
        ledger is entered there, and then written once.

        >>> from marginals.example import release
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     written = release.write(f"{folder}/release")
        ...     sorted(file.name for file in written.path.iterdir())
        ['datapackage.json', 'datapackage.json.sha256', 'hierarchies', 'marginals', 'report.html']
        """
        from marginals.bundle.writing import write_bundle  # slow to import, and who reads a release needs none of it

        key = None if sign is None else secret_key(sign)
        return replace(
            self, written=write_bundle(self.published, Path(path), self.page(self.published), key, self.entering)
        )

    def write_report(self, path: str | Path | None = None, sign: str | Path | None = None) -> None:
        """Write the report, one HTML page, to a file, or without one into the bundle that the release was read from.

        sign: file of the secret key of minisign by which the bundle is signed again; one that is signed already keeps
        its report without. Raises InputError where it cannot be written or signed, for a file in a bundle, and
        where the folder holds another release by now.

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
        from marginals.bundle.target import output_file  # slow to import, and few need it

        file = None if path is None else output_file(Path(path))
        page = self.page(self.published)
        if file is None:
            if self.written is None:
                raise InputError("the release is in no folder yet; write it, or name a file for its report")
            from marginals.bundle.writing import put_report

            put_report(self.written, page, None if sign is None else secret_key(sign))
            return
        file.write(page)

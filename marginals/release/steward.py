"""What the steward of a table may know of its release, and nobody else: how near it comes to the data, how it was found.

None of it follows from the published marginals, so it is no part of a bundle. A single number such as a divergence with
all its digits can tell which of the tables that fit the marginals is the real one.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import pandas as pd

from marginals.bundle.content import BundleContent
from marginals.bundle.target import output_file
from marginals.files.atomic_file import PRIVATE, replace_file
from models.search import SearchResult
from models.tables.domain import Domain

StewardPageMaker = Callable[["StewardReport"], bytes]
"""What makes the page of a steward's report: HTML."""


@dataclass(frozen=True)
class TableErrors:
    """How far the model's tables at base values are from the data's, as total variation, from 0 to 1.

    by_table: for each table that was compared its attributes. left_out: how many were not compared, since they are too
    large, or too many.
    """

    by_table: Mapping[tuple[str, ...], float]
    left_out: int = 0

    @property
    def mean(self) -> float:
        """Their mean; 0 where none was compared."""
        return fmean(self.by_table.values()) if self.by_table else 0.0

    @property
    def worst(self) -> tuple[str, ...] | None:
        """The attributes of the first of the tables that are furthest from the data; None where none was compared."""
        return max(self.by_table, key=lambda attributes: self.by_table[attributes], default=None)


@dataclass(frozen=True, eq=False)
class StewardReport:
    """What is known of a release from the table that it was made of. Not for publication.

    published: the release. kl_divergence: from the data to its maximum-entropy distribution; kl_suppressed: to that of the
    table with all quasi-identifiers suppressed; kl_best_table: to that of the best single table, None where none was
    looked for; all in nats, and smaller is better. search: how the release was found. dropped: rows of the table that
    were not counted, since a value was missing; dropped_in: how many lack one in each column, most first. one_way, two_way:
    errors of the tables of one attribute, and of two. page: what makes its page. domain: of the table,
    whose levels the search speaks of. unpublished: for each attribute of which nothing is published why not, and what helps;
    it may name a value of the table. left_out: rows beyond those that count of their person.

    >>> from marginals.example import release
    >>> report = release.steward
    >>> round(report.kl_divergence, 3), round(report.kl_suppressed, 3)
    (2.532, 3.062)
    >>> report.search.strategy, report.search.evaluated, report.dropped
    ('greedy', 5, 0)
    >>> report.two_way.worst, round(report.two_way.by_table["age", "diagnosis"], 3)
    (('age', 'sex'), 0.854)
    """

    published: BundleContent
    kl_divergence: float
    kl_suppressed: float
    kl_best_table: float | None
    search: SearchResult
    dropped: int
    dropped_in: Mapping[str, int]
    one_way: TableErrors
    two_way: TableErrors
    page: StewardPageMaker
    domain: Domain
    unpublished: Mapping[str, str]
    left_out: int = 0

    def __repr__(self) -> str:
        return f"StewardReport(KL divergence {self.kl_divergence:.4g} nats; not for publication)"

    @property
    def gain(self) -> float | None:
        """How many times as much the release tells as the best single table, beyond the suppressed one; None where none
        was looked for, or where it tells nothing.

        >>> from marginals.example import release
        >>> release.steward.gain is None
        True
        """
        if self.kl_best_table is None:
            return None
        by_best = self.kl_suppressed - self.kl_best_table
        return (self.kl_suppressed - self.kl_divergence) / by_best if by_best > 1e-9 else None

    def trace(self) -> pd.DataFrame:
        """The search step by step: `move`, KL divergence `before` and `after` it in nats, and `refused`, why better moves
        were passed over.

        >>> from marginals.example import release
        >>> release.steward.trace()[["before", "after"]].round(3)
           before  after
        0   3.028  2.849
        1   2.849  2.790
        2   2.790  2.532
        """
        steps = [asdict(step) for step in self.search.steps]
        return pd.DataFrame(steps, columns=["move", "before", "after", "refused"])

    def write(self, path: str | Path) -> None:
        """Write it as one HTML page, which is not for publication and which its owner alone may read.

        Raises InputError for a file that cannot be written, or that lies in a release.

        >>> from tempfile import TemporaryDirectory
        >>> from marginals.example import release
        >>> with TemporaryDirectory() as folder:
        ...     release.steward.write(f"{folder}/steward.html")
        ...     "Not for publication" in Path(folder, "steward.html").read_text(encoding="utf-8")
        True
        """
        replace_file(output_file(Path(path)).path, self.page(self), PRIVATE)

"""What the steward of a table may know of its release, and nobody else: how near it comes to the data, how it was found.

None of it follows from the published marginals, so it is no part of a bundle. A single number such as a divergence with
all its digits can tell which of the tables that fit the marginals is the real one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from marginals.bundle.content import BundleContent
from marginals.bundle.target import output_file
from marginals.files.atomic_file import PRIVATE, replace_file
from marginals.ledger.continuing import Waiting
from marginals.release.accuracy import Comparison, TableErrors
from marginals.release.base_choice import BaseChoice
from marginals.release.search_trace import by_reason, search_trace
from marginals.release.suggestion import Suggestion
from marginals.release.wanted_table import WantedTable
from models.search import RefusedMove, SearchResult
from models.tables.domain import Domain

if TYPE_CHECKING:
    import pandas as pd

StewardPageMaker = Callable[["StewardReport"], bytes]
"""What makes the page of a steward's report: HTML."""


def no_suggestions(comparison: Comparison) -> tuple[Suggestion, ...]:  # noqa: ARG001
    """Nothing else to want."""
    return ()


@dataclass(frozen=True, eq=False)
class StewardReport:
    """What is known of a release from the table that it was made of. Not for publication.

    published: the release. kl_divergence: from the data to its maximum-entropy distribution; kl_suppressed: to that of the
    table with all quasi-identifiers suppressed; kl_best_table: to that of the best single table, None where none was
    looked for; all in nats, and smaller is better. search: how the release was found. dropped: rows of the table that
    were not counted, since a value was missing; dropped_in: how many lack one in each column, most first. compare:
    with the data and yardsticks. page: what makes its page. domain: of the table,
    whose levels the search speaks of. unpublished: for each attribute of which nothing is published why not, and what helps;
    it may name a value of the table. ask_what_binds: puts each move from where the search ended to the constraint.
    left_out: rows beyond those that count of their person. wanted: what became of each
    analysis that the release is for. suggest: what else could be wanted, given the comparison. waiting: of a release that
    was made for a ledger, whom it does not show yet; the data are then the people whom it shows. base: what the search did
    about the base table.

    >>> from marginals.example import release
    >>> report = release.steward
    >>> round(report.kl_divergence, 3), round(report.kl_suppressed, 3)
    (2.532, 3.062)
    >>> report.search.strategy, report.search.evaluated, report.dropped
    ('look-ahead', 109, 0)
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
    compare: Callable[[], Comparison]
    page: StewardPageMaker
    domain: Domain
    unpublished: Mapping[str, str]
    ask_what_binds: Callable[[], tuple[RefusedMove, ...] | None]
    left_out: int = 0
    wanted: tuple[WantedTable, ...] = ()
    suggest: Callable[[Comparison], tuple[Suggestion, ...]] = no_suggestions
    waiting: Waiting | None = None
    base: BaseChoice = field(default_factory=BaseChoice)

    @cached_property
    def comparison(self) -> Comparison:
        """How near its tables and counts come to those of the data, beside yardsticks; worked out when first asked for."""
        return self.compare()

    @cached_property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """What else could be wanted, and at which price; tried out when first asked for."""
        return self.suggest(self.comparison)

    def __repr__(self) -> str:
        return f"StewardReport(KL divergence {self.kl_divergence:.4g} nats; not for publication)"

    @property
    def one_way(self) -> TableErrors:
        """Errors of the tables of one attribute."""
        return self.comparison.release.one_way

    @property
    def two_way(self) -> TableErrors:
        """Errors of the tables of two attributes."""
        return self.comparison.release.two_way

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

    def trace(self, every: int = 1) -> "pd.DataFrame":
        """The search step by step, with the likelihood-ratio test of each; the columns are those of `search_trace`.

        every: only each so-many-th step, and always the best and the last one, for the long walks of `anneal`. Raises
        InputError where it is below 1.

        >>> from marginals.example import release
        >>> release.steward.trace()[["before", "after"]].round(3)
           before  after
        0   3.028  2.849
        1   2.849  2.790
        2   2.790  2.532
        """
        return search_trace(self.search, self.published.collection.cube.total, every=every)

    @cached_property
    def binding(self) -> Mapping[str, tuple[str, ...]] | None:
        """What binds where the search ended: the moves from there that would gain, by the reason why they are refused.

        The commonest reason first, and of its moves the one that would gain most. Every move is asked again, whatever the
        strategy was; None where the time was over before that was done.

        >>> from marginals.example import release
        >>> for reason, moves in release.steward.binding.items():
        ...     print(reason, moves)
        a class of fewer than 4 rows ('show age at level 0',)
        a margin of more than 2 attributes ('show age at level 2 with sex at level 0',)
        """
        refused = self.ask_what_binds()
        return None if refused is None else by_reason(refused)

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

"""Facts about a release for the steward of the table alone: its distance from the data, and the search for it.

None of it follows from the published marginals, so it is no part of a bundle. A single number, such as a divergence with all
its digits, can reveal which of the tables that fit the marginals is the real one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from marginals.accuracy import Comparison, TableErrors
from marginals.arguments import path_of
from marginals.bundle.content import DESCRIPTOR, BundleContent
from marginals.bundle.snapshot import Descriptor
from marginals.errors import BundleError, InputError
from marginals.files import PRIVATE, made_folder, only_writer, refusals, replace_file, replaced_meanwhile, resolved
from marginals.later import pd
from marginals.ledger import Waiting
from marginals.output import OutputFile, keep_apart, require_place
from marginals.replaced import Renewed
from models.frozen import frozen
from models.search.further_tables import FurtherTable
from models.search.problem import KL, CliqueScore, Objective, PenalizedDivergence, RefusedMove, SearchResult, Step
from models.tables.hierarchy import Domain, Mask

MARK = '<meta name="marginals-page" content="steward">'  # recognizes a steward's page
_HEAD = 4096  # bytes that contain the mark
_OF_RELEASE = re.compile(rb'<meta name="marginals-release" content="([0-9a-f]+)">')


def steward_page_path(release: Path) -> Path:
    """Default path of the page of a release: OUT-steward.html beside the folder OUT."""
    named = release if release.name not in ("", "..") else resolved(release)
    return named.with_name(f"{named.name}-steward.html")


@frozen
class FurtherTables:
    """The further tables of a release in the order of their choice, and the tables that were left out again.

    left_out: beside these, combinations of nonsensitive values stayed open. least: rows from which on a combination is not
    small; 1 without a claim about combinations. is_late: the time was over before a proof beside more tables was found.
    """

    tables: "tuple[FurtherTable, ...]"
    left_out: "tuple[FurtherTable, ...]" = ()
    least: int = 1
    is_late: bool = False

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Masks of the margins."""
        return tuple(table.mask for table in self.tables)

    def as_json(self, domain: Domain) -> dict[str, Any]:
        """Plain values for JSON. domain: of the table, with the levels of the margins."""
        tables, left_out = (
            [{"margin": dict(domain.margin(table.mask)), "gain": float(table.gain)} for table in group]
            for group in (self.tables, self.left_out)
        )
        return {"tables": tables, "left_out": left_out, "least": self.least}


@frozen
class StewardFile:
    """A file that the steward's page of a release may be written to.

    release: its folder. reads: input files of the release. Missing folders are made. An older steward's page is replaced.
    Raises InputError for another file that exists, for a file in a release, and if nothing can be written there.
    """

    path: Path
    release: Path
    reads: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        path, problem = self.path, ""
        with refusals(path):
            keep_apart(path, self.reads)
            place, release = resolved(path), resolved(self.release)
            if place.is_relative_to(release):
                problem = f"lies in the release {self.release}, all of which is published; choose another"
            elif path.is_dir():
                problem = "is a folder; name a file"
            elif path.exists() and not path.is_file():
                problem = "is a device or pipe; the page is kept, for you alone: name a file (--steward FILE)"
            elif MARK.encode() not in _head(path, MARK.encode()):
                problem = "is there already, and is no steward's page; name another file (--steward FILE)"
            if problem:
                raise InputError(f"{path} {problem}")
            require_place(path)

    @property
    def is_of_another_release(self) -> bool:
        """True if the page there names another release than its folder holds, as after a run that was killed."""
        if (named := _OF_RELEASE.search(_head(self.path))) is None:
            return False
        descriptor = _descriptor(self.release)
        try:
            return descriptor is None or Descriptor(descriptor).identity != f"sha256:{named[1].decode()}"
        except BundleError:
            return True

    @contextmanager
    def around(self, page: bytes) -> Iterator[None]:
        """Write the page first, then the release in the with statement: both or neither. Raises InputError.

        If the release is not written, the older page is restored.
        """
        with ExitStack() as held:
            with refusals(self.path):
                place, release = resolved(self.path).parent, resolved(self.release).parent
                made_folder(release)  # as for a release, which others may read
                made_folder(place, PRIVATE)
                held.enter_context(only_writer(place, release))
                before = _descriptor(self.release)
                meanwhile = replaced_meanwhile(self.path, page, lambda: _descriptor(self.release) != before, PRIVATE)
                held.enter_context(meanwhile)
            yield


def _descriptor(release: Path) -> bytes | None:
    try:
        return (release / DESCRIPTOR).read_bytes()
    except OSError:
        return None


def _head(path: Path, otherwise: bytes = b"") -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD)
    except FileNotFoundError:
        return otherwise


def search_trace(search: SearchResult, rows: int, objective: Objective = KL) -> "pd.DataFrame":
    """Return one line a step.

    Columns: `move`; KL divergence `before` and `after` it in nats; `gain` by the objective, without wanted analyses.
    `criterion` is the objective after the step (NaN if it is a stopping rule only). The likelihood-ratio test has
    `deviance`, 2 `rows` times the saved divergence, `degrees_of_freedom`, the added free parameters, and `p_value`. Last
    comes `residual_deviance`. Values are NaN if the objective is a score of cliques, or a step has many moves.
    """
    from scipy.special import chdtrc

    steps = search.steps or (Step(_NO_STEP, search.kl_divergence, search.kl_divergence, parameters=0),)
    columns = {"move": object, "before": float, "after": float, "gain": float}
    lines = [(step.move, step.before, step.after, _gain(step, objective)) for step in steps]
    frame = pd.DataFrame(lines, columns=[*columns]).astype(columns)
    if objective == KL:
        frame["criterion"] = frame["after"]
    else:  # backwards from the value at the end
        later = frame["gain"][::-1].cumsum(skipna=False)[::-1].shift(-1, fill_value=0.0)
        frame["criterion"] = (float("nan") if search.value is None else search.value) + later
    frame["deviance"] = 2 * rows * (frame["before"] - frame["after"])
    frame["degrees_of_freedom"] = pd.Series([step.parameters for step in steps], dtype=float)
    if isinstance(objective, CliqueScore):  # which does not price parameters
        frame["degrees_of_freedom"] = float("nan")
    frame["p_value"] = chdtrc(frame["degrees_of_freedom"].abs(), frame["deviance"].abs())
    frame["residual_deviance"] = 2 * rows * frame["after"]
    return frame


_NO_STEP = "no step is noted: the search ended where it began, or its strategy notes none"


def _gain(step: Step, objective: Objective) -> float:
    saved = step.before - step.after
    if objective == KL:
        return saved
    return float("nan") if step.parameters is None else objective.gain(saved, step.parameters)


def by_reason(refused: Iterable[RefusedMove]) -> dict[str, tuple[str, ...]]:
    """The refused moves by reason, the commonest reason first."""
    moves: dict[str, tuple[str, ...]] = {}
    for move, reason in refused:
        moves[reason] = (*moves.get(reason, ()), move)
    return dict(sorted(moves.items(), key=lambda item: -len(item[1])))


AS_THE_REST = 1.0  # weight of an analysis that nobody asked for


@frozen
class WantedTable:
    """A wanted analysis, and its distance from the release.

    margin: of the published table that shows its attributes together most finely; None if none does. kl_divergence: nats
    from the table of these attributes in the data to that of the release. would_pass: the finest levels at which the table
    would pass by itself; None if no level would. passing_in_words, demand: the same in words, and as in a config. obstacle:
    the reason why no such table is published; None if one is.
    """

    attributes: tuple[str, ...]
    weight: float
    margin: Mapping[str, int] | None
    kl_divergence: float
    would_pass: Mapping[str, int] | None
    passing_in_words: str | None
    demand: str | None
    obstacle: str | None
    PLAIN: ClassVar = ("attributes", "weight", "margin", "kl_divergence", "would_pass", "obstacle")


@frozen(eq=False)
class StewardReport(Renewed):
    """Utility measures and search results that need the source table. Not for publication.

    - kl_divergence: nats from the data to the maximum-entropy distribution of the release. kl_suppressed: to that of the
      table with all quasi-identifiers suppressed.
    - dropped: rows that lack a value. left_out: further rows of people of whom only some rows count.
    - domain: of the table. has_base: whether the policy demands a base table. waiting: people whom a release of a ledger
      does not show yet.
    - unpublished: the reason why an attribute is not published. by_role: that for columns left out by their role.
    - compare, page, find_refused_improvements: slow parts, computed on demand.

    >>> from marginals.example import publication
    >>> report = publication.steward
    >>> round(report.kl_divergence, 3), round(report.kl_suppressed, 3)
    (2.532, 3.062)
    >>> report.search.strategy, report.search.evaluated, report.dropped
    ('auto', 225, 0)
    >>> report.two_way.worst, round(report.two_way.by_table["age", "diagnosis"], 3)
    (('age', 'sex'), 0.854)
    """

    published: BundleContent
    kl_divergence: float
    kl_suppressed: float
    search: SearchResult
    dropped: int
    dropped_in: Mapping[str, int]
    compare: "Callable[[], Comparison]"
    page: Callable[["StewardReport"], bytes]
    domain: Domain
    unpublished: Mapping[str, str]
    find_refused_improvements: Callable[[], tuple[RefusedMove, ...] | None]
    left_out: int = 0
    wanted: tuple[WantedTable, ...] = ()
    waiting: "Waiting | None" = None
    has_base: bool = False
    objective: PenalizedDivergence = KL
    further: FurtherTables | None = None
    by_role: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked_for(self) -> tuple[WantedTable, ...]:
        """The wanted analyses that somebody named, without those that `init` guessed."""
        return tuple(table for table in self.wanted if table.weight > AS_THE_REST)

    @cached_property
    def comparison(self) -> Comparison:
        """Errors of its tables and counts, with yardsticks; computed on demand."""
        return self.compare()

    @property
    def price(self) -> float:
        """Price of a free parameter in the search, in nats; 0 if it used the divergence alone, or a score."""
        return 0.0 if isinstance(self.objective, CliqueScore) else self.objective.price

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

    def trace(self) -> "pd.DataFrame":
        """The search step by step, with the likelihood-ratio test of each; the columns are those of `search_trace`.

        >>> from marginals.example import publication
        >>> publication.steward.trace()[["before", "after"]].round(3)
           before  after
        0   3.028  2.532
        """
        rows = self.published.collection.cube.total
        return search_trace(self.search, rows, self.objective)

    @cached_property
    def binding(self) -> Mapping[str, tuple[str, ...]] | None:
        """Refused moves that would improve the result of the search, by the reason of their refusal.

        The commonest reason comes first, with its best move first. All moves from the result are tried, whatever the
        strategy was; None if the time was over before that.

        >>> from marginals.example import publication
        >>> for reason, moves in publication.steward.binding.items():
        ...     print(reason, moves)
        a class of fewer than 4 rows ('show age at level 0',)
        a margin of more than 2 attributes ('show age at level 2 with sex at level 0',)
        """
        refused = self.find_refused_improvements()
        return None if refused is None else by_reason(refused)

    def write(self, path: str | Path) -> None:
        """Write it as one HTML page, which is not for publication and which its owner alone may read.

        Raises InputError for a file that cannot be written, or that lies in a release.

        >>> from tempfile import TemporaryDirectory
        >>> from marginals.example import publication
        >>> with TemporaryDirectory() as folder:
        ...     publication.steward.write(f"{folder}/steward.html")
        ...     "Not for publication" in Path(folder, "steward.html").read_text(encoding="utf-8")
        True
        """
        replace_file(OutputFile(path_of(path)).path, self.page(self), PRIVATE)

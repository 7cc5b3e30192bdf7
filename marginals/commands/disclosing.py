"""Commands about rows that are disclosed one by one: their risk, and writing them under rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
from marginals.commands.options import (
    CONFIG,
    FILE,
    JSON,
    LEVELS_METAVAR,
    PATH,
    NumberRange,
    Target,
    output,
    parse_levels,
    row_order,
    stops_after,
)
from marginals.commands.printing import csv_bytes, print_json, print_warnings
from marginals.commands.progress import ProgressBars
from marginals.errors import InputError

if TYPE_CHECKING:
    from checks.risk.objective import Objective
    from checks.risk.record import Records
    from marginals.disclosure.row_order import RowOrder
    from marginals.files.output import OutputFile
    from marginals.pages.risk_report import RiskReport
    from marginals.risk.assessment import RiskAssessment


@dataclass(frozen=True)
class _RiskOptions:
    """What `marginals risk` was called with. Raises InputError for options that exclude each other."""

    config: Path
    folders: Sequence[Path]
    levels: str | None
    utility: float | None
    loss: float | None
    price: float | None
    attributes: int | None
    on_average: bool
    minimax: bool
    wants_frontier: bool
    plot: Path | None
    page: Path | None
    target: Target
    order: "RowOrder | None"
    as_json: bool

    def __post_init__(self) -> None:
        if self.order is not None and self.target.path is None:
            raise InputError("--seed and --keep-order go with --out")
        if sum(value is not None for value in (self.utility, self.loss, self.price, self.attributes)) > 1:
            raise InputError("choose one of --utility, --loss, --price and --attributes")
        if self.minimax and (self.attributes is not None or not (self.objective or self.wants_frontier or self.plot)):
            raise InputError("--minimax goes with --utility, --loss, --price, --frontier or --plot")
        if self.on_average and self.utility is None and self.loss is None:
            raise InputError(
                "--on-average goes with --utility or --loss; --price is the same row by row and on average"
            )

    @property
    def objective(self) -> "Objective | None":
        """What each row's disclosure is chosen by."""
        from checks.risk.objective import LeastRisk, MostUtility, TradeOff

        kinds = ((LeastRisk, self.utility), (MostUtility, self.loss), (TradeOff, self.price))
        return next((kind(value) for kind, value in kinds if value is not None), None)

    def outputs(self, reads: tuple[Path, ...]) -> "tuple[OutputFile | None, ...]":
        """The files for rows, plot and page. Raises InputError where one may not be written, or two are the same."""
        targets = [self.target, *(Target(path, self.target.force) for path in (self.plot, self.page))]
        files = tuple(target.opened(reads) for target in targets)
        paths = [file.path.resolve() for file in files if file is not None]
        if len(set(paths)) < len(paths):
            raise InputError("--out, --plot and --report must name files of their own")
        return files


@click.command()
@CONFIG
@click.argument("folders", metavar="[RELEASE]...", nargs=-1, type=PATH)
@click.option("--levels", metavar=LEVELS_METAVAR, help="Disclose at these levels; other attributes stay as they are.")
@click.option(
    "--utility",
    type=NumberRange(0),
    help="Per row, minimize risk subject to utility >= UTILITY (steps below '*').",
)
@click.option("--loss", type=NumberRange(0), help="Per row, maximize utility subject to loss <= LOSS.")
@click.option("--price", type=NumberRange(0), help="Per row, minimize loss - PRICE * utility.")
@click.option(
    "--attributes",
    type=click.IntRange(0),
    help="Per row, show so many attributes, those of least loss if attributes are independent (or risk.clusters).",
)
@click.option(
    "--minimax",
    is_flag=True,
    help="Count each row's loss under the dictionary that is worst for that row, not the expected one. Their mean is an "
    "upper bound of the risk under every dictionary.",
)
@click.option("--on-average", is_flag=True, help="Let --utility or --loss bind the mean over the rows, not each row.")
@click.option("--frontier", "wants_frontier", is_flag=True, help="Also compute the risk-utility frontier.")
@click.option("--plot", type=FILE, help="Write the frontier as .svg, .png or .pdf.")
@click.option(
    "--report", "page", type=FILE, help="Write an HTML page for yourself; it shows the table, never publish it."
)
@output("--out", help="CSV file for the disclosed rows.")
@row_order
@stops_after
@JSON
def risk(**options: Any) -> None:
    """Report what attackers could do to the people in a table.

    The risk is the expected harm per person: the harm times the probability that an attacker identifies the person,
    guessing uniformly among matching records (Lebanon et al. 2009). With releases named, their risk is compared too, the
    least first. The section [risk] of CONFIG says what attackers hold, what harms whom, which spellings agree, and by
    which rules the table is disclosed; without it, attackers know the quasi-identifiers, and identification costs 1. The
    linkage of [risk.linkage] is left aside by --utility, --loss, --price and --frontier. The page of --report shows the
    frontier if that takes seconds, or with --frontier.

    \b
    Examples:
      marginals risk release.toml
      marginals risk release.toml --levels age=2,postcode=3
      marginals risk release.toml --utility 8 --out disclosed.csv --plot frontier.svg
      marginals risk release.toml --utility 8 --on-average --out on-average.csv
      marginals risk release.toml --utility 8 --minimax
      marginals risk release.toml release-a release-b
      marginals risk release.toml release-a release-b --report risk.html
    """
    from marginals.pages.risk_page import risk_html
    from marginals.pages.risk_plot import plot_format, write_plot

    request = _RiskOptions(**options)
    if request.plot is not None:
        plot_format(request.plot)
    configured = marginals.read_config(request.config)
    rows_file, picture, page_file = request.outputs(configured.reads)
    assessment = replace(marginals.disclosure_risk(configured, parse_levels(request.levels)), minimax=request.minimax)
    report = _computed(request, assessment, wants_frontier=picture is not None, wants_page=page_file is not None)
    if picture is not None and report.frontier is not None:
        write_plot(picture, report.frontier, report.points)
    if rows_file is not None:
        disclosed = assessment.table.records if report.optimum is None else report.optimum.disclosure.records
        rows_file.write(_in_order(disclosed, request.order))
    if page_file is not None:
        page_file.write(risk_html(assessment, report, request.objective))
    if request.as_json:
        print_json(report.as_json())
        return
    click.echo(str(report))
    print_warnings(report.warnings)
    if configured.source.unit.stated not in (None, 1):
        click.echo("A person can have several of these rows: the risk is that of a row.")
    _tell_written(len(report.table.utility), rows_file, picture, page_file)


def _computed(
    request: _RiskOptions, assessment: "RiskAssessment", *, wants_frontier: bool, wants_page: bool
) -> "RiskReport":
    """What was asked of the risk. wants_frontier: for a picture; a page has it where it takes seconds."""
    from checks.risk.objective import LeastRisk, MostUtility
    from marginals.pages.risk_report import RiskReport
    from marginals.risk.bundle_risk import least_risk_first

    objective = request.objective
    on_page = wants_page and assessment.no_frontier is None and assessment.is_quick
    with ProgressBars(not request.as_json) as progress:
        edge = None
        if request.wants_frontier or wants_frontier or on_page:
            edge = assessment.frontier(progress=lambda done, total: progress("frontier", done, total))
        best, mean = None, None
        if request.on_average and isinstance(objective, LeastRisk | MostUtility):
            mean = assessment.optimum_on_average(
                objective, lambda done, total: progress("best disclosure", done, total)
            )
            best = mean.optimum
        elif objective is not None:
            best = assessment.optimum(objective, lambda done, total: progress("best disclosure", done, total))
        elif request.attributes is not None:
            best = assessment.optimum_of_attributes(request.attributes)
    releases = [assessment.of_release(marginals.open_release(folder), str(folder)) for folder in request.folders]
    return RiskReport(
        assessment.of_table(),
        best,
        edge,
        least_risk_first(releases),
        assessment.harm.warnings,
        mean,
        request.minimax,
        request.attributes,
    )


def _in_order(disclosed: "Records", order: "RowOrder | None") -> bytes:
    """The rows as the bytes of a CSV file, shuffled where no order is asked for."""
    import pandas as pd

    from marginals.disclosure.row_order import Shuffled, positions

    frame = pd.DataFrame(disclosed.labels())
    return csv_bytes(frame.iloc[positions(order or Shuffled(), len(frame))])


def _tell_written(rows: int, rows_file: "OutputFile | None", *pages: "OutputFile | None") -> None:
    """Which files were written, and what they are."""
    if rows_file is not None:
        click.echo(f"Wrote {rows} rows to {rows_file.path}. Their risk is above; no other privacy of them was checked.")
    for file in pages:
        if file is not None:
            click.echo(f"Wrote {file.path}. It is made from the table: keep it to yourself.")


@click.command()
@CONFIG
@output("--out", required=True, help="CSV file for the disclosed rows.")
@row_order
@stops_after
@JSON
def disclose(config: Path, target: Target, order: "RowOrder | None", as_json: bool) -> None:
    """Write a table with its disclosure rules applied.

    The rules are the entries [[risk.rules]] of CONFIG: they hide or generalize values of the rows for which their
    condition holds. The rows are shuffled, since their order can tell whose they are. With DuckDB (data.engine "duckdb", or
    "auto" where it is installed) also tables that do not fit in memory are written. No privacy is checked: see
    `marginals risk`.

    \b
    Examples:
      marginals disclose release.toml --out disclosed.csv
      marginals disclose release.toml --out in-order.csv --keep-order
    """
    from marginals.config.configured_disclosure import disclose_table
    from marginals.disclosure.row_order import Shuffled

    configured = marginals.read_config(config)
    file = target.opened(configured.reads)
    assert file is not None, "click requires --out"
    written = disclose_table(configured, file, order or Shuffled())
    if as_json:
        print_json({"out": str(file.path), "rows": written.rows, "engine": written.engine})
    else:
        click.echo(
            f"Wrote {written.rows} rows to {file.path} ({written.engine}). Nothing was checked of their privacy."
        )

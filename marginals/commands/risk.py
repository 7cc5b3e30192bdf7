"""Commands about rows that are disclosed one by one, and about tables that others published."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
import marginals.risk
from marginals.commands.options import (
    CONFIG,
    FILE,
    JSON,
    LEVELS_METAVAR,
    PATH,
    NumberRange,
    Target,
    csv_bytes,
    ends_within,
    output,
    parse_levels,
    print_json,
    print_lines,
    progress_bars,
)
from marginals.commands.releases import FAILED
from marginals.errors import InputError
from marginals.files import PRIVATE
from marginals.replaced import REPLACED
from marginals.results import plain
from models.deadline import Deadline

if TYPE_CHECKING:
    from checks.risk.harm import Preference


def _objective(
    utility: float | None, loss: float | None, price: float | None, on_average: bool, minimax: bool, has_frontier: bool
) -> "Preference | None":
    from checks.risk.harm import LeastRisk, MostUtility, TradeOff

    kinds = ((LeastRisk, utility), (MostUtility, loss), (TradeOff, price))
    chosen = [kind(value) for kind, value in kinds if value is not None]
    if len(chosen) > 1:
        raise InputError("choose one of --utility, --loss and --price")
    if minimax and (not chosen or on_average or has_frontier):
        raise InputError("--minimax goes with --utility, --loss or --price, each row by row and without a frontier")
    if on_average and utility is None and loss is None:
        raise InputError("--on-average goes with --utility or --loss; --price is the same row by row and on average")
    return chosen[0] if chosen else None


@click.command(context_settings={"allow_extra_args": True})
@CONFIG
@click.option("--levels", metavar=LEVELS_METAVAR, help="Disclose at these levels; other attributes stay as they are.")
@click.option(
    "--utility", type=NumberRange(0), help="Per row, minimize risk subject to utility >= UTILITY (steps below '*')."
)
@click.option("--loss", type=NumberRange(0), help="Per row, maximize utility subject to loss <= LOSS.")
@click.option("--price", type=NumberRange(0), help="Per row, minimize loss - PRICE * utility.")
@click.option(
    "--minimax",
    is_flag=True,
    help="With --utility or --price, minimize the largest risk over the dictionaries, not the expected one. With --loss, "
    "bind each row's loss under the dictionary that is worst for that row.",
)
@click.option("--on-average", is_flag=True, help="Let --utility or --loss bind the mean over the rows, not each row.")
@click.option("--frontier", "has_frontier", is_flag=True, help="Also compute the risk-utility frontier.")
@output("--out", help="CSV file for the disclosed rows.")
@JSON
def risk(
    config: Path,
    levels: str | None,
    target: Target,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Report what attackers could do to the people in a table.

    The risk is the expected harm per person: the harm times the probability that an attacker identifies the person, guessing
    uniformly among matching records (Lebanon et al. 2009). The section [risk] of CONFIG says what attackers hold and what
    harms whom; without it, they know the quasi-identifiers, and identification costs 1.

    \b
    Examples:
      marginals risk release.toml
      marginals risk release.toml --levels age=2,postcode=3
      marginals risk release.toml --utility 8 --on-average --out disclosed.csv
      marginals risk release.toml --utility 8 --minimax
      marginals risk release.toml --frontier
    """
    from checks.risk.harm import LeastRisk, MostUtility
    from marginals.names import number_of
    from marginals.say.risk import RiskReport, risk_lines

    if click.get_current_context().args:
        raise InputError(f"the risk of a release is not calculated any more: {REPLACED['risk of a release']}")
    objective = _objective(**chosen)
    configured = marginals.read_config(config)
    rows_file = target.opened(configured.reads, PRIVATE)
    assessment = replace(marginals.risk.disclosure_risk(configured, parse_levels(levels)), minimax=chosen["minimax"])
    edge = best = mean = None
    with progress_bars(not as_json) as progress:
        choosing = partial(progress, "best disclosure")
        if chosen["has_frontier"]:
            edge = assessment.frontier(progress=partial(progress, "frontier"))
        if chosen["on_average"] and isinstance(objective, LeastRisk | MostUtility):
            mean, best = objective, assessment.optimum_on_average(objective, choosing)
        elif objective is not None:
            best = assessment.optimum(objective, choosing)
    report = RiskReport(assessment.of_table(), best, edge, mean, chosen["minimax"])
    if rows_file is not None:
        disclosure = assessment.table.disclosure if report.optimum is None else report.optimum.disclosure
        disclosed = replace(assessment.table, disclosure=disclosure)
        rows_file.write(csv_bytes(disclosed.frame()))
    if as_json:
        print_json(plain(report))
        return
    print_lines(risk_lines(report))
    if configured.source.unit.declared not in (None, 1):
        click.echo("A person can have several of these rows: the risk is that of a row.")
    if rows_file is not None:
        rows = number_of(report.table.records, "row")
        click.echo(f"Wrote {rows} to {rows_file.path}. Their risk is above; no other privacy of them was checked.")


@click.command()
@CONFIG
@output("--out", required=True, help="CSV file for the disclosed rows.")
@JSON
def disclose(config: Path, target: Target, as_json: bool) -> None:
    """Write a table with its disclosure rules applied.

    The rules are the entries [[risk.rules]] of CONFIG: they hide or generalize values of the rows for which their condition
    holds. The rows are shuffled, since their order can tell whose they are. No privacy is checked: see `marginals risk`.

    \b
    Examples:
      marginals disclose release.toml --out disclosed.csv
    """
    from marginals.config.release_toml import disclose_table
    from marginals.names import number_of

    configured = marginals.read_config(config)
    file = target.opened(configured.reads, PRIVATE)
    assert file is not None, "click requires --out"
    rows = disclose_table(configured, file)
    if as_json:
        print_json({"out": str(file.path), "rows": rows})
    else:
        click.echo(
            f"Wrote {number_of(rows, 'row')} to {file.path}. Nothing was checked of their privacy, so only you may read the "
            "file."
        )


_PROCESSES = 2


@click.command()
@click.argument("tables", metavar="TABLE...", nargs=-1, type=PATH)
@click.option(
    "--spec", metavar="FILE", type=FILE, help="How the tables are read (audit.toml); without it that is guessed."
)
@click.option("--init", is_flag=True, help="Guess the spec, write it to --out with the reasons as comments, and stop.")
@output("--out", help="Spec that --init writes. [default: audit.toml]")
@click.option("--report", "page", metavar="FILE", type=FILE, help="Write a page with all that was found.")
@click.option("--bounds", metavar="FILE", type=FILE, help="Write what is left of each withheld count: .csv or .json.")
@click.option(
    "--small", type=click.IntRange(1), help="Counts from 1 to this one are small. [default: 4, or as the spec says]"
)
@click.option("--sensitive", metavar="NAME,NAME", help="Attributes of which a value may be certain for a whole group.")
@ends_within(60.0, "Seconds for all work; what is not proven by then is undecided.")
@JSON
def audit(
    tables: tuple[Path, ...],
    spec: Path | None,
    init: bool,
    target: Target,
    page: Path | None,
    bounds: Path | None,
    small: int | None,
    sensitive: str | None,
    deadline: Deadline,
    as_json: bool,
) -> None:
    """Find out what published tables reveal in combination.

    TABLE is a file with counts (CSV, spreadsheet, Parquet, SDMX-CSV) or a folder. It is long, with a column of counts, or
    crossed, with the values of an attribute in the header. Cells may be suppressed ("<5", "*"), rounded, or ranges
    ("10-14"). The command says which suppressed counts can be computed, which small ones are certain, who certainly exists,
    and why. Or it says which tables contradict each other. Exit status 1 if more is certain than that people
    exist, if tables contradict each other, or if something was not understood or is undecided.

    \b
    Examples:
      marginals audit by_age.csv by_sex.csv
      marginals audit by_age.csv by_sex.csv --init
      marginals audit --spec audit.toml --report audit.html
      marginals audit by_age.csv by_sex.csv --bounds bounds.csv
    """
    from marginals.auditing.audits import audit as audited

    if init:
        _write_spec(tables, target, as_json)
        return
    if target.path is not None:
        raise InputError("--out goes with --init")
    reads = (*tables, *([spec] if spec else []))
    file = Target(page, target.force).opened(reads, PRIVATE)
    bounds_file = Target(bounds, target.force).opened((*reads, *([page] if page else [])), PRIVATE)
    names = [name.strip() for name in (sensitive or "").split(",") if name.strip()]
    result = audited(*tables, spec=spec, seconds=deadline, small=small, sensitive=names, jobs=_PROCESSES)
    if file is not None:
        from marginals.pages.audit_page import audit_html

        file.write(audit_html(result))
    if bounds_file is not None:
        frame, is_json = result.bounds(), bounds_file.path.suffix.lower() == ".json"
        content = frame.to_json(orient="records", indent=1) if is_json else frame.to_csv(index=False)
        bounds_file.write(content.encode())
    if as_json:
        print_json(plain(result))
    else:
        from marginals.auditing.words import audit_lines

        people = "all tables are" if len(result.parts) == 1 else "no two tables are"
        guessed = (
            f"The layout is guessed, and {people} assumed to count the same people; run with --init to write the guess to a "
            "file and review it."
        )
        print_lines([*([guessed] if spec is None else []), *audit_lines(result)])
    if not result.ok:
        click.get_current_context().exit(FAILED)


def _write_spec(tables: tuple[Path, ...], target: Target, as_json: bool) -> None:
    from marginals.auditing.guess import guessed_spec

    if not tables:
        raise InputError("--init needs the tables to guess a spec for")
    out = Target(target.path or Path("audit.toml"), target.force)
    file = out.opened(tables)
    guessed = guessed_spec(tables, (out.path or Path()).parent)
    if file is not None:
        file.write(guessed.text.encode())
    if as_json:
        print_json({"out": str(out.path), "tables": [path.name for path in guessed.spec.tables]})
        return
    for path in guessed.spec.tables:
        for line in guessed.why[path]:
            click.echo(f"{path.name}: {line}")
    click.echo(f"Wrote {out.path}. Review every guess in it, then:")
    click.echo(f"  marginals audit --spec {out.path}")

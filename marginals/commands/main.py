"""The command line: `marginals COMMAND` (design 5.2), one function for each.

Exit status 0: done and private. 1: a privacy check failed, or nothing can be published. 2: bad input or usage. 130:
interrupted by Ctrl-C.
"""

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

import marginals
from marginals.config.guessing.rarity import RARE
from marginals.errors import InputError, NothingPublishableError
from marginals.printable import printable, wrapped
from models.errors import MarginalsError

if TYPE_CHECKING:
    import pandas as pd
    from tqdm import tqdm

    from checks.finding import Finding
    from marginals.anonymizers.lattice import LatticeResult
    from marginals.attacks.attacking import Attacks
    from marginals.config.release_toml import Config
    from marginals.files.output import OutputFile
    from marginals.publishing.assessing import Assessed
    from marginals.publishing.publishing import Progress
    from marginals.release.estimates import Estimate
    from marginals.release.release import Release
    from models.search import SearchResult
    from models.tables.margin import Margin

FAILED, UNUSABLE, INTERRUPTED = 1, 2, 130
"""Exit status of a failed check, of bad input, and of Ctrl-C, which says nothing about privacy (as in a shell)."""


QUERY_SECONDS = 10.0
"""Budget of the programs that sharpen the bounds of a query."""


class _FailedError(click.ClickException):
    exit_code = FAILED


class _UnusableError(click.ClickException):
    exit_code = UNUSABLE


class _InterruptedError(click.ClickException):
    exit_code = INTERRUPTED


def _refusal(ctx: click.Context, kind: type[click.ClickException], problem: str) -> click.ClickException:
    """The error to end with, its sentence printed as JSON before where JSON was asked for."""
    problem = printable(problem)
    if "--json" in ctx.obj:
        _print_json({"error": problem})
    return kind(problem)


class _Commands(click.Group):
    """Commands whose errors are one sentence on standard error, and a JSON object besides where JSON was asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except NothingPublishableError as error:
            raise _refusal(ctx, _FailedError, str(error)) from None
        except MarginalsError as error:
            raise _refusal(ctx, _UnusableError, str(error)) from None
        except MemoryError:
            raise _refusal(ctx, _UnusableError, "this needs more memory than there is") from None
        except KeyboardInterrupt:
            raise _refusal(ctx, _InterruptedError, "interrupted; nothing is half written") from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            if error.filename is None:
                # It is the output that cannot be written; nobody shall try once more when Python ends.
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
            what = "the output" if error.filename is None else str(error.filename)
            problem = f"{what} cannot be read or written: {error.strerror or type(error).__name__}"
            raise _refusal(ctx, _UnusableError, problem) from None
        except click.UsageError as error:
            if "--json" in ctx.obj:
                _print_json({"error": printable(error.format_message())})
            raise
        return answer

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember the arguments: whether JSON was asked for is known to the command alone, which may have failed."""
        ctx.obj = tuple(args)
        return super().parse_args(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(marginals.__version__, prog_name="marginals")
def main() -> None:
    """Publish small generalized tables of counts over data about people, private even when put together.

    \b
    Examples:
      marginals demo trial                  simulate a table, publish it, say what was gained
      marginals init people.csv             a config for a table of your own, to be reviewed
      marginals assess release.toml         what the table itself gives away
      marginals risk release.toml           what attackers could do to the people in it
      marginals disclose release.toml --out disclosed.csv
      marginals anonymize release.toml      all minimal single tables
      marginals publish release.toml --out release
      marginals verify release
      marginals attack release              what can be concluded from it
      marginals query release age=30-34 sex=Female
      marginals sample release -n 1000 -o rows.csv
      marginals report release

    \b
    Completion of commands and options, for bash (zsh and fish likewise):
      eval "$(_MARGINALS_COMPLETE=bash_source marginals)"
    """


def _json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(command)


_FORCE = click.option("--force", is_flag=True, help="Replace files that are there already.")
_CONFIG = click.argument("config", type=click.Path(path_type=Path, dir_okay=False))


@main.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--rows", default=24_000, show_default=True, type=click.IntRange(1000, 10_000_000), help="Table size.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed, same table.")
@_json_option
def demo(folder: Path, rows: int, seed: int, as_json: bool) -> None:
    """Simulate a census in DIR and publish it, without network or data.

    Writes census.csv, its hierarchies, a commented release.toml to edit for a table of your own, and the release.

    \b
    Example:
      marginals demo trial
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; choose a new folder")
    import numpy as np

    from marginals.bundle.bundle_files import REPORT
    from marginals.demo.census import CENSUS_CONFIG, census_hierarchies, simulate_census
    from marginals.files.atomic_folder import replace_folder
    from marginals.files.output import OutputFolder

    _ = OutputFolder(folder)
    with _Progress(not as_json) as progress:
        progress("simulating", 0, 0)
        census = simulate_census(np.random.default_rng(seed), rows)
        files = {"census.csv": census.to_csv(index=False, lineterminator="\n"), "release.toml": CENSUS_CONFIG}
        for attribute, values in census_hierarchies().items():
            files[f"hierarchies/{attribute}.csv"] = "".join(";".join(row) + "\n" for row in values)
        try:
            replace_folder(folder, {path: text.encode() for path, text in files.items()})
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror}") from None
        config = marginals.read_config(folder / "release.toml")
        release = marginals.publish(config.read_table(), config.policy, progress).write(folder / "release")
    _report_release(release, as_json)
    if not as_json:
        click.echo(f"\nLook at {folder / 'release.toml'}, and check the release yourself:")
        click.echo(f"  marginals verify {folder / 'release'}")
        click.echo(f"A page about it to read and print: {folder / 'release' / REPORT}")


@main.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "-o",
    default="release.toml",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Config to write; hierarchy files go to the folder hierarchies beside it.",
)
@click.option(
    "--rare",
    default=RARE,
    show_default=True,
    type=click.IntRange(1),
    help="Values that fewer rows have are named in hierarchy files only, and grouped there.",
)
@_FORCE
@_json_option
def init(table: Path, out: Path, rare: int, force: bool, as_json: bool) -> None:
    """Look at TABLE and write a commented config for it that guesses what its columns are.

    TABLE is CSV or Parquet: a file, a folder, or a glob in quotes. It says what it guessed and why, asks nothing, and
    publishes nothing. Review it, above all the roles.

    \b
    Example:
      marginals init people.csv
    """
    from marginals.config.guessing.initial_config import initial_config
    from marginals.tables.attribute import Role

    config = initial_config(table, out, rare)
    config.keep_apart(out, table)
    if not force:
        config.refuse_to_replace(out)
    files = config.write(out)
    if as_json:
        _print_json({"out": str(out), "hierarchies": list(map(str, files[:-1])), "attributes": config.as_json()})
        return
    for name, found in config.guesses.items():
        click.echo(f"{found.role.value:>16}  {name}: {found.why}")
    if not any(found.role is Role.SENSITIVE for found in config.guesses.values()):
        click.echo("No column looked sensitive; if one is, say so in the config.")
    click.echo(f"Wrote {', '.join(map(str, [out, *files[:-1]]))}. Review each, then:")
    click.echo(f"  marginals assess {out}")
    click.echo(f"  marginals publish {out} --out release")


@main.command()
@_CONFIG
@click.option("--levels", metavar="NAME=LEVEL,...", help="Generalize first; what is not named stays as it is.")
@_json_option
def assess(config: Path, levels: str | None, as_json: bool) -> None:
    """Say what the table of CONFIG gives away, as it is or generalized.

    Its smallest class, the diversity it reaches, and the classes in which everybody has the same sensitive value, or
    nearly everybody (95 percent). Exit status 1 when it does not satisfy the policy of CONFIG.

    \b
    Examples:
      marginals assess release.toml
      marginals assess release.toml --levels age=2,postcode=3
    """
    configured = marginals.read_config(config)
    assessed = marginals.assess(configured.read_table(), configured.policy, parse_levels(levels))
    if as_json:
        _print_json(assessed.as_json())
    else:
        _print_assessment(assessed)
    if not assessed.ok:
        click.get_current_context().exit(FAILED)


@main.command()
@_CONFIG
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--levels", metavar="NAME=LEVEL,...", help="Disclose at these levels; what is not named as it is.")
@click.option("--utility", type=click.FloatRange(0), help="Choose the least risk with this much utility, row by row.")
@click.option("--loss", type=click.FloatRange(0), help="Choose the most utility with no more loss, row by row.")
@click.option("--price", type=click.FloatRange(0), help="Choose the least of loss - PRICE * utility, row by row.")
@click.option("--frontier", "wants_frontier", is_flag=True, help="The least risk for each mean utility, too.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw it: a file .svg, .png or .pdf.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="CSV file for what is disclosed.")
@click.option(
    "--report",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="HTML page about all of it, for you: made from the table, not to be published.",
)
@_FORCE
@_json_option
def risk(
    config: Path,
    folders: Sequence[Path],
    levels: str | None,
    utility: float | None,
    loss: float | None,
    price: float | None,
    wants_frontier: bool,
    plot: Path | None,
    out: Path | None,
    page: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Say what attackers could do to the people in the table of CONFIG, or in the releases in DIR.

    The risk is the mean over the people of their harm times the probability that an attacker finds them, who guesses
    among all that fit (Lebanon et al. 2009). The section [risk] of CONFIG says what attackers hold, how much harm which
    value does, and by which rules the table is disclosed; without it attackers know the quasi-identifiers, and being
    found is a harm of 1. There, `similar` lets misspelled values agree from a Jaro similarity of `threshold` on, and
    [risk.linkage] names public records that attackers join with what is disclosed before they look for people; --utility,
    --loss, --price and --frontier leave that linkage aside. Releases are compared, the least risk first. Utility counts
    steps down from '*'. The page of --report draws the frontier where that takes seconds, else with --frontier.

    \b
    Examples:
      marginals risk release.toml
      marginals risk release.toml --levels age=2,postcode=3
      marginals risk release.toml --utility 8 --out disclosed.csv --plot frontier.svg
      marginals risk release.toml release-a release-b
      marginals risk release.toml release-a release-b --report risk.html
    """
    import pandas as pd

    from checks.risk.objective import LeastRisk, MostUtility, TradeOff
    from marginals.pages.risk_page import risk_html
    from marginals.pages.risk_plot import plot_format, write_plot
    from marginals.pages.risk_report import RiskReport
    from marginals.risk.assessment import compare, disclosure_risk

    objectives = [
        kind(value)
        for kind, value in ((LeastRisk, utility), (MostUtility, loss), (TradeOff, price))
        if value is not None
    ]
    if len(objectives) > 1:
        raise InputError("choose one of --utility, --loss and --price")
    if plot is not None:
        plot_format(plot)
    configured = marginals.read_config(config)
    rows_file, picture, page_file = (_output(path, configured.reads, force) for path in (out, plot, page))
    named = [file.path.resolve() for file in (rows_file, picture, page_file) if file is not None]
    if len(set(named)) < len(named):
        raise InputError("--out, --plot and --report must name files of their own")
    described = disclosure_risk(configured, parse_levels(levels))
    on_page = page is not None and described.no_frontier is None and described.is_quick
    report = RiskReport(
        described.of_table(),
        described.optimum(objectives[0]) if objectives else None,
        described.frontier() if wants_frontier or plot is not None or on_page else None,
        compare([described.of_release(marginals.open_release(folder), str(folder)) for folder in folders]),
    )
    if picture is not None and report.frontier is not None:
        write_plot(picture, report.frontier, report.points)
    if rows_file is not None:
        shown = described.table.records if report.optimum is None else report.optimum.disclosure.records
        rows_file.write(_csv(pd.DataFrame(shown.labels())))
    if page_file is not None:
        page_file.write(risk_html(described, report, objectives[0] if objectives else None))
    if as_json:
        _print_json(report.as_json())
        return
    click.echo(str(report))
    if rows_file is not None:
        click.echo(
            f"Wrote {len(report.table.utility)} rows to {out}. Their risk is above; no other privacy of them was checked."
        )
    for path in (plot, page):
        if path is not None:
            click.echo(f"Wrote {path}. It is made from the table: keep it to yourself.")


@main.command()
@_CONFIG
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="CSV file for what is disclosed."
)
@_FORCE
@_json_option
def disclose(config: Path, out: Path, force: bool, as_json: bool) -> None:
    """Write the table of CONFIG as its rules disclose it: hidden or generalized where their conditions hold.

    The rules are the entries [[risk.rules]] of CONFIG. With DuckDB (data.engine "duckdb", or "auto" where it is
    installed) they are executed file to file, also for tables that do not fit in memory, and the order of rows is not
    kept; "pandas" keeps it. Nothing is checked: see `marginals risk` first.

    \b
    Example:
      marginals disclose release.toml --out disclosed.csv
    """
    from marginals.disclosure.disclosing_files import disclose_table

    configured = marginals.read_config(config)
    told = disclose_table(configured, _output_file(out, configured.reads, force))
    if as_json:
        _print_json({"out": str(out), "rows": told.rows, "engine": told.engine})
    else:
        click.echo(f"Wrote {told.rows} rows to {out} ({told.engine}). Nothing was checked of their privacy.")


@main.command()
@_CONFIG
@click.option(
    "--method",
    type=click.Choice(["lattice", "sweep", "hilbert"]),
    default="lattice",
    show_default=True,
    help="All minimal full-domain tables, or one table by SWEEP or by the 1-D mapping along a Hilbert curve.",
)
@click.option("--suppression", type=click.FloatRange(0, 1), default=0.0, help="Share of rows that may be suppressed.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="CSV file for the table of sweep or hilbert."
)
@_FORCE
@_json_option
def anonymize(config: Path, method: str, suppression: float, out: Path | None, force: bool, as_json: bool) -> None:
    """List all minimal single tables that satisfy the policy of CONFIG.

    A table is minimal when no finer one satisfies the policy. k_link is asked of it as k-anonymity, with the diversity.
    The methods sweep and hilbert generalize each class in its own way; they need a diversity "functional:tau,l".

    \b
    Examples:
      marginals anonymize release.toml
      marginals anonymize release.toml --method sweep --out table.csv
    """
    if method != "lattice":
        if suppression:
            raise InputError("--suppression goes with the method lattice only")
        configured = marginals.read_config(config)
        _anonymize_locally(configured, method, _output(out, configured.reads, force), as_json)
        return
    if out is not None:
        raise InputError("--out goes with the methods sweep and hilbert; to publish, use the command publish")
    with _Progress(not as_json) as progress:
        configured = marginals.read_config(config)
        result = marginals.anonymize(configured.read_table(), configured.policy, progress, suppression)
    if as_json:
        _print_json({"nodes": result.nodes, "minimal": [table.as_json() for table in result.minimal]})
    else:
        _print_tables(result)
    if not result.minimal:
        raise NothingPublishableError("no single table satisfies the policy, not even one with everything suppressed")


_SIGN = click.option(
    "--sign",
    metavar="KEYFILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Sign the bundle with this secret key, by the program minisign, which asks for the password if it has one.",
)


@main.command()
@_CONFIG
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of the release; replaces one there, but no other files.",
)
@_SIGN
@_json_option
def publish(config: Path, out: Path, sign: Path | None, as_json: bool) -> None:
    """Choose marginals by the policy of CONFIG and write them as a bundle.

    A signature (datapackage.json.minisig) shows who made the bundle to those who have the public key: `minisign -G` makes
    a pair of keys, with -W one without a password, which signs where there is no terminal.

    \b
    Examples:
      marginals publish release.toml --out release
      marginals publish release.toml --out release --sign ~/.minisign/minisign.key
    """
    from marginals.bundle.bundle_files import REPORT, require_replaceable

    if sign is not None:
        from marginals.bundle.signature import secret_key

        secret_key(sign)  # What would be refused after a long search is refused before it.
    with _Progress(not as_json) as progress:
        configured = marginals.read_config(config)
        require_replaceable(out, configured.reads if sign is None else (*configured.reads, sign))
        table = configured.read_table()
        if not as_json:
            click.echo(f"Read {table.rows} rows, dropped {table.missing} with missing values.", err=True)
        release = marginals.publish(table, configured.policy, progress, configured.title)
    _report_release(release.write(out, sign=sign), as_json)
    if not as_json:
        click.echo(f"A page about it to read and print: {out / REPORT}")
    if sign is not None and not as_json:
        click.echo(f"It is signed; whoever has the public key checks that: marginals verify {out} --key PUBLICKEY")


@main.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--check",
    "demands",
    multiple=True,
    metavar="CHECK",
    help="Check this instead of what the release claims: k-link=K, k-combinatorial=K or diversity=CRITERION.",
)
@click.option(
    "--key",
    metavar="PUBLICKEY",
    help="Check, by the program minisign, that each DIR is signed with this key: RW..., or the file that holds it.",
)
@_json_option
def verify(folders: Sequence[Path], demands: Sequence[str], key: str | None, as_json: bool) -> None:
    """Check the release in DIR from its files alone; several DIRs as somebody sees them who holds them all.

    A check that is undecided within its budget is no pass: exit status 1, as for one that fails. So is the composition of
    releases that generalize an attribute differently, or of which only one calls it sensitive; each is then checked by
    itself. With --key a signature
    that is missing, wrong, or by another key fails too; without it, no signature is checked, which the answer says.

    \b
    Examples:
      marginals verify release
      marginals verify release-2025 release-2026
      marginals verify release --check k-link=10 --check diversity=recursive:3,4
      marginals verify release --key publisher.pub
    """
    verification = marginals.verify(*folders, claims=demands, key=key)
    if as_json:
        _print_json(verification.as_json())
    else:
        for finding in verification.checks:
            _print_finding(finding)
    if not verification.ok:
        click.get_current_context().exit(FAILED)


@main.command()
@click.argument("folders", metavar="BUNDLE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--truth", metavar="CONFIG", type=click.Path(path_type=Path, dir_okay=False), help="Judge guesses by it.")
@_json_option
def attack(folders: Sequence[Path], truth: Path | None, as_json: bool) -> None:
    """Measure what those who hold a release, or several, can conclude from it.

    Cells that are determined exactly (reconstruction), the class whose sensitive values are furthest from everybody's
    (skewness), claims met without a row to spare, and what follows from knowing that the release is as fine as its
    claims allow (minimality). Of several releases: what all tell, and each alone. With the table of CONFIG: how often
    sensitive values are guessed (deFinetti), and what those conclude who know everybody's nonsensitive values. Measures,
    no verdict; but exit status 1 where releases that generalize an attribute differently cannot be put together.

    \b
    Examples:
      marginals attack release
      marginals attack release --truth release.toml --json
      marginals attack release-2025 release-2026
    """
    table = None if truth is None else marginals.read_config(truth).read_table()
    attacks = marginals.attack(*folders, truth=table)
    if as_json:
        _print_json(attacks.as_json())
    else:
        for name, alone in attacks.apart.items():
            click.echo(printable(f"{name}:"))
            _print_attacks(alone)
        if attacks.note:
            click.echo(printable(f"Not measured together: {attacks.note}."))
        else:
            _print_attacks(attacks)
    if attacks.note:
        click.get_current_context().exit(FAILED)


def _say(line: str) -> None:
    """Print a line; as several where it is longer than the terminal that it goes to is wide."""
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(printable(line) if width is None else wrapped(printable(line), width))


def _print_attacks(attacks: "Attacks") -> None:
    for attacked in attacks.attacked:
        found = attacked.concluded
        known, shown = found.reconstruction, ", ".join(f"{a}={v}" for a, v in found.skewed_class.items())
        lines = [
            f"{found.sensitive}: {known.determined} of {known.cells} possible cells are determined exactly, with "
            f"{known.rows} of {known.total} rows" + ("" if known.sharp else "; more may be"),
            f"  the class furthest from everybody ({shown or 'all'}): total variation {found.skewness:.3f}",
        ]
        if guessed := attacked.guessing:
            lines.append(
                f"  guessed right: {guessed.definetti:.1%} by learning across classes (deFinetti), "
                f"{guessed.maxent:.1%} by maximum entropy, {guessed.base_rate:.1%} without the release"
            )
        for line in lines:
            _say(line)
    for left_out, reason in attacks.left_out.items():
        _say(f"{left_out}: not attacked; {reason}")
    for threshold in attacks.thresholds:
        if threshold.is_missed or threshold.smallest is None:
            told = "the claim is not met" if threshold.is_missed else "the smallest count is not known"
            _say(f"{threshold.criterion} {threshold.k}: {told}")
            continue
        spare = "binding: met without a row to spare" if threshold.binding else "not binding"
        _say(f"{threshold.criterion} {threshold.k}: the smallest count is {threshold.smallest}; {spare}")
    _print_compositions(attacks)
    _print_minimality(attacks)


def _print_compositions(attacks: "Attacks") -> None:
    for composed in attacks.compositions:
        _say(f"Composition, of what bears on {composed.sensitive}:")
        for holding in (composed.together, *composed.each):
            known, held = (
                holding.reconstruction,
                "all together" if holding is composed.together else holding.releases[0],
            )
            skewed = "" if holding.skewness is None else f", total variation {holding.skewness:.3f}"
            _say(
                f"  {held}: {known.determined} of {known.cells} possible cells determined ({known.share:.1%}), "
                f"smallest possible class at most {holding.smallest}{skewed}"
            )
        for name, reason in composed.unknown.items():
            _say(f"  {name}: not known; {reason}")


def _print_minimality(attacks: "Attacks") -> None:
    from marginals.wording.attacks_in_words import refusal_in_words, step_in_words

    minimality = attacks.minimality
    if minimality.note:
        _say(f"Minimality: {minimality.note}.")
        return
    told = [("Minimality: who knows that these were refused for the claims concludes", minimality.holders)]
    if minimality.insiders is not None:
        told.append(("Minimality, for those who know everybody's nonsensitive values", minimality.insiders))
    for lead, steps in told:
        _say(f"{lead}:" if steps else f"{lead}: no attribute is published above level 0.")
        untold: dict[str, list[str]] = {}
        for step in steps:
            if step.suspects is None:
                untold.setdefault(refusal_in_words(step), []).append(step_in_words(step))
            else:
                _say(f"  {step_in_words(step)}: {refusal_in_words(step)}")
        for reason, untold_steps in untold.items():
            _say(f"  {'; '.join(untold_steps)}: {reason}")


_RELEASE = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@main.command()
@_RELEASE
@click.argument("conditions", metavar="[NAME=LABEL]...", nargs=-1)
@_json_option
def query(folder: Path, conditions: Sequence[str], as_json: bool) -> None:
    """Estimate from the release in DIR how many rows have certain values, and bound it for certain.

    NAME=LABEL takes a label of any level; "NAME=LABEL|LABEL" a set, one or the other; NAME=20-39 or "NAME>=65" a range of
    numbers. All conditions must hold. Where a label means different things at different levels, the finest published one
    is meant; NAME=LABEL@LEVEL says which.

    \b
    Examples:
      marginals query release age=30-34 sex=Female
      marginals query release "age in 20-39" "race=White|Black" --json
    """
    estimate = marginals.open_release(folder).count(conditions, seconds=QUERY_SECONDS)
    if as_json:
        _print_json(asdict(estimate) | {"exact": estimate.exact})
    else:
        _print_estimate(estimate)


@main.command()
@_RELEASE
@click.option("-n", "--rows", default=1000, show_default=True, type=click.IntRange(0), help="Number of rows.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed, same rows.")
@click.option("--base-values", is_flag=True, help="Draw base values, evenly among those under each published value.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write, .csv or .parquet; standard output by default.",
)
@_FORCE
@_json_option
def sample(folder: Path, rows: int, seed: int, base_values: bool, out: Path | None, force: bool, as_json: bool) -> None:
    """Draw synthetic rows from the maximum-entropy distribution of the release in DIR.

    The labels are of the finest published levels. Rows are independent; no row is one of the data.

    \b
    Examples:
      marginals sample release -n 1000 --seed 0 -o rows.csv
      marginals sample release -n 1000000 --base-values -o rows.parquet
    """
    if as_json and out is None:
        raise InputError("--json goes with --out, since the rows would stand on standard output too")
    write = marginals.interchange.rows_writer(out)
    _output(out, (), force)
    release = marginals.open_release(folder)
    frame = release.sample_base_values(rows, seed) if base_values else release.sample(rows, seed)
    write(frame)
    if as_json:
        _print_json({"out": str(out), "rows": rows, "attributes": list(frame.columns)})
    elif out is not None:
        click.echo(f"Wrote {rows} synthetic rows to {out}. They tell what the release tells, and no more.")


def _print_estimate(estimate: "Estimate") -> None:
    if estimate.exact:
        click.echo(f"{estimate.lower} rows, exactly: the published marginals leave no other number.")
        return
    best = "no closer bounds are possible" if estimate.sharp else "closer bounds may be possible"
    click.echo(f"about {estimate.expected:.6g} rows expected (maximum entropy; not published as such)")
    click.echo(f"between {estimate.lower} and {estimate.upper} for certain; {best}")


@main.command()
@_RELEASE
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for the page; the bundle stays as it is. Without it, the page becomes the bundle's report.html.",
)
@_SIGN
@_FORCE
@_json_option
def report(folder: Path, out: Path | None, sign: Path | None, force: bool, as_json: bool) -> None:
    """Write the report of the release in DIR again, from its files alone: one HTML page to read, show and print.

    The claims are checked for it. Exit status 1 when one of them is not proven to hold, which the report then says. A
    bundle that is signed must be signed again (verify it before), or keeps its report: write the page elsewhere.

    \b
    Examples:
      marginals report release
      marginals report release -o report.html
      marginals report release --sign ~/.minisign/minisign.key
    """
    from marginals.bundle.bundle_files import REPORT

    _output(out, (), force)
    release = marginals.open_release(folder)
    release.write_report(out, sign=sign)
    verification, written = release.verify(), out or folder / REPORT
    if as_json:
        _print_json({"out": str(written), **verification.as_json()})
    else:
        click.echo(f"Wrote {written}. Open it in a browser.")
    if not verification.ok:
        click.get_current_context().exit(FAILED)


def _anonymize_locally(configured: "Config", method: str, out: "OutputFile | None", as_json: bool) -> None:
    from checks.diversity.functional_diversity import Functional

    requirement = configured.policy.criterion
    if not isinstance(requirement, Functional):
        raise InputError(f'the method {method} needs privacy.diversity = "functional:tau,l"')
    table = configured.read_table()
    recode = {"sweep": marginals.sweep, "hilbert": marginals.hilbert}[method]
    k = configured.policy.k_link or 1
    recoded = recode(table, requirement, k=k)
    frame = recoded.frame()
    if out is not None:
        out.write(_csv(frame))
    kl_divergence = recoded.kl_divergence(table)
    if as_json:
        _print_json({"method": method, **recoded.as_json(), "kl_divergence": kl_divergence})
    else:
        click.echo(
            f"{method}: {len(recoded)} classes of {recoded.average_class_size:.1f} rows on average, "
            f"information utility {recoded.information_utility:.3f}, KL divergence {kl_divergence:.4f}"
        )
        if out is not None:
            click.echo(
                f"Wrote {len(frame)} rows to {out.path}, made in classes of {k} rows or more that satisfy "
                f"{requirement}; no other privacy of them was checked."
            )


def _csv(frame: "pd.DataFrame") -> bytes:
    return frame.to_csv(index=False, lineterminator="\n").encode()


def _output(path: Path | None, reads: tuple[Path, ...], force: bool) -> "OutputFile | None":
    return None if path is None else _output_file(path, reads, force)


def _output_file(path: Path, reads: tuple[Path, ...], force: bool) -> "OutputFile":
    """The file to write, refused before the work where it is there already or may not be written."""
    from marginals.files.output import OutputFile

    file = OutputFile(path, reads)
    if not force:
        file.refuse_to_replace()
    return file


def parse_levels(text: str | None) -> dict[str, int]:
    """Levels from `age=1,sex=0`. Raises InputError for anything else."""
    levels: dict[str, int] = {}
    for part in (text or "").split(",") if text else []:
        name, _, level = part.strip().rpartition("=")
        if not name or not level.isdecimal() or len(level) > 9:
            raise InputError(f"levels are NAME=LEVEL,..., not {text!r}")
        if name in levels:
            raise InputError(f"{name!r} is given two levels")
        levels[name] = int(level)
    return levels


def _print_assessment(assessed: "Assessed") -> None:
    found = assessed.assessment
    click.echo(f"{found.rows} rows in {found.classes} classes, the smallest of {found.k_anonymity}.")
    for attribute, reached in found.diversity.items():
        click.echo(
            f"{attribute}: {reached.distinct} distinct, simple {reached.simple:.3g}, entropy {reached.entropy:.3g}"
        )
        some = [c for c in reached.recursive_c if isfinite(c)]
        for number, c in enumerate(some, 2):
            click.echo(f"  recursive (c, {number}): c above {c:.3g}")
        if len(some) < len(reached.recursive_c):
            first, last = len(some) + 2, len(reached.recursive_c) + 1
            shown = f"(c, {first})" if first == last else f"(c, {first}) to (c, {last})"
            click.echo(f"  recursive {shown}: no c will do")
    for name, affected in (("Homogeneous", found.homogeneous), ("Nearly homogeneous", found.nearly_homogeneous)):
        click.echo(f"{name}: {affected.classes} classes with {affected.rows} rows.")
    for finding in assessed.checks:
        _print_finding(finding)
    if assessed.checks:
        click.echo(
            "Classes are told by their size alone: the values that make them out are those of people in the table."
        )


class _Progress:
    """Bars on standard error while it is a terminal and nobody reads the output by program."""

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()
        self._bar: "tqdm[Any] | None" = None

    def __enter__(self) -> "Progress":
        from marginals.publishing.publishing import no_progress

        return self._advance if self._shown else no_progress

    def __exit__(self, *_: object) -> None:
        self._close()

    def _advance(self, task: str, done: int, total: int) -> None:
        from tqdm import tqdm

        if self._bar is None or self._bar.desc != task:
            self._close()
            self._bar = tqdm(desc=task, total=total or None, leave=False, file=sys.stderr)
            self._bar.desc = task
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _print_json(content: dict[str, Any]) -> None:
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False))


def _levels(margins: "Iterable[Margin]") -> list[str]:
    shown = (", ".join(f"{attribute} at level {level}" for attribute, level in margin.items()) for margin in margins)
    return list(map(printable, shown))


def _print_tables(result: "LatticeResult") -> None:
    click.echo(f"{len(result.minimal)} minimal tables among {result.nodes}, best first:")
    for table in result.minimal:
        shown = ", ".join(f"{attribute} {level}" for attribute, level in table.levels.items())
        click.echo(
            f"  levels {shown or '(none)'}: KL divergence {table.kl_divergence:.4f}, {table.classes} classes of "
            f"{table.average_class_size:.1f} rows on average, height {table.height}, "
            f"discernibility {table.discernibility}"
        )


def _report_release(release: "Release", as_json: bool) -> None:
    """What was published, how private it is, and how much utility was gained."""
    verification, utility, search = release.verify(), release.published.utility, release.search
    if utility is None or search is None:
        raise ValueError("a release that was just made knows its utility and its search")
    if as_json:
        _print_json(
            {
                "out": str(release.path),
                "kl_divergence": utility.kl_divergence,
                "kl_suppressed": utility.kl_suppressed,
                "margins": [dict(margin) for margin in release.margins],
                "checks": verification.as_json()["checks"],
                "search": {
                    "strategy": search.strategy,
                    "evaluated": search.evaluated,
                    "optimal": search.optimal,
                    "lower_bound": search.bound,
                },
            }
        )
    else:
        click.echo(f"Published {len(release.margins)} marginals of {release.rows} rows in {release.path}:")
        for line in _levels(release.margins):
            click.echo(f"  {line}")
        if unpublished := release.published.unpublished:
            click.echo(printable(f"Nothing is published of {', '.join(unpublished)}."))
        if unclaimed := release.published.unclaimed:
            click.echo(printable(f"Warning: no diversity is demanded of what is sensitive: {', '.join(unclaimed)}."))
        for finding in verification.checks:
            _print_finding(finding)
        click.echo(f"KL divergence to the data: {utility.kl_divergence:.3f} nats (0 would be the data itself).")
        click.echo(f"  {utility.kl_suppressed:.3f} with all quasi-identifiers suppressed.")
        if utility.kl_best_table is not None:
            click.echo(f"  {utility.kl_best_table:.3f} for the best single table.")
            told, told_by_best = (utility.kl_suppressed - kl for kl in (utility.kl_divergence, utility.kl_best_table))
            if told_by_best > 0:
                click.echo(f"So the release tells {told / told_by_best:.1f} times as much as the best single table.")
        click.echo(_search_outcome(search))


def _search_outcome(search: "SearchResult") -> str:
    """How it was searched, and how much better another release can be."""
    told = f"Search: {search.strategy}, {search.evaluated} collections looked at"
    if search.optimal:
        return f"{told}; none that the policy allows is better."
    if search.gap is None:
        return f"{told}."
    return f"{told}; none that the policy allows is better by more than {search.gap:.3f} nats."


def _print_finding(finding: "Finding") -> None:
    from checks.finding import Verdict

    colour = {Verdict.HOLDS: "green", Verdict.FAILS: "red", Verdict.UNDECIDED: "yellow"}[finding.verdict]
    demanded = ", ".join(f"{name} = {value}" for name, value in finding.parameters.items())
    told = printable(f"{finding.criterion} {demanded}".rstrip())
    click.echo(click.style(f"{finding.verdict.value:>9}", fg=colour) + f"  {told}")
    if finding.note:
        click.echo(f"           {printable(finding.note)}")
    if finding.worst is None:
        return
    hidden = ("margins", "counts", "distribution")
    worst = {name: value for name, value in finding.worst.items() if name not in hidden and value is not None}
    lead = "nearest to failing" if finding.holds else "worst"
    shown = "; ".join(f"{name} {_plain(value)}" for name, value in worst.items())
    click.echo(f"           {lead}: {printable(shown)}")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={held}" for key, held in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)

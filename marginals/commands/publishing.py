"""Commands that write a release: its tables of counts, and its report."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

import marginals
from marginals.commands.options import CONFIG, FILE, JSON, PATH, RELEASE, SIGN, Target, ends_within, output
from marginals.commands.printing import print_findings, print_json, print_lines
from marginals.commands.progress import ProgressBars
from marginals.commands.verifying import FAILED
from marginals.errors import NothingPublishableError
from marginals.printable import printable

if TYPE_CHECKING:
    from marginals.release.release import Release
    from marginals.release.steward_file import StewardFile
    from models.deadline import Deadline


@click.command()
@CONFIG
@click.option("--out", required=True, type=PATH, help="Release folder; an existing release there is replaced.")
@click.option(
    "--steward",
    metavar="FILE",
    type=FILE,
    help="Page for the steward alone, outside of the release: how near its tables and counts come to the data, which "
    "associations are lost, and how it was searched. By default OUT-steward.html; an older page of this kind is replaced.",
)
@click.option(
    "--ledger",
    metavar="DIR",
    type=PATH,
    help="Private folder that notes what is out of this table; made when missing. The release shows as much of what changed "
    "since the last one as is safe beside all of them; the rest waits, as the steward's page says.",
)
@SIGN
@ends_within(
    None,
    "For everything, instead of search.time_limit: half of what reading and the base table leave is for the search, half "
    "for verifying and writing. [default: search.time_limit, which ends the search alone]",
)
@JSON
def publish(
    config: Path,
    out: Path,
    steward: Path | None,
    ledger: Path | None,
    sign: Path | None,
    deadline: "Deadline",
    as_json: bool,
) -> None:
    """Choose marginals that satisfy the policy and write them.

    The policy is that of CONFIG. What does not follow from the marginals, such as the divergence from the data, is no
    part of the release: it is printed, and stands on a page of its own that is not for publication.

    A signature (datapackage.json.minisig) shows readers who have your public key that the release is yours. `minisign -G`
    makes a pair of keys; with -W the key has no password and also signs where there is no terminal.

    With where = "age >= 21" under [data] the release is of a part of the table. Beside a ledger everybody is judged, and the
    cells of the part are written, so that other parts, and the whole, can follow; without one publish nothing else of it.

    \b
    Examples:
      marginals publish release.toml --out release
      marginals publish release.toml --out release --sign minisign.key
      marginals publish release.toml --out release-2026-02 --ledger ledger
    """
    from marginals.bundle.target import require_replaceable
    from marginals.release.steward_file import StewardFile, beside
    from marginals.wording.dropped_rows import dropped_lines
    from marginals.wording.units_in_words import left_out_lines, part_lines

    if sign is not None:
        from marginals.bundle.signature import secret_key

        secret_key(sign)  # What would be refused after a long search is refused before it.
    with ProgressBars(not as_json) as progress:
        configured = marginals.read_config(config)
        configured.require_collections()
        reads = configured.reads if sign is None else (*configured.reads, sign)
        require_replaceable(out, reads)
        page = StewardFile(steward or beside(out), out, reads)
        if ledger is not None:
            from marginals.ledger.ledger import Ledger

            Ledger.read(ledger).require_apart(out, reads)
        table = configured.read_table()
        if not as_json:
            for line in dropped_lines(table.whole.rows, table.missing, table.missing_in):
                click.echo(line, err=True)
            for line in part_lines(table, ledger):
                click.echo(printable(line), err=True)
            for line in left_out_lines(table):
                click.echo(line, err=True)
            if reason := table.left_to_pandas:
                click.echo(f"{printable(reason)}: pandas reads it, which takes longer and more memory.", err=True)
        try:
            release = marginals.publish(table, configured.policy, progress, configured.title, deadline, ledger)
        except NothingPublishableError as error:
            if error.in_the_table and not as_json:
                click.echo(printable(error.in_the_table), err=True)
            raise
    hand_over(written(release, out, page, sign), page, as_json)
    if sign is not None and not as_json:
        click.echo(f"It is signed; whoever has the public key checks that: marginals verify {out} --key PUBLICKEY")


@click.command()
@RELEASE
@output("--out", "-o", help="File for the page. Without it, the page replaces the release's own report.html.")
@SIGN
@ends_within(
    60.0,
    "What is not decided by then stands as undecided on the page; stop with exit status 2 if not even the files are read.",
)
@JSON
def report(folder: Path, target: Target, sign: Path | None, deadline: "Deadline", as_json: bool) -> None:
    """Write the report of a release again, as one HTML page.

    The page is made from the files of RELEASE alone, and its claims are checked for it. Exit status 1 when a claim is not
    proven to hold; the page says so too. Replacing the report of a signed release needs --sign, since its files change;
    verify the release before. With --out the release stays as it is.

    \b
    Examples:
      marginals report release
      marginals report release --out report.html
      marginals report release --sign minisign.key
    """
    from marginals.bundle.format import REPORT

    target.opened()
    release = marginals.open_release(folder, deadline)
    release.write_report(target.path, sign=sign)
    verification, written = release.verify(), target.path or folder / REPORT
    if as_json:
        print_json({"out": str(written), **verification.as_json()})
    else:
        click.echo(f"Wrote {written}. Open it in a browser.")
    if not verification.ok:
        click.get_current_context().exit(FAILED)


def written(release: "Release", out: Path, page: "StewardFile", sign: Path | None = None) -> "Release":
    """A release that was just made, written with its steward's page: both, or neither where it cannot be."""
    if release.steward is None:
        raise ValueError("a release that was just made has a report for its steward")
    with page.around(release.steward.page(release.steward)):
        return release.write(out, sign=sign)


def hand_over(release: "Release", page: "StewardFile", as_json: bool) -> None:
    """Print what a release that was written publishes and how private it is.

    What is printed is for the steward too: how near the release comes to the data, and how it was searched for.
    """
    from marginals.bundle.format import REPORT
    from marginals.wording.ledger_lines import waiting_lines
    from marginals.wording.rules_in_words import rule_lines
    from marginals.wording.terminal import publication_lines, steward_lines, wanted_lines

    verification, steward, folder = release.verify(), release.steward, release.path
    if steward is None or folder is None:
        raise ValueError("a release that was just made and written has a folder, and a report for its steward")
    search, binding = steward.search, steward.binding
    if as_json:
        print_json(
            {
                "out": str(folder),
                "steward": str(page.path),
                "information": release.published.information,
                "kl_divergence": steward.kl_divergence,
                "kl_suppressed": steward.kl_suppressed,
                "errors": steward.comparison.as_json(),
                "suggestions": [suggestion.as_json() for suggestion in steward.suggestions],
                "dropped": {"rows": steward.dropped, "by_column": dict(steward.dropped_in)},
                "margins": [dict(margin) for margin in release.margins],
                "unpublished": dict(steward.unpublished),
                "binding": None if binding is None else {reason: len(moves) for reason, moves in binding.items()},
                "checks": verification.as_json()["checks"],
                "search": {
                    "strategy": search.strategy,
                    "evaluated": search.evaluated,
                    "optimal": search.optimal,
                    "lower_bound": search.bound,
                    "base": steward.base.as_json(),
                },
            }
            | ({"rules": verification.as_json()["rules"]} if verification.rules else {})
            | ({"ledger": steward.waiting.as_json()} if steward.waiting else {})
            | ({"wanted": [table.as_json() for table in steward.wanted]} if steward.wanted else {})
        )
        return
    print_lines(publication_lines(release))
    print_lines(wanted_lines(steward.wanted, release.domain))
    print_findings(verification.checks)
    print_lines(rule_lines(verification.rules))
    print_lines(steward_lines(steward))
    if steward.waiting is not None:
        print_lines(waiting_lines(steward.waiting, steward.domain))
    click.echo(
        f"These numbers do not follow from the release and are not in it. More of them, for you alone: {page.path}"
    )
    click.echo(f"A page about the release to read and print: {folder / REPORT}")

"""The command that lists a ledger."""

from datetime import UTC, datetime
from pathlib import Path

import click

from marginals.commands.options import JSON, PATH, stops_after
from marginals.commands.printing import print_json, print_lines
from marginals.commands.verifying import FAILED


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--retract",
    metavar="RELEASE",
    type=int,
    help="Note that the release of this number was taken back. It is judged as before: nobody forgets what was out.",
)
@stops_after
@JSON
def ledger(folder: Path, retract: int | None, as_json: bool) -> None:
    """List what is out of a table that changes, and what it tells.

    DIR is the private folder of `publish --ledger DIR`. Of each two of its releases it is said how many rows came and left
    between them, whether both are safe together, and the smallest difference that readers can compute. It holds a copy of
    each release and the people that it shows, so it is never for publication. Its files are compared with their hashes
    first. Exit status 1 when two releases are not proven to be safe together.

    \b
    Examples:
      marginals publish release.toml --out release-2026-02 --ledger ledger
      marginals ledger ledger
      marginals ledger ledger --retract 1
    """
    from marginals.errors import InputError
    from marginals.ledger.ledger import Ledger
    from marginals.ledger.telling import pairs
    from marginals.wording.ledger_lines import entry_line, pair_lines

    kept = Ledger.read(folder)
    if not kept.entries:
        raise InputError(f"the ledger {folder} has no release; publish with --ledger {folder} makes its first entry")
    if retract is not None:
        kept = kept.retracted(retract, datetime.now(UTC).date().isoformat())
    told = list(pairs(kept))
    if as_json:
        releases = [
            {
                "release": entry.number,
                "date": entry.date,
                "rows": entry.rows,
                "part": {"where": entry.where, "of_rows": entry.table.total} if entry.where else None,
                "folder": entry.folder,
                "margins": [dict(margin) for margin in entry.margins],
                "out": entry.is_out,
                "retracted": entry.retracted or None,
                "turnover_known": entry.turnover_known,
                "waiting": {"came": entry.waiting[0], "left": entry.waiting[1]},
            }
            for entry in kept.entries
        ]
        print_json({"releases": releases, "pairs": [pair.as_json() for pair in told]})
    else:
        print_lines(entry_line(entry) for entry in kept.entries)
        for pair in told:
            print_lines(pair_lines(pair))
    if not all(pair.ok for pair in told):
        click.get_current_context().exit(FAILED)

"""The command about tables that others published."""

from pathlib import Path

import click

from marginals.commands.options import FILE, JOBS, JSON, Target, ends_within, output
from marginals.commands.printing import print_json, print_lines
from marginals.commands.verifying import FAILED
from marginals.errors import InputError
from models.deadline import Deadline


@click.command()
@click.argument("tables", metavar="TABLE...", nargs=-1, type=FILE)
@click.option(
    "--spec", metavar="FILE", type=FILE, help="How the tables are read (audit.toml); without it that is guessed."
)
@click.option("--init", is_flag=True, help="Guess the spec, write it to --out with the reasons as comments, and stop.")
@output("--out", help="Spec that --init writes. [default: audit.toml]")
@click.option("--report", "page", metavar="FILE", type=FILE, help="Write a page with all that was found.")
@click.option(
    "--small", type=click.IntRange(1), help="Counts from 1 to this one are small. [default: 4, or as the spec says]"
)
@click.option(
    "--protection",
    type=click.IntRange(0),
    help="Least range that must be left of a suppressed count. [default: 0, or as the spec says]",
)
@click.option("--sensitive", metavar="NAME,NAME", help="Attributes of which a value may be certain for a whole group.")
@ends_within(60.0, "Seconds for all work; what is not proven by then is called not decided.")
@JOBS
@JSON
def audit(
    tables: tuple[Path, ...],
    spec: Path | None,
    init: bool,
    target: Target,
    page: Path | None,
    small: int | None,
    protection: int | None,
    sensitive: str | None,
    deadline: Deadline,
    jobs: int,
    as_json: bool,
) -> None:
    """Say what tables that others published give away together.

    TABLE is a CSV file or a spreadsheet with counts. It is long, with a column of counts, or crossed, with the values of an
    attribute in the header. Cells may be suppressed ("<5", "*"), rounded, or ranges ("10-14"); totals and subtotals help.
    The command says which suppressed counts can be computed, which small ones are certain, who certainly exists, and from
    which published counts that follows; or which tables contradict each other. Exit status 1 when more is certain than that
    people exist, when tables contradict each other, and when something is not decided.

    \b
    Examples:
      marginals audit by_age.csv by_sex.csv
      marginals audit by_age.csv by_sex.csv --init
      marginals audit --spec audit.toml --report audit.html
      marginals audit --spec audit.toml --protection 3 --json
    """
    from marginals.auditing.auditing import audit as audited

    if init:
        _write_spec(tables, target, as_json)
        return
    if target.path is not None:
        raise InputError("--out goes with --init")
    reads = (*tables, *([spec] if spec else []))
    file = Target(page, target.force).opened(reads)
    names = [name.strip() for name in (sensitive or "").split(",") if name.strip()]
    found = audited(
        *tables, spec=spec, seconds=deadline, small=small, protection=protection, sensitive=names, jobs=jobs
    )
    if file is not None:
        from marginals.pages.audit_page import audit_html

        file.write(audit_html(found))
    if as_json:
        print_json(found.as_json())
    else:
        from marginals.wording.audit_lines import audit_lines

        if spec is None:
            print_lines(
                ["It is guessed how the tables are read, and that all count the same people; --init writes that down."]
            )
        print_lines(audit_lines(found))
    if not found.ok:
        click.get_current_context().exit(FAILED)


def _write_spec(tables: tuple[Path, ...], target: Target, as_json: bool) -> None:
    from marginals.auditing.guessing import guessed_spec

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
    for path, why in guessed.why_tables.items():
        for line in why:
            click.echo(f"{path.name}: {line}")
    click.echo(f"Wrote {out.path}. Review each line, then:")
    click.echo(f"  marginals audit --spec {out.path}")

"""Commands about one table: what it gives away, and how it could be published as a single table."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

import marginals
from marginals.commands.options import (
    CONFIG,
    JSON,
    LEVELS_METAVAR,
    NumberRange,
    Target,
    output,
    parse_levels,
    stops_after,
)
from marginals.commands.printing import csv_bytes, print_findings, print_json, print_lines
from marginals.commands.progress import ProgressBars
from marginals.commands.verifying import FAILED
from marginals.errors import InputError, NothingPublishableError

if TYPE_CHECKING:
    from marginals.config.release_toml import Config
    from marginals.files.output import OutputFile


@click.command()
@CONFIG
@click.option("--levels", metavar=LEVELS_METAVAR, help="Generalize to these levels first; other attributes stay as is.")
@stops_after
@JSON
def assess(config: Path, levels: str | None, as_json: bool) -> None:
    """Report what a table itself gives away.

    Shows for the table of CONFIG, as it is or generalized, its smallest class, the diversity that it reaches, and how many
    classes have one sensitive value for everybody, or for nearly everybody (95 percent). Exit status 1 when the table
    does not satisfy the policy of CONFIG.

    \b
    Examples:
      marginals assess release.toml
      marginals assess release.toml --levels age=2,postcode=3
    """
    from marginals.wording.terminal import assessment_lines

    configured = marginals.read_config(config)
    table = configured.read_table()
    assessed = marginals.assess(table, configured.policy, parse_levels(levels))
    if as_json:
        print_json(assessed.as_json())
    else:
        print_lines(assessment_lines(assessed.assessment, table.rows_per_person))
        print_findings(assessed.checks)
        if assessed.checks:
            print_lines(["Of each class only its size is shown: its values are those of people in the table."])
    if not assessed.ok:
        click.get_current_context().exit(FAILED)


@click.command()
@CONFIG
@click.option(
    "--method",
    type=click.Choice(["lattice", "sweep", "hilbert"]),
    default="lattice",
    show_default=True,
    help="All minimal full-domain tables, or one table recoded by SWEEP or along a Hilbert curve.",
)
@click.option(
    "--suppression",
    type=NumberRange(0, 1),
    default=0.0,
    help="Largest share of rows that may be suppressed: shown with '*' in every quasi-identifier, together one class that "
    "satisfies the policy too (lattice only).",
)
@output("--out", help="CSV file for the table (sweep and hilbert only).")
@stops_after
@JSON
def anonymize(config: Path, method: str, suppression: float, target: Target, as_json: bool) -> None:
    """List all minimal single tables that satisfy the policy.

    A table is minimal when no finer one satisfies the policy of CONFIG; the larger of k_link and k_combinatorial is
    demanded of it as k-anonymity. The methods sweep and hilbert generalize each class in its own way; they need a
    diversity "functional:tau,l".

    \b
    Examples:
      marginals anonymize release.toml
      marginals anonymize functional.toml --method sweep --out table.csv
    """
    from marginals.wording.terminal import single_table_lines

    if method != "lattice":
        if suppression:
            raise InputError("--suppression goes with the method lattice only")
        configured = marginals.read_config(config)
        _recode_locally(configured, method, target.opened(configured.reads), as_json)
        return
    if target.path is not None:
        raise InputError("--out goes with the methods sweep and hilbert; to publish, use the command publish")
    with ProgressBars(not as_json) as progress:
        configured = marginals.read_config(config)
        result = marginals.anonymize(configured.read_table(), configured.policy, progress, suppression)
    if as_json:
        print_json({"nodes": result.nodes, "minimal": [table.as_json() for table in result.minimal]})
    else:
        print_lines(single_table_lines(result))
    if not result.minimal:
        raise NothingPublishableError("no single table satisfies the policy, not even one with everything suppressed")


def _recode_locally(configured: "Config", method: str, out: "OutputFile | None", as_json: bool) -> None:
    if configured.policy.diversity is None:
        raise InputError(f'the method {method} needs privacy.diversity = "functional:tau,l"')
    table = configured.read_table()
    recode = {"sweep": marginals.sweep, "hilbert": marginals.hilbert}[method]
    k = configured.policy.requirements(table.sensitive, table.most_rows_of_a_person).class_size or 1
    recoded = recode(table, configured.policy.diversity, k=k)
    frame = recoded.frame()
    if out is not None:
        out.write(csv_bytes(frame))
    kl_divergence = recoded.kl_divergence(table)
    if as_json:
        print_json({"method": method, **recoded.as_json(), "kl_divergence": kl_divergence})
        return
    click.echo(
        f"{method}: {len(recoded)} classes of {recoded.average_class_size:.1f} rows on average, "
        f"information utility {recoded.information_utility:.3f}, KL divergence {kl_divergence:.4f}"
    )
    if out is not None:
        click.echo(
            f"Wrote {len(frame)} rows to {out.path}, made in classes of {k} rows or more that satisfy "
            f"{configured.policy.criterion}; no other privacy of them was checked."
        )

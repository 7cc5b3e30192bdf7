"""Commands about one table: what it gives away, and how it could be published as a single table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
from checks.errors import CriterionError
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
    from checks.claims.requirements import Requirements
    from marginals.config.release_toml import Config
    from marginals.files.output import OutputFile
    from marginals.tables.table import Table


@click.command()
@CONFIG
@click.option("--levels", metavar=LEVELS_METAVAR, help="Generalize to these levels first; other attributes stay as is.")
@click.option(
    "--eligible", is_flag=True, help="Also tell the strongest requirements that any generalization satisfies."
)
@stops_after
@JSON
def assess(config: Path, levels: str | None, eligible: bool, as_json: bool) -> None:
    """Report what a table itself gives away.

    Shows for the table of CONFIG, as it is or generalized, its smallest class, the diversity that it reaches, and how many
    classes have one sensitive value for everybody, or for nearly everybody (95 percent); then the risk that somebody finds
    a person's row (prosecutor, marketer, and with the section [population] of CONFIG journalist), and which columns make
    rows unique. With --eligible also which requirements can be met at all by generalizing quasi-identifiers (l, c, tau), and
    how far beyond a functional:tau,l of CONFIG the classes are protected (Tian and Zhang). Exit status 1 when the table
    does not satisfy the policy of CONFIG, or what [population] demands.

    \b
    Examples:
      marginals assess release.toml
      marginals assess release.toml --levels age=2,postcode=3
      marginals assess release.toml --eligible
    """
    from marginals.wording.reidentification_lines import reidentification_lines
    from marginals.wording.terminal import assessment_lines, eligibility_lines

    configured = marginals.read_config(config)
    table = configured.read_table()
    assessed = marginals.assess(table, configured.policy, parse_levels(levels), configured.read_population())
    if as_json:
        told = {attribute: found.as_json() for attribute, found in assessed.eligible.items()}
        print_json(assessed.as_json() | ({"eligible": told} if eligible else {}))
    else:
        print_lines(assessment_lines(assessed.assessment, table.rows_per_person))
        print_lines(reidentification_lines(assessed.reidentification, assessed.uniqueness))
        if eligible:
            print_lines(eligibility_lines(assessed.eligible))
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
@output("--out", help="CSV file for one generalized table: the best, or that of --levels.")
@click.option(
    "--levels",
    metavar=LEVELS_METAVAR,
    help="The table at these levels, instead of the best; other attributes stay as is (lattice only).",
)
@click.option("--all", "every", is_flag=True, help="List all minimal tables, not the ten best alone.")
@stops_after
@JSON
def anonymize(config: Path, target: Target, as_json: bool, **chosen: Any) -> None:
    """List the best single tables that satisfy the policy, and write one.

    A table is minimal when no finer one satisfies the policy of CONFIG; the larger of k_link and k_combinatorial is
    demanded of it as k-anonymity, and min_cell of each of its cells. The ten best minimal tables are listed, by KL
    divergence to the data. --out writes the best, or the one at --levels: a line for each combination of values, with its
    number of rows. The methods sweep and hilbert generalize each class in its own way.

    \b
    Examples:
      marginals anonymize release.toml
      marginals anonymize release.toml --out table.csv
      marginals anonymize release.toml --levels age=3,postcode=3,education=3,occupation=3 --suppression 0.05 --out chosen.csv
      marginals anonymize release.toml --method sweep --out swept.csv
    """
    asked = _Asked(**chosen)
    configured = marginals.read_config(config)
    configured.require_collections()
    out = target.opened(configured.reads)
    if asked.method == "lattice":
        _generalize(configured, asked, out, as_json)
    else:
        _recode_locally(configured, asked.method, out, as_json)


@dataclass(frozen=True)
class _Asked:
    """What single table is asked for. Raises InputError for options that do not go together."""

    method: str
    suppression: float
    levels: str | None
    every: bool

    def __post_init__(self) -> None:
        given = {"--suppression": self.suppression, "--levels": self.levels is not None, "--all": self.every}
        for option, is_given in given.items():
            if is_given and self.method != "lattice":
                raise InputError(f"{option} goes with the method lattice only")


_BEST = 10
"""Minimal tables that are listed where nobody asks for all."""


def _generalize(configured: "Config", asked: _Asked, out: "OutputFile | None", as_json: bool) -> None:
    """Look for the minimal tables, or at one, and write the best, or that one."""
    from marginals.anonymizers.full_domain import published_table
    from marginals.anonymizers.lattice import LatticeResult
    from marginals.publishing.obstacles import no_single_table
    from marginals.publishing.single_tables import chosen_table
    from marginals.wording.terminal import single_table_lines, written_table_lines

    with ProgressBars(not as_json) as progress:
        table, policy = configured.read_table(), configured.policy
        requirements = policy.requirements(table.sensitive, table.most_rows_of_a_person)
        _require_demands(requirements, out)
        if asked.levels is None:
            result = marginals.anonymize(table, policy, progress, asked.suppression)
        else:
            chosen = chosen_table(table, policy, parse_levels(asked.levels), asked.suppression)
            result = LatticeResult(1, 1, (chosen,))
    best = result.best()
    if best is None:
        raise NothingPublishableError(no_single_table(table, requirements))
    answer = {"nodes": result.nodes, "minimal": [one.as_json() for one in result.minimal]}
    most = None if asked.every else _BEST if out is None else 1
    lines = list(single_table_lines(result, table.domain, most))
    if out is not None:
        recoded = published_table(table, best.levels, requirements)
        out.write(csv_bytes(recoded.frame()))
        answer |= {"out": str(out.path), "written": best.as_json()}
        lines += written_table_lines(str(out.path), recoded, _demanded(requirements), best.suppressed)
    if as_json:
        print_json(answer)
    else:
        print_lines(lines)


def _require_demands(requirements: "Requirements", out: "OutputFile | None") -> None:
    if out is not None and not requirements.claims:
        raise InputError(
            "the policy demands no privacy, so the table itself would be written; set k_link, k_combinatorial, min_cell "
            "diversity or rules under [privacy]"
        )


def _demanded(requirements: "Requirements") -> list[str]:
    """The diversities that every class satisfies, in words; each once where it is one for all sensitive attributes."""
    claims = requirements.diversity_claims
    texts = {str(claim.class_diversity) for claim in claims}
    if len(texts) == 1 and len(claims) == len(requirements.sensitive):
        return [*texts]
    return [f"{claim.class_diversity} in {claim.sensitive}" for claim in claims]


def _recode_locally(configured: "Config", method: str, out: "OutputFile | None", as_json: bool) -> None:
    from marginals.wording.terminal import written_table_lines

    table = configured.read_table()
    recode = {"sweep": marginals.sweep, "hilbert": marginals.hilbert}[method]
    requirements = configured.policy.requirements(table.sensitive, table.most_rows_of_a_person)
    _require_demands(requirements, out)
    if requirements.cell_size is not None:
        raise InputError(
            f"the method {method} cannot keep min_cell; leave it out of [privacy], or use the method lattice"
        )
    try:
        diversity = requirements.common_diversity
    except CriterionError:
        raise InputError(
            f"the method {method} keeps one diversity of all sensitive attributes, at level 0; demand one alone, or use the "
            "method lattice"
        ) from None
    recoded = recode(table, diversity, k=requirements.class_size or 1)
    if out is not None:
        out.write(csv_bytes(recoded.frame()))
    kl_divergence = recoded.kl_divergence(table)
    on_chains = _swept_on_chains(table) if method == "sweep" else {}
    if as_json:
        print_json({"method": method, **recoded.as_json(), "kl_divergence": kl_divergence, **on_chains})
        return
    click.echo(
        f"{method}: {len(recoded):,} classes of {recoded.average_class_size:.1f} rows on average, "
        f"information utility {recoded.information_utility:.3f}, KL divergence {kl_divergence:.4f}"
    )
    if on_chains:
        click.echo(
            f"SWEEP went through {on_chains['swept']:,} of {on_chains['combinations']:,} combinations of levels, on chains "
            "from all values as they are to all suppressed: all of them were too many."
        )
    if out is not None:
        print_lines(written_table_lines(str(out.path), recoded, _demanded(requirements)))


def _swept_on_chains(table: "Table") -> dict[str, int]:
    """How many combinations of levels SWEEP goes through, and how many there are; nothing where it goes through all."""
    from marginals.anonymizers.class_order import class_order, level_combinations, sweeps_all

    if sweeps_all(table):
        return {}
    return {"swept": len(class_order(table, table.quasi_identifiers)), "combinations": level_combinations(table)}

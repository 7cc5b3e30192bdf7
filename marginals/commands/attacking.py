"""The command that attacks releases as their readers could."""

from collections.abc import Sequence
from pathlib import Path

import click

import marginals
from marginals.commands.options import FILE, JSON, PATH, ends_within
from marginals.commands.printing import print_json, print_lines
from marginals.commands.verifying import FAILED
from models.deadline import Deadline


@click.command()
@click.argument("folders", metavar="RELEASE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--truth", metavar="CONFIG", type=FILE, help="Score the attacks' guesses against the table of this config."
)
@ends_within(20.0, "What is not measured by then is left out; stop with exit status 2 if not even the files are read.")
@JSON
def attack(folders: Sequence[Path], truth: Path | None, deadline: Deadline, as_json: bool) -> None:
    """Measure what readers of a release can conclude.

    Shown are: cells whose count is determined exactly (reconstruction), with all that is published and in tables of up to
    three attributes, and how many of these certainly have a row; the class whose sensitive values differ most from
    everybody's (skewness), claims that are met without a row to spare, and what a reader infers who knows that the release
    is as fine as its claims allow (minimality). Of several releases: what all show together, and each alone. With --truth
    also: how often sensitive values are guessed right (deFinetti). Of releases that generalize an attribute
    differently what both together determine is measured, and the rest of each alone. Of releases of a table that changed,
    which count different numbers of rows or contradict each other, each two show the smallest changes that both tell, how
    many people came or left at least, and classes in which one sensitive value alone rose or fell. These are measures, not
    verdicts; exit
    status 1 only when the releases cannot be put together because their labels do not tell how they overlap.

    \b
    Examples:
      marginals attack release
      marginals attack release --truth release.toml --json
      marginals attack release-a release-b
      marginals attack release-2025 release-2026
    """
    from marginals.wording.attack_lines import attack_lines
    from marginals.wording.change_lines import change_lines

    table = None if truth is None else marginals.read_config(truth).read_table()
    attacks = marginals.attack(*folders, truth=table, seconds=deadline)
    if as_json:
        print_json(attacks.as_json())
    else:
        for change in attacks.changes:
            print_lines(change_lines(change))
        for name, alone in attacks.apart.items():
            print_lines([f"{name}:", *attack_lines(alone)])
        if attacks.note:
            print_lines([f"Not measured together: {attacks.note}."])
        elif not attacks.changes:
            print_lines(["All together, by what the labels of both mean:"] if attacks.apart else [])
            print_lines(attack_lines(attacks))
    if attacks.note:
        click.get_current_context().exit(FAILED)

"""The command that checks the claims of releases."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
from marginals.commands.options import FILE, JSON, PATH, ends_within
from marginals.commands.printing import print_findings, print_json, print_lines, print_warnings
from marginals.errors import InputError
from models.deadline import Deadline

if TYPE_CHECKING:
    from marginals import Verification

FAILED = 1
"""Exit status of a privacy check that failed or is undecided, or when nothing can be published."""


@click.command()
@click.argument("folders", metavar="RELEASE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    help="Check this instead of the release's own claims: k-link=K, k-combinatorial=K, min-cell=K, "
    "diversity=CRITERION, also of single attributes and levels as in a config, or odds=G, the diversity against attackers "
    "with evidence of such odds; of releases of a table that changed also difference=K. May be repeated.",
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Check what this rule demands instead of the release's own claims: a name such as cms-11, or a TOML file with a "
    "rule of your own. May be repeated.",
)
@click.option(
    "--key",
    metavar="PUBLICKEY",
    help="Check that each release is signed with this public key of minisign: the key itself (RW...), or its file.",
)
@click.option(
    "--config",
    metavar="CONFIG",
    type=FILE,
    help="RELEASE is a table that `anonymize` wrote, a CSV file: check it against the policy of this config. The table's "
    "data are not read, so that hierarchies of sensitive attributes must be files.",
)
@ends_within(60.0, "What is not decided by then is undecided; stop with exit status 2 if not even the files are read.")
@JSON
def verify(folders: Sequence[Path], deadline: Deadline, as_json: bool, **asked: Any) -> None:
    """Check the privacy claims of a release from its files.

    Several releases are checked jointly, for readers who hold all of them. A check that ends undecided is no pass: exit
    status 1, as for a check that fails. Releases that generalize an attribute differently, one into 20-29 and another into
    15-24, are checked over the pieces that both leave, 20-24 and 25-29. Where their labels do not tell these, or only one of
    them calls it sensitive, the joint check is undecided, and each release is checked by itself.
    Releases with different numbers of rows, or that contradict each other, are of a table that changed. Then each is checked
    by itself, and the check "difference" asks whether readers of both find a change by fewer people than k, the largest that
    is claimed. Values that the releases generalize differently are compared at the finest value that both tell; where they
    overlap and no difference is small, the check is undecided. One that holds is no proof that nothing else follows.
    Without --key no signature is checked, and the answer says so.
    With --config a single table is checked class by class, also one of the methods sweep and hilbert.

    \b
    Examples:
      marginals verify release
      marginals verify release-a release-b
      marginals verify release-2025 release-2026 --check difference=10
      marginals verify release --check k-link=10 --check diversity=recursive:3,4
      marginals verify release --check odds=1.05
      marginals verify release --check 'diversity={ diagnosis = ["recursive:3,4", "none"] }'
      marginals verify release --rule cms-11
      marginals verify release --key minisign.pub
      marginals verify swept.csv --config release.toml
    """
    if asked["config"] is None:
        if len(folders) == 1 and folders[0].suffix.casefold() == ".csv" and folders[0].is_file():
            raise InputError(
                f"{folders[0].name} is a single table, and a release is a folder; to check it against the policy of a "
                "config, give --config CONFIG"
            )
        verification = marginals.verify(
            *folders, claims=asked["checks"], key=asked["key"], seconds=deadline, rules=asked["rules"]
        )
    else:
        verification = _verified_table(folders, **asked)
    if as_json:
        print_json(verification.as_json())
    else:
        _print(verification)
    if not verification.ok:
        click.get_current_context().exit(FAILED)


def _verified_table(
    files: Sequence[Path], config: Path, checks: Sequence[str], rules: Sequence[str], key: str | None
) -> "Verification":
    """The findings on a single table, of the config's policy or of what is asked instead."""
    from marginals.bundle.asked_claims import asked_claims
    from marginals.bundle.content import Verification
    from marginals.tables.attribute import Role

    if len(files) > 1 or rules or key is not None:
        raise InputError("with --config one table is checked, without --rule and --key")
    configured = marginals.read_config(config)
    attributes = configured.source.attributes
    sensitive = tuple(name for name, attribute in attributes.items() if attribute.role is Role.SENSITIVE)
    people = configured.source.unit.stated
    demanded = configured.policy.requirements(sensitive, people if isinstance(people, int) else None).claims
    claims = asked_claims(checks, sensitive, demanded) if checks else demanded
    return Verification(marginals.verify_recoded(files[0], attributes, claims))


def _print(verification: "Verification") -> None:
    """The findings, what the rules say, and the warnings."""
    from marginals.wording.rules_in_words import rule_lines

    print_findings(verification.checks)
    print_lines(rule_lines(verification.rules))
    print_warnings(verification.warnings)

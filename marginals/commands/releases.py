"""Commands about releases: writing, checking, asking and attacking them, and the ledger of those that are out."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
from marginals.commands.options import (
    CONFIG,
    ENDING,
    FILE,
    JSON,
    PATH,
    RELEASE,
    SIGN,
    ProgressBars,
    Target,
    csv_bytes,
    ends_within,
    output,
    print_findings,
    print_json,
    print_lines,
    print_warnings,
    stops_after,
)
from marginals.deadline import end_timer
from marginals.errors import BundleError, InputError, NothingPublishableError
from marginals.messages import printable
from marginals.results import plain
from models.deadline import Deadline

if TYPE_CHECKING:
    from marginals.bundle.content import Verification
    from marginals.bundle.replacement import Replacement
    from marginals.config.release_toml import Config
    from marginals.ledger import Entry
    from marginals.publishing.publishing import Publication
    from marginals.release.release import Release
    from marginals.steward import StewardFile
    from marginals.tables.table import Table


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
    "since the last one as is safe beside all of them; the rest waits, as the steward's page says. Readers with a register "
    "cannot be judged beside it: CONFIG must not have register = true.",
)
@SIGN
@ends_within(
    None,
    "Time limit for the whole command; replaces search.time_limit. Of the time left after reading and the base table, half "
    "goes to the search, half to verifying and writing. [default: search.time_limit, which ends the search alone]",
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

    With where = "age >= 21" under [data] the release is of a part of the table. With a ledger, the release is
    computed and judged as one of the whole table, and only the cells of the part are written, so that other parts, and the
    whole, can follow; without a ledger publish nothing else of it.

    \b
    Examples:
      marginals publish release.toml --out release
      marginals publish release.toml --out release --sign minisign.key
      marginals publish release.toml --out release-2026-02 --ledger ledger
    """
    if sign is not None:
        from marginals.bundle.signature import secret_key

        secret_key(sign)  # What would be refused after a long search is refused before it.
    with ProgressBars(not as_json) as progress:
        configured = marginals.read_config(config)
        configured.require_collections()
        page = _page_apart(configured, out, steward, ledger, sign)
        if page.is_of_another_release and not as_json:
            from marginals.wording import another_release_line

            click.echo(printable(another_release_line(page.path, out)), err=True)
        table = configured.read_table()
        if not as_json:
            for line in _table_lines(configured, table, config, ledger):
                click.echo(line, err=True)
        try:
            publication = marginals.publish(table, configured.policy, progress, configured.imprint, deadline, ledger)
        except NothingPublishableError as error:
            if error.in_the_table and not as_json:
                click.echo(printable(error.in_the_table), err=True)
            raise
    from marginals.wording import kept_out_by_role

    by_role = kept_out_by_role(
        {name: attribute.role for name, attribute in configured.source.attributes.items()}, config.name
    )
    publication = replace(publication, steward=replace(publication.steward, by_role=by_role))
    hand_over(written(publication, out, page, sign), page, as_json, list(configured.unconfirmed))
    if sign is not None and not as_json:
        click.echo(f"It is signed; whoever has the public key checks that: marginals verify {out} --key PUBLICKEY")


def _page_apart(
    configured: "Config", out: Path, steward: Path | None, ledger: Path | None, sign: Path | None
) -> "StewardFile":
    """The page for the steward, where it and the release can be written.

    Raises InputError where something that is read, or is no release, would be replaced: after a long search it is too late.
    """
    from marginals.bundle.writing import require_replaceable
    from marginals.steward import StewardFile, beside

    reads = configured.reads if sign is None else (*configured.reads, sign)
    require_replaceable(out, reads)
    page = StewardFile(steward or beside(out), out, reads)
    if ledger is not None:
        from marginals.ledger import Ledger

        Ledger.read(ledger).require_apart(out, reads)
    return page


def _table_lines(configured: "Config", table: "Table", config: Path, ledger: Path | None) -> Iterator[str]:
    """What somebody should know of a table before it is searched: rows that are not counted, guesses, slow ways."""
    from marginals.config.questions import unconfirmed_lines
    from marginals.wording import dropped_lines, left_out_lines, part_lines

    least = configured.policy.least("min_cell")
    counted, person = table.whole.rows + table.left_out, configured.source.person
    yield from dropped_lines(counted, table.missing, table.missing_in, least, person)
    yield from map(printable, part_lines(table, ledger))
    roles = {name: attribute.role for name, attribute in configured.source.attributes.items()}
    yield from map(printable, unconfirmed_lines(configured.unconfirmed, roles, config.name))
    yield from map(printable, left_out_lines(table))
    if reason := table.left_to_pandas:
        yield f"{printable(reason)}: pandas reads it, which takes longer and more memory."


@click.command()
@CONFIG
@RELEASE
@click.option(
    "--conditions", default=2, show_default=True, type=click.IntRange(1), help="Conditions of each random count."
)
@click.option("--target", metavar="NAME", help="Attribute to predict from all others. [default: each sensitive one]")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the counts, and of what is drawn."
)
@stops_after
@JSON
def compare(config: Path, folder: Path, conditions: int, target: str | None, seed: int, as_json: bool) -> None:
    """Compare a release with the table that it was made of.

    Tells how far its tables of one and two attributes are from those of the table of CONFIG, by how much random counts
    with some conditions are wrong, and how well a decision tree predicts that has learnt from the release (the last needs
    scikit-learn). It is for whoever has the table: publish nothing of it.

    \b
    Examples:
      marginals compare release.toml release
      marginals compare release.toml release --conditions 3 --target diagnosis
    """
    release = marginals.open_release(folder)
    table = marginals.read_config(config).read_table()
    accuracy = marginals.compare(release, table).release
    error = marginals.query_error(release, table, conditions, seed=seed)
    targets = table.sensitive if target is None else (target,)
    predicted = [marginals.prediction_accuracy(release, table, name, seed) for name in targets]
    if as_json:
        print_json(
            {
                "one_way": accuracy.one_way,
                "two_way": accuracy.two_way,
                "query_error": {"conditions": conditions, "mean": error},
                "prediction": predicted,
            }
        )
        return
    click.echo("Not for publication: this tells of the table what the release does not.")
    click.echo(
        f"Total variation: one-way tables {accuracy.one_way.mean:.3f}, two-way {accuracy.two_way.mean:.3f} on average"
    )
    click.echo(
        f"Random counts with {conditions} condition{'s' if conditions > 1 else ''}: mean relative error {error:.3f}"
    )
    for one in predicted:
        click.echo(
            f"Predicting {printable(one.target)}: right for {one.learnt:.1%} of the rows; learnt from the "
            f"rows {one.from_rows:.1%}, the commonest value {one.commonest:.1%}"
        )


def written(publication: "Publication", out: Path, page: "StewardFile", sign: Path | None = None) -> "Publication":
    """A publication whose release is written with its steward's page: both, or neither where it cannot be."""
    with page.around(publication.steward.page(publication.steward)):
        ENDING.heed()
        return publication.write(out, sign=sign)


def hand_over(publication: "Publication", page: "StewardFile", as_json: bool, unconfirmed: Sequence[str] = ()) -> None:
    """Print what a release that was written publishes and how private it is.

    unconfirmed: attributes whose roles are guesses that nobody has confirmed.

    What is printed is for the steward too: how near the release comes to the data, and how it was searched for.
    """
    from marginals.bundle.content import REPORT
    from marginals.ledger import waiting_lines
    from marginals.wording import beside_lines, rule_lines, sensitive_lines, steward_lines, wanted_lines

    release, steward = publication.release, publication.steward
    verification, folder = release.verify(), release.path
    if folder is None:
        raise ValueError("a release that was just written has a folder")
    search, binding = steward.search, steward.binding
    if as_json:
        print_json(
            {
                "out": str(folder),
                "steward": str(page.path),
                "information": release.published.information,
                "smallest_sensitive_counts": release.published.smallest_sensitive,
                "kl_divergence": steward.kl_divergence,
                "kl_suppressed": steward.kl_suppressed,
                "errors": steward.comparison,
                "suggestions": steward.suggestions,
                "dropped": {"rows": steward.dropped, "by_column": dict(steward.dropped_in)},
                "margins": [dict(margin) for margin in release.margins],
                "unpublished": dict(steward.unpublished),
                "binding": None if binding is None else {reason: len(moves) for reason, moves in binding.items()},
                "checks": verification.checks,
                "search": {
                    "strategy": search.strategy,
                    "value": search.value,
                    "objective": str(steward.objective),
                    "price": steward.price,
                    "evaluated": search.evaluated,
                    "optimal": search.optimal,
                    "lower_bound": search.bound,
                    "base": steward.base,
                },
            }
            | ({"unconfirmed": list(unconfirmed)} if unconfirmed else {})
            | ({"rules": verification.rules} if verification.rules else {})
            | ({"ledger": steward.waiting} if steward.waiting else {})
            | ({"wanted": steward.wanted} if steward.wanted else {})
            | ({} if steward.beside is None else {"further": steward.beside.as_json(steward.domain)})
        )
        return
    print_lines(_publication_lines(release, steward.unpublished))
    print_lines(sensitive_lines(verification))
    print_lines(wanted_lines(steward.wanted, release.domain))
    print_lines(beside_lines(steward.beside, steward.domain, most=_NAMED))
    print_findings(verification.checks)
    print_lines(rule_lines(verification.rules))
    print_lines(steward_lines(steward))
    if steward.waiting is not None:
        print_lines(waiting_lines(steward.waiting, steward.domain))
    click.echo(
        'The figures from "KL divergence" on are computed from your table and are not in the release; do not publish them. '
        f"More of them, for you alone: {page.path}"
    )
    click.echo(f"A page about the release to read and print: {folder / REPORT}")


def _publication_lines(release: "Release", unpublished: Mapping[str, str]) -> Iterator[str]:
    """What a release that was just written publishes, and what it leaves out: why, by attribute."""
    from marginals.names import margin_in_words, number_of
    from marginals.wording import rows_in_words

    counted = rows_in_words(release.rows, release.published.rows_per_person)
    where = f" where {release.published.where}" if release.published.where else ""
    yield f"Published {number_of(len(release.margins), 'marginal')} of {counted}{where} in {release.path}:"
    further = {*release.further}
    for margin in release.margins:
        yield f"  {margin_in_words(margin, release.domain)}{' (a further table)' if margin in further else ''}"
    if (information := release.published.information) is not None:
        without = ", further tables aside" if further else ""
        yield f"Information: {information:.3f} nats beyond the counts of each attribute by itself{without}."
    for attribute in release.published.unpublished:
        yield f"Nothing is published of {attribute}" + (
            f": {unpublished[attribute]}." if attribute in unpublished else "."
        )


_NAMED = 5
"""Further tables that are named on the terminal."""

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
    "of what is published alone min-published-cell=K, of what is certain no-small-certain=K, "
    "diversity=CRITERION, also of single attributes and levels as in a config, or register=CRITERION, the same of readers "
    "who know the nonsensitive values of everybody; of releases of a table that changed also difference=K. May be repeated.",
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
@output("--report", help="Also write the report of the release, one HTML page, to this file, from its files alone.")
@ends_within(60.0, "What is not proven by then is undecided; stop with exit status 2 if not even the files are read.")
@JSON
def verify(folders: Sequence[Path], target: Target, deadline: Deadline, as_json: bool, **asked: Any) -> None:
    """Check the privacy claims of a release from its files.

    Several releases are checked jointly, for readers who hold all of them. A check that ends undecided is no pass: exit
    status 1, as for a check that fails. Releases that generalize an attribute differently, one into 20-29 and another into
    15-24, are checked over the pieces that both leave, 20-24 and 25-29. Where their labels do not tell these, only one of
    them calls it sensitive, or two names such as age and Age may be one column, the joint check is undecided, and each
    release is checked separately.
    Releases with different numbers of rows, or that contradict each other, are of a table that changed. Then each is
    checked separately, and the check "difference" tests whether comparing two of them reveals a change of fewer than k
    people, where k is the largest k claimed. Values that the releases generalize differently are compared at the finest
    value that both show; where they overlap and no difference is small, the check is undecided. One that holds is no proof
    that nothing else follows.
    Without --key no signature is checked, and the answer says so.
    The report is made again from the other files. If it differs, nobody judged what it says, and the check "report" is
    undecided.
    What the publisher attests, since only the table shows it, is listed apart, and neither passes nor fails.
    With --config a single table is checked class by class, also one of the methods sweep and hilbert.

    \b
    Examples:
      marginals verify release
      marginals verify release-a release-b
      marginals verify release-2025 release-2026 --check difference=10
      marginals verify release --check k-link=10 --check diversity=recursive:3,4
      marginals verify release --check 'diversity={ diagnosis = ["recursive:3,4", "none"] }'
      marginals verify release --rule cms-11
      marginals verify release --key minisign.pub
      marginals verify release --report page.html
      marginals verify swept.csv --config release.toml
    """
    if target.path is not None and (len(folders) > 1 or asked["config"] is not None):
        raise InputError("--report writes the page of one release")
    target.opened()
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
    is_written = target.path is not None and verification.published is not None
    if target.path is not None and verification.published is not None:
        marginals.Release(verification.published).write_report(target.path)
    if as_json:
        print_json(plain(verification) | ({"report": str(target.path)} if is_written else {}))
    else:
        _print(verification, bool(asked["checks"] or asked["rules"]))
        if is_written:
            click.echo(f"Wrote {target.path}. Open it in a browser.")
    if not verification.ok:
        click.get_current_context().exit(FAILED)


def _verified_table(
    files: Sequence[Path], config: Path, checks: Sequence[str], rules: Sequence[str], key: str | None
) -> "Verification":
    """The findings on a single table, of the config's policy or of what is asked instead."""
    from checks.claims import MaxentDiversity
    from marginals.bundle.content import Verification
    from marginals.release.verification import asked_claims
    from marginals.tables.attribute import MISSING, Role

    if len(files) > 1 or rules or key is not None:
        raise InputError("with --config one table is checked, without --rule and --key")
    configured = marginals.read_config(config)
    attributes = configured.source.attributes
    sensitive = tuple(name for name, attribute in attributes.items() if attribute.role is Role.SENSITIVE)
    people = configured.source.unit.stated
    missing = [name for name, attribute in attributes.items() if attribute.counts_missing]
    most = people if isinstance(people, int) else None
    demanded = configured.policy.requirements(sensitive, most, missing).claims
    claims = asked_claims(checks, sensitive) if checks else demanded
    claims = [
        claim.leaving_out(MISSING) if isinstance(claim, MaxentDiversity) and claim.about in missing else claim
        for claim in claims
    ]
    return Verification(marginals.verify_recoded(files[0], attributes, claims))


def _print(verification: "Verification", is_asked: bool) -> None:
    """The findings, what the rules say, and the warnings.

    is_asked: whether the claims are what somebody asked for, so that they say nothing of what the release claims.
    """
    from marginals.wording import rule_lines, sensitive_lines, smallest_line

    print_findings(verification.checks)
    print_lines(rule_lines(verification.rules))
    print_lines(filter(None, [smallest_line(verification)]) if is_asked else sensitive_lines(verification))
    print_warnings(verification.warnings)


@click.command()
@RELEASE
@click.argument("conditions", metavar="[NAME=LABEL]...", nargs=-1)
@ends_within(10.0, "Answer with the bounds proven by then; stop with exit status 2 if not even the files are read.")
@JSON
def query(folder: Path, conditions: Sequence[str], deadline: Deadline, as_json: bool) -> None:
    """Estimate and bound how many rows, or people, have certain values.

    NAME=LABEL takes a label of any level; "NAME=LABEL|LABEL" means one label or the other; NAME=20-39 and "NAME>=65" are
    ranges of numbers. All conditions must hold. If a label means different things at different levels, the finest
    published level counts; NAME=LABEL@LEVEL chooses another. Formulas such as "age > 40 and sex != 'Male'" are read, too,
    as far as they say of each attribute by itself which values are meant. The estimate is that of maximum entropy; the
    bounds hold for certain. What is counted is rows; it is people where the release says that each row is one.

    One more line says what the estimate rests on. published: on published counts alone. supported: a published table shows
    the same attributes, but coarser than asked. assumed: no published table shows some two of them together, so the
    estimate takes them to be independent, which says nothing about the data.

    \b
    Examples:
      marginals query release age=30-34 sex=Female
      marginals query release "age in 20-39" "sex=Male|Female" --json
    """
    from marginals.estimates import count
    from marginals.wording import codebook_lines, estimate_lines

    release = marginals.open_release(folder, deadline)
    estimate = count(release.model, conditions, seconds=inf)
    if as_json:
        bounds = {"lower": estimate.lower, "upper": estimate.upper, "sharp": estimate.sharp, "exact": estimate.exact}
        where = {"where": release.published.where} if release.published.where else {}
        unjudged = {"unjudged": [values._asdict() for values in estimate.unjudged]} if estimate.unjudged else {}
        cut = {"cut": list(estimate.cut)} if estimate.cut else {}
        print_json({"expected": estimate.expected, **bounds, **unjudged, **cut, **where, **plain(estimate.basis)})
    else:
        if release.published.where:
            click.echo(f"Of the part of a table where {printable(release.published.where)}:")
        print_lines(estimate_lines(estimate, release.domain, release.published.rows_per_person))
        print_lines(codebook_lines(release.published.codebook, conditions))


_MOST_ROWS = 100_000_000
"""`marginals.estimates.MOST_ROWS`, which is not loaded for the help."""


@click.command()
@RELEASE
@click.option(
    "-n", "--rows", default=1000, show_default=True, type=click.IntRange(0, _MOST_ROWS), help="Number of rows."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The same seed gives the same rows.")
@click.option(
    "--base-values", is_flag=True, help="Draw base values, each value under a published one with equal probability."
)
@output("-o", "--out", help="File to write, .csv or .parquet; standard output by default.")
@stops_after
@JSON
def sample(folder: Path, rows: int, seed: int, base_values: bool, target: Target, as_json: bool) -> None:
    """Draw synthetic rows from a release.

    The rows are independent draws from the maximum-entropy distribution of RELEASE, with labels of the finest published
    levels. No row is taken from the data.

    Columns that no published table shows together are independent in the rows, given the others, whatever they are in the
    data: these pairs are named on standard error, and rows.csv.pairs.csv, beside rows.csv, says of each pair of columns
    whether what the rows say of it is published, supported by a coarser table, or assumed.

    \b
    Examples:
      marginals sample release -n 1000 --seed 0 -o rows.csv
      marginals sample release -n 10000 --base-values -o rows.parquet
    """
    if as_json and target.path is None:
        raise InputError("--json goes with --out, since the rows would stand on standard output too")
    import numpy as np
    import pandas as pd

    from marginals.estimates import drawn, drawn_base_values, pairs_in
    from marginals.names import number_of
    from marginals.wording import pair_rows, synthetic_lines

    write = marginals.interchange.rows_writer(target.path)
    file = target.opened()
    beside = Target(None if file is None or file.is_device else _pairs_path(file.path), target.force)
    pairs_file = beside.opened()
    release = marginals.open_release(folder)
    draw = drawn_base_values if base_values else drawn
    frame = draw(release.model, rows, np.random.default_rng(seed))
    levels = {name: 0 if base_values else release.model.finest_levels[name] for name in map(str, frame)}
    pairs = list(pair_rows(pairs_in(release.model, levels), release.domain))
    with (
        nullcontext()
        if pairs_file is None
        else pairs_file.unless_it_fails(csv_bytes(pd.DataFrame(pairs, columns=["first", "second", "kind", "because"])))
    ):
        write(frame)
    for line in synthetic_lines(frame.attrs["assumed"]):
        click.echo(printable(line), err=True)
    if as_json:
        written = {"out": str(target.path), "rows": rows, "attributes": list(frame.columns), "pairs": pairs}
        kinds = {"kind": frame.attrs["kind"], "assumed": frame.attrs["assumed"]}
        print_json(written | kinds | {"pairs_out": beside.path and str(beside.path)})
    elif target.path is not None:
        where = f" where {printable(release.published.where)}" if release.published.where else ""
        click.echo(
            f"Wrote {number_of(rows, 'synthetic row')}{where} to {target.path}. They tell what the release "
            "tells, and no more."
        )
        if beside.path is not None:
            click.echo(f"Which two columns tell something of each other: {beside.path}")


def _pairs_path(rows: Path) -> Path:
    """Where it stands which kind each pair of columns is: `rows.csv.pairs.csv` beside `rows.csv`."""
    return rows.with_name(f"{rows.name}.pairs.csv")


@click.command("replace")
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="NEW", type=PATH)
@click.option("--date", metavar="DATE", help="Since when, as your readers are to read it; today if nothing is said.")
@stops_after
@JSON
def note_replaced(old: Path, new: Path, date: str | None, as_json: bool) -> None:
    """Note that a corrected release replaces another one.

    The files of both stay as they are. The note is OLD-replaced.json beside the folder OLD; hand it on with OLD. `verify
    OLD` then says by which release it is replaced, and so does `ledger`. Both stay known: whoever has OLD keeps it, so
    verify both together.

    \b
    Examples:
      marginals replace release release-corrected
      marginals verify release
    """
    from marginals.bundle.replacement import mark_replaced, note_beside

    mark = mark_replaced(old, new, datetime.now(UTC).date().isoformat() if date is None else date)
    if as_json:
        print_json({"release": mark.old, "replaced_by": mark.new, "folder": mark.name, "date": mark.date})
    else:
        print_lines([f"{old} is {mark}.", f"The note is {note_beside(old)}; hand it on with {old}."])


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--retract",
    metavar="RELEASE",
    type=int,
    help="Note that the release of this number was taken back. It is judged as before: nobody forgets what was out.",
)
@click.option(
    "--settle",
    metavar="RELEASE out|not-out",
    type=(int, click.Choice(["out", "not-out"])),
    help="Say of a release whose writing was interrupted whether anybody can have it. Until then it counts as published; "
    "one that is not out is forgotten, as long as no other was made beside it.",
)
@stops_after
@JSON
def ledger(folder: Path, retract: int | None, settle: tuple[int, str] | None, as_json: bool) -> None:
    """List the releases of a changing table, and what each pair reveals.

    DIR is the folder of `publish --ledger DIR`, whose config must not have register = true. For each pair of releases the
    command lists how many rows joined and left, whether the claims hold for those by whom the two differ, and the smallest
    difference that readers can compute. DIR holds a copy of each release and the people that it shows, so it is never for
    publication. Its files are compared with their hashes first. Exit status 1 when the claims are not proven for a pair.

    \b
    Examples:
      marginals publish release.toml --out release-2026-02 --ledger ledger
      marginals ledger ledger
      marginals ledger ledger --retract 1
    """
    from marginals.ledger import Ledger, entry_line, pair_lines, pairs

    account = Ledger.read(folder)
    if not account.entries:
        raise InputError(f"the ledger {folder} has no release; publish with --ledger {folder} makes its first entry")
    if settle is not None:
        account = account.settled(settle[0], is_out=settle[1] == "out")
    if retract is not None:
        account = account.retracted(retract, datetime.now(UTC).date().isoformat())
    told = list(pairs(account))
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
                "replaced_by": mark.new if (mark := _replacement(entry)) else None,
                "turnover_known": entry.turnover_known,
                "waiting": {"came": entry.waiting[0], "left": entry.waiting[1]},
            }
            for entry in account.entries
        ]
        print_json({"releases": releases, "pairs": told})
    else:
        print_lines(entry_line(entry) + _replaced(entry) for entry in account.entries)
        for pair in told:
            print_lines(pair_lines(pair))
    if not all(pair.ok for pair in told):
        click.get_current_context().exit(FAILED)


def _replacement(entry: "Entry") -> "Replacement | None":
    """By what the release of an entry is replaced, as a note beside its folder says."""
    from marginals.bundle.replacement import Replacement, note_beside, replacement_of
    from marginals.bundle.snapshot import Snapshot

    folder = Path(entry.folder)
    if not note_beside(folder).is_file():
        return None
    try:
        mark = replacement_of(folder, Snapshot.of(folder).descriptor.identity)
    except (BundleError, InputError, OSError):
        return None
    return mark if isinstance(mark, Replacement) else None


def _replaced(entry: "Entry") -> str:
    mark = _replacement(entry)
    return f"; {mark}, which makes nothing unknown: it counts" if mark else ""


@click.command()
@click.argument("folders", metavar="RELEASE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--truth", metavar="CONFIG", type=FILE, help="Score the attacks' guesses against the table of this config."
)
@ends_within(20.0, "What is not measured by then is left out; stop with exit status 2 if not even the files are read.")
@JSON
def attack(folders: Sequence[Path], truth: Path | None, deadline: Deadline, as_json: bool) -> None:
    """Measure what readers of a release can conclude.

    Shown are, the plainest first: how many published counts are small, those with a sensitive value apart; cells whose
    count is determined exactly, with all that is published and in tables of up to three attributes, and how many of these
    certainly have a row; claims that are met without a row to spare; what a reader concludes who knows that whatever the
    claims allow is published, from attributes, levels and pairs that are not (minimality); the class whose sensitive
    values differ most from everybody's (skewness); how often sensitive values are guessed right by readers who learn
    across classes (one round of naive Bayes, and deFinetti); and how many of the combinations that the model ranks as
    small are. Each part says what was not examined. With --truth guesses are judged by the table, and finer values than
    any published are looked at too. Of several releases: what all show together, and each alone. Of releases that
    generalize an attribute differently what both together determine is measured, and the rest of each alone. Of releases
    of a table that changed, which count different numbers of rows or contradict each other, each two show the smallest
    changes that both tell, how many people came or left at least, and classes in which one sensitive value alone rose or
    fell. These are measures, not verdicts; exit
    status 1 only when the releases cannot be put together because their labels do not tell how they overlap.

    \b
    Examples:
      marginals attack release
      marginals attack release --truth release.toml --json
      marginals attack release-a release-b
      marginals attack release-2025 release-2026
    """
    from marginals.wording import attack_lines, change_lines, unmeasured_lines

    table = None if truth is None else marginals.read_config(truth).read_table()
    attacks = marginals.attack(*folders, truth=table, seconds=deadline)
    end_timer()  # what was found is told, however long that takes
    if as_json:
        print_json(plain(attacks))
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
        else:
            print_lines(unmeasured_lines(attacks))
    if attacks.note:
        click.get_current_context().exit(FAILED)

"""Commands about releases: writing, checking, asking and attacking them, and the ledger of those that are out."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
import marginals.recoding
from marginals.commands.options import (
    CONFIG,
    ENDING,
    FILE,
    JSON,
    PATH,
    RELEASE,
    VERBOSE,
    Target,
    csv_bytes,
    ends_within,
    output,
    print_json,
    print_lines,
    print_sentences,
    progress_bars,
)
from marginals.deadline import PHASES, SEARCH_CLOCK, end_timer, stopped_after, within
from marginals.errors import BundleError, InputError
from marginals.files import resolved
from marginals.later import pd
from marginals.messages import printable
from marginals.results import plain
from models.deadline import Deadline

if TYPE_CHECKING:
    from marginals.bundle.content import Verification
    from marginals.bundle.signature import SecretKey
    from marginals.config.release_toml import Config
    from marginals.publishing.publishing import Publication
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
@click.option(
    "--sign", metavar="KEYFILE", type=FILE, help="Sign the release with this secret key, in the format of minisign."
)
@click.option(
    "--new-key",
    is_flag=True,
    help="First make the key of --sign, and beside it the public key for readers (.pub).",
)
@ends_within(
    None,
    "Time limit, by the wall clock, for all that comes before the last verification, which is never cut; replaces "
    "search.time_limit. Half of the time left after reading and the base table goes to the search. [default: twice "
    "search.time_limit, 10 at least]",
    in_phases=True,
)
@VERBOSE
@JSON
def publish(
    config: Path,
    out: Path,
    steward: Path | None,
    ledger: Path | None,
    sign: Path | None,
    new_key: bool,
    deadline: "Deadline",
    verbose: bool,
    as_json: bool,
) -> None:
    """Choose marginals that satisfy the policy of CONFIG and write them.

    The divergence from the data and whatever else does not follow from the marginals is no part of the release. It is
    printed, and stands on a page of its own that is not for publication. A signature (datapackage.json.minisig) shows
    readers who have your public key that the release is yours.

    With where = "age >= 21" under [data] the release is of a part of the table. With a ledger other parts, and the whole,
    can follow; without one publish nothing else of it.

    \b
    Examples:
      marginals publish release.toml --out release
      marginals publish release.toml --out release --sign minisign.key --new-key
      marginals publish release.toml --out release-2026-02 --ledger ledger
    """
    with progress_bars(not as_json) as progress:
        PHASES.begin("reading")
        configured = marginals.read_config(config)
        configured.require_collections()
        page = _page_apart(configured, out, steward, ledger, sign)
        key = _key(sign, new_key, configured.reads)

        def chosen() -> "tuple[Table, Publication]":
            table = configured.read_table()
            if not as_json:
                print_lines(_before_searching(configured, table, config, ledger, page, out), err=True)
            PHASES.begin("preparation")
            searched = limit if seconds is None else min(limit, until.left / 2)
            policy = replace(configured.policy, time_limit=searched)
            return table, marginals.publish(table, policy, progress, configured.imprint, deadline, ledger)

        limit = configured.policy.time_limit
        until = Deadline.after(max(_TIMES * limit, _LEAST_SECONDS), SEARCH_CLOCK)
        seconds = until.left if deadline.at == inf else None
        table, publication = stopped_after(seconds, _OVER.format(limit=limit), chosen)
    from marginals.say.table import kept_out_by_role, whose_lines

    roles = {name: attribute.role for name, attribute in configured.source.attributes.items()}
    by_role = kept_out_by_role(roles, config.name)
    publication = replace(publication, steward=replace(publication.steward, by_role=by_role))
    warnings = list(whose_lines(table))
    PHASES.begin("steward's page")
    with page.around(publication.steward.page(publication.steward)):
        ENDING.heed()
        PHASES.begin("writing")
        publication = publication.write(out, sign=key)
    PHASES.begin("")
    if as_json:
        _print_json(publication, page, configured.unconfirmed, warnings)
        return
    print_lines(warnings)
    _hand_over(publication, page, verbose=verbose)
    if key is not None:
        click.echo(
            f"It is signed; whoever has the public key checks that: marginals verify {out} --key {key.public.text}"
        )


def _key(sign: Path | None, new_key: bool, reads: tuple[Path, ...]) -> "SecretKey | None":
    # what would be refused after a long search is refused before it
    from marginals.bundle.signature import secret_key
    from marginals.bundle.writing import write_keys

    if not new_key:
        return None if sign is None else secret_key(sign)
    if sign is None:
        raise InputError("--new-key goes with --sign KEYFILE, the file of the key that is made")
    key = write_keys(sign, reads)
    sentence = f"Made {sign}: keep it to yourself, and keep a copy. Readers need {sign.with_suffix('.pub')}."
    click.echo(printable(sentence), err=True)
    return key


_TIMES, _LEAST_SECONDS = 2, 10.0  # times search.time_limit, or seconds if these are more

_OVER = (
    "search.time_limit is {limit:g} seconds, and what comes before the last verification may take twice as much; that "
    'was over during the {{phase}}, so nothing was written; set it higher, or write role = "ignored" for some columns'
)


def _page_apart(
    configured: "Config", out: Path, steward: Path | None, ledger: Path | None, sign: Path | None
) -> "StewardFile":
    # what is read, or is no release, is not replaced: after a long search it is too late to say so
    from marginals.bundle.writing import require_replaceable
    from marginals.steward import StewardFile, steward_page_path

    reads = configured.reads if sign is None else (*configured.reads, sign, sign.with_suffix(".pub"))
    if sign is not None and resolved(sign).is_relative_to(resolved(out)):
        raise InputError(f"the secret key lies in {out}, where all is published; keep it elsewhere")
    require_replaceable(out, reads)
    page = StewardFile(steward or steward_page_path(out), out, reads)
    if ledger is not None:
        from marginals.ledger import Ledger

        Ledger.read(ledger).require_apart(out, reads)
    return page


def _before_searching(
    configured: "Config", table: "Table", config: Path, ledger: Path | None, page: "StewardFile", out: Path
) -> Iterator[str]:
    from marginals.config.questions import unconfirmed_lines
    from marginals.say.steward import another_release_line
    from marginals.say.table import dropped_lines, left_out_lines, part_lines, unit_in_words, whose_lines
    from marginals.tables.people import ANY

    yield from whose_lines(table)
    if page.is_of_another_release:
        yield another_release_line(page.path, out)
    least = configured.policy.least("min_cell")
    counted, people = table.whole.rows + table.left_out, configured.source.unit.columns
    yield from dropped_lines(counted, table.missing, table.missing_in, least, people)
    yield from part_lines(table, ledger)
    yield from unconfirmed_lines(configured.unconfirmed, configured.source.attributes, config.name)
    if waiting := sum(entry.get("confirmed") is not True for entry in configured.source.impossible):
        pairs = "1 impossible pair waits" if waiting == 1 else f"{waiting:,} impossible pairs wait"
        yield f"{pairs} in {config.name}: write confirmed = true where everybody knows that nobody has both values."
    yield from left_out_lines(table)
    yield from filter(None, [unit_in_words(table.rows_per_person) if table.rows_per_person != ANY else ""])


def _print_json(
    publication: "Publication", page: "StewardFile", unconfirmed: Iterable[str], warnings: Sequence[str]
) -> None:
    from marginals.decision import Decision

    release, steward, search = publication.release, publication.steward, publication.steward.search
    verification, binding = release.verify(), steward.binding
    facts = {
        "out": str(release.path),
        "steward": str(page.path),
        "decision": Decision.of(release.published),
        "information": release.published.information,
        "smallest_sensitive_counts": release.published.smallest_sensitive,
        "kl_divergence": steward.kl_divergence,
        "kl_suppressed": steward.kl_suppressed,
        "errors": steward.comparison,
        "dropped": {"rows": steward.dropped, "by_column": steward.dropped_in},
        "margins": release.published.everything.margins,
        "unpublished": steward.unpublished,
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
        },
    }
    more = {
        "rules": verification.rules,
        "harmful_values": tuple(release.published.harmful.values()),
        "ledger": steward.waiting,
        "wanted": steward.wanted,
        "further": None if steward.further is None else steward.further.as_json(steward.domain),
        "unconfirmed": tuple(unconfirmed),
        "seconds": PHASES.seconds,
    }
    answer = {"warnings": list(warnings)} if warnings else {}
    print_json(answer | facts | {name: value for name, value in more.items() if value not in (None, ())})


def _hand_over(publication: "Publication", page: "StewardFile", *, verbose: bool) -> None:
    from marginals.bundle.content import REPORT
    from marginals.decision import Decision
    from marginals.ledger import waiting_lines
    from marginals.say.decision import decision_lines, wanted_in_short
    from marginals.say.steward import worse_than_one_way

    release, steward = publication.release, publication.steward
    print_lines(decision_lines(Decision.of(release.published), f"Published {release.path}"))
    if verbose:
        _print_all(publication)
    else:
        print_lines(filter(None, [wanted_in_short(steward.asked_for), worse_than_one_way(steward)]))
    if steward.waiting is not None:
        print_lines(waiting_lines(steward.waiting, steward.domain))
    more = "" if verbose else "    More: --verbose"
    print_lines([f"Report for readers: {(release.path or Path()) / REPORT}    For you only: {page.path}{more}"])


def _print_all(publication: "Publication") -> None:
    from marginals.say.claims import verification_sentences
    from marginals.say.steward import beside_lines, publication_lines, steward_lines, wanted_line

    release, steward = publication.release, publication.steward
    print_lines(publication_lines(release.published, release.path, steward.unpublished))
    print_lines(wanted_line(table, release.domain) for table in steward.asked_for)
    print_lines(beside_lines(steward.further, steward.domain, most=_NAMED))
    print_sentences(verification_sentences(replace(release.verify(), published=release.published)))
    print_lines(steward_lines(steward))
    click.echo(
        'The figures from "KL divergence" on are computed from your table and are not in the release; do not publish them.'
    )


_NAMED = 5  # further tables that the terminal names
_ATTACK_LINES = 19  # lines of `attack` without --verbose
FAILED = 1  # exit status: a privacy check failed or is undecided, or nothing can be published


@click.command()
@click.argument("folders", metavar="RELEASE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="CHECK",
    help="Check this instead of the release's own claims: k-link=K, k-combinatorial=K, min-cell=K, "
    "of what is published alone min-published-cell=K, of what is certain no-small-certain=K or no-small-cell-certain=K, "
    "diversity=CRITERION, or register=CRITERION, the same of readers "
    "who know the nonsensitive values of everybody; of releases of a table that changed also difference=K. May be repeated.",
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Check what this rule demands instead of the release's own claims, such as cms-11. May be repeated.",
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
def verify(folders: Sequence[Path], target: Target, deadline: Deadline, as_json: bool, **options: Any) -> None:
    """Check the privacy claims of a release from its files.

    Several releases are checked jointly, for readers who hold all of them. If they generalize an attribute differently, or
    disagree on what is sensitive, the joint check is undecided and each release is checked separately. Releases that count
    different rows are of a table that changed. Each is checked separately, and "difference" tests whether two of them reveal
    a change of fewer than k people.

    An undecided check is no pass: exit status 1, as if it fails. What the publisher attests, since only the table shows it,
    neither passes nor fails. Without --key no signature is checked. The report is made again and compared.

    \b
    Examples:
      marginals verify release
      marginals verify release-a release-b
      marginals verify release-2025 release-2026 --check difference=10
      marginals verify release --check k-link=10 --check diversity=recursive:3,4
      marginals verify release --rule cms-11 --key minisign.pub --report page.html
      marginals verify swept.csv --config release.toml
    """
    from marginals.decision import Decision
    from marginals.say.claims import verification_sentences

    if target.path is not None and (len(folders) > 1 or options["config"] is not None):
        raise InputError("--report is about one release")
    target.opened()
    if options["config"] is None:
        if len(folders) == 1 and folders[0].suffix.casefold() == ".csv" and folders[0].is_file():
            raise InputError(
                f"{folders[0].name} is a single table, and a release is a folder; to check it against the policy of a "
                "config, give --config CONFIG"
            )
        verification = marginals.verify(
            *folders, claims=options["checks"], key=options["key"], seconds=deadline, rules=options["rules"]
        )
    else:
        verification = _verified_table(folders, **options)
    is_written = target.path is not None and _write_report(verification, folders[0], target.path, deadline)
    is_asked = bool(options["checks"] or options["rules"])
    sentences = [*verification_sentences(verification, is_asked=is_asked)]
    if as_json:
        report: dict[str, Any] = {"report": str(target.path)} if is_written else {}
        if verification.published is not None and not is_asked:
            report["decision"] = Decision.of(verification.published)
        print_json(plain(verification) | {"sentences": sentences} | report)
    else:
        print_sentences(sentences)
        print_lines([f"Wrote {target.path}. Open it in a browser."] if is_written else [])
    if not verification.ok:
        click.get_current_context().exit(FAILED)


def _write_report(verification: "Verification", folder: Path, path: Path, deadline: "Deadline") -> bool:
    try:
        published = verification.published
        release = marginals.Release(published) if published else marginals.open_release(folder, deadline)
    except BundleError:  # the verification has said why
        return False
    release.report(path)
    return True


def _verified_table(
    files: Sequence[Path], config: Path, checks: Sequence[str], rules: Sequence[str], key: str | None
) -> "Verification":
    from marginals.bundle.content import Verification
    from marginals.publishing.policy import leaving_out_missing
    from marginals.release.verification import asked_claims
    from marginals.tables.attribute import Role

    if len(files) > 1 or rules or key is not None:
        raise InputError("with --config one table is checked, without --rule and --key")
    configured = marginals.read_config(config)
    attributes = configured.source.with_levels().attributes
    sensitive = tuple(name for name, attribute in attributes.items() if attribute.role is Role.SENSITIVE)
    people = configured.source.unit.declared
    missing = [name for name, attribute in attributes.items() if attribute.counts_missing]
    harm = {name: attributes[name].harm for name in sensitive}
    most = people if isinstance(people, int) else None
    demanded = configured.policy.requirements(sensitive, most, missing, harm).claims
    claims = [leaving_out_missing(claim, missing) for claim in asked_claims(checks, sensitive)] if checks else demanded
    return Verification(marginals.recoding.verify_recoded(files[0], attributes, claims))


@click.command()
@RELEASE
@click.argument("conditions", metavar="[NAME=LABEL]...", nargs=-1)
@ends_within(10.0, "Answer with the bounds proven by then; stop with exit status 2 if not even the files are read.")
@JSON
def query(folder: Path, conditions: Sequence[str], deadline: Deadline, as_json: bool) -> None:
    """Estimate and bound how many rows, or people, have certain values.

    NAME=LABEL takes a label of any level; "NAME=LABEL|LABEL" means one label or the other; NAME=20-39 and "NAME>=65" are
    ranges of numbers; NAME=LABEL@LEVEL chooses a level. All conditions must hold. Formulas such as "age > 40 and sex !=
    'Male'" are read, too. The estimate is that of maximum entropy; the bounds hold for certain. One more line says what the
    estimate rests on: published counts alone, a coarser table (supported), or an assumption, which says nothing about the
    data.

    \b
    Examples:
      marginals query release age=30-34 sex=Female
      marginals query release "age in 20-39" "sex=Male|Female" --json
    """
    from marginals.say.answers import answer_lines, codebook_lines

    release = marginals.open_release(folder, deadline)
    answer = release.count(conditions, seconds=inf)
    if as_json:
        more = {"unjudged": answer.unjudged, "cut": answer.cut, "where": release.published.where}
        more = {name: value for name, value in more.items() if value}
        print_json(plain(answer) | more | plain(answer.basis) | {"kind": answer.kind})
    else:
        if release.published.where:
            click.echo(f"Of the part of a table where {printable(release.published.where)}:")
        print_lines(answer_lines(answer, release.domain, release.published.rows_per_person))
        print_lines(codebook_lines(release.published.codebook, conditions))


_MOST_ROWS = 100_000_000  # `marginals.estimates.MOST_ROWS`, which is not loaded for the help
_EXACT, _SECONDS = "exact", 100.0  # as many rows as were counted, with every published count, and the time to find them


class _NumberOfRows(click.IntRange):
    name = "NUMBER|exact"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == _EXACT else super().convert(value, param, ctx)


@click.command()
@RELEASE
@click.option(
    "-n",
    "--rows",
    default=1000,
    show_default=True,
    type=_NumberOfRows(0, _MOST_ROWS),
    help="Number of rows; exact: as many as were counted, with every published count.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The same seed gives the same rows.")
@click.option(
    "--base-values", is_flag=True, help="Draw base values, each value under a published one with equal probability."
)
@output("-o", "--out", help="File to write, .csv or .parquet; standard output by default.")
@JSON
def sample(folder: Path, rows: int | str, seed: int, base_values: bool, target: Target, as_json: bool) -> None:
    """Draw synthetic rows from a release.

    The rows are independent draws from the maximum-entropy distribution of RELEASE, with labels of the finest published
    levels. No row is taken from the data. With -n exact every published count is exact in them; many then look like real
    rows, which is coincidence. Columns that no published table shows together are independent in the rows, given
    the others. What each pair of columns rests on stands beside rows.csv, in rows.csv.pairs.csv.

    \b
    Examples:
      marginals sample release -n 1000 --seed 0 -o rows.csv
      marginals sample release -n exact --base-values -o rows.parquet
    """
    if as_json and target.path is None:
        raise InputError("--json goes with --out, since the rows would stand on standard output too")
    import numpy as np

    from marginals.estimates import drawn, exact_rows, pairs_in
    from marginals.interchange import rows_writer
    from marginals.names import number_of
    from marginals.say.answers import pair_rows, synthetic_lines

    write = rows_writer(target.path)
    file = target.opened()
    pairs_path = file.path.with_name(f"{file.path.name}.pairs.csv") if file and not file.is_device else None
    pairs_file = Target(pairs_path, target.force).opened()
    release = marginals.open_release(folder)
    if isinstance(rows, int):
        frame = drawn(release.model, rows, np.random.default_rng(seed), base_values=base_values)
    else:
        frame = exact_rows(release.model, release.published.everything, seed, within(_SECONDS), base_values=base_values)
    levels = {name: 0 if base_values else release.model.finest_levels[name] for name in map(str, frame)}
    pairs = list(pair_rows(pairs_in(release.model, levels), release.domain))
    pairs_csv = csv_bytes(pd.DataFrame(pairs, columns=["first", "second", "kind", "because"]))
    with nullcontext() if pairs_file is None else pairs_file.unless_it_fails(pairs_csv):
        write(frame)
    notes = synthetic_lines(frame.attrs["assumed"], are_exact=rows == _EXACT)
    print_lines((f"note: {note}" for note in notes), err=True)
    if as_json:
        written = {"out": str(target.path), "rows": len(frame), "attributes": list(frame.columns), "pairs": pairs}
        kinds = {"kind": frame.attrs["kind"], "assumed": frame.attrs["assumed"]}
        print_json(written | kinds | {"pairs_out": pairs_path and str(pairs_path)})
        return
    where = f" where {release.published.where}" if release.published.where else ""
    wrote = f"Wrote {number_of(len(frame), 'synthetic row')}{where} to {target.path}."
    print_lines([f"{wrote} They tell what the release tells, no more."] if target.path else [])
    print_lines([f"Which two columns tell something of each other: {pairs_path}"] if pairs_path else [])


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--settle",
    metavar="RELEASE out|not-out",
    type=(int, click.Choice(["out", "not-out"])),
    help="Say of a release whose writing was interrupted whether anybody can have it. Until then it counts as published; "
    "one that is not out is forgotten, as long as no other was made beside it.",
)
@JSON
def ledger(folder: Path, settle: tuple[int, str] | None, as_json: bool) -> None:
    """List the releases of a changing table, and what each pair reveals.

    DIR is the folder of `publish --ledger DIR`, whose config must not have register = true. Each pair of releases is listed
    with the rows that joined and left, and the smallest difference that readers can compute. It says whether the claims
    hold for those by whom the two differ. DIR holds the people that each release shows, so it is never for publication. Exit
    status 1 if the claims are not proven for a pair.

    \b
    Examples:
      marginals publish release.toml --out release-2026-02 --ledger ledger
      marginals ledger ledger
    """
    from marginals.ledger import Ledger, entry_line, pair_lines, pairs

    account = Ledger.read(folder)
    if not account.entries:
        raise InputError(f"the ledger {folder} has no release; publish with --ledger {folder} makes its first entry")
    if settle is not None:
        account = account.settled(settle[0], is_out=settle[1] == "out")
    differences = list(pairs(account))
    if as_json:
        print_json({"releases": account.entries, "pairs": differences})
    else:
        print_lines(map(entry_line, account.entries))
        for pair in differences:
            print_lines(pair_lines(pair))
    if not all(pair.ok for pair in differences):
        click.get_current_context().exit(FAILED)


@click.command()
@click.argument("folders", metavar="RELEASE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--truth", metavar="CONFIG", type=FILE, help="Score the attacks' guesses against the table of this config."
)
@ends_within(20.0, "What is not measured by then is named; stop with exit status 2 if not even the files are read.")
@VERBOSE
@JSON
def attack(folders: Sequence[Path], truth: Path | None, deadline: Deadline, verbose: bool, as_json: bool) -> None:
    """Measure what readers of a release can conclude; no verdicts.

    The plainest first: small counts that are published, and counts that follow exactly. Then the conclusions of readers who
    know the algorithm, have a register, use the model, or learn across classes. Each part
    says what was not examined. With --truth guesses are judged by the table, and finer values than any published are looked
    at too. Several releases are measured together, or each alone where, say, an attribute is generalized differently. Of
    releases of a table that changed, each two show who came and who left. Exit status 1 if releases of one table were not
    measured together, or the time was over.

    \b
    Examples:
      marginals attack release
      marginals attack release --truth release.toml --json
      marginals attack release-a release-b
    """
    from marginals.attacks import attacks_so_far, latest
    from marginals.say.attacks import parts_of_attacks
    from marginals.say.sentences import in_short

    table = None if truth is None else marginals.read_config(truth).read_table()
    attacks = latest(attacks_so_far(folders, table, deadline), KeyboardInterrupt)
    end_timer()  # what was found is told, however long that takes
    ENDING.number = None
    parts = list(parts_of_attacks(attacks))
    if as_json:
        print_json(plain(attacks) | {"sentences": [sentence for _, sentences in parts for sentence in sentences]})
    else:
        first_parts, left = (parts, 0) if verbose else in_short(parts, _ATTACK_LINES)
        for heading, sentences in first_parts:
            print_lines([heading] if heading else [])
            print_sentences(sentences)
        print_lines([f"{left:,} more lines: --verbose"] if left else [])
    if attacks.note or attacks.is_stopped:
        click.get_current_context().exit(FAILED)

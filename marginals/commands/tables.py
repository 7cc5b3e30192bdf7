"""Commands about one table: a first config for it, what it gives away, and how it could be published as a single table."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import marginals
import marginals.recoding
from checks.errors import CriterionError
from marginals.commands.options import (
    CONFIG,
    JSON,
    LEVELS_METAVAR,
    PATH,
    VERBOSE,
    LineNumber,
    NumberRange,
    Target,
    csv_bytes,
    output,
    parse_levels,
    print_json,
    print_lines,
    print_sentences,
    progress_bars,
)
from marginals.commands.releases import FAILED, publish
from marginals.config import RARE
from marginals.deadline import PHASES
from marginals.errors import InputError, NothingPublishableError
from marginals.messages import few, installing
from marginals.results import plain

if TYPE_CHECKING:
    from checks.requirements import Requirements
    from marginals.config.first_config import InitialConfig
    from marginals.output import OutputFile
    from marginals.publishing.policy import Policy
    from marginals.publishing.searching import Progress
    from marginals.recoding.lattice import LatticeResult
    from marginals.recoding.local_recoding import LocalRecoding
    from marginals.tables.table import Table


@click.command()
@CONFIG
@click.option("--levels", metavar=LEVELS_METAVAR, help="Generalize to these levels first; other attributes stay as is.")
@click.option(
    "--eligible", is_flag=True, help="Also tell the strongest requirements that any generalization satisfies."
)
@JSON
def assess(config: Path, levels: str | None, eligible: bool, as_json: bool) -> None:
    """Report what a table itself gives away.

    Shows for the table of CONFIG, as it is or generalized, its smallest class and the diversity that it reaches. Then come
    classes with one sensitive value for (nearly) everybody, the risk that somebody finds a person's row, and which columns
    make rows unique. Exit status 1 if the table does not satisfy the policy of CONFIG, or what [population] demands.

    \b
    Examples:
      marginals assess release.toml
      marginals assess release.toml --levels age=2,postcode=3
      marginals assess release.toml --eligible
    """
    from marginals.say.claims import finding_sentences
    from marginals.say.table import assessment_lines, eligibility_lines, reidentification_lines

    configured = marginals.read_config(config)
    table = configured.read_table()
    assessed = marginals.recoding.assess(table, configured.policy, parse_levels(levels), configured.read_population())
    if as_json:
        print_json(plain(assessed) | ({"eligible": assessed.eligible} if eligible else {}))
    else:
        print_lines(assessment_lines(assessed.assessment, table.rows_per_person))
        print_lines(reidentification_lines(assessed.reidentification))
        if eligible:
            print_lines(eligibility_lines(assessed.eligible))
        print_sentences(finding_sentences(assessed.checks))
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
@JSON
def anonymize(config: Path, target: Target, as_json: bool, **chosen: Any) -> None:
    """List the best single tables that satisfy the policy, and write one.

    A table is minimal if no finer one satisfies the policy of CONFIG. The larger of k_link and k_combinatorial counts as
    k-anonymity, and min_cell for each cell. The ten best are listed, by KL divergence to the data; --json lists all. --out
    writes the best, or the one at --levels: a line for each combination of values, with its number of rows. The methods
    sweep and hilbert generalize each class in its own way, and cannot keep min_cell.

    \b
    Examples:
      marginals anonymize release.toml --out table.csv
      marginals anonymize release.toml --levels age=3,postcode=3,education=3,occupation=3 --suppression 0.2 --out chosen.csv
      marginals anonymize functional.toml --method sweep --out swept.csv
    """
    from marginals.recoding.lattice import published_table
    from marginals.say.table import recoded_line, single_table_lines, written_table_lines

    method, levels, suppression = chosen["method"], chosen["levels"], chosen["suppression"]
    if method != "lattice" and (suppression or levels is not None):
        raise InputError(f"{'--suppression' if suppression else '--levels'} goes with the method lattice only")
    configured = marginals.read_config(config)
    configured.require_collections()
    out = target.opened(configured.reads)
    with progress_bars(not as_json) as progress:
        table = configured.read_table()
        requirements = configured.policy.requirements_of(table)
        _require_demands(table, configured.policy, out)
        if method == "lattice":
            result = _single_tables(table, configured.policy, progress, levels, suppression)
            best: Any = result.best()
            answer: dict[str, Any] = {"nodes": result.nodes, "minimal": result.minimal}
            lines = single_table_lines(result.minimal, table.domain, _BEST if out is None else 1, result.nodes)
        else:
            best = _recoded_locally(table, requirements, method)
            divergence = best.kl_divergence(table)
            answer = {"method": method, **plain(best), "kl_divergence": divergence}
            lines = iter([recoded_line(method, best, divergence)])
    if as_json:
        print_json(answer | ({} if out is None else {"out": str(out.path), "written": best}))
    else:
        print_lines(lines)
    if out is not None:
        recoded = published_table(table, best.levels, requirements) if method == "lattice" else best
        out.write(csv_bytes(recoded.frame()))
        suppressed = best.suppressed if method == "lattice" else 0
        print_lines([] if as_json else written_table_lines(str(out.path), recoded, requirements, suppressed))


_BEST = 10


def _single_tables(
    table: "Table", policy: "Policy", progress: "Progress", levels: str | None, suppression: float
) -> "LatticeResult":
    from marginals.publishing.obstacles import no_single_table, suppressed
    from marginals.publishing.single_tables import chosen_table
    from marginals.recoding.lattice import LatticeResult

    if levels is not None:
        return LatticeResult(1, (chosen_table(table, policy, parse_levels(levels), suppression),))
    result = marginals.anonymize(table, policy, progress, suppression)
    if result.best() is None:
        raise NothingPublishableError(no_single_table([suppressed(table)], [policy.requirements_of(table)]))
    return result


def _require_demands(table: "Table", policy: "Policy", out: "OutputFile | None") -> None:
    from marginals.publishing.publishing import require_demanded

    if out is None:
        return
    if not policy.requirements_of(table).claims:
        raise InputError(
            "the policy demands no privacy, so the table itself would be written; set k_link, k_combinatorial, min_cell "
            "diversity or rules under [privacy]"
        )
    require_demanded(table, policy)


def _recoded_locally(table: "Table", requirements: "Requirements", method: str) -> "LocalRecoding":
    if (requirements.cell_size or 1) > 1:
        raise InputError(
            f"the method {method} cannot keep a least count; leave min_cell out of [privacy], and each rule that demands "
            "one, or use the method lattice"
        )
    try:
        diversity = requirements.common_diversity
    except CriterionError:
        raise InputError(
            f"the method {method} keeps one diversity of all sensitive attributes, at level 0; demand one alone, or use the "
            "method lattice"
        ) from None
    recode = marginals.recoding.sweep if method == "sweep" else marginals.recoding.hilbert
    return recode(table, diversity, k=requirements.class_size or 1)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--rows", default=24_000, show_default=True, type=click.IntRange(1000, 10_000_000), help="Table size.")
@JSON
def demo(folder: Path, rows: int, as_json: bool) -> None:
    """Simulate a census, publish it and report the result.

    Needs no network and no data. Writes census.csv, its hierarchies, a commented release.toml, the release and a page about
    it for its steward to the new folder DIR.

    \b
    Examples:
      marginals demo demo
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; choose a new folder")
    import numpy as np

    from marginals.bundle.writing import require_folder
    from marginals.demo import census_config, census_hierarchies, simulate_census
    from marginals.files import refusals, replace_folder

    require_folder(folder)
    with progress_bars(not as_json) as progress:
        progress("simulating", 0, 0)
        rng = np.random.default_rng(0)  # the same rows each time
        files = {"census.csv": csv_bytes(simulate_census(rng, rows)), "release.toml": census_config().encode()}
        for attribute, values in census_hierarchies().items():
            files[f"hierarchies/{attribute}.csv"] = "".join(";".join(row) + "\n" for row in values).encode()
        with refusals(folder):
            replace_folder(folder, files)
    config, out = folder / "release.toml", folder / "release"
    click.get_current_context().invoke(publish, config=config, out=out, as_json=as_json)
    if not as_json:
        click.echo(f"Look at {config}, and check the release yourself: marginals verify {out}")


@click.command()
@click.argument("table", type=PATH)
@click.option(
    "--rare",
    default=RARE,
    show_default=True,
    type=click.IntRange(1),
    help="Values with fewer rows than this are rare: they are not named, and merged with others.",
)
@click.option(
    "--wanted",
    metavar="NAME,NAME",
    help="Columns that readers will analyse together; written to the config as a requested analysis.",
)
@click.option(
    "--outcome",
    metavar="NAME,NAME",
    help="Columns that are studied or compared: wanted together, and with each of the others.",
)
@click.option("--sensitive", metavar="NAME,NAME", help="Columns that nobody should learn about a person.")
@click.option("--quasi-identifiers", metavar="NAME,NAME", help="Columns that others may know about a person.")
@click.option("--ignore", metavar="NAME,NAME", help="Columns that are not wanted in the release.")
@click.option(
    "--person", metavar="NAME,NAME", help="The column that says whose row it is, or several that do together."
)
@click.option("--header", metavar="LINE", type=LineNumber(1), help="The line that names the columns, from 1.")
@click.option("--sheet", metavar="NAME", help="The sheet of a workbook that has several.")
@click.option(
    "--preset",
    type=click.Choice(["joint-proof", "more-pairs"]),
    help="Demands that fit together: a proof of all tables jointly, as long as nobody says otherwise, or further tables of "
    "pairs beside those with a junction tree, by which nobody can be certain of rare combinations that are looked at.",
)
@output(
    "--out",
    "-o",
    default="release.toml",
    show_default=True,
    help="Config to write.",
)
@VERBOSE
@JSON
def init(
    table: Path, rare: int, wanted: str | None, target: Target, verbose: bool, as_json: bool, **options: Any
) -> None:
    """Write a first config for a table, to be reviewed.

    TABLE is CSV or Parquet (a file, a folder, or a glob in quotes), or a file of SPSS, Stata, SAS or Excel. The command
    guesses what each column is, and writes that with its reasons into the config. It does not guess what you say of columns
    here. Review the config, above all the roles, and then write reviewed = true into it.

    \b
    Examples:
      marginals init people.csv
      marginals init people.csv --wanted diagnosis,age --preset more-pairs
      marginals init people.csv --outcome diagnosis,age
      marginals init visits.csv --sensitive diagnosis,income --ignore remarks --person patient
    """
    from marginals.config.first_config import initial_config
    from marginals.config.guessed_table import Choices
    from marginals.config.presets import PRESETS
    from marginals.output import keep_apart, refuse_to_replace
    from marginals.tables.attribute import Role

    out = target.path or Path("release.toml")
    person = () if options["person"] is None else _named(options["person"]) or ("",)
    roles: dict[str, Role] = {}
    options_of = {Role.SENSITIVE: "sensitive", Role.QUASI_IDENTIFIER: "quasi_identifiers", Role.IGNORED: "ignore"}
    for role in (*options_of, Role.IDENTIFIER):
        names = _named(options[options_of[role]]) if role in options_of else person
        if twice := roles.keys() & {*names}:
            raise InputError(f"{min(twice)!r} is given two roles; name it once")
        roles |= dict.fromkeys(names, role)
    chosen = Choices(roles, person, _named(wanted), _named(options["outcome"]), options["header"], options["sheet"])
    PHASES.begin("guessing", anew=True)
    config = initial_config(table, out, rare, chosen, PRESETS.get(options["preset"]))
    keep_apart(out, (table,))
    if not target.force:
        refuse_to_replace(out)
    PHASES.begin("writing")
    config.write(out)
    PHASES.begin("")
    if as_json:
        described, person_key = config.guessed.table, config.guessed.person
        answer: dict[str, Any] = {"out": str(out), "attributes": config.guesses, "questions": config.questions}
        answer["missing"] = {text: few(cells) for text, cells in described.missing_cells.items() if cells}
        answer["seconds"] = PHASES.seconds
        answer |= {} if person_key is None else {"person": person_key.person}
        print_json(answer | ({"decimal": described.decimal} if described.decimal_why else {}))
        return
    print_lines(_init_lines(config, table.name, verbose=verbose))
    print_lines([f"Wrote {out}. Review every guess in it, then:"])
    click.echo(f"  marginals publish {out} --out release")


_ASKED, _NAMED = 4, 12  # questions without --verbose, and columns of a role


def _init_lines(config: "InitialConfig", table: str, *, verbose: bool) -> Iterable[str]:
    from marginals.config.facts import missing_in_words
    from marginals.names import column_name, number_of
    from marginals.tables.attribute import Role

    described, person = config.guessed.table, config.guessed.person
    questions, guesses = config.questions, config.guesses
    if not verbose:
        yield f"{table}: {number_of(len(questions), 'question')} to answer, {number_of(len(guesses), 'column')}."
    yield from (f"? {question}" for question in (questions if verbose else questions[:_ASKED]))
    if len(questions) > _ASKED and not verbose:
        yield f"? and {len(questions) - _ASKED:,} more, in the config and by --verbose"
    if config.form.header is not None:
        yield f"The columns are named by line {config.form.header}; see header in the config."
    if described.decimal_why:
        yield f"Numbers are read with a decimal comma: {described.decimal_why}."
    yield from filter(None, [missing_in_words(described.missing_cells)])
    marked = [column_name(n) for n, facts in described.columns.items() if facts.marks.texts and guesses[n].role.is_used]
    if marked:
        yield f"Values that are read as missing, see marks in the config: of {', '.join(marked[:_NAMED])}."
    if verbose:
        yield from (f"{guess.role.value:>16}  {column_name(name)}: {guess.why}" for name, guess in guesses.items())
    for role in () if verbose else Role:
        names = [column_name(name) for name, guess in guesses.items() if guess.role is role]
        if names:
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            yield f"{role.value:>16}  {', '.join(names[:_NAMED])}{more}"
    if person is not None:
        most = config.counted.rows_of_each
        counts = "One row of each counts, drawn at random" if most == 1 else f"Up to {most} rows of each count"
        yield f"{person}. {counts}; see person in the config."
    if not any(guess.role is Role.SENSITIVE for guess in guesses.values()):
        yield "No column looked sensitive; if one is, say so in the config."


def _named(columns: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (columns or "").split(",") if name.strip())


@click.command("open")
@click.argument("path", metavar="[TABLE|CONFIG|RELEASE]", type=PATH, default=Path())
def open_window(path: Path) -> None:
    """Open a window in the browser for the whole way, without code.

    From a table to its release: roles, levels, policy, search, publication; of a release alone, its tables. The window is
    served on this machine only, to whoever has the address that is printed. It reads and writes nothing outside of the
    folder of the file. Ctrl-C or its button ends it. It needs the extra `window`.

    \b
    Examples:
      marginals open people.csv
      marginals open release
    """
    from marginals.window.project import Project

    project = Project.at(path)
    try:
        from marginals.window.server import serve
    except ImportError:
        raise InputError(f"the window needs Werkzeug and tomlkit; install both with: {installing('window')}") from None

    def announce(address: str) -> None:
        click.echo(f"The window is at {address}\nCtrl-C ends it.")

    with suppress(KeyboardInterrupt):  # how a window ends where it has a terminal
        serve(project, announce)
    click.echo("The window is closed.")

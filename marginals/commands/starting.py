"""Commands to begin with: a simulated table to try things on, a first config for a table of one's own, and the window."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

import marginals
from marginals.commands.options import JSON, PATH, Target, output, stops_after
from marginals.commands.printing import print_json
from marginals.commands.progress import ProgressBars
from marginals.commands.publishing import hand_over, written
from marginals.config.guessing.rarity import RARE
from marginals.errors import InputError
from marginals.installing import installing

if TYPE_CHECKING:
    from marginals.publishing.searching import Progress
    from marginals.release.release import Release
    from marginals.release.steward_file import StewardFile


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--rows", default=24_000, show_default=True, type=click.IntRange(1000, 10_000_000), help="Table size.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="The same seed gives the same table."
)
@click.option(
    "--months",
    default=1,
    show_default=True,
    type=click.IntRange(1, 99),
    help="More than one: a hospital whose patients come and go, published every month beside a ledger.",
)
@stops_after
@JSON
def demo(folder: Path, rows: int, seed: int, months: int, as_json: bool) -> None:
    """Simulate a census, publish it, and say what was gained.

    Needs no network and no data. Writes census.csv, its hierarchies, a commented release.toml, the release and a page about
    it for its steward to the new folder DIR. The release.toml can be edited for a table of your own. With --months the table
    is that of a hospital which changes by 2 percent a month, and of each month, 01 and so on, there are a table, a config, a
    release and a page.

    \b
    Examples:
      marginals demo demo
      marginals demo hospital --months 12
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; choose a new folder")
    import numpy as np

    from marginals.bundle.target import OutputFolder
    from marginals.demo.census import census_hierarchies, simulate_census
    from marginals.demo.census_config import CENSUS_CONFIG
    from marginals.demo.hospital import hospital_config, simulate_hospital
    from marginals.files.atomic_folder import replace_folder

    _ = OutputFolder(folder)
    with ProgressBars(not as_json) as progress:
        progress("simulating", 0, 0)
        rng = np.random.default_rng(seed)
        tables = [simulate_census(rng, rows)] if months == 1 else simulate_hospital(rng, rows, months)
        files = {}
        for number, table in enumerate(tables, 1):
            month = "" if months == 1 else f"-{number:02d}"
            files[f"census{month}.csv"] = table.to_csv(index=False, lineterminator="\n")
            files[f"release{month}.toml"] = hospital_config(f"census{month}.csv") if month else CENSUS_CONFIG
        for attribute, values in census_hierarchies().items():
            files[f"hierarchies/{attribute}.csv"] = "".join(";".join(row) + "\n" for row in values)
        try:
            replace_folder(folder, {path: text.encode() for path, text in files.items()})
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror}") from None
        configs = sorted(folder.glob("*.toml"))
        ledger = folder / "ledger" if months > 1 else None
        made = [_published(config, ledger, progress) for config in configs]
    if ledger is not None:
        _hand_over_months(made, ledger, as_json)
        return
    ((release, page),) = made
    hand_over(release, page, as_json)
    if not as_json:
        click.echo(f"\nLook at {folder / 'release.toml'}, and check the release yourself:")
        click.echo(f"  marginals verify {folder / 'release'}")


def _published(path: Path, ledger: Path | None, progress: "Progress") -> "tuple[Release, StewardFile]":
    """The release of a config, written beside it, and where its steward's page is."""
    from marginals.release.steward_file import StewardFile, beside

    config = marginals.read_config(path)
    out = path.with_suffix("")
    page = StewardFile(beside(out), out)
    release = marginals.publish(config.read_table(), config.policy, progress, ledger=ledger)
    return written(release, out, page), page


def _hand_over_months(made: "list[tuple[Release, StewardFile]]", ledger: Path, as_json: bool) -> None:
    """Print who waits in each of some months."""
    waits = [release.steward.waiting for release, _ in made if release.steward is not None and release.path is not None]
    paths = [str(release.path) for release, _ in made]
    if as_json:
        each = [{"out": out, **waiting.as_json()} for out, waiting in zip(paths, waits) if waiting is not None]
        print_json({"ledger": str(ledger), "months": each})
        return
    for (release, _), waiting in zip(made, waits):
        if waiting is not None:
            waited = f"{waiting.came:,} who came and {waiting.left:,} who left wait for a later one"
            click.echo(f"{release.path}  {release.rows:,} patients; {waited}")
    click.echo(
        f"\nWho waits is for you alone; {made[0][1].path} says more. Look at what is out, and check two of the releases:"
    )
    click.echo(f"  marginals ledger {ledger}")
    click.echo(f"  marginals verify {paths[0]} {paths[-1]}")


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
    help="Columns that readers will look at together: they are kept, and written as an analysis that the release is for.",
)
@output(
    "--out",
    "-o",
    default="release.toml",
    show_default=True,
    help="Config to write; hierarchy files go to the folder hierarchies beside it.",
)
@stops_after
@JSON
def init(table: Path, rare: int, wanted: str | None, target: Target, as_json: bool) -> None:
    """Write a first config for a table, to be reviewed.

    TABLE is CSV or Parquet: a file, a folder, or a glob in quotes; or a file of SPSS, Stata, SAS or Excel. The command
    guesses what each column is, says why, and writes that as comments into the config. It publishes nothing. Review the
    config, above all the roles.

    \b
    Examples:
      marginals init people.csv
      marginals init people.csv --out people.toml
      marginals init people.csv --wanted diagnosis,age
    """
    from marginals.config.guessing.initial_config import initial_config
    from marginals.tables.attribute import Role

    out = target.path or Path("release.toml")
    config = initial_config(table, out, rare, [name.strip() for name in (wanted or "").split(",") if name.strip()])
    config.keep_apart(out, table)
    if not target.force:
        config.refuse_to_replace(out)
    files = config.write(out)
    if as_json:
        person = {} if config.person is None else {"person": config.person.column}
        decimal = {"decimal": config.decimal.sign} if config.decimal.why else {}
        print_json(
            {
                "out": str(out),
                "hierarchies": list(map(str, files[:-1])),
                "attributes": config.as_json(),
                **person,
                **decimal,
            }
        )
        return
    if config.decimal.why:
        click.echo(f"Numbers are read with a decimal comma: {config.decimal.why}.")
    for token, why in config.missing.why.items():
        click.echo(f"{token} is taken for a missing value: {why}.")
    for name, guess in config.guesses.items():
        shown = name or '""'  # as the config writes the name of a column whose header is empty
        click.echo(f"{guess.role.value:>16}  {shown}: {guess.why}")
    if config.person is not None:
        click.echo(f"{config.person}. The first row of each counts; see person and one_row in the config.")
    if not any(guess.role is Role.SENSITIVE for guess in config.guesses.values()):
        click.echo("No column looked sensitive; if one is, say so in the config.")
    click.echo(f"Wrote {', '.join(map(str, [out, *files[:-1]]))}. Review each, then:")
    click.echo(f"  marginals assess {out}")
    click.echo(f"  marginals publish {out} --out release")


@click.command("open")
@click.argument("path", metavar="[TABLE|CONFIG|RELEASE]", type=PATH, default=Path())
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1. [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
def open_window(path: Path, port: int, no_browser: bool) -> None:
    """Open a window in the browser for the whole way, without code.

    From a table to its release: roles, levels, policy, search, publication; of a release alone, its tables. All that is
    done there is an edit of release.toml or a command, which the page shows. The window is served on this machine only,
    to whoever has the address that is printed; it reads and writes nothing outside of the folder of the file. Ctrl-C or its
    button ends it. It needs the extra `window`.

    \b
    Examples:
      marginals open people.csv
      marginals open release.toml
      marginals open release
    """
    from marginals.window.project import Project

    project = Project.at(path)
    try:
        from marginals.window.serving import serve
    except ImportError:
        raise InputError(f"the window needs Werkzeug and tomlkit; install both with: {installing('window')}") from None

    def announce(address: str) -> None:
        click.echo(f"The window is at {address}\nCtrl-C ends it.")

    try:
        serve(project, port, announce, show=not no_browser)
    except KeyboardInterrupt:  # how a window ends where it has a terminal
        pass
    except OSError as error:
        raise InputError(f"port {port} cannot be used: {error.strerror or type(error).__name__}") from None
    click.echo("The window is closed.")

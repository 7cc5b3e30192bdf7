"""Items whose answers `make same` compares: made tables, collections and published tables, and what is done with them.

The set `search` looks for collections of margins. The set `fixed` takes margins that are given, or needs none, so that it
stays when the search changes. The answers of an item are texts by step: what a command printed, the files of a release.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from click.testing import CliRunner, Result

import marginals
from command_line import main as program
from models import Collection, MaximumEntropy, Problem, SearchResult
from project import data_folder

SEED = 20261128
Texts = dict[str, str]

CRITERIA = (
    "distinct:2",
    "simple:1.5",
    "entropy:1.8",
    "recursive:3,2",
    "functional:0.8,3",
    "pd-recursive:3,2 may disclose cold",
    "negative-disclosure:5 must protect gout",
    "npd-recursive:3,2,2 may disclose cold must protect flu",
    "adjusted-entropy:1.8 may disclose cold",
    "alpha:0.6 of flu",
    "t-closeness:0.35",
    "beta-likeness:1.5",
    "bayes-optimal:0.3,0.7",
    "belief-difference:0.4",
)
FURTHER = 'max_sensitive_margins = 1\nfurther_tables = "pairs"'
DEMANDS = ("", "k_combinatorial = 3", "min_cell = 3", "register = true", 'rules = ["tre-10"]', "min_published_cell = 2")
SEARCHES = (
    "",
    'strategy = "forward"\nobjective = "kl"',
    FURTHER,
    'strategy = "forward"\nobjective = "bic"',
    'strategy = "backward"\nobjective = "corrected:1"',
    'strategy = "local"\nobjective = "aic"\nmax_attributes = 3',
    'strategy = "backward"\nmax_attributes = 2',
    'strategy = "forward"\nseed = 3',
    'strategy = "forward"\n[base]\ntable = "best"',
    'strategy = "forward"\n[base]\ntable = "none"',
    'strategy = "forward"\n[[search.wanted]]\nattributes = ["illness", "age0"]',
)
CHECKS = ("k-link=3", "k-combinatorial=3", "min-cell=2", "min-published-cell=2", "register=distinct:2")


# Made tables.


@dataclass
class MadeTable:
    """Rows of a table, and what its columns are. sections: the TOML of each published column. files: hierarchies by name."""

    frame: pd.DataFrame
    sections: dict[str, str]
    sensitive: list[str]
    unit: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        self.frame.to_csv(folder / "people.csv", index=False)
        for name, text in self.files.items():
            (folder / name).write_text(text)

    def config(self, privacy: str, search: str = "") -> str:
        """The text of a config. privacy: its demands but the diversity of a second sensitive column."""
        attributes = "".join(f"[attributes.{name}]\n{section}\n" for name, section in self.sections.items())
        parts = [f'[data]\npath = "people.csv"\n{self.unit}', attributes, f"[privacy]\n{privacy}"]
        return "\n".join([*parts, f"[search]\ntime_limit = inf\n{search}\n"])

    def privacy(self, number: int) -> str:
        """One criterion after the other, and beside it one further demand after the other."""
        criterion = CRITERIA[number % len(CRITERIA)]
        of_each = ", ".join(
            f"{name} = '{'distinct:2' if place else criterion}'" for place, name in enumerate(self.sensitive)
        )
        diversity = f"{{ {of_each} }}" if len(self.sensitive) > 1 else f"'{criterion}'"
        return f"k_link = {2 + number % 4}\ndiversity = {diversity}\n{DEMANDS[number % len(DEMANDS)]}"


def draw_column(kind: str, latent: Any, rng: np.random.Generator) -> tuple[list[str], str]:
    """Values that depend on a latent class of each row, and the levels of the column as TOML."""
    rows = len(latent)
    noisy = np.where(rng.random(rows) < 0.6, latent, rng.integers(0, 4, rows))
    match kind:
        case "flag":
            return np.where(rng.random(rows) < 0.2 + 0.2 * noisy, "yes", "no").tolist(), ""
        case "town":
            return np.array(["Aix", "Ulm", "Ely", "Bath"])[noisy].tolist(), ""
        case "code":
            return [f"{'ABCD'[n]}{d}" for n, d in zip(noisy, rng.integers(1, 4, rows))], "prefixes = [1]"
        case "age":
            return [str(18 + 14 * n + d) for n, d in zip(noisy, rng.integers(0, 20, rows))], "intervals = [5, 10, 20]"
        case "weight":
            return [f"{w:.1f}" for w in rng.normal(50 + 8 * noisy, 6)], "intervals = [2.5, 10.0]"
        case "day":
            days = 90 * noisy + rng.integers(0, 80, rows)
            return [
                (date(2023, 1, 10) + timedelta(int(d))).isoformat() for d in days
            ], 'dates = ["month", "quarter", "year"]'
        case _:
            return [f"{'nsew'[n]}{d}" for n, d in zip(noisy, rng.integers(0, 2, rows))], 'hierarchy = "area.csv"'


KINDS = ("flag", "town", "code", "age", "weight", "day", "area")
AREAS = "".join(f"{end}{d};{end};{'cold' if end in 'ne' else 'warm'};*\n" for end in "nsew" for d in range(2))


def draw_table(number: int, most_rows: int = 2000, least_rows: int = 50, more_columns: int = 0) -> MadeTable:
    """A table of 50 to 2,000 rows and 2 to 7 columns, the first of them ages; the same for the same number."""
    rng = np.random.default_rng([SEED, number])
    rows = rng.choice([50, 90, 150, 300, 600, 2000], p=[0.12, 0.2, 0.28, 0.28, 0.1, 0.02])
    rows = int(min(max(rows, least_rows), most_rows))
    latent = rng.integers(0, 4, rows)
    kinds = ["age", *rng.permutation(KINDS)[: rng.choice(5, p=[0.3, 0.35, 0.25, 0.08, 0.02]) + more_columns]]
    columns, sections = {}, {}
    for place, kind in enumerate(kinds):
        values, levels = draw_column(kind, latent, rng)
        if rng.random() < 0.2:
            values = ["" if missing else value for value, missing in zip(values, rng.random(rows) < 0.04)]
            levels += '\nmissing = "as a value"' if rng.random() < 0.5 else ""
        columns[f"{kind}{place}"] = values
        sections[f"{kind}{place}"] = f'role = "quasi-identifier"\n{levels}'
    ill = np.where(rng.random(rows) < 0.5, latent, rng.integers(0, 5, rows))
    columns["illness"] = np.array(["flu", "cold", "gout", "none", "asthma"])[ill].tolist()
    sensitive = ["illness"]
    if rng.random() < 0.15:
        columns["pay"] = [str(100 * n) for n in rng.integers(9, 60, rows) + 5 * latent]
        sensitive.append("pay")
    sections |= dict.fromkeys(sensitive, 'role = "sensitive"')
    unit = ""
    if rng.random() < 0.2:
        columns = {"person": [f"p{n}" for n in rng.integers(0, rows, rows)], **columns}
        unit = 'person = "person"\n' + str(rng.choice(['one_row = "first"', "rows_per_person = 2"]))
    return MadeTable(pd.DataFrame(columns), sections, sensitive, unit, {"area.csv": AREAS})


# Sessions: commands, and the texts that they answer with.


class Session:
    """The commands of one item, run in a folder of its own, and their answers by step."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.texts = folder, Texts()

    def note(self, step: str, text: str) -> None:
        self.texts[step] = self.texts.get(step, "") + normalize_text(text, self.folder).rstrip("\n") + "\n"

    def run(self, step: str, *arguments: object) -> Result:
        """Run a command to its end; JSON of standard output is set one value a line."""
        given = [str(argument) for argument in arguments]
        result = CliRunner().invoke(program, given)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            self.note(step, f"raised {result.exception!r}")
        self.note(
            step, f"$ marginals {' '.join(given)}\nexit status {result.exit_code}\n{normalize_json(result.stdout)}"
        )
        self.note(step, result.stderr)
        return result

    def publish(self, config: str, out: str) -> bool:
        """Publish a config and keep the release and the steward's page; whether there is a release."""
        self.run(f"{out} publish", "publish", config, "--out", out, "--json")
        return self.keep_release(out)

    def publish_briefly(self, config: str, step: str) -> None:
        """Publish a config without the pages, which take most of the time; keep the counts and the steps of the search."""
        try:
            read = marginals.read_config(config)
            publication = marginals.publish(read.read_table(), read.policy)
        except marginals.MarginalsError as error:
            self.note(f"{step} publish", f"{type(error).__name__}: {error}")
            return
        release = publication.release
        self.note(f"{step} publish", f"{release!r}\n{publication.steward.trace().round(6).to_csv()}")
        self.note(f"{step} verify", "\n".join(map(str, release.verify().checks)))
        for margin in release.published.everything.margins:
            self.note(f"{step} files", f"=== {dict(margin)}\n{release.table(margin).value.rename('count').to_csv()}")

    def keep_release(self, out: str) -> bool:
        files = sorted(path for path in Path(out).rglob("*") if path.is_file())
        for path in files:
            kind = "report" if path.suffix == ".html" else "files"
            self.note(f"{out} {kind}", f"=== {path}\n{path.read_text()}")
        if (steward := Path(f"{out}-steward.html")).is_file():
            self.note(f"{out} steward", steward.read_text())
        return bool(files)

    def read(self, out: str, attack: Sequence[str] = ()) -> None:
        tables = [
            pd.read_csv(path, dtype=str, keep_default_na=False) for path in sorted(Path(out, "marginals").glob("*.csv"))
        ]
        ends = [table.iloc[len(table) // 2] for table in (tables[0], tables[-1])]
        asked = [{name: f"{name}={label}" for name, label in end.items() if name != "count"} for end in ends]
        for conditions in (asked[0], {**asked[0], **asked[1]}, dict([*asked[-1].items()][:1])):
            self.run(f"{out} query", "query", out, *conditions.values(), "--seconds", "1e6", "--json")
        self.run(f"{out} attack", "attack", out, *attack, "--seconds", "1e6", "--json")
        self.run(f"{out} sample", "sample", out, "-n", 10, "--seed", 3)


def normalize_text(text: str, folder: Path) -> str:
    """A text without the folder and the date, and pages with a line for each element."""
    today = datetime.now(UTC).date()
    for day in (today, today - timedelta(1)):
        text = text.replace(day.isoformat(), "TODAY")
    return text.replace(str(folder), "FOLDER").replace("><", ">\n<")


def normalize_json(text: str) -> str:
    """The same JSON with a value on each line, keys in order and floats of seven digits; any other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        return json.dumps(round_floats(json.loads(text)), indent=1, sort_keys=True, ensure_ascii=False)
    except json.JSONDecodeError:
        return text


def round_floats(value: Any) -> Any:
    """A value of JSON with floats of seven significant digits; what is 0 but for rounding is 0."""
    match value:
        case float():
            return 0.0 if abs(value) < 1e-12 else float(f"{value:.7g}")
        case list():
            return [round_floats(part) for part in value]
        case dict():
            return {key: round_floats(part) for key, part in value.items() if key != "seconds"}
    return value


# Items of the set `search`.


def publish_table(number: int, session: Session) -> None:
    """A table by the config of `init`, and by one of a hand."""
    table = draw_table(number)
    table.write(session.folder)
    said = ["--sensitive", ",".join(table.sensitive)] if number % 2 else []
    person = ["--person", "person"] if table.unit and number % 4 < 2 else []
    session.run("init", "init", "people.csv", "-o", "init.toml", "--json", *said, *person)
    guessed = Path("init.toml").read_text()
    session.note("init", guessed)
    Path("init.toml").write_text(re.sub(r"(?m)^time_limit = \S+", "time_limit = inf", guessed))
    Path("hand.toml").write_text(table.config(table.privacy(number), SEARCHES[number % len(SEARCHES)]))
    for name in ("init", "hand"):
        if number % 5:
            session.publish_briefly(f"{name}.toml", name)
        elif session.publish(f"{name}.toml", name):
            session.run(f"{name} verify", "verify", name, "--json")
    if number % 10 == 0 and Path("init").is_dir():
        session.read("init", ["--truth", "init.toml"] if number % 20 else [])


def publish_changes(number: int, session: Session) -> None:
    table = draw_table(1000 + number)
    rng = np.random.default_rng([SEED, 2000 + number])
    rows = table.frame.loc[rng.integers(0, len(table.frame), 500)].drop(columns="person", errors="ignore")
    frame = rows.assign(who=[f"w{n}" for n in range(500)])
    kept = replace(table, frame=frame, unit='person = "who"\none_row = "first"')
    for release in range(3):
        kept.write(session.folder)
        Path("release.toml").write_text(kept.config("k_link = 4\ndiversity = 'distinct:2'", 'strategy = "forward"'))
        out = f"release-{release}"
        session.run(f"{out} publish", "publish", "release.toml", "--out", out, "--ledger", "ledger", "--json")
        session.keep_release(out)
        new = frame.sample(60, random_state=release).assign(who=[f"n{release}-{n}" for n in range(60)])
        kept = replace(kept, frame=pd.concat([kept.frame.iloc[15 * (release + 1) :], new]))
    session.run("ledger", "ledger", "ledger", "--json")
    session.run("verify", "verify", "release-0", "release-2", "--json", "--check", "difference=4")
    session.run("attack", "attack", "release-0", "release-1", "--json", "--seconds", "1e6")


def publish_demo(session: Session) -> None:
    session.run("demo", "demo", "demo", "--rows", 1500, "--json")
    session.note("demo", Path("demo/release.toml").read_text() + Path("demo/census.csv").read_text())
    session.keep_release("demo/release")
    session.read("demo/release", ["--truth", "demo/release.toml"])
    session.run("words", "publish", "demo/release.toml", "--out", "words")
    session.run("words", "verify", "words")
    session.run("words", "attack", "words", "--seconds", "1e6")
    session.run("words", "verify", "words", "--report", "report.html")


def select_model(number: int, session: Session) -> None:
    frame = draw_table(3000 + number).frame.drop(columns=["pay", "person"], errors="ignore")
    for criterion in ("bic", "aic"):
        chosen = marginals.select(frame, criterion, "auto" if number % 2 else "backward", time_limit=None)
        session.note(criterion, f"{chosen!r}\n{chosen.trace().round(6).to_csv()}")


def publish_adult(session: Session) -> None:
    columns = ["age", "sex", "race", "marital-status", "occupation"]
    rows = pd.read_csv(data_folder() / "adult" / "adult.csv", nrows=1500, dtype=str, usecols=columns)
    rows.to_csv("people.csv", index=False)
    session.run("init", "init", "people.csv", "-o", "init.toml", "--json", "--sensitive", "occupation")
    Path("init.toml").write_text(re.sub(r"(?m)^time_limit = \S+", "time_limit = inf", Path("init.toml").read_text()))
    if session.publish("init.toml", "release"):
        session.read("release")


# Items of the set `fixed`.


def draw_margins(heights: Mapping[str, int], rng: np.random.Generator) -> list[dict[str, int]]:
    """Margins that have a junction tree: each new attribute joins a coarser part of an earlier margin."""
    margins: list[dict[str, int]] = []
    for name in rng.permutation(sorted(heights)).tolist():
        earlier = margins[rng.integers(len(margins))] if margins else {}
        kept = [
            (n, min(level + int(rng.integers(2)), heights[n] - 1)) for n, level in earlier.items() if rng.random() < 0.7
        ]
        margins.append({**dict(kept[:2]), name: int(rng.integers(heights[name]))})
    return margins


def publish_given(config: str, margins: Sequence[Mapping[str, int]], *, is_free: bool = False) -> Any:
    """Publish margins that are given by the policy of a config, without a search. is_free: without what it demands."""

    def give_collection(problem: Problem, _stop: object) -> SearchResult:
        masks = {problem.cube.domain.mask(margin) for margin in margins} - {0}
        maximal = tuple(sorted(mask for mask in masks if not any(mask != m and not mask & ~m for m in masks)))
        if refusal := problem.constraint(maximal, 0):
            raise marginals.errors.NothingAllowedError(refusal.reason)
        divergence = MaximumEntropy(Collection.of(problem.cube, maximal)).kl_divergence
        return SearchResult("given", maximal, divergence, 0, optimal=True, steps=(), value=divergence)

    read = marginals.read_config(config)
    policy = replace(read.policy, strategy=give_collection, max_sensitive_margins=None)
    if is_free:  # whatever the margins show is wanted, which no policy allows that anybody can write
        object.__setattr__(policy, "k_link", 1)
    return marginals.publish(read.read_table(), policy)


def publish_collection(number: int, session: Session) -> None:
    """Margins published without any demand, and checked by their readers; then coarser ones, judged by a policy."""
    table = draw_table(4000 + number, most_rows=600, least_rows=600, more_columns=2)
    table.unit = table.unit.replace("rows_per_person = 2", 'one_row = "first"')
    table.write(session.folder)
    given = 'objective = "kl"\n[base]\ntable = "none"'
    Path("free.toml").write_text(table.config("k_link = 2\ndiversity = 'none'", given))
    Path("judged.toml").write_text(table.config(table.privacy(number), given))
    domain = marginals.read_config("free.toml").read_table().domain
    heights = {name: hierarchy.height for name, hierarchy in domain.items()}
    margins = draw_margins(heights, np.random.default_rng([SEED, 5000 + number]))
    publish_given("free.toml", margins, is_free=True).write("free")
    session.keep_release("free")
    for check in (*CHECKS, *(f"diversity={CRITERIA[(number + n) % len(CRITERIA)]}" for n in range(3))):
        session.run("verify", "verify", "free", "--json", "--check", check)
    session.read("free")
    for name in ("", *sorted(heights, key=lambda name: -domain.hierarchy(name).size(0))):
        margins = [
            {n: min(level + 1, heights[n] - 1) for n, level in margin.items() if n != name} for margin in margins
        ]
        try:
            release = publish_given("judged.toml", margins).release
            session.note("judged", "\n".join(map(str, [margins, release, *release.verify().checks])))
            break
        except marginals.MarginalsError as error:
            session.note("judged", f"{margins}\n{type(error).__name__}: {error}")


def audit_tables(number: int, session: Session) -> None:
    """Two or three tables of counts, with cells withheld in one of several spellings."""
    rng = np.random.default_rng([SEED, 6000 + number])
    rows, areas = int(rng.integers(60, 400)), int(rng.integers(2, 5))
    frame = pd.DataFrame(
        {"area": rng.integers(0, areas, rows), "age": rng.integers(0, 3, rows), "sex": rng.integers(0, 2, rows)}
    )
    frame = frame.assign(
        area=np.array(["Ulm", "Ely", "Bath", "Aix"])[frame.area], age=np.array(["0-17", "18-64", "65+"])[frame.age],
        sex=np.array(["f", "m"])[frame.sex],
    )  # fmt: skip
    spelling = number % 5

    def spell_count(cell: int) -> str:
        withheld = ("*", "<5", "1 to 4", "n/a", "0-4")[spelling] if 0 < cell < 5 else str(cell)
        return str(5 * round(cell / 5)) if spelling == 4 and number % 2 else withheld

    crossed = pd.crosstab(frame.area, frame.age, margins=True, margins_name="Total").map(spell_count)
    crossed.reset_index().to_csv("by_age.csv", index=False, sep=",;\t"[number % 3])
    long = frame.groupby(["area", "sex"]).size().map(spell_count if number % 4 else str).rename("count")
    long.reset_index().to_csv("by_sex.csv", index=False)
    paths = ["by_age.csv", "by_sex.csv"]
    if number % 2:
        paths.append("by_both.csv")
        pd.crosstab(frame.age, frame.sex, margins=True, margins_name="Total").reset_index().to_csv(
            paths[-1], index=False
        )
    limits = ("--seconds", "1e6")
    session.run("audit", "audit", *paths, "--json", *limits)
    session.run("spec", "audit", *paths, "--init")
    if Path("audit.toml").is_file():
        session.note("spec", Path("audit.toml").read_text())
        more = [] if number % 3 else ["--sensitive", "sex"]
        session.run("words", "audit", "--spec", "audit.toml", "--report", "audit.html", *more, *limits)
        session.note("page", Path("audit.html").read_text() if Path("audit.html").is_file() else "")


RISK = """
[risk]
sensitivity = "multiplicative"
weights = { illness = 2.0, age0 = 0.5 }
[[risk.rules]]
attribute = "age0"
level = 2
condition = "age0 >= 40"
[[risk.rules]]
attribute = "illness"
condition = "illness = flu"
"""


def look_at_table(number: int, session: Session) -> None:
    """Single tables and rows: assess, anonymize, risk and disclose."""
    table = draw_table(7000 + number, most_rows=300)
    sections = {name: section.replace('missing = "as a value"', "") for name, section in table.sections.items()}
    table = replace(table, sections=sections, unit="")
    table.frame.drop(columns="person", errors="ignore").to_csv("people.csv", index=False)
    Path("area.csv").write_text(AREAS)
    config = table.config(table.privacy(number))
    Path("release.toml").write_text(config)
    Path("plain.toml").write_text(table.config("k_link = 3\ndiversity = 'distinct:2'"))
    Path("risk.toml").write_text(config + RISK)
    session.run("assess", "assess", "release.toml", "--json", "--eligible")
    session.run("assess", "assess", "plain.toml", "--levels", "age0=1")
    session.run("anonymize", "anonymize", "release.toml", "--json", "--out", "lattice.csv")
    session.run("anonymize", "anonymize", "plain.toml", "--suppression", 0.1, "--out", "suppressed.csv")
    for method in ("sweep", "hilbert"):
        session.run(method, "anonymize", "plain.toml", "--method", method, "--out", f"{method}.csv", "--json")
        session.run(method, "verify", f"{method}.csv", "--config", "plain.toml", "--json")
    for options in (
        (),
        ("--utility", 3),
        ("--loss", 0.2, "--on-average"),
        ("--price", 0.1),
        ("--minimax", "--utility", 2),
    ):
        session.run("risk", "risk", "risk.toml", "--json", *options)
    session.run("risk", "risk", "risk.toml", "--utility", 1, "--out", "shown.csv")
    session.run("disclose", "disclose", "risk.toml", "--out", "disclosed.csv")
    for path in sorted(Path().glob("*.csv")):
        lines = path.read_text().splitlines()  # the rows are shuffled
        session.note("tables", "\n".join([f"=== {path}", *lines[:1], *sorted(lines[1:])]))


def ask_for_help(session: Session) -> None:
    for name in ("", *sorted(program.list_commands(click.Context(program)))):
        session.run(name or "marginals", *name.split(), "--help")


Item = Callable[[Session], None]

ADULT = "search adult"
"""The one item that needs real data."""

TOO_LONG = {15, 39, 43, 54, 59, 64, 133, 138}
"""Tables whose searches take more than four seconds each."""


def list_items() -> dict[str, Item]:
    """All items by name; Adult where it is there."""
    adult: dict[str, Item] = {ADULT: publish_adult} if data_folder().is_dir() else {}
    tables = [number for number in range(158) if number not in TOO_LONG]
    return {
        **adult,
        "search demo": publish_demo,
        **{f"search ledger-{n}": partial(publish_changes, n) for n in range(4)},
        **{f"search table-{n:03}": partial(publish_table, n) for n in tables},
        **{f"search model-{n}": partial(select_model, n) for n in range(8)},
        **{f"fixed table-{n:02}": partial(look_at_table, n) for n in range(20)},
        **{f"fixed audit-{n:02}": partial(audit_tables, n) for n in range(30)},
        **{f"fixed collection-{n:02}": partial(publish_collection, n) for n in range(52)},
        "fixed help": ask_for_help,
    }

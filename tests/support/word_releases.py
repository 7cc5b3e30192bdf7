"""Small tables, and a release for each thing that a release, its report or its steward's page can speak about."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from words import Case, Stage

ATTRIBUTES: Mapping[str, str] = {
    "age": 'role = "quasi-identifier"\nintervals = [5, 10]',
    "sex": 'role = "quasi-identifier"',
    "town": 'role = "quasi-identifier"',
    "disease": 'role = "sensitive"',
}
PRIVACY = 'k_link = 5\ndiversity = "entropy:2"'


def people(rows: int = 600, seed: int = 5) -> pd.DataFrame:
    """Rows of people: some columns that go together, a rare town, missing values, a number and a date."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, rows)
    town = np.array(["Aix", "Ulm", "Ely"])[(age - 20) // 14]
    town[:3] = "Rye"
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(["cold", "none, yet", 'a "b"'], rows))
    job = np.where(rng.random(rows) < 0.5, np.where(age < 40, "cook", "clerk"), rng.choice(["nurse", "smith"], rows))
    frame = pd.DataFrame({"age": age.astype(str), "sex": rng.choice(["f", "m"], rows), "town": town, "disease": ill})
    frame["job"] = job
    frame["pay"] = (1000 + 10 * (age - 20) + rng.integers(0, 900, rows)).astype(str)
    frame["grade"] = rng.choice(["mild", "severe", "dire"], rows, p=[0.5, 0.3, 0.2])
    frame["seen"] = [f"2023-{month:02}-{day:02}" for month, day in rng.integers(1, 5, (rows, 2))]
    frame["family"] = np.minimum(rng.geometric(0.45, rows), 7).astype(str)
    frame.loc[[0, 1], "family"] = "18"
    frame["name"] = [f"person {number}" for number in range(rows)]
    frame["left"] = np.where(rng.random(rows) < 0.05, "?", rng.choice(["yes", "no"], rows))
    return frame


_LONG = "[search]\ntime_limit = 3600"


class Variant(NamedTuple):
    """One release. privacy, more, data, attributes: lines of the config; table: the file of the rows."""

    title: str
    privacy: str = PRIVACY
    more: str = ""
    attributes: Mapping[str, str] = {}
    data: str = ""
    table: str = "people.csv"

    @property
    def config(self) -> str:
        """The config of this release, beside its table."""
        sections = {**ATTRIBUTES, **self.attributes}
        lines = ["[data]", f'path = "{self.table}"', 'missing = ["", "?"]', self.data]
        if "reviewed" not in self.data:
            lines.append("reviewed = true")
        for name, section in sections.items():
            if section:
                lines += [f"[attributes.{name}]", section]
        more = self.more
        if "time_limit" not in more:  # nothing here may depend on how busy the machine is
            more = more.replace("[search]", _LONG) if "[search]" in more else f"{more}\n{_LONG}"
        return "\n".join([*lines, "[privacy]", self.privacy, more, ""])


_QUASI = 'role = "quasi-identifier"'
_SENSITIVE = 'role = "sensitive"'
_ORDER = """order = ['a "b"', "cold", "flu", "none, yet"]"""
_FURTHER = 'k_link = 5\ndiversity = "distinct:2"\nno_small_certain = 5\nmin_published_cell = 2'
_JOB = {"job": _QUASI}

CRITERIA: tuple[Variant, ...] = (
    Variant("a diversity by the distinct values", 'k_link = 5\ndiversity = "distinct:3"'),
    Variant("a diversity by the largest share", 'k_link = 5\ndiversity = "simple:1.5"'),
    Variant("a recursive diversity", 'k_link = 5\ndiversity = "recursive:9,2 or equal"'),
    Variant("a functional diversity", 'k_link = 5\ndiversity = "functional:0.9,2"'),
    Variant("values that may be disclosed", 'k_link = 5\ndiversity = \'pd-recursive:9,2 may disclose "a ""b""", flu\''),
    Variant(
        "values that must be protected",
        "k_link = 5\ndiversity = 'npd-recursive:9,1,2 may disclose flu must protect cold'",
    ),
    Variant("negative disclosure", 'k_link = 5\ndiversity = "negative-disclosure:1 must protect cold"'),
    Variant("an adjusted entropy", 'k_link = 5\ndiversity = "adjusted-entropy:1.5 may disclose flu"'),
    Variant("a bound for each value", "k_link = 5\ndiversity = 'alpha:0.6 of cold, \"none, yet\"'"),
    Variant("a bound relative to the table", 'k_link = 5\ndiversity = "beta-likeness:2"'),
    Variant("bounds of beliefs", 'k_link = 5\ndiversity = "bayes-optimal:0.3,0.8"'),
    Variant("closeness", 'k_link = 5\ndiversity = "t-closeness:0.4"'),
    Variant(
        "closeness of an order",
        'k_link = 5\ndiversity = "t-closeness:0.3 ordered"',
        attributes={"disease": f"{_SENSITIVE}\n{_ORDER}"},
    ),
    Variant(
        "closeness by a hierarchy",
        'k_link = 5\ndiversity = "t-closeness:0.4 hierarchical"',
        attributes={"disease": f'{_SENSITIVE}\nhierarchy = "disease.csv"'},
    ),
)

VARIANTS: tuple[Variant, ...] = (
    Variant("a diversity by entropy"),
    Variant(
        "roles that nobody has confirmed",
        data="reviewed = false",
        attributes={"sex": f"# Guessed: 2 categories.\n{_QUASI}"},
    ),
    Variant("no demand but k_combinatorial", 'k_combinatorial = 5\ndiversity = "none"', "[base]\ntable = 'none'"),
    Variant("cells", 'min_cell = 5\ndiversity = "none"'),
    Variant("nothing sensitive", "k_link = 5", attributes={"disease": _QUASI}),
    Variant("something sensitive, and no diversity", "k_link = 5"),
    Variant("attackers with other evidence", f"{PRIVACY}\nodds = 1.2"),
    Variant("readers with a register", f"{PRIVACY}\nregister = true"),
    Variant("a rule by its name", 'diversity = "distinct:2"\nrules = ["cms-11", "all-of-us-21"]'),
    Variant("a rule of one's own", f'{PRIVACY}\nrules = "mine.toml"'),
    Variant(
        "further tables",
        _FURTHER,
        "[search]\nfurther_tables = 'pairs'\nmax_sensitive_margins = 1\nmax_attributes = 2\n[base]\ntable = 'none'",
        _JOB,
    ),
    Variant(
        "several sensitive columns",
        'k_link = 5\ndiversity = { disease = ["distinct:2", "none"], grade = "entropy:2", pay = "none" }',
        attributes={
            "grade": f'{_SENSITIVE}\norder = ["mild", "severe", "dire"]',
            "pay": f"{_SENSITIVE}\nintervals = [100, 500]",
            "disease": f'{_SENSITIVE}\nhierarchy = "disease.csv"',
        },
    ),
    Variant("one row of each person", data='person = "patient"\none_row = "first"', table="visits.csv"),
    Variant(
        "several rows of a person",
        'k_link = 5\ndiversity = "distinct:2"',
        data='person = "patient"\nrows_per_person = 2',
        table="visits.csv",
    ),
    Variant(
        "any number of rows", 'k_link = 5\ndiversity = "distinct:2"', data='rows_per_person = "any"', table="visits.csv"
    ),
    Variant("rows of which nobody has said whose they are", table="visits.csv"),
    Variant(
        "a diversity that cannot be promised of people", 'diversity = "t-closeness:0.4"', data="rows_per_person = 3"
    ),
    Variant("a person in each row", data="rows_per_person = 1"),
    Variant("missing values", attributes={"left": _QUASI, "job": _QUASI}),
    Variant("a part of the table", data="where = \"age >= 30 and sex == 'f'\""),
    Variant(
        "an imprint and a codebook",
        more='[release]\ntitle = "Ward 5"\npublisher = "An office"\ndate = "2026-02-01"\ncontact = "office@example.org"\n'
        'licence = "CC-BY-4.0"',
        attributes={"sex": f'{_QUASI}\ndescription = "as registered"\nvalues = {{ f = "female", m = "male" }}'},
    ),
    Variant(
        "wanted analyses",
        more="[base]\ntable = 'none'\n[search]\nmax_attributes = 2\n[[search.wanted]]\nattributes = ['age', 'disease']\n"
        "weight = 2.5\n[[search.wanted]]\nattributes = ['age', 'sex', 'town']",
    ),
    Variant(
        "tables that must be published",
        more="[search]\nmust_publish = [{ age = 1, sex = 0 }]\nmust_not_publish = [{ town = 0 }]",
    ),
    Variant(
        "a sensitive column by itself",
        'k_link = 5\ndiversity = { disease = "distinct:2", grade = "none" }',
        "[search]\nalone = ['grade']",
        {"grade": _SENSITIVE},
    ),
    Variant("a base table of given levels", more="[base]\ntable = { age = 1, sex = 0, town = 1 }"),
    Variant("the best base table", more="[base]\ntable = 'best'"),
    Variant("no base table", more="[base]\ntable = 'none'"),
    Variant(
        "columns that stand in the way", "k_link = 10", "[base]\ntable = 'none'", {"family": _QUASI, "name": _QUASI}
    ),
    Variant("columns that are kept out", attributes={"name": 'role = "identifier"', "job": 'role = "ignored"'}),
    Variant(
        "fitted levels",
        attributes={
            "age": f'{_QUASI}\nladder = "fitted"',
            "family": f'{_QUASI}\nladder = "alike"',
            "seen": f'{_QUASI}\ndates = ["month", "year"]',
        },
    ),
    Variant(
        "public labels",
        attributes={"town": f'{_QUASI}\nhierarchy = "town.csv"\nlabels = "public"'},
        data='domain = "declared"',
    ),
    Variant(
        "sensitive numbers", 'k_link = 5\ndiversity = "distinct:2"', attributes={"pay": _SENSITIVE, "disease": _QUASI}
    ),
    Variant("exact search", more="[search]\nstrategy = 'exact'\nmax_attributes = 2\nstart = 'nothing'"),
    Variant(
        "forward search",
        more="[search]\nstrategy = 'greedy'\nobjective = 'bic'\nmax_sensitive_margins = 1\nmax_cells = 20",
    ),
    Variant("no time to search", more="[search]\ntime_limit = 0"),
    Variant("a small table that fails", 'k_link = 400\ndiversity = "distinct:2"'),
    Variant("a diversity that fails", 'k_link = 5\ndiversity = "distinct:5"'),
    Variant("a diversity that fails for the register", 'k_link = 5\ndiversity = "entropy:3.9"\nregister = true'),
    Variant("cells that fail", 'min_cell = 300\ndiversity = "none"'),
    Variant(
        "two sensitive columns without a diversity",
        attributes={"grade": _SENSITIVE},
        privacy='k_link = 5\ndiversity = { disease = "distinct:2" }',
    ),
    Variant("no diversity of any", attributes={"grade": _SENSITIVE}, privacy="k_link = 5"),
    Variant("a diversity of what is not there", 'k_link = 5\ndiversity = { area = "distinct:2" }'),
    Variant(
        "a diversity of a coarser level", 'k_link = 5\ndiversity = { disease = ["distinct:2", "distinct:2", "none"] }'
    ),
    Variant("an order that is not known", 'k_link = 5\ndiversity = "t-closeness:0.3 ordered"'),
    Variant(
        "levels that do not keep an order",
        'k_link = 5\ndiversity = "t-closeness:0.3 ordered"',
        attributes={
            "disease": f"""{_SENSITIVE}\nhierarchy = "disease.csv"\norder = ["cold", "none, yet", "flu", 'a "b"']"""
        },
    ),
    Variant(
        "levels that are fitted", 'k_link = 5\ndiversity = "t-closeness:0.3 hierarchical"', "", {"pay": _SENSITIVE}
    ),
    Variant(
        "a table that must be published and fails", more="[search]\nmust_publish = [{ age = 0, town = 0, sex = 0 }]"
    ),
    Variant(
        "two rules of tables", more="[search]\nmust_publish = [{ age = 1, sex = 0 }]\nmust_not_publish = [{ sex = 0 }]"
    ),
    Variant("a table of too many", more="[search]\nmust_publish = [{ age = 1, sex = 0 }]\nmax_attributes = 1"),
    Variant("further tables with min_cell", f"{_FURTHER}\nmin_cell = 3", "[search]\nfurther_tables = 'pairs'", _JOB),
    Variant("further tables of people", _FURTHER, "[search]\nfurther_tables = 'pairs'", data="rows_per_person = 2"),
    Variant(
        "further tables of a sensitive column",
        _FURTHER,
        "[search]\nfurther_tables = [['age', 'disease']]\nmax_sensitive_margins = 1",
    ),
    Variant("a part that is empty", data="where = \"town == 'Rye' and sex == 'x'\""),
    Variant("a part that cuts a value", data='where = "hat > 3"'),
    Variant("a part of nobody", data='where = "age > 90"'),
    Variant(
        "an attested claim and one that fails",
        f"{PRIVACY}\nregister = true",
        "[base]\ntable = 'none'",
        data='domain = "observed"',
    ),
    Variant("nothing is demanded", 'diversity = "none"'),
    Variant("a base table that fails", "k_link = 5", "[base]\ntable = { age = 0, sex = 0, town = 0 }"),
)


def write_inputs(folder: Path) -> None:
    """The table of people, and the files that configs name."""
    frame = people()
    frame.to_csv(folder / "people.csv", index=False)
    frame.assign(patient=np.arange(len(frame)) % 400).to_csv(folder / "visits.csv", index=False)
    (folder / "town.csv").write_text("Aix;west;*\nUlm;east;*\nEly;west;*\nRye;west;*\nBath;west;*\n", encoding="utf-8")
    (folder / "disease.csv").write_text(
        'cold;breath;*\nflu;breath;*\n"none, yet";none;*\n"a ""b""";none;*\n', encoding="utf-8"
    )
    rule = (
        'name = "mine"\ntitle = "A rule of ours"\nsource = "A handbook, page 3"\nunchecked = ["That rows are people"]\n'
    )
    rule += '[[demands]]\nsays = "at least three people in each cell"\nmin_cell = 3\n'
    (folder / "mine.toml").write_text(rule, encoding="utf-8")


def releases(stage: Stage) -> Iterator[Case]:
    """Publish each variant: what the terminal says, the report, and the steward's page."""
    yield from _published(stage, VARIANTS)


def criteria(stage: Stage) -> Iterator[Case]:
    """The same of each diversity criterion."""
    yield from _published(stage, CRITERIA)


def _published(stage: Stage, variants: Sequence[Variant]) -> Iterator[Case]:
    with stage.entered() as folder:
        write_inputs(folder)
        for variant in variants:
            (folder / "release.toml").write_text(variant.config, encoding="utf-8")
            yield stage.shortened(stage.command("publish release.toml --out release", note=variant.title))
            report, steward = folder / "release" / "report.html", folder / "release-steward.html"
            if report.exists():
                yield stage.page("report", f"report: {variant.title}", report.read_bytes())
                yield stage.page("steward", f"steward's page: {variant.title}", steward.read_bytes())
                shutil.rmtree(folder / "release")
                steward.unlink()

# ruff: noqa: E501 - lines of commands and configs are whole
"""Commands, each with its usual outcomes and with those that warn, fail or are refused.

Most of the commands stand once, in tests/words/terminal.txt: a line `$ marginals ...` there is a new case, to which
`make words` adds what is said.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from command_line import main
from word_releases import Variant, people, write_inputs
from words import Case, Stage, changed, typed

_QUASI = 'role = "quasi-identifier"'


def _write_configs(folder: Path) -> None:
    write_inputs(folder)
    frame = people(300, seed=6)
    frame.to_csv(folder / "other.csv", index=False)
    frame.head(200).to_csv(folder / "voters.csv", index=False, columns=["age", "sex", "town"])
    everybody = people(1200, seed=7)
    everybody.to_csv(folder / "everybody.csv", index=False)
    people().assign(weight=1.5, lost=2).to_csv(folder / "weights.csv", index=False, columns=["name", "weight", "lost"])
    people().assign(car=np.where(people().index % 2, "red", "blue")).to_csv(
        folder / "members.csv", index=False, columns=["age", "sex", "car"]
    )
    odd = people(300).assign(
        empty="",
        same="x",
        id=range(300),
        ward=[f"ward {n % 40}" for n in range(300)],
        remark=[f"seen on day {n}, " * 9 for n in range(300)],
    )
    odd["children"] = np.arange(300) % 4
    odd["race"] = np.where(odd.index % 3, "a", "b")
    odd["postcode"] = [f"{10000 + n % 90}" for n in range(300)]
    odd["income"] = np.arange(300) * 37.5
    odd.loc[odd.index % 9 == 0, "children"] = 99
    odd.to_csv(folder / "odd.csv", index=False)
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "full").mkdir()
    (folder / "full" / "thesis.txt").write_text("precious", encoding="utf-8")
    people(60).to_csv(folder / "few.csv", index=False)
    plain = Variant("").config
    few = Variant("", table="few.csv").config
    risk = f"{few}[risk]\n"
    named = Variant("", table="few.csv", attributes={"name": 'role = "identifier"'}).config
    further = 'k_link = 5\ndiversity = "distinct:2"\nno_small_certain = 5'
    pairs = "[search]\nfurther_tables = 'pairs'\nmax_sensitive_margins = 1\nmax_attributes = 2\n[base]\ntable = 'none'"
    configs = {
        "release": plain,
        "few": few,
        "strict": Variant("", 'k_link = 5\ndiversity = "distinct:5"').config,
        "coarse": Variant("", attributes={"age": f"{_QUASI}\nintervals = [7]"}).config,
        "other": Variant("", table="other.csv").config,
        "part": Variant("", data='where = "age >= 30"').config,
        "persons": Variant("", 'k_link = 5\ndiversity = "distinct:2"', data='person = "patient"\nrows_per_person = 2', table="visits.csv").config,
        "visits": Variant("", table="visits.csv").config,
        "further": Variant("", further, pairs, {"job": _QUASI}).config,
        "functional": Variant("", 'k_link = 5\ndiversity = "functional:0.8,2"').config,
        "distinct": Variant("", 'k_link = 5\ndiversity = "distinct:3"').config,
        "nothing": Variant("", 'diversity = "none"').config,
        "several": Variant("", 'k_link = 5\ndiversity = { disease = "distinct:2", grade = "none" }', "", {"grade": 'role = "sensitive"'}).config,
        "population": plain + '[population]\npath = "everybody.csv"\nk_map = 5\ndelta_presence = [0.0, 0.9]\n',
        "fraction": plain + "[population]\nsampling_fraction = 0.05\n",
        "harm": named + '[risk]\nsensitivity = "multiplicative"\nweights = { age = 0.1, disease = { flu = 5.0, "*" = 1.0 } }\n'
        'personal_weights = "weights.csv"\nmissed = "lost"\n'
        '[[risk.interactions]]\nattributes = ["age", "disease"]\nweight = "weight"\n',
        "linkage": risk + '[risk.linkage]\ntable = "members.csv"\ncolumns = ["car"]\n',
        "rules": risk + '[[risk.rules]]\nattribute = "age"\nlevel = 2\ncondition = "age > 50"\n[[risk.rules]]\nattribute = "town"\n',
        "wrong": risk + '[[risk.rules]]\nattribute = "sex"\ncondition = "hat > 50"\n',
    }  # fmt: skip
    for name, text in configs.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")


def analyses(stage: Stage) -> Iterator[Case]:
    with stage.entered() as folder:
        _write_configs(folder)
        for line in typed("terminal", "analyses", "$ marginals "):
            yield stage.shortened(stage.command(line))
        marginal = sorted((folder / "out" / "marginals").iterdir())[0]
        marginal.write_bytes(marginal.read_bytes().replace(b",1", b",2"))
        for line in ("verify out", "query out", "verify out --json"):
            yield stage.shortened(stage.command(line, note="after a count was changed"))


def single_tables(stage: Stage) -> Iterator[Case]:
    with stage.entered() as folder:
        _write_configs(folder)
        for line in typed("terminal", "single tables", "$ marginals "):
            yield stage.shortened(stage.command(line))
        for name in ("i", "more", "v", "v2", "odd"):
            yield stage.shortened(
                Case(f"{name}.toml, as init wrote it", (folder / f"{name}.toml").read_text("utf-8"), "terminal")
            )


def ledgers(stage: Stage) -> Iterator[Case]:
    """A table that changes, its ledger, and what can be wrong with one."""
    with stage.entered() as folder:
        _write_configs(folder)
        config = Variant("", more="[search]\nmax_attributes = 2\n[base]\ntable = 'none'").config
        frame = people(400)
        for month, rows in enumerate((frame[:360], frame[3:380], frame[20:])):
            rows.to_csv(folder / "people.csv", index=False)
            (folder / "release.toml").write_text(config, encoding="utf-8")
            yield stage.shortened(stage.command(f"publish release.toml --out r{month} --ledger ledger"))
            yield stage.page(
                "steward",
                f"steward's page of release {month + 1} of a ledger",
                Path(f"r{month}-steward.html").read_bytes(),
            )
            yield stage.page(
                "report",
                f"report of release {month + 1} of a ledger",
                (folder / f"r{month}" / "report.html").read_bytes(),
            )
        for line in ("publish release.toml --out again --ledger ledger", "ledger ledger", "ledger ledger --json"):
            yield stage.shortened(stage.command(line))
        yield stage.shortened(stage.command("verify r0 r1"))
        yield stage.shortened(stage.command("verify r0 r1 r2 --check difference=40"))
        yield stage.shortened(stage.command("attack r0 r2"))
        changes = {
            "register = true": {"k_link = 5": "k_link = 5\nregister = true"},
            "another k": {"k_link = 5": "k_link = 50"},
            "no k": {"k_link = 5\n": ""},
            "other levels": {"intervals = [5, 10]": "intervals = [10]"},
            "another role": {f"[attributes.sex]\n{_QUASI}": '[attributes.sex]\nrole = "sensitive"'},
            "no town": {f"[attributes.town]\n{_QUASI}": '[attributes.town]\nrole = "ignored"'},
            "one more column": {"[attributes.disease]": f"[attributes.job]\n{_QUASI}\n[attributes.disease]"},
            "another turnover": {"k_link = 5": 'k_link = 5\nturnover = "known"'},
            "few may wait": {"max_attributes = 2": "max_attributes = 2\nmax_waiting = 0.001"},
            "a part": {"[data]": '[data]\nwhere = "age >= 30"'},
            "further tables": {"max_attributes = 2": "max_attributes = 2\nmax_sensitive_margins = 1\nfurther_tables = 'pairs'"},
        }  # fmt: skip
        for note, change in changes.items():
            (folder / "release.toml").write_text(changed(config, change), encoding="utf-8")
            yield stage.shortened(stage.command("publish release.toml --out again --ledger ledger", note=note))
        (folder / "release.toml").write_text(config, encoding="utf-8")
        for line in (
            "--retract 1",
            "--settle 1 out",
            "--settle 9 out",
            "--settle 1 maybe",
        ):
            yield stage.shortened(stage.command(f"ledger ledger {line}"))
        head = folder / "ledger" / "head.json"
        for note, content in (
            ("a damaged head", "{"),
            ("an older head", json.dumps({**json.loads(head.read_text("utf-8")), "entries": 1})),
        ):
            kept = head.read_bytes()
            head.write_text(content, encoding="utf-8")
            yield stage.shortened(stage.command("ledger ledger", note=note))
            head.write_bytes(kept)
        for path in (folder / "ledger" / "0001" / "entry.json", folder / "ledger" / "0001" / "cells.csv", head):
            if path.exists():
                path.write_bytes(path.read_bytes() + b"\n")
                yield stage.shortened(stage.command("ledger ledger", note=f"a byte more in {path.relative_to(folder)}"))
                path.write_bytes(path.read_bytes()[:-1])
        head.unlink()
        yield stage.shortened(stage.command("ledger ledger", note="without head.json"))


def audits(stage: Stage) -> Iterator[Case]:
    tables = {
        "by_age.csv": "area,age,count\nAurora,0-64,<5\nAurora,65+,3\nAurora,Total,7\nBeech,0-64,12\nBeech,65+,8\nBeech,Total,20\n",
        "by_sex.csv": "area,f,m,Total\nAurora,4,3,7\nBeech,9,11,20\nTotal,13,14,27\n",
        "ill.csv": "area,flu,HIV,Total\nUlm,0,<5,3\nLinz,7,<5,*\n",
        "one.csv": "area,count\nUlm,9\nLinz,8\nTotal,17\n",
        "two.csv": "area,f,m,Total\nUlm,3,4,7\nLinz,4,*,8\nTotal,*,*,15\n",
        "safe.csv": "area,count\nUlm,30\nLinz,80\n", "rates.csv": "area,f,m\nUlm,33.3%,66.7%\nLinz,20.0%,80.0%\n",
        "words.csv": "area,f\nUlm,many\nLinz,few\n", "empty.csv": "",
        "rounded.csv": "area,f,m,Total\nUlm,5,5,10\nLinz,10,15,30\n",
    }  # fmt: skip
    specs = {
        "bad.toml": "[table]\n",
        "none.toml": '[tables."nowhere.csv"]\nattributes = ["area"]\ncount = "count"\n',
        "hat.toml": '[tables."one.csv"]\nattributes = ["hat"]\ncount = "count"\n',
        "type.toml": '[tables."one.csv"]\nattributes = 3\n',
        "complete.toml": '[tables."one.csv"]\nattributes = ["area"]\ncount = "count"\ncomplete = 1\n',
        "apart.toml": '[markers]\n"*" = "unknown"\n[tables."one.csv"]\nattributes = ["area"]\ncount = "count"\npeople = "one"\n'
        '[tables."safe.csv"]\nattributes = ["area"]\ncount = "count"\npeople = "two"\n',
        "marker.toml": '[markers]\n"<5" = "few"\n[tables."one.csv"]\nattributes = ["area"]\ncount = "count"\n',
        "range.toml": '[markers]\n"<5" = [4, 1]\n[tables."one.csv"]\nattributes = ["area"]\ncount = "count"\n',
    }
    with stage.entered() as folder:
        for name, text in {**tables, **specs}.items():
            (folder / name).write_text(text, encoding="utf-8")
        for line in typed("terminal", "audits", "$ marginals "):
            yield stage.shortened(stage.command(line))
        yield stage.page("report", "audit.html", (folder / "audit.html").read_bytes())
        yield Case("audit.toml, as --init wrote it", (folder / "audit.toml").read_text("utf-8"), "terminal")


def demos(stage: Stage) -> Iterator[Case]:
    with stage.entered() as folder:
        (folder / "full").mkdir()
        (folder / "full" / "thesis.txt").write_text("precious", encoding="utf-8")
        for line in ("demo demo --rows 1000", "demo full --rows 1000", "demo demo --rows 3"):
            yield stage.shortened(stage.command(line))
    for name in main.commands:
        yield stage.command(f"{name} --help")

"""Command lines, configs, tables in each format and requests at random, all of it following from a seed.

Values of rows are canaries, which no message may quote. Paths that may be written lie in the folder of a case, or are
devices.
"""

import random
import shutil
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import pandas as pd

from command_line import main
from malformed_inputs import (
    COMPRESSIONS,
    CONFIG,
    NAMES,
    TOWNS,
    WEIRD_NUMBERS,
    WEIRD_TEXTS,
    Malformer,
    csv_text,
    malform_bundle,
    people,
    toml,
)  # fmt: skip

CANARY = "CANARY"
FORMATS = ["csv", "csv", "csv", *(f"csv{suffix}" for suffix in COMPRESSIONS), "tsv", "parquet", "xlsx",
           *(["sav", "dta"] if find_spec("pyreadstat") else [])]  # fmt: skip

PLACES = ["out", "out/deep/er", "people.csv", "release.toml", "release", "town.csv", "nothing", "loop", "/dev/null",
          "/dev/full", "/dev/zero", "/proc/self/nothing", "", ".", "..", "-", "a" * 300, "out.csv", "out.parquet",
          "out.html", "ä\udcff", "*.csv", "release/datapackage.json", "release/marginals"]  # fmt: skip
"""Paths that options are given. What is written there is in the folder, or is no file."""

USUAL: dict[str, list[str]] = {
    "init": ["init", "TABLE", "-o", "out.toml"],
    "assess": ["assess", "release.toml"],
    "risk": ["risk", "release.toml"],
    "anonymize": ["anonymize", "release.toml"],
    "publish": ["publish", "release.toml", "--out", "out"],
    "disclose": ["disclose", "release.toml", "--out", "out.csv"],
    "verify": ["verify", "release"],
    "attack": ["attack", "release"],
    "report": ["verify", "release", "--report", "out.html"],
    "ledger": ["ledger", "books"],
    "query": ["query", "release", "sex=f"],
    "sample": ["sample", "release", "-n", "5", "-o", "out.csv"],
    "audit": ["audit", "release/marginals/TABLES"],
    "verify two": ["verify", "release", "whole"],
    "risk of": ["risk", "release.toml", "release"],
    "publish over": ["publish", "release.toml", "--out", "release"],
}


def canaries(rng: random.Random, size: int) -> list[list[str]]:
    header, *rows = people(rng, size)
    return [header, *([f"{CANARY}-{name}", age, sex, town, f"{CANARY}-{ill}"] for name, age, sex, town, ill in rows)]


def table(folder: Path, rng: random.Random, make: Malformer) -> str:
    """Write a table in some format, perhaps malformed or damaged; its name."""
    rows = canaries(rng, rng.choice([0, 1, 30, 80, 80, 80, 80]))
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        rows = make.rows(rows)
    suffix = rng.choice(FORMATS)
    path = folder / f"people.{suffix}"
    width = max(map(len, rows), default=0)
    header = [*rows[0], *(f"c{n}" for n in range(width))][:width] if rows else []
    try:
        frame = pd.DataFrame([[*row, *[None] * width][:width] for row in rows[1:]], columns=header)
        match suffix:
            case "parquet":
                frame.to_parquet(path, index=False)
            case "xlsx":
                frame.to_excel(path, index=False)
            case "sav" | "dta":
                import pyreadstat

                (pyreadstat.write_sav if suffix == "sav" else pyreadstat.write_dta)(frame, str(path))
            case _:
                separator = "\t" if suffix == "tsv" else rng.choice(",,,,,,;|")
                frame_text = csv_text(rows, separator, rng.random() < 0.5)
                content = make.content(frame_text)
                if suffix.startswith("csv."):
                    content = COMPRESSIONS[suffix.removeprefix("csv")](content)
                path.write_bytes(content)
    except Exception:  # what no library writes
        path.write_bytes(make.content(csv_text(rows, ",", quoted=False)))
    if rng.random() < 0.25:
        _damage(path, rng, make)
    return path.name


def _damage(path: Path, rng: random.Random, make: Malformer) -> None:
    if path.suffix == ".xlsx" and zipfile.is_zipfile(path) and rng.random() < 0.7:
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(sorted(parts))
        text = parts[name].decode("utf-8", "replace")
        change = rng.randrange(5)
        if change == 0:
            del parts[name]
        elif change == 1:
            parts[name] = make.text(text).encode("utf-8", "replace")
        elif change == 2:
            parts[name] = b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + parts[name]
        elif change == 3:
            parts[name] = parts[rng.choice(sorted(parts))]
        else:
            parts[name] = text.replace('r="', f'r="{rng.choice(["XFD", "ZZZZ", "9", ""])}').encode("utf-8", "replace")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        return
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 5])):
        place = rng.randrange(len(content) + 1)
        content[place : place + rng.choice([0, 1, 4, 50])] = rng.randbytes(rng.choice([0, 1, 4, 50]))
    path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content) + 1)])])


def case(folder: Path, seed: int) -> tuple[list[str], bool]:
    """Write the files of a case to a folder that holds a release already; its command line, and whether that is as usual."""
    rng = random.Random(seed)
    make, seldom = Malformer(rng), [0, 0, 0, 0, 0, 1, 2]
    name = table(folder, rng, make)
    config: Any = CONFIG
    for _ in range(rng.choice(seldom)):
        config = make.tree(config)
    towns = TOWNS
    for _ in range(rng.choice(seldom)):
        towns = make.rows(towns)
    config_text, hierarchy = toml(config).replace('"people.csv"', f'"{name}"'), csv_text(towns, ";", rng.random() < 0.3)
    for file, text in (("release.toml", config_text), ("town.csv", hierarchy)):
        text = make.text(text) if rng.random() < 0.1 else text
        (folder / file).write_bytes(make.content(text) if rng.random() < 0.1 else text.encode("utf-8", "replace"))
    (folder / "voters.csv").write_text(csv_text(people(rng, 30), ",", quoted=False), encoding="utf-8")
    (folder / "loop").symlink_to(folder / "loop")
    command = rng.choice(sorted(USUAL))
    arguments = [name if part == "TABLE" else part for part in USUAL[command]]
    if "TABLES" in arguments[-1]:
        arguments[1:] = sorted(str(path.relative_to(folder)) for path in (folder / "release/marginals").glob("*"))
    if "whole" in arguments:
        shutil.copytree(folder / "release", folder / "whole")
    if rng.random() < 0.3:
        malform_bundle(folder / "release", make, rng.choice([1, 1, 2, 4]))
    if rng.random() < 0.1:
        make.place(rng.choice(sorted(path for path in folder.rglob("*") if path.is_file())))
    changes = rng.choice([0, 0, 0, 0, 0, 1, 1, 1, 2, 4])
    for _ in range(changes):
        arguments = _changed(arguments, rng)
    return [part.replace("\0", "").replace("\ud7ff", "") for part in arguments], not changes


def _changed(arguments: Sequence[str], rng: random.Random) -> list[str]:
    """A command line with an option more, or a part removed, repeated, moved or replaced."""
    changed = list(arguments)
    change = rng.randrange(8)
    place = rng.randrange(1, len(changed)) if len(changed) > 1 else 0
    if change == 0 and place:
        del changed[place]
    elif change == 1 and place:
        changed.insert(place, changed[place])
    elif change == 2 and place:
        changed[place] = rng.choice(PLACES)
    elif change == 3:
        changed.insert(
            rng.choice([0, len(changed)]), rng.choice(["--", "--json", "--help", "-x", "--traceback=1", "-"])
        )
    else:
        command = main.commands.get(changed[0] if changed else "", main.commands["verify"])
        options = [option for option in command.params if isinstance(option, click.Option)]
        option = rng.choice(options)
        changed.append(rng.choice(option.opts))
        if not option.is_flag or rng.random() < 0.1:
            changed.extend(_value(option.type, rng) for _ in range(option.nargs))
    return changed


def _value(kind: click.ParamType, rng: random.Random) -> str:
    """A value for an option; of one that names a file, a place where nothing is lost."""
    if isinstance(kind, click.Path):
        return rng.choice(PLACES)
    if isinstance(kind, click.Choice) and rng.random() < 0.7:
        return str(rng.choice(list(kind.choices)))
    if kind.name in ("integer", "float", "integer range", "float range") and rng.random() < 0.8:
        return str(rng.choice([*WEIRD_NUMBERS, 5, 20, "nan", "inf", "1e9"]))
    texts = ["k-link=3", "k-link=0", "diversity=entropy:2", "min-cell=9", "age=1", "age=1,sex=0",
             "cms-11", "difference=2", "diagnosis", "age", *PLACES]  # fmt: skip
    return rng.choice(texts if rng.random() < 0.6 else WEIRD_TEXTS)[:20_000]


def request(rng: random.Random, paths: Sequence[str], token: str, version: str) -> dict[str, Any]:
    """What a browser, or somebody else, may ask a window for; as keywords of werkzeug's client."""
    path = rng.choice([*paths] * 4 + [*WEIRD_TEXTS[:20], "/x"]).replace("<int:number>", str(rng.choice(WEIRD_NUMBERS)))
    path = f"/{quote(path.lstrip('/'), errors='replace')[:5000]}"
    method = rng.choice(["GET"] * 5 + ["POST"] * 8 + ["PUT", "HEAD", "OPTIONS", "X"])
    words = [*WEIRD_TEXTS, *NAMES, *map(str, WEIRD_NUMBERS), "age", "quasi-identifier", "sensitive", "on", "disease"]
    keys = ["role.age", "role", "attribute", "intervals", "level", "out", "seconds", "k_link", "diversity", "text", "back",
            "number", "where", "sign", "kind", "hierarchy", "strategy", "base", "first", "wanted", *NAMES]  # fmt: skip
    fields = {rng.choice(keys): rng.choice(words) for _ in range(rng.choice([0, 1, 3, 8]))}
    if method == "POST":
        fields |= {"form": token} if rng.random() < 0.9 else {}
        fields |= {"version": version} if rng.random() < 0.8 else {}
        return {"path": path, "method": method, "data": fields}
    return {"path": path, "method": method, "query_string": fields}

"""One table in many disguises: the same table is read, or one question or error names the disguise.

A disguise changes how the table is written, never what it says: marks, blanks, spellings, headers, key types, dashes.
Whoever saves a table with another program makes one of these.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import run
from first_configs import FirstConfig, init
from marginals import Table

COLUMNS = ("id", "age", "income", "town", "band", "seen", "kids", "job", "smokes")
Rows = list[list[str]]


def made_rows(people: int = 300) -> Rows:
    """Each person has one to three rows, which are alike, so that any of them may be the one that counts."""
    rng = np.random.default_rng(73)
    rows = []
    for person in range(people):
        age = int(rng.integers(18, 80))
        row = [
            str(1001 + person),
            str(age),
            f"{int(rng.integers(8, 40)) * 250 + 0.5:.1f}",
            str(rng.choice(["Zürich", "Genève", "Bern", "St. Gallen"])),
            ("18-24", "25-44", "45-64", "65+")[int(np.searchsorted([25, 45, 65], age, side="right"))],
            f"2024-{int(rng.integers(1, 13)):02d}-{int(rng.integers(1, 29)):02d}",
            "" if rng.random() < 0.1 else str(rng.integers(0, 5)),
            str(rng.choice(["clerk", "nurse", "cook", "farmer"])),
            str(rng.choice(["yes", "no"])),
        ]
        rows += [row] * int(rng.integers(1, 4))
    return rows


ROWS = made_rows()


def text_of(
    rows: Rows, separator: str = ",", header: tuple[str, ...] = COLUMNS, end: str = "\n", quoting: Any = 0
) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([header, *rows])
    return stream.getvalue()


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def with_column(name: str, change: Callable[[str, int], str]) -> Callable[[Path], Path]:
    """A disguise that spells the values of one column in another way; it is given the number of the row, too."""
    n = COLUMNS.index(name)
    changed = [[*row[:n], change(row[n], i), *row[n + 1 :]] for i, row in enumerate(ROWS)]
    return lambda folder: write(folder / "t.csv", text_of(changed))


def as_text(change: Callable[[str], str | bytes], **form: Any) -> Callable[[Path], Path]:
    return lambda folder: write(folder / "t.csv", change(text_of(ROWS, **form)))


def frame() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text_of(ROWS)))


def excel(folder: Path, **settings: Any) -> Path:
    frame().to_excel(folder / "t.xlsx", index=False, **settings)
    return folder / "t.xlsx"


def in_two_files(folder: Path) -> Path:
    half = len(ROWS) // 2 + 1
    floats = [[f"{row[0]}.0", *row[1:]] for row in ROWS[half:]]
    (folder / "parts").mkdir()
    write(folder / "parts/a.csv", text_of(ROWS[:half]))
    write(folder / "parts/b.csv", text_of(floats))
    return folder / "parts/*.csv"


def every_other(change: Callable[[str], str]) -> Callable[[str, int], str]:
    return lambda text, i: change(text) if i % 2 else text


COMMA = str.maketrans(".", ",")

SAME: dict[str, Callable[[Path], Path]] = {
    # one of each kind; test_files_as_they_are and test_disguises_of_values have the others
    "semicolons and decimal commas": lambda folder: write(
        folder / "t.csv", text_of([[*row[:2], row[2].translate(COMMA), *row[3:]] for row in ROWS], separator=";")
    ),
    "each row twice": as_text(lambda text: text + text.split("\n", 1)[1]),  # one row of each person counts
    "workbook with a title": lambda folder: excel(folder, startrow=3),
    "key as a float in a second file": in_two_files,
    "some keys with thousands": with_column("id", every_other(lambda text: f"{int(text):,}")),
    "composition": with_column("town", every_other(lambda text: unicodedata.normalize("NFD", text))),
    "missing as #N/A": with_column("kids", lambda text, _: text or "#N/A"),
    "blanks around en dashes": with_column("band", lambda text, _: text.replace("-", " \u2013 ")),
}


NAMED: dict[str, tuple[Callable[[Path], Path], str]] = {
    # disguise: how it is made, and what a question, a note or an error must name
    "zeros at the end of some numbers": (with_column("income", every_other(lambda text: text + "0")), "income"),
    "keys with leading zeros in some": (with_column("id", every_other(lambda text: "00" + text)), "id"),
    "case of a sensitive value": (with_column("smokes", every_other(str.upper)), "smokes"),
    "case of a town": (with_column("town", every_other(str.upper)), "town"),
    "missing as Unknown": (with_column("kids", lambda text, _: text or "Unknown"), "Unknown"),
    "missing as Refused": (with_column("kids", lambda text, _: text or "Refused"), "Refused"),
    "missing as 99": (with_column("kids", lambda text, i: text or ("97", "98", "99")[i % 3]), "kids"),
    "missing as -9": (with_column("kids", lambda text, i: text or ("-9", "-8")[i % 2]), "kids"),
    "a word among ages": (with_column("age", lambda text, i: text if i % 16 else "Unknown"), "Unknown"),
    "a quote that swallows lines": (
        as_text(lambda text: ',"'.join(text.replace(",nurse,", ",nurse,,").split(",nurse,", 2))),
        "line",
    ),
    "two header lines": (as_text(lambda text: ",".join(["", "person"] + [""] * 7) + "\n" + text), "header"),
    "units below the header": (as_text(lambda text: text.replace("\n", "\n,years,EUR,,,,,,\n", 1)), "income"),
}


def read(config: FirstConfig) -> Table:
    table: Table = config.config().read_table()
    return table


def cells(table: Table) -> dict[tuple[str, ...], int]:
    return {tuple(re.sub(" ?[-\u2013] ?", "-", label) for label in cell): n for cell, n in table.counts.cells()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[FirstConfig, Table]:
    folder = tmp_path_factory.mktemp("plain")
    config = init(write(folder / "t.csv", text_of(ROWS)), folder)
    return config, read(config)


@pytest.mark.parametrize("disguise", SAME)
def test_a_disguise_changes_nothing(disguise: str, plain: tuple[FirstConfig, Table], tmp_path: Path) -> None:
    config = init(SAME[disguise](tmp_path), tmp_path)
    table, expected = read(config), plain[1]
    roles = {name.strip(): role for name, role in config.roles.items() if name.strip()}
    assert roles == plain[0].roles
    assert cells(table) == cells(expected)
    assert (table.missing, table.rows_per_person) == (expected.missing, expected.rows_per_person)


@pytest.mark.parametrize("disguise", NAMED)
def test_a_disguise_is_named(disguise: str, tmp_path: Path) -> None:
    make, name = NAMED[disguise]
    answer = run("init", make(tmp_path), "-o", tmp_path / "release.toml")
    assert answer.exit_code in (0, 2), answer.output
    assert name in answer.output.split("identifier  ", 1)[0]

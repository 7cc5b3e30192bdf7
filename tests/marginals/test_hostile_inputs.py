"""What is far too large, deep, empty, sparse or circular is refused in one sentence, soon and in little memory.

Each case stands for a kind that once ended in a traceback, in gigabytes or in hours.
"""

import gzip
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import forked
import marginals
from small_release import CONFIG, marginals_command, write_config

SECONDS, MEGABYTES = 30, 1000
LIMITED = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
from command_line import main
try:
    main()
finally:
    print("used", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, file=sys.stderr)
"""

Case = Callable[[Path], list[str]]
"""Changes a folder with a config and a table, and gives a command."""

PUBLISH = ["publish", "release.toml", "--out", "out"]


def changed(folder: Path, old: str, new: str) -> None:
    config = folder / "release.toml"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))


def key(old: str, new: str, *command: str) -> Case:
    def case(folder: Path) -> list[str]:
        changed(folder, old, new)
        return [*command] or PUBLISH

    return case


def loop(name: str, *command: str) -> Case:
    def case(folder: Path) -> list[str]:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(folder / name)
        return [*command] or PUBLISH

    return case


def sparse(name: str, *command: str) -> Case:
    def case(folder: Path) -> list[str]:
        (folder / name).touch()
        os.truncate(folder / name, 1 << 40)
        return [*command] or PUBLISH

    return case


def deep_hierarchy(folder: Path) -> list[str]:
    rows = (";".join([town, *(f"{town}{n}" for n in range(100_000)), "*"]) for town in ("Aix", "Ulm", "Ely"))
    (folder / "town.csv").write_text("\n".join(rows))
    changed(folder, "[attributes.town]\n", '[attributes.town]\nhierarchy = "town.csv"\n')
    return PUBLISH


def sparse_hierarchy(folder: Path) -> list[str]:
    (folder / "town.csv").write_text("Aix;*\nUlm;*\n")
    changed(folder, "[attributes.town]\n", '[attributes.town]\nhierarchy = "town.csv"\n')
    return sparse("town.csv")(folder)


def zeros_that_are_compressed(folder: Path) -> list[str]:
    content = (folder / "people.csv").read_bytes() + bytes(100_000_000)
    (folder / "zeros.csv.gz").write_bytes(gzip.compress(content, 1))
    changed(folder, "people.csv", "zeros.csv.gz")
    return PUBLISH


def no_rows(folder: Path) -> list[str]:
    pd.read_csv(folder / "people.csv", dtype=str).iloc[:0].to_parquet(folder / "people.parquet")
    changed(folder, "people.csv", "people.parquet")
    return PUBLISH


def no_sheet(folder: Path) -> list[str]:
    pd.read_csv(folder / "people.csv").to_excel(folder / "whole.xlsx", index=False)
    with zipfile.ZipFile(folder / "whole.xlsx") as whole, zipfile.ZipFile(folder / "people.xlsx", "w") as less:
        for name in whole.namelist():
            if "sheet1" not in name:
                less.writestr(name, whole.read(name))
    return ["init", "people.xlsx", "-o", "made.toml"]


def nested_config(folder: Path) -> list[str]:
    changed(folder, "[data]", f"x = {'[' * 5000}{']' * 5000}\n[data]")
    return PUBLISH


HUGE = 2**63
NO_QUASI = CONFIG.replace('"quasi-identifier"\nintervals = [5, 10]', '"sensitive"').replace(
    "quasi-identifier", "ignored"
)

CASES: dict[str, tuple[Case, str]] = {
    "seconds nan": (lambda _: ["query", "release", "--seconds", "nan"], "nan is not a number"),
    "k of 2^63": (key("k_link = 5", f"k_link = {HUGE}"), "whole number from 2 to"),
    "k with many rows of a person": (
        key('path = "people.csv"', 'path = "people.csv"\nrows_per_person = 1000000', *PUBLISH),
        "cannot be promised of people"),
    "no such person": (key('path = "people.csv"', 'path = "people.csv"\nperson = "who"', *PUBLISH), "no column 'who'"),
    "no quasi-identifier": (lambda f: [str((f / "release.toml").write_text(NO_QUASI)) and "anonymize", "release.toml"],
                            "nothing to generalize"),
    "no row of Parquet": (no_rows, "has no row without a missing value"),
    "no sheet": (no_sheet, "that is no XML of a spreadsheet, or lacks one"),
    "nested config": (nested_config, "nested too deeply"),
    "deep hierarchy": (deep_hierarchy, "at most 1,000 levels, not 100,001"),
    "many prefixes": (key('[attributes.town]\n', f"[attributes.town]\nprefixes = {list(range(2000, 0, -1))}\n"),
                      "at most 1,000 levels"),
    "loop of the config": (loop("release.toml"), "Too many levels of symbolic links"),
    "loop of the table": (loop("people.csv"), "it is a link that leads to itself"),
    "loop to write": (loop("a.csv", "disclose", "release.toml", "--out", "a.csv"), "it is a link that leads to itself"),
    "loop to publish": (loop("out"), "it is a link that leads to itself"),
    "loop of a ledger": (loop("books", *PUBLISH, "--ledger", "books"), "it is a link that leads to itself"),
    "loop of a release": (loop("other", "verify", "other"), "holds no release"),
    "sparse config": (sparse("release.toml"), "larger than"),
    "sparse table": (sparse("people.csv"), "a line of more than"),
    "sparse table to audit": (sparse("people.csv", "audit", "people.csv"), "larger than"),
    "sparse hierarchy": (sparse_hierarchy, "town.csv"),
    "sparse key": (sparse("own.pub", "verify", "release", "--key", "own.pub"), "no public key"),
    "zeros that are compressed": (zeros_that_are_compressed, "has a line of more than"),
    "a device to sample": (lambda _: ["sample", "release", "-o", "/dev/full/rows.csv"], "cannot be written"),
    "a check of 2^63": (lambda _: ["verify", "release", "--check", f"k-link={HUGE}"], "a check is k-link=K"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_one_sentence_soon_and_in_little_memory(
    tmp_path: Path, small_release: marginals.Release, name: str
) -> None:
    write_config(tmp_path)
    small_release.write(tmp_path / "release")
    case, said = CASES[name]
    command = case(tmp_path)
    before = {path for path in tmp_path.rglob("*") if not path.is_symlink()}
    ran = forked.run(LIMITED, *command, folder=tmp_path)
    text, _, used = ran.stderr.rpartition("used ")
    assert ran.returncode == 2, ran.stderr
    assert text.splitlines()[-1].startswith("Error: "), text
    assert said in text
    assert "Traceback" not in text
    assert len(text) < 2000
    assert int(used) < MEGABYTES
    assert {path for path in tmp_path.rglob("*") if not path.is_symlink()} == before


def test_the_largest_k_times_the_most_rows_of_a_person_is_still_a_number(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    changed(tmp_path, 'path = "people.csv"', 'path = "people.csv"\nrows_per_person = 1000000')
    changed(tmp_path, "k_link = 5", "k_link = 999999999999\nk_combinatorial = 999999999999\nmin_cell = 999999999999")
    changed(tmp_path, "entropy:2", "distinct:2")
    ran = marginals_command("publish", config, "--out", tmp_path / "out", status=1)
    assert "the policy" in ran.stderr


@pytest.mark.parametrize("base", ["none", "best", "auto"])
def test_a_table_without_quasi_identifiers_is_published_whatever_the_base(tmp_path: Path, base: str) -> None:
    write_config(tmp_path)
    (tmp_path / "release.toml").write_text(NO_QUASI.replace("entropy:2", "distinct:2") + f'[base]\ntable = "{base}"\n')
    marginals_command("publish", tmp_path / "release.toml", "--out", tmp_path / "out", status=0)


def test_json_that_is_nested_in_a_ledger_is_one_sentence(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    ledger = tmp_path / "ledger"
    publish = ("publish", config, "--out", tmp_path / "out", "--ledger", ledger)
    assert marginals_command(*publish).returncode == 0
    for file in [path for path in ledger.rglob("*.json") if path.name != "datapackage.json"]:
        whole = file.read_bytes()
        for content in (
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"1" * 5000,
            json.dumps([[[]]]).encode(),
            b"\xff",
            b"NaN",
            b"",
        ):
            file.write_bytes(content)
            for command in (("ledger", ledger), publish):
                ran = forked.run(LIMITED, *command)
                assert ran.returncode == 2, (file, content[:20], ran.stderr)
                assert "Traceback" not in ran.stderr
        file.write_bytes(whole)
    assert marginals_command("ledger", ledger).returncode == 0

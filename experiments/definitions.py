"""The page docs/definitions.md: every definition, theorem, algorithm, table and figure of the five papers, one row each.

    python experiments/definitions.py

A row says in our words what the item says, what it is called in the code, how it is reached, what holds it, and whether it
agrees with the paper. A test walks all names, links, commands, keys and tests. What is said of figures that are measured is
counted from docs/papers.md, where the numbers are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "definitions.md"
MEASURED = ROOT / "docs" / "papers.md"

PAPERS = ("MKGV07", "KG06", "LSFB09", "TZ09", "TZ11")
ITEMS = Path(__file__).parent / "items"
"""A file of each paper, a line an item, its fields parted by bars. Our copy of TZ11 is damaged: numbers that are lost are
told by those that are missing there."""


@dataclass(frozen=True)
class Item:
    """One row. Its fields are lists of words, separated by spaces where they are several.

    item: as the paper numbers it. says: in one line. code: dotted names, those of a front door as it has them; a test of the
    row enters each (`make rows`). reached: commands (`assess:--eligible`), keys of a config (`privacy.k_link`), names of a
    front door. held: tests (`checks/test_claim.py:test_it`) or experiments (`sweep_tz09`). agreement: of words; empty for
    what docs/papers.md judges.
    """

    item: str
    says: str
    code: str
    reached: str
    held: str
    agreement: str

    @classmethod
    def of(cls, line: str) -> "Item":
        """From one line with five bars. Raises ValueError for another number of fields."""
        return cls(*(field.strip() for field in line.split("|")))


def items(paper: str) -> list[Item]:
    """The rows of a paper, in its order."""
    text = (ITEMS / f"{paper.lower()}.txt").read_text(encoding="utf-8")
    return [Item.of(line) for line in text.splitlines()]


@cache
def _homes(floor: str) -> dict[str, str]:
    """The module of each name of a front door."""
    lines = (ROOT / floor / "__init__.pyi").read_text(encoding="utf-8")
    return {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as \2$", lines, re.MULTILINE)}


def place_of(name: str) -> tuple[Path, str]:
    """The file of a dotted name, and the name in it. Names of a front door are looked up there."""
    floor, _, rest = name.partition(".")
    first, *others = rest.split(".")
    module = _homes(floor).get(first)
    parts = [*(f"{module}.{first}" if module else f"{floor}.{first}").split("."), *others]
    for length in range(len(parts), 0, -1):
        for path in (ROOT.joinpath(*parts[:length]).with_suffix(".py"), ROOT.joinpath(*parts[:length], "__init__.py")):
            if path.is_file():
                return path, ".".join(parts[length:])
    raise LookupError(f"{name} is in no file of the project")


def _code(names: str) -> str:
    links = [
        f"[`{name.split('.', name.count('.') - (1 if name.split('.')[-2][:1].isupper() else 0))[-1]}`]"
        f"(../{place_of(name)[0].relative_to(ROOT).as_posix()})"
        for name in names.split()
    ]
    return ", ".join(links) or "-"


def _reached(doors: str) -> str:
    return ", ".join(f"`{door_in_words(door)}`" for door in doors.split()) or "-"


def door_in_words(door: str) -> str:
    """A command with its options, a key of a config, or a name of a front door."""
    if door.startswith("marginals.") or re.fullmatch(r"[a-z_]+\.[A-Za-z_.]+", door):
        return door
    return f"marginals {door.replace(':', ' ')}"


def _held(proofs: str) -> str:
    links = []
    for proof in proofs.split():
        if ":" in proof:
            path, test = proof.split(":")
            links.append(f"[{test.removeprefix('test_').replace('_', ' ')}](../tests/{path})")
        else:
            links.append(f"[`{proof}`](../experiments/{proof}.py)")
    return "; ".join(links) or "-"


def verdicts(paper: str) -> dict[str, list[bool]]:
    """By figure number, or name of a section, whether each statement of docs/papers.md on it comes out."""
    part = MEASURED.read_text(encoding="utf-8").split(f"\n## {paper}\n")[1].split("\n## ")[0]
    found: dict[str, list[bool]] = {}
    for figure, agrees in re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| (yes|no) \|$", part, re.MULTILINE):
        numbers = [int(number) for number in re.findall(r"\d+", figure.split(",")[0])]
        span = range(numbers[0], numbers[1] + 1) if " to " in figure else numbers
        kind = "Table" if figure.startswith("Table") else "Section" if figure.startswith("Section") else "Fig."
        names = [figure.split(",")[0]] if kind == "Section" else [f"{kind} {number}" for number in span]
        for name in names:
            found.setdefault(name, []).append(agrees == "yes")
    return found


def _agreement(item: Item, judged: dict[str, list[bool]]) -> str:
    if item.item not in judged:
        return item.agreement
    own = judged[item.item]
    counted = f"{sum(own)} of {len(own)} statements come out, [why others do not](papers.md)"
    if all(own):
        counted = f"[all {len(own)}](papers.md) come out" if len(own) > 1 else "[its statement](papers.md) comes out"
    return f"{item.agreement}; {counted}" if item.agreement else counted


def lines() -> Iterator[str]:
    """The page, line by line."""
    yield "# The papers, definition by definition"
    yield ""
    yield "Where is Definition 4.2, and can I use it? This page is made by `python experiments/definitions.py`; a test"
    yield "follows each link, name, command and key. `make rows` breaks the code of each row and sees its test fail."
    yield "*Same* means: as the paper defines or proves it, held by the test or experiment beside it. Figures that are"
    yield "measured are compared in [](papers.md)."
    yield from (
        "",
        "| paper | items | same | differs | not built | others: measured, lost, nothing to build and the like |",
    )
    yield "|---|---|---|---|---|---|"
    yield from (_counted(paper) for paper in PAPERS)
    for paper in PAPERS:
        judged = verdicts(paper)
        yield from (
            "",
            f"## {paper}",
            "",
            "<details>",
            f"<summary>The {len(items(paper))} items of {paper}</summary>",
            "",
        )
        yield "| item | what it says | in the code | how to reach it | held by | agreement |"
        yield "|---|---|---|---|---|---|"
        for item in items(paper):
            cells = (item.item, item.says, _code(item.code), _reached(item.reached), _held(item.held))
            yield f"| {' | '.join(cells)} | {_agreement(item, judged)} |"
        yield from ("", "</details>")


def _counted(paper: str) -> str:
    """How many items of a paper agree, as a row."""
    found = [item.agreement for item in items(paper)]
    counts = [sum(text.startswith(word) for text in found) for word in ("same", "differs", "not built")]
    return f"| [{paper}](#{paper.lower()}) | {' | '.join(map(str, [len(found), *counts, len(found) - sum(counts)]))} |"


def page() -> str:
    """The whole page."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

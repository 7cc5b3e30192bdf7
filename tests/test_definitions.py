"""The page of definitions: made by its script, and every name, link, command, key, test and experiment on it is there."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import definitions
import pytest

from command_line import main
from project import ROOT

ITEMS = [(paper, item) for paper in definitions.PAPERS for item in definitions.items(paper)]
NAMES = sorted({name for _, item in ITEMS for name in item.code.split()})
DOORS = sorted({door for _, item in ITEMS for door in item.reached.split()})
PROOFS = sorted({proof for _, item in ITEMS for proof in item.held.split()})


def test_the_page_is_what_its_script_makes() -> None:
    assert definitions.PAGE.read_text(encoding="utf-8") == definitions.page()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_in_the_code_where_its_link_leads(name: str) -> None:
    source, within = definitions.place_of(name)
    module = ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    found = import_module(module)
    for part in within.split("."):
        found = getattr(found, part) if part else found


@cache
def config_keys() -> set[str]:
    return set(
        re.findall(r"^\| `([a-zA-Z_.]+)` \|", (ROOT / "docs" / "config.md").read_text(encoding="utf-8"), re.MULTILINE)
    )


@pytest.mark.parametrize("door", DOORS)
def test_a_door_opens(door: str) -> None:
    """A name of a front door, a key of the page on configs, or a command with an option that its help names."""
    floor, *parts = door.split(".")
    if floor in ("models", "checks", "marginals"):
        found: object = import_module(floor)
        assert parts[0] in dir(found)
        for part in parts:
            found = getattr(found, part)
    elif "." in door:
        assert door in config_keys()
    else:
        name, *options = door.split(":")
        command = main.get_command(click.Context(main), name)
        known = {spelled for parameter in command.params for spelled in parameter.opts}
        assert set(options) <= known


@cache
def names_of_tests(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("proof", PROOFS)
def test_what_holds_an_item_is_there(proof: str) -> None:
    if ":" not in proof:
        assert (ROOT / "experiments" / f"{proof}.py").is_file()
        return
    path, test = proof.split(":")
    assert test in names_of_tests(path)


def test_each_item_stands_once_and_agreement_is_said_of_each() -> None:
    for paper in definitions.PAPERS:
        rows = definitions.items(paper)
        judged = definitions.verdicts(paper)
        assert len({item.item for item in rows}) == len(rows)
        assert [item.item for item in rows if not item.agreement and item.item not in judged] == []
        assert set(judged) <= {item.item for item in rows}
        for item in rows:
            is_built = not re.match("not built|nothing to build|a proof", item.agreement)
            assert bool(item.code) == bool(item.held) == is_built, item.item
            assert item.reached or not is_built or paper != "KG06", item.item


KINDS = {
    "definition": "Def.", "theorem": "Theorem", "algorithm": "Algorithm", "table": "Table", "figure": "Fig.", "fig.": "Fig.",
    "lemma": "Lemma", "corollary": "Corollary", "proposition": "Proposition", "observation": "Observation",
}  # fmt: skip
HEAD = re.compile(rf"\b({'|'.join(map(re.escape, KINDS))})\s+([A-Z]?\.?\d+(?:\.\d+)?)", re.IGNORECASE)


@pytest.mark.data
@pytest.mark.parametrize("paper", definitions.PAPERS)
def test_no_numbered_item_that_the_text_of_a_paper_mentions_is_missing(shared_data: Path, paper: str) -> None:
    """Definitions, theorems, algorithms, tables and figures, by all places that name one."""
    text = shared_data.parent / "papers" / f"{paper}.txt"
    if not text.is_file():
        pytest.skip(f"the text of {paper} is not here")
    words = text.read_text(encoding="utf-8").replace("De fi nition", "Definition")  # one copy is damaged
    mentioned = {f"{KINDS[kind.lower()]} {number}" for kind, number in HEAD.findall(words)}
    rows = {re.sub(r"^Algorithm .*", "Algorithm 1", item.item) for item in definitions.items(paper)}
    assert len(mentioned) > 10
    assert mentioned - rows == set()

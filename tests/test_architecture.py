"""The tree can be lived in: six parameters, no cycle, tests where what they test is and through the front doors.

The order of floors and wings are contracts of import-linter; `make lint` checks them.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import grimp
import networkx as nx
import pytest

from project import ROOT
from public_names import public_names
from tiers import is_defined

FLOORS = ("models", "checks", "marginals")
PARAMETERS = 6

MOST_NAMES = {"models": 90, "checks": 60, "marginals": 30}
"""Names that the front door of a floor may have."""

PUBLIC_MODULES = {
    "marginals.auditing", "marginals.criteria", "marginals.errors", "marginals.example", "marginals.interchange",
    "marginals.recoding", "marginals.risk", "marginals.selection",
}  # fmt: skip
"""Modules that a front door offers by name."""

INNER_IMPORTS = ROOT / "tests" / "inner_imports.txt"
"""Files that still import from behind the doors. The list only shrinks: a file that needs to no more is taken off it."""

MODULES_OF = {floor: sorted((ROOT / floor).rglob("*.py")) for floor in FLOORS}
every_floor = pytest.mark.parametrize("floor", FLOORS)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def parameter_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """All but `self` or `cls`; those that collect any number count as one."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(set(names) - {"self", "cls"}) + (given.vararg is not None) + (given.kwarg is not None)


def gives_a_reason(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """The docstring says why there are so many parameters, with that word; a command has one for each option it explains."""
    is_command = any(
        "click.option" in text or ".command(" in text for text in map(ast.unparse, function.decorator_list)
    )
    return is_command or "parameters" in (ast.get_docstring(function) or "")


@every_floor
def test_no_function_has_more_parameters_than_one_can_remember_without_saying_why(floor: str) -> None:
    many = {
        (shown(path), function.name): parameter_count(function)
        for path in MODULES_OF[floor]
        for function in functions(path)
        if parameter_count(function) > PARAMETERS and not gives_a_reason(function)
    }
    assert many == {}


def test_frozen_classes_share_their_methods() -> None:
    """`models.frozen` says what it saves; classes whose objects have an order compile theirs."""
    files = (path for floor in ("models", "checks", "marginals") for path in (ROOT / floor).rglob("*.py"))
    compiled = re.compile(r"^ *@dataclass\(frozen=True(?!, order=True\)$)", re.MULTILINE)
    assert not [str(path) for path in files if compiled.search(path.read_text(encoding="utf-8"))]


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Imports for type checkers and those within functions count too."""
    graph = grimp.build_graph(*FLOORS, cache_dir=None)
    imports = nx.DiGraph(
        (module, imported)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if "marginals" not in (module, imported)  # the front door names them all, for type checkers
    )
    circles = [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]
    assert circles == []


def test_tests_mirror_the_tree() -> None:
    """Each folder of tests about a floor is one of its wings."""
    for floor in FLOORS:
        for folder in (path for path in (ROOT / "tests" / floor).rglob("*") if path.is_dir()):
            if folder.name != "__pycache__":
                assert (ROOT / folder.relative_to(ROOT / "tests")).is_dir(), shown(folder)


@pytest.mark.parametrize("floor", MOST_NAMES)
def test_a_front_door_stays_small(floor: str) -> None:
    assert len(public_names(import_module(floor))) <= MOST_NAMES[floor]


def inner_imports(path: Path) -> set[str]:
    """The modules behind the doors that a file imports; of a notebook or a page, those of its code."""
    text = path.read_text(encoding="utf-8")
    modules = set(re.findall(r"^[^#\w]*?(?:from|import) ((?:models|checks|marginals)\.[\w.]+)", text, re.MULTILINE))
    return modules - PUBLIC_MODULES


def test_whoever_is_outside_imports_from_the_front_doors() -> None:
    folders = (("tests", "py"), ("benchmarks", "py"), ("experiments", "py"), ("notebooks", "ipynb"), ("docs", "md"))
    files = [path for folder, suffix in folders for path in (ROOT / folder).rglob(f"*.{suffix}")]
    inner = sorted(shown(path) for path in files if inner_imports(path))
    assert inner == INNER_IMPORTS.read_text(encoding="utf-8").split()


def names_bound(path: Path) -> Iterator[str]:
    """The functions, classes and values of a module, as often as it binds them."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


@every_floor
def test_no_module_binds_a_name_twice(floor: str) -> None:
    """The last binding holds for what stands above it, too: five columns that a line was to name became three."""
    twice = [
        f"{shown(path)}: {name}"
        for path in MODULES_OF[floor]
        for name, times in Counter(names_bound(path)).items()
        if times > 1
    ]
    assert not twice


READING = {"startswith", "endswith", "partition", "rpartition", "split", "replace", "find", "index", "removeprefix",
           "count"}  # fmt: skip


def sentence_matches(tree: ast.Module) -> list[int]:
    """Lines that compare or search in a text that `marginals.say` made, or that a command printed."""
    imported = [
        n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and str(n.module).startswith("marginals.say")
    ]
    makers = {name.asname or name.name for node in imported for name in node.names if name.name.islower()}

    def is_made(node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return name in makers or (name in ("list", "next", "map", "filter") and any(map(is_made, arguments)))
            case ast.Name(id=name):
                return name in made
            case ast.Attribute(attr="printed" | "text", value=ast.Name(id="job" | "sentence")):
                return True
        return False

    made: set[str] = set()
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None) or getattr(node, "iter", None)
        if isinstance(target, ast.Name) and value is not None and is_made(value):
            made.add(target.id)
    reads = []
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(is_made, [left, *others])):
                reads.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in READING and is_made(value):
                reads.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=arguments) if any(map(is_made, arguments)):
                reads.append(node.lineno)
    return reads


def test_no_function_matches_on_a_sentence() -> None:
    example = "from marginals.say.claims import smallest_line\nline = smallest_line(v)\nif 'smallest' in line: pass\n"
    assert sentence_matches(ast.parse(example)) == [3]
    modules = sorted((ROOT / "marginals").rglob("*.py"))
    found = {str(path): reads for path in modules if (reads := sentence_matches(ast.parse(path.read_text())))}
    assert not found, "facts decide, not words: give the sentence a code or a mark, and ask that"


def test_costs_are_kept_of_tests_that_are_there() -> None:
    """A name within that of another test, or a name that is only used, once counted as defined."""
    there = "tests/test_architecture.py::test_costs_are_kept_of_tests_that_are_there"
    assert is_defined(there)
    assert is_defined(f"{there}[case]")
    assert not is_defined(there.removesuffix("_that_are_there"))
    assert not is_defined("tests/test_architecture.py::read_costs")

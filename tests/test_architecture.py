"""The tree can be lived in: functions of six parameters, no cycle, tests where what they test is.

The order of floors and wings are contracts of import-linter; `make lint` checks them.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx as nx
import pytest

from project import ROOT

FLOORS = ("models", "checks", "marginals")
PARAMETERS = 6

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


@pytest.mark.slow
@every_floor
def test_no_function_has_more_parameters_than_one_can_remember_without_saying_why(floor: str) -> None:
    many = {
        (shown(path), function.name): parameter_count(function)
        for path in MODULES_OF[floor]
        for function in functions(path)
        if parameter_count(function) > PARAMETERS and not gives_a_reason(function)
    }
    assert many == {}


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

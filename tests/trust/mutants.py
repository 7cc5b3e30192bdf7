"""Which changes of the two lower floors do their tests not notice?

    python tests/trust/mutants.py --sample 60 --seed 7          # drawn from all modules of models and checks
    python tests/trust/mutants.py checks.maxent.hull models.tables.hierarchy:Hierarchy --part 0/2

A mutant is one small change of one function: another comparison, another sign, a number that is one more, no result. It is
compiled in a fork of this process, in the place of its module, and runs the tests that reach its function, the cheapest
first, up to the first that fails. Which tests reach which function is measured once, in one run of all of them in which each
function notes its name, and kept in build/mutants_20.json until a module or the test file changes. A JSON line for each
mutant says what noticed it, or that it survived; the last line counts. People judge whether a survivor changes any result.
"""

import argparse
import ast
import builtins
import hashlib
import json
import os
import random
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("models", "checks")

TESTS = ("models", "checks", "tests/models", "tests/checks", "tests/trust/test_distances_of_values.py")
"""Examples in docstrings, too."""

SECONDS = 90
"""Of a processor, for each mutant; its tests take half of that without a change."""

WORDS = re.compile(r"__str__|__repr__|describe|in_words|meaning")
"""Functions that only say what was decided; sentences are looked at elsewhere."""

OPERATORS = """Lt LtE, LtE Lt, Gt GtE, GtE Gt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, NotIn In, And Or, Or And,
Add Sub, Sub Add, Mult Add, Div Mult, FloorDiv Mult, Mod FloorDiv, Pow Mult, LShift RShift, RShift LShift, BitAnd BitOr,
BitOr BitAnd, BitXor BitOr, USub UAdd"""
SWAPS = {getattr(ast, one): getattr(ast, other) for one, other in map(str.split, OPERATORS.split(","))}
PAIRS = "min max, minimum maximum, any all, floor ceil, argmin argmax, inf nan, zeros ones, append remove"
NAMES = {one: other for pair in map(str.split, PAIRS.split(",")) for one, other in (pair, pair[::-1])}


class Mutant(NamedTuple):
    """A change of one field of one node of a module."""

    module: str
    function: str
    number: int
    node: ast.AST
    field: str
    value: Any

    def __str__(self) -> str:
        return f"{self.module}:{self.function}#{self.number}"

    def apply(self) -> str:
        """Change the tree, and return what was changed into what, on one line."""
        before = ast.unparse(self.node)
        setattr(self.node, self.field, self.value)
        return f"line {getattr(self.node, 'lineno', '?')}: {before}  ->  {ast.unparse(self.node)}"


def source(module: str) -> ast.Module:
    path = ROOT / module.replace(".", "/")
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())


def functions(node: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The nodes that compute something, each with the function or class around it."""
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = f"{name}.{node.name}".removeprefix(".")
    if WORDS.search(name):
        return
    yield name, node
    for field, child in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for each in child if isinstance(child, list) else [child]:
                if isinstance(each, ast.AST):
                    yield from functions(each, name)


def replacements(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The fields of a node that can be changed, each with what is put there."""
    match node:
        case ast.Compare(ops=operators):
            for at, operator in enumerate(operators):
                yield "ops", [*operators[:at], SWAPS[type(operator)](), *operators[at + 1 :]]
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            yield "operand", ast.UnaryOp(node.op, operand)
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) | ast.BoolOp(op=operator) | ast.UnaryOp(op=operator):
            if type(operator) in SWAPS:
                yield "op", SWAPS[type(operator)]()
        case ast.Constant(value=bool(value)):
            yield "value", not value
        case ast.Constant(value=int(value) | float(value)):
            yield "value", value + 1
        case ast.Name(id=name) if name in NAMES:
            yield "id", NAMES[name]
        case ast.Attribute(attr=name) if name in NAMES:
            yield "attr", NAMES[name]
        case ast.Return(value=ast.AST() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "value", ast.Constant(None)


def mutants_of(module: str, tree: ast.Module) -> list[Mutant]:
    """All mutants of a module, each as a change of the given tree."""
    found = ((name, node, *change) for name, node in functions(tree) for change in replacements(node))
    return [Mutant(module, name, number, *change) for number, (name, *change) in enumerate(found)]


def modules() -> list[str]:
    paths = (path.relative_to(ROOT).with_suffix("") for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
    return sorted(".".join(path.parts).removesuffix(".__init__") for path in paths)


def compile_instead(tree_of: Callable[[str], ast.Module | None]) -> None:
    """From now on, modules for which there is a tree are compiled from that."""
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> Any:
        tree = tree_of(name)
        return usual(self, name) if tree is None else compile(ast.fix_missing_locations(tree), self.path, "exec")

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def noting(module: str, reached: set[str], floors: tuple[str, ...] = FLOORS) -> ast.Module | None:
    """A module of the given floors whose functions note that they are reached."""
    if module.partition(".")[0] not in floors:
        return None
    builtins.__reached__ = reached  # type: ignore[attr-defined]
    tree = source(module)
    for name, node in list(functions(tree)):
        if isinstance(node, ast.FunctionDef):
            note = ast.parse(f"__reached__.add({f'{module}:{name}'!r})").body
            node.body[ast.get_docstring(node) is not None : 0] = note
    return tree


class Plugin:
    """Which test functions run, in which order, and what is seen of each: seconds, functions reached, a failure."""

    def __init__(self, order: Mapping[str, int] | None, reached: set[str]) -> None:
        self.order, self.reached = order, reached
        self.seen: dict[str, tuple[float, set[str]]] = {}
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave those in order that are wanted."""
        if (order := self.order) is not None:
            wanted = [item for item in items if function(item.nodeid) in order]
            items[:] = sorted(wanted, key=lambda item: order[function(item.nodeid)])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.reached.clear()
        start = time.process_time()
        result = yield
        seconds, reached = self.seen.get(function(item.nodeid), (0.0, set()))
        self.seen[function(item.nodeid)] = seconds + time.process_time() - start, reached | self.reached
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(function(report.nodeid))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def function(node: str) -> str:
    return node.partition("[")[0]


def run_tests(files: list[str], plugin: Plugin, *options: str) -> Plugin:
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain", "--tb=no", "-m", "not data"]
    pytest.main([*plain, *options, *files], plugins=[plugin])
    return plugin


def in_fork(work: Callable[[], Any], seconds: float) -> Any:
    """What some work returns in a fork that may take so many seconds of a processor; None where it was ended."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.setsid()  # a test that ends a group of processes must not end this one
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        signal.alarm(int(10 * seconds))  # for what waits
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            answer = work()
        except BaseException as error:  # a mutant may raise anything
            answer = [type(error).__name__]
        with os.fdopen(write, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def reached_by_tests(examples: int) -> dict[str, tuple[float, list[str]]]:
    """The seconds of each test function and the functions that it reaches, measured where that is not known."""
    kept = ROOT / "build" / f"mutants_{examples}.json"
    product = b"".join(path.read_bytes() for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py")))
    files = [path for test in TESTS for path in sorted((ROOT / test).rglob("*.py")) or [ROOT / test]]
    keys = {
        str(path.relative_to(ROOT)): hashlib.sha256(product + path.read_bytes()).hexdigest()
        for path in files
        if path.name != "__init__.py"
    }
    known = json.loads(kept.read_text()) if kept.exists() else {}
    known = {file: known[file] for file, key in keys.items() if known.get(file, {}).get("key") == key}
    if missing := [file for file in keys if file not in known]:
        print(f"measuring which functions {len(missing)} files reach", file=sys.stderr)

        def measure() -> dict[str, Any]:
            reached: set[str] = set()
            compile_instead(lambda module: noting(module, reached))
            plugin = run_tests(missing, Plugin(None, reached))
            seen = {name: (round(s, 3), sorted(r)) for name, (s, r) in plugin.seen.items() if name not in plugin.failed}
            return {"failed": plugin.failed, "seen": seen}

        found = in_fork(measure, 7200)
        if found["failed"]:
            print("left out, as they fail without a change:", *found["failed"], file=sys.stderr)
        for file in missing:
            seen = {name: each for name, each in found["seen"].items() if name.partition("::")[0] == file}
            known[file] = {"key": keys[file], "seen": seen}
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(known))
    return {name: seen for file in known.values() for name, seen in file["seen"].items()}


def noticed_by(mutant: str, tests: list[str]) -> str | None:
    """The first test that fails with a mutant; None where none does."""
    module = mutant.partition(":")[0]

    def work() -> list[str]:
        tree = source(module)
        mutants_of(module, tree)[int(mutant.rpartition("#")[2])].apply()
        compile_instead(lambda name: tree if name == module else None)
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        return run_tests(files, Plugin({test: at for at, test in enumerate(tests)}, set()), "-x").failed

    failed = in_fork(work, SECONDS)
    return "time" if failed is None else failed[0] if failed else None


def chosen_tests(mutant: Mutant, reached: Mapping[str, tuple[float, list[str]]]) -> list[str]:
    """The tests that reach a function, or anything in its class or module where it is none: the cheapest first."""

    @cache
    def is_meant(name: str) -> bool:
        return name == whole or name.startswith((f"{whole}.", whole if whole.endswith(":") else f"{whole}."))

    whole = f"{mutant.module}:{mutant.function}"
    tests = sorted((seconds, name) for name, (seconds, found) in reached.items() if any(map(is_meant, found)))
    left, chosen = SECONDS / 2, []
    for seconds, name in tests:
        left -= seconds
        if left > 0:
            chosen.append(name)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", metavar="NAME", help="how names of mutants begin")
    parser.add_argument("--sample", type=int, metavar="NUMBER", help="so many of them")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--part", default="0/1", metavar="N/PARTS", help="of every PARTS mutants the one at N")
    parser.add_argument("--examples", type=int, default=20, metavar="NUMBER", help="of Hypothesis for each test")
    asked = parser.parse_args()
    part, parts = map(int, asked.part.split("/"))
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ.update(OPENBLAS_NUM_THREADS="1", MARGINALS_EXAMPLES=str(asked.examples))
    mutants = [each for module in modules() for each in mutants_of(module, source(module))]
    mutants = [each for each in mutants if str(each).startswith(tuple(asked.wanted) or "")]
    if asked.sample is not None:
        mutants = random.Random(asked.seed).sample(mutants, min(asked.sample, len(mutants)))
    for needed in ("hypothesis.extra._patching", "hypothesis.extra.numpy", "scipy.optimize", "scipy.stats", "pandas"):
        import_module(needed)  # once, and not in every fork
    reached = reached_by_tests(asked.examples)
    tally: Counter[str] = Counter()
    for mutant in mutants[part::parts]:
        tests = chosen_tests(mutant, reached)
        name, outcome = str(mutant), noticed_by(str(mutant), tests) if tests else "no test reaches it"
        tally["survived" if outcome is None else "noticed" if tests else "not reached"] += 1
        line = {"mutant": name, "change": mutant.apply(), "noticed by": outcome or f"survived {len(tests)} tests"}
        print(json.dumps(line), flush=True)
    print(json.dumps(tally))


if __name__ == "__main__":
    main()

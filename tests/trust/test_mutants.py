"""`make mutants` changes what computes something, and nothing else; `make rows` breaks it; and the changes are seen."""

import ast
import json
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


def loaded(name):
    spec = spec_from_file_location(f"script_of_{name}", Path(__file__).with_name(f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script, rows = loaded("mutants"), loaded("rows")

SOURCE = '''
LIMIT: int = 3

def describe(count): return count + 1

class Shown:
    def is_small(self, counts: "tuple[int, 2]") -> bool:
        """At most 3."""
        if not counts:
            raise ValueError(f"{len(counts) + 1}")
        return min(counts) < LIMIT
'''


def test_each_mutant_differs_in_one_place():
    found = {}
    for number in range(len(script.mutants_of("m", ast.parse(SOURCE)))):
        tree = ast.parse(SOURCE)  # changed by the mutant
        mutant = script.mutants_of("m", tree)[number]
        found[str(mutant)] = mutant.apply().partition(": ")[2]
        compile(ast.fix_missing_locations(tree), "m", "exec")
    assert found == {
        "m:#0": "3  ->  4",
        "m:Shown.is_small#1": "not counts  ->  not not counts",
        "m:Shown.is_small#2": "return min(counts) < LIMIT  ->  return None",
        "m:Shown.is_small#3": "min(counts) < LIMIT  ->  min(counts) <= LIMIT",
        "m:Shown.is_small#4": "min  ->  max",
    }


PROGRAM = """
import json, os, sys
os.environ["MARGINALS_EXAMPLES"] = "3"
sys.path[:0] = [".", "tests/trust"]
import mutants as script
product = script.mutants_of("models.arrays", script.source("models.arrays"))[-4]
print(json.dumps([product.function, *(script.noticed_by(str(product), [test]) for test in sys.argv[1:])]))
"""


def test_a_mutant_is_noticed_by_a_test_that_sees_its_result_and_by_no_other():
    """In a Python that has not imported the module."""
    file = "tests/models/inference/test_maximum_entropy.py"
    tests = [f"{file}::test_{name}" for name in ("the_closed_form_and_its_figures_equal_brute_force", "none_such")]
    command = [sys.executable, "-c", PROGRAM, *tests]
    ended = subprocess.run(command, cwd=script.ROOT, capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout) == ["x_log_x", tests[0], None]


@pytest.mark.parametrize(("broken", "raising"), [("m:C", {"m:C", "m:C.of"}), ("m:", {"m:C", "m:C.of", "m:Cs"})])
def test_code_that_is_broken_raises_within_tests_and_other_code_never(broken, raising):
    breaker = rows.Breaker()
    breaker.broken, names = broken, ("m:C", "m:C.of", "m:Cs", "n:C")
    for breaker.is_armed in (False, True):
        for name in names:
            with pytest.raises(rows.EnteredError) if breaker.is_armed and name in raising else nullcontext():
                breaker.add(name)

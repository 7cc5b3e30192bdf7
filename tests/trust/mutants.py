"""Which changes of the modules that decide does nothing notice?

    python tests/trust/mutants.py                      # all mutants; hours of one processor
    python tests/trust/mutants.py checks.maxent.hull marginals.bundle --part 0/2
    python tests/trust/mutants.py --sample 40          # so many of them, drawn anew each day: `make nightly`

mutmut makes the mutants, in the folder `mutants` beside `checks`, and [tool.mutmut] in pyproject.toml says of which modules.
Each runs in a fork of this process. Those of `checks` first on the collections of test_many_collections.py that reach their
function, up to the first answer that is not that of brute force; one that survives runs the tests of its module, as those of
`marginals` do at once, with few examples of Hypothesis each: first the quick ones, then those that are marked slow. A JSON
line for each mutant says what noticed it, or that it survived, and what it changed; the last lines count.

Constants of a module and properties are not changed, and functions that only put findings into words are left out. Read each
mutant that survives. It is a gap if it lets a check hold where brute force finds a violation; then it gets a test. It is no
gap if it changes a text, a dtype, which of equal classes is shown, which candidates are proposed before an exact step, or a
budget: the check then says the same, says it later, or is undecided.
"""

import argparse
import ast
import difflib
import json
import os
import random
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

COLLECTIONS, MOST, SECONDS = 1500, 100, 90
"""Collections looked at, how many of those that reach a function are asked, and seconds of a processor for each mutant."""

SLOW_SECONDS = 600
"""The same for tests that are marked slow."""

SPOKEN = re.compile(
    r"__str__|describe|_described|as_json|__post_init__|parsed|meaning|in_words|facts|assess|eligible|__repr__"
)
"""Functions that only say what was decided, or refuse input; their tests are elsewhere."""

TESTS = {
    "branch_and_bound": ("branch_and_bound", "cases", "entropy_boxes", "maxent_algorithms", "budget"),
    "changes": ("balancing", "batch", "difference", "people", "series", "settling"),
    "classes": (
        "assessment",
        "requirements",
        "k_anonymity",
        "min_cell",
        "reidentification",
        "bayes_optimal",
        "equivalence_classes",
        "eligibility",
        "homogeneity",
        "t_closeness",
    ),
    "combinatorial": ("k_combinatorial", "maxent_algorithms", "several_sensitive", "min_cell"),
    "criteria": (
        "functional",
        "criterion",
        "cases",
        "assessment",
        "branch_and_bound",
        "maxent_diversity",
        "maxent_algorithms",
        "odds",
        "of_people",
    ),
    "criterion": (
        "criterion",
        "cases",
        "exact_entropy",
        "spelling",
        "relative",
        "assessment",
        "branch_and_bound",
        "maxent_diversity",
        "maxent_algorithms",
    ),
    "cuts": ("cases", "entropy_boxes", "branch_and_bound", "maxent_algorithms"),
    "hull": ("maxent_algorithms", "budget", "vector_sets", "k_combinatorial"),
    "knowledge": ("certain_facts", "certain_cells", "attacks"),
    "maxent_diversity": ("maxent_diversity", "budget", "maxent_algorithms", "odds"),
    "odds": ("odds", "of_people"),
    "relative": ("t_closeness", "relative", "odds"),
}
"""The test files of tests/checks for a module whose tests are not only those of its own name."""

MARGINALS_TESTS = {
    "attacks": (
        "test_attacking",
        "test_changing",
        "test_private_labels",
        "bundle/test_changed_table",
        "bundle/test_together",
        "bundle/test_verification",
    ),
    "bundle": (
        "bundle/test_several_bundles",
        "bundle/test_agreement",
        "bundle/test_together",
        "bundle/test_plain_csv",
        "bundle/test_reading_and_writing",
        "bundle/test_verification",
        "bundle/test_what_readers_demand",
        "bundle/test_snapshot",
        "../trust/test_tampering",
        "../trust/test_hostile_bundles",
        "test_output",
    ),
    "bundle.signature": ("../trust/test_signature",),
    "conditions": (
        "test_published_values",
        "test_common_hierarchy",
        "test_grammar",
        "test_row_values",
        "test_rules",
    ),
    "published_values": ("test_published_values", "test_common_hierarchy", "bundle/test_several_bundles"),
    "pages": ("pages/test_release_page_numbers", "pages/test_release_page"),
    "publishing": (
        "publishing/test_two_counts",
        "publishing/test_publishing",
        "publishing/test_releasable",
        "commands/test_main",
    ),
    "release": ("release/test_all_possible_tables", "release/test_release", "bundle/test_reading_and_writing"),
    "steward": ("release/test_steward", "publishing/test_publishing"),
    "accuracy": ("release/test_comparing", "release/test_steward", "publishing/test_publishing"),
    "estimates": ("release/test_all_possible_tables", "release/test_release", "release/test_kinds"),
    "averages": ("release/test_certain_bounds", "release/test_kinds"),
    "comparisons": ("release/test_certain_bounds", "release/test_kinds"),
    "label_numbers": ("release/test_certain_bounds", "release/test_release"),
    "risk": (
        "test_bundle_risk",
        "test_attackers",
        "test_harm_model",
        "test_people_table",
        "test_similarity",
        "test_assessment",
    ),
    "tables": (
        "tables/test_counted_by_pandas",
        "tables/test_table",
        "tables/test_source",
        "tables/test_header",
        "tables/test_out_of_core",
        "tables/test_bad_input",
        "tables/test_separators",
        "tables/test_engine_files",
        "tables/test_same_bundle",
    ),
    "wording": ("pages/test_release_page_numbers", "pages/test_release_page"),
}
"""The test files of tests/marginals for a wing, or for a module that has its own."""

ROOT = Path(__file__).resolve().parents[2]


def made() -> list[str]:
    """Make the mutants of all modules, and return their names."""
    from mutmut import __main__ as mutmut
    from mutmut.mutation.trampoline import set_mutant_under_test

    set_mutant_under_test("mutant_generation")
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.store_lines_covered_by_tests()
    mutmut.create_mutants(1)
    found = [
        name
        for floor in ("checks", "marginals")
        for meta in Path("mutants", floor).rglob("*.meta")
        for name in json.loads(meta.read_text())["exit_code_by_key"]
    ]
    return sorted(name for name in found if name.startswith("marginals.") or not SPOKEN.search(name))


def change(mutant: str) -> str:
    """The lines of its function that a mutant takes away and puts there; empty where it changes a sentence only."""
    module, _, function = mutant.rpartition(".")
    before, after = (_functions(module)[name] for name in (re.sub("_[0-9]+$", "_orig", function), function))
    if _wordless(before) == _wordless(after):
        return ""
    lines = difflib.unified_diff(*(ast.unparse(each).splitlines()[1:] for each in (before, after)), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


@cache
def _functions(module: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module with its mutants, by name."""
    tree = ast.parse((ROOT / "mutants" / f"{module.replace('.', '/')}.py").read_text())
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _wordless(function: ast.FunctionDef) -> str:
    """The body of a function without what is told to people: texts that have a space, and what is said of an error."""
    tree = ast.parse(ast.unparse(function.body))  # type: ignore[arg-type]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            node.value = "_"
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            node.exc.args, node.exc.keywords = [], []
    return ast.dump(tree)


def module_of(mutant: str) -> str:
    """The last part of the name of the module that a mutant changes: `checks.maxent.hull.x_join__mutmut_3` is in `hull`."""
    return mutant.split(".")[-2]


def tests_of(mutant: str) -> list[Path]:
    """The test files that a mutant is run against."""
    if mutant.startswith("checks."):
        return [path for name in TESTS.get(module_of(mutant), (module_of(mutant),)) for path in test_files(name)]
    _, wing, *rest = mutant.split(".")[:-1]
    names = MARGINALS_TESTS.get(".".join([wing, *rest]), MARGINALS_TESTS[wing])
    return [(ROOT / "tests" / "marginals" / f"{name}.py").resolve() for name in names]


def test_files(name: str) -> list[Path]:
    """The test files of a module of `checks`, in whichever wing they are; those of its wing where none has its name."""
    tests = ROOT / "tests" / "checks"
    if files := sorted(tests.rglob(f"test_{name}.py")):
        return files
    modules = sorted((ROOT / "checks").rglob(f"{name}.py"))
    files = [path for module in modules for path in wing_tests(tests / module.parent.relative_to(ROOT / "checks"))]
    if not files:
        raise SystemExit(f"tests/checks has no test_{name}.py; the table TESTS in {__file__} names it")
    return files


def wing_tests(folder: Path) -> list[Path]:
    """The test files of a wing, or of the one around it that has some."""
    return sorted(folder.glob("test_*.py")) or wing_tests(folder.parent)


def in_fork(name: str, work: Callable[[], int], seconds: int = SECONDS) -> int:
    """The status with which a fork ends that does some work as a mutant; negative where a signal ended it."""
    if (child := os.fork()) == 0:
        os.setsid()  # a test that ends a group of processes must not end this one
        os.environ["MUTANT_UNDER_TEST"] = name
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            status = work()
        except BaseException:  # a mutant may raise anything
            status = 1
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    """Run the mutants that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", metavar="NAME", help="how names of mutants begin")
    parser.add_argument("--part", default="0/1", metavar="N/PARTS", help="of every PARTS mutants the one at N")
    parser.add_argument("--sample", type=int, metavar="NUMBER", help="so many of them, others each day")
    parser.add_argument("--examples", type=int, default=50, metavar="NUMBER", help="of Hypothesis for each test")
    chosen = parser.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    os.chdir(ROOT)
    os.environ.update(OPENBLAS_NUM_THREADS="1", MUTANT_UNDER_TEST="", MARGINALS_EXAMPLES=str(chosen.examples))
    names = [name for name in made() if name.startswith(tuple(chosen.wanted) or "")]
    names = [name for name in names if name.startswith("checks.") or change(name)][part::parts]
    if chosen.sample is not None:
        names = sorted(random.Random(date.today().isoformat()).sample(names, min(chosen.sample, len(names))))
    os.chdir(ROOT / "mutants")
    sys.path[:0] = [str(ROOT / "mutants" / folder) for folder in (".", "tests", "tests/support", "tests/trust")]
    import mutmut.mutation.trampoline as trampoline
    import pytest
    import test_many_collections as many

    import marginals  # noqa: F401 - from the folder of the mutants, before the tests look for it
    from checks import Verdict

    for needed in ("hypothesis.extra._patching", "hypothesis.extra.numpy", "scipy.optimize", "scipy.stats"):
        import_module(needed)  # once, and not in every fork
    reached = reaching(many, trampoline) if any(name.startswith("checks.") for name in names) else {}

    def disagrees(numbers: list[int]) -> int:
        return int(any(is_wrong(answer) for number in numbers for answer in many.answers(many.SEED, number)))

    def is_wrong(answer: Any) -> bool:
        if answer.verdict is Verdict.UNDECIDED:
            return bool(answer.algorithm != "iterative fitting")
        return answer.expected is not None and answer.expected is not (answer.verdict is Verdict.HOLDS)

    def status_of_tests(files: Sequence[Path], speed: str) -> int:
        plain = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=no"]
        chosen = ["-m", f"not data and {speed}", "-k", "not boxes_exclude_what"]
        # Pytest's 5: there is none.
        return int(pytest.main([*plain, *chosen, *map(str, files)])) % 5

    @cache
    def seconds_of(files: tuple[Path, ...], speed: str) -> int:
        """What these tests may take, after they were seen to pass without a change."""
        seconds = SECONDS if speed == "not slow" else SLOW_SECONDS
        if in_fork("", partial(status_of_tests, files, speed), seconds):
            raise SystemExit(f"without a change, a test fails among {', '.join(path.name for path in files)}")
        return seconds

    for files in dict.fromkeys(tuple(tests_of(name)) for name in names):
        seconds_of(files, "not slow")
    tally: Counter[tuple[str, str]] = Counter()
    for name in names:
        module, numbers = name.rpartition(".")[0], reached.get(name.partition("__mutmut_")[0], [])
        asked = sorted(random.Random(name).sample(numbers, min(MOST, len(numbers))))
        outcome = "survived"
        if asked and in_fork(name, partial(disagrees, asked)):
            outcome = "brute force"
        else:
            files = tuple(tests_of(name))
            for speed, noticing in (("not slow", "tests"), ("slow", "slow tests")):
                if in_fork(name, partial(status_of_tests, files, speed), seconds_of(files, speed)):
                    outcome = noticing
                    break
        tally[module, outcome] += 1
        survivor = {"changed": change(name)} if outcome == "survived" else {}
        print(json.dumps({"mutant": name, "noticed by": outcome} | survivor), flush=True)
    for (module, outcome), number in sorted(tally.items()):
        print(json.dumps({"module": module, "noticed by": outcome, "mutants": number}))


def reaching(many: Any, trampoline: Any) -> dict[str, list[int]]:
    """The collections that reach each function, by their numbers."""
    reached: dict[str, list[int]] = {}
    hit: set[str] = set()
    trampoline.record_trampoline_hit = lambda function, caller=None: hit.add(function)  # noqa: ARG005 - as it is called
    os.environ["MUTANT_UNDER_TEST"] = "stats"
    for number in range(COLLECTIONS):
        hit.clear()
        list(many.answers(many.SEED, number))
        for function in hit:
            reached.setdefault(function, []).append(number)
    os.environ["MUTANT_UNDER_TEST"] = ""
    return reached


if __name__ == "__main__":
    main()

"""Does the test of each row of docs/definitions.md enter the code that the row names?

    python tests/trust/rows.py                        # all rows
    python tests/trust/rows.py KG06 "LSFB09 Def. 1"   # rows whose names begin so

All code that a row names is broken, one name after the other, each in a fork of this process: whatever a test calls of it
raises an error that nobody catches. One test of the row must fail for each of its names, and each test for one of them. What
a fixture prepares is not broken. An experiment that holds a row runs with little work; it needs the real tables.
"""

import json
import os
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "experiments"), str(Path(__file__).parent)]

import definitions  # noqa: E402
import mutants  # noqa: E402

SECONDS = 300
"""Of a processor, for all tests of one name."""

LITTLE = {
    "disclosure_risk_lsfb09": "--rows 200",
    "injecting_utility_kg06": "--hierarchies hierarchies",
    "lands_end_mkgv07": "--rows 50000",
    "sweep_tz09": "--data nursery --requirement 0.5,3",
}
"""Options of an experiment that make it quick."""


class EnteredError(BaseException):
    """No code of the product catches it."""


class Breaker(set[str]):
    """What functions note that they are reached; those of one name then raise."""

    broken = " "
    is_armed = False

    def add(self, name: str) -> None:
        if self.is_armed and (name == self.broken or name.startswith(f"{self.broken}.".replace(":.", ":"))):
            raise EnteredError(name)

    def clear(self) -> None:
        """Nothing is kept."""


class Plugin(mutants.Plugin):
    """Tests run with broken code; the other cases of a test that has failed are left out."""

    reached: Breaker

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if mutants.function(item.nodeid) in self.failed:
            pytest.skip("another case has failed")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        self.reached.is_armed = True
        try:
            return (yield)
        finally:
            self.reached.is_armed = False


def parts(name: str) -> tuple[str, str]:
    path, found = definitions.place_of(name)
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), found


def failing(name: str, proofs: set[str], breaker: Breaker) -> set[str]:
    breaker.broken = ":".join(parts(name))
    tests = {f"tests/{proof.replace(':', '::')}": proof for proof in sorted(proofs) if ":" in proof}

    def run_tests() -> list[str]:
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        return mutants.run_tests(files, Plugin(dict.fromkeys(tests, 0), breaker), "-m", "").failed

    failed = {tests.get(test, test) for test in mutants.in_fork(run_tests, SECONDS) or ()} if tests else set()
    for experiment in proofs - set(tests.values()):

        def run(experiment: str = experiment) -> list[str]:
            breaker.is_armed = True
            sys.argv = [experiment, *LITTLE.get(experiment, "").split()]
            runpy.run_path(f"experiments/{experiment}.py", run_name="__main__")
            return []

        if mutants.in_fork(run, SECONDS) == [EnteredError.__name__]:
            failed.add(experiment)
    return failed


def main() -> int:
    os.chdir(ROOT)
    os.environ.update(OPENBLAS_NUM_THREADS="1", MARGINALS_EXAMPLES="100")
    wanted = tuple(sys.argv[1:]) or ("",)
    rows = [(f"{paper} {row.item}", row) for paper in definitions.PAPERS for row in definitions.items(paper)]
    rows = [(title, row) for title, row in rows if row.code and title.startswith(wanted)]
    proofs_of: defaultdict[str, set[str]] = defaultdict(set)
    for _, row in rows:
        for name in row.code.split():
            proofs_of[name].update(row.held.split())
    breaker = Breaker()
    floors = (*mutants.FLOORS, "marginals")
    mutants.compile_instead(lambda name: mutants.noting(name, breaker, floors))
    for module in ("hypothesis.extra.numpy", "scipy.stats", *(parts(name)[0] for name in proofs_of)):
        import_module(module)
    failed = {name: failing(name, proofs, breaker) for name, proofs in proofs_of.items()}
    wrong = 0
    for title, row in rows:
        names, proofs = row.code.split(), row.held.split()
        unheld = [name for name in names if not failed[name] & set(proofs)]
        idle = [proof for proof in proofs if not any(proof in failed[name] for name in names)]
        wrong += bool(unheld or idle)
        print(json.dumps({"row": title, "not broken by a test": unheld, "enter nothing": idle}), flush=True)
    print(f"{wrong} rows whose test does not fail")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

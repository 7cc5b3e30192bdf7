"""Each module that `make mutants` changes has tests that it is run against."""

import tomllib
from fnmatch import fnmatch
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def script():
    """The script, which is no module of the tests."""
    spec = spec_from_file_location("script_of_mutants", Path(__file__).with_name("mutants.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_changed_module_has_tests_that_are_there():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]["only_mutate"]
    files = [str(path.relative_to(ROOT)) for floor in ("checks", "marginals") for path in (ROOT / floor).rglob("*.py")]
    unmatched = [pattern for pattern in patterns if not any(fnmatch(file, pattern) for file in files)]
    assert not unmatched
    tests_of = script().tests_of
    for file in files:
        if any(fnmatch(file, pattern) for pattern in patterns):
            tests = tests_of(f"{file.removesuffix('.py').replace('/', '.')}.x_name__mutmut_1")
            assert tests, file
            assert all(path.is_file() for path in tests), file

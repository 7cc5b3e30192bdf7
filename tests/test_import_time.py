"""What is loaded before anybody needs it: neither `import marginals` nor `marginals --help` waits for pandas."""

import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import marginals

HEAVY = {"pandas", "scipy", "networkx", "duckdb", "polars", "pyarrow", "matplotlib", "jinja2", "narwhals", "tqdm"}
HELP = "import sys; sys.argv[1:] = ['--help']\nfrom marginals.commands.main import main\nmain(standalone_mode=False)"


def loaded_by(program: str) -> set[str]:
    listing = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", f"{program}\n{listing}"], capture_output=True, text=True, check=True)
    return {module.partition(".")[0] for module in json.loads(ran.stdout.splitlines()[-1])}


@pytest.mark.parametrize("program", ["import marginals", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded_before_it_is_needed(program: str) -> None:
    assert not loaded_by(program) & (HEAVY | {"numpy"})


def test_importing_takes_less_than_importing_pandas() -> None:
    """A bound of 2.5 is wanted; without pandas it is a small part of one, also on a busy machine."""

    def seconds(program: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - start

    ours, pandas = (min(seconds(f"import {name}") for _ in range(3)) for name in ("marginals", "pandas"))
    assert ours < pandas


def test_each_name_is_there_and_where_type_checkers_think() -> None:
    assert set(marginals.__all__) <= set(dir(marginals))
    assert all(getattr(marginals, name) is not None for name in marginals.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = marginals.nothing  # type: ignore[attr-defined]
    tree = ast.parse(Path(marginals.__file__).read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    homes = {
        name.name: statement.module
        for statement in typed.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    }
    assert {name: home for name, home in homes.items() if home != "marginals"} == marginals._HOMES
    assert sorted(homes) == sorted(marginals.__all__)

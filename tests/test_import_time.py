"""What is loaded before anybody needs it: neither `import marginals` nor `marginals --help` waits for pandas.

Nor does a query or the verification of a release, which need no frame, no search, and neither SciPy nor networkx.
"""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import checks
import marginals
import models

HEAVY = {"pandas", "scipy", "networkx", "duckdb", "polars", "pyarrow", "matplotlib", "jinja2", "narwhals", "tqdm"}
HELP = "import sys; sys.argv[1:] = ['--help']\nfrom marginals.commands.main import main\nmain(standalone_mode=False)"


def loaded_by(program: str) -> set[str]:
    listing = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", f"{program}\n{listing}"], capture_output=True, text=True, check=True)
    return {module.partition(".")[0] for module in json.loads(ran.stdout.splitlines()[-1])}


@pytest.mark.parametrize("program", ["import marginals", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded_before_it_is_needed(program: str) -> None:
    assert not loaded_by(program) & (HEAVY | {"numpy"})


def test_a_release_is_verified_and_asked_without_frames_scipy_and_networkx(tmp_path: Path) -> None:
    from marginals.example import release

    release.write(tmp_path / "release")
    asked = (["verify", str(tmp_path / "release")], ["query", str(tmp_path / "release"), "sex=Female"])
    main = "from marginals.commands.main import main\n"
    runs = "".join(f"main({command!r}, standalone_mode=False)\n" for command in asked)
    unwanted = ["pandas", "scipy", "networkx", "jinja2", "models.search", "marginals.steward"]
    unwanted += ["numpy.ma", "subprocess", "difflib", "zipfile"]
    listing = f"import sys; print(*(name for name in {unwanted} if name in sys.modules))"
    command = [sys.executable, "-c", main + runs + listing]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "private" in printed or "holds" in printed, printed
    assert printed.splitlines()[-1] == "", printed


def test_what_duckdb_counts_is_published_without_pandas(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = "SELECT i % 2 AS sex, i % 3 AS illness, i % 5 + 0.5 AS weight FROM range(600) AS numbers(i)"
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path / 'people.parquet'}' (FORMAT parquet)")
    sections = (
        f"[data]\npath = '{tmp_path / 'people.parquet'}'\nengine = 'duckdb'",
        "[attributes.sex]\nrole = 'quasi-identifier'\n[attributes.illness]\nrole = 'sensitive'",
        "[privacy]\nk_link = 5\ndiversity = 'none'",
    )
    (tmp_path / "release.toml").write_text("\n".join(sections))
    command = ["publish", str(tmp_path / "release.toml"), "--out", str(tmp_path / "release"), "--json"]
    main = "from marginals.commands.main import main\n"
    assert "duckdb" in (loaded := loaded_by(f"{main}main({command!r}, standalone_mode=False)"))
    assert "pandas" not in loaded


def test_importing_takes_a_small_part_of_importing_pandas() -> None:
    """In time of the processor, in one of three tries, so that it holds on a busy machine too."""

    def seconds(program: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", program], check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert any(seconds("import marginals") < seconds("import pandas") / 2 for _ in range(3))


@pytest.mark.parametrize("door", [models, checks, marginals], ids=lambda door: door.__name__)
def test_each_name_is_there_and_where_type_checkers_think(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = door.nothing
    tree = ast.parse(Path(str(door.__file__)).with_suffix(".pyi").read_text())
    imports = [statement for statement in tree.body if isinstance(statement, ast.ImportFrom)]
    listed = [(statement.module, name.name, name.asname) for statement in imports for name in statement.names]
    assert sorted(name for _, name, _ in listed) == door.__all__
    assert set(door.__all__) <= set(dir(door))
    for home, name, public in listed:
        assert public == name, "only then a stub hands the name on"
        assert getattr(importlib.import_module(str(home)), name) is getattr(door, name)


@pytest.mark.parametrize("door", [models, checks, marginals], ids=lambda door: door.__name__)
def test_everything_can_be_imported_from_a_door(door: ModuleType) -> None:
    held: dict[str, object] = {}
    exec(f"from {door.__name__} import *", held)
    assert sorted(held.keys() - {"__builtins__"}) == door.__all__

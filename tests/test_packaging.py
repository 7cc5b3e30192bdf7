"""The wheel has what it needs and nothing else, and nothing heavy is imported before anybody needs it."""

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import checks
import marginals
import models
from project import ROOT
from public_names import public_names
from written_bundles import change_package

FLOORS = ("models", "checks", "marginals")


def copy_of_the_floors(folder: Path) -> Path:
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, folder / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def refusal(*folders: Path) -> str:
    """The last line that `import marginals` prints where modules are looked for in these folders alone."""
    program = "import sys; sys.path[:0] = sys.argv[1:]; import marginals"
    command = [sys.executable, "-E", "-S", "-c", program, *map(str, folders)]
    result = subprocess.run(command, cwd=folders[0], capture_output=True, text=True, check=False)
    assert result.returncode
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: marginals needs its own package ")
    assert "None" not in last
    return last


def install_another(site: Path, name: str) -> Path:
    """A package of another distribution, with what pip notes about it."""
    module = site / name / "__init__.py"
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text("VERSION = 2\n")
    about = site / "cool_things-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cool-things\nVersion: 2.0\n")
    (about / "RECORD").write_text(f"{name}/__init__.py,,\ncool_things-2.0.dist-info/METADATA,,\n")
    return module


CLASHES: dict[str, tuple[Callable[[Path, str], object], str]] = {
    "a user's own file": (
        lambda other, name: (other / f"{name}.py").write_text(""),
        "found {other}/{name}.py first; rename that file or run from another folder",
    ),
    "missing": (
        lambda other, name: shutil.rmtree(other.parent / "site" / name),
        "'{name}', which is missing, perhaps since another distribution was removed{again}",
    ),
    "what another distribution has left": (
        lambda other, name: (other.parent / "site" / name / "__init__.py").unlink(),
        "Python found only {other.parent}/site/{name}, without an __init__.py{again}",
    ),
    "overwritten": (
        lambda other, name: install_another(other.parent / "site", name),
        "but the distribution cool-things has overwritten it in {other.parent}/site/{name}/__init__.py; uninstall that "
        "one{again}",
    ),
    "a distribution that comes first": (
        lambda other, name: install_another(other, name),
        "found that of the distribution cool-things first, {other}/{name}/__init__.py",
    ),
}
"""What stands in the place of one of our packages: how it comes there, before them or among them, and what is said."""


@pytest.mark.parametrize("clash", CLASHES)
@pytest.mark.parametrize("name", ["models", "checks"])
def test_another_package_of_that_name_is_named_in_one_sentence(tmp_path: Path, clash: str, name: str) -> None:
    make, said = CLASHES[clash]
    site, other = copy_of_the_floors(tmp_path / "site"), tmp_path / "other"
    other.mkdir()
    make(other, name)
    part, again, _ = said.partition("{again}")
    sentence = refusal(other, site)
    assert part.format(other=other, name=name) in sentence
    assert not again or sentence.endswith("`pip install --force-reinstall anonymized-marginals` puts it back")


def build_wheel(folder: Path) -> Path:
    source = copy_of_the_floors(folder / "source")
    for file in ("README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.mark.nightly
def test_the_readme_and_the_first_pages_run_from_a_wheel_in_an_empty_folder(tmp_path: Path) -> None:
    """In a fresh environment, with the extras that the pages name; the transcript is printed."""
    wheel, python = build_wheel(tmp_path), tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[window,plot,duckdb,fit]"], check=True)
    pages = [
        "README.md",
        *(f"docs/how_to/{page}.md" for page in ("window", "first_release", "analyse", "model_search")),
    ]
    outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MARGINALS_DATA")}
    script = ROOT / "tests" / "support" / "running_pages.py"
    subprocess.run([python, script, *(ROOT / page for page in pages)], check=True, env=outside, cwd=tmp_path)


def test_the_wheel_holds_the_floors_with_their_templates_the_licence_and_nothing_else(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {"marginals/pages/templates/report.html", "marginals/pages/templates/report.css"} <= held
    assert {"marginals/__init__.pyi", *(f"{floor}/py.typed" for floor in FLOORS)} <= held
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == set(FLOORS)
    about = f"anonymized_marginals-{marginals.__version__}.dist-info"
    assert {name for name in held if ".dist-info/" in name} == {
        f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert f"\nVersion: {marginals.__version__}\n" in zipfile.ZipFile(wheel).read(f"{about}/METADATA").decode()


# What is loaded before anybody needs it: neither `import marginals` nor `marginals --help` waits for pandas.


HEAVY = {
    "pandas",
    "scipy",
    "networkx",
    "duckdb",
    "polars",
    "pyarrow",
    "matplotlib",
    "jinja2",
    "narwhals",
    "tqdm",
    "cryptography",
}
HELP = "import sys; sys.argv[1:] = ['--help']\nfrom marginals.commands.main import main\nmain(standalone_mode=False)"


def loaded_by(program: str) -> set[str]:
    listing = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", f"{program}\n{listing}"], capture_output=True, text=True, check=True)
    return {module.partition(".")[0] for module in json.loads(ran.stdout.splitlines()[-1])}


@pytest.mark.parametrize("program", ["import marginals", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded_before_it_is_needed(program: str) -> None:
    assert not loaded_by(program) & (HEAVY | {"numpy"})


@pytest.mark.parametrize("has_report", [False, True])
def test_a_release_is_verified_and_asked_without_frames_scipy_and_networkx(has_report: bool, tmp_path: Path) -> None:
    """A report is made again to be compared, by what draws it."""
    from marginals.example import release

    release.write(tmp_path / "release")
    if not has_report:
        change_package(tmp_path / "release", lambda package: package["release"].pop("report"))
        (tmp_path / "release" / "report.html").unlink()
    asked = (["verify", str(tmp_path / "release")], ["query", str(tmp_path / "release"), "sex=Female"])
    main = "from marginals.commands.main import main\n"
    runs = "".join(f"main({command!r}, standalone_mode=False)\n" for command in asked)
    unwanted = ["pandas", "marginals.steward", "marginals.tables.files", "models.search", "numpy.random", "scipy"]
    if not has_report:
        unwanted += ["networkx", "jinja2", "numpy.ma", "subprocess", "difflib", "zipfile"]
    listing = f"import sys; print(*(name for name in {unwanted} if name in sys.modules))"
    command = [sys.executable, "-c", main + runs + listing]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "private" in printed or "holds" in printed, printed
    assert printed.splitlines()[-1] == "", printed


def test_columns_that_give_each_other_away_are_found_without_scipy(tmp_path: Path) -> None:
    rows = "".join(f"{number % 7},d{number % 4},c{number % 4}\n" for number in range(280))
    (tmp_path / "people.csv").write_text(f"ward,illness,kind\n{rows}")
    command = ["init", str(tmp_path / "people.csv"), "--out", str(tmp_path / "release.toml")]
    main = "from marginals.commands.main import main\n"
    assert "scipy" not in loaded_by(f"{main}main({command!r}, standalone_mode=False)")
    assert "says the same as illness" in (tmp_path / "release.toml").read_text()


def test_parquet_is_published_without_pandas(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = "SELECT i % 2 AS sex, i % 3 AS illness, i % 5 + 0.5 AS weight FROM range(600) AS numbers(i)"
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path / 'people.parquet'}' (FORMAT parquet)")
    sections = (
        f"[data]\npath = '{tmp_path / 'people.parquet'}'",
        "[attributes.sex]\nrole = 'quasi-identifier'\n[attributes.illness]\nrole = 'sensitive'",
        "[privacy]\nk_link = 5\ndiversity = 'none'",
    )
    (tmp_path / "release.toml").write_text("\n".join(sections))
    command = ["publish", str(tmp_path / "release.toml"), "--out", str(tmp_path / "release"), "--json"]
    main = "from marginals.commands.main import main\n"
    assert "pyarrow" in (loaded := loaded_by(f"{main}main({command!r}, standalone_mode=False)"))
    assert "pandas" not in loaded


@pytest.mark.parametrize("door", [models, checks, marginals], ids=lambda door: door.__name__)
def test_each_name_is_there_and_where_type_checkers_think(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = door.nothing
    tree = ast.parse(Path(str(door.__file__)).with_suffix(".pyi").read_text())
    imports = [statement for statement in tree.body if isinstance(statement, ast.ImportFrom)]
    listed = [(statement.module, name.name, name.asname) for statement in imports for name in statement.names]
    assert sorted(name for _, name, _ in listed) == public_names(door)
    assert {name for _, name, _ in listed} <= set(dir(door))
    for home, name, public in listed:
        assert public == name, "only then a stub hands the name on"
        assert getattr(importlib.import_module(str(home)), name) is getattr(door, name)

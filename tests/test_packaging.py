"""Three top-level packages: the floors hold, the wheel holds just them, and a name clash is explained."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import marginals

ROOT = Path(__file__).parent.parent
FLOORS = ("models", "checks", "marginals")


def copy_of_the_floors(folder: Path) -> Path:
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, folder / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
        "--no-cache",
    ]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("floor", "above"), [("models", "checks"), ("models", "marginals"), ("checks", "marginals")])
def test_an_import_that_goes_up_a_floor_breaks_the_contract(tmp_path: Path, floor: str, above: str) -> None:
    folder = copy_of_the_floors(tmp_path)
    assert lint_imports(folder).returncode == 0
    (folder / floor / "climber.py").write_text(f"import {above}.errors\n")
    result = lint_imports(folder)
    assert result.returncode != 0
    assert "BROKEN" in result.stdout


def refusal(*folders: Path) -> str:
    """The last line that `import marginals` prints where modules are looked for in these folders alone."""
    program = "import sys; sys.path[:0] = sys.argv[1:]; import marginals"
    command = [sys.executable, "-S", "-c", program, *map(str, folders)]
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


names = pytest.mark.parametrize("name", ["models", "checks"])


@names
def test_a_users_own_file_of_that_name_is_named_in_one_sentence(tmp_path: Path, name: str) -> None:
    site = copy_of_the_floors(tmp_path / "site")
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / f"{name}.py"
    file.write_text("")
    assert f"found {file} first; rename that file or run from another folder" in refusal(tmp_path / "work", site)


@names
def test_a_package_that_is_missing_is_put_back_by_pip(tmp_path: Path, name: str) -> None:
    site = copy_of_the_floors(tmp_path / "site")
    shutil.rmtree(site / name)
    sentence = refusal(site)
    assert f"{name!r}, which is missing, perhaps since another distribution was removed" in sentence
    assert sentence.endswith("`pip install --force-reinstall anonymized-marginals` puts it back")


@names
def test_a_folder_without_init_is_not_the_package(tmp_path: Path, name: str) -> None:
    """What is left where another distribution was removed, or a folder of the user's."""
    site = copy_of_the_floors(tmp_path / "site")
    (site / name / "__init__.py").unlink()
    sentence = refusal(site)
    assert f"Python found only {site / name}, without an __init__.py" in sentence
    assert "pip install --force-reinstall" in sentence


@names
def test_a_distribution_that_has_overwritten_the_package_is_named(tmp_path: Path, name: str) -> None:
    site = copy_of_the_floors(tmp_path / "site")
    module = install_another(site, name)
    sentence = refusal(site)
    assert f"but the distribution cool-things has overwritten it in {module}; uninstall that one" in sentence
    assert "pip install --force-reinstall" in sentence


@names
def test_a_distribution_whose_package_comes_first_is_named(tmp_path: Path, name: str) -> None:
    site = copy_of_the_floors(tmp_path / "site")
    module = install_another(tmp_path / "other", name)
    assert f"found that of the distribution cool-things first, {module}" in refusal(tmp_path / "other", site)


def test_a_module_that_a_package_lacks_is_named_as_it_is(tmp_path: Path) -> None:
    """That is a defect of ours, and no clash of names."""
    site = copy_of_the_floors(tmp_path)
    (site / "models" / "__init__.py").write_text("import no_such_module\n")
    command = [sys.executable, "-S", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import marginals", str(site)]
    result = subprocess.run(command, cwd=site, capture_output=True, text=True, check=False)
    assert result.stderr.strip().endswith("ModuleNotFoundError: No module named 'no_such_module'")


def test_every_floor_is_typed_and_tests_hide_no_package() -> None:
    for floor in FLOORS:
        assert (ROOT / floor / "py.typed").is_file()
        assert not (ROOT / "tests" / floor / "__init__.py").exists()


def test_the_wheel_holds_the_floors_with_their_templates_the_licence_and_nothing_else(tmp_path: Path) -> None:
    folder = copy_of_the_floors(tmp_path / "source")
    for file in ("README.md", "LICENSE"):
        shutil.copy(ROOT / file, folder)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {"marginals/pages/templates/report.html", "marginals/pages/templates/report.css"} <= held
    assert {"marginals/__init__.pyi", *(f"{floor}/py.typed" for floor in FLOORS)} <= held
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == set(FLOORS)
    about = f"anonymized_marginals-{marginals.__version__}.dist-info"
    assert {name for name in held if ".dist-info/" in name} == {
        f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert f"\nVersion: {marginals.__version__}\n" in zipfile.ZipFile(wheel).read(f"{about}/METADATA").decode()

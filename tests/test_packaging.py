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


@pytest.mark.parametrize("name", ["models", "checks"])
def test_a_users_own_module_of_that_name_is_named_in_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("")
    result = subprocess.run(
        [sys.executable, "-c", "import marginals"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert str(tmp_path / f"{name}.py") in last


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
    assert {f"{floor}/py.typed" for floor in FLOORS} <= held
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == set(FLOORS)
    about = f"anonymized_marginals-{marginals.__version__}.dist-info"
    assert {name for name in held if ".dist-info/" in name} == {
        f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert f"\nVersion: {marginals.__version__}\n" in zipfile.ZipFile(wheel).read(f"{about}/METADATA").decode()

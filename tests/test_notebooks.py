"""The notebooks run from top to bottom, and what is checked in was run that way."""

import re
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks are run with nbclient")
nbformat = pytest.importorskip("nbformat", reason="notebooks are read with nbformat")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    run(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_about_a_real_table_runs_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MARGINALS_DATA", str(tmp_path))
    run(FOLDER / "injecting_utility.ipynb")


def run(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": FOLDER}}
    )
    cells = [cell for cell in client.execute().cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_outputs_that_are_checked_in_come_from_one_run(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_name_no_folder_of_the_machine_they_were_made_on(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            shown = output.get("text", "") + output.get("data", {}).get("text/plain", "")
            assert not re.search(r"(?<![\w.])/(home|root|tmp|Users|var)/", shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_figure_has_a_title_and_every_axis_a_unit(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if "plt.subplots" in cell.source:
            assert "set_title" in cell.source
            assert "set_xlabel" in cell.source or "set_axis_off" in cell.source

"""The notebooks run from top to bottom, and what is checked in was run that way."""

import re
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks are run with nbclient")
nbformat = pytest.importorskip("nbformat", reason="notebooks are read with nbformat")
pytest.importorskip("ipykernel", reason="notebooks are run with IPython")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_what_is_checked_in_is_what_comes_out(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make notebooks` runs them all and keeps what comes out."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    stored, fresh = (nbformat.read(path, as_version=4) for _ in range(2))
    nbclient.NotebookClient(fresh, iopub_timeout=60, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        if before.cell_type == "code":
            assert_same([shown(output) for output in before.outputs], [shown(output) for output in after.outputs])


def shown(output: Any) -> tuple[str, tuple[str, ...], str]:
    """The kind of an output, the formats that it has, and its text, without the numbers of bytes of files."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    formats = tuple(sorted(output.get("data", {})))
    return output["output_type"], formats, " ".join(re.sub(r"\d+ bytes", "bytes", text).split())


def assert_same(before: list[tuple[str, tuple[str, ...], str]], after: list[tuple[str, tuple[str, ...], str]]) -> None:
    assert [output[:2] for output in before] == [output[:2] for output in after]
    for (*_, old), (*_, new) in zip(before, after):
        olds, news = NUMBER.split(old), NUMBER.split(new)
        assert olds[::2] == news[::2]
        assert [float(number) for number in olds[1::2]] == pytest.approx(
            [float(number) for number in news[1::2]], rel=1e-4
        )


def test_an_output_that_is_stale_is_noticed() -> None:
    fresh = [("stream", (), "KL divergence 0.6543, at most 0.0012 nats from the best")]
    assert_same(fresh, [("stream", (), "KL divergence 0.65430001, at most 0.0012 nats from the best")])
    for stale in ("KL divergence 0.6544, at most", "divergence 0.6543, at most"):
        with pytest.raises(AssertionError):
            assert_same(fresh, [("stream", (), fresh[0][2].replace("KL divergence 0.6543, at most", stale))])
    for other in ([], [("display_data", (), fresh[0][2])]):
        with pytest.raises(AssertionError):
            assert_same(fresh, other)


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

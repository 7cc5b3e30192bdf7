"""The notebooks run from top to bottom, and what is checked in was run that way."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import forked

nbformat = pytest.importorskip("nbformat", reason="notebooks are read with nbformat")
pytest.importorskip("ipykernel", reason="notebooks are run with IPython")

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_what_is_checked_in_is_what_comes_out(path: Path, tmp_path: Path) -> None:
    """`make notebooks` runs them all and keeps what comes out."""
    stored = nbformat.read(path, as_version=4)
    for before, after in zip(stored.cells, run(path, tmp_path), strict=True):
        if before.cell_type == "code":
            assert_same([shown(output) for output in before.outputs], [shown(output) for output in after.outputs])


def shown(output: Any) -> tuple[str, tuple[str, ...], str]:
    """The kind of an output, the formats that it has, and its text, without the numbers of bytes of files."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    formats = tuple(sorted(output.get("data", {})))
    return output["output_type"], formats, " ".join(re.sub(r"\d+ bytes", "bytes", text).split())


def assert_same(before: list[tuple[str, tuple[str, ...], str]], after: list[tuple[str, tuple[str, ...], str]]) -> None:
    """Words are the same, and numbers to a part in ten thousand."""
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


CELLS = """
import io, json, os, sys
from pathlib import Path
os.environ.update(MPLBACKEND="module://matplotlib_inline.backend_inline", IPYTHONDIR=sys.argv[2])
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
import pandas
from traitlets.config import Config

outputs = []


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, **others):
        outputs.append({"output_type": "display_data", "data": data})


class Hook(DisplayHook):
    def write_format_data(self, format_dict, md_dict=None):
        outputs.append({"output_type": "execute_result", "data": format_dict})

    def write_output_prompt(self):
        pass

    finish_displayhook = write_output_prompt


class Stream(io.TextIOBase):
    def __init__(self, name):
        self.name = name

    def write(self, text):
        if not outputs or outputs[-1].get("name") != self.name:
            outputs.append({"output_type": "stream", "name": self.name, "text": ""})
        outputs[-1]["text"] += text
        return len(text)


class ZmqShell(InteractiveShell):
    "Named so that pandas takes it for a notebook's; it has the other setting when it is imported in one."

    def enable_gui(self, gui=None):
        pass


pandas.set_option("display.max_columns", 20)

shell = ZmqShell.instance(
    displayhook_class=Hook, display_pub_class=Publisher, config=Config({"HistoryManager": {"enabled": False}})
)
answers = []
streams, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), Stream("stdout"), Stream("stderr")
try:
    for source in json.loads(Path(sys.argv[1]).read_text()):
        outputs = []
        shell.run_cell(source, store_history=True).raise_error()
        answers.append(outputs)
finally:
    sys.stdout, sys.stderr = streams
print(json.dumps(answers, default=lambda content: None))
"""
"""Runs cells and prints what comes out of each, as a kernel does, which takes seconds to start."""


def run(path: Path, folder: Path) -> list[Any]:
    """The cells of a notebook with what comes out of them now. folder: for files that the shell keeps."""
    cells = nbformat.read(path, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    (folder / "cells.json").write_text(json.dumps([cell.source for cell in code]))
    done = forked.run(CELLS, folder / "cells.json", folder / "ipython", folder=FOLDER)
    assert done.returncode == 0, done.stderr
    for cell, outputs in zip(code, json.loads(done.stdout.splitlines()[-1]), strict=True):
        cell.outputs = outputs
    return list(cells)


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

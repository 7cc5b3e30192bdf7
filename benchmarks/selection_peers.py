"""Chordalysis and ess, peers that select decomposable models of a table by BIC; their `edges` are pairs of column numbers.

Both are built in a temporary folder from a clone: Chordalysis with javac, it runs warm in one JVM for each table; ess by R.
"""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from peer_program import PROGRAMS, Clone, PeerProgram, java, started

from models import CodeArray

CHORDALYSIS = Clone(
    "--chordalysis",
    "github.com/fpetitjean/Chordalysis",
    "src/core/explorer/ChordalysisModellingBIC.java",
    ("javac", "java"),
)
ESS = Clone("--ess", "github.com/mlindsk/ess", "R/api_fit_graph.R", ("R", "Rscript"))


@contextmanager
def chordalysis(clone: Path, codes: Mapping[str, CodeArray], sizes: Mapping[str, int]) -> Iterator[PeerProgram]:
    """Its search for a model of the columns."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        graphics = folder / "demo" / "Run.java"  # one of its files names its main program, which needs Weka
        graphics.parent.mkdir()
        graphics.write_text("package demo; public class Run {}")
        command = java("Select", folder / "classes", [folder, clone / "src"], [clone / "lib" / "core" / "*"])
        with started([*command, _rows(codes, sizes, folder)], warm_up=1) as program:
            yield program


@contextmanager
def ess(clone: Path, codes: Mapping[str, CodeArray], sizes: Mapping[str, int]) -> Iterator[PeerProgram]:
    """Its search for a model of the columns."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        installed = ["R", "CMD", "INSTALL", f"--library={folder}", "--no-docs", "--no-test-load", str(clone)]
        subprocess.run(installed, check=True, capture_output=True)
        with started(["Rscript", PROGRAMS / "select.R", folder, _rows(codes, sizes, folder)]) as program:
            yield program


def _rows(codes: Mapping[str, CodeArray], sizes: Mapping[str, int], folder: Path) -> Path:
    """A CSV file of the codes; its first line holds the number of values of each column."""
    header = ",".join(str(sizes[name]) for name in codes)
    np.savetxt(folder / "table.csv", np.column_stack(list(codes.values())), "%d", ",", header=header, comments="")
    return folder / "table.csv"

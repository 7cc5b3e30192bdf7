"""Chordalysis, a peer: a clone of it is built in a temporary folder, and selects models of a table run by run."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measurement import Seconds

_PROGRAM = Path(__file__).parent / "peer_programs" / "Select.java"


def missing(clone: Path | None) -> str:
    """Why it takes no part; empty where it can."""
    if clone is None:
        return "no clone of it is named by --chordalysis"
    if not (clone / "src" / "core" / "explorer" / "ChordalysisModellingBIC.java").is_file():
        return f"{clone} is no clone of github.com/fpetitjean/Chordalysis"
    return "" if shutil.which("javac") and shutil.which("java") else "javac and java are not installed"


@dataclass
class Search:
    """Its search for a model of one table, in a JVM that stays. walls, processors: seconds of the runs so far."""

    process: "subprocess.Popen[str]"
    names: tuple[str, ...]
    walls: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)

    def run(self) -> set[frozenset[str]]:
        """Search once; the edges that it finds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print("again", file=self.process.stdin, flush=True)
        told = json.loads(self.process.stdout.readline())
        self.walls.append(told["seconds"])
        self.processors.append(told["processor"])
        return {frozenset(self.names[i] for i in edge) for edge in told["edges"]}

    @property
    def seconds(self) -> Seconds:
        """Of its runs, by its own clock; the processor's are those of all its threads."""
        return Seconds.of(self.walls, self.processors)


@dataclass(frozen=True)
class Chordalysis:
    """A clone of it that can be built."""

    clone: Path

    @contextmanager
    def on(self, codes: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> Iterator[Search]:
        """A search for a model of the columns, which can be run again and again while this lasts."""
        libraries = str(self.clone / "lib" / "core" / "*")
        with TemporaryDirectory() as folder:
            built, table = Path(folder) / "classes", Path(folder) / "table.csv"
            graphics = Path(folder) / "demo" / "Run.java"  # one of its files names its main program, which needs Weka
            graphics.parent.mkdir()
            graphics.write_text("package demo; public class Run {}")
            source = f"{folder}:{self.clone / 'src'}"
            compiled = ["javac", "-nowarn", "-d", str(built), "-sourcepath", source, "-cp", libraries, str(_PROGRAM)]
            subprocess.run(compiled, check=True, stderr=subprocess.DEVNULL)
            rows = np.column_stack(list(codes.values()))
            header = ",".join(str(sizes[name]) for name in codes)
            np.savetxt(table, rows, fmt="%d", delimiter=",", header=header, comments="")
            command = ["java", "-cp", f"{built}:{libraries}", "Select", str(table)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                process.stdout.readline()  # it has read the table
                Search(process, tuple(codes)).run()  # what comes after is compiled, not interpreted
                yield Search(process, tuple(codes))
                process.communicate()

"""ARX, a peer: a clone of it is built in a temporary folder, and searches a table's lattice in a JVM that stays."""

import csv
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from measurement import Seconds

from marginals import Table

_PROGRAM = Path(__file__).parent / "peer_programs" / "Anonymize.java"

_STAND_INS = {
    "org.deidentifier.arx.certificate.elements.ElementData": """public class ElementData {
        public ElementData(String text) {}
        public ElementData addItem(String item) { return this; }
        public ElementData addProperty(String property, Object value) { return this; }
        public ElementData addPercentProperty(String property, double value) { return this; } }""",
    "org.apache.hadoop.io.Writable": """public interface Writable {
        void write(java.io.DataOutput out) throws java.io.IOException;
        void readFields(java.io.DataInput in) throws java.io.IOException; }""",
}
"""What its search names but never uses: for certificates in PDF, and for files of Hadoop."""


def missing(clone: Path | None) -> str:
    """Why it takes no part; empty where it can."""
    if clone is None:
        return "no clone of it is named by --arx"
    if not (clone / "src" / "main" / "org" / "deidentifier" / "arx" / "ARXAnonymizer.java").is_file():
        return f"{clone} is no clone of github.com/arx-deidentifier/arx"
    return "" if shutil.which("javac") and shutil.which("java") else "javac and java are not installed"


@dataclass
class Search:
    """Its search of one table, which lies in memory. walls, processors, searches: seconds of the runs so far.

    A run encodes the table, then searches: searches holds the second part alone, to its milliseconds.
    """

    process: "subprocess.Popen[str]"
    names: tuple[str, ...]
    walls: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)

    def run(self) -> dict[str, int]:
        """Search once; the levels of the table that it takes for the best, which is one of the minimal."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print("again", file=self.process.stdin, flush=True)
        told = json.loads(self.process.stdout.readline())
        self.walls.append(told["seconds"])
        self.processors.append(told["processor"])
        self.searches.append(told["search"])
        return dict(zip(self.names, told["levels"]))

    @property
    def seconds(self) -> Seconds:
        """Of its runs, by its own clock; the processor's are those of all its threads."""
        return Seconds.of(self.walls, self.processors)


@dataclass(frozen=True)
class Arx:
    """A clone of it that can be built."""

    clone: Path

    @contextmanager
    def on(self, table: Table, k: int) -> Iterator[Search]:
        """A search for the best k-anonymous table, which can be run again and again while this lasts."""
        libraries = ":".join(map(str, (self.clone / "lib" / "ant").rglob("*.jar")))
        with TemporaryDirectory() as folder:
            built, stand_ins = Path(folder) / "classes", Path(folder) / "sources"
            for name, text in _STAND_INS.items():
                source = stand_ins.joinpath(*name.split(".")).with_suffix(".java")
                source.parent.mkdir(parents=True)
                source.write_text(f"package {name.rpartition('.')[0]};\n{text}\n")
            sources = f"{stand_ins}:{self.clone / 'src' / 'main'}"
            compiled = ["javac", "-nowarn", "-encoding", "UTF-8", "-d", str(built), "-sourcepath", sources]
            subprocess.run([*compiled, "-cp", libraries, str(_PROGRAM)], check=True, stderr=subprocess.DEVNULL)
            files = _files(table, Path(folder))
            command = ["java", "-Xmx3g", "-cp", f"{built}:{libraries}", "Anonymize", str(k), *map(str, files)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                process.stdout.readline()  # it has read the table
                for _ in range(3):
                    Search(process, table.quasi_identifiers).run()  # what comes after is compiled, not interpreted
                yield Search(process, table.quasi_identifiers)
                process.communicate()


def _files(table: Table, folder: Path) -> list[Path]:
    """Files of the rows' quasi-identifiers and of each one's hierarchy; labels are numbers."""
    names, domain = table.quasi_identifiers, table.domain
    repeated = np.repeat(np.arange(len(table.counts)), table.counts.counts)
    columns = {name: np.asarray(table.counts.column(name, 0))[repeated] for name in names}
    files = [folder / "rows.csv"]
    pd.DataFrame(columns).sample(frac=1, random_state=0).to_csv(files[0], index=False)
    for name in names:
        hierarchy = domain.hierarchy(name)
        levels = [hierarchy.lift(0, level) for level in range(hierarchy.height + 1)]
        files.append(folder / f"{len(files)}.csv")
        with files[-1].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(zip(*[codes.tolist() for codes in levels]))
    return files

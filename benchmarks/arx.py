"""ARX, a peer: a clone of it is built in a temporary folder, and searches a table's lattice in a JVM that stays.

A run encodes the rows of the table, then searches: its `search` holds the seconds of the second part alone, to their
milliseconds, and its `levels` those of the table that it takes for the best, which is one of the minimal.
"""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from peer_program import Clone, PeerProgram, java, started

from marginals import Table

CLONE = Clone(
    "--arx",
    "github.com/arx-deidentifier/arx",
    "src/main/org/deidentifier/arx/ARXAnonymizer.java",
    ("javac", "java"),
)

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


@contextmanager
def search(clone: Path, table: Table, k: int) -> Iterator[PeerProgram]:
    """Its search for the best k-anonymous table, which can be run again and again while this lasts."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        stand_ins = folder / "sources"
        for full_name, text in _STAND_INS.items():
            source = stand_ins.joinpath(*full_name.split(".")).with_suffix(".java")
            source.parent.mkdir(parents=True)
            source.write_text(f"package {full_name.rpartition('.')[0]};\n{text}\n")
        libraries = (clone / "lib" / "ant").rglob("*.jar")
        command = java("Anonymize", folder / "classes", [stand_ins, clone / "src" / "main"], libraries)
        with started([*command, str(k), *_files(table, folder)], warm_up=3) as program:
            yield program


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

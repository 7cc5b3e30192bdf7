"""ARX, a peer: a clone of it is built in a temporary folder, and searches a table's lattice in a JVM that stays.

A run encodes the rows of the table, then searches: its `search` holds the seconds of the second part alone, to their
milliseconds, and its `levels` those of the table that it takes for the best, which is one of the minimal.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from peer_program import Clone, java

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


@dataclass(frozen=True)
class Built:
    """It, built for one table. command: answers by levels whenever it is asked. rows, hierarchies: files that it reads."""

    command: tuple[str, ...]
    rows: Path
    hierarchies: Mapping[str, Path]


@contextmanager
def built(clone: Path, table: Table, k: int) -> Iterator[Built]:
    """Its search for the best k-anonymous table, in a folder that is there while this lasts."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        stand_ins = folder / "sources"
        for full_name, text in _STAND_INS.items():
            source = stand_ins.joinpath(*full_name.split(".")).with_suffix(".java")
            source.parent.mkdir(parents=True)
            source.write_text(f"package {full_name.rpartition('.')[0]};\n{text}\n")
        libraries = (clone / "lib" / "ant").rglob("*.jar")
        command = java("Anonymize", folder / "classes", [stand_ins, clone / "src" / "main"], libraries)
        rows, hierarchies = folder / "rows.csv", _hierarchies(table, folder)
        _rows(table).to_csv(rows, index=False)
        yield Built((*command, str(k), str(rows), *map(str, hierarchies.values())), rows, hierarchies)


def _rows(table: Table) -> pd.DataFrame:
    """The rows' quasi-identifiers, in any order."""
    repeated = np.repeat(np.arange(len(table.counts)), table.counts.counts)
    columns = {
        name: pd.Categorical.from_codes(table.counts.column(name, 0)[repeated], table.domain.hierarchy(name).labels[0])
        for name in table.quasi_identifiers
    }
    return pd.DataFrame(columns).sample(frac=1, random_state=0)


def _hierarchies(table: Table, folder: Path) -> dict[str, Path]:
    """A file of each quasi-identifier's hierarchy, finest labels first, between semicolons."""
    files = {name: folder / f"{number}.csv" for number, name in enumerate(table.quasi_identifiers)}
    for name, path in files.items():
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";").writerows(table.domain.hierarchy(name).rows())
    return files

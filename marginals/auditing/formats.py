"""Formats of published tables: SDMX-CSV, Parquet, and frames, each as lines of texts with a header."""

import csv
import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from marginals.errors import InputError
from marginals.files import bounded_content
from marginals.later import nw, pd
from marginals.tables.distinct_rows import unread
from marginals.tables.frames import in_narwhals
from marginals.tables.opening import reading, require

MOST_BYTES = 1 << 26
_MOST_CELLS = 5_000_000
_TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".parquet", ".pq")

_WORDS = {True: "published", False: "suppressed"}  # of statuses, whatever a program writes
_FLOW = re.compile("DATAFLOW|STRUCTURE(_ID|_NAME)?|DATASTRUCTURE|ACTION")


def tables_in(folder: Path) -> list[Path]:
    """Files of a folder that look like tables. Raises InputError without any, and for the folder of ACRO."""
    if (folder / "results.json").is_file():
        raise InputError(
            f"{folder} is a folder of ACRO; name its tables of counts. Leave out the row and column All, which add up only "
            "what ACRO shows"
        )
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _TABLES and path.is_file())
    if not files:
        raise InputError(f"the folder {folder} has no tables; they end in {', '.join(_TABLES)}")
    return files


def is_frame(table: object) -> bool:
    """Return whether a table is a frame of any library."""
    return hasattr(type(table), "columns") or hasattr(type(table), "column_names")


def frame_lines(frame: Any) -> list[list[str]]:
    """Lines of a frame; those of pandas with the labels of their index, where it has any."""
    if isinstance(frame, pd.DataFrame):
        text = frame.to_csv(index=not (isinstance(frame.index, pd.RangeIndex) and frame.index.name is None))
    else:
        opened = in_narwhals(frame, "a frame of pandas, polars, pyarrow, DuckDB, Spark or Ibis").lazy().collect()
        try:
            text = opened.write_csv()
        except (nw.exceptions.NarwhalsError, ValueError, NotImplementedError):
            raise unread("a column of a table") from None
    return [*csv.reader(StringIO(text))]


def parquet_lines(path: Path) -> list[list[str]]:
    """Lines of a Parquet file. Raises InputError if it has too many cells, or cannot be read."""
    require("pyarrow", "parquet", f"{path.name} is a Parquet file; reading it")
    with reading(path):
        from pyarrow import parquet

        file = parquet.ParquetFile(BytesIO(bounded_content(path, MOST_BYTES)))
        if file.metadata.num_rows * file.metadata.num_columns > _MOST_CELLS:
            raise InputError(f"{path.name} has more than {_MOST_CELLS:,} cells")
        return frame_lines(file.read().to_pandas())


def arranged(path: Path, rows: list[list[str]]) -> list[list[str]]:
    """Rows of a file. Raises InputError for formats that keep names and sums in other files."""
    filled = [row for row in rows if any(row)]
    names = [text.partition(":")[0].strip().upper() for text in filled[0]] if filled else []
    if path.suffix.lower() == ".tab" and all(len(row) > 5 and row[-3] in "SUPME?" for row in filled):
        raise _of_program(path, "tau-ARGUS")
    if {"CELLID", "OUTSTATUS"} <= {*names} or {"CELLID", "CONSTRAINTID", "COEFFICIENT"} <= {*names}:
        raise _of_program(path, "G-Confid")
    if "OBS_VALUE" in names and names[0] in ("DATAFLOW", "STRUCTURE", "DATASTRUCTURE"):
        return _sdmx(path, filled, names)
    return rows


def _of_program(path: Path, program: str) -> InputError:
    return InputError(
        f"{path.name} is in the format of {program}, which keeps names or sums in other files. Save it as CSV with labels, "
        "totals, and a column of statuses"
    )


# SDMX: the flow, dimensions, the value, and then attributes, of which only the statuses matter.


def _sdmx(path: Path, rows: list[list[str]], names: Sequence[str]) -> list[list[str]]:
    value = names.index("OBS_VALUE")
    scale = names.index("UNIT_MULT") if "UNIT_MULT" in names else None
    if scale is not None and any(row[scale].partition(":")[0].strip() not in ("", "0") for row in rows[1:]):
        raise InputError(f"{path.name} has values in multiples, as UNIT_MULT says; write them as counts")
    texts = [[text.partition(": ")[0].strip() for text in row] for row in rows]
    dimensions = [n for n, name in enumerate(names[:value]) if not _FLOW.fullmatch(name)]
    harmless = [("CONF_STATUS", {"", "F"}), ("OBS_STATUS", {*"ABDEFGIJKNPUVW", ""})]
    tested = [(names.index(name), codes) for name, codes in harmless if name in names]
    statuses = [_WORDS[all(row[n] in codes for n, codes in tested)] for row in texts[1:]]
    return [[*(row[n] for n in dimensions), row[value], status] for row, status in zip(texts, ["status", *statuses])]


def decoded(content: bytes) -> str:
    """The text of a file, in the encoding of old Windows if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")

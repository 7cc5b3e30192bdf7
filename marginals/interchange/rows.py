"""Synthetic rows as CSV or Parquet."""

import io
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import click
import numpy as np
import pandas as pd

from marginals.bundle.target import output_file
from marginals.errors import InputError
from marginals.installing import installing
from marginals.printable import printable
from marginals.release.estimates import drawn
from marginals.release.kinds import told
from marginals.release.release import Release

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,+-]*")
"""What begins with a sign and is no formula."""


def rows_writer(path: Path | None) -> Callable[[pd.DataFrame], None]:
    """What writes rows to a file by its suffix, or as CSV to standard output.

    Raises InputError, before any row is drawn, for another suffix, where the file cannot be written or would lie in a
    bundle, or where Parquet needs what is not installed.
    """
    if path is None:
        return _print_csv
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"rows are written to a file that ends in .csv or .parquet, not to {path.name}")
    file = output_file(path)
    if path.suffix == ".csv":
        return lambda frame: file.write(_csv(frame).encode())
    if find_spec("pyarrow") is None:
        raise InputError(f"Parquet needs pyarrow: {installing('parquet')}")
    return lambda frame: file.write(_parquet(frame))


def _csv(frame: pd.DataFrame) -> str:
    """Labels as they are, since they are data; people are warned of those that a spreadsheet would calculate."""
    texts = chain(map(str, frame.columns), *(map(str, frame[column].unique()) for column in frame.columns))
    if any(text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) for text in texts):
        click.echo("note: a label begins like a formula; spreadsheets must import the columns as text", err=True)
    return frame.to_csv(index=False, lineterminator="\n")


def _print_csv(frame: pd.DataFrame) -> None:
    lines = _csv(frame)
    if sys.stdout.isatty():
        lines = "".join(printable(line) + "\n" for line in lines.splitlines())
    click.echo(lines, nl=False)


def _parquet(frame: pd.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.to_parquet(content, index=False)
    return content.getvalue()


def write_rows(release: Release, path: str | Path, rows: int, seed: int) -> None:
    """Draw rows of the published attributes at their finest levels, and write them.

    Warns, with AssumptionWarning, of columns that no published table shows together.
    """
    write = rows_writer(Path(path))
    write(told(drawn(release.model, rows, np.random.default_rng(seed))))

"""Synthetic rows as CSV or Parquet."""

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import click
import pandas as pd

from marginals.atomic_file import replace_file
from marginals.errors import InputError
from marginals.release import Release


def rows_writer(path: Path | None) -> Callable[[pd.DataFrame], None]:
    """What writes rows to a file by its suffix, or as CSV to standard output.

    Raises InputError, before any row is drawn, for another suffix or where Parquet cannot be written.
    """
    if path is None:
        return lambda frame: click.echo(frame.to_csv(index=False, lineterminator="\n"), nl=False)
    if path.suffix == ".csv":
        return lambda frame: replace_file(path, frame.to_csv(index=False, lineterminator="\n").encode())
    if path.suffix != ".parquet":
        raise InputError(f"rows are written to a file that ends in .csv or .parquet, not to {path.name}")
    if find_spec("pyarrow") is None:
        raise InputError("Parquet needs pyarrow, which comes with anonymized-marginals[parquet]")
    return lambda frame: _write_parquet(frame, path)


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    content = io.BytesIO()
    frame.to_parquet(content, index=False)
    replace_file(path, content.getvalue())


def write_rows(release: Release, path: str | Path, rows: int, seed: int) -> None:
    """Draw rows of the published attributes at their finest levels, and write them."""
    write = rows_writer(Path(path))
    write(release.sample(rows, seed))

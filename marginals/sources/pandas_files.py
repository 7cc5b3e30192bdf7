"""Files read whole by pandas: always there, for tables that fit in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from marginals.errors import InputError
from marginals.sources.counted import Counted
from marginals.sources.files import Files, Format
from marginals.sources.frames import PandasFrame


@dataclass(frozen=True)
class PandasFiles:
    """The source of some files, read when first asked."""

    files: Files

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return self.files.name

    @cached_property
    def _frame(self) -> PandasFrame:
        frames = [_read(path, self.files.format) for path in self.files.paths]
        self.files.same_columns([[str(column) for column in frame.columns] for frame in frames])
        if len(frames) > 1 and self.files.format is Format.PARQUET:
            _same_types(self.files, frames)
        whole = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        return PandasFrame(whole, self.name)

    @property
    def columns(self) -> Sequence[str]:
        """The names in the header."""
        return self._frame.columns

    @property
    def frame(self) -> pd.DataFrame:
        """All rows and columns."""
        return self._frame.frame

    def counted(self, columns: Sequence[str]) -> Counted:
        """Every row once."""
        return self._frame.counted(columns)

    def first_row(self, column: str, value: object) -> int | None:
        """The number of the row, counted through all files."""
        return self._frame.first_row(column, value)


def _same_types(files: Files, frames: Sequence[pd.DataFrame]) -> None:
    for path, frame in zip(files.paths[1:], frames[1:]):
        for column, dtype in frames[0].dtypes.items():
            if frame[column].dtype != dtype:
                first = files.paths[0].name
                raise InputError(
                    f"the column {column!r} is {frame[column].dtype} in {path.name} and {dtype} in {first}"
                )


def _read(path: Path, format_: Format) -> pd.DataFrame:
    try:
        if format_ is Format.PARQUET:
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except ImportError:
        raise InputError(
            f"{path.name} is a Parquet file; reading it needs pyarrow or DuckDB: pip install pyarrow"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not in UTF-8; convert it first") from None
    except MemoryError:
        raise InputError(f"{path.name} does not fit in memory; pip install duckdb reads it in parts") from None
    except (OSError, ValueError) as error:
        expected = "it must be CSV with a header, or Parquet"
        raise InputError(f"{path.name} cannot be read as a table ({type(error).__name__}); {expected}") from None


def read_frame(path: Path) -> pd.DataFrame:
    """All rows and columns of a CSV or Parquet file, CSV as text, or of several. Raises InputError for anything else."""
    return PandasFiles(Files.at(path)).frame

"""Libraries that take up to a second to import, and that many runs do not need: each is loaded when it is first used."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "pa", "pd", "pq"]

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq
else:

    class _Library(ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self.__name__), name)

    nw, pa, pd, pq = map(_Library, ("narwhals", "pyarrow", "pandas", "pyarrow.parquet"))

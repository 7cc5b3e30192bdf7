"""Where tables come from: files and data frames of any engine, counted where they are.

Each source gives the distinct rows of some columns with how often they occur; everything after that is in memory.
"""

from marginals.sources.counted import Counted, Source
from marginals.sources.opening import ENGINES, open_source
from marginals.sources.pandas_files import read_frame

__all__ = ["ENGINES", "Counted", "Source", "open_source", "read_frame"]

"""What some cases took before the work on width and speed, beside other programs; lines say it beside what is new.

As it was measured then, on another machine: seconds are to be compared as ratios to the programs beside which they stand.
"""

from collections.abc import Mapping

_EARLIER: Mapping[tuple[str, str], Mapping[tuple[tuple[str, int], ...], str]] = {
    ("start_up", "query, few tables"): {(): "0.9 s"},
    ("start_up", "verify, few tables"): {(): "0.9 s"},
    ("lattice_search", "Adult 6-anonymous beside ARX, whole processes"): {
        (("attributes", 8),): "1.46 s, ARX from a cold JVM 1.21 s"
    },
    ("lattice_search", "census 6-anonymous beside ARX"): {(("rows", 1_000_000),): "2.25 s, ARX 1.31 s"},
    ("iterative_fitting", "grid of 5 by 5, 7 values"): {(("attributes", 25), ("margins", 40)): "2.34 s"},
    ("iterative_fitting", "ring of pairs"): {(("margins", 300),): "5.6 times as long as a prototype"},
    ("stepwise_search", "drawn, Chordalysis"): {
        (("attributes", 100), ("rows", 5_000)): "2.4 times as fast as ours, on two threads",
        (("attributes", 400), ("rows", 5_000)): "1.3 times as fast as ours, on two threads",
    },
    ("stepwise_search", "drawn, pyAgrum"): {(("attributes", 100), ("rows", 5_000)): "7.5 s; it was left out"},
    ("publish_adult", "whole command"): {(("rows", 45_222),): "1.2 s and 200 MB"},
    ("hundred_million", "publish"): {
        (("rows", rows),): "44 percent of it was the base search" for rows in (10_000_000, 100_000_000)
    },
    ("wide_publishing", "publish"): {
        (("attributes", 13), ("rows", 20_000)): "did not end",
        (("attributes", 20), ("rows", 20_000)): "asked for 256 GiB",
        (("attributes", 80), ("rows", 20_000)): "ended with an error of NumPy on 64 dimensions",
        (("attributes", 100), ("rows", 20_000)): "75 s of processor time",
    },
    ("reading_columns", "duckdb"): {
        (("attributes", 20), ("rows", 5_822)): "1.3 s of processor time",
        (("attributes", 40), ("rows", 5_822)): "6.9 s of processor time",
        (("attributes", 56), ("rows", 5_822)): "15.1 s of processor time",
    },
    ("reading_columns", "pandas"): {(("attributes", 72), ("rows", 5_822)): "0.29 s"},
}


def earlier(benchmark: str, case: str, sizes: Mapping[str, int]) -> str:
    """What a case took, in words; empty where nothing is known."""
    return _EARLIER.get((benchmark, case), {}).get(tuple(sorted(sizes.items())), "")

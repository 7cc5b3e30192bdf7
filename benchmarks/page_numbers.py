"""The numbers of written pages: measured by the benchmarks, kept in `results/pages.jsonl`, and put where they stand.

`python benchmarks --pages` measures them anew, keeps the lines and changes the pages. A line stays until its case is
measured again, so that `--only` measures some of them. A test compares the pages with what is kept.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]

_ROOT = Path(__file__).parents[1]
PAGES = (
    _ROOT / "README.md",
    _ROOT / "docs" / "how_to" / "large_tables.md",
    _ROOT / "docs" / "how_to" / "search.md",
)
KEPT = Path(__file__).parent / "results" / "pages.jsonl"

SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "publish_adult": (),
    "release_queries": (),
    "stepwise_search": ("--part", "releases", "--case", "1", "--case", "4", "--base", "none"),
    "hundred_million": (),
}
"""The benchmarks that measure them, with their arguments; the last takes minutes, and needs the machine for itself."""

_HUNDRED_MILLION = 100_000_000
_FIVE, _NINE = (5, "declared"), (9, "observed")


def kept() -> list[Line]:
    """The lines that are kept."""
    return [json.loads(text) for text in KEPT.read_text(encoding="utf-8").splitlines()] if KEPT.is_file() else []


def is_wanted(line: Line) -> bool:
    """Whether a page tells something of a line."""
    if "seconds" not in line:
        return False
    if line.get("benchmark") == "hundred_million":
        return line.get("sizes") == {"rows": _HUNDRED_MILLION}
    if line.get("benchmark") == "stepwise_search":
        place = (line.get("attributes"), line.get("domain"))
        return place in (_FIVE, _NINE) and (line["base"], line["occupation"]) == ("none", "as it is")
    cases = ("whole command", "1,000 queries, marginals, nothing kept", "sample, marginals")
    return line.get("case") in cases and line.get("sizes", {}).get("rows") in (None, 45_222, 1_000_000)


def replaced(old: Iterable[Line], new: Iterable[Line]) -> list[Line]:
    """The old lines but for those whose case was measured anew, in their order; then those that are new."""
    measured = {_case(line): line for line in new}
    lines = [measured.pop(_case(line), line) for line in old]
    return [*lines, *measured.values()]


def written() -> dict[Path, str]:
    """The pages as they are."""
    return {page: page.read_text(encoding="utf-8") for page in PAGES}


def filled(pages: Mapping[Path, str], lines: Sequence[Line]) -> dict[Path, str]:
    """The pages with the numbers of these lines. Raises ValueError where not exactly one has a sentence that holds some."""
    texts = dict(pages)
    for pattern, numbers in _sentences(lines):
        places = [(page, match) for page in texts for match in re.finditer(pattern.replace(" ", r"\s+"), texts[page])]
        if len(places) != 1:
            raise ValueError(f"the pages have {len(places)} sentences of the form {pattern!r}, and not one")
        ((page, match),) = places
        for group in range(len(numbers), 0, -1):
            text = texts[page]
            texts[page] = text[: match.start(group)] + numbers[group - 1] + text[match.end(group) :]
    return texts


def _sentences(lines: Sequence[Line]) -> list[tuple[str, list[str]]]:
    """Patterns of what holds numbers, and what belongs into their groups."""
    told: list[tuple[str, list[str]]] = []
    by_case: dict[tuple[Any, ...], Line] = {_case(line): line for line in lines}

    def tell(case: tuple[Any, ...], pattern: str, numbers: Callable[[Line], list[str]]) -> None:
        if case in by_case:
            told.append((pattern, numbers(by_case[case])))

    sampling = by_case.get(("release_queries", "sample, marginals"))
    asking = by_case.get(("release_queries", "1,000 queries, marginals, nothing kept"))
    if sampling and asking:
        pattern = r"of Adult take about (\S+) s, a thousand tables of two or three attributes (\S+) s"
        told.append((pattern, [_short(line["processor_seconds"]) for line in (sampling, asking)]))
    tell(
        ("publish_adult", "whole command"),
        r"takes (\S+) MB, and (\S+) times as long as pandas",
        lambda line: [_short(line["megabytes"]), _short(line["ratio"])],
    )
    tell(
        ("hundred_million", "publish"),
        r"are published in (\S+) s, (\S+) s of processor time, with (\S+) GB of memory; DuckDB's own GROUP BY of them takes "
        r"(\S+) s, (\S+) s of processor time",
        lambda line: [
            _short(line["seconds"]),
            _short(line["processor_seconds"]),
            _short(line["megabytes"] / 1000),
            _short(line["yardstick_seconds"]),
            _short(line["yardstick_processor_seconds"]),
        ],
    )
    tell(
        ("hundred_million", "publish"),
        r"100,000,000 rows of nine columns in (\S+) s, with (\S+) GB of memory",
        lambda line: [_short(line["seconds"]), _short(line["megabytes"] / 1000)],
    )
    strategies = {case[3]: case for case in by_case if case[0] == "stepwise_search"}
    for strategy in strategies:
        five, nine = (by_case.get(("stepwise_search", *place, strategy)) for place in (_FIVE, _NINE))
        if five and nine:
            numbers = [f(line) for line in (five, nine) for f in (_divergence, _seconds)]
            told.append((rf"\| `{strategy}`[^|\n]*\|[^|\n]*\| (\S+) in (\S+) s \| (\S+) in (\S+) s \|", numbers))
    return told


def _case(line: Line) -> tuple[Any, ...]:
    if line["benchmark"] == "stepwise_search":
        return ("stepwise_search", line["attributes"], line["domain"], line["strategy"])
    return (line["benchmark"], line["case"])


def _divergence(line: Line) -> str:
    return f"{line['kl_divergence']:.3f}"


def _seconds(line: Line) -> str:
    return _short(line["processor_seconds"])


def _short(number: float) -> str:
    """Two significant digits, without exponent."""
    digits = float(f"{number:.2g}")
    return f"{digits:.0f}" if digits >= 10 else f"{digits:g}"

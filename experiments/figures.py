"""The tables behind a paper's figures: printed for people, written as CSV files, and read again by those who judge them."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Rows = Sequence[Mapping[str, str]]
"""A CSV file: for each row its fields by the names in the header; "" where a method has no answer."""


def read_figure(path: Path) -> Rows:
    """What `Figure.write` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Figure:
    """One table. name: of its CSV file. None in a row stands for no answer."""

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]

    def __str__(self) -> str:
        cells = [list(self.header), *([_shown(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        is_text = [any(isinstance(value, str) for value in column) for column in zip(*self.rows)]
        sides = [str.ljust if text else str.rjust for text in is_text]
        lines = ["  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths)) for row in cells]
        return "\n".join([self.title, *map(str.rstrip, lines), ""])

    def write(self, folder: Path) -> None:
        """As CSV with a header; no answer is an empty field."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{self.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.header)
            writer.writerows(self.rows)


def _shown(value: str | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10 else f"{value:.2f}"
    return str(value)

"""Growth curves as pictures: seconds and megabytes against a size, logarithmic, with the fitted power laws.

Needs the extra `plot`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from growth import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNITS = {"seconds": "seconds", "megabytes": "megabytes at the peak"}


def draw(series: Sequence[Series], folder: Path) -> list[Path]:
    """One picture for each benchmark and size it grows with, written into the folder, which is made; their paths."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        groups.setdefault((one.benchmark, one.grows), []).append(one)
    paths = []
    for (benchmark, grows), group in groups.items():
        quantities = [quantity for quantity in UNITS if any(quantity in one.laws() for one in group)]
        picture = Figure(figsize=(6.4 * len(quantities), 3.6 + 0.22 * len(group)), layout="constrained")
        axes = picture.subplots(1, len(quantities), squeeze=False)[0]
        for axis, quantity in zip(axes, quantities):
            _panel(axis, group, quantity)
        picture.suptitle(f"{benchmark}: growth with {grows}")
        paths.append(folder / picture_name(benchmark, grows))
        picture.savefig(paths[-1], dpi=120)
    return paths


def picture_name(benchmark: str, grows: str) -> str:
    """The file of the picture of how a benchmark grows with one of its sizes."""
    return f"{re.sub('[^a-z0-9]+', '-', f'{benchmark} {grows}'.lower())}.png"


def _panel(axis: "Axes", group: Sequence[Series], quantity: str) -> None:
    for number, one in enumerate(group):
        law = one.laws().get(quantity)
        if law is None:
            continue
        sizes, values = one.values(quantity)
        colour = f"C{number % 10}"
        fixed = "".join(f", {size:,} {name}" for name, size in one.fixed.items())
        label = f"{one.case}{fixed}: exponent {law.exponent:.2f}, spread {law.spread:.2f}"
        axis.loglog(sizes, values, "o", color=colour, label=label)
        axis.loglog(sizes, [law.at(size) for size in sizes], "-", color=colour, linewidth=1)
    axis.set_xlabel(group[0].grows)
    axis.set_ylabel(UNITS[quantity])
    axis.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.14))

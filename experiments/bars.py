"""Figures as bars, side by side on one scale, each bar with its number. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from figures import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

INK = "#333333"
COLOURS = ("#BBBBBB", "#E69F00", "#0072B2", "#56B4E9")
"""Of Okabe and Ito: told apart in all kinds of colour vision."""

LABEL_WIDTH = 8
"""Characters after which a label goes on in the next line."""


def draw(figures: Sequence[Figure], title: str, unit: str) -> "Picture":
    """One panel a figure. The columns of each begin with the label of a bar, its kind, which gives the colour, and its
    height in the unit. There are at most as many kinds as colours.
    """
    from matplotlib.figure import Figure as Picture
    from matplotlib.patches import Patch

    kinds = dict.fromkeys(str(row[1]) for figure in figures for row in figure.rows)
    colours = dict(zip(kinds, COLOURS, strict=False))
    widths = [len(figure.rows) for figure in figures]
    picture = Picture(figsize=(1 + 0.62 * sum(widths), 4.2), layout="constrained")
    axes = picture.subplots(1, len(figures), sharey=True, width_ratios=widths, squeeze=False)[0]
    for axis, figure in zip(axes, figures):
        _panel(axis, figure, colours)
    axes[0].set_ylabel(unit)
    picture.suptitle(title, color=INK)
    handles = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    picture.legend(handles=handles, loc="outside lower center", ncols=len(kinds), frameon=False)
    return picture


def _panel(axis: "Axes", figure: Figure, colours: Mapping[str, str]) -> None:
    labels, kinds, heights = (list(column) for column in zip(*(row[:3] for row in figure.rows)))
    wrapped = [fill(label, LABEL_WIDTH, break_long_words=False) for label in labels]
    bars = axis.bar(wrapped, heights, color=[colours[kind] for kind in kinds], width=0.8)
    axis.bar_label(bars, fmt="%.3f", padding=2, fontsize=9, color=INK)
    axis.set_title(figure.title, fontsize=10, loc="left", pad=12)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(length=0, labelsize=9)

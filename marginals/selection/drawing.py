"""The graph of a selected model as a figure of matplotlib."""

from typing import TYPE_CHECKING

import networkx as nx

from marginals.errors import InputError
from marginals.installing import installing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def drawn_graph(graph: "nx.Graph[str]", title: str, axes: "Axes | None" = None) -> "Axes":
    """The graph, attributes on a circle, or by springs where they are many. axes: where to; by default a new figure.

    Raises InputError where matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InputError(f"matplotlib is not installed: {installing('plot')}") from None
    if axes is None:
        _, axes = pyplot.subplots()
    places = nx.circular_layout(graph) if len(graph) <= 12 else nx.spring_layout(graph, seed=0)
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color="#555555")
    style = {"boxstyle": "round,pad=0.4", "facecolor": "#eef3fb", "edgecolor": "#30508a"}
    nx.draw_networkx_labels(graph, places, ax=axes, font_size=9, bbox=style)
    axes.set_title(title, fontsize=10)
    axes.margins(0.2)
    axes.set_axis_off()
    return axes

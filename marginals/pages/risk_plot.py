"""The frontier of risk against utility as a picture, with a table or releases as points in it (LSFB09 Figs. 4 and 10)."""

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from checks.risk.frontier import Frontier
from marginals.errors import InputError
from marginals.files.output import OutputFile

FORMATS = ("svg", "png", "pdf")


def pyplot() -> Any:
    """Matplotlib's figures, drawn without a screen. Raises InputError where it is not installed."""
    try:
        import_module("matplotlib").use("agg")
        return import_module("matplotlib.pyplot")
    except ImportError:
        raise InputError("plots need matplotlib: pip install matplotlib") from None


def frontier_plot(edge: Frontier, points: Mapping[str, tuple[float, float]], format: str = "svg") -> bytes:  # noqa: A002
    """The picture of a frontier as a file of a format. points: pairs of utility and risk by name.

    Raises InputError without matplotlib.
    """
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(edge.utility, edge.risk, label="least risk")
    axes.fill_between(edge.utility, edge.risk, max(edge.risk[-1], *(r for _, r in points.values()), 0), alpha=0.15)
    for name, (utility, risk) in points.items():
        axes.plot(utility, risk, "o", label=name)
    axes.set_xlabel("mean utility (steps down from *)")
    axes.set_ylabel("risk (mean loss)")
    axes.legend()
    content = BytesIO()
    # Without a date, the same frontier gives the same file.
    figure.savefig(content, format=format, metadata={"Date": None} if format == "svg" else None)
    plt.close(figure)
    return content.getvalue()


def plot_format(path: Path) -> str:
    """The format that the name of a file ends in. Raises InputError for another ending, or without matplotlib."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in FORMATS:
        raise InputError(f"a plot is written as {', '.join(FORMATS)}, which the name {path.name} must end in")
    _ = pyplot()
    return ending


def write_plot(file: OutputFile, edge: Frontier, points: Mapping[str, tuple[float, float]]) -> None:
    """Write the picture in the format that the name of the file ends in. Raises InputError."""
    file.write(frontier_plot(edge, points, plot_format(file.path)))

"""The picture of a grid of policies: how far the best release of each is from the data."""

from io import BytesIO
from pathlib import Path

import pandas as pd

from marginals.bundle.target import output_file
from marginals.pages.risk_plot import plot_format, pyplot


def plot_frontier(frame: pd.DataFrame, path: str | Path) -> None:
    """Draw what `frontier` gives back: k against the KL divergence, a line for each diversity and strategy.

    path: a file .svg, .png or .pdf, which is not for publication. Raises InputError for another one, or without matplotlib.

    >>> from tempfile import TemporaryDirectory
    >>> import marginals
    >>> from marginals.example import table
    >>> grid = marginals.frontier(table, marginals.Policy(), k=[2, 4], jobs=1)
    >>> with TemporaryDirectory() as folder:
    ...     plot_frontier(grid, f"{folder}/policies.svg")
    ...     Path(folder, "policies.svg").read_bytes()[:5]
    b'<?xml'
    """
    file = output_file(Path(path))
    form, plt = plot_format(file.path), pyplot()
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (diversity, strategy), line in frame.groupby(["diversity", "strategy"], sort=False):
        axes.plot(line.k, line.kl_divergence, "o-", label=f"{diversity}, {strategy}")
    axes.set_xscale("log")
    axes.set_xticks(sorted(frame.k.unique()), labels=[str(k) for k in sorted(frame.k.unique())])
    axes.minorticks_off()
    axes.set_xlabel("k")
    axes.set_ylabel("KL divergence to the data (nats)")
    axes.legend()
    content = BytesIO()
    # Without a date, the same frame gives the same file.
    figure.savefig(content, format=form, metadata={"Date": None} if form == "svg" else None)
    plt.close(figure)
    file.write(content.getvalue())

"""Interchange: releases in the formats of other programs.

A bundle is itself a Data Package, which any reader of that standard opens.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from itertools import chain, combinations
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
import pandas as pd

from marginals.arguments import path_of
from marginals.bundle.content import BundleContent
from marginals.cross_tables import numbers
from marginals.errors import InputError
from marginals.estimates import categories, free_name
from marginals.files import replace_file
from marginals.messages import printable
from marginals.output import OutputFile
from marginals.tables.opening import require
from marginals.tables.values import number_in
from models.arrays import FloatArray
from models.errors import TooManyCellsError
from models.inference.beside_core import ModelBesideCore
from models.inference.calibrated_tree import CELL_LIMIT, CalibratedTree

if TYPE_CHECKING:
    import duckdb
    import polars


class Network(NamedTuple):
    """A Markov network: the labels of the states of each variable, and the values of each factor by its variables."""

    labels: Mapping[str, tuple[str, ...]]
    factors: Mapping[tuple[str, ...], FloatArray]


def factors(release: Any) -> Network:
    """Return one factor a set of variables: the product, over its cliques, of probabilities given the parent's separator.

    release: anything with a `model`. Raises TooManyCellsError for a clique that is too large to be laid out, InputError for
    a release with further tables.
    """
    if isinstance(release.model, ModelBesideCore):
        raise InputError(
            "the release has further tables beside those with a junction tree, and all together are no network. Draw rows, "
            'or publish without them (further_tables = "none" under [search])'
        )
    tree = release.model.tree
    hierarchies = {a: (tree.domain.hierarchy(a), level) for a, level in tree.finest_levels.items()}
    labels = {a: ladder.labels[level] for a, (ladder, level) in hierarchies.items() if level < ladder.height}
    by_scope: dict[tuple[str, ...], FloatArray] = {}  # other programs refuse a second factor of the same variables
    for clique in range(len(tree.cliques)):
        variables, values = _factor(tree, labels, clique)
        by_scope[variables] = by_scope.get(variables, 1.0) * values
    return Network(labels, by_scope)


def _factor(
    tree: CalibratedTree, labels: Mapping[str, tuple[str, ...]], clique: int
) -> tuple[tuple[str, ...], FloatArray]:
    cells = tree.cliques[clique]
    rows = np.full(len(cells), tree.total)
    if clique:
        link = tree.links[clique - 1]
        rows = link.rows[0][link.positions[0]]
    variables = tuple(a for a in labels if a in cells.margin)
    shape = [tree.domain.hierarchy(a).size(cells.margin[a]) for a in variables]
    if max(prod(shape), prod(len(labels[a]) for a in variables)) > CELL_LIMIT:
        raise TooManyCellsError(f"a clique has more than the {CELL_LIMIT:,} cells that are laid out")
    values = np.zeros(shape)
    values[tuple(cells.column(a) for a in variables)] = cells.counts / rows
    lifts = [tree.domain.hierarchy(a).lift(tree.finest_levels[a], cells.margin[a]) for a in variables]
    return variables, values[np.ix_(*lifts)]


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would take a label for a formula."""
    return text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) and number_in(text) is None


def rows_writer(path: str | Path | None) -> Callable[[pd.DataFrame], None]:
    """Return a function that writes rows to a file by its suffix, or as CSV to standard output."""
    if path is None:
        return _print_csv
    path = path_of(path)
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"rows are written to a file that ends in .csv or .parquet, not to {path.name}")
    file = OutputFile(path)
    if path.suffix == ".csv":
        return lambda frame: file.write(_csv(frame).encode())
    require("pyarrow", "parquet", "Parquet")
    return lambda frame: file.write(frame.to_parquet(index=False))


def _csv(frame: pd.DataFrame) -> str:
    texts = chain(map(str, frame.columns), *(map(str, frame[column].unique()) for column in frame.columns))
    if any(map(is_formula, texts)):
        click.echo("note: a label begins like a formula; spreadsheets must import the columns as text", err=True)
    return frame.to_csv(index=False, lineterminator="\n")


def _print_csv(frame: pd.DataFrame) -> None:
    lines = _csv(frame)
    if sys.stdout.isatty():
        lines = "".join(printable(line) + "\n" for line in lines.splitlines())
    try:
        lines.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        raise InputError(
            f"standard output is {sys.stdout.encoding}, which lacks characters of the rows; write them to a file (--out "
            "FILE), or set PYTHONIOENCODING=utf-8"
        ) from None
    click.echo(lines, nl=False)


def published_frames(published: BundleContent) -> dict[str, pd.DataFrame]:
    """Return published tables as frames, by the names of their files: a row for each cell, with its labels and `count`."""
    frames, domain = {}, published.domain
    for table in published.everything.tables:
        codes = dict(zip(table.attributes, table.codes))
        columns: dict[str, Any] = {a: categories(domain, a, table.margin[a], column) for a, column in codes.items()}
        columns |= numbers(domain, table.margin, codes)
        name = "-".join(f"{attribute}.{level}" for attribute, level in table.margin.items())
        frames[name] = pd.DataFrame(columns | {free_name("count", domain.attributes): table.counts})
    return dict(sorted(frames.items()))


def to_polars(published: BundleContent) -> "dict[str, polars.DataFrame]":
    """Return published tables as frames of polars, by the names of their files."""
    polars = require("polars", "polars", "this format")
    return {name: polars.from_pandas(frame) for name, frame in published_frames(published).items()}


def to_duckdb(published: BundleContent, database: str | Path = ":memory:") -> "duckdb.DuckDBPyConnection":
    """Return a new DuckDB database of the published tables, and of the levels of each attribute."""
    duckdb = require("duckdb", "duckdb", "this format")
    if str(database) != ":memory:" and Path(database).exists():
        raise InputError(f"{database} is there already; name another file")
    connection = duckdb.connect(str(database))
    frames = published_frames(published)
    for name, hierarchy in published.domain.items():
        frames[f"levels of {name}"] = pd.DataFrame(hierarchy.rows()).add_prefix("level")
    for name, frame in frames.items():
        texts = frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number"), str))
        connection.register("published", texts)
        quoted = name.replace('"', '""')
        connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM published')
        connection.unregister("published")
    return connection


def _uai_text(network: Network) -> str:
    # The format of the inference evaluations of the UAI conference. Tables run over their variables with the last one
    # fastest. Scopes have the variable of the highest number first: pgmpy reads tables in the order of the scope, and
    # pyAgrum with the lowest number fastest, whatever the scope says. Not every reader takes exponents.
    number = {variable: str(n) for n, variable in enumerate(network.labels)}
    lines = ["MARKOV", str(len(number)), " ".join(str(len(labels)) for labels in network.labels.values())]
    lines.append(str(len(network.factors)))
    lines += [" ".join([str(len(scope)), *(number[v] for v in reversed(scope))]) for scope in network.factors]
    for values in network.factors.values():
        distinct, places = np.unique(values.T, return_inverse=True)
        texts = [np.format_float_positional(value, trim="0") for value in distinct]
        lines += ["", str(values.size), " ".join(map(texts.__getitem__, places.ravel().tolist()))]
    return "\n".join(lines) + "\n"


def write_uai(release: Any, path: str | Path) -> dict[str, tuple[str, ...]]:
    """Write the maxent distribution as a UAI file; return the variables with their labels, in the order of their numbers."""
    network = factors(release)
    if not network.labels:
        raise InputError("every attribute of the release is suppressed, so there is no network to write")
    replace_file(path_of(path), _uai_text(network).encode())
    return dict(network.labels)


def to_pgmpy(release: Any) -> Any:
    """Return the maxent distribution of a release, or a selected model, as a `pgmpy.models.DiscreteMarkovNetwork`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pgmpy, about its own modules
        discrete, models = (require(f"pgmpy.{of}", "pgmpy", "this format") for of in ("factors.discrete", "models"))
    network = factors(release)
    model = models.DiscreteMarkovNetwork()
    model.add_nodes_from(network.labels)
    for scope, values in network.factors.items():
        names = {variable: list(network.labels[variable]) for variable in scope}
        model.add_edges_from(combinations(scope, 2))
        model.add_factors(discrete.DiscreteFactor(list(scope), values.shape, values, state_names=names))
    return model


def converted(published: BundleContent, form: str, path: str | Path | None) -> Any:
    """Return what is published in the form of another program. Raises InputError for a form that has no file."""
    if (path is not None) != (form == "uai") and form != "duckdb":
        raise InputError(
            f"{form!r} {'is written to a file: give path=' if path is None else 'is not written to a file'}"
        )
    formats: Mapping[str, Callable[..., Any]] = {
        "pandas": published_frames,
        "polars": to_polars,
        "duckdb": to_duckdb,
        "pgmpy": to_pgmpy,
        "uai": write_uai,
    }
    return formats[form](published, *(() if path is None else (path_of(path),)))

"""Commands that use a release: questions to it, and synthetic rows from it."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import click

import marginals
from marginals.commands.options import JSON, RELEASE, Target, ends_within, output, stops_after
from marginals.commands.printing import csv_bytes, print_json, print_lines
from marginals.errors import InputError
from marginals.printable import printable
from models.deadline import Deadline

MOST_ROWS = 100_000_000
"""That are drawn at once, in memory."""


@click.command()
@RELEASE
@click.argument("conditions", metavar="[NAME=LABEL]...", nargs=-1)
@ends_within(10.0, "Answer with the bounds proven by then; stop with exit status 2 if not even the files are read.")
@JSON
def query(folder: Path, conditions: Sequence[str], deadline: Deadline, as_json: bool) -> None:
    """Estimate and bound how many rows, or people, have certain values.

    NAME=LABEL takes a label of any level; "NAME=LABEL|LABEL" means one label or the other; NAME=20-39 and "NAME>=65" are
    ranges of numbers. All conditions must hold. If a label means different things at different levels, the finest
    published level counts; NAME=LABEL@LEVEL chooses another. Formulas such as "age > 40 and sex != 'Male'" are read, too,
    as far as they say of each attribute by itself which values are meant. The estimate is that of maximum entropy; the
    bounds hold for certain. What is counted is rows; it is people where the release says that each row is one.

    One more line says what the estimate rests on. published: on published counts alone. supported: a published table shows
    the same attributes, but coarser than asked. assumed: no published table shows some two of them together, so the
    estimate takes them to be independent, which says nothing about the data.

    \b
    Examples:
      marginals query release age=30-34 sex=Female
      marginals query release "age in 20-39" "sex=Male|Female" --json
    """
    from marginals.release.estimates import count
    from marginals.wording.terminal import codebook_lines, estimate_lines

    release = marginals.open_release(folder, deadline)
    estimate = count(release.model, conditions, seconds=inf)
    if as_json:
        bounds = {"lower": estimate.lower, "upper": estimate.upper, "sharp": estimate.sharp, "exact": estimate.exact}
        where = {"where": release.published.where} if release.published.where else {}
        print_json({"expected": estimate.expected, **bounds, **where, **estimate.basis.as_json()})
    else:
        if release.published.where:
            click.echo(f"Of the part of a table where {printable(release.published.where)}:")
        print_lines(estimate_lines(estimate, release.domain, release.published.rows_per_person))
        print_lines(codebook_lines(release.published.codebook, conditions))


@click.command()
@RELEASE
@click.option(
    "-n", "--rows", default=1000, show_default=True, type=click.IntRange(0, MOST_ROWS), help="Number of rows."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The same seed gives the same rows.")
@click.option(
    "--base-values", is_flag=True, help="Draw base values, each value under a published one with equal probability."
)
@output("-o", "--out", help="File to write, .csv or .parquet; standard output by default.")
@stops_after
@JSON
def sample(folder: Path, rows: int, seed: int, base_values: bool, target: Target, as_json: bool) -> None:
    """Draw synthetic rows from a release.

    The rows are independent draws from the maximum-entropy distribution of RELEASE, with labels of the finest published
    levels. No row is taken from the data.

    Columns that no published table shows together are independent in the rows, given the others, whatever they are in the
    data: these pairs are named on standard error, and rows.csv.pairs.csv, beside rows.csv, says of each pair of columns
    whether what the rows say of it is published, supported by a coarser table, or assumed.

    \b
    Examples:
      marginals sample release -n 1000 --seed 0 -o rows.csv
      marginals sample release -n 10000 --base-values -o rows.parquet
    """
    if as_json and target.path is None:
        raise InputError("--json goes with --out, since the rows would stand on standard output too")
    import numpy as np
    import pandas as pd

    from marginals.release.estimates import drawn, drawn_base_values
    from marginals.release.kinds import pairs_in
    from marginals.wording.kinds_in_words import pair_rows, synthetic_lines

    write = marginals.interchange.rows_writer(target.path)
    file = target.opened()
    beside = Target(None if file is None or file.is_device else _pairs_path(file.path), target.force)
    pairs_file = beside.opened()
    release = marginals.open_release(folder)
    draw = drawn_base_values if base_values else drawn
    frame = draw(release.model, rows, np.random.default_rng(seed))
    levels = {name: 0 if base_values else release.model.finest_levels[name] for name in map(str, frame)}
    pairs = list(pair_rows(pairs_in(release.model, levels), release.domain))
    if pairs_file is not None:
        pairs_file.write(csv_bytes(pd.DataFrame(pairs, columns=["first", "second", "kind", "because"])))
    write(frame)
    for line in synthetic_lines(frame.attrs["assumed"]):
        click.echo(printable(line), err=True)
    if as_json:
        written = {"out": str(target.path), "rows": rows, "attributes": list(frame.columns), "pairs": pairs}
        kinds = {"kind": frame.attrs["kind"], "assumed": frame.attrs["assumed"]}
        print_json(written | kinds | {"pairs_out": beside.path and str(beside.path)})
    elif target.path is not None:
        where = f" where {printable(release.published.where)}" if release.published.where else ""
        click.echo(
            f"Wrote {rows} synthetic rows{where} to {target.path}. They tell what the release tells, and no more."
        )
        if beside.path is not None:
            click.echo(f"Which two columns tell something of each other: {beside.path}")


def _pairs_path(rows: Path) -> Path:
    """Where it stands which kind each pair of columns is: `rows.csv.pairs.csv` beside `rows.csv`."""
    return rows.with_name(f"{rows.name}.pairs.csv")

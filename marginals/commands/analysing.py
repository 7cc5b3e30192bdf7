"""Commands that use a release: questions to it, and synthetic rows from it."""

from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path

import click

import marginals
from marginals.commands.options import JSON, RELEASE, Target, ends_within, output, stops_after
from marginals.commands.printing import print_json, print_lines
from marginals.errors import InputError
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

    \b
    Examples:
      marginals query release age=30-34 sex=Female
      marginals query release "age in 20-39" "sex=Male|Female" --json
    """
    from marginals.wording.terminal import codebook_lines, estimate_lines

    release = marginals.open_release(folder, deadline)
    estimate = release.count(conditions, seconds=inf)
    if as_json:
        print_json(asdict(estimate) | {"exact": estimate.exact})
    else:
        print_lines(estimate_lines(estimate, release.published.rows_per_person))
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

    \b
    Examples:
      marginals sample release -n 1000 --seed 0 -o rows.csv
      marginals sample release -n 10000 --base-values -o rows.parquet
    """
    if as_json and target.path is None:
        raise InputError("--json goes with --out, since the rows would stand on standard output too")
    write = marginals.interchange.rows_writer(target.path)
    target.opened()
    release = marginals.open_release(folder)
    frame = release.sample_base_values(rows, seed) if base_values else release.sample(rows, seed)
    write(frame)
    if as_json:
        print_json({"out": str(target.path), "rows": rows, "attributes": list(frame.columns)})
    elif target.path is not None:
        click.echo(f"Wrote {rows} synthetic rows to {target.path}. They tell what the release tells, and no more.")

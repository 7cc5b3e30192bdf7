"""What commands print: one JSON object, or lines that fit the terminal."""

import json
import sys
from collections.abc import Iterable, Mapping
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from marginals.printable import printable, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from checks.finding import Finding


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines; on a terminal those that are longer than it is wide are wrapped."""
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    for line in map(printable, lines):
        click.echo(line if width is None else wrapped(line, width))


def print_findings(findings: "Iterable[Finding]") -> None:
    """Print findings, each verdict in its colour."""
    from checks.finding import Verdict
    from marginals.wording.terminal import finding_lines

    colours = {Verdict.HOLDS: "green", Verdict.FAILS: "red", Verdict.UNDECIDED: "yellow"}
    for finding in findings:
        first, *others = finding_lines(finding)
        click.echo(click.style(f"{finding.verdict.value:>9}", fg=colours[finding.verdict]) + f"  {printable(first)}")
        for line in others:
            click.echo(f"           {printable(line)}")


def print_warnings(warnings: Iterable[str]) -> None:
    """Print warnings below findings."""
    for warning in warnings:
        click.echo(click.style("  warning", fg="yellow") + f"  {printable(warning)}")


def csv_bytes(frame: "pd.DataFrame") -> bytes:
    """A data frame as the bytes of a CSV file."""
    return frame.to_csv(index=False, lineterminator="\n").encode()

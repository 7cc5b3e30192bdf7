"""Hierarchy files as the ARX anonymization tool reads them: semicolons, no header, one row a base value."""

import csv
import io
from pathlib import Path

from marginals.errors import InputError
from marginals.files.atomic_file import replace_file
from marginals.release.release import Release
from models.tables.hierarchy import Hierarchy


def arx_text(hierarchy: Hierarchy) -> str:
    """`value;level1;...;*`, quoted where a label needs it."""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(hierarchy.rows())
    return text.getvalue()


def write_arx_hierarchies(release: Release, folder: str | Path) -> dict[str, Path]:
    """Write `<attribute>.csv` for each attribute; returns the files. Raises InputError where one cannot be written."""
    files = {a: Path(folder) / f"{a}.csv" for a in release.domain.attributes}
    for attribute, file in files.items():
        if file.parent != Path(folder) or "\\" in attribute or "\0" in attribute:
            raise InputError(f"the attribute {attribute!r} cannot name a file")
    for attribute, file in files.items():
        replace_file(file, arx_text(release.domain.hierarchy(attribute)).encode())
    return files

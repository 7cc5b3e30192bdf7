"""The descriptor of a bundle, by which its folder is known."""

from pathlib import Path

DESCRIPTOR = "datapackage.json"


def holds_bundle(folder: Path) -> bool:
    """Whether a folder holds a bundle, be it damaged, and not just a Data Package or a file that nobody may read."""
    try:
        return b'"release"' in (folder / DESCRIPTOR).read_bytes()
    except OSError:
        return False

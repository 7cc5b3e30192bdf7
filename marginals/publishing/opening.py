"""Opening a release that is in a folder."""

from pathlib import Path

from marginals.bundle.reading import read_bundle
from marginals.pages.release_page import report_html
from marginals.release.release import Release


def open_release(path: str | Path) -> Release:
    """The release in a bundle. Raises InputError where there is none, BundleError where it cannot be trusted.

    >>> from tempfile import TemporaryDirectory
    >>> import marginals.example
    >>> with TemporaryDirectory() as folder:
    ...     _ = marginals.example.release.write(f"{folder}/release")
    ...     open_release(f"{folder}/release").rows
    48
    """
    folder = Path(path)
    return Release(read_bundle(folder), report_html, folder)

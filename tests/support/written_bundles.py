"""Bundles of whatever content, written with the page that releases have."""

from pathlib import Path

from marginals.bundle import writing
from marginals.bundle.content import BundleContent
from marginals.pages.release_page import report_html


def write_bundle(content: BundleContent, folder: Path) -> None:
    """Write what is published, unsigned."""
    writing.write_bundle(content, folder, report_html(content))

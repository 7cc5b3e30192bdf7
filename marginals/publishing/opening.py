"""Opening a release that is in a folder."""

from pathlib import Path

from marginals.bundle.content import BundleContent
from marginals.bundle.reading import content_of
from marginals.bundle.snapshot import Snapshot
from marginals.bundle.writing import WrittenBundle
from marginals.deadline import Seconds, within
from marginals.release.release import Release


def open_release(path: str | Path, seconds: Seconds = None) -> Release:
    """The release in a bundle. Raises InputError where there is none, BundleError where it cannot be trusted.

    seconds: after so many from now nothing goes on that is worked out from it, for somebody who must answer in time: what
    is not proven by then is undecided, bounds are those found so far, and what has no answer yet raises TimeOverError.

    >>> from tempfile import TemporaryDirectory
    >>> import marginals.example
    >>> with TemporaryDirectory() as folder:
    ...     _ = marginals.example.release.write(f"{folder}/release")
    ...     open_release(f"{folder}/release").rows
    48
    """
    folder = Path(path)
    deadline = within(seconds)
    snapshot = Snapshot.of(folder)
    written = WrittenBundle(folder, snapshot.descriptor.identity)
    return Release(content_of(snapshot, deadline), _report, written)


def _report(published: BundleContent) -> bytes:
    """The report, whose templates and pictures most who open a release do not ask for."""
    from marginals.pages.release_page import report_html

    return report_html(published)

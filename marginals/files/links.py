"""Where paths lead when their links are followed, with the same answer from every Python."""

import errno
import os
from pathlib import Path


def resolved(path: Path) -> Path:
    """The absolute path without links. Raises OSError where a link leads to itself.

    Path.resolve raises RuntimeError for such links before Python 3.13, and from then on nothing.
    """
    place = os.path.realpath(path)
    try:
        os.stat(place)  # noqa: PTH116
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link that leads to itself") from None
    return Path(place)

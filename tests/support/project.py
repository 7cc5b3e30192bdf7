"""Where the project lies, and how Python processes of the tests find it."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(**more: str) -> dict[str, str]:
    """The variables of this process, with which another Python imports this source tree, wherever it is started."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}

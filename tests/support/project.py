"""Where the project lies, and how Python processes of the tests find it."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NO_DATA = "the real tables are not here: neither MARGINALS_DATA nor ../shared/data is a folder"


def data_folder() -> Path:
    """The folder of the real tables, which may not be there: MARGINALS_DATA, or ../shared/data."""
    return Path(os.environ.get("MARGINALS_DATA") or ROOT / ".." / "shared" / "data").resolve()


def environment(**more: str) -> dict[str, str]:
    """The variables of this process, with which another Python imports this source tree, wherever it is started."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}

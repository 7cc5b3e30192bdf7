"""Names that a front door offers: those of its stub, which type checkers read too."""

import re
from pathlib import Path
from types import ModuleType


def public_names(door: ModuleType) -> list[str]:
    """The names that `from door import ...` takes, sorted."""
    stub = Path(str(door.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    return sorted(re.findall(r"^from \S+ import (\w+)", stub, re.MULTILINE))

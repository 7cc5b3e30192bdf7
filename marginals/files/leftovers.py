"""What a killed run leaves beside its target: named after it, so that the next writing finds and removes it."""

import re
import shutil
from pathlib import Path


def prefix(target: Path) -> str:
    """How the names of everything begin that is written beside a target, to take its place when it is whole."""
    return f".{target.name}.writing-"


def is_leftover(name: str, target: Path) -> bool:
    """Whether a name is what a killed run leaves beside a target."""
    return bool(re.fullmatch(re.escape(prefix(target)) + r"[a-z0-9_]{8}(\.old)?", name))


def remove_leftovers(target: Path) -> None:
    """Remove what killed runs have left beside a target; an old folder that was already moved away is moved back."""
    for leftover in sorted(path for path in target.parent.iterdir() if is_leftover(path.name, target)):
        if leftover.suffix == ".old" and not target.exists():
            leftover.rename(target)
        elif leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)

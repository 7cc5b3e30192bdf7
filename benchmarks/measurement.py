"""What all benchmarks print: JSON lines, when and on what they were measured, and why some were not."""

import argparse
import json
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def say(**line: Any) -> None:
    """Print one JSON line at once."""
    print(json.dumps(line), flush=True)


def circumstances() -> dict[str, Any]:
    """When and on what something is measured: date, processor, cores, load, Python, and the commit of this folder."""
    folder = Path(__file__).parent
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=folder, capture_output=True, text=True)
    described = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.*)", described.read_text()) if described.is_file() else None
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": named[1] if named else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "commit": asked.stdout.strip() or None,
    }


def skipped(benchmark: str, reason: str) -> None:
    """Say that a benchmark, or a part of it, was not run."""
    say(benchmark=benchmark, skipped=reason)


def options(script: str, text: str | None) -> argparse.ArgumentParser:
    """The parser of a script's options; its docstring is the help."""
    return argparse.ArgumentParser(
        prog=f"python benchmarks/{Path(script).name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

"""Print the lowest version that pyproject.toml allows of each library that this project uses, as pip's requirements.

Of tools of developers the newest ones are taken: only what users have is tested so.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS = ("parquet", "duckdb", "polars", "excel", "statistics", "learn", "window")
"""Those that are tested; Spark needs Java, and the others draw pictures and pages."""


def lowest(text: str) -> dict[str, str]:
    """The lower bound of each library by its name, from the text of pyproject.toml."""
    project = tomllib.loads(text)["project"]
    named = [*project["dependencies"], *(each for extra in EXTRAS for each in project["optional-dependencies"][extra])]
    return dict(sorted(each.partition(">=")[::2] for each in named))


if __name__ == "__main__":
    for name, version in lowest(PROJECT.read_text(encoding="utf-8")).items():
        print(f"{name}=={re.sub(r'[^0-9.].*', '', version)}")

"""The checks of axe-core, which finds what readers with a screen reader, a keyboard or weak eyes cannot use of a page.

It is looked for where npm installs it: in node_modules of the project, of a folder above it, or where the variable
MARGINALS_AXE says.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from project import ROOT


def script() -> str:
    """The script of axe-core; the test is skipped where it is not installed."""
    named = os.environ.get("MARGINALS_AXE")
    places = [Path(named)] if named else [f / "node_modules" / "axe-core" / "axe.min.js" for f in (ROOT, *ROOT.parents)]
    installed = next((place for place in places if place.is_file()), None)
    if installed is None:
        pytest.skip("axe-core is not installed: npm install axe-core, or MARGINALS_AXE names its axe.min.js")
    return installed.read_text(encoding="utf-8")


def violations(page: Any) -> dict[str, list[str]]:
    """What the page breaks of all rules, and the elements that do, its folded parts opened."""
    page.evaluate(script())
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    return {v["id"]: [node["html"][:200] for node in v["nodes"]] for v in page.evaluate("axe.run()")["violations"]}

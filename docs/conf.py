"""How the documentation is built (`make docs`): without network, without running anything, a warning is an error."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

import marginals

project = "Anonymized marginals"
version = release = marginals.__version__
extensions = [
    "myst_nb",  # pages and notebooks
    "sphinx.ext.apidoc",
    "sphinx.ext.autodoc",
    "sphinx_click",
]

exclude_patterns = ["floors/*/modules.rst"]  # of no use where each floor is one package

html_theme = "furo"
html_title = f"{project} {release}"
html_show_copyright = False
html_static_path = ["tables.css"]
html_css_files = ["tables.css"]
myst_heading_anchors = 3  # headings that pages link to
smartquotes = False  # -- begins an option, and texts are quoted as they are typed

default_role = "code"  # single backticks in docstrings
autodoc_default_options = {"members": True, "ignore-module-all": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False  # there are none, and to look for them takes time
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

# A page for each package. apidoc would leave a page alone that is there already, and so miss new modules; of packages it
# reads the options here only.
os.environ["SPHINX_APIDOC_OPTIONS"] = "members"
_FLOORS = Path(__file__).parent / "floors"
_BEFORE = {page: (page.read_bytes(), page.stat().st_mtime_ns) for page in _FLOORS.rglob("*.rst")}
shutil.rmtree(_FLOORS, ignore_errors=True)
apidoc_modules = [
    {
        "path": f"../{floor}",
        "destination": f"floors/{floor}",
        "module_first": True,
        "max_depth": 1,
    }
    for floor in ("models", "checks")
]

nb_execution_mode = "off"  # outputs are shown as they are checked in; the tests run the notebooks
nb_merge_streams = True

_ARRAY = re.compile(r"~numpy\.ndarray\[tuple\[~typing\.Any, \.\.\.\], ~numpy\.dtype\[(.*?\]?)\]\]")
_ARRAY_LIKE = stringify_annotation(ArrayLike, "smart")


def _readable(annotation: str) -> str:
    """Types of arrays as people write them, not as NumPy spells them out; defaults that can be read."""
    annotation = annotation.replace("<factory>", "...")  # of dataclasses; with it the signature would be no Python
    return _ARRAY.sub(r"NDArray[\1]", annotation).replace(_ARRAY_LIKE, "ArrayLike")


def _shorten(
    _app: Sphinx, _what: str, _name: str, _of: Any, _options: Any, given: str | None, returned: str | None
) -> Any:
    return given and _readable(given), returned and _readable(returned)


def _as_old_as_before(_app: Sphinx) -> None:
    """A page of a package that is written as it was keeps its time, so that it is read again only when a module changed."""
    for page, (content, time) in _BEFORE.items():
        if page.exists() and page.read_bytes() == content:
            os.utime(page, ns=(time, time))


def _made_from_help(*_: object) -> list[str]:
    """The page of the command line is read each time: Sphinx does not know that it changes with the help texts."""
    return ["command_line"]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _as_old_as_before, priority=900)  # after apidoc
    app.connect("env-get-outdated", _made_from_help)
    app.connect("autodoc-process-signature", _shorten)

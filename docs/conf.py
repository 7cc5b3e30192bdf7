"""How the documentation is built (`make docs`): without network, without running anything, a warning is an error."""

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

default_role = "code"  # single backticks in docstrings
autodoc_default_options = {"members": True, "ignore-module-all": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

# A page for each package, made anew at every build.
apidoc_modules = [
    {
        "path": f"../{floor}",
        "destination": f"floors/{floor}",
        "automodule_options": {"members"},
        "module_first": True,
        "include_private": False,
    }
    for floor in ("models", "checks")
]

nb_execution_mode = "off"  # outputs are shown as they are checked in; the tests run the notebooks
nb_merge_streams = True

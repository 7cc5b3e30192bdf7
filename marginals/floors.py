"""Check that the packages `models` and `checks` belong to this project, because anybody may use these names.

Only the standard library is imported here.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

DISTRIBUTION = "anonymized-marginals"
_REINSTALL = f"`pip install --force-reinstall {DISTRIBUTION}` puts it back"


def ensure_own(name: str) -> None:
    """Raise ImportError, in one sentence that says how to mend it, unless the package of this name is this project's."""
    try:
        package = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        problem = f"which is missing, perhaps since another distribution was removed; {_REINSTALL}"
        raise ImportError(f"marginals needs its own package {name!r}, {problem}") from None
    if getattr(package, "PROJECT", None) != DISTRIBUTION:
        raise ImportError(f"marginals needs its own package {name!r}, {_problem(name, package)}")


def _problem(name: str, package: ModuleType) -> str:
    """The cause and the remedy if another package has this name."""
    if package.__file__ is None:  # folders without __init__.py are found only where there is no package of that name
        folders = ", ".join(sorted({str(Path(folder).resolve()) for folder in package.__path__}))
        return f"which is missing: Python found only {folders}, without an __init__.py; {_REINSTALL}"
    others, apart = _distributions(name), "uninstall that one, or keep the two in environments of their own"
    if Path(package.__file__).parent == Path(__file__).parents[1] / name:
        culprit = f"the distribution {others[0]}" if others else "another distribution"
        return f"but {culprit} has overwritten it in {package.__file__}; {apart}; then {_REINSTALL}"
    if others:
        return f"but Python found that of the distribution {others[0]} first, {package.__file__}; {apart}"
    return f"but Python found {package.__file__} first; rename that file or run from another folder"


def _distributions(name: str) -> list[str]:
    """The other distributions that install a package of this name."""
    from importlib.metadata import packages_distributions

    return sorted(set(packages_distributions().get(name, ())) - {DISTRIBUTION})

"""How this project, which is on no package index, is installed with what it needs."""

from checks import PROJECT


def installing(extra: str = "") -> str:
    """The command, and where to run it. extra: what comes with it, as `pyproject.toml` names it.

    >>> installing("duckdb")
    'pip install ".[duckdb]" in a checkout of anonymized-marginals'
    """
    package = f'".[{extra}]"' if extra else "."
    return f"pip install {package} in a checkout of {PROJECT}"

"""What is said when a library or an engine that reads tables is missing, fails or runs out of memory.

What an engine itself says is never quoted: it may quote rows.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from marginals.errors import InputError, TooLittleMemoryError
from marginals.installing import installing

_ERRORS = {
    "duckdb": ("Error",),
    "pyspark.errors": ("PySparkException",),
    "py4j.protocol": ("Py4JError",),
    "ibis.common.exceptions": ("IbisError",),
    "pyarrow": ("ArrowException",),
}
"""Roots of the exceptions of the engines, by module."""


def require(library: str, extra: str, purpose: str) -> None:
    """Raise InputError naming the extra to install unless a library can be imported."""
    try:
        import_module(library)
    except ImportError:
        raise InputError(f"{purpose} needs {library}: {installing(extra)}") from None


def _engine_errors() -> tuple[type[BaseException], ...]:
    """The exceptions of the engines that are in use."""
    loaded = ((sys.modules[module], names) for module, names in _ERRORS.items() if module in sys.modules)
    return tuple(getattr(module, name) for module, names in loaded for name in names)


def _says_that_spark_ended(error: Exception) -> bool:
    """Whether an error is about the connection to a Java machine that is gone, which can say no more of its own errors."""
    try:
        _ = str(error)
    except Exception:
        return True
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


@contextmanager
def engine_refusals(name: str) -> Iterator[None]:
    """Failures of engines as InputErrors; name: what messages call the table."""
    try:
        yield
    except MemoryError:
        raise TooLittleMemoryError(name) from None
    except Exception as error:
        if "pyspark" in sys.modules and _says_that_spark_ended(error):
            raise InputError(
                f"{name} was not counted: Spark ended, as it does when memory is short; raise the setting data.memory, or "
                "spark.driver.memory where Spark is configured"
            ) from None
        if not isinstance(error, _engine_errors()):
            raise
        if "OutOfMemory" in type(error).__name__ or "OutOfMemory" in str(error):
            raise TooLittleMemoryError(name) from None
        raise InputError(f"{name} cannot be counted by its engine ({type(error).__name__})") from None

"""Errors of the front door; each message is one sentence for the person at it, without any value from the data."""

from checks.errors import CriterionError as CriterionError
from checks.errors import DisclosureRuleError as DisclosureRuleError
from checks.errors import SensitivityError as SensitivityError
from marginals.messages import printable
from models.errors import ContradictionError as ContradictionError
from models.errors import DomainMismatchError as DomainMismatchError
from models.errors import ExtensionError as ExtensionError
from models.errors import HierarchyError as HierarchyError
from models.errors import MarginalsError as MarginalsError
from models.errors import NotDecomposableError as NotDecomposableError
from models.errors import NotFittedError as NotFittedError
from models.errors import NothingAllowedError as NothingAllowedError
from models.errors import SelectionError as SelectionError
from models.errors import TimeOverError as TimeOverError
from models.errors import TooManyCellsError as TooManyCellsError


class InputError(MarginalsError, ValueError):
    """A file, key or argument that cannot be used as it is. The command line answers with exit status 2.

    >>> import marginals
    >>> marginals.Attribute("secret")
    Traceback (most recent call last):
        ...
    marginals.errors.InputError: the key role must be quasi-identifier or sensitive or identifier or ignored
    """


class AssumptionWarning(UserWarning):
    """An answer that rests on an assumption: no published table shows its attributes together, so the model takes them to be
    independent.

    Python shows it once for each line that asks. `Release.supports` says beforehand which answers these are.

    >>> import warnings
    >>> from marginals.example import release
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     table = release.table("age", "sex")
    >>> print(str(caught[0].message).partition(",")[0])
    no published table shows what is asked of age and sex together
    """


class DataWarning(UserWarning):
    """Data that a selected model does not count: rows with a missing value, or values that no row has.

    >>> import warnings
    >>> import pandas as pd
    >>> import marginals
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = marginals.select(pd.DataFrame({"smokes": ["no", "yes", None], "coughs": ["no", "yes", "no"]}))
    >>> print(caught[0].message)
    Dropped few rows with missing values: few lack smokes.
    """


class TooLittleMemoryError(InputError):
    """A table that does not fit into the memory that it may take. name: what it is called. instead: another remedy.

    >>> print(str(TooLittleMemoryError("people.csv")).partition(";")[0])
    people.csv needs more memory to count than it may take
    """

    def __init__(self, name: str, instead: str = "use a larger machine") -> None:
        super().__init__(
            f"{name} needs more memory to count than it may take; raise the setting data.memory, or {instead}"
        )


class WorkerLostError(MarginalsError):
    """A process that did a part of the work was killed from outside.

    >>> print(str(WorkerLostError()).partition(";")[0])
    a process that did a part of the work was killed, most likely for want of memory
    """

    def __init__(self) -> None:
        super().__init__(
            "a process that did a part of the work was killed, most likely for want of memory; use jobs = 1, "
            "or a larger machine"
        )


class NothingPublishableError(MarginalsError):
    """No collection satisfies the policy. The command line answers with exit status 1.

    >>> import marginals
    >>> from marginals.example import table
    >>> marginals.publish(table, marginals.Policy(k_link=1000, base="none", diversity="none"))
    Traceback (most recent call last):
        ...
    marginals.errors.NothingPublishableError: no marginal of the table satisfies the policy: \
k_link = 1000 demands 1,000 rows in every class, and there are 48 rows in all
    """


class BundleError(InputError):
    """A bundle that does not hold what it says, or not what can be trusted.

    file: the file of the bundle that is at fault, relative to it. problem: what is wrong with it. What a bundle says in
    them is shown without obeying it: a terminal's escapes stand as text.

    >>> BundleError("marginals/age.csv", "line 3 counts less than nothing").file
    'marginals/age.csv'
    """

    def __init__(self, file: str, problem: str) -> None:
        self.file = printable(file)
        self.problem = printable(problem)
        super().__init__(f"{self.file}: {self.problem}")


class IncompatibleReleasesError(InputError):
    """Intact releases that cannot be judged together.

    They generalize an attribute differently, or only one of them calls it sensitive. differ: in what they differ. instead:
    what to publish the second one with.

    >>> print(str(IncompatibleReleasesError("a", "b", "generalize 'age' differently", "the hierarchies")).split(", so")[0])
    a and b are intact, but generalize 'age' differently
    """

    def __init__(self, one: str, other: str, differ: str, instead: str) -> None:
        super().__init__(
            printable(
                f"{one} and {other} are intact, but {differ}, so what they say together is not judged; publish the "
                f"second again with {instead} that the first has, or only one of them"
            )
        )


def system_reason(error: OSError) -> str:
    """Reason of the system, in its words; the kind of error if it has none.

    >>> system_reason(FileNotFoundError(2, "No such file or directory")), system_reason(TimeoutError())
    ('No such file or directory', 'TimeoutError')
    """
    return error.strerror or type(error).__name__

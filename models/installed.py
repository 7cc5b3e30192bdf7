"""What installed packages add to a program, by name: their entry points, each loaded only when its name is asked for.

A package declares them in its `pyproject.toml`, a group for each kind of thing:

    [project.entry-points."marginals.strategies"]
    my-search = "my_package:my_search"

Names of the program itself come first and are never looked for here, so nothing is read or loaded that nobody asks for.
"""

from functools import cache
from typing import TYPE_CHECKING

from models.errors import ExtensionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

CRITERIA, STRATEGIES, OBJECTIVES, BASES = (
    "marginals.criteria",
    "marginals.strategies",
    "marginals.objectives",
    "marginals.bases",
)
"""The groups: of diversity criteria, search strategies, objectives of a search, and anonymizers that make a base table."""


def installed_names(group: str) -> tuple[str, ...]:
    """The names that installed packages declare in a group, ascending; none of them is loaded.

    >>> installed_names("marginals.nothing")
    ()
    """
    return tuple(sorted({entry.name for entry in _entries(group)}))


@cache
def installed(group: str, name: str) -> object | None:
    """What an installed package declares in a group under a name; None where none does. Loaded once.

    Raises ExtensionError where it cannot be loaded, or two packages declare different things under the name.

    >>> installed("marginals.strategies", "no-such-search") is None
    True
    """
    entries = {entry.value: entry for entry in _entries(group) if entry.name == name}
    if not entries:
        return None
    if len(entries) > 1:
        raise ExtensionError(
            f"two installed packages declare {name!r} in {group}, as {' and as '.join(sorted(entries))}: remove one of them"
        )
    (entry,) = entries.values()
    try:
        thing: object = entry.load()
    except Exception as error:  # whatever somebody else's module does while it is imported
        raise ExtensionError(
            f"{declared_by(entry)} declares {name!r} in {group} as {entry.value}, which cannot be loaded "
            f"({type(error).__name__}): repair or remove that package"
        ) from error
    return thing


def refusal(group: str, name: str, expected: str) -> ExtensionError:
    """What is said of something installed that is not of its kind. expected: what it must be."""
    entry = next(entry for entry in _entries(group) if entry.name == name)
    return ExtensionError(
        f"{declared_by(entry)} declares {name!r} in {group} as {entry.value}, which is not {expected}"
    )


def name_of(thing: object) -> str:
    """What a person calls a name, a function or an object that was given for something that has a name.

    >>> name_of("exact"), name_of(len), name_of(3)
    ('exact', 'len', '3')
    """
    return thing if isinstance(thing, str) else str(getattr(thing, "__name__", thing))


def declared_by(entry: "EntryPoint") -> str:
    """The package of an entry point in words."""
    return f"the package {entry.dist.name}" if entry.dist is not None else "an installed package"


@cache
def _entries(group: str) -> tuple["EntryPoint", ...]:
    from importlib.metadata import entry_points  # slow to import, and few need it

    return tuple(entry_points(group=group))

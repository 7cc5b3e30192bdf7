"""The ladders of a release, for another one: the levels that it publishes of each attribute, over the values of a new table.

Releases with the same levels tell least beyond each other. The levels of a release are public, so taking them tells nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from marginals.bundle.agreement import counted_hierarchy
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import read_bundle
from marginals.bundle.together.overlaps import THE_REST
from marginals.conditions.labels import Range, interval
from marginals.errors import BundleError, InputError
from marginals.tables.attribute import Role
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class ReleasedLadder:
    """The levels of an attribute from the finest published one on, to be put above the base values of another table."""

    released: Hierarchy

    def __call__(self, given: Hierarchy) -> Hierarchy:
        """The base values of a hierarchy, in their order, and above them the levels of the release.

        A base value is part of what the release calls like it, or like one of its generalizations in the given hierarchy; of
        the interval or the list of labels that it is in; or of the one label that means all others. A value that is part of
        none stands by itself at every level below `*`.

        >>> rows = [("1", "under 3", "*"), ("2", "under 3", "*"), ("3 and over", "3 and over", "*")]
        >>> ladder = ReleasedLadder(Hierarchy.from_rows(rows))
        >>> ladder(Hierarchy.flat(["1", "3", "4", "none"])).rows()[1:]
        [('3', '3 and over', '3 and over', '*'), ('4', '3 and over', '3 and over', '*'), ('none', 'none', 'none', '*')]
        """
        paths = self.released.rows()
        rows, unknown = [], []
        for value, *above in given.rows():
            place = self._place([value, *above[:-1]])
            if place is None:
                unknown.append(value)
            else:
                rows.append((value, *paths[place]))
        if all(value == path[0] for value, *path in rows):
            rows = [(value, *path[1:]) for value, *path in rows]
        if not rows:
            return given
        known = Hierarchy.from_rows(rows)
        for value in unknown:
            known = known.with_value_apart(value)
        path_of = {path[0]: path for path in known.rows()}
        return Hierarchy.from_rows(path_of[value] for value in given.labels[0])

    def _place(self, path: list[str]) -> int | None:
        """The value of the release that a base value is part of, by its own label and those above it; None for none."""
        named = (self._by_label.get(label) for label in path)
        if (place := next((each for each in named if each is not None), None)) is not None:
            return place
        if (own := interval(path[0])) is not None and not own.is_empty:
            holding = [place for place, numbers in self._numbers if numbers.holds(own)]
            if len(holding) == 1:
                return holding[0]
        rest = [place for place, label in enumerate(self.released.labels[0]) if THE_REST.fullmatch(label)]
        return rest[0] if len(rest) == 1 else None

    @cached_property
    def _by_label(self) -> dict[str, int]:
        labels = self.released.labels[0]
        listed = {part: place for place, label in enumerate(labels) for part in label.split(", ")}
        return listed | {label: place for place, label in enumerate(labels)}

    @cached_property
    def _numbers(self) -> list[tuple[int, Range]]:
        numbers = ((place, interval(label)) for place, label in enumerate(self.released.labels[0]))
        return [(place, own) for place, own in numbers if own is not None and not own.is_empty]


def released_ladders(published: BundleContent) -> dict[str, ReleasedLadder]:
    """The ladders of the attributes that a release shows."""
    collection = published.collection
    return {
        attribute: ReleasedLadder(counted_hierarchy(collection, attribute).published_levels.hierarchy)
        for attribute in filter(collection.shows, collection.domain.attributes)
    }


def read_ladders(folder: Path, roles: Mapping[str, Role]) -> dict[str, ReleasedLadder]:
    """The ladders of the release in a folder, for attributes of these roles.

    Raises InputError where there is no intact release, where it shows none of the attributes, and where it gives one another
    role, since then nobody can judge both releases together.
    """
    try:
        published = read_bundle(folder)
    except BundleError as error:
        raise InputError(f"the release {folder.name} is damaged: {error}") from None
    ladders = {name: ladder for name, ladder in released_ladders(published).items() if name in roles}
    if not ladders:
        raise InputError(f"the release {folder.name} shows none of the attributes, so it has no ladders for them")
    for name in ladders:
        if published.roles[name] is not roles[name]:
            raise InputError(
                f"the release {folder.name} calls {name!r} {published.roles[name].value}, and here it is "
                f"{roles[name].value}; give it the same role, so that both releases can be judged together"
            )
    return ladders

"""Random published tables by their labels alone, and all populations that fit them; and the same as the code takes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from models import UNBOUNDED, Classification, IntervalTable, LinkedTables, linked_tables

Labels = Mapping[str, str]
"""A label for each attribute of a table; "Total" for everybody."""


@dataclass(frozen=True)
class LabelledTables:
    """What is published. base: values of each attribute. groups: labels of several of them. tables: for each its attributes
    and cells, each by its labels with the least and the largest count that it may mean, None for no end. people: how many.
    """

    base: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, Mapping[str, tuple[str, ...]]]
    tables: tuple[tuple[tuple[str, ...], tuple[tuple[Labels, int, int | None], ...]], ...]
    people: int

    def meant(self, attribute: str, label: str) -> set[str]:
        """The base values that a label of a table, or a name of several of them, stands for."""
        if label == "Total":
            return set(self.base[attribute])
        if label in self.groups[attribute]:
            return set(self.groups[attribute][label])
        found = set(label.split(" or "))
        assert found <= set(self.base[attribute]), label
        return found

    def inside(self, labels: Labels) -> np.ndarray:
        """Whether each combination of base values has these labels, 0 or 1; attributes without label may have any."""
        meant = {attribute: self.meant(attribute, label) for attribute, label in labels.items()}
        return np.array(
            [all(dict(zip(self.base, key))[a] in values for a, values in meant.items()) for key in self.combinations()],
            dtype=np.int64,
        )

    def combinations(self) -> Iterator[tuple[str, ...]]:
        return product(*self.base.values())

    def populations(self) -> np.ndarray:
        """All populations of so many people that fit all tables: shape (populations, combinations of base values)."""
        size = len(list(self.combinations()))
        chosen = np.array([*combinations_with_replacement(range(size), self.people)], dtype=np.int64)
        every = np.zeros((len(chosen), size), dtype=np.int64)
        for column in chosen.T:
            every[np.arange(len(chosen)), column] += 1
        for _, cells in self.tables:
            for labels, low, high in cells:
                counts = every @ self.inside(labels)
                every = every[(counts >= low) & (counts <= (self.people if high is None else high))]
        return every


SHAPES = ((2, 2, 2, 2), (2, 2, 2, 3), (2, 3, 2, 2), (2, 2, 2, 2, 2), (3, 2, 2), (3, 3, 2))
SMALL = ((2, 2), (2, 3), (3, 3), (2, 2, 2), (4, 2))
"""Where all bounds are sharp within a second."""

PEOPLE = {4: 6, 6: 6, 8: 6, 9: 6, 12: 5, 16: 5, 18: 4, 24: 4, 32: 4}


def random_labelled_tables(rng: np.random.Generator, shapes: Sequence[tuple[int, ...]] = SHAPES) -> LabelledTables:
    """Two to seven tables of two or three of up to five attributes, with groups, totals, suppressed and rounded cells.

    Of small shapes tables of one attribute, too.
    """
    shape = shapes[rng.integers(len(shapes))]
    base = {f"a{n}": tuple(f"v{n}{value}" for value in range(size)) for n, size in enumerate(shape)}
    groups = {a: {f"g{a}": values[:2]} if len(values) > 2 else {} for a, values in base.items()}
    people = int(rng.integers(1, PEOPLE[int(np.prod(shape))] + 1))
    bare = LabelledTables(base, groups, (), people)
    combinations_of_base = len(list(bare.combinations()))
    few = rng.integers(0, combinations_of_base, size=rng.integers(1, people + 1))
    truth = np.bincount(rng.choice(few, size=people), minlength=combinations_of_base)
    margins = [m for size in ((1, 2, 2, 3) if shapes is SMALL else (2, 2, 2, 3)) for m in combinations(base, size)]
    chosen = [margins[rng.integers(len(margins))] for _ in range(rng.integers(2, 8))]
    tables = [(margin, tuple(_cells(rng, bare, truth, margin))) for margin in dict.fromkeys(chosen)]
    return LabelledTables(base, groups, (*tables, ((), (({}, people, people),))), people)


def _cells(
    rng: np.random.Generator, bare: LabelledTables, truth: np.ndarray, margin: tuple[str, ...]
) -> Iterator[tuple[Labels, int, int | None]]:
    shown = []
    for attribute in margin:
        labels = [*bare.base[attribute]]
        if bare.groups[attribute] and rng.random() < 0.5:
            labels = [*bare.groups[attribute], labels[2]] if rng.random() < 0.4 else [*labels, *bare.groups[attribute]]
        shown.append([*labels, *(["Total"] if rng.random() < 0.4 else [])])
    style = rng.integers(3)
    for key in product(*shown):
        labels = dict(zip(margin, key))
        count = int(truth @ bare.inside(labels))
        if rng.random() < 0.05:
            continue
        if style == 0 and 1 <= count <= 2:
            yield labels, 1, 2
        elif style == 1:
            yield labels, max(0, count // 2 * 2 - 1), count // 2 * 2 + 1
        elif rng.random() < 0.2:
            yield labels, 0, None
        else:
            yield labels, count, count


def linked_labels(published: LabelledTables, **limits: Any) -> LinkedTables:
    """Labelled tables as the code takes them. limits: of joint tables, where other ones are meant than by default."""
    classifications = {
        name: Classification(name, values, {g: frozenset(m) for g, m in published.groups[name].items()})
        for name, values in published.base.items()
    }

    def members(labels: Mapping[str, str]) -> tuple[int, ...]:
        return tuple(
            classifications[a].everything if label == "Total" else classifications[a].members(label)
            for a, label in labels.items()
        )

    tables = [
        IntervalTable.of(
            f"table {number}",
            attributes,
            {members(labels): (low, UNBOUNDED if high is None else high) for labels, low, high in cells},
        )
        for number, (attributes, cells) in enumerate(published.tables)
    ]
    return linked_tables(tables, [*classifications.values()], **limits)

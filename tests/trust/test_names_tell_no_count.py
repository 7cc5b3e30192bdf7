"""Names of groups tell no small count: against every table that the naming maps to the same labels and counts.

A reader sees the labels and counts of all published levels, and knows how names are made and, where it is public, which
values there are. The tables that the reader has to reckon with are enumerated: all ways to put values into the published
groups, and all counts of them that sum to the published ones. Each is named, and those with the same names make a class,
whose tables nothing that is published tells apart. In no class may all tables agree that a value, or what a label leaves
unnamed of its group, has a count from 1 to T - 1.

How many groups there are, which of them a coarser level puts together, and how many rows they have is held fixed, since it
is published. Why a ladder merged these groups is not asked (what that tells who knows how ladders are made is for `attack`);
only that a group of several values has as many rows as ladders give one: T + 1, with missing values T + 4. Of numbers, bands
and public lists the reader knows all values that there can be. Elsewhere one that no label names can be any other as well,
so that nobody knows that it occurs. `MARGINALS_TRIALS=2000` enumerates for as many random settings, in ten minutes.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest

from marginals import Attribute
from marginals.tables.attribute import MISSING
from marginals.tables.group_names import GroupNaming
from models import Hierarchy

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "40"))

Groups = tuple[tuple[str, ...], ...]
"""The values of each group at the finest published level."""


@dataclass(frozen=True)
class Setting:
    """What is fixed: a kind of attribute, rows of each group, which groups each coarser level puts together, and T."""

    kind: str
    rows: tuple[int, ...]
    coarser: tuple[tuple[int, ...], ...]
    least: int
    values: tuple[str, ...]
    has_missing: bool


NORTH = {"a": "north", "b": "north", "c": "north", "d": "south", "e": "south"}
LETTERS = tuple("abcde")
DECIMALS = ("0.1", "0.2", "0.35", "0.4", "0.41", "0.9")
SPARSE = ("10", "4000", "30000", "30100", "30101", "90000")
BANDS = ("0-4", "5-9", "10-14", "15-19", "20-24", "25-29")
AGES = ("20", "21", "22", "23", "24", "25")
KINDS = {
    "jobs": LETTERS,
    "towns": LETTERS,
    "public towns": LETTERS,
    "decimals": DECIMALS,
    "far numbers": SPARSE,
    "bands": BANDS,
    "ages": AGES,
    "declared bands": AGES,
    "ordered texts": ("<18", "18-24", "25-64", "65+"),
    "prefixes": ("11", "12", "13", "21", "22"),
}
IN_ORDER = {"decimals", "far numbers", "bands", "ages", "declared bands", "ordered texts"}
LISTED = {"towns", "public towns", "ages", "declared bands"}
"""Kinds whose list of values is fixed without the rows, or may be."""


def attribute_of(setting: Setting) -> Attribute:
    missing = "as a value" if setting.has_missing else "drop"
    tree = Hierarchy.from_rows([(value, node, "*") for value, node in NORTH.items()])
    ways = {
        "towns": {"hierarchy": tree},
        "public towns": {"hierarchy": tree, "labels": "public"},
        "prefixes": {"prefixes": [1]},
        "declared bands": {"intervals": [1], "start": 20},
    }
    return Attribute("quasi-identifier", ladder="fitted", missing=missing, **ways.get(setting.kind, {}))  # type: ignore[arg-type]


Counts = tuple[int, ...]
"""The rows of the values of a group."""


def published(setting: Setting, groups: Groups, counts: Sequence[Counts]) -> tuple[tuple[str, ...], ...] | None:
    """The labels of each level, in the order of the groups; None where these values make no such groups."""
    attribute = attribute_of(setting)
    occurring = [value for group in groups for value in group]
    listed = setting.values if setting.kind in LISTED else [value for value in setting.values if value in occurring]
    given = attribute.hierarchy_of({*listed, *occurring} - {MISSING} | ({MISSING} if setting.has_missing else set()))
    if not {*occurring} <= {*given.labels[0]} or (
        setting.kind in LISTED and {*given.labels[0]} - {*occurring} > {MISSING}
    ):
        return None
    place = {value: number for number, group in enumerate(groups) for value in group}
    rows = []
    for value in given.labels[0]:
        number = place.get(value)
        if number is None:
            return None
        above = [f"{level}.{merged[number]}" for level, merged in enumerate(setting.coarser)]
        bands = [value] if attribute.intervals else []
        rows.append((value, *bands, f"group {number}", *above, "*"))
    ladder = Hierarchy.from_rows(rows)
    naming = GroupNaming.of("job", attribute, attribute.hierarchy_of(ladder.labels[0]))
    finest = 2 if attribute.intervals else 1
    code = [ladder.labels[finest].index(f"group {number}") for number in range(len(groups))]
    of_value = dict(zip(occurring, [count for own in counts for count in own]))
    by_value = np.array([of_value[value] for value in ladder.labels[0]])
    named = naming.named(ladder, finest, by_value, setting.least).hierarchy
    levels = [tuple(named.labels[finest][each] for each in code)]
    for level in range(finest + 1, named.height):
        above = named.lift(finest, level)
        levels.append(tuple(named.labels[level][above[each]] for each in code))
    return tuple(levels)


def all_groups(setting: Setting) -> Iterator[Groups]:
    """All ways to put values into the groups: of an order, stretches of what occurs; of a list, all of its values."""
    number = len(setting.rows)
    if setting.kind in IN_ORDER:
        sizes = [len(setting.values)] if setting.kind in LISTED else range(number, len(setting.values) + 1)
        for size in sizes:
            for occurring in combinations(setting.values, size):
                for cuts in combinations(range(1, size), number - 1):
                    stretches = [occurring[low:high] for low, high in zip((0, *cuts), (*cuts, size))]
                    yield from with_missing(setting, tuple(stretches))
        return
    places = range(number) if setting.kind in LISTED else range(-1, number)
    for chosen in product(places, repeat=len(setting.values)):
        groups = tuple(tuple(v for v, own in zip(setting.values, chosen) if own == each) for each in range(number))
        yield from with_missing(setting, groups)


def with_missing(setting: Setting, groups: Groups) -> Iterator[Groups]:
    """Those of which no group is empty, with the missing values in any of them, or by themselves."""
    if not setting.has_missing:
        if all(groups):
            yield groups
        return
    for place in range(len(groups)):
        own = tuple((*group, MISSING) if number == place else group for number, group in enumerate(groups))
        if all(own):
            yield own


def all_counts(setting: Setting, group: Sequence[str], rows: int) -> Iterator[Counts]:
    """All counts of the values of a group: of a list they may have none, of values that occur each has a row."""
    least = 0 if setting.kind in LISTED - {"towns"} else 1
    if len(group) == 1:
        yield (rows,)
        return
    for first in range(least if group[0] != MISSING else 1, rows - least * (len(group) - 1) + 1):
        yield from ((first, *rest) for rest in all_counts(setting, group[1:], rows - first))


def alike(setting: Setting, groups: Groups) -> Iterator[list[list[Counts]]]:
    """All counts of each group, those apart of which all have T rows: names may depend on that, and on nothing else.

    `test_names_depend_on_counts_by_no_more` says so.
    """
    parts = []
    for group, rows in zip(groups, setting.rows):
        by_size: dict[bool, list[Counts]] = defaultdict(list)
        for counts in all_counts(setting, group, rows):
            by_size[min(counts) >= setting.least].append(counts)
        parts.append([*by_size.values()])
    yield from map(list, product(*parts))


def named_in(label: str, values: Sequence[str]) -> set[str]:
    return {part for part in re.split(", | and | or ", label) if part in values}


def made_by_ladders(setting: Setting, groups: Groups) -> bool:
    """Whether each group of several values has rows enough; none that has missing ones has few more than T."""
    spare = [0 if len(group) == 1 else 4 if MISSING in group else 1 for group in groups]
    return all(rows >= setting.least + own for own, rows in zip(spare, setting.rows))


def settings(rng: np.random.Generator) -> Setting:
    kind = str(rng.choice(sorted(KINDS)))
    least = int(rng.integers(2, 5))
    number = int(rng.integers(2, 4))
    rows = tuple(int(least + rng.choice([0, 1, 2, 3, 4, 5, least])) for _ in range(number))
    coarser = []
    if number == 3 and rng.random() < 0.7:
        kept = [(0, 0, 1), (0, 1, 1)] if kind in IN_ORDER else [(0, 0, 1), (0, 1, 1), (0, 1, 0)]
        coarser.append(kept[rng.integers(len(kept))])
    return Setting(kind, rows, tuple(coarser), least, KINDS[kind], bool(rng.random() < 0.4))


def certainly_small(setting: Setting) -> Iterator[str]:
    classes: dict[object, list[tuple[Groups, list[list[Counts]]]]] = defaultdict(list)
    for groups in all_groups(setting):
        if not made_by_ladders(setting, groups):
            continue
        partition = groups if setting.kind in LISTED else None
        for counts in alike(setting, groups):
            if (labels := published(setting, groups, [own[0] for own in counts])) is not None:
                classes[labels, partition].append((groups, counts))
    values = (*setting.values, *([MISSING] if setting.has_missing else []))
    for (labels, _), tables in classes.items():  # type: ignore[misc]
        possible: dict[object, set[int]] = defaultdict(set)
        listed = set().union(*(named_in(label, values) for level in labels for label in level))
        for groups, all_of in tables:
            absent = set(values) - {value for group in groups for value in group}
            for value in absent:
                possible[value].add(0)
            for number, (group, of_group) in enumerate(zip(groups, all_of)):
                for counts in of_group:
                    of_value = dict(zip(group, counts))
                    for value, count in of_value.items():
                        possible[value].add(count)
                    rest = sum(
                        count for value, count in of_value.items() if value not in named_in(labels[0][number], values)
                    )
                    possible["rest", number].add(rest)
        for what, numbers in possible.items():
            is_unknown = setting.kind not in LISTED - {"towns"} and setting.kind not in IN_ORDER - {"ordered texts"}
            if is_unknown and isinstance(what, str) and what not in listed:
                continue
            if all(1 <= number < setting.least for number in numbers):
                yield f"{setting}: {labels} tell that {what} has {sorted(numbers)}"


@pytest.mark.parametrize("part", range(8))
def test_no_name_tells_a_small_count(part: int) -> None:
    for number in range(part, TRIALS, 8):
        told = list(certainly_small(settings(np.random.default_rng(number))))
        assert not told, told[:3]


@pytest.mark.parametrize("number", range(20))
def test_names_depend_on_counts_by_no_more(number: int) -> None:
    rng = np.random.default_rng(number)
    setting = settings(rng)
    made = [groups for groups in all_groups(setting) if made_by_ladders(setting, groups)]
    for place in rng.integers(len(made), size=min(len(made), 10)).tolist():
        for counts in alike(setting, made[place]):
            drawn = [[own[rng.integers(len(own))] for own in counts] for _ in range(3)]
            assert len({published(setting, made[place], each) for each in drawn}) == 1

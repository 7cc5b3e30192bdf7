"""Public counts of a population, which a ladder can be fitted to in place of the table: then it tells nothing of the table.

The levels are a function of these counts, the hierarchy or intervals that are given, and k alone. So the values that are
merged, at the level that merging starts from, are those that the population counts, whatever the table holds; a value of
the table that is none of them is refused.
"""

import csv
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from marginals.errors import InputError
from marginals.regular_file import bounded_content, reading
from marginals.tables.attribute import MISSING, Attribute
from models.arrays import BoolArray, CountArray
from models.tables.hierarchy import Hierarchy

_MOST_BYTES = 1 << 26
"""Of a file."""


def read_population(path: str | Path) -> dict[str, int]:
    r"""How many people have each value, from a CSV file with two columns, a value and a count, with a header or without.

    Raises InputError naming the file and the row at fault.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "age.csv").write_text("age,people\n20,8100\n21,7900\n", encoding="utf-8")
    ...     read_population(f"{folder}/age.csv")
    {'20': 8100, '21': 7900}
    """
    path = Path(path)
    with reading("population file", path, "commas"):
        rows = list(csv.reader(bounded_content(path, _MOST_BYTES).decode("utf-8-sig").splitlines()))
    counts: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) != 2:
            raise InputError(f"the population file {path.name}: row {number} is not a value, a comma and a count")
        value, count = row[0].strip(), row[1].strip()
        if not (count.isascii() and count.isdigit() and len(count) < 16):
            if number == 1:
                continue  # a header
            raise InputError(f"the population file {path.name}: the count in row {number} is no whole number from 0 on")
        if value in counts:
            raise InputError(f"the population file {path.name}: the value in row {number} has a count already")
        counts[value] = int(count)
    if not any(counts.values()):
        raise InputError(f"the population file {path.name} counts nobody")
    return counts


def base_counts(attribute: Attribute, decimal: str = ".") -> dict[str, int]:
    """How many people of its population have each base value of an attribute.

    decimal: the sign before the fraction of a number. Raises InputError where a value of the population is no number or date
    that the attribute needs.
    """
    counts: dict[str, int] = {}
    for text, count in (attribute.population or {}).items():
        value = attribute.base_value(text, decimal)
        if value is None:
            raise InputError("its population counts a value that its intervals or dates cannot hold")
        counts[value] = counts.get(value, 0) + count
    return counts


def population_hierarchy(attribute: Attribute, counts: Mapping[str, int], values: Collection[str]) -> Hierarchy:
    """The hierarchy of an attribute before its ladder is fitted to a population: over what the population counts.

    values: base values of the table; where bands of intervals or dates are merged, they are base values too.
    Raises HierarchyError where none fits, and InputError where the population does not count each base value of a
    hierarchy that is given, or another.
    """
    own = values if attribute.first_merged else {MISSING} & set(values)
    hierarchy = attribute.hierarchy_of({*counts, *own})
    if attribute.hierarchy is None:
        return hierarchy
    known = set(attribute.hierarchy.labels[0])
    if lacking := len(known - set(counts)):
        raise InputError(
            f"its population lacks {lacking:,} of the {len(known):,} base values of its hierarchy; give each a count, 0 "
            "where nobody has it"
        )
    if others := len(set(counts) - known):
        raise InputError(f"its population counts {others:,} values that are not among the base values of its hierarchy")
    return hierarchy


def are_counted(attribute: Attribute, hierarchy: Hierarchy, counts: Mapping[str, int]) -> BoolArray:
    """Whether the population counts each base value, or the first band of intervals or dates that it lies in.

    Rows without a value are no matter of a population, and need no count. Shape (base values,).
    """
    groups = hierarchy.lift(0, attribute.first_merged).astype(np.intp)
    known = [code for value in (*counts, MISSING) if (code := hierarchy.code(value, 0)) is not None]
    return np.asarray(np.isin(groups, groups[known]))


def population_sizes(hierarchy: Hierarchy, counts: Mapping[str, int]) -> CountArray:
    """The people of each base value of a hierarchy: shape (base values,)."""
    sizes = np.zeros(hierarchy.size(0), dtype=np.int64)
    for value, count in counts.items():
        code = hierarchy.code(value, 0)
        assert code is not None, "a population's values are base values"
        sizes[code] = count
    return sizes

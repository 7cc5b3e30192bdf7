"""Columns whose values follow from another column by a rule that everybody knows: age group and age, name and code.

Such a column is a level of the other one's hierarchy, not an attribute of its own. Two attributes would have cells that
nobody can be in, and would take tables from each other. Only the steward can say that everybody knows the rule. Most
rules that hold in the rows of a table hold by chance, or are known to nobody else.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marginals.errors import InputError
from marginals.tables.attribute import MISSING, NAMELESS, Attribute
from marginals.tables.distinct_rows import DistinctRows, Values
from marginals.tables.scales import in_order
from models.arrays import BoolArray
from models.errors import HierarchyError
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def check_levels(used: Mapping[str, Attribute]) -> None:
    """Raise InputError for a column that cannot be a level of the one that it names."""
    for name, attribute in used.items():
        if not attribute.level_of:
            continue
        other = used.get(attribute.level_of)
        if other is None or other.level_of or attribute.level_of == name:
            raise InputError(
                f"level_of of {name!r} is the name of another used column that has no level_of itself, such as the one "
                "with the finest values"
            )
        if other.role is not attribute.role:
            raise InputError(
                f"{name!r} follows from {attribute.level_of!r}, so both have the same role: whoever knows one of them "
                "knows the other"
            )
        if other.hierarchy is not None or other.intervals or other.prefixes or other.dates:
            raise InputError(
                f"the levels of {attribute.level_of!r} are the columns with level_of; leave out its hierarchy, intervals, "
                "prefixes and dates"
            )


class WithLevels(NamedTuple):
    """Attributes without those that are levels of others, the rows without these columns, and the levels by name."""

    attributes: Mapping[str, Attribute]
    rows: DistinctRows
    levels: Mapping[str, tuple[str, int]]


def with_levels(
    source: str,
    attributes: Mapping[str, Attribute],
    rows: DistinctRows,
    complete: BoolArray,
    labels_of: Callable[[str], Values],
) -> WithLevels:
    """Make columns with `level_of` levels of the others.

    source: name of the table. complete: rows that lack no other value. labels_of: the base value of each text of a column,
    None for no value; a row without a value of such a column counts.

    Raises InputError where rows contradict the rule, or two such columns do not nest.
    """
    names = {name: attribute.level_of for name, attribute in attributes.items() if attribute.level_of}
    described, levels = dict(attributes), dict[str, tuple[str, int]]()
    for base in dict.fromkeys(names.values()):
        labels = {column: labels_of(column) for column in (base, *names) if names.get(column, base) == base}
        columns = [base, *sorted({*labels} - {base}, key=lambda column: (-len({*labels[column]}), column))]
        codes = np.unique(np.stack([rows.codes[column][complete] for column in columns]), axis=1)
        paths = {tuple(labels[column][code] for column, code in zip(columns, path)) for path in codes.T.tolist()}
        complete_paths, meanings, places = _complete_paths(source, columns, paths), dict(attributes[base].values), [0]
        is_fitted = attributes[base].is_fitted
        for place, column in enumerate(columns[1:], 1):
            other_names = {path[places[-1]]: path[place] for path in complete_paths if path[places[-1]] != path[place]}
            is_copy = len({path[places[-1]] for path in complete_paths}) == len(
                {path[place] for path in complete_paths}
            )
            if is_copy and (is_fitted or not other_names.keys() & meanings.keys()):
                meanings |= other_names
            else:
                places.append(place)
            levels[column] = base, NAMELESS if is_fitted and other_names else len(places) - 1
        if not is_fitted:
            hierarchy = _hierarchy(source, columns, [[path[place] for place in places] for path in complete_paths])
            described[base] = replace(attributes[base], hierarchy=hierarchy, values=meanings)
        elif len(places) > 1:
            raise InputError(
                f"{columns[places[1]]!r} is coarser than {base!r}, so it is a level of it only where nothing is fitted; "
                f"leave out the ladder of {base!r}"
            )
    values = {name: texts for name, texts in rows.values.items() if name not in names}
    codes_of = {name: codes for name, codes in rows.codes.items() if name not in names}
    remaining = {name: attribute for name, attribute in described.items() if name not in names}
    return WithLevels(remaining, replace(rows, values=values, codes=codes_of), levels)


def _complete_paths(source: str, columns: list[str], paths: Collection[tuple[str | None, ...]]) -> set[tuple[str, ...]]:
    """Return the combinations that lack no value, one for each base value. Raises InputError where there are several."""
    base_values = {path[0] for path in paths} - {MISSING}
    complete_paths = {tuple(map(str, path)) for path in paths if None not in path and path[0] != MISSING}
    for place, column in enumerate(columns[:-1]):
        pairs = {path[place : place + 2] for path in complete_paths}
        if several := len(pairs) - len({value for value, _ in pairs}):
            raise InputError(
                f"{columns[place + 1]!r} of {source} does not follow from {column!r}: values of {column!r} have several, "
                f"{several:,} too many in all. Leave out level_of, or mend the rows"
            )
    if lacking := len(base_values) - len({path[0] for path in complete_paths}):
        raise InputError(
            f"no row of {source} says which of {', '.join(columns[1:])} follows from {lacking:,} of the values of "
            f"{columns[0]!r}. Leave out level_of, or mend the rows"
        )
    return complete_paths


def _hierarchy(source: str, columns: list[str], paths: list[list[str]]) -> Hierarchy:
    above = {path[0]: path for path in paths}
    try:
        return Hierarchy.from_rows([(*above[label], SUPPRESSED) for label in in_order(above)])
    except HierarchyError as error:
        raise InputError(f"the levels {', '.join(columns)} of {source}: {error}") from None

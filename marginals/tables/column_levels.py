"""Columns whose values follow from another column by a rule that everybody knows: age group and age, name and code.

Such a column is a level of the other one's hierarchy, not an attribute of its own. Two attributes would have cells that
nobody can be in, and would take tables from each other. Only the steward can say that everybody knows the rule: most
rules that hold in the rows of a table hold by chance, or are known to nobody else.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marginals.errors import InputError
from marginals.tables.attribute import MISSING, Attribute
from marginals.tables.distinct_rows import DistinctRows
from marginals.tables.scales import in_order
from models.errors import HierarchyError
from models.tables.hierarchy import SUPPRESSED, Hierarchy

if TYPE_CHECKING:
    from marginals.tables.source import Reading


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
        if other.hierarchy is not None or other.intervals or other.prefixes or other.dates or other.is_fitted:
            raise InputError(
                f"the levels of {attribute.level_of!r} are the columns with level_of; leave out its hierarchy, intervals, "
                "prefixes, dates and ladder"
            )


def with_levels(reading: "Reading", rows: DistinctRows) -> "tuple[Reading, DistinctRows]":
    """Return the reading and the rows without the columns that are levels of others, whose hierarchies have them.

    A row that lacks such a value counts. Raises InputError where rows contradict the rule, or two such columns do not nest.
    """
    names = {name: attribute.level_of for name, attribute in reading.attributes.items() if attribute.level_of}
    if not names:
        return reading, rows
    complete, attributes, levels = reading.complete(rows), dict(reading.attributes), dict(reading.levels)
    for base in dict.fromkeys(names.values()):
        labels = {column: reading.labels(column, rows) for column in (base, *names) if names.get(column, base) == base}
        columns = [base, *sorted({*labels} - {base}, key=lambda column: (-len({*labels[column]}), column))]
        codes = np.unique(np.stack([rows.codes[column][complete] for column in columns]), axis=1)
        paths = {tuple(labels[column][code] for column, code in zip(columns, path)) for path in codes.T.tolist()}
        whole, meanings, places = _whole(reading.source.name, columns, paths), dict(attributes[base].values), [0]
        for place, column in enumerate(columns[1:], 1):
            other_names = {path[places[-1]]: path[place] for path in whole if path[places[-1]] != path[place]}
            is_copy = len({path[places[-1]] for path in whole}) == len({path[place] for path in whole})
            if is_copy and not other_names.keys() & meanings.keys():
                meanings |= other_names
            else:
                places.append(place)
            levels[column] = base, len(places) - 1
        above = {path[0]: [path[place] for place in places] for path in whole}
        try:
            hierarchy = Hierarchy.from_rows([(*above[label], SUPPRESSED) for label in in_order(above)])
        except HierarchyError as error:
            raise InputError(f"the levels {', '.join(columns)} of {reading.source.name}: {error}") from None
        attributes[base] = replace(attributes[base], hierarchy=hierarchy, values=meanings)
    kept = {name: attribute for name, attribute in attributes.items() if name not in names}
    values, places = ({name: of for name, of in parts.items() if name in kept} for parts in (rows.values, rows.codes))
    return replace(reading, attributes=kept, levels=levels), replace(rows, values=values, codes=places)


def _whole(source: str, columns: list[str], paths: Collection[tuple[str | None, ...]]) -> set[tuple[str, ...]]:
    """Return the combinations that lack no value, one for each base value. Raises InputError where there are several."""
    base_values = {path[0] for path in paths} - {MISSING}
    whole = {tuple(map(str, path)) for path in paths if None not in path and path[0] != MISSING}
    for place, column in enumerate(columns[:-1]):
        from_here = {path[place:] for path in whole}
        if several := len(from_here) - len({path[0] for path in from_here}):
            raise InputError(
                f"{columns[place + 1]!r} of {source} does not follow from {column!r}: values of {column!r} have several, "
                f"{several:,} too many in all. Leave out level_of, or mend the rows"
            )
    if lacking := len(base_values) - len({path[0] for path in whole}):
        raise InputError(
            f"no row of {source} says which of {', '.join(columns[1:])} follows from {lacking:,} of the values of "
            f"{columns[0]!r}. Leave out level_of, or mend the rows"
        )
    return whole

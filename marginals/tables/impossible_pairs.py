"""Pairs of values that nobody has, as a steward declares them beside a table: reading and comparison with its rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from checks.impossible import ImpossiblePair, excluded_cells
from marginals.errors import InputError
from marginals.keys import FLAG, TEXTS
from marginals.tables.attribute import Attribute, Role
from marginals.tables.table import Table
from models.errors import MarginalsError


def confirmed_pairs(
    entries: Sequence[Mapping[str, Any]], attributes: Mapping[str, Attribute]
) -> tuple[ImpossiblePair, ...]:
    """Pairs that somebody confirmed to be general knowledge. Raises InputError for an entry that is none."""
    pairs = []
    for number, entry in enumerate(entries, 1):
        where = f"data.impossible (entry {number})"
        labels = dict(entry)
        is_confirmed = FLAG.check(f"{where}.confirmed", labels.pop("confirmed", False))
        if len(labels) != 2:
            raise InputError(f'{where} names {len(labels)} columns, not two: write a = ["a1"] and b = ["b1", "b2"]')
        for name, texts in labels.items():
            role = attributes[name].role if name in attributes else None
            if role is not Role.QUASI_IDENTIFIER:
                description = "no column with a role" if role is None else f"a column of the role {role.value!r}"
                raise InputError(
                    f"{where} names {name!r}, {description}; impossible pairs are of two quasi-identifiers"
                )
            if not TEXTS.check(f"{where}.{name}", texts):
                raise InputError(f"{where}.{name} has no label")
        if is_confirmed and len({attributes[name].level_of or name for name in labels}) == 1:
            raise InputError(f"{where} names a column and its own level, whose rule the rows give; remove the entry")
        if is_confirmed:
            pairs.append({name: tuple(texts) for name, texts in labels.items()})
    return tuple(pairs)


def check_pairs(table: Table, pairs: Sequence[ImpossiblePair]) -> None:
    """Raise InputError for a pair with a label that the table does not have, or that its rows contradict."""
    domain = table.domain
    for pair in pairs:
        names = " and ".join(map(repr, pair))
        try:
            (excluded,) = excluded_cells(domain, [pair])
        except MarginalsError as error:
            raise InputError(f"data.impossible, the entry of {names}: {error}") from None
        counted = table.whole.cube.table(domain.mask(excluded.levels))
        if excluded.cells[*(counted.column(name, level) for name, level in excluded.levels.items())].any():
            raise InputError(
                f"data.impossible, the entry of {names}: the table has rows with these labels; remove the entry, or mend "
                "the rows"
            )

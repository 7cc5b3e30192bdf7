"""Attackers: which tables of people they may hold, and how they look people up in them (LSFB09 sections 3.2 and 6).

They look a disclosed record up in their dictionary, or first link it with public records and look up what both say together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from checks.risk.attackers import Records, RecordSpace
from checks.risk.harm import Links, as_distribution, uniform_links
from marginals.errors import InputError
from marginals.later import pd
from marginals.tables.attribute import Attribute, Role
from marginals.tables.distinct_rows import factorized
from marginals.tables.group_names import GroupNaming
from marginals.tables.levels import attribute_ladder
from marginals.tables.source import TableSource
from marginals.tables.table import Rows
from marginals.tables.values import NumberFormat, base_text
from models.arrays import IndexArray
from models.frozen import frozen
from models.tables.generalized_cells import Taxonomy
from models.tables.hierarchy import SUPPRESSED, Domain, Hierarchy


@frozen(eq=False)
class PeopleTable:
    """A named table with one row a person. identifier: its column that names people. missing: texts for no value.

    is_row_by_row: whether its rows are about the people of the disclosed table, in the same order.
    """

    name: str
    frame: "pd.DataFrame" = field(repr=False)
    identifier: str | None = None
    missing: frozenset[str] = frozenset({""})
    is_row_by_row: bool = False
    decimal: str = "."

    @classmethod
    def of_rows(cls, rows: Rows) -> "PeopleTable":
        """Take the columns of the table that is disclosed."""
        identifier = next((name for name, role in rows.roles.items() if role is Role.IDENTIFIER), None)
        return cls("the table", rows.frame, identifier, rows.no_value, is_row_by_row=True, decimal=rows.decimal)

    @classmethod
    def of_quasi_identifiers(cls, rows: Rows) -> "PeopleTable":
        """The knowledge of an attacker who knows the quasi-identifiers of everybody in the table that is disclosed."""
        columns = [name for name, role in rows.roles.items() if role in (Role.QUASI_IDENTIFIER, Role.IDENTIFIER)]
        return replace(cls.of_rows(rows), name="the table's quasi-identifiers", frame=rows.frame[columns])

    def __len__(self) -> int:
        return len(self.frame)

    def shared_columns(self, attributes: Iterable[str]) -> tuple[str, ...]:
        """Return the attributes that it has a column for."""
        return tuple(name for name in attributes if name in self.frame.columns)

    def check(self, domain: Domain) -> None:
        """Raise InputError for a column that is a level of an attribute, since attributes alone are looked up."""
        for name, (attribute, _) in domain.named_places.items():
            if name != attribute and name in self.frame.columns and not self.is_row_by_row:
                raise InputError(
                    f"column {name!r} of {self.name} is a level of {attribute!r}, so nobody would be looked up by it. Write "
                    f"its values into the column {attribute!r} where that has none, and leave it out"
                )

    def values(self, column: str) -> tuple[str, ...]:
        """The different values of a column; none if there is no such column."""
        if column not in self.frame.columns:
            return ()
        return tuple(factorized(self.frame[column], {*self.missing, SUPPRESSED})[1])

    def records(self, space: RecordSpace) -> Records:
        """Return its rows as records, each label at the lowest level that has it. Raises InputError for an unknown label."""
        nodes = np.tile(space.roots, (len(self), 1))
        for axis, (attribute, taxonomy) in enumerate(zip(space.domain.attributes, space.taxonomies)):
            if attribute in self.frame.columns:
                codes, labels = factorized(self.frame[attribute], {*self.missing, SUPPRESSED})
                column = np.append(_nodes(taxonomy, labels, self.decimal), taxonomy.root)[codes]
                if np.any(column < 0):
                    row = int(np.argmax(column < 0)) + 1
                    raise InputError(
                        f"column {attribute!r} of {self.name}: the value in row {row} is in no level of its hierarchy"
                    )
                nodes[:, axis] = column
        return Records(space, nodes)

    def rows_about(self, people: "PeopleTable") -> IndexArray:
        """Row here about the same person as each row of another table, -1 for none: shape (len(people),)."""
        if self.is_row_by_row and people.is_row_by_row:
            return np.arange(len(people))
        if people.identifier is None:
            raise InputError(f"{people.name} has no column that identifies people")
        sought = people._identifiers(people.identifier)
        return np.asarray(pd.Index(self._identifiers(people.identifier)).get_indexer(pd.Index(sought)))

    def _identifiers(self, column: str) -> NDArray[np.object_]:
        if column not in self.frame.columns:
            raise InputError(f"{self.name} has no column {column!r}, which identifies people")
        codes, labels = factorized(self.frame[column], set())
        if np.any(codes < 0) or len(labels) < len(codes):
            raise InputError(f"the column {column!r} of {self.name} must name each person once")
        return np.array(labels, dtype=object)[codes]


def _nodes(taxonomy: Taxonomy, labels: Sequence[str], decimal: str) -> IndexArray:
    # Of each label, or of the number or date that it spells; -1 if there is none.
    # Read from the top down, so that the lowest of equal labels stays.
    node_of = {label: node for node, label in reversed(list(enumerate(taxonomy.labels)))}
    spelled = (label if label in node_of else base_text(label, decimal) for label in labels)
    return np.array([node_of.get(label, -1) for label in spelled], dtype=np.intp)


@frozen
class Linkage:
    """Public records that attackers link with disclosed ones. columns: those of its columns that enlarge the records."""

    public: PeopleTable
    columns: tuple[str, ...] = ()

    def check(self, domain: Domain) -> None:
        """Raise InputError if nothing can be linked with a table over this domain, or a column adds nothing to it."""
        if not self.public.shared_columns(domain.attributes):
            raise InputError(f"{self.public.name} has no column of the table's, so nothing could be linked with it")
        for column in self.columns:
            if column in domain.named_places:
                raise InputError(
                    f"risk.linkage.columns names {column!r}, which the table has; linking adds no column to it"
                )
            if not self.public.values(column):
                raise InputError(f"risk.linkage.columns names {column!r}, of which the linked table has no value")

    def enlarged_space(self, domain: Domain, dictionaries: Sequence[PeopleTable]) -> RecordSpace:
        """The records of a domain with the added columns, flat over the values that the public table and these have."""
        hierarchies = dict(domain.items())
        for column in self.columns:
            values = {value for table in (self.public, *dictionaries) for value in table.values(column)}
            hierarchies[column] = Hierarchy.flat(sorted(values))
        return RecordSpace(Domain.of(hierarchies))

    def links(self, disclosed: Records, public: Records, people: PeopleTable) -> Links:
        """Links of each disclosed record with all public ones that fit it; without identifiers every link is right."""
        links = uniform_links(disclosed, public)
        if people.identifier is None or self.public.identifier is None:
            return links
        return replace(links, right=self.public.rows_about(people)[links.disclosed] == links.public)


@frozen
class Attackers:
    """Attackers who hold one of some dictionaries, with the probabilities `prior`."""

    dictionaries: tuple[PeopleTable, ...]
    prior: tuple[float, ...] = (1.0,)
    linkage: Linkage | None = None

    def __post_init__(self) -> None:
        as_distribution(np.asarray(self.prior, dtype=np.float64), len(self.dictionaries), "dictionary")

    @property
    def tables(self) -> tuple[PeopleTable, ...]:
        """Tables that they look into."""
        return self.dictionaries if self.linkage is None else (*self.dictionaries, self.linkage.public)

    def check(self, domain: Domain) -> None:
        """Raise InputError if they could find nobody in a table over this domain, or nothing to link with it."""
        for table in self.tables:
            table.check(domain)
        for dictionary in self.dictionaries:
            if not dictionary.shared_columns(domain.attributes):
                raise InputError(f"{dictionary.name} has no column of the table's, so nobody could be found in it")
        if self.linkage is not None:
            self.linkage.check(domain)


def with_values_of(source: TableSource, k: int, rows: Rows, others: Sequence[PeopleTable]) -> Rows:
    """The rows over hierarchies that hold the values of other tables too, if hierarchies are made from values.

    k: with which fitted ladders begin; one with values that no row has is fitted again. Intervals, dates and prefixes take
    values of their kind.
    """
    domain, hierarchies, source = rows.domain, dict(rows.domain.items()), source.with_levels()
    for name, hierarchy in hierarchies.items():
        attribute = source.attributes[name]
        if attribute.hierarchy is None and name not in source.ladders:
            base_values = {*hierarchy.labels[0], *_values_beside(attribute, name, hierarchy, others)}
            if len(base_values) > hierarchy.size(0):
                hierarchies[name] = _wider(attribute, rows, name, base_values, k)
    wider = Domain.of(hierarchies)
    if wider == domain:
        return rows
    codes = {a: wider.hierarchy(a).codes(domain.hierarchy(a).labels[0], 0)[c] for a, c in rows.codes.items()}
    return replace(rows, domain=wider, codes=codes)


def _values_beside(
    attribute: Attribute, name: str, hierarchy: Hierarchy, others: Sequence[PeopleTable]
) -> Iterable[str]:
    labels = {label for level in hierarchy.labels for label in level}
    has_spellings = bool(attribute.dates) or NumberFormat.of(hierarchy.labels[0]) is not None
    for other in others:
        for value in factorized(other.frame[name], {"", SUPPRESSED})[1] if name in other.frame.columns else ():
            text = base_text(value, other.decimal) if has_spellings and value not in labels else value
            if attribute.intervals or attribute.dates:
                is_base_value = attribute.base_value(text) == text
            else:
                is_base_value = not attribute.prefixes or SUPPRESSED not in text
            if text not in labels and is_base_value:
                yield text


def _wider(attribute: Attribute, rows: Rows, name: str, base_values: set[str], k: int) -> Hierarchy:
    wider = attribute.hierarchy_of(base_values)
    if not attribute.is_fitted:
        return wider
    codes = wider.codes(rows.domain.hierarchy(name).labels[0], 0)
    counts = np.bincount(codes[rows.codes[name]], minlength=wider.size(0)).astype(np.int64)
    return attribute_ladder(GroupNaming.of(name, attribute, wider), counts, k)

"""Attackers: which tables of people they may hold, and how they look people up in them (LSFB09 sections 3.2 and 6).

They look a disclosed record up in their dictionary, or first link it with public records and look up what both say
together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from checks.risk.approximate_consistency import AlikeValues
from checks.risk.dictionary import Dictionary
from checks.risk.linkage import Links, uniform_links
from checks.risk.loss import as_distribution
from checks.risk.record import Records, RecordSpace
from marginals.errors import InputError
from marginals.risk.people_table import PeopleTable
from marginals.risk.similarity import Similarity, alike_values
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class Linkage:
    """Public records that attackers link with disclosed ones. columns: those of its columns that enlarge the records."""

    public: PeopleTable
    columns: tuple[str, ...] = ()

    def check(self, domain: Domain) -> None:
        """Raise InputError where nothing can be linked with a table over this domain, or a column adds nothing to it."""
        if not self.public.shared_columns(domain.attributes):
            raise InputError(f"{self.public.name} has no column of the table's, so nothing could be linked with it")
        for column in self.columns:
            if column in domain.attributes:
                raise InputError(
                    f"risk.linkage.columns names {column!r}, which the table has; linking adds no column to it"
                )
            if column not in self.public.frame.columns:
                raise InputError(f"risk.linkage.columns names {column!r}, which is no column of the linked table")
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
        """Links of each disclosed record with all public ones that fit it, all equally likely.

        people: whom the disclosed records are about, row by row. A link is right where identifiers say so; without
        identifiers every link is taken to be right. Raises InputError for identifiers that name a person twice,
        DisclosureRuleError for too many links.
        """
        links = uniform_links(disclosed, public)
        if people.identifier is None or self.public.identifier is None:
            return links
        return replace(links, right=self.public.rows_about(people)[links.disclosed] == links.public)


@dataclass(frozen=True)
class Attackers:
    """Attackers who hold one of some dictionaries.

    dictionaries: tables of people. prior: the probability of each. linkage: what attackers link with disclosed records
    before they look for people, None for nothing. similarity: which values they take for the same. Raises
    DisclosureRuleError where the prior is not one probability for each dictionary, 1 in all.
    """

    dictionaries: tuple[PeopleTable, ...]
    prior: tuple[float, ...] = (1.0,)
    linkage: Linkage | None = None
    similarity: Similarity = field(default_factory=Similarity)

    def __post_init__(self) -> None:
        as_distribution(np.asarray(self.prior, dtype=np.float64), len(self.dictionaries), "dictionary")

    @property
    def tables(self) -> tuple[PeopleTable, ...]:
        """All tables that they look into."""
        return self.dictionaries if self.linkage is None else (*self.dictionaries, self.linkage.public)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that linking adds to what is disclosed."""
        return () if self.linkage is None else self.linkage.columns

    def check(self, domain: Domain) -> None:
        """Raise InputError where they could find nobody in a table over this domain, or nothing to link with it."""
        for dictionary in self.dictionaries:
            if not dictionary.shared_columns(domain.attributes):
                raise InputError(f"{dictionary.name} has no column of the table's, so nobody could be found in it")
        if self.linkage is not None:
            self.linkage.check(domain)

    def alike(self, records: Records, dictionary: Dictionary) -> Mapping[int, AlikeValues]:
        """By position of the attribute the values that they take for the same. Raises InputError without rapidfuzz."""
        compared = [name for name in self.similarity.attributes if name in records.space.domain.attributes]
        return alike_values(records, dictionary, compared, self.similarity.threshold)

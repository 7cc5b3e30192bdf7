"""Record linkage: an attacker first joins a disclosed record with a public one, then looks for the person (LSFB09 6).

The enlarged record y v z shows in each attribute the finer of both values. It is more sensitive than what was disclosed,
and tells more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from checks.risk.approximate_consistency import AlikeValues, approximate_counts
from checks.risk.dictionary import Dictionary
from checks.risk.errors import DisclosureRuleError
from checks.risk.loss import Harm, expected
from checks.risk.record import Records
from checks.risk.sensitivity import product
from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.join import match, match_size
from models.tables.mixed_radix import pack

MAX_LINKS = 20_000_000
"""Pairs of a disclosed and a public record that are laid out."""


@dataclass(frozen=True, eq=False)
class Links:
    """What an attacker links: numbers of disclosed and of public records, and p(z | y): shape (links,) each.

    right: whether both are about one person (the paper's W); taken for granted where nothing is said. Raises
    DisclosureRuleError where the probabilities of a record are negative or exceed 1 in all.
    """

    disclosed: IndexArray
    public: IndexArray
    probability: FloatArray
    right: BoolArray = field(default_factory=lambda: np.ones(0, dtype=bool))

    def __post_init__(self) -> None:
        if not len(self.right):
            object.__setattr__(self, "right", np.ones(len(self.disclosed), dtype=bool))
        if not len(self.disclosed) == len(self.public) == len(self.probability) == len(self.right):
            raise DisclosureRuleError("links need a disclosed and a public record and a probability each")
        totals = np.bincount(self.disclosed, self.probability)
        if np.any(self.probability < 0) or np.any(totals > 1 + 1e-9):
            raise DisclosureRuleError("the links of a record need probabilities that sum to at most 1")


def uniform_links(disclosed: Records, public: Records) -> Links:
    """Each disclosed record linked with each consistent public one, all equally likely.

    Raises DisclosureRuleError for more than MAX_LINKS pairs.
    """
    left, right, size = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)], 0
    radices = (disclosed.space.roots + 1).tolist()
    for own, rows in disclosed.by_levels():
        for other, entries in public.by_levels():
            shared = np.maximum(own, other)
            both = np.concatenate(
                [disclosed[rows].generalized(shared).nodes, public[entries].generalized(shared).nodes]
            )
            keys, _ = pack(list(both.T), radices, len(both))
            ours, theirs = keys[: len(rows)], keys[len(rows) :]
            size += match_size(ours, theirs)
            if size > MAX_LINKS:
                raise DisclosureRuleError(f"more than {MAX_LINKS} pairs of records could be linked")
            first, second = match(ours, theirs)
            left.append(rows[first])
            right.append(entries[second])
    record = np.concatenate(left)
    fitting = np.bincount(record, minlength=len(disclosed))
    return Links(record, np.concatenate(right), 1.0 / fitting[record])


def enlarged(disclosed: Records, public: Records) -> Records:
    """The finer value of each pair, record by record. Raises DisclosureRuleError where two contradict each other."""
    if not disclosed.is_consistent_with(public).all():
        raise DisclosureRuleError("a disclosed record is linked with a public one that contradicts it")
    return Records(disclosed.space, np.where(disclosed.levels <= public.levels, disclosed.nodes, public.nodes))


NOTHING_ALIKE: Mapping[int, AlikeValues] = MappingProxyType({})
"""Values agree when they are equal or one is over the other."""


def linkage_losses(
    disclosed: Records,
    public: Records,
    links: Links,
    dictionary: Dictionary,
    harm: Harm,
    alike: Mapping[int, AlikeValues] = NOTHING_ALIKE,
) -> FloatArray:
    """The expected loss of each disclosed record: over its links, as it is where it is not linked: shape (records,).

    A link that is not right misses the person. alike: by position of the attribute, values of records, disclosed or
    public, and of the dictionary that agree when the person is looked for.
    """
    people = np.arange(len(disclosed))
    joined = enlarged(disclosed[links.disclosed], public[links.public])
    of_right_links = harm.loss(joined, links.disclosed, approximate_counts(joined, dictionary, alike))
    missed = harm.missed(disclosed, people)[links.disclosed]
    of_links = product(links.probability, np.where(links.right, of_right_links, missed))
    linked = np.bincount(links.disclosed, links.probability, minlength=len(disclosed))
    unlinked = np.where(np.isclose(linked, 1.0), 0.0, 1.0 - linked)
    alone = harm.loss(disclosed, people, approximate_counts(disclosed, dictionary, alike))
    return np.bincount(links.disclosed, of_links, minlength=len(disclosed)) + product(unlinked, alone)


def linkage_risk(disclosed: Records, public: Records, links: Links, dictionary: Dictionary, harm: Harm) -> float:
    """R_link(delta, theta): the mean of these losses."""
    return expected(linkage_losses(disclosed, public, links, dictionary, harm))

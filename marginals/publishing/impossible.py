"""Impossible pairs in a release: their published form, and a narrower search if they let readers conclude more.

A release is published only if the pairs add nothing to its tables. Either the tables show each pair as 0, or published
values are so coarse that none is excluded. So neither publisher nor readers need a program to judge the release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from operator import or_

from checks.errors import CriterionError
from checks.impossible import ImpossiblePair, are_shown_as_empty, excluded_cells, stated_pairs
from marginals.bundle.content import BundleContent
from marginals.errors import NothingPublishableError
from marginals.publishing.searching import Prepared, Search
from marginals.tables.group_names import NamedLevels
from models.graphs.junction_tree import Collection, maximal_masks
from models.tables.hierarchy import Domain


def released_pairs(
    chosen: Collection, pairs: Sequence[ImpossiblePair], named: Mapping[str, NamedLevels], domain: Domain
) -> tuple[ImpossiblePair, ...]:
    """The pairs by the labels of a release at the finest published levels. domain: that of the release."""
    released = []
    for levels, entries in stated_pairs(chosen, pairs):
        if any(level == chosen.domain.hierarchy(name).height for name, level in levels.items()):
            continue
        for entry in entries:
            labels = {}
            for (name, level), codes in zip(levels.items(), entry):
                old = named[name].hierarchy if name in named else chosen.domain.hierarchy(name)
                texts, published = (old.labels[level][code] for code in codes), domain.hierarchy(name).labels[:-1]
                labels[name] = tuple(text for text in texts if any(text in labels for labels in published))
            released += [labels] if all(labels.values()) else []
    return tuple(released)


def opened_pairs(prepared: Prepared, chosen: Collection, published: BundleContent) -> list[list[ImpossiblePair]]:
    """The pairs from which readers conclude more than from the published margins, grouped by their two attributes."""
    groups: dict[frozenset[str], list[ImpossiblePair]] = {}
    for pair in prepared.table.impossible:
        groups.setdefault(frozenset(pair), []).append(pair)
    opened = [group for group in groups.values() if not _add_nothing(group, chosen, published)]
    if opened or _add_nothing(prepared.table.impossible, chosen, published):
        return opened
    return [*groups.values()]


def _add_nothing(pairs: Sequence[ImpossiblePair], chosen: Collection, published: BundleContent) -> bool:
    try:
        return all(published.without_impossible(claim, pairs, chosen) is chosen for claim in published.claims)
    except CriterionError:
        return False


def narrowed(prepared: Prepared, search: Search, opened: Sequence[Sequence[ImpossiblePair]]) -> Prepared:
    """Demand a table that shows these pairs as 0, or hide values. Raises NothingPublishableError if neither helps."""
    policy, table = prepared.policy, prepared.table
    must, must_not = [*policy.must_publish], [*policy.must_not_publish]
    for pairs in opened:
        if policy.base in ("auto", "none") and (margin := _showing_as_empty(prepared, search, pairs, must)) is not None:
            must.append(margin)
            continue
        names = sorted(pairs[0], key=lambda name: table.cube.entropy(table.domain.mask({name: 0})))
        demanded = reduce(or_, map(table.domain.mask, must), 0)
        levels = [(name, _harmless_level(table.domain, pairs, name)) for name in names]
        levels += [(name, table.domain.hierarchy(name).height) for name in names]
        withheld = ({name: level - 1} for name, level in levels)
        possible = [margin for margin in withheld if margin not in must_not and table.domain.mask(margin) & ~demanded]
        if not possible:
            raise NothingPublishableError(
                f"the impossible pairs of {' and '.join(map(repr, pairs[0]))} would let readers conclude more than the "
                "claims allow; give one of the two the role ignored, or coarser levels"
            )
        must_not.append(possible[0])
    policy = replace(policy, must_publish=must, must_not_publish=must_not, time_limit=policy.time_limit / 2)
    return replace(prepared, policy=policy)


def _showing_as_empty(
    prepared: Prepared, search: Search, pairs: Sequence[ImpossiblePair], must: Sequence[Mapping[str, int]]
) -> Mapping[str, int] | None:
    cube, domain, allows = prepared.table.cube, prepared.table.domain, search.problem.constraint
    levels = product(*(range(domain.hierarchy(name).height) for name in pairs[0]))
    margins = sorted((dict(zip(pairs[0], some)) for some in levels), key=lambda some: -cube.entropy(domain.mask(some)))
    for margin in margins:
        required = maximal_masks([domain.mask(margin), *map(domain.mask, must)])
        is_allowed = Collection.of(cube, required).is_decomposable and allows(required, 0) is None
        if is_allowed and margin not in must and are_shown_as_empty(Collection.of(cube, [domain.mask(margin)]), pairs):
            return margin
    return None


def _harmless_level(domain: Domain, pairs: Sequence[ImpossiblePair], name: str) -> int:
    (excluded,) = excluded_cells(domain, pairs)
    height = domain.hierarchy(name).height
    levels = range(excluded.levels[name] + 1, height)
    return next((level for level in levels if not excluded.at_level(domain, name, level).cells.any()), height)

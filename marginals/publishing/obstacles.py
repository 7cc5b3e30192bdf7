"""What stands in the way of a release, in words: of an attribute, of a margin that must be published, of the whole policy.

Values of the table are named only to its steward, and even then only those that tell of nobody: a value that k rows have,
or a number of at most three digits, such as an age or a number of children. A rare text may be a name, a long number a key.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, product
from math import isfinite

from checks.claims import MinCell
from checks.classes import nonsensitive_part
from checks.finding import Finding
from checks.requirements import Requirements
from marginals.criteria import criterion_reached
from marginals.errors import NothingPublishableError
from marginals.names import level_name, margin_in_words, number_of
from marginals.tables.intervals import interval
from marginals.tables.table import Table
from models.arrays import CountArray
from models.graphs.junction_tree import maximal_masks
from models.search.problem import Constraint
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Mask

_TRIED = 400
"""Coarser margins that are looked at for one that would pass."""

_LISTED = 100_000
"""Coarser margins among which those nearest to a margin are looked for."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_MERGES = 'ladder = "fitted" does it'
"""What merges rare values."""

_SHORT = re.compile(r"-?[0-9]{1,3}")


def as_written(margin: Mapping[str, int]) -> str:
    """A margin as a config has it: `{ age = 1, sex = 0 }`."""
    keys = {a: a if _BARE_KEY.fullmatch(a) else json.dumps(a, ensure_ascii=False) for a in margin}
    return f"{{ {', '.join(f'{keys[attribute]} = {level}' for attribute, level in margin.items())} }}"


@dataclass(frozen=True, eq=False)
class Obstacles:
    """What a policy refuses of a table. allows: the constraint of its search, which judges margins as it does."""

    table: Table
    requirements: Requirements
    allows: Constraint

    @property
    def k(self) -> int:
        """Rows that every class must have."""
        return self.requirements.class_size or 1

    def of_attribute(self, attribute: str, published: Sequence[Mask], naming: bool = True) -> str:
        """Why nothing is published of an attribute, and what to do. published: the margins that are.

        naming: whether values of the table may be named, as the module says; else they are only counted.
        """
        domain = self.table.domain
        level = domain.hierarchy(attribute).height - 1
        level_mask = domain.mask({attribute: level})
        refusal = self.allows([level_mask], 0)
        if refusal is None:
            together = self.allows(maximal_masks([*published, level_mask]), 0)
            if together is not None:
                return f"it would pass by itself, but not beside what is published: {together.reason}"
            return "it would pass, but the search ended without it; give it more time_limit, or name it in must_publish"
        if self._has_rare_values(attribute, level_mask):
            return self._rare_values(attribute, level, naming)
        unmet = unmet_demands(self.table.cube.table(level_mask), self.requirements)
        if attribute in self.table.sensitive and unmet:
            return f"{'; '.join(unmet)}; weaken that, or leave the column out"
        return refusal.reason

    def _has_rare_values(self, attribute: str, mask: Mask) -> bool:
        """Whether a value of an attribute has too few rows: of a sensitive one where every cell is counted."""
        least = self.requirements.cell_size if attribute in self.table.sensitive else self.k
        return least is not None and self.table.cube.counts(mask).min(initial=least) < least

    def _rare_values(self, attribute: str, level: int, naming: bool) -> str:
        hierarchy = self.table.domain.hierarchy(attribute)
        counted = self.table.cube.table(self.table.domain.mask({attribute: level}))
        labels, counts = [hierarchy.labels[level][code] for code in counted.codes[0]], counted.counts
        rare, rarest = int((counts < self.k).sum()), int(counts.argmin())
        least, name = int(counts[rarest]), labels[rarest]
        named = naming and self._tells_of_nobody(name, least)
        what = "value" if level == 0 else "group"
        whole = f"{'' if level == 0 else f'even in {level_name(attribute, hierarchy, level)} '}"
        if rare == len(counts):
            reason = (
                f"{whole}none of its {rare:,} {what}s has {self.k:,} rows"
                if rare > 1
                else f"it has {number_of(least, 'row')}"
            )
            return f"{reason}; put them into larger groups ({_MERGES}), or leave the column out"
        if rare == 1:
            reason = (
                f"its {what} {name} has {number_of(least, 'row')}"
                if named
                else f"one of its {what}s has {number_of(least, 'row')}"
            )
            reason += f", fewer than {self.k:,}"
        else:
            reason = f"{rare:,} of its {len(counts):,} {what}s have fewer than {self.k:,} rows"
            reason += f" ({name if named else 'the rarest'} has {least:,})"
        remedy = self._merging(labels, counts) or f"put the rare ones into larger groups ({_MERGES})"
        return f"{whole}{reason}; {f'{remedy}, or ' if len(counts) > 2 else ''}leave the column out"

    def _merging(self, labels: Sequence[str], counts: CountArray) -> str | None:
        """Which ends of a scale to merge so that each value has k rows; None for values that are on no scale.

        The values named have k rows each: they are the ends of the longest stretch of such values.
        """
        places = [_place(label) for label in labels]
        if None in places:
            return None
        order = sorted(range(len(labels)), key=lambda number: places[number] or Decimal(0))
        rows = [int(counts[number]) for number in order]
        first, last = _core(rows, self.k)
        if last - first < 2:
            return None
        low, high = labels[order[first]], labels[order[last - 1]]
        ends = [f"below {low}"] * bool(first) + [f"above {high}"] * (last < len(rows))
        return f"merge the values {' and those '.join(ends)} ({_MERGES})"

    def _tells_of_nobody(self, label: str, rows: int) -> bool:
        return rows >= self.k or _SHORT.fullmatch(label) is not None

    def of_margin(self, mask: Mask, fixed: Container[str] = ()) -> "RefusedMargin | None":
        """Why a margin may not be published by itself, and a coarser one that may; None for one that may be.

        fixed: attributes whose level must stay.
        """
        refusal = self.allows([mask], 0)
        if refusal is None:
            return None
        cube, sensitive = self.table.cube, self.table.sensitive
        unmet = unmet_demands(cube.table(mask), self.requirements)
        tried = islice(self._coarser(mask, fixed), _TRIED)
        coarser = next((margin for margin in tried if margin and self.allows([margin], 0) is None), None)
        domain = self.table.domain
        if coarser is not None:
            levels = domain.levels(coarser)
            chosen = {a: levels[a] for a in domain.margin(mask) if a not in fixed}
            passing_levels = {a: level for a, level in domain.margin(coarser).items() if a not in fixed}
            instead = f"it would pass as {margin_in_words(passing_levels, domain)}: {as_written(chosen)}"
        else:
            instead = "no coarser one that was tried would pass"
        classes = cube.table(nonsensitive_part(domain, mask, sensitive))
        smallest = self._smallest(classes) if len(classes) and classes.counts.min() < self.k else ""
        return RefusedMargin(f"{'; '.join(unmet) or refusal.reason}; {instead}", smallest)

    def refusal(self, mask: Mask, name: str, fixed: Container[str] = ()) -> NothingPublishableError:
        """The error for a margin that is refused by itself. name: what demands it, with its levels."""
        refused = self.of_margin(mask, fixed)
        if refused is None:
            return NothingPublishableError(f"{name} cannot be published")
        return NothingPublishableError(f"{name} cannot be published: {refused.reason}", refused.smallest)

    def _coarser(self, mask: Mask, fixed: Container[str]) -> Iterator[Mask]:
        """Coarser margins, those first that keep all attributes, and of these those with the fewest steps up."""
        domain = self.table.domain
        margin = domain.margin(mask)
        heights = [domain.hierarchy(attribute).height for attribute in margin]
        ranges = [
            range(level, level + 1 if attribute in fixed else height + 1)
            for (attribute, level), height in zip(margin.items(), heights)
        ]
        nodes = sorted(
            islice(product(*ranges), _LISTED),
            key=lambda node: (sum(level == height for level, height in zip(node, heights)), sum(node)),
        )
        masks = (domain.mask(dict(zip(margin, node))) for node in nodes[1:])
        yield from (coarser for coarser in masks if coarser)

    def _smallest(self, classes: ContingencyTable) -> str:
        """The smallest class, with labels that tell of nobody by themselves; the others are counted."""
        smallest = int(classes.counts.argmin())
        values = []
        for attribute, label in classes.labels(smallest).items():
            level = classes.margin[attribute]
            one_way_table = self.table.cube.table(self.table.domain.mask({attribute: level}))
            rows = one_way_table.counts_of({attribute: classes.column(attribute, level)[[smallest]]})
            named = self._tells_of_nobody(label, int(rows[0]))
            values.append(
                f"{attribute}={label}" if named else f"{attribute}=(a value of {number_of(int(rows[0]), 'row')})"
            )
        return f"The smallest class: {', '.join(values)}; {number_of(int(classes.counts[smallest]), 'row')}."


@dataclass(frozen=True)
class RefusedMargin:
    """Why a margin is not published, without any value of the table; smallest: its smallest class, for the steward alone."""

    reason: str
    smallest: str


def suppressed(table: Table) -> ContingencyTable:
    """The table with every quasi-identifier at `*`."""
    return table.cube.table(table.domain.mask(dict.fromkeys(table.sensitive, 0)))


def no_single_table(table: Table, requirements: Requirements) -> str:
    """That no single table satisfies the requirements, and what all its rows together fail of them, by how much."""
    unmet = unmet_demands(suppressed(table), requirements)
    told = "no single table satisfies the policy, not even one with all quasi-identifiers suppressed"
    return told + (f" ({'; '.join(unmet)})" if unmet else "")


def unmet_demands(table: ContingencyTable, requirements: Requirements) -> list[str]:
    """What a single table fails of the requirements, and by how much; empty where it satisfies them. No label is named."""
    sensitive = tuple(a for a in requirements.sensitive if a in table.margin)
    public = {a: level for a, level in table.margin.items() if a not in sensitive}
    sizes = table.rolled_up(public).counts
    unmet = []
    for finding in requirements.of_table(table):
        if finding.holds:
            continue
        if finding.criterion == MinCell.criterion:
            unmet.append(_small_cells(table, requirements))
        elif "k" in finding.parameters:
            unmet.append(_too_small(sizes, requirements))
        else:
            unmet.append(_not_diverse(finding, requirements, len(sizes)))
    return unmet


def _too_small(sizes: CountArray, requirements: Requirements) -> str:
    demands = {"k_link": requirements.k_link or 1, "k_combinatorial": requirements.k_combinatorial or 1}
    k, people = max(demands.values()) * (requirements.rows_per_person or 1), requirements.rows_per_person or 1
    keys = " and ".join(f"{key} = {value}" for key, value in demands.items() if value == k // people)
    keys += _of_whom(requirements)
    if len(sizes) == 1:
        return f"{keys} demands {k:,} rows in every class, and there are {number_of(int(sizes[0]), 'row')} in all"
    small = int((sizes < k).sum())
    have = "has" if small == 1 else "have"
    return (
        f"{keys}: {small:,} of {len(sizes):,} classes {have} fewer than {k:,} rows, the smallest {int(sizes.min()):,}"
    )


def _small_cells(table: ContingencyTable, requirements: Requirements) -> str:
    least = requirements.cell_size or 1
    small = int((table.counts < least).sum())
    return (
        f"min_cell = {requirements.min_cell}{_of_whom(requirements)}: {small:,} of {len(table):,} cells "
        f"{'has' if small == 1 else 'have'} fewer than {least:,} rows, the smallest {int(table.counts.min()):,}"
    )


def _of_whom(requirements: Requirements) -> str:
    rows = requirements.rows_per_person or 1
    return "" if rows == 1 else f" of people with up to {rows:,} rows each"


def _not_diverse(finding: Finding, requirements: Requirements, classes: int) -> str:
    reached = finding.worst_class.reached
    where = "all rows together" if classes == 1 else "the worst class"
    claim = next(claim for claim in requirements.diversity_claims if claim.parameters == finding.parameters)
    said = ""
    if reached is not None and isfinite(reached):
        words = criterion_reached(claim.diversity, reached)
        said = f": {words[:1].lower()}{words[1:]}"
    level = f" at level {claim.level}" if claim.level else ""
    return f'diversity = "{claim.diversity}" fails for {claim.sensitive}{level} in {where}{said}'


def _core(rows: Sequence[int], k: int) -> tuple[int, int]:
    """The stretch with the most rows whose values have k rows each and outside of which 0 or k rows are at either end."""
    best, start = (0, 0), 0
    for end in range(len(rows) + 1):
        if end == len(rows) or rows[end] < k:
            first, last = start, end
            while first < last and 0 < sum(rows[last:]) < k:
                last -= 1
            while first < last and 0 < sum(rows[:first]) < k:
                first += 1
            if sum(rows[first:last]) > sum(rows[best[0] : best[1]]):
                best = first, last
            start = end + 1
    return best


def _place(label: str) -> Decimal | None:
    """Where a number, or an interval of numbers, stands on its scale."""
    numbers = interval(label)
    return numbers.low if numbers is not None and numbers.low.is_finite() else None

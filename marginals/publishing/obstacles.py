"""Obstacles to a release, in words: of an attribute, of a margin that must be published, of the policy itself.

Values of the table are counted and not named.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import isfinite
from operator import eq

from checks.claims import MinCell
from checks.finding import Finding
from checks.requirements import Requirements
from marginals.criteria import criterion_reached
from marginals.errors import NothingPublishableError
from marginals.messages import few
from marginals.names import level_name, margin_in_words, number_of, toml_key
from marginals.tables.table import Table
from models.arrays import CountArray
from models.frozen import frozen
from models.graphs.junction_tree import maximal_masks
from models.search.problem import Constraint
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Domain, Mask

_TRIED = 400  # coarser margins, for one that would pass
_LISTED = 100_000  # coarser margins, for those nearest to a margin
_MERGING = 'put rare ones into larger groups (ladder = "fitted" does it), or leave the column out'


def as_written(margin: Mapping[str, int], domain: Domain) -> str:
    """A margin as a config has it: `{ age = 1, sex = 0 }`."""
    return f"{{ {', '.join(f'{toml_key(name)} = {level}' for name, level in domain.by_names(margin).items())} }}"


@frozen(eq=False)
class Obstacles:
    """Refusals of a policy, with reasons and remedies. allows: the constraint of the search."""

    table: Table
    requirements: Requirements
    allows: Constraint

    def of_attribute(self, attribute: str, published: Sequence[Mask]) -> str:
        """The reason why an attribute is not published, and a remedy. published: the margins that are."""
        domain = self.table.domain
        hierarchy = domain.hierarchy(attribute)
        level = hierarchy.height - 1
        level_mask = domain.mask({attribute: level})
        refusal = self.allows([level_mask], 0)
        if refusal is None:
            together = self.allows(maximal_masks([*published, level_mask]), 0)
            if together is not None:
                return f"it would pass by itself, but not beside what is published: {together.reason}"
            return "it would pass, but the search ended without it; give it more time_limit, or name it in must_publish"
        is_sensitive, counts = attribute in self.table.sensitive, self.table.cube.counts(level_mask)
        least = self.requirements.cell_size if is_sensitive else self.requirements.class_size
        if least is not None and counts.min(initial=least) < least:
            where = f"even in {level_name(attribute, hierarchy, level)} " if level else ""
            of, rare = number_of(len(counts), "group" if level else "value"), int((counts < least).sum())
            have = f"{rare:,} of its {of} {'has' if rare == 1 else 'have'} fewer than {least:,} rows"
            return f"{where}{have}, the rarest {few(int(counts.min()))}; {_MERGING}"
        unmet = unmet_demands(self.table.cube.table(level_mask), self.requirements)
        return f"{'; '.join(unmet)}; weaken that, or leave the column out" if is_sensitive and unmet else refusal.reason

    def refusal(self, mask: Mask, name: str, fixed: Container[str] = ()) -> NothingPublishableError:
        """The error for a margin that is refused by itself: why, and a coarser one that would pass.

        name: what demands it, with its levels. fixed: attributes whose level must stay.
        """
        refusal = self.allows([mask], 0)
        if refusal is None:
            return NothingPublishableError(f"{name} cannot be published")
        domain, cube = self.table.domain, self.table.cube
        unmet = unmet_demands(cube.table(mask), self.requirements)
        tried = islice(self._coarser(mask, fixed), _TRIED)
        coarser = next((margin for margin in tried if margin and self.allows([margin], 0) is None), None)
        instead = "no coarser one that was tried would pass"
        if coarser is not None:
            levels = domain.levels(coarser)
            chosen = {a: levels[a] for a in domain.margin(mask) if a not in fixed}
            passing = {a: level for a, level in domain.margin(coarser).items() if a not in fixed}
            instead = f"it would pass as {margin_in_words(passing, domain)}: {as_written(chosen, domain)}"
        why = "; ".join(unmet) or refusal.reason
        return NothingPublishableError(f"{name} cannot be published: {why}; {instead}")

    def _coarser(self, mask: Mask, fixed: Container[str]) -> Iterator[Mask]:
        domain = self.table.domain
        margin = domain.margin(mask)
        heights = [domain.hierarchy(attribute).height for attribute in margin]
        coarsest = [level if a in fixed else domain.hierarchy(a).height for a, level in margin.items()]
        ranges = [range(level, last + 1) for level, last in zip(margin.values(), coarsest)]
        nodes = sorted(islice(product(*ranges), _LISTED), key=lambda node: (sum(map(eq, node, heights)), sum(node)))
        yield from (domain.mask(dict(zip(margin, node))) for node in nodes[1:])


def suppressed(table: Table) -> ContingencyTable:
    """The table with every quasi-identifier at `*`."""
    return table.cube.table(table.domain.mask(dict.fromkeys(table.sensitive, 0)))


def no_single_table(tables: Iterable[ContingencyTable], requirements: Iterable[Requirements]) -> str:
    """The sentence that not even these suppressed tables satisfy their requirements, with the unmet demands."""
    unmet = dict.fromkeys(demand for pair in zip(tables, requirements) for demand in unmet_demands(*pair))
    failed = f" ({'; '.join(unmet)})" if unmet else ""
    return f"no single table satisfies the policy, not even one with all quasi-identifiers suppressed{failed}"


def unmet_demands(table: ContingencyTable, requirements: Requirements) -> list[str]:
    """The requirements that a single table fails, and by how much; no label is named."""
    sensitive = tuple(a for a in requirements.sensitive if a in table.margin)
    sizes = table.rolled_up({a: level for a, level in table.margin.items() if a not in sensitive}).counts
    people = requirements.rows_per_person or 1
    of_whom = "" if people == 1 else f" of people with up to {people:,} rows each"
    unmet = []
    for finding in requirements.of_table(table):
        if finding.holds:
            continue
        if finding.criterion == MinCell.criterion:
            small = _small("cells", table.counts, requirements.cell_size or 1)
            unmet.append(f"min_cell = {requirements.min_cell}{of_whom}: {small}")
        elif "k" in finding.parameters:
            demands = {"k_link": requirements.k_link or 1, "k_combinatorial": requirements.k_combinatorial or 1}
            k = max(demands.values())
            keys = " and ".join(f"{key} = {value}" for key, value in demands.items() if value == k) + of_whom
            if len(sizes) > 1:
                unmet.append(f"{keys}: {_small('classes', sizes, k * people)}")
            else:
                rows = number_of(int(sizes[0]), "row")
                unmet.append(f"{keys} demands {k * people:,} rows in every class, and there are {rows} in all")
        else:
            unmet.append(_not_diverse(finding, requirements, len(sizes)))
    return unmet


def _small(what: str, counts: CountArray, least: int) -> str:
    small, smallest = int((counts < least).sum()), few(int(counts.min()))
    have = "has" if small == 1 else "have"
    return f"{small:,} of {len(counts):,} {what} {have} fewer than {least:,} rows, the smallest {smallest}"


def _not_diverse(finding: Finding, requirements: Requirements, classes: int) -> str:
    reached = finding.worst_class.reached
    where = "all rows together" if classes == 1 else "the worst class"
    claim = next(claim for claim in requirements.diversity_claims if claim.parameters == finding.parameters)
    measured = ""
    if reached is not None and isfinite(reached):
        whose = f"{', '.join(finding.worst_class.values)} " if finding.worst_class.values else ""
        measured = f": {whose}{criterion_reached(claim.diversity, reached)}"
    level = f" at level {claim.level}" if claim.level else ""
    return f'diversity = "{claim.diversity}" fails for {claim.sensitive}{level} in {where}{measured}'

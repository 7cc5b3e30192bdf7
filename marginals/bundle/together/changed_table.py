"""Releases of a table that changed in between: which can be of one table, and what each two tables tell of the change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from checks.changes.difference import CRITERION, CellDifference, difference
from checks.changes.meets import Narrowing, every_cell
from checks.claims.count_claim import CountClaim
from checks.finding import Algorithm, Finding, Verdict
from marginals.bundle.agreement import union
from marginals.bundle.content import BundleContent
from marginals.bundle.together.overlaps import LabelOverlaps, label_overlaps
from marginals.conditions.part import Part, inside_all
from marginals.errors import BundleError, IncompatibleReleasesError
from models.graphs.collection import Collection

Bundles = Sequence[tuple[str, BundleContent]]

_ALIKE = "a label is taken to mean the same in both"


@dataclass(frozen=True, eq=False)
class OneTable:
    """Bundles that can be of one table. together: their marginals as one bundle; None where they generalize differently."""

    bundles: Bundles
    together: BundleContent | None

    @property
    def name(self) -> str:
        """The names of the bundles."""
        return ", ".join(name for name, _ in self.bundles)

    def sharing_time(self, parts: int) -> "OneTable":
        """The same with one of so many equal parts of the time that is left."""
        bundles = [(name, _in_time(own, parts)) for name, own in self.bundles]
        return OneTable(bundles, None if self.together is None else _in_time(self.together, parts))

    @property
    def collections(self) -> list[Collection]:
        """What is published of the table: one collection, or several that cannot be put together."""
        contents = [own for _, own in self.bundles] if self.together is None else [self.together]
        return [content.collection for content in contents]

    @property
    def most_rows_of_a_person(self) -> int | None:
        """How many rows a person has at most, so that claims are about people; None where they are about rows."""
        return self.bundles[0][1].most_rows_of_a_person


def _in_time(published: BundleContent, parts: int) -> BundleContent:
    return replace(published, deadline=published.deadline.share(parts))


def by_table(bundles: Bundles) -> list[OneTable]:
    """The bundles in groups that can be of one table each, in their order.

    Bundles are of different tables when they count different numbers of rows, contradict each other, or are of different
    parts of a table. Where one agrees
    with several groups it is taken to be of the first one.
    """
    if (whole := _one_table(bundles)) is not None:
        return [whole]
    groups: list[OneTable] = []
    for bundle in bundles:
        for place, group in enumerate(groups):
            if (larger := _one_table([*group.bundles, bundle])) is not None:
                groups[place] = larger
                break
        else:
            groups.append(OneTable([bundle], bundle[1]))
    return groups


def _one_table(bundles: Bundles) -> OneTable | None:
    """The bundles together; None where no table has the counts of all."""
    totals = {published.collection.cube.total for _, published in bundles}
    parts = {published.where for _, published in bundles if published.where}
    if len(totals) > 1 or len(parts) > 1:
        return None
    try:
        return OneTable(bundles, bundles[0][1] if len(bundles) == 1 else union(bundles))
    except BundleError:
        return None
    except IncompatibleReleasesError:
        return OneTable(bundles, None)


@dataclass(frozen=True, eq=False)
class TablePair:
    """Two tables, the earlier and the later one, with what is claimed of the people behind their rows.

    least: of how many people a difference must be; None where no release claims that of any count. claimed: the largest
    number that one of them claims, None where none does.
    """

    earlier: OneTable
    later: OneTable
    least: int | None
    claimed: int | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """What a finding on the pair is about."""
        unit = self.earlier.most_rows_of_a_person
        demanded = {} if self.least is None else {"k": self.least}
        people = {} if unit is None or self.least is None else {"rows_per_person": unit}
        return {**demanded, "earlier": self.earlier.name, "later": self.later.name, **people}

    @property
    def least_rows(self) -> int | None:
        """How many rows so many people can have."""
        return None if self.least is None else self.least * (self.earlier.most_rows_of_a_person or 1)

    @property
    def count_alike(self) -> bool:
        """Whether the releases of both tables say the same of how many rows a person has."""
        return len({own.rows_per_person for table in (self.earlier, self.later) for _, own in table.bundles}) == 1

    @property
    def assumption(self) -> str:
        """Why a small difference may prove nobody, as the releases of both tables state it; empty where one does not."""
        bundles = [own for table in (self.earlier, self.later) for _, own in table.bundles]
        if self.claimed is None or (self.least or 0) > self.claimed or not all(own.turnover_known for own in bundles):
            return ""
        return (
            f"it proves nobody where at least {self.claimed} came and at least {self.claimed} left. All releases state that "
            "this is so and that readers know that people come and go; their publisher's ledger shows it, the files cannot"
        )

    @property
    def parts(self) -> str:
        """That the two tables are not of the same part of a table, and what a difference is then; empty where they are."""
        first, second = ({own.where for _, own in table.bundles} for table in (self.earlier, self.later))
        if first == second:
            return ""
        named = (" and ".join(filter(None, sorted(each))) or "all" for each in (first, second))
        return (
            f"they are of different parts of a table ({'; '.join(named)}), so who is in the one and not in the other "
            "need not have come or left"
        )

    @property
    def narrowed(self) -> Narrowing:
        """To the cells of a meet that can be in the parts of both tables."""
        if not self.parts:
            return every_cell
        wheres = {own.where for table in (self.earlier, self.later) for _, own in table.bundles if own.where}
        return inside_all([Part(where) for where in sorted(wheres)])

    def overlapping(self) -> Iterator[tuple[Collection, Collection, LabelOverlaps]]:
        """What is published of each of the two tables, and how their values overlap."""
        for before, after in product(self.earlier.collections, self.later.collections):
            yield before, after, label_overlaps(before, after)


def pairs_of_tables(tables: Sequence[OneTable], least: int | None = None) -> Iterator[TablePair]:
    """Each two tables, in their order.

    least: of how many people; the largest that any of the bundles claims of its counts where it is None.
    """
    claims = [claim for table in tables for _, bundle in table.bundles for claim in bundle.claims]
    claimed = max((claim.k for claim in claims if isinstance(claim, CountClaim)), default=None)
    for earlier, later in combinations(tables, 2):
        yield TablePair(earlier, later, claimed if least is None else least, claimed)


def differences(pairs: Sequence[TablePair]) -> Iterator[Finding]:
    """For each two tables whether what is published of them shows no small difference."""
    for pair in pairs:
        if pair.least_rows is None:
            why = "no release claims a least count, so no difference is too small by its claims; --check difference=K asks"
            yield _undecided(pair.parameters, why)
        elif not pair.count_alike:
            why = "the releases differ in rows_per_person, how many rows a person has"
            yield _undecided(pair.parameters, why)
        else:
            judged = (_judged(*each, pair.least_rows, pair.narrowed) for each in pair.overlapping())
            yield _worst(list(judged), pair)


def _judged(before: Collection, after: Collection, overlaps: LabelOverlaps, least: int, narrowed: Narrowing) -> Finding:
    """Undecided also where labels do not tell which values overlap."""
    found = difference(before, after, least, overlaps.pairs, narrowed)
    if found.verdict is Verdict.FAILS:
        return found
    if overlaps.unclear:
        names = ", ".join(map(repr, overlaps.unclear))
        why = f"labels do not tell how the values of {names} in one release overlap with those in the other; {_REUSE}"
        return replace(found, verdict=Verdict.UNDECIDED, note=why)
    return replace(found, note=f"{found.note}; {_REUSE}") if found.verdict is Verdict.UNDECIDED else found


_REUSE = "publish the second again with the ladders of the first (the key data.ladders of its config)"


def _worst(found: Sequence[Finding], pair: TablePair) -> Finding:
    """The worst of the findings on what is published of two tables, that of the smallest difference among those alike."""
    order = [Verdict.FAILS, Verdict.UNDECIDED, Verdict.HOLDS]

    def place(finding: Finding) -> tuple[int, float]:
        """By verdict, then by how small the difference is."""
        size = abs(finding.worst.difference) if isinstance(finding.worst, CellDifference) else float("inf")
        return order.index(finding.verdict), size

    worst = min(found, key=place)
    if worst.verdict is Verdict.FAILS and pair.assumption:
        worst = replace(worst, verdict=Verdict.UNDECIDED, note=pair.assumption)
    worst = replace(worst, note="; ".join(filter(None, [worst.note, pair.parts])))
    notes = [worst.note, _ALIKE] if worst.verdict is Verdict.HOLDS else [worst.note]
    if worst.verdict is Verdict.HOLDS and any(table.together is None for table in (pair.earlier, pair.later)):
        why = "the releases of one table generalize attributes differently, so what they tell together was not compared"
        worst, notes = replace(worst, verdict=Verdict.UNDECIDED), [why]
    return replace(worst, parameters=pair.parameters, note="; ".join(filter(None, notes)))


def _undecided(parameters: Mapping[str, object], why: str) -> Finding:
    return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, why)

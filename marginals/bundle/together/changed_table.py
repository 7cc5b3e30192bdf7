"""Releases of a table that changed in between: which can be of one table, and what each two tables tell of the change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from checks.changes.difference import difference
from checks.claims.count_claim import CountClaim
from checks.finding import Algorithm, Finding, Verdict
from marginals.bundle.agreement import over_one_domain, union
from marginals.bundle.content import BundleContent
from marginals.errors import BundleError, IncompatibleReleasesError
from models.graphs.collection import Collection
from models.tables.data_cube import DataCube

Bundles = Sequence[tuple[str, BundleContent]]

CRITERION = "difference"

_ALIKE = "a label is taken to mean the same in both"


def by_table(bundles: Bundles) -> list[Bundles]:
    """The bundles in groups that can be of one table each, in their order.

    Bundles are of different tables when they count different numbers of rows, or contradict each other. Where one agrees
    with several groups it is taken to be of the first one.
    """
    groups: list[list[tuple[str, BundleContent]]] = []
    for bundle in bundles:
        fitting = next((group for group in groups if _can_be_of_one_table([*group, bundle])), None)
        if fitting is None:
            groups.append([bundle])
        else:
            fitting.append(bundle)
    return list(groups)


def _can_be_of_one_table(bundles: Bundles) -> bool:
    rows = {published.collection.cube.total for _, published in bundles}
    if len(rows) > 1:
        return False
    try:
        union(bundles)
    except BundleError:
        return False
    except IncompatibleReleasesError:
        return True
    return True


def called(group: Bundles) -> str:
    """The names of some bundles."""
    return ", ".join(name for name, _ in group)


def differences(groups: Sequence[Bundles], least: int | None) -> Iterator[Finding]:
    """For each two tables, in their order, whether what is published of them shows no small difference.

    least: of how many people; the largest that any of the bundles claims of its counts where it is None.
    """
    claims = [
        claim for group in groups for _, bundle in group for claim in bundle.claims if isinstance(claim, CountClaim)
    ]
    k = least if least is not None else max((claim.k for claim in claims), default=None)
    for earlier, later in combinations(groups, 2):
        of_whom = {"earlier": called(earlier), "later": called(later)}
        if k is None:
            why = "no release claims a least count, so no difference is too small by its claims; --check difference=K asks"
            yield _undecided(of_whom, why)
            continue
        unit = earlier[0][1].most_rows_of_a_person
        parameters = {"k": k, **of_whom, **({} if unit is None else {"rows_per_person": unit})}
        try:
            collections = iter(over_one_domain([*earlier, *later]))
        except IncompatibleReleasesError as problem:
            yield _undecided(parameters, str(problem))
            continue
        before, after = (_of_one_table([next(collections) for _ in group]) for group in (earlier, later))
        found = difference(before, after, k * (unit or 1))
        note = f"{found.note}; {_ALIKE}" if found.note else ""
        yield replace(found, parameters=parameters, note=note)


def _of_one_table(collections: Sequence[Collection]) -> Collection:
    tables = [table for collection in collections for table in collection.tables]
    if not tables:
        return collections[0]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _undecided(parameters: Mapping[str, object], why: str) -> Finding:
    return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, why)

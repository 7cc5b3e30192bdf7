"""The common refinement of several bundles: their marginals over the atoms of what they generalize differently.

Such an attribute becomes one for each way to generalize it, `age (first)` and `age (second)`, which every row has at once;
the atoms say which of their values go together, and what does not is impossible. So all that is known of both is one
collection again, which is judged by programs and by fitting, as any without a junction tree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from checks.attacks.certain_cells import Levels, certainly_small
from checks.attacks.knowledge import knowledge
from checks.claims.claim import Claim
from checks.claims.k_combinatorial import KCombinatorial
from checks.claims.min_cell import MinCell
from checks.finding import Finding, Verdict, WorstClass
from marginals.bundle.agreement import union
from marginals.bundle.content import BundleContent
from marginals.bundle.together.atoms import Atoms, atoms_of
from marginals.errors import IncompatibleReleasesError
from models.graphs.collection import Collection
from models.graphs.support import Support
from models.inference.frechet_bounds import FrechetBounds
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.margin import Margin
from models.tables.mixed_radix import pack

Bundles = Sequence[tuple[str, BundleContent]]


@dataclass(frozen=True, eq=False)
class CommonRefinement:
    """Several bundles as one.

    content: over the domain in which each attribute that is generalized differently stands once for each way. parts: the
    names of these, by attribute. atoms: of each of these attributes.
    """

    content: BundleContent
    parts: Mapping[str, tuple[str, ...]]
    atoms: Mapping[str, Atoms]

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.parts))
        return f"judged over the common refinement of {names}, which the releases generalize differently"

    def views(self) -> dict[str, list[Levels]]:
        """How margins can show each published attribute, finest first: by a level of each of its parts, or of some."""
        collection = self.content.collection
        attribute_of = {name: attribute for attribute, names in self.parts.items() for name in names}
        shown = filter(collection.shows, self.content.domain.attributes)
        views: dict[str, list[Levels]] = {}
        for attribute in dict.fromkeys(attribute_of.get(name, name) for name in shown):
            parts = [[*published_views(collection, name), {}] for name in self.parts.get(attribute, ())]
            together = ({name: level for levels in each for name, level in levels.items()} for each in product(*parts))
            views[attribute] = list(filter(None, together)) if parts else published_views(collection, attribute)
        return views

    def with_violations(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings; what the whole leaves undecided fails where a few attributes prove that it does."""
        aside = {KCombinatorial.criterion: self.content.sensitive, MinCell.criterion: ()}
        for finding in findings:
            if finding.criterion in aside and finding.verdict is Verdict.UNDECIDED:
                least = finding.parameters["k"] * finding.parameters.get("rows_per_person", 1)
                small = self._small_cell(least, aside[finding.criterion])
                if small is not None:
                    yield replace(finding, verdict=Verdict.FAILS, worst=small, note="")
                    continue
            yield finding

    def _small_cell(self, k: int, aside: Sequence[str]) -> WorstClass | None:
        """A cell that certainly has rows, fewer than k: so has some combination of all attributes in it.

        aside: attributes that it is not of.
        """
        public = {a: own for a, own in self.views().items() if not {a, *self.parts.get(a, ())} & {*aside}}
        deadline = self.content.deadline
        cell = certainly_small(knowledge(FrechetBounds.of(self.content.collection, deadline)), public, k, deadline)
        return None if cell is None else WorstClass(self.by_atom(cell.values, cell.levels), count=cell.rows)

    def by_atom(self, values: Mapping[str, str], levels: Mapping[str, int]) -> dict[str, str]:
        """A cell's labels, with that of the atom where all ways to generalize an attribute are at their finest."""
        plain = dict(values)
        for attribute, names in self.parts.items():
            if all(levels.get(name) == self.content.collection.finest_level(name) for name in names):
                codes = [self.content.domain.hierarchy(name).code(plain.pop(name), levels[name]) for name in names]
                place = self.atoms[attribute].codes.T.tolist().index(codes)
                plain = {attribute: self.atoms[attribute].labels[place], **plain}
        return plain


def published_views(collection: Collection, attribute: str) -> list[Levels]:
    """The published levels of an attribute one by one, finest first."""
    levels = {margin[attribute] for margin in collection.margins if attribute in margin}
    return [{attribute: level} for level in sorted(levels)]


def common_refinement(bundles: Bundles) -> CommonRefinement:
    """The bundles over their atoms.

    Raises IncompatibleReleasesError where labels do not tell the atoms of an attribute, or only one bundle calls it
    sensitive, BundleError when the bundles count different numbers of rows, or contradict each other.
    """
    _check_roles(bundles)
    groups = {attribute: _groups(bundles, attribute) for attribute in _attributes(bundles)}
    groups = {attribute: own for attribute, own in groups.items() if len(own) > 1}
    names = {attribute: tuple(f"{attribute} ({own[0]})" for own in of) for attribute, of in groups.items()}
    renamed = []
    for bundle, content in bundles:
        new_names = {
            attribute: name
            for attribute, own in groups.items()
            for name, group in zip(names[attribute], own)
            if bundle in group
        }
        renamed.append((bundle, _renamed(content, new_names, [a for a in groups if a not in new_names])))
    together = union(renamed)
    atoms: dict[str, Atoms] = {}
    for attribute, own in groups.items():
        hierarchies = [together.domain.hierarchy(name) for name in names[attribute]]
        found = atoms_of([(h, together.collection.finest_level(n)) for h, n in zip(hierarchies, names[attribute])])
        if found is None:
            differ = f"generalize {attribute!r} differently, and their labels do not tell how its values overlap"
            raise IncompatibleReleasesError(own[0][0], own[1][0], differ, "the hierarchies")
        atoms[attribute] = found
    supports = [_support(together.domain, names[a], atoms[a], together.collection) for a in groups]
    collection = Collection.of(together.collection.cube, together.collection.masks, supports)
    return CommonRefinement(replace(together, collection=collection), names, atoms)


def _check_roles(bundles: Bundles) -> None:
    """Raise IncompatibleReleasesError where only one bundle calls an attribute sensitive."""
    for (one, content), (other, other_content) in combinations(bundles, 2):
        for attribute, role in content.roles.items():
            if other_content.roles.get(attribute, role) is not role:
                raise IncompatibleReleasesError(one, other, f"only one calls {attribute!r} sensitive", "the roles")


def _attributes(bundles: Bundles) -> list[str]:
    return list(dict.fromkeys(attribute for _, content in bundles for attribute in content.domain.attributes))


def _groups(bundles: Bundles, attribute: str) -> list[list[str]]:
    """The bundles that show an attribute, in groups that generalize it in one way."""
    showing = [(name, content) for name, content in bundles if attribute in content.domain.attributes]
    groups: list[list[tuple[str, BundleContent]]] = []
    for name, content in showing:
        if not content.collection.shows(attribute):
            continue
        alone = (name, _only(content, attribute))
        for group in groups:
            try:
                union([*group, alone])
            except IncompatibleReleasesError:
                continue
            group.append(alone)
            break
        else:
            groups.append([alone])
    return [[name for name, _ in group] for group in groups]


def _only(content: BundleContent, attribute: str) -> BundleContent:
    """What a bundle says of one attribute alone."""
    collection = content.collection
    domain = Domain.of({attribute: collection.domain.hierarchy(attribute)})
    tables = []
    for level in sorted({margin[attribute] for margin in collection.margins if attribute in margin}):
        table = collection.cube.table(collection.domain.mask({attribute: level}))
        tables.append(
            ContingencyTable.from_cells(domain, {attribute: level}, {attribute: table.codes[0]}, table.counts)
        )
    alone = Collection.of(DataCube(tables), [table.mask for table in tables])
    return BundleContent(alone, {attribute: content.roles[attribute]})


def _renamed(content: BundleContent, names: Mapping[str, str], left_out: Sequence[str]) -> BundleContent:
    """The same content with other names for some attributes, and without some that it does not show."""
    collection = content.collection
    kept = [a for a in collection.domain.attributes if a not in left_out]
    domain = Domain.of({names.get(a, a): collection.domain.hierarchy(a) for a in kept})
    tables = [
        ContingencyTable.from_cells(
            domain,
            {names.get(a, a): level for a, level in table.margin.items()},
            {names.get(a, a): codes for a, codes in zip(table.attributes, table.codes)},
            table.counts,
        )
        for table in collection.tables
    ]
    claims = tuple(_about(claim, names) for claim in content.claims)
    roles = {names.get(a, a): content.roles[a] for a in kept}
    return replace(
        content, collection=Collection.of(DataCube(tables), [t.mask for t in tables]), roles=roles, claims=claims
    )


def _about(claim: Claim, names: Mapping[str, str]) -> Claim:
    """A claim under the new name of the attribute that it is about."""
    if claim.about is None or claim.about not in names:
        return claim
    renamed = type(claim).from_json({**claim.as_json(), "sensitive": names[claim.about]})
    return claim if renamed is None else renamed.counting(claim.rows_per_person)


def _support(domain: Domain, names: Sequence[str], atoms: Atoms, collection: Collection) -> Support:
    levels = {name: collection.finest_level(name) for name in names}
    attributes = sorted(names, key=domain.index)
    columns = dict(zip(names, atoms.codes))
    sizes = [domain.hierarchy(name).size(levels[name]) for name in attributes]
    keys, _ = pack([columns[name] for name in attributes], sizes, len(atoms.labels))
    order = keys.argsort(kind="stable")
    codes = {name: columns[name][order] for name in attributes}
    return Support(CodedCells(domain, Margin(levels), codes, len(order)), atoms.weights[order])

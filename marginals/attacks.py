"""Attacks on bundles: what those who hold them can conclude, with the truth beside it where it is known."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np

from checks.attacks.algorithm import FittedLevelDisclosure, Refinement, Refusals, levels_told, refinements, refusals
from checks.attacks.guesses import (
    LikelySmall,
    accuracy,
    base_rate,
    confident,
    definetti,
    expected_classes,
    likely_small,
    published_groups,
    sensitive_levels,
    skewness,
)
from checks.attacks.knowledge import (
    USUAL_BOUND,
    CertainCell,
    CertainCells,
    Knowledge,
    Levels,
    PublishedCounts,
    Reconstruction,
    certain_cells,
    certainly_small,
    published_counts,
    reconstruction,
    smallest_class,
)
from checks.changes import UNSEEN, ChangedPeople, changed_people
from checks.claims import CountClaim, Register
from checks.classes import EquivalenceClasses, equivalence_classes
from checks.finding import Verdict
from marginals.arguments import path_of, require
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import counted_hierarchy, in_common, over_table, read_bundle
from marginals.bundle.together import (
    CommonRefinement,
    OneTable,
    TablePair,
    by_table,
    common_refinement,
    pairs_of_tables,
    published_views,
)
from marginals.deadline import Seconds, within
from marginals.errors import IncompatibleReleasesError, InputError
from marginals.names import shown_at
from marginals.register_readers import RegisterReaders, register_readers
from marginals.results import plain
from marginals.tables.table import Table
from models.deadline import Deadline
from models.errors import ContradictionError, MarginalsError, TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection
from models.inference.calibrated_tree import CELL_LIMIT
from models.inference.frechet_bounds import FrechetBounds, MarginBounds
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import CHANCE
from models.tables.hierarchy import Domain


@dataclass(frozen=True)
class Expected:
    """Share of right guesses of a sensitive value, if everybody were as the maximum-entropy model says.

    class_shares: who guesses the likeliest value of each class. In the model nobody does better; in the data who learns
    across classes often does. confident: the same of the rows that the guesses are most confident of, so many as `people`.
    """

    class_shares: float
    people: int
    confident: float

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        confident = {"people": self.people, "class_shares": self.confident}
        return {"class_shares": self.class_shares, "confident": confident}


def _reconstruction(found: Reconstruction) -> dict[str, Any]:
    return asdict(found) | {"share": found.share}


@dataclass(frozen=True)
class DisclosureMeasures:
    """What readers can conclude about one sensitive attribute.

    reconstruction: of the cells of all that bears on the attribute, at `levels`; shown: these in words. skewness: largest
    distance of a class's maxent posterior from everybody's distribution, total variation. skewed_class: that class.
    expected: how often guesses are right in the model.
    """

    sensitive: str
    reconstruction: Reconstruction
    skewness: float
    skewed_class: Mapping[str, str]
    levels: Mapping[str, int]
    shown: tuple[str, ...]
    expected: Expected

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        reconstruction = _reconstruction(self.reconstruction) | {"levels": self.levels}
        skewness = {"distance": self.skewness, "class": self.skewed_class}
        told = {"sensitive": self.sensitive, "reconstruction": reconstruction}
        return told | {"expected": self.expected, "skewness": skewness}


@dataclass(frozen=True)
class Threshold:
    """A claimed k and the smallest count that there is, None where it is not known. is_missed: whether the claim fails.

    k: rows, as many as the people who are claimed can have. rows_per_person: of each at most, None where rows are claimed.
    """

    criterion: str
    k: int
    smallest: int | None
    is_missed: bool = False
    rows_per_person: int | None = None

    @property
    def claimed(self) -> int:
        """The k of the claim: rows, or people."""
        return self.k // (self.rows_per_person or 1)

    @property
    def binding(self) -> bool | None:
        """Whether the threshold is met without a row to spare; None where that is not known."""
        return None if self.smallest is None else self.smallest == self.k

    def as_json(self) -> dict[str, Any]:
        """The threshold as plain values."""
        known = {name: value for name, value in asdict(self).items() if (name, value) != ("rows_per_person", None)}
        return {**known, "binding": self.binding}


@dataclass(frozen=True)
class ReleaseMeasures:
    """For each sensitive attribute what readers can conclude, or why that is not known; and the thresholds."""

    measures: tuple[DisclosureMeasures, ...]
    thresholds: tuple[Threshold, ...]
    left_out: Mapping[str, str]


def disclosure_measures(
    published: BundleContent, model: MarginalModel, most_cells: int = CELL_LIMIT
) -> ReleaseMeasures:
    """All measures that need the release alone.

    model: that of what is published. most_cells: cells that may be laid out for an attribute; what has more is left out.
    """
    measures, left_out = [], {}
    for sensitive in published.sensitive:
        levels = sensitive_levels(model, sensitive)
        if not levels:
            left_out[sensitive] = "no marginal shows it"
            continue
        cells = prod(model.domain.hierarchy(a).size(level) for a, level in levels.items())
        try:
            if cells > most_cells:
                raise TooManyCellsError(f"{cells:,} cells bear on it, more than the {most_cells:,} that are laid out")
            measures.append(_measures(model, levels))
        except MarginalsError as error:
            left_out[sensitive] = str(error)
    return ReleaseMeasures(tuple(measures), tuple(_thresholds(published)), left_out)


def _measures(model: MarginalModel, levels: Mapping[str, int]) -> DisclosureMeasures:
    classes = expected_classes(model, levels)
    distance, skewed_class = skewness(classes)
    determined = reconstruction(model.frechet_bounds, levels)
    level_names = tuple(shown_at(a, model.domain.hierarchy(a), level) for a, level in levels.items())
    return DisclosureMeasures(
        classes.sensitive, determined, distance, skewed_class, levels, level_names, _expected(classes)
    )


MOST_CONFIDENT = 1000
"""Rows of which guesses are most confident that are looked at apart; of a small table a tenth of its rows."""


def _confident_rows(total: int) -> int:
    return max(min(MOST_CONFIDENT, total // 10), 1)


def _expected(people: EquivalenceClasses) -> Expected:
    if not len(people):
        return Expected(0.0, 0, 0.0)
    number = _confident_rows(round(float(people.counts.sum())))
    return Expected(accuracy(people.counts, people), number, confident(people.counts, people, number))


def _thresholds(published: BundleContent) -> Iterator[Threshold]:
    """The claims of a minimum count."""
    for claim, finding in zip(published.claims, published.verify().checks):
        if isinstance(claim, CountClaim):
            count = finding.worst_class.count
            smallest = count if claim.shows_smallest(finding) else None
            failed = finding.verdict is Verdict.FAILS
            yield Threshold(finding.criterion, claim.least_count, smallest, failed, claim.rows_per_person)


@dataclass(frozen=True)
class View:
    """What the holder of some releases concludes about the cells of one margin.

    smallest: bound on the least number of rows that any class that can have some can have at most, sensitive values set
    aside; a class may have to be smaller still.
    skewness: largest distance of a class's maxent posterior from everybody's, None where the attribute is not shown.
    """

    releases: tuple[str, ...]
    reconstruction: Reconstruction
    smallest: int
    skewness: float | None

    def as_json(self) -> dict[str, Any]:
        """The holding as plain values."""
        told = {"releases": self.releases, "reconstruction": _reconstruction(self.reconstruction)}
        return told | {"smallest_class": self.smallest, "skewness": self.skewness}


@dataclass(frozen=True)
class Composition:
    """What readers can conclude about a sensitive attribute with all releases, and with each alone, of the same margin.

    unknown: releases of which that is not known alone, with the reason.
    """

    sensitive: str
    margin: Mapping[str, int]
    together: View
    each: tuple[View, ...]
    unknown: Mapping[str, str]


def composition(
    bundles: Sequence[tuple[str, BundleContent]], together: BundleContent, model: MarginalModel
) -> tuple[Composition, ...]:
    """For each sensitive attribute that can be laid out what all releases tell, and each.

    together: all of them as one, whose model is given.
    """
    models = [(name, _alone(published, together)) for name, published in bundles]
    names = tuple(name for name, _ in bundles)
    compositions = []
    for sensitive in together.sensitive:
        if not (levels := sensitive_levels(model, sensitive)):
            continue
        try:
            all_held = _holding(names, model, levels, together.sensitive)
        except MarginalsError:  # what is too large or cannot be fitted is said of the attribute already
            continue
        alone_measures, unknown = [], {}
        for name, alone in models:
            try:
                alone_measures.append(_holding((name,), alone, levels, together.sensitive))
            except MarginalsError as error:
                unknown[name] = str(error)
        compositions.append(Composition(sensitive, levels, all_held, tuple(alone_measures), unknown))
    return tuple(compositions)


def _alone(published: BundleContent, together: BundleContent) -> MarginalModel:
    """The model of one release in the domain of all."""
    attributes = together.domain.attributes
    return MarginalModel(
        in_common(published.collection, {a: counted_hierarchy(together.collection, a) for a in attributes}),
        together.deadline,
    )


def _holding(names: tuple[str, ...], model: MarginalModel, levels: Mapping[str, int], sensitive: Sequence[str]) -> View:
    sensitive_at = sensitive_levels(model, list(levels)[-1])
    furthest = skewness(expected_classes(model, sensitive_at))[0] if sensitive_at else None
    bounds = model.frechet_bounds
    return View(names, reconstruction(bounds, levels), smallest_class(bounds, levels, sensitive), furthest)


CERTAIN_SECONDS = 10.0
"""To look for what is certain; most releases need one or two."""


def certainties(published: BundleContent, model: MarginalModel, seconds: float) -> dict[str, CertainCells]:
    """What is certain about each sensitive attribute that is published. seconds: for all of them."""
    collection = published.everything
    views = {
        attribute: published_views(collection, attribute)
        for attribute in filter(collection.shows, published.domain.attributes)
    }
    known = Knowledge(model.frechet_bounds)
    return _certainties(known, published.sensitive, views, _largest_k(published), seconds)


def refined_certainties(refined: CommonRefinement, seconds: float) -> dict[str, CertainCells]:
    """What is certain about each sensitive attribute with several bundles that generalize an attribute differently."""
    published, collection = refined.content, refined.content.collection
    attribute_of = {name: attribute for attribute, names in refined.parts.items() for name in names}
    sensitive = list(dict.fromkeys(attribute_of.get(name, name) for name in published.sensitive))
    known = Knowledge(FrechetBounds(collection, published.deadline))
    certain = _certainties(known, sensitive, refined.views(), _largest_k(published), seconds)
    return {attribute: _in_atoms(refined, cells) for attribute, cells in certain.items()}


def _in_atoms(refined: CommonRefinement, certain: CertainCells) -> CertainCells:
    """The worst cell by what the labels of several bundles mean together."""
    if certain.worst is None:
        return certain
    return replace(
        certain, worst=replace(certain.worst, values=refined.by_atom(certain.worst.values, certain.worst.levels))
    )


def _largest_k(published: BundleContent) -> int:
    return max((claim.least_count for claim in published.claims if isinstance(claim, CountClaim)), default=0)


def small_below(published: BundleContent) -> int:
    """Counts below are called small: the largest k claimed, or 10 where none is that asks for more than one row."""
    largest = _largest_k(published)
    return largest if largest > 1 else USUAL_BOUND


def _certainties(
    known: Knowledge, sensitive: Sequence[str], views: Mapping[str, Sequence[Levels]], k: int, seconds: float
) -> dict[str, CertainCells]:
    attributes = [attribute for attribute in sensitive if attribute in views]
    deadline = Deadline.after(seconds, time.monotonic)
    parts = range(len(attributes), 0, -1)
    return {a: certain_cells(known, a, views, k, deadline.share(part)) for a, part in zip(attributes, parts)}


def certain_json(certain: CertainCells) -> dict[str, Any]:
    """What is certain, as it stands below `reconstruction`."""
    return {
        "certain": {
            "attributes": certain.attributes,
            "determined": certain.determined,
            "exists": certain.exists,
            "small": certain.small,
        },
        "undecided": {"cells": certain.undecided, "margins": certain.unread},
        "worst": None if certain.worst is None else asdict(certain.worst),
        "one_value": {
            "classes": certain.one_value,
            "shared": None if certain.shared is None else asdict(certain.shared),
        },
    }


@dataclass(frozen=True)
class TableChange:
    """Two tables and what their releases tell of the change, for each two releases that cannot be put together.

    least: of how many rows a difference is no longer small; None where no release claims a least count. unclear: attributes
    whose labels do not tell how the values of the releases overlap. assumption: why a small difference may prove nobody,
    as all releases state it; empty where one does not. parts: that they are of different parts of a table.
    """

    earlier: str
    later: str
    rows: tuple[int, int]
    least: int | None
    told: tuple[ChangedPeople, ...]
    unclear: tuple[str, ...] = ()
    beyond: str = UNSEEN
    assumption: str = ""
    parts: str = ""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "earlier": self.earlier,
            "later": self.later,
            "rows": {"before": self.rows[0], "after": self.rows[1]},
            "least": self.least,
            "told": self.told,
            "unclear": self.unclear,
            "beyond": self.beyond,
        } | {key: said for key, said in (("assumption", self.assumption), ("parts", self.parts)) if said}


def table_changes(tables: Sequence[OneTable]) -> Iterator[TableChange]:
    """For each two tables, in their order, what their releases tell of those who came and left."""
    for pair in pairs_of_tables(tables):
        yield _change(pair)


def _change(pair: TablePair) -> TableChange:
    tables = (pair.earlier, pair.later)
    sensitive = list(
        dict.fromkeys(name for table in tables for _, bundle in table.bundles for name in bundle.sensitive)
    )
    told = []
    unclear: dict[str, None] = {}
    for before, after, overlaps in pair.overlapping():
        told.append(changed_people(before, after, sensitive, pair.least_rows or 1, overlaps.pairs, pair.narrowed))
        unclear |= dict.fromkeys(overlaps.unclear)
    before_rows, after_rows = (table.collections[0].cube.total for table in tables)
    rows = before_rows, after_rows
    return TableChange(
        pair.earlier.name,
        pair.later.name,
        rows,
        pair.least_rows,
        tuple(told),
        tuple(unclear),
        assumption=pair.assumption,
        parts=pair.parts,
    )


@dataclass(frozen=True)
class Guessing:
    """Shares of the rows whose sensitive value is guessed, by attackers who know everybody's nonsensitive values.

    definetti: who learns across classes until nothing changes, and keeps to the published counts. naive_bayes: the same
    after one round. maxent: who does not learn, and takes maximum entropy given what is published and known:
    the shares of each class. base_rate: who guesses the most frequent value without a release. confident: for each of the
    first three the same share of the rows that its guesses are most confident of, so many as `people`.
    """

    definetti: float
    naive_bayes: float
    maxent: float
    base_rate: float
    people: int
    confident: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        whole = {name: value for name, value in asdict(self).items() if name not in ("people", "confident")}
        return {**whole, "confident": {"people": self.people, **self.confident}}


@dataclass(frozen=True)
class Attacked:
    """What readers can conclude about one sensitive attribute; guessing: None where the truth is not given."""

    measures: DisclosureMeasures
    guessing: Guessing | None

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        return {**plain(self.measures), "guessing": plain(self.guessing)}


@dataclass(frozen=True)
class Minimality:
    """What the steps tell that were not taken, to those who know that the release is as fine as its claims allow.

    readers: who know nothing else. readers_knowing_quasi_identifiers: who know everybody's nonsensitive values, None
    where the truth is not given. ladders: what published levels tell that were fitted to the table, None where the truth
    is not given. note: why it was not examined, empty where it was. domain: of the levels that the steps name; None
    where it was not examined. refusals: what attributes, levels and pairs tell that are not published; of the values
    that the release names, or, where the truth is given, of all that its hierarchies name. None where they were not
    examined.
    """

    readers: tuple[Refinement, ...] = ()
    readers_knowing_quasi_identifiers: tuple[Refinement, ...] | None = None
    note: str = ""
    domain: Domain | None = field(default=None, repr=False)
    ladders: tuple[FittedLevelDisclosure, ...] | None = None
    refusals: Refusals | None = None


@dataclass(frozen=True)
class NonsensitiveSmall:
    """Whether a combination of up to three nonsensitive attributes has a small count for certain.

    below: counts below are small. proven_by: the claim that proves that none has; empty where none does. cell: one that has,
    found by bounds, with the most rows that it can have; None where none was found. is_complete: whether all were looked at.
    """

    below: int
    proven_by: str = ""
    cell: CertainCell | None = None
    is_complete: bool = True


@dataclass(frozen=True)
class Attacks:
    """All measures, and why a sensitive attribute was left out, if one was.

    certain: by sensitive attribute what is certain about it. compositions: of several releases only. apart: the measures
    of each release where they cannot be put together, for the reason that `note` gives; there are no others then.
    changes: of releases of a table that changed what each two tables tell of who came and who left; the rest is apart.
    published: the published counts by themselves. nonsensitive: what is certain of nonsensitive attributes alone. likely:
    what the fitted model ranks as small. All three None where the releases are apart.
    register: what somebody believes of each sensitive attribute who knows the nonsensitive values of everybody. unmeasured:
    what was not measured because the time was over.
    """

    attacked: tuple[Attacked, ...]
    thresholds: tuple[Threshold, ...]
    left_out: Mapping[str, str]
    minimality: Minimality
    compositions: tuple[Composition, ...]
    certain: Mapping[str, CertainCells] = field(default_factory=dict)
    apart: Mapping[str, "Attacks"] = field(default_factory=dict)
    note: str = ""
    changes: tuple[TableChange, ...] = ()
    published: PublishedCounts | None = None
    nonsensitive: NonsensitiveSmall | None = None
    likely: LikelySmall | None = None
    register: tuple[RegisterReaders, ...] = ()
    unmeasured: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        apart: dict[str, Any] = {"note": self.note, "apart": self.apart}
        apart |= {"changes": self.changes} if self.changes else {}
        late = {"unmeasured": self.unmeasured} if self.unmeasured else {}
        told: dict[str, Any] = {"published": self.published, "nonsensitive": self.nonsensitive}
        told |= {"attacks": [*map(self._attribute_json, self._attributes())], "thresholds": self.thresholds}
        told |= {"left_out": self.left_out, "minimality": self.minimality, "composition": self.compositions}
        told |= {"likely": self.likely, "register": self.register}
        return {**plain((apart if self.apart else {}) | late | told)}

    def _attributes(self) -> list[str]:
        """The sensitive attributes of which something is known, those that all is known of first."""
        return list(dict.fromkeys([*(attacked.measures.sensitive for attacked in self.attacked), *self.certain]))

    def _attribute_json(self, attribute: str) -> dict[str, Any]:
        told: dict[str, Any] = {"sensitive": attribute}
        for attacked in self.attacked:
            told |= plain(attacked) if attacked.measures.sensitive == attribute else {}
        certain = certain_json(self.certain[attribute]) if attribute in self.certain else {}
        return told | {"reconstruction": {**told.get("reconstruction", {}), **certain}}


def attack(*folders: str | Path, truth: Table | None = None, seconds: Seconds = None) -> Attacks:
    """Measure attacks on one bundle, or on several put together; on each alone where they cannot be.

    Of bundles of a table that changed, each table is attacked alone, and each two tell of those who came and who left.
    truth: the table they were made from; with it, guesses are judged. seconds: what is not measured by then is
    left out, and what is certain is told as far as it was found; without them that is looked for for ten seconds. Files are
    read to the end all the same. Raises InputError or BundleError.

    >>> from tempfile import TemporaryDirectory
    >>> from marginals.example import release, table
    >>> with TemporaryDirectory() as folder:
    ...     attacks = attack(release.write(f"{folder}/release").path, truth=table)
    >>> attacks.attacked[0].measures.reconstruction.share, attacks.certain["diagnosis"].determined
    (0.0, 18)
    >>> round(attacks.attacked[0].guessing.definetti, 3), attacks.attacked[0].guessing.base_rate
    (0.792, 0.375)
    >>> attacks.published.counts.small, attacks.published.sensitive["diagnosis"].one_value
    (3, 0)
    """
    if truth is not None:
        require(truth, Table, "truth", "what marginals.read_table(source, attributes) returns")
    found: list[Attacks] = []
    try:
        for attacks in _attacks_so_far(folders, truth, within(seconds)):
            found[:] = [attacks]
    except TimeOverError:
        if not found:
            raise
    return found[0]


_ELSEWHERE = Minimality(note="each release by itself says more; see there")

_TOGETHER = "what is certain together"


def _attacks_so_far(folders: Sequence[str | Path], truth: Table | None, deadline: Deadline) -> Iterator[Attacks]:
    """All that is measured so far, again after each measure."""
    bundles = [(str(folder), read_bundle(path_of(folder), deadline)) for folder in folders]
    if len(bundles) > 1:
        bundles = [(name, published.as_one()) for name, published in bundles]
    tables = by_table(bundles)
    if len(tables) > 1:
        yield from _attacks_on_change(tables, truth)
    elif tables[0].together is not None:
        yield from _attacks(bundles, tables[0].together, truth)
    elif truth is not None:
        why = "the releases generalize attributes differently, or give them other roles or names"
        raise InputError(f"{why}; with the table that they were made from, attack them one by one")
    else:
        attacks = Attacks((), (), {}, _ELSEWHERE, (), unmeasured=(*(name for name, _ in bundles), _TOGETHER))
        parts = ((name, [(name, alone)], alone) for name, alone in _each_in_time(bundles))
        attacks = yield from _each_apart(attacks, parts)
        try:
            certain = refined_certainties(common_refinement(bundles), _for_certain(deadline))
        except (IncompatibleReleasesError, ContradictionError) as reason:
            yield replace(attacks, note=str(reason), unmeasured=())
        else:
            yield replace(attacks, certain=certain, unmeasured=())


def _each_apart(
    attacks: Attacks, parts: Iterable[tuple[str, Sequence[tuple[str, BundleContent]], BundleContent]]
) -> Generator[Attacks, None, Attacks]:
    """The same attacks with those on some releases apart, each by its name, its bundles and what they publish."""
    for name, bundles, published in parts:
        left = tuple(other for other in attacks.unmeasured if other != name)
        for found in _attacks(bundles, published, None):
            attacks = replace(attacks, apart={**attacks.apart, name: found}, unmeasured=left)
            yield attacks
    return attacks


def _attacks_on_change(tables: Sequence[OneTable], truth: Table | None) -> Iterator[Attacks]:
    """On releases of a table that changed in between."""
    if truth is not None:
        raise InputError("the releases are of a table that changed; attack those of one table with --truth")
    attacks = Attacks((), (), {}, _ELSEWHERE, (), changes=tuple(table_changes(tables)))
    yield replace(attacks, unmeasured=tuple(table.name for table in tables))
    for number, table in enumerate(tables):
        part = table.sharing_time(len(tables) - number)
        later = tuple(other.name for other in tables[number + 1 :])
        if part.together is None:
            names = [name for name, _ in part.bundles]
            alone_in_time = ((name, [(name, alone)], alone) for name, alone in _each_in_time(part.bundles))
            attacks = yield from _each_apart(replace(attacks, unmeasured=(*names, *later)), alone_in_time)
        else:
            whole = [(part.name, part.bundles, part.together)]
            attacks = yield from _each_apart(replace(attacks, unmeasured=(part.name, *later)), whole)


def _each_in_time(bundles: Sequence[tuple[str, BundleContent]]) -> Iterator[tuple[str, BundleContent]]:
    """Each bundle with an equal share of the time that those before it have left."""
    for number, (name, alone) in enumerate(bundles):
        yield name, replace(alone, deadline=alone.deadline.share(len(bundles) - number))


def _for_certain(deadline: Deadline) -> float:
    """Seconds to look for what is certain."""
    return CERTAIN_SECONDS if deadline.at == inf else deadline.left


def _attacks(
    bundles: Sequence[tuple[str, BundleContent]], published: BundleContent, truth: Table | None
) -> Iterator[Attacks]:
    """On what is published, measure by measure; bundles: what it was put together from."""
    model = published.model
    core = MarginalModel(published.collection, published.deadline)
    true = None
    if truth is not None:
        over, truth = over_table(published, truth)
        true = over.model
    of_whom = model if true is None else true

    def across_classes() -> dict[str, Any]:
        # What is expected of a sensitive attribute its one table tells, whatever tables stand beside the core.
        measured = disclosure_measures(published, core)
        attacked = []
        for measures in measured.measures:
            guessing = (
                None
                if truth is None or true is None
                else _guessing(true, measures.sensitive, model.domain.attributes, truth)
            )
            attacked.append(Attacked(measures, guessing))
        return {"attacked": tuple(attacked), "thresholds": measured.thresholds, "left_out": measured.left_out}

    # What is certain is looked for as long as there is time, so it comes last.
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "readers with a register": lambda: {"register": register_readers(published, truth)},
        "readers who know the algorithm": lambda: {"minimality": _minimality(bundles, of_whom, truth)},
        "guesses of sensitive values": across_classes,
        "what each release adds": lambda: {
            "compositions": composition(bundles, published, model) if len(bundles) > 1 else ()
        },
        "readers who rank small counts by the model": lambda: {"likely": _likely(published, of_whom, truth)},
        "small counts of nonsensitive attributes": lambda: {"nonsensitive": _nonsensitive_small(published, model)},
        "what is certain": lambda: {"certain": certainties(published, model, _for_certain(published.deadline))},
    }
    attacks = Attacks(
        *((), (), {}, Minimality(note="the time was over before it was looked at"), ()),
        published=published_counts(published.everything, published.sensitive, small_below(published)),
        unmeasured=tuple(steps),
    )
    yield attacks
    published.verify()  # several measures ask whether the claims hold, so it is known before anything takes the time
    for step in steps.values():
        attacks = replace(attacks, **step(), unmeasured=attacks.unmeasured[1:])
        yield attacks


_NONSENSITIVE_SECONDS = 5.0
"""To look for small counts of nonsensitive attributes, where no claim proves that there are none."""


def _nonsensitive_small(published: BundleContent, model: MarginalModel) -> NonsensitiveSmall:
    """By the claims, or by bounds."""
    below = small_below(published)
    for claim, finding in zip(published.claims, published.verify().checks):
        # k-combinatorial anonymity, and with a junction tree a least cell: a class that can have rows can have k or more.
        room = isinstance(claim, CountClaim) and (not claim.is_about_single_margins or claim.least_cell is not None)
        if room and isinstance(claim, CountClaim) and claim.least_count >= below and finding.holds:
            return NonsensitiveSmall(below, f"{finding.criterion} {claim.k}")
    collection = published.everything
    shown_attributes = [a for a in published.domain.attributes if a not in published.sensitive and collection.shows(a)]
    views = {attribute: published_views(collection, attribute) for attribute in shown_attributes}
    deadline = Deadline.after(_NONSENSITIVE_SECONDS, time.monotonic)
    if published.deadline.at < inf:
        deadline = published.deadline.share(3)
    cell = certainly_small(Knowledge(model.frechet_bounds), views, below, deadline)
    return NonsensitiveSmall(below, cell=cell, is_complete=not deadline.is_over)


CORE_ALONE = "the tables without the further ones"


def _likely(published: BundleContent, model: MarginalModel, truth: Table | None) -> LikelySmall | None:
    """What the fitted model ranks as small; None without a junction tree, where it would have to be fitted."""
    if not published.collection.is_decomposable:
        return None
    public = [a for a in published.domain.attributes if a not in published.sensitive]
    counted = None if truth is None else lambda margin: _exactly(truth, margin).lower.ravel()
    less = {CORE_ALONE: MarginalModel(published.collection)} if published.further else {}
    return likely_small(model, public, small_below(published), published.deadline.share(3), counted, less)


def _exactly(truth: Table, margin: Mapping[str, int]) -> MarginBounds:
    """The counts of the table itself, as bounds."""
    cube, domain = truth.cube, truth.domain
    table = cube.table(domain.mask(margin))
    counts = np.zeros([domain.hierarchy(a).size(level) for a, level in margin.items()], dtype=np.int64)
    counts[tuple(table.column(a, level) for a, level in margin.items())] = table.counts
    return MarginBounds(counts, counts, True)


def not_judged(published: BundleContent) -> str:
    """Why it is not examined what its refusals tell of a release; empty where it is."""
    if published.further:
        return "further tables stand beside its core, and what their choice refused was not worked out"
    if not published.claims:
        return "the release makes no claim that could have refused a finer one"
    if not published.collection.is_decomposable:
        return "its marginals form no junction tree, so no search of this project made it"
    if not published.verify().ok:
        return "its claims are not proven to hold, so what they refused is not known"
    return ""


def refused(published: BundleContent, collection: Collection) -> Refusals:
    """What a release tells by what it lacks. collection: its margins, over its own hierarchies or those of the table."""
    least, deadline = small_below(published), published.deadline.share(3)
    rows_per_person = published.rows_per_person
    people = collection.cube.total / (rows_per_person if isinstance(rows_per_person, int) else 1)
    # A release does not say what its search looked for, so that is what searches look for by default.
    price = CHANCE / max(people, 1.0)
    return refusals(collection, published.sensitive, published.claims, least, deadline, price=price)


def _minimality(bundles: Sequence[tuple[str, BundleContent]], model: MarginalModel, truth: Table | None) -> Minimality:
    published = bundles[0][1]
    if len(bundles) > 1:
        return Minimality(note="each release by itself says which finer ones were refused; name one")
    if note := not_judged(published):
        return Minimality(note=note)
    sensitive = published.sensitive
    # What a step is refused for by one class, readers with a register are refused it for too: it is one demand.
    claims = [claim for claim in published.claims if not isinstance(claim, Register)]
    ladders = {} if truth is None else truth.ladders
    readers = refinements(model.collection, sensitive, claims, model.frechet_bounds.of_margin, ladders)
    told = refused(published, model.collection)
    if truth is None:
        return Minimality(readers, domain=model.domain, refusals=told)
    readers_knowing_quasi_identifiers = refinements(
        model.collection, sensitive, claims, partial(_exactly, truth), ladders
    )
    fitted = levels_told(model.collection, ladders)
    return Minimality(readers, readers_knowing_quasi_identifiers, domain=model.domain, ladders=fitted, refusals=told)


def _guessing(true: MarginalModel, sensitive: str, attributes: Sequence[str], truth: Table) -> Guessing:
    """attributes: of the release, be they published or not."""
    level = sensitive_levels(true, sensitive)[sensitive]
    base = {a: 0 for a in truth.quasi_identifiers if a in attributes}
    people = equivalence_classes(truth.cube.table(truth.domain.mask({**base, sensitive: level})), sensitive)
    tables_with_attribute = [
        table.rolled_up({a: v for a, v in table.margin.items() if a in (*base, sensitive)})
        for table in true.collection.tables
    ]
    groups = published_groups(tables_with_attribute, people)
    # Both know everybody's nonsensitive values; only one learns across classes.
    learned, unlearned = definetti(people, groups), definetti(people, groups, rounds=0)
    once = definetti(people, groups, rounds=1)
    number = _confident_rows(int(people.counts.sum()))
    guesses = {"definetti": learned, "naive_bayes": once, "maxent": unlearned}
    return Guessing(
        **{name: accuracy(guess, people) for name, guess in guesses.items()},
        base_rate=base_rate(people),
        people=number,
        confident={name: confident(guess, people, number) for name, guess in guesses.items()},
    )

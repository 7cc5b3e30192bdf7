"""Attacks on bundles: what those who hold them can conclude, compared with the truth if it is known."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from checks.attacks.algorithm import FittedLevelDisclosure, Refusals, refusals
from checks.attacks.guesses import (
    LikelySmall,
    definetti,
    expected_classes,
    likely_small,
    published_groups,
    sensitive_levels,
    shares_of_classes,
    surest_right,
)
from checks.attacks.knowledge import (
    USUAL_BOUND,
    CertainCells,
    Knowledge,
    PublishedCounts,
    certain_cells,
    certainly_small,
    published_counts,
)
from checks.changes import UNSEEN, ChangedPeople, changed_people
from checks.claims import KCombinatorial, NoSmallCertain, Question, answer, undecided
from checks.classes import EquivalenceClasses, equivalence_classes
from checks.diversity.derived import standing_for_none
from checks.errors import CriterionError
from checks.finding import FULL, Finding, Verdict, WorstClass
from checks.impossible import ImpossiblePair
from checks.maxent.surest import HarmfulValues
from marginals.arguments import path_of, require
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import read_bundle
from marginals.bundle.together import (
    Bundles,
    TablePair,
    by_table,
    over_table,
    pairs_of_tables,
    published_views,
)
from marginals.deadline import Seconds, within
from marginals.errors import InputError
from marginals.ladder_readers import ladder_readers
from marginals.register_readers import RegisterReaders, register_readers
from marginals.replaced import Renewed
from marginals.tables.attribute import Codebook
from marginals.tables.table import Table
from models.arrays import FloatArray
from models.deadline import Deadline
from models.errors import MarginalsError, TimeOverError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, Crossing
from models.inference.calibrated_tree import CELL_LIMIT
from models.inference.frechet_bounds import FrechetBounds
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import CHANCE
from models.tables.hierarchy import Domain


@frozen
class SurestGuesses:
    """The `number` rows that are guessed surest to have a value, or one of several.

    overall: share of everybody that has it. expected: share of these rows by the maximum-entropy model. right: share
    that has it, by attackers who know all nonsensitive values; None without the truth. definetti learns across classes,
    naive_bayes is one round of that, and maxent guesses by the shares of each class.
    """

    values: str
    number: int
    overall: float
    expected: float
    right: Mapping[str, float] | None = None

    @property
    def gain(self) -> float:
        """Share by which the best guess is right more often than one without a release."""
        return max((self.right or {"": self.expected}).values()) - self.overall


@frozen
class DisclosureMeasures:
    """Conclusions of readers about one sensitive attribute.

    surest: harmful values by their gain; otherwise all values, the most frequent one last.
    """

    sensitive: str
    surest: tuple[SurestGuesses, ...] = ()


def disclosure_measures(
    published: BundleContent, model: MarginalModel, most_cells: int = CELL_LIMIT
) -> tuple[list[DisclosureMeasures], dict[str, str]]:
    """Return the measures of each sensitive attribute by the release alone, and why some are left out."""
    measures, left_out = [], {}
    for sensitive in published.sensitive:
        levels = sensitive_levels(model, sensitive)
        if not levels:
            left_out[sensitive] = "no marginal shows it"
            continue
        cells = model.domain.size(levels)
        try:
            if cells > most_cells:
                raise TooManyCellsError(f"{cells:,} cells bear on it, more than the {most_cells:,} that are laid out")
            classes = expected_classes(model, levels)
            surest = _surest(classes, published.harmful.get(sensitive), {}, classes.counts) if len(classes) else ()
            measures.append(DisclosureMeasures(sensitive, surest))
        except MarginalsError as error:
            left_out[sensitive] = str(error)
    return measures, left_out


# Rows that are guessed surest to have a value; at most a tenth of the table, and as many as have the value.
MOST_CONFIDENT = 1000


def _surest(
    people: EquivalenceClasses, harmful: "HarmfulValues | None", guesses: Mapping[str, FloatArray], model: FloatArray
) -> tuple[SurestGuesses, ...]:
    values, missing, result = people.values, standing_for_none(people.values), []
    with_rows = [code for code, rows in enumerate(values.rows) if rows and code not in missing]
    sets = {label: [code] for code in with_rows for label in values.labels_of([code])}
    if harmful is not None:
        named = {name: sorted(values.touching(of.labels)) for name, of in harmful.by_name.items()}
        sets = {name: codes for name, codes in named.items() if codes}
    total, of_known = sum(values.rows), sum(values.rows[code] for code in with_rows)
    codes = np.concatenate([*sets.values()]) if sets else np.zeros(0, dtype=np.intp)
    begins = np.cumsum([0, *map(len, sets.values())])[:-1]

    def of_sets(of_values: FloatArray) -> FloatArray:
        return np.add.reduceat(of_values[:, codes], begins, axis=1) if sets else of_values[:, :0]

    rows = of_sets(np.array([values.rows]))[0]
    numbers = np.maximum(np.minimum(min(MOST_CONFIDENT, total // 10), rows), 1).astype(np.intp)
    expected = surest_right(of_sets(shares_of_classes(model)), of_sets(model), model.sum(axis=1), numbers)
    counts, sizes = of_sets(people.counts), people.counts.sum(axis=1)
    right = {
        reader: surest_right(of_sets(shares_of_classes(guess)), counts, sizes, numbers)
        for reader, guess in guesses.items()
    }
    for place, name in enumerate(sets):
        shares_right = {reader: float(shares[place]) for reader, shares in right.items()}
        overall = float(rows[place]) / of_known
        result.append(SurestGuesses(name, int(numbers[place]), overall, float(expected[place]), shares_right or None))
    last = max(result, key=lambda guess: guess.overall, default=None)
    return tuple(sorted(result, key=lambda guess: (guess is last, -guess.gain)))


CERTAIN_SECONDS = 10.0  # most releases need one or two


def certainties(published: BundleContent) -> dict[str, CertainCells]:
    """Return what is certain about each sensitive attribute that is published."""
    views = {
        a: published_views(published.everything, a)
        for a in filter(published.everything.shows, published.domain.attributes)
    }
    attributes, knowledge = [name for name in published.sensitive if name in views], _knowledge(published)
    k, deadline = published.least_count, _in_time(published.deadline, CERTAIN_SECONDS)
    parts = range(len(attributes), 0, -1)
    return {a: certain_cells(knowledge, a, views, k, deadline.share(part)) for a, part in zip(attributes, parts)}


def _knowledge(published: BundleContent) -> Knowledge:
    if not _judged_pairs(published) or (collection := published.without_impossible()) is published.everything:
        return Knowledge(published.model.frechet_bounds)
    return Knowledge(FrechetBounds(collection, published.deadline))


def _judged_pairs(published: BundleContent) -> tuple[ImpossiblePair, ...]:
    try:
        published.without_impossible()
    except (CriterionError, TooManyCellsError):
        return ()
    return published.impossible


def small_below(published: BundleContent) -> int:
    """Return the count below which counts are called small: the largest k claimed, or 10 where none above 1 is."""
    return published.least_count if published.least_count > 1 else USUAL_BOUND


@frozen
class TableChange:
    """Change between two tables that cannot be put together, as their releases show it.

    least: rows from which on a difference is not small, if a least count is claimed. unclear: attributes whose labels do not
    tell how values overlap.
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


def _change(pair: TablePair) -> TableChange:
    tables = (pair.earlier, pair.later)
    sensitive = list(
        dict.fromkeys(name for table in tables for _, bundle in table.bundles for name in bundle.sensitive)
    )
    measured = [*pair.overlapping()]
    return TableChange(
        pair.earlier.name,
        pair.later.name,
        (pair.earlier.collections[0].cube.total, pair.later.collections[0].cube.total),
        pair.least_rows,
        tuple(
            changed_people(before, after, sensitive, pair.least_rows or 1, overlaps.pairs, pair.narrowed)
            for before, after, overlaps in measured
        ),
        tuple(dict.fromkeys(name for *_, overlaps in measured for name in overlaps.unclear)),
        assumption=pair.assumption,
        parts=pair.parts,
    )


@frozen
class Minimality:
    """Disclosures to readers who know that the release is as fine as its claims allow.

    ladders: of fitted levels, None without the truth. refusals: of additions that were not made. note: why it was not
    examined.
    """

    note: str = ""
    domain: Domain | None = field(default=None, repr=False)
    ladders: tuple[FittedLevelDisclosure, ...] | None = None
    refusals: Refusals | None = None


@frozen
class Attacks(Renewed):
    """The measures of one release, or of several together.

    left_out: why, by sensitive attribute. certain: by sensitive attribute. apart:
    the measures of each release, if they cannot be put together for the reason that `note` gives; published,
    nonsensitive and likely are None then. changes: of releases of a table that changed; the rest is apart. unmeasured:
    the parts for which the time was over. impossible: pairs of labels that readers are taken to know nobody to have.
    """

    attacked: tuple[DisclosureMeasures, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    minimality: Minimality | None = None
    certain: Mapping[str, CertainCells] = field(default_factory=dict)
    apart: Mapping[str, "Attacks"] = field(default_factory=dict)
    note: str = ""
    changes: tuple[TableChange, ...] = ()
    published: PublishedCounts | None = None
    nonsensitive: Finding | None = None
    likely: LikelySmall | None = None
    register: tuple[RegisterReaders, ...] = ()
    unmeasured: tuple[str, ...] = ()
    impossible: tuple[ImpossiblePair, ...] = ()
    crossing: tuple[Crossing, ...] = ()
    codebook: Codebook = field(default_factory=Codebook, repr=False)

    @property
    def is_stopped(self) -> bool:
        """True if a part was not measured."""
        return bool(self.unmeasured) or any(part.is_stopped for part in self.apart.values())


def attack(*folders: str | Path, truth: Table | None = None, seconds: Seconds = None) -> Attacks:
    """Measure attacks on one bundle, or on several put together; on each alone where they cannot be.

    Of bundles of a table that changed, each table is attacked alone, and each two tell of those who came and who left.
    truth: the table they were made from; with it, guesses are judged. seconds: what is not measured by then is left out;
    files are read to the end all the same. Raises InputError or BundleError.

    >>> from tempfile import TemporaryDirectory
    >>> from marginals.example import release, table
    >>> with TemporaryDirectory() as folder:
    ...     attacks = attack(release.write(f"{folder}/release").path, truth=table)
    >>> attacks.certain["diagnosis"].determined
    18
    """
    return latest(attacks_so_far(folders, truth, within(seconds)))


def attack_on(published: BundleContent, truth: Table | None, deadline: Deadline) -> Attacks:
    """Measure attacks on the content of a bundle, as `attack` does of its folder."""
    published = replace(published, deadline=deadline)
    return latest(_attacks([("release", published)], published, truth))


def latest(attacks: Iterator[Attacks], *stopped_by: type[BaseException]) -> Attacks:
    """Return the last result before TimeOverError or another exception stops the work. Raises it if there is none."""
    result = next(attacks)
    with suppress(TimeOverError, *stopped_by):
        for later in attacks:
            result = later
    return result


def attacks_so_far(folders: Sequence[str | Path], truth: Table | None, deadline: Deadline) -> Iterator[Attacks]:
    """Yield what is measured after each part, for who stops in between. Raises TimeOverError, InputError or BundleError."""
    if not folders:
        raise InputError("name the folder of a release to attack")
    bundles = [(str(folder), read_bundle(path_of(folder), deadline)) for folder in folders]
    if len(bundles) > 1:
        bundles = [(name, published.as_one()) for name, published in bundles]
    tables = by_table(bundles)
    if len(tables) == 1 and tables[0].together is not None:
        yield from _attacks(bundles, tables[0].together, truth)
        return
    if truth is not None and len(tables) > 1:
        raise InputError("the releases are of a table that changed; attack those of one table with --truth")
    if truth is not None:
        why = "the releases generalize attributes differently, or give them other roles or names"
        raise InputError(f"{why}; with the table that they were made from, attack them one by one")
    parts: list[tuple[str, Bundles, BundleContent]] = []
    for table in tables:
        separately = [(name, [(name, published)], published) for name, published in table.bundles]
        parts += separately if table.together is None else [(table.name, table.bundles, table.together)]
    left = [name for name, *_ in parts]
    attacks = Attacks(
        changes=tuple(map(_change, pairs_of_tables(tables))),
        note="; ".join(table.problem for table in tables if table.problem),
        unmeasured=tuple(left),
        codebook=bundles[0][1].codebook,
    )
    yield attacks
    for number, (name, of_part, published) in enumerate(parts):
        in_time = replace(published, deadline=published.deadline.share(len(parts) - number))
        for measured in _attacks(of_part if len(of_part) > 1 else [(name, in_time)], in_time, None):
            attacks = replace(attacks, apart={**attacks.apart, name: measured}, unmeasured=tuple(left[number + 1 :]))
            yield attacks


def _in_time(deadline: Deadline, seconds: float) -> Deadline:
    return deadline if deadline.at < inf else Deadline.after(seconds, time.monotonic)


def published_attacks(published: BundleContent, most_cells: int = CELL_LIMIT) -> Attacks:
    """Return what a release alone tells in little time. most_cells: laid out for a sensitive attribute."""
    core = MarginalModel(published.collection, published.deadline)
    measures, left_out = disclosure_measures(published, core, most_cells)
    return replace(
        _unmeasured(published, ("what is certain", "readers who rank small counts by the model")),
        attacked=tuple(measures),
        left_out=left_out,
        minimality=_minimality([("", published)], core.collection, None),
        published=published_counts(published.everything, published.sensitive, small_below(published)),
        register=register_readers(published),
    )


def _unmeasured(published: BundleContent, steps: tuple[str, ...]) -> Attacks:
    crossings = published.everything.crossings
    return Attacks(
        unmeasured=steps, impossible=_judged_pairs(published), crossing=crossings, codebook=published.codebook
    )


def _attacks(bundles: Bundles, published: BundleContent, truth: Table | None) -> Iterator[Attacks]:
    model = published.model
    core = MarginalModel(published.collection, published.deadline)
    true = None
    if truth is not None:
        require(truth, Table, "truth", "what marginals.read_table(source, attributes) returns")
        over, truth = over_table(published, truth)
        true = over.model
    of_whom = model if true is None else true

    def across_classes() -> dict[str, Any]:
        # What is expected of a sensitive attribute its one table tells, whatever tables stand beside the core.
        measures, left_out = disclosure_measures(published, core)
        if truth is not None and true is not None:
            attributes = model.domain.attributes
            measures = [_guessed(of, true, attributes, truth, published.harmful.get(of.sensitive)) for of in measures]
        return {"attacked": tuple(measures), "left_out": left_out}

    # What is certain is looked for as long as there is time, so it comes last.
    counted = published.everything, published.sensitive, small_below(published)
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "small counts that are published": lambda: {"published": published_counts(*counted)},
        "readers with a register": lambda: {"register": register_readers(published, truth)},
        "readers who know the algorithm": lambda: {"minimality": _minimality(bundles, of_whom.collection, truth)},
        "guesses of sensitive values": across_classes,
        "readers who rank small counts by the model": lambda: {"likely": _likely(published, of_whom, truth)},
        "small counts of nonsensitive attributes": lambda: {"nonsensitive": _nonsensitive_small(published)},
        "what is certain": lambda: {"certain": certainties(published)},
    }
    attacks = _unmeasured(published, tuple(steps))
    yield attacks
    published.verify()  # several measures ask whether the claims hold, so it is known before anything takes the time
    for step in steps.values():
        if published.deadline.is_over:
            return
        attacks = replace(attacks, **step(), unmeasured=attacks.unmeasured[1:])
        yield attacks


_NONSENSITIVE_SECONDS = 5.0


def _nonsensitive_small(published: BundleContent) -> Finding:
    claim = NoSmallCertain(small_below(published))
    for other, verified in zip(published.claims, published.verify().checks):
        is_same = isinstance(other, KCombinatorial | NoSmallCertain) and not other.is_about_cells
        if is_same and verified.holds and verified.parameters["k"] >= claim.k:
            return replace(verified, criterion=claim.criterion, parameters={"k": claim.k})
    budget = FULL.until(_in_time(published.deadline.share(3), _NONSENSITIVE_SECONDS))
    try:
        question = Question(
            published.without_impossible(claim), published.sensitive, budget, witnesses=[*published.witnesses]
        )
    except MarginalsError as error:
        return undecided(claim, str(error))
    finding = answer(claim, question)
    if finding.verdict is not Verdict.UNDECIDED:
        return finding
    # Tables that only sensitive values link tell more than their nonsensitive parts: bounds of all tables together.
    collection = published.everything
    names = [a for a in published.domain.attributes if a not in published.sensitive and collection.shows(a)]
    views = {attribute: published_views(collection, attribute) for attribute in names}
    deadline = _in_time(published.deadline.share(3), _NONSENSITIVE_SECONDS)
    cell = certainly_small(_knowledge(published), views, small_below(published), deadline)
    if cell is None:
        return finding
    return replace(finding, verdict=Verdict.FAILS, worst=WorstClass(cell.values, cell.levels, count=cell.rows))


def _likely(published: BundleContent, model: MarginalModel, truth: Table | None) -> LikelySmall | None:
    if not published.collection.is_decomposable:
        return None
    public = [a for a in published.domain.attributes if a not in published.sensitive]
    counted = (
        None if truth is None else lambda margin: truth.cube.table(truth.domain.mask(margin)).dense(margin).ravel()
    )
    return likely_small(model, public, small_below(published), published.deadline.share(3), counted)


def _not_judged(published: BundleContent) -> str:
    if published.further:
        return "further tables stand beside its core, and what their choice refused was not worked out"
    if not published.claims:
        return "the release makes no claim that could have refused a finer one"
    if not published.collection.is_decomposable:
        return "its marginals form no junction tree, so no search of this project made it"
    if not published.verify().ok:
        return "its claims are not proven to hold, so what they refused is not known"
    return ""


def _refused(published: BundleContent, collection: Collection) -> Refusals:
    least, deadline = small_below(published), published.deadline.share(3)
    people = collection.cube.total / (published.most_rows_of_a_person or 1)
    # A release does not say what its search looked for, so that is what searches look for by default.
    price = CHANCE / max(people, 1.0)
    return refusals(collection, published.sensitive, published.claims, least, deadline, price=price)


def _minimality(bundles: Bundles, collection: Collection, truth: Table | None) -> Minimality:
    published = bundles[0][1]
    if len(bundles) > 1:
        return Minimality(note="each release by itself says which finer ones were refused; name one")
    if note := _not_judged(published):
        return Minimality(note=note)
    ladders = None if truth is None else ladder_readers(published, collection, truth)
    return Minimality(domain=collection.domain, ladders=ladders, refusals=_refused(published, collection))


def _guessed(
    measures: DisclosureMeasures,
    true: MarginalModel,
    attributes: Sequence[str],
    truth: Table,
    harmful: "HarmfulValues | None",
) -> DisclosureMeasures:
    sensitive = measures.sensitive
    level = sensitive_levels(true, sensitive)[sensitive]
    base = {a: 0 for a in truth.quasi_identifiers if a in attributes}
    people = equivalence_classes(truth.cube.table(truth.domain.mask({**base, sensitive: level})), sensitive)
    showing = [
        table.rolled_up({a: v for a, v in table.margin.items() if a in (*base, sensitive)})
        for table in true.collection.tables
    ]
    groups = published_groups(showing, people)
    # All know everybody's nonsensitive values; only the first two learn across classes.
    guesses = {
        "definetti": definetti(people, groups),
        "naive_bayes": definetti(people, groups, rounds=1),
        "maxent": definetti(people, groups, rounds=0),
    }
    return replace(measures, surest=_surest(people, harmful, guesses, guesses["maxent"]))

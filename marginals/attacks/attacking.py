"""Attacks on bundles: what those who hold them can conclude, with the truth beside it where it is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from checks.attacks.certain_cells import CertainCells
from checks.attacks.class_table import sensitive_levels
from checks.attacks.definetti import accuracy, base_rate, definetti, published_groups
from checks.attacks.fitted_levels import LevelTold, levels_told
from checks.attacks.minimality import refinements
from checks.attacks.refinement import Refinement
from checks.classes.equivalence_classes import equivalence_classes
from marginals.attacks.certainty import CERTAIN_SECONDS, certain_json, certainties, refined_certainties
from marginals.attacks.changing import TableChange, table_changes
from marginals.attacks.composition import Composition, composition
from marginals.attacks.disclosure_measures import DisclosureMeasures, Threshold, disclosure_measures
from marginals.bundle.agreement import over_table
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import read_bundle
from marginals.bundle.together.changed_table import OneTable, by_table
from marginals.bundle.together.refinement import common_refinement
from marginals.errors import IncompatibleReleasesError, InputError
from marginals.tables.table import Table
from marginals.timing import Seconds, within
from models.deadline import Deadline
from models.errors import ContradictionError
from models.inference.frechet_bounds import MarginBounds
from models.inference.marginal_model import MarginalModel
from models.tables.domain import Domain


@dataclass(frozen=True)
class Guessing:
    """Shares of the rows whose sensitive value is guessed, by attackers who know everybody's nonsensitive values.

    definetti: who learns across classes. maxent: who does not, and takes maximum entropy given what is published and
    known. base_rate: who guesses the most frequent value without a release.
    """

    definetti: float
    maxent: float
    base_rate: float


@dataclass(frozen=True)
class Attacked:
    """What readers can conclude about one sensitive attribute; guessing: None where the truth is not given."""

    measures: DisclosureMeasures
    guessing: Guessing | None

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        return {**self.measures.as_json(), "guessing": None if self.guessing is None else asdict(self.guessing)}


@dataclass(frozen=True)
class Minimality:
    """What the steps tell that were not taken, to those who know that the release is as fine as its claims allow.

    holders: who know nothing else. insiders: who know everybody's nonsensitive values, None where the truth is not
    given. ladders: what published levels tell that were fitted to the table, None where the truth is not given. note: why
    there is nothing to tell, empty where there is. domain: of the levels that the steps name; None where there is nothing
    to tell.
    """

    holders: tuple[Refinement, ...] = ()
    insiders: tuple[Refinement, ...] | None = None
    note: str = ""
    domain: Domain | None = None
    ladders: tuple[LevelTold, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """The steps as plain values."""
        return {
            "holders": [step.as_json() for step in self.holders],
            "insiders": None if self.insiders is None else [step.as_json() for step in self.insiders],
            "ladders": None if self.ladders is None else [told.as_json() for told in self.ladders],
            "note": self.note,
        }


@dataclass(frozen=True)
class Attacks:
    """All measures, and why a sensitive attribute was left out, if one was.

    certain: by sensitive attribute what is certain about it. compositions: of several releases only. apart: the measures
    of each release where they cannot be put together, for the reason that `note` gives; there are no others then.
    changes: of releases of a table that changed what each two tables tell of who came and who left; the rest is apart.
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

    def as_json(self) -> dict[str, Any]:
        """The measures as plain values."""
        each: dict[str, Any] = {
            "note": self.note,
            "apart": {name: attacks.as_json() for name, attacks in self.apart.items()},
        }
        each |= {"changes": [change.as_json() for change in self.changes]} if self.changes else {}
        return (each if self.apart else {}) | {
            "attacks": [*map(self._attribute_json, self._attributes())],
            "thresholds": [threshold.as_json() for threshold in self.thresholds],
            "left_out": dict(self.left_out),
            "minimality": self.minimality.as_json(),
            "composition": [composition.as_json() for composition in self.compositions],
        }

    def _attributes(self) -> list[str]:
        """The sensitive attributes of which something is known, those that all is known of first."""
        return list(dict.fromkeys([*(attacked.measures.sensitive for attacked in self.attacked), *self.certain]))

    def _attribute_json(self, attribute: str) -> dict[str, Any]:
        plain: dict[str, Any] = {"sensitive": attribute}
        for attacked in self.attacked:
            plain |= attacked.as_json() if attacked.measures.sensitive == attribute else {}
        certain = certain_json(self.certain[attribute]) if attribute in self.certain else {}
        return plain | {"reconstruction": {**plain.get("reconstruction", {}), **certain}}


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
    """
    deadline = within(seconds)
    bundles = [(str(folder), read_bundle(Path(folder), deadline)) for folder in folders]
    tables = by_table(bundles)
    if len(tables) > 1:
        return _attacks_on_change(tables, truth)
    if tables[0].together is None:
        if truth is not None:
            why = "the releases generalize attributes differently, or give them other roles"
            raise InputError(f"{why}; with the table that they were made from, attack them one by one")
        apart = {name: _attacks([(name, alone)], alone, None) for name, alone in _each_in_time(bundles)}
        elsewhere = Minimality(note="each release by itself says more; see there")
        try:
            certain = refined_certainties(common_refinement(bundles), _for_certain(deadline))
        except (IncompatibleReleasesError, ContradictionError) as reason:
            return Attacks((), (), {}, elsewhere, (), apart=apart, note=str(reason))
        return Attacks((), (), {}, elsewhere, (), certain, apart)
    return _attacks(bundles, tables[0].together, truth)


def _attacks_on_change(tables: Sequence[OneTable], truth: Table | None) -> Attacks:
    """On releases of a table that changed in between."""
    if truth is not None:
        raise InputError("the releases are of a table that changed; attack those of one table with --truth")
    changes = tuple(table_changes(tables))
    apart: dict[str, Attacks] = {}
    for number, table in enumerate(tables):
        own = table.sharing_time(len(tables) - number)
        if own.together is None:
            apart |= {name: _attacks([(name, alone)], alone, None) for name, alone in _each_in_time(own.bundles)}
        else:
            apart[own.name] = _attacks(own.bundles, own.together, None)
    elsewhere = Minimality(note="each release by itself says more; see there")
    return Attacks((), (), {}, elsewhere, (), apart=apart, changes=changes)


def _each_in_time(bundles: Sequence[tuple[str, BundleContent]]) -> Iterator[tuple[str, BundleContent]]:
    """Each bundle with an equal share of the time that those before it have left."""
    for number, (name, alone) in enumerate(bundles):
        yield name, replace(alone, deadline=alone.deadline.share(len(bundles) - number))


def _for_certain(deadline: Deadline) -> float:
    """Seconds to look for what is certain."""
    return CERTAIN_SECONDS if deadline.at == inf else deadline.left


def _attacks(bundles: Sequence[tuple[str, BundleContent]], published: BundleContent, truth: Table | None) -> Attacks:
    """On what is published; bundles: what it was put together from."""
    model = MarginalModel(published.collection, published.deadline)
    true = None if truth is None else MarginalModel(over_table(published.collection, truth))
    release_measures = disclosure_measures(published, model)
    attacked = []
    for measures in release_measures.measures:
        guessing = (
            None
            if truth is None or true is None
            else _guessing(true, measures.sensitive, model.domain.attributes, truth)
        )
        attacked.append(Attacked(measures, guessing))
    together = composition(bundles, published, model) if len(bundles) > 1 else ()
    return Attacks(
        tuple(attacked),
        release_measures.thresholds,
        release_measures.left_out,
        _minimality(bundles, model if true is None else true, truth),
        together,
        certainties(published, model, _for_certain(published.deadline)),
    )


def _minimality(bundles: Sequence[tuple[str, BundleContent]], model: MarginalModel, truth: Table | None) -> Minimality:
    published = bundles[0][1]
    if len(bundles) > 1:
        return Minimality(note="each release by itself says which finer ones were refused; name one")
    if not published.claims:
        return Minimality(note="the release makes no claim that could have refused a finer one")
    if not published.collection.is_decomposable:
        return Minimality(note="its marginals form no junction tree, so no search of this project made it")
    if not published.verify().ok:
        return Minimality(note="its claims are not proven to hold, so they refused nothing")
    sensitive, claims = published.sensitive, published.claims
    ladders = {} if truth is None else truth.ladders
    holders = refinements(model.collection, sensitive, claims, model.frechet_bounds.of_margin, ladders)
    if truth is None:
        return Minimality(holders, domain=model.domain)
    cube, domain = truth.cube, truth.domain

    def exactly(margin: Mapping[str, int]) -> MarginBounds:
        """The counts of the table itself, as bounds."""
        table = cube.table(domain.mask(margin))
        counts = np.zeros([domain.hierarchy(a).size(level) for a, level in margin.items()], dtype=np.int64)
        counts[tuple(table.column(a, level) for a, level in margin.items())] = table.counts
        return MarginBounds(counts, counts, True)

    insiders = refinements(model.collection, sensitive, claims, exactly, ladders)
    told = levels_told(model.collection, ladders)
    return Minimality(holders, insiders, domain=model.domain, ladders=told)


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
    return Guessing(accuracy(learned, people), accuracy(unlearned, people), base_rate(people))

"""t-closeness in every form is the exact earth mover's distance of the published values, wherever it is asked for.

Assessing, searching, publishing and verifying are compared with a linear program whose answer is proven in whole numbers.
Of the hierarchy and the order the oracle knows what the case was made of, not what the program made of it.
MARGINALS_TRIALS says how many cases are tried.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from shutil import rmtree

import numpy as np
import pandas as pd

import marginals
from checks import Finding, MaxentDiversity, PrivacyConstraint, parse_diversity, spelled
from checks.diversity.text import numbers
from marginals import open_release
from marginals.bundle.writing import bundle_files
from marginals.publishing.publishing import content, prepare
from marginals.publishing.searching import no_progress
from models import Hierarchy
from privacy_oracles import Ground, exact_work

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "60"))
WHOLE_WAY = 5
"""Of so many cases one is published by the search too."""

VALUES = {
    "whole numbers": ["-5", "2", "3", "10", "20", "30", "100", "1000"],
    "decimals": ["0.5", "1.25", "9.75", "10.5", "100"],
    "dates": ["28.10.2022", "02.11.2022", "01.02.2023", "15.01.2024"],
    "times": ["7:30", "9:05", "10:00", "23:59"],
    "bands": ["<5", "5-17", "18-64", "65+"],
    "words of a config": ["none", "mild", "bad", "awful", "deadly"],
    "words of a frame": ["none", "mild", "bad", "awful", "deadly"],
}
"""Of each kind some values, lowest first."""


@dataclass(frozen=True)
class Case:
    """A table of wards and values. values: lowest first. above: the group of each value at each level below `*`.

    counts: of each ward and value, shape (wards, values). missing: rows of each ward without a value.
    """

    kind: str
    values: Sequence[str]
    above: Sequence[Sequence[int]]
    counts: np.ndarray
    missing: np.ndarray
    is_public: bool
    distance: str
    is_fitted: bool = False

    @property
    def table(self) -> marginals.Table:
        rows = [
            (f"ward {ward}", value)
            for ward, own in enumerate(np.hstack([self.counts, self.missing[:, None]]).tolist())
            for value, count in zip([*self.values, ""], own)
            for _ in range(count)
        ]
        frame = pd.DataFrame(rows, columns=["ward", "ill"])
        order = self.values if self.kind == "words of a config" else ()
        if self.kind == "words of a frame":
            frame["ill"] = pd.Categorical(frame["ill"], categories=[*self.values, ""], ordered=True)
        hierarchy = None
        if len(self.above) > 1:
            shuffled = np.random.default_rng(len(rows)).permutation(len(self.values)).tolist()
            names = [[f"level {level} group {group}" for group in own] for level, own in enumerate(self.above[1:])]
            hierarchy = Hierarchy.from_rows((self.values[v], *(own[v] for own in names), "*") for v in shuffled)
        ill = marginals.Attribute(
            "sensitive",
            hierarchy,
            labels="public" if self.is_public and hierarchy else "private",
            missing="as a value" if self.missing.any() else "drop",
            order=order,
            ladder="fitted" if self.is_fitted else "given",
        )
        return marginals.read_table(frame, {"ward": "quasi-identifier", "ill": ill}, k=3)

    def fitted(self, table: marginals.Table) -> "Case":
        hierarchy = table.domain.hierarchy("ill")
        codes = [hierarchy.labels[0].index(value) for value, rows in zip(self.values, self.counts.sum(axis=0)) if rows]
        lifted = [hierarchy.lift(0, level)[codes].tolist() for level in range(hierarchy.height)]
        above = [[list(dict.fromkeys(own)).index(group) for group in own] for own in lifted]
        return replace(self, above=above, counts=self.counts[:, self.counts.any(axis=0)])

    def worst(self, level: int) -> Fraction:
        """The largest distance of a ward from the whole table, by values of a level that have rows."""
        groups = sorted({group for group, rows in zip(self.above[level], self.counts.sum(axis=0)) if rows})
        vectors = np.zeros((len(self.counts), len(groups)), dtype=np.int64)
        for value, group in enumerate(self.above[level]):
            if group in groups:
                vectors[:, groups.index(group)] += self.counts[:, value]
        whole, height = vectors.sum(axis=0), len(self.above)

        def climb(one: int, other: int) -> Fraction:
            paths = [next(p for p in zip(*self.above) if p[level] == groups[own]) for own in (one, other)]
            meet = next((at for at in range(level, height) if paths[0][at] == paths[1][at]), height)
            return Fraction(meet - level, height - level)

        grounds: dict[str, Ground] = {
            "equal": lambda one, other: Fraction(one != other),
            "ordered": lambda one, other: Fraction(abs(one - other), max(len(groups) - 1, 1)),
            "hierarchical": climb,
        }
        known = [vector for vector in vectors if vector.any()]
        return max(exact_work(vector.tolist(), whole.tolist(), grounds[self.distance]) for vector in known)


def drawn(rng: np.random.Generator) -> Case:
    kind = str(rng.choice(list(VALUES)))
    distance = str(rng.choice(["equal", "ordered", "hierarchical"]))
    number = int(rng.integers(2, len(VALUES[kind]) + 1))
    values = [VALUES[kind][i] for i in sorted(rng.choice(len(VALUES[kind]), number, replace=False))]
    above = [list(range(number))]
    for _ in range(int(rng.integers(0, 3))):
        top = above[-1]
        size = max(top) + 1
        # Neighbours are put together where an order must stay.
        steps = np.cumsum([0, *rng.integers(0, 2, size - 1)])
        parents = steps if distance == "ordered" else np.unique(rng.integers(0, size, size), return_inverse=True)[1]
        above.append([int(parents[code]) for code in top])
    wards = int(rng.integers(2, 4))
    counts = rng.integers(0, 7, (wards, number)) * rng.integers(0, 2, (wards, number))
    counts[:, int(rng.integers(number))] += 1
    missing = rng.integers(0, 3, wards) * int(rng.integers(0, 2))
    is_public = bool(rng.integers(0, 2)) and not missing.any()
    is_fitted = distance != "hierarchical" and len(above) == 1 and bool(rng.integers(0, 2))
    return Case(kind, values, above, counts, missing, is_public, distance, is_fitted)


def judged(findings: Sequence[Finding], t: Fraction, worst: Fraction) -> None:
    """The one finding on t-closeness is the exact verdict, and states the exact distance to the last digit."""
    (finding,) = (each for each in findings if "t-closeness" in str(each.parameters.get("diversity")))
    assert finding.verdict.value == ("holds" if worst <= t else "fails"), finding
    assert finding.worst_class.reached == float(worst)


def ask(case: Case, number: int, rng: np.random.Generator, folder: Path) -> None:
    """All doors, of a bound at the distance itself, where the claim holds, just below it, and anywhere."""
    table = case.table
    case = case.fitted(table) if case.is_fitted else case
    worst_of = [case.worst(level) for level in range(len(case.above))]
    worst = worst_of[0]
    t = [worst, worst - worst / 10**6, Fraction(int(rng.integers(0, 21)), 20)][number % 3]
    t = t if numbers(spelled(t)) else worst  # of so many digits no criterion is read
    text = f"t-closeness:{spelled(t)}" + ("" if case.distance == "equal" else f" {case.distance}")
    policy = marginals.Policy(diversity=text, base="none", max_sensitive_margins=1)
    judged(marginals.recoding.assess(table, policy).checks, t, worst)
    prepared = prepare(table, policy, no_progress)
    allows = PrivacyConstraint(table.cube, prepared.requirements)
    for level in range(len(case.above)):
        mask = table.domain.mask({"ward": 0, "ill": level})
        worst = worst_of[level]
        refusal = allows(frozenset([mask]), 0)
        assert (refusal is None) is (worst <= t), (refusal, worst)
        published = content(prepared, table, (mask,), "a release")
        judged(published.verify().checks, t, worst)
        bundle = folder / f"{number}-{level}"
        for path, file in bundle_files(published, b"<!doctype html>").items():
            (bundle / path).parent.mkdir(parents=True, exist_ok=True)
            (bundle / path).write_bytes(file)
        judged(marginals.verify(bundle).checks, t, worst)
        read = open_release(bundle).published
        rmtree(bundle)
        assert read.domain == published.domain
        # Whoever asks for a criterion that is not claimed needs no more than the files, either.
        other = Fraction(float(worst) * 0.9).limit_denominator(10**6)
        asked = MaxentDiversity(parse_diversity(text.replace(spelled(t), spelled(other), 1)), "ill")
        asked = asked.leaving_out("missing") if case.missing.any() else asked
        judged(read.claiming([asked]).verify().checks, other, worst)
    if number % WHOLE_WAY == 0:
        wanted = marginals.Policy(diversity=text, base="none", must_publish=[{"ward": 0, "ill": 0}], time_limit=5)
        try:
            release = marginals.publish(table, wanted).release
        except marginals.errors.NothingPublishableError:
            assert worst_of[0] > t
        else:
            assert worst_of[0] <= t
            judged(release.verify().checks, t, worst_of[0])


def test_every_door_states_the_exact_distance_of_the_published_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(48)
    for number in range(TRIALS):
        ask(drawn(rng), number, rng, tmp_path)

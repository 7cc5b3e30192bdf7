"""Readers with a register, against an enumeration of everything that they can think possible."""

import copy
import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from checks import (
    ATTESTED,
    FULL,
    Algorithm,
    CriterionError,
    MaxentDiversity,
    Question,
    Register,
    Verdict,
    parse_diversity,
)
from filled_tables import of_rows
from models import Collection, DataCube, Domain, Hierarchy
from privacy_oracles import keeps_odds

MISSING = "missing"

CASES = min(int(os.environ.get("MARGINALS_TRIALS", "60")), 5_000)
"""Random cases of each kind."""

CRITERIA = (
    *("distinct:2", "distinct:2", "distinct:2", "entropy:6/5", "entropy:2", "entropy:3/2"),
    *("recursive:3,2", "recursive:1,2", "simple:2", "simple:3/2"),
)

FITTING = replace(FULL, vectors=0)
"""Never count."""


def domain_of(rng: np.random.Generator) -> Domain:
    """Three nonsensitive and two sensitive attributes; S has a level of groups, X too; one value of S may be none."""
    absent = MISSING if rng.random() < 0.4 else "s2"
    s = Hierarchy.from_rows(
        [("s0", "low", "*"), ("s1", "low" if rng.random() < 0.7 else "s1", "*"), (absent, absent, "*")]
    )
    x = Hierarchy.from_rows([("x0", "x01", "*"), ("x1", "x01", "*"), ("x2", "x2", "*")])
    return Domain.of({"X": x, "Y": Hierarchy.flat(["y0", "y1"]), "S": s, "Q": Hierarchy.flat(["q0", "q1"])})


def random_case(rng: np.random.Generator) -> tuple[Domain, np.ndarray, list[dict[str, int]]]:
    """A domain, people by their codes at base values (people, 4), and margins that are published."""
    domain = domain_of(rng)
    count = int(rng.integers(3, 7))
    people = np.column_stack([rng.integers(0, size, count) for size in (3, 2, 3, 2)])
    for column, share in ((0, 0.3), (1, 0.4), (3, 0.4)):
        if rng.random() < share:
            people[:, column] = 0
    margins = []
    for _ in range(int(rng.integers(1, 5))):
        margin = {}
        for name in domain.attributes:
            height = domain.hierarchy(name).height
            level = int(rng.integers(0, height + 1))
            if level < height:
                margin[name] = level
        if margin:
            margins.append(margin)
    return domain, people, margins


def generalized(domain: Domain, name: str, level: int, codes: np.ndarray) -> np.ndarray:
    """Written out from the rows of the hierarchy: the label at a level of each base value."""
    rows = domain.hierarchy(name).rows()
    numbers = np.array([sorted({row[level] for row in rows}).index(row[level]) for row in rows])
    return np.asarray(numbers[codes])


def posterior(
    domain: Domain, people: np.ndarray, margins: list[dict[str, int]], knows_others: bool, level: int
) -> list[dict[int, Fraction]]:
    """Of each person the share of each value of S at a level, over all that a reader with a register thinks possible.

    One world is what everybody's S and Q are; with `knows_others` Q is known. All worlds with the published counts are
    equally likely. This is nothing but the definition.
    """
    count = len(people)
    worlds = np.array(list(product(range(3), repeat=count)))
    of_q = np.array(list(product(range(2), repeat=count))) if not knows_others else people[None, :, 3]
    totals: list[dict[int, int]] = [{} for _ in range(count)]
    number = 0
    for q in of_q:
        fits = np.ones(len(worlds), dtype=bool)
        for margin in margins:
            real = _keys(domain, margin, people[:, 2][None, :], people[:, 3], people)[0]
            keys = np.sort(_keys(domain, margin, worlds, q, people), axis=1)
            fits &= (keys == np.sort(real)).all(axis=1)
        number += int(fits.sum())
        seen = generalized(domain, "S", level, worlds[fits])
        for person in range(count):
            for value, times in zip(*np.unique(seen[:, person], return_counts=True)):
                totals[person][int(value)] = totals[person].get(int(value), 0) + int(times)
    return [{value: Fraction(times, number) for value, times in own.items()} for own in totals]


def _keys(domain: Domain, margin: dict[str, int], s: np.ndarray, q: np.ndarray, people: np.ndarray) -> np.ndarray:
    """For each world and person a number of the published cell that the person is in: shape (worlds, people)."""
    keys = np.zeros(s.shape, dtype=int)
    columns = {"X": people[:, 0][None, :], "Y": people[:, 1][None, :], "S": s, "Q": np.asarray(q)[None, :]}
    for name, level in margin.items():
        keys = keys * 4 + generalized(domain, name, level, columns[name])
    return keys


HARMFUL: dict[str, tuple[Fraction, Fraction, tuple[str, ...]]] = {
    "odds:2,20": (Fraction(2), Fraction(20), ("s0", "s1", "s2")),
    "odds:3/2,30 may disclose s0": (Fraction(3, 2), Fraction(30), ("s1", "s2")),
    "at-most:60 of s0": (Fraction(1), Fraction(60), ("s0",)),
}
"""Times, percent, and what harms."""


def passes(diversity: str, shares: dict[str, Fraction], domain: Domain, people: np.ndarray, level: int) -> bool:
    """The criterion of the values that are known; of somebody who is known to have none there is none to learn."""
    known = {label: share for label, share in shares.items() if label != MISSING}
    if not known or diversity not in HARMFUL:
        return not known or parse_diversity(diversity).decide(list(known.values()))
    rows = domain.hierarchy("S").rows()
    times, percent, labels = HARMFUL[diversity]
    whole = Counter(rows[code][level] for code in people[:, 2])
    del whole[MISSING]
    own: Counter[str] = Counter()
    own.update(known)
    harmful = {row[level] for row in rows if row[0] in labels and row[0] != MISSING}
    if diversity.startswith("at-most"):
        return 100 * sum(own[v] for v in harmful) <= percent * sum(own.values())
    above = [
        {row[level] for row in rows if row[1] == label and row[0] != MISSING} for label in {row[1] for row in rows}
    ]
    groups = [*([v] for v in harmful), harmful, *(group for group in above if group and group <= harmful)]
    return keeps_odds(times, percent, groups, whole, own)


def finest(margins: list[dict[str, int]]) -> int | None:
    return min((margin["S"] for margin in margins if "S" in margin), default=None)


def beliefs(domain: Domain, people: np.ndarray, margins: list[dict[str, int]]) -> list[dict[str, Fraction]]:
    """Of each person the shares of the published values, for readers who know nobody's Q, and who know everybody's."""
    level = finest(margins)
    labels = sorted({row[level] for row in domain.hierarchy("S").rows()})
    held = [own for knows in (False, True) for own in posterior(domain, people, margins, knows, level)]
    return [{labels[value]: share for value, share in own.items()} for own in held]


def collection_of(domain: Domain, people: np.ndarray, margins: list[dict[str, int]]) -> Collection:
    cube = DataCube([of_rows(domain, people)])
    return Collection.of(cube, [domain.mask(margin) for margin in margins])


def published(collection: Collection) -> Collection:
    """The same marginals over a cube of nothing else, as anybody has them."""
    return Collection.of(DataCube(list(collection.tables)), collection.masks)


def register(diversity: str, basis: str = "verified") -> Register:
    return Register(parse_diversity(diversity), "S", basis=basis)


def test_what_is_said_is_what_all_worlds_say() -> None:
    """Of the table itself and from the files alone, where these decide; the files always do for a chain."""
    rng = np.random.default_rng(20_260)
    decided = {"files": 0, "table": 0, "not by files": 0, "not by the table": 0, "holds": 0, "several": 0}
    for _ in range(CASES):
        domain, people, margins = random_case(rng)
        if finest(margins) is None:
            continue
        collection = collection_of(domain, people, margins)
        shown = [mask for mask, margin in zip(collection.masks, collection.margins) if "S" in margin]
        held = beliefs(domain, people, margins)
        several = sum(not any(mask != other and not mask & ~other for other in shown) for mask in shown) > 1
        decided["several"] += several
        for diversity in rng.choice([*CRITERIA, *HARMFUL], 2, replace=False):
            claim, right = (
                register(str(diversity)),
                all(passes(str(diversity), own, domain, people, finest(margins) or 0) for own in held),
            )
            by_files = claim.based_on(published(collection), ["S", "Q"]).basis == "verified"
            assert by_files or several
            own, public = (claim.check(Question(each, ("S", "Q"))) for each in (collection, published(collection)))
            for name, found in (("table", own), ("files", public)):
                if found.verdict is Verdict.UNDECIDED:
                    decided[f"not by {'the table' if name == 'table' else name}"] += 1
                    assert not by_files
                else:
                    decided[name] += 1
                    assert found.holds == right, (people, margins, diversity, found)
                    assert name == "files" or any(
                        found.worst_class.distribution
                        == pytest.approx({label: float(share) for label, share in own.items()})
                        for own in held
                    )
            decided["holds"] += right
    assert min(decided["files"], decided["table"], decided["holds"], decided["several"]) > CASES // 20


def dense_fit(people: np.ndarray, tables: list[tuple[np.ndarray, np.ndarray]], classes: np.ndarray) -> np.ndarray:
    """Shares of S in each class by proportional fitting without end. tables: of each person a row and a column number."""
    cells = np.ones((classes.max() + 1, 3))
    cell = classes, people[:, 2]
    where = np.zeros((*cells.shape, len(tables)), dtype=int)
    targets = []
    for number, (row, column) in enumerate(tables):
        # Every person of a class is in the same row of a table, and every person with a value in the same column.
        row_of, column_of = np.zeros(len(cells), dtype=int), np.zeros(3, dtype=int)
        row_of[classes], column_of[cell[1]] = row, column
        where[:, :, number] = row_of[:, None] * 3 + column_of
        targets.append(np.bincount(row * 3 + column, minlength=where[:, :, number].max() + 1))
    sizes = np.bincount(classes)
    for _ in range(3_000):
        for number, target in enumerate(targets):
            present = np.bincount(where[:, :, number].ravel(), cells.ravel(), len(target))
            factor = np.divide(target, present, out=np.zeros(len(target)), where=present > 0)
            cells = cells * factor[where[:, :, number]]
        cells = cells * (sizes / cells.sum(axis=1))[:, None]
    return np.asarray(cells / sizes[:, None])


def test_a_fit_decides_as_one_without_end() -> None:
    """Of tables too large to count arrangements; what holds, and not with the margin of the fit, is undecided."""
    rng = np.random.default_rng(7)
    sure = undecided = 0
    for _ in range(CASES):
        domain = domain_of(rng)
        count = int(rng.integers(150, 600))
        people = np.column_stack([rng.integers(0, size, count) for size in (3, 2, 3, 2)])
        people[:, 2] = np.where(
            rng.random(count) < 0.7, (people[:, 0] + people[:, 1] * rng.integers(0, 2, count)) % 3, people[:, 2]
        )
        people[:, 3] = 0
        collection = collection_of(domain, people, [{"X": 0, "S": 0}, {"Y": 0, "S": 0}])
        labels = domain.hierarchy("S").labels[0]
        classes = np.unique(people[:, 0] * 2 + people[:, 1], return_inverse=True)[1].reshape(-1)
        oracle = dense_fit(people, [(people[:, 0], people[:, 2]), (people[:, 1], people[:, 2])], classes)
        for text in CRITERIA:
            criterion = parse_diversity(text)
            known = np.where(np.array(labels) != MISSING, oracle, 0.0)
            slack = float(criterion.slack(known[known.sum(axis=1) > 1e-9]).min())
            claim = register(text)
            found = claim.check(Question(collection, ("S", "Q"), FITTING))
            verdict = found.verdict
            if verdict is Verdict.UNDECIDED:
                undecided += 1
                assert slack > -1e-4
            else:
                sure += 1
                assert (verdict is Verdict.HOLDS) == (slack > 0)
                assert found.algorithms in ((Algorithm.ITERATIVE_FITTING,), (Algorithm.EVERY_CLASS,))
                shares = found.worst_class.distribution or {}
                worst = [shares.get(label, 0.0) for label in labels]
                assert np.abs(oracle - worst).max(axis=1).min() < 1e-8
            files = claim.check(Question(published(collection), ("S", "Q"), FITTING))
            assert files.verdict is Verdict.UNDECIDED or (files.verdict is Verdict.FAILS and slack < 0)
            classes_too = Collection.of(collection.cube, [*collection.masks, domain.mask({"X": 0, "Y": 0})])
            assert claim.check(Question(published(classes_too), ("S", "Q"), FITTING)).verdict is verdict
    assert sure > undecided > 0


@pytest.mark.parametrize(
    ("people", "tables", "distance", "verdict"),
    [
        (9, 2, 0.0, Verdict.UNDECIDED),
        (90, 2, 0.0, Verdict.HOLDS),
        (90, 2, 0.3, Verdict.UNDECIDED),
        (90, 3, 0.0, Verdict.UNDECIDED),
    ],
)
def test_a_fit_proves_nothing_that_its_margin_can_change(
    people: int, tables: int, distance: float, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """70 and 30 percent are 3,2-recursive with a share of one in 90 moved, and not with one in 9; three tables: anything."""
    fit = np.array([[0.7, 0.3, 0.0]]), np.array([distance])
    monkeypatch.setattr("checks.register.fitted_shares", lambda *_: fit)
    rows = np.array([(0, 0, number % 2, 0) for number in range(people)])
    margins = [{"X": 0, "S": 0}, {"Y": 0, "S": 0}, {"Q": 0, "S": 0}][:tables]
    found = register("recursive:3,2").check(
        Question(collection_of(domain_of(np.random.default_rng(1)), rows, margins), ("S",), FITTING)
    )
    assert found.verdict is verdict
    assert f"up to {distance / 2 + 1 / people if tables == 2 else 1.0:.3g} of them" in found.note


def test_a_fit_never_attests_what_fails_by_counting() -> None:
    """Classes of few people; fitted shares alone attested about one in 70 of these."""
    rng = np.random.default_rng(76)
    verdicts = []
    while len(verdicts) < 3 * CASES:
        tables, count = int(rng.choice([2, 2, 3])), int(rng.integers(4, 40))
        people = np.column_stack([rng.integers(0, size, count) for size in (3, 2, 3, 2)])
        margins = [{"X": 0, "S": 0}, {"Y": 0, "S": 0}, {"Q": 0, "S": 0}][:tables]
        collection = collection_of(domain_of(rng), people, margins)
        claim = register(str(rng.choice(CRITERIA)))
        counted, fitted = (claim.check(Question(collection, ("S",), budget)) for budget in (FULL, FITTING))
        if counted.algorithms == (Algorithm.ARRANGEMENTS,):
            verdicts.append((counted.verdict, fitted.verdict))
    assert (Verdict.FAILS, Verdict.HOLDS) not in verdicts
    assert {(Verdict.FAILS, Verdict.FAILS), (Verdict.HOLDS, Verdict.HOLDS)} <= {*verdicts}


LINKED = (
    [{"S": 0}, {"X": 0, "S": 1}, {"Y": 0, "S": 1}],
    [{"X": 1, "S": 0}, {"X": 0, "S": 1}, {"Y": 0, "S": 1}],
    [{"Y": 0, "S": 0}, {"X": 0, "S": 1}, {"X": 1, "Y": 0, "S": 1}],
    [{"Q": 0, "S": 0}, {"X": 0, "S": 1}, {"Y": 0, "Q": 0, "S": 1}],
)
"""Tables that are no chain, with one that shows S finer than the others, in classes that one of them splits."""


def test_a_link_leaves_the_values_of_other_tables_in_as_many_worlds() -> None:
    """Against the definition, and a fit to all three tables without end: these tables are judged as two are."""
    rng = np.random.default_rng(78)
    verdicts = Counter[tuple[str, Verdict]]()
    for case in range(2 * CASES):
        is_small, margins = case % 2, LINKED[rng.integers(len(LINKED))]
        domain, count = domain_of(rng), int(rng.integers(4, 8) if is_small else rng.integers(150, 600))
        people = np.column_stack([rng.integers(0, size, count) for size in (3, 2, 3, 2)])
        columns = dict(zip("XYSQ", people.T))
        columns["S"][:] = np.where(rng.random(count) < 0.7, (columns["X"] + columns["Y"]) % 3, columns["S"])
        collection = collection_of(domain, people, margins)
        labels, text = domain.hierarchy("S").labels[0], str(rng.choice([*CRITERIA, *HARMFUL]))
        found = register(text).check(Question(collection, ("S",), FULL if is_small else FITTING))
        verdicts["small" if is_small else "large", found.verdict] += 1
        if is_small:
            of_s = posterior(domain, people, margins, True, 0)
            names = [sorted({row[0] for row in domain.hierarchy("S").rows()})[code] for code in range(3)]
            shares = [{names[code]: share for code, share in own.items()} for own in of_s]
            if found.verdict is not Verdict.UNDECIDED:
                assert found.holds == all(passes(text, own, domain, people, 0) for own in shares), (
                    people,
                    margins,
                    text,
                )
            continue
        coded = [
            (
                sum(generalized(domain, n, margin[n], columns[n]) * 4**i for i, n in enumerate("XYQ") if n in margin)
                + np.zeros(count, dtype=int),
                generalized(domain, "S", margin["S"], columns["S"]),
            )
            for margin in margins
        ]
        classes = np.unique(people[:, [0, 1, 3]], axis=0, return_inverse=True)[1].reshape(-1)
        oracle = dense_fit(people, coded, classes)
        worst = [(found.worst_class.distribution or {}).get(label, 0.0) for label in labels]
        assert np.abs(oracle - worst).max(axis=1).min() < 1e-8
    assert {key for key in verdicts if key[1] is not Verdict.UNDECIDED} == {
        (size, verdict) for size in ("small", "large") for verdict in (Verdict.HOLDS, Verdict.FAILS)
    }, verdicts


def two_tables(values: int) -> Collection:
    """Of 60 people those in one class of A share one value of S; the classes of A and Q together are not published."""
    domain = Domain.of(
        {name: Hierarchy.flat(f"{name.lower()}{n}" for n in range(size)) for name, size in zip("ASQ", (2, values, 2))}
    )
    people = [(0, 0, n % 2) for n in range(20)] + [(1, n % values, n % 2) for n in range(40)]
    return published(
        Collection.of(
            DataCube([of_rows(domain, people)]), [domain.mask({"A": 0, "S": 0}), domain.mask({"S": 0, "Q": 0})]
        )
    )


def test_one_reader_for_whom_it_fails_is_enough_where_another_is_undecided() -> None:
    """Who knows everybody's Q cannot be judged by the files; who knows nobody's is certain of S in a class of A."""
    assert register("distinct:2").check(Question(two_tables(3), ("S", "Q"))).verdict is Verdict.FAILS
    one_reader = register("simple:1.01").check(Question(two_tables(3), ("S",)))
    assert one_reader.verdict in (Verdict.UNDECIDED, Verdict.FAILS)


@pytest.mark.parametrize("basis", ["verified", ATTESTED])
def test_a_criterion_that_cannot_be_judged_leaves_a_claim_undecided(basis: str) -> None:
    """Nothing says in which order the values lie, and it never comes to the joint classes of these tables."""
    claim = register("t-closeness:0.5 ordered", basis)
    found = claim.check(Question(two_tables(17), ("S",)))
    assert found.verdict is Verdict.UNDECIDED
    assert "order" in found.note


def test_a_claim_is_of_a_criterion_and_an_attribute() -> None:
    of = MaxentDiversity(parse_diversity("entropy:6"), "S")
    for old in ((of,), (of, "attested"), ("entropy:6", "S")):
        with pytest.raises(CriterionError, match=r'such as Register\(parse_diversity\("entropy:6"\), "diagnosis"\)'):
            Register(*old)  # type: ignore[arg-type]
    assert copy.deepcopy(of) == of == replace(of, level=0)

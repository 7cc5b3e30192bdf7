"""What `attack` says of readers who know the algorithm, beside publishing every table that has the published marginals.

The oracle takes a small table, publishes it, lists all tables with the same published counts by trying every number, and
publishes each with the same policy. Those that give the same release are what a reader is left with who can run the
search. What these have in common and the release does not show, such a reader knows: so the attack must never say that
nothing follows there, and what it calls certain must be so in each of them.

`MARGINALS_TRIALS=1500 pytest tests/trust/test_readers_of_the_algorithm.py` takes as many tables.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from pathlib import Path

import numpy as np
import pandas as pd

import marginals
from checks.attacks.algorithm import Conclusion, Refusals, refusals
from marginals import Attribute, Policy, Table
from marginals.bundle.together import over_table
from marginals.say.attacks import attack_sentences
from models import Hierarchy, MarginalsError
from table_enumeration import all_tables

TRIALS = int(os.environ.get("MARGINALS_TRIALS", "60"))

LADDERS = {
    "two": [("a", "*"), ("b", "*")],
    "three": [("a", "*"), ("b", "*"), ("c", "*")],
    "steps": [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")],
}
Cell = tuple[str, ...]
Shown = tuple[tuple[int, int, str], ...]
"""Of some attributes the number, a level, and a label there."""

AGREEING = (31, 202, 206, 222)
"""Cases in which all tables that give the release agree on a small count that it does not show."""

MOST = 120
"""Tables that are published for one case."""


@dataclass(frozen=True)
class Case:
    """A table by its cells of base values, and how it is to be published. kinds: the ladder of each attribute."""

    kinds: tuple[str, ...]
    sensitive: bool
    policy: Policy
    rows: Mapping[Cell, int]

    @property
    def k(self) -> int:
        assert self.policy.k_link is not None
        return self.policy.k_link

    def cells(self) -> list[Cell]:
        return list(product(*([row[0] for row in LADDERS[kind]] for kind in self.kinds)))

    def ladder(self, attribute: int, cell: Cell) -> tuple[str, ...]:
        return {row[0]: row for row in LADDERS[self.kinds[attribute]]}[cell[attribute]]

    def table(self, rows: Mapping[Cell, int]) -> Table:
        names = [f"x{number}" for number in range(len(self.kinds))]
        frame = pd.DataFrame([cell for cell, count in rows.items() for _ in range(count)], columns=names)
        roles = ["quasi-identifier"] * len(names)
        roles[-1] = "sensitive" if self.sensitive else roles[-1]
        attributes = {
            name: Attribute(role, hierarchy=Hierarchy.from_rows(LADDERS[kind]))
            for name, role, kind in zip(names, roles, self.kinds)
        }
        return marginals.read_table(frame, attributes)


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    number = int(rng.integers(2, 4))
    kinds = tuple(str(rng.choice(["two", "two", "three", "steps"][: 4 if number == 2 else 3])) for _ in range(number))
    sensitive = bool(rng.random() < 0.4)
    chances = [rng.dirichlet(np.full(len(LADDERS[kind]), 0.5)) for kind in kinds]
    rows: Counter[Cell] = Counter()
    for _ in range(int(rng.integers(8, 40) if number == 2 else rng.integers(6, 18))):
        rows[tuple(str(rng.choice([row[0] for row in LADDERS[kind]], p=p)) for kind, p in zip(kinds, chances))] += 1
    k = int(rng.integers(2, 5))
    policy = Policy(
        k_link=k,
        k_combinatorial=k if rng.random() < 0.7 else None,
        min_cell=k if rng.random() < 0.5 else None,
        diversity=str(rng.choice(["distinct:2", "entropy:1.5"])) if sensitive and rng.random() < 0.7 else None,
        base="none" if rng.random() < 0.5 else "auto",
        strategy=str(rng.choice(["local", "forward", "exact"])),
    )
    return Case(kinds, sensitive, policy, dict(sorted(rows.items())))


def published(of: Case, rows: Mapping[Cell, int]) -> marginals.Release | None:
    try:
        return marginals.publish(of.table(rows), of.policy).release
    except MarginalsError:
        return None


def shown(release: marginals.Release) -> frozenset[tuple]:
    return frozenset((table.attributes, *sorted(table.cells())) for table in release.published.collection.tables)


def tables(of: Case, release: marginals.Release) -> list[tuple[int, ...]] | None:
    """All tables with the published counts, by their cells; None for more than are published."""
    cells = of.cells()
    members, sums = [list(range(len(cells)))], [sum(of.rows.values())]
    for table in release.published.collection.tables:
        ladders = [[of.ladder(int(name[1:]), cell) for name in table.attributes] for cell in cells]
        labels = dict(table.cells())
        inside = [[all(a in b for a, b in zip(label, own)) for own in ladders] for label in labels]
        unseen = [place for place in range(len(cells)) if not any(each[place] for each in inside)]
        members += [[place for place, is_in in enumerate(each) if is_in] for each in inside] + [unseen]
        sums += [*labels.values(), 0]
    found = list(islice(all_tables(members, sums, len(cells)), MOST + 1))
    return None if len(found) > MOST else [tuple(world.tolist()) for world in found]


def every_cell(of: Case) -> Iterator[tuple[Shown, list[int]]]:
    """All cells of all margins at all levels, and the base cells in each."""
    cells = of.cells()
    for number in range(1, len(of.kinds) + 1):
        for chosen in combinations(range(len(of.kinds)), number):
            for levels in product(*(range(len(LADDERS[of.kinds[a]][0]) - 1) for a in chosen)):
                parts: dict[Shown, list[int]] = {}
                for place, cell in enumerate(cells):
                    key = tuple((a, level, of.ladder(a, cell)[level]) for a, level in zip(chosen, levels))
                    parts.setdefault(key, []).append(place)
                yield from parts.items()


def counted(of: Case, worlds: Sequence[tuple[int, ...]]) -> dict[Shown, tuple[int, int]]:
    counts = np.array(worlds)
    sums = {key: counts[:, places].sum(axis=1) for key, places in every_cell(of)}
    return {key: (int(own.min()), int(own.max())) for key, own in sums.items()}


def certainly_small(of: Case, worlds: Sequence[tuple[int, ...]]) -> set[Shown]:
    return {key for key, (least, most) in counted(of, worlds).items() if least >= 1 and most < of.k}


def assert_all_agree(of: Case, told: Refusals, kept: Sequence[tuple[int, ...]]) -> None:
    ranges = counted(of, kept)
    for cell in told.small:
        key = tuple((int(name[1:]), cell.levels[name], cell.values[name]) for name in sorted(cell.values))
        least, most = ranges[key]
        assert cell.lower <= least
        assert most <= cell.upper
    cells, counts = of.cells(), np.array(kept)
    for value in told.values:
        own = int(value.sensitive[1:])
        inside = [
            place
            for place, cell in enumerate(cells)
            if all(label in of.ladder(int(name[1:]), cell) for name, label in value.values.items())
        ]
        having = [place for place in inside if value.value in of.ladder(own, cells[place])]
        assert np.array_equal(counts[:, inside].sum(axis=1), counts[:, having].sum(axis=1))
        assert counts[:, inside].sum(axis=1).min() >= value.rows
    # One of the counts of its margin is small, whichever, where it would tell something.
    for addition in (each for each in told.of(Conclusion.SOME) if not each.may_gain_nothing):
        small = np.zeros(len(kept), dtype=bool)
        for names in (addition.margin, {n: v for n, v in addition.margin.items() if int(n[1:]) < len(of.kinds) - 1}):
            asked = {(int(name[1:]), level) for name, level in names.items()}
            for key, places in every_cell(of):
                if {(a, level) for a, level, _ in key} == asked:
                    sums = counts[:, places].sum(axis=1)
                    small |= (sums >= 1) & (sums < of.k)
        assert small.all()


def test_attack_never_says_nothing_where_all_tables_agree_on_a_small_count(tmp_path: Path) -> None:
    looked_at = agree = 0
    for seed in dict.fromkeys((*AGREEING, *range(TRIALS))):
        of = case(seed)
        release = published(of, of.rows)
        if release is None or (worlds := tables(of, release)) is None or len(worlds) < 2:
            continue
        own = shown(release)
        cells = of.cells()
        kept = []
        for world in worlds:
            again = published(of, {cell: count for cell, count in zip(cells, world) if count})
            if again is not None and shown(again) == own:
                kept.append(world)
        assert kept
        looked_at += 1
        new = certainly_small(of, kept) - certainly_small(of, worlds)
        table = of.table(of.rows)
        attacks = marginals.attack(release.write(tmp_path / str(seed)).path or "", truth=table)
        told = attacks.minimality.refusals
        assert told is not None
        assert_all_agree(of, told, kept)
        # The same with fewer tables laid out: each addition by itself, and by bounds.
        sensitive = [f"x{len(of.kinds) - 1}"] if of.sensitive else []
        for most in (1, 4, 20):
            price = of.policy.objective_for(table).price  # as `attack` takes it
            part = refusals(
                over_table(release.published, table)[0].everything,
                sensitive,
                release.claims,
                of.k,
                most=most,
                price=price,
            )
            assert_all_agree(of, part, kept)
        words = "\n".join(line for sentence in attack_sentences(attacks) for line in sentence.lines)
        assert "nothing can be inferred" not in words
        assert "what somebody concludes who runs the search itself on every possible table" in words
        alone = attack_sentences(marginals.attack(tmp_path / str(seed)))
        assert any(
            "not examined: levels that the release does not name" in line for each in alone for line in each.lines
        )
        if new:
            agree += 1
            assert told.small or told.of(Conclusion.SOME), seed
    assert looked_at >= TRIALS / 5
    assert agree >= len(AGREEING), "in these cases the tables that are left agree on a small count"

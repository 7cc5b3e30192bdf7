"""What a bound follows from is true of every population, and proves the bound."""

import numpy as np

from interval_oracles import Published, random_published
from models import Classification, IntervalTable, linked_tables, proven_bounds
from models.intervals.proofs import explained

AREA = Classification("area", ("Aurora", "Boone"))
AGE = Classification("age", ("under 65",), others=True)


def test_all_aurora_minus_aurora_under_65() -> None:
    everybody = IntervalTable.of("everybody", ["area"], {(1,): (412, 412), (2,): (300, 300)})
    young = IntervalTable.of("young", ["area", "age"], {(1, 1): (409, 409), (2, 1): (250, 250)})
    linked = linked_tables([everybody, young], [AREA, AGE])
    bounds = proven_bounds(linked)
    names = [linked.named(cell) for cell in range(len(linked))]
    old = names.index({"area": "Aurora", "age": "other than under 65"})
    assert bounds.lower[old] == bounds.upper[old] == 3
    found = explained(linked, bounds, old, upper=False)
    assert found.is_whole
    said = [(int(term.times), linked.named(term.cell), term.lower) for term in found.terms]
    assert sorted(said, key=lambda each: -each[0]) == [
        (1, {"area": "Aurora"}, 412),
        (-1, {"area": "Aurora", "age": "under 65"}, 409),
    ]


def test_explanations_are_identities_of_the_truth() -> None:
    proven = 0
    for seed in (0, 1, 2):
        published: Published = random_published(np.random.default_rng(seed))
        linked = linked_tables(published.tables, published.classifications)
        bounds = proven_bounds(linked)
        counts = [
            int(published.count(published.truth[None], [s[c] for s, c in zip(linked.sets, key)])[0])
            for key in linked.keys.tolist()
        ]
        for cell in range(0, len(linked), 3):
            for upper in (False, True):
                found = explained(linked, bounds, cell, upper=upper)
                if found.is_whole:
                    proven += 1
                    assert sum(term.times * counts[term.cell] for term in found.terms) == counts[cell]
    assert proven > 5

"""What a release makes certain or likely, against enumeration of all tables that fit and against counting."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from math import exp, factorial, prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from brute_force import lifted
from checks import FactCriteria, FactKind, certain_facts, equivalence_classes
from checks.attacks.guesses import (
    definetti,
    expected_classes,
    kept_to_counts,
    likely_small,
    published_groups,
    sensitive_levels,
    shares_of_classes,
    surest_right,
)
from checks.attacks.knowledge import CertainCells, Knowledge, certain_cells, published_counts
from filled_tables import apart, filled, of_rows, published
from label_oracles import SMALL, LabelledTables, linked_labels, random_labelled_tables
from models import (
    NEVER,
    Collection,
    CountArray,
    DataCube,
    Deadline,
    Domain,
    DomainMismatchError,
    FrechetBounds,
    Hierarchy,
    LinkedTables,
    MarginalModel,
    proven_bounds,
)
from strategies import contingency_tables, decomposable_masks, domains, margins
from table_enumeration import all_tables, margins_with, ranges

# In no alphabetical order, so that an order taken for another one shows.
DOMAIN = Domain.of({"z": Hierarchy.flat("ab"), "s": Hierarchy.flat("xyw"), "a": Hierarchy.flat("pqr")})
CHAIN = [{"z": 0, "s": 0}, {"s": 0, "a": 0}]
TRIANGLE = [*CHAIN, {"a": 0, "z": 0}]


def cube_of(counts: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> DataCube:
    return DataCube([filled(DOMAIN, counts)])


def random_counts(seed: int, rows: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    rng = np.random.default_rng(seed)
    return rng.multinomial(rows, rng.dirichlet(np.full(18, 0.5))).reshape(2, 3, 3)


def model_of(cube: DataCube, margins: list[dict[str, int]]) -> MarginalModel:
    return MarginalModel(Collection.of(cube, map(DOMAIN.mask, margins)))


@pytest.mark.parametrize("seed", range(10))
def test_the_classes_of_the_model_have_the_rows_that_tables_with_a_junction_tree_let_expect(seed: int) -> None:
    counts = random_counts(seed, 40)
    model = model_of(cube_of(counts), CHAIN)
    classes = expected_classes(model, sensitive_levels(model, "s"))
    # Without the sensitive attribute a level matters only where there is no junction tree.
    assert sensitive_levels(model_of(cube_of(counts), [{"z": 0, "a": 0}, {"a": 0, "s": 0}]), "s") == {"a": 0, "s": 0}
    assert sensitive_levels(model_of(cube_of(counts), TRIANGLE), "s") == {"z": 0, "a": 0, "s": 0}
    assert sensitive_levels(model_of(cube_of(counts), [{"z": 0}]), "s") == {}
    by_z, by_a, overall = counts.sum(axis=2), counts.sum(axis=0), counts.sum(axis=(0, 2)).astype(float)
    found = {
        (labels["z"], labels["a"]): row for row, labels in zip(classes.counts, map(classes.labels, range(len(classes))))
    }
    for z, a in product(range(2), range(3)):
        expected = by_z[z] * by_a[:, a] / np.where(overall > 0, overall, 1)
        if expected.sum():
            assert found.pop(("ab"[z], "pqr"[a])) == pytest.approx(expected)
    assert not found


@pytest.mark.parametrize("seed", range(10))
def test_guesses_keep_every_published_count_and_every_person(seed: int) -> None:
    counts = random_counts(seed, 60)
    cube = cube_of(counts)
    people = equivalence_classes(cube.table(DOMAIN.mask({"z": 0, "s": 0, "a": 0})), "s")
    tables = Collection.of(cube, map(DOMAIN.mask, CHAIN)).tables
    for rounds in (0, 10):
        guess = definetti(people, published_groups(tables, people), rounds)
        assert guess.sum(axis=1) == pytest.approx(people.counts.sum(axis=1), abs=0.01)
        laid_out = np.zeros((2, 3, 3))
        codes = dict(zip(people.attributes, people.codes))
        np.add.at(laid_out, (codes["z"], slice(None), codes["a"]), guess)
        assert laid_out.sum(axis=2) == pytest.approx(counts.sum(axis=2), abs=0.01)
        assert laid_out.sum(axis=0) == pytest.approx(counts.sum(axis=0), abs=0.01)


def test_a_guess_is_learnt_by_a_naive_bayes_model_with_one_more_of_each() -> None:
    """P(s | z, a) is proportional to n(s) + 1 and to (n(z, s) + 1) / (n(s) + 2), (n(a, s) + 1) / (n(s) + 3)."""
    cube = cube_of(random_counts(5, 60))
    people = equivalence_classes(cube.table(DOMAIN.mask({"z": 0, "s": 0, "a": 0})), "s")
    groups = published_groups(Collection.of(cube, [DOMAIN.mask({"z": 0, "s": 0})]).tables, people)
    guess, codes = definetti(people, groups, 0), dict(zip(people.attributes, people.codes))
    learnt = np.ones_like(guess)
    for row, s in np.ndindex(guess.shape):
        number = guess[:, s].sum()
        learnt[row, s] = number + 1
        for name, size in (("z", 2), ("a", 3)):
            alike = sum(guess[other, s] for other in range(len(guess)) if codes[name][other] == codes[name][row])
            learnt[row, s] *= (alike + 1) / (number + size)
    learnt /= learnt.sum(axis=1, keepdims=True)
    told = kept_to_counts(learnt, people.counts.sum(axis=1).astype(float), groups)
    assert definetti(people, groups, 1) == pytest.approx(told, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_surest_guesses_are_right_as_often_as_picking_rows_one_by_one_says(seed: int) -> None:
    """On average over all orders of rows that are equally sure."""
    rng = np.random.default_rng(seed)
    cube = cube_of(random_counts(seed, 40))
    people = equivalence_classes(cube.table(DOMAIN.mask({"z": 0, "s": 0, "a": 0})), "s")
    guess = rng.integers(1, 4, people.counts.shape).astype(float)
    codes = [0] if seed % 2 else [0, 1]
    rows = []
    for own, held in zip(guess, people.counts):
        rows += [(own[codes].sum() / own.sum(), held[codes].sum() / held.sum())] * int(held.sum())
    for number in (1, 7, 40, 1000):
        left, expected = number, 0.0
        for sure in sorted({round(sure, 9) for sure, _ in rows}, reverse=True):
            same = [right for other, right in rows if round(other, 9) == sure]
            taken = min(left, len(same))
            expected += taken * float(np.mean(same))
            left -= taken
        shares, right = (
            of.sum(axis=1)[:, None] for of in (shares_of_classes(guess)[:, codes], people.counts[:, codes])
        )
        # the same set twice, of other numbers of rows
        twice = np.repeat(shares, 2, axis=1), np.repeat(right, 2, axis=1)
        found, _ = surest_right(*twice, people.counts.sum(axis=1), np.array([number, 3]))
        assert found == pytest.approx(expected / min(number, len(rows)))


# What is certain of all margins of up to three attributes, at whatever published levels.


Ranges = Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]


def published_levels(collection: Collection) -> dict[str, tuple[int, ...]]:
    """The levels of each attribute that some margin shows."""
    levels = {a: {m[a] for m in collection.margins if a in m} for a in collection.domain.attributes}
    return {attribute: tuple(sorted(own)) for attribute, own in levels.items() if own}


def enumerated(collection: Collection, sensitive: str) -> Ranges:
    """Bounds of every margin at every published level, by walking over all tables at the finest published levels."""
    domain, levels = collection.domain, published_levels(collection)
    finest = {a: min(own) for a, own in levels.items()}
    shape = [domain.hierarchy(a).size(level) for a, level in finest.items()]
    assume(prod(shape) <= 40)
    codes = dict(zip(finest, np.indices(shape).reshape(len(shape), -1)))

    def keys(margin: Mapping[str, int]) -> NDArray[np.intp]:
        columns = [lifted(domain.hierarchy(a), finest[a], level)[codes[a]] for a, level in margin.items()]
        sizes = [domain.hierarchy(a).size(level) for a, level in margin.items()]
        return np.ravel_multi_index(columns, sizes) if columns else np.zeros(prod(shape), dtype=np.intp)

    members, sums = [], []
    for table in collection.tables:
        places = keys({a: table.margin[a] for a in table.attributes})
        counts = np.zeros(domain.size(table.margin), dtype=np.int64)
        counts[
            np.ravel_multi_index(table.codes, [domain.hierarchy(a).size(table.margin[a]) for a in table.attributes])
        ] = table.counts
        members += [np.flatnonzero(places == cell).tolist() for cell in range(len(counts))]
        sums += counts.tolist()
    tables = []
    for table in all_tables(members, sums, prod(shape)):
        tables.append(table)
        assume(len(tables) <= 3_000)
    return ranges(iter(tables), {str(m): keys(m) for m in margins_with(sensitive, levels)})


def check(collection: Collection, sensitive: str, k: int) -> CertainCells:
    levels = published_levels(collection)
    views = {a: [{a: level} for level in own] for a, own in levels.items()}
    bounds = enumerated(collection, sensitive)
    at_finest = [bounds[str(m)] for m in margins_with(sensitive, {a: own[:1] for a, own in levels.items()})]
    found = certain_cells(Knowledge(FrechetBounds(collection)), sensitive, views, k, NEVER)
    assert found.is_complete
    assert found.determined == sum(np.count_nonzero((low == high) & (low > 0)) for low, high in at_finest)
    assert found.exists == sum(np.count_nonzero(low) for low, _ in at_finest)
    assert found.small == sum(np.count_nonzero((low == high) & (low > 0) & (low < k)) for low, high in at_finest)
    alone = 0
    for margin in margins_with(sensitive, {a: own[:1] for a, own in levels.items()}):
        shape = [collection.domain.hierarchy(a).size(level) for a, level in margin.items()]
        low, high = (np.moveaxis(own.reshape(shape), list(margin).index(sensitive), -1) for own in bounds[str(margin)])
        alone += np.count_nonzero(((high > 0).sum(axis=-1) == 1) & (low.max(axis=-1) > 0))
    assert found.one_value == alone
    assert (found.shared is not None) == bool(alone)
    smallest = min((int(low[(low == high) & (low > 0)].min(initial=10**9)) for low, high in bounds.values()))
    assert (10**9 if found.worst is None else found.worst.rows) == smallest
    if found.worst is not None:
        margin = found.worst.levels
        places = [collection.domain.hierarchy(a).code(found.worst.values[a], level) for a, level in margin.items()]
        shape = [collection.domain.hierarchy(a).size(level) for a, level in margin.items()]
        low, high = bounds[str(dict(margin))]
        cell = int(np.ravel_multi_index([0 if place is None else place for place in places], shape))
        assert low[cell] == high[cell] == found.worst.rows
    return found


@st.composite
def small_collections(draw: st.DrawFn, decomposable: bool) -> Collection:
    domain = draw(domains(min_attributes=2, max_attributes=4, max_values=3, max_levels=3, max_cells=36))
    cube = DataCube([draw(contingency_tables(domain, 5))])
    if decomposable:
        return Collection.of(cube, draw(decomposable_masks(domain)))
    pairs = [dict.fromkeys(pair, 0) for pair in combinations(domain.attributes, 2)]
    return Collection.of(
        cube, map(domain.mask, draw(st.lists(margins(domain), min_size=2, max_size=4) | st.just(pairs)))
    )


@pytest.mark.parametrize("decomposable", [True, False])
@settings(max_examples=60)
@given(k=st.integers(1, 6), data=st.data())
def test_what_a_collection_makes_certain_is_that_of_all_tables(decomposable: bool, k: int, data: st.DataObject) -> None:
    """Within a limit what is said is said without, and the rest is counted."""
    collection = data.draw(small_collections(decomposable))
    assume(collection.masks)
    sensitive = data.draw(st.sampled_from(sorted(published_levels(collection))))
    ordinary = check(collection, sensitive, k)
    views = {a: [{a: level} for level in own] for a, own in published_levels(collection).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.attacks.knowledge.MOST_CELLS", data.draw(st.integers(0, 8)))
        cut = certain_cells(Knowledge(FrechetBounds(collection)), sensitive, views, k, NEVER)
    assert (cut.unread > 0) == (not cut.is_complete)
    assert cut.determined <= ordinary.determined
    assert cut.exists <= ordinary.exists
    assert cut.small <= ordinary.small


# What is published is counted as it stands.


PATIENTS = Domain.of(
    {
        "ill": Hierarchy.flat(["flu", "gout", "mumps"]),
        "age": Hierarchy.from_intervals(["20", "29", "34"], [10]),
        "sex": Hierarchy.flat(["f", "m"]),
    }
)


@pytest.mark.parametrize("seed", range(20))
def test_they_are_those_that_a_reader_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [tuple(int(rng.integers(size)) for size in (3, 3, 2)) for _ in range(rng.integers(1, 25))]
    margins = [{"age": 1, "ill": 0}, {"ill": 0, "sex": 0}, {"age": 0}]
    found = published_counts(published(of_rows(PATIENTS, rows), *margins), ["ill"], 3)

    cells: dict[tuple[int, frozenset], int] = Counter()
    classes: dict[tuple, set[str]] = defaultdict(set)
    sizes: dict[tuple, int] = Counter()
    for number, margin in enumerate(margins):
        for row in rows:
            shown = {
                a: PATIENTS.hierarchy(a).labels[level][PATIENTS.hierarchy(a).lift(0, level)[row[PATIENTS.index(a)]]]
                for a, level in margin.items()
            }
            cells[number, frozenset(shown.items())] += 1
            if "ill" in shown:
                value = shown.pop("ill")
                classes[number, frozenset(shown.items())].add(value)
                sizes[number, frozenset(shown.items())] += 1
    assert found.counts.number == len(cells)
    assert found.counts.small == sum(count < 3 for count in cells.values())
    assert [cell.rows for cell in found.counts.smallest] == sorted(cells.values())[:3]
    with_ill = {cell: count for cell, count in cells.items() if "ill" in dict(cell[1])}
    own = found.sensitive["ill"]
    assert (own.counts.number, own.counts.small) == (len(with_ill), sum(c < 3 for c in with_ill.values()))
    for cell in own.counts.smallest:
        assert cell.rows in [count for shown, count in with_ill.items() if shown[1] == frozenset(cell.values.items())]
    alone = {shown for shown, values in classes.items() if len(values) == 1}
    assert (own.classes, own.one_value) == (len(classes), len(alone))
    assert own.rows == max((sizes[shown] for shown in alone), default=0)
    if own.shared is None:
        assert not alone
    else:
        public = frozenset((a, label) for a, label in own.shared.items() if a != "ill")
        assert any(shown[1] == public and classes[shown] == {own.shared["ill"]} for shown in alone)


# Small combinations as a model ranks them: by Poisson chances of what it expects.


WIDE = Domain.of(
    {name: Hierarchy.flat([f"{value:02}" for value in range(size)]) for name, size in zip("abc", (9, 8, 7))}
)


def test_it_is_right_as_often_as_the_combinations_that_come_first() -> None:
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(0.4, 3.0, (9, 8, 7)))
    collection = published(filled(WIDE, counts), "ab", "c")

    def counted(margin: dict[str, int]) -> np.ndarray:
        return counts.sum(axis=tuple(i for i, name in enumerate("abc") if name not in margin)).ravel()

    found = likely_small(MarginalModel(collection), "abc", 4, NEVER, counted)
    ranked = []
    total = counts.sum()
    for names in (n for size in (2, 3) for n in combinations("abc", size)):
        if names == ("a", "b"):  # a table shows it
            continue
        for cell in product(*(range(dict(zip("abc", counts.shape))[name]) for name in names)):
            at = dict(zip(names, cell))
            rows = counts[tuple(at.get(name, slice(None)) for name in "abc")].sum()
            joint = counts[at.get("a", slice(None)), at.get("b", slice(None))].sum()
            expected = joint * counts[:, :, at["c"]].sum() / total
            ranked.append((-sum(exp(-expected) * expected**n / factorial(n) for n in (1, 2, 3)), 1 <= rows <= 3))
    ranked.sort(key=lambda pair: pair[0])
    (top,) = found.tops
    assert (top.number, found.combinations, found.unread) == (100, sum(chance < 0 for chance, _ in ranked), 0)
    assert top.expected == pytest.approx(-sum(chance for chance, _ in ranked[:100]) / 100)
    assert top.right == pytest.approx(sum(right for _, right in ranked[:100]) / 100, abs=0.02)  # ties
    alone = likely_small(MarginalModel(collection), "abc", 4, NEVER)
    assert [(t.number, t.expected, t.right) for t in alone.tops] == [(100, top.expected, None)]


def test_what_was_not_looked_at_in_time_is_counted() -> None:
    collection = apart(WIDE, {"a": [5] * 9, "b": [45, *[0] * 7]})
    found = likely_small(MarginalModel(collection), "abc", 4, Deadline.after(-1.0, lambda: 0.0))
    assert (found.unread, found.tops) == (1, ())


@pytest.mark.parametrize(
    ("limit", "most", "alone"),
    [("_MOST_MARGINS", 1, "ac"), ("_MOST_CELLS_IN_ALL", 63, "ac"), ("_MOST_CELLS", 60, "bc")],
)
def test_what_is_beyond_a_limit_is_counted_and_the_rest_ranked(
    limit: str, most: int, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 63 cells of a and c, 56 of b and c, and 504 of all three, those of one margin are looked at."""
    model = MarginalModel(published(filled(WIDE, np.random.default_rng(2).poisson(2.0, (9, 8, 7))), "ab", "c"))
    rest = likely_small(model, alone, 4, NEVER)
    monkeypatch.setattr(f"checks.attacks.guesses.{limit}", most)
    found = likely_small(model, "abc", 4, NEVER)
    assert (found.unread, found.combinations, found.tops) == (2, rest.combinations, rest.tops)


# Facts of tables of intervals are those of all populations that fit, which are listed one by one.


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 2]))
def test_facts_are_those_of_all_populations_that_fit(seed: int, small: int | None) -> None:
    published = random_labelled_tables(np.random.default_rng(seed), SMALL)
    linked, populations = linked_labels(published), published.populations()
    bounds = proven_bounds(linked, small)
    assert bounds.decided.all()
    counts = np.array([populations @ published.inside(linked.named(cell)) for cell in range(len(linked))])
    with pytest.raises(DomainMismatchError):
        FactCriteria(small=0)
    facts = certain_facts(linked, bounds, FactCriteria(small=2, protection=3, sensitive=("a0",)))
    told = {kind: {fact.cell for fact in facts if fact.kind is kind} for kind in FactKind}
    low, high, was_open = counts.min(axis=1), counts.max(axis=1), linked.lower < linked.upper
    recovered = linked.is_published & was_open & (low == high)
    assert told[FactKind.RECOVERED] == set(np.flatnonzero(recovered).tolist())
    implied = linked.is_published & (linked.lower >= 1) & (linked.upper <= 2)
    small_ones = was_open & (low >= 1) & (high <= 2) & ~recovered & ~implied
    assert told[FactKind.SMALL] == set(np.flatnonzero(small_ones).tolist())
    is_narrowed = linked.is_published & ((low > linked.lower) | (high < linked.upper))
    narrow = is_narrowed & (low < high) & (high - low < 3) & ~small_ones
    assert told[FactKind.NARROW] == set(np.flatnonzero(narrow).tolist())
    exists = was_open & (low >= 1) & (linked.lower < 1) & ~recovered & ~small_ones & ~narrow
    assert told[FactKind.EXISTS] == set(np.flatnonzero(exists).tolist())
    assert told[FactKind.SENSITIVE] == set(_alone(published, linked, populations, counts))


def _alone(
    published: LabelledTables, linked: LinkedTables, populations: CountArray, counts: CountArray
) -> Iterator[int]:
    """The narrowest values of the first attribute that everybody of a group has in every population."""
    alone = []
    for cell, own in enumerate(counts):
        group = dict(linked.named(cell))
        label = group.pop("a0", None)
        everybody = populations @ published.inside(group)
        if (
            label in (*published.base["a0"], *published.groups["a0"])
            and own.min() >= 1
            and np.array_equal(own, everybody)
        ):
            alone.append((published.meant("a0", label), group, cell))
    for values, group, cell in alone:
        if not any(other == group and narrower < values for narrower, other, _ in alone):
            yield cell

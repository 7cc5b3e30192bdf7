"""What a disclosure risks: sensitivities, dictionaries, losses, links and releases, as LSFB09 writes them down."""

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import base_cells, covered
from checks import (
    Constant,
    Dictionary,
    DisclosureRuleError,
    Harm,
    Linear,
    Multiplicative,
    Records,
    RecordSpace,
    Weights,
    consistent_counts,
    losses,
)
from checks.errors import IncomparableError
from checks.risk.attackers import AlikeValues, approximate_counts, distance_from_root
from checks.risk.disclosure import contains, precedes, upper_bound
from checks.risk.harm import (
    Links,
    PerPerson,
    Sensitivity,
    as_distribution,
    enlarged,
    expected,
    harmonic_shares,
    linkage_losses,
    release_risk,
    risk,
    uniform_links,
)
from marginals import SensitivityError
from models import Collection, DataCube, Domain, DomainMismatchError, Hierarchy, MaximumEntropy, Taxonomy
from risk_strategies import (
    constant_shares,
    dictionaries,
    entries_consistent_with,
    generalizations,
    harmonic_means,
    records,
    sensitivities,
    spaces,
)
from strategies import data_cubes, decomposable_collections, hierarchies, margins, shape_cube
from work import compare_with_sorting

CUSTOMERS = RecordSpace(
    Domain.of(
        {
            "city": Hierarchy.from_rows(
                [
                    ("West Lafayette", "Tippecanoe", "Indiana", "Midwest", "*"),
                    ("Gary", "Lake", "Indiana", "Midwest", "*"),
                ]
            ),
            "race": Hierarchy.from_rows(
                [("White", "European", "*"), ("Chinese", "Asian", "*"), ("Thai", "Asian", "*")]
            ),
            "birthdate": Hierarchy.from_rows((f"{d:02d}/05/1975", "May 1975", "1975", "*") for d in range(1, 32)),
            "income": Hierarchy.from_rows(
                (f"${k}k", f"{k // 10 * 10}", f"{(k - 20) // 40}", "[$20k, $99k]", "*") for k in range(20, 100)
            ),
        }
    )
)


"""Domain generalization hierarchies of the heights of LSFB09 Fig. 8, 4, 2, 3 and 4 as its utilities say; of the
birthdates only those of one month, and of the incomes only the 80 of one interval."""


EXAMPLES = Records(CUSTOMERS, np.array([[0, 0, 9, 32], [0, 5, 31, 80 + 8 + 2]]))


"""(West Lafayette, White, 05/10/1975, $52k) and (West Lafayette, suppressed, May 1975, [$20k, $99k])."""


WEIGHTS = (0.3, 0.4, 0.5, 0.75)


def test_sensitivities_losses_and_utilities_of_the_case_study() -> None:
    """LSFB09 section 8: e^(0.3+0.4+0.5+0.75) = 7.03 and e^(0.3+0+0.5/31+0.75/80) = 1.38; over 7 and 198 consistent
    entries 1.004 and 0.007; utilities 13 and 7.
    """
    labels = [[t.labels[node] for t, node in zip(CUSTOMERS.taxonomies, record)] for record in EXAMPLES.nodes.tolist()]
    assert labels[0] == ["West Lafayette", "White", "10/05/1975", "$52k"]
    assert labels[1] == ["West Lafayette", "*", "May 1975", "[$20k, $99k]"]
    phi = Multiplicative(Weights.linear(map(harmonic_shares, CUSTOMERS.taxonomies), WEIGHTS))
    found = phi(EXAMPLES, np.arange(2))
    assert found == pytest.approx([np.exp(0.3 + 0.4 + 0.5 + 0.75), np.exp(0.3 + 0.5 / 31 + 0.75 / 80)])
    assert found.round(2).tolist() == [7.03, 1.38]
    assert (found / [7, 198]).round(3).tolist() == [1.004, 0.007]
    assert distance_from_root(EXAMPLES).tolist() == [13, 7]


def test_a_parent_of_l_equal_children_weighs_w_over_l() -> None:
    """LSFB09 section 8: a county weighs w / l for its l cities, a state w / n for the n cities of its counties."""
    cities = [
        (f"{state}{county}{city}", f"{state}{county}", state, "*")
        for state in "pq"
        for county in "ab"
        for city in "xyz"
    ]
    taxonomy = Taxonomy(Hierarchy.from_rows(cities[:-1]))
    shares = dict(zip(taxonomy.labels, harmonic_shares(taxonomy, np.full(11, 0.6))))
    assert shares["pax"] == pytest.approx(0.6)
    assert [shares["pa"], shares["qb"]] == pytest.approx([0.6 / 3, 0.6 / 2])
    assert [shares["p"], shares["q"]] == pytest.approx([0.6 / 6, 0.6 / 5])
    assert shares["*"] == 0


@given(hierarchies(), st.data())
def test_the_harmonic_mean_level_by_level(hierarchy: Hierarchy, data: st.DataObject) -> None:
    taxonomy = Taxonomy(hierarchy)
    amounts = st.sampled_from([0.0, 0.1, 1.0, 7.0, np.inf])
    base = np.array(data.draw(st.lists(amounts, min_size=hierarchy.size(0), max_size=hierarchy.size(0))))
    shares = harmonic_shares(taxonomy, base)
    assert shares == pytest.approx(harmonic_means(taxonomy, base))
    assert np.all(shares[taxonomy.parents] <= shares), "generalizing lowers the sensitivity"


@given(st.data())
def test_a_more_general_record_is_never_more_sensitive(data: st.DataObject) -> None:
    space = data.draw(spaces())
    fine = data.draw(records(space))
    coarse, people = data.draw(generalizations(fine)), np.arange(len(fine))
    phi = data.draw(sensitivities(space, len(fine)))
    assert np.all(phi(coarse, people) <= phi(fine, people))


@given(st.data())
def test_interactions_as_equation_4_sums_them(data: st.DataObject) -> None:
    """Phi3 with k = 2 over the attributes that are not suppressed, each record with its own weights."""
    space = data.draw(spaces())
    disclosed = data.draw(records(space))
    terms = [(axis,) for axis in range(len(space))] + list(combinations(range(len(space)), 2))
    weights = np.random.default_rng(0).uniform(size=(len(disclosed), len(terms)))
    phi = Linear(Weights(tuple(map(constant_shares, space.taxonomies)), tuple(terms), weights))
    shown = disclosed.nodes != space.roots
    summed = [
        sum(w for term, w in zip(terms, row) if all(present[axis] for axis in term))
        for row, present in zip(weights, shown)
    ]
    assert phi(disclosed, np.arange(len(disclosed))) == pytest.approx(summed)


def test_weights_that_make_no_sense_are_refused() -> None:
    shares = [constant_shares(taxonomy) for taxonomy in CUSTOMERS.taxonomies]
    for weights in ([0.1, 0.2], [0.1, 0.2, -0.3, 0.4], [0.1, 0.2, np.nan, 0.4], [[[1.0]]]):
        with pytest.raises(SensitivityError):
            Weights.linear(shares, np.array(weights))
    with pytest.raises(SensitivityError):
        Weights(tuple(shares), ((4,),), np.ones(1))
    with pytest.raises(SensitivityError):
        harmonic_shares(CUSTOMERS.taxonomies[1], np.array([1.0, -1.0, 1.0]))
    with pytest.raises(SensitivityError):
        harmonic_shares(CUSTOMERS.taxonomies[1], np.ones(5))
    with pytest.raises(SensitivityError):
        Constant(-1.0)


def test_harm_of_each_persons_own_depends_on_nothing_else() -> None:
    own = PerPerson(np.array([0.0, 2.0, np.inf]))
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"])}))
    assert own(Records(space, np.array([[0], [2], [1], [0]])), np.array([1, 1, 2, 0])).tolist() == [2, 2, np.inf, 0]
    assert own.is_personal
    assert not own.axes
    with pytest.raises(SensitivityError, match="missing or negative"):
        PerPerson(np.array([1.0, np.nan]))


# Dictionaries: entries are counted by generalized value exactly as walking over all pairs of record and entry would.


def walked(sought: Records, dictionary: Dictionary) -> list[int]:
    """For each record the entries that share a base value with it in every attribute."""
    covers = [covered(taxonomy) for taxonomy in sought.space.taxonomies]
    return [
        sum(
            all(
                set(np.flatnonzero(cover[a])) <= set(np.flatnonzero(cover[b])) or bool(np.all(cover[b] <= cover[a]))
                for cover, a, b in zip(covers, record, entry)
            )
            for entry in dictionary.entries.nodes
        )
        for record in sought.nodes
    ]


@given(st.data(), st.sampled_from([0, 8, 10**6]))
def test_counts_are_those_of_all_pairs(data: st.DataObject, pairs_compared: int) -> None:
    """Whether all attributes are searched, the first of them, or none."""
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    with patch("checks.risk.attackers.PAIRS", pairs_compared):
        counts = consistent_counts(sought, dictionary)
    assert counts.tolist() == walked(sought, dictionary)
    pairs = [entries_consistent_with(dictionary, sought[np.array([row])]) for row in range(len(sought))]
    assert counts.tolist() == pairs


@given(st.data())
def test_records_of_one_level_vector_are_counted_like_all_others(data: st.DataObject) -> None:
    """By a packed key, unless there are too many entries for that."""
    space = data.draw(spaces())
    drawn, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    levels = [data.draw(st.integers(0, height)) for height in space.heights.tolist()]
    sought = drawn.generalized(np.maximum(levels, drawn.levels.max(axis=0, initial=0)))
    assert sought.level_vector is not None or not len(sought)
    with patch("checks.risk.attackers.ENTRIES", data.draw(st.sampled_from([-1, 1000]))):
        assert consistent_counts(sought, dictionary).tolist() == walked(sought, dictionary)


@pytest.mark.parametrize("values", [(100, 1600, 41), (30_000, 100_000, 200)], ids=["few values", "many values"])
def test_a_million_entries_take_as_long_as_some_sorts_of_them(values: tuple[int, ...]) -> None:
    """45,222 records, each value at a level of its own: hundreds of level vectors. With few values and with many."""
    widths = [[width for width in (10, 20, 200, 2000) if width < size] for size in values]
    ladders = [Hierarchy.from_intervals(map(str, range(size)), own) for size, own in zip(values, widths)]
    space = RecordSpace(Domain.of({**dict(zip("abc", ladders)), "d": Hierarchy.flat(map(str, range(8)))}))
    rng = np.random.default_rng(0)
    codes = {a: rng.integers(0, h.size(0), 1_000_000) for a, h in space.domain.items()}
    dictionary = Dictionary(Records.from_codes(space, codes))
    originals = dictionary.entries[rng.integers(0, 1_000_000, 45_222)]
    sought = originals.generalized(rng.integers(0, space.heights + 1, originals.nodes.shape))
    counts, sorts = compare_with_sorting(lambda: consistent_counts(sought, dictionary))
    assert sorts < 50
    assert counts.min() >= 1
    for row in range(3):
        assert counts[row] == entries_consistent_with(dictionary, sought[np.array([row])])


@given(st.data())
def test_generalizing_never_loses_a_consistent_entry(data: st.DataObject) -> None:
    """LSFB09 eq. 6."""
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    coarser = data.draw(generalizations(sought))
    assert np.all(consistent_counts(coarser, dictionary) >= consistent_counts(sought, dictionary))


def test_records_and_dictionaries_that_do_not_fit_are_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"])}))
    other = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "z"])}))
    entries, identifiers = Records(space, np.array([[0], [1]])), np.array([7, 8])
    dictionary = Dictionary(entries, identifiers)
    identifiers[0] = 8
    assert dictionary.identifiers is not None
    assert dictionary.identifiers.tolist() == [7, 8]
    with pytest.raises(DomainMismatchError, match="different attributes"):
        consistent_counts(Records(other, np.array([[0]])), Dictionary(entries))
    for wrong in ([7, 7], [7], [7.5, 8]):
        with pytest.raises(DomainMismatchError):
            Dictionary(entries, np.array(wrong))
    for nodes, message in (([[3]], "outside"), ([0, 1], "one node"), ([[0.5]], r"0\.5")):
        with pytest.raises(DomainMismatchError, match=message):
            Records(space, np.array(nodes))


@given(st.data())
def test_counts_of_alike_values_are_those_of_all_pairs(data: st.DataObject) -> None:
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    alike, matrices = {}, {}
    for axis in data.draw(st.sets(st.integers(0, len(space) - 1))):
        size = space.taxonomies[axis].hierarchy.size(0)
        drawn = data.draw(st.lists(st.booleans(), min_size=size * size, max_size=size * size))
        matrices[axis] = np.array(drawn).reshape(size, size) | np.eye(size, dtype=bool)
        alike[axis] = AlikeValues(*np.nonzero(matrices[axis]))
    counts = approximate_counts(sought, dictionary, alike)
    if not alike:
        assert counts.tolist() == consistent_counts(sought, dictionary).tolist()

    def agree(axis: int, y: int, z: int) -> bool:
        taxonomy = space.taxonomies[axis]
        if axis in alike and taxonomy.levels[y] == taxonomy.levels[z] == 0:
            return bool(matrices[axis][y, z])
        return bool(np.any(covered(taxonomy)[y] & covered(taxonomy)[z]))

    for record, count in zip(sought.nodes.tolist(), counts.tolist()):
        entries = dictionary.entries.nodes.tolist()
        assert count == sum(all(map(agree, range(len(space)), record, entry)) for entry in entries)


# Losses and risks.


SPACE = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob", "Cy"]), "test": Hierarchy.flat(["+", "-"])}))


NAMES = Dictionary(Records.from_codes(SPACE, {"name": np.array([0, 0, 1])}))


def phi(*weights: float) -> Linear:
    return Linear(Weights.linear(map(constant_shares, SPACE.taxonomies), weights))


@given(st.data())
def test_the_loss_is_the_expected_harm_of_the_guess(data: st.DataObject) -> None:
    space = data.draw(spaces())
    disclosed, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    harm = Harm(*(data.draw(sensitivities(space, len(disclosed))) for _ in range(2)))
    people = np.arange(len(disclosed))
    identified, missed = harm.identified(disclosed, people), harm.missed(disclosed, people)
    for row, loss in enumerate(losses(disclosed, dictionary, harm)):
        entries = entries_consistent_with(dictionary, disclosed[np.array([row])])
        p = 1 / entries if entries else 0.0
        assert loss == pytest.approx((p * identified[row] if p else 0) + ((1 - p) * missed[row] if p < 1 else 0))


def test_never_disclose_counts_only_where_somebody_can_be_found() -> None:
    """LSFB09 3.2: an infinite Phi forbids any chance of identification, an infinite Psi forbids the disclosure."""
    disclosed = Records(SPACE, np.array([[2, 0], [1, 2], [0, 0]]))
    assert losses(disclosed, NAMES, Harm(phi(1, np.inf))).tolist() == [0, 1, np.inf]
    assert losses(disclosed, NAMES, Harm(Constant(1), phi(0, np.inf))).tolist() == [np.inf, 1, np.inf]


def test_risks_over_dictionaries() -> None:
    disclosed = Records(SPACE, np.array([[0, 0], [1, 2]]))
    everybody = Dictionary(Records.from_codes(SPACE, {"test": np.array([0, 0, 0, 1])}))
    harm = Harm(phi(1, 3))
    assert risk(disclosed, NAMES, harm) == pytest.approx((4 / 2 + 1 / 1) / 2)
    assert risk(disclosed, everybody, harm) == pytest.approx((4 / 3 + 1 / 4) / 2)
    for prior in ([0.5], [0.5, 0.4], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(DisclosureRuleError):
            as_distribution(np.array(prior), 2, "dictionary")
    with pytest.raises(DisclosureRuleError):
        expected(np.zeros(0))


# Links with a public record risk what the enlarged record does (LSFB09 section 6).


@given(st.data())
def test_losses_are_expected_over_the_links(data: st.DataObject) -> None:
    space = data.draw(spaces())
    disclosed, public = data.draw(records(space)), data.draw(records(space))
    dictionary, harm = (
        data.draw(dictionaries(space)),
        Harm(data.draw(sensitivities(space, len(disclosed))), Constant(0.25)),
    )
    links = uniform_links(disclosed, public)
    found = linkage_losses(disclosed, public, links, dictionary, harm)
    for row in range(len(disclosed)):
        own = disclosed[np.array([row])]
        fitting = [o for o in range(len(public)) if own.is_consistent_with(public[np.array([o])])[0]]
        assert sorted(links.public[links.disclosed == row].tolist()) == fitting
        person = np.array([row])
        joined = [enlarged(own, public[np.array([o])]) for o in fitting] or [own]
        each = [harm.loss(one, person, np.array([entries_consistent_with(dictionary, one)]))[0] for one in joined]
        assert found[row] == pytest.approx(np.mean(each))


@given(st.data())
def test_an_enlarged_record_refines_both(data: st.DataObject) -> None:
    space = data.draw(spaces())
    person = data.draw(records(space))
    disclosed, public = data.draw(generalizations(person)), data.draw(generalizations(person))
    joined = enlarged(disclosed, public)
    assert bool((person.is_below(joined) & joined.is_below(disclosed) & joined.is_below(public)).all())


def test_links_that_are_not_right_miss_the_person() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob"]), "test": Hierarchy.flat(["+", "-"])}))
    disclosed, public = Records(space, np.array([[2, 0], [2, 1]])), Records(space, np.array([[0, 2], [1, 2]]))
    names = Dictionary(public)
    harm = Harm(Linear(Weights.linear(map(constant_shares, space.taxonomies), [1.0, 3.0])), Constant(0.5))
    assert risk(disclosed, names, harm) == pytest.approx(3 / 2 + 0.5 / 2)
    certain = Links(np.array([0, 1]), np.array([0, 1]), np.ones(2))
    assert linkage_losses(disclosed, public, certain, names, harm) == pytest.approx([4.0, 4.0])
    half = Links(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.5, 0.5, 0.5]), np.array([True, False, True]))
    found = linkage_losses(disclosed, public, half, names, harm)
    alone = losses(disclosed, names, harm)
    assert found == pytest.approx([0.5 * 4 + 0.5 * 0.5, 0.5 * 4 + 0.5 * alone[1]])


def test_links_that_make_no_sense_are_refused() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob"])}))
    names = Records(space, np.array([[0], [1]]))
    with pytest.raises(DisclosureRuleError, match="sum to at most 1"):
        Links(np.array([0, 0]), np.array([0, 1]), np.array([0.7, 0.7]))
    with pytest.raises(DisclosureRuleError, match="each"):
        Links(np.array([0]), np.array([0, 1]), np.array([0.7, 0.7]))
    with pytest.raises(DisclosureRuleError, match="contradicts"):
        linkage_losses(
            names, names, Links(np.array([0]), np.array([1]), np.ones(1)), Dictionary(names), Harm(Constant(1))
        )


# The risk under a specific dictionary bounds that under every more general one (LSFB09 Proposition 1).


@st.composite
def more_general(draw: st.DrawFn, dictionary: Dictionary) -> Dictionary:
    """All the people of a dictionary at higher levels, in another order, with some others among them."""
    identifiers = dictionary.identifiers
    assert identifiers is not None
    others = draw(dictionaries(dictionary.space))
    nodes = np.concatenate([draw(generalizations(dictionary.entries)).nodes, others.entries.nodes])
    numbers = np.concatenate([identifiers, 1000 + np.arange(len(others))])
    order = np.array(draw(st.permutations(range(len(numbers)))))
    return Dictionary(Records(dictionary.space, nodes[order]), numbers[order])


@given(st.data())
def test_the_estimated_risk_is_never_below_the_true_one(data: st.DataObject) -> None:
    space = data.draw(spaces())
    originals = data.draw(records(space))
    disclosed = data.draw(generalizations(originals))
    identifiers, others = np.arange(100, 100 + len(originals)), data.draw(dictionaries(space))
    known = np.concatenate([data.draw(generalizations(originals)).nodes, others.entries.nodes])
    assert others.identifiers is not None
    estimated = Dictionary(Records(space, known), np.concatenate([identifiers, others.identifiers]))
    true = data.draw(more_general(Dictionary(estimated.entries, estimated.identifiers)))
    harm = Harm(data.draw(sensitivities(space, len(originals))))
    assert precedes(estimated, true)
    assert contains(estimated, originals, identifiers)
    bound = upper_bound(disclosed, originals, identifiers, estimated, harm)
    assert bound == risk(disclosed, estimated, harm)
    assert risk(disclosed, true, harm) <= bound
    assert np.all(losses(disclosed, true, harm) <= losses(disclosed, estimated, harm))


@given(st.data())
def test_the_order_is_a_partial_order(data: st.DataObject) -> None:
    """Reflexive, transitive, and antisymmetric up to the order of entries; decided person by person (Definition 5)."""
    first = data.draw(dictionaries(data.draw(spaces())))
    second = data.draw(dictionaries(first.space))
    assert first.identifiers is not None
    assert second.identifiers is not None
    entry_of = dict(zip(second.identifiers.tolist(), range(len(second))))
    expected = all(
        person in entry_of
        and bool(first.entries[np.array([row])].is_below(second.entries[np.array([entry_of[person]])])[0])
        for row, person in enumerate(first.identifiers.tolist())
    )
    assert precedes(first, second) == expected
    assert precedes(first, first)
    third = data.draw(more_general(first))
    assert precedes(first, third)
    if precedes(third, first):
        assert len(third) == len(first)
        assert np.array_equal(
            third.entries.nodes[np.argsort(third.identifiers)], first.entries.nodes[np.argsort(first.identifiers)]
        )


def test_where_the_proposition_says_nothing_neither_do_we() -> None:
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob"])}))
    originals = Records(space, np.array([[0], [1]]))
    numbers = np.array([1, 2])
    known, harm = Dictionary(originals, numbers), Harm(Constant(1))
    assert upper_bound(originals, originals, numbers, known, harm) == 1
    with pytest.raises(IncomparableError, match="lacks the person"):
        upper_bound(originals, originals, np.array([1, 3]), known, harm)
    with pytest.raises(IncomparableError, match="no generalization"):
        upper_bound(originals[np.array([1, 0])], originals, numbers, known, harm)
    with pytest.raises(IncomparableError, match="not found"):
        upper_bound(originals, originals, numbers, known, Harm(Constant(1), Constant(2)))
    with pytest.raises(IncomparableError, match="identifiers"):
        precedes(Dictionary(originals), known)
    with pytest.raises(IncomparableError, match="identifier"):
        upper_bound(originals, originals, numbers, Dictionary(originals), harm)
    assert not precedes(known, Dictionary(originals[np.array([0])], np.array([1])))
    assert not precedes(known, Dictionary(Records(space, np.zeros((0, 1), dtype=np.intp)), np.zeros(0, dtype=np.int64)))


# The risk of a release is what a walk over its maxent distribution says, and that of a table where it is one.


def has_closed_form(sensitivity: Sensitivity) -> bool:
    return not isinstance(sensitivity, Multiplicative) or all(len(term) == 1 for term in sensitivity.weights.terms)


def base_rows(collection: Collection, space: RecordSpace) -> Records:
    """One record for each row of the data behind a collection."""
    table = collection.cube.table(sum(collection.domain.attribute_masks))
    codes = {a: np.repeat(column, table.counts) for a, column in zip(table.attributes, table.codes)}
    return Records.from_codes(space, codes)


@settings(max_examples=60)
@given(decomposable_collections(), st.data())
def test_it_is_that_of_a_random_row_that_fits(collection: Collection, data: st.DataObject) -> None:
    space = RecordSpace(collection.domain)
    people = data.draw(records(space, max_size=5))
    phi = data.draw(sensitivities(space, len(people)).filter(has_closed_form))
    found = release_risk(collection, Dictionary(people), phi)
    finest = list(collection.finest_levels.values())
    expected = np.exp(MaximumEntropy(collection).log_probability(base_cells(space.domain))) * collection.cube.total
    rows = Records.from_codes(space, base_cells(space.domain)).generalized(finest)
    shown = people.generalized(finest)
    for person in range(len(people)):
        fits = rows.is_below(shown[np.full(len(rows), person)])
        fitting = expected[fits].sum()
        assert found.fitting[person] == pytest.approx(fitting, abs=1e-6)
        same = np.sum([shown[np.array([person])].is_consistent_with(shown[np.array([o])]) for o in range(len(people))])
        if fitting > 1e-9:
            # Full cells are what is published of a row: base cells that read alike are one.
            cells, cell = rows.distinct()
            counts = np.bincount(cell, np.where(fits, expected, 0.0))
            kept = counts > 0
            harm = phi(cells, np.full(len(cells), person))[kept]
            shares, link = counts[kept] / fitting, 1 / max(fitting, same, 1)
            assert found.identification_probability[person] == pytest.approx(min(link, shares @ shares))
            assert found.loss[person] == pytest.approx(min(harm @ shares * link, harm @ shares**2))
        else:
            assert found.loss[person] == 0


@settings(max_examples=60)
@given(data_cubes(), st.data())
def test_one_marginal_risks_what_disclosing_that_table_does(cube: DataCube, data: st.DataObject) -> None:
    """The dictionary being the table."""
    collection = Collection.of(cube, [cube.domain.mask(data.draw(margins(cube.domain)))])
    space = RecordSpace(collection.domain)
    people = base_rows(collection, space)
    phi = data.draw(sensitivities(space, len(people)).filter(has_closed_form))
    finest = list(collection.finest_levels.values())
    disclosed = people.generalized(finest)
    found = release_risk(collection, Dictionary(people), phi)
    assert found.loss == pytest.approx(losses(disclosed, Dictionary(people), Harm(phi)))
    assert found.bounds == pytest.approx((found.risk, found.risk))


@settings(max_examples=60)
@given(decomposable_collections())
def test_the_bounds_hold_for_the_rows_that_do_fit(collection: Collection) -> None:
    space = RecordSpace(collection.domain)
    people = base_rows(collection, space)
    finest = list(collection.finest_levels.values())
    true = 1 / consistent_counts(people.generalized(finest), Dictionary(people.generalized(finest)))
    found = release_risk(collection, Dictionary(people), Constant(1))
    for loss in (true, found.loss):
        assert np.all(found.least_loss <= loss + 1e-9)
        assert np.all(loss <= found.most_loss + 1e-9)
    assert found.bounds[0] <= found.risk + 1e-9 <= found.bounds[1] + 2e-9


def test_what_has_no_answer_is_refused() -> None:
    cube = shape_cube()
    space = RecordSpace(cube.domain)
    collection = Collection.of(cube, [cube.domain.mask({"a": 0})])
    people = Dictionary(base_rows(collection, space))
    shares = tuple(map(constant_shares, space.taxonomies))
    with pytest.raises(SensitivityError, match="interactions"):
        release_risk(collection, people, Multiplicative(Weights(shares, ((0, 1),), np.ones(1))))
    with pytest.raises(SensitivityError, match="constant, linear"):
        release_risk(collection, people, lambda records, _: np.ones(len(records)))
    other = RecordSpace(Domain.of({"a": cube.domain.hierarchy("a")}))
    with pytest.raises(DomainMismatchError):
        release_risk(collection, Dictionary(Records(other, np.array([[0]]))), Constant(1))

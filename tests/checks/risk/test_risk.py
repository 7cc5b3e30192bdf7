"""What a disclosure risks, as LSFB09 writes it down, and which one is best, as brute force finds."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import covered
from checks import (
    Constant,
    DecisionProblem,
    Dictionary,
    Harm,
    LeastRisk,
    Linear,
    MostUtility,
    Multiplicative,
    Records,
    RecordSpace,
    Weights,
    consistent_counts,
    losses,
)
from checks.errors import IncomparableError
from checks.risk.attackers import distance_from_root
from checks.risk.disclosure import (
    Disclosure,
    Frontier,
    best_of_each,
    best_on_average,
    frontier,
    generalize,
    precedes,
    require_bound,
)
from checks.risk.harm import (
    Links,
    Preference,
    TradeOff,
    enlarged,
    harmonic_shares,
    linkage_losses,
    risk,
    score,
    uniform_links,
)
from checks.risk.worst_case import least_worst_risk
from dice import Dice, Thrown
from filled_tables import flat_domain
from models import BoolArray, Domain, FloatArray, Hierarchy, Taxonomy
from strategies import domains, hierarchies
from work import compare_with_sorting


@Thrown
def spaces(dice: Dice) -> RecordSpace:
    """Records over 1 .. 4 small attributes."""
    return RecordSpace(domains.of(dice, min_attributes=1))


@Thrown
def records(dice: Dice, space: RecordSpace, min_size: int = 1, max_size: int = 8) -> Records:
    size = dice.between(min_size, max_size)
    columns = [[dice.between(0, root) for _ in range(size)] for root in space.roots.tolist()]
    return Records(space, np.array(columns, dtype=np.intp).reshape(len(space), size).T)


@Thrown
def generalizations(dice: Dice, originals: Records) -> Records:
    levels = np.array([dice.below(4) for _ in range(originals.nodes.size)], dtype=np.intp)
    return originals.generalized(np.minimum(levels.reshape(originals.nodes.shape), originals.space.heights))


@Thrown
def dictionaries(dice: Dice, space: RecordSpace, max_size: int = 12) -> Dictionary:
    entries = records.of(dice, space, 1, max_size)
    return Dictionary(entries, np.array(dice.some(len(entries), range(51))))


def constant_shares(taxonomy: Taxonomy) -> FloatArray:
    """A value weighs the same however general, nothing when suppressed (LSFB09 eq. 2): shape (nodes,)."""
    return np.array([float(node != taxonomy.root) for node in range(taxonomy.size)])


def harmonic_means(taxonomy: Taxonomy, base: FloatArray) -> FloatArray:
    """w_p = 1 / sum(1 / w_i) over the children of each node themselves, the root 0; infinite and zero weights included."""
    shares = np.concatenate([base, np.zeros(taxonomy.size - len(base))])
    with np.errstate(divide="ignore"):
        for node in range(len(base), taxonomy.root):
            shares[node] = 1 / np.sum(1 / shares[np.flatnonzero(taxonomy.parents[:-1] == node)])
    shares[taxonomy.root] = 0
    return shares


def entries_consistent_with(dictionary: Dictionary, record: Records) -> int:
    repeated = Records(dictionary.space, np.broadcast_to(record.nodes, dictionary.entries.nodes.shape))
    return int(dictionary.entries.is_consistent_with(repeated).sum())


_AMOUNTS = (0.0, 0.25, 1.0, 3.0, np.inf)


@Thrown
def sensitivities(dice: Dice, space: RecordSpace, people: int) -> Linear | Multiplicative:
    """Each parametric family, personal or not, with interactions or not, infinite weights included."""
    if dice.below(4) == 3:
        return Constant(dice.one_of([0.0, 1.0, 2.5]))
    shares = []
    for taxonomy in space.taxonomies:
        base = [dice.one_of(_AMOUNTS) for _ in range(taxonomy.hierarchy.size(0))]
        shares.append(harmonic_means(taxonomy, np.array(base)))
    terms = [(axis,) for axis in range(len(space))]
    if dice.yes():
        terms += [(axis, other) for axis in range(len(space)) for other in range(axis)]
    count = len(terms) * (people if dice.yes() else 1)
    of_terms = np.array([dice.one_of(_AMOUNTS) for _ in range(count)])
    weights = Weights(tuple(shares), tuple(terms), of_terms if count == len(terms) else of_terms.reshape(people, -1))
    return dice.one_of([Linear, Multiplicative])(weights)


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


@given(hierarchies(), st.data())
def test_the_harmonic_mean_level_by_level(hierarchy: Hierarchy, data: st.DataObject) -> None:
    taxonomy = Taxonomy(hierarchy)
    amounts = st.sampled_from([0.0, 0.1, 1.0, 7.0, np.inf])
    base = np.array(data.draw(st.lists(amounts, min_size=hierarchy.size(0), max_size=hierarchy.size(0))))
    shares = harmonic_shares(taxonomy, base)
    assert shares == pytest.approx(harmonic_means(taxonomy, base))
    assert np.all(shares[taxonomy.parents] <= shares), "generalizing lowers the sensitivity"


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


@given(st.data())
def test_weights_of_each_person_sum_to_a_total(data: st.DataObject) -> None:
    """LSFB09 section 3.3: to c, or to at most c; how they compare with each other stays."""
    drawn = data.draw(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=1, max_size=4))
    total, weights = data.draw(st.sampled_from([0.5, 1.0, 7.0])), np.array(drawn, dtype=float)
    of_all = Weights.linear(map(constant_shares, SPACE.taxonomies), weights)
    for row, own, least in zip(drawn, of_all.limited(total).of_terms.tolist(), weights.sum(axis=1).tolist()):
        assert own == pytest.approx([w * min(1, total / max(least, 1e-9)) for w in row])
    if weights.any(axis=1).all():
        for row, own in zip(drawn, of_all.normalized(total).of_terms.tolist()):
            assert sum(own) == pytest.approx(total)
            assert own == pytest.approx([w * total / sum(row) for w in row])


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


@given(st.data(), st.booleans())
def test_counts_are_those_of_all_pairs(data: st.DataObject, alike: bool) -> None:
    """Of records of one level vector or of several. Generalizing never loses a consistent entry (LSFB09 eq. 6)."""
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    if alike:
        levels = [data.draw(st.integers(0, height)) for height in space.heights.tolist()]
        sought = sought.generalized(np.maximum(levels, sought.levels.max(axis=0, initial=0)))
        assert sought.level_vector is not None or not len(sought)
    counts = consistent_counts(sought, dictionary)
    assert counts.tolist() == walked(sought, dictionary)
    assert np.all(consistent_counts(data.draw(generalizations(sought)), dictionary) >= counts)


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


# Losses and risks.


SPACE = RecordSpace(Domain.of({"name": Hierarchy.flat(["Ann", "Bob", "Cy"]), "test": Hierarchy.flat(["+", "-"])}))


@given(st.data())
def test_the_loss_is_the_expected_harm_of_the_guess(data: st.DataObject) -> None:
    space = data.draw(spaces())
    disclosed, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    harm = Harm(*(data.draw(sensitivities(space, len(disclosed))) for _ in range(2)))
    people = np.arange(len(disclosed))
    identified, missed = harm.identified(disclosed, people), harm.missed(disclosed, people)
    found = losses(disclosed, dictionary, harm)
    assert not len(found) or risk(disclosed, dictionary, harm) == pytest.approx(found.mean())
    for row, loss in enumerate(found):
        entries = entries_consistent_with(dictionary, disclosed[np.array([row])])
        p = 1 / entries if entries else 0.0
        assert loss == pytest.approx((p * identified[row] if p else 0) + ((1 - p) * missed[row] if p < 1 else 0))


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
    require_bound(disclosed, originals, identifiers, estimated, harm)
    assert risk(disclosed, true, harm) <= risk(disclosed, estimated, harm)
    assert np.all(losses(disclosed, true, harm) <= losses(disclosed, estimated, harm))


@given(st.data())
def test_the_order_is_a_partial_order(data: st.DataObject) -> None:
    """Reflexive, transitive, and antisymmetric up to the order of entries; decided person by person (Definition 5)."""
    first = data.draw(dictionaries(data.draw(spaces())))
    second = data.draw(dictionaries(first.space))
    assert first.identifiers is not None
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
    space = RecordSpace(flat_domain(name="ab"))
    originals, numbers = Records(space, np.array([[0], [1]])), np.array([1, 2])
    known, unknown, harm = Dictionary(originals, numbers), Dictionary(originals), Harm(Constant(1))
    bound = partial(require_bound, originals, originals, numbers)
    bound(known, harm)
    assert risk(originals, known, harm) == 1
    for message, ask in (
        ("lacks the person", lambda: require_bound(originals, originals, np.array([1, 3]), known, harm)),
        ("no generalization", lambda: require_bound(originals[np.array([1, 0])], originals, numbers, known, harm)),
        ("not found", lambda: bound(known, Harm(Constant(1), Constant(2)))),
        ("dictionaries need them", lambda: precedes(unknown, known)),
        ("identifier", lambda: bound(unknown, harm)),
    ):
        with pytest.raises(IncomparableError, match=message):
            ask()
    assert not precedes(known, Dictionary(originals[np.array([0])], np.array([1])))
    assert not precedes(known, Dictionary(Records(space, np.zeros((0, 1), dtype=np.intp)), np.zeros(0, dtype=np.int64)))


# The best disclosure is what brute force finds, by record, on average and in the worst case; rules commute.


Rule = tuple[str, BoolArray, int]


@st.composite
def rules(draw: st.DrawFn, originals: Records) -> Rule:
    axis = draw(st.integers(0, len(originals.space) - 1))
    rows = np.array(draw(st.lists(st.booleans(), min_size=len(originals), max_size=len(originals))))
    level = draw(st.integers(0, int(originals.space.heights[axis])))
    return originals.space.domain.attributes[axis], rows, level


def disclosed(originals: Records, drawn: Sequence[Rule]) -> Records:
    return reduce(lambda shown, rule: generalize(shown, *rule), drawn, Disclosure.of(originals)).records


@given(st.data())
def test_any_order_of_any_rules_discloses_the_same(data: st.DataObject) -> None:
    originals = data.draw(records(data.draw(spaces())))
    drawn = data.draw(st.lists(rules(originals), max_size=4))
    nodes = disclosed(originals, drawn).nodes
    assert np.array_equal(disclosed(originals, data.draw(st.permutations(drawn))).nodes, nodes)
    assert np.array_equal(disclosed(originals, [*drawn, *drawn]).nodes, nodes)
    assert bool(originals.is_below(disclosed(originals, drawn)).all())
    (attribute, one, _), (_, other, _) = data.draw(rules(originals)), data.draw(rules(originals))
    height = originals.space.domain.hierarchy(attribute).height
    twice = disclosed(originals, [(attribute, one, height), (attribute, other, height)])
    assert np.array_equal(disclosed(originals, [(attribute, one | other, height)]).nodes, twice.nodes)


# The walk finds what brute force finds, and k-anonymity is one of its problems.


@st.composite
def problems(draw: st.DrawFn) -> DecisionProblem:
    """Some records, one or two dictionaries that may or may not hold their people, and any harm."""
    space = RecordSpace(draw(domains(min_attributes=1, max_attributes=3)))
    originals = draw(records(space, max_size=4))
    known = draw(st.lists(dictionaries(space) | st.just(Dictionary(originals)), min_size=1, max_size=2))
    harm = Harm(draw(sensitivities(space, len(originals))))
    if draw(st.booleans()):
        harm = Harm(harm.identified, draw(sensitivities(space, len(originals))))
    prior = (1.0,) if len(known) == 1 else (0.25, 0.75)
    # Without a prior the largest loss over the dictionaries counts.
    of_dictionaries = draw(st.sampled_from([prior, None]))
    return DecisionProblem(originals, tuple(known), harm, of_dictionaries, draw(_weights(originals)))


@st.composite
def _weights(draw: st.DrawFn, originals: Records) -> FloatArray | None:
    """None, or how often each record counts, at least one of them once."""
    counts = draw(st.lists(st.integers(0, 3), min_size=len(originals), max_size=len(originals)))
    return draw(st.sampled_from([None, np.array(counts, dtype=np.float64)])) if any(counts) else None


OBJECTIVES = (
    st.integers(0, 9).map(float).map(LeastRisk)
    | st.sampled_from([0.0, 0.1, 0.5, 1.0, 1e9]).map(MostUtility)
    | st.sampled_from([0.0, 0.01, 0.2, 5.0]).map(TradeOff)
)


def best_by_walking(problem: DecisionProblem, objective: Preference, row: int) -> tuple[float, ...] | None:
    vectors = problem.originals.space.level_vectors()
    rows = np.full(len(vectors), row)
    shown = problem.originals[rows].generalized(vectors)
    loss = over_dictionaries(
        problem, [problem.harm.loss(shown, rows, consistent_counts(shown, each)) for each in problem.dictionaries]
    )
    scores = score(objective, loss, distance_from_root(shown))
    found = list(map(tuple, scores.T.tolist()))
    best = min(found)
    return None if best[0] else best


def over_dictionaries(problem: DecisionProblem, parts: list[FloatArray]) -> FloatArray:
    """What is expected of losses under each dictionary, the largest of them without a prior."""
    if problem.prior is None:
        return np.asarray(np.max(parts, axis=0))
    # Not `@`: no chance of an infinite loss is no loss.
    return np.asarray(sum(share * part for share, part in zip(problem.prior, parts)))


@settings(max_examples=60)
@given(problems(), OBJECTIVES)
def test_the_walk_finds_the_best_level_vector_of_each_record(problem: DecisionProblem, objective: Preference) -> None:
    found = best_of_each(problem, objective)
    scores = score(objective, found.loss, found.utility)
    for row in range(len(problem.originals)):
        best = best_by_walking(problem, objective, row)
        assert found.allowed[row] == (best is not None)
        if best is not None:
            assert tuple(scores[:, row]) == pytest.approx(best)
    shown = found.disclosure.records
    assert distance_from_root(shown) == pytest.approx(found.utility)
    parts = [losses(shown, dictionary, problem.harm) for dictionary in problem.dictionaries]
    assert found.loss == pytest.approx(over_dictionaries(problem, parts))
    often = np.ones(len(found.loss)) if problem.weights is None else problem.weights
    repeated = np.repeat(found.loss, often.astype(int))
    assert found.risk == pytest.approx(repeated.mean())
    assert found.mean_utility == pytest.approx(np.repeat(found.utility, often.astype(int)).mean())
    rows = np.arange(len(problem.originals))
    for levels in problem.originals.space.level_vectors():
        loss, utility = problem.loss(rows, levels), problem.utility(rows, levels)
        no_worse = (loss <= found.loss) & (utility >= found.utility) & found.allowed
        # Trade-offs are differences of floats, so that losses within their rounding count as equal there.
        assert not (no_worse & ((loss < found.loss - 1e-9) | (utility > found.utility))).any()


@settings(max_examples=40)
@given(st.data())
def test_k_anonymity_is_the_best_that_a_constant_sensitivity_allows(data: st.DataObject) -> None:
    """LSFB09 section 5: dictionary = table, Phi = c. The most useful records with a loss of at most c / k are those that
    k or more rows agree with, and of such the most useful. Proposition 2: loss(delta_k) <= c / k < loss(delta_0).
    """
    space = data.draw(spaces())
    originals = data.draw(records(space))
    table = Dictionary(originals)
    k, c = data.draw(st.integers(1, len(originals))), data.draw(st.sampled_from([0.1, 1.0, 3.0, 7.0]))
    problem = DecisionProblem(originals, (table,), Harm(Constant(c)))
    found = best_of_each(problem, MostUtility(c / k))
    assert found.allowed.all()
    assert consistent_counts(found.disclosure.records, table).min() >= k
    for levels in space.level_vectors():
        shown = originals.generalized(levels)
        anonymous = consistent_counts(shown, table) >= k
        assert np.all(distance_from_root(shown)[anonymous] <= found.utility[anonymous])
    for _ in range(2):
        shown = data.draw(generalizations(originals))
        loss, anonymous = losses(shown, table, Harm(Constant(c))), consistent_counts(shown, table) >= k
        assert np.all(loss[anonymous] <= c / k)
        assert np.all(loss[~anonymous] > c / k)


def at_each_vector(problem: DecisionProblem) -> list[tuple[FloatArray, FloatArray]]:
    """Utility and loss of each record, where all are disclosed by one level vector."""
    rows = np.arange(len(problem.originals))
    vectors = problem.originals.space.level_vectors()
    return [(problem.utility(rows, levels), problem.loss(rows, levels)) for levels in vectors]


@settings(max_examples=25)
@given(problems())
def test_no_disclosure_lies_beyond_the_frontier(problem: DecisionProblem) -> None:
    """All combinations of level vectors for the first three records, and each point reached by a trade-off."""
    originals = problem.originals[np.arange(min(len(problem.originals), 3))]
    problem = replace(problem, originals=originals, harm=Harm(Constant(2.0)), weights=None)
    edge, rows = frontier(problem), np.arange(len(originals))
    assert np.all(np.diff(edge.utility) > 0)
    assert np.all(np.diff(edge.price) > 0)
    each = at_each_vector(problem)
    for chosen in product(each[:: max(len(each) // 12, 1)], repeat=len(rows)):
        utility = np.mean([pair[0][row] for row, pair in enumerate(chosen)])
        loss = np.mean([pair[1][row] for row, pair in enumerate(chosen)])
        assert loss >= np.interp(utility, edge.utility, edge.risk) - 1e-9
    for utility, least, price in zip(edge.utility, edge.risk, edge.price):
        objective = TradeOff(price if np.isfinite(price) else 1e6)
        best = [best_by_walking(problem, objective, row) for row in rows.tolist()]
        cost = np.mean([score[1] for score in best if score is not None])
        assert least - objective.price * utility == pytest.approx(cost, abs=1e-6)


@given(st.lists(st.tuples(st.floats(1e-3, 1), st.floats(1e-3, 1)), min_size=1, max_size=60), st.integers(3, 20))
def test_fewer_points_of_a_frontier_are_some_of_its_own(steps: list[tuple[float, float]], points: int) -> None:
    gain, rise = np.array(steps).T
    price = np.cumsum(rise)
    edge = Frontier(np.r_[0.0, gain.cumsum()], np.r_[0.0, (gain * price).cumsum()], np.r_[price, np.inf])
    some = list(zip(*vars(edge.thinned(points)).values()))
    asked = np.linspace(edge.utility[0], edge.utility[-1], points)
    nearest = {min(edge.utility[edge.utility >= utility], default=edge.utility[-1]) for utility in asked}
    every = list(zip(*vars(edge).values()))
    assert some == [point for point in every if len(edge) <= points or point[0] in nearest]


# What makes no sense is refused.


# Minimax: the worst dictionary of each record, beside the worst of all records together.


@st.composite
def problems_of_several_attackers(draw: st.DrawFn) -> DecisionProblem:
    """A few records before attackers with one of two or three dictionaries; few enough to list all their disclosures."""
    space: RecordSpace = draw(spaces().filter(lambda s: prod((s.heights + 1).tolist()) <= 12))
    originals = draw(records(space, max_size=3))
    known = draw(st.lists(dictionaries(space) | st.just(Dictionary(originals)), min_size=2, max_size=3))
    harm = Harm(draw(sensitivities(space, len(originals)) | st.just(Constant(1.0))))
    often = draw(st.none() | st.lists(st.integers(1, 3), min_size=len(originals), max_size=len(originals)))
    weights = None if often is None else np.array(often, dtype=np.float64)
    return DecisionProblem(originals, tuple(known), harm, None, weights)


def costs_by_vector(problem: DecisionProblem, objective: LeastRisk | TradeOff) -> list[list[FloatArray]]:
    """For each record the loss less the price under each dictionary at every level vector that has the utility."""
    least, price = (objective.utility, 0.0) if isinstance(objective, LeastRisk) else (0.0, objective.price)
    allowed: list[list[FloatArray]] = [[] for _ in range(len(problem.originals))]
    for levels in problem.originals.space.level_vectors():
        shown = problem.originals.generalized(levels)
        under = np.stack([losses(shown, dictionary, problem.harm) for dictionary in problem.dictionaries])
        utility = problem.utility(np.arange(len(problem.originals)), levels)
        under -= price * utility
        for row in np.flatnonzero(utility >= least).tolist():
            allowed[row].append(under[:, row])
    return allowed


@settings(max_examples=15)
@given(problems_of_several_attackers(), st.integers(0, 4).map(LeastRisk) | st.floats(0, 1).map(TradeOff))
def test_no_disclosure_has_a_lower_largest_risk_over_the_dictionaries(
    problem: DecisionProblem, objective: LeastRisk | TradeOff
) -> None:
    """LSFB09 section 4, worst case scenario, by enumeration of all disclosures of all records."""
    told: list[tuple[int, int]] = []
    found = least_worst_risk(problem, objective, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])
    choices = costs_by_vector(problem, objective)
    if not found.allowed.all():
        assert not all(choices)
        return
    share = np.ones(len(choices)) if problem.weights is None else problem.weights
    share = share / share.sum()
    least = min(float((np.stack(chosen, axis=1) * share).sum(axis=1).max()) for chosen in product(*choices))
    shown = found.disclosure.records
    risks = [float(losses(shown, dictionary, problem.harm) @ share) for dictionary in problem.dictionaries]
    assert found.risk == pytest.approx(max(risks))
    price = objective.price if isinstance(objective, TradeOff) else 0.0
    assert found.risk - price * found.mean_utility == pytest.approx(least, rel=1e-5, abs=1e-5 * found.risk)
    assert found.bound is None
    assert distance_from_root(shown) == pytest.approx(found.utility)


@pytest.mark.parametrize("limit", ["MOST_LOSSES", "MOST_CHOICES"])
def test_choices_that_are_too_many_leave_a_bound(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal records, half of the entries of each of two dictionaries like them in only one attribute."""
    monkeypatch.setattr(f"checks.risk.worst_case.{limit}", 0)
    space = RecordSpace(flat_domain(a=2, b=2))
    people = [Dictionary(Records(space, np.array(entries))) for entries in ([[0, 1], [0, 0]], [[0, 1], [1, 1]])]
    problem = DecisionProblem(Records(space, np.array([[0, 1]] * 3)), tuple(people), Harm(Constant(1.0)), None)
    found = least_worst_risk(problem, LeastRisk(1))
    assert found.bound == pytest.approx(0.75)
    assert found.risk + 1e-9 >= 2.5 / 3


# The rule of means is as good as any disclosure of all records together, but for a step of one record.


def pairs(problem: DecisionProblem) -> list[tuple[float, float]]:
    rows = np.arange(len(problem.originals))
    each = at_each_vector(problem)
    chosen = product(range(len(each)), repeat=len(rows))
    return [
        (
            float(np.mean([each[number][0][row] for row, number in enumerate(one)])),
            float(np.mean([each[number][1][row] for row, number in enumerate(one)])),
        )
        for one in chosen
    ]


@st.composite
def problems_of_few_records(draw: st.DrawFn) -> DecisionProblem:
    """Two or three records with few level vectors, and a harm that generalizing does not change."""
    space = RecordSpace(draw(domains(min_attributes=1, max_attributes=2)))
    originals = draw(records(space, min_size=2, max_size=3))
    known = draw(st.sampled_from([Dictionary(originals)]) | dictionaries(space))
    return DecisionProblem(originals, (known,), Harm(Constant(2.0)))


@settings(max_examples=30)
@given(problems_of_few_records(), st.floats(0, 1))
def test_no_disclosure_of_all_records_beats_the_bound(problem: DecisionProblem, share: float) -> None:
    """Of least risk with a utility, and of most utility with a risk."""
    possible = pairs(problem)[:20_000]
    wanted = share * max(utility for utility, _ in possible)
    found = best_on_average(problem, LeastRisk(wanted))
    assert found.mean_utility >= wanted - 1e-8
    least = min(risk for utility, risk in possible if utility >= wanted)
    assert found.bound <= min(least, found.risk) + 1e-9
    shown = found.disclosure.records
    assert distance_from_root(shown).mean() == pytest.approx(found.mean_utility)
    assert losses(shown, problem.dictionaries[0], problem.harm) == pytest.approx(found.loss)
    lowest, highest = min(risk for _, risk in possible), max(risk for _, risk in possible)
    allowed = lowest + share * (highest - lowest)
    found = best_on_average(problem, MostUtility(allowed))
    assert found.risk <= allowed + 1e-9
    most = max(utility for utility, risk in possible if risk <= allowed + 1e-12)
    assert found.bound >= max(most, found.mean_utility) - 1e-9

"""Lower bounds, prices and scores of collections, and further tables beside a junction tree, against looking at each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from itertools import chain, combinations, count, product
from math import lgamma
from operator import or_
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from brute_force import Array, dense_marginal, free_parameter_count, iterative_proportional_fitting, joint_array, places
from filled_tables import filled, flat_domain, of_rows, published
from marginals.errors import ExtensionError
from models import (
    KL,
    STRATEGIES,
    Collection,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    JunctionTree,
    LikelihoodRatio,
    MarginalModel,
    MarginLimits,
    Mask,
    MaximumEntropy,
    PenalizedDivergence,
    Position,
    Problem,
    Refusal,
    SearchResult,
    SelectionError,
    TooManyCellsError,
    allowed_moves,
    forward,
    vertices_of,
    with_bound,
)
from models.inference.beside_core import ModelBesideCore
from models.search import strategy_of
from models.search.further_tables import FurtherLimits, FurtherTable, further_tables
from models.search.greedy import without_chance_edges
from models.search.lower_bound import allowed_margins, lower_bound
from models.search.problem import BDeu, CliqueScore, additive
from models.tables.data_cube import interactions
from search_oracles import Countdown, all_collections, allowed_values, cross, equal_pairs, never, short_walks
from search_strategies import private_problems, problems
from strategies import Core, cores, decomposable_collections, further_masks, margins

auto = STRATEGIES["auto"]

any_problem = problems() | private_problems()


@given(any_problem, st.data())
def test_no_allowed_collection_is_below_a_bound(problem, data):
    """Of the lattice, and of any blocks."""
    best, places_of = min(allowed_values(problem).values()), range(len(problem.cube.domain.attributes))
    allowed = allowed_margins(problem, never)
    whole = lower_bound(problem, allowed).value
    assert with_bound(forward(problem, never), problem).bound == whole
    assert 0 <= whole <= best + 1e-9
    event("above 0" if whole > 1e-9 else "0")
    event("tight" if whole > best - 1e-9 else "not tight")
    homes = data.draw(st.lists(st.integers(0, 2), min_size=len(places_of), max_size=len(places_of)))
    blocks = [tuple(i for i, home in enumerate(homes) if home == number) for number in sorted(set(homes))]
    assert 0 <= lower_bound(problem, allowed, blocks).value <= whole + 1e-9
    assert lower_bound(problem, allowed, [tuple(places_of)]).value == pytest.approx(whole, abs=1e-9)


@settings(max_examples=60)
@given(any_problem, st.integers(1, 20), st.integers(0, 30))
def test_beyond_the_largest_lattice_a_bound_is_by_blocks(problem, largest, seconds):
    clock = count()
    deadline = Deadline(seconds, lambda: float(next(clock)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.lower_bound.LARGEST_LATTICE", largest)
        result = forward(problem, never)
        bound, in_time = with_bound(result, problem).bound, with_bound(result, problem, deadline).bound
        assert 0 <= bound <= min(allowed_values(problem).values()) + 1e-9
        assert in_time in (None, bound)
        known = replace(result, bound=-1.0)
        assert with_bound(known, problem) is known, "a bound that is known stays"
        patch.setattr("models.search.lower_bound.LARGEST_LATTICE", 0)
        assert with_bound(result, problem, Deadline(0.0)) is result
        patch.setattr(DataCube, "holds", lambda *_: False)
        assert with_bound(result, problem) is result
    rule = replace(problem, objective=LikelihoodRatio(problem.cube.total))
    assert with_bound(forward(rule, never), rule).bound is None, "a rule for stopping"


def test_the_bound_of_a_wide_table_is_near_the_best_collection():
    """Twenty attributes: three billion margins, of which no lattice can be laid out. The best collection is the pairs."""
    problem = Problem(cube := equal_pairs(10), MarginLimits(cube.domain, max_cells=16))
    result = forward(problem, never)
    best = problem.value(problem.position([0b1111 << 4 * i for i in range(10)]))
    assert 0.9 * best <= with_bound(result, problem).bound <= min(best, result.value) + 1e-9
    assert with_bound(result, problem, Deadline(0.0)) is result


def test_time_is_looked_at_between_any_two_margins(monkeypatch):
    """Counting the margins of a lattice can take longer than everything else."""
    rows = np.random.default_rng(0).integers(0, 2, (500, 8))
    problem = Problem(DataCube([of_rows(flat_domain(**dict.fromkeys("abcdefgh", 2)), rows)]))
    asked, known, entropy = set(), [], DataCube.entropy
    monkeypatch.setattr(DataCube, "entropy", lambda cube, mask: asked.add(mask) or entropy(cube, mask))
    result = forward(problem, Countdown(0))

    def recording():
        known.append(len(asked))
        return 0.0

    assert with_bound(result, problem, Deadline(1.0, recording)).bound == 0
    known.append(len(asked))
    assert max(np.diff(known)) == 1


# Prices of parameters and scores of cliques: a search minimizes the score of the model, and chance pays no price.


def with_rows_only(collection: Collection) -> tuple[Domain, list[dict[str, int]]]:
    """The domain of the base values that have rows, and the margins in it."""
    cube, hierarchies = collection.cube, {}
    for name, own in zip(collection.domain.attributes, collection.domain.attribute_masks):
        hierarchy = collection.domain.hierarchy(name)
        seen = cube.table(own).codes[0] if own else range(1)
        hierarchies[name] = Hierarchy.from_rows([hierarchy.rows()[int(code)] for code in seen])
    return Domain.of(hierarchies), [dict(margin) for margin in collection.margins]


@settings(deadline=None, max_examples=60)
@given(decomposable_collections(max_cells=100))
def test_parameters_are_those_of_the_log_linear_model_beyond_single_attributes(collection: Collection) -> None:
    """The rank of the indicators over values that have rows, less that of single attributes; moves change it as they say."""
    cube = DataCube([collection.cube.table(sum(collection.domain.attribute_masks))], parameters=interactions)
    counted = Collection.of(cube, collection.masks)
    domain, margins = with_rows_only(counted)
    alone = [{name: level} for name, level in counted.finest_levels.items() if level < domain.hierarchy(name).height]
    before = MaximumEntropy(counted).parameter_count
    assert before == free_parameter_count(domain, margins) - free_parameter_count(domain, alone)
    position = Position.of(cube, collection.masks)
    assert position.complexity == before
    for move in allowed_moves(position.graph):
        change = position.change(move)
        after = position.after(move, change)
        assert change.parameters == MaximumEntropy(Collection.of(cube, after.cliques)).parameter_count - before
        assert change.parameters >= 0 if change.clique else change.parameters <= 0


@settings(max_examples=60, deadline=None)
@given(problems() | private_problems(), st.integers(1, 60))
def test_the_default_search_proves_the_best_collection_of_a_small_lattice(problem: Problem, most: int) -> None:
    """Or is never worse than forward search, and the same each time; also where there is less work than it could do."""
    found, best = auto(problem, never), min(allowed_values(problem).values())
    assert found.value is not None
    assert found.value >= best - 1e-9
    assert found.value <= forward(problem, never).value + 1e-9
    if found.optimal:
        assert found.value == pytest.approx(best, abs=1e-9)
    again = auto(problem, never)
    assert (again.cliques, again.value, again.evaluated) == (found.cliques, found.value, found.evaluated)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("models.search.selection"), "_WORK", 0)
        patch.setattr(import_module("models.search.local_search"), "MOST_WORK", most)
        first, again = auto(problem, never), auto(problem, never)
    assert (first.cliques, first.evaluated) == (again.cliques, again.evaluated)
    assert problem.constraint(first.cliques, 0) is None
    assert first.value == pytest.approx(problem.value(problem.position(first.cliques)))


def associated(rows: int, seed: int) -> DataCube:
    """a and b go together; c has nothing to do with either."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < 0.5, a, rng.integers(0, 4, rows))
    return DataCube(
        [of_rows(flat_domain(a=4, b=4, c=4), np.column_stack([a, b, rng.integers(0, 4, rows)]))],
        parameters=interactions,
    )


def whole_of(cube: DataCube) -> Problem:
    return Problem(cube, objective=PenalizedDivergence(1 / 1000), start=(sum(cube.domain.attribute_masks),))


def test_edges_that_chance_explains_go_and_others_stay() -> None:
    """Of 9 parameters chance pays twice the price in 4 of 100 tables."""
    right = 0
    for seed in range(20):
        problem = whole_of(associated(500, seed))
        a, b, c = problem.cube.domain.attribute_masks
        found = without_chance_edges(forward(replace(problem, objective=KL), never), problem, never)
        assert any(not (a | b) & ~clique for clique in found.cliques)
        right += set(found.cliques) == {a | b, c}
    assert right >= 17
    rule = Problem(problem.cube, objective=LikelihoodRatio(500), required=(a, b, c))
    assert set(auto(rule, never).cliques) == {a | b, c}, "a stopping rule only is searched in both directions"


def test_what_must_stay_and_what_is_refused_is_no_matter_of_chance() -> None:
    problem = whole_of(associated(500, 0))
    a, b, c = problem.cube.domain.attribute_masks
    whole = forward(replace(problem, objective=KL), never)
    assert set(without_chance_edges(whole, replace(problem, required=(b | c,)), never).cliques) == {a | b, b | c}
    refused = replace(problem, constraint=lambda cliques, _: None if len(cliques) == 1 else Refusal("more"))
    assert without_chance_edges(whole, refused, never).cliques == whole.cliques
    assert without_chance_edges(whole, replace(problem, objective=KL), never) == whole


def jeffreys(counts, cells):
    """The same as BDeu with half a row a cell: it is no prior of all cliques at once, but a score all the same."""
    total = counts.sum()
    return sum(lgamma(n + 0.5) - lgamma(0.5) for n in counts.tolist()) + lgamma(cells / 2) - lgamma(total + cells / 2)


def favouring(counts, cells):
    """Better than the likelihood: it goes up with cells, so that no divergence bounds it."""
    total = counts.sum()
    return float((counts * np.log(counts / total)).sum()) + 0.3 * (cells - 1)


SCORES = [BDeu(1.0), BDeu(8.0), jeffreys, favouring]


def lacking(collection, score):
    """What the score of a model lacks, nats a row, by its definition: leaves counted, the entropy of the data taken off."""
    cube, tree, domain = collection.cube, JunctionTree.of(collection.domain, collection.masks), collection.domain

    def of(mask):
        return score(cube.counts(mask), domain.cell_count(mask)) if mask else score(np.array([cube.total]), 1)

    levels = domain.levels(sum(vertex for vertex in {1 << v for m in collection.masks for v in vertices_of(m)}))
    leaves = sum(map(cube.log_leaves, levels, levels.values()))
    whole = sum(map(of, tree.cliques)) - sum(map(of, tree.separators))
    empty = of(0) * (len(tree.cliques) - len(tree.separators))
    return (empty - whole) / cube.total + leaves - cube.entropy(sum(domain.attribute_masks))


@pytest.mark.parametrize("score", SCORES, ids=lambda score: getattr(score, "__name__", str(score)))
@settings(deadline=None)
@given(decomposable_collections(max_cells=100))
def test_the_value_of_a_collection_is_its_score_and_moves_change_it_as_they_say(score, collection):
    problem = Problem(collection.cube, objective=CliqueScore(score))
    position = problem.position(collection.masks)
    assert problem.value(position) == pytest.approx(lacking(collection, score), abs=1e-9)
    for move in allowed_moves(position.graph):
        change = position.change(move)
        after = Collection.of(collection.cube, position.cliques_after(move))
        gained = problem.value(position) - lacking(after, score)
        assert problem.objective.gain(*change[:2]) == pytest.approx(gained, abs=1e-9)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: getattr(score, "__name__", str(score)))
@settings(deadline=None, max_examples=15)
@given(problem=problems())
def test_exact_search_finds_the_best_score_and_no_strategy_a_better_one(score, problem):
    problem = Problem(problem.cube, problem.constraint, CliqueScore(score), problem.required, problem.start)
    values = {
        cliques: problem.value(problem.position(cliques))
        for cliques in all_collections(problem.cube.domain)
        if problem.constraint(cliques, 0) is None and problem.is_kept(cliques)
    }
    best = min(values.values())
    for name, search in STRATEGIES.items():
        with short_walks(2):
            found = search(problem, never)
        assert values[frozenset(found.cliques)] == pytest.approx(found.value, abs=1e-9)
        assert found.value >= best - 1e-9
        if name == "exact":
            assert found.optimal
            assert found.value == pytest.approx(best, abs=1e-9)
        elif (bound := with_bound(found, problem).bound) is not None:
            assert bound <= best + 1e-9


@settings(deadline=None)
@given(decomposable_collections(max_cells=100), st.sampled_from(SCORES))
def test_beside_what_a_release_counts_the_tables_of_single_attributes_cost_nothing(collection, score):
    base = collection.cube.table(sum(collection.domain.attribute_masks))
    problem = Problem(DataCube([base], parameters=interactions), objective=CliqueScore(score))
    for own in collection.domain.attribute_masks:
        assert problem.cube.complexity(own) == pytest.approx(0.0, abs=1e-12)
    masks = [own for own in collection.domain.attribute_masks if own]
    position = problem.position(masks)
    assert problem.value(position) == pytest.approx(position.divergence, abs=1e-9)


def test_a_marginal_likelihood_is_the_mean_likelihood_under_the_prior():
    """Two cells, three and one rows: the integral of p^3 (1 - p) over the uniform prior is 1 / 20."""
    assert BDeu(2.0)(np.array([3, 1]), 2) == pytest.approx(np.log(1 / 20))
    assert BDeu(1.0)(np.array([5]), 1) == pytest.approx(0.0)


def gained(gain):
    return additive(SimpleNamespace(gain=gain))


@given(st.floats(1e-3, 1e3), st.floats(0, 10))
def test_whatever_adds_up_is_taken_for_the_penalized_divergence_that_it_is(scale, price):
    found = gained(lambda divergence, parameters: scale * (divergence - price * parameters))
    assert isinstance(found, PenalizedDivergence)
    assert found.price == pytest.approx(price, rel=1e-6, abs=1e-9)
    for other in (
        lambda divergence, parameters: divergence - 0.1 * parameters**2,
        lambda divergence, parameters: divergence - 0.1 * abs(parameters),
        lambda divergence, parameters: 1.0 if divergence > 0.01 * parameters else -1.0,
        lambda divergence, parameters: divergence + 0.1 * parameters,
        lambda divergence, _parameters: -divergence,
        LikelihoodRatio(50).gain,
    ):
        assert not isinstance(gained(other), PenalizedDivergence)
    for make, number in ((PenalizedDivergence, -0.1), (PenalizedDivergence, float("nan")), (BDeu, 0)):
        with pytest.raises(SelectionError):
            make(number)


# Further tables beside a junction tree: each gains most in its own pair, and answers are fits to what the tables say.


ANY = FurtherLimits(least_gain=0.0)

CLOSE = 1e-5
"""Rows that a fit may miss, as a share: candidates that gain as much up to this are tied."""


def plain(tables: Sequence[FurtherTable]) -> list[tuple[Mask, float]]:
    return [(table.mask, table.gain) for table in tables]


def linked(core: Core, k: int) -> Callable[[Mask], bool]:
    return lambda mask: not 0 < core.collection.cube.least_count(mask) < k


def of_pair(core: Core, pair: Sequence[str]) -> Iterator[Mask]:
    domain = core.collection.domain
    for levels in product(*(range(domain.hierarchy(a).height) for a in pair)):
        yield domain.mask(dict(zip(pair, levels)))


@settings(max_examples=40)
@given(cores(max_cells=40, max_values=3, max_levels=2), st.integers(1, 4))
def test_each_table_gains_the_most_in_its_own_pair(core: Core, k: int) -> None:
    allowed, chosen = linked(core, k), further_tables(core.collection, core.nonsensitive, linked(core, k), ANY)
    published: list[Mask] = list(core.collection.masks)
    for table in chosen:
        best = max(_gains(core, published, allowed))
        pair = tuple(core.collection.domain.margin(table.mask))
        own = error(core, pair, published) - error(core, pair, [*published, table.mask])
        assert own == pytest.approx(table.gain, abs=CLOSE)
        assert table.gain == pytest.approx(best, abs=CLOSE)
        assert allowed(table.mask)
        published.append(table.mask)
    assert max(_gains(core, published, allowed), default=0.0) <= CLOSE


def error(core: Core, pair: Sequence[str], published: Sequence[Mask]) -> float:
    """Total variation of the answer about a pair, which is fitted to what all tables say of the pair alone."""
    domain, pair = core.collection.domain, sorted(pair, key=core.collection.domain.index)
    own, others = (domain.mask(dict.fromkeys(names, 0)) for names in (pair, core.nonsensitive))
    tree = MarginalModel(core.collection.within(others))
    start = tree.expected(dict.fromkeys(pair, 0)) / tree.total
    joint = joint_array(core.collection.cube.table(sum(domain.attribute_masks))) / tree.total
    p = dense_marginal(joint, domain, dict.fromkeys(pair, 0)).reshape(start.shape)
    shown = [domain.margin(mask & own) for mask in (*tree.collection.masks, *published) if mask & own]
    small = Domain.of({a: domain.hierarchy(a) for a in pair})
    return float(np.abs(iterative_proportional_fitting(p, small, shown, start=start) - p).sum()) / 2


def _gains(core: Core, published: Sequence[Mask], allowed: Callable[[Mask], bool]) -> Iterator[float]:
    for pair in combinations(core.nonsensitive, 2):
        before = error(core, pair, published)
        for mask in of_pair(core, pair):
            if allowed(mask) and not any(not mask & ~own for own in published):
                yield before - error(core, pair, [*published, mask])


@given(cores(max_cells=100), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_sensitive_values_change_nothing(core: Core, k: int, random: np.random.RandomState) -> None:
    """People keep their nonsensitive values, and exchange sensitive ones."""
    domain, cube = core.collection.domain, core.collection.cube
    base = cube.table(sum(domain.attribute_masks))
    rows = np.repeat(np.column_stack(base.codes), base.counts, axis=0)
    own = domain.index(core.sensitive)
    rows[:, own] = random.sample(rows[:, own].tolist(), len(rows))
    beside = Core(Collection.of(DataCube([of_rows(domain, rows)]), core.collection.masks), core.sensitive)
    assert plain(further_tables(core.collection, core.nonsensitive, linked(core, k))) == plain(
        further_tables(beside.collection, core.nonsensitive, linked(beside, k))
    )


@given(cores(max_cells=100), st.data())
def test_limits_hold_and_cut_the_choice_short(core: Core, data: st.DataObject) -> None:
    allowed = linked(core, 2)
    everything = further_tables(core.collection, core.nonsensitive, allowed, ANY)
    few = data.draw(st.integers(0, 3))
    assert plain(further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(few, 0.0))) == plain(
        everything[:few]
    )
    least = data.draw(st.sampled_from([0.01, 0.1]))
    gaining = further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(None, least))
    assert all(table.gain >= least for table in gaining)


@given(cores(max_cells=100), st.data(), st.integers(1, 30))
def test_what_is_wanted_comes_first_as_finely_as_it_is_allowed(core: Core, data: st.DataObject, most: int) -> None:
    domain, small = core.collection.domain, linked(core, 3)
    asked = data.draw(margins(domain))
    own = {a: range(level, domain.hierarchy(a).height) for a, level in asked.items() if a != core.sensitive}
    if not (wanted := domain.mask({a: levels.start for a, levels in own.items()})):
        return

    def allowed(margin: Mask) -> bool:
        return domain.cell_count(margin) <= most and small(margin)

    shown = {a: levels for a, levels in own.items() if levels}
    every = [domain.mask(dict(zip(shown, levels))) for levels in product(*shown.values())]
    passing = [margin for margin in every if allowed(margin)]
    finest = {m for m in passing if not any(m != other and not m & ~other for other in passing)}
    chosen = further_tables(core.collection, core.nonsensitive, allowed, FurtherLimits(tables=1), [wanted])
    if new := [mask for mask in finest if not any(not mask & ~held for held in core.collection.masks)]:
        assert chosen[0].mask in new


def test_levels_cross_beside_none_of_the_tables_even_if_others_are_left_out() -> None:
    """A table that stays open in a proof is left out later; what it showed as finely must not have excused another one."""
    tree = [("u", "w", "*"), ("v", "w", "*"), ("x", "y", "*"), ("z", "y", "*")]
    domain = Domain.of({**dict.fromkeys("ab", Hierarchy.from_rows(tree)), "c": Hierarchy.flat("de")})
    table = filled(domain, np.random.default_rng(1).integers(5, 90, (4, 4, 2)))
    shown = [{"a": 1, "b": 0}, {"a": 0}, {"c": 0}]
    core = Collection.of(DataCube([table]), list(map(domain.mask, shown)))
    crossing = domain.mask({"a": 0, "b": 1, "c": 0})
    both = domain.mask({"a": 0, "b": 0})

    def allowed(margin: Mask) -> bool:
        return not margin & ~both or not margin & ~crossing

    whole = domain.mask({"a": 0, "b": 0, "c": 0})
    for may_cross in (False, True):
        limits = FurtherLimits(least_gain=0.0, crossing_levels=may_cross)
        chosen = [table.mask for table in further_tables(core, "abc", allowed, limits, [both, whole])]
        assert both in chosen
        subsets = chain.from_iterable(combinations(chosen, size) for size in range(len(chosen) + 1))
        assert any(cross(domain, [*core.masks, *kept]) for kept in subsets) == may_cross


def told_of(part: Sequence[Mask], core: Collection, further: Iterable[Mask]) -> Array:
    """Distribution of the attributes of some margins, at their levels, that fits best to all published tables."""
    domain = core.domain
    joint = joint_array(core.cube.table(sum(domain.attribute_masks))) / core.cube.total
    whole = iterative_proportional_fitting(joint, domain, [domain.margin(mask) for mask in (*core.masks, *further)])
    return dense_marginal(whole, domain, domain.margin(reduce(or_, part, 0)))


@given(decomposable_collections(max_cells=40), st.data())
def test_all_tables_of_an_attribute_say_the_same_of_it_beside_further_tables(
    core: Collection, data: st.DataObject
) -> None:
    domain = core.domain
    showing = [sum(bool(mask & own) for mask in core.masks) for own in domain.attribute_masks]
    place = data.draw(st.sampled_from([i for i, tables in enumerate(showing) if tables == max(showing)]))
    part = tuple(mask for mask in core.masks if mask & domain.attribute_masks[place])
    others = [name for name in domain.attributes if name != domain.attributes[place]]
    chosen = further_tables(core, others, lambda _: True, FurtherLimits(least_gain=0.0, undisturbed=(part,)))
    event(f"{min(len(part), 2)} tables, {min(len(chosen), 1)} further")
    further = [table.mask for table in chosen]
    assert told_of(part, core, further) == pytest.approx(told_of(part, core, ()), abs=1e-3)  # zeros make fits slow


def test_a_pair_that_would_change_what_two_tables_tell_of_an_attribute_is_not_chosen() -> None:
    table = filled(flat_domain(a=2, b=2, s=2), np.array([9, 3, 2, 5, 1, 6, 4, 8]))
    core = published(table, "as", "bs")
    (pair,) = further_tables(core, "ab", lambda _: True, ANY)
    assert np.abs(told_of(core.masks, core, [pair.mask]) - told_of(core.masks, core, ())).max() > 0.01
    assert further_tables(core, "ab", lambda _: True, ANY._replace(undisturbed=(core.masks,))) == ()


def test_wanted_margins_of_too_many_levels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(flat_domain(a=2, b=2, s=2), np.arange(1, 9))
    domain, ones = table.domain, published(table, "a", "b", "s")
    assert further_tables(ones, "ab", lambda _: True, ANY, deadline=Deadline(0.0)) == ()
    monkeypatch.setattr("models.search.further_tables._LOOKED_AT", 0)
    with pytest.raises(TooManyCellsError, match=r"more than 0 levels of .* would have to be tried"):
        further_tables(ones, "ab", lambda _: True, ANY, [domain.mask({"a": 0, "b": 0})])


def beside(core: Collection, further: Iterable[Mask]) -> ModelBesideCore:
    return ModelBesideCore(Collection.of(core.cube, (*core.masks, *further)), core=core)


@settings(max_examples=100)
@given(cores(max_cells=100), st.data())
def test_an_answer_is_the_fit_of_the_tree_to_what_the_tables_say(core: Core, data: st.DataObject) -> None:
    further = data.draw(further_masks(core))
    model = beside(core.collection, further)
    asked = data.draw(margins(core.collection.domain))
    counts = model.expected(asked)
    assert counts.shape == tuple(model.domain.hierarchy(a).size(level) for a, level in asked.items())
    assert counts.sum() == pytest.approx(model.total)
    joint = joint_array(model.collection.cube.table(sum(model.domain.attribute_masks))) / model.total
    shown = Fitted.of(model, asked)
    fitted = shown.fit(joint, model.core.margins)
    if shown.is_met(fitted, joint):  # a limit on the boundary is approached slowly
        expected = _in_order(dense_marginal(fitted, model.domain, asked), model.domain, asked) * model.total
        assert counts == pytest.approx(expected, abs=1e-3)


@dataclass(frozen=True)
class Fitted:
    """What an answer is fitted over: the attributes asked about, and what else a margin shows that alone shows one of them.

    margins: what all tables say of these.
    """

    domain: Domain
    own: Mask
    margins: tuple[Mapping[str, int], ...]

    @classmethod
    def of(cls, model: ModelBesideCore, asked: Mapping[str, int]) -> "Fitted":
        domain, masks, own = model.domain, model.collection.masks, 0
        maximal = [mask for mask in masks if not any(mask != other and not mask & ~other for other in masks)]
        for a in asked:
            alone = domain.attribute_masks[domain.index(a)]
            holding = [mask for mask in maximal if mask & alone]
            shown = domain.margin(holding[0]) if len(holding) == 1 else (a,)
            own |= alone | sum(domain.attribute_masks[domain.index(b)] for b in shown if b != a)
        return cls(domain, own, tuple(domain.margin(mask & own) for mask in masks))

    def fit(self, joint: Array, core: Iterable[Mapping[str, int]]) -> Array:
        """Over the full joint, in which the other attributes are even."""
        tree = iterative_proportional_fitting(joint, self.domain, core)
        kept = self.domain.margin(self.own)
        start = dense_marginal(tree, self.domain, kept)[places(self.domain, kept)]
        return iterative_proportional_fitting(joint, self.domain, self.margins, start=start / start.sum())

    def is_met(self, fitted: Array, joint: Array) -> bool:
        return all(np.abs(dense_marginal(fitted - joint, self.domain, margin)).max() < 1e-9 for margin in self.margins)


def _in_order(dense: Array, domain: Domain, asked: Mapping[str, int]) -> Array:
    axes = [domain.index(a) for a in asked]
    dropped = tuple(axis for axis in range(dense.ndim) if axis not in axes)
    return dense.sum(axis=dropped).transpose([sorted(axes).index(axis) for axis in axes])


@given(cores(max_cells=100), st.data())
def test_published_tables_are_answered_exactly_and_no_further_tables_change_nothing(
    core: Core, data: st.DataObject
) -> None:
    further = data.draw(further_masks(core))
    model = beside(core.collection, further)
    for mask, table in zip(model.collection.masks, model.collection.tables):
        counts = model.expected(table.margin)
        joint = joint_array(core.collection.cube.table(sum(model.domain.attribute_masks)))
        dense = dense_marginal(joint, model.domain, table.margin)
        assert np.array_equal(counts, _in_order(dense, model.domain, table.margin)), mask
    asked = data.draw(margins(core.collection.domain))
    expected = MarginalModel(core.collection).expected(asked)
    assert beside(core.collection, ()).expected(asked) == pytest.approx(expected)


def test_a_margin_that_is_too_large_to_be_laid_out_is_refused() -> None:
    table = of_rows(flat_domain(a=400, b=400, c=400), [[0, 0, 0]])
    model = beside(published(table, "ab"), ())
    with pytest.raises(TooManyCellsError, match="64,000,000 cells is more than"):
        model.expected(dict.fromkeys("abc", 0))


def test_ones_own_strategy_may_come_to_every_decomposable_collection_and_to_no_other() -> None:
    """All pairs of sets of induced attributes, of an attribute with three levels and of one with two: by `Domain.mask`."""
    ladder = Hierarchy.from_rows([("0", "x", "*"), ("1", "x", "*"), ("2", "y", "*")])
    domain = Domain.of({"a": Hierarchy.flat("pq"), "b": ladder})
    problem = Problem(DataCube([filled(domain, np.arange(1, 7))]))
    valid = {mask for mask in range(8) if domain.mask(domain.levels(mask)) == mask}
    for cliques in combinations(range(1, 17), 2):
        own = SearchResult("own", cliques, 7.0, 3, False, ())
        strategy = strategy_of(lambda *_, own=own: own, STRATEGIES)
        if {mask for mask in cliques if not any(mask < other == mask | other for other in cliques)} <= valid:
            found, collection = strategy(problem, never), Collection.of(problem.cube, cliques)
            assert found.cliques == tuple(sorted(collection.junction_tree.cliques))
            assert found.kl_divergence == pytest.approx(MaximumEntropy(collection).kl_divergence)
            assert found.evaluated == 3
        else:
            with pytest.raises(ExtensionError, match="not decomposable"):
                strategy(problem, never)

"""Under independence the best attributes are found without a search (LSFB09 section 4.2)."""

from dataclasses import replace
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    Constant,
    DecisionProblem,
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
from checks.risk.disclosure import attribute_counts, select_clustered, select_independent, selected_disclosure
from checks.risk.harm import PerPerson, harmonic_shares
from models import Domain, Hierarchy
from risk_strategies import dictionaries, records, spaces


@given(st.data())
def test_each_attribute_is_counted_by_itself(data: st.DataObject) -> None:
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space)), data.draw(dictionaries(space))
    counts = attribute_counts(sought, dictionary)
    for axis in range(len(space)):
        others = space.heights.copy()
        others[axis] = 0
        assert counts[:, axis].tolist() == consistent_counts(sought.generalized(others), dictionary).tolist()


def loss(
    record: Records, dictionary: Dictionary, weights: list[float], parts: list[list[int]], shown: set[int]
) -> float:
    """Phi4 over the product of the clusters' counts, as the independence assumption estimates them."""
    estimate = float(len(dictionary))
    for part in parts:
        levels = [0 if a in part and a in shown else h for a, h in enumerate(record.space.heights.tolist())]
        estimate *= consistent_counts(record.generalized(levels), dictionary)[0] / len(dictionary)
    return float(np.exp(sum(weights[axis] for axis in shown)) / estimate) if estimate else 0.0


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_no_other_choice_of_as_many_attributes_loses_less(data: st.DataObject) -> None:
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space, max_size=4)), data.draw(dictionaries(space))
    size, number = len(space), data.draw(st.integers(0, len(space)))
    weights = np.random.default_rng(0).uniform(size=(len(sought), size))
    labels = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    clusters = [[a for a in range(size) if labels[a] == label] for label in set(labels)]
    alone = [[axis] for axis in range(size)]
    for parts, chosen in (
        (alone, select_independent(sought, dictionary, weights, number)),
        (alone, select_clustered(sought, dictionary, weights, alone, number)),
        (clusters, select_clustered(sought, dictionary, weights, clusters, number)),
    ):
        assert np.all(chosen.sum(axis=1) == number)
        for row in range(len(sought)):
            record, own = sought[np.array([row])], weights[row].tolist()
            best = min(loss(record, dictionary, own, parts, set(s)) for s in combinations(range(size), number))
            taken = loss(record, dictionary, own, parts, set(np.flatnonzero(chosen[row]).tolist()))
            assert taken == pytest.approx(best)


def test_where_attributes_are_independent_the_selection_is_the_true_optimum() -> None:
    """A dictionary that holds each combination as often as independence says."""
    space = RecordSpace(Domain.of({n: Hierarchy.flat([f"{n}{i}" for i in range(k)]) for n, k in zip("abc", (2, 3, 4))}))
    often = [(3, 1), (1, 2, 3), (4, 1, 1, 2)]
    cells = [(cell, prod(o[v] for o, v in zip(often, cell))) for cell in product(range(2), range(3), range(4))]
    nodes = np.array([cell for cell, count in cells for _ in range(count)])
    dictionary, sought = Dictionary(Records(space, nodes)), Records(space, np.array([cell for cell, _ in cells]))
    weights = np.array([0.3, 0.6, 0.1])
    for number in range(4):
        chosen = select_independent(sought, dictionary, weights, number)
        hidden = sought.generalized(np.where(chosen, 0, space.heights))
        taken = np.exp(chosen @ weights) / consistent_counts(hidden, dictionary)
        for shown in combinations(range(3), number):
            other = np.isin(np.arange(3), shown)
            counts = consistent_counts(sought.generalized(np.where(other, 0, space.heights)), dictionary)
            assert np.all(taken <= np.exp(other @ weights) / counts * (1 + 1e-12))


def test_what_cannot_be_chosen_is_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x"]), "b": Hierarchy.flat(["y"])}))
    sought = Records(space, np.array([[0, 0]]))
    with pytest.raises(DisclosureRuleError, match="between 0 and 2"):
        select_independent(sought, Dictionary(sought), np.ones(2), 3)
    with pytest.raises(DisclosureRuleError, match="clusters"):
        select_clustered(sought, Dictionary(sought), np.ones(2), [[0], [0, 1]], 1)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_in_one_cluster_the_choice_is_the_best_of_all_subsets(data: st.DataObject) -> None:
    """Of all sets of so many attributes none has a smaller exact loss; the choice's loss is the exact one."""
    space = data.draw(spaces())
    originals, known = data.draw(records(space)), data.draw(dictionaries(space))
    shares = tuple(harmonic_shares(taxonomy) for taxonomy in space.taxonomies)
    weights = np.array([[data.draw(st.sampled_from([0.0, 0.5, 2.0])) for _ in shares] for _ in range(len(originals))])
    harm = Harm(Multiplicative(Weights.linear(shares, weights)))
    problem = DecisionProblem(originals, (known,), harm)
    number = data.draw(st.integers(0, len(space)))
    found = selected_disclosure(problem, [range(len(space))], number)
    assert found.loss == pytest.approx(losses(found.disclosure.records, known, harm))
    for subset in combinations(range(len(space)), number):
        levels = space.heights.copy()
        levels[list(subset)] = 0
        assert np.all(found.loss <= losses(originals.generalized(levels), known, harm) * (1 + 1e-9))


def test_what_is_no_product_over_attributes_is_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"]), "b": Hierarchy.flat(["x", "y"])}))
    originals = Records(space, np.array([[0, 1]]))
    known, shares = Dictionary(originals), tuple(harmonic_shares(taxonomy) for taxonomy in space.taxonomies)
    plain = Multiplicative(Weights.linear(shares, [1.0, 1.0]))
    both = Multiplicative(Weights(shares, ((0,), (0, 1)), np.array([1.0, 1.0])))
    problem = DecisionProblem(originals, (known,), Harm(plain))
    refused = (
        (replace(problem, dictionaries=(known, known), prior=(0.5, 0.5)), "against one dictionary"),
        (replace(problem, harm=Harm(plain, Constant(1.0))), "has no harm"),
        (replace(problem, harm=Harm(plain, PerPerson(np.zeros(1)))), "has no harm"),
        (replace(problem, harm=Harm(Linear(plain.weights))), "only by a multiplicative"),
        (replace(problem, harm=Harm(both)), "only without interactions"),
    )
    for wrong, message in refused:
        with pytest.raises(DisclosureRuleError, match=message):
            selected_disclosure(wrong, (), 1)
    with pytest.raises(DisclosureRuleError, match="too large"):
        selected_disclosure(problem, [range(13)], 1)
    assert selected_disclosure(replace(problem, harm=Harm(Constant(1.0))), (), 1).loss.tolist() == [1.0]

"""Jaro similarity as its literature gives it, and the counts that follow from it."""

import numpy as np
import pytest

import marginals
from checks import Dictionary, Records, RecordSpace
from checks.risk.attackers import approximate_counts
from marginals.risk import alike_labels, alike_values
from models import Domain, Hierarchy

pytest.importorskip("rapidfuzz")

PUBLISHED = {
    ("MARTHA", "MARHTA"): 0.944,
    ("DIXON", "DICKSONX"): 0.767,
    ("DWAYNE", "DUANE"): 0.822,
    ("JONES", "JOHNSON"): 0.790,
    ("ABROMS", "ABRAMS"): 0.889,
}
"""Winkler, String Comparator Metrics and Enhanced Decision Rules (1990), Table 1."""


@pytest.mark.parametrize(("pair", "similarity"), PUBLISHED.items())
def test_published_similarities(pair: tuple[str, str], similarity: float) -> None:
    for threshold, found in ((similarity - 0.001, 1), (similarity + 0.001, 0)):
        assert len(alike_labels([pair[0]], [pair[1]], threshold)[0]) == found


def test_misspelled_names_are_consistent() -> None:
    names = ["MARTHA", "MARHTA", "DIXON", "DICKSONX", "DWAYNE", "DUANE"]
    space = RecordSpace(Domain.of({"name": Hierarchy.flat(names), "town": Hierarchy.flat(["a", "b"])}))
    dictionary = Dictionary(Records(space, np.array([[1, 0], [1, 1], [3, 0], [4, 0], [5, 0], [6, 0]])))
    sought = Records(space, np.array([[0, 0], [2, 0], [5, 0], [6, 1], [0, 2]]))
    counts = approximate_counts(sought, dictionary, alike_values(sought, dictionary, ["name"]))
    assert counts.tolist() == [2, 1, 3, 1, 3]


def test_many_labels_are_compared_block_by_block() -> None:
    labels = [f"{number:05d}" for number in range(1200)]
    first, second = alike_labels(labels, labels, 1.0)
    assert first.tolist() == second.tolist() == list(range(1200))


def test_a_threshold_that_makes_no_sense_is_refused() -> None:
    for threshold in (0.0, 1.1):
        with pytest.raises(marginals.InputError):
            alike_labels(["a"], ["a"], threshold)

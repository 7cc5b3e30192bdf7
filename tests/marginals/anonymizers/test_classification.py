"""Decision trees learnt from generalized tables."""

import sys

import numpy as np
import pytest

from marginals import InputError
from marginals.anonymizers.local_recoding import relative_accuracy, tree_accuracy
from models import ContingencyTable, Domain, GeneralizedCells, Hierarchy

AGES = Hierarchy.from_intervals(map(str, range(8)), [4])
"""s is x below 4 in three of four rows, and y from 4 on."""
TABLE = ContingencyTable.from_cells(
    Domain.of({"age": AGES, "sex": Hierarchy.flat("fm"), "s": Hierarchy.from_rows([("x", "*"), ("y", "*")])}),
    {"age": 0, "sex": 0, "s": 0},
    {"age": np.repeat(np.arange(8), 4), "sex": np.tile([0, 1], 16), "s": np.array([0, 0, 0, 1] * 4 + [1, 1, 1, 0] * 4)},
    np.full(32, 500),
)


@pytest.mark.slow
def test_a_tree_learns_what_the_generalized_values_still_tell() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    told = {level: GeneralizedCells.of(TABLE.rolled_up({"age": level, "s": 0})) for level in (0, 1, 2)}
    reached = {level: tree_accuracy(cells, TABLE, "s", np.random.default_rng(0)) for level, cells in told.items()}
    assert reached == {0: 0.75, 1: 0.75, 2: pytest.approx(0.5, abs=0.2)}, "the interval tells as much as the age"
    assert relative_accuracy(told[2], TABLE, TABLE, "s", np.random.default_rng(0)) == pytest.approx(0.5 / 0.75, abs=0.2)


@pytest.mark.slow
def test_half_of_the_labels_suppressed_leaves_the_rule() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    told = GeneralizedCells.of(TABLE).nodes
    untold = np.where(np.arange(3) == 2, 2, told)
    blurred = GeneralizedCells.from_rows(TABLE.domain, np.concatenate([told, untold]), np.tile(TABLE.counts // 2, 2))
    assert tree_accuracy(blurred, TABLE, "s", np.random.default_rng(0)) == 0.75


def test_without_scikit_learn_one_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(InputError, match="scikit-learn"):
        tree_accuracy(GeneralizedCells.of(TABLE), TABLE, "s", np.random.default_rng(0))

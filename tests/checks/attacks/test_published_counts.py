"""What is published is counted as it stands: small counts, those with a sensitive value, and classes that share one."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from checks.attacks.published_counts import published_counts
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

DOMAIN = Domain.of(
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
    codes = {a: np.array([row[i] for row in rows]) for i, a in enumerate(DOMAIN.attributes)}
    table = ContingencyTable.from_cells(DOMAIN, dict.fromkeys(DOMAIN.attributes, 0), codes, np.ones(len(rows), int))
    margins = [{"age": 1, "ill": 0}, {"ill": 0, "sex": 0}, {"age": 0}]
    found = published_counts(Collection.of(DataCube([table]), map(DOMAIN.mask, margins)), ["ill"], 3)

    cells: dict[tuple[int, frozenset], int] = Counter()
    classes: dict[tuple, set[str]] = defaultdict(set)
    sizes: dict[tuple, int] = Counter()
    for number, margin in enumerate(margins):
        for row in rows:
            shown = {
                a: DOMAIN.hierarchy(a).labels[level][DOMAIN.hierarchy(a).lift(0, level)[row[DOMAIN.index(a)]]]
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


def test_an_attribute_that_no_table_shows_is_left_out() -> None:
    table = ContingencyTable.from_cells(DOMAIN, {"sex": 0}, {"sex": np.array([0, 1])}, [3, 12])
    found = published_counts(Collection.of(DataCube([table]), [table.mask]), ["ill"], 10)
    assert found.as_json() == {
        "below": 10,
        "number": 2,
        "small": 1,
        "smallest": [
            {"values": {"sex": "f"}, "levels": {"sex": 0}, "rows": 3},
            {"values": {"sex": "m"}, "levels": {"sex": 0}, "rows": 12},
        ],
        "sensitive": {},
    }

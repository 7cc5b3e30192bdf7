"""Pictures of a collection with very many attributes: drawn in time, and every attribute inside of the drawing."""

import networkx as nx
import numpy as np
import pytest

from marginals.pages.release_page import WIDTH, interaction_picture
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy


def chain(length: int) -> Collection:
    """The pairs of neighbours of so many attributes with one row in all."""
    names = [f"a{i:03}" for i in range(length)]
    domain = Domain.of({name: Hierarchy.flat(["no", "yes"]) for name in names})
    tables = [
        ContingencyTable.from_cells(domain, {a: 0, b: 0}, {a: np.zeros(1, int), b: np.zeros(1, int)}, [1])
        for a, b in zip(names, names[1:])
    ]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def test_a_crowd_of_attributes_is_placed_without_minimizing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kamada and Kawai's method took most of half a minute for a chain of 199 tables."""
    monkeypatch.delattr(nx, "kamada_kawai_layout")
    picture = interaction_picture(chain(80))
    assert len({(capsule.x, capsule.y) for capsule in picture.capsules}) == 80
    assert all(c.x >= 0 and c.x + c.width <= WIDTH for c in picture.capsules)
    assert all(c.y >= 0 and c.y + c.height <= picture.height for c in picture.capsules)
    assert len(picture.edges) == 79
    assert interaction_picture(chain(80)) == picture

"""GraphML of the interaction graph and the junction tree, for networkx, Gephi, yEd, igraph and others."""

import io
from pathlib import Path
from typing import Any

import networkx as nx

from marginals.files.atomic_file import replace_file
from marginals.release.release import Release
from models.tables.margin import Margin


def write_interaction_graph(release: Release, path: str | Path) -> None:
    """Nodes `attribute:level` with the attribute and the level that each step of generalization is at."""
    named: nx.Graph[str] = nx.Graph()
    graph = release.interaction_graph()
    for node in graph:
        named.add_node(f"{node.attribute}:{node.level}", attribute=node.attribute, level=node.level)
    named.add_edges_from((f"{a.attribute}:{a.level}", f"{b.attribute}:{b.level}") for a, b in graph.edges)
    _write(named, Path(path))


def write_junction_tree(release: Release, path: str | Path) -> None:
    """Nodes are margins `attribute:level, ...` with their number of cells; edges carry their separator and its cells.

    Raises NotDecomposableError where there is no junction tree.
    """
    named: nx.Graph[str] = nx.Graph()
    tree = release.junction_tree()
    cube, domain = release.collection.cube, release.domain
    for margin in tree:
        named.add_node(str(margin), cells=len(cube.table(domain.mask(margin))))
    separator: Margin
    for a, b, separator in tree.edges(data="separator"):
        named.add_edge(str(a), str(b), separator=str(separator), cells=len(cube.table(domain.mask(separator))))
    _write(named, Path(path))


def _write(graph: "nx.Graph[Any]", path: Path) -> None:
    text = io.BytesIO()
    nx.write_graphml(graph, text)
    replace_file(path, text.getvalue())

"""Models of other programs, out and in: cliques as R writes them, GraphML, networkx, pgmpy."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx

from marginals.errors import InputError
from marginals.files.atomic_file import replace_file

Cliques = tuple[tuple[str, ...], ...]

_R_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_R_CALL = re.compile(r"c\(([^()]*)\)|" + _R_TEXT.pattern)


def r_cliques(cliques: Iterable[Iterable[str]]) -> str:
    r"""Cliques as R's `loglin` takes margins, and `gRbase::ug`, `gRim::dmod` take models.

    >>> print(r_cliques([("Hair", "Eye"), ("Sex",)]))
    list(c("Hair", "Eye"), c("Sex"))
    """
    quoted = [", ".join('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in own) for own in cliques]
    return f"list({', '.join(f'c({names})' for names in quoted)})"


def cliques_of(model: Any) -> Cliques:
    """The cliques that a model is given by.

    model: cliques themselves; R's text of them, `list(c("a", "b"), "c")`; the path of a GraphML file; a graph of
    networkx, as which pgmpy's networks count. Of a graph, its maximal cliques. Raises InputError for anything else.

    >>> cliques_of('list(c("a", "b"), "c")')
    (('a', 'b'), ('c',))
    """
    if isinstance(model, str) and model.lstrip().startswith(("list(", "c(")):
        return _of_r(model)
    if isinstance(model, str | Path):
        try:
            model = nx.read_graphml(model)
        except OSError as error:
            raise InputError(f"{model} cannot be read as GraphML: {error.strerror}") from None
        except (SyntaxError, nx.NetworkXError, KeyError):
            raise InputError(f"{model} is no GraphML file, and no text such as list(c('a', 'b'), 'c')") from None
    if isinstance(model, nx.Graph):
        if model.is_directed():
            raise InputError("the model is a directed graph; give the undirected one, in pgmpy `to_markov_model()`")
        return tuple(sorted(tuple(sorted(map(str, clique))) for clique in nx.find_cliques(nx.Graph(model))))
    if isinstance(model, Iterable):
        cliques = [[own] if isinstance(own, str) else own for own in model]
        if all(isinstance(own, Iterable) for own in cliques):
            return tuple(tuple(map(str, own)) for own in cliques)
    raise InputError(
        "a model is given by its cliques, by a graph, by the path of a GraphML file, or by R's text of its cliques"
    )


def _of_r(text: str) -> Cliques:
    inner = text.strip()
    inner = inner.removeprefix("list(").removesuffix(")") if inner.startswith("list(") else inner
    found = [call.group(0) for call in _R_CALL.finditer(inner)]
    unquoted = (_R_TEXT.sub("", call.removeprefix("c(").removesuffix(")")) for call in found)
    if any(rest.strip(" ,\n\t") for rest in (_R_CALL.sub("", inner), *unquoted)):
        raise InputError('cliques in R\'s way read list(c("a", "b"), c("c")), each name in quotes')
    return tuple(
        tuple(re.sub(r"\\(.)", r"\1", name[0] if name[0] is not None else name[1]) for name in _names(call))
        for call in found
    )


def _names(call: str) -> list[tuple[str | None, str]]:
    return [(name.group(1), name.group(2) or "") for name in _R_TEXT.finditer(call)]


def write_graph(graph: "nx.Graph[str]", path: str | Path) -> None:
    """The graph of a model as GraphML."""
    text = io.BytesIO()
    nx.write_graphml(graph, text)
    replace_file(Path(path), text.getvalue())

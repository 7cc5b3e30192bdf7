"""Tables with a count for each combination of base values, and collections of their margins."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy


def flat_domain(**values: int | str) -> Domain:
    """Attributes without levels: so many values each, which begin with the attribute's name, or one for each letter."""
    named = {a: own if isinstance(own, str) else [f"{a}{n}" for n in range(own)] for a, own in values.items()}
    return Domain.of({name: Hierarchy.flat(labels) for name, labels in named.items()})


def filled(domain: Domain, counts: ArrayLike) -> ContingencyTable:
    """The counts of all base cells, in the order of the domain's attributes and of their codes."""
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    return ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ravel(counts))


def counted(domain: Domain, counts: Mapping[tuple[int, ...], int]) -> ContingencyTable:
    codes = dict(zip(domain.attributes, np.array(list(counts)).T))
    return ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, list(counts.values()))


def apart(domain: Domain, counts: Mapping[str, ArrayLike]) -> Collection:
    """Margins of attributes of one letter, published without a base table: their counts at base values."""
    tables = []
    for names, own in counts.items():
        part = filled(Domain.of({name: domain.hierarchy(name) for name in names}), own)
        codes = dict(zip(part.attributes, part.codes))
        tables.append(ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, part.counts))
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def of_labels(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> ContingencyTable:
    labels = {name: sorted({row[i] for row in rows}) for i, name in enumerate(columns)}
    domain = Domain.of({name: Hierarchy.flat(own) for name, own in labels.items()})
    return of_rows(domain, [[own.index(label) for own, label in zip(labels.values(), row)] for row in rows])


def of_rows(domain: Domain, rows: ArrayLike) -> ContingencyTable:
    """Rows of codes at base values, one count each: shape (rows, attributes)."""
    columns = dict(zip(domain.attributes, np.asarray(rows, dtype=np.intp).reshape(-1, len(domain.attributes)).T))
    return ContingencyTable.from_cells(domain, dict.fromkeys(columns, 0), columns, np.ones(len(np.asarray(rows)), int))


def of_vectors(folder: Path, file: str, name: str = "") -> tuple[dict[str, Any], ContingencyTable]:
    """A published table of the vectors and what is published of it: no generalizations, the first variable fastest."""
    example = json.loads((folder / file).read_text())
    example = example[name] if name else example | {"vars": example["variables"], "levels": [["0", "1"]] * 6}
    domain = Domain.of({own: Hierarchy.flat(labels) for own, labels in zip(example["vars"], example["levels"])})
    return example, filled(domain, np.reshape(example["counts"], [*map(len, example["levels"])], order="F"))


def published(table: ContingencyTable, *margins: str | Mapping[str, int]) -> Collection:
    """Some margins of a table, each by levels or, at base values, by attributes of one letter."""
    levels = [dict.fromkeys(margin, 0) if isinstance(margin, str) else margin for margin in margins]
    return Collection.of(DataCube([table]), [table.domain.mask(margin) for margin in levels])

"""Entries of a ledger: for each release what was shown, of which table, and by which rules."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.claims.maxent_diversity import MaxentDiversity
from marginals.bundle.descriptor import digest
from marginals.bundle.format import KNOWN
from marginals.tables.attribute import Role
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy
from models.tables.margin import Margin

ENTRY, CELLS, HIERARCHIES, BUNDLE = "entry.json", "cells.csv", "hierarchies.json", "release"
"""Names in the folder of an entry; the first entry alone has hierarchies, which are those of all."""

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Entry:
    """A release that is out, or may be.

    number: from 1. date: of its entry, as ISO 8601 writes it. folder: where it was written to. table: the people that it
    shows, at base values. margins: as levels of the ledger's domain. k, rows_per_person, diversities: what its release
    claims. waiting: rows that had come and that had left, and are not shown. is_out: whether its bundle was seen in place.
    retracted: the date on which somebody took it back; empty where nobody did. turnover_known: whether it is published for
    readers who know that people come and go. where: which part of the people it shows, and shown: how many rows; empty and
    None where it shows all.
    """

    number: int
    date: str
    folder: str
    table: ContingencyTable
    margins: tuple[Margin, ...]
    k: int
    rows_per_person: int | None
    diversities: tuple[MaxentDiversity, ...]
    waiting: tuple[int, int] = (0, 0)
    is_out: bool = False
    retracted: str = ""
    turnover_known: bool = False
    where: str = ""
    shown: int | None = None

    @property
    def rows(self) -> int:
        """How many rows the release counts."""
        return self.table.total if self.shown is None else self.shown

    def files(self, previous: str | None, roles: Mapping[str, Role], bundle: Mapping[str, bytes]) -> dict[str, bytes]:
        """What is written of it, by paths in its folder. previous: hash of the entry before it, None for the first."""
        files = {CELLS: _cells(self.table)} | {f"{BUNDLE}/{path}": content for path, content in bundle.items()}
        if previous is None:
            files[HIERARCHIES] = _plain(domain_as_json(self.table.domain, roles))
        stated = {
            "format": FORMAT,
            "number": self.number,
            "previous": previous,
            "date": self.date,
            "folder": self.folder,
            "rows": self.table.total,
            "margins": [dict(margin) for margin in self.margins],
            "k": self.k,
            "rows_per_person": self.rows_per_person,
            "diversities": [claim.as_json() for claim in self.diversities],
            "waiting": {"came": self.waiting[0], "left": self.waiting[1]},
            **({"turnover": KNOWN} if self.turnover_known else {}),
            **({"part": {"where": self.where, "rows": self.shown}} if self.where else {}),
            "files": {path: digest(content) for path, content in sorted(files.items())},
        }
        return {ENTRY: _plain(stated), **files}

    @classmethod
    def read(cls, stated: Mapping[str, Any], cells: bytes, domain: Domain) -> "Entry":
        """From what was written. Raises KeyError, TypeError or ValueError where that is something else."""
        claims = [MaxentDiversity.from_json(each) for each in stated["diversities"]]
        waiting = stated["waiting"]
        rows_per_person, part = stated["rows_per_person"], stated.get("part", {"where": "", "rows": None})
        return cls(
            int(stated["number"]),
            str(stated["date"]),
            str(stated["folder"]),
            _table(cells, domain),
            tuple(Margin(margin) for margin in stated["margins"]),
            int(stated["k"]),
            rows_per_person,
            tuple(claim.counting(rows_per_person) for claim in claims if claim is not None),
            (int(waiting["came"]), int(waiting["left"])),
            turnover_known=stated.get("turnover") == KNOWN,
            where=str(part["where"]),
            shown=None if part["rows"] is None else int(part["rows"]),
        )


def _plain(stated: Any) -> bytes:
    return (json.dumps(stated, indent=1, ensure_ascii=True) + "\n").encode()


def _cells(table: ContingencyTable) -> bytes:
    """Codes of base values, as `hierarchies.json` numbers them from 0, and counts."""
    import pandas as pd

    columns = {str(place): codes for place, codes in enumerate(table.codes)}
    text = pd.DataFrame({**columns, "count": table.counts}).to_csv(index=False, lineterminator="\n")
    return text.encode()


def _table(cells: bytes, domain: Domain) -> ContingencyTable:
    import pandas as pd

    frame = pd.read_csv(io.BytesIO(cells), dtype="int64")
    codes = {name: frame[str(place)].to_numpy() for place, name in enumerate(domain.attributes)}
    margin = dict.fromkeys(domain.attributes, 0)
    return ContingencyTable.from_cells(domain, margin, codes, frame["count"].to_numpy())


def domain_as_json(domain: Domain, roles: Mapping[str, Role]) -> dict[str, Any]:
    """Attributes with their roles and hierarchies, as plain values."""
    return {
        "attributes": [
            {"name": name, "role": roles[name].value, "labels": hierarchy.labels, "parents": hierarchy.parents}
            for name, hierarchy in domain.items()
        ]
    }


def domain_from_json(stated: Mapping[str, Any]) -> tuple[Domain, dict[str, Role]]:
    """The domain and the roles. Raises KeyError, TypeError, ValueError or HierarchyError for something else."""
    hierarchies, roles = {}, {}
    for each in stated["attributes"]:
        labels, parents = (tuple(map(tuple, each[key])) for key in ("labels", "parents"))
        hierarchies[str(each["name"])] = Hierarchy(labels, parents)
        roles[str(each["name"])] = Role(each["role"])
    return Domain.of(hierarchies), roles

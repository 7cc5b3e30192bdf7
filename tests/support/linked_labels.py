"""Labelled tables as the code takes them."""

from collections.abc import Mapping

from label_oracles import LabelledTables
from models import UNBOUNDED, Classification, IntervalTable, LinkedTables, linked_tables
from models.intervals.linked_tables import JOINT_LIMITS, JointLimits


def linked_labels(published: LabelledTables, limits: JointLimits = JOINT_LIMITS) -> LinkedTables:
    classifications = {
        name: Classification(name, values, {g: frozenset(m) for g, m in published.groups[name].items()})
        for name, values in published.base.items()
    }

    def members(labels: Mapping[str, str]) -> tuple[int, ...]:
        return tuple(
            classifications[a].everything if label == "Total" else classifications[a].members(label)
            for a, label in labels.items()
        )

    tables = [
        IntervalTable.of(
            f"table {number}",
            attributes,
            {members(labels): (low, UNBOUNDED if high is None else high) for labels, low, high in cells},
        )
        for number, (attributes, cells) in enumerate(published.tables)
    ]
    return linked_tables(tables, [*classifications.values()], limits)

"""t-closeness of one table (Li, Li, Venkatasubramanian: t-Closeness, ICDE 2007)."""

from dataclasses import replace
from fractions import Fraction

from checks.classes.assessment import check_classes
from checks.classes.equivalence_classes import equivalence_classes
from checks.diversity.relative.t_closeness import Distance, TCloseness
from checks.finding import Finding
from models.tables.contingency_table import ContingencyTable


def t_closeness(table: ContingencyTable, sensitive: str, t: Fraction, distance: Distance) -> Finding:
    """Whether every class of a table is t-close to the table in one sensitive attribute; the others join what classes
    share (MKGV07 Def. 4.6). The table must have rows.
    """
    classes = equivalence_classes(table, sensitive)
    criterion = TCloseness(t, tuple(classes.counts.sum(axis=0).tolist()), distance)
    parameters = {"t": float(t), "distance": distance.name, "sensitive": sensitive}
    return replace(check_classes(classes, criterion), criterion=criterion.name, parameters=parameters)

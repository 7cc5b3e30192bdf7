"""Margins that are put to the constraint and measured one by one."""

from dataclasses import dataclass

import numpy as np

from models.arrays import BoolArray, FloatArray, IndexArray
from models.search.bounds.margin_sets import GridSteps
from models.search.constraint import ClassSize, is_refused_in_all
from models.search.problem import Problem


@dataclass(frozen=True, eq=False)
class AskedMargins:
    """What judges margins of a grid one by one.

    least: rows of a class, of fewer than which the constraint refuses a margin. by_class: of each step, whether the
    constraint judges margins with it by that alone.
    """

    problem: Problem
    steps: GridSteps
    least: int
    by_class: BoolArray

    @classmethod
    def of(cls, problem: Problem, steps: GridSteps, judged: ClassSize) -> "AskedMargins":
        """Those of a constraint that judges some margins by their classes."""
        by_class = np.array([not mask & ~judged.vertices for mask in steps.coarse], dtype=np.bool_)
        return cls(problem, steps, judged.least, by_class)

    def are_by_class(self, members: IndexArray) -> BoolArray:
        """Which of some margins the constraint judges by their classes; members: shape (margins, attributes shown)."""
        return np.asarray(self.by_class[members].all(axis=1))

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of some margins may be shown, and the entropies in nats of these; 0 of others.

        A margin of the grid may be shown where the coarsest one that it stands for may, and has the entropy of the finest.
        """
        allowed, entropies = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members))
        for number, own in enumerate(members.tolist()):
            if not is_refused_in_all(self.problem.constraint, sum(self.steps.coarse[step] for step in own)):
                allowed[number] = True
                entropies[number] = self.problem.cube.entropy(sum(self.steps.fine[step] for step in own))
        return allowed, entropies

"""Which columns of an unknown table to publish together: one sensitive one, and those that tell most."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import log

import numpy as np

from marginals.config.guessing.column_guess import Guess
from marginals.tables.attribute import Role
from models.arrays import IndexArray
from models.x_log_x import x_log_x

Codes = Mapping[str, IndexArray]
"""For each column the codes of some rows' values, as coarse as they are likely to be published: shape (rows,)."""


def settled(guesses: Mapping[str, Guess], most: int, codes: Codes, wanted: Collection[str] = ()) -> dict[str, Guess]:
    """The guesses on all columns together: one sensitive column, at most `most` quasi-identifiers.

    What looks sensitive too is left out rather than published, and of the quasi-identifiers those that tell least beside the
    others; wanted ones stay as long as they are not more than `most`.
    """
    candidates = [name for name, guessed in guesses.items() if guessed.likely_sensitive is not None]
    chosen = min(candidates, key=lambda name: (name not in wanted, guesses[name].likely_sensitive or 0), default=None)
    result = dict(guesses)
    for name, guessed in guesses.items():
        if guessed.role is Role.SENSITIVE and name != chosen:
            why = f"{guessed.why}, but another column was taken as the sensitive one"
            result[name] = replace(guessed, role=Role.IGNORED, why=why)
    public = [name for name, guessed in result.items() if guessed.role is Role.QUASI_IDENTIFIER]
    if len(public) > most:
        for name, reason in _least_telling({name: codes[name] for name in public}, most, wanted).items():
            many = f"left out of the release, as {most} quasi-identifiers are much work already"
            why = f"{result[name].why}; {many}, and {reason}"
            result[name] = replace(result[name], role=Role.IGNORED, why=why)
    return result


def _least_telling(codes: Codes, most: int, wanted: Collection[str]) -> dict[str, str]:
    """The columns beyond the `most` that tell most, each with what it tells beside the others, in words.

    Chosen one after the other: first what is wanted, then the column whose entropy, given that one of those chosen before
    which says most of it, is the largest.
    """
    left = {name: (_entropy(own), "") for name, own in codes.items()}
    for _ in range(most):
        chosen = max(left, key=lambda name: (name in wanted, left[name][0]))
        del left[chosen]
        for name, (told, _before) in left.items():
            beside = _entropy(codes[chosen] * (int(codes[name].max()) + 1) + codes[name]) - _entropy(codes[chosen])
            if beside < told:
                left[name] = (beside, chosen)
    return {name: _reason(told, beside) for name, (told, beside) in left.items()}


def _reason(told: float, beside: str) -> str:
    bits = f"({told / log(2):.2f} bits of information)"
    if not beside:
        return f"it tells less than the columns that stay {bits}"
    return f"whoever knows {beside} learns less from it than from the columns that stay {bits}"


def _entropy(codes: IndexArray) -> float:
    """In nats."""
    counts = np.unique(codes, return_counts=True)[1]
    return log(len(codes)) - float(x_log_x(counts).sum()) / len(codes)

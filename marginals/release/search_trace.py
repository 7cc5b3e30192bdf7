"""The accepted moves of a search as a table to read."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from marginals.errors import InputError
from models.search.constraint import RefusedMove
from models.search.objective import KL, Objective
from models.search.result import SearchResult, Step

if TYPE_CHECKING:
    import pandas as pd


def search_trace(search: SearchResult, rows: int, objective: Objective = KL, every: int = 1) -> "pd.DataFrame":
    """One line a step. rows: how many the table has. objective: what the search was by. every: only each so-many-th step.

    Columns: `move`; KL divergence `before` and `after` it in nats; `gain` by the objective in nats, wanted analyses not
    counted; `criterion`, the objective after the step in nats (NaN where it is a stopping rule only); the likelihood-ratio
    test: `deviance`, by how much the step lowers it, 2 N times the divergence saved, `degrees_of_freedom`, how many free
    parameters more, and `p_value`; `residual_deviance` after the step, as R's `anova` calls both; `refused`, why better
    moves were passed over, and `refused_by_reason`, how many for each reason. NaN where a step is of many moves and its
    parameters are not noted. The best step and the last one always stand there; the index counts all steps from 0.
    Raises InputError where `every` is below 1.
    """
    import pandas as pd
    from scipy.special import chdtrc

    if every < 1:
        raise InputError(f"a trace shows every step or each so-many-th: every is 1 or more, not {every}")
    steps = search.steps
    frame = pd.DataFrame({"move": pd.Series([step.move for step in steps], dtype=object)})
    frame["before"] = pd.Series([step.before for step in steps], dtype=float)
    frame["after"] = pd.Series([step.after for step in steps], dtype=float)
    frame["gain"] = pd.Series([_gain(step, objective) for step in steps], dtype=float)
    if objective == KL:
        frame["criterion"] = frame["after"]
    else:  # from the end, whose value is known
        later = frame["gain"][::-1].cumsum(skipna=False)[::-1].shift(-1, fill_value=0.0)
        frame["criterion"] = (float("nan") if search.value is None else search.value) + later
    frame["deviance"] = 2 * rows * (frame["before"] - frame["after"])
    frame["degrees_of_freedom"] = pd.Series([step.parameters for step in steps], dtype=float)
    frame["p_value"] = chdtrc(frame["degrees_of_freedom"].abs(), frame["deviance"].abs())
    frame["residual_deviance"] = 2 * rows * frame["after"]
    frame["refused"] = pd.Series([tuple(map(str, step.refused)) for step in steps], dtype=object)
    reasons = (Counter(refused.reason for refused in step.refused) for step in steps)
    frame["refused_by_reason"] = pd.Series([dict(each.most_common()) for each in reasons], dtype=object)
    last = frame.index == len(frame) - 1
    best = frame["criterion"] == frame["criterion"].min()
    kept: pd.DataFrame = frame.loc[(frame.index % every == 0) | last | best]
    return kept


def _gain(step: Step, objective: Objective) -> float:
    saved = step.before - step.after
    if objective == KL:
        return saved
    return float("nan") if step.parameters is None else objective.gain(saved, step.parameters)


def by_reason(refused: Iterable[RefusedMove]) -> dict[str, tuple[str, ...]]:
    """The moves that are refused for each reason, the commonest reason first.

    >>> by_reason([RefusedMove("show a", "too many cells"), RefusedMove("show b", "too many cells")])
    {'too many cells': ('show a', 'show b')}
    """
    moves: dict[str, tuple[str, ...]] = {}
    for move, reason in refused:
        moves[reason] = (*moves.get(reason, ()), move)
    return dict(sorted(moves.items(), key=lambda item: -len(item[1])))

"""Wrong values for each argument of each member of a release: the answer, or an error of the project, and nothing else."""

import inspect
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import InputError, MarginalsError, Release
from marginals.example import release, table
from marginals.publishing.wanted import Wanted
from public_names import public_names

RIGHT: Final[dict[str, dict[str, Any]]] = {
    "count": {"where": "sex=Female"},
    "share": {"part": "diagnosis=Flu"},
    "mean": {"attribute": "age"},
    "total": {"attribute": "age"},
    "quantile": {"attribute": "age", "q": 0.5},
    "effect": {"outcome": "diagnosis=Gout", "group": "sex=Male"},
    "table": {"rows": "sex", "columns": "diagnosis"},
    "fit": {"formula": "age ~ diagnosis"},
    "estimate": {"function": len, "tables": 20},
    "rows": {"n": 3},
    "plot": {"attribute": "diagnosis"},
    "to": {"form": "pandas"},
    "verify": {},
    "attack": {"seconds": 1.0},
    "write": {"path": "release"},
    "report": {"path": "report.html"},
}
"""Arguments that are right, by member: each is made wrong in turn."""

WRONG: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 3, 2.5, 10**6, 10**40, -0.0, float("nan"), float("inf"), -float("inf"), 1j, Decimal("2"),
    Fraction(1, 3), "", " ", "x", "hat", "age", "age=", "age>", "=", "sex=Female", "sex=Female and", "age ~ hat", "~", "\0",
    "\ud800", "x" * 10_000, "release\0", b"age", bytearray(b"age"), [], [[]], [None], ["age"], ["hat"], ["age", "age"],
    [1, 2], (), (1,), {}, {"age": 99}, {"age": -1}, {"age": 1.5}, {"age": None}, {"hat": "1"}, {1: 2}, {"sex": "Female"},
    set(), {"age"}, frozenset(["age"]), range(3), iter([1]), object(), object, len,
    lambda: None, lambda _: {}, lambda _: 1 / 0,
    np.int64(-1), np.float64("nan"), np.array([]), np.array([[1, 2]]), np.array(["age"]), pd.Series([1.0]), pd.DataFrame(),
    pd.NA, pd.NaT, date(2020, 1, 1), timedelta(days=1), Path("not/there/x"), OrderedDict(age=1), slice(1), NotImplemented,
)  # fmt: skip


def arguments() -> list[tuple[str, str]]:
    """Each argument of each member."""
    members = inspect.getmembers(Release, inspect.isfunction)
    return [
        (name, argument)
        for name, member in members
        if not name.startswith("_")
        for argument in list(inspect.signature(member).parameters)[1:]
    ]


def test_sixty_values_are_tried_of_every_member() -> None:
    assert len(WRONG) >= 60
    assert {name for name, _ in arguments()} - {"supports"} == RIGHT.keys()


@pytest.mark.parametrize(("name", "argument"), [each for each in arguments() if each[0] != "supports"])
def test_a_wrong_value_is_an_error_of_the_project(
    name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for extra, member in (("statsmodels", "fit"), ("matplotlib", "plot")):
        if name == member:
            pytest.importorskip(extra, reason=f"{member} needs it")
    given = {"tables": 20} if "tables" in inspect.signature(getattr(Release, name)).parameters else {}
    for wrong in WRONG:
        ask: Callable[..., Any] = getattr(release, name)
        with warnings.catch_warnings(action="ignore"):
            try:
                ask(**RIGHT[name] | given | {argument: wrong})
            except MarginalsError:
                continue


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_supports_takes_no_wrong_value(wrong: Any) -> None:
    for asked in ((wrong,), ("age", wrong)):
        try:
            release.supports(*asked)
        except MarginalsError:
            continue


@pytest.mark.parametrize("name", RIGHT)
def test_a_call_that_does_not_fit_shows_a_right_one(name: str) -> None:
    for args, keywords in (((1, 2, 3, 4), {}), ((), {"unheard_of": 1})):
        with pytest.raises(InputError, match=rf"write release\.{name}\("):
            getattr(release, name)(*args, **keywords)


def test_removed_members_and_names_are_refused_with_their_replacement() -> None:
    for name in ("counts", "crosstab", "odds_ratio", "sample", "margins", "write_report"):
        with pytest.raises(AttributeError, match=f"no '{name}' any more: "):
            getattr(release, name)
    for name in ("sweep", "Audit", "TimeOverError", "interchange"):
        if name != "interchange":
            with pytest.raises(AttributeError, match=f"no attribute '{name}' any more: "):
                getattr(marginals, name)
    assert len(public_names(marginals)) <= 30


def test_removed_arguments_are_refused_with_their_replacement() -> None:
    removed: list[tuple[Callable[..., Any], str]] = [
        (lambda **old: marginals.Attribute("quasi-identifier", **old), "population"),
        (lambda **old: marginals.Population(table, **old), "bayes_optimal"),
        (lambda **old: Wanted(("age",), **old), "measure"),
    ]
    for make, name in removed:
        with pytest.raises(InputError, match=f"the argument {name} was taken out: "):
            make(**{name: {}})
    assert pickle.loads(pickle.dumps(marginals.Attribute("sensitive"))) == marginals.Attribute("sensitive")

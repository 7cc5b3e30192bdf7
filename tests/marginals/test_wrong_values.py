"""No argument of an exported function or of a member of a release has a foreign exception, whatever it is given.

What functions of the caller raise comes as it is.
"""

import inspect
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import Distinct, KLink
from marginals import InputError, Policy, Release
from marginals.example import attributes, frame, publication, release, table
from marginals.publishing.wanted import Wanted
from public_names import public_names
from small_release import write_config

POLICY = Policy(k_link=4, diversity="distinct:2", base="none", max_attributes=2)


WRONG: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 2.5, float("nan"), float("inf"), -float("inf"), 10**30, -(10**30), 1e308, 1j),
    *("", " ", "x", "\x00", "\ud800", "1", "a\nb", "x" * 10_000, b"", b"x", type("Text", (str,), {})("x")),
    *([], [1], [None], ["x"], [["x"]], [[]], (), ((),), set(), {1}, frozenset({"x"}), range(3), slice(1)),
    *({}, {"x": 1}, {1: 2}, {"age": None}, {"age": "x"}, {"age": -1}, {None: None}, memoryview(b"x")),
    *(np.array([]), np.array([1, 2]), np.float64("nan"), np.int64(-1), np.bool_(True), Decimal("nan"), Fraction(1, 3)),
    *(pd.DataFrame(), pd.DataFrame({"x": [1]}), pd.Series([1]), Path("nowhere"), datetime(2020, 1, 1)),
    *(object(), sys, ValueError("x"), POLICY, release, table, frame, attributes, type, len),
]

MEMBERS: dict[str, dict[str, Any]] = {
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
"""Arguments that are right, by member of a release."""

QUESTIONS: list[Any] = [
    *(
        "hat",
        "age",
        "age=",
        "age>",
        "=",
        "sex=Female",
        "sex=Female and",
        "age ~ hat",
        "~",
        "release\0",
        bytearray(b"age"),
    ),
    *(["age"], ["age", "age"], {"age": 99}, {"age": 1.5}, {"hat": "1"}, {"sex": "Female"}, {"age"}, iter([1])),
    *(
        lambda: None,
        lambda _: {},
        lambda _: 1 / 0,
        np.array([[1, 2]]),
        pd.NA,
        pd.NaT,
        timedelta(days=1),
        NotImplemented,
    ),
]
"""Wrong values that look like right ones to a member of a release."""


def calls(folder: Path) -> dict[str, dict[str, Any]]:
    """Arguments of a right call of each function; under "*" one of those before all others."""
    config = write_config(folder)
    publication.write(folder / "release")
    (folder / "tree.csv").write_text("22;20;*\n27;20;*\n")
    (folder / "printed.csv").write_text("age,sex,count\nyoung,f,1\nyoung,m,20\nold,f,2\nold,m,30\n")
    (folder / "recoded.csv").write_text(marginals.recoding.hilbert(table, k=3).frame().to_csv(index=False))
    disclosed = marginals.risk.disclose(marginals.read_rows(frame, attributes), [])
    return {
        "anonymize": {"table": table, "policy": POLICY},
        "assess": {"table": table, "policy": POLICY},
        "attack": {"*": folder / "release", "seconds": 2},
        "audit": {"*": folder / "printed.csv", "seconds": 2, "jobs": 1},
        "check_criterion": {"kind": Distinct, "*": "2"},
        "compare": {"release": release, "table": table},
        "disclose": {"rows": disclosed.rows, "rules": []},
        "disclosure_risk": {"config": marginals.read_config(config)},
        "fit_model": {"data": frame, "model": [["age", "sex"]]},
        "frontier": {"table": table, "policy": POLICY, "k": [4], "diversity": ["distinct:2"], "strategies": ["forward"],
                     "jobs": 1},
        "generalize": {"table": disclosed, "attribute": "age", "condition": None, "level": 1},
        "hide": {"table": disclosed, "attribute": "age"},
        "hilbert": {"table": table, "requirement": "distinct:2"},
        "open_release": {"path": folder / "release"},
        "plain": {"value": 1},
        "prediction_accuracy": {"anonymized": release, "table": table, "target": "diagnosis"},
        "publish": {"table": table, "policy": POLICY, "seconds": 2},
        "query_error": {"anonymized": release, "table": table, "queries": 5},
        "read_config": {"path": config},
        "read_hierarchy": {"path": folder / "tree.csv"},
        "read_rows": {"source": frame, "attributes": attributes, "counts": None},
        "read_table": {"source": frame, "attributes": attributes, "counts": None, "memory": 1 << 20,
                       "where": None, "decimal": "."},
        "register_diversity": {"criterion": Distinct},
        "select": {"data": frame, "strategy": "forward", "max_attributes": 3, "time_limit": 1},
        "sweep": {"table": table, "requirement": "functional:0.5,2"},
        "unregister_diversity": {"name": "nobodys"},
        "verify": {"*": folder / "release"},
        "verify_recoded": {"path": folder / "recoded.csv", "attributes": attributes, "claims": [KLink(2)]},
        "Attribute": {"role": "quasi-identifier"},
        "Imprint": {},
        "Part": {"text": "age < 30"},
        "Policy": {"k_link": 4},
        "Population": {"people": table},
    }  # fmt: skip


ELSEWHERE = {
    marginals.criteria: "check_criterion register_diversity unregister_diversity",
    marginals.recoding: "assess hilbert prediction_accuracy query_error sweep verify_recoded",
    marginals.risk: "disclose disclosure_risk generalize hide",
    marginals.selection: "fit_model",
}
"""Functions at further doors."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(door, name)
    for door, names in {marginals: " ".join(public_names(marginals)), **ELSEWHERE}.items()
    for name in names.split()
    if inspect.isfunction(getattr(door, name)) or name in ("Attribute", "Imprint", "Part", "Policy", "Population")
}
ASKS_BACK = "criterion_strategy_progress"
"""Arguments that may be functions of the caller."""


@contextmanager
def in_seconds(seconds: int) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it does not end"))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    return calls(tmp_path_factory.mktemp("right"))


def assert_no_foreign_exception(call: Callable[[Any], object], argument: str, values: list[Any]) -> None:
    for value in values:
        try:
            call(value)
        except marginals.MarginalsError:
            pass
        except Exception as error:
            pytest.fail(f"{argument} = {str(value)[:50]!r}: {type(error).__name__}: {error}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_wrong_value_of_an_argument_has_a_foreign_exception(
    name: str, right: Mapping[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    function = FUNCTIONS[name]

    def call(arguments: Mapping[str, Any]) -> None:
        named = {key: value for key, value in arguments.items() if key not in ("*", "kind")}
        with in_seconds(20):
            function(*(arguments[key] for key in ("kind", "*") if key in arguments), **named)

    if not name.endswith("register_diversity"):
        call(right[name])
    parameters = inspect.signature(function).parameters.values()
    more = (parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD)
    more = () if "*" in right[name] else more
    for argument in dict.fromkeys([*right[name], *more]):
        values = [value for value in WRONG if not (callable(value) and argument in ASKS_BACK)]
        assert_no_foreign_exception(
            lambda value, argument=argument: call({**right[name], argument: value}), argument, values
        )  # type: ignore[misc]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*MEMBERS, "supports"])
def test_no_wrong_value_has_a_foreign_exception_of_a_member_of_a_release(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for extra, member in (("statsmodels", "fit"), ("matplotlib", "plot")):
        if name == member:
            pytest.importorskip(extra, reason=f"{member} needs it")
    ask = getattr(release, name)
    values = [*WRONG, *QUESTIONS]
    if name == "supports":
        assert_no_foreign_exception(ask, "first", values)
        assert_no_foreign_exception(lambda value: ask("age", value), "second", values)
        return
    given = MEMBERS[name] | ({"tables": 20} if "tables" in inspect.signature(ask).parameters else {})
    for argument in inspect.signature(ask).parameters:
        assert_no_foreign_exception(lambda value, argument=argument: ask(**given | {argument: value}), argument, values)  # type: ignore[misc]
    for args, keywords in (((1, 2, 3, 4), {}), ((), {"unheard_of": 1})):
        with pytest.raises(InputError, match=rf"write release\.{name}\("):
            ask(*args, **keywords)


def test_every_member_is_tried_with_sixty_values() -> None:
    functions = inspect.getmembers(Release, inspect.isfunction)
    taking = {name for name, member in functions if name[0] != "_" and len(inspect.signature(member).parameters) > 1}
    assert taking - {"supports"} == MEMBERS.keys()
    assert len(WRONG) >= 60


def test_removed_members_names_and_arguments_are_refused_with_their_replacement() -> None:
    of_a_ledger = type("_LedgerRelease", (Release,), {})(release.published)
    for name in ("counts", "crosstab", "odds_ratio", "sample", "margins", "write_report"):
        for some in (release, of_a_ledger):
            with pytest.raises(AttributeError, match=f"no '{name}' any more: "):
                getattr(some, name)
    for name in ("sweep", "Audit", "TimeOverError"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}' any more: "):
            getattr(marginals, name)
    assert len(public_names(marginals)) <= 30
    removed: list[tuple[Callable[..., Any], str]] = [
        (lambda **old: marginals.Attribute("quasi-identifier", **old), "population"),
        (lambda **old: marginals.Population(table, **old), "bayes_optimal"),
        (lambda **old: Wanted(("age",), **old), "measure"),
        (lambda **old: release.mean("age", **old), "values"),
    ]
    for make, name in removed:
        with pytest.raises(InputError, match=f"the argument {name} was taken out: "):
            make(**{name: {}})
    assert pickle.loads(pickle.dumps(marginals.Attribute("sensitive"))) == marginals.Attribute("sensitive")

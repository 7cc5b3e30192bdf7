"""Disclosure rules: two notations of one language, conditions on the original rows, and rows in no telling order."""

import json
import operator
import re
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals.risk import DisclosureRule, disclose, hide
from models import Collection, Hierarchy
from written_bundles import release_of

Row = dict[str, float | str | None]
Said = tuple[str, Callable[[Row], bool]]
"""A condition as text, and what it says of a row."""

SAMPLES: list[Row] = [
    {"a": a, "b c": b, "t": t} for a in (None, -1, 2, 2.5) for b in (None, 2, 10) for t in (None, "", "it's `x`", "é")
]
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


def compared(left: str, sign: str, right: object) -> Said:
    """Compare a column with a constant, or with the column of a name between backticks."""
    other = right[1:-1] if isinstance(right, str) and right.startswith("`") else None

    def said(row: Row) -> bool:
        first, second = row[left], row[other] if other else right
        if sign == "!=":
            return first is None or second is None or first != second
        return first is not None and second is not None and bool(SIGNS[sign](first, second))

    return f"`{left}` {sign} {right if other else repr(right)}", said


def among(column: str, values: list[object]) -> Said:
    return f"`{column}` in {values!r}", lambda row: row[column] is not None and row[column] in values


def negated(said: Said) -> Said:
    return f"not ({said[0]})", lambda row: not said[1](row)


def joined(first: Said, word: str, second: Said) -> Said:
    either = {"and": all, "&": all, "or": any, "|": any}[word]
    return f"({first[0]}) {word} ({second[0]})", lambda row: either((first[1](row), second[1](row)))


NUMBERS = st.sampled_from([-1, 0, 2, 2.5, 10])
TEXTS = st.sampled_from(["it's `x`", "e", "é", "", "2"])
ANY_SIGN = st.sampled_from([*SIGNS, "!="])
ATOMS = st.one_of(
    st.builds(compared, st.sampled_from(["a", "b c"]), ANY_SIGN, NUMBERS | st.sampled_from(["`a`", "`b c`"])),
    st.builds(compared, st.just("t"), ANY_SIGN, TEXTS),
    st.builds(among, st.sampled_from(["a", "b c"]), st.lists(NUMBERS, max_size=3)),
    st.builds(among, st.just("t"), st.lists(TEXTS, max_size=3)),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda parts: st.builds(negated, parts) | st.builds(joined, parts, st.sampled_from(["and", "or", "&", "|"]), parts),
    max_leaves=6,
)


FRAME = pd.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "age": ["23", "41", "38", "85"],
        "marital status": ["single", "widowed", "single", "widowed"],
        "illness": ["flu", "cold", "flu", "cyst"],
    }
)
ILLNESSES = Hierarchy.from_rows([("flu", "lung", "*"), ("cold", "lung", "*"), ("cyst", "skin", "*")])
ATTRIBUTES = {
    "id": "identifier",
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 20]),
    "marital status": "quasi-identifier",
    "illness": marginals.Attribute("sensitive", ILLNESSES),
}
ROWS = marginals.read_rows(FRAME, ATTRIBUTES)
START = disclose(ROWS, [])


def shown(table: object, attribute: str) -> list[str]:
    return [str(label) for label in table.records.labels()[attribute]]  # type: ignore[attr-defined]


def hidden(frame: pd.DataFrame, condition: object, missing: tuple[str, ...] = ()) -> list[bool]:
    """The rows whose number a rule with this condition hides. missing: texts that stand for no value."""
    numbered = frame.assign(number=[f"n{number}" for number in range(len(frame))])
    rows = marginals.read_rows(numbered, {"number": "quasi-identifier"}, missing=list(missing))
    return [label == "*" for label in shown(hide(disclose(rows, []), "number", condition), "number")]  # type: ignore[arg-type]


def test_rules_hide_and_generalize_the_rows_of_their_condition() -> None:
    rules = [
        DisclosureRule("age", 1, "age < 40 and `marital status` == 'single'"),
        DisclosureRule("age", condition="age > 80"),
        DisclosureRule("illness", 1),
    ]
    table = disclose(ROWS, rules)
    assert shown(table, "age") == ["20-24", "41", "35-39", "*"]
    assert shown(table, "illness") == ["lung", "lung", "lung", "skin"]
    assert shown(table, "marital status") == FRAME["marital status"].tolist()


def test_the_paper_selects_the_rows_without_privacy_requirements() -> None:
    """LSFB09 Fig. 5: hide(A2, F' and F'') with F' = (A1 != 1) and F'' = (A1 != 3) hides A2 of tuples 1 and 3."""
    twice = hide(hide(START, "illness", "not id != 1"), "illness", "not id != 3")
    once = hide(START, "illness", "not (id != 1 and id != 3)")
    assert shown(twice, "illness") == shown(once, "illness") == ["*", "cold", "*", "cyst"]


def test_a_condition_sees_what_an_earlier_rule_has_hidden() -> None:
    rules = [
        DisclosureRule("age", None, "age > 40"),
        DisclosureRule("illness", 1, "age > 40"),
        DisclosureRule("age", 2, "illness == 'flu'"),
    ]
    for order in permutations(rules):
        table = disclose(ROWS, order)
        assert shown(table, "illness") == ["flu", "lung", "flu", "skin"]
        assert shown(table, "age") == ["20-39", "*", "20-39", "*"]


@given(st.lists(st.booleans(), min_size=4, max_size=4))
def test_expressions_and_truth_values_say_the_same(chosen: list[bool]) -> None:
    numbers = [i for i, taken in zip(FRAME["id"].tolist(), chosen) if taken]
    for condition in (f"id in {numbers}", chosen, np.array(chosen), pd.Series(chosen)):
        assert [label == "*" for label in shown(hide(START, "age", condition), "age")] == chosen


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("ward not in [1, 2]", [False, False, True, True, True]),
        ("ward != 1", [False, True, True, True, True]),
        ("not ward > 1", [True, False, True, False, True]),
        ("ward in [1, 3]", [True, False, False, True, False]),
        ("ward in 1..<3", [True, True, False, False, False]),
        ("ward <= 1 or ward >= 3", [True, False, False, True, False]),
        ("not ward in []", [True] * 5),
        ("ward == ward", [True, True, False, True, False]),
        ("name < 'b'", [True, False, False, True, False]),
        ("not name == 'a'", [False, True, True, False, True]),
        ("name=b", [False, True, False, False, False]),
        ("name=?", None),
        ("ward == '?'", None),
    ],
)
def test_what_is_missing_equals_nothing(condition: str, held: list[bool] | None) -> None:
    frame = pd.DataFrame({"ward": ["1", "2", "", "3", "?"], "name": ["a", "b", "?", "a", None]})
    if held is None:
        with pytest.raises(marginals.InputError, match=r"'(name|ward)'"):
            hidden(frame, condition, ("?", ""))
    else:
        assert hidden(frame, condition, ("?", "")) == held


def test_a_number_that_stands_for_no_value_is_no_number() -> None:
    frame = pd.DataFrame({"income": [-9, 4, -1]})
    assert hidden(frame, "income < 0", ("-9",)) == [False, False, True]
    with pytest.raises(marginals.InputError, match=r"data\.missing"):
        hidden(frame, "income == -9", ("-9",))


SAID = pd.DataFrame(SAMPLES).astype({"t": object})


@given(CONDITIONS)
def test_a_formula_holds_for_the_rows_of_brute_force(said: Said) -> None:
    assert hidden(SAID, said[0]) == [said[1](row) for row in SAMPLES]


def test_kinds_need_every_value_to_be_a_number() -> None:
    assert hidden(pd.DataFrame({"x": ["1", " 2.5e3 ", "", "-.5"]}), "x > 1", ("",)) == [False, True, False, False]
    assert hidden(pd.DataFrame({"x": ["", ""]}), "x > 1", ("",)) == [False, False]
    for text in ("1_000", "0x1", "inf", "nan", "1e999", "٣", "one"):
        frame = pd.DataFrame({"x": ["1", text]})
        assert hidden(frame, "x == '1'") == [True, False]
        with pytest.raises(marginals.InputError):
            hidden(frame, "x > 1")


DIAGNOSES = {"Asthma": "lungs", "Flu": "lungs", "Gout and pain": "joints", "A|B": "other", "it's": "other"}
ASKED = {
    "age": marginals.Attribute("quasi-identifier", Hierarchy.from_intervals(["20", "59"], [10, 20]), labels="public"),
    "marital status": marginals.Attribute("quasi-identifier"),
    "diagnosis": marginals.Attribute(
        "sensitive", Hierarchy.from_rows([(d, g, "*") for d, g in DIAGNOSES.items()]), labels="public"
    ),
}
_RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "age": list(map(str, range(20, 60))) * 5,
        "marital status": _RNG.choice(["Married", "Never married", "or not"], 200),
        "diagnosis": _RNG.choice(list(DIAGNOSES), 200),
        "band": _RNG.choice(["0-9", "10-19", "20+"], 200),
        "note": _RNG.choice(["yes", "no", "", "?"], 200),
    }
)
UNRULED = disclose(marginals.read_rows(PEOPLE, ASKED), [])


def by_rule(condition: object) -> list[bool]:
    return [label == "*" for label in shown(hide(UNRULED, "age", condition), "age")]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> marginals.Release:
    """A release that says of all three attributes how many rows have which values."""
    table = marginals.read_table(PEOPLE, ASKED)
    collection = Collection.of(table.cube, [table.domain.mask(dict.fromkeys(ASKED, 0))])
    return release_of(collection, table.roles)


AGES = st.integers(20, 59)
PAIRS = st.tuples(AGES, AGES).map(sorted)
SAME = st.one_of(
    PAIRS.map(lambda e: (f"age in {e[0]}-{e[1]}", f"age >= {e[0]} and age <= {e[1]}")),
    PAIRS.map(lambda e: (f"age={e[0]}..{e[1]}", f"{e[0]} <= age <= {e[1]}")),
    AGES.map(lambda age: (f"age={age}", f"age == {age}")),
    AGES.map(lambda age: (f"age>={age}", f"not age < {age}")),
    st.lists(AGES, min_size=1, max_size=3).map(lambda a: (f"age={'|'.join(map(str, a))}", f"age in {a}")),
    AGES.map(lambda age: (f"age not in {age}", f"age != {age}")),
    AGES.map(lambda age: (f"age>={age}|20", f"age >= {age} or age == 20")),
    st.lists(st.sampled_from(["Asthma", "Flu", "Gout and pain", "it's"]), min_size=1, max_size=3).map(
        lambda d: (f"diagnosis={'|'.join(d)}", f"diagnosis in [{', '.join(map(json.dumps, d))}]")
    ),
    st.just(("diagnosis=lungs", "diagnosis in ['Asthma', 'Flu']")),
    st.just(("diagnosis=A|B", "diagnosis == 'A|B'")),
    st.just(("age=20-39", "age < 40")),
    st.sampled_from(["Married", "Never married"]).map(
        lambda label: (f"marital status={label}", f"`marital status` == '{label}'")
    ),
    st.just(("marital status='or not'", "marital status == 'or not'")),
)


@given(first=SAME, second=SAME, joined=st.booleans())
def test_two_spellings_of_a_condition_select_the_same_rows(
    whole: marginals.Release, first: tuple[str, str], second: tuple[str, str], joined: bool
) -> None:
    query, rule = first
    if joined:
        query, rule = f"{query} and {second[0]}", f"({rule}) and ({second[1]})"
    chosen = by_rule(query)
    assert chosen == by_rule(rule)
    try:
        for spelled in (query, rule):
            count = whole.count(spelled)
            assert (count.lower, count.upper) == (sum(chosen), sum(chosen))
    except marginals.InputError as error:  # a query for no value is refused, a rule for nobody is not
        assert re.search("meets all conditions|lies in the range", str(error))  # noqa: PT017
        assert "meets all" not in str(error) or not any(chosen)  # noqa: PT017


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("diagnosis=Lungs", "'diagnosis'"), ("band in 5-12", "'band'"), ("age=3", "'age'"),
        ("height in 3-4", "'height'"), ("note=?|", "'note'"),
    ],
)  # fmt: skip
def test_what_a_rule_cannot_mean_is_refused_without_a_value_of_a_row(condition: str, message: str) -> None:
    with pytest.raises(marginals.InputError, match=message) as raised:
        by_rule(condition)
    assert "Asthma" not in str(raised.value)
    assert "10-19" not in str(raised.value)


NAMED = pd.DataFrame(
    [("f", "1", "Never or not", "1|2", "1"), ("x (y)", "2", "x", "2", "0"), ("z", "1", "y", "#", "1")],
    columns=["sex", "a and b", "marital status", "born in", "ª"],
)


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("sex=x (y) or not (sex=z)", [True, True, False]),
        ("a and b=1 and sex=f", [True, False, False]),
        ("`born in` in 1|2", [True, False, False]),
        ("ª == 1", [True, False, True]),  # Python takes some characters for others in names
    ],
)
def test_labels_and_names_end_where_a_condition_begins(condition: str, held: list[bool]) -> None:
    assert hidden(NAMED, condition) == held


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text("ab=<>!|&~()[]'\"`#@.-+ andornoti135,\\\n", max_size=30))
def test_no_text_makes_anything_but_a_refusal(whole: marginals.Release, text: str) -> None:
    named = pd.DataFrame({"a": ["1", "2"], "a and b": ["x", "y"], "born in": ["it's", "5"]})
    for read in (by_rule, whole.count, lambda text: hidden(named, text)):
        try:
            read(text)
        except marginals.InputError as error:
            assert re.search(r"\w", str(error))  # noqa: PT017
            assert len(str(error)) < 500  # noqa: PT017


def test_without_a_seed_nobody_draws_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from a generator whose state a few rows tell: from the operating system's secrets, 8 bytes a row."""
    asked = []
    monkeypatch.setattr("os.urandom", lambda count: asked.append(count) or bytes(range(count)))
    START.frame()
    assert asked == [8 * len(FRAME)]


CONFIG = """
data.path = "people.csv"
attributes = { number.role = "quasi-identifier", diagnosis.role = "sensitive" }
privacy.k_link = 2
risk.rules = [{ attribute = "diagnosis", condition = "number < 10" }]
"""
MANY = 400
"""Rows whose numbers rise, so that a list of names in that order says whose each is."""


def written(folder: Path, command: str) -> list[str]:
    """The lines that a command writes; it draws the order of the rows anew each time."""
    frame = pd.DataFrame({"number": range(1000, 1000 + MANY), "diagnosis": ["flu", "gout"] * (MANY // 2)})
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "release.toml").write_text(CONFIG)
    out = folder / "out.csv"
    result = run(command, folder / "release.toml", "--out", out, "--force")
    assert result.exit_code == 0, result.output
    return out.read_text().splitlines()


@pytest.mark.parametrize("command", ["disclose", "risk"])
def test_rows_are_shuffled(command: str, tmp_path: Path) -> None:
    kept = ["number,diagnosis", *(f"{1000 + row},{('flu', 'gout')[row % 2]}" for row in range(MANY))]
    orders = [written(tmp_path, command) for _ in range(2)]
    assert all(lines[0] == kept[0] and sorted(lines[1:]) == kept[1:] for lines in orders)
    assert len({tuple(lines) for lines in (kept, *orders)}) == 3
    # Of numbers in random order, about half rise from one row to the next; 400 rows, twelve standard deviations.
    for lines in orders:
        rises = sum(a < b for a, b in zip(lines[1:], lines[2:]))
        assert abs(rises - MANY / 2) < 12 * (MANY / 12) ** 0.5


def test_options_that_are_no_more_are_refused_with_what_does_their_work(tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text(CONFIG)
    for command, option in (("disclose", "--seed"), ("risk", "--keep-order"), ("disclose", "--keep-order")):
        refused = run(command, tmp_path / "release.toml", "--out", tmp_path / "out.csv", option, status=2)
        assert ".frame(" in refused.stderr
    assert not (tmp_path / "out.csv").exists()

"""One grammar: the notation of queries and that of rules are read everywhere, and two spellings mean the same rows."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marginals
from marginals import DisclosureRule, disclose
from marginals.conditions import Choice, Column, Conjunction, Disjunction, Negation, parsed, parts
from marginals.disclosure import DisclosedTable, selected
from marginals.published_values import values_meant
from models import Hierarchy

DIAGNOSES = {"Asthma": "lungs", "Flu": "lungs", "Gout and pain": "joints", "A|B": "other", "it's": "other"}
ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[10, 20]),
    "marital status": marginals.Attribute("quasi-identifier"),
    "diagnosis": marginals.Attribute("sensitive", Hierarchy.from_rows([(d, g, "*") for d, g in DIAGNOSES.items()])),
}
_RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "age": list(map(str, range(20, 60))) * 5,
        "marital status": _RNG.choice(["Married", "Never married", "or not"], 200),
        "diagnosis": _RNG.choice(list(DIAGNOSES), 200),
        "band": _RNG.choice(["0-9", "10-19", "20+"], 200),
        "note": _RNG.choice(["yes", "no", "", "?"], 200),
    }
)
ROWS = marginals.read_rows(FRAME, ATTRIBUTES)
TABLE = DisclosedTable.of(ROWS)
LEVELS = dict.fromkeys(ATTRIBUTES, 0)


def by_rule(condition: object) -> list[bool]:
    return list(selected(TABLE, condition))  # type: ignore[arg-type]


def by_query(condition: object) -> list[bool]:
    """The rows whose values a query means."""
    meant = values_meant(ROWS.domain, LEVELS, condition)  # type: ignore[arg-type]
    inside = np.ones(len(ROWS), dtype=bool)
    for name, base in meant.items():
        inside &= base[ROWS.codes[name]]
    return list(inside)


def quoted(text: str) -> str:
    return '"' + text + '"'


AGES = st.integers(20, 59)
SAME = st.one_of(
    st.tuples(AGES, AGES).map(sorted).map(lambda e: (f"age in {e[0]}-{e[1]}", f"age >= {e[0]} and age <= {e[1]}")),
    st.tuples(AGES, AGES).map(sorted).map(lambda e: (f"age={e[0]}..{e[1]}", f"{e[0]} <= age <= {e[1]}")),
    AGES.map(lambda age: (f"age={age}", f"age == {age}")),
    AGES.map(lambda age: (f"age>={age}", f"not age < {age}")),
    st.lists(AGES, min_size=1, max_size=3).map(lambda a: (f"age={'|'.join(map(str, a))}", f"age in {a}")),
    AGES.map(lambda age: (f"age not in {age}", f"age != {age}")),
    AGES.map(lambda age: (f"age>={age}|20", f"age >= {age} or age == 20")),
    st.lists(st.sampled_from(["Asthma", "Flu", "Gout and pain", "it's"]), min_size=1, max_size=3).map(
        lambda d: (f"diagnosis={'|'.join(d)}", f"diagnosis in [{', '.join(map(quoted, d))}]")
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
    first: tuple[str, str], second: tuple[str, str], joined: bool
) -> None:
    query, rule = first
    if joined:
        query, rule = f"{query} and {second[0]}", f"({rule}) and ({second[1]})"
    chosen = by_rule(query)
    assert chosen == by_rule(rule)
    try:
        assert by_query(query) == chosen
        assert by_query(rule) == chosen
    except marginals.InputError as error:  # a query for no value is refused, a rule for nobody is not
        assert re.search("meets all conditions|lies in the range", str(error))  # noqa: PT017
        assert "meets all" not in str(error) or not any(chosen)  # noqa: PT017


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("band in 0-19", "band in ['0-9', '10-19']"),
        ("band=20+", "band == '20+'"),
        ("note=yes|no", "note in ['yes', 'no']"),
        ("note='absent'", "note == 'absent'"),
        ("age in 81-120", "age > 80"),
        ("(age=20-29) | (note=yes)", "age < 30 or note == 'yes'"),
        ("not (diagnosis=lungs or age=30)", "not (diagnosis in ['Asthma', 'Flu'] or age == 30)"),
        ({"age": ["20-29", 31], "note": "yes"}, "(age < 30 or age == 31) and note == 'yes'"),
        (["age in 20-29", "note=yes"], "age < 30 and note == 'yes'"),
        ("diagnosis=Gout and pain and age > 30", "diagnosis == 'Gout and pain' and age > 30"),
    ],
)
def test_a_rule_takes_the_notation_of_queries_by_every_engine(condition: object, rule: str, tmp_path: Path) -> None:
    assert by_rule(condition) == by_rule(rule)
    pytest.importorskip("duckdb")
    from marginals.disclosure import disclose_file

    source = marginals.TableSource(origin=tmp_path / "table.csv", attributes=ATTRIBUTES)
    FRAME.to_csv(source.origin, index=False)
    rules = [DisclosureRule("age", None, condition)]  # type: ignore[arg-type]
    disclose_file(source, tmp_path / "out.csv", ROWS.domain, rules)
    written = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    expected = disclose(ROWS, [DisclosureRule("age", None, rule)]).frame()
    assert sorted(map(tuple, written.to_numpy())) == sorted(map(tuple, expected.to_numpy()))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("diagnosis=Lungs", "asks column 'diagnosis' for a value that it does not have"),
        ("band in 5-12", "asks column 'band' for a value"),
        ("age=young", "that is neither a number nor a range of numbers"),
        ("age in 39-20", "that is neither a number nor a range of numbers"),
        ("age=3", "asks column 'age' for a value that it does not have"),
        ("height in 3-4", "names 'height', a name that no column of the table has"),
        ("age in 0-99999999999999999999", r"2\*\*53 or more"),
        ("note=?|", "asks column 'note' for a value"),
        ("(age=20) == 3", "may compare columns, numbers and texts"),
        ("(age=20", "cannot be read"),
    ],
)
def test_what_a_rule_cannot_mean_is_refused_without_a_value_of_a_row(condition: str, message: str) -> None:
    with pytest.raises(marginals.InputError, match=message) as raised:
        by_rule(condition)
    assert "Asthma" not in str(raised.value)
    assert "10-19" not in str(raised.value)


def test_a_choice_of_what_is_missing_is_refused() -> None:
    table = DisclosedTable.of(marginals.read_rows(FRAME, ATTRIBUTES, missing=["?"]))
    with pytest.raises(marginals.InputError, match="'note'"):
        selected(table, "note=?")
    assert list(selected(table, "note=yes")) == list(selected(table, "note == 'yes'"))


def test_labels_end_where_a_condition_begins() -> None:
    columns = ["sex", "marital status", "a and b"]
    assert parsed("sex=f and marital status=Never or not", columns) == Conjunction(
        (Choice(Column("sex"), ("f",)), Choice(Column("marital status"), ("Never or not",)))
    )
    assert parsed("sex=x (y) or not (sex=z)", columns) == Disjunction(
        (Choice(Column("sex"), ("x (y)",)), Negation(Choice(Column("sex"), ("z",))))
    )
    assert parsed("a and b=1 and sex=f", columns) == Conjunction(
        (Choice(Column("a and b"), ("1",)), Choice(Column("sex"), ("f",)))
    )
    assert parsed("`a and b` in 1|2", columns) == Choice(Column("a and b"), ("1|2",))


def test_a_bar_within_quotes_divides_nothing() -> None:
    assert parts("'a|b'|c") == ["'a|b'", "c"]
    assert parts("L'Aquila|O'Hara") == ["L'Aquila", "O'Hara"]
    assert parts("'s-Gravenhage|'t Harde") == ["'s-Gravenhage", "'t Harde"]
    assert parts("a||b") == ["a", "", "b"]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text("ab=<>!|&~()[]'\"`#@.-+ andornoti135,\\\n", max_size=30))
def test_no_text_makes_anything_but_a_refusal(text: str) -> None:
    for names in ((), ("a", "a and b", "born in")):
        try:
            parsed(text, names)
        except marginals.InputError as error:
            assert len(str(error)) < 500  # noqa: PT017
    for read in (by_rule, by_query):
        try:
            assert len(read(text)) == len(FRAME)
        except marginals.InputError as error:
            assert re.search(r"\w", str(error))  # noqa: PT017


@pytest.mark.parametrize(
    "condition",
    [
        "age == '\\ud800'",
        "age == '\ud800'",
        "age=\udcff",
        "age == '\\x00'",
        "age in ['\\udfff']",
        "age >= \ud800",
        "\ud800 > 1",
    ],
)
def test_what_is_no_text_is_refused_by_every_reader(condition: str) -> None:
    """Half a surrogate pair, spelled or as it is, can be handed to no engine."""
    with pytest.raises(marginals.InputError, match="half of a surrogate pair"):
        parsed(condition, ["age"])


def test_a_condition_has_an_end() -> None:
    with pytest.raises(marginals.InputError, match="more than the 20000 that are read"):
        parsed(" and ".join(["age > 1"] * 5000), ["age"])

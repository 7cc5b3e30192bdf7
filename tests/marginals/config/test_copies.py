"""What gives a sensitive column away is found by counting, whatever it is called, and is not published beside it."""

from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from marginals import Role
from marginals.config.column_guess import Guess
from marginals.config.copies import Values, copies, determines, sums
from marginals.config.first_config import initial_config
from marginals.config.roles import Chosen


def determined(pairs: list[tuple[int, int]]) -> bool:
    """By the definition: of each value one row is learnt from, of the other rows the share guessed right is counted."""
    known = [(a, b) for a, b in pairs if a >= 0 and b >= 0]
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for a, b in known:
        groups[a][b] += 1
    most = Counter(b for _, b in known).most_common(1)
    if len(known) < 50 or len(known) < 0.3 * len(pairs) or len(groups) < 2 or len(groups) == len(known):
        return False
    right = sum(group.most_common(1)[0][1] - 1 for group in groups.values()) / (len(known) - len(groups))
    without = most[0][1] / len(known)
    return without < 1 and right - without >= 0.9 * (1 - without)


@given(
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(20, 200),
    st.sampled_from([0.0, 0.02, 0.3]),
    st.integers(0, 10**6),
)
@settings(max_examples=200)
def test_what_determines_what_is_as_the_definition_says(
    size: int, other: int, rows: int, noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(-1, size, rows)
    second = np.where(rng.random(rows) < noise, rng.integers(0, other, rows), first % other)
    expected = determined(list(zip(first.tolist(), second.tolist())))
    assert determines(first.astype(np.intp), second.astype(np.intp)) == expected


def guessed(frame: pd.DataFrame, folder: Path, chosen: Chosen = Chosen()) -> dict[str, Guess]:  # noqa: B008 - it is frozen
    frame.to_csv(folder / "t.csv", index=False)
    return dict(initial_config(folder / "t.csv", folder / "release.toml", chosen=chosen).guesses)


def people(rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    income = rng.lognormal(10, 0.6, rows).round()
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "income": income.astype(int),
            "q1": np.log(income).round(6),
            "q2": np.where(income > 30_000, "high", "low"),
            "q3": rng.integers(0, 50, rows),
        }
    )


def test_a_logarithm_and_what_follows_from_an_income_have_tables_of_their_own_and_other_columns_do_not(
    tmp_path: Path,
) -> None:
    found = guessed(people(), tmp_path)
    assert {name: own.role for name, own in found.items()} == {
        "sex": Role.QUASI_IDENTIFIER,
        "age": Role.QUASI_IDENTIFIER,
        "income": Role.SENSITIVE,
        "q1": Role.SENSITIVE,
        "q2": Role.SENSITIVE,
        "q3": Role.QUASI_IDENTIFIER,
    }
    assert [name for name, own in found.items() if own.is_alone] == ["q1", "q2"]
    assert "in nearly all rows it says the same as income" in found["q1"].why
    assert "in nearly all rows income tells it" in found["q2"].why


def test_a_code_beside_its_name_has_a_table_of_its_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    diagnosis = rng.integers(0, 6, 600)
    frame = pd.DataFrame(
        {"town": rng.choice(["a", "b", "c"], 600), "code": [f"x{d}" for d in diagnosis], "diagnosis": diagnosis}
    )
    found = guessed(frame, tmp_path)
    assert (found["diagnosis"].is_alone, found["code"].is_alone) == (False, True)
    asked = guessed(frame, tmp_path, Chosen(wanted=("code",), quasi_identifiers=("code",)))
    assert asked["code"].role is Role.QUASI_IDENTIFIER, "what somebody says is not guessed otherwise"
    assert asked["diagnosis"].role is Role.IGNORED, "what others may know tells it"


def test_what_everybody_knows_stays_and_what_it_tells_does_not(tmp_path: Path) -> None:
    frame = people().assign(pension=lambda own: np.where(own["age"] >= 65, "yes", "no"))
    found = guessed(frame, tmp_path)
    assert (found["age"].role, found["pension"].role) == (Role.QUASI_IDENTIFIER, Role.IGNORED)


def test_the_parts_of_a_sum_are_as_sensitive_as_the_sum(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    parts = {name: rng.integers(0, 2000, 600) for name in ("base", "extra", "bonus")}
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), **parts, "z": rng.integers(0, 2000, 600)})
    frame["salary"] = frame["base"] + frame["extra"] - frame["bonus"]
    found = guessed(frame, tmp_path)
    roles = {name: own.role for name, own in found.items()}
    assert roles == dict.fromkeys((*parts, "salary"), Role.SENSITIVE) | dict.fromkeys(
        ("sex", "z"), Role.QUASI_IDENTIFIER
    )
    assert "it adds up with" in found["bonus"].why


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([0.0, 0.1]))
@settings(max_examples=40, deadline=None)
def test_every_sum_is_found_whatever_is_missing_and_nothing_but_sums(seed: int, size: int, gone: float) -> None:
    """Each column that is found is what its parts add up to, with signs, in nearly all rows; the planted one is found."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(0, rng.uniform(1, 1000, (size + 3, 1)), (size + 3, 400))
    signs = rng.choice([-1.0, 1.0], size)
    total = signs @ drawn[:size]
    total[rng.random(400) < gone] = np.nan
    numbers = {f"c{place}": own for place, own in enumerate(drawn)} | {"total": total}
    columns = {name: Values(np.arange(400), own) for name, own in numbers.items()}
    found = {one.total: one.parts for one in sums(columns)}
    assert found["total"] == tuple(f"c{place}" for place in range(size))
    assert set(found) <= {"total", *found["total"]}
    for name, parts in found.items():
        present = ~np.isnan(numbers[name])
        matrix = np.nan_to_num(np.array([numbers[part] for part in parts]))[:, present]
        ways = product([-1.0, 1.0], repeat=len(parts))
        assert any(np.mean(np.abs(np.array(way) @ matrix - numbers[name][present]) < 1e-6) >= 0.9 for way in ways)


def test_independent_columns_give_nothing_away() -> None:
    rng = np.random.default_rng(3)
    numbers = {name: rng.integers(0, size, 2000) for name, size in (("a", 2), ("b", 40), ("c", 1900), ("d", 5))}
    columns = {name: Values(own.astype(np.intp), own.astype(float)) for name, own in numbers.items()}
    assert copies(columns, list(columns)) == []
    assert sums(columns) == []


def test_copies_are_asked_about_and_what_follows_from_a_known_column_is_not(tmp_path: Path) -> None:
    frame = people().assign(agesq=lambda own: own["age"] ** 2)
    found = guessed(frame, tmp_path)
    assert found["q1"].question == "in nearly all rows it says the same as income, which nobody should learn"
    config = initial_config(tmp_path / "t.csv", tmp_path / "release.toml")
    asked = {question.columns: str(question) for question in config.questions}
    assert asked[("q1",)].startswith(
        "q1: is that something that nobody should learn about a person? In nearly all rows it says"
    )
    assert (found["agesq"].role, found["agesq"].question) == (Role.QUASI_IDENTIFIER, "")
    assert "in nearly all rows age tells it" in found["agesq"].why
    assert found["q3"].question, "nothing known tells it"

"""A value is the same however a cell writes it, and what says nothing is nobody's value."""

import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals import Attribute, Policy, publish, read_table


def people(rows: int = 360) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows).astype(str),
            "town": rng.choice(["Zürich", "Bern", "New York"], rows),
            "weight": [f"{n / 2:.1f}" for n in rng.integers(100, 180, rows)],
            "answer": rng.choice(["yes", "no", "maybe", "n/a"], rows, p=[0.4, 0.3, 0.25, 0.05]),
        }
    )


ATTRIBUTES = {
    "age": Attribute("quasi-identifier", intervals=[10, 20]),
    "town": Attribute("quasi-identifier"),
    "weight": Attribute("quasi-identifier", intervals=[5.0, 20.0]),
    "answer": Attribute("sensitive"),
}
POLICY = Policy(k_link=5, diversity="distinct:2", base="none")


def every(function: Callable[[str], str], *columns: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Change some cells of columns: every third row, so that both spellings stand there."""

    def changed(frame: pd.DataFrame) -> pd.DataFrame:
        rows = np.arange(len(frame)) % 3 == 0
        return frame.assign(**{c: frame[c].where(~rows, frame[c].map(function)) for c in columns or frame.columns})

    return changed


def whole(function: Callable[[str], str], column: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda frame: frame.assign(**{column: frame[column].map(function)})


NOTHING = ("", " ", "Unknown", "REFUSED", "not tested", "N/A", "#N/A", "-", "?", "don\u2019t know", "keine Angabe", "k.A.",
           "missing", "none given", "99 - refused", "Don't know/Refused", "ns/nc", "sans réponse", "нет данных",
           "不明")  # fmt: skip
DISGUISES: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    **{
        f"outer {ord(blank[0]):04x}": every(lambda text, blank=blank: f"{blank}{text}{blank}")
        for blank in (" ", "\t", "\u00a0", "\u2009", "\u3000", "\ufeff", "\u200b", "\u00ad", "\u2028")
    },
    "decomposed": every(lambda text: unicodedata.normalize("NFD", text), "town"),
    "no-break blank inside": every(lambda text: text.replace(" ", "\u00a0"), "town"),
    "zero-width inside": every(lambda text: f"{text[:1]}\u200b{text[1:]}"),
    "blank lines": lambda frame: pd.concat([frame, pd.DataFrame("", frame.index[:40], frame.columns)]).sort_index(),
    "1.0 for 1": every(lambda text: f"{text}.0", "age"),
    "a sign": every(lambda text: f"+{text}", "age"),
    "zeros at the end": every(lambda text: f"{text}00", "weight"),
    "exponents": every(lambda text: f"{float(text):e}", "weight"),
    **{
        f"nothing as {text!r}": whole(lambda cell, text=text: text if cell == "n/a" else cell, "answer")
        for text in NOTHING
    },
    **{
        f"sensitive as {name}": every(function, "answer")
        for name, function in {
            "upper case": str.upper,
            "title": str.title,
            "full width": lambda text: text.translate({code: code + 0xFEE0 for code in range(33, 127)}),
            "Cyrillic": lambda text: text.translate(str.maketrans("aeoy", "\u0430\u0435\u043e\u0443")),
            "dot": lambda text: f"{text}." if text.isalpha() else text,
            "quotes": lambda text: f"'{text}'",
        }.items()
    },
}


LAST = ("sensitive", "exponents", "inside", "blank", "outer")
"""Words of disguises that come after others, in this order: nobody writes an exponent and zeros behind it."""


def counts_of(source: object, **settings: str) -> dict[tuple[str, ...], int]:
    table = read_table(source, ATTRIBUTES, **settings)
    return dict(table.counts.cells())


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_of_values_changes_no_count(name: str, tmp_path: Path) -> None:
    """From files, and from frames of pandas and polars."""
    plain, disguised = counts_of(people()), DISGUISES[name](people())
    assert counts_of(disguised) == counts_of(polars.from_pandas(disguised.reset_index(drop=True))) == plain
    disguised.to_csv(tmp_path / "people.csv", index=False)
    assert counts_of(tmp_path / "people.csv") == plain


@given(names=st.lists(st.sampled_from(list(DISGUISES)), min_size=2, max_size=4, unique=True))
def test_several_disguises_give_one_table(names: list[str]) -> None:
    disguised = people()
    for name in sorted(names, key=lambda name: next((place for place, word in enumerate(LAST) if word in name), -1)):
        disguised = DISGUISES[name](disguised)
    assert counts_of(disguised) == counts_of(people())


def test_a_condition_and_a_hierarchy_name_a_value_in_either_composition(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Zürich")
    (tmp_path / "town.csv").write_text(f"{decomposed} ;CH;*\nBern;CH;*\nNew\u00a0York;US;*\n", encoding="utf-8")
    given_hierarchy = marginals.read_hierarchy(tmp_path / "town.csv")
    table = read_table(people(), ATTRIBUTES | {"town": Attribute("quasi-identifier", given_hierarchy)})
    release = publish(table, POLICY).release
    assert str(release.count(f"town={decomposed}")) == str(release.count("town=Zürich"))
    attribute = Attribute("sensitive", order=[" no", "maybe\u200b", "yes"], values={"yes ": "agrees"}, marks=["n/a\t"])
    assert (attribute.order, dict(attribute.values), attribute.marks) == (
        ("no", "maybe", "yes"),
        {"yes": "agrees"},
        ("n/a",),
    )


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        (["Yes", "yes", "YES", "Yes ", "Yes."], 1),
        (["Straße", "STRASSE", "strasse"], 1),
        (["HIV", "\u0397\u0399V", "Hiv"], 1),
        (["North-West", "North West", "north  west", "North_West"], 1),
        (["Unknown", "Refused", "", "flu"], 1),
        (["1", "1.0", "1,0", "Yes"], 2),
        (["A+", "A-", "B+"], 3),
        (["+", "-"], 2),
        (["10", "1E1"], 2),
        (["12", "1D2", "2E1"], 3),
        (["none", "flu"], 2),
    ],
)
def test_a_sensitive_column_counts_values_and_not_their_spellings(values: list[str], distinct: int) -> None:
    table = read_table(pd.DataFrame({"s": values * 2}), {"s": "sensitive"})
    assert table.domain.hierarchy("s").size(0) == distinct
    apart = {"s": Attribute("sensitive", one_spelling=False, marks=[])}
    assert read_table(pd.DataFrame({"s": ["Yes", "YES", "n/a", "yes"]}), apart).domain.hierarchy("s").size(0) == 4


@pytest.mark.parametrize("verb", ["assess", "publish"])
def test_no_diversity_comes_from_spellings(verb: str, tmp_path: Path) -> None:
    rows = [("North", word) for word in ("Yes", "yes", "YES") * 20]
    rows += [("South", word) for word in ("Yes", "No", "some") * 20]
    pd.DataFrame(rows, columns=["region", "smoker"]).to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text(
        '[data]\npath = "people.csv"\n[attributes.region]\nrole = "quasi-identifier"\n[attributes.smoker]\n'
        'role = "sensitive"\n[privacy]\nk_link = 5\ndiversity = "distinct:3"\n'
    )
    result = run(verb, config, *(["--out", tmp_path / "out"] if verb == "publish" else []))
    assert verb == "assess" or "smoker: 2 texts read as another spelling" in result.output
    headers = [file.read_text().partition("\n")[0] for file in tmp_path.glob("out/**/*.csv")]
    assert not any("region" in header and "smoker" in header for header in headers)
    assert "holds  l-diversity" not in result.output

"""One column in many spellings: the same release and the same answers from every source, or one error that names it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

import marginals
from command_line import run
from marginals import Attribute, InputError, Part, Policy, publish, read_rows, read_table
from marginals.risk import DisclosureRule, disclose

PLAIN = Attribute("quasi-identifier")
DECIMALS = Attribute("quasi-identifier", intervals=[0.1])
WHOLE = [Decimal(n) for n in (-1200, 0, 7, 95, 1000, 1500, 12345, 100000, 1234567)]
FRACTIONS = [Decimal(n) for n in ("-1.5", "0", "0.25", "12", "999.75", "1000.5", "123456.5")]
COPIES, CUT = 6, 1000


def grouped(number: Decimal, mark: str, decimal: str = ".", places: int | None = None) -> str:
    text = f"{number:,f}" if places is None else f"{number:,.{places}f}"
    return text.replace(",", "\0").replace(".", decimal).replace("\0", mark)


def indian(number: Decimal) -> str:
    sign, digits = ("-" if number < 0 else ""), f"{abs(number):f}"
    head, tail = digits[:-3], digits[-3:]
    pairs = []
    while head:
        head, pair = head[:-2], head[-2:]
        pairs.append(pair)
    return sign + ",".join([*reversed(pairs), tail])


def as_r(number: Decimal) -> str:
    """R writes the shorter of both, the plain one where they are as long."""
    plain, exponent = f"{number:f}", f"{number.normalize():e}"
    mantissa, _, power = exponent.partition("e")
    short = f"{mantissa}e{int(power):+03d}"
    return short if len(short) < len(plain) else plain


def scientific(number: Decimal) -> str:
    return f"{float(number):.9e}"


@dataclass(frozen=True)
class Spelling:
    """How numbers are spelled. decimal: as data.decimal says it."""

    spelled: Callable[[Decimal], str]
    numbers: Sequence[Decimal] = tuple(FRACTIONS)
    decimal: str = "."


SPELLINGS = {
    "Python, whole": Spelling(str, WHOLE),
    "Python": Spelling(lambda n: f"{n:f}"),
    "R, whole": Spelling(as_r, WHOLE),
    "R": Spelling(as_r),
    "pandas, a gap among whole numbers": Spelling(lambda n: str(float(n)), WHOLE),
    "pandas": Spelling(lambda n: repr(float(n))),
    "two decimals": Spelling(lambda n: f"{n:.2f}"),
    "ten decimals": Spelling(lambda n: f"{n:.10f}"),
    "Excel, thousands": Spelling(lambda n: grouped(n, ","), WHOLE),
    "Excel, thousands and decimals": Spelling(lambda n: grouped(n, ",", places=2)),
    "Excel, scientific": Spelling(lambda n: f"{float(n):.6E}"),
    "SAS COMMA": Spelling(lambda n: f"{grouped(n, ',', places=2):>16}"),
    "SAS COMMAX": Spelling(lambda n: grouped(n, ".", ",", places=2), decimal=","),
    "SAS BEST": Spelling(lambda n: as_r(n).replace("e+0", "E").replace("e+", "E"), WHOLE),
    "German": Spelling(lambda n: f"{n:f}".replace(".", ","), decimal=","),
    "German, thousands": Spelling(lambda n: grouped(n, ".", ",", places=1 if n % 1 == 0 else None), decimal=","),
    "German, many thousands": Spelling(lambda n: grouped(n, "."), WHOLE, ","),
    "German percent": Spelling(lambda n: f"{n:f} %".replace(".", ","), decimal=","),
    "Swiss": Spelling(lambda n: grouped(n, "'")),
    "Swiss, curly": Spelling(lambda n: grouped(n, "\u2019")),
    "Swiss, whole": Spelling(lambda n: grouped(n, "'"), WHOLE),
    "Indian": Spelling(indian, WHOLE),
    "French, spaces": Spelling(lambda n: grouped(n, " ", ","), decimal=","),
    "French, no break": Spelling(lambda n: grouped(n, "\u00a0", ","), decimal=","),
    "French, narrow": Spelling(lambda n: grouped(n, "\u202f", ","), decimal=","),
    "English, thin spaces": Spelling(lambda n: grouped(n, "\u2009")),
    "minus of typographers": Spelling(lambda n: f"{n:f}".replace("-", "\u2212")),
    "plus": Spelling(lambda n: f"{n:+f}"),
    "exponents": Spelling(scientific),
    "exponents without sign": Spelling(lambda n: scientific(n).replace("e+0", "e")),
    "no digit behind the point": Spelling(lambda n: f"{n:f}."[: None if n % 1 == 0 else -1]),
    "no digit before the point": Spelling(lambda n: f"{n:f}".replace("0.25", ".25")),
    "zeros behind": Spelling(lambda n: f"{n:f}" + (".0" if n % 1 == 0 else "00")),
    "negative zero": Spelling(lambda n: "-0" if n == 0 else f"{n:f}"),
    "blank before": Spelling(lambda n: f"  {n:f}"),
    "blank behind": Spelling(lambda n: f"{n:f} "),
    "blank that does not break": Spelling(lambda n: f"\u00a0{n:f}\u00a0"),
    "tab": Spelling(lambda n: f"\t{n:f}"),
    "percent": Spelling(lambda n: f"{n:f}%"),
    "percent apart": Spelling(lambda n: f"{n:f} %"),
    "percent and thousands": Spelling(lambda n: grouped(n, ",", places=1 if n % 1 == 0 else None) + "%"),
    "floats that are nearly so": Spelling(lambda n: repr(float(n) + (5.6e-17 if n == Decimal("0.25") else 0))),
}
assert len(SPELLINGS) >= 40
REFUSED = {
    "accountants": ["(1,234)", "5", "6"],
    "minus behind": ["5-", "12", "7"],
    "currency": ["$1,234", "$5", "$6"],
    "two signs before fractions": ["1.5", "1,25", "3"],
    "two signs between thousands": ["1,234", "1 234", "1"],
    "groups of four": ["1,2345", "3", "4"],
    "zero before": ["007", "12", "0125"],
    "zero behind": ["250.1", "250.10", "3"],
    "hexadecimal": ["0x1F", "31", "32"],
    "underscores": ["1_000", "1000", "5"],
    "Arabic digits": ["\u0661\u0662", "1200", "a1"],
    "percent and not": ["12%", "13", "14"],
    "units": ["5 kg", "6", "7"],
    "a fraction": ["1/2", "1", "2"],
}


def people(spelling: Spelling) -> tuple[pd.DataFrame, pd.DataFrame]:
    numbers = [n for place, n in enumerate(spelling.numbers) for _ in range(COPIES + place)]
    ill = ["flu" if place % 3 else "gout" for place in range(len(numbers))]
    plain = pd.DataFrame({"x": [int(n) if n % 1 == 0 else float(n) for n in numbers], "ill": ill})
    return pd.DataFrame({"x": [spelling.spelled(n) for n in numbers], "ill": ill}), plain


def sources(frame: pd.DataFrame, folder: Path) -> dict[str, tuple[Any, dict[str, str]]]:
    """The same texts from every source, with what else says how to read it."""
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame.to_csv(folder / "t.csv", index=False, sep=";")
    frame.to_parquet(folder / "t.parquet")
    frame.to_excel(folder / "t.xlsx", index=False)
    return {
        "pandas": (frame, {}),
        "CSV": (folder / "t.csv", {"separator": ";"}),
        "Parquet": (folder / "t.parquet", {}),
        "Excel": (folder / "t.xlsx", {}),
        "Polars": (pl.from_pandas(frame), {}),
        "DuckDB": (duckdb.from_df(frame), {}),
    }


ATTRIBUTES = {
    "as they are": Attribute("quasi-identifier"),
    "fitted": Attribute("quasi-identifier", ladder="fitted"),
    "in bands": Attribute("quasi-identifier", intervals=[500.0, 5000.0]),
}


def bundle(table: marginals.Table, folder: Path) -> dict[str, bytes]:
    publish(table, Policy(k_link=3, diversity="none", seed=1)).write(folder)
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_spelling_says_the_same_from_every_source(name: str, tmp_path: Path) -> None:
    spelling = SPELLINGS[name]
    frame, plain = people(spelling)
    attributes = ATTRIBUTES | {"ill": Attribute("sensitive")}
    wanted = read_table(in_all_columns(plain), attributes, k=3)
    same_texts = sources(in_all_columns(frame), tmp_path)
    for source, (origin, form) in same_texts.items():
        if "\t" in frame["x"][0] and source == "Excel":
            continue
        table = read_table(origin, attributes, k=3, decimal=spelling.decimal, **form)
        for kind in attributes:
            assert table.domain.hierarchy(kind) == wanted.domain.hierarchy(kind), (kind, source)
        assert dict(table.base_counts.cells()) == dict(wanted.base_counts.cells()), source
    published = {name: attributes[name] for name in ("in bands", "ill")}
    origin, form = same_texts["DuckDB"]
    table = read_table(origin, published, k=3, decimal=spelling.decimal, **form)
    wanted = read_table(in_all_columns(plain), published, k=3)
    assert bundle(table, tmp_path / "spelled") == bundle(wanted, tmp_path / "numbers")


def in_all_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The column x once for each kind of attribute, so that each source is read once for all of them."""
    return pd.DataFrame(dict.fromkeys(ATTRIBUTES, frame["x"]) | {"ill": frame["ill"]})


@given(st.data())
def test_a_column_of_any_numbers_is_read_as_they_are(data: st.DataObject) -> None:
    spelling = SPELLINGS[data.draw(st.sampled_from(sorted(SPELLINGS)))]
    whole = all(n % 1 == 0 for n in spelling.numbers)
    places = st.just(0) if whole else st.integers(0, 1)
    drawn = data.draw(st.lists(places.flatmap(lambda p: st.decimals(-(10**5), 10**5, places=p)), min_size=1))
    numbers = [DECIMALS.base_value(str(n)) or "" for n in drawn]
    texts = [spelling.spelled(Decimal(n)) for n in numbers]
    own = PLAIN.numbers(texts, spelling.decimal)
    if own is None:  # points between thousands are read where the column shows that they are none before fractions
        assert spelling.decimal == ","
        assert not any("," in text or text.count(".") > 1 for text in texts)
    else:
        read = {text: PLAIN.base_value(text, own) or "" for text in texts}
        assert list(map(read.__getitem__, texts)) == numbers
        in_order = PLAIN.hierarchy_of(list(dict.fromkeys(texts))).labels[0]
        assert list(in_order) == sorted(set(texts), key=lambda text: (Decimal(read[text]), text))


def disclosed_by_command(folder: Path, rules: Sequence[DisclosureRule], decimal: str = ".") -> Result:
    asked = "".join(
        f'[[risk.rules]]\nattribute = "{each.attribute}"\ncondition = "{each.condition}"\n' for each in rules
    )
    (folder / "release.toml").write_text(
        f'[data]\npath = "t.csv"\nseparator = ";"\ndecimal = "{decimal}"\n'
        f'[attributes.x]\nrole = "quasi-identifier"\n[attributes.ill]\nrole = "sensitive"\n{asked}'
    )
    command = ["disclose", str(folder / "release.toml"), "--out", str(folder / "out.csv")]
    return run(*command)


@pytest.mark.parametrize("name", SPELLINGS)
def test_answers_are_those_of_pandas_on_the_numbers(name: str, tmp_path: Path) -> None:
    spelling = SPELLINGS[name]
    frame, plain = people(spelling)
    wanted = int((plain["x"] >= CUT).sum())
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    attributes = {"x": Attribute("quasi-identifier"), "ill": Attribute("sensitive")}
    form: dict[str, Any] = {"decimal": spelling.decimal, "separator": ";"}
    table = read_table(tmp_path / "t.csv", attributes, k=3, **form)
    release = publish(table, Policy(k_link=3, diversity="none")).release
    found = release.count(f"x>={CUT}")
    assert (found.lower, found.upper, found.exact) == (wanted, wanted, True)
    assert read_table(tmp_path / "t.csv", attributes, where=Part(f"x >= {CUT}"), k=3, **form).rows == wanted

    rules = [DisclosureRule("ill", None, f"x >= {CUT}"), DisclosureRule("x", None, "x < 0")]
    hidden = (int((plain["x"] >= CUT).sum()), int((plain["x"] < 0).sum()))
    rows = read_rows(tmp_path / "t.csv", attributes, **form)
    shown = disclose(rows, rules).frame()
    assert ((shown["ill"] == "*").sum(), (shown["x"] == "*").sum()) == hidden
    assert disclosed_by_command(tmp_path, rules, spelling.decimal).exit_code == 0
    shown = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert ((shown["ill"] == "*").sum(), (shown["x"] == "*").sum()) == hidden


@pytest.mark.parametrize(
    "name", [n for n, own in SPELLINGS.items() if "ercent" not in n and "scientific" not in n and "exponents" not in n]
)
def test_an_audit_reads_the_counts_of_a_spelling(name: str, tmp_path: Path) -> None:
    spelling = SPELLINGS[name]
    counts = [n for n in spelling.numbers if n >= 0 and n % 1 == 0]
    lines = [f"{chr(97 + place)};{spelling.spelled(n)}" for place, n in enumerate(counts)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["area;n", *lines, "z;", f"total;{sum(counts) + 3}\n"]), encoding="utf-8")
    (part,) = marginals.audit(path).as_json()["audited"]
    (fact,) = part["facts"]
    assert (fact["values"], fact["proven"]) == ({"area": "z"}, [3, 3])
    read = [f"area {chr(97 + place)} ({int(n):,})" for place, n in enumerate(counts)]
    assert fact["because"] == [f"3: everybody ({sum(counts) + 3:,}) minus {' minus '.join(read)}"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_number_is_named_and_never_left_out(name: str, tmp_path: Path) -> None:
    texts = [text for text in REFUSED[name] for _ in range(8)]
    frame = pd.DataFrame({"x": texts, "ill": ["flu", "gout"] * 12})
    numbers = {"x": Attribute("quasi-identifier", intervals=[10.0]), "ill": Attribute("sensitive")}
    texts_only = {"x": Attribute("quasi-identifier"), "ill": Attribute("sensitive")}
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    if name in ("zero before", "zero behind"):  # intervals say that these are numbers
        assert read_table(frame, numbers).rows == 24
    if name not in ("zero before", "zero behind"):
        with pytest.raises(InputError, match=r"column 'x' of t.csv: (the value in row \d+|a value) is not "):
            read_table(tmp_path / "t.csv", numbers, separator=";")
    table = read_table(tmp_path / "t.csv", texts_only, separator=";")
    assert set(table.domain.hierarchy("x").labels[0]) == set(texts)
    assert table.rows == 24
    release = publish(table, Policy(k_link=3, diversity="none")).release
    try:
        found = release.count("x>=6")
    except InputError as error:
        assert "ranges are of numbers" in str(error) or "its labels are names" in str(error)  # noqa: PT017
    else:  # those that are numbers are counted, the others may be
        sure = sum(float(DECIMALS.base_value(text) or "nan") >= 6 for text in texts)
        open_rows = sum(each.rows for each in found.unjudged)
        assert (found.lower, found.upper) == (sure, sure + open_rows)
        assert name in ("zero before", "zero behind") or open_rows > 0
    rules = [DisclosureRule("ill", None, "x >= 6")]
    with pytest.raises(InputError, match="not every value is a number"):
        disclose(read_rows(frame, texts_only), rules).frame()
    refused = disclosed_by_command(tmp_path, rules)
    assert refused.exit_code == 2
    assert "not every value is a number" in refused.output
    assert not (tmp_path / "out.csv").exists()


def test_words_among_numbers_have_bounds_with_and_without_and_no_part() -> None:
    """What is no number is neither below a limit nor above it, and never silently left out."""
    frame = pd.DataFrame({"x": ["5"] * 9 + ["1e+05"] * 8 + ["refused"] * 7 + ["NaN"] * 6, "ill": ["flu", "gout"] * 15})
    attributes = {"x": Attribute("quasi-identifier"), "ill": Attribute("sensitive")}
    table = read_table(frame, attributes)
    assert table.domain.hierarchy("x").labels[0] == ("5", "100000", "NaN", "refused")
    release = publish(table, Policy(k_link=3, diversity="none")).release
    for condition, rows in (("x>=1000", 8), ("not x < 1000", 8), ("x<=10", 9), ("x>=0", 17), ("x>=1e6", 0)):
        found = release.count(condition)
        assert (found.lower, found.upper, found.exact) == (rows, rows + 13, False)
        assert [(each.attribute, each.values, each.rows) for each in found.unjudged] == [("x", ("NaN", "refused"), 13)]
        assert found.kind == "none"
        with pytest.raises(InputError, match="no estimate"):
            float(found)
    assert release.count("x>=1000|refused|NaN").exact
    assert release.count("x=refused").lower == 7
    with pytest.raises(InputError, match="List those that stand for no value under"):
        read_table(frame, attributes, where=Part("x >= 1000"))
    assert read_table(frame, attributes, missing=["refused", "NaN"], where=Part("x >= 1000")).rows == 8


DAYS = ["1999-12-31", "2000-01-01", "2000-06-30", "2001-02-03"]


@pytest.mark.parametrize("zone", ["Europe/Vienna", "America/New_York", "+01:00", "-05:30", "UTC"])
def test_a_time_with_a_zone_is_the_local_one_from_every_source(zone: str, tmp_path: Path) -> None:
    """A zone shifts no date: 2000-01-01 00:00 in Vienna is of the year 2000, though it is 1999 in Greenwich."""
    pa = pytest.importorskip("pyarrow")
    when = pd.to_datetime([day for day in DAYS for _ in range(COPIES)])
    plain = pd.DataFrame({"x": when, "ill": ["flu", "gout"] * 12})
    zoned = plain.assign(x=when.tz_localize(zone))
    attributes = {"x": Attribute("quasi-identifier", dates=["year"]), "ill": Attribute("sensitive")}
    wanted = dict(read_table(plain, attributes).base_counts.cells())
    zoned.to_csv(tmp_path / "t.csv", index=False)
    zoned.to_parquet(tmp_path / "t.parquet")
    read: list[Any] = [zoned, pa.Table.from_pandas(zoned), tmp_path / "t.csv", tmp_path / "t.parquet"]
    if "/" in zone:
        pl = pytest.importorskip("polars")
        read += [pl.from_pandas(zoned), pl.from_pandas(zoned).lazy()]
    for origin in read:
        assert dict(read_table(origin, attributes).base_counts.cells()) == wanted, origin
    if "/" in zone:  # a relation of DuckDB has the zone of its session
        connection = pytest.importorskip("duckdb").connect()
        connection.execute(f"SET TimeZone = '{zone}'")
        relation = connection.sql(f"FROM read_parquet('{tmp_path / 't.parquet'}')")
        assert dict(read_table(relation, attributes).base_counts.cells()) == wanted

"""Tables are read as they are published, guessed or by a spec, or refused; what a release does not list has nobody."""

import tomllib
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import FactKind
from command_line import run
from marginals import InputError, audit
from marginals.auditing import Audit
from marginals.example import publication
from models import CountArray

LONG = "area,sex,count\nUlm,f,12\nUlm,m,*\nUlm,Total,30\nLinz,f,<5\nLinz,m,10-14\nLinz,Total,15\n"
CROSSED = "Persons by area and sex\n\narea;f;m;Total\nUlm;12;*;30\nLinz;<5;10-14;15\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def guessed(folder: Path, *tables: Path) -> dict[str, Any]:
    """The spec that the command guesses and writes to `audit.toml`."""
    command = ["audit", *map(str, tables), "--init", "--force", "--out", str(folder / "audit.toml")]
    run(*command, status=0)
    return tomllib.loads((folder / "audit.toml").read_text(encoding="utf-8"))


def guessed_table(folder: Path, text: str, name: str = "t.csv") -> dict[str, Any]:
    (table,) = guessed(folder, write(folder / name, text))["tables"].values()
    return dict(table)


def intervals(found: Audit) -> dict[tuple[str, ...], tuple[int, int | None]]:
    (part,) = found.parts
    places = np.flatnonzero(part.linked.is_published).tolist()
    bounds = {place: (int(part.linked.lower[place]), int(part.linked.upper[place])) for place in places}
    return {tuple(part.linked.named(place).values()): bounds[place] for place in places}


def proven(found: Audit) -> dict[tuple[str, ...], tuple[int, int]]:
    (part,) = found.parts
    return {tuple(part.linked.named(fact.cell).values()): fact.proven for fact in part.facts}


@pytest.mark.parametrize("base", [2, 3, 5, 10])
@pytest.mark.parametrize("how", ["down", "up", "random", "nearest"])
def test_what_is_rounded_lies_in_its_range(tmp_path: Path, base: int, how: str) -> None:
    shown = []
    for count in range(30):
        below, above = count // base * base, -(-count // base) * base
        near = [rounded for rounded in (below, above) if 2 * abs(rounded - count) <= base]
        ways = {"down": [below], "up": [above], "random": [below, above], "nearest": near}
        shown += [(count, rounded) for rounded in ways[how]]
    rows = "".join(f"a{number},{rounded}\n" for number, (_, rounded) in enumerate(shown))
    write(tmp_path / "t.csv", "area,count\n" + rows)
    spec = f'[tables."t.csv"]\nattributes = ["area"]\ncount = "count"\nrounding = {{ base = {base}, how = "{how}" }}\n'
    found = intervals(audit(spec=write(tmp_path / "audit.toml", spec)))
    for number, (count, rounded) in enumerate(shown):
        low, high = found[f"a{number}",]
        assert low <= count <= (count if high is None else high)
        assert rounded - base <= low


def test_percentages_hold_every_count_that_they_may_be(tmp_path: Path) -> None:
    rows = "".join(f"a{n},37,{100 * n / 37:.1f}%,{100 - 100 * n / 37:.1f}%\n" for n in range(38))
    write(tmp_path / "t.csv", "area,n,f,m\n" + rows)
    spec = '[tables."t.csv"]\nattributes = ["area"]\nacross = "sex"\npercent_of = "n"\n'
    found = intervals(audit(spec=write(tmp_path / "audit.toml", spec)))
    for count in range(38):
        for sex, true in (("f", count), ("m", 37 - count)):
            assert found[f"a{count}", sex] == (true, true)


def test_long_and_crossed_tables_and_spreadsheets_say_the_same(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Persons"], [], ["area", "f", "m", "Total"], ["Ulm", 12, "*", 30], ["Linz", "<5", "10-14", 15.0]):
        book.active.append(row)
    book.save(tmp_path / "sheet.xlsx")
    paths = [write(tmp_path / "long.csv", LONG), write(tmp_path / "crossed.csv", CROSSED), tmp_path / "sheet.xlsx"]
    found = [intervals(audit(path)) for path in paths]
    assert found[0] == found[1] == found[2]
    assert found[0]["Linz", "m"] == (10, 14)


def test_a_guessed_spec_reads_as_it_was_guessed(tmp_path: Path) -> None:
    paths = [write(tmp_path / "long.csv", LONG), write(tmp_path / "ages.csv", "age,count\n0-17,5\n18+,9\nunder 18,5\n")]
    assert guessed(tmp_path, *paths)["attributes"]["age"]["groups"] == {"under 18": ["0-17"]}
    assert audit(spec=tmp_path / "audit.toml").as_json() == audit(*paths).as_json()


def test_labels_that_add_up_are_found(tmp_path: Path) -> None:
    counts = ((2001, 3, 4), (2002, 8, 1), (2003, 5, 5))
    rows = "".join(f"{year},{a},{b},{a + b},7,{a + b + 7}\n" for year, a, b in counts)
    spec = guessed(tmp_path, write(tmp_path / "t.csv", "year,x,y,north,south,Total\n" + rows))
    assert spec["attributes"]["group"]["totals"] == ["Total"]
    turned = "".join(f"{year},{a + b},{a},{b},7,{a + b + 7}\n" for year, a, b in counts)
    spec = guessed(tmp_path, write(tmp_path / "t.csv", "year,north,x,y,south,Total\n" + turned))
    assert spec["attributes"]["group"]["groups"] == {"north": ["x", "y"]}


def test_a_total_that_is_larger_than_what_is_listed_counts_others_too(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "area,f,m,Total\nUlm,3,4,9\n")
    assert guessed(tmp_path, path)["attributes"]["sex"]["others"]
    assert audit(path).parts[0].bounds is not None


def test_percentages_of_the_one_column_of_whole_numbers_are_guessed(tmp_path: Path) -> None:
    """Of 30 and of 50 people, rounded to whole percentages: the counts are known, and so is the whole of each row."""
    table = guessed_table(tmp_path, "area,N,female (%),male (%)\nUlm,30,33,67\nLinz,50,24,76\nGraz,41,12,*\n")
    assert (table["attributes"], table["across"], table["percent_of"]) == (["area"], "sex", "N")
    (part,) = audit(spec=tmp_path / "audit.toml").parts
    assert part.bounds is not None
    names = {tuple(part.linked.named(cell).values()): cell for cell in range(len(part.linked))}
    found = {name: (part.bounds.lower[cell], part.bounds.upper[cell]) for name, cell in names.items()}
    assert found["Ulm", "female"] == (10, 10)
    assert found["Linz", "male"] == (38, 38)
    assert found["Graz", "male"] == (36, 36)  # suppressed, and 41 less 5
    with pytest.raises(InputError, match="percent_of"):
        audit(write(tmp_path / "p.csv", "area,f,m\nUlm,33.3%,66.7%\nLinz,20.0%,80.0%\n"))


def test_percentages_beside_counts_are_left_out(tmp_path: Path) -> None:
    table = guessed_table(tmp_path, "area,f,f %,m,m %\nUlm,11,33.3,22,66.7\nLinz,*,*,41,80.0\n")
    assert table == {"attributes": ["area"], "across": "sex", "ignore": ["f %", "m %"], "people": "everybody"}


@pytest.mark.parametrize("last", ["Graz,,", "a) Graz,,", "Graz,*,c", "Notes,*,*"])
def test_a_last_row_without_any_count_is_no_note(tmp_path: Path, last: str) -> None:
    (part,) = audit(write(tmp_path / "t.csv", f"area,f,m\nTotal,30,40\nUlm,12,14\n{last}\n")).parts
    areas = {part.linked.named(cell).get("area") for cell in range(len(part.linked))}
    assert last.split(",")[0] in areas


NAMES = ("area", "diag", "sex")


def test_decimals_that_tell_rows_apart_are_values(tmp_path: Path) -> None:
    table = guessed_table(tmp_path, "sex,dose,count\nf,0.5,7\nf,1.5,7\nm,0.5,9\nm,1.5,8\n")
    assert table["attributes"] == ["sex", "dose"]


def marginal(folder: Path, truth: CountArray, axes: tuple[int, ...], name: str = "") -> Path:
    """A marginal as a bundle has it: without cells of nobody."""
    counts = truth.sum(axis=tuple(axis for axis in range(truth.ndim) if axis not in axes))
    lines = [",".join([*(NAMES[axis] for axis in axes), "count"])]
    for key in product(*map(range, counts.shape)):
        if counts[key]:
            lines.append(",".join([*(f"{NAMES[axis]}{code}" for axis, code in zip(axes, key)), str(counts[key])]))
    own = name or "-".join(f"{NAMES[axis]}.0" for axis in axes)
    return write(folder / f"{own}.csv", "\n".join([*lines, ""]))


def shared_values(found: Audit) -> set[frozenset[tuple[str, str]]]:
    (part,) = found.parts
    facts = (fact for fact in part.facts if fact.kind is FactKind.SENSITIVE)
    return {frozenset(part.linked.named(fact.cell).items()) for fact in facts}


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_every_class_of_a_marginal_that_shares_a_value_is_found(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.poisson(0.8, size=(2, 3, 2))
    truth[0, 0, 0] += 1
    margins = [axes for size in (2, 3) for axes in combinations(range(3), size)]
    chosen = [margins[place] for place in rng.permutation(len(margins))[:2]]
    folder = tmp_path_factory.mktemp("release")
    guessed(folder, *(marginal(folder, truth, axes) for axes in chosen))
    spec = (folder / "audit.toml").read_text().replace("# complete", "complete")
    found = audit(spec=write(folder / "audit.toml", spec), sensitive=["diag"])
    if not all(np.all(truth.sum(axis=tuple({0, 1, 2} - {axis})) > 0) for axis in {a for axes in chosen for a in axes}):
        return  # a value that nobody has is in no marginal, so nothing shows that there is such a value
    for axes in (axes for axes in chosen if 1 in axes):
        others = [axis for axis in axes if axis != 1]
        for key in product(*(range(truth.shape[axis]) for axis in others)):
            index = [slice(None)] * 3
            for axis, code in zip(others, key):
                index[axis] = slice(code, code + 1)
            values = np.flatnonzero(truth[tuple(index)].sum(axis=(0, 2)))
            if len(values) == 1:
                group = {(NAMES[axis], f"{NAMES[axis]}{code}") for axis, code in zip(others, key)}
                assert frozenset({*group, ("diag", f"diag{values[0]}")}) in shared_values(found)
    assert not any("does not list" in each.sentence for each in found.not_examined)


TRUTH = np.array([[[5, 4], [0, 6], [0, 7]], [[4, 8], [3, 9], [8, 5]]])
"""Everybody of area 0 and sex 0 has the first diagnosis."""


def test_a_partial_table_tells_nothing_of_what_it_does_not_list_and_that_is_said(tmp_path: Path) -> None:
    file = marginal(tmp_path, TRUTH, (0, 1, 2), "some of them")
    found = audit(file, sensitive=["diag"])
    assert not shared_values(found)
    (sentence,) = (each.sentence for each in found.not_examined if each.code == "unlisted")
    assert "some of them.csv does not list 2 combinations" in sentence
    guessed(tmp_path, file)
    spec = (tmp_path / "audit.toml").read_text()
    assert "\ncomplete" not in spec
    found = audit(spec=write(tmp_path / "audit.toml", spec + "complete = true\n"), sensitive=["diag"])
    assert shared_values(found) == {frozenset({("area", "area0"), ("sex", "sex0"), ("diag", "diag0")})}
    assert not found.not_examined


def test_a_complete_table_has_nobody_with_a_value_that_only_another_table_shows(tmp_path: Path) -> None:
    write(tmp_path / "whole.csv", "area,diag,count\nUlm,flu,9\nLinz,flu,8\n")
    write(tmp_path / "domain.csv", "sex,diag,count\nf,flu,8\nf,HIV,*\nm,flu,9\nm,HIV,*\n")
    sections = (
        '[markers]\n"*" = "unknown"\n[tables."whole.csv"]\nattributes = ["area", "diag"]\ncount = "count"\n{}\n'
        '[tables."domain.csv"]\nattributes = ["sex", "diag"]\ncount = "count"\n'
    )
    nothing = audit(spec=write(tmp_path / "a.toml", sections.format("")), sensitive=["diag"])
    assert not shared_values(nothing)
    facts = shared_values(
        audit(spec=write(tmp_path / "b.toml", sections.format("complete = true")), sensitive=["diag"])
    )
    assert frozenset({("area", "Ulm"), ("diag", "flu")}) in facts
    assert frozenset({("sex", "f"), ("diag", "flu")}) in facts
    with pytest.raises(InputError, match="complete must be true or false"):
        audit(spec=write(tmp_path / "c.toml", sections.format("complete = 1")))
    with pytest.raises(InputError, match="scope was taken out: write the value into a column"):
        audit(spec=write(tmp_path / "c.toml", sections.format('scope = { area = "Ulm" }')))
    with pytest.raises(InputError, match=r"absent was taken out: write complete = true"):
        audit(spec=write(tmp_path / "c.toml", sections.format('absent = "zero"')))


def test_the_marginals_of_a_release_are_no_guess(tmp_path: Path) -> None:
    """To take what they do not list for unknown would give an all-clear for what readers know to be nobody."""
    publication.write(tmp_path / "release")
    files = sorted((tmp_path / "release" / "marginals").iterdir())
    with pytest.raises(InputError, match="marginals attack release"):
        audit(*files)
    sections = (
        f'[tables."{file}"]\nattributes = {file.read_text().split(",count")[0].split(",")}\ncount = "count"\n'
        for file in files[:1]
    )
    assert (
        audit(spec=write(tmp_path / "audit.toml", "".join(sections) + "complete = true\n")).parts[0].bounds is not None
    )


def test_small_counts_that_tables_print_are_said_to_be_printed(tmp_path: Path) -> None:
    found = audit(write(tmp_path / "t.csv", "area,count\nUlm,1\nLinz,9\n"))
    assert found.ok
    assert found.as_json()["audited"][0]["printed_small"] == 1
    lines = " ".join(run("audit", tmp_path / "t.csv").output.split())
    assert "print 1 count from 1 to 4" in lines


def two_way(rows: str = "", columns: str = "region,sex,count", labels: tuple[str, str] = ("Total", "Total")) -> str:
    """Three regions by two sexes with totals, women of A withheld; `rows` ends each line, {} of it is u where withheld."""
    counts = {("A", "f"): "*", ("A", "m"): 18, ("B", "f"): 19, ("B", "m"): 14, ("C", "f"): 10, ("C", "m"): 12}
    sums = {("A", ""): 20, ("B", ""): 33, ("C", ""): 22, ("", "f"): 31, ("", "m"): 44, ("", ""): 75}
    lines = [
        f"{region or labels[0]},{sex or labels[1]},{count}{rows.format('u' if count == '*' else 's')}"
        for (region, sex), count in {**counts, **sums}.items()
    ]
    return "\n".join([columns, *lines, ""])


INDENTED = (
    "area,count\nEngland,712\n  North,412\n    Aurora,*\n    Boone,300\n  South,300\n    Cedar,14\n    Dover,286\n"
)
FLAT = "\n".join(map(str.strip, INDENTED.splitlines())) + "\n"
WITHHELD = two_way(",{}", "region,sex,count,hidden").replace(",u", ",TRUE").replace(",s", ",FALSE").replace("*", "2")
NESTED = "state,county,count\nX,a,10\nX,b,*\nX,Total,15\nY,c,30\nY,d,9\nY,Total,39\nTotal,Total,54\n"
ROUNDED = "area,sex,count\n" + "".join(
    f"a{n},{sex},{35 * n + add}\n" for n in range(5) for sex, add in (("f", 0), ("m", 10))
)
STEMS = "geo,count\nDE,712\nDE1,412\nDE11,125\nDE12,*\nDE2,300\nDE21,97\nDE22,203\n"


@pytest.mark.parametrize(
    ("text", "code", "keys"),
    [
        (
            two_way(",{},7", "region,sex,freq,grade,points").replace("u,7", "s,8").replace("*", "2"),
            "column",
            {"points"},
        ),
        (WITHHELD, "revealed", {"hidden"}),
        ("region,count,raw\nA,*,2\nB,19,19\nC,10,10\nD,13,13\n", "revealed", {"raw"}),
        ("region,count,freq\nA,*,2\nB,19,19\nC,10,10\nD,13,13\n", "revealed", {"freq"}),
        ("area,deaths,rate\nUlm,*,3.1\nLinz,9,9.2\nGraz,12,12.0\n", "column", {"rate"}),
        ("area,freq,rounded,difference\nA,11,12,1\nB,2,3,1\nC,7,6,-1\nD,5,6,1\n", "column", {"rounded", "difference"}),
        (NESTED, "nested", {"state"}),
        (two_way().replace("*", "suppr."), "marker", {"suppr."}),
        *(
            (two_way().replace("*", mark), "marker", {mark})
            for mark in ("-", "z", "[z]", "n/a", "9999999", "(2)", "2 p")
        ),
        ("area,f,m\nUlm,12 e,31\nLinz,9,8\nGraz,11,14\n", "marker", {"12 e"}),
        (FLAT, "label", {"South"}),
        (STEMS.replace("712", "*"), "label", {"DE"}),
        ("area,count\nWien,100\nGraz,40\nLinz,*\nSteyr,12\nAustria,160\n", "no-total", {""}),
        ("group,count\nWhite,500\nBlack,31\nOther,*\nUnknown,*\n", "no-total", {""}),
        (
            "kind,count\nFood,*\nTextiles,61\nGoods total,99\nHotels,21\nBanks,33\nServices total,54\nBoth kinds,153\n",
            "label",
            {"Goods total", "Services total"},
        ),
        (ROUNDED, "rounding", {""}),
    ],
)
def test_what_is_not_understood_is_said_and_leaves_no_all_clear(
    tmp_path: Path, text: str, code: str, keys: set[str]
) -> None:
    path = write(tmp_path / "t.csv", text)
    found = audit(path)
    doubts = [each for each in found.not_examined if each.is_doubt]
    assert (found.ok, {each.key for each in doubts if each.code == code}) == (False, keys)
    result = run("audit", path, status=1)
    assert ("no all-clear" in result.output) == any(each.code != "revealed" for each in doubts)
    assert all(each.sentence in result.output for each in doubts)
    guessed(tmp_path, path)
    assert audit(spec=tmp_path / "audit.toml").as_json() == found.as_json(), "writing the guess down settles nothing"


@pytest.mark.parametrize("indent", [0, 1])
def test_a_sheet_with_indented_cells_leaves_no_all_clear(tmp_path: Path, indent: int) -> None:
    """The reader of workbooks gives no style of a cell: which label is indented is not known, only that one is."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in (("area", "f", "m"), ("Ulm", 12, 31), ("Linz", 19, 18), ("Graz", 11, 14)):
        book.active.append(row)
    book.active["A3"].alignment = openpyxl.styles.Alignment(indent=indent)
    book.save(tmp_path / "t.xlsx")
    found = audit(tmp_path / "t.xlsx")
    doubts = [each.key for each in found.not_examined if each.code == "indented"]
    assert (found.ok, doubts) == ((False, ["some label"]) if indent else (True, []))


STATUSES = (
    ("sdcStatus", "s", "u"), ("sdcStatus", "z", "x"), ("status", "S", "U"), ("status", "P", "M"), ("OutStatus", "P", "X"),
    ("suppressed", "FALSE", "TRUE"), ("primary", "False", "True"), ("withheld", "no", "yes"), ("published", "1", "0"),
    ("CONF_STATUS", "F", "N"), ("flag", "", "c"), ("status", "published", "suppressed"), ("unsafe", "no", "yes"),
    ("not_published", "no", "yes"), ("undisclosed", "0", "1"), ("non_confidential", "yes", "no"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "shown", "withheld"), STATUSES)
def test_a_withheld_count_is_withheld_though_it_is_printed(
    tmp_path: Path, name: str, shown: str, withheld: str
) -> None:
    text = two_way(",{},3.5,1", f"region,sex,freq,{name},cost,lower").replace(",u,", f",{withheld},")
    found = audit(write(tmp_path / "t.csv", text.replace(",s,", f",{shown},").replace("*", "2")))
    assert proven(found) == {("A", "f"): (2, 2)}
    assert [each.code for each in found.not_examined if each.is_doubt] == ["revealed"]
    assert "must not be published: it prints 1 count" in run("audit", tmp_path / "t.csv").output


def test_a_step_of_protection_is_asked_only_without_the_last_one(tmp_path: Path) -> None:
    """GaussSuppression writes both: what is suppressed is withheld, for whatever reason."""
    lines = [f"{line},{n in (1, 2)},{n in (1, 2, 5, 6)}" for n, line in enumerate(two_way().splitlines())]
    text = "\n".join(["region,sex,freq,primary,suppressed", *lines[1:], ""]).replace("*", "2")
    found = audit(write(tmp_path / "t.csv", text))
    (part,) = found.parts
    assert int(part.is_printed.sum()) == 8
    assert not any("suppressed" in part.linked.named(cell) for cell in range(len(part.linked)))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("industry,Clerks,Sales,All\nFinance,24,19,43\nMining,,,\nTrade,31,,31\nAll,55,19,74\n", "shown-totals"),
        ("area,f,m,All\nUlm,,31,31\nLinz,9,,9\nGraz,12,14,26\nAll,21,45,66\n", "shown-totals"),
        ("geo,count\nFR,22\nFR1,13\nFR11,x\nFR12,5\nFR2,9\nFR21,4\nFR22,x\n", "label"),
        ("what,n\nTotal,101\nSex,\n  Female,52\n  Male,49\nAge,\n  0-17,20\n  18-64,*\n  65+,14\n", "label"),
        ("area,x,y\nAll,20,20\nNorth,*,10\nSouth,10,10\n", "rounding"),
        ("x,n\na,12\nb,*\nc,7\n", "no-total"),
    ],
)
def test_what_cannot_be_known_is_no_fact_and_no_all_clear(tmp_path: Path, text: str, code: str) -> None:
    found = audit(write(tmp_path / "t.csv", text))
    assert not found.ok
    assert found.parts[0].bounds is not None, "nothing contradicts itself"
    assert code in {each.code for each in found.not_examined if each.is_doubt}
    assert all(fact.kind is FactKind.EXISTS for fact in found.parts[0].facts)


def test_a_row_of_which_is_a_part_of_the_row_above(tmp_path: Path) -> None:
    text = "group,count\nAll persons,712\nEmployed,412\nof which self-employed,*\nUnemployed,300\n"
    found = audit(write(tmp_path / "t.csv", text))
    (part,) = found.parts
    assert part.bounds is not None
    (cell,) = (n for n in range(len(part.linked)) if part.linked.named(n).get("group") == "of which self-employed")
    assert (part.bounds.lower[cell], part.bounds.upper[cell]) == (0, 412)
    assert not part.facts


def test_tables_that_disagree_may_each_tell_something(tmp_path: Path) -> None:
    one = write(tmp_path / "one.csv", two_way())
    other = write(tmp_path / "two.csv", "region,count\nA,99\nB,98\n")
    assert "so nothing was concluded from them together. Audit each table by itself." in run("audit", one, other).output
    assert proven(audit(one)) == {("A", "f"): (2, 2)}
    alone = run("audit", write(tmp_path / "three.csv", two_way().replace("*", "999"))).output
    assert "The table contradicts itself as it is read here, so nothing was concluded from it." in alone


def test_a_group_of_one_prints_the_count_of_its_part(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "geo,n\nFR,93\nFR1,31\nFR10,*\nFR2,62\nFR20,62\n")
    (doubt,) = (each for each in audit(path).not_examined if each.is_doubt)
    assert (doubt.code, doubt.key) == ("revealed", "FR10")


def test_noise_widens_each_count(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", "area,count\nUlm,0\nLinz,15\n")
    spec = '[tables."t.csv"]\nattributes = ["area"]\ncount = "count"\nnoise = 4\n'
    found = intervals(audit(spec=write(tmp_path / "audit.toml", spec)))
    assert found == {("Ulm",): (0, 4), ("Linz",): (11, 19)}


def test_a_guess_that_was_reviewed_gives_the_all_clear(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "area,f,m\nUlm,12 e,31\nLinz,9,8\nGraz,11,14\n")
    guessed(tmp_path, path)
    settled, _, _ = (tmp_path / "audit.toml").read_text().partition("[[doubts]]")
    found = audit(spec=write(tmp_path / "audit.toml", settled))
    assert found.ok
    assert found.as_json()["not_examined"][0]["code"] == "sensitive"
    with pytest.raises(InputError, match="doubts"):
        audit(spec=write(tmp_path / "audit.toml", settled + "[[doubts]]\ncode = 3\n"))


@pytest.mark.parametrize(
    ("text", "cell", "count"),
    [
        *(
            (two_way(labels=labels), ("A", "f"), 2)
            for labels in (("Tot_Reg", "Tot_Sex"), ("_T", "_T"), ("Austria", "00"))
        ),
        *((two_way().replace("*", mark), ("A", "f"), 2) for mark in ("[c]", "[x]", "(D)", "F", "low", "NaN", ":")),
        *((two_way().replace("*", mark), ("A", "f"), 2) for mark in ("-999999", "-1", "..", "[u]", ": c", "nan")),
        *(
            (two_way(labels=labels), ("A", "f"), 2)
            for labels in (("I alt", "Summe"), ("EU27_2020", "T"), ("", "Total"), ("Ensemble", "ALL"), ("Z99", "Kokku"))
        ),
        (INDENTED, ("Aurora",), 112),
        (STEMS, ("DE12",), 287),
        (
            "cause,n\nA00-T98,503\nA00-B99,120\nA00-A09,43\nA15-A19,*\nC00-D48,383\nC00-C14,141\nC15-C26,242\n",
            ("A15-A19",),
            77,
        ),
        ("region,sex,n\nA,f,*\n,m,18\n,Total,20\nB,f,19\n,m,14\n,Total,33\n", ("A", "f"), 2),
        (",2001,,2002,\narea,f,m,f,m\nUlm,3,*,5,6\nLinz,8,9,7,12\nTotal,11,26,12,18\n", ("Ulm", "2001", "m"), 17),
        (two_way(",{}", "region,sex,freq,sdcStatus").replace("*", ""), ("A", "f"), 2),
        ("ward,f,m\nE,6.0,6\nN,15.0,16\nS,,20\nAll,23.0,42\n", ("S", "f"), 2),
        ("area,sex,n\nA,f,12.0\nA,m,\nA,Total,20.0\nB,f,8.0\nB,m,10.0\nB,Total,18.0\n", ("A", "m"), 8),
        ("town,A,N,Y,All\nRiver,12,,25,40\nLake,11,14,15,40\nHill,13,22,19,54\n", ("River", "N"), 3),
        ("town,cases,births,land\nRiver,12,*,15\nLake,11,14,25\nHill,13,22,35\n", ("River", "births"), 3),
        ("region,year,f,m,Total\nA,2001,*,18,20\nA,2002,19,14,33\nB,2001,10,12,22\n", ("A", "2001", "f"), 2),
        ("area,f,m,Total\nUlm,*,31.0000001,32.9999999\nLinz,9,7.9999999,17\n", ("Ulm", "f"), 2),
        ("sex,age,count\nTotal,Total,30\n,Total,*\nf,Total,12\nm,Total,10\n", ("(blank)",), 8),
    ],
)
def test_totals_columns_markers_and_blanks_are_read_whatever_they_are_called(
    tmp_path: Path, text: str, cell: tuple[str, ...], count: int
) -> None:
    found = audit(write(tmp_path / "t.csv", text))
    assert proven(found)[cell] == (count, count)
    assert not any(each.is_doubt for each in found.not_examined)
    printed = found.as_json()["audited"][0]["printed"]
    assert printed == sum(low == high for low, high in intervals(found).values())
    output = run("audit", tmp_path / "t.csv").output
    assert f"counts, {printed} of them printed" in output


def test_parquet_under_the_name_of_csv_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Parquet"):
        audit(write(tmp_path / "t.csv", "PAR1\x15"))


@pytest.mark.parametrize(
    "text",
    [
        "area, sex, count\nUlm, f, 12\nUlm, m, *\nLinz, f, 7\nLinz, m, 31\n",
        "class,trade,n\nA,smith,12\nA,baker,7\nB,clerk,*\nC,nurse,31\n",
        "grade,count\n" + "".join(f"{grade},{30 - grade}\n" for grade in range(5, 12)) + "12,*\n",
        "rank,count\nI,40\nII,19\nIII,*\nIV,3\nTotal,66\n".replace("IV,3", "IV,*"),
        "state,county,count\nX,a,10\nX,b,*\nY,c,30\nY,d,9\n",
        "County,County Code,Deaths,Population\nAdams,1,24,1312\nBoone,3,Withheld,223\nClay,5,Withheld,250\nTotal,0,77,9\n",
        "town,A,N,Y\nRiver,12,*,25\nLake,11,14,15\nHill,13,22,19\n",
        "year,m,f\n2001,8,9\n2002,*,7\n2003,11,*\n",
    ],
)
def test_ordinary_tables_keep_the_all_clear(tmp_path: Path, text: str) -> None:
    found = audit(write(tmp_path / "t.csv", text))
    assert found.ok, found.not_examined


@pytest.mark.parametrize(
    ("text", "withheld"),
    [
        ("area,f,m\nA,3,\nB,9,\nTotal,12,\n", ["A", "B", "Total"]),
        ("area,m,f\nA,,3\nB,,9\nTotal,,12\n", ["A", "B", "Total"]),
        ("area;f;m;x;Total\nA;3;;2;9\nB;9;;4;20\nTotal;12;;6;29\n", ["A", "B", "Total"]),
        ("area,f,m,note\nA,3,,\nB,9,,\nTotal,12,,\n", ["A", "B", "Total"]),
        ("area,sex,N,note\nA,f,3,\nB,f,9,\nTotal,f,12,\n", []),
        ("area,sex,cases,flag\nA,f,3,\nA,m,9,\n", []),
    ],
)
def test_blank_columns_of_crossed_tables_are_withheld_counts(tmp_path: Path, text: str, withheld: list[str]) -> None:
    found = audit(write(tmp_path / "t.csv", text))
    (part,) = found.parts
    assert int(part.is_withheld.sum()) == len(withheld)
    assert found.spec.tables[tmp_path / "t.csv"].across == ("sex" if withheld else "")


def test_ranges_are_groups_of_what_they_cover_only(tmp_path: Path) -> None:
    labels = ["<9years", "9-11years", "12years", "13-15years", "16years", ">16years"]
    rows = "".join(f"{label},{area},{n}\n" for n, label in enumerate(labels, 20) for area in "AB")
    table = write(tmp_path / "t.csv", f"years,area,count\n{rows}")
    assert all(not attribute.groups for attribute in audit(table).spec.attributes.values())
    # Digits that begin another range are no code of a group, though the counts add up.
    rows = "1,A,60\n10-14,A,20\n15-19,A,40\nx,A,7\n1,B,*\n10-14,B,3\n15-19,B,*\nx,B,8\n"
    found = audit(write(tmp_path / "u.csv", f"age,area,count\n{rows}"))
    assert not found.spec.attributes["age"].groups

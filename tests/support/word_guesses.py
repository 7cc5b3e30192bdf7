"""What `init` guesses of made tables: a line for each column, with what it holds, what it is taken for, and why.

The headings say what is right. Who reads the diff of `tests/words/guesses.txt` compares both.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from first_configs import FirstConfig, init
from simulated_census import census_people
from words import Case, Stage

Rng = np.random.Generator
ROWS = 400
SEX = "f m"


class Guessed(NamedTuple):
    """A table: words of which one is drawn for each row, what a function draws, or values that are repeated.

    options: of the command. shown: so many columns, and nothing of the table as a whole, where it has more.
    """

    columns: Mapping[str, object] | Callable[[Rng], Mapping[str, object]]
    options: str = ""
    rows: int = ROWS
    shown: int = 1000

    def texts(self) -> dict[str, list[str]]:
        columns = self.columns(np.random.default_rng(1)) if callable(self.columns) else self.columns
        drawn = {}
        for name, held in columns.items():
            rng = np.random.default_rng([self.rows, *name.encode()])
            values = rng.choice(held.split(), self.rows) if isinstance(held, str) else held
            values = values(rng, self.rows) if callable(values) else values
            drawn[name] = np.resize(np.array([str(value) for value in values], dtype=object), self.rows).tolist()
        return drawn


def single(name: str, values: Sequence[object]) -> Guessed:
    """A column, beside a second one of which nothing is shown."""
    return Guessed({name: values, "sex": SEX}, rows=len(values), shown=1)


def named(names: str) -> Guessed:
    """Columns of which nothing but the name says anything."""
    return Guessed({name: f"{n}x {n}y" for n, name in enumerate([*names.split(), "sex"])}, shown=len(names.split()))


def whole(least: int, most: int) -> Callable[[Rng, int], object]:
    return lambda rng, rows: rng.integers(least, most, rows)


SHOWN = ("ladder", "intervals", "prefixes", "dates", "missing", "marks", "harmless")
OF_THE_TABLE = {"data": ("person", "rows_per_person", "decimal"), "search": ("alone", "must_not_publish")}


def guess_lines(first: FirstConfig, columns: Mapping[str, list[str]], shown: int) -> Iterator[str]:
    """Lines of the columns, then the settings and questions of the table, and the rows that count if not all do."""
    for name, found in list(first.columns.items())[:shown]:
        held = ", ".join(text[:20] for text in list(dict.fromkeys(columns[name]))[:4])
        settings = first.toml["attributes"].get(name, {}) | found
        more = "".join(f", {key} {settings[key]}" for key in SHOWN if settings.get(key))
        yield f"{name} ({len({*columns[name]})} values: {held}) is {found['role']}{more}: {found['why']}"
        for key in ("question", "values_question"):
            if key in found:
                yield f"    ? {found[key] if found[key] != found['why'] else ''}".rstrip()
    if shown < len(first.columns):
        return
    for section, keys in OF_THE_TABLE.items():
        yield from (f"{key} = {first.toml[section][key]}" for key in keys if first.toml[section].get(key))
    wanted = first.toml["search"].get("wanted", [])
    for weight in sorted({wish["weight"] for wish in wanted}):
        yield f"wanted {weight:g}: {', '.join(' + '.join(w['attributes']) for w in wanted if w['weight'] == weight)}"
    asked = {found.get(key) for found in first.columns.values() for key in ("question", "values_question")}
    for question in first.questions:
        if question["reason"] not in asked and "more pairs of columns" not in question["reason"]:
            yield f"? {', '.join(question['columns'])}: {re.split('(?<=[.:?])', question['reason'])[0]}"
    if (counted := first.config().read_table().rows) != (rows := len(next(iter(columns.values())))):
        yield f"{counted} of {rows} rows count"


def guesses(tables: Mapping[str, Sequence[Guessed]], stage: Stage) -> Iterator[Case]:
    with stage.entered() as folder:
        for heading, guessed in tables.items():
            lines: list[str] = []
            for one in guessed:
                columns = one.texts()
                first = init(pd.DataFrame(columns, dtype=object), folder, *one.options.split())
                begin = [f"$ init {one.options}".rstrip()] if one.options or one.shown >= len(columns) else []
                lines += [*begin, *guess_lines(first, columns, one.shown)]
            yield Case(heading, "\n".join(lines), "guesses")


def numbers(most: int, least: int = 0, rows: int = ROWS) -> list[int]:
    return np.random.default_rng(1).integers(least, most, rows).tolist()


def repeated(text: str) -> list[str]:
    return [text.format(100 + 7 * n) for n in range(150) for _ in range(1 + n % 3)]


def decimals(draw: Callable[[Rng, int], np.ndarray], form: str = ".5f", rows: int = ROWS) -> list[str]:
    return [f"{value:{form}}" for value in draw(np.random.default_rng(2), rows)]


OCCUPATIONS = [f"{major}{minor}{unit}0" for major in range(1, 10) for minor in range(1, 5) for unit in range(1, 4)]
OFTEN = [f"problem {word}" for word in map(chr, range(ord("a"), ord("z") + 1))] * 40
RARE = [f"matter {number}" for number in range(100)]
LONG = "some college or associate degree, or a certificate of a school for a trade that takes two years"
ANSWERS = ["none", "primary", "secondary", "college"] * 40
DATES = ("01/02/1980 03/04/1981", "01.02.80 03.04.81", "31.02.1980 30.01.1980", "01.02.1980 31.12.9999",
         "01.02.0000 31.12.0001", "13/31/1980 03/4/1980")  # fmt: skip
BANDS = ("0-4;5-Sep;10-14", "0-4;5. Sep;10-14;15-19", "0-4;Sep-05;Oct-14;15-19;20-24",
         "0-4;2024-09-05 00:00:00;10-14;15-19", "0-4;5-9;Mar-a-Lago", "5-Sep;6-Sep;7-Sep")  # fmt: skip

VALUES: dict[str, Sequence[Guessed]] = {
    "numbers begin with single values, or with about a hundred bands over their range": [
        single("age", numbers(90, 18)),
        *(single("years", [17 + n // 2 * span // 200 for n in range(402)]) for span in (3, 50, 150, 1000, 2500, 90_000)),
        *(single("cost", decimals(lambda rng, rows, own=scale: rng.random(rows) * own)) for scale in (100, 1, 0.013)),
    ],
    "numbers with decimals that many share need no intervals": [
        single("size", decimals(lambda rng, rows: rng.normal(150, 15, rows).round() * 0.4536, ".2f", 2000)),
        *(single("size", [*decimals(lambda rng, rows: rng.random(rows), ".4f", 2000 - n), *["0.5"] * n])
          for n in (300, 100)),
    ],
    "codes are cut where that merges some and keeps some apart": [
        single("zip", [f"{v * 7:05d}" for v in numbers(600, 100)]), single("zip", numbers(10_200, 10_000)),
        single("isco code", np.repeat(OCCUPATIONS, 20 + np.arange(len(OCCUPATIONS)) % 3).tolist()),
    ],
    "numbers of which each is shared by many have no bands: codes would be spread over numbers that nobody has": [
        single("occ", 10 * np.random.default_rng(0).choice(np.random.default_rng(1).choice(975, 300, replace=False), 6000)),
    ],
    "dates begin with days that enough rows share": [
        single("born", [f"19{v % 60 + 40}-0{v % 9 + 1}-1{v % 10}" for v in range(400)]),
        single("seen", [f"{1 + n % 28}.{1 + n % 3}.2024" for n in range(60)]),
        *(single("born", [f"19{10 + n}{sign}11{sign}12" for n in range(60)]) for sign in "-./"),
    ],
    "dates that cannot be read for sure are left out": [single("born", dates.split() * 30) for dates in DATES],
    "bands that a spreadsheet turned into dates are asked about": [single("age", own.split(";") * 30) for own in BANDS],
    "what cannot be published in groups is left out": [
        single("person_id", range(400)), single("who", [f"somebody {v}" for v in range(400)]),
        single("constant", ["x"] * 50), single("count", ["1", "2"] * 50), single("sparse", ["x", "y"] + [""] * 50),
        single("far", [*numbers(10**9, rows=200) * 2, "1"]), single("lines", ["a\nb", "c"] * 50),
        single("notes", [("a long story " * 5) + "ab"[i % 2] for i in range(50)]),
        single("word", [f"w{v}x" * (1 + v % 2) for v in range(150)] * 2 + ["w0x"]),
    ],
    "rare categories are merged, and two are not": [
        single("kind", ["a"] * 50 + ["b"] * 12 + ["c"] * 3 + ["d"] * 2), single("gender", ["a", "b"] * 50),
    ],
    "texts are categories where they were chosen from a list; some rare ones are merged": [
        single("group", [LONG] * 100 + ["other"] * 100), single("problem", OFTEN + RARE),
        single("offense", [f"offence {number}" for number in range(150)] * 20),
        single("education", [*ANSWERS, *[LONG] * 40]), single("education", [*ANSWERS, *[LONG] * 3]),
    ],
    "texts that somebody wrote are left out": [
        single("group", [LONG] * 100 + [f"{LONG} {number}" for number in range(5)]),
        single("problem", OFTEN[:400] + RARE),
        single("problem", [*OFTEN, *RARE, "it began in spring, when the neighbours had gone"]),
        single("offense", [f"offence {number}" for number in range(600)] * 20),
        single("education", [*ANSWERS, *(f"{LONG} {number}" for number in range(5))]),
        single("education", [*ANSWERS, *[LONG * 3] * 40]),
    ],
    "with k = 10 no table could show fewer rows with another value; those that lack a value can be shown as that": [
        single("boats", ["0"] * 400 + ["1"] * 8 + ["2"]), single("boats", ["0"] * 400 + ["1"] * 9 + ["2"]),
        single("boats", ["0"] * 400 + ["1"] * 3 + ["2"] + [""] * 6),
        single("boats", ["0"] * 400 + ["1"] * 3 + ["2"] + [""] * 5),
    ],
    "numbers that stand for nothing are marks: not -9 among changes, and -9,0 beside a decimal comma": [
        Guessed({
            "age": [*numbers(80, 20, 380), *["-9"] * 20], "children": [*numbers(7, 0, 390), *["99"] * 10],
            "change": whole(-12, 12), "cause": [*["heart", "lung"] * 150, *["."] * 100], "sex": SEX,
        }),
        *(Guessed({"x": [*(f"{n},5" for n in range(20)), spelled], "sex": SEX}, rows=420) for spelled in ("-9", "-9,0")),
    ],
    "codes for no answer are marks: the first four as they are, while the others are asked about": [
        *(single("item", own * 8) for own in (
            [*"01234" * 40, *["97", "98", "99"] * 5], [*map(str, range(100, 400, 7)), "997", "998", "999"],
            [*map(str, range(1000, 3000, 70)), *["7777", "9999"] * 3], [*"01" * 60, *["-1", "-2", "-8", "-9"] * 3],
            [*map(str, range(18, 70)), "77", "88", "99", "99"], [*map(str, range(18, 89)), *["97", "98", "99"] * 3],
            [*"12" * 60, *"9" * 9], [*"1234" * 40, *"89" * 4], [*map(str, range(30)), "-1"],
            [*map(str, range(18, 60)), *["retired"] * 3],
        )),
    ],
    "no answers are what other numbers lie around": [
        single("item", own) for own in ([*range(18, 100)] * 8, [*"123456789" * 320], [*range(-12, 30)] * 8)
    ],
    "missing values of many columns count as a value, so that not all rows are lost": [
        Guessed({f"c{j}": ["" if i % 20 == j else "xy"[i // 4 % 2] for i in range(ROWS)] for j in range(4)}),
    ],
    "a comma is the decimal sign where nothing speaks against it": [
        Guessed({"bmi": ["21,5", "30,25", "18"], "sex": SEX}),
        Guessed({"bmi": ["21,5", "30", "NA", "."], "age": ["31", "42"], "name": ["a.b", "c,d"], "sex": SEX}),
        Guessed({"change": ["-0,5", "+1,5"], "sex": SEX}), Guessed({"share": ["0,125", "0,250"], "sex": SEX}),
        Guessed({"income": ["1,234", "23,456", "800"], "bmi": ["21,5"], "sex": SEX}),
        Guessed({"income": ["1.234", "23.456"], "bmi": ["21,5"], "sex": SEX}),
    ],
    "a comma is no decimal sign beside points, in thousands, in texts or where there is none": [
        Guessed({"bmi": ["21.5", "30"], "sex": SEX}), Guessed({"bmi": ["21,5", "30"], "weight": ["61.5", "80"], "sex": SEX}),
        Guessed({"income": ["1,234", "23,456", "800"], "sex": SEX}), Guessed({"income": ["1,234,567", "21,5"], "sex": SEX}),
        Guessed({"place": ["52,5 N", "13,4 E"], "sex": SEX}), Guessed({"age": ["31", "42"], "sex": SEX}),
    ],
}  # fmt: skip

IDENTIFYING = {
    "email": "p{0}@example.org", "full_name": "Ann Lee {0}", "first_name": "Ann{0}", "surname": "Lee{0}",
    "name": "Ann Lee {0}", "phone": "0171 {0:07d}", "hospital_number": "{0}", "case_no": "{0}", "chart": "{0}",
    "licence": "B{0}", "contact": "(030) 44 {0:06d}",
}  # fmt: skip
CODES = [f"{letter}{number}" for letter in "ACEIJ" for number in range(10, 20)]
SAID = (
    "Robbery;Theft", "strongly agree;disagree", "katholisch;evangelisch", "gesund;krank", "$ 1,200;$ 900;$ 3,400",
    "1200 €;900 €;n/a", "$0 to $999;$1,000 to $4,999;$5,000+",
)  # fmt: skip
HARMLESS = {
    "hiv": {"negative": 90, "positive": 10}, "test_result": {"Negative": 80, "Positive": 15, "unclear": 5},
    "diagnostic": {"aucun": 70, "grippe": 20, "asthme": 10}, "diabetes": {"0": 80, "1": 20},
    "smoker": {"never": 60, "former": 25, "no, but formerly": 15}, "arrests": {"0": 70, "1": 18, "2": 12},
    "comorbidity": {"no heart disease": 60, "heart disease": 40},
}  # fmt: skip
HARMFUL = {
    "health_insurance": {"none": 10, "private": 90}, "consent_to_treatment": {"no": 10, "yes": 90},
    "symptom_free": {"no": 10, "yes": 90}, "no_disease": {"no": 50, "yes": 50}, "religion": {"none": 50, "catholic": 50},
    "disease": {"not cured": 50, "cured": 50}, "income": {"0": 60, "1": 40}, "test_score": {"0": 60, "1": 40},
    "tumor_markers": {"0": 20, "1": 40, "2": 40},
}  # fmt: skip


def shares(percent: Mapping[str, int]) -> list[str]:
    return [value for value, number in percent.items() for _ in range(5 * number)]


NAMES: dict[str, Sequence[Guessed]] = {
    "names say that a column is sensitive, also in other languages and as part of a word": [named(
        "death_cause Krankheitstage maladie_chronique enfermedades malattia ziekte choroba sick_absences Grunderkrankung "
        "lowbirthweight faminc Haushaltseinkommen revenu_fiscal ingresosHogar reddito inkomen płaca_miesięczna dochód "
        "Gesamtvermögen religionszugehoerigkeit votedFor gewerkschaftsmitglied rearrested exam_score cumgpa dismissal "
        "cigarettes_per_day trust_in_police abortions Diagnose diagnóstico MALADIE Krankheit_1 monatsGehalt Einkommen "
        "Vermögen"
    )],
    "abbreviations do, too; some are asked about": [named(
        "badhlth bl_diab Prev.preg numvisit prevHyper rincom16 realrinc totexp meddol lfaminc hrwage annearn nettoeink "
        "revmensuel pensja BL.Cig.Day smkyrs parcath husunion antecedentes_penales incarcerated trustMostPeople szczescie"
    )],
    "parts of other words, words that hold an abbreviation and beginnings of other words say nothing": [named(
        "psphinc zinc province metropolitan learning inches skeleton idol fact hill frank reunion tenant retail_sales "
        "hospital trustees skill inter percent current first occup depen labor created"
    )],
    "what people are recognized by is not asked about": [named(
        "age Geschlecht statut_matrimonial estado_civil beroep miasto motheduc husage agegrp occup maritalcat"
    )],
    "words that can mean something else, and names that say nothing, are asked about": [
        *(single(name, ["a", "b", "c"] * 50) for name in ("result", "race", "denomina", "q17b")),
        named("storage percent q17"),
    ],
    "scales are judgements; other small numbers are not": [
        single("q17b", [1 + n % 7 for n in range(700)]), single("q17b", [1 + n % 7 for n in range(700) if n % 7 != 3]),
        single("children", [1 + n % 7 for n in range(700)]),
    ],
    "values say what a column is about": [
        *(single("q", values.split(";") * 20) for values in SAID), single("q", [*CODES * 4, *["none"] * 10] * 20),
    ],
    "few codes among other values, colours and plain numbers say nothing": [
        single("q", [*CODES * 4, *["none"] * 200] * 20), single("q", ["red", "blue"] * 20),
        single("q", ["1200", "900", "3400"] * 20),
    ],
    "names and keys identify, also where they repeat": [
        *(single(name, repeated(text)) for name, text in IDENTIFYING.items()),
        *(Guessed({name: " ".join(f"A{n}" for n in range(60)), "sex": SEX}, rows=600)
          for name in ("imie", "cognome", "voornaam", "apellidos")),
    ],
    "what is said of names and keys identifies nobody": [
        single(name, [*"abc"] * 100) for name in ("clinic_name", "licence_type", "has_email", "name_of_drug")
    ],
    "weights of rows are left out": [
        single("weight", decimals(lambda rng, rows: rng.lognormal(0, 0.3, rows), ".3f")),
        single("gewicht", decimals(lambda rng, rows: rng.uniform(2000, 9000, rows), ".2f")),
        single("pweight", numbers(9000, 900)),
        *(single(name, numbers(9000)) for name in ("bsrw12", "brr_3", "jkw_1", "PWGTP80", "repwgt5")),
    ],
    "weights of people are sensitive and published in groups": [
        single("weight", decimals(lambda rng, rows: rng.normal(70, 9, rows), ".1f")), single("weight_kg", numbers(120, 45)),
        single("gewicht", numbers(4500, 2000)), single("wt", decimals(lambda rng, rows: rng.normal(160, 20, rows), ".0f")),
    ],
    "how often somebody was in hospital is asked about, and which hospital is not": [
        single("hospital", [0, 0, 0, 1, 2, 0, 0, 1] * 40), single("hospital", ["north", "south", "west", "east"] * 80),
    ],
    "values of absence are proposed as harmless where absence is": [
        Guessed({name: shares(percent), "sex": SEX}, f"--sensitive {name}", 500, 1) for name, percent in HARMLESS.items()
    ],
    "absence that harms, or may, or may be the end of a scale, is not": [
        Guessed({name: shares(percent), "sex": SEX}, f"--sensitive {name}", 500, 1) for name, percent in HARMFUL.items()
    ],
    "of amounts that are often nothing, 0 is proposed as harmless": [
        Guessed({"capital_gain": lambda rng, rows: np.where(rng.random(rows) < 0.8, 0, rng.integers(1, 40_000, rows)),
                 "sex": SEX}, rows=900),
    ],
}  # fmt: skip


def visits(people: int = 300) -> pd.DataFrame:
    """Rows of visits, up to three of each patient."""
    rng = np.random.default_rng(5)
    each = rng.integers(1, 4, people)
    rows = int(each.sum())
    return pd.DataFrame(
        {
            "patient": np.repeat(np.arange(people) * 7 + 1000, each),
            "sex": np.repeat(rng.choice(["f", "m"], people), each),
            "ward": rng.choice(list("abc"), rows),
            "diagnosis": rng.choice(["flu", "cold", "gout", "cough", "burn", "cut"], rows),
            "result": rng.choice(["x", "y", "z"], rows),
            "q9": rng.choice(["k", "l"], rows),
        }
    )


def panel(keys: int, times: int, most: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Keys, and the number of each of their rows from 0 on: as many for all, or up to `most`."""
    each = np.random.default_rng(3).integers(times, max(most, times) + 1, keys)
    return np.repeat(np.arange(keys), each), np.concatenate([np.arange(number) for number in each])


def purchases() -> dict[str, object]:
    """pydataset Ketchup: `id` numbers the purchases of each household `hid`."""
    hid, number = panel(400, 1, 8)
    return {"hid": hid * 7 + 12, "id": number + 1, "choice": "heinz hunts stb", "price": whole(80, 150)}


def members(doubled: int = 0, letters: bool = False) -> Guessed:
    """Members of a parliament and their years; some rows entered twice, or keys of letters."""
    member, year = panel(300, 2, 20)
    born = np.random.default_rng(3).integers(1940, 1990, 300)
    frame = pd.DataFrame({"year": year + 2000, "bioguide": [f"K{n:06d}" for n in member], "born": born[member]})
    frame = pd.concat([frame, frame.sample(doubled, random_state=1)], ignore_index=True)
    if letters:
        frame["bioguide"] = frame["bioguide"].str.translate(str.maketrans("0123456789", "abcdefghij"))
    return Guessed({**frame, "town": "north south east"}, rows=len(frame))


def numbered(group: str, member: str, wave: str, several: bool) -> Guessed:
    """Members of groups, once or in two waves."""
    groups, number = (np.tile(own, 1 + several) for own in panel(150, 2, 14))
    columns = {group: groups + 1, member: number + 1, wave: np.arange(len(groups)) // (len(groups) // (1 + several))}
    return Guessed({**columns, "town": "north south", "blood": "a b o"}, rows=len(groups))


HID, FIRM, FAMILY, STATE = panel(400, 1, 8), panel(9, 181), panel(205, 1, 9), panel(46, 30)
CARING = np.random.default_rng(3).integers(0, 60, 900)
PEOPLE: dict[str, Sequence[Guessed]] = {
    "a key whose rows are numbered is that of a person": [
        Guessed(purchases(), rows=len(HID[0])),
        Guessed({"year": FIRM[0] + 1983, "fi": FIRM[1] + 1, "sector": FIRM[1] % 15, "patent": whole(0, 90)}, rows=9 * 181),
        members(), Guessed({"quackid": CARING * 7 + 1003, "sex": [("f", "m")[n % 2] for n in CARING]}, rows=900),
    ],
    "children of families, prices of states and patients of physicians are no rows of one person": [
        Guessed({"family": [f"{n:03d}" for n in FAMILY[0]], "childNum": FAMILY[1] + 1, "height": whole(56, 79)},
                rows=len(FAMILY[0])),
        Guessed({"state": STATE[0] + 1, "year": STATE[1] + 63, "sales": whole(50, 300)}, rows=46 * 30),
        Guessed({"quackid": CARING * 7 + 1003, "sex": SEX, "age": whole(20, 90), "asthma": "no yes"}, rows=900),
    ],
    "a key with a number missing, with rows entered twice or of letters is asked about, and stays out until then": [
        Guessed({**purchases(), "id": [*(HID[1] + 1)[:-1], ""]}, rows=len(HID[0])),
        members(30), members(0, letters=True), members(30, letters=True),
    ],
    "how often somebody called and counts of things number nobody": [
        *(Guessed({name: whole(0, 12), "plan": "a b c"}, rows=2000) for name in (
            "number_customer_service_calls", "customer_satisfaction", "num_patient_visits", "EmployeePerformance")),
        *(Guessed({name: lambda rng, rows: rng.geometric(0.02, rows) - 1, "plan": "a b c"}, rows=2000)
          for name in ("num_pending", "num_convex_points")),
    ],
    "what numbers people does": [
        Guessed({name: whole(100, 160), "plan": "a b c"}, rows=2000)
        for name in ("patient", "patient_number", "customer_ref", "no_patient", "personennummer")
    ],
    "a scale, a stratum, an amount and a year number nobody": [
        Guessed({name: np.repeat(values, 40), "sex": SEX}, rows=40 * len(values)) for name, values in (
            ("pid7", range(1, 8)), ("stratum", range(40)), ("income", range(1000, 1040)), ("year", range(1960, 2000)))
    ],
    "columns that number a group and a member of it are asked about": [
        numbered(*names, several) for names in (("hhid", "pid", "wave"), ("school", "student", "year"))
        for several in (False, True)
    ],
    "rows of visits count where nothing sensitive forbids it": [
        Guessed({**visits().drop(columns=["diagnosis", "result"])}, rows=len(visits())),
        Guessed({**visits()}, rows=len(visits())),
    ],
    "what somebody says is not guessed, and nothing is asked": [
        Guessed({**visits()}, "--sensitive ward,q9 --quasi-identifiers result --ignore diagnosis --person patient "
                "--outcome result", len(visits())),
    ],
    "of the census of the demo it guesses what its maker says": [Guessed({**census_people(3000)}, rows=3000)],
}  # fmt: skip


def earners(rng: Rng) -> dict[str, np.ndarray]:
    income = rng.lognormal(10, 0.6, 900).round()
    age = rng.integers(18, 90, 900)
    return {
        "sex": rng.choice(["f", "m"], 900), "age": age, "income": income.astype(int), "q1": np.log(income).round(6),
        "q2": np.where(income > 30_000, "high", "low"), "q3": rng.integers(0, 50, 900), "agesq": age**2,
        "pension": np.where(age >= 65, "yes", "no"),
    }  # fmt: skip


def scores(rng: Rng) -> dict[str, np.ndarray]:
    race = rng.choice(["A", "B"], 3000, p=[0.3, 0.7])
    by_race = {"A": [0.04] * 7 + [0.24] * 3, "B": [0.12] * 7 + [0.16 / 3] * 3}
    score = np.array([rng.choice(10, p=by_race[own]) for own in race]) + 1
    return {"race": race, "score": score, "score_text": np.where(score > 7, "high", "low")}


def coded(rng: Rng) -> dict[str, np.ndarray]:
    diagnosis = rng.integers(0, 6, 600)
    return {"town": rng.choice(["a", "b", "c"], 600), "code": [f"x{d}" for d in diagnosis], "diagnosis": diagnosis}


def salaries(rng: Rng) -> dict[str, np.ndarray]:
    base, extra, bonus, z = rng.integers(0, 2000, (4, 600))
    return {"sex": rng.choice(["f", "m"], 600), "base": base, "extra": extra, "bonus": bonus, "z": z,
            "salary": base + extra - bonus}  # fmt: skip


def skipped(rng: Rng) -> dict[str, np.ndarray]:
    skips, fond = rng.random(1200) < 0.3, rng.random(1200)
    shares = {"window": 0.2, "aisle": 0.1, "smoked_on_board": 0.1, "drinks_on_board": 0.2}
    return {"age": rng.integers(18, 80, 1200)} | {
        name: np.where(skips, "", np.where(rng.random(1200) < low + 0.5 * fond, "Yes", "No"))
        for name, low in shares.items()
    }


def since(first: str, second: str) -> Callable[[Rng], dict[str, object]]:
    """A column that only those have of whom the first says yes."""

    def columns(rng: Rng) -> dict[str, object]:
        has = rng.choice(["no", "yes"], 900)
        return {first: has, second: np.where(has == "yes", rng.integers(2000, 2016, 900).astype(str), "")}

    return columns


def letters(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


TOWNS = [f"town {n % 7}" for n in range(ROWS)]
BORN = [[n % 28 + 1 for n in range(ROWS)], [n % 12 + 1 for n in range(ROWS)], [20 + n % 37 for n in range(ROWS)]]
SPLIT = {
    "first": [letters(n % 40) for n in range(ROWS)], "last": [letters(1000 + n % 50) for n in range(ROWS)],
    "street": [f"{letters(n % 30)} street" for n in range(ROWS)], "house_number": [n % 60 + 1 for n in range(ROWS)],
}  # fmt: skip
LIKED = "natrace natfare natspac natsoc natsci natmass natpark"
ALIKE = "sex region score1 score2 scorek scores_of room1 roomk"
TOGETHER: dict[str, Sequence[Guessed]] = {
    "what follows from an income is left out, and what follows from an age is not sensitive": [Guessed(earners, rows=900)],
    "what is coarser than a sensitive column is left out: no promise about it would hold": [Guessed(scores, rows=3000)],
    "a code beside its name is left out and asked about; if somebody wants it, the name is": [
        Guessed(coded, rows=600), Guessed(coded, "--wanted code --quasi-identifiers code", 600),
    ],
    "the parts of a sum are as sensitive as the sum": [Guessed(salaries, rows=600)],
    "a block that the same people skip is no secret and no wish": [Guessed(skipped, "--outcome age", 1200)],
    "what would give a sensitive column away has tables of its own": [Guessed(since("hiv", "since"), rows=900)],
    "what is sensitive only as most others are is asked about and stays": [
        Guessed(lambda rng: {**since("x7", "y7")(rng), "diagnosis": "a b", "religion": "a b", "hiv_status": "a b"},
                "--outcome religion", 900),
    ],
    "exact coordinates are left out together, whether or not one of them has decimals": [
        Guessed({a: [f"44.{9000 + n}" for n in range(ROWS)], b: [93200 + n % 250 for n in range(ROWS)], "town": TOWNS})
        for a, b in (("lat", "long"), ("latitude", "longitude"), ("x_coord", "y_coord"), ("easting", "northing"))
    ],
    "coarse coordinates, and one alone, stay": [
        Guessed({"long": [n % 150 for n in range(ROWS)], "town": TOWNS}),
        Guessed({"x_coord": [n % 9 for n in range(ROWS)], "y_coord": [n % 13 for n in range(ROWS)]}),
    ],
    "of a day of birth in three columns the day is left out": [
        Guessed(dict(zip(names.split(), BORN))) for names in (
            "birth_day birth_month birth_year", "dob_d dob_m dob_y", "Geburtstag_Tag Geburtsmonat Geburtsjahr",
            "dayborn mnthborn age")
    ],
    "a day without its month, or that somebody says is known, stays": [
        Guessed({"dob_d": BORN[0], "dob_y": BORN[2]}),
        Guessed(dict(zip(("dob_d", "dob_m", "dob_y"), BORN)), "--quasi-identifiers dob_d"),
    ],
    "names and addresses that are split identify, and half of them do not": [
        *(Guessed({name: SPLIT[name] for name in names} | {"town": TOWNS})
          for names in (("first", "last"), ("street", "house_number"), ("first",), ("street",))),
    ],
    "columns that are called alike are treated alike": [Guessed(dict.fromkeys(ALIKE.split(), "u v w"))],
    "what is spent is told by the names of goods beside an income": [
        Guessed(dict.fromkeys(("wfood", "ehous", "pfood", *more), "1.5 2.5 7")) for more in (("income",), ())
    ],
    "columns with names that begin alike and the same answers are asked about six at once, and four are not": [
        Guessed(dict.fromkeys([*LIKED.split(), "naming"], "1 2 3") | {"natural": ["1", "2"]}),
        Guessed(dict.fromkeys(LIKED.split()[:4], "1 2 3")),
    ],
    "one word in many names says one thing of a table: charges of calls, and not the calls": [
        Guessed({f"total_{part}_{what}": whole(0, most) for part in ("day", "eve", "night", "intl")
                 for what, most in (("salary", 900), ("blips", 40))} | {"voice_plan": "no yes"}, rows=600),
    ],
    "what is rare to init is rare in columns too that the others make sensitive: a value of 15 rows": [
        Guessed(dict.fromkeys(("diagnosis", "religion", "hiv_status"), "a b")
                | {"q7": np.random.default_rng(4).permutation(np.repeat(["x", "y", "z"], [200, 185, 15]))}, f"--rare {rare}")
        for rare in (10, 20)
    ],
    "what nothing is known of is one question, and the last of columns": [
        Guessed(dict.fromkeys(("v1x", "result", "v2y", "v3z"), "u v w"), "--outcome v1x"),
    ],
    "what a table is for is what is named so, else what is sensitive, and never what stands alone": [
        Guessed({"arm": "new usual", **census_people(1000)}, rows=1000),
        *(Guessed({name: whole(0, 3) for name in names.split()}) for names in (
            "town kids religion", "town kids religion income", "town kids income religion relapse treat", "town kids",
            "town kids size")),
    ],
    "what somebody says a table is for weighs more than all, and both together most": [
        Guessed({**census_people(1000)}, options, 1000)
        for options in ("--outcome age", "--outcome age,sex", "--wanted sex,age")
    ],
}  # fmt: skip

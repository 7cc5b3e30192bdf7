"""Columns of public data sets with the role and kind that a person would give them: most are guessed right.

Each is a stand-in, made from the quantiles, or the shares of the values, of a real column, whose package and data set it
names (those of pydataset by the set alone); names of people and dates are made up. What is right was written down before any
guess was made.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

import numpy as np
import pytest

from first_configs import guessed
from marginals import Role

FEWEST_RIGHT = 36
"""Of the forty; some cannot be told without a codebook."""

FEWEST_HELD_OUT_RIGHT = 8
"""Of the nine."""


@dataclass(frozen=True)
class Public:
    """A column of a data set: its right role and kind, percent missing, rows, and what its values are like.

    shares: values, each with its share of the rows. numbers: with these quantiles (0, 5, 25, 50, 75, 95, 100 percent),
    rounded to some decimals, and maybe written as floats. keys: so many numbers of somebody, each in as many rows, or
    between two numbers of rows. days: from the first on, so many, spelled in a way. names: made-up ones of so many people.
    steps: so many numbers, so many rows each, the first and the distance.
    """

    source: str
    name: str
    role: str
    kind: str
    missing: str
    rows: str
    values: str

    def texts(self) -> list[str]:
        rng, rows = np.random.default_rng(0), int(self.rows)
        form, _, told = self.values.partition(" ")
        if form == "shares":
            share = {value: float(own) for value, _, own in (each.rpartition(" ") for each in told.split("; "))}
            whole = sum(share.values())
            return [value for value, own in share.items() for _ in range(max(1, round(own / whole * rows)))]
        if form == "numbers":
            quantiles, (decimals, *end) = told.partition("; ")[0].split(), told.partition("; ")[2].split()
            shares = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
            drawn = np.interp([0, 1, *rng.random(rows - 2)], shares, [float(own) for own in quantiles])
            return [f"{value:.{decimals}f}" + "".join(end) for value in drawn]
        if form == "keys":
            keys, least, most = map(int, told.split())
            each = rng.integers(least, most + 1, keys)
            return [str(key + 13) for key, times in enumerate(each.tolist()) for _ in range(times)]
        if form == "days":
            first, span, spelled = told.split(" ", 2)
            start = date.fromisoformat(first)
            return [spelled.format(start + timedelta(days=int(n))) for n in rng.integers(0, int(span), rows)]
        if form == "steps":
            number, times, low, step = map(float, told.split())
            return [f"{low + n * step:.3f}" for n in range(int(number)) for _ in range(int(times))]
        letters = list("aeioulmnrst")
        return ["".join(rng.choice(letters, 7)).title() + f" {chr(65 + n % 26)}." for n in range(int(told))]


def columns_of(listed: str) -> list[Public]:
    """One a line, a longer one on several."""
    lines = listed.strip().replace("\n    ", " ").splitlines()
    return [Public(*line.split(" | ")) for line in lines]


COLUMNS = columns_of("""
rwm5yr | id | identifier | none | 0 | 1000 | keys 600 1 6
rwm5yr | year | quasi-identifier | categories or numbers | 0 | 1000 | shares 1988 229; 1984 198; 1985 193; 1986 193;
    1987 187
rwm5yr | age | quasi-identifier | numbers | 0 | 1000 | numbers 25 26 34 44 53 62 64; 0
rwm5yr | female | quasi-identifier | categories | 0 | 1000 | shares 0 520; 1 480
rwm5yr | hhninc | sensitive | numbers | 0 | 1000 | numbers 0 1.3 2.2 3 4 6 30.671; 5
rwm5yr | educ | quasi-identifier | categories or numbers | 0 | 1000 | shares 10.5 350; 9.0 198; 11.5 108; 11.0 98; 18.0
    63; 12.0 59; 15.0 25; 10.0 22; 13.0 21; 14.5 14; 14.0 12; 16.0 10; 13.5 7; 7.0 5; 17.0 3; 11.8182401657104 2;
    10.8054895401001 1; 8.5 1; 11.4414196014404 1
flchain | age | quasi-identifier | numbers | 0 | 1000 | numbers 50 51 55 63 72 84 101; 0
flchain | creatinine | sensitive | numbers | 17.1 | 1000 | numbers 0.4 0.8 0.9 1 1.2 1.5 10.8; 1
flchain | chapter | sensitive | categories | 72.5 | 1000 | shares Circulatory 343; Neoplasms 261; Respiratory 113;
    Mental 66; Nervous 60; Digestive 30; External Causes 30; Endocrine 22; Genitourinary 19; Ill Defined 18; Infectious
    15; Injury and Poisoning 10; Musculoskeletal 6; Blood 2; Skin 2; Congenital 1
flchain | futime | quasi-identifier | numbers | 0 | 1000 | numbers 0 470.3 2852 4302 4773 4977 5215; 0
colon | id | identifier | none | 0 | 1000 | keys 929 2 2
colon | nodes | sensitive | numbers | 1.9 | 1000 | numbers 0 1 1 2 5 11 33; 0 .0
pbc | age | quasi-identifier | numbers | 0 | 1000 | numbers 26.2779 33.839 42.8323 51.0007 58.2409 67.9209 78.4394; 5
pbc | bili | sensitive | numbers | 0 | 1000 | numbers 0.3 0.5 0.8 1.4 3.4 14 28; 1
pbc | stage | sensitive | categories | 1.4 | 1000 | shares 3.0 376; 4.0 350; 2.0 223; 1.0 51
cgd | center | quasi-identifier | categories | 0 | 1000 | shares NIH 202; Scripps Institute 177; Amsterdam 138; Univ.
    of Zurich 103; Mott Children's Hosp 99; L.A. Children's Hosp 64; Texas Children's Hosp 54; Univ. of Minnesota 49;
    Univ. of Utah 25; Mt. Sinai Medical Ctr 25; Copenhagen 25; Harvard Medical Sch 20; Univ. of Washington 20
cgd | random | quasi-identifier | dates | 0 | 1000 | days 1988-08-28 200 {:%Y-%m-%d}
medpar | provnum | quasi-identifier | codes | 0 | 1000 | numbers 30001 30002 30013 30036 30080 30093 32003; 0
Aids2 | T.categ | sensitive | categories | 0 | 1000 | shares hs 867; blood 33; hsid 25; other 25; id 17; haem 16; het
    14; mother 2
Aids2 | state | quasi-identifier | categories | 0 | 1000 | shares NSW 626; VIC 207; Other 88; QLD 79
Chile | vote | sensitive | categories | 6.2 | 1000 | shares N 351; Y 343; U 232; A 74
Chile | income | sensitive | categories or numbers | 3.6 | 1000 | shares 15000.0 295; 35000.0 287; 7500.0 190; 75000.0
    103; 2500.0 61; 125000.0 34; 200000.0 29
SLID | wages | sensitive | numbers | 44.1 | 1000 | numbers 2.3 6.523 9.235 14.09 19.8 30.436 49.92; 2
SLID | language | quasi-identifier | categories | 1.6 | 1000 | shares English 783; Other 149; French 68
Males | occupation | quasi-identifier | categories | 0 | 1000 | shares Craftsmen, Foremen_and_kindred 214;
    Operatives_and_kindred 202; Service_Workers 117; Clerical_and_kindred 111; Professional, Technical_and_kindred 104;
    Laborers_and_farmers 92; Managers, Officials_and_Proprietors 92; Sales_Workers 53; Farm_Laborers_and_Foreman 15
Males | health | sensitive | categories | 0 | 1000 | shares no 983; yes 17
Males | nr | identifier | none | 0 | 1000 | keys 545 8 8
Males | union | sensitive | categories | 0 | 1000 | shares no 756; yes 244
vega_datasets la-riots | first_name | identifier | none | 0 | 1000 | names 63
vega_datasets la-riots | neighborhood | quasi-identifier | categories | 0 | 63 | shares Compton 63; Vermont Square 63;
    Koreatown 63; Hollywood 63; South Park 48; Green Meadows 48; Watts 48; Silver Lake 32; Pico-Union 32; Chesterfield
    Square 32; Gramercy Park 32; Florence 32; Mission Hills 32; East Hollywood 32; Westlake 16; Chinatown 16; Hawthorne
    16; Harvard Park 16; Vermont-Slauson 16; Hyde Park 16; Del Rey 16; Boyle Heights 16; Lennox 16; Valley Glen 16;
    Pomona 16; Long Beach 16; Central-Alameda 16; Downtown 16; Altadena 16; Pasadena 16; Harvard Heights 16; Baldwin
    Park 16; Sawtelle 16; Historic South-Central 16; Huntington Park 16; San Fernando 16; Ladera Heights 16; Pacoima 16
vega_datasets la-riots | type | sensitive | categories | 0 | 63 | shares Homicide 571; Officer-involved shooting 159;
    Not riot-related 143; Death 127
vega_datasets la-riots | death_date | quasi-identifier | dates | 0 | 63 | shares 1992-04-30 444; 1992-05-01 206;
    1992-04-29 127; 1992-05-03 79; 1992-05-02 63; 1992-05-23 16; 1992-12-16 16; 1992-08-12 16; 1992-05-20 16;
    1993-11-24 16
lifelines ACTG175 | pidnum | identifier | none | 0 | 1000 | keys 1000 1 1
lifelines ACTG175 | wtkg | quasi-identifier | numbers | 0 | 1000 | numbers 31 55.4839 66.6792 74.3904 82.5552 97.8882
    159.939; 5
lifelines canadian_senators | Political Affiliation at Appointment | sensitive | categories | 0 | 1000 | shares Liberal
    Party of Canada 513; Conservative (1867-1942) 226; Progressive Conservative Party 120; Conservative Party of Canada
    65; Liberal-Conservative 41; Independent 12; Independent Liberal 5; Independent Conservative 4; Nationalist Liberal
    2; Unionist (Liberal) 2; Nationalist 2; Nationalist Conservative 1; Reformer 1; Reform Party 1; New Democratic
    Party 1; Liberal Progressive 1; Social Credit Party 1
lifelines canadian_senators | start_date | quasi-identifier | dates | 0 | 1000 | days 1867-10-23 50000 {:%Y-%m-%d}
    00:00:00
lifelines rossi | arrest | sensitive | categories | 0 | 1000 | shares 0 736; 1 264
Benefits | state | quasi-identifier | categories | 0 | 1000 | numbers 11 14 31 55 74 93 95; 0
biopsy | class | sensitive | categories | 0 | 1000 | shares benign 655; malignant 345
palmerpenguins penguins_raw | Comments | ignored | none | 84.3 | 1000 | shares Nest never observed with full clutch.
    630; Not enough blood for isotopes. 130; Sexing primers did not amplify. 74; No blood sample obtained. 37; No blood
    sample obtained for sexing. 37; Adult not sampled. 19; Nest never observed with full clutch. Not enough blood for
    isotopes. 19; Sexing primers did not amplify. Not enough blood for isotopes. 19; Adult not sampled. Nest never
    observed with full clutch. 19; No delta15N data received from lab. 19
""")

HELD_OUT = columns_of("""
birthwt | race | quasi-identifier | categories | 0 | 1000 | shares 1 508; 3 354; 2 138
birthwt | lwt | quasi-identifier | numbers | 0 | 189 | numbers 80 94.4 110 121 140 188.2 250; 0
Bwages | wage | sensitive | numbers | 0 | 1000 | numbers 2.191 6.035 8.113 10.127 12.755 19.26 47.576; 3
Bwages | educ | quasi-identifier | categories or numbers | 0 | 1000 | shares 3 285; 4 242; 5 226; 2 180; 1 67
HSAUR respiratory | status | sensitive | categories | 0 | 1000 | shares poor 493; good 507
lung | inst | quasi-identifier | categories or numbers | 0.4 | 227 | numbers 1 1 3 11 16 26 33; 0
Crime | pctmin | quasi-identifier | numbers | 0 | 630 | steps 90 7 1.284 0.709
Chile | region | quasi-identifier | categories | 0 | 1000 | shares SA 356; S 266; C 222; N 119; M 37
ovarian | age | quasi-identifier | numbers | 0 | 200 | numbers 38.893 40.234 50.167 56.847 62.378 73.953 74.504; 4
""")
"""Columns that no guess was improved for."""


@cache
def guess_of(public: Public) -> dict[str, Any]:
    texts = public.texts()
    gone = round(float(public.missing) / (100 - float(public.missing)) * len(texts))
    return guessed(public.name, [*texts, *[""] * gone])


def kind_of(found: dict[str, Any]) -> str:
    if not Role(found["role"]).is_used:
        return "none"
    if found["why"].startswith("dates"):
        return "dates"
    if "intervals" in found or "in bands" in found["why"]:
        return "numbers"
    return "codes" if "prefixes" in found else "categories"


def is_right(public: Public) -> bool:
    found = guess_of(public)
    return found["role"] == public.role and kind_of(found) in public.kind.split(" or ")


@pytest.mark.parametrize(
    ("columns", "number", "fewest"), [(COLUMNS, 40, FEWEST_RIGHT), (HELD_OUT, 9, FEWEST_HELD_OUT_RIGHT)]
)
def test_most_roles_and_kinds_are_guessed_right(columns: list[Public], number: int, fewest: int) -> None:
    wrong = [f"{public.source} {public.name}" for public in columns if not is_right(public)]
    assert len(columns) == number
    assert len(columns) - len(wrong) >= fewest, wrong


@pytest.mark.parametrize("public", COLUMNS, ids=lambda public: f"{public.source}-{public.name}")
def test_each_guess_has_a_reason_and_bands_that_a_person_would_choose(public: Public) -> None:
    found = guess_of(public)
    assert found["why"]
    if public.name == "age":
        assert found["ladder"] == "fitted"
        assert found.get("intervals", []) in ([], [1])
    assert (found.get("missing") == "as a value") == (Role(found["role"]).is_used and float(public.missing) > 5)

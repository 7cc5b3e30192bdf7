"""Made-up tables for trying everything out where no table about real people is at hand: a census, and a hospital."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy

# The census has a health question. Each attribute is drawn given earlier ones: age and postcode first, then sex,
# education, marital status, occupation and last the sensitive diagnosis. All tables below hold *weights*: only their
# ratios within a row of people matter, so that two influences combine by multiplication. No person, place or rate in
# here is real.


MISSING = "?"
MISSING_PROBABILITY = 0.005
"""Share of rows in which education or occupation was left unanswered."""

YOUNGEST, OLDEST = 17, 90

_ANCHOR_AGES = (17, 20, 25, 35, 50, 60, 70, 80)
"""The columns of every `..._BY_AGE` table; ages in between are interpolated, later ones are like the last."""

_PEOPLE_BY_AGE = (80, 90, 110, 115, 100, 75, 45, 22)
_WOMEN_BY_AGE = (0.49, 0.49, 0.50, 0.50, 0.51, 0.52, 0.55, 0.61)


class _Region(NamedTuple):
    """Postcodes that share their first two digits."""

    population: int
    districts: int
    urbanity: float  # from -1, remote, to 1, inner city


_REGIONS = {
    "10": _Region(population=26, districts=5, urbanity=1.0),
    "12": _Region(population=18, districts=4, urbanity=0.6),
    "25": _Region(population=15, districts=4, urbanity=0.4),
    "31": _Region(population=12, districts=3, urbanity=0.0),
    "34": _Region(population=10, districts=3, urbanity=-0.2),
    "47": _Region(population=8, districts=3, urbanity=-0.4),
    "68": _Region(population=6, districts=2, urbanity=-0.8),
    "83": _Region(population=5, districts=2, urbanity=-1.0),
}
_PLACES_PER_DISTRICT = 3

_EDUCATION = (
    ("Primary school", "Compulsory school", "No degree", "*"),
    ("Lower secondary", "Compulsory school", "No degree", "*"),
    ("Upper secondary", "Further school", "No degree", "*"),
    ("Vocational training", "Further school", "No degree", "*"),
    ("Short college course", "First degree", "Degree", "*"),
    ("Bachelor", "First degree", "Degree", "*"),
    ("Master", "Higher degree", "Degree", "*"),
    ("Doctorate", "Higher degree", "Degree", "*"),
)
_EDUCATION_BY_AGE = {
    "Primary school": (6, 3, 3, 3, 5, 9, 16, 26),
    "Lower secondary": (64, 14, 9, 8, 11, 15, 20, 24),
    "Upper secondary": (30, 46, 24, 18, 20, 22, 21, 18),
    "Vocational training": (0, 12, 18, 20, 23, 22, 19, 15),
    "Short college course": (0, 25, 17, 13, 11, 10, 8, 6),
    "Bachelor": (0, 0, 23, 22, 17, 13, 9, 6),
    "Master": (0, 0, 6, 13, 10, 7, 5, 4),
    "Doctorate": (0, 0, 0, 3, 3, 2, 2, 1),
}
_CITY_ODDS_PER_EDUCATION_STEP = 1.2

_MARITAL_STATUS = (
    ("Never married", "Never married", "Not married", "*"),
    ("Married", "Married", "Married", "*"),
    ("Separated", "Formerly married", "Not married", "*"),
    ("Divorced", "Formerly married", "Not married", "*"),
    ("Widowed", "Formerly married", "Not married", "*"),
)
_MARITAL_STATUS_OF_WOMEN_BY_AGE = {
    "Never married": (100, 93, 68, 25, 13, 8, 6, 6),
    "Married": (0, 7, 29, 60, 61, 61, 52, 30),
    "Separated": (0, 0, 2, 5, 5, 3, 2, 1),
    "Divorced": (0, 0, 1, 10, 19, 19, 15, 9),
    "Widowed": (0, 0, 0, 0, 2, 9, 25, 54),
}
_MARITAL_STATUS_OF_MEN_BY_AGE = {
    "Never married": (100, 97, 82, 34, 17, 10, 7, 5),
    "Married": (0, 3, 16, 54, 62, 69, 72, 66),
    "Separated": (0, 0, 1, 4, 4, 3, 2, 1),
    "Divorced": (0, 0, 1, 8, 16, 15, 11, 6),
    "Widowed": (0, 0, 0, 0, 1, 3, 8, 22),
}

_OCCUPATION = (
    ("Manager", "Office work", "Employed", "*"),
    ("Professional", "Office work", "Employed", "*"),
    ("Clerical", "Office work", "Employed", "*"),
    ("Sales", "Service work", "Employed", "*"),
    ("Care and hospitality", "Service work", "Employed", "*"),
    ("Craft", "Manual work", "Employed", "*"),
    ("Machines and transport", "Manual work", "Employed", "*"),
    ("Farming", "Manual work", "Employed", "*"),
    ("Student", "Not employed", "Not employed", "*"),
    ("Retired", "Not employed", "Not employed", "*"),
    ("At home or seeking work", "Not employed", "Not employed", "*"),
)
_EMPLOYED_BY_AGE = (20, 52, 78, 84, 82, 62, 9, 1)
_NOT_EMPLOYED_BY_AGE = {
    "Student": (74, 38, 10, 1, 0, 0, 0, 0),
    "Retired": (0, 0, 0, 0, 1, 18, 82, 96),
    "At home or seeking work": (6, 10, 12, 15, 17, 20, 9, 3),
}
_JOB_BY_EDUCATION = {  # a column for each education, primary school to doctorate
    "Manager": (2, 4, 9, 8, 14, 20, 27, 20),
    "Professional": (1, 2, 6, 12, 22, 46, 57, 72),
    "Clerical": (5, 9, 23, 15, 27, 16, 8, 3),
    "Sales": (11, 16, 22, 11, 15, 8, 4, 2),
    "Care and hospitality": (23, 24, 18, 14, 12, 5, 2, 1),
    "Craft": (19, 18, 10, 27, 6, 3, 1, 1),
    "Machines and transport": (21, 17, 8, 10, 3, 1, 1, 1),
    "Farming": (18, 10, 4, 3, 1, 1, 1, 1),
}
_OCCUPATION_ODDS = {  # of women against men, of the inner city against the middling region
    "Manager": (0.7, 1.2),
    "Professional": (1.1, 1.2),
    "Clerical": (1.9, 1.1),
    "Sales": (1.1, 1.1),
    "Care and hospitality": (3.0, 1.0),
    "Craft": (0.15, 0.9),
    "Machines and transport": (0.2, 0.9),
    "Farming": (0.5, 0.2),
    "Student": (1.0, 1.2),
    "Retired": (1.0, 1.0),
    "At home or seeking work": (1.6, 1.0),
}

_DIAGNOSIS_BY_AGE = {
    "Asthma": (15, 13, 11, 9, 6, 5, 5, 4),
    "Back pain": (6, 9, 12, 16, 17, 14, 11, 9),
    "Cancer": (1, 1, 2, 4, 7, 10, 12, 12),
    "Depression": (11, 13, 14, 14, 12, 8, 6, 7),
    "Diabetes": (2, 2, 3, 5, 9, 12, 13, 11),
    "Heart disease": (1, 1, 1, 3, 7, 12, 17, 23),
    "Hypertension": (2, 3, 5, 10, 17, 19, 19, 18),
    "Injury": (24, 22, 17, 12, 9, 8, 9, 10),
    "Migraine": (12, 13, 13, 12, 8, 5, 3, 2),
    "Respiratory infection": (26, 23, 22, 15, 8, 7, 5, 4),
}
_DIAGNOSIS_ODDS = {  # of women against men, of the inner city against the middling region
    "Asthma": (1.1, 1.4),
    "Back pain": (1.1, 0.9),
    "Cancer": (0.9, 1.0),
    "Depression": (1.6, 1.2),
    "Diabetes": (0.8, 0.9),
    "Heart disease": (0.65, 0.9),
    "Hypertension": (0.9, 1.0),
    "Injury": (0.6, 0.8),
    "Migraine": (2.2, 1.0),
    "Respiratory infection": (1.0, 1.1),
}
_DIAGNOSIS_BY_WORK = {  # a column for each kind of work: office, service, manual, not employed
    "Asthma": (0.9, 1.0, 1.2, 1.0),
    "Back pain": (0.8, 1.2, 1.8, 0.9),
    "Cancer": (1.0, 1.0, 1.0, 1.1),
    "Depression": (1.1, 1.2, 0.7, 1.3),
    "Diabetes": (0.9, 1.0, 1.2, 1.1),
    "Heart disease": (1.0, 0.9, 1.1, 1.1),
    "Hypertension": (1.3, 1.0, 0.9, 1.0),
    "Injury": (0.6, 0.9, 1.9, 0.9),
    "Migraine": (1.4, 1.1, 0.7, 1.0),
    "Respiratory infection": (1.0, 1.4, 0.8, 1.0),
}


def simulate_census(rng: np.random.Generator, rows: int = 24_000) -> pd.DataFrame:
    """A table of invented people, one row each, every value a string as it would come from a CSV file.

    `person_id` identifies, `age` (17 to 90) to `occupation` are quasi-identifiers, `diagnosis` is sensitive. About one
    row in 200 has "?" for education or occupation. The same generator state and row count give the same table.
    """
    age = _age(rng, rows)
    postcode, urbanity = _postcode(rng, rows)
    is_woman = rng.random(len(age)) < np.interp(age, _ANCHOR_AGES, _WOMEN_BY_AGE)
    education = _education(rng, age, urbanity)
    marital_status = _marital_status(rng, age, is_woman)
    occupation = _occupation(rng, age, is_woman, education, urbanity)
    diagnosis = _diagnosis(rng, age, is_woman, occupation, urbanity)
    unanswered = rng.random(rows)
    return pd.DataFrame(
        {
            "person_id": [f"P{number:06d}" for number in rng.permutation(rows) + 1],
            "age": age.astype(str),
            "postcode": postcode,
            "sex": np.where(is_woman, "Female", "Male"),
            "education": np.where(unanswered < MISSING_PROBABILITY / 2, MISSING, _labels(_EDUCATION_BY_AGE)[education]),
            "marital_status": _labels(_MARITAL_STATUS_OF_MEN_BY_AGE)[marital_status],
            "occupation": np.where(
                unanswered > 1 - MISSING_PROBABILITY / 2, MISSING, _labels(_OCCUPATION_ODDS)[occupation]
            ),
            "diagnosis": _labels(_DIAGNOSIS_BY_AGE)[diagnosis],
        }
    )


def census_hierarchies() -> dict[str, list[tuple[str, ...]]]:
    """For each attribute that needs a hierarchy file, its rows `value, level1, ..., *`."""
    return {"education": list(_EDUCATION), "marital_status": list(_MARITAL_STATUS), "occupation": list(_OCCUPATION)}


def _age(rng: np.random.Generator, rows: int) -> IndexArray:
    ages = np.arange(YOUNGEST, OLDEST + 1)
    weights = np.interp(ages, (*_ANCHOR_AGES, OLDEST), (*_PEOPLE_BY_AGE, 5))
    return rng.choice(ages, rows, p=weights / weights.sum())


def _postcode(rng: np.random.Generator, rows: int) -> tuple[NDArray[np.str_], FloatArray]:
    """Postcodes, region then district then place, and the urbanity of their regions. Later districts are smaller."""
    codes, weights, urbanity = [], [], []
    for prefix, region in _REGIONS.items():
        shares = np.outer(1 / np.arange(1, region.districts + 1), 1 / np.arange(1, _PLACES_PER_DISTRICT + 1))
        for (district, place), share in np.ndenumerate(shares / shares.sum()):
            codes.append(f"{prefix}{district + 1}{place + 1}0")
            weights.append(region.population * share)
            urbanity.append(region.urbanity)
    drawn = rng.choice(len(codes), rows, p=np.array(weights) / sum(weights))
    return np.array(codes)[drawn], np.array(urbanity)[drawn]


def _education(rng: np.random.Generator, age: IndexArray, urbanity: FloatArray) -> IndexArray:
    steps = np.arange(len(_EDUCATION_BY_AGE))
    return _draw(rng, _at_age(_EDUCATION_BY_AGE, age) * _CITY_ODDS_PER_EDUCATION_STEP ** np.outer(urbanity, steps))


def _marital_status(rng: np.random.Generator, age: IndexArray, is_woman: BoolArray) -> IndexArray:
    women, men = _at_age(_MARITAL_STATUS_OF_WOMEN_BY_AGE, age), _at_age(_MARITAL_STATUS_OF_MEN_BY_AGE, age)
    return _draw(rng, np.where(is_woman[:, None], women, men))


def _occupation(
    rng: np.random.Generator, age: IndexArray, is_woman: BoolArray, education: IndexArray, urbanity: FloatArray
) -> IndexArray:
    jobs = _columns(_JOB_BY_EDUCATION)[education] / 100
    employed = np.interp(age, _ANCHOR_AGES, _EMPLOYED_BY_AGE)[:, None] * jobs
    weights = np.hstack([employed, _at_age(_NOT_EMPLOYED_BY_AGE, age)])
    return _draw(rng, weights * _odds(_OCCUPATION_ODDS, is_woman, urbanity))


def _diagnosis(
    rng: np.random.Generator, age: IndexArray, is_woman: BoolArray, occupation: IndexArray, urbanity: FloatArray
) -> IndexArray:
    work = Hierarchy.from_rows(_OCCUPATION).lift(0, 1)[occupation]
    weights = _at_age(_DIAGNOSIS_BY_AGE, age) * _columns(_DIAGNOSIS_BY_WORK)[work]
    return _draw(rng, weights * _odds(_DIAGNOSIS_ODDS, is_woman, urbanity))


def _labels(table: Mapping[str, Sequence[float]]) -> NDArray[np.str_]:
    return np.array(list(table))


def _columns(table: Mapping[str, Sequence[float]]) -> FloatArray:
    """The columns of a table of weights: shape (columns, labels)."""
    return np.array(list(table.values()), dtype=np.float64).T


def _at_age(table: Mapping[str, Sequence[float]], age: IndexArray) -> FloatArray:
    """The weights of everybody's age: shape (rows, labels)."""
    ages = np.arange(YOUNGEST, OLDEST + 1)
    return np.stack([np.interp(ages, _ANCHOR_AGES, weights) for weights in table.values()], axis=1)[age - YOUNGEST]


def _odds(table: Mapping[str, Sequence[float]], is_woman: BoolArray, urbanity: FloatArray) -> FloatArray:
    """What sex and region multiply the weights with: shape (rows, labels)."""
    of_women, of_city = _columns(table)
    halves = np.where(is_woman, 0.5, -0.5)
    odds: FloatArray = of_women ** halves[:, None] * of_city ** urbanity[:, None]
    return odds


def _draw(rng: np.random.Generator, weights: FloatArray) -> IndexArray:
    """One column for each row, with probability proportional to its weight: the first of racing exponential clocks."""
    winners: IndexArray = (weights / rng.standard_exponential(weights.shape)).argmax(axis=1)
    return winners


CENSUS_CONFIG = """\
# What to protect in census.csv, how values may be coarsened, and how to look for tables to publish.
# To use it for a table of your own, change the path and keep one [attributes.NAME] section for every column.

[release]
title = "A simulated census"   # what the report and the descriptor call the release
# publisher = "City of Ulm"    # also date, contact and licence: readers are told them as you type them

[data]
path = "census.csv"          # CSV or Parquet; all paths are relative to this file
missing = ["?", ""]          # rows with one of these in a column that is used are left out, and counted
domain = "declared"          # a coarse value stands for everything its hierarchy puts under it;
                             # "observed": only for those base values that occur in the table
# where = "age >= 20"        # publish only the part of the table where this holds; other parts need a ledger
# person = "person_id"       # whose row it is, for a table in which a person can have several; then also
# one_row = "first"          # which of them counts ("last", "random"), or rows_per_person = 5: at most so many of each
engine = "auto"              # what reads the table: "pandas", "duckdb" (larger than memory)

# The role of a column is one of
#   "identifier"        names a person; never read any further
#   "ignored"           not wanted in the release
#   "quasi-identifier"  others may know it about a person: what people could be recognized by
#   "sensitive"         what nobody may learn about a person
#
# A quasi-identifier can be coarsened step by step, from the value as it is to "*", which says nothing. The steps are
#   intervals = [5, 10, 20]          whole numbers, in ever wider intervals; each width is a multiple of the one before
#                                    ([0.5, 2.5] or [5.0, 10.0], with a point: numbers with decimals)
#                                    (they are counted from 0; start = 17 would count them from 17)
#   prefixes = [3, 2]                codes, of which ever fewer characters are kept
#   hierarchy = "hierarchies/x.csv"  anything else: a file without header, separated by semicolons, with one line for
#                                    each value: the value, what it becomes first, what it becomes next, ..., *
# With none of these, the column is published as it is or not at all.
# A release names the values that its tables count, and no others: who lacks a value, or has a rare one, stays unnamed.
#   labels = "public"                the whole hierarchy file goes with the release, so that readers can also ask for values
#                                    between: for a file that everybody may know, made without looking at the table

[attributes.person_id]
role = "identifier"

[attributes.age]
role = "quasi-identifier"
intervals = [5, 10, 20]      # 37 becomes 35-39, then 30-39, then 20-39, then *

[attributes.postcode]
role = "quasi-identifier"
prefixes = [3, 2]            # 12120 becomes 121**, then 12***, then *

[attributes.sex]
role = "quasi-identifier"

[attributes.education]
role = "quasi-identifier"
hierarchy = "hierarchies/education.csv"
labels = "public"

[attributes.marital_status]
role = "quasi-identifier"
hierarchy = "hierarchies/marital_status.csv"
labels = "public"

[attributes.occupation]
role = "quasi-identifier"
hierarchy = "hierarchies/occupation.csv"
labels = "public"

[attributes.diagnosis]
role = "sensitive"

# Each of these can be left out; what is left out is not checked.
[privacy]
k_link = 10                  # so many people at least share each published cell, the sensitive column set aside
k_combinatorial = 10         # each combination of nonsensitive values: the tables together either rule it out or leave room
                             # for at least so many rows; in the data it can be rarer
diversity = "recursive:3,4"  # what the tables together say about the diagnosis of people who look alike:
                             #   "distinct:4"        at least 4 diagnoses are possible
                             #   "simple:4"          none is more likely than 1 in 4
                             #   "entropy:4"         as uncertain as 4 equally likely ones
                             #   "recursive:3,4"     the likeliest is less than 3 times as likely as the 4th, 5th, ...
                             #                       likeliest taken together
                             #   "functional:0.5,4"  the likeliest has a share of at most 0.5, the likeliest 2, 3 and 4
                             #                       together at most 0.67, 0.83 and 1
                             #   "none"              nothing is demanded, on purpose; then remove register = true, too;
                             #                       without any of these lines the diagnosis is not published
min_cell = 3                 # no published count is below this but 0, the sensitive column counted too, and none follows
register = true              # so also for somebody who knows all columns but the diagnosis of everybody, from a register;
                             # not beside a ledger (--ledger), where people are in several releases
# no_small_certain = 10      # with further_tables, in the place of k_combinatorial: nobody can be certain that a combination
                             # of nonsensitive values has fewer rows than this and more than none; you attest it
# min_published_cell = 3     # ... of min_cell: no published count is below this but 0; one can follow
# turnover = "known"         # readers know that people come and go (for the releases of a ledger)
# rules = "cms-11"           # what an agency checks by, under its name: the same, and the report names the rule

# One table with all the columns, each coarsened as far as it must be, can be part of the release.
[base]
table = "auto"               # the most informative such table, if the release is better with it than without
                             # "best": always
                             # "none": smaller tables only, chosen freely
                             # { age = 3, sex = 0 }: this one: a step for each column it holds, 0 for values as they are

[search]
objective = "corrected"      # tables are chosen for what they tell beyond chance; "corrected:1": twice as careful;
                             # "kl": chance counts too
strategy = "auto"            # local search, in small tables with a proof that nothing is better
                             # "local": takes columns out and puts them in again, many times
                             # "forward": adds step by step what gains most
                             # "both": then also takes steps back where others then gain more
                             # "backward": from all that each table may show, back to what they may show together
                             # "exact": proves that no decomposable release within the policy is better; for few columns
                             #          with few levels
seed = 0                     # the same table, config and seed give the same release, unless time_limit ends the search
max_sensitive_margins = 3    # at most so many published tables hold the sensitive column; more are slower to check
time_limit = 60.0            # seconds; then the best release found so far is taken
# further_tables = "pairs"   # tables of more pairs of columns beside those with a junction tree; a number: so many at most;
                             # they need max_sensitive_margins = 1, no k_combinatorial and no min_cell
# max_attributes = 3         # ... or more columns
# max_waiting = 0.1          # in the first release of a ledger: tables so coarse that at most this share of the people is
                             # foreseen to wait for a later release, until enough others come or leave with them
# must_publish = [{ age = 2, sex = 0 }]       # something published shows at least this
# must_not_publish = [{ postcode = 0 }]       # nothing published shows this

# For `marginals risk`: what attackers hold, how much harm what they learn does, and how the table itself is disclosed.
[risk]
sensitivity = "linear"       # the harm is the sum of the weights of what is disclosed; "multiplicative": e to that power
weights = { diagnosis = 2.0, occupation = 0.5 }   # of a value as it is; a coarse one weighs less, * nothing; inf: never
missed = 0.0                 # the harm to a person whom the attacker does not identify
# dictionaries = ["voters.csv"]       tables of people that attackers may hold, with some of the columns above and values
# prior = [1.0]                       of any step; how likely each is. Without: the quasi-identifiers of the table itself
# personal_weights = "weights.csv"    each person's own weights, a row each, by the column whose role is identifier;
#                                     missed, and the weight of interactions, may name a column of it
# row_weight = "households"           a column of the table: how often each row counts in the risk
# clusters = [["age", "sex"]]         for --attributes: columns that depend on each other; the others count as independent
# similar = ["name"]                  columns whose values may be misspelled (needs rapidfuzz)
# threshold = 0.8                     the Jaro similarity from which on they are taken for the same
# [[risk.interactions]]               harm that only several columns together do
# attributes = ["age", "diagnosis"]
# weight = 0.5
# [risk.linkage]                      public records that attackers join with what is disclosed before they look for people
# table = "members.csv"
# columns = ["car"]                   its columns that the table lacks: what attackers learn by it

[[risk.rules]]               # as many as you like, in any order
attribute = "postcode"
level = 2                    # the step at which it is shown; without it, hidden
condition = "age >= 80"      # compares columns with constants; without it, for everybody
"""
"""The `release.toml` that goes with the census: a commented example of every key."""


# A made-up hospital whose table changes from month to month: some are admitted, some discharged, some records
# corrected.
#
# Its patients are people of the simulated census. No patient, place or rate in here is real.


ADMITTED, DISCHARGED, CORRECTED = 0.009, 0.009, 0.002
"""Share of the patients who come, who leave, and whose record is corrected in a month: 2 percent together."""

CORRECTABLE = ("education", "marital_status", "occupation", "diagnosis")
"""Columns in which a record may have been wrong."""


def hospital_config(table: str) -> str:
    """The config of the census for the table of a month. Readers of a hospital's releases know that patients come and go."""
    config = CENSUS_CONFIG.replace("census.csv", table).replace('# turnover = "known"  ', 'turnover = "known"    ')
    config = config.replace('"A simulated census"  ', '"A simulated hospital"')
    return config.replace("register = true  ", "# register = true")


def simulate_hospital(rng: np.random.Generator, rows: int, months: int) -> Iterator[pd.DataFrame]:
    """The table of each month, one row for each patient, as `simulate_census` gives it; of the first month so many rows.

    Whoever is admitted has an identifier that nobody had before. A corrected record takes one value, of a column drawn at
    random, from another patient. The same generator state gives the same tables.
    """
    patients = simulate_census(rng, rows)
    numbers = rows
    yield patients
    for _ in range(months - 1):
        stay = np.sort(rng.permutation(len(patients))[round(len(patients) * DISCHARGED) :])
        admitted = simulate_census(rng, round(len(patients) * ADMITTED))
        admitted["person_id"] = [f"P{numbers + number:06d}" for number in range(1, len(admitted) + 1)]
        numbers += len(admitted)
        wrong = rng.permutation(len(stay))[: round(len(patients) * CORRECTED)]
        patients = pd.concat([_corrected(rng, patients.iloc[stay], wrong), admitted], ignore_index=True)
        yield patients


def _corrected(
    rng: np.random.Generator, patients: pd.DataFrame, wrong: "np.ndarray[tuple[int], np.dtype[np.intp]]"
) -> pd.DataFrame:
    """The patients with one value of each wrong record replaced by that of somebody else."""
    column = rng.integers(len(CORRECTABLE), size=len(wrong))
    other = rng.integers(len(patients), size=len(wrong))
    corrected = patients.copy()
    for number, name in enumerate(CORRECTABLE):
        values = patients[name].to_numpy()
        changed = values.copy()
        changed[wrong[column == number]] = values[other[column == number]]
        corrected[name] = changed
    return corrected

"""Refusals: bad configs, tables, bundles, questions and arguments, each with the sentence that it gets.

Most cases are one line: a change of a good config, or an expression in Python that must be refused.
"""

# ruff: noqa: F401 - the expressions name what is imported
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import marginals
from checks import Distinct, MaxentDiversity, Requirements, parse_claim, parse_diversity
from marginals import Attribute, Policy, example
from models import ContingencyTable, DataCube, Domain, Hierarchy, JunctionTree, Margin
from words import Case, Stage, changed

GOOD = """
[data]
path = "people.csv"
missing = ["?", ""]
[attributes.age]
role = "quasi-identifier"
intervals = [5, 10]
start = 2
[attributes.zip]
role = "quasi-identifier"
prefixes = [4, 3]
[attributes.sex]
role = "quasi-identifier"
hierarchy = "sex.csv"
[attributes.disease]
role = "sensitive"
[attributes.name]
role = "identifier"
[privacy]
k_link = 2
diversity = "recursive:3,2"
[base]
table = { age = 1, sex = 0 }
[search]
strategy = "greedy"
seed = 7
max_sensitive_margins = 2
time_limit = 1.5
"""

_DATA = 'missing = ["?", ""]'
_ROLE = 'role = "sensitive"'
_AGE = "intervals = [5, 10]"
_PRIVACY = "k_link = 2"
_SEARCH = "seed = 7"
_DIVERSITY = '"recursive:3,2"'

CONFIGS: Sequence[tuple[str, str]] = (
    ("[privacy]", "[privacy]\nk_links = 2"),
    ("[search]", "[search]\nsteps = 2"),
    ("[base]", "[bases]"),
    ("[data]", "[data"),
    ("[data]", "data = 3\n[dat]"),
    ('path = "people.csv"', ""),
    ('path = "people.csv"', 'path = "nobody.csv"'),
    (_DATA, 'missing = "?"'),
    (_DATA, 'domain = "some"'),
    (_DATA, 'engine = "oracle"'),
    (_DATA, 'memory = "much"'),
    (_DATA, 'separator = "::"'),
    (_DATA, 'encoding = "klingon"'),
    (_DATA, 'decimal = ";"'),
    (_DATA, 'where = "age >"'),
    (_DATA, "where = 3"),
    (_DATA, "ladders = 3"),
    (_DATA, 'ladders = "nowhere"'),
    (_DATA, 'reviewed = "yes"'),
    (_DATA, 'person = 3'),
    (_DATA, 'one_row = "first"'),
    (_DATA, 'person = "name"\none_row = "best"'),
    (_DATA, 'person = "name"\nrows_per_person = 0'),
    (_DATA, 'person = "name"\none_row = "first"\nrows_per_person = 3'),
    ("[privacy]", '[release]\ntitle = 3\n[privacy]'),
    ("[privacy]", '[release]\npublisher = "two\\nlines"\n[privacy]'),
    ("[privacy]", '[release]\nauthor = "Ada"\n[privacy]'),
    (_ROLE, 'role = "secret"'),
    (_ROLE, ""),
    (_ROLE, 'role = "ignored"'),
    (_ROLE, f'{_ROLE}\nprefixes = ["a"]'),
    (_ROLE, f"{_ROLE}\nprefixes = [1]\nintervals = [1]"),
    (_ROLE, f'{_ROLE}\ndates = ["fortnight"]'),
    (_ROLE, f'{_ROLE}\ndates = ["year", "month"]'),
    (_ROLE, f'{_ROLE}\nsingle_values = "no"'),
    (_ROLE, f'{_ROLE}\ndescription = "two\\nlines"'),
    (_ROLE, f"{_ROLE}\nvalues = 3"),
    (_ROLE, f"{_ROLE}\nvalues = {{ flu = 3 }}"),
    (_ROLE, f"{_ROLE}\norder = 3"),
    (_ROLE, f'{_ROLE}\norder = ["a", "a"]'),
    (_ROLE, f"{_ROLE}\napart = [3]"),
    (_ROLE, f'{_ROLE}\napart = ["x"]'),
    (_ROLE, f'{_ROLE}\nstart = "x"'),
    (_ROLE, f'{_ROLE}\nlabels = "secret"'),
    (_ROLE, f'{_ROLE}\nlabels = "public"'),
    (_ROLE, f'{_ROLE}\nmissing = "keep"'),
    (_ROLE, f'{_ROLE}\nladder = "bent"'),
    (_ROLE, f'{_ROLE}\nlabel_form = "words"'),
    (_ROLE, f"{_ROLE}\npopulation = 3"),
    (_ROLE, f'{_ROLE}\npopulation = "none.csv"'),
    (_ROLE, f'{_ROLE}\npopulation = "empty.csv"'),
    ('hierarchy = "sex.csv"', 'hierarchy = "gender.csv"'),
    ('hierarchy = "sex.csv"', "hierarchy = 1"),
    ('hierarchy = "sex.csv"', "single_values = true"),
    (_AGE, "intervals = [10, 25]"),
    (_AGE, "intervals = [0]"),
    (_AGE, 'intervals = ["a"]'),
    (_AGE, 'intervals = [5, 10]\norder = ["1", "2"]'),
    ("prefixes = [4, 3]", "prefixes = [3, 4]"),
    ("prefixes = [4, 3]", "prefixes = [0]"),
    ("prefixes = [4, 3]", "prefixes = [9, 2]"),
    (_PRIVACY, "k_link = 0"),
    (_PRIVACY, 'k_link = "2"'),
    (_PRIVACY, "k_combinatorial = true"),
    (_PRIVACY, "min_cell = -1"),
    (_PRIVACY, "k_link = 2\nmin_published_cell = 5"),
    (_PRIVACY, "k_link = 2\nno_small_certain = 5"),
    (_PRIVACY, "odds = 0.5"),
    (_PRIVACY, "odds = [2]"),
    (_PRIVACY, 'register = "yes"'),
    (f"{_PRIVACY}\ndiversity = {_DIVERSITY}", "k_link = 2\nregister = true"),
    (f"{_PRIVACY}\ndiversity = {_DIVERSITY}", "k_link = 2\nodds = 2"),
    (_PRIVACY, 'turnover = "yes"'),
    (_PRIVACY, 'rules = "cms"'),
    (_PRIVACY, "rules = 11"),
    (_PRIVACY, 'rules = ["cms-11", "cms-11"]'),
    (_PRIVACY, 'rules = "none.toml"'),
    (_DIVERSITY, '"recursive:3"'),
    (_DIVERSITY, "6"),
    (_DIVERSITY, '"distinct:1"'),
    (_DIVERSITY, '{ sex = "distinct:2" }'),
    (_DIVERSITY, '{ disease = 3 }'),
    (_DIVERSITY, '{ disease = ["distinct:2", "distinct:2"] }'),
    (_DIVERSITY, '"somebodys:4"'),
    ("{ age = 1, sex = 0 }", '"worst"'),
    ("{ age = 1, sex = 0 }", "3"),
    ("{ age = 1, sex = 0 }", '"nowhere.csv"'),
    ("{ age = 1, sex = 0 }", "{ age = 9 }"),
    ("{ age = 1, sex = 0 }", "{ job = 0 }"),
    ("{ age = 1, sex = 0 }", "{ disease = 0 }"),
    ('strategy = "greedy"', 'strategy = "greed"'),
    ('strategy = "greedy"', 'objective = "luck"'),
    ('strategy = "greedy"', 'objective = "likelihood-ratio"'),
    ("time_limit = 1.5", 'time_limit = "long"'),
    (_SEARCH, "seed = -1"),
    (_SEARCH, 'start = "everything"'),
    (_SEARCH, "max_cells = 0"),
    (_SEARCH, "max_attributes = 0"),
    (_SEARCH, "max_waiting = 2"),
    (_SEARCH, "must_publish = 3"),
    (_SEARCH, "must_publish = [{ hat = 0 }]"),
    (_SEARCH, "must_publish = [{ age = 9 }]"),
    (_SEARCH, "must_publish = [{ age = 0, zip = 0, sex = 0, disease = 0 }]"),
    (_SEARCH, 'must_publish = [{ age = 0 }]\nmust_not_publish = [{ age = 0 }]'),
    (_SEARCH, "must_not_publish = { age = 0 }"),
    (_SEARCH, 'alone = "disease"'),
    (_SEARCH, 'alone = ["sex"]'),
    (_SEARCH, "alone = [3]"),
    (_SEARCH, "wanted = 3"),
    (_SEARCH, "wanted = [3]"),
    (_SEARCH, 'wanted = [{ attributes = "age" }]'),
    (_SEARCH, 'wanted = [{ attributes = ["age", "age"] }]'),
    (_SEARCH, 'wanted = [{ attributes = ["age"], weight = 0 }]'),
    (_SEARCH, 'wanted = [{ attributes = ["age"], measure = "beauty" }]'),
    (_SEARCH, 'wanted = [{ attributes = ["age"], why = "so" }]'),
    (_SEARCH, 'wanted = [{ attributes = ["dead", "age"] }]'),
    (_SEARCH, 'further_tables = "all"'),
    (_SEARCH, 'further_tables = [["age", "age"]]'),
    (_SEARCH, 'further_tables = [["age", "hat"]]'),
    (f"{_PRIVACY}\ndiversity", 'k_combinatorial = 2\ndiversity'),
    (_PRIVACY, "k_combinatorial = 2\nfurther_tables = 3"),
    ("[search]", '[population]\nk_map = 5\n[search]'),
    ("[search]", '[population]\npath = "all.csv"\nk_map = 0\n[search]'),
    ("[search]", '[population]\npath = "all.csv"\ndelta_presence = [0.5, 0.1]\n[search]'),
    ("[search]", '[population]\npath = "all.csv"\nbayes_optimal = [0, 1]\n[search]'),
    ("[search]", "[population]\nsampling_fraction = 2\n[search]"),
    ("[search]", "[population]\nsampling_fraction = 0.5\nk_map = 5\n[search]"),
    ("[search]", "[sweep]\nimportance = 3\n[search]"),
    ("[search]", "[sweep]\nweights = 3\n[search]"),
    ("[search]", "[sweep]\nweights = { sex = { f = 1 } }\n[search]"),
    ("[search]", "[sweep]\nweights = { disease = 3 }\n[search]"),
    ("[search]", "[sweep]\nweights = { disease = { flu = -1 } }\n[search]"),
    ("[attributes.disease]", "[attributes.diseases]"),
    ("[attributes.disease]", "[attributes.Wohnort]"),
    (GOOD[GOOD.index("[attributes.age]") :], ""),
    ("[data]", "[data]\nperson = " + "[" * 600),
    ("[data]", ".".join("a" * 120) + " = 1\n[data]"),
    ("[data]", "x = 1" + "0" * 5000 + "\n[data]"),
)  # fmt: skip
"""A part of GOOD and what stands in its place."""

RISKS: Sequence[str] = (
    'family = "x"',
    'dictionaries = "voters.csv"',
    "dictionaries = [3]",
    'dictionaries = ["nobody.csv"]',
    'dictionaries = ["nobody.csv"]\nprior = [0.5]',
    "prior = [0.5, 0.7]",
    'sensitivity = "cubic"',
    "weights = 3",
    "weights = { age = -1 }",
    "weights = { age = { } }",
    'weights = { age = "much" }',
    "weights = { hat = 1 }",
    "weights = { disease = { plague = 1 } }",
    "personal_weights = 3",
    'missed = "lost"',
    "missed = -1",
    'weights = { age = 1 }\nmissed = "lost"',
    "row_weight = 3",
    'row_weight = "hat"',
    'clusters = ["age"]',
    'clusters = [["age"], ["age", "sex"]]',
    "threshold = 0.5",
    'similar = ["zip"]\nthreshold = 3',
    "similar = 3",
    'similar = ["hat"]',
    "step_utility = 3",
    "step_utility = { age = inf }",
    "step_utility = { hat = 1 }",
    "linkage = 3",
    "linkage = { table = 3 }",
    'linkage = { table = "members.csv", columns = 3 }',
    'interactions = [{ attributes = ["age"], weight = 1 }]',
    'interactions = [{ attributes = ["age", "sex"], weight = "x" }]',
    'interactions = [{ attributes = ["age", "sex"], why = 1 }]',
    'linkage = { table = "members.csv", columns = ["boat"] }',
    'linkage = { table = "members.csv", columns = ["sex"] }',
    'linkage = { table = "members.csv", colums = ["car"] }',
    'linkage = { table = "odd.csv" }',
    'dictionaries = ["odd.csv"]',
    'dictionaries = ["voters.csv"]',
    "rules = [{ attribute = 3 }]",
    'rules = [{ attribute = "age", level = "x" }]',
    'rules = [{ attribute = "age", condition = 3 }]',
    'rules = [{ attribute = "hat" }]',
    'rules = [{ attribute = "age", level = 9 }]',
    'rules = [{ attribute = "age", condition = "hat > 3" }]',
    'rules = [{ attribute = "age", condition = "age >" }]',
    'rules = [{ attribute = "age", condition = "age" }]',
    'rules = [{ attribute = "sex", condition = "sex > 3" }]',
)
"""Lines of the section [risk]."""

OWN_RULES: Sequence[tuple[str, str]] = (
    ('name = "mine"', ""),
    ('name = "mine"', 'name = "My Rule"'),
    ('name = "mine"', 'name = "cms-11"'),
    ('name = "mine"', 'name = "mine"\nwhy = 1'),
    ('title = "T"', 'title = "T\\nT"'),
    ("[[demands]]", "[[demand]]"),
    ("k_link = 3", "k_link = 0"),
    ("k_link = 3", "diversity = 3"),
    ("k_link = 3", "k_link = 3\nmin_cell = 3"),
    ("k_link = 3", ""),
    ("[[demands]]", "unchecked = 3\n[[demands]]"),
    ("[[demands]]", "[[demands"),
)
"""A part of a good rule and what stands in its place."""

HIERARCHIES: Sequence[str] = (
    "",
    "a;x;*\nb;x\n",
    "a;x;*\na;y;*\n",
    "a;x;*\nb;x;+\n",
    "a;x;p;*\nb;x;q;*\n",
    '"a;*\n',
    "60-64;60-69;*\n70-74;60-69;*\n",
    "*\n",
)
"""Files of hierarchies."""

CSV = "age,zip,sex,disease,name\n31,12345,f,flu,ann\n33,12346,m,flu,bob\n35,12446,f,cold,eve\n"

TABLES: Sequence[tuple[str, bytes]] = (
    ("a number that is a word", CSV.replace("33,12346", "secret,12346").encode()),
    ("a value that the hierarchy lacks", CSV.replace(",m,", ",x,").encode()),
    ("another name of a column", CSV.replace("age,", "years,").encode()),
    ("a name twice", CSV.replace("name", "age").encode()),
    ("no rows", CSV.partition("\n")[0].encode()),
    ("nothing", b""),
    ("a quotation mark that does not end", CSV.encode() + b'"ann,31,secret'),
    ("a line with more fields", CSV.encode() + b"31,12345,f,flu,ann,more\n"),
    ("a line with fewer fields", CSV.encode() + b"31,12345,f\n"),
    ("no header", CSV.partition("\n")[2].encode()),
    ("another separator", CSV.replace(",", ";").encode()),
    ("another encoding", CSV.replace("flu", "grippe Ä").encode("latin-1")),
    ("a byte of zero", CSV.replace("flu", "f\0u").encode()),
    ("missing values only", b"age,zip,sex,disease,name\n?,12345,f,flu,ann\n"),
    ("two columns by case", CSV.replace("name", "Age").encode()),
    ("a column called count", CSV.replace("name", "count").encode()),
    ("a long first line", b"a" * ((1 << 20) + 2) + b"\n1\n"),
)
"""What `people.csv` of the good config holds instead of a table that fits."""

POPULATIONS: Sequence[str] = ("", "a\n", "a;x\n", "a;3\na;4\n", "a;-1\n", "a;0\n", '"a;3\n')
"""Files that say how many people of a population have a value."""

QUESTIONS: Sequence[str] = (
    "hat=x", "sex=x", "sex=Femal", "sex", "sex=", "=x", "age=20-", "age>=thirty", "age=52-45", "diagnosis>=3",
    "sex=Female sex=Male", "age=20-29@9", "age=20-29@hat", "sex == 'Female' or age > 40", "sex = 'Female' and",
    "age > 40 or", "(age > 40", "age ~ 40", "age > 40 > 50", "not sex", "age in", "age == sex",
    "sex == 'Female", "age < 'x'", "diagnosis=Plague", "diagnosis='Plague'", "age@0=22", "age=20-29|hat",
    "age+1 > 40", "mean(age) > 40", "sex == 1", "age > 1e999", "sex == '\\ud800'", "age=..", "age>=",
)  # fmt: skip
"""What the release of `marginals.example` is asked."""

EXPRESSIONS = """
read_config("nowhere.toml")
read_config(3)
read_config(".")
read_hierarchy("nowhere.csv")
Attribute("secret")
Attribute("quasi-identifier", "towns.csv")
Attribute("quasi-identifier", HIERARCHY, intervals=[5])
Attribute("quasi-identifier", Hierarchy.flat([]))
Attribute("quasi-identifier", intervals=[10, 25])
Attribute("quasi-identifier", intervals=[0])
Attribute("quasi-identifier", intervals="5")
Attribute("quasi-identifier", intervals=["a"])
Attribute("quasi-identifier", intervals=[float("inf")])
Attribute("quasi-identifier", prefixes=[2, 3])
Attribute("quasi-identifier", prefixes=[0])
Attribute("quasi-identifier", dates=["fortnight"])
Attribute("quasi-identifier", dates=["year", "month"])
Attribute("quasi-identifier", dates=["month", "week"])
Attribute("quasi-identifier", labels="public")
Attribute("quasi-identifier", HIERARCHY, labels="secret")
Attribute("quasi-identifier", ladder="bent")
Attribute("quasi-identifier", missing="keep")
Attribute("quasi-identifier", label_form="words")
Attribute("quasi-identifier", population={"a": 1})
Attribute("quasi-identifier", ladder="alike", population={"a": 3})
Attribute("quasi-identifier", ladder="fitted", population={"a": -1})
Attribute("quasi-identifier", ladder="fitted", population={"a": 1.5})
Attribute("quasi-identifier", ladder="fitted", population={3: 1})
Attribute("quasi-identifier", ladder="fitted", population={"a": 0})
Attribute("sensitive", apart=[40])
Attribute("sensitive", order=["a", "a"])
Attribute("sensitive", order="ab")
Attribute("sensitive", dates=["month"], order=["a", "b"])
Attribute("quasi-identifier", single_values=True)
Attribute("sensitive", description="two\\nlines")
Attribute("sensitive", values={"a": 3})
read_table("nowhere.csv", ROLES)
read_table(3, ROLES)
read_table(FRAME, {})
read_table(FRAME, {"sex": 3})
read_table(FRAME, {"hat": "sensitive"})
read_table(FRAME, {"sex": "identifier"})
read_table(FRAME, ROLES, missing="NA")
read_table(FRAME, ROLES, domain="guessed")
read_table(FRAME, ROLES, engine="oracle")
read_table(FRAME, ROLES, decimal=";")
read_table(FRAME, ROLES, separator="::")
read_table(FRAME, ROLES, person="hat")
read_table(FRAME, ROLES, one_row="first")
read_table(FRAME, ROLES, person="sex")
read_table(FRAME, ROLES, where=Part("age >= 65"))
read_table(FRAME, ROLES, where=Part("hat >= 65"))
read_table(FRAME, ROLES, where=Part("age >="))
read_table(FRAME, ROLES, where="age >= 65")
read_table(FRAME.assign(count=1), {"sex": "sensitive", "count": "quasi-identifier"})
read_table(FRAME, {"sex": Attribute("quasi-identifier", HIERARCHY, labels="public")}, domain="observed")
read_table(pd.DataFrame({"seen": ["2023-11-12", "11/12/2023"]}), {"seen": Attribute("quasi-identifier", dates=["month"])})
read_table(pd.DataFrame({"age": ["3", "x"]}), {"age": Attribute("quasi-identifier", intervals=[5])})
read_table(pd.DataFrame({"age": ["3.5"]}), {"age": Attribute("quasi-identifier", intervals=[5])})
read_table(pd.DataFrame({"icd": ["A", "B"]}), {"icd": Attribute("quasi-identifier", prefixes=[3])})
read_table(pd.DataFrame({"days": ["1", "2", "3"]}), {"days": Attribute("sensitive", order=["1", "2"])})
read_table(pd.DataFrame({"a": [None, "?"]}), {"a": "sensitive"}, missing=["", "?"])
read_rows(FRAME, {"sex": "sensitive"}, domain="guessed")
read_rows(FRAME, {"sex": Attribute("quasi-identifier", missing="as a value")})
Part(3)
Part("")
Policy(k_link=0)
Policy(k_link=True)
Policy(k_link="5")
Policy(k_link=10**30)
Policy(diversity=3)
Policy(diversity="entropy")
Policy(diversity="entropy:x")
Policy(diversity="recursive:3")
Policy(diversity={})
Policy(k_link=2, register=True)
Policy(diversity="distinct:2", register="yes")
Policy(k_link=2, odds=2)
Policy(diversity="distinct:2", odds=0.5)
Policy(time_limit=-1)
Policy(seed=-1)
Policy(start="all")
Policy(max_waiting=0)
Policy(turnover="yes")
Policy(base=3)
Policy(base="published.txt")
Policy(alone="grade")
Policy(alone=[3])
Policy(must_publish=[3])
Policy(must_not_publish=3)
Policy(wanted="age")
Policy(wanted=[3])
Policy(k_link=2, further_tables="all")
Policy(k_link=2, further_tables=0)
Policy(further_tables="pairs")
Policy(k_link=2, k_combinatorial=2, further_tables="pairs")
Policy(k_link=2, no_small_certain=3)
Policy(k_link=2, objective="likelihood-ratio")
Policy(k_link=2, objective="luck")
Policy(strategy="tony")
Policy(rules="cms")
Policy(rules=11)
Policy(rules=["cms-11", "cms-11"])
publish(TABLE, 3)
publish(FRAME, Policy())
publish(TABLE, Policy())
publish(TABLE, Policy(k_link=49, diversity="none"))
publish(TABLE, Policy(k_combinatorial=49, diversity="none"))
publish(TABLE, Policy(min_cell=49, diversity="none"))
publish(TABLE, Policy(k_link=2, diversity="distinct:4"))
publish(TABLE, Policy(k_link=2, diversity="recursive:1,3"))
publish(TABLE, Policy(k_link=2, diversity="entropy:2.99", register=True))
publish(TABLE, Policy(k_link=4, diversity="t-closeness:0.3 ordered"))
publish(TABLE, Policy(k_link=4, diversity={"sex": "distinct:2"}))
publish(TABLE, Policy(k_link=30, diversity="none", base={"age": 0, "sex": 0}))
publish(TABLE, Policy(k_link=4, diversity="none", base={"hat": 0}))
publish(TABLE, Policy(k_link=4, diversity="none", base={"diagnosis": 0}))
publish(TABLE, Policy(k_link=4, diversity="none", base={"age": 9}))
publish(TABLE, Policy(k_link=4, diversity="none", base="nowhere.csv"))
publish(TABLE, Policy(k_link=4, diversity="none", must_publish=[{"age": 0, "sex": 0}]))
publish(TABLE, Policy(min_cell=9, must_publish=[{"age": 1, "diagnosis": 0}], base="none", diversity="none"))
publish(TABLE, Policy(k_link=4, diversity="none", must_publish=[{"hat": 0}]))
publish(TABLE, Policy(k_link=4, diversity="none", must_publish=[{"age": 9}]))
publish(TABLE, Policy(k_link=4, diversity="none", alone=["sex"]))
publish(TABLE, Policy(k_link=4, diversity="none", wanted=[{"attributes": ["hat", "age"]}]))
publish(TABLE, Policy(k_link=4, diversity="none", further_tables=[["age", "hat"]]))
publish(TABLE, Policy(k_link=4, diversity="none", turnover="known"))
publish(TABLE, Policy(k_link=4, diversity="none"), seconds=0)
publish(TABLE, Policy(k_link=4, diversity="none"), seconds="long")
assess(TABLE, 3)
thin(TABLE, Policy(k_link=2), 1.1)
thin(TABLE, Policy(min_cell=2), 0.1)
sweep(TABLE, "functional:0.2,3")
sweep(TABLE, "functional:0.5,5")
sweep(TABLE, "functional:0.5,3", ["hat"])
sweep(TABLE, k=49)
hilbert(TABLE, "distinct:9")
frontier(TABLE, Policy(), k=[])
frontier(TABLE, Policy(), k=[0])
frontier(TABLE, Policy(), diversity=["entropy"])
open_release("nowhere")
open_release(3)
open_release(".")
verify()
verify("nowhere")
verify(3)
verify("out", claims=[3])
verify("out", claims=["k-link"])
verify("out", claims=["k-link=x"])
verify("out", claims=["k-link=0"])
verify("out", claims=["most-cells=3"])
verify("out", claims=["diversity=entropy"])
verify("out", claims=["diversity={ hat = 'distinct:2' }"])
verify("out", claims=["relaxed=2,2"])
verify("out", claims=["odds=0.5"])
verify("out", claims=["difference=10"])
verify("out", "out", claims=["difference=x"])
verify("out", seconds=-1)
verify("out", key="RWx")
attack("out", truth=3)
attack("out", seconds=0)
compare(RELEASE, OTHER_TABLE)
mixture([])
query_error(RELEASE, TABLE, 4)
query_error(RELEASE, OTHER_TABLE, 1)
prediction_accuracy(RELEASE, TABLE, "height")
RELEASE.expected_count(3)
RELEASE.expected_count({"hat": "x"})
RELEASE.expected_count({"sex": "x"})
RELEASE.expected_count({"sex": 3})
RELEASE.counts({"age": 9})
RELEASE.counts({"hat": 0})
RELEASE.counts({"age": "x"})
RELEASE.counts({"age": 0, "sex": 0})
RELEASE.marginal({"age": 9})
RELEASE.crosstab("age", "hat")
RELEASE.crosstab("age", "age")
RELEASE.sample(-1)
RELEASE.sample(3, seed="x")
RELEASE.plausible_tables(0)
RELEASE.plausible_interval("sex=Female", count=0)
RELEASE.plausible_interval("sex=Female", level=2)
RELEASE.verify(["k-link"])
RELEASE.cite("doi.org/10.5/x")
RELEASE.write_report()
RELEASE.write(".")
RELEASE.write("people.csv")
RELEASE.write("full")
interchange.write_rows(RELEASE, "rows.xlsx", 3, seed=0)
interchange.write_rows(RELEASE, "not/there/rows.csv", 3, seed=0)
interchange.write_uai(RELEASE, "full")
select(FRAME, counts="hat")
select(FRAME, counts="sex")
select(FRAME, "luck")
select(FRAME, strategy="tony")
select(FRAME, required=[("age", "weight")])
select(FRAME, constraint=len)
select(FRAME, constraint=lambda cliques: not cliques)
select(FRAME, lambda counts, cells: float("nan"))
select(FRAME[:0])
select(3)
fit_model(FRAME, [("age", "hat")])
fit_model(FRAME, 3)
SELECTED.bootstrap(0)
SELECTED.trace(every=0)
SELECTED.compare(select(FRAME[:20]))
SELECTED.to_release(Policy(k_link=47, diversity="none"), sensitive=["diagnosis"])
audit()
audit("nowhere.csv")
audit("people.csv", small=0)
Imprint.of({"publisher": "two\\nlines"})
read_population("none.csv")
unregister_diversity("other")
implies("entropy:2", "hat:3", 2)
interchange.to_duckdb(RELEASE, "people.csv")
read_table(FRAME, {"age": "quasi-identifier", "agee": "sensitive"})
RELEASE.count({"age": 3})
RELEASE.count("agee=3")
RELEASE.count("height=3")
RELEASE.count("SEX=Female")
RELEASE.count("sex=Female and not (age > 30 and sex=Female)")
RELEASE.count("sex=1-2")
RELEASE.count("sex>=A")
RELEASE.count("age > 30 and age < 20")
publish(TABLE, Policy(k_link=4, diversity="none", strategy="exact", objective="likelihood-ratio"))
"""
"""What must be refused, in Python."""

LOWER = """
parse_diversity("")
parse_diversity("entropy")
parse_diversity("entropy:-1")
parse_diversity("recursive:0,2")
parse_diversity("recursive:3,1.5")
parse_diversity("distinct:x")
parse_diversity("distinct:0")
parse_diversity("functional:2,2")
parse_diversity("t-closeness:2")
parse_diversity("t-closeness:0.3 sideways")
parse_diversity("beta-likeness:0")
parse_diversity("delta-disclosure:0")
parse_diversity("share-range:0.1,0.2")
parse_diversity("known:1")
parse_diversity("recursive:3,2 may disclose " + "x" * 10000)
Requirements(("s",), k_link=0)
Requirements((), diversity=Distinct(2))
Requirements(("s",), k_link=2, register=True)
Requirements(("s",), diversity=parse_diversity("recursive:3,2"), rows_per_person=3, register=True)
Requirements(("s", "t"), diversities=(MaxentDiversity(Distinct(2), "u"),))
parse_claim({})
parse_claim({"criterion": "most-cells"})
parse_claim({"criterion": "k-link"})
parse_claim({"criterion": "k-link", "k": 0})
parse_claim({"criterion": "maxent-diversity", "sensitive": "s", "diversity": "entropy"})
parse_claim({"criterion": "maxent-diversity", "sensitive": 3, "diversity": "entropy:2"})
parse_claim({"criterion": "maxent-diversity", "sensitive": "s", "diversity": "entropy:2", "level": -1})
Hierarchy((), ())
Hierarchy((("a", "b"), ("*",)), ())
Hierarchy((("a", "b"), ("x",)), (np.array([0, 0]),))
Hierarchy((("a", "a"), ("*",)), (np.array([0, 0]),))
Hierarchy((("a", "b"), ("*",)), (np.array([0, 1]),))
Hierarchy.flat([1, 2])
Hierarchy.from_rows([])
Hierarchy.from_rows([["a", "x", "*"], ["b", "x"]])
Hierarchy.from_rows([["a", "x", "p", "*"], ["b", "x", "q", "*"]])
Hierarchy.from_rows([["a", "*"], ["a", "*"]])
Hierarchy.from_rows([["a", "x"]])
Hierarchy.from_intervals([], [5])
Hierarchy.from_intervals(["3"], [])
Hierarchy.from_intervals(["3"], [10, 25])
Hierarchy.from_intervals(["3", "x"], [5])
Hierarchy.from_intervals(["3", "3.5"], [5])
Hierarchy.from_decimal_intervals([], [Decimal(1)])
Hierarchy.from_decimal_intervals([Decimal("inf")], [Decimal(1)])
Hierarchy.from_decimal_intervals([Decimal(1)], [Decimal(2), Decimal(3)])
Hierarchy.from_prefixes(["abc"], [1, 2])
Hierarchy.from_prefixes(["abc"], [0])
HIERARCHY.lift(1, 0)
HIERARCHY.lift(0, 9)
Domain(("a", "a"), (HIERARCHY, HIERARCHY))
Domain(("a", "b"), (HIERARCHY,))
DOMAIN.hierarchy("hat")
DOMAIN.mask({"a": 9})
DOMAIN.mask({"hat": 0})
DOMAIN.margin(1 << 40)
ContingencyTable(DOMAIN, Margin({"a": 0}), (), np.array([1]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([0]),), np.array([1, 2]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([9]),), np.array([1]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([-1]),), np.array([1]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([0]),), np.array([-1]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([0]),), np.array([0.5]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([0, 0]),), np.array([1, 1]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array([[0]]),), np.array([1]))
ContingencyTable(DOMAIN, Margin({"a": 0}), (np.array(["x"]),), np.array([1]))
ContingencyTable(DOMAIN, Margin({"hat": 0}), (np.array([0]),), np.array([1]))
ContingencyTable(DOMAIN, Margin({"a": 9}), (np.array([0]),), np.array([1]))
ContingencyTable(DOMAIN, Margin({}), (), np.array([1, 2]))
ContingencyTable.from_cells(DOMAIN, {"a": 0, "b": 0}, {"a": np.array([0])}, np.array([1]))
DataCube([])
DataCube([COUNTS, ContingencyTable.from_cells(DOMAIN, {"a": 0}, {"a": np.array([0])}, np.array([1]))])
DataCube([COUNTS]).log_leaves("a", 9)
DataCube([COUNTS]).log_leaves("hat", 0)
COUNTS.rolled_up({"hat": 0})
COUNTS.rolled_up({"a": 9})
COUNTS.rolled_up({"a": 1}).rolled_up({"a": 0})
JunctionTree.of(CYCLE, [CYCLE.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "cd", "ad")])
"""
"""What the floors below refuse, in Python."""

RULE = 'name = "mine"\ntitle = "T"\nsource = "S"\n[[demands]]\nsays = "at least three"\nk_link = 3\n'


def _shown(text: str) -> str:
    """A part of a file in one line."""
    line = " / ".join(part for part in text.strip().splitlines() if part)
    return line if len(line) <= 110 else f"{line[:100]}... ({len(line):,} characters)"


def _used(folder: Path, text: str) -> None:
    """Read a config and what it names, and publish: until something is refused."""
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    config = marginals.read_config(path)
    marginals.publish(config.read_table(), config.policy)


def _risked(folder: Path, text: str) -> None:
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    _ = marginals.disclosure_risk(marginals.read_config(path)).of_table()


def _write_inputs(folder: Path) -> None:
    (folder / "sex.csv").write_text("f;*\nm;*\n", encoding="utf-8")
    (folder / "people.csv").write_text(CSV, encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "members.csv").write_text("age,sex,car\n31,f,red\n33,m,blue\n", encoding="utf-8")
    (folder / "voters.csv").write_text("age,sex\n31,f\nsecret,m\n", encoding="utf-8")
    (folder / "odd.csv").write_text("boat\nblue\n", encoding="utf-8")


def configs(stage: Stage) -> Iterator[Case]:
    """Bad configs, and bad files that they name."""
    with stage.entered() as folder:
        yield from _configs(stage, folder)


def _configs(stage: Stage, folder: Path) -> Iterator[Case]:
    _write_inputs(folder)
    for old, new in CONFIGS:
        heading = f"release.toml: {_shown(new)}" if new.strip() else f"release.toml without {_shown(old)}"
        yield stage.refusal(heading, lambda old=old, new=new: _used(folder, changed(GOOD, {old: new})))
    for line in RISKS:
        text = f"{GOOD}[risk]\n{line}\n"
        yield stage.refusal(f"release.toml, [risk]: {_shown(line)}", lambda text=text: _risked(folder, text))
    for old, new in OWN_RULES:
        (folder / "mine.toml").write_text(changed(RULE, {old: new}), encoding="utf-8")
        heading = f"mine.toml, a rule: {_shown(new)}" if new else f"mine.toml, a rule, without {_shown(old)}"
        yield stage.refusal(heading, lambda: Policy(rules=str(folder / "mine.toml")))
    for content in HIERARCHIES:
        (folder / "h.csv").write_text(content, encoding="utf-8")
        yield stage.refusal(
            f"the hierarchy file {content!r}",
            lambda: Attribute("quasi-identifier", marginals.read_hierarchy(folder / "h.csv")),
        )
    for content in POPULATIONS:
        (folder / "p.csv").write_text(content, encoding="utf-8")
        yield stage.refusal(f"the population file {content!r}", lambda: marginals.read_population(folder / "p.csv"))


def tables(stage: Stage) -> Iterator[Case]:
    """Bad tables."""
    with stage.entered() as folder:
        yield from _tables(stage, folder)


def _tables(stage: Stage, folder: Path) -> Iterator[Case]:
    _write_inputs(folder)
    for heading, content in TABLES:
        (folder / "people.csv").write_bytes(content)
        yield stage.refusal(f"people.csv: {heading}", lambda: _used(folder, GOOD))


def _other_table() -> marginals.Table:
    """A table like that of the example, without some of its rows."""
    return marginals.read_table(example.frame[:40], example.attributes)


def _names() -> dict[str, Any]:
    """What expressions may name: what `marginals` exports, what stands at the top of this file, and a small table."""
    hierarchy = Hierarchy.from_rows([["a", "west", "*"], ["b", "west", "*"], ["c", "east", "*"]])
    domain = Domain(("a", "b"), (hierarchy, hierarchy))
    return {
        **{name: getattr(marginals, name) for name in marginals.__all__},
        **globals(),
        "FRAME": example.frame,
        "ROLES": example.attributes,
        "TABLE": example.table,
        "RELEASE": example.release,
        "OTHER_TABLE": _other_table(),
        "FURTHER": marginals.publish(
            example.table,
            Policy(k_link=4, diversity="none", further_tables="pairs", max_sensitive_margins=1, base="none"),
        ).release,
        "SELECTED": marginals.select(example.frame),
        "HIERARCHY": hierarchy,
        "DOMAIN": domain,
        "COUNTS": ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.array([0, 1, 2])}, np.array([1, 2, 3])),
        "CYCLE": Domain(tuple("abcd"), (hierarchy,) * 4),
    }


def expressions(stage: Stage) -> Iterator[Case]:
    """Bad arguments in Python."""
    with stage.entered() as folder:
        yield from _expressions(stage, folder)


def _expressions(stage: Stage, folder: Path) -> Iterator[Case]:
    _write_inputs(folder)
    example.release.write(folder / "out")
    (folder / "full").mkdir()
    (folder / "full" / "thesis.txt").write_text("precious", encoding="utf-8")
    scope = _names()
    for source in (*EXPRESSIONS.strip().splitlines(), *LOWER.strip().splitlines()):
        yield stage.refusal(f">>> {source}", lambda source=source: eval(source, scope))
    for question in QUESTIONS:
        yield stage.refusal(f'release.count("{question}")', lambda question=question: example.release.count(question))


BUNDLES: Sequence[str] = (
    'p["resources"][0].update(path="../x.csv")',
    'p["resources"][0].update(path="/etc/passwd")',
    'p["resources"][0].update(path="marginals/none.csv")',
    'p["resources"][0].update(hash="sha256:0")',
    'p["resources"][0].pop("hash")',
    'p["resources"][0].update(bytes=7)',
    'p["resources"][0].pop("bytes")',
    'p["resources"][0].update(bytes=10**11)',
    'p["resources"][0]["marginal"].update(total=1)',
    'p["resources"][0]["marginal"].update(levels={"age": 9})',
    'p["resources"][0]["marginal"].update(levels=3)',
    'p["resources"][0]["marginal"].update(further="yes")',
    '[r["marginal"].update(further=True) for r in p["resources"][:2]]',
    'p["resources"][0].update(surprise=1)',
    'p["resources"][0].update(delimiter=";")',
    'p["resources"][0].update(encoding="latin-1")',
    'p["resources"][0]["schema"]["fields"].pop()',
    'p["resources"][0]["schema"]["fields"][0].update(type="date")',
    'p["resources"][0]["schema"]["fields"][0].update(type="integer")',
    'p["resources"][0]["schema"].update(missingValues=["Flu"])',
    'p.update(resources=[])',
    'p.update(resources=p["resources"][2:])',
    'p["resources"].append(p["resources"][0])',
    'p["resources"].pop()',
    'p["resources"][-1]["hierarchy"].update(attribute="sex")',
    'p["release"].update(rows=1)',
    'p["release"].update(rows="many")',
    'p["release"].update(format=2)',
    'p["release"].update(attributes=[])',
    'p["release"]["attributes"]["age"].update(role="x")',
    'p["release"]["attributes"]["age"].update(label_form="words")',
    'p["release"]["attributes"]["age"].update(order=3)',
    'p["release"]["attributes"]["diagnosis"].update(order=["Flu", "Flu"])',
    'p["release"]["attributes"]["diagnosis"].update(description="two\\nlines")',
    'p["release"]["attributes"]["diagnosis"].update(values=3)',
    'p["release"]["attributes"]["diagnosis"].update(values={"Plague": "p"})',
    'p["release"]["attributes"].update(count={"role": "sensitive"})',
    'p["release"].update(privacy=3)',
    'p["release"]["privacy"].append({"criterion": "x"})',
    'p["release"]["privacy"][0].update(k=0)',
    'p["release"]["privacy"][1].update(sensitive="age")',
    'p["release"].update(privacy=[{"criterion": "k-link", "k": 2}] * 2000)',
    'p["release"].update(rules=3)',
    'p["release"].update(rules=[{"name": "cms-11"}])',
    'p["release"].update(rows_per_person=0)',
    'p["release"].update(turnover="maybe")',
    'p["release"].update(occurring=3)',
    'p["release"].update(occurring={"hat": {}})',
    'p["release"].update(occurring={"age": {"x": 1}})',
    'p["release"].update(where="age >")',
    'p["release"].update(where="age >= 50")',
    'p["release"].update(imprint={"publisher": "two\\nlines"})',
    'rewrite(p, 0, lambda c: c[:-1] + b"\\n" + c.splitlines()[1].rsplit(b",", 1)[0] + b",0\\n")',
    'rewrite(p, 0, lambda c: c + c.splitlines(keepends=True)[1])',
    'rewrite(p, 0, lambda c: c + b"nobody,Flu,1\\n")',
    'rewrite(p, 0, lambda c: c + b"1\\n")',
    'rewrite(p, 0, lambda c: c.replace(b"count", b"counts"))',
    'rewrite(p, 0, lambda c: c + b"\\xff")',
    'rewrite(p, 0, lambda c: b"")',
    'rewrite(p, 0, lambda c: c.replace(b",5", b",6").replace(b",7", b",6"))',
    'rewrite(p, 2, lambda c: c.replace(b"*", b"+"))',
    'rewrite(p, 2, lambda c: c.replace(b"level0", b"value"))',
)  # fmt: skip
"""Changes of the descriptor p of a release, in Python."""

DESCRIPTORS = ("", "{", "[]", '{"release": 1}', '{"a": 1, "a": 2}', "[" * 100_000)
"""Descriptors that are none."""


def bundles(stage: Stage) -> Iterator[Case]:
    """Bad files of a release."""
    with stage.entered() as folder:
        yield from _bundles(stage, folder)


def _bundles(stage: Stage, folder: Path) -> Iterator[Case]:
    genuine, bundle = folder / "genuine", folder / "out"
    example.release.write(genuine)

    def rewrite(package: dict[str, Any], number: int, edit: Callable[[bytes], bytes]) -> None:
        resource = package["resources"][number]
        content = edit((bundle / resource["path"]).read_bytes())
        (bundle / resource["path"]).write_bytes(content)
        resource["bytes"], resource["hash"] = len(content), "sha256:" + hashlib.sha256(content).hexdigest()

    for change in BUNDLES:
        shutil.rmtree(bundle, ignore_errors=True)
        shutil.copytree(genuine, bundle)
        package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
        eval(change, {"p": package, "rewrite": rewrite})
        (bundle / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
        yield stage.refusal(f"datapackage.json: {change}", lambda: marginals.open_release("out"))
    for text in DESCRIPTORS:
        (bundle / "datapackage.json").write_text(text, encoding="utf-8")
        yield stage.refusal(f"datapackage.json: {_shown(text)}", lambda: marginals.open_release("out"))
    shutil.rmtree(bundle)
    shutil.copytree(genuine, bundle)
    file = sorted((bundle / "marginals").glob("*.csv"))[0]
    file.rename(folder / "outside.csv")
    file.symlink_to(folder / "outside.csv")
    yield stage.refusal("a marginal that is a link out of the release", lambda: marginals.open_release("out"))

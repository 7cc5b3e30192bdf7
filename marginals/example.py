"""A small table to try things on, and a release of it: 48 people, none of whom exists.

`frame` has its rows and `attributes` describes its columns; `table` counts the rows. `publication` is the result of
`publish`, and `release` has its two small tables of counts.

>>> from marginals.example import release, table
>>> table
Table(48 rows, 12 distinct, 0 dropped; age (quasi-identifier), sex (quasi-identifier), diagnosis (sensitive))
>>> release
Release(48 rows, information 0.4968 nats; age:1, diagnosis:0; diagnosis:0, sex:0)
"""

import pandas as pd

from marginals.publishing.policy import Policy
from marginals.publishing.publishing import publish
from marginals.tables.attribute import Attribute
from marginals.tables.source import read_table
from models.tables.hierarchy import Hierarchy

_PEOPLE = {
    ("22", "Female", "Asthma"): 4,
    ("22", "Female", "Flu"): 3,
    ("27", "Male", "Asthma"): 2,
    ("27", "Male", "Flu"): 5,
    ("34", "Female", "Flu"): 6,
    ("34", "Female", "Gout"): 2,
    ("38", "Male", "Asthma"): 2,
    ("38", "Male", "Gout"): 6,
    ("45", "Female", "Asthma"): 5,
    ("45", "Male", "Gout"): 4,
    ("52", "Female", "Flu"): 3,
    ("59", "Male", "Gout"): 6,
}

frame = pd.DataFrame([p for p, n in _PEOPLE.items() for _ in range(n)], columns=["age", "sex", "diagnosis"])

attributes = {
    "age": Attribute("quasi-identifier", Hierarchy.from_intervals(["20", "59"], [10, 20]), labels="public"),
    "sex": Attribute("quasi-identifier"),
    "diagnosis": Attribute("sensitive"),
}

table = read_table(frame, attributes)

publication = publish(table, Policy(k_link=4, diversity="distinct:2", base="none", max_attributes=2))

release = publication.release

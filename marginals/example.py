"""A small table to try things on, and a release of it: 48 people, none of whom exists.

`frame` are its rows as a DataFrame, `attributes` what its columns are, `table` its rows counted, `publication` what
`publish` makes of it, and `release` the two small tables of counts in that.

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
"""How many people there are of an age, sex and diagnosis."""

frame = pd.DataFrame([p for p, n in _PEOPLE.items() for _ in range(n)], columns=["age", "sex", "diagnosis"])
"""The rows."""

attributes = {
    "age": Attribute("quasi-identifier", Hierarchy.from_intervals(["20", "59"], [10, 20]), labels="public"),
    "sex": Attribute("quasi-identifier"),
    "diagnosis": Attribute("sensitive"),
}
"""What its columns are."""

table = read_table(frame, attributes)
"""The rows, counted."""

publication = publish(table, Policy(k_link=4, diversity="distinct:2", base="none", max_attributes=2))
"""What is published of them, tables of two columns each, and what their steward is told."""

release = publication.release
"""What readers have of it."""

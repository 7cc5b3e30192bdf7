"""The config of the simulated census: every key explained, to be edited for a table of one's own."""

CENSUS_CONFIG = """\
# What to protect in census.csv, how values may be coarsened, and how to look for tables to publish.
# To use it for a table of your own, change the path and keep one [attributes.NAME] section for every column.

[data]
path = "census.csv"          # CSV or Parquet; all paths are relative to this file
missing = ["?", ""]          # rows with one of these in a column that is used are left out, and counted
domain = "declared"          # a coarse value stands for everything its hierarchy puts under it;
                             # "observed": only for those base values that occur in the table
# where = "age >= 20"        # publish only the part of the table where this holds; other parts need a ledger
# person = "person_id"       # whose row it is, for a table in which a person can have several; then also
# one_row = "first"          # which of them counts ("last", "random"), or rows_per_person = 5: at most so many of each
engine = "auto"              # what reads the table: "pandas", "duckdb" (larger than memory), "spark"

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

# Each of these three can be left out; what is left out is not checked.
[privacy]
k_link = 10                  # whoever is counted in a published table shares their cell with at least 9 others,
                             # the sensitive column set aside
k_combinatorial = 10         # and so it stays when somebody puts all published tables together
diversity = "recursive:3,4"  # what the tables together say about the diagnosis of people who look alike:
                             #   "distinct:4"        at least 4 diagnoses are possible
                             #   "simple:4"          none is more likely than 1 in 4
                             #   "entropy:4"         as uncertain as 4 equally likely ones
                             #   "recursive:3,4"     the likeliest is less than 3 times as likely as the 4th, 5th, ...
                             #                       likeliest taken together
                             #   "functional:0.5,4"  the likeliest has a share of at most 0.5, the likeliest 2, 3 and 4
                             #                       together at most 0.67, 0.83 and 1
# min_cell = 11              # no published count is from 1 to 10, the sensitive column counted too, and none follows
# turnover = "known"         # readers know that people come and go (for the releases of a ledger)
# rules = "cms-11"           # what an agency checks by, under its name: the same, and the report names the rule

# One table with all the columns, each coarsened as far as it must be, can be part of the release.
[base]
table = "auto"               # the most informative such table, if the release is better with it than without
                             # "best": always
                             # "none": smaller tables only, chosen freely
                             # { age = 3, sex = 0 }: this one: a step for each column it holds, 0 for values as they are

[search]
strategy = "look-ahead"      # improves the release step by step, and looks at what a step can lead to
                             # "greedy": only at what it gains itself
                             # "greedy-both": then also takes steps back where others then gain more
                             # "greedy-backward": from all that each table may show, back to what they may show together
                             # "anneal", "genetic": try many ways at random; slower, often better
                             # "exact": the best there is, with proof, for few columns with few levels
start = "independence"       # where it begins, besides the table above: every column by itself; or "nothing"
seed = 0                     # the same seed gives the same release
max_sensitive_margins = 3    # at most so many published tables hold the sensitive column; more are slower to check
time_limit = 60.0            # seconds; then the best release found so far is taken
# max_cells = 500            # no published table has more cells, empty ones included
# max_attributes = 3         # ... or more columns
# max_waiting = 0.1          # in the first release of a ledger: tables so coarse that at most this share of the people is
                             # foreseen to wait for a later release, until enough others come or leave with them
# must_publish = [{ age = 2, sex = 0 }]       # something published shows at least this
# must_not_publish = [{ postcode = 0 }]       # nothing published shows this

# For `marginals risk`: what attackers hold, how much harm what they learn does, and how the table itself is disclosed.
[risk]
sensitivity = "linear"       # the harm is the sum of the weights of what is disclosed; "multiplicative": e to that power
weights = { diagnosis = 2.0, occupation = 0.5 }   # of a value as it is; a coarse one weighs less, * nothing; inf: never
missed = 0.0                 # the harm to somebody whom the attacker takes for another
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

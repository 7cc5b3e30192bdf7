"""Publish anonymized marginals: small generalized tables of counts that meet privacy criteria jointly.

Read a table
    read_table      count a file or a frame
    read_rows       a file or a frame, with its single rows
    read_config     table, policy and imprint of a config
    read_hierarchy  levels of values, from a file as ARX writes it
    Attribute       what a column is, and how its values are generalized
    Role            quasi-identifier, sensitive, identifier or ignored
    Hierarchy       values of an attribute, and their levels
    Part            a condition that chooses rows
    TableSource     a table with all that says how to read it
    Table           rows, counted by their values
    example         a small table, and a release of it

Publish
    Policy          privacy that a release must have, and how to search for it
    publish         the release that keeps the most of a table
    StewardReport   how near a release comes to its table, for the steward alone
    Imprint         title of a release, and its publisher
    frontier        the best release under each of many policies, by its error
    anonymize       single tables that satisfy a policy
    select          a decomposable model of a table, without privacy

Ask a release
    open_release    the release in a folder
    Release         its tables, and what they answer
    Answer          a number, its kind, and certain bounds
    plain           any result as values for JSON

Judge
    verify          whether the claims of releases hold
    attack          what readers of releases can conclude
    audit           what follows for certain from published tables
    compare         how near a release comes to its table
    Population      everybody of whom a table is a sample

Errors
    MarginalsError  the base class of all errors of this package
    InputError      a wrong value or file, and what to give instead

More is in marginals.auditing, .criteria, .errors, .recoding, .risk and .selection; help(marginals.publish) explains a name.

>>> import marginals
>>> table = marginals.read_table(frame, {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10]),
...                                      "diagnosis": "sensitive"})              # doctest: +SKIP
>>> release = marginals.publish(table, marginals.Policy(k_link=5, diversity="entropy:3"))  # doctest: +SKIP
>>> release.write("release")                                                     # doctest: +SKIP

>>> from marginals.example import release
>>> release.count({"sex": "Female"})
23 (23 to 23; published)
"""

from marginals.ending import guard as _guard
from marginals.floors import ensure_own as _ensure_own

_guard()
for _floor in ("models", "checks"):  # names that a user's own files may have; bottom floor first
    _ensure_own(_floor)

__version__ = "0.1.0"

from models.installed import open_door as _open_door  # noqa: E402 - only once the floor is known to be ours

_, __getattr__, __dir__ = _open_door(__name__)  # without __all__, of which help() prints each class whole

"""The config file of a release, `release.toml`."""

RARE = 10
"""Values that fewer rows have are rare, unless the user says otherwise."""

UNKNOWN = "the name says nothing that this program knows"
"""The reason to ask for a column of which nothing is known but its values."""

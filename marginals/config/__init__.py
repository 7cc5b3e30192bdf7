"""The config file of a release, `release.toml`."""

RARE = 10
"""Values that fewer rows have are rare, unless the user says otherwise."""

"""The config file of a release, `release.toml`."""

RARE = 10  # rows of a value, unless the user says otherwise
UNKNOWN = "the name says nothing that this program knows"

"""The config file of a release, `release.toml`."""

RARE = 10  # values of fewer rows are rare, unless the user says otherwise
UNKNOWN = "the name says nothing that this program knows"

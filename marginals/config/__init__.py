"""The config file of a release, `release.toml`."""

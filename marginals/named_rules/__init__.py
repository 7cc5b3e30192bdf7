"""Rules that agencies check releases by, each a TOML file with a name, a source and demands."""

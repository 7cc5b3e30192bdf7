"""k-combinatorial anonymity of a collection: how many rows a combination of values can have."""

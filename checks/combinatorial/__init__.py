"""How many rows a combination of values can have: k-combinatorial anonymity, and a least count of every cell."""

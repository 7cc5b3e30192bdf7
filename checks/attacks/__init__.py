"""Attacks on a release, measured: what somebody concludes who holds it and knows how it was made."""

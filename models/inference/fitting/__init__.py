"""Fits of collections that have no closed form: where beliefs are kept, and how they are brought into line with counts."""

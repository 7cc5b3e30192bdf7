"""The edges of a model: tests of each, and how many parameters and degrees of freedom the rows support."""

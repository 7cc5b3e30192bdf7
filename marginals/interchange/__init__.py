"""Interchange: releases in the formats of other programs, one module a format.

A bundle is itself a Data Package, which any reader of that standard opens.

>>> from marginals.example import release
>>> network = factors(release)
>>> network.labels["sex"], [factor.variables for factor in network.factors]
(('Female', 'Male'), [('age', 'diagnosis'), ('sex', 'diagnosis')])
>>> print(uai_text(network)[:20])
MARKOV
3
4 2 3
2
2 0
"""

from marginals.interchange.arx import write_arx_hierarchies
from marginals.interchange.factors import Factor, LabelledFactors, factors
from marginals.interchange.graphml import write_interaction_graph, write_junction_tree
from marginals.interchange.pgmpy_network import to_pgmpy
from marginals.interchange.rows import rows_writer, write_rows
from marginals.interchange.uai import uai_text, write_uai

__all__ = [
    "Factor",
    "LabelledFactors",
    "factors",
    "rows_writer",
    "to_pgmpy",
    "uai_text",
    "write_arx_hierarchies",
    "write_interaction_graph",
    "write_junction_tree",
    "write_rows",
    "write_uai",
]

"""Graphs of margins: interaction graphs, cliques, junction trees, and the moves between decomposable collections."""

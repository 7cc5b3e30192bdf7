"""Single tables: full-domain generalization along a lattice, and local recoding."""

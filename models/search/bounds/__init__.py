"""How good a collection can get at most: lower bounds on the objective of all that the constraint allows."""

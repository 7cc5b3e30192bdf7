"""Tables that others published: how they are read, and what follows from them for certain."""

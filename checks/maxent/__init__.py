"""Maxent l-diversity of a collection: whether every class stays diverse in its maximum-entropy distribution."""

"""Tables that others published, as intervals: which counts are consistent with all of them together."""

"""When a value counts as rare."""

RARE = 10
"""Values that fewer rows have are rare, unless the user says otherwise."""

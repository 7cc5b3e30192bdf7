"""Where a search may begin, other than at what must be shown."""

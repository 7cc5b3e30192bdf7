"""What a release claims of its privacy, and what a search must keep to so that it can."""

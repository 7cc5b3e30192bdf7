"""Publishing: the way from a table and a policy to a release."""

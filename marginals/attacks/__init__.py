"""What those who hold a release can conclude from it."""

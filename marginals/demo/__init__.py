"""A simulated census to try things on."""

"""Findings in sentences, for people who decide about a release."""

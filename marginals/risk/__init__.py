"""Disclosure risk: what attackers who know something could do to the people in a table or release."""

"""Attackers who know a little more than the tables say: by what odds they may, before a criterion breaks."""

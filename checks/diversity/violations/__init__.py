"""Ways of violating a diversity criterion, as linear inequalities on logarithms."""

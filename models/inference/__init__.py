"""The maximum-entropy distribution of published marginals: fitted, calibrated, queried, bounded, sampled."""

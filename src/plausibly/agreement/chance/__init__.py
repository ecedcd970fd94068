"""Agreement beyond chance: alpha, KS, sigma and kappa."""

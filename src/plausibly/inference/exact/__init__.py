"""Exact draws, where the posterior is known."""

"""Reliability and the plausibilities of all cases as one model."""

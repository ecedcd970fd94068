"""Decisions that rest on a posterior: sets of answers with a guarantee, and what to annotate next."""

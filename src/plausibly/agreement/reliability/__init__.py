"""Weighted reliability, from confidence and competence."""

"""Evaluate classifiers under uncertain ground truth."""

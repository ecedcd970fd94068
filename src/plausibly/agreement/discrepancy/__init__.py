"""The discrepancy ratio, and the alternatives that it replaces."""

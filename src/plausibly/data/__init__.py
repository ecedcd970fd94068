"""Everything that is read: annotations, scores, labels, predictions, groups and outcomes; audit; simulated data."""

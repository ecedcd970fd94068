"""Can a model stand in for an annotator? The alternative annotator test, and answers to four questions."""

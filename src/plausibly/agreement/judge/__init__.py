"""May a model stand in for an annotator? The alternative annotator test, and an answer from four sides."""

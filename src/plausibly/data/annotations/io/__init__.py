"""File formats of annotations, one module each."""

"""Tables of labels of any type, and their file formats."""

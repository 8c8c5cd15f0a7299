"""A graph cut into parts, and training on them by one process or several."""

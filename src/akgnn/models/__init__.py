"""Whole networks, from features to class scores, and the list of them."""

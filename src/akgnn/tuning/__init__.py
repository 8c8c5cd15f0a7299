"""Choosing a model and its settings, by validation alone."""

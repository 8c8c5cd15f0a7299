"""Strategies: how a model is trained, from plain cross-entropy on the whole graph to others."""

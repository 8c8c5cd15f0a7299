"""Seeing why: what a graph says of its labels, and which nodes decided a prediction."""

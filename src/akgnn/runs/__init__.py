"""Runs: what is to be trained, the folders that keep it, and what it answers."""

"""Modules that carry the parameters of one layer."""

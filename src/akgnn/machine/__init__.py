"""This machine: its devices, its memory, and what records say of it."""

"""Experiments: what to measure (specs), the runner, the records, and statistics over them."""

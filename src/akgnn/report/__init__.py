"""The report: one HTML page of an experiment's records or of one run, which opens offline."""

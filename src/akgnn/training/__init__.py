"""Training: settings, the loop, early stopping, metrics and run folders."""

"""Models that train side by side in one stacked model."""

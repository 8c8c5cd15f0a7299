"""Ways of training a model other than plain cross-entropy on the whole graph."""

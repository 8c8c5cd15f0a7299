"""Functions of tensors and a graph, without parameters."""

"""From files and names to `NodeData`: features, labels, graph and split."""

"""From a table of nodes and a table of edges, with ids of one's own, to `NodeData`."""

"""AKConv between PyG's layers, trained by a plain PyTorch loop.

Run: python examples/own_layer.py [EPOCHS]
"""

import sys

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GraphNorm, Linear

import akgnn

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 200


class Net(torch.nn.Module):
    """Two adaptive layers with PyG's normalisation between them."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = Linear(in_channels, hidden_channels)
        self.convs = torch.nn.ModuleList(akgnn.AKConv(kernel="smooth") for _ in range(2))
        self.norm = GraphNorm(hidden_channels)
        self.last = Linear(hidden_channels, out_channels)

    def forward(self, x: torch.Tensor, graph: akgnn.Graph) -> torch.Tensor:
        """Class scores; a `Graph` is built once, where `edge_index` would be sorted every time."""
        h = F.dropout(F.relu(self.first(x)), 0.5, self.training)
        h = self.norm(self.convs[0](h, graph))
        h = self.convs[1](F.dropout(F.relu(h), 0.5, self.training), graph)
        return self.last(h)


torch.manual_seed(0)
cora = akgnn.load_dataset("cora")
data = Data(x=cora.x.to_dense(torch.float32), edge_index=cora.graph.edge_index, y=cora.y)
graph = akgnn.Graph.from_pyg(data)

net = Net(data.num_features, 32, cora.num_classes)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(epochs):
    net.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(net(data.x, graph)[cora.split.train], data.y[cora.split.train])
    loss.backward()
    optimizer.step()

net.eval()
predicted = net(data.x, graph).argmax(1)
hits = predicted[cora.split.test] == data.y[cora.split.test]
print(f"test accuracy {100 * hits.float().mean():.1f} % after {epochs} epochs")
print("λ by layer:", ", ".join(f"{conv.lambda_max.item():.2f}" for conv in net.convs))

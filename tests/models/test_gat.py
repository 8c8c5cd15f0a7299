import torch
import torch.nn.functional as F

from akgnn.models.gat import GAT
from akgnn.ops.dropout import Noise
from oracles import dense, random_graph


def attention(layer, linear, x, adjacency, concat):
    """Softmax over neighbours and self of LeakyReLU(a_s · W h_u + a_t · W h_v), densely."""
    heads, width = layer.att_src.shape[1:]
    h = (x @ linear.weight.T).view(len(x), heads, width)
    outputs = []
    linked = (adjacency + torch.eye(len(x))) > 0
    for k in range(heads):
        source, target = h[:, k] @ layer.att_src[0, k], h[:, k] @ layer.att_dst[0, k]
        score = F.leaky_relu(target[:, None] + source[None, :], 0.2)
        weight = torch.softmax(score.masked_fill(~linked, -torch.inf), dim=1)
        outputs.append(weight @ h[:, k])
    out = torch.cat(outputs, 1) if concat else torch.stack(outputs).mean(0)
    return out + layer.bias


def test_equals_the_dense_formula():
    graph = random_graph(0)
    model = GAT(6, 4, 3, heads=2, output_heads=2).double().eval()
    x = torch.randn(graph.num_nodes, 6, dtype=torch.float64)
    hidden = F.elu(attention(model.first_layer, model.transform, x, dense(graph), concat=True))
    expected = attention(
        model.second_layer, model.second_layer.lin, hidden, dense(graph), concat=False
    )
    torch.testing.assert_close(model(x, graph), expected)


def test_attention_is_dropped_by_noise_alone():
    graph = random_graph(1)
    model = GAT(6, 4, 3, dropout=0.0)
    x = torch.randn(graph.num_nodes, 6)
    torch.manual_seed(1)
    out = model(x, graph, Noise(0, 0))
    torch.manual_seed(2)
    assert torch.equal(out, model(x, graph, Noise(0, 0)))
    assert not torch.equal(out, model(x, graph, Noise(0, 1)))

"""Makes pyg.npz: what PyTorch Geometric answers on one small graph, for every model; with --deep pyg_deep.npz, for models that
are deeper or less deep than usual.

    pip install torch torch_geometric==2.8.* numpy
    python pyg_goldens.py [--deep] [pyg.npz]

A batch of arrivals is part of the graph (the paper's Eq. 11), so the answers are those of joint attachment: one forward
pass over all nodes, in float64. Weights are stored under their state_dict names, as PyTorch has them: [out, in].

    G.adj (60×60), G.x_dense, G.x_sparse (60×20)   G is weighted or plain; the last 12 nodes are the arrivals, and edges
                                                   between two of them have weight 1
    MODEL.weights.NAME                             state_dict; MODEL is sgc, gcn, sage, appnp, cheby2 or cheby3 (K), or
                                                   sgc_1, sgc_3, ssgc_5 (K, alpha 0.25), gcn_3, sage_3 (layers)
    MODEL.G.FEATURES                               60×4 logits of all nodes; FEATURES is dense or sparse
"""

import sys

import numpy as np
import torch
from torch import nn
from torch_geometric import __version__
from torch_geometric.nn import APPNP, GCN, MLP, ChebConv, GraphSAGE, MessagePassing, SGConv, SSGConv

NODES, ARRIVALS, FEATURES, HIDDEN, CLASSES = 60, 12, 20, 8, 4
torch.set_default_dtype(torch.float64)
torch.manual_seed(4)
rng = np.random.default_rng(4)


class WeightedMean(MessagePassing):
    """SAGEConv's neighbours by their weighted mean; its own takes no weights."""

    def __init__(self):
        super().__init__(aggr="add")

    def forward(self, x, edge_index, weight):
        total = torch.zeros(len(x)).index_add(0, edge_index[1], weight)
        summed = self.propagate(edge_index, x=x, weight=weight)
        return torch.where(total[:, None] > 0, summed / total[:, None].clamp(min=1e-300), 0.0)

    def message(self, x_j, weight):
        return weight[:, None] * x_j


class WeightedSAGE(GraphSAGE):
    def forward(self, x, edge_index, weight):
        mean = WeightedMean()
        for layer, conv in enumerate(self.convs):
            x = conv.lin_l(mean(x, edge_index, weight)) + conv.lin_r(x)
            x = x.relu() if layer + 1 < len(self.convs) else x
        return x


class Cheby(nn.Module):
    def __init__(self, order):
        super().__init__()
        self.convs = nn.ModuleList([ChebConv(FEATURES, HIDDEN, order), ChebConv(HIDDEN, CLASSES, order)])

    def forward(self, x, edge_index, weight):
        return self.convs[1](self.convs[0](x, edge_index, weight).relu(), edge_index, weight)


class Propagated(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = MLP([FEATURES, HIDDEN, CLASSES], norm=None)
        self.propagation = APPNP(K=10, alpha=0.1)

    def forward(self, x, edge_index, weight):
        return self.propagation(self.mlp(x), edge_index, weight)

    def state_dict(self, **kwargs):
        return self.mlp.state_dict(**kwargs)


def graph(weighted):
    adj = np.triu(rng.random((NODES, NODES)) < 0.06, 1) * (rng.gamma(0.5, 1.0, (NODES, NODES)) if weighted else 1.0)
    among = adj[-ARRIVALS:, -ARRIVALS:]
    among[among > 0] = 1.0
    adj[[5, 55]] = adj[:, [5, 55]] = 0  # a node of the graph and an arrival without edges
    return adj + adj.T


arguments = [a for a in sys.argv[1:] if a != "--deep"]
deep = len(arguments) + 1 < len(sys.argv)
arrays = {}
models = {
    "sgc_1": SGConv(FEATURES, CLASSES, K=1),
    "sgc_3": SGConv(FEATURES, CLASSES, K=3),
    "gcn_3": GCN(FEATURES, HIDDEN, 3, CLASSES),
    "sage_3": GraphSAGE(FEATURES, HIDDEN, 3, CLASSES),
    "ssgc_5": SSGConv(FEATURES, CLASSES, alpha=0.25, K=5),
} if deep else {
    "sgc": SGConv(FEATURES, CLASSES, K=2),
    "gcn": GCN(FEATURES, HIDDEN, 2, CLASSES),
    "sage": GraphSAGE(FEATURES, HIDDEN, 2, CLASSES),
    "appnp": Propagated(),
    "cheby2": Cheby(2),
    "cheby3": Cheby(3),
}
for name, model in models.items():
    model.eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # PyTorch Geometric starts its biases at 0
            nn.init.normal_(parameter)
    for key, value in model.state_dict().items():
        arrays[f"{name}.weights.{key}"] = value.numpy()
sage = "sage_3" if deep else "sage"
weighted_sage = WeightedSAGE(FEATURES, HIDDEN, 3 if deep else 2, CLASSES).eval()
weighted_sage.load_state_dict(models[sage].state_dict())

for kind in ("weighted", "plain"):
    adj = graph(kind == "weighted")
    source, target = np.nonzero(adj)
    edge_index = torch.from_numpy(np.stack([source, target]))
    weight = torch.from_numpy(adj[source, target])
    arrays[f"{kind}.adj"] = adj
    for features, x in (
        ("dense", rng.normal(size=(NODES, FEATURES))),
        ("sparse", (rng.random((NODES, FEATURES)) < 0.15).astype(float)),
    ):
        arrays[f"{kind}.x_{features}"] = x
        for name, model in models.items():
            with torch.no_grad():
                if name != sage:
                    out = model(torch.from_numpy(x), edge_index, weight)
                elif kind == "weighted":
                    out = weighted_sage(torch.from_numpy(x), edge_index, weight)
                else:
                    out = model(torch.from_numpy(x), edge_index)
                    same = weighted_sage(torch.from_numpy(x), edge_index, weight)
                    assert torch.allclose(out, same, atol=1e-12), "the weighted mean is not SAGEConv's where weights are 1"
            arrays[f"{name}.{kind}.{features}"] = out.numpy()

path = arguments[0] if arguments else "pyg_deep.npz" if deep else "pyg.npz"
np.savez_compressed(path, **arrays)
print(f"{path}: {len(arrays)} arrays by PyTorch Geometric {__version__}, PyTorch {torch.__version__}")

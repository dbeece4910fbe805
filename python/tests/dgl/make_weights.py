"""Write trainer/weights/testdata/dgl.safetensors: weights of DGL's layers, and what DGL answers with them.

    pip install "numpy<2" torch==2.1.2 torchdata==0.7.1 dgl==2.1.0 safetensors pydantic pandas pyyaml
    python python/tests/dgl/make_weights.py trainer/weights/testdata/dgl.safetensors

GraphConv, SGConv and APPNPConv read the graph with dgl.add_self_loop, as trainer import takes them.
"""

from __future__ import annotations

import sys

import dgl
import dgl.nn.pytorch as layers
import numpy as np
import torch
from safetensors.torch import save_file

N, FEATURES, HIDDEN, CLASSES = 11, 6, 5, 3


def main(path: str) -> None:
    torch.manual_seed(3)
    edges = np.triu(np.random.default_rng(2).random((N, N)) < 0.3, 1)
    adj = (edges | edges.T).astype(np.float32)
    adj[8, :] = adj[:, 8] = 0  # a node without edges
    plain = dgl.graph(np.nonzero(adj), num_nodes=N)
    looped, x = dgl.add_self_loop(plain), torch.randn(N, FEATURES)
    gcn = torch.nn.Module()
    gcn.layers = torch.nn.ModuleList([layers.GraphConv(FEATURES, HIDDEN), layers.GraphConv(HIDDEN, CLASSES)])
    sage = torch.nn.Module()
    sage.conv1, sage.conv2 = layers.SAGEConv(FEATURES, HIDDEN, "mean"), layers.SAGEConv(HIDDEN, CLASSES, "mean")
    sgc = torch.nn.Module()
    sgc.conv = layers.SGConv(FEATURES, CLASSES, k=2)
    appnp = torch.nn.Module()
    appnp.layers = torch.nn.ModuleList([torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Linear(HIDDEN, CLASSES)])
    hops = layers.APPNPConv(k=10, alpha=0.1)
    out = {"adj": torch.tensor(adj), "x": x}
    for name, model, forward in (
        ("gcn", gcn, lambda: gcn.layers[1](looped, torch.relu(gcn.layers[0](looped, x)))),
        ("sage", sage, lambda: sage.conv2(plain, torch.relu(sage.conv1(plain, x)))),
        ("sgc", sgc, lambda: sgc.conv(looped, x)),
        ("appnp", appnp, lambda: hops(looped, appnp.layers[1](torch.relu(appnp.layers[0](x))))),
    ):
        for parameter in model.parameters():
            if parameter.dim() == 1:  # DGL begins with biases of 0
                torch.nn.init.uniform_(parameter, -1, 1)
        with torch.no_grad():
            out[f"answers.{name}"] = forward().contiguous()
        out |= {f"{name}.{key}": value.contiguous().clone() for key, value in model.state_dict().items()}
    save_file(out, path)


if __name__ == "__main__":
    main(sys.argv[1])

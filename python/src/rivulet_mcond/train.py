"""Train a PyTorch Geometric model on a data set in the GraphSAINT layout, for `trainer import`.

    python -m rivulet_mcond.train DIRECTORY model.safetensors --model gcn
    python -m rivulet_mcond.train DIRECTORY model.safetensors --model sage --normalize

DIRECTORY is what rivulet_mcond.export writes and `trainer train --data` reads; the weights are written as
rivulet_mcond.export_model writes them. The protocol is the inductive one: the model is fitted on the original
graph alone, the subgraph on the nodes of tr and un, with the labels of tr. The nodes of va are attached to it to
choose the epoch, those of te to measure accuracy, in batches of --batch nodes that the graph does not know
otherwise: with the edges among them (graph) and without (node). `trainer import` measures O->O in the same way.

--normalize is T.NormalizeFeatures, rows over their sum; import such a model with `--preprocess l1`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import APPNP, GCN, ChebConv, GraphSAGE, SGConv
from torch_geometric.transforms import NormalizeFeatures

from .export_model import ExportModelError, export_model


class TrainError(ValueError):
    """The data or the options do not fit."""


class APPNPNet(nn.Module):  # type: ignore[misc]
    """A perceptron whose answers are spread with a restart."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        """Make its layers."""
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(features, hidden), nn.Linear(hidden, classes)
        self.propagation = APPNP(K=10, alpha=0.1)
        self.dropout = dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return logits, n x classes."""
        x = F.dropout(self.lin1(x).relu(), self.dropout, self.training)
        return self.propagation(self.lin2(x), edge_index)


class ChebNet(nn.Module):  # type: ignore[misc]
    """Two Chebyshev convolutions."""

    def __init__(self, features: int, hidden: int, classes: int, dropout: float) -> None:
        """Make its layers."""
        super().__init__()
        self.conv1, self.conv2 = ChebConv(features, hidden, K=2), ChebConv(hidden, classes, K=2)
        self.dropout = dropout

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return logits, n x classes."""
        x = F.dropout(self.conv1(x, edge_index).relu(), self.dropout, self.training)
        return self.conv2(x, edge_index)


MODELS = {
    "sgc": lambda d, h, c, dropout: SGConv(d, c, K=2),
    "gcn": lambda d, h, c, dropout: GCN(d, h, num_layers=2, out_channels=c, dropout=dropout),
    "sage": lambda d, h, c, dropout: GraphSAGE(d, h, num_layers=2, out_channels=c, dropout=dropout),
    "appnp": APPNPNet,
    "cheby": ChebNet,
}


def read(directory: str, normalize: bool = False) -> Any:
    """The data set as Data with x, y (-1: unknown), edge_index and the nodes of each role: tr, un, va, te."""

    def path(name: str) -> str:
        return os.path.join(directory, name)

    adj = sp.load_npz(path("adj_full.npz")).tocoo()
    if os.path.exists(path("feats.npz")):
        x = sp.load_npz(path("feats.npz")).toarray()
    else:
        x = np.load(path("feats.npy"))
    with open(path("class_map.json")) as f:
        classes = json.load(f)
    with open(path("role.json")) as f:
        roles = json.load(f)
    y = torch.full((len(x),), -1)
    for node, label in classes.items():
        if not isinstance(label, int):
            raise TrainError(f"{path('class_map.json')}: node {node} has {label}, want one class")
        y[int(node)] = label
    edge_index = torch.from_numpy(np.stack([adj.row, adj.col]).astype(np.int64))
    data = Data(x=torch.from_numpy(np.asarray(x, np.float32)), y=y, edge_index=edge_index)
    for role in ("tr", "un", "va", "te"):
        data[role] = torch.tensor(roles.get(role, []), dtype=torch.long)
    for role in ("tr", "va", "te"):
        if len(data[role]) == 0:
            raise TrainError(f"{path('role.json')}: {role} is empty")
    return NormalizeFeatures()(data) if normalize else data


def attached(data: Any, arrivals: Tensor, among: bool) -> tuple[Tensor, Tensor]:
    """Return x and edge_index of the original graph and arrivals. among keeps the edges among these."""
    nodes = torch.cat([data.tr, data.un, arrivals])
    row = torch.full((data.num_nodes,), -1)
    row[nodes] = torch.arange(len(nodes))
    edges = row[data.edge_index]
    edges = edges[:, (edges >= 0).all(0)]
    if not among:
        edges = edges[:, ~(edges >= len(nodes) - len(arrivals)).all(0)]
    return data.x[nodes], edges


@torch.no_grad()  # type: ignore[untyped-decorator]
def predict(model: Any, data: Any, nodes: Tensor, batch: int = 1000, among: bool = True) -> Tensor:
    """Logits of nodes that arrive in batches of so many; 0: all at once."""
    model.eval()
    out = []
    for part in torch.split(nodes, batch or len(nodes)):
        out.append(model(*attached(data, part, among))[-len(part) :])
    return torch.cat(out)


def accuracy(model: Any, data: Any, nodes: Tensor, batch: int = 1000, among: bool = True) -> float:
    """Percent of the nodes that are predicted right."""
    right = predict(model, data, nodes, batch, among).argmax(1) == data.y[nodes]
    return float(100 * right.double().mean().item())


def train(
    data: Any,
    name: str,
    hidden: int = 256,
    dropout: float = 0.5,
    lr: float = 0.01,
    weight_decay: float = 5e-4,
    epochs: int = 200,
    every: int = 5,
    seed: int = 0,
    say: Callable[[str], object] = lambda line: None,
) -> Any:
    """Fit a model on the original graph; of its measurements on va the best is kept, of equals the first."""
    torch.manual_seed(seed)
    model = MODELS[name](data.x.shape[1], hidden, int(data.y.max()) + 1, dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)
    x, edges = attached(data, data.tr[:0], among=True)
    best, state = -1.0, None
    for epoch in range(epochs):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edges)[: len(data.tr)], data.y[data.tr])
        loss.backward()
        optimizer.step()
        if (epoch + 1) % every != 0 and epoch + 1 != epochs:
            continue
        found = accuracy(model, data, data.va)
        if found > best:
            best, state = found, {key: value.clone() for key, value in model.state_dict().items()}
        say(f"epoch {epoch + 1}: loss {loss.item():.4f}, validation {found:.2f}%, best {best:.2f}%")
    model.load_state_dict(state)
    return model


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="directory in the GraphSAINT layout")
    parser.add_argument("out", help="safetensors file to write")
    parser.add_argument("--model", choices=sorted(MODELS), default="gcn")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--every", type=int, default=5, help="epochs from one validation to the next")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--normalize", action="store_true", help="T.NormalizeFeatures: rows over their sum")
    parser.add_argument("--batch", type=int, default=1000, help="test nodes that are attached at once; 0: all")
    parser.add_argument("--json", action="store_true", help="print the accuracies as one JSON object")
    args = parser.parse_args()
    try:
        if os.path.exists(args.out):
            raise TrainError(f"{args.out} is there already")
        data = read(args.data, args.normalize)
        model = train(
            data,
            args.model,
            args.hidden,
            args.dropout,
            args.lr,
            args.weight_decay,
            args.epochs,
            args.every,
            args.seed,
            say=lambda line: print(line, file=sys.stderr),
        )
        export_model(model, args.out)
    except (TrainError, ExportModelError, OSError) as error:
        sys.exit(f"rivulet_mcond.train: {error}")
    figures = {mode: accuracy(model, data, data.te, args.batch, mode == "graph") for mode in ("graph", "node")}
    if args.json:
        print(json.dumps({"model": args.model, "seed": args.seed, "batch": args.batch, "accuracy": figures}))
    else:
        print(
            f"{args.model} on {len(data.te)} test nodes: {figures['graph']:.2f}% in graph batches, "
            f"{figures['node']:.2f}% in node batches"
        )


if __name__ == "__main__":
    main()

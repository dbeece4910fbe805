#!/usr/bin/env python3
"""Time in PyTorch what `trainer train` spends its time on: propagation of the features, an evaluation of SGC's loss and
gradient, and an epoch of a GCN of two layers.

    rivulet generate --preset reddit --out out/reddit-data
    python tools/peer/training.py out/reddit-data
    python tools/peer/training.py out/data --artifact out/artifact      # check the objective first

DATA is in the GraphSAINT layout; T is the subgraph on the nodes of tr and un. With --artifact, of `trainer train --data DATA
--models sgc`, the weights that Rivulet fitted must be where this program's gradient vanishes, to a hundredth of the
gradient at zero: then both minimise the same function of the same features. Preprocessing is the artifact's; without one it
is l2-center. trainer/fit's benchmarks time the same in Go: go test -bench 'Design|Epoch' ./trainer/fit.

Needs torch, numpy, scipy and safetensors.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

import table


def original(directory):
    """T's adjacency matrix, raw features and labels (-1: unknown)."""
    directory = pathlib.Path(directory)
    adj = sp.load_npz(directory / "adj_full.npz").tocsr()
    sparse = directory / "feats.npz"
    x = sp.load_npz(sparse).toarray() if sparse.exists() else np.load(directory / "feats.npy")
    classes = json.loads((directory / "class_map.json").read_text())
    roles = json.loads((directory / "role.json").read_text())
    labels = np.full(adj.shape[0], -1)
    for i in roles["tr"]:
        labels[i] = classes[str(i)]
    nodes = np.sort(np.array(roles["tr"] + roles.get("un", [])))
    return adj[nodes][:, nodes], torch.from_numpy(x[nodes].astype(np.float32)), torch.from_numpy(labels[nodes])


def normalised(adj):
    """Â = D̃^-½ (A+I) D̃^-½ as a CSR tensor."""
    adj = (adj != 0).astype(np.float32) + sp.identity(adj.shape[0], dtype=np.float32, format="csr")
    q = sp.diags(1 / np.sqrt(np.asarray(adj.sum(1)).ravel())).astype(np.float32)
    hat = (q @ adj @ q).tocsr()
    return torch.sparse_csr_tensor(torch.from_numpy(hat.indptr.astype(np.int64)), torch.from_numpy(hat.indices.astype(np.int64)),
                                   torch.from_numpy(hat.data), size=hat.shape)


def preprocessed(x, artifact):
    """x as the artifact's models read it, or by l2-center."""
    if artifact is None:
        x = F.normalize(x)
        return x - x.mean(0)
    p = json.loads((artifact / "manifest.json").read_text())["preprocess"]
    s = load_file(artifact / "synthetic.safetensors")
    if p["kind"] == "l2-center":
        return p["scale"] * (F.normalize(x) - torch.from_numpy(s["preprocess.mean"]))
    if p["kind"] == "standardize":
        return p["scale"] * (x - torch.from_numpy(s["preprocess.mean"])) / torch.from_numpy(s["preprocess.std"])
    if p["kind"] == "l1":
        return p["scale"] * x / x.abs().sum(1, keepdim=True).clamp(min=1)
    return x


def evaluation(design, labels, w, b, decay):
    """Mean cross-entropy + decay·‖W‖², and its gradient."""
    w.grad = b.grad = None
    loss = F.cross_entropy(design @ w + b, labels) + decay * (w * w).sum()
    loss.backward()
    return loss


def check(artifact, design, labels):
    """Ends the program unless the artifact's sgc is where the gradient vanishes."""
    info = next(m for m in json.loads((artifact / "manifest.json").read_text())["models"] if m["name"] == "sgc")
    fitted = load_file(artifact / "models" / "sgc.safetensors")
    sizes = []
    for start in (torch.zeros(fitted["lin.weight"].shape), torch.from_numpy(fitted["lin.weight"])):
        w = start.clone().requires_grad_()
        b = (torch.from_numpy(fitted["lin.bias"]).view(-1) if start.any() else torch.zeros(start.shape[1])).clone().requires_grad_()
        evaluation(design, labels, w, b, info["weight_decay"])
        sizes.append(torch.cat([w.grad, b.grad[None]]).norm().item())
    share = sizes[1] / sizes[0]
    print(f"the gradient at Rivulet's weights is {share:.1e} of that at zero", file=sys.stderr)
    if not share <= 1e-2:
        sys.exit("training: this is not the function that Rivulet's weights minimise")


class Epochs:
    """A GCN of two layers, dropout 0.5, Adam: one step on all labelled nodes a run."""

    def __init__(self, hat, x, labels, classes, hidden):
        self.hat, self.x, self.labels, self.known = hat, x, labels, (labels >= 0).nonzero().view(-1)
        self.w1, self.w2 = torch.nn.Linear(x.shape[1], hidden, bias=False), torch.nn.Linear(hidden, classes, bias=False)
        self.b1, self.b2 = torch.nn.Parameter(torch.zeros(hidden)), torch.nn.Parameter(torch.zeros(classes))
        self.adam = torch.optim.Adam([*self.w1.parameters(), *self.w2.parameters(), self.b1, self.b2], lr=0.01)

    def __call__(self, _):
        self.adam.zero_grad()
        h = (self.product(self.w1(F.dropout(self.x, 0.5))) + self.b1).relu()
        out = self.product(self.w2(F.dropout(h, 0.5))) + self.b2
        F.cross_entropy(out[self.known], self.labels[self.known]).backward()
        self.adam.step()

    def product(self, z):
        return Symmetric.apply(self.hat, z)


class Symmetric(torch.autograd.Function):
    """Â z for a symmetric Â, whose gradient is Â g: no transpose is made."""

    @staticmethod
    def forward(ctx, hat, z):
        ctx.hat = hat
        return hat @ z

    @staticmethod
    def backward(ctx, g):
        return None, ctx.hat @ g


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="directory in the GraphSAINT layout")
    parser.add_argument("--artifact", type=pathlib.Path, help="artifact of these data, with an sgc, against which the objective is checked")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--time", type=float, default=5, help="seconds for which each figure is measured")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    adj, x, labels = original(args.data)
    hat, x, classes = normalised(adj), preprocessed(x, args.artifact), int(labels.max()) + 1
    known = (labels >= 0).nonzero().view(-1)
    with torch.no_grad():
        design = (hat @ (hat @ x))[known]
    if args.artifact:
        check(args.artifact, design, labels[known])
    n, d, entries = len(x), x.shape[1], hat.values().numel()
    w, b = (torch.randn(d, classes) * 0.05).requires_grad_(), torch.zeros(classes, requires_grad=True)
    print(table.machine() + "\n")
    rows = []
    for name, run, flops in (
            (f"propagation/{entries}x{d}", lambda _: hat @ x, 2 * entries * d),
            (f"sgc-evaluation/{len(known)}x{d}x{classes}", lambda _: evaluation(design, labels[known], w, b, 1e-3), 4 * len(known) * d * classes),
            (f"gcn-epoch/{n}x{d}x{args.hidden}", Epochs(hat, x, labels, classes, args.hidden),
             4 * n * d * args.hidden + 6 * n * args.hidden * classes + 4 * entries * (args.hidden + classes))):
        wall, cpu = table.seconds(run, args.time)
        rows.append((name, {"ms": wall * 1e3, "CPU-ms": cpu * 1e3, "GFLOP/s": flops / wall / 1e9}))
    table.show("PyTorch training", ["ms", "CPU-ms", "GFLOP/s"], rows)


if __name__ == "__main__":
    main()

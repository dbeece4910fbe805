"""Tests of rivulet_mcond.train: python python/tests/pyg/test_train.py, where the extra pyg is installed.

With --fixtures it writes those of package trainer/weights to trainer/weights/testdata instead: state_dicts as users name
them, in every precision, and what PyTorch Geometric answers with them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import (
    APPNP,
    GCN,
    ChebConv,
    DirGNNConv,
    GCNConv,
    GraphSAGE,
    RGCNConv,
    SAGEConv,
    SGConv,
    to_hetero,
)
from torch_geometric.nn.dense import HeteroDictLinear

HERE = os.path.dirname(os.path.abspath(__file__))
from rivulet_mcond.train import MODELS, TrainError, accuracy, attached, predict, read, train  # noqa: E402

ROLES = {"tr": [5, 0, 3], "un": [1], "va": [4, 2], "te": [7, 6]}
EDGES = [(0, 1), (0, 3), (1, 5), (2, 4), (2, 5), (3, 5), (4, 0), (6, 0), (6, 7), (7, 3), (7, 4)]


def write(out, roles=ROLES, classes=None):
    """Eight nodes of two classes, told by their features."""
    os.makedirs(out)
    adj = np.zeros((8, 8), np.float32)
    for i, j in EDGES:
        adj[i, j] = adj[j, i] = 1
    y = np.arange(8) % 2
    sp.save_npz(os.path.join(out, "adj_full.npz"), sp.csr_matrix(adj))
    np.save(os.path.join(out, "feats.npy"), np.stack([3 * y, 3 - 3 * y, np.ones(8)], 1).astype(np.float32))
    for name, value in (
        ("class_map.json", classes or {str(i): int(c) for i, c in enumerate(y)}),
        ("role.json", roles),
    ):
        with open(os.path.join(out, name), "w") as f:
            json.dump(value, f)
    return out


def cliques():
    """Two cliques of six nodes, a class each, which the features tell as well."""
    y = torch.arange(12) // 6
    edge_index = torch.tensor([(i, j) for i in range(12) for j in range(12) if i != j and y[i] == y[j]]).t()
    nodes = lambda *within: torch.tensor([6 * c + k for c in (0, 1) for k in within])
    none = torch.tensor([], dtype=torch.long)
    return Data(
        x=F.one_hot(y).float(),
        y=y,
        edge_index=edge_index,
        tr=nodes(0, 1),
        un=none,
        va=nodes(2, 3),
        te=nodes(4, 5),
    )


class Train(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def edges(self, data, arrivals, among):
        x, edges = attached(data, torch.tensor(arrivals, dtype=torch.long), among)
        nodes = [5, 0, 3, 1] + arrivals
        np.testing.assert_array_equal(x.numpy(), data.x[nodes].numpy())
        return {tuple(sorted((nodes[i], nodes[j]))) for i, j in edges.t().tolist()}

    def test_attached(self):
        data = read(write(self.path("data")))
        original = {(0, 1), (0, 3), (1, 5), (3, 5)}
        self.assertEqual(self.edges(data, [], True), original)
        self.assertEqual(self.edges(data, [7, 6], True), original | {(0, 6), (3, 7), (6, 7)})
        self.assertEqual(self.edges(data, [7, 6], False), original | {(0, 6), (3, 7)})
        self.assertEqual(self.edges(data, [4, 7], True), original | {(0, 4), (3, 7), (4, 7)})

    def test_batches(self):
        data = read(write(self.path("data")))
        model = train(data, "gcn", hidden=4, epochs=2).eval()
        alone = torch.cat([predict(model, data, data.te[k : k + 1], 0) for k in range(2)])
        torch.testing.assert_close(predict(model, data, data.te, 1), alone)
        self.assertFalse(
            torch.allclose(predict(model, data, data.te, 0), alone), "the edge between the two counts"
        )

    def test_normalize(self):
        x = read(write(self.path("data")), normalize=True).x
        np.testing.assert_allclose(x.sum(1).numpy(), 1, rtol=1e-6)

    def test_every_model_learns(self):
        data = cliques()
        for name in MODELS:
            with self.subTest(name):
                model = train(data, name, hidden=16, epochs=100, dropout=0.1)
                self.assertEqual(accuracy(model, data, data.te), 100)

    def test_same_seed_same_weights(self):
        data = read(write(self.path("data")))
        one, two, other = (train(data, "sage", hidden=4, epochs=3, seed=s).state_dict() for s in (1, 1, 2))
        self.assertTrue(all(torch.equal(one[key], two[key]) for key in one))
        self.assertFalse(all(torch.equal(one[key], other[key]) for key in one))

    def test_refuses(self):
        with self.assertRaisesRegex(TrainError, "va is empty"):
            read(write(self.path("roles"), roles={**ROLES, "va": []}))
        with self.assertRaisesRegex(TrainError, r"node 1 has \[0, 1\], want one class"):
            read(write(self.path("classes"), classes={"0": 0, "1": [0, 1]}))

    def test_command(self):
        data, out = write(self.path("data")), self.path("model.safetensors")
        command = [sys.executable, "-m", "rivulet_mcond.train", data]
        run = lambda *args: subprocess.run([*command, *args], capture_output=True, text=True)
        done = run(out, "--model", "sage", "--hidden", "4", "--epochs", "40", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(json.loads(done.stdout)["accuracy"]), {"graph", "node"})
        parts = ("lin_l.weight", "lin_l.bias", "lin_r.weight")
        self.assertEqual(set(load_file(out)), {f"convs.{k}.{part}" for k in (0, 1) for part in parts})
        again = run(out)
        self.assertEqual(again.returncode, 1)
        self.assertIn("is there already", again.stderr)


class Named(nn.Module):
    """A user's module: layers under the user's names, relu between the two."""

    def __init__(self, layers, spread=None):
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)
        self.order, self.spread = list(layers), spread

    def forward(self, x, edge_index):
        for k, name in enumerate(self.order):
            layer = getattr(self, name)
            x = layer(x) if isinstance(layer, nn.Linear) else layer(x, edge_index)
            x = x.relu() if k < len(self.order) - 1 else x
        return self.spread(x, edge_index) if self.spread else x


def fixtures(out):
    """d = 6, hidden 5, C = 3."""
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    upper = np.triu(rng.random((9, 9)) < 0.35, 1)
    upper[:, 8] = False  # a node without edges
    adj = (upper | upper.T).astype(np.float32)
    x = torch.from_numpy(rng.normal(size=(9, 6)).astype(np.float32))
    edge_index = torch.from_numpy(np.stack(np.nonzero(adj)))
    spread = lambda: APPNP(K=10, alpha=0.1)
    sequence = Named({}, None)
    sequence.net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3))
    sequence.forward = lambda x, edges: spread()(sequence.net(x), edges)
    models = {
        "gcn_pyg": (GCN(6, 5, 2, 3), "", torch.float32),
        "gcn_words": (Named({"entry": GCNConv(6, 5), "answer": GCNConv(5, 3)}), "module.", torch.float64),
        "sage_pyg": (GraphSAGE(6, 5, 2, 3), "model.", torch.bfloat16),
        "sage_no_bias": (
            Named({"gnn1": SAGEConv(6, 5, bias=False), "gnn2": SAGEConv(5, 3, bias=False)}),
            "",
            torch.float32,
        ),
        "sgc_pyg": (SGConv(6, 3, K=2), "", torch.float16),
        "sgc_named": (Named({"conv1": SGConv(6, 3, K=2)}), "_orig_mod.", torch.float32),
        "appnp_named": (Named({"lin1": nn.Linear(6, 5), "lin2": nn.Linear(5, 3)}, spread()), "", torch.float32),
        "appnp_sequence": (sequence, "", torch.float32),
        "cheby_named": (Named({"conv1": ChebConv(6, 5, 2), "conv2": ChebConv(5, 3, 2)}), "", torch.float32),
        "cheby_of_3": (Named({"conv9": ChebConv(6, 5, 3), "conv10": ChebConv(5, 3, 3)}), "", torch.float32),
    }
    answers = {"adj": torch.from_numpy(adj), "x": x}
    os.makedirs(out)
    for name, (model, prefix, dtype) in models.items():
        model.eval()
        for parameter in model.parameters():
            if parameter.dim() == 1:  # PyTorch Geometric starts its biases at 0
                nn.init.normal_(parameter)
        state = {key: value.to(dtype) for key, value in model.state_dict().items()}
        model.load_state_dict({key: value.float() for key, value in state.items()})
        save_file(
            {prefix + key: value.contiguous() for key, value in state.items()},
            os.path.join(out, name + ".safetensors"),
        )
        with torch.no_grad():
            answers[name] = model(x, edge_index)
    save_file(answers, os.path.join(out, "answers.safetensors"))


def directed(out):
    """DirGNNConv around SAGEConv, α = 0.3, on edges with directions: state_dict and answers in one file."""
    torch.manual_seed(3)
    rng = np.random.default_rng(4)
    adj = (rng.random((9, 9)) < 0.25).astype(np.float32)
    np.fill_diagonal(adj, 0)
    adj[2] = 0  # a node that leads nowhere, and one that nobody leads to
    adj[:, 5] = 0
    x, edge_index = torch.randn(9, 6), torch.from_numpy(np.stack(np.nonzero(adj)))
    net = nn.Module()
    net.convs = nn.ModuleList(DirGNNConv(SAGEConv(*of), alpha=0.3) for of in [(6, 5), (5, 3)])
    logits = net.convs[1](net.convs[0](x, edge_index).relu(), edge_index).detach()
    state = {name: value.contiguous() for name, value in net.state_dict().items()}
    answers = {"answers.adj": torch.from_numpy(adj), "answers.x": x, "answers.logits": logits}
    save_file(state | answers, os.path.join(out, "dirsage.safetensors"))


def relational(out):
    """RGCNConv with the mean over the edges of each type: state_dict and answers in one file, and with a basis."""
    rng = np.random.default_rng(5)
    adj = (rng.random((3, 9, 9)) < 0.2).astype(np.float32)
    adj[:, range(9), range(9)] = 0
    adj[:, 2] = 0  # a node that reads nobody
    kind, target, source = np.nonzero(adj)
    edges = torch.from_numpy(np.stack([source, target])), torch.from_numpy(kind)
    for name, bases in (("rgcn", None), ("rgcnbases", 2)):
        torch.manual_seed(6)
        x = torch.randn(9, 6)
        net = nn.Module()
        net.convs = nn.ModuleList(RGCNConv(*of, 3, num_bases=bases, aggr="mean") for of in [(6, 5), (5, 4)])
        for conv in net.convs:
            nn.init.normal_(conv.bias)
        logits = net.convs[1](net.convs[0](x, *edges).relu(), *edges).detach()
        state = {key: value.contiguous() for key, value in net.state_dict().items()}
        answers = {"answers.adj": torch.from_numpy(adj), "answers.x": x, "answers.logits": logits}
        save_file(state | answers, os.path.join(out, name + ".safetensors"))


def hetero(out):
    """Users, items and shops without features: to_hetero(SAGEConv), and projections before RGCNConv on all nodes."""
    torch.manual_seed(8)
    rng = np.random.default_rng(9)
    sizes = {"user": 7, "item": 5, "shop": 3}
    widths = {"user": 4, "item": 3, "shop": 1}
    data = HeteroData()
    for name, n in sizes.items():
        data[name].x = torch.ones(n, 1) if name == "shop" else torch.randn(n, widths[name])
    for source, kind, target in (
        ("user", "buys", "item"),
        ("shop", "sells", "item"),
        ("user", "follows", "user"),
    ):
        adj = rng.random((sizes[source], sizes[target])) < 0.4
        adj[0] = False  # a node that leads nowhere
        if source == target:
            np.fill_diagonal(adj, False)
        edges = torch.from_numpy(np.stack(np.nonzero(adj)))
        data[source, kind, target].edge_index = edges
        data[target, f"rev_{kind}", source].edge_index = edges.flip(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = SAGEConv((-1, -1), 5), SAGEConv((-1, -1), 3)

        def forward(self, x, edge_index):
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

    net = to_hetero(Net(), data.metadata(), aggr="sum")
    with torch.no_grad():
        net(data.x_dict, data.edge_index_dict)
        logits = net(data.x_dict, data.edge_index_dict)["user"]
    answers = {f"answers.x.{name}": data[name].x for name in sizes}
    for of, index in data.edge_index_dict.items():
        if "rev" not in of[1]:
            answers["answers.edges." + "__".join(of)] = index.float()
    state = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(state | answers | {"answers.logits": logits}, os.path.join(out, "hetero.safetensors"))

    # relations in the order of a table with directions: of each type the edges of a node, then those to it
    tables = (("user", "buys", "item"), ("user", "follows", "user"), ("shop", "sells", "item"))
    kinds = [(*of, side) for of in tables for side in (0, 1)]
    start = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1], strict=True))
    index, types = [], []
    for r, (source, kind, target, side) in enumerate(kinds):
        at = data[source, kind, target].edge_index + torch.tensor([[start[source]], [start[target]]])
        index.append(at if side else at.flip(0))
        types.append(torch.full((at.shape[1],), r))
    net = nn.Module()
    net.lin = HeteroDictLinear({name: widths[name] for name in sizes}, 6)
    net.convs = nn.ModuleList(RGCNConv(*of, len(kinds), aggr="mean") for of in [(6, 5), (5, 3)])
    for conv in net.convs:
        nn.init.normal_(conv.bias)
    with torch.no_grad():
        x = net.lin(data.x_dict)
        x = torch.cat([x[name] for name in sizes])
        edges = torch.cat(index, 1), torch.cat(types)
        logits = net.convs[1](net.convs[0](x, *edges).relu(), *edges)[: sizes["user"]]
    state = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(state | answers | {"answers.logits": logits}, os.path.join(out, "heterorgcn.safetensors"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--fixtures"]:
        testdata = os.path.join(HERE, "..", "..", "..", "trainer", "weights", "testdata")
        shutil.rmtree(testdata, ignore_errors=True)
        fixtures(testdata)
        directed(testdata)
        relational(testdata)
        hetero(testdata)
    else:
        unittest.main()

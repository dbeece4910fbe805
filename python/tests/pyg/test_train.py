"""Tests of rivulet_mcond.train: python python/tests/pyg/test_train.py, where the extra pyg is installed."""

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
from safetensors.torch import load_file
from torch_geometric.data import Data

from rivulet_mcond.train import MODELS, TrainError, accuracy, attached, predict, read, train

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


if __name__ == "__main__":
    unittest.main()

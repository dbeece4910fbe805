"""Tests of rivulet_mcond.export: python python/tests/pyg/test_export.py, where the extra pyg is installed.

With --fixtures it writes those of Go's TestPyTorchGeometric to dataset/testdata/pyg instead.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData

HERE = os.path.dirname(os.path.abspath(__file__))
from rivulet_mcond.export import ExportError, export, load  # noqa: E402


def ring(**change):
    """The ring 0-1-2-3-4-0 with the chord 0-2: some edges in one direction, one twice, a self-loop; node 4 in no mask."""
    edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2), (0, 2), (3, 3)]
    mask = lambda *nodes: torch.tensor([i in nodes for i in range(5)])
    values = dict(
        x=torch.tensor([[1.5, 0, 0], [0, -2, 0], [0, 0, 0], [0.25, 0, 3], [0, 1, 0]]),
        y=torch.tensor([0, 1, 0, 1, 0]),
        edge_index=torch.tensor(edges).t(),
        train_mask=mask(0, 3),
        val_mask=mask(1),
        test_mask=mask(2),
    )
    return Data(**{**values, **change})


class Export(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.said = []

    def export(self, data, **options):
        out = os.path.join(self.dir, "out")
        export(data, out, say=self.said.append, **options)
        return out

    def json(self, out, name):
        with open(os.path.join(out, name)) as f:
            return json.load(f)

    def roles(self, out):
        return self.json(out, "role.json")

    def test_whole(self):
        out = self.export(ring())
        adj = sp.load_npz(os.path.join(out, "adj_full.npz"))
        want = np.zeros((5, 5))
        for i, j in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)]:
            want[i, j] = want[j, i] = 1
        np.testing.assert_array_equal(adj.toarray(), want)
        np.testing.assert_array_equal(np.load(os.path.join(out, "feats.npy")), ring().x.numpy())
        self.assertEqual(self.roles(out), {"tr": [0, 3], "va": [1], "te": [2], "un": [4]})
        self.assertEqual(self.json(out, "class_map.json"), {"0": 0, "1": 1, "2": 0, "3": 1, "4": 0})
        for part in (
            "1 self-loops were dropped",
            "1 repeated edges were merged",
            "5 edges that stood in one direction",
            "5 nodes, 6 edges, 3 features, 2 tr, 1 va, 1 te, 1 un",
        ):
            self.assertTrue(any(part in line for line in self.said), f"{part}: {self.said}")

    def test_sparse_features(self):
        x = ring().x
        for data, options in ((ring(x=x.to_sparse()), {}), (ring(), {"sparse": True})):
            out = self.export(data, **options)
            np.testing.assert_array_equal(sp.load_npz(os.path.join(out, "feats.npz")).toarray(), x.numpy())
            self.assertFalse(os.path.exists(os.path.join(out, "feats.npy")))
            shutil.rmtree(out)

    def test_options(self):
        self.assertNotIn("un", self.roles(self.export(ring(), unlabelled=False)))

    def test_one_of_several_splits(self):
        masks = {
            name: torch.stack([~ring()[name], ring()[name]], 1)
            for name in ("train_mask", "val_mask", "test_mask")
        }
        self.assertEqual(self.roles(self.export(ring(**masks), split=1))["tr"], [0, 3])

    def test_classes_are_renumbered(self):
        out = self.export(ring(y=torch.tensor([[3], [7], [3], [7], [-1]])))
        self.assertEqual(self.json(out, "class_map.json"), {"0": 0, "1": 1, "2": 0, "3": 1})
        self.assertTrue(any("[3, 7] were renumbered" in line for line in self.said), self.said)

    def test_edge_features_are_left_out(self):
        self.export(ring(edge_attr=torch.ones(9, 2)))
        self.assertTrue(any("edge_attr of shape (9, 2) was left out" in line for line in self.said), self.said)

    def test_weights(self):
        weight = torch.tensor([2.0, 3, 1, 1, 1, 1, 0.5, 0.25, 9])
        adj = lambda out: sp.load_npz(os.path.join(out, "adj_full.npz")).toarray()
        out = self.export(ring(edge_weight=weight), weights="keep")
        # of two directions the larger counts, those of a pair that is listed again are added up
        self.assertEqual([adj(out)[0, 1], adj(out)[1, 0], adj(out)[2, 0]], [3, 3, 0.75])
        self.assertTrue(any("trainer train --weight data reads it" in line for line in self.said), self.said)
        shutil.rmtree(out)
        self.assertEqual(adj(self.export(ring(edge_weight=weight), weights="drop")).max(), 1)

    def test_directions(self):
        adj = sp.load_npz(os.path.join(self.export(ring(), directed=True), "adj_full.npz")).toarray()
        self.assertEqual([adj[1, 2], adj[2, 1], adj[0, 1], adj[1, 0], adj.sum()], [1, 0, 1, 1, 7])
        self.assertTrue(any("trainer train --directed" in line for line in self.said), self.said)

    def test_types(self):
        data = HeteroData()
        one = ring()
        for name in ("x", "y", "train_mask", "val_mask", "test_mask"):
            data["paper"][name] = one[name]
        data["author"].num_nodes = 2
        data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 1, 4]])
        data["paper", "rev_writes", "author"].edge_index = torch.tensor([[0, 1, 4], [0, 1, 1]])
        out = self.export(data)
        rows = {
            name: pq.read_table(os.path.join(out, f"{name}.parquet")).to_pylist() for name in ("paper", "edges")
        }
        self.assertEqual(rows["paper"][0], {"id": "paper:0", "label": 0, "split": "train", "x": [1.5, 0, 0]})
        ends = [("author:0", "paper:0"), ("author:1", "paper:1"), ("author:1", "paper:4")]
        self.assertEqual(rows["edges"], [{"source": a, "target": b, "kind": "writes"} for a, b in ends])
        with open(os.path.join(out, "data.yaml")) as f:
            self.assertIn('edge_type: "kind"', f.read())

    def test_refuses(self):
        nan = ring().x
        nan[3, 1] = float("nan")
        for change, part in (
            ({"y": None}, "no y"),
            ({"train_mask": None}, "no train_mask"),
            ({"x": nan}, r"x\[3, 1\] is nan"),
            ({"x": nan.to_sparse()}, r"x\[3, 1\] is nan"),
            ({"x": torch.zeros(5)}, "x has shape"),
            ({"edge_index": torch.tensor([[0, 1], [1, 5]])}, r"edge_index\[:, 1\] is \[1, 5\], outside"),
            ({"edge_weight": torch.tensor([1.0] * 8 + [0.5])}, r"edge_weight\[8\] is 0.5.*--weights keep"),
            ({"val_mask": torch.tensor([True] * 5)}, "node 0 is in the masks of tr and va"),
            ({"test_mask": torch.tensor([False] * 5)}, "test_mask is empty"),
            ({"test_mask": torch.tensor([1, 0])}, "test_mask is of shape"),
            ({"train_mask": torch.ones(5, 2, dtype=torch.bool)}, "2 splits"),
            ({"y": torch.zeros(5, 3, dtype=torch.long)}, "y is of shape"),
            ({"y": torch.tensor([0, -1, 0, 1, 0])}, r"y\[1\] is -1"),
        ):
            with self.subTest(part), self.assertRaisesRegex(ExportError, part):
                self.export(ring(**change))
        for options, part in (
            ({"weights": "keep"}, r"edge_weight\[7\] is -1.0, want a finite number above 0"),
            ({"weights": "all"}, "weights is 'all', want keep or drop"),
        ):
            with self.subTest(part), self.assertRaisesRegex(ExportError, part):
                self.export(ring(edge_weight=torch.tensor([2.0] * 7 + [-1, 1])), **options)
        self.export(ring())
        with self.assertRaisesRegex(ExportError, "there already"):
            self.export(ring())

    def test_command(self):
        file, out = os.path.join(self.dir, "data.pt"), os.path.join(self.dir, "out")
        for held in (ring(), [ring()], (ring().to_dict(), None, Data)):
            torch.save(held, file)
            self.assertEqual(load(file).edge_index.shape, (2, 9))
        run = lambda *args: subprocess.run(
            [sys.executable, "-m", "rivulet_mcond.export", *args], capture_output=True, text=True
        )
        self.assertEqual(run(file, out).returncode, 0)
        self.assertEqual(self.roles(out)["te"], [2])
        again = run(file, out)
        self.assertEqual(again.returncode, 1)
        self.assertIn("rivulet_mcond.export: ", again.stderr)
        torch.save([1, 2], file)
        self.assertIn("holds list, want a Data or HeteroData object", run(file, out).stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["--fixtures"]:
        fixtures = os.path.join(HERE, "..", "..", "..", "dataset", "testdata", "pyg")
        shutil.rmtree(fixtures, ignore_errors=True)
        export(ring(), os.path.join(fixtures, "dense"))
        export(ring(x=ring().x.to_sparse()), os.path.join(fixtures, "sparse"))
    else:
        unittest.main()

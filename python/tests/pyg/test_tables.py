"""Tables as PyTorch Geometric's Data, and a model that is fitted on it joins the tables again."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv

from rivulet_mcond import tables
from rivulet_mcond.export import export
from rivulet_mcond.export_model import export_model

N = 120


@pytest.fixture(autouse=True)
def path(programs: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)


def shop(directory: pathlib.Path, **options: Any) -> None:
    rng = np.random.default_rng(1)
    y = np.arange(N) % 2
    nodes = {
        "user": [f"u{i}" for i in range(N)],
        "age": [None if i % 9 == 0 else float(v) for i, v in enumerate(rng.normal(30 + 20 * y, 9))],
        "plan": [("free", "gold")[c] if rng.random() < 0.7 else "silver" for c in y],
        "label": ["no" if c == 0 else "yes" for c in y],
        "split": [("train", "train", "val", "test")[i % 4] for i in range(N)],
    }
    nodes["label"][1], nodes["split"][1] = None, None
    ends = [(f"u{i}", f"u{(i + k) % N}") for i in range(N) for k in (2, 4, 7)]
    columns = {"source": [a for a, _ in ends], "target": [b for _, b in ends]}
    tables.write(directory, nodes=nodes, edges=columns | options.pop("edges", {}), id="user", **options)


class Net(torch.nn.Module):
    """Two layers of GCN."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(features, 8), GCNConv(8, 2)

    def forward(self, x: Any, edge_index: Any) -> Any:
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


def test_a_model_of_the_tables_joins_them_again(tmp_path: pathlib.Path) -> None:
    shop(tmp_path / "shop")
    data = tables.to_pyg(tmp_path / "shop")
    assert data.validate() and data.is_undirected() and data.num_nodes == N
    assert data.class_names == ["no", "yes"] and data.node_ids[5] == "u5"
    assert data.y[:3].tolist() == [0, -1, 0] and data.unlabelled_mask.nonzero().reshape(-1).tolist() == [1]
    assert data.train_mask.sum() == N // 2 - 1 and data.num_features == len(data.feature_names)
    model = Net(data.num_features)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        torch.nn.functional.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    name = export_model(model, tmp_path / "weights.safetensors")
    command = ["trainer", "import", "--weights", tmp_path / "weights.safetensors", "--model", name]
    done = subprocess.run(
        [*command, "--data", tmp_path / "shop", "--out", tmp_path / "model", "--nodes", "8"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model" / "manifest.json").exists()


def test_weights_and_types_of_edges(tmp_path: pathlib.Path) -> None:
    shop(tmp_path / "weights", edges={"weight": [0.5 + k % 3 for k in range(3 * N)]})
    data = tables.to_pyg(tmp_path / "weights")
    assert (
        data.validate()
        and data.edge_weight.shape == (data.num_edges,)
        and data.edge_weight.unique().tolist() == [0.5, 1.5, 2.5]
    )
    shop(tmp_path / "types", edges={"kind": ["abc"[k % 3] for k in range(3 * N)]}, type="kind")
    data = tables.to_pyg(tmp_path / "types")
    assert data.edge_types == ["a", "b", "c"] and data.edge_type.bincount().tolist() == [2 * N] * 3
    shop(tmp_path / "directed", directed=True)
    data = tables.to_pyg(tmp_path / "directed")
    assert not data.is_undirected() and data.num_edges == 3 * N
    ids = np.array(data.node_ids)
    assert ("u0", "u7") in set(map(tuple, ids[data.edge_index.numpy()].T.tolist()))


def test_data_goes_there_and_back(tmp_path: pathlib.Path) -> None:
    """Export writes ids and names of classes that Data has from tables."""
    shop(tmp_path / "shop")
    data = tables.to_pyg(tmp_path / "shop")
    export(data, str(tmp_path / "arrays"), say=lambda _: None)
    again = tables.to_pyg(tmp_path / "arrays")
    assert again.node_ids == data.node_ids and again.class_names == data.class_names
    for name in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask", "unlabelled_mask"):
        assert torch.equal(again[name], data[name]), name

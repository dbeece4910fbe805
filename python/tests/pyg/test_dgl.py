"""Modules of DGL answer as the weights that export_model makes of them say: the formulas are computed here in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rivulet_mcond.export_model import ExportModelError, tensors_of

dgl = pytest.importorskip("dgl", exc_type=ImportError)

N, FEATURES, HIDDEN, CLASSES = 11, 6, 5, 3


@pytest.fixture(scope="module")
def world() -> tuple[Any, Any, Any, Any]:
    """A graph without loops, one with, the adjacency matrix, and features. A node has no edges."""
    torch.manual_seed(3)
    upper = np.triu(np.random.default_rng(2).random((N, N)) < 0.3, 1)
    adj = upper | upper.T
    adj[8], adj[:, 8] = False, False
    plain = dgl.graph(np.nonzero(adj), num_nodes=N)
    return plain, dgl.add_self_loop(plain), torch.tensor(adj, dtype=torch.float32), torch.randn(N, FEATURES)


def normalised(adj: Any) -> Any:
    loops = adj + torch.eye(N)
    scale = loops.sum(1).rsqrt()
    return scale[:, None] * loops * scale[None, :]


def module(*layers: Any) -> Any:
    out = torch.nn.Module()
    out.layers = torch.nn.ModuleList(layers)
    for parameter in out.parameters():
        if parameter.dim() == 1:  # DGL begins with biases of 0
            torch.nn.init.uniform_(parameter, -1, 1)
    return out


@torch.no_grad()
def test_layers_of_dgl(world: tuple[Any, Any, Any, Any]) -> None:
    import dgl.nn.pytorch as layers

    plain, looped, adj, x = world
    p = normalised(adj)

    gcn = module(layers.GraphConv(FEATURES, HIDDEN), layers.GraphConv(HIDDEN, CLASSES))
    name, w = tensors_of(gcn)
    h = (p @ x @ w["convs.0.lin.weight"] + w["convs.0.bias"]).relu()
    got = p @ h @ w["convs.1.lin.weight"] + w["convs.1.bias"]
    assert name == "gcn"
    torch.testing.assert_close(got, gcn.layers[1](looped, gcn.layers[0](looped, x).relu()))

    sage = module(layers.SAGEConv(FEATURES, HIDDEN, "mean"), layers.SAGEConv(HIDDEN, CLASSES, "mean"))
    name, w = tensors_of(sage)
    mean, h = adj / adj.sum(1, keepdim=True).clamp(min=1), x
    for k in range(2):
        at = f"convs.{k}."
        h = mean @ h @ w[f"{at}lin_l.weight"] + w[f"{at}lin_l.bias"] + h @ w[f"{at}lin_r.weight"]
        h = h.relu() if k == 0 else h
    assert name == "sage"
    torch.testing.assert_close(h, sage.layers[1](plain, sage.layers[0](plain, x).relu()))

    sgc = module(layers.SGConv(FEATURES, CLASSES, k=3))
    name, w = tensors_of(sgc)
    assert name == "sgc" and float(w["hops"]) == 3
    torch.testing.assert_close(p @ p @ p @ x @ w["lin.weight"] + w["lin.bias"], sgc.layers[0](looped, x))

    linear = [torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Linear(HIDDEN, CLASSES)]
    name, w = tensors_of(module(*linear, layers.APPNPConv(k=7, alpha=0.2)))
    assert name == "appnp" and float(w["hops"]) == 7 and float(w["alpha"]) == pytest.approx(0.2)


def test_what_dgl_has_besides_is_refused() -> None:
    import dgl.nn.pytorch as layers

    for layer, want in (
        (layers.SAGEConv(FEATURES, CLASSES, "pool"), "aggre_type='pool'"),
        (layers.GraphConv(FEATURES, CLASSES, norm="right"), "norm='right'"),
        (layers.GraphConv(FEATURES, CLASSES, activation=torch.relu), "an activation of its own"),
    ):
        with pytest.raises(ExportModelError, match=want):
            tensors_of(module(layer, layer))

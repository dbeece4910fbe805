"""Tests of rivulet_mcond.export_model. Run as a program it writes the fixtures of package trainer/weights.

python python/tests/pyg/test_export_model.py trainer/weights/testdata
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch_geometric import nn as pyg

from rivulet_mcond.export_model import ExportModelError, export_model, main, tensors_of

FEATURES, HIDDEN, CLASSES = 6, 5, 3


class Layers(nn.Module):
    """A module as users write them: layers under names of their own, relu between two."""

    def __init__(self, *layers: Any, spread: Any = None, dropout: float = 0.5) -> None:
        super().__init__()
        self.entry = nn.ModuleList(layers)
        self.drop = nn.Dropout(dropout)
        self.spread = spread

    def forward(self, x: Any, *edges: Any) -> Any:
        for k, layer in enumerate(self.entry):
            x = layer(x) if isinstance(layer, nn.Linear) else layer(x, *edges)
            x = self.drop(x.relu()) if k + 1 < len(self.entry) else x
        return x if self.spread is None else self.spread(x, *edges)


def two(layer: Callable[..., Any], **options: Any) -> Layers:
    return Layers(layer(FEATURES, HIDDEN, **options), layer(HIDDEN, CLASSES, **options))


def modules() -> dict[str, Any]:
    """Modules by the name of a case, which begins with the model's."""
    appnp = Layers(nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES), spread=pyg.APPNP(K=10, alpha=0.1))
    return {
        "gcn_pyg": pyg.GCN(FEATURES, HIDDEN, 2, CLASSES),
        "gcn_of_3": Layers(pyg.GCNConv(6, 5), pyg.GCNConv(5, 4), pyg.GCNConv(4, 3, bias=False)),
        "sage_pyg": pyg.GraphSAGE(FEATURES, HIDDEN, 2, CLASSES),
        "sage_no_bias": two(pyg.SAGEConv, bias=False),
        "sgc_of_2": pyg.SGConv(FEATURES, CLASSES, K=2),
        "sgc_of_3": Layers(pyg.SGConv(FEATURES, CLASSES, K=3)),
        "ssgc": pyg.SSGConv(FEATURES, CLASSES, alpha=0.2, K=4),
        "appnp": appnp,
        "cheby_of_2": two(pyg.ChebConv, K=2),
        "cheby_of_3": two(pyg.ChebConv, K=3),
        "dirsage": Layers(*(pyg.DirGNNConv(pyg.SAGEConv(*of), alpha=0.3) for of in [(6, 5), (5, 3)])),
        "rgcn": two(pyg.RGCNConv, num_relations=3, aggr="mean"),
        "rgcn_bases": two(pyg.RGCNConv, num_relations=3, num_bases=2, aggr="mean"),
    }


def fixtures(out: pathlib.Path) -> None:
    """Write each module's weights, and what PyTorch Geometric answers with them."""
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    upper = np.triu(rng.random((9, 9)) < 0.35, 1)
    upper[:, 8] = False  # a node without edges
    one_way = rng.random((9, 9)) < 0.25
    one_way[2], one_way[:, 5] = False, False  # a node that leads nowhere, and one that nobody leads to
    typed = rng.random((3, 9, 9)) < 0.2
    typed[:, 2] = False  # a node that reads nobody
    for adj in (one_way, *typed):
        np.fill_diagonal(adj, False)
    x, answers = torch.randn(9, FEATURES), {}
    for name, module in modules().items():
        module.eval()
        for parameter in module.parameters():
            if parameter.dim() == 1:  # PyTorch Geometric starts its biases at 0
                nn.init.normal_(parameter)
        if name.startswith("rgcn"):
            kind, target, source = np.nonzero(typed)
            adj, edges = typed, (np.stack([source, target]), kind)
        else:
            adj = one_way if name == "dirsage" else upper | upper.T
            edges = (np.stack(np.nonzero(adj)),)
        with torch.no_grad():
            logits = module(x, *(torch.from_numpy(of) for of in edges))
        answers |= {f"adj.{name}": torch.from_numpy(adj.astype(np.float32)), f"logits.{name}": logits}
        export_model(module, out / f"{name}.safetensors")
    save_file({"x": x, **answers}, out / "answers.safetensors")


def test_names_are_those_of_artifacts() -> None:
    for name, module in modules().items():
        model, tensors = tensors_of(module)
        assert model == name.split("_")[0]
        assert all(value.dim() == 2 and value.is_contiguous() for value in tensors.values())
        first = next(iter(tensors.values()))
        assert first.shape[0] == FEATURES, name
    assert set(tensors_of(modules()["gcn_pyg"])[1]) == {
        f"convs.{k}.{of}" for k in (0, 1) for of in ("lin.weight", "bias")
    }
    assert float(tensors_of(modules()["sgc_of_3"])[1]["hops"]) == 3
    assert "hops" not in tensors_of(modules()["sgc_of_2"])[1]
    appnp = tensors_of(modules()["appnp"])[1]
    assert float(appnp["hops"]) == 10 and float(appnp["alpha"]) == pytest.approx(0.1)


def test_layers_in_another_order() -> None:
    last, first = pyg.GCNConv(HIDDEN, CLASSES), pyg.GCNConv(FEATURES, HIDDEN)
    module = Layers(last, first)
    with pytest.raises(ExportModelError, match="layer 1 reads 6 columns and the one before gives 3"):
        tensors_of(module)
    assert tensors_of(module, [first, last])[1]["convs.1.lin.weight"].shape == (HIDDEN, CLASSES)


class Scaled(Layers):
    def __init__(self) -> None:
        super().__init__(pyg.GCNConv(6, 5), pyg.GCNConv(5, 3))
        self.scale = nn.Parameter(torch.ones(1))


@pytest.mark.parametrize(
    ("module", "want"),
    [
        (lambda: two(pyg.GATConv), "GATConv has weights of its own"),
        (lambda: two(pyg.GCNConv, improved=True), "improved=True, want False"),
        (lambda: two(pyg.GCNConv, normalize=False), "normalize=False"),
        (lambda: two(pyg.SAGEConv, aggr="max"), "aggr='max', want 'mean'"),
        (lambda: two(pyg.SAGEConv, root_weight=False), "root_weight=False"),
        (lambda: two(pyg.SAGEConv, normalize=True), "normalize=True"),
        (lambda: two(pyg.ChebConv, K=4), "K = 4, want 2 or 3"),
        (lambda: two(pyg.ChebConv, K=2, normalization="rw"), "normalization='rw'"),
        (lambda: two(pyg.RGCNConv, num_relations=2, aggr="add"), "aggr="),
        (lambda: two(pyg.GraphConv), "GraphConv of PyTorch Geometric is not served"),
        (lambda: two(nn.Linear), "0 of APPNP"),
        (lambda: Layers(pyg.GCNConv(6, 5), nn.Linear(5, 3)), "layers of appnp and gcn"),
        (lambda: Layers(pyg.GCNConv(6, 5), nn.BatchNorm1d(5), pyg.GCNConv(5, 3)), "BatchNorm1d has weights"),
        (lambda: pyg.GCN(6, 5, 2, 3, jk="cat"), "jumping knowledge|has weights|layers of"),
        (Scaled, "Scaled has weights of its own"),
        (lambda: nn.Dropout(), "Dropout has the layers"),
    ],
)
def test_what_is_not_served_is_refused(module: Callable[[], Any], want: str) -> None:
    with pytest.raises(ExportModelError, match=want):
        tensors_of(module())


def test_a_module_becomes_an_artifact(tmp_path: pathlib.Path, programs: pathlib.Path) -> None:
    """The whole graph answers by the imported weights as PyTorch Geometric does."""
    from rivulet_mcond.train import accuracy, read, train

    data, saved, weights = tmp_path / "data", tmp_path / "module.pt", tmp_path / "model.safetensors"
    run = lambda *args: subprocess.run([programs / args[0], *args[1:]], check=True, capture_output=True).stdout
    run("rivulet", "generate", "--preset", "drift", "--out", str(data))
    of = read(str(data))
    module = train(of, "gcn", hidden=8, epochs=10)
    torch.save(module, saved)
    main([str(saved), str(weights)])
    flags = [
        "--data",
        str(data),
        "--nodes",
        "60",
        "--propagate=false",
        "--json",
        "--out",
        str(tmp_path / "artifact"),
    ]
    said = json.loads(run("trainer", "import", "--weights", str(weights), "--model", "gcn", *flags))
    whole = {row["batch"]: row["accuracy"]["mean"] for row in said["results"] if row["setting"] == "O->O"}
    for batch, among in (("graph", True), ("node", False)):
        assert whole[batch] == pytest.approx(accuracy(module, of, of.te, among=among), abs=0.1)
    with pytest.raises(SystemExit, match="is there already"):
        main([str(saved), str(weights)])
    torch.save(module.state_dict(), saved)
    with pytest.raises(SystemExit, match="want a module"):
        main([str(saved), str(tmp_path / "other")])
    assert set(load_file(weights)) == set(tensors_of(module)[1])


if __name__ == "__main__":
    fixtures(pathlib.Path(sys.argv[1]))

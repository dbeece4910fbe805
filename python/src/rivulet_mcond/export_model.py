"""Write the weights of a module of PyTorch Geometric or DGL under the names that `trainer import` reads.

    python -m rivulet_mcond.export_model module.pt model.safetensors
    trainer import --weights model.safetensors --model gcn --data DIR --preprocess l1 --out DIRECTORY

module.pt is a file of torch.save(module), the module and not its state_dict; or from Python:

    from rivulet_mcond.export_model import export_model
    print(export_model(module, "model.safetensors"))   # gcn: the name for --model

What a module is made of says which model it is:

    sgc     one SGConv, K hops
    ssgc    one SSGConv
    gcn     GCNConv layers, normalised, with self-loops; DGL: GraphConv on a graph of dgl.add_self_loop
    sage    SAGEConv layers with the mean
    appnp   two Linear layers, then APPNP (DGL: APPNPConv)
    cheby   ChebConv layers of K = 2 or 3, normalization "sym"
    dirsage DirGNNConv around SAGEConv
    rgcn    RGCNConv layers with aggr="mean", with or without bases

Layers are taken in the order in which the module has them, which must be that of its forward; `layers` gives
another one. Between two of them `trainer import` computes relu, dropout is for training alone, and whatever else
forward does is not served: compare the accuracy that `trainer import` prints for the whole graph with your own.
Variants of a layer that are not served, other layers with weights, and shapes that do not follow each other are
errors.

The module is unpickled, which runs what the file says: read files of people you trust.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

Tensors: TypeAlias = dict[str, Any]


class ExportModelError(ValueError):
    """The module is none of the models that are served."""


def _require(layer: Any, **wanted: Any) -> None:
    """Refuse a layer whose options are others; an option that the layer does not have is as wanted."""
    for name, value in wanted.items():
        found = getattr(layer, name, value)
        if found != value:
            raise ExportModelError(f"{type(layer).__name__} with {name}={found!r}, want {value!r}")


def _matrix(weight: Any) -> Any:
    """Return a weight of torch.nn.Linear, [out, in], as [in, out]."""
    return weight.detach().t()


def _bias(bias: Any, width: int) -> Any:
    import torch

    return torch.zeros(1, width) if bias is None else bias.detach().reshape(1, -1)


def _one(value: float) -> Any:
    import torch

    return torch.tensor([[float(value)]])


def _of_dgl(layer: Any) -> bool:
    return type(layer).__module__.startswith("dgl.")


def _dgl_loops(layer: Any) -> None:
    _require(layer, _norm="both")
    if getattr(layer, "_activation", None) is not None:
        raise ExportModelError(f"{type(layer).__name__} with an activation of its own, want relu between layers")


def _gcn(layer: Any) -> Tensors:
    if _of_dgl(layer):
        _dgl_loops(layer)
        if layer.weight is None:
            raise ExportModelError("GraphConv with weight=False")
        return {"lin.weight": layer.weight.detach(), "bias": _bias(layer.bias, layer.weight.shape[1])}
    _require(layer, improved=False, normalize=True, add_self_loops=True)
    weight = layer.lin.weight
    return {"lin.weight": _matrix(weight), "bias": _bias(layer.bias, weight.shape[0])}


def _mean(layer: Any) -> None:
    kind = getattr(layer, "aggr", None)
    if kind is None:  # an aggregation of one's own
        kind = type(getattr(layer, "aggr_module", None)).__name__
    if kind not in ("mean", "MeanAggregation"):
        raise ExportModelError(f"{type(layer).__name__} with aggr={kind!r}, want 'mean'")


def _sage(layer: Any) -> Tensors:
    if _of_dgl(layer):
        _require(layer, _aggre_type="mean", norm=None, activation=None)
        neighbours, own, bias = layer.fc_neigh, layer.fc_self, getattr(layer, "bias", None)
        bias = own.bias if bias is None else bias
    else:
        _mean(layer)
        _require(layer, normalize=False, project=False, root_weight=True)
        neighbours, own, bias = layer.lin_l, layer.lin_r, layer.lin_l.bias
    return {
        "lin_l.weight": _matrix(neighbours.weight),
        "lin_l.bias": _bias(bias, neighbours.weight.shape[0]),
        "lin_r.weight": _matrix(own.weight),
    }


def _linear(layer: Any) -> Tensors:
    return {"weight": _matrix(layer.weight), "bias": _bias(layer.bias, layer.weight.shape[0])}


def _cheby(layer: Any) -> Tensors:
    _require(layer, normalization="sym")
    if len(layer.lins) not in (2, 3):
        raise ExportModelError(f"ChebConv of K = {len(layer.lins)}, want 2 or 3")
    out = {f"lins.{k}.weight": _matrix(lin.weight) for k, lin in enumerate(layer.lins)}
    return out | {"bias": _bias(layer.bias, layer.lins[0].weight.shape[0])}


def _dirsage(layer: Any) -> Tensors:
    _require(layer, root_weight=True)
    sides = {"out": (layer.conv_out, layer.alpha), "in": (layer.conv_in, 1 - layer.alpha)}
    out = {"lin.weight": _matrix(layer.lin.weight)}
    bias = _bias(layer.lin.bias, layer.lin.weight.shape[0])
    for name, (conv, share) in sides.items():
        if type(conv).__name__ != "SAGEConv":
            raise ExportModelError(f"DirGNNConv around {type(conv).__name__}, want SAGEConv")
        _mean(conv)
        _require(conv, normalize=False, project=False, root_weight=False)  # DirGNNConv takes it from its layers
        out[f"conv_{name}.lin_l.weight"] = share * _matrix(conv.lin_l.weight)
        bias = bias + share * _bias(conv.lin_l.bias, bias.shape[1])
    return out | {"lin.bias": bias}


def _rgcn(layer: Any) -> Tensors:
    import torch

    _mean(layer)
    if layer.num_blocks is not None:
        raise ExportModelError("RGCNConv with num_blocks")
    if layer.root is None:
        raise ExportModelError("RGCNConv with root_weight=False")
    weight = layer.weight.detach()
    if layer.num_bases is not None:
        weight = torch.einsum("rb,bio->rio", layer.comp.detach(), weight)
    out = {"root": layer.root.detach(), "bias": _bias(layer.bias, layer.root.shape[1])}
    return out | {f"weight.{r}": weight[r] for r in range(len(weight))}


def _sgc(layer: Any) -> Tensors:
    if _of_dgl(layer):
        _require(layer, norm=None)
        return _linear(layer.fc) | {"hops": _one(layer._k)}
    _require(layer, add_self_loops=True)
    return _linear(layer.lin) | {"hops": _one(layer.K)}


def _ssgc(layer: Any) -> Tensors:
    _require(layer, add_self_loops=True)
    return _linear(layer.lin) | {"alpha": _one(layer.alpha), "hops": _one(layer.K)}


LAYERS: dict[str, tuple[str, str, Callable[[Any], Tensors]]] = {
    "SGConv": ("sgc", "lin.", _sgc),
    "SSGConv": ("ssgc", "lin.", _ssgc),
    "GCNConv": ("gcn", "convs.{}.", _gcn),
    "GraphConv": ("gcn", "convs.{}.", _gcn),
    "SAGEConv": ("sage", "convs.{}.", _sage),
    "Linear": ("appnp", "lins.{}.", _linear),
    "ChebConv": ("cheby", "convs.{}.", _cheby),
    "DirGNNConv": ("dirsage", "convs.{}.", _dirsage),
    "RGCNConv": ("rgcn", "convs.{}.", _rgcn),
}
"""By the class of a layer: its model, how names begin, and its tensors."""

SPREADS = ("APPNP", "APPNPConv")
"""Layers of appnp that have no weights."""


def _layers(module: Any) -> Iterator[Any]:
    """Yield the layers of a module in its order, without those that are parts of layers."""
    name = type(module).__name__
    at_home = type(module).__module__.startswith(("torch_geometric.", "dgl.", "torch."))
    if at_home and (name in LAYERS or name in SPREADS):
        if name == "GraphConv" and not _of_dgl(module):
            raise ExportModelError("GraphConv of PyTorch Geometric is not served: it sums without a norm")
        yield module
        return
    if next(iter(module.parameters(recurse=False)), None) is not None:
        raise ExportModelError(f"{type(module).__module__}.{name} has weights of its own, which are not served")
    for child in module.children():
        yield from _layers(child)


def tensors_of(module: Any, layers: Sequence[Any] | None = None) -> tuple[str, Tensors]:
    """Return the name of a module's model and its weights, by the names of artifacts."""
    found = list(_layers(module) if layers is None else layers)
    if getattr(module, "jk_mode", None) is not None:
        raise ExportModelError(f"jumping knowledge (jk={module.jk_mode!r}) is not served")
    spreads = [layer for layer in found if type(layer).__name__ in SPREADS]
    found = [layer for layer in found if type(layer).__name__ not in SPREADS]
    kinds = {type(layer).__name__ for layer in found}
    if not found or kinds - LAYERS.keys():
        raise ExportModelError(
            f"{type(module).__name__} has the layers {sorted(kinds)}, want some of {sorted(LAYERS)}"
        )
    models = sorted({LAYERS[kind][0] for kind in kinds})
    if len(models) > 1:
        raise ExportModelError(f"{type(module).__name__} has layers of {' and '.join(models)}: {sorted(kinds)}")
    name = models[0]
    if (name == "appnp") != (len(spreads) == 1):
        what = f"{len(spreads)} of {' or '.join(SPREADS)}"
        raise ExportModelError(f"layers {sorted(kinds)} with {what}: appnp is two Linear layers and one of them")
    if len(found) != {"sgc": 1, "ssgc": 1, "appnp": 2}.get(name, len(found)):
        raise ExportModelError(f"{len(found)} layers {sorted(kinds)}, want {2 if name == 'appnp' else 1}")
    out: Tensors = {}
    width = None
    for k, layer in enumerate(found):
        _, prefix, read = LAYERS[type(layer).__name__]
        tensors = read(layer)
        matrix = next(value for key, value in tensors.items() if key.endswith(("weight", "root")))
        if width is not None and matrix.shape[0] != width:
            raise ExportModelError(
                f"layer {k} reads {matrix.shape[0]} columns and the one before gives {width}: "
                "give the layers in the order of forward (layers)"
            )
        width = matrix.shape[1]
        scalars = {key: value for key, value in tensors.items() if key in ("alpha", "hops")}
        out |= {prefix.format(k) + key: value for key, value in tensors.items() if key not in scalars} | scalars
    for layer in spreads:
        hops, alpha = (layer._k, layer._alpha) if _of_dgl(layer) else (layer.K, layer.alpha)
        out |= {"alpha": _one(alpha), "hops": _one(hops)}
    if name == "sgc" and float(out["hops"]) == 2:
        del out["hops"]  # as artifacts have it
    return name, {key: value.contiguous() for key, value in out.items()}


def export_model(module: Any, out: str | os.PathLike[str], layers: Sequence[Any] | None = None) -> str:
    """Write the weights of a module to a safetensors file; return the name for `trainer import --model`."""
    from safetensors.torch import save_file

    path = pathlib.Path(out)
    if path.exists():
        raise ExportModelError(f"{path} is there already")
    name, tensors = tensors_of(module, layers)
    save_file(tensors, path, metadata={"model": name})
    return name


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m rivulet_mcond.export_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "module", help="file of torch.save(module); modules of yours are found from this directory"
    )
    parser.add_argument("out", help="safetensors file to write")
    given = parser.parse_args(arguments)
    import torch

    sys.path.insert(0, "")
    try:
        module = torch.load(given.module, map_location="cpu", weights_only=False)
        if not isinstance(module, torch.nn.Module):
            raise ExportModelError(
                f"{given.module} holds {type(module).__name__}, want a module: torch.save(module)"
            )
        name = export_model(module, given.out)
    except (ExportModelError, AttributeError, ModuleNotFoundError, OSError) as error:
        sys.exit(f"rivulet_mcond.export_model: {error}")
    print(f"trainer import --weights {given.out} --model {name}")


if __name__ == "__main__":
    main()

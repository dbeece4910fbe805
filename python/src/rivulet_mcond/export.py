"""Write a PyTorch Geometric Data object in the GraphSAINT layout that `trainer train --data` reads.

    python -m rivulet_mcond.export data.pt DIRECTORY
    python -m rivulet_mcond.export data.pt DIRECTORY --sparse

or from Python, with any Data that has edge_index, x, y and the three masks:

    from rivulet_mcond.export import export
    export(Planetoid("/tmp/cora", "Cora")[0], "cora")

What is written (`go doc rivulet/dataset` has the layout):

    adj_full.npz    edge_index made symmetric, without self-loops and repetitions, every entry 1
    feats.npy       x; or feats.npz, where x is sparse or --sparse is given: the features are then a bag of
                    words, and `--preprocess auto` treats them as such
    class_map.json  y of the nodes in a mask; of others where y >= 0
    role.json       tr, va, te from the masks; un: the nodes in no mask, which belong to the original graph,
                    too

Nodes in no mask are left without a role instead by --no-unlabelled. Masks of several splits (n x k) need
--split. What had to be changed is said; what cannot be written (edge weights other than 1, several labels a
node, masks that overlap, NaN) is an error that names the attribute and the place.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

Say: TypeAlias = Callable[[str], object]


class ExportError(ValueError):
    """The data do not fit the layout."""


def export(
    data: Any,
    out: str,
    sparse: bool = False,
    split: int | None = None,
    unlabelled: bool = True,
    say: Say = lambda line: print(line, file=sys.stderr),
) -> None:
    """Write data to the directory out, which must not have a file of the layout. say gets what was changed."""
    n = _nodes(data)
    x = _features(data, n)
    adj = _adjacency(data, n, say)
    masks = {
        role: _mask(data, name, n, split)
        for role, name in (("tr", "train_mask"), ("va", "val_mask"), ("te", "test_mask"))
    }
    roles = _roles(masks, n, unlabelled)
    classes = _classes(data, n, roles, say)

    os.makedirs(out, exist_ok=True)
    for name in ("adj_full.npz", "feats.npz", "feats.npy", "class_map.json", "role.json"):
        if os.path.lexists(os.path.join(out, name)):
            raise ExportError(f"{os.path.join(out, name)} is there already")
    sp.save_npz(os.path.join(out, "adj_full.npz"), adj)
    if sparse or sp.issparse(x):
        sp.save_npz(os.path.join(out, "feats.npz"), sp.csr_matrix(x))
    else:
        np.save(os.path.join(out, "feats.npy"), x)
    with open(os.path.join(out, "class_map.json"), "w") as f:
        json.dump(classes, f)
    with open(os.path.join(out, "role.json"), "w") as f:
        json.dump(roles, f)
    say(
        f"{out}: {n} nodes, {adj.nnz // 2} edges, {x.shape[1]} features, "
        + ", ".join(f"{len(nodes)} {role}" for role, nodes in roles.items())
    )


def _attribute(data: Any, name: str) -> Any:
    value = getattr(data, name, None)
    if value is None:
        raise ExportError(f"data has no {name}")
    return value


def _numpy(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _nodes(data: Any) -> int:
    return int(_attribute(data, "x").shape[0])


def _features(data: Any, n: int) -> Any:
    x = data.x
    if x.dim() != 2:
        raise ExportError(f"x has shape {tuple(x.shape)}, want nodes x features")
    if str(x.layout) != "torch.strided":
        coo = (x if x.is_sparse else x.to_sparse()).coalesce()
        row, col = _numpy(coo.indices())
        values = _numpy(coo.values()).astype(np.float32)
        _finite(values, lambda k: f"x[{row[k]}, {col[k]}]")
        return sp.csr_matrix((values, (row, col)), shape=tuple(x.shape))
    x = _numpy(x).astype(np.float32)
    flat = x.reshape(-1)
    _finite(flat, lambda k: f"x[{k // x.shape[1]}, {k % x.shape[1]}]")
    return x


def _finite(values: Any, place: Callable[[Any], str]) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ExportError(f"{place(wrong[0])} is {values[wrong[0]]}")


def _adjacency(data: Any, n: int, say: Say) -> Any:
    edge_index = _numpy(_attribute(data, "edge_index"))
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ExportError(f"edge_index has shape {edge_index.shape}, want 2 x edges")
    outside = np.flatnonzero((edge_index < 0).any(0) | (edge_index >= n).any(0))
    if len(outside):
        raise ExportError(
            f"edge_index[:, {outside[0]}] is {edge_index[:, outside[0]].tolist()}, outside 0...{n - 1}"
        )
    for name in ("edge_weight", "edge_attr"):
        weight = getattr(data, name, None)
        if weight is None:
            continue
        weight = _numpy(weight)
        if weight.size != edge_index.shape[1]:
            say(f"{name} of shape {weight.shape} was left out: edges have no features here")
        elif (weight.reshape(-1) != 1).any():
            k = int(np.flatnonzero(weight.reshape(-1) != 1)[0])
            raise ExportError(
                f"{name}[{k}] is {weight.reshape(-1)[k]}, want 1: weighted graphs are not supported"
            )
    source, target = edge_index
    loops = source == target
    if loops.any():
        say(f"{int(loops.sum())} self-loops were dropped: a model adds its own")
    source, target = source[~loops], target[~loops]
    directed = sp.csr_matrix((np.ones(len(source), np.int64), (source, target)), shape=(n, n))
    directed.sum_duplicates()
    if directed.nnz < len(source):
        say(f"{len(source) - directed.nnz} repeated edges were merged")
    adj = (directed + directed.T).tocsr()
    if adj.nnz > directed.nnz:
        say(f"{adj.nnz - directed.nnz} edges that stood in one direction got the other")
    adj.sort_indices()
    adj.data = np.ones(adj.nnz, np.float32)
    return adj


def _mask(data: Any, name: str, n: int, split: int | None) -> Any:
    mask = _numpy(_attribute(data, name))
    if mask.ndim == 2:
        if split is None:
            raise ExportError(f"{name} has {mask.shape[1]} splits: choose one of them, from 0 (--split)")
        if not 0 <= split < mask.shape[1]:
            raise ExportError(f"split is {split}, but {name} has {mask.shape[1]}")
        mask = mask[:, split]
    if mask.shape != (n,) or mask.dtype != np.bool_:
        raise ExportError(f"{name} is of shape {mask.shape} and {mask.dtype}, want {n} bools")
    if not mask.any():
        raise ExportError(f"{name} is empty")
    return mask


def _roles(masks: dict[str, Any], n: int, unlabelled: bool) -> dict[str, list[int]]:
    owner = np.full(n, "", dtype=object)
    for role, mask in masks.items():
        twice = np.flatnonzero(mask & (owner != ""))
        if len(twice):
            raise ExportError(f"node {twice[0]} is in the masks of {owner[twice[0]]} and {role}")
        owner[mask] = role
    roles = {role: np.flatnonzero(mask).tolist() for role, mask in masks.items()}
    rest = np.flatnonzero(owner == "").tolist()
    if unlabelled and rest:
        roles["un"] = rest
    return roles


def _classes(data: Any, n: int, roles: dict[str, list[int]], say: Say) -> dict[str, int]:
    y = _numpy(_attribute(data, "y"))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n,) or not np.issubdtype(y.dtype, np.integer):
        raise ExportError(f"y is of shape {y.shape} and {y.dtype}, want one integer for each of {n} nodes")
    for role in ("tr", "va", "te"):
        for i in roles[role]:
            if y[i] < 0:
                raise ExportError(f"y[{i}] is {y[i]}, but the node is in the mask of {role}")
    known = np.flatnonzero(y >= 0)
    names = np.unique(y[known])
    if len(names) != names[-1] + 1:
        number = {int(c): k for k, c in enumerate(names)}
        say(f"classes {names.tolist()} were renumbered 0...{len(names) - 1}")
        return {str(i): number[int(y[i])] for i in known}
    return {str(i): int(y[i]) for i in known}


def load(path: str) -> Any:
    """Read a Data object from a file of torch.save, or one of a list or tuple that holds nothing else."""
    import torch

    try:
        data = torch.load(path, map_location="cpu", weights_only=False)
    except TypeError:  # before PyTorch 1.13 there was no such argument
        data = torch.load(path, map_location="cpu")
    if isinstance(data, (list, tuple)) and len(data) == 1:
        data = data[0]
    if isinstance(data, tuple) and isinstance(
        data[0], dict
    ):  # InMemoryDataset's processed file: (dict, slices, class)
        from torch_geometric.data import Data

        data = Data.from_dict(data[0])
    if not hasattr(data, "edge_index"):
        raise ExportError(f"{path} holds {type(data).__name__}, want a Data object")
    return data


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="torch.load runs what a file says: read files of people you trust.",
    )
    parser.add_argument("data", help="file of torch.save(data)")
    parser.add_argument("out", help="directory to write")
    parser.add_argument("--sparse", action="store_true", help="write dense x as a bag of words, feats.npz")
    parser.add_argument("--split", type=int, help="column of masks that have several, from 0")
    parser.add_argument(
        "--no-unlabelled",
        dest="unlabelled",
        action="store_false",
        help="leave nodes in no mask without a role, instead of as unlabelled nodes of the original graph",
    )
    args = parser.parse_args()
    try:
        export(load(args.data), args.out, sparse=args.sparse, split=args.split, unlabelled=args.unlabelled)
    except (ExportError, OSError) as error:
        sys.exit(f"rivulet_mcond.export: {error}")


if __name__ == "__main__":
    main()

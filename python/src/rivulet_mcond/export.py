"""Write a graph that PyTorch Geometric, OGB or DGL loads as files that `trainer train --data` reads.

    python -m rivulet_mcond.export pyg:Planetoid DIRECTORY --root RAW --argument name=Cora --sparse
    python -m rivulet_mcond.export ogb:ogbn-arxiv DIRECTORY --root RAW
    python -m rivulet_mcond.export dgl:CSVDataset DIRECTORY --argument data_path=RAW --draw-split 1
    python -m rivulet_mcond.export data.pt DIRECTORY

pyg:CLASS is a data set of torch_geometric.datasets, dgl:CLASS one of dgl.data, and ogb:NAME one of
ogb.nodeproppred; --root is the directory of its raw files, which the library downloads if they are not there,
and each --argument is one more argument of the class. Another source is a file of torch.save with a Data or
HeteroData object. From Python, with any Data that has edge_index, x, y and the three masks:

    from rivulet_mcond.export import export
    export(Planetoid("/tmp/cora", "Cora")[0], "cora")

What is written of Data, in the GraphSAINT layout (`go doc rivulet/dataset` has it):

    adj_full.npz    edge_index made symmetric, without self-loops and repetitions, every entry 1
    feats.npy       x; or feats.npz, where x is sparse or --sparse is given: the features are then a bag of
                    words, and `--preprocess auto` treats them as such
    class_map.json  y of the nodes in a mask; of others where y >= 0
    role.json       tr, va, te from the masks; un: the nodes in no mask, which belong to the original graph,
                    too

edge_weight other than 1 needs --weights: keep writes the weights, which `trainer train --weight data` reads,
drop writes 1. --directed keeps the directions of edges, for `trainer train --directed`.

Of HeteroData: a table TYPE.csv for each type of nodes (id, x as a list, and of the type with the masks label
and split), edges.csv with the types of edges, and data.yaml, which says so. A node's id is TYPE:NUMBER. Edges
rev_NAME that repeat NAME the other way are left out. --directed writes `directed: true`, and has two
relations for each type of edges.

Nodes in no mask are left without a role instead by --no-unlabelled. Masks of several splits (n x k) need
--split; of data without masks --draw-split SEED takes half of the labelled nodes to train, a quarter to validate
and the rest to test. What had to be changed is said; what cannot be written (several labels a node, masks that
overlap, NaN) is an error that names the attribute and the place.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

Say: TypeAlias = Callable[[str], object]


class ExportError(ValueError):
    """The data do not fit the layout."""


def export(
    data: Any,
    out: str,
    sparse: bool = False,
    split: int | None = None,
    unlabelled: bool = True,
    weights: str | None = None,
    directed: bool = False,
    say: Say = lambda line: print(line, file=sys.stderr),
) -> None:
    """Write data to the directory out, which must not have a file of the layout. say gets what was changed."""
    if weights not in (None, "keep", "drop"):
        raise ExportError(f"weights is {weights!r}, want keep or drop")
    if hasattr(data, "node_types"):
        if sparse:
            raise ExportError("sparse is for Data: features of several types are lists in tables")
        _export_types(data, out, split, unlabelled, weights, directed, say)
        return
    import scipy.sparse as sp

    n = _nodes(data)
    x = _features(data, n)
    adj = _adjacency(data, n, weights, directed, say)
    roles = _roles(_masks(data, n, split), n, unlabelled)
    classes = _classes(data, n, roles, say)

    _make(out, ("adj_full.npz", "feats.npz", "feats.npy", "class_map.json", "role.json"))
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
        f"{out}: {n} nodes, {adj.nnz if directed else adj.nnz // 2} edges, {x.shape[1]} features, "
        + ", ".join(f"{len(nodes)} {role}" for role, nodes in roles.items())
    )


def _make(out: str, names: Iterable[str]) -> None:
    os.makedirs(out, exist_ok=True)
    for name in names:
        if os.path.lexists(os.path.join(out, name)):
            raise ExportError(f"{os.path.join(out, name)} is there already")


def _export_types(
    data: Any, out: str, split: int | None, unlabelled: bool, weights: str | None, directed: bool, say: Say
) -> None:
    """Write the tables of a HeteroData object."""
    asked = [kind for kind in data.node_types if getattr(data[kind], "train_mask", None) is not None]
    if len(asked) != 1:
        raise ExportError(f"train_mask is there for the types {asked}, want it for one type of nodes")
    for kind in data.node_types:
        if re.search(r"[=,./\\\s]", kind):
            raise ExportError(f"the type of nodes {kind!r} has a sign that names of types do not have")
    edges = _typed_edges(data, weights, say)
    tables = {}
    for kind in data.node_types:
        try:
            tables[kind] = _typed_nodes(data, kind, kind == asked[0], split, unlabelled, say)
        except ExportError as error:
            raise ExportError(f"{kind}: {error}") from None

    _make(out, [f"{kind}.csv" for kind in tables] + ["edges.csv", "data.yaml"])
    for kind, rows in tables.items():
        _write_table(os.path.join(out, f"{kind}.csv"), rows)
    _write_table(os.path.join(out, "edges.csv"), [("source", "target", "kind"), *edges])
    lines = [
        f"nodes: {{{', '.join(f'{kind}: {kind}.csv' for kind in tables)}}}",
        "edges: edges.csv",
        "edge_type: kind",
    ]
    with open(os.path.join(out, "data.yaml"), "w", encoding="utf-8") as f:
        f.write("\n".join([*lines, "directed: true"] if directed else lines) + "\n")
    kinds = Counter(kind for _, _, kind in edges)
    say(
        f"{out}: "
        + ", ".join(f"{len(rows) - 1} nodes {kind}" for kind, rows in tables.items())
        + "; "
        + ", ".join(f"{number} edges {kind}" for kind, number in kinds.items())
    )


def _write_table(path: str, rows: Iterable[Iterable[Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows(rows)


def _typed_nodes(
    data: Any, kind: str, asked: bool, split: int | None, unlabelled: bool, say: Say
) -> list[tuple[Any, ...]]:
    """Return the rows of the table of a type of nodes, the header first."""
    store = data[kind]
    n = int(store.num_nodes)
    columns: dict[str, list[Any]] = {"id": [f"{kind}:{i}" for i in range(n)]}
    if asked:
        roles = _roles(_masks(store, n, split), n, unlabelled)
        classes = _classes(store, n, roles, say)
        names = {"tr": "train", "va": "val", "te": "test", "un": "unlabelled"}
        role = {i: names[short] for short, nodes in roles.items() for i in nodes}
        columns["label"] = [classes.get(str(i), "") if role.get(i) != "unlabelled" else "" for i in range(n)]
        columns["split"] = [role.get(i, "none") for i in range(n)]
    if getattr(store, "x", None) is not None:
        x = _features(store, n)
        x = x if isinstance(x, np.ndarray) else x.toarray()
        columns["x"] = ["[" + ", ".join(format(v, ".9g") for v in row) + "]" for row in x]
    return [tuple(columns), *zip(*columns.values(), strict=True)]


def _typed_edges(data: Any, weights: str | None, say: Say) -> list[tuple[str, str, str]]:
    """Return source, target and type of the edges of all types."""
    if weights == "keep":
        raise ExportError("weights beside types of edges are not read: weights drop writes each edge as 1")
    kinds = list(data.edge_types)
    back = [(s, r, t) for s, r, t in kinds if r.startswith("rev_") and (t, r[len("rev_") :], s) in kinds]
    kinds = [kind for kind in kinds if kind not in back]
    for s, r, t in back:
        say(f"edges {s}, {r}, {t} were left out: they are those of {r[len('rev_') :]} the other way")
    times = Counter(r for _, r, _ in kinds)
    edges = []
    for s, r, t in kinds:
        name = r
        if times[r] > 1:
            name = f"{s}_{r}_{t}"
            say(f"edges {s}, {r}, {t} have the type {name}: {r} joins several types of nodes")
        store = data[s, r, t]
        edge_index = _edge_index(store, int(data[s].num_nodes), int(data[t].num_nodes))
        _weights(store, edge_index.shape[1], weights, say)
        edges += [(f"{s}:{i}", f"{t}:{j}", name) for i, j in edge_index.T.tolist()]
    return edges


def _attribute(data: Any, name: str) -> Any:
    value = getattr(data, name, None)
    if value is None:
        raise ExportError(f"data has no {name}" + (": --draw-split SEED draws masks" if "mask" in name else ""))
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
        import scipy.sparse as sp

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


def _edge_index(data: Any, sources: int, targets: int) -> Any:
    edge_index = _numpy(_attribute(data, "edge_index"))
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ExportError(f"edge_index has shape {edge_index.shape}, want 2 x edges")
    most = np.array([[sources], [targets]])
    outside = np.flatnonzero(((edge_index < 0) | (edge_index >= most)).any(0))
    if len(outside):
        upto = f"{sources - 1}" if sources == targets else f"{sources - 1} and {targets - 1}"
        raise ExportError(
            f"edge_index[:, {outside[0]}] is {edge_index[:, outside[0]].tolist()}, outside 0...{upto}"
        )
    return edge_index


def _weights(data: Any, edges: int, weights: str | None, say: Say) -> Any:
    """Return the weights of the edges, which are 1 unless they are to be kept."""
    out = np.ones(edges)
    for name in ("edge_weight", "edge_attr"):
        values = getattr(data, name, None)
        if values is None:
            continue
        values = _numpy(values)
        if values.size != edges:
            say(f"{name} of shape {values.shape} was left out: edges have no features here")
            continue
        values = values.reshape(-1)
        other = np.flatnonzero(values != 1)
        wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if not len(other):
            continue
        if weights is None:
            raise ExportError(
                f"{name}[{other[0]}] is {values[other[0]]}, want 1, or weights: keep (--weights keep), which "
                "trainer train --weight data reads, or drop, which writes 1"
            )
        if weights == "drop":
            say(f"{name} was dropped: {len(other)} of {edges} edges do not weigh 1")
        elif len(wrong):
            raise ExportError(f"{name}[{wrong[0]}] is {values[wrong[0]]}, want a finite number above 0")
        else:
            say(f"{name} was kept: trainer train --weight data reads it")
            out = values.astype(np.float64)
    return out


def _adjacency(data: Any, n: int, weights: str | None, directed: bool, say: Say) -> Any:
    import scipy.sparse as sp

    if directed and weights == "keep":
        raise ExportError("weights beside directions are not read: weights drop writes each edge as 1")
    edge_index = _edge_index(data, n, n)
    values = _weights(data, edge_index.shape[1], weights, say)
    source, target = edge_index
    loops = source == target
    if loops.any():
        say(f"{int(loops.sum())} self-loops were dropped: a model adds its own")
    source, target, values = source[~loops], target[~loops], values[~loops]
    adj = sp.csr_matrix((values, (source, target)), shape=(n, n))
    adj.sum_duplicates()
    if adj.nnz < len(source):
        say(f"{len(source) - adj.nnz} repeated edges were merged")
    if directed:
        say("edges keep their directions: trainer train --directed reads them")
    else:
        stood = adj.nnz
        adj = adj.maximum(adj.T).tocsr()
        if adj.nnz > stood:
            say(f"{adj.nnz - stood} edges that stood in one direction got the other")
    adj.sort_indices()
    adj.data = adj.data.astype(np.float32) if weights == "keep" else np.ones(adj.nnz, np.float32)
    return adj


def _masks(data: Any, n: int, split: int | None) -> dict[str, Any]:
    return {
        role: _mask(data, name, n, split)
        for role, name in (("tr", "train_mask"), ("va", "val_mask"), ("te", "test_mask"))
    }


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


def load_file(path: str) -> Any:
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
    if not hasattr(data, "edge_index") and not hasattr(data, "node_types"):
        raise ExportError(f"{path} holds {type(data).__name__}, want a Data or HeteroData object")
    return data


def load(source: str, root: str | None = None, arguments: dict[str, Any] | None = None) -> Any:
    """Return the Data or HeteroData object of pyg:CLASS, ogb:NAME, dgl:CLASS, or a file of torch.save."""
    kind, _, name = source.partition(":")
    if kind not in ("pyg", "ogb", "dgl") or not name:
        if root is not None or arguments:
            raise ExportError(f"{source} is a file: root and argument are for pyg:CLASS, ogb:NAME and dgl:CLASS")
        return load_file(source)
    given = dict(arguments or {})
    if kind == "ogb":
        from ogb.nodeproppred import NodePropPredDataset

        return _of_ogb(NodePropPredDataset(name, **({} if root is None else {"root": root}), **given))
    if kind == "pyg":
        import torch_geometric.datasets as sets

        if root is not None:
            given["root"] = root
    else:
        import dgl.data as sets

        if root is not None:
            given["raw_dir"] = root
    if not hasattr(sets, name):
        raise ExportError(f"{sets.__name__} has no class {name}")
    try:
        loaded = getattr(sets, name)(**given)
    except TypeError as error:
        raise ExportError(f"{sets.__name__}.{error}: give it by --argument NAME=VALUE") from None
    if len(loaded) != 1:
        raise ExportError(f"{source} has {len(loaded)} graphs, want one")
    return loaded[0] if kind == "pyg" else _of_dgl(loaded[0])


def _of_ogb(loaded: Any) -> Any:
    """Return the graph of a node property prediction set of OGB as Data."""
    import torch
    from torch_geometric.data import Data

    graph, labels = loaded[0]
    if "edge_index" not in graph:
        raise ExportError(
            "the set has several types of nodes: PyTorch Geometric's OGB_MAG (pyg:OGB_MAG) reads ogbn-mag"
        )
    if graph.get("node_feat") is None:
        raise ExportError("the set has no features of nodes")
    data = Data(x=torch.as_tensor(graph["node_feat"]), edge_index=torch.as_tensor(graph["edge_index"]))
    labels = np.asarray(labels)
    if labels.shape[1] == 1:  # a missing label is NaN
        labels = np.where(np.isnan(labels), -1, labels)[:, 0]
    data.y = torch.as_tensor(labels.astype(np.int64))
    for role, mask in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")):
        data[mask] = torch.zeros(int(graph["num_nodes"]), dtype=torch.bool)
        data[mask][torch.as_tensor(loaded.get_idx_split()[role])] = True
    return data


def _of_dgl(graph: Any) -> Any:
    """Return a graph of DGL with one type of nodes and edges as Data."""
    from torch_geometric.data import Data

    if len(graph.ntypes) != 1 or len(graph.etypes) != 1:
        raise ExportError(f"the graph has nodes {graph.ntypes} and edges {graph.etypes}, want one type of each")
    import torch

    data = Data(edge_index=torch.stack(graph.edges()), num_nodes=graph.num_nodes())
    names = {
        "feat": "x",
        "label": "y",
        "train_mask": "train_mask",
        "val_mask": "val_mask",
        "test_mask": "test_mask",
    }
    for name, ours in names.items():
        if name in graph.ndata:
            values = graph.ndata[name]
            data[ours] = values.bool() if name.endswith("_mask") else values
    if "weight" in graph.edata:
        data.edge_weight = graph.edata["weight"]
    return data


def draw_split(data: Any, seed: int) -> None:
    """Give data masks: half of its labelled nodes train, a quarter validate, the rest test."""
    import torch

    if getattr(data, "train_mask", None) is not None:
        raise ExportError("data has masks: there is no split to draw")
    y = _attribute(data, "y").reshape(-1)
    labelled = torch.nonzero(y >= 0).reshape(-1)
    order = labelled[torch.randperm(len(labelled), generator=torch.Generator().manual_seed(seed))]
    at = [0, len(order) // 2, len(order) // 2 + len(order) // 4, len(order)]
    for k, name in enumerate(("train_mask", "val_mask", "test_mask")):
        data[name] = torch.zeros(len(y), dtype=torch.bool)
        data[name][order[at[k] : at[k + 1]]] = True


def _argument(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value is a Python literal, or else a text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m rivulet_mcond.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="torch.load runs what a file says: read files of people you trust.",
    )
    parser.add_argument("source", help="pyg:CLASS, ogb:NAME, dgl:CLASS, or a file of torch.save(data)")
    parser.add_argument("out", help="directory to write")
    parser.add_argument("--root", help="directory of the raw files of pyg, ogb and dgl")
    parser.add_argument(
        "--argument",
        dest="arguments",
        type=_argument,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="one more argument of the class, such as name=Cora; may be repeated",
    )
    parser.add_argument("--draw-split", type=int, metavar="SEED", help="draw a split for data without masks")
    parser.add_argument("--sparse", action="store_true", help="write dense x as a bag of words, feats.npz")
    parser.add_argument("--split", type=int, help="column of masks that have several, from 0")
    parser.add_argument(
        "--no-unlabelled",
        dest="unlabelled",
        action="store_false",
        help="leave nodes in no mask without a role, instead of as unlabelled nodes of the original graph",
    )
    parser.add_argument("--weights", choices=["keep", "drop"], help="what becomes of edge_weight other than 1")
    parser.add_argument("--directed", action="store_true", help="keep the directions of edges")
    args = vars(parser.parse_args(arguments))
    try:
        data = load(args.pop("source"), args.pop("root"), dict(args.pop("arguments")))
        seed = args.pop("draw_split")
        if seed is not None:
            draw_split(data, seed)
        export(data, args.pop("out"), **args)
    except (ExportError, ImportError, OSError) as error:
        sys.exit(f"rivulet_mcond.export: {error}")


if __name__ == "__main__":
    main()

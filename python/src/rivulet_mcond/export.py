"""Write a graph of PyTorch Geometric, OGB, DGL, NetworkX or SciPy as files that `trainer train --data` reads.

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

or with a graph of DGL, a data set of OGB, an adjacency matrix of SciPy with x, y and split beside it, or a
graph of NetworkX, whose attributes are columns (`rivulet_mcond.tables` has the options):

    export(matrix, "cora", x=words, y=["yes", "no", …], split=["train", "val", …], ids=names)
    export(networkx.karate_club_graph(), "karate", label="club")

What is written of Data, in the GraphSAINT layout (`go doc rivulet/dataset` has it):

    adj_full.npz    edge_index made symmetric, without self-loops and repetitions, every entry 1
    feats.npy       x; or feats.npz, where x is sparse or --sparse is given: the features are then a bag of
                    words, and `--preprocess auto` treats them as such
    class_map.json  y of the nodes in a mask; of others where y >= 0
    role.json       tr, va, te from the masks; un: the nodes in no mask, which belong to the original graph,
                    too
    node_ids.json   ids, if they are given (--ids: a file of one a line) or data has node_ids
    class_names.json    names of classes, if they are given (--classes) or data has class_names

edge_weight other than 1 needs --weights: keep writes the weights, which `trainer train --weight data` reads (of
HeteroData a column weight), drop writes 1. --directed keeps the directions of edges, for
`trainer train --directed`.

Of HeteroData: a table TYPE.parquet for each type of nodes (id, x as a list, and of the type with the masks
label and split), edges.parquet with the types of edges, and data.yaml, which says so. A node's id is
TYPE:NUMBER, unless ids are given. Edges rev_NAME that repeat NAME the other way are left out. --directed writes
`directed: true`, and has two relations for each type of edges.

Nodes in no mask are left without a role instead by --no-unlabelled. Masks of several splits (n x k) need
--split; of data without masks --draw-split SEED takes half of the labelled nodes to train, a quarter to validate
and the rest to test. What had to be changed is said; what cannot be written (several labels a node, masks that
overlap, NaN) is an error that names the attribute and the place.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from . import tables
from ._columns import ColumnError, identity, missing

Say: TypeAlias = Callable[[str], object]


class ExportError(ValueError):
    """The data do not fit the layout."""


def export(
    data: Any,
    out: str,
    sparse: bool = False,
    split: int | str | Sequence[str] | None = None,
    unlabelled: bool = True,
    weights: str | None = None,
    directed: bool = False,
    say: Say = lambda line: print(line, file=sys.stderr),
    *,
    ids: Any = None,
    classes: Sequence[str] | None = None,
    x: Any = None,
    y: Any = None,
    **columns: Any,
) -> None:
    """Write a graph to the directory out, which must not have a file of the layout. say gets what was changed.

    ids are the names of the nodes, by their index (of HeteroData a mapping from type to these), classes those
    of the classes. x, y and split, a word for each node, are for a matrix of SciPy or NumPy. A graph of
    NetworkX takes the options of `tables.write`: label, split, weight, type, task and so on are names of
    attributes.
    """
    if weights not in (None, "keep", "drop"):
        raise ExportError(f"weights is {weights!r}, want keep or drop")
    if type(data).__module__.partition(".")[0] == "networkx":
        _export_networkx(data, out, directed, say, split=split, **columns)
        return
    if columns:
        raise ExportError(f"{', '.join(columns)}: only a graph of NetworkX has attributes of such names")
    if hasattr(data, "get_idx_split"):
        data = _of_ogb(data)
    elif hasattr(data, "ntypes") and hasattr(data, "canonical_etypes"):
        data = _of_dgl(data)
    elif hasattr(data, "tocoo") or isinstance(data, np.ndarray):
        data = _of_matrix(data, x, y, split)
        classes, split = data.class_names if classes is None else classes, None
    elif x is not None or y is not None:
        raise ExportError("x and y are for a matrix: this graph has its own")
    if split is not None and not isinstance(split, int):
        raise ExportError(f"split is {split!r}, want the column of masks that have several, from 0")
    if hasattr(data, "node_types"):
        if sparse:
            raise ExportError("sparse is for Data: features of several types are lists in tables")
        _export_types(data, out, split, unlabelled, weights, directed, say, ids, classes)
        return
    import scipy.sparse as sp

    n = _nodes(data)
    words = _features(data, n)
    adj = _adjacency(data, n, weights, directed, say)
    roles = _roles(_masks(data, n, split), n, unlabelled)
    numbers, names = _classes(
        data, n, roles, say, getattr(data, "class_names", None) if classes is None else classes
    )
    beside = {"node_ids.json": _ids(getattr(data, "node_ids", None) if ids is None else ids, n)}
    beside["class_names.json"] = names

    _make(out, ("adj_full.npz", "feats.npz", "feats.npy", "class_map.json", "role.json", *beside))
    sp.save_npz(os.path.join(out, "adj_full.npz"), adj)
    if sparse or sp.issparse(words):
        sp.save_npz(os.path.join(out, "feats.npz"), sp.csr_matrix(words))
    else:
        np.save(os.path.join(out, "feats.npy"), words)
    for name, value in ({"class_map.json": numbers, "role.json": roles} | beside).items():
        if value is not None:
            with open(os.path.join(out, name), "w", encoding="utf-8") as f:
                json.dump(value, f, ensure_ascii=False)
    say(
        f"{out}: {n} nodes, {adj.nnz if directed else adj.nnz // 2} edges, {words.shape[1]} features, "
        + ", ".join(f"{len(nodes)} {role}" for role, nodes in roles.items())
    )


def _ids(ids: Any, n: int) -> list[str] | None:
    """Return ids as texts; None: nodes have their numbers."""
    if ids is None:
        return None
    out = []
    for i, name in enumerate(ids.tolist() if hasattr(ids, "tolist") else ids):
        try:
            out.append(identity(name))
        except ColumnError as error:
            raise ExportError(f"ids[{i}]: {error}") from None
    if len(out) != n:
        raise ExportError(f"there are {len(out)} ids of {n} nodes")
    twice = [name for name, times in Counter(out).items() if times > 1]
    if twice:
        raise ExportError(f"{twice[0]!r} is an id twice")
    return out


def _export_networkx(graph: Any, out: str, directed: bool, say: Say, **options: Any) -> None:
    """Write a graph of NetworkX as tables: attributes of nodes are columns, and so are those of edges."""
    if graph.is_directed() and not directed:
        say("edges go both ways: directed=True keeps their directions")
    if directed and not graph.is_directed():
        raise ExportError("directed is given, and the graph has no directions")
    source, target, id = (options.pop(name, name) for name in ("source", "target", "id"))
    nodes = [{id: name, **attributes} for name, attributes in graph.nodes(data=True)]
    edges = [{source: a, target: b, **attributes} for a, b, attributes in graph.edges(data=True)]
    if any(id in attributes for _, attributes in graph.nodes(data=True)):
        raise ExportError(f"nodes have an attribute {id}: say another column for their names (id=…)")
    named = {"id": id, "source": source, "target": target, "directed": directed}
    try:
        tables.write(out, nodes=nodes, edges=edges, say=say, **named, **options)
    except tables.TableError as error:
        raise ExportError(str(error)) from None


def _make(out: str, names: Iterable[str]) -> None:
    os.makedirs(out, exist_ok=True)
    for name in names:
        if os.path.lexists(os.path.join(out, name)):
            raise ExportError(f"{os.path.join(out, name)} is there already")


def _export_types(
    data: Any,
    out: str,
    split: int | None,
    unlabelled: bool,
    weights: str | None,
    directed: bool,
    say: Say,
    ids: Any,
    classes: Sequence[str] | None,
) -> None:
    """Write the tables of a HeteroData object."""
    names = {}
    for kind in data.node_types:
        given = ids.get(kind) if ids is not None else getattr(data[kind], "node_ids", None)
        n = int(data[kind].num_nodes)
        names[kind] = _ids(given, n) or [f"{kind}:{i}" for i in range(n)]
    twice = [name for name, times in Counter(id for of in names.values() for id in of).items() if times > 1]
    if twice:
        raise ExportError(f"{twice[0]!r} is an id in two types: write the type before it, such as user:7")
    asked = [kind for kind in data.node_types if getattr(data[kind], "train_mask", None) is not None]
    if len(asked) != 1:
        raise ExportError(f"train_mask is there for the types {asked}, want it for one type of nodes")
    for kind in data.node_types:
        if re.search(r"[=,./\\\s]", kind):
            raise ExportError(f"the type of nodes {kind!r} has a sign that names of types do not have")
    edges = _typed_edges(data, names, weights, say)
    nodes = {}
    for kind in data.node_types:
        try:
            nodes[kind] = _typed_nodes(
                data[kind], names[kind], kind == asked[0], split, unlabelled, say, classes
            )
        except ExportError as error:
            raise ExportError(f"{kind}: {error}") from None
    try:
        tables.write(
            out,
            nodes=nodes if len(nodes) > 1 else nodes[asked[0]],
            edges=edges,
            type="kind",
            weight="weight" if weights == "keep" else None,
            directed=directed,
            say=lambda _: None,
        )
    except tables.TableError as error:
        raise ExportError(str(error)) from None
    kinds = Counter(edges["kind"])
    say(
        f"{out}: "
        + ", ".join(f"{len(of['id'])} nodes {kind}" for kind, of in nodes.items())
        + "; "
        + ", ".join(f"{number} edges {kind}" for kind, number in kinds.items())
    )


def _typed_nodes(
    store: Any,
    ids: list[str],
    asked: bool,
    split: int | None,
    unlabelled: bool,
    say: Say,
    classes: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the columns of the table of a type of nodes."""
    n = len(ids)
    columns: dict[str, Any] = {"id": ids}
    if asked:
        roles = _roles(_masks(store, n, split), n, unlabelled)
        given = getattr(store, "class_names", None) if classes is None else classes
        numbers, known = _classes(store, n, roles, say, given)
        label = {i: number if known is None else known[number] for i, number in numbers.items()}
        names = {"tr": "train", "va": "val", "te": "test", "un": "unlabelled"}
        role = {i: names[short] for short, nodes in roles.items() for i in nodes}
        columns["label"] = [label.get(str(i)) if role.get(i) != "unlabelled" else None for i in range(n)]
        columns["split"] = [role.get(i, "none") for i in range(n)]
    if getattr(store, "x", None) is not None:
        x = _features(store, n)
        columns["x"] = x if isinstance(x, np.ndarray) else x.toarray()
    return columns


def _typed_edges(data: Any, ids: dict[str, list[str]], weights: str | None, say: Say) -> dict[str, list[Any]]:
    """Return the columns source, target and kind of the edges of all types, and weight if weights are kept."""
    kinds = list(data.edge_types)
    back = [(s, r, t) for s, r, t in kinds if r.startswith("rev_") and (t, r[len("rev_") :], s) in kinds]
    kinds = [kind for kind in kinds if kind not in back]
    for s, r, t in back:
        say(f"edges {s}, {r}, {t} were left out: they are those of {r[len('rev_') :]} the other way")
    times = Counter(r for _, r, _ in kinds)
    out: dict[str, list[Any]] = {"source": [], "target": [], "kind": []}
    if weights == "keep":
        out["weight"] = []
    for s, r, t in kinds:
        name = r
        if times[r] > 1:
            name = f"{s}_{r}_{t}"
            say(f"edges {s}, {r}, {t} have the type {name}: {r} joins several types of nodes")
        store = data[s, r, t]
        edge_index = _edge_index(store, int(data[s].num_nodes), int(data[t].num_nodes))
        values = _weights(store, edge_index.shape[1], weights, say)
        if weights == "keep":
            out["weight"] += values.tolist()
        out["source"] += [ids[s][i] for i in edge_index[0].tolist()]
        out["target"] += [ids[t][j] for j in edge_index[1].tolist()]
        out["kind"] += [name] * edge_index.shape[1]
    return out


def _attribute(data: Any, name: str) -> Any:
    value = getattr(data, name, None)
    if value is None:
        raise ExportError(f"data has no {name}" + (": --draw-split SEED draws masks" if "mask" in name else ""))
    return value


def _numpy(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else np.asarray(tensor)


def _nodes(data: Any) -> int:
    return int(_attribute(data, "x").shape[0])


def _features(data: Any, n: int) -> Any:
    x = data.x
    if len(x.shape) != 2:
        raise ExportError(f"x has shape {tuple(x.shape)}, want nodes x features")
    if hasattr(x, "tocsr"):
        x = x.tocsr().astype(np.float32)
        x.sort_indices()
        row = np.repeat(np.arange(n), np.diff(x.indptr))
        _finite(x.data, lambda k: f"x[{row[k]}, {x.indices[k]}]")
        return x
    if str(getattr(x, "layout", "torch.strided")) != "torch.strided":
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


def _classes(
    data: Any, n: int, roles: dict[str, list[int]], say: Say, names: Sequence[str] | None
) -> tuple[dict[str, int], list[str] | None]:
    """Return the number of each node's class, and the names of the classes; None: they are their numbers."""
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
    there = np.unique(y[known])
    if names is not None and len(names) <= there[-1]:
        raise ExportError(f"y has the class {there[-1]}, and there are names of {len(names)} classes")
    called = [str(c) for c in there] if names is None else [str(names[c]) for c in there]
    if len(set(called)) < len(called):
        raise ExportError(f"two of the classes have one name: {called}")
    if len(there) == there[-1] + 1:
        return {str(i): int(y[i]) for i in known}, None if names is None else called
    number = {int(c): k for k, c in enumerate(there)}
    say(f"classes {there.tolist()} were renumbered 0...{len(there) - 1}, and keep their names")
    return {str(i): number[int(y[i])] for i in known}, called


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


class Graph(SimpleNamespace):
    """A graph with the attributes of PyTorch Geometric's Data that `export` reads."""


class Types(dict[Any, SimpleNamespace]):
    """Stores of types of nodes, by name, and of edges, by source, name and target, as HeteroData has them."""

    @property
    def node_types(self) -> list[str]:
        """The names of the types of nodes."""
        return [key for key in self if isinstance(key, str)]

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        """Source, name and target of the types of edges."""
        return [key for key in self if not isinstance(key, str)]


def _of_matrix(adj: Any, x: Any, y: Any, split: Any) -> Graph:
    """Return a graph by its adjacency matrix, whose entries are weights."""
    import scipy.sparse as sp

    if len(adj.shape) != 2 or adj.shape[0] != adj.shape[1]:
        raise ExportError(f"the adjacency matrix has shape {tuple(adj.shape)}, want nodes x nodes")
    for name, value in (("x", x), ("y", y), ("split", split)):
        if value is None:
            raise ExportError(f"a matrix needs {name}: x, features; y, classes; split, a role for each node")
    coo, n = sp.coo_matrix(adj), adj.shape[0]
    coo.eliminate_zeros()
    if x.shape[0] != n:
        raise ExportError(f"x has {x.shape[0]} rows for {n} nodes")
    labels, roles = list(np.asarray(y, object)), [str(role) for role in split]
    for name, values in (("y", labels), ("split", roles)):
        if len(values) != n:
            raise ExportError(f"{name} has {len(values)} values for {n} nodes")
    odd = sorted(set(roles) - set(_ROLES))
    if odd:
        raise ExportError(f"split has {odd[0]!r}, want {', '.join(_ROLES)}")
    texts = [None if missing(label) else label for label in labels]
    whole = all(label is None or isinstance(label, int | np.integer) for label in texts)
    names = None if whole else sorted({str(label) for label in texts if label is not None})
    number = {name: k for k, name in enumerate(names or [])}
    return Graph(
        x=x,
        y=np.array([-1 if t is None else int(t) if names is None else number[str(t)] for t in texts], np.int64),
        edge_index=np.stack([coo.row, coo.col]).astype(np.int64),
        edge_weight=None if np.all(coo.data == 1) else coo.data.astype(np.float64),
        class_names=names,
        **{f"{role}_mask": np.array([of == role for of in roles]) for role in ("train", "val", "test")},
    )


_ROLES = ("train", "val", "test", "unlabelled", "none")


def _of_ogb(loaded: Any) -> Any:
    """Return the graph of a node property prediction set of OGB."""
    graph, labels = loaded[0]
    split = loaded.get_idx_split()
    if "edge_index_dict" in graph:
        return _types_of_ogb(graph, labels, split)
    if graph.get("node_feat") is None:
        raise ExportError("the set has no features of nodes")
    n = int(graph["num_nodes"])
    data = Graph(x=np.asarray(graph["node_feat"]), edge_index=np.asarray(graph["edge_index"]))
    _label_ogb(data, np.asarray(labels), split, n)
    return data


def _label_ogb(store: SimpleNamespace, labels: Any, split: Any, n: int) -> None:
    if labels.shape[1] == 1:  # a missing label is NaN
        labels = np.where(np.isnan(labels), -1, labels)[:, 0]
    store.y = labels.astype(np.int64)
    for role, mask in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")):
        is_in = np.zeros(n, bool)
        is_in[np.asarray(split[role])] = True
        setattr(store, mask, is_in)


def _types_of_ogb(graph: Any, labels: Any, split: Any) -> Types:
    """Return a set of several types of nodes, of which one has labels."""
    out = Types()
    for kind, n in graph["num_nodes_dict"].items():
        out[kind] = SimpleNamespace(num_nodes=int(n))
        x = (graph.get("node_feat_dict") or {}).get(kind)
        if x is not None:
            out[kind].x = np.asarray(x)
        if kind in labels:
            _label_ogb(out[kind], np.asarray(labels[kind]), {k: v[kind] for k, v in split.items()}, int(n))
    for triple, edge_index in graph["edge_index_dict"].items():
        out[tuple(triple)] = SimpleNamespace(edge_index=np.asarray(edge_index))
    return out


_OF_DGL = {
    "feat": "x",
    "label": "y",
    "train_mask": "train_mask",
    "val_mask": "val_mask",
    "test_mask": "test_mask",
}


def _of_dgl(graph: Any) -> Any:
    """Return a graph of DGL; of several types of nodes or edges as `Types`."""
    if len(graph.ntypes) == 1 and len(graph.etypes) == 1:
        data = Graph(edge_index=_pair(graph.edges()), num_nodes=graph.num_nodes())
        _put_dgl(data, graph.ndata)
        if "weight" in graph.edata:
            data.edge_weight = graph.edata["weight"]
        return data
    out = Types()
    for kind in graph.ntypes:
        out[kind] = SimpleNamespace(num_nodes=int(graph.num_nodes(kind)))
        _put_dgl(out[kind], graph.nodes[kind].data)
    for triple in graph.canonical_etypes:
        out[tuple(triple)] = SimpleNamespace(edge_index=_pair(graph.edges(etype=triple)))
    return out


def _pair(ends: Any) -> Any:
    return np.stack([_numpy(part) for part in ends]).astype(np.int64)


def _put_dgl(store: SimpleNamespace, data: Any) -> None:
    for name, ours in _OF_DGL.items():
        if name in data:
            values = data[name]
            setattr(store, ours, _numpy(values).astype(bool) if name.endswith("_mask") else values)


def draw_split(data: Any, seed: int) -> None:
    """Give data masks: half of its labelled nodes train, a quarter validate, the rest test."""
    import torch

    if getattr(data, "train_mask", None) is not None:
        raise ExportError("data has masks: there is no split to draw")
    y = torch.as_tensor(_attribute(data, "y")).reshape(-1)
    labelled = torch.nonzero(y >= 0).reshape(-1)
    order = labelled[torch.randperm(len(labelled), generator=torch.Generator().manual_seed(seed))]
    at = [0, len(order) // 2, len(order) // 2 + len(order) // 4, len(order)]
    for k, name in enumerate(("train_mask", "val_mask", "test_mask")):
        mask = torch.zeros(len(y), dtype=torch.bool)
        mask[order[at[k] : at[k + 1]]] = True
        setattr(data, name, mask)


def _argument(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value is a Python literal, or else a text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


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
    for name, what in (("ids", "nodes"), ("classes", "classes")):
        parser.add_argument(
            f"--{name}", type=_lines, metavar="FILE", help=f"names of {what} in their order, one a line"
        )
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

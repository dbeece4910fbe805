"""Tables of pandas, polars or pyarrow as a data set that `trainer train --data` reads, and PyG's Data of it.

    from rivulet_mcond import tables

    tables.write("shop", nodes=users, edges=follows, id="user_id", label="churned", source="follower",
                 target="followee", split="fold")
    data = tables.to_pyg("shop")

`write` needs pyarrow, `to_pyg` PyTorch Geometric and the program trainer.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from . import _programs
from ._columns import INDEX_COLUMNS, ColumnError, Table
from .schema import Schema

Say: TypeAlias = Callable[[str], object]
Task = Literal["classes", "labels", "number", "links"]

MASKS = ("train_mask", "val_mask", "test_mask")
"""Columns that are the split where none is named, as PyTorch Geometric and DGL name them."""

FILE = "data.yaml"


class TableError(ValueError):
    """Tables that cannot be written; the message names the table, the column and the row."""


def write(
    directory: str | os.PathLike[str],
    *,
    nodes: Any,
    edges: Any,
    id: str = "id",
    label: str | Sequence[str] | None = None,
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    type: str | None = None,
    split: str | Sequence[str] | None = None,
    split_values: Mapping[Any, str] | None = None,
    task: Task = "classes",
    candidates: str | None = None,
    time: str | None = None,
    drop: Iterable[str] = (),
    types: Mapping[str, str] | None = None,
    directed: bool = False,
    drop_unknown: bool = False,
    force: bool = False,
    say: Say = lambda line: print(line, file=sys.stderr),
) -> None:
    """Write a table of nodes and one of edges as Parquet, and data.yaml, which says what each column means.

    A table is a DataFrame of pandas or polars, a Table of pyarrow, columns by their names, or a list of rows as
    mappings. nodes of several types are a mapping from the type to its table: {"user": users, "item": items}.
    edges may also be pairs or triples, source, target and weight, in a list or an array.

    id, label, split and time are columns of nodes; id may be the name of pandas' index. label None: the column
    label; several columns are a task of labels or number. split None: the column split, or the masks
    train_mask, val_mask and test_mask if they are there; otherwise `trainer` draws it. split_values says what
    its values stand for: train, val, test, unlabelled or none. Every other column of nodes is a feature, unless
    drop names it.

    source, target, weight and type are columns of edges; weight None: the column weight if it is there. Others
    are left out, and said. directed, drop_unknown, candidates and task mean what they mean in data.yaml
    (docs/data.md); types are the types of columns: number, bool, category, text, time or list.

    Durations and times of day are written as seconds, times without a zone as UTC. Raises TableError, and writes
    nothing then. Files that are there are refused without force, which replaces them.
    """
    try:
        plan = _Plan(nodes, id, label, split, task, time, drop, types or {})
        ends = _edges(edges, source, target, weight, type, say)
        if task == "links" and label is not None:
            raise TableError("label is given, and a task of links has none: its labels are the edges")
        settings = plan.settings | {
            "source": source,
            "target": target,
            "weight": weight,  # None: the reader takes a column weight, unless it looks like times
            "edge_type": type,
            "split_values": {_role_value(value): role for value, role in (split_values or {}).items()},
            "candidates": candidates,
            "directed": directed,
            "drop_unknown": drop_unknown,
            "degree": not plan.features,
        }
        if not plan.features:
            say("nodes have no features: the number of a node's neighbours is one, degree, which arrivals send")
        files = {f"{name}.parquet": columns for name, columns in plan.tables.items()}
        files[str(settings.setdefault("edges", plan.edges_file))] = ends
    except ColumnError as error:
        raise TableError(str(error)) from None
    _write(pathlib.Path(directory), files, settings, force)
    of = ", ".join(f"{rows} nodes{of}" for of, rows in plan.sizes.items())
    say(f"{os.fspath(directory)}: {of}, {len(next(iter(ends.values())))} edges")


def _role_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Plan:
    """What becomes of the tables of nodes: columns to write, and settings."""

    def __init__(
        self,
        nodes: Any,
        id: str,
        label: str | Sequence[str] | None,
        split: str | Sequence[str] | None,
        task: Task,
        time: str | None,
        drop: Iterable[str],
        types: Mapping[str, str],
    ) -> None:
        typed = isinstance(nodes, Mapping) and bool(nodes) and all(_is_table(of) for of in nodes.values())
        self.of = {str(kind): Table(of) for kind, of in nodes.items()} if typed else {"": Table(nodes)}
        if typed and len(self.of) < 2:
            raise TableError("nodes has a table of one type, want at least two types, or one table")
        for kind in self.of:
            if typed and (not kind or re.search(r"[=,./\\\s]", kind) or kind == "edges"):
                raise TableError(f"the type of nodes {kind!r} has a sign that names of types do not have")
        labels = [label] if isinstance(label, str) else list(label or [])
        if not labels and task != "links":
            labels = ["label"]
        roles = [split] if isinstance(split, str) else list(split or self._usual_split())
        for name in (id, *labels, *roles, *([time] if time else [])):
            if "," in name:
                raise TableError(f"column {name} has a comma in its name, which separates columns in {FILE}")
        self.id, self.labels, self.roles, self.time = id, labels, roles, time
        self.types, self.drop, self.task = dict(types), list(drop), task
        for what, names in (("label", labels), ("split", roles), ("time", [time] if time else [])):
            for name in names:
                if not any(table.has(name) for table in self.of.values()):
                    next(iter(self.of.values())).want(name, what)
        self.kinds: dict[str, str] = {}
        self.features = 0
        self.sizes = {f" of the type {kind}" if kind else "": of.rows for kind, of in self.of.items()}
        seen: dict[str, str] = {}
        self.tables = {kind or "nodes": self._columns(kind, of, seen) for kind, of in self.of.items()}
        for name in [*self.drop, *self.types]:
            if name not in self.kinds and not any(of.has(name) for of in self.of.values()):
                raise TableError(f"no table of nodes has a column {name}, which drop or types names")
        self.edges_file = "edges.parquet"
        self.settings: dict[str, Any] = {
            "nodes": {kind: f"{kind}.parquet" for kind in self.of} if typed else "nodes.parquet",
            "edges": self.edges_file,
            "id": id,
            "label": ",".join(labels),
            "task": task,
            "split": ",".join(roles),
            "time": time,
            "types": self.kinds,
        }

    def _usual_split(self) -> list[str]:
        for names in (["split"], list(MASKS)):
            if any(all(of.has(name) for name in names) for of in self.of.values()):
                return names
        return []

    def _columns(self, kind: str, table: Table, seen: dict[str, str]) -> dict[str, Any]:
        """Return the columns of a table to write as arrays of pyarrow; adds the types of its features."""
        try:
            return self._written(kind, table, seen)
        except ColumnError as error:
            raise TableError(f"nodes{' of the type ' + kind if kind else ''}: {error}") from None

    def _written(self, kind: str, table: Table, seen: dict[str, str]) -> dict[str, Any]:
        ids = table.ids(table.want(self.id, "id"))
        for row, name in enumerate(ids):
            if name in seen:
                raise ColumnError(
                    f"{table.place(self.id, row)}: {name} is an id twice, also {seen[name]}"
                    + (": write the type before it, such as user:7" if len(self.of) > 1 else "")
                )
            seen[name] = f"row {table.label(row)}{' of ' + kind if kind else ''}"
        out: dict[str, Any] = {self.id: _strings(ids)}
        roles = dict.fromkeys([*self.labels, *self.roles, *([self.time] if self.time else [])])
        for name in roles:
            if table.has(name):
                out[name] = _array(table, name)[0]
        for name in table.names:
            if name in out or name in self.drop:
                continue
            if INDEX_COLUMNS.fullmatch(name):
                raise ColumnError(
                    f"column {name!r} is an index left in the table: write it with index=False, or drop it"
                )
            full = f"{kind}.{name}" if self._shared(name) else name
            said = self.types.get(full) or self.types.get(name)
            out[name], found = _array(table, name, said)
            if found == "texts":
                raise ColumnError(
                    f"column {name} has lists of texts, which are no feature: drop it, or make a text of each"
                )
            self.features += 1
            if found:
                self.kinds[full] = said or found
        return out

    def _shared(self, name: str) -> bool:
        """Whether several tables have a column, which then is one of each type, TYPE.NAME."""
        return sum(of.has(name) for of in self.of.values()) > 1


def _is_table(of: Any) -> bool:
    """Whether it is a table, and no column."""
    if isinstance(of, str | bytes | np.ndarray) or (hasattr(of, "to_numpy") and not hasattr(of, "columns")):
        return False
    try:
        return bool(Table(of).names)
    except (ColumnError, TypeError):
        return False


def _strings(values: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "bool"),
    ((int, float), "number"),
    (str, "text"),
    (list, "list"),
)


def _kind(value: Any) -> str:
    return next((name for types, name in _KINDS if isinstance(value, types)), "time")


def _array(table: Table, name: str, said: str | None = None) -> tuple[Any, str]:
    """Return a column as an array of pyarrow, and its type; empty: all values are missing.

    said is the type that the caller gives: of text that holds it, the trainer reads numbers, bools, times and
    lists.
    """
    import pyarrow as pa

    fast = table.numbers(name)
    if fast is not None and not table.categorical(name):
        wrong = np.flatnonzero(np.isinf(fast)) if fast.dtype.kind == "f" else np.zeros(0, int)
        if len(wrong):
            raise ColumnError(f"{table.place(name, int(wrong[0]))}: {fast[wrong[0]]}, want a finite number")
        empty = fast.dtype.kind == "f" and bool(np.isnan(fast).all())
        found = "" if empty else "bool" if fast.dtype.kind == "b" else "number"
        wide = fast.astype(np.float32) if fast.dtype == np.float16 else fast
        return pa.array(wide, from_pandas=True), found
    rows = table.rows_of_numbers(name)
    if rows is not None:
        odd = np.argwhere(~np.isfinite(rows))
        if len(odd):
            place = table.place(name, int(odd[0][0]))
            raise ColumnError(f"{place}: {rows[tuple(odd[0])]}, want finite numbers")
        offsets = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
        return pa.LargeListArray.from_arrays(offsets, rows.astype(np.float64).reshape(-1)), "list"
    values: list[Any] = table.values(name)
    first: dict[str, int] = {}
    for row, value in enumerate(values):
        if value is not None:
            first.setdefault(_kind(value), row)
    if len(first) > 1:
        (one, at), (other, then), *_ = sorted(first.items(), key=lambda item: item[1])
        counts = Counter(_kind(value) for value in values if value is not None)
        raise ColumnError(
            f"{table.place(name, then)}: {str(values[then])[:40]!r} is a {other}, and {counts[one]} of the "
            f"column's {sum(counts.values())} values are a {one}, such as that of row {table.label(at)}: "
            "correct it, leave it empty, or make all of them texts (astype(str))"
        )
    if not first:
        return pa.nulls(len(values)), ""
    (kind,) = first
    for row, value in enumerate(values):
        if kind == "number" and value is not None and not abs(value) < float("inf"):
            raise ColumnError(f"{table.place(name, row)}: {value}, want a finite number")
    if table.categorical(name) or said == "category":
        return _strings([None if v is None else _category(v) for v in values]), "category"  # type: ignore[misc]
    if kind == "number":
        return pa.array(values, _number_type(values)), kind
    if kind == "time":
        return pa.array(values, pa.timestamp("us", "UTC")), kind
    if kind == "list":
        texts = any(isinstance(part, str) for value in values if value for part in value)
        lists = [None if value is None or (not value and not texts) else value for value in values]
        return pa.array(lists, pa.list_(pa.string() if texts else pa.float64())), "texts" if texts else kind
    return pa.array(values), kind


def _number_type(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    given = [value for value in values if value is not None]
    if any(isinstance(value, float) for value in given):
        return pa.float64()
    least, most = min(given), max(given)
    if least >= -(1 << 63) and most < 1 << 63:
        return pa.int64()
    return pa.uint64() if least >= 0 and most < 1 << 64 else pa.float64()


def _category(value: Any) -> str:
    """Return the name of a category, as an arrival's value of it is read."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return np.format_float_positional(float(value) + 0.0, unique=True, trim="-")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _edges(
    edges: Any, source: str, target: str, weight: str | None, type: str | None, say: Say
) -> dict[str, Any]:
    """Return the columns of the table of edges to write."""
    try:
        table = Table(_pairs(edges, source, target, weight))
        columns = {"source": source, "target": target, "weight": weight, "type": type}
        if table.rows == 0:
            return {name: _strings([]) for name in (source, target, type) if name is not None}
        for what, name in columns.items():
            if name is not None:
                table.want(name, what)
        if weight is None and "weight" in table.names and type is None and source != "weight" != target:
            weight = "weight"
        out = {name: _strings(table.ids(name)) for name in (source, target)}
        if weight is not None:
            out[weight], kind = _array(table, weight)
            if kind not in ("number", ""):
                raise ColumnError(
                    f"column {weight} has values of the type {kind}, want weights: numbers above 0"
                )
            for row, value in enumerate(table.values(weight)):
                if value is None or not value > 0:
                    raise ColumnError(
                        f"{table.place(weight, row)}: {value}, want a finite number above 0: leave the edge out"
                    )
        if type is not None:
            out[type] = _strings(table.ids(type))
    except ColumnError as error:
        raise TableError(f"edges: {error}") from None
    left = [name for name in table.names if name not in out]
    if left:
        say(f"columns of edges that were left out: {', '.join(left)} (weight and type name columns that count)")
    return out


def _pairs(edges: Any, source: str, target: str, weight: str | None) -> Any:
    """Return pairs and triples of a list or an array as columns; other tables as they are."""
    named = hasattr(edges, "columns") or hasattr(edges, "column_names") or isinstance(edges, Mapping)
    rows = list(edges) if not named and hasattr(edges, "__len__") else None
    if rows is None or any(isinstance(row, Mapping) for row in rows):
        return edges
    width = len(rows[0]) if rows else 2
    if width not in (2, 3) or any(len(row) != width for row in rows):
        raise ColumnError(
            "pairs are of source and target, triples of source, target and weight; an edge_index of 2 rows is "
            "turned by .T"
        )
    names = [source, target, weight or "weight"][:width]
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def _write(directory: pathlib.Path, files: Mapping[str, Mapping[str, Any]], settings: Any, force: bool) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for name in [*files, FILE]:
        if not force and os.path.lexists(directory / name):
            raise TableError(
                f"{directory / name} is there already: another directory, or force=True replaces it"
            )
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILE).unlink(missing_ok=True)
    for name, columns in files.items():
        parquet.write_table(pa.table(dict(columns)), directory / name)
    lines = ["# Written by rivulet_mcond.tables; trainer train --help lists the same as flags."]
    lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items() if value]
    (directory / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def arrays(directory: str | os.PathLike[str], *arguments: str) -> dict[str, Any]:
    """Return a data set as arrays of NumPy, its features by the schema that `trainer train` fits.

    directory is what `trainer train --data` reads; further arguments are its flags. The arrays are

        ids            texts, one for each node x              n x features, as float32; or a matrix of SciPy
        where the schema makes sparse rows columns        names of the features, or None if they have positions
        only y              of classes integers, -1 where unknown, of labels n x labels, of numbers n x outputs;
        None of links classes        names of classes, labels or outputs train, val, test    nodes by their
        index; nodes that are unlabelled are in none unlabelled     nodes whose label is unknown, which belong
        to the graph that a model is fitted on edge_index     2 x edges, both directions of each that has none
        edge_weight    of the edges, or None edge_type      index of the type of each edge, or None, and
        edge_types, their names
    """
    with tempfile.TemporaryDirectory() as work:
        out = pathlib.Path(work, "arrays")
        _programs.run(
            "trainer", ["data", "arrays", "--data", os.fspath(directory), *arguments, "--out", str(out)]
        )
        return _loaded(out)


def _loaded(directory: pathlib.Path) -> dict[str, Any]:
    """Read the arrays that `trainer data arrays` writes: the GraphSAINT layout and the files beside it."""
    adj, sparse = _matrix(directory / "adj_full.npz"), directory / "feats.npz"
    n = int(adj["shape"][0])
    x = _csr(_matrix(sparse)) if sparse.exists() else np.load(directory / "feats.npy").astype(np.float32)
    beside = _json(directory / "merged.json") or {}
    schema = directory / "schema.json"
    roles = _json(directory / "role.json")
    out: dict[str, Any] = {
        "ids": _json(directory / "node_ids.json") or [str(i) for i in range(n)],
        "x": x,
        "columns": Schema(schema.read_bytes()).names() if schema.exists() else None,
        **{name: np.array(roles.get(short, []), np.int64) for name, short in _ROLES.items()},
        **_edge_arrays(directory, adj, n, beside),
    }
    return out | _targets(directory, n, beside.get("task", "classes"))


_ROLES = {"train": "tr", "val": "va", "test": "te", "unlabelled": "un"}


def _json(path: pathlib.Path) -> Any:
    return json.loads(path.read_bytes()) if path.exists() else None


def _matrix(path: pathlib.Path) -> dict[str, Any]:
    """Return the arrays of a matrix that scipy.sparse.save_npz can read."""
    with np.load(path) as parts:
        return {name: parts[name] for name in ("data", "indices", "indptr", "shape")}


def _csr(parts: Mapping[str, Any]) -> Any:
    import scipy.sparse as sp

    return sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), tuple(parts["shape"]), np.float32)


def _ends(matrix: Mapping[str, Any]) -> tuple[Any, Any]:
    rows = np.repeat(np.arange(len(matrix["indptr"]) - 1), np.diff(matrix["indptr"]))
    return rows.astype(np.int64), matrix["indices"].astype(np.int64)


def _edge_arrays(directory: pathlib.Path, adj: Mapping[str, Any], n: int, beside: Any) -> dict[str, Any]:
    weights = adj["data"].astype(np.float32) if beside.get("weights") else None
    out = {"edge_index": np.stack(_ends(adj)), "edge_weight": weights, "edge_type": None, "edge_types": None}
    types, directed = beside.get("types"), bool(beside.get("directed"))
    if types is None and not directed:
        return out
    relations = _matrix(directory / "relations.npz")
    rows, columns = _ends(relations)
    relation, other = columns // n, columns % n
    if weights is not None:
        out["edge_weight"] = weights = relations["data"].astype(np.float32)
    if types is None:  # relation 0 has the nodes that a node's edges lead to
        leads = relation == 0
        kept = {"edge_weight": weights[leads]} if weights is not None else {}
        return out | {"edge_index": np.stack([rows, other])[:, leads], **kept}
    names = [f"{of}{way}" for of in types for way in (("", " (to the node)") if directed else ("",))]
    return out | {"edge_index": np.stack([other, rows]), "edge_type": relation, "edge_types": names}


def _targets(directory: pathlib.Path, n: int, task: str) -> dict[str, Any]:
    """Return y and the names of its classes, labels or numbers."""
    if task == "links":
        return {"y": None, "classes": []}
    said = _json(directory / "class_map.json")
    if task == "number":
        y = np.load(directory / "targets.npy").astype(np.float32)
        return {"y": y, "classes": _names(directory, y.shape[1])}
    if task == "labels":
        width = max((len(flags) for flags in said.values()), default=0)
        y = np.zeros((n, width), np.float32)
        for i, flags in said.items():
            y[int(i)] = flags
        return {"y": y, "classes": _names(directory, width)}
    y = np.full(n, -1, np.int64)
    for i, label in said.items():
        y[int(i)] = label
    return {"y": y, "classes": _names(directory, int(y.max(initial=-1)) + 1)}


def _names(directory: pathlib.Path, count: int) -> list[str]:
    return list(_json(directory / "class_names.json") or [str(k) for k in range(count)])


def to_pyg(directory: str | os.PathLike[str], *arguments: str) -> Any:
    """Return a data set as PyTorch Geometric's Data, its features by the schema that `trainer import` fits.

    directory and arguments are those of `arrays`; give --preprocess as import will get it: the features are not
    preprocessed, but what becomes of missing values depends on it. Data has x, y, train_mask, val_mask,
    test_mask, unlabelled_mask, edge_index, and edge_weight or edge_type where edges have weights or types, and
    as lists node_ids, class_names, feature_names and edge_types.

    A model that is fitted on it joins the tables again: export_model, then `trainer import --data DIR`.
    """
    import torch
    from torch_geometric.data import Data

    got = arrays(directory, *arguments)
    x = got["x"] if isinstance(got["x"], np.ndarray) else got["x"].toarray()
    data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(got["edge_index"]))
    for name, values in (("y", "y"), ("edge_weight", "edge_weight"), ("edge_type", "edge_type")):
        if got[values] is not None:
            data[name] = torch.from_numpy(got[values])
    for name in _ROLES:
        data[f"{name}_mask"] = torch.zeros(len(x), dtype=torch.bool)
        data[f"{name}_mask"][torch.from_numpy(got[name])] = True
    data.node_ids, data.class_names, data.feature_names = got["ids"], got["classes"], got["columns"]
    if got["edge_types"] is not None:
        data.edge_types = got["edge_types"]
    return data

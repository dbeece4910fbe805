"""Arrivals of tables and of PyTorch Geometric's Data, edges of tables, and predictions as a table.

A table is what `_columns.Table` reads: of pandas, polars or pyarrow, columns by their names, or a list of rows.
Its values mean what `trainer train` reads of the same table, as `tables.write` writes it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._columns import INDEX_COLUMNS, ColumnError, Table, identity, listed, missing, plain
from ._event import PREDICTION
from .arrivals import (
    FLOAT32_MAX,
    Arrival,
    ArrivalError,
    Dense,
    EdgeLike,
    Features,
    Named,
    NodeId,
    Sparse,
    features_of,
)

if TYPE_CHECKING:
    import pandas as pd

Form = Literal["dense", "sparse", "named"]
"""How features are sent: all numbers by position, those that are not 0, or by name."""


def arrivals_from_frame(
    frame: Any,
    *,
    id: str,
    features: str | Sequence[str] | None = None,
    form: Form = "named",
    edges: str | Mapping[str, Sequence[EdgeLike]] | Mapping[int, Sequence[EdgeLike]] | None = None,
    weights: str | None = None,
    incoming: str | None = None,
    types: str | None = None,
    time: str | None = None,
) -> list[Arrival]:
    """Return an arrival for each row of a table.

    id is a column, or the index of pandas by its name. features are the columns to send; None: all but the
    others that are named here. By position their order counts: it must be that of the table which the model was
    trained on. One name, not in a list, is a column that holds all features: lists of numbers, or objects as in
    JSON.

    edges is a column of lists of ids, or of objects with a weight, type or direction as in JSON, or a mapping
    from id to such lists, as `edges_from_frame` or pandas' groupby gives: its keys may be integers. weights and
    types are columns with an element for each edge, incoming is one with the ids of nodes whose edges lead to
    the arrival. A list may also be text: JSON, or words between commas, semicolons, bars or spaces. time is a
    column of times.

    NaN, NaT, None, pandas' NA and the empty text are missing: sent as null by name, and refused by position.
    Times without a zone are in UTC. Raises ArrivalError, naming the row and the column, or the column that is
    not there.
    """
    try:
        return _arrivals(Table(frame), str(id), features, form, edges, weights, incoming, types, time)
    except ColumnError as error:
        raise ArrivalError("unparsable", "", str(error)) from None


def _arrivals(
    table: Table,
    id: str,
    features: str | Sequence[str] | None,
    form: Form,
    edges: Any,
    weights: str | None,
    incoming: str | None,
    types: str | None,
    time: str | None,
) -> list[Arrival]:
    lists = {"edges": edges if isinstance(edges, str) else None, "weights": weights} | {
        "incoming": incoming,
        "types": types,
    }
    for what, column in ({"id": id} | lists | {"time": time}).items():
        if column is not None:
            table.want(column, what)
    ids = table.ids(id)
    names = _features(table, {id, time, *lists.values()}, features)
    columns = [table.values(name) for name in names]
    whole = table.cells(table.want(features, "features")) if isinstance(features, str) else None
    given = {what: table.cells(column) for what, column in lists.items() if column is not None}
    near_by_id = {} if edges is None or isinstance(edges, str) else _by_id(edges)
    if near_by_id and ids and not any(i in near_by_id for i in ids):
        warnings.warn(
            f"no id of the table, such as {ids[0]!r}, is a key of edges, such as {next(iter(near_by_id))!r}: "
            "no arrival has an edge",
            stacklevel=4,
        )
    times = table.values(time) if time is not None else [None] * table.rows
    out = []
    for i, one in enumerate(ids):
        try:
            row = {what: _listed(table, what, str(lists[what]), cells[i], i) for what, cells in given.items()}
            near = row["edges"] if "edges" in row else listed(near_by_id.get(one))
            fields = [(name, column[i]) for name, column in zip(names, columns, strict=True)]
            x = _row(fields, form) if whole is None else _whole(whole[i])
            ends = [_edge(edge, f"edges[{k}]") for k, edge in enumerate(near)]
            into = [_id(other, f"incoming[{k}]") for k, other in enumerate(row.get("incoming", ()))]
            weigh, kinds = row.get("weights") or None, row.get("types") or None
            if kinds is not None and not all(kinds):
                ends, weigh, kinds, into = _objects(ends, into, weigh, kinds), None, None, []
            out.append(Arrival(one, x, ends, times[i], weights=weigh, incoming=into, types=kinds))
        except ArrivalError as error:
            error.args = (f"row {table.label(i)}: {error}",)
            raise
    return out


def _listed(table: Table, what: str, name: str, cell: Any, row: int) -> list[Any]:
    """Return the elements of a cell: weights as numbers, types as texts, ends of edges as they are."""
    try:
        out = listed(cell)
        if what == "types":
            return ["" if missing(part) else identity(part) for part in out]
        return [float(part) for part in out] if what == "weights" else out
    except (ColumnError, TypeError, ValueError) as error:
        raise ColumnError(f"{table.place(name, row)}: {error}") from None


def _objects(
    ends: Sequence[EdgeLike], into: Sequence[str], weights: Sequence[float] | None, types: Sequence[str]
) -> list[EdgeLike]:
    """Return edges as objects, for types of which some are missing, as a list of types has one for each edge."""
    if len(types) != len(ends) + len(into) or (weights is not None and len(weights) != len(ends)):
        raise ArrivalError("unparsable", "types", f"{len(types)} types for {len(ends) + len(into)} edges")
    out: list[EdgeLike] = []
    for k, (end, kind) in enumerate(zip([*ends, *into], types, strict=True)):
        edge: dict[str, Any] = dict(end) if isinstance(end, Mapping) else {"id": end}
        edge |= {"type": kind} if kind else {}
        edge |= {"in": True} if k >= len(ends) else {} if weights is None else {"weight": weights[k]}
        out.append(edge)
    return out


def _edge(edge: Any, field: str) -> EdgeLike:
    """Return an edge whose values may be those of NumPy, pandas or pyarrow."""
    if not isinstance(edge, Mapping):
        return _id(edge, field)
    return {
        name: _id(value, f"{field}.{name}") if name in ("id", "type") and not missing(value) else plain(value)
        for name, value in edge.items()
    }


def _id(cell: Any, field: str) -> str:
    try:
        return identity(cell)
    except ColumnError as error:
        raise ArrivalError("unparsable", field, str(error)) from None


def _by_id(edges: Any) -> dict[str, Sequence[EdgeLike]]:
    """Return a mapping of edges with its keys as texts, as ids are: 1 and numpy.int64(1) are "1"."""
    out: dict[str, Sequence[EdgeLike]] = {}
    for key, near in edges.items():
        id = _id(key, "edges")
        if id in out:
            raise ArrivalError("unparsable", "edges", f"{id!r} is a key twice, as a number and as a text")
        out[id] = near
    return out


def _features(table: Table, used: set[str | None], features: str | Sequence[str] | None) -> list[str]:
    if isinstance(features, str):
        return []
    names = [name for name in table.names if name not in used] if features is None else list(map(str, features))
    for name in names:
        table.want(name, "feature")
        if INDEX_COLUMNS.fullmatch(name):
            raise ArrivalError(
                "unparsable",
                f"features.named.{name}",
                "an index left in the table: write it with index=False",
            )
    return names


def _row(fields: Sequence[tuple[str, Any]], form: Form) -> Features:
    if form == "named":
        return Named({name: None if value == [] else value for name, value in fields})
    numbers = np.zeros(len(fields))
    for k, (name, value) in enumerate(fields):
        if value is None:
            raise ArrivalError("not_finite", name, "missing, which only features by name can be")
        if not isinstance(value, int | float):
            raise ArrivalError("unparsable", name, f"{value!r} is no number: send the features by name")
        numbers[k] = value
    if form == "dense":
        return Dense(numbers)
    at = np.flatnonzero(numbers)
    return Sparse(at, numbers[at])


def _whole(cell: Any) -> Features:
    """Return features of a cell that holds all of them."""
    if isinstance(cell, Mapping):
        return features_of({name: value for name, value in cell.items() if not missing(value)})
    try:
        return Dense([float(number) for number in listed(cell)])
    except (ColumnError, TypeError, ValueError) as error:
        raise ArrivalError("unparsable", "features", f"not a list of numbers: {error}") from None


def edges_from_frame(
    frame: Any,
    *,
    source: str,
    target: str,
    weight: str | None = None,
    type: str | None = None,
    directed: bool = False,
) -> dict[str, list[EdgeLike]]:
    """Return the neighbours of each id in a table of edges, each once for each type, in its order.

    An edge counts for both ends. weight is a column of weights: those of a pair that is there again with a
    type are added up, and of both directions the larger counts where edges have none, as `trainer train` reads
    tables. type is a column of types: the edges are objects with these. Where edges are directed, that of the
    target is an object that says so.
    """
    try:
        table = Table(frame)
        for what, column in {"source": source, "target": target, "weight": weight, "type": type}.items():
            if column is not None:
                table.want(column, what)
        pairs = list(zip(table.ids(source), table.ids(target), strict=True))
        kinds = table.ids(type) if type is not None else [""] * len(pairs)
        given = table.values(weight) if weight is not None else [1.0] * len(pairs)
    except ColumnError as error:
        raise ArrivalError("unparsable", "", str(error)) from None
    sums: dict[tuple[str, str, str], float] = {}
    for k, ((a, b), kind, w) in enumerate(zip(pairs, kinds, given, strict=True)):
        number = isinstance(w, int | float) and not isinstance(w, bool)
        if not number or not 0 < w <= FLOAT32_MAX or np.float32(w) == 0:
            raise ArrivalError(
                "unparsable", f"{weight}[{k}]", f"{w}, weights must be finite float32 numbers above 0"
            )
        sums[a, b, kind] = min(sums.get((a, b, kind), 0.0) + w, FLOAT32_MAX)
    near: dict[str, dict[tuple[str, str, bool], EdgeLike]] = {}
    for (a, b, kind), w in sums.items():
        if not directed:
            w = max(w, sums.get((b, a, kind), 0.0))
        for one, other, into in ((a, b, False), (b, a, directed)):
            said: dict[str, Any] = {} if weight is None else {"weight": w}
            if kind:
                said["type"] = kind
            if into:
                said["in"] = True
            near.setdefault(one, {})[other, kind, into] = {"id": other, **said} if said else other
    return {id: list(others.values()) for id, others in near.items()}


def arrivals_from_data(
    data: Any,
    nodes: Iterable[int],
    *,
    ids: Sequence[NodeId] | None = None,
    form: Form = "dense",
    names: Sequence[str] | None = None,
) -> list[Arrival]:
    """Return arrivals of nodes of a PyTorch Geometric Data.

    Features are rows of x, edges the neighbours by edge_index in both directions. nodes are indices, or a mask
    of all. ids names all nodes of data; None: their indices, as `rivulet_mcond.export` names them. names are
    those of the columns of x, for the form "named".
    """
    x = _array(data.x)
    edges = _array(data.edge_index).astype(np.int64)
    near: dict[int, set[int]] = {}
    chosen = np.asarray(_array(nodes) if not isinstance(nodes, list | range) else list(nodes))
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
    wanted = np.zeros(len(x), bool)
    wanted[chosen] = True
    for a, b in ((edges[0], edges[1]), (edges[1], edges[0])):
        for i, j in zip(a[wanted[a]].tolist(), b[wanted[a]].tolist(), strict=True):
            near.setdefault(i, set()).add(j)
    if form == "named" and (names is None or len(names) != x.shape[1]):
        raise ValueError(f"form is named: names must name the {x.shape[1]} columns of x")
    columns = [str(k) for k in range(x.shape[1])] if names is None else list(names)
    known: Sequence[NodeId] = range(len(x)) if ids is None else ids
    return [
        Arrival(known[i], _positions(x[i], columns, form), [known[j] for j in sorted(near.get(i, ()))])
        for i in chosen.tolist()
    ]


def _positions(row: NDArray[Any], names: Sequence[str], form: Form) -> Features:
    if form == "dense":
        return Dense(row)
    if form == "sparse":
        at = np.flatnonzero(row)
        return Sparse(at, row[at])
    return Named({name: float(value) for name, value in zip(names, row, strict=True)})


def _array(tensor: Any) -> NDArray[Any]:
    """Return a tensor, which torch may hold sparse or on another device, as an array."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
        if str(tensor.layout) != "torch.strided":
            tensor = tensor.to_dense()
        tensor = tensor.numpy()
    return np.asarray(tensor)


def predictions_frame(values: Iterable[bytes | str]) -> pd.DataFrame:
    """Return a table of predictions in JSON, with a column for each field that one of them has.

    The arrival's place is in source_topic, source_partition and source_offset; times are in UTC.
    """
    import pandas as pd

    rows = []
    for value in values:
        said = json.loads(value)
        for name, part in said.pop("source").items():
            said[f"source_{name}"] = part
        rows.append(said)
    frame = pd.DataFrame(rows)
    for name, kind in PREDICTION.items():
        if name not in frame:
            continue
        if kind == "flag":
            frame[name] = frame[name].eq(True)
        elif kind == "count":
            frame[name] = frame[name].fillna(0).astype(np.int64)
        elif kind == "time":
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame

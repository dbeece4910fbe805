"""Arrivals of pandas tables and of PyTorch Geometric's Data, and predictions as a table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .arrivals import Arrival, ArrivalError, Dense, EdgeLike, Features, Named, NodeId, Scalar, Sparse, node_id

Form = Literal["dense", "sparse", "named"]
"""How features are sent: all numbers by position, those that are not 0, or by name."""

INDEX_COLUMNS = ("", "Unnamed: 0", "__index_level_0__")
"""Columns that are an index which was left in a table by mistake."""

TIMES = ("arrival_time", "ingest_time", "predicted_time")


def arrivals_from_frame(
    frame: pd.DataFrame,
    *,
    id: str,
    features: Sequence[str] | None = None,
    form: Form = "named",
    edges: str | Mapping[str, Sequence[EdgeLike]] | Mapping[int, Sequence[EdgeLike]] | None = None,
    time: str | None = None,
) -> list[Arrival]:
    """Return an arrival for each row.

    features are the columns to send; None: all but those of id, edges and time. By position their order counts:
    it must be that of the table which the model was trained on. edges is a column of lists of ids, or of objects
    with a weight or a direction as in JSON, or a mapping from id to such lists, as `edges_from_frame` or pandas'
    groupby gives: its keys may be integers. time is a column of times with a zone.

    NaN, NaT and None are missing: sent as null by name, and refused by position. Raises ArrivalError, naming the
    row and the column, and KeyError for a column that is not there.
    """
    names = _columns(frame, {id, time, edges if isinstance(edges, str) else None}, features)
    ids, columns = frame[id].tolist(), [frame[name].tolist() for name in names]
    listed = frame[edges].tolist() if isinstance(edges, str) else None
    near_by_id = {} if edges is None or isinstance(edges, str) else _by_id(edges)
    if near_by_id and ids and not any(node_id(i, "id") in near_by_id for i in ids if not _missing(i)):
        warnings.warn(
            f"no id of the table, such as {ids[0]!r}, is a key of edges, such as {next(iter(near_by_id))!r}: "
            "no arrival has an edge",
            stacklevel=2,
        )
    times = frame[time].tolist() if time is not None else None
    out = []
    for i, label in enumerate(frame.index):
        try:
            near = listed[i] if listed is not None else near_by_id.get(node_id(ids[i], "id"), ())
            out.append(
                Arrival(
                    ids[i],
                    _row([(name, column[i]) for name, column in zip(names, columns, strict=True)], form),
                    () if _missing(near) else near,
                    None if times is None or _missing(times[i]) else times[i],
                )
            )
        except ArrivalError as error:
            error.args = (f"row {label}: {error}",)
            raise
    return out


def _by_id(edges: Any) -> dict[str, Sequence[EdgeLike]]:
    """Return a mapping of edges with its keys as texts, as ids are: 1 and numpy.int64(1) are "1"."""
    out: dict[str, Sequence[EdgeLike]] = {}
    for key, near in edges.items():
        id = node_id(key, "edges")
        if id in out:
            raise ArrivalError("unparsable", "edges", f"{id!r} is a key twice, as a number and as a text")
        out[id] = near
    return out


def _columns(frame: pd.DataFrame, used: set[str | None], features: Sequence[str] | None) -> list[str]:
    if not frame.columns.is_unique:
        raise ArrivalError(
            "unparsable", "", f"columns {list(frame.columns[frame.columns.duplicated()])} are there twice"
        )
    names = list(features) if features is not None else [name for name in frame.columns if name not in used]
    for name in names:
        if name in INDEX_COLUMNS:
            raise ArrivalError(
                "unparsable",
                f"features.named.{name}",
                "an index left in the table: write it with index=False",
            )
    return names


def _missing(value: Any) -> bool:
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and value != value)


def _row(fields: Sequence[tuple[str, Any]], form: Form) -> Features:
    if form == "named":
        return Named({name: None if _missing(value) else _plain(value) for name, value in fields})
    numbers = np.zeros(len(fields))
    for k, (name, value) in enumerate(fields):
        if _missing(value):
            raise ArrivalError("not_finite", name, "missing, which only features by name can be")
        if isinstance(value, str):
            raise ArrivalError("unparsable", name, f"{value!r} is no number: send the features by name")
        numbers[k] = value
    if form == "dense":
        return Dense(numbers)
    at = np.flatnonzero(numbers)
    return Sparse(at, numbers[at])


def _plain(value: Any) -> Scalar:
    return value.item() if isinstance(value, np.generic) else value  # type: ignore[no-any-return]


def edges_from_frame(
    frame: pd.DataFrame,
    *,
    source: str,
    target: str,
    weight: str | None = None,
    type: str | None = None,
    directed: bool = False,
) -> dict[str, list[EdgeLike]]:
    """Return the neighbours of each id in a table of edges, each once for each type, in its order.

    An edge counts for both ends. weight is a column of weights: those of a pair that is there again are added
    up, and of both directions the larger counts, as `trainer train` reads tables. type is a column of types: the
    edges are objects with these. Where edges are directed, that of the target is an object that says so.
    """
    if weight is not None and (directed or type is not None):
        raise ArrivalError("unparsable", weight, "edges with types or directions have no weights")
    if type is not None:
        return _typed_edges(frame, source, target, type, directed)
    sums: dict[tuple[str, str], float] = {}
    given = frame[weight].tolist() if weight is not None else [1.0] * len(frame)
    for k, (a, b, w) in enumerate(zip(frame[source].tolist(), frame[target].tolist(), given, strict=True)):
        pair = node_id(a, f"{source}[{k}]"), node_id(b, f"{target}[{k}]")
        if _missing(w) or not 0 < w < float("inf"):
            raise ArrivalError("unparsable", f"{weight}[{k}]", f"{w}, weights must be finite and above 0")
        sums[pair] = sums.get(pair, 0.0) + w
    near: dict[str, dict[tuple[str, bool], EdgeLike]] = {}
    for (a, b), w in sums.items():
        w = max(w, sums.get((b, a), 0.0))
        for one, other, into in ((a, b, False), (b, a, True)):
            edge: EdgeLike = other if weight is None else {"id": other, "weight": w}
            if directed and into:
                edge = {"id": other, "in": True}
            near.setdefault(one, {})[other, directed and into] = edge
    return {id: list(others.values()) for id, others in near.items()}


def _typed_edges(
    frame: pd.DataFrame, source: str, target: str, type: str, directed: bool
) -> dict[str, list[EdgeLike]]:
    near: dict[str, dict[tuple[str, str, bool], EdgeLike]] = {}
    for k, (a, b, of) in enumerate(
        zip(frame[source].tolist(), frame[target].tolist(), frame[type].tolist(), strict=True)
    ):
        ends, kind = (node_id(a, f"{source}[{k}]"), node_id(b, f"{target}[{k}]")), node_id(of, f"{type}[{k}]")
        for (one, other), into in ((ends, False), (ends[::-1], directed)):
            edge: EdgeLike = {"id": other, "type": kind, **({"in": True} if into else {})}
            near.setdefault(one, {})[other, kind, into] = edge
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
    rows = []
    for value in values:
        said = json.loads(value)
        for name, part in said.pop("source").items():
            said[f"source_{name}"] = part
        rows.append(said)
    frame = pd.DataFrame(rows)
    for name in ("abstained", "degraded"):
        if name in frame:
            frame[name] = frame[name].eq(True)
    if "arrival_neighbours" in frame:
        frame["arrival_neighbours"] = frame["arrival_neighbours"].fillna(0).astype(np.int64)
    for name in TIMES:
        if name in frame:
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame

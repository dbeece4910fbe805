"""Arrivals as event/README.md defines them: built, checked, written as JSON and read from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._event import Reason

NodeId: TypeAlias = str | int
EdgeLike: TypeAlias = NodeId | Mapping[str, Any]
"""An edge as in JSON: the neighbour's id, or {"id": …, "weight": 2.5}, or {"id": …, "in": True}."""
Scalar: TypeAlias = float | int | bool | str | datetime | Sequence[float] | NDArray[Any] | None
"""What a named feature may be; None is missing."""

FLOAT32_MAX = float(np.finfo(np.float32).max)
_TIME = re.compile(
    r"(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
)


class ArrivalError(ValueError):
    """An arrival that the consumer would make a dead letter of.

    reason is the word that the dead letter would have, of event/README.md, and field the place in the arrival.
    """

    def __init__(self, reason: Reason, field: str, detail: str) -> None:
        """Say what is wrong."""
        super().__init__(f"{field}: {detail}" if field else detail)
        self.reason = reason
        self.field = field


@dataclass(frozen=True, eq=False)
class Dense:
    """All d raw features."""

    values: NDArray[np.float32]

    def __init__(self, values: ArrayLike) -> None:
        """Take d numbers; raises ArrivalError if one is not finite as a float32."""
        object.__setattr__(self, "values", _floats(values, "features"))


@dataclass(frozen=True, eq=False)
class Sparse:
    """The raw features that are not 0: values[k] at indices[k], ascending."""

    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    def __init__(self, indices: ArrayLike, values: ArrayLike | None = None) -> None:
        """Take indices in any order, each once; without values each listed feature is 1."""
        at = _indices(indices)
        numbers = _floats(values if values is not None else np.ones(len(at)), "features.values")
        if len(numbers) != len(at):
            _refuse("feature_length", "features.values", f"{len(numbers)} values for {len(at)} indices")
        order = np.argsort(at, kind="stable")
        at, numbers = at[order], numbers[order]
        if len(at) > 1 and np.any(at[1:] == at[:-1]):
            twice = int(at[1:][at[1:] == at[:-1]][0])
            _refuse("unparsable", "features.indices", f"{twice} is given twice")
        object.__setattr__(self, "indices", at)
        object.__setattr__(self, "values", numbers)


@dataclass(frozen=True, eq=False)
class Named:
    """Features by name, for artifacts with a schema: number, bool, text, time, vector, or None for missing."""

    values: Mapping[str, Scalar]

    def __init__(self, values: Mapping[str, Scalar]) -> None:
        """Take the features; raises ArrivalError for a value of another type or one that is not finite."""
        object.__setattr__(self, "values", {name: _named(name, value) for name, value in values.items()})


Features: TypeAlias = Dense | Sparse | Named


OUTGOING, INCOMING = 1, 2
"""Directions of an edge, as bits: from the node to its neighbour, from the neighbour to the node."""


class Edge(NamedTuple):
    """An edge of an arrival to one neighbour: what the record says of it, taken together."""

    id: str
    weights: tuple[tuple[str, int, float], ...]
    """Each type, empty for none, with a direction and the sum of the weights given for these, 1 of none."""
    weighted: bool = True
    """Whether the record gives weights; if not, the edge weighs 1 however many of its types are read as one."""

    @property
    def weight(self) -> float:
        """The weight where types and directions are not read: of all types, the larger of both directions."""
        if not self.weighted:
            return 1.0
        return max(
            min(sum(weight for _, to, weight in self.weights if to == direction), FLOAT32_MAX)
            for direction in (OUTGOING, INCOMING)
        )


@dataclass(frozen=True, eq=False)
class Arrival:
    """A node that was not in the graph when the model was trained. The constructor checks everything but d."""

    id: str
    features: Features
    edges: tuple[str, ...] = ()
    time: str | None = None
    """RFC 3339."""
    weights: tuple[float, ...] | None = None
    """Of the edges, and of the incoming ones behind them; None: each is 1."""
    incoming: tuple[str, ...] = ()
    """Neighbours whose edges lead to the node."""
    types: tuple[str, ...] | None = None
    """Of the edges, and of the incoming ones behind them, empty where none is given; None: of none."""

    def __init__(
        self,
        id: NodeId,
        features: Features | ArrayLike,
        edges: Iterable[EdgeLike] = (),
        time: datetime | str | None = None,
        *,
        weights: ArrayLike | None = None,
        incoming: Iterable[NodeId] = (),
        types: Iterable[NodeId] | None = None,
    ) -> None:
        """Take features as Dense, Sparse or Named, or as a list of all d numbers; ids are text or integers.

        Weights may stand in the edges instead, as may directions and types: see EdgeLike.
        Weights and types are as many as edges and, behind them, incoming.
        """
        if not isinstance(features, Dense | Sparse | Named):
            features = Dense(features)
        for name, ids in (("edges", edges), ("incoming", incoming)):
            if isinstance(ids, str | bytes | Mapping):
                _refuse("unparsable", name, f"{ids!r}, want a list of ids")
        out, numbers, into, kinds = _edges(edges)
        into += [node_id(e, f"incoming[{k}]") for k, e in enumerate(incoming)]
        if types is not None:
            if kinds is not None:
                _refuse("unparsable", "types", "is there, and edges have types of their own")
            kinds = [node_id(kind, f"types[{k}]") for k, kind in enumerate(types)]
            if len(kinds) != len(out) + len(into):
                _refuse("unparsable", "types", f"{len(kinds)} types for {len(out) + len(into)} edges")
        if weights is not None:
            if numbers is not None:
                _refuse("unparsable", "weights", "is there, and edges have weights of their own")
            numbers = [_weight(w, f"weights[{k}]") for k, w in enumerate(_floats(weights, "weights").tolist())]
        if numbers is not None and len(numbers) != len(out) + len(into):
            _refuse("unparsable", "weights", f"{len(numbers)} weights for {len(out) + len(into)} edges")
        object.__setattr__(self, "id", node_id(id, "id"))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "edges", tuple(out))
        object.__setattr__(self, "time", None if time is None else rfc3339(time, "time"))
        object.__setattr__(self, "weights", None if numbers is None else tuple(numbers))
        object.__setattr__(self, "incoming", tuple(into))
        object.__setattr__(self, "types", None if kinds is None else tuple(kinds))

    def check(self, features: int, max_edges: int = 0) -> None:
        """Raise ArrivalError if a model of so many raw features cannot take the arrival. max_edges 0: any."""
        x = self.features
        if isinstance(x, Dense) and len(x.values) != features:
            _refuse("feature_length", "features", f"{len(x.values)} values, the model takes {features}")
        if isinstance(x, Sparse) and len(x.indices) and x.indices[-1] >= features:
            _refuse("feature_length", "features.indices", f"{x.indices[-1]} is outside 0…{features - 1}")
        edges = len(self.edges) + len(self.incoming)
        if max_edges and edges > max_edges:
            _refuse("too_many_edges", "edges", f"{edges} edges, at most {max_edges} are taken")

    def neighbours(self) -> list[Edge]:
        """Return an edge for each distinct neighbour, without the arrival itself, in the order of the record."""
        if self.weights is None and not self.incoming and self.types is None:
            ones = (("", OUTGOING, 1.0),)
            return [Edge(id, ones, False) for id in dict.fromkeys(self.edges) if id != self.id]
        out: dict[str, dict[tuple[str, int], float]] = {}
        ids = [*self.edges, *self.incoming]
        weights = self.weights or (0.0,) * len(ids)
        for k, (id, weight, kind) in enumerate(zip(ids, weights, self.types or [""] * len(ids), strict=True)):
            if id != self.id:
                met, of = out.setdefault(id, {}), (kind, OUTGOING if k < len(self.edges) else INCOMING)
                met[of] = min(met.get(of, 0.0) + weight, FLOAT32_MAX) if self.weights is not None else 1.0
        return [
            Edge(
                id,
                tuple((kind, direction, weight) for (kind, direction), weight in of.items()),
                self.weights is not None,
            )
            for id, of in out.items()
        ]

    def to_json(self) -> bytes:
        """Return the record's value: one JSON object in UTF-8, without a line break."""
        parts = [f'"id":{_text(self.id)}', f'"features":{_features_json(self.features)}']
        lists: dict[str, Sequence[str]] = {
            "edges": self.edges, "incoming": self.incoming, "types": self.types or ()
        }  # fmt: skip
        if not all(lists["types"]):  # a list of types has one for each edge
            lists = {"edges": [], "incoming": [], "types": []}
            parts.append(f'"edges":[{",".join(self._objects())}]')
        if self.weights and (lists["edges"] or lists["incoming"]):
            parts.append(f'"weights":[{_numbers(np.array(self.weights, np.float32))}]')
        parts += [f'"{name}":[{",".join(map(_text, of))}]' for name, of in lists.items() if of]
        if self.time is not None:
            parts.append(f'"time":{_text(self.time)}')
        return ("{" + ",".join(parts) + "}").encode()

    def _objects(self) -> Iterator[str]:
        """Yield the edges as objects, for edges of which some have no type."""
        for k, (id, kind) in enumerate(zip([*self.edges, *self.incoming], self.types or (), strict=True)):
            weight = (
                ""
                if not self.weights
                else f',"weight":{_numbers(np.array(self.weights[k : k + 1], np.float32))}'
            )
            leads = "" if k < len(self.edges) else ',"in":true'
            yield f'{{"id":{_text(id)}{weight}{leads}' + (f',"type":{_text(kind)}}}' if kind else "}")

    @classmethod
    def from_json(cls, value: bytes | str) -> Arrival:
        """Read an arrival; raises ArrivalError with the reason of the dead letter that it would become."""
        try:
            said = json.loads(
                value, object_pairs_hook=_distinct, parse_constant=_not_a_number, parse_int=_integer
            )
        except ArrivalError:
            raise
        except (ValueError, RecursionError) as error:
            raise ArrivalError("unparsable", "", f"not JSON: {error}") from None
        if not isinstance(said, dict):
            _refuse("unparsable", "", "not a JSON object")
        for name in ("id", "features"):
            if said.get(name) is None:
                _refuse("unparsable", name, "missing")
        for name in ("edges", "weights", "incoming", "types"):
            if said.get(name) is not None and not isinstance(said[name], list):
                _refuse("unparsable", name, "not a list")
        edges, incoming = [_known(edge) for edge in said.get("edges") or ()], said.get("incoming") or ()
        if incoming and any(isinstance(edge, dict) and edge.get("in") for edge in edges):
            _refuse("unparsable", "incoming", "is there, and edges have directions of their own")
        time = said.get("time")
        if time is not None and not isinstance(time, str):
            _refuse("unparsable", "time", "not a string")
        features = features_of(said["features"])
        return cls(
            said["id"],
            features,
            edges,
            time,
            weights=said.get("weights"),
            incoming=incoming,
            types=said.get("types"),
        )


_EDGE_FIELDS = ("id", "weight", "type", "in")


def _known(edge: Any) -> Any:
    """Return an edge of a record without the fields that nobody knows: readers pass over them."""
    return {name: edge[name] for name in _EDGE_FIELDS if name in edge} if isinstance(edge, dict) else edge


def _edges(edges: Iterable[EdgeLike]) -> tuple[list[str], list[float] | None, list[str], list[str] | None]:
    """Divide edges into neighbours, their weights, neighbours that lead to the node, and types.

    Weights and types are those of both lists, one behind the other; None: none is given.
    """
    out, into, weighs, objects = list[str](), list[str](), False, False
    weights: tuple[list[float], list[float]] = ([], [])
    kinds: tuple[list[str], list[str]] = ([], [])
    for k, edge in enumerate(edges):
        place = f"edges[{k}]"
        if not isinstance(edge, Mapping):
            out.append(node_id(edge, place))
            weights[0].append(1.0)
            kinds[0].append("")
            continue
        for name in edge:
            if name not in _EDGE_FIELDS:
                _refuse("unparsable", f"{place}.{name}", "is not known, only id, weight, type and in")
        if edge.get("id") is None:
            _refuse("unparsable", f"{place}.id", "missing")
        leads, weight, kind = edge.get("in"), edge.get("weight"), edge.get("type")
        if leads is not None and not isinstance(leads, bool):
            _refuse("unparsable", f"{place}.in", f"{leads!r}, want true or false")
        weights[bool(leads)].append(
            1.0 if weight is None else _weight(_floats([weight], f"{place}.weight")[0], f"{place}.weight")
        )
        weighs = weighs or weight is not None
        kinds[bool(leads)].append("" if kind is None else node_id(kind, f"{place}.type"))
        if leads:
            into.append(node_id(edge["id"], f"{place}.id"))
            continue
        objects = True
        out.append(node_id(edge["id"], f"{place}.id"))
    typed = [*kinds[0], *kinds[1]] if any(kinds[0]) or any(kinds[1]) else None
    counts = weighs or (objects and not into and typed is None)
    return out, [*weights[0], *weights[1]] if counts else None, into, typed


def _weight(value: float, field: str) -> float:
    if value <= 0:
        _refuse("unparsable", field, f"{value:g}, weights must be above 0")
    return float(value)


def node_id(value: NodeId, field: str) -> str:
    """Return an id as the text that it is known by: 17 and "17" are the same node."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | str):
        advice = "; read the column as text or as integers" if isinstance(value, float | np.floating) else ""
        _refuse("unparsable", field, f"{value!r}, an id is text or an integer{advice}")
    text = str(value)
    if not text:
        _refuse("unparsable", field, "empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        _refuse("unparsable", field, f"{text!r} is not Unicode")
    return text


def rfc3339(value: datetime | str, field: str) -> str:
    """Return a time in RFC 3339, of text in that form or a datetime with a zone (also of pandas, to the ns)."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            _refuse("unparsable", field, f"{value} has no time zone: tz_localize it, or give it a tzinfo")
        text = value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    else:
        text = value
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        _refuse("unparsable", field, f"{text!r} is not RFC 3339 with a zone and up to 9 fractional digits")
    try:
        day = date(*map(int, text[:10].split("-")))
        datetime.fromisoformat(f"{day}{text[10:19]}{'+00:00' if text.endswith('Z') else text[-6:]}").astimezone(
            timezone.utc
        )
    except (ValueError, OverflowError) as error:
        _refuse("unparsable", field, f"{text!r}: {error}")
    return text


def _refuse(reason: Reason, field: str, detail: str) -> NoReturn:
    raise ArrivalError(reason, field, detail)


def _floats(values: ArrayLike, field: str) -> NDArray[np.float32]:
    try:
        wide = np.asarray(values)
        if wide.dtype.kind in "bSUMmc" or (wide.dtype == object and _odd(wide)):
            raise TypeError(f"of {wide.dtype}")
        wide = wide.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ArrivalError("unparsable", field, f"not a list of numbers: {error}") from None
    if wide.ndim != 1:
        _refuse("unparsable", field, f"of shape {wide.shape}, want one row")
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(narrow))
    if len(wrong):
        k = int(wrong[0])
        _refuse("not_finite", f"{field}[{k}]", f"{wide[k]}, features must be finite")
    return narrow


def _odd(values: NDArray[Any]) -> bool:
    return any(v is not None and (isinstance(v, bool) or not isinstance(v, int | float)) for v in values.flat)


def _indices(values: ArrayLike) -> NDArray[np.int32]:
    at = np.asarray(values)
    if at.size == 0:
        return np.zeros(0, np.int32)
    if at.ndim != 1 or at.dtype.kind not in "iu":
        if at.dtype == object and all(isinstance(v, int) and not isinstance(v, bool) for v in at.flat):
            _refuse("feature_length", "features.indices", "an index is beyond 2147483647")
        _refuse("unparsable", "features.indices", f"of {at.dtype} and shape {at.shape}, want a list of integers")
    if np.any(at < 0) or np.any(at > np.iinfo(np.int32).max):
        k = int(np.flatnonzero((at < 0) | (at > np.iinfo(np.int32).max))[0])
        _refuse("feature_length", f"features.indices[{k}]", f"{at[k]} is outside 0…2147483647")
    return at.astype(np.int32)


def _named(name: str, value: Scalar) -> Scalar:
    field = f"features.named.{name}"
    if not isinstance(name, str) or not name:
        _refuse("unparsable", "features.named", f"{name!r}, a name is text that is not empty")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            _refuse("unparsable", field, f"{value!r} is not Unicode")
        return value
    if isinstance(value, datetime):
        return rfc3339(value, field)
    if isinstance(value, int | float):
        try:
            finite = math.isfinite(float(value))
        except OverflowError:
            finite = False
        if not finite:
            _refuse("not_finite", field, f"{value}, features must be finite")
        return value
    if isinstance(value, Sequence | np.ndarray):
        return _floats(value, field)
    _refuse(
        "unparsable",
        field,
        f"{value!r} of {type(value).__name__}: want number, bool, text, time, vector or None",
    )


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _numbers(values: NDArray[np.float32]) -> str:
    """Return the shortest decimals that read back as the same float32."""
    return ",".join(text.removesuffix(".0") for text in values.astype(str).tolist())


def _features_json(x: Features) -> str:
    if isinstance(x, Dense):
        return f"[{_numbers(x.values)}]"
    if isinstance(x, Sparse):
        indices = ",".join(map(str, x.indices.tolist()))
        if np.all(x.values == 1):
            return f'{{"indices":[{indices}]}}'
        return f'{{"indices":[{indices}],"values":[{_numbers(x.values)}]}}'
    fields = []
    for name, value in x.values.items():
        text = f"[{_numbers(value)}]" if isinstance(value, np.ndarray) else json.dumps(value, ensure_ascii=False)
        fields.append(f"{_text(name)}:{text}")
    return f'{{"named":{{{",".join(fields)}}}}}'


def features_of(said: Any) -> Features:
    """Return features as JSON says them: a list, or an object with named, or with indices and values."""
    if isinstance(said, list):
        return Dense(said)
    if not isinstance(said, dict):
        _refuse("unparsable", "features", "neither a list nor an object")
    if "named" in said:
        if "indices" in said or "values" in said:
            _refuse("unparsable", "features", "named beside indices or values")
        if not isinstance(said["named"], dict):
            _refuse("unparsable", "features.named", "not an object")
        return Named(said["named"])
    indices, values = said.get("indices"), said.get("values")
    if not isinstance(indices, list):
        _refuse("unparsable", "features.indices", "missing" if indices is None else "not a list")
    if values is not None and not isinstance(values, list):
        _refuse("unparsable", "features.values", "not a list")
    return Sparse(indices, values)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        _refuse("unparsable", twice, "given twice in one object")
    return out


def _not_a_number(word: str) -> NoReturn:
    _refuse("not_finite", "features", f"{word}, features must be finite")


def _integer(text: str) -> int | float:
    return -0.0 if text == "-0" else int(text)

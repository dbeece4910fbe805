"""An artifact's schema: how named values become the row of numbers that a model reads (artifact/FORMAT.md)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._event import Reason
from .arrivals import FLOAT32_MAX, ArrivalError, Scalar, Sparse

_FIELDS = frozenset(
    [
        *("name", "kind", "missing", "mean", "categories", "buckets", "parts", "until", "until_feature"),
        *("of", "arriving"),
    ]
)  # of a feature; one that is not known may change what positions mean
_KINDS = ("number", "bool", "category", "text", "time", "age", "vector")
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d))?")


class SchemaError(ValueError):
    """A text that is no schema, or one of a version that this package does not know."""


@dataclass(frozen=True)
class Feature:
    """One feature and its positions, from start on."""

    name: str
    kind: str
    missing: str
    start: int
    mean: Sequence[float] = ()
    categories: Sequence[str] = ()
    buckets: int = 0
    parts: Sequence[str] = ()
    until: str = ""
    until_feature: str = ""
    of: str = ""
    """The type of the nodes that have the feature; empty: all do."""
    arriving: Sequence[str] = ()
    """Of the category that is a node's type: the types that an arrival may have."""

    @property
    def values(self) -> int:
        """Positions without the one that says "missing"."""
        if self.kind == "category":
            return len(self.categories) + 1
        sizes = {"text": self.buckets, "time": len(self.parts), "vector": len(self.mean)}
        return sizes.get(self.kind, 1)

    @property
    def width(self) -> int:
        """Number of positions."""
        return self.values + (self.missing == "column")

    def position_names(self) -> list[str]:
        """Return the names of the positions, such as "country=DE"."""
        n = self.name
        names = {
            "category": [*(f"{n}={c}" for c in self.categories), f"{n}=(other)"],
            "text": [f"{n}#{k}" for k in range(self.buckets)],
            "time": [f"{n}.{part}" for part in self.parts],
            "vector": [f"{n}[{k}]" for k in range(len(self.mean))],
        }.get(self.kind, [n])
        return [*names, f"{n}=(missing)"] if self.missing == "column" else names


class Schema:
    """An ordered list of features, as an artifact keeps it."""

    def __init__(self, text: bytes) -> None:
        """Read schema.json; raises SchemaError, naming the field."""
        try:
            said = json.loads(text)
            if said["schema_version"] != 1 or set(said) - {"schema_version", "seed", "features", "unused"}:
                raise SchemaError(
                    f"schema_version {said['schema_version']} or a field is not known: {sorted(said)}"
                )
            self.features = _features(said["features"])
            self.unused = [str(of["name"]) for of in said.get("unused", [])]
            self._state = _hashed(_FNV_OFFSET, int(said["seed"]).to_bytes(8, "little"))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SchemaError(f"schema.json: {error}") from error
        self.hash = hashlib.sha256(text).hexdigest()
        """SHA-256 of the text, in hex digits: the header `rivulet-schema`."""
        self.width = sum(feature.width for feature in self.features)
        """Number of positions, d."""
        self._known = {feature.name for feature in self.features} | set(self.unused)
        self._categories = {f.name: {c: k for k, c in enumerate(f.categories)} for f in self.features}

    def names(self) -> list[str]:
        """Return the names of all positions."""
        return [name for feature in self.features for name in feature.position_names()]

    def encode(self, values: Mapping[str, Scalar], ignore_unknown: bool = False) -> NDArray[np.float32]:
        """Return the row of a node with these values, d numbers; one that is absent is missing.

        Raises ArrivalError, naming the feature and the value.
        """
        if not ignore_unknown:
            for name in values:
                if name not in self._known:
                    raise _fault("feature_unknown", name, "the schema has no such feature")
        row = np.zeros(self.width)
        kind = self._type(values)
        for feature in self.features:
            part = row[feature.start : feature.start + feature.width]
            if feature.arriving:
                part[feature.categories.index(kind)] = 1
            elif feature.of and feature.of != kind:
                if values.get(feature.name) is not None:
                    detail = "it is a feature of nodes of the type {}, and the node is of the type {}"
                    raise _fault("feature_type", feature.name, detail.format(feature.of, kind))
                if feature.missing != "zero":
                    part[: len(feature.mean)] = feature.mean
            elif not self._put(part, feature, values):
                _put_missing(part, feature)
        return row.astype(np.float32)

    def sparse(self, values: Mapping[str, Scalar], ignore_unknown: bool = False) -> Sparse:
        """Return the same row as Sparse."""
        row = self.encode(values, ignore_unknown)
        at = np.flatnonzero(row)
        return Sparse(at, row[at])

    def _type(self, values: Mapping[str, Scalar]) -> str:
        """Return the node's type, which need not be said if arrivals are of one; empty: nodes have no types."""
        for feature in self.features:
            if not feature.arriving:
                continue
            value = values.get(feature.name)
            if value is None and len(feature.arriving) == 1:
                return feature.arriving[0]
            want = f"want the type of an arriving node: {' or '.join(feature.arriving)}"
            if value is None:
                raise _fault("feature_missing", feature.name, f"is missing, {want}")
            if _category(feature, value) not in feature.arriving:
                raise _wrong(feature, value, want.removeprefix("want "))
            return _category(feature, value)
        return ""

    def _put(self, part: NDArray[np.float64], f: Feature, values: Mapping[str, Scalar]) -> bool:
        """Set the positions of a value, or report that it is missing."""
        value = values.get(f.name)
        if value is None:
            return False
        if f.kind in ("number", "bool"):
            part[0] = _number(f, value)
        elif f.kind == "category":
            part[self._categories[f.name].get(_category(f, value), len(f.categories))] = 1
        elif f.kind == "text":
            self._put_words(part[: f.buckets], f, value)
        elif f.kind == "vector":
            part[: len(f.mean)] = _vector(f, value)
        elif f.kind == "time":
            part[: len(f.parts)] = [_part(_moment(f.name, value)[0], name) for name in f.parts]
        else:
            until = values.get(f.until_feature) if f.until_feature else f.until
            if until is None:
                return False
            (day, fraction), (end, end_fraction) = (
                _moment(f.name, value),
                _moment(f.until_feature or f.name, until),
            )
            part[0] = ((end - day).days * 86400 + (end - day).seconds + (end_fraction - fraction)) / 86400
        return True

    def _put_words(self, counts: NDArray[np.float64], f: Feature, value: Scalar) -> None:
        if not isinstance(value, str):
            raise _wrong(f, value, "a string")
        for word in _WORD.findall(value.encode()):
            h = _hashed(self._state, word.lower())
            counts[(h ^ h >> 32) % f.buckets] += 1
        norm = np.sqrt((counts * counts).sum())
        if norm > 0:
            # Divided as float32, like the numbers that models were trained on.
            counts[:] = counts.astype(np.float32) / np.float32(norm)


_FNV_OFFSET, _FNV_PRIME = 14695981039346656037, 1099511628211


def _hashed(state: int, data: bytes) -> int:
    """Go on with a 64-bit FNV-1a hash."""
    for byte in data:
        state = (state ^ byte) * _FNV_PRIME % 2**64
    return state


def _features(said: Sequence[Mapping[str, Any]]) -> list[Feature]:
    features: list[Feature] = []
    start = 0
    for of in said:
        if (
            set(of) - _FIELDS
            or of["kind"] not in _KINDS
            or of["missing"] not in ("mean", "zero", "column", "refuse")
        ):
            raise SchemaError(f"feature {of} is not known")
        features.append(Feature(start=start, **of))
        start += features[-1].width
    names = {feature.name for feature in features}
    if not features or len(names) != len(features):
        raise SchemaError("features is empty, or a name occurs twice")
    return features


def _fault(reason: Reason, name: str, detail: str) -> ArrivalError:
    return ArrivalError(reason, f"features.named.{name}", detail)


def _wrong(f: Feature, value: Scalar, want: str) -> ArrivalError:
    return _fault("feature_type", f.name, f"{value!r}, want {want}")


def _put_missing(part: NDArray[np.float64], f: Feature) -> None:
    if f.missing == "refuse":
        raise _fault("feature_missing", f.name, "is missing, the schema refuses that")
    if f.missing == "zero":
        return
    part[: len(f.mean)] = f.mean
    if f.missing == "column":
        part[f.values] = 1


def _number(f: Feature, value: Scalar) -> float:
    if not isinstance(value, int | float):
        raise _wrong(f, value, f"a {f.kind}")
    number = float(value)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float32(number)):
            raise _fault("not_finite", f.name, f"{value}, features must be finite float32 numbers")
    if f.kind == "bool" and number not in (0, 1):
        raise _wrong(f, value, "true, false, 1 or 0")
    return number


def _category(f: Feature, value: Scalar) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float):
        raise _wrong(f, value, "a string, a number or a bool")
    if not abs(value) <= FLOAT32_MAX:
        raise _fault("not_finite", f.name, f"{value}, features must be finite float32 numbers")
    return np.format_float_positional(float(value) + 0.0, unique=True, trim="-")


def _vector(f: Feature, value: Scalar) -> NDArray[Any]:
    if not isinstance(value, np.ndarray):
        raise _wrong(f, value, f"a list of {len(f.mean)} numbers")
    if len(value) != len(f.mean):
        raise _fault("feature_length", f.name, f"{len(value)} numbers, want {len(f.mean)}")
    return value


def _moment(name: str, value: Scalar) -> tuple[datetime, float]:
    """Return a time in UTC, to the second, and the fraction of the second."""
    match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        day, time, fraction, zone = match.groups()
        text = f"{day}T{time or '00:00:00'}{'+00:00' if zone in (None, 'Z') else zone}"
        try:
            return datetime.fromisoformat(text).astimezone(timezone.utc), float(fraction or 0)
        except (ValueError, OverflowError):
            pass
    raise _fault(
        "feature_type", name, f"{value!r}, want a time in RFC 3339, such as 2026-03-01T12:00:00Z or 2026-03-01"
    )


def _part(t: datetime, name: str) -> int:
    return {"year": t.year, "month": t.month, "day": t.day, "weekday": t.weekday(), "hour": t.hour}[name]

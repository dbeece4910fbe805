"""Named values become the same numbers in Python as in Go: the rows that package schema keeps are the test."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rivulet_mcond import ArrivalError, Named, Schema, SchemaError

from .conftest import ROOT

KEPT = json.loads((ROOT / "schema" / "testdata" / "rows.json").read_bytes())
TEXT = json.dumps(KEPT["schema"], separators=(",", ":"), ensure_ascii=False).encode()


def test_rows_of_all_kinds_and_rules() -> None:
    schema = Schema(TEXT)
    assert len(KEPT["rows"]) >= 100
    for kept in KEPT["rows"]:
        want = np.array(kept["row"], np.float32)
        got = schema.encode(Named(kept["values"]).values)
        assert np.array_equal(got, want), (kept["values"], schema.names(), got - want)
        sparse = schema.sparse(Named(kept["values"]).values)
        assert np.array_equal(want[sparse.indices], sparse.values)
        assert np.count_nonzero(want) == len(sparse.indices)
    assert len(schema.names()) == schema.width == len(KEPT["rows"][0]["row"])
    assert "c=(other)" in schema.names() and "w=(missing)" in schema.names() and "t.year" in schema.names()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"nobody": 1}, "feature_unknown"),
        ({"n": "1"}, "feature_type"),
        ({"n": 1e39}, "not_finite"),
        ({"b": 2}, "feature_type"),
        ({"c": [1.0]}, "feature_type"),
        ({"w": 1}, "feature_type"),
        ({"t": "yesterday"}, "feature_type"),
        ({"a": 17}, "feature_type"),
        ({"v": [1]}, "feature_length"),
        ({"v": 1}, "feature_type"),
    ],
)
def test_what_is_refused(values: dict[str, object], reason: str) -> None:
    schema = Schema(TEXT)
    with pytest.raises(ArrivalError, match=next(iter(values))) as caught:
        schema.encode(Named(values).values)  # type: ignore[arg-type]
    assert caught.value.reason == reason


def test_missing_and_unknown() -> None:
    schema = Schema(TEXT)
    nothing = schema.encode({})
    assert np.array_equal(nothing, schema.encode({"nobody": 1, "n": None}, ignore_unknown=True))
    refusing = Schema(TEXT.replace(b'"missing":"zero"', b'"missing":"refuse"'))
    with pytest.raises(ArrivalError) as caught:
        refusing.encode({})
    assert caught.value.reason == "feature_missing"


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(schema_version=2),
        lambda s: s.update(more=1),
        lambda s: s.pop("seed"),
        lambda s: s["features"][0].update(kind="log"),
        lambda s: s["features"][0].update(power=2),
        lambda s: s["features"][0].update(name="b"),
        lambda s: s.update(features=[]),
    ],
)
def test_what_is_no_schema(change: object) -> None:
    said = json.loads(TEXT)
    change(said)  # type: ignore[operator]
    with pytest.raises(SchemaError):
        Schema(json.dumps(said).encode())


def test_types_of_nodes() -> None:
    """The rows of TestTypesOfArrivals of package schema, and the same refusals."""
    number = {"kind": "number", "missing": "mean"}
    features = [
        {
            "name": "node_type",
            "kind": "category",
            "missing": "zero",
            "categories": ["item", "user"],
            "arriving": ["user"],
        },
        {"name": "age", **number, "mean": [30], "of": "user"},
        {"name": "price", "kind": "number", "missing": "column", "mean": [6], "of": "item"},
        {"name": "kind", "kind": "category", "missing": "zero", "categories": ["a", "b"], "of": "item"},
    ]
    schema = Schema(json.dumps({"schema_version": 1, "seed": 0, "features": features}).encode())
    for values in ({"age": 25}, {"node_type": "user", "age": 25}, {"age": 25, "price": None}):
        assert schema.encode(values).tolist() == [0, 1, 0, 25, 6, 0, 0, 0, 0]
    for values, words in (
        ({"node_type": "item"}, "the type of an arriving node: user"),
        ({"price": 3}, "of nodes of the type item, and the node is of the type user"),
    ):
        with pytest.raises(ArrivalError, match=words):
            schema.encode(values)
    features[0]["arriving"] = ["item", "user"]
    both = Schema(json.dumps({"schema_version": 1, "seed": 0, "features": features}).encode())
    with pytest.raises(ArrivalError, match="is missing, want the type of an arriving node: item or user"):
        both.encode({"age": 25})
    assert both.encode({"node_type": "item", "price": 5}).tolist() == [1, 0, 0, 30, 5, 0, 0, 0, 0]

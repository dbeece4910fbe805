"""Arrivals are read and written as event/README.md says; its examples are the test."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from rivulet_mcond import Arrival, ArrivalError, Edge, Named, Sparse
from rivulet_mcond.arrivals import INCOMING, OUTGOING

from .conftest import ROOT

EXAMPLES = ROOT / "event" / "testdata"
FEATURES, EDGES = 8, 4  # of the examples (event/files_test.go)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("arrival-*.json")), ids=lambda path: path.stem)
def test_good_examples(path: object) -> None:
    text = path.read_bytes()  # type: ignore[attr-defined]
    arrival = Arrival.from_json(text)
    arrival.check(FEATURES, EDGES)
    again = Arrival.from_json(arrival.to_json())
    assert again.to_json() == arrival.to_json()
    said = json.loads(text)
    assert again.id == str(said["id"])
    assert list(again.edges) == [str(e) for e in said.get("edges") or []]
    assert type(again.features) is type(arrival.features)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("bad-arrival-*.json")), ids=lambda path: path.stem)
def test_bad_examples(path: object) -> None:
    with pytest.raises(ArrivalError) as caught:
        Arrival.from_json(path.read_bytes()).check(FEATURES, EDGES)  # type: ignore[attr-defined]
    assert caught.value.reason == path.stem.split("-")[2]  # type: ignore[attr-defined]


def test_there_are_examples() -> None:
    assert len(list(EXAMPLES.glob("arrival-*.json"))) >= 6
    assert len(list(EXAMPLES.glob("bad-arrival-*.json"))) >= 30


def test_json() -> None:
    arrival = Arrival(17, [0, 0.1, 1e-10, 3e38], ["a", 5], "2026-03-01T12:00:00.25Z")
    assert arrival.to_json() == (
        b'{"id":"17","features":[0,0.1,1e-10,3e+38],"edges":["a","5"],"time":"2026-03-01T12:00:00.25Z"}'
    )
    assert Arrival("é", Sparse([7, 2], [1, 1])).to_json() == '{"id":"é","features":{"indices":[2,7]}}'.encode()
    named = Named(
        {"age": np.float32(0.5), "member": np.bool_(True), "city": "Köln", "gone": None, "v": [1, 2.5]}
    )
    assert json.loads(Arrival("x", named).to_json())["features"] == {
        "named": {"age": 0.5, "member": True, "city": "Köln", "gone": None, "v": [1, 2.5]}
    }


def test_numbers_read_back_as_the_same_float32() -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, 20000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    again = np.array(json.loads(Arrival("x", values).to_json())["features"]).astype(np.float32)
    assert np.array_equal(again.view(np.uint32) << 1, values.view(np.uint32) << 1)  # but for the sign of 0


def test_times() -> None:
    zone = timezone(timedelta(hours=2))
    assert Arrival("x", [], time=datetime(2026, 3, 1, 14, tzinfo=zone)).time == "2026-03-01T12:00:00Z"
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp("2026-03-01T12:00:00.123456789Z")
    assert Arrival("x", [], time=stamp).time == "2026-03-01T12:00:00.123456789Z"
    assert Arrival("x", Named({"joined": stamp})).features.values["joined"] == "2026-03-01T12:00:00.123456789Z"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("make", "reason", "field"),
    [
        (lambda: Arrival("", []), "unparsable", "id"),
        (lambda: Arrival(True, []), "unparsable", "id"),
        (lambda: Arrival(1e5, []), "unparsable", "id"),
        (lambda: Arrival("\ud800", []), "unparsable", "id"),
        (lambda: Arrival("x", [], "abc"), "unparsable", "edges"),
        (lambda: Arrival("x", [], ["a", 2.0]), "unparsable", r"edges\[1\]"),
        (lambda: Arrival("x", [0, math.nan]), "not_finite", r"features\[1\]"),
        (lambda: Arrival("x", [1e39]), "not_finite", r"features\[0\]"),
        (lambda: Arrival("x", [[1.0]]), "unparsable", "features"),
        (lambda: Arrival("x", ["1"]), "unparsable", "features"),
        (lambda: Arrival("x", Sparse([1, 1])), "unparsable", "features.indices"),
        (lambda: Arrival("x", Sparse([-1])), "feature_length", r"features.indices\[0\]"),
        (lambda: Arrival("x", Sparse([0.5])), "unparsable", "features.indices"),
        (lambda: Arrival("x", Sparse([1], [1, 2])), "feature_length", "features.values"),
        (lambda: Arrival("x", Named({"a": math.inf})), "not_finite", "features.named.a"),
        (lambda: Arrival("x", Named({"a": {}})), "unparsable", "features.named.a"),  # type: ignore[dict-item]
        (lambda: Arrival("x", Named({"a": [1, math.nan]})), "not_finite", r"features.named.a\[1\]"),
        (lambda: Arrival("x", Named({"": 1})), "unparsable", "features.named"),
        (lambda: Arrival("x", Named({"a": datetime(2026, 1, 1)})), "unparsable", "features.named.a"),
        (lambda: Arrival("x", [], time="2026-02-30T12:00:00Z"), "unparsable", "time"),
        (lambda: Arrival("x", [], time=datetime(2026, 1, 1)), "unparsable", "time"),
        (lambda: Arrival("x", [1, 2]).check(3), "feature_length", "features"),
        (lambda: Arrival("x", [1], ["a", "b"]).check(1, 1), "too_many_edges", "edges"),
    ],
)
def test_what_is_refused(make: object, reason: str, field: str) -> None:
    with pytest.raises(ArrivalError, match=f"^{field}: ") as caught:
        make()  # type: ignore[operator]
    assert caught.value.reason == reason


def test_neighbours_are_distinct() -> None:
    assert Arrival("x", [], ["b", "a", "x", "b", 7, "7"]).neighbours() == [
        Edge(id, (("", OUTGOING, 1),), False) for id in ("b", "a", "7")
    ]
    both = Arrival(
        "x", [], ["a", "a", "b"], weights=[1, 2, 4, 8, 16], incoming=["a", "b"], types=["p", "p", "q", "p", "q"]
    ).neighbours()
    assert both == [
        Edge("a", (("p", OUTGOING, 3), ("p", INCOMING, 8))),
        Edge("b", (("q", OUTGOING, 4), ("q", INCOMING, 16))),
    ]
    assert [edge.weight for edge in both] == [8, 16]
    twice = Arrival("x", [], ["a", "a"], incoming=["a"], types=["p", "q", "p"]).neighbours()
    assert [edge.weight for edge in twice] == [1]

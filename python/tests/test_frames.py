"""Arrivals of tables and of PyTorch Geometric's Data; predictions as a table."""

from __future__ import annotations

import json
import re
import types
from datetime import date

import numpy as np
import pytest

from rivulet_mcond import ArrivalError
from rivulet_mcond.arrivals import FLOAT32_MAX

from .conftest import ROOT

pd = pytest.importorskip("pandas")
frames = pytest.importorskip("rivulet_mcond.frames")


def users() -> pd.DataFrame:  # type: ignore[valid-type]
    return pd.DataFrame(
        {
            "user_id": ["u1", "u2"],
            "age": [31, np.nan],
            "member": [True, False],
            "city": pd.Categorical(["Köln", None]),
            "joined": pd.to_datetime(["2026-01-02T03:04:05Z", None]),
            "follows": [["u2", "u9"], None],
        }
    )


def test_features_by_name() -> None:
    one, other = frames.arrivals_from_frame(users(), id="user_id", edges="follows")
    assert json.loads(one.to_json()) == {
        "id": "u1",
        "features": {"named": {"age": 31, "member": True, "city": "Köln", "joined": "2026-01-02T03:04:05Z"}},
        "edges": ["u2", "u9"],
    }
    assert json.loads(other.to_json()) == {
        "id": "u2",
        "features": {"named": {"age": None, "member": False, "city": None, "joined": None}},
    }


def test_values_are_read_as_in_tables() -> None:
    """Integers that were read as floats are integers, times without a zone are UTC."""
    columns = {"id": [1.0, 2.0], "at": pd.to_datetime(["2026-01-02", None]), "day": [date(2026, 1, 2)] * 2}
    one, two = frames.arrivals_from_frame(pd.DataFrame(columns).convert_dtypes(), id="id", time="at")
    assert (one.id, one.time, two.time) == ("1", "2026-01-02T00:00:00Z", None)
    assert one.features.values == {"day": "2026-01-02T00:00:00Z"}


def test_features_by_position() -> None:
    table = pd.DataFrame(
        {"id": [7, 8], "a": [0, 2], "b": [1.5, 0], "at": pd.to_datetime(["2026-01-01T00:00Z"] * 2)}
    )
    near = frames.edges_from_frame(pd.DataFrame({"s": [7, 7, 9], "t": [8, 9, 7]}), source="s", target="t")
    dense = frames.arrivals_from_frame(table, id="id", form="dense", edges=near, time="at")
    assert json.loads(dense[0].to_json()) == {
        "id": "7", "features": [0, 1.5], "edges": ["8", "9"], "time": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    sparse = frames.arrivals_from_frame(table, id="id", form="sparse", features=["b", "a"])
    assert json.loads(sparse[1].to_json()) == {"id": "8", "features": {"indices": [1], "values": [2]}}


def test_edges_with_weights_and_directions() -> None:
    table = pd.DataFrame({"a": ["x", "x", "y", "z"], "b": ["y", "y", "x", "x"], "n": [1.0, 2.0, 2.5, 4.0]})
    weighed = frames.edges_from_frame(table, source="a", target="b", weight="n")
    assert weighed["x"] == [{"id": "y", "weight": 3.0}, {"id": "z", "weight": 4.0}]
    assert weighed["y"] == [{"id": "x", "weight": 3.0}]
    directed = frames.edges_from_frame(table, source="a", target="b", directed=True)
    assert directed["x"] == ["y", {"id": "y", "in": True}, {"id": "z", "in": True}]
    assert directed["z"] == ["x"]
    users = pd.DataFrame({"id": ["x"], "age": [3.0]})
    one = frames.arrivals_from_frame(users, id="id", edges=weighed)[0]
    assert (one.edges, one.weights) == (("y", "z"), (3, 4))
    one = frames.arrivals_from_frame(users, id="id", edges=directed)[0]
    assert (one.edges, one.incoming) == (("y",), ("y", "z"))
    for wrong in (-1.0, 0.0, 1e39, 1e-50, True, "2"):
        with pytest.raises(ArrivalError, match=re.escape(f"n[0]: {wrong}, weights must be finite")):
            frames.edges_from_frame(table.assign(n=wrong), source="a", target="b", weight="n")
    heavy = frames.edges_from_frame(table.assign(n=3e38), source="a", target="b", weight="n")
    assert frames.arrivals_from_frame(users, id="id", edges=heavy)[0].weights == (FLOAT32_MAX, np.float32(3e38))
    both = frames.edges_from_frame(table, source="a", target="b", weight="n", directed=True)
    assert both["x"] == [
        {"id": "y", "weight": 3.0},
        {"id": "y", "weight": 2.5, "in": True},
        {"id": "z", "weight": 4.0, "in": True},
    ]
    typed = frames.edges_from_frame(table.assign(k=["p", "p", "q", "q"]), source="a", target="b", type="k")
    assert typed["x"] == [{"id": "y", "type": "p"}, {"id": "y", "type": "q"}, {"id": "z", "type": "q"}]
    one = frames.arrivals_from_frame(users, id="id", edges=typed)[0]
    assert (one.edges, one.types) == (("y", "y", "z"), ("p", "q", "q"))


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        ({"user_id": [1.5, 2.0]}, {}, "column user_id, row 0: 1.5, an id is text or an integer"),
        ({"user_id": ["u1", None]}, {}, "column user_id, row 1: it is missing"),
        ({"Unnamed: 0": [0, 1]}, {}, "index=False"),
        ({"age": [1, np.inf]}, {}, "row 1: features.named.age"),
        ({"at": [1, 2]}, {"time": "at"}, "row 0: time: 1 is not RFC 3339"),
        ({}, {"form": "dense", "features": ["age"]}, "row 1: age: missing"),
        ({}, {"form": "dense", "features": ["city"]}, "row 0: city: 'Köln' is no number"),
    ],
)
def test_what_is_refused(change: dict[str, object], options: dict[str, object], match: str) -> None:
    with pytest.raises(ArrivalError, match=match):
        frames.arrivals_from_frame(users().assign(**change), id="user_id", edges="follows", **options)


@pytest.mark.parametrize("kind", ["dict", "series", "numpy", "text", "arrays"])
def test_edges_by_integer_ids(kind: str) -> None:
    table = pd.DataFrame({"src": [1, 1, 2], "dst": [7, 8, 9]})
    series = table.groupby("src")["dst"].apply(list)
    edges = {
        "dict": series.to_dict(),
        "series": series,
        "numpy": {np.int64(1): [7, 8], np.int32(2): [9]},
        "text": {"1": ["7", "8"], "2": ["9"]},
        "arrays": {k: np.array(v) for k, v in series.items()},
    }[kind]
    for ids in ([1, 2, 3], ["1", "2", "3"]):
        nodes = pd.DataFrame({"id": ids, "f": [1.0, 2.0, 3.0]})
        arrivals = frames.arrivals_from_frame(nodes, id="id", edges=edges)
        assert [a.edges for a in arrivals] == [("7", "8"), ("9",), ()]


def test_keys_of_edges_that_are_no_ids() -> None:
    frame = pd.DataFrame({"id": [1], "f": [1.0]})
    with pytest.raises(ArrivalError, match=r"edges: 1\.5, an id is text or an integer"):
        frames.arrivals_from_frame(frame, id="id", edges={1.5: [2]})  # type: ignore[dict-item]
    with pytest.raises(ArrivalError, match="twice"):
        frames.arrivals_from_frame(frame, id="id", edges={1: [2], "1": [3]})  # type: ignore[dict-item]
    with pytest.warns(UserWarning, match="no id of the table"):
        frames.arrivals_from_frame(frame, id="id", edges={"n1": ["n2"]})


def test_columns_that_occur_twice() -> None:
    with pytest.raises(ArrivalError, match="'a'"):
        frames.arrivals_from_frame(pd.DataFrame([[1, 2, 3]], columns=["id", "a", "a"]), id="id")


def test_data() -> None:
    data = types.SimpleNamespace(
        x=np.array([[1, 0], [0, 2], [3, 3]], np.float32), edge_index=np.array([[0, 2, 0], [1, 0, 1]])
    )
    dense = frames.arrivals_from_data(data, [0, 2])
    assert [json.loads(a.to_json()) for a in dense] == [
        {"id": "0", "features": [1, 0], "edges": ["1", "2"]},
        {"id": "2", "features": [3, 3], "edges": ["0"]},
    ]
    mask = np.array([False, True, False])
    (sparse,) = frames.arrivals_from_data(data, mask, form="sparse", ids=["a", "b", "c"])
    assert json.loads(sparse.to_json()) == {
        "id": "b",
        "features": {"indices": [1], "values": [2]},
        "edges": ["a"],
    }
    (named,) = frames.arrivals_from_data(data, mask, form="named", names=["p", "q"])
    assert json.loads(named.to_json())["features"] == {"named": {"p": 0, "q": 2}}
    with pytest.raises(ValueError, match="names must name the 2 columns"):
        frames.arrivals_from_data(data, mask, form="named", names=["p"])


def test_predictions() -> None:
    examples = sorted((ROOT / "event" / "testdata").glob("prediction-*.json"))
    assert examples
    frame = frames.predictions_frame(path.read_bytes() for path in examples)
    assert len(frame) == len(examples)
    for path, row in zip(examples, frame.to_dict("records"), strict=True):
        said = json.loads(path.read_bytes())
        assert row["id"] == said["id"] and row["class"] == said["class"]
        assert row["source_offset"] == said["source"]["offset"]
        if "predicted_time" in said:
            assert row["predicted_time"] == pd.Timestamp(said["predicted_time"])
    assert str(frame["predicted_time"].dtype).endswith("UTC]")

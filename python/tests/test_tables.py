"""Tables written by Python are what the trainer reads, and a row of them is the same node as an arrival."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import pathlib
import random
import subprocess
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

from rivulet_mcond import ArrivalError, tables  # noqa: E402
from rivulet_mcond.frames import arrivals_from_frame, edges_from_frame  # noqa: E402

N = 120
NAMES = {"id": "user_id", "label": "churned", "source": "follower", "target": "followee", "split": "fold"}


def shop() -> tuple[Any, Any]:
    """Users with a column of each kind that pandas has, and whom they follow."""
    rnd = random.Random(3)
    y = [i % 2 for i in range(N)]

    def some(value: Callable[[int], Any]) -> list[Any]:
        return [value(c) if rnd.random() > 0.1 else None for c in y]

    stamp = "2026-0{}-10T03:00:00"
    users = pd.DataFrame(
        {
            "user_id": np.arange(N) + 1000,
            "plan": pd.Categorical(some(lambda c: rnd.choice(["gold", "silver"] if c else ["free", "silver"]))),
            "level": pd.Categorical(some(lambda c: rnd.randrange(3))),
            "age": pd.array(some(lambda c: rnd.randrange(20, 60) + 10 * c), dtype="Int64"),
            "score": some(lambda c: rnd.random() + c),
            "active": pd.array(some(lambda c: rnd.random() < 0.8), dtype="boolean"),
            "member": [rnd.random() < 0.5 for _ in y],
            "about": pd.array(some(lambda c: f"likes tea {rnd.randrange(9000)} {'a' * c}"), dtype="string"),
            "zip": [f"0{rnd.randrange(3)}" for _ in y],
            "price": some(lambda c: decimal.Decimal(rnd.randrange(1000)) / 100),
            "day": some(lambda c: dt.date(2026, 1, 1 + rnd.randrange(28))),
            "joined": pd.to_datetime(some(lambda c: stamp.format(1 + rnd.randrange(9)))),
            "seen": pd.to_datetime(some(lambda c: stamp.format(1 + rnd.randrange(9)) + "+02:00"), utc=True),
            "took": pd.to_timedelta(some(lambda c: rnd.randrange(100)), unit="s"),
            "vector": [np.array([rnd.random(), c + rnd.random()]) for c in y],
            "churned": ["yes" if c else "no" for c in y],
            "fold": ["train" if i % 10 < 5 else "val" if i % 10 < 7 else "test" for i in range(N)],
        }
    )
    ends = lambda: np.array([1000 + rnd.randrange(N) for _ in range(400)])  # noqa: E731
    return users, pd.DataFrame({"follower": ends(), "followee": ends(), "at": "2026"})


def of_library(frame: Any, library: str) -> Any:
    if library == "pandas":
        return frame
    if library == "index":
        return frame.set_index(frame.columns[0])
    if library == "pandas of pyarrow":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if library == "pyarrow":
        return table
    pl = pytest.importorskip("polars")
    out = pl.from_arrow(table)
    if "level" in out.columns:  # its categories are texts
        out = out.with_columns(pl.col("level").cast(pl.String).cast(pl.Categorical))
    return out


@pytest.fixture
def trainer(programs: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    return programs / "trainer"


def run(*command: object, given: bytes = b"") -> bytes:
    done = subprocess.run([str(part) for part in command], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("library", ["pandas", "index", "pandas of pyarrow", "pyarrow", "polars"])
def test_rows_are_the_same_nodes_as_arrivals(
    library: str, tmp_path: pathlib.Path, trainer: pathlib.Path, programs: pathlib.Path
) -> None:
    users, follows = shop()
    said: list[str] = []
    nodes, edges = of_library(users, library), of_library(follows, "pandas" if library == "index" else library)
    tables.write(tmp_path / "shop", nodes=nodes, edges=edges, **NAMES, say=said.append)
    assert said == [
        "columns of edges that were left out: at (weight and type name columns that count)",
        f"{tmp_path / 'shop'}: {N} nodes, 400 edges",
    ]
    settings = (tmp_path / "shop" / "data.yaml").read_text()
    assert '"plan": "category", "level": "category", "age": "number", "score": "number"' in settings
    assert '"day": "time", "joined": "time", "seen": "time", "took": "number", "vector": "list"' in settings
    arrays = tables.arrays(tmp_path / "shop", "--preprocess", "standardize")
    assert arrays["ids"] == [str(1000 + i) for i in range(N)] and arrays["classes"] == ["no", "yes"]
    model = tmp_path / "model"
    run(trainer, "train", "--data", tmp_path / "shop", "--out", model, "--nodes", "8", "--costs=false")
    columns = json.loads((model / "schema.json").read_bytes())["features"]
    assert {of["name"]: of["kind"] for of in columns} | {"zip": "category", "about": "text"} == {
        **{"plan": "category", "level": "category", "age": "number", "score": "number", "active": "bool"},
        **{"member": "bool", "about": "text", "zip": "category", "price": "number", "day": "age"},
        **{"joined": "age", "seen": "age", "took": "number", "vector": "vector"},
    }
    replayed = run(programs / "rivulet", "replay", "--data", tmp_path / "shop", "--limit", "1000", "--out", "-")
    by_id = {json.loads(line)["id"]: line for line in replayed.splitlines()}
    pandas_rows = users[users["fold"] == "test"].drop(columns=["churned", "fold"])
    sent = arrivals_from_frame(
        of_library(pandas_rows.reset_index(drop=True), library),
        id="user_id",
        edges=edges_from_frame(edges, source="follower", target="followee"),
    )
    predict = [programs / "rivulet", "predict", "--artifact", model, "--probabilities"]
    want = run(*predict, given=b"\n".join(by_id[arrival.id] for arrival in sent))
    got = run(*predict, given=b"\n".join(arrival.to_json() for arrival in sent))
    assert len(sent) == 36
    for one, other in zip(map(json.loads, got.splitlines()), map(json.loads, want.splitlines()), strict=True):
        np.testing.assert_allclose(one.pop("probabilities"), other.pop("probabilities"), atol=1e-6)
        keys = ("id", "class_name", "known_neighbours", "unknown_neighbours")
        assert [one.get(key) for key in keys] == [other.get(key) for key in keys]


def test_ids_and_classes_travel_both_ways(tmp_path: pathlib.Path, trainer: pathlib.Path) -> None:
    users, follows = shop()
    users["user_id"] = [uuid.UUID(int=i) for i in range(N)]
    follows = [
        (uuid.UUID(int=int(a) - 1000), uuid.UUID(int=int(b) - 1000), 2.5) for a, b in follows.values[:, :2]
    ]
    tables.write(tmp_path, nodes=users, edges=follows, id="user_id", label="churned", split="fold")
    got = tables.arrays(tmp_path)
    assert got["ids"] == [str(i) for i in users["user_id"]]
    assert [got["classes"][c] for c in got["y"]] == users["churned"].tolist()
    assert got["edge_weight"].min() == 2.5
    assert got["test"].tolist() == np.flatnonzero(users["fold"] == "test").tolist()
    ends = {(got["ids"][i], got["ids"][j]) for i, j in got["edge_index"].T}
    assert ends == {
        (str(a), str(b)) for one, other, _ in follows if one != other for a, b in ((one, other), (other, one))
    }
    assert got["columns"] is not None and got["x"].shape[1] == len(got["columns"])


def test_types_of_nodes_and_edges(tmp_path: pathlib.Path, trainer: pathlib.Path) -> None:
    users = {"id": [f"u{i}" for i in range(40)], "age": list(range(40)), "label": [i % 2 for i in range(40)]}
    users["split"] = ["train", "val", "test", "train"] * 10
    items = {"id": ["a", "b", "c"], "age": [1.5, None, 2], "price": [decimal.Decimal("1.5"), None, 3]}
    edges = [
        {"source": f"u{i}", "target": "abc"[i % 3], "kind": "buys" if i % 2 else "views"} for i in range(40)
    ]
    tables.write(tmp_path, nodes={"user": users, "item": items}, edges=edges, type="kind", directed=True)
    assert (
        '{"user.age": "number", "item.age": "number", "price": "number"}' in (tmp_path / "data.yaml").read_text()
    )
    got = tables.arrays(tmp_path)
    assert got["edge_types"] == ["buys", "buys (to the node)", "views", "views (to the node)"]
    of = {
        (got["ids"][i], got["ids"][j], got["edge_types"][r])
        for (i, j), r in zip(got["edge_index"].T, got["edge_type"], strict=True)
    }
    assert ("a", "u0", "views") in of and ("u0", "a", "views (to the node)") in of and len(of) == 80


@pytest.mark.parametrize(
    ("task", "label", "want"),
    [
        ("number", ["income", "age"], [[1000.0, 20.0], [1001.5, 21.0]]),
        ("labels", "tags", [[0.0, 1.0], [1.0, 1.0]]),
        ("labels", ["is_red", "is_blue"], [[1.0, 0.0], [0.0, 1.0]]),
    ],
)
def test_tasks(task: Any, label: Any, want: Any, tmp_path: pathlib.Path, trainer: pathlib.Path) -> None:
    n = 40
    columns = {
        "id": list(range(n)),
        "x": np.arange(n) / 7,
        "income": [1000 + 1.5 * i for i in range(n)],
        "age": [20 + i for i in range(n)],
        "tags": [["red", "blue"] if i % 2 else ["red"] for i in range(n)],
        "is_red": [i % 2 == 0 for i in range(n)],
        "is_blue": [i % 2 == 1 for i in range(n)],
        **{f"{role}_mask": [i % 3 == k for i in range(n)] for k, role in enumerate(("train", "val", "test"))},
    }
    keep = {*([label] if isinstance(label, str) else label), "id", "x"} | {f for f in columns if "mask" in f}
    nodes = pd.DataFrame({name: values for name, values in columns.items() if name in keep})
    edges = np.stack([np.arange(n), (np.arange(n) + 1) % n], 1)
    tables.write(tmp_path, nodes=nodes, edges=edges, label=label, task=task)
    got = tables.arrays(tmp_path)
    assert got["y"][:2].tolist() == want
    assert got["train"].tolist() == [i for i in range(n) if i % 3 == 0] and got["columns"] == ["x"]


def test_links(tmp_path: pathlib.Path, trainer: pathlib.Path) -> None:
    nodes = [{"id": f"u{i}", "kind": "user", "age": i, "split": "test" if i % 3 else "train"} for i in range(60)]
    nodes += [{"id": f"i{i}", "kind": "item", "age": 0, "split": "train"} for i in range(6)]
    nodes[1]["split"] = "val"
    edges = [(f"u{i}", f"i{(i + k) % 6}") for i in range(60) for k in range(2)]
    tables.write(tmp_path, nodes=nodes, edges=edges, task="links", candidates="kind=item")
    assert tables.arrays(tmp_path)["y"] is None
    with pytest.raises(tables.TableError, match="a task of links has none"):
        tables.write(tmp_path, nodes=nodes, edges=edges, task="links", label="age", force=True)


def change(**columns: Any) -> dict[str, Any]:
    return {"id": [1, 2, 3], "label": [0, 1, 0], "a": [1.0, 2.0, 3.0]} | columns


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "match"),
    [
        (change(id=[1, 2, None]), [], {}, "nodes: column id, row 2: it is missing"),
        (change(id=[1, "1", 2]), [], {}, "column id, row 1: 1 is an id twice, also row 0"),
        (change(id=[1, 2.5, 3]), [], {}, "column id, row 1: 2.5, an id is text or an integer"),
        (change(id=[True, False, 3]), [], {}, "column id, row 0: True, an id is text"),
        (change(id=[1.0, 2.0, 2.0**60]), [], {}, "row 2: 1.152921504606847e.18 has lost digits"),
        (
            change(a=[1, "old", 3]),
            [],
            {},
            "column a, row 1: 'old' is a text, and 2 of the column's 3 values are a number",
        ),
        (change(a=[1, float("inf"), 3]), [], {}, "column a, row 1: inf, want a finite number"),
        (change(a=np.array([1, np.inf, 3])), [], {}, "column a, row 1: inf, want a finite number"),
        (change(a=np.array([[1, 2], [1, np.nan], [3, 4]])), [], {}, "column a, row 1: nan, want finite numbers"),
        (change(a=[{"b": 1}, None, None]), [], {}, "column a, row 0: it is a struct or a map"),
        (change(a=[[1, None], None, None]), [], {}, "column a, row 0: element 1 of the list is missing"),
        (change(a=[["x"], None, None]), [], {}, "column a has lists of texts"),
        (change(a=[1j, 2, 3]), [], {}, "column a, row 0: '1j' is of complex"),
        (change(a=[b"\xff", b"b", None]), [], {}, "column a, row 0: bytes are no text"),
        (change(**{"Unnamed: 0": [0, 1, 2]}), [], {}, "an index left in the table"),
        (change(), [], {"label": "churned"}, "no column churned among .*: say which one is the label"),
        (change(), [], {"id": "user"}, "no column user among .*: say which one is the id"),
        (change(), [], {"drop": ["b"]}, "no table of nodes has a column b"),
        (change(), [(1, 2, 3, 4)], {}, "edges: pairs are of source and target"),
        (change(), np.ones((2, 4)), {}, r"an edge_index of 2 rows is turned by \.T"),
        (change(), [(1, None)], {}, "edges: column target, row 0: it is missing"),
        (change(), {"a": [1], "b": [2]}, {}, "edges: no column source among"),
        (change(), [(1, 2, -3)], {}, "edges: column weight, row 0: -3, want a finite number above 0"),
        (change(), [(1, 2, None)], {}, "edges: column weight, row 0: None, want a finite number above 0"),
        (change(), [(1, 2, "3")], {}, "edges: column weight has values of the type text"),
        ("users", [], {}, "str is no table"),
        ({"user": change(), "edges": change()}, [], {}, "the type of nodes 'edges'"),
        (
            {"user": change(), "item": change()},
            [],
            {},
            "row 0: 1 is an id twice, also row 0 of user: write the type",
        ),
    ],
)
def test_what_is_refused(
    nodes: Any, edges: Any, options: dict[str, Any], match: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(tables.TableError, match=match):
        tables.write(tmp_path / "out", nodes=nodes, edges=edges, **options)
    assert not (tmp_path / "out").exists()


def test_files_that_are_there(tmp_path: pathlib.Path) -> None:
    tables.write(tmp_path, nodes=change(), edges=[])
    with pytest.raises(tables.TableError, match=r"nodes\.parquet is there already: .*force=True"):
        tables.write(tmp_path, nodes=change(), edges=[])
    tables.write(tmp_path, nodes=change(a=["x", "y", "z"]), edges=[], force=True)
    assert '"a": "text"' in (tmp_path / "data.yaml").read_text()


def test_cells_of_edges() -> None:
    """One arrival's edges in each form that a table may hold them."""
    forms: list[Any] = [
        ["n1", "n3"], ("n1", "n3"), np.array(["n1", "n3"]), "n1 n3", "n1,n3",
        "n1, n3", "n1;n3", "n1|n3", '["n1", "n3"]', "['n1', 'n3']", "['n1' 'n3']", "[n1, n3]", " n1\tn3 ",
        pd.Series(["n1", "n3"]), pa.scalar(["n1", "n3"]), [np.str_("n1"), "n3"],
        [{"id": "n1"}, {"id": "n3"}], '[{"id": "n1"}, "n3"]',
    ]  # fmt: skip
    for form in forms:
        (one,) = arrivals_from_frame([{"id": "a", "x": 1, "edges": form}], id="id", edges="edges")
        assert one.edges == ("n1", "n3"), form
    for none in (None, float("nan"), pd.NA, pd.NaT, "", " ", [], "[]", np.array([])):
        (one,) = arrivals_from_frame([{"id": "a", "x": 1, "edges": none}], id="id", edges="edges")
        assert one.edges == (), none
    for number, want in ((7, "7"), (7.0, "7"), (np.int64(7), "7"), ([7, 7.0], "7 7"), ("[7, 8]", "7 8")):
        (one,) = arrivals_from_frame([{"id": "a", "x": 1, "edges": number}], id="id", edges="edges")
        assert one.edges == tuple(want.split())
    for wrong, match in (
        ("n1; n2,n3", "column edges, row 0: 'n1; n2,n3' has , and ; between its words"),
        ("['n1' ... 'n9']", "is no list"),
        ('["n1"', "is no list"),
        (["n1", None], r"row 0: edges\[1\]: it is missing"),
        ([1.5], r"row 0: edges\[0\]: 1.5, an id"),
        (True, r"row 0: edges\[0\]: True, an id"),
        ([("n1", 0.5)], r"row 0: edges\[0\]: a list has texts beside numbers"),
        ([{"name": "n1"}], r"row 0: edges\[0\].name: is not known"),
    ):
        with pytest.raises(ArrivalError, match=match):
            arrivals_from_frame([{"id": "a", "x": 1, "edges": wrong}], id="id", edges="edges")


def test_weights_types_and_directions_in_columns() -> None:
    rows = [
        {"id": 1, "x": 1, "edges": "2 3", "weights": "0.5 2", "types": None, "incoming": None},
        {"id": 2, "x": 1, "edges": "3", "weights": 0.5, "types": np.nan, "incoming": None},
        {"id": 3, "x": 1, "edges": [1, 2], "weights": None, "types": ["buys", None], "incoming": pd.NA},
        {"id": 4, "x": 1, "edges": None, "weights": None, "types": None, "incoming": np.array([1, 2])},
    ]
    columns = {name: name for name in ("edges", "weights", "types", "incoming")}
    one, two, three, four = arrivals_from_frame(rows, id="id", **columns)
    assert (one.edges, one.weights) == (("2", "3"), (0.5, 2.0)) and two.weights == (0.5,)
    assert three.types == ("buys", "") and four.incoming == ("1", "2") and four.types is None
    with pytest.raises(ArrivalError, match="column weights, row 0: could not convert string to float: 'much'"):
        arrivals_from_frame([rows[0] | {"weights": "much"}], id="id", **columns)
    with pytest.raises(ArrivalError, match="row 0: weights: 1"):
        arrivals_from_frame([rows[0] | {"weights": 1}], id="id", **columns)
    with pytest.raises(ArrivalError, match=r"no column edge among .*: say which one is the edges"):
        arrivals_from_frame(rows, id="id", edges="edge")


def test_a_column_weight_that_nobody_names_is_left_to_the_reader(tmp_path: pathlib.Path) -> None:
    nodes = [{"id": i, "x": i, "label": "ab"[i % 2]} for i in range(4)]
    edges = [{"source": i, "target": (i + 1) % 4, "weight": 1_700_000_000 + i} for i in range(4)]
    for named, line in ((None, False), ("weight", True)):
        tables.write(tmp_path / str(line), nodes=nodes, edges=edges, weight=named)
        assert ("weight" in (tmp_path / str(line) / "data.yaml").read_text()) == line

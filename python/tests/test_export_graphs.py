"""Graphs of NetworkX, SciPy, DGL and OGB as files of the trainer, with their ids and names of classes."""

from __future__ import annotations

import os
import pathlib
import subprocess
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
sp = pytest.importorskip("scipy.sparse")

from rivulet_mcond import open_artifact, tables  # noqa: E402
from rivulet_mcond.export import ExportError, export, main  # noqa: E402

N = 40
NAMES = [f"paper/{i}" for i in range(N)]
CLASSES = ["no", "yes"]
ROLES = [("train", "train", "val", "test", "unlabelled")[i % 5] for i in range(N)]


@pytest.fixture(autouse=True)
def path(programs: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)


def ring() -> Any:
    ends = np.arange(N), (np.arange(N) + 1) % N
    return sp.csr_matrix((np.ones(N), ends), (N, N))


def trained(directory: pathlib.Path, out: pathlib.Path, *options: str) -> str:
    done = subprocess.run(
        ["trainer", "train", "--data", directory, "--out", out, "--nodes", "6", "--costs=false", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def edges_of(got: dict[str, Any]) -> set[tuple[str, str]]:
    return {(got["ids"][i], got["ids"][j]) for i, j in got["edge_index"].T}


@pytest.mark.parametrize("form", ["csr", "array", "coo with weights"])
def test_matrix(form: str, tmp_path: pathlib.Path) -> None:
    adj = {"csr": ring(), "array": ring().toarray(), "coo with weights": (ring() * 2.5).tocoo()}[form]
    x = sp.random(N, 5, 0.5, "csr", np.float32, np.random.default_rng(1))
    y = [CLASSES[i % 2] if ROLES[i] != "unlabelled" else None for i in range(N)]
    options = {"weights": "keep"} if "weights" in form else {}
    export(adj, str(tmp_path / "data"), x=x, y=y, split=ROLES, ids=NAMES, say=lambda _: None, **options)
    got = tables.arrays(tmp_path / "data", *(["--weight", "data"] if options else []))
    assert got["ids"] == NAMES and got["classes"] == CLASSES
    assert got["y"].tolist() == [i % 2 if ROLES[i] != "unlabelled" else -1 for i in range(N)]
    np.testing.assert_array_equal(got["x"].toarray(), x.toarray())
    want = {(NAMES[i], NAMES[(i + 1) % N]) for i in range(N)}
    assert edges_of(got) == want | {(b, a) for a, b in want}
    assert got["edge_weight"] is None if not options else set(got["edge_weight"]) == {2.5}
    for role in ("train", "val", "test", "unlabelled"):
        assert got[role].tolist() == [i for i in range(N) if ROLES[i] == role]
    trained(tmp_path / "data", tmp_path / "model")
    assert open_artifact(tmp_path / "model").classes == CLASSES


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"x": None}, "a matrix needs x"),
        ({"split": None}, "a matrix needs split"),
        ({"y": [0, 1]}, "y has 2 values for 40 nodes"),
        ({"split": ["training"] * N}, "split has 'training', want train, val, test"),
        ({"x": np.zeros((3, 2))}, "x has 3 rows for 40 nodes"),
        ({"x": np.full((N, 1), np.nan)}, r"x\[0, 0\] is nan"),
        ({"ids": ["a"] * N}, "'a' is an id twice"),
        ({"ids": ["a", "b"]}, "there are 2 ids of 40 nodes"),
        ({"ids": [None] * N}, r"ids\[0\]: it is missing"),
        ({"classes": ["one"]}, "y has the class 1, and there are names of 1 classes"),
        ({"classes": ["one", "one"]}, "two of the classes have one name"),
        ({"label": "club"}, "label: only a graph of NetworkX"),
    ],
)
def test_matrices_that_are_refused(change: dict[str, Any], match: str, tmp_path: pathlib.Path) -> None:
    given = {
        "x": np.ones((N, 2)),
        "y": [i % 2 for i in range(N)],
        "split": ["train", "val", "test", "test"] * 10,
    }
    with pytest.raises(ExportError, match=match):
        export(ring(), str(tmp_path / "out"), **given | change)
    with pytest.raises(ExportError, match="shape"):
        export(sp.csr_matrix((2, 3)), str(tmp_path / "out"), **given)
    assert not (tmp_path / "out").exists()


def test_networkx(tmp_path: pathlib.Path) -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.DiGraph()
    for i, name in enumerate(NAMES):
        graph.add_node(
            name, age=i if i % 7 else None, team=CLASSES[i % 2], role=ROLES[i], tags="a b" if i % 3 else None
        )
        graph.add_edge(name, NAMES[(i + 1) % N], kind="cites" if i % 2 else "reads", since=2026)
    said: list[str] = []
    options = {"label": "team", "split": "role", "type": "kind"}
    for node in graph.nodes:
        if graph.nodes[node]["role"] == "unlabelled":
            graph.nodes[node]["team"] = None
    export(graph, str(tmp_path / "data"), say=said.append, **options)
    assert said[:2] == [
        "edges go both ways: directed=True keeps their directions",
        "columns of edges that were left out: since (weight and type name columns that count)",
    ]
    got = tables.arrays(tmp_path / "data")
    assert got["ids"] == NAMES and got["classes"] == CLASSES and got["edge_types"] == ["cites", "reads"]
    assert "Edges have 2 types: cites (20), reads (20)." in trained(
        tmp_path / "data", tmp_path / "model", "--models", "rsgc"
    )
    export(graph, str(tmp_path / "directed"), directed=True, say=said.append, **options)
    assert len(tables.arrays(tmp_path / "directed")["edge_types"]) == 4
    with pytest.raises(ExportError, match="the graph has no directions"):
        export(graph.to_undirected(), str(tmp_path / "no"), directed=True, **options)
    with pytest.raises(ExportError, match="no column club among"):
        export(graph, str(tmp_path / "no"), label="club")
    multi = nx.MultiGraph([(i, (i + k) % N, {"weight": 2}) for i in range(N) for k in (1, 1, 2)])
    for node in multi.nodes:
        multi.nodes[node].update(label=node % 2, x=float(node), split=ROLES[node].replace("unlabelled", "test"))
    export(multi, str(tmp_path / "multi"), say=said.append)
    got = tables.arrays(tmp_path / "multi")
    assert sorted(got["ids"]) == sorted(map(str, range(N))) and set(got["edge_weight"]) == {2, 4}


def test_networkx_without_attributes(tmp_path: pathlib.Path) -> None:
    """The number of neighbours is the feature of nodes that have none."""
    nx = pytest.importorskip("networkx")
    graph, said = nx.karate_club_graph(), list[str]()
    export(graph, str(tmp_path / "data"), label="club", say=said.append)
    assert (
        "nodes have no features: the number of a node's neighbours is one, degree, which arrivals send" in said
    )
    got = tables.arrays(tmp_path / "data")
    assert got["columns"] == ["degree"] and got["classes"] == ["Mr. Hi", "Officer"]
    assert got["x"][:, 0].tolist() == [graph.degree(int(node)) for node in got["ids"]]


class Ogb(list[Any]):
    """A set of OGB: one graph with its labels, and a split."""

    def __init__(self, graph: dict[str, Any], labels: Any, split: Any) -> None:
        super().__init__([(graph, labels)])
        self.split = split

    def get_idx_split(self) -> Any:
        return self.split


def test_ogb(tmp_path: pathlib.Path) -> None:
    index = np.arange(N)
    edge_index = np.stack([index, (index + 1) % N])
    split = {"train": index[:20], "valid": index[20:28], "test": index[28:39]}
    y = (index % 2).astype(float).reshape(-1, 1)
    y[39] = np.nan
    x = np.random.default_rng(1).normal(size=(N, 3)).astype(np.float32)
    one = Ogb({"edge_index": edge_index, "node_feat": x, "num_nodes": N}, y, split)
    export(one, str(tmp_path / "one"), ids=NAMES, classes=CLASSES, say=lambda _: None)
    got = tables.arrays(tmp_path / "one")
    assert got["ids"] == NAMES and got["classes"] == CLASSES and got["unlabelled"].tolist() == [39]
    np.testing.assert_array_equal(got["x"], x)
    graph = {
        "num_nodes_dict": {"paper": N, "author": 5},
        "node_feat_dict": {"paper": x},
        "edge_index_dict": {
            ("author", "writes", "paper"): np.stack([index % 5, index]),
            ("paper", "cites", "paper"): edge_index,
        },
    }
    typed = Ogb(graph, {"paper": y}, {name: {"paper": nodes} for name, nodes in split.items()})
    authors = [f"author/{i}" for i in range(5)]
    export(
        typed,
        str(tmp_path / "two"),
        ids={"paper": NAMES, "author": authors},
        classes=CLASSES,
        say=lambda _: None,
    )
    got = tables.arrays(tmp_path / "two")
    assert got["ids"] == NAMES + authors and got["classes"] == CLASSES
    assert got["edge_types"] == ["cites", "writes"] and ("author/0", NAMES[0]) in edges_of(got)
    trained(tmp_path / "two", tmp_path / "model", "--models", "rgcn")


class Dgl:
    """A graph of DGL with types, as far as export reads it."""

    ntypes = ["item", "user"]  # noqa: RUF012
    canonical_etypes = [("user", "buys", "item"), ("user", "follows", "user")]  # noqa: RUF012
    etypes = ["buys", "follows"]  # noqa: RUF012

    def __init__(self) -> None:
        index = np.arange(N)
        masks = {
            f"{role}_mask": np.array([of == role for of in ROLES]).astype(np.uint8)
            for role in ("train", "val", "test")
        }
        user = {"feat": np.stack([index, index % 3], 1).astype(np.float32), "label": index % 2, **masks}
        self.nodes = {"user": SimpleNamespace(data=user), "item": SimpleNamespace(data={})}
        self.ends = {"buys": (index, index % 4), "follows": (index, (index + 1) % N)}

    def num_nodes(self, kind: str) -> int:
        return {"user": N, "item": 4}[kind]

    def edges(self, etype: tuple[str, str, str]) -> Any:
        return self.ends[etype[1]]


def test_dgl_of_several_types(tmp_path: pathlib.Path) -> None:
    export(Dgl(), str(tmp_path / "data"), say=lambda _: None)
    got = tables.arrays(tmp_path / "data")
    assert set(got["ids"]) == {f"user:{i}" for i in range(N)} | {f"item:{i}" for i in range(4)}
    assert got["edge_types"] == ["buys", "follows"] and ("user:5", "item:1") in edges_of(got)
    ids = {"user": NAMES, "item": ["paper/0", "b", "c", "d"]}
    with pytest.raises(ExportError, match="'paper/0' is an id in two types"):
        export(Dgl(), str(tmp_path / "no"), ids=ids)


def test_classes_with_gaps_keep_their_names(tmp_path: pathlib.Path) -> None:
    said: list[str] = []
    y = [(3, 7)[i % 2] for i in range(N)]
    split = ["train", "val", "test", "test"] * 10
    export(ring(), str(tmp_path), x=np.ones((N, 2)), y=y, split=split, say=said.append)
    assert "classes [3, 7] were renumbered 0...1, and keep their names" in said
    assert tables.arrays(tmp_path)["classes"] == ["3", "7"]


def test_names_of_a_file(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["data.pt", str(tmp_path / "out"), "--ids", str(tmp_path / "nothing")])
    assert "argument --ids: [Errno 2] No such file" in capsys.readouterr().err

"""The loaders of PyTorch Geometric, OGB and DGL read files in their raw layouts, and export writes what they read."""

from __future__ import annotations

import gzip
import json
import pathlib
import pickle
import subprocess
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rivulet_mcond import export

RNG = np.random.default_rng(7)


def ring(n: int) -> Any:
    """The adjacency matrix of a ring."""
    ends = np.arange(n), (np.arange(n) + 1) % n
    adj = sp.coo_matrix((np.ones(n), ends), (n, n))
    return ((adj + adj.T) > 0).astype(np.float32).tocsr()


def written(out: pathlib.Path) -> tuple[Any, Any, dict[str, int], dict[str, list[int]]]:
    sparse = (out / "feats.npz").exists()
    x = sp.load_npz(out / "feats.npz").toarray() if sparse else np.load(out / "feats.npy")
    classes, roles = (json.loads((out / f"{name}.json").read_text()) for name in ("class_map", "role"))
    return sp.load_npz(out / "adj_full.npz"), x, classes, roles


def planetoid(raw: pathlib.Path, n: int, x: Any, y: Any) -> None:
    """Write the files of a Planetoid set: 20 nodes train, and the last 60 test in another order."""
    raw.mkdir(parents=True)
    one_hot, order = np.eye(2, dtype=np.int32)[y], RNG.permutation(np.arange(n - 60, n))
    near = defaultdict(list, {i: [(i + 1) % n, (i - 1) % n] for i in range(n)})
    parts = {
        "x": sp.csr_matrix(x[:20]),
        "y": one_hot[:20],
        "allx": sp.csr_matrix(x[: n - 60]),
        "ally": one_hot[: n - 60],
        "tx": sp.csr_matrix(x[order]),
        "ty": one_hot[order],
        "graph": near,
    }
    for name, value in parts.items():
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(value, protocol=2))
    (raw / "ind.cora.test.index").write_text("".join(f"{i}\n" for i in order))


def test_planetoid(tmp_path: pathlib.Path, programs: pathlib.Path) -> None:
    n = 620
    x = (RNG.random((n, 9)) < 0.3).astype(np.float32)
    x[:, 0], y = 1, RNG.integers(0, 2, n)
    planetoid(tmp_path / "Cora" / "raw", n, x, y)
    out = tmp_path / "out"
    source = ["pyg:Planetoid", str(out), "--root", str(tmp_path), "--argument", "name=Cora", "--sparse"]
    export.main(source)
    adj, got, classes, roles = written(out)
    assert (adj != ring(n)).nnz == 0
    np.testing.assert_array_equal(got, x)
    assert classes == {str(i): int(c) for i, c in enumerate(y)}
    assert roles["tr"] == list(range(20)) and roles["va"] == list(range(20, 520))
    assert roles["te"] == list(range(560, 620)) and roles["un"] == list(range(520, 560))
    train = ["train", "--data", str(out), "--out", str(tmp_path / "artifact"), "--nodes", "8", "--costs=false"]
    subprocess.run([programs / "trainer", *train], check=True, capture_output=True)


def test_gnn_benchmark(tmp_path: pathlib.Path) -> None:
    n, adj = 40, ring(40)
    x, y = sp.random(n, 6, 0.5, "csr", np.float32, RNG), RNG.integers(0, 3, n)
    y[:3] = 0, 1, 2
    raw = tmp_path / "Photo" / "raw"
    raw.mkdir(parents=True)
    arrays = {f"{name}_{part}": getattr(m, part) for name, m in (("adj", adj), ("attr", x)) for part in PARTS}
    np.savez(raw / "amazon_electronics_photo.npz", **arrays, labels=y)
    source = ["pyg:Amazon", str(tmp_path / "out"), "--root", str(tmp_path), "--argument", "name=Photo"]
    with pytest.raises(SystemExit, match="no train_mask: --draw-split SEED"):
        export.main(source)
    export.main([*source, "--draw-split", "3"])
    got_adj, got, classes, roles = written(tmp_path / "out")
    assert (got_adj != adj).nnz == 0
    np.testing.assert_array_equal(
        got, (x.toarray() > 0).astype(np.float32)
    )  # the loader reads words, not counts
    assert classes == {str(i): int(c) for i, c in enumerate(y)}
    assert [len(roles[role]) for role in ("tr", "va", "te")] == [20, 10, 10]
    assert sorted(i for nodes in roles.values() for i in nodes) == list(range(n))


PARTS = ("data", "indices", "indptr", "shape")


def test_ogb(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("ogb")
    n = 30
    x, y = RNG.normal(size=(n, 4)).astype(np.float32), RNG.integers(0, 2, n)
    y[:2] = 0, 1
    at = tmp_path / "ogbn_arxiv"
    edges = "".join(f"{i},{(i + 1) % n}\n" for i in range(n))
    split = {"train": range(0, 15), "valid": range(15, 20), "test": range(20, 29)}
    files = {
        "raw/edge": edges,
        "raw/node-feat": "".join(",".join(repr(float(v)) for v in row) + "\n" for row in x),
        "raw/node-label": "".join(f"{c}\n" for c in y),
        "raw/num-node-list": f"{n}\n",
        "raw/num-edge-list": f"{n}\n",
        "raw/node_year": "2018\n" * n,
        **{f"split/time/{name}": "".join(f"{i}\n" for i in nodes) for name, nodes in split.items()},
    }
    for name, text in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    (at / "RELEASE_v1.txt").write_text("")
    (at / "processed").mkdir()
    export.main(["ogb:ogbn-arxiv", str(tmp_path / "out"), "--root", str(tmp_path)])
    adj, got, classes, roles = written(tmp_path / "out")
    assert (adj != ring(n)).nnz == 0
    np.testing.assert_allclose(got, x, rtol=1e-6)
    assert classes == {str(i): int(c) for i, c in enumerate(y)}
    short = {"tr": split["train"], "va": split["valid"], "te": split["test"], "un": [29]}
    assert roles == {role: list(nodes) for role, nodes in short.items()}


def test_dgl(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("dgl", exc_type=ImportError)
    n = 20
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "meta.yaml").write_text(
        "dataset_name: mine\nedge_data:\n- file_name: edges.csv\nnode_data:\n- file_name: nodes.csv\n"
    )
    (raw / "edges.csv").write_text("src_id,dst_id\n" + "".join(f"{i},{(i + 1) % n}\n" for i in range(n)))
    rows = [f'{i},{i % 2},"{i / 2}, {-i}"' for i in range(n)]
    (raw / "nodes.csv").write_text("node_id,label,feat\n" + "\n".join(rows) + "\n")
    source = ["dgl:CSVDataset", str(tmp_path / "out"), "--argument", f"data_path={raw}", "--draw-split", "1"]
    export.main(source)
    adj, got, classes, roles = written(tmp_path / "out")
    assert (adj != ring(n)).nnz == 0
    np.testing.assert_array_equal(got, np.array([[i / 2, -i] for i in range(n)], np.float32))
    assert classes == {str(i): i % 2 for i in range(n)} and len(roles["tr"]) == 10


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["pyg:Planetiod"], "torch_geometric.datasets has no class Planetiod"),
        (["pyg:Planetoid", "--root", "/nowhere"], "give it by --argument NAME=VALUE"),
        (["data.pt", "--root", "/nowhere"], "root and argument are for pyg:CLASS"),
        (["nothing.pt"], "No such file"),
    ],
)
def test_wrong_sources_are_named(arguments: list[str], want: str, tmp_path: pathlib.Path) -> None:
    source, *rest = arguments
    with pytest.raises(SystemExit, match=want):
        export.main([source, str(tmp_path / "out"), *rest])

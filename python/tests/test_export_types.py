"""HeteroData as tables. Objects of NumPy stand for PyTorch Geometric's, which tests/pyg has."""

from __future__ import annotations

import pathlib
import subprocess
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet")

from rivulet_mcond.export import ExportError, export  # noqa: E402


class Tensor:
    """What export asks a tensor for."""

    layout = "torch.strided"

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.shape = self.values.shape

    def dim(self) -> int:
        return self.values.ndim

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self.values


class Hetero(dict[Any, SimpleNamespace]):
    """Stores of types of nodes, by name, and of edges, by source, name and target."""

    @property
    def node_types(self) -> list[str]:
        return [key for key in self if isinstance(key, str)]

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        return [key for key in self if not isinstance(key, str)]


def shop(users: int = 4) -> Hetero:
    """Users with classes buy and view items; shops, which have no features, sell these."""
    one = np.arange(users)
    buys = np.stack([one, one % 3])
    edges = lambda pairs: SimpleNamespace(edge_index=Tensor(pairs))  # noqa: E731
    return Hetero(
        {
            "user": SimpleNamespace(
                num_nodes=users,
                x=Tensor(np.stack([one / 4, one % 2], 1).astype(np.float32)),
                y=Tensor(one % 2),
                train_mask=Tensor(one % 4 == 0),
                val_mask=Tensor(one % 4 == 1),
                test_mask=Tensor(one % 4 == 2),
            ),
            "item": SimpleNamespace(num_nodes=3, x=Tensor(np.array([[1.5], [-2], [3]], np.float32))),
            "shop": SimpleNamespace(num_nodes=2),
            ("user", "buys", "item"): edges(buys),
            ("item", "rev_buys", "user"): edges(buys[::-1]),
            ("user", "views", "item"): edges([[0, 1], [2, 2]]),
            ("shop", "sells", "item"): edges([[0, 0, 1], [0, 1, 2]]),
        }
    )


def test_tables_of_types(tmp_path: pathlib.Path) -> None:
    said: list[str] = []
    export(shop(), str(tmp_path), directed=True, say=said.append)
    rows = {
        name: pq.read_table(tmp_path / f"{name}.parquet").to_pylist()
        for name in ("user", "item", "shop", "edges")
    }
    assert rows["user"] == [
        {"id": "user:0", "label": 0, "split": "train", "x": [0, 0]},
        {"id": "user:1", "label": 1, "split": "val", "x": [0.25, 1]},
        {"id": "user:2", "label": 0, "split": "test", "x": [0.5, 0]},
        {"id": "user:3", "label": None, "split": "unlabelled", "x": [0.75, 1]},
    ]
    assert rows["item"] == [{"id": f"item:{k}", "x": [x]} for k, x in enumerate((1.5, -2, 3))]
    assert rows["shop"] == [{"id": "shop:0"}, {"id": "shop:1"}]
    assert len(rows["edges"]) == 4 + 2 + 3
    assert {"source": "user:3", "target": "item:0", "kind": "buys"} in rows["edges"]
    assert {"source": "shop:1", "target": "item:2", "kind": "sells"} in rows["edges"]
    assert not any(row["kind"].startswith("rev_") for row in rows["edges"])
    settings = (tmp_path / "data.yaml").read_text()
    for line in (
        'nodes: {"user": "user.parquet", "item": "item.parquet", "shop": "shop.parquet"}',
        'edge_type: "kind"',
        "directed: true",
    ):
        assert line in settings.splitlines()
    assert "edges item, rev_buys, user were left out: they are those of buys the other way" in said
    assert any("4 nodes user, 3 nodes item, 2 nodes shop; 4 edges buys, 2 edges views" in line for line in said)
    with pytest.raises(ExportError, match=r"user\.parquet is there already"):
        export(shop(), str(tmp_path))


def test_the_trainer_reads_them(programs: pathlib.Path, tmp_path: pathlib.Path) -> None:
    export(shop(40), str(tmp_path))
    options = ["--models", "rsgc", "--nodes", "6", "--costs=false", "--out", str(tmp_path / "model")]
    done = subprocess.run(
        [str(programs / "trainer"), "train", "--data", str(tmp_path), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "Nodes are of 3 types: item (3), shop (2), user (40); arrivals are of user." in done.stdout + done.stderr
    )
    assert "Edges have 3 types: buys (40), sells (3), views (2)." in done.stdout + done.stderr


def test_types_that_are_refused(tmp_path: pathlib.Path) -> None:
    def changed(key: Any, **values: Any) -> Hetero:
        data = shop()
        vars(data[key]).update(values)
        return data

    buys = ("user", "buys", "item")
    nan = np.array([[1], [np.nan], [2]], np.float32)
    renamed = shop()
    renamed["a/b"] = renamed.pop("shop")
    for data, options, words in (
        (changed("user", train_mask=None), {}, r"train_mask is there for the types \[\]"),
        (changed("item", x=Tensor(nan)), {}, r"item: x\[1, 0\] is nan"),
        (changed("user", y=None), {}, "user: data has no y"),
        (
            changed(buys, edge_index=Tensor([[0, 4], [0, 0]])),
            {},
            r"edge_index\[:, 1\] is \[4, 0\], outside 0\.\.\.3 and 2",
        ),
        (changed(buys, edge_weight=Tensor([1, 1, 0.5, 1])), {}, r"edge_weight\[2\] is 0\.5.*--weights keep"),
        (shop(), {"weights": "some"}, "weights is 'some', want keep or drop"),
        (shop(), {"sparse": True}, "sparse is for Data"),
        (renamed, {}, "the type of nodes 'a/b'"),
    ):
        with pytest.raises(ExportError, match=words):
            export(data, str(tmp_path / "out"), **options)
    export(changed(buys, edge_weight=Tensor([1, 1, 0.5, 1])), str(tmp_path / "out"), weights="drop")


def test_one_name_of_several_types(tmp_path: pathlib.Path) -> None:
    data = shop()
    data["shop", "buys", "item"] = data.pop(("shop", "sells", "item"))
    export(data, str(tmp_path))
    edges = pq.read_table(tmp_path / "edges.parquet").to_pylist()
    assert {"source": "user:0", "target": "item:0", "kind": "user_buys_item"} in edges
    assert {"source": "shop:0", "target": "item:0", "kind": "shop_buys_item"} in edges

"""An artifact is read whole or refused, with the file and the reason."""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from rivulet_mcond import Arrival, ArtifactError, Named, Predictor, _safetensors, open_artifact

from .conftest import Set

MODELS = "sgc,ssgc,gcn,sage,appnp,cheby"


@pytest.fixture
def copy(trained: Callable[[str, str], Set], tmp_path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(trained("small", MODELS).artifact, tmp_path / "artifact"))


def seal(directory: pathlib.Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change the manifest and write its checksum again."""
    manifest = json.loads((directory / "manifest.json").read_text())
    change(manifest)
    text = json.dumps(manifest).encode()
    (directory / "manifest.json").write_bytes(text)
    (directory / "manifest.sha256").write_text(f"{hashlib.sha256(text).hexdigest()}  manifest.json\n")


def test_what_is_read(copy: pathlib.Path) -> None:
    a = open_artifact(copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    assert a.version == manifest["version"]
    assert a.classes == manifest["data"]["classes"]
    assert a.x.shape == (a.synthetic_nodes, a.features)
    assert len(a.labels) == a.synthetic_nodes == len(a.adjacency)
    assert len(a.mapping.rows) == len(a.mapping.row_of) == manifest["mapping"]["rows"]
    assert len(a.mapping.rows.indices) == manifest["mapping"]["entries"]
    dense = np.zeros((a.synthetic_nodes, a.synthetic_nodes))
    for i in range(len(a.adjacency)):
        columns, weights = a.adjacency.row(i)
        dense[i, columns] = weights
    assert np.array_equal(dense, dense.T)
    assert sorted(a.models) == sorted(MODELS.split(","))
    (copy / ".note").write_text("names that begin with a dot do not count")
    open_artifact(copy)


def test_what_is_damaged(copy: pathlib.Path) -> None:
    for name in [path for path in copy.rglob("*") if path.is_file()]:
        content = name.read_bytes()
        for wrong in (content[:-1] + bytes([content[-1] ^ 1]), content[:-1], content + b"\0", None):
            if name.name == "manifest.sha256" and wrong is not None and wrong[:64] == content[:64]:
                continue
            if wrong is None:
                name.unlink()
            else:
                name.write_bytes(wrong)
            with pytest.raises(ArtifactError, match=str(copy)):
                open_artifact(copy)
        name.write_bytes(content)
    (copy / "manifest.sig").write_bytes(bytes(64))  # a signature is compared where it is asked for
    open_artifact(copy)
    (copy / "models" / "more.bin").write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"models/more\.bin: the manifest does not list it"):
        open_artifact(copy)


def test_what_a_manifest_may_not_say(copy: pathlib.Path) -> None:
    for change, match in (
        (lambda m: m.update(format_version=9), "format_version is 9.*update readers"),
        (lambda m: m.update(default_model="gat"), "default_model is gat"),
        (lambda m: m["preprocess"].update(kind="log"), "preprocess.kind is 'log'"),
        (lambda m: m.update(synthetic_nodes=m["synthetic_nodes"] + 1), "tensor x: shape"),
        (lambda m: m.pop("mapping"), "a field is missing"),
        (lambda m: m["files"].update({"../out": {"bytes": 0, "sha256": ""}}), "leads out"),
    ):
        content = (copy / "manifest.json").read_bytes(), (copy / "manifest.sha256").read_bytes()
        seal(copy, change)  # type: ignore[arg-type]
        with pytest.raises(ArtifactError, match=match):
            open_artifact(copy)
        (copy / "manifest.json").write_bytes(content[0])
        (copy / "manifest.sha256").write_bytes(content[1])
    with pytest.raises(ArtifactError, match="not an artifact"):
        open_artifact(copy / "models")


def test_tensor_files() -> None:
    def file(header: object, body: bytes = b"") -> bytes:
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + body

    one = {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}
    got = _safetensors.load(file({"a": one, "__metadata__": {"a": "what it is"}}, np.float32([1, 2]).tobytes()))
    assert list(got) == ["a"]
    assert got["a"].tolist() == [[1, 2]]
    for wrong in (
        b"",
        (100).to_bytes(8, "little"),
        file([]),
        (2).to_bytes(8, "little") + b"{]",
        file({"a": one}, bytes(7)),
        file({"a": {**one, "shape": [3]}}, bytes(8)),
        file({"a": {**one, "shape": [-1, -2]}}, bytes(8)),
        file({"a": {**one, "dtype": "F8"}}, bytes(8)),
        file({"a": {**one, "data_offsets": [4, 0]}}, bytes(8)),
        file({"a": {**one, "data_offsets": [-8, 0]}}, bytes(8)),
        file({"a": 1}, bytes(8)),
    ):
        with pytest.raises(ValueError, match=r"tensor a|header"):
            _safetensors.load(wrong)


def test_format_2_with_a_schema(copy: pathlib.Path) -> None:
    """A part of format 2 is read where it is required; one that is not known is refused."""
    a = open_artifact(copy)
    assert a.schema is None
    features = [{"name": f"f{k}", "kind": "number", "missing": "zero", "mean": [0]} for k in range(a.features)]

    def add(
        manifest: dict[str, object], of: list[object] = features, parts: tuple[str, ...] = ("schema.json",)
    ) -> None:  # type: ignore[assignment]
        text = json.dumps({"schema_version": 1, "seed": 1, "features": of}, separators=(",", ":")).encode()
        (copy / "schema.json").write_bytes(text)
        manifest.update(format_version=2, requires=list(parts))
        manifest["files"]["schema.json"] = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}  # type: ignore[index]

    seal(copy, add)
    with_schema = open_artifact(copy)
    assert with_schema.schema is not None
    assert with_schema.schema.names() == [f"f{k}" for k in range(a.features)]
    rows = np.random.default_rng(3).normal(size=(5, a.features)).astype(np.float32)
    by_position = Predictor(a).predict([Arrival(str(i), row) for i, row in enumerate(rows)])
    by_name = Predictor(with_schema).predict(
        [
            Arrival(str(i), Named({f"f{k}": float(v) for k, v in reversed(list(enumerate(row)))}))
            for i, row in enumerate(rows)
        ]
    )
    assert np.array_equal(by_name.probabilities, by_position.probabilities)
    seal(copy, lambda m: add(m, features[:-1]))  # type: ignore[arg-type]
    with pytest.raises(ArtifactError, match="positions, the manifest says"):
        open_artifact(copy)
    for part in ("weights.json", "relations.safetensors", "task:nodes"):
        seal(copy, lambda m, part=part: add(m, features, ("schema.json", part)))  # type: ignore[arg-type,misc]
        with pytest.raises(ArtifactError, match=f"requires {re.escape(part)}, which"):
            open_artifact(copy)


def test_edges_are_refused(copy: pathlib.Path) -> None:
    """Slots of edges that do not fit each other, or have unknown fields, are refused by field and value."""
    weighed = '"weighted": true, "upper": [2.5], "edges": [1.5]'

    def add(manifest: dict[str, object], text: bytes, requires: list[str]) -> None:
        (copy / "edges.json").write_bytes(text)
        manifest.update(format_version=2, requires=requires)
        manifest["files"]["edges.json"] = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}  # type: ignore[index]

    seal(copy, lambda m: add(m, f"{{{weighed}}}".encode(), ["edges.json"]))
    slots = open_artifact(copy).slots
    assert slots.weighted
    assert len(slots) == 1
    for text, want in {
        "": "edges.json: ",
        "[]": r"\[\], want an object",
        "{}": "want no such file",
        '{"weighted": 1}': "weighted is 1",
        '{"weighted": "false"}': "weighted is 'false'",
        f'{{{weighed}, "by": "time"}}': "by is a field",
        '{"weighted": true}': "upper has 0 weights",
        '{"weighted": true, "upper": [2.5]}': r"edges are \[\]",
        '{"weighted": true, "upper": [2.5], "edges": [3]}': r"edges are \[3.\]",
        '{"weighted": true, "upper": [2.5, 5], "edges": [1.5, 2]}': r"edges are \[1.5 2. \]",
        '{"weighted": true, "upper": [0], "edges": [0]}': r"upper is \[0\]",
        '{"weighted": true, "upper": [NaN], "edges": [1]}': r"upper is \[nan\]",
        '{"weighted": true, "upper": [1e39], "edges": [1]}': r"upper is \[1e\+39\]",
        '{"weighted": true, "upper": [2, 2], "edges": [1, 2]}': r"upper is \[2, 2\]",
        f'{{{weighed}, "directed": true}}': "upper has 1 weights",
        f'{{{weighed}, "arriving": 1}}': "arriving is 1",
        '{"directed": true, "arriving": 3}': "arriving is 3",
        '{"directed": true, "arriving": true}': "arriving is True",
        '{"types": "ab"}': "types is 'ab'",
        '{"types": null}': "types is None",
        '{"types": ["a", "a"]}': "want distinct names",
        '{"types": ["a", ""]}': "want distinct names",
        json.dumps({"types": [f"t{k}" for k in range(17)], "directed": True}): "34 slots",
    }.items():
        seal(copy, lambda m, text=text: add(m, text.encode(), ["edges.json"]))  # type: ignore[misc]
        with pytest.raises(ArtifactError, match=f"edges.json: .*{want}" if want != "edges.json: " else want):
            open_artifact(copy)
    seal(copy, lambda m: add(m, f"{{{weighed}}}".encode(), []))
    with pytest.raises(ArtifactError, match=r"files lists edges.json, which requires does not name"):
        open_artifact(copy)
    seal(copy, lambda m: add(m, f"{{{weighed}}}".encode(), ["edges.json", "edge_types.json"]))
    with pytest.raises(ArtifactError, match=r"edge_types.json of an earlier release: train it anew"):
        open_artifact(copy)

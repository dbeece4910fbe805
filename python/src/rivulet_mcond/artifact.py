"""Artifacts: the directory that `trainer train` writes, read and checked as artifact/FORMAT.md says."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _safetensors
from .arrivals import FLOAT32_MAX, INCOMING, OUTGOING, Edge
from .schema import Schema, SchemaError

FORMAT_VERSION = 2
"""Newest format that this package reads."""

MAPPING_PART = "mapping/00000.safetensors"
"""Stands in requires for the parts of a large M."""

OWN_PART = "own.safetensors"
"""The perceptron of own features, which answers beside models."""

SPREAD = "spread.safetensors"
"""What S teaches models by; optional."""

EDGES_PART = "edges.json"
"""Edges have weights, types or directions: which tables they read."""

NUMBER = "number"
"""The task of a model that predicts numbers."""

LABELS = "labels"
"""The task of a model that predicts several labels a node."""

LINKS = "links"
"""The task of a model that predicts which nodes an arrival links to."""

CANDIDATES_PART = "candidates.safetensors"
"""The task is links: the nodes that it answers with."""

PARTS = (
    "schema.json",
    OWN_PART,
    MAPPING_PART,
    EDGES_PART,
    CANDIDATES_PART,
    *(f"task:{task}" for task in (NUMBER, LABELS, LINKS)),
)
"""Parts of format 2 that this package knows."""

FORMER_PARTS = ("bins.safetensors", "directions.safetensors", "edge_types.json")
"""Parts of earlier releases that said what edges.json says."""

_MAX_SLOTS = 32

Tensors = Mapping[str, NDArray[Any]]
Floats = NDArray[np.float64]


class ArtifactError(ValueError):
    """The directory is no artifact, is damaged, or is of a format that this package does not know."""


@dataclass(frozen=True)
class SparseRows:
    """A sparse matrix by rows: row i has values[k] at indices[k], k from indptr[i] to indptr[i+1]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    columns: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indptr) - 1

    def row(self, i: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return columns and values of a row."""
        part = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[part], self.values[part]


@dataclass(frozen=True)
class NodeMapping:
    """M, N×N': for each node of the original graph its weights on the synthetic nodes."""

    rows: SparseRows
    row_of: Mapping[str, int]
    """The row of a node's id."""


@dataclass(frozen=True)
class Slots:
    """Which tables, N' rows a slot one below the other, an edge reads, and by how much it counts there.

    Without types and directions an edge reads one slot, by its weight, and counts by that, or by 1 where
    edges have none. Otherwise a slot is of a type and direction, and an edge counts by its share of the slot's
    weights.
    """

    types: tuple[str, ...] = ()
    """Types of edges; empty: edges have none."""
    directed: bool = False
    """Whether edges have directions: of type t, table 2t is for edges from an arrival, 2t+1 for those to it."""
    arriving: int = 0
    """The only direction of edges that is read of an arrival, OUTGOING or INCOMING; 0: both."""
    weighted: bool = False
    """Whether edges have weights."""
    upper: NDArray[np.float32] | None = None
    """Largest weight of each bin, ascending, where edges have weights and nothing beside; None: no bins."""

    def __len__(self) -> int:
        """Return the number of slots."""
        bins = 1 if self.upper is None else len(self.upper)
        return max(1, len(self.types)) * (2 if self.directed else 1) * bins

    @property
    def relational(self) -> bool:
        """Whether edges have types or directions."""
        return self.directed or bool(self.types)

    def counted(self, weight: float, as_it_is: bool) -> float:
        """Return the weight by which an edge counts: at most that of the heaviest edge, but of a mean."""
        if not self.weighted:
            return 1.0
        return weight if as_it_is or self.upper is None else min(weight, float(self.upper[-1]))

    def read(self, edge: Edge, as_it_is: bool = False) -> dict[int, float]:
        """Return the slots that an edge reads, each with the weight by which it counts; none: it is not read."""
        if not self.relational:
            weight = self.counted(edge.weight, as_it_is)
            at = 0 if self.upper is None else int(np.searchsorted(self.upper, np.float32(weight)))
            return {at if self.upper is None else min(at, len(self.upper) - 1): weight}
        out: dict[int, float] = {}
        for kind, direction, weight in edge.weights:
            if (self.types and kind not in self.types) or (self.directed and direction & ~(self.arriving or 3)):
                continue
            slot = self.types.index(kind) if self.types else 0
            if self.directed:
                slot = 2 * slot + direction - 1
            counts = self.weighted and edge.weighted
            out[slot] = min(out.get(slot, 0.0) + weight, FLOAT32_MAX) if counts else 1.0
        return dict(sorted(out.items()))


@dataclass(frozen=True)
class Preprocess:
    """What turns raw features x into the model's: see `preprocess.kind` in artifact/FORMAT.md."""

    kind: str
    scale: float
    mean: Floats | None
    std: Floats | None


@dataclass(frozen=True)
class StoredModel:
    """One model of an artifact: what the manifest says of it, and the tensors of its file."""

    name: str
    info: Mapping[str, Any]
    tensors: Tensors


@dataclass(frozen=True)
class Perceptron:
    """A model of an arrival's own features: of one layer, or of two with a relu between them."""

    weights: Sequence[Floats]
    biases: Sequence[Floats]

    def logits(self, project: Callable[[Floats], Floats]) -> Floats:
        """Return own(x), n×C, of features that `project` multiplies with the first weights."""
        out = project(self.weights[0]) + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            out = np.maximum(out, 0) @ weight + bias
        return out


@dataclass(frozen=True)
class Spread:
    """What S alone teaches an SGC by: spread.safetensors in artifact/FORMAT.md."""

    means: Floats
    weights: Floats
    factor: Floats
    rest: Floats
    rank: int
    decay: float
    soft: Floats
    soft_factor: Floats
    soft_decay: float

    def narrow(self, rank: int) -> tuple[Floats, Floats]:
        """Return the first directions, and the rest with the variance of the others."""
        others = self.factor[rank:]
        return self.factor[:rank], self.rest + (others * others).sum(axis=0)


@dataclass(frozen=True)
class Candidates:
    """The nodes with which a task of links answers."""

    ids: list[str]
    vectors: NDArray[np.float32]
    """Their embeddings, a row each: a score is the dot product with that of an arrival."""


@dataclass(frozen=True)
class Artifact:
    """An artifact in memory. The arrays are read-only."""

    directory: pathlib.Path
    manifest: Mapping[str, Any]
    x: NDArray[np.float32]
    """X', N'×d: features of the synthetic nodes, preprocessed."""
    labels: NDArray[np.int32]
    """Y', N': classes of the synthetic nodes."""
    adjacency: SparseRows
    """A', N'×N'."""
    preprocess: Preprocess
    mapping: NodeMapping = field(repr=False)
    models: Mapping[str, StoredModel] = field(repr=False)
    slots: Slots = Slots()
    """Which tables an edge reads."""
    schema: Schema | None = None
    """How named features become positions; None: the artifact takes features by position only."""
    own: Perceptron | None = field(default=None, repr=False)
    """What answers beside the models that have `own` in the manifest; None: they answer alone."""
    spread: Spread | None = field(default=None, repr=False)
    """What S teaches models by; None: the artifact has none."""
    candidates: Candidates | None = field(default=None, repr=False)
    """Those of a task of links; None: the task is another one."""

    @property
    def version(self) -> str:
        """Name of the artifact, as in predictions."""
        return str(self.manifest["version"])

    @property
    def task(self) -> str:
        """What the models predict: "classes", "labels", "number" or "links"."""
        return str(self.manifest.get("task", "classes"))

    @property
    def classes(self) -> list[str]:
        """Names of the classes or labels, by index; of numbers and links the names of the outputs."""
        return list(self.manifest["data"]["classes"])

    @property
    def features(self) -> int:
        """Number of raw features, d."""
        return int(self.manifest["data"]["features"])

    @property
    def synthetic_nodes(self) -> int:
        """Number of synthetic nodes, N'."""
        return int(self.manifest["synthetic_nodes"])


def open_artifact(directory: str | os.PathLike[str]) -> Artifact:
    """Read and check the artifact in a directory.

    Sizes and SHA-256 of all files are compared with the manifest, as are shapes and types of all tensors that
    are used. Raises ArtifactError, naming the directory, the file, the field or tensor, and the reason.
    """
    root = pathlib.Path(directory)
    try:
        return _open(root)
    except (ArtifactError, OSError) as error:
        raise ArtifactError(f"reading artifact {root}: {error}") from error


def _open(root: pathlib.Path) -> Artifact:
    manifest = _manifest(root)
    contents = _files(root, manifest)
    try:
        return _decode(root, manifest, contents)
    except (KeyError, TypeError) as error:
        raise ArtifactError(f"manifest.json: a field is missing or of the wrong type: {error}") from error


def _manifest(root: pathlib.Path) -> dict[str, Any]:
    for name in ("manifest.json", "manifest.sha256"):
        if not (root / name).is_file():
            raise ArtifactError(f"{name} is missing: not an artifact, or one that was not completed")
    text = (root / "manifest.json").read_bytes()
    said = (root / "manifest.sha256").read_text().split()
    if not said or said[0] != hashlib.sha256(text).hexdigest():
        raise ArtifactError(
            "manifest.json does not have the SHA-256 of manifest.sha256: it was changed or damaged"
        )
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise ArtifactError(f"manifest.json: {error}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format_version"), int):
        raise ArtifactError("manifest.json: format_version is missing")
    if not 1 <= manifest["format_version"] <= FORMAT_VERSION:
        raise ArtifactError(
            f"format_version is {manifest['format_version']}, this package reads up to {FORMAT_VERSION}: "
            "update readers before trainers"
        )
    for part in manifest.get("requires", []):
        if part in FORMER_PARTS:
            raise ArtifactError(f"the artifact requires {part} of an earlier release: train it anew")
        if part not in PARTS:
            raise ArtifactError(f"the artifact requires {part}, which this package does not know: update it")
    return manifest


def _files(root: pathlib.Path, manifest: Mapping[str, Any]) -> dict[str, bytes]:
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        raise ArtifactError("manifest.json: files is missing")
    for name in _names(root):
        if name not in listed and name not in ("manifest.json", "manifest.sha256", "manifest.sig"):
            raise ArtifactError(f"{name}: the manifest does not list it")
    return {name: _file(root, name, listed[name]) for name in sorted(listed)}


def _names(root: pathlib.Path) -> list[str]:
    names = []
    for directory, below, files in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        here = pathlib.Path(directory).relative_to(root)
        names += [(here / name).as_posix() for name in files if not name.startswith(".")]
    return names


def _file(root: pathlib.Path, name: str, want: Any) -> bytes:
    parts = pathlib.PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts:
        raise ArtifactError(f"{name}: leads out of the artifact")
    if not isinstance(want, dict) or not (root / name).is_file():
        raise ArtifactError(f"{name}: missing, the manifest lists it")
    data = (root / name).read_bytes()
    if len(data) != want.get("bytes"):
        raise ArtifactError(f"{name}: {len(data)} bytes, the manifest says {want.get('bytes')}")
    if hashlib.sha256(data).hexdigest() != want.get("sha256"):
        raise ArtifactError(f"{name}: its SHA-256 is not that of the manifest: it was changed or damaged")
    return data


def _decode(root: pathlib.Path, manifest: Mapping[str, Any], contents: Mapping[str, bytes]) -> Artifact:
    nodes, d, rows = manifest["synthetic_nodes"], manifest["data"]["features"], manifest["mapping"]["rows"]
    s = _Reader("synthetic.safetensors", contents)
    x, labels = s.floats("x", (nodes, d)), s.integers("y", (nodes,), np.int32)
    if np.any((labels < 0) | (labels >= len(manifest["data"]["classes"]))):
        raise ArtifactError("synthetic.safetensors: y has a class that the manifest does not name")
    models = {}
    for info in manifest["models"]:
        name = f"models/{info['name']}.safetensors"
        models[info["name"]] = StoredModel(info["name"], info, _Reader(name, contents).finite())
    if manifest["default_model"] not in models:
        raise ArtifactError(
            f"manifest.json: default_model is {manifest['default_model']}, which is no model of it"
        )
    return Artifact(
        directory=root,
        manifest=manifest,
        x=x,
        labels=labels,
        adjacency=s.sparse("adj.", nodes, nodes, "data"),
        preprocess=_preprocess(manifest["preprocess"], s, d),
        mapping=_mapping(manifest, contents, rows, nodes),
        models=models,
        slots=_slots(manifest, contents),
        schema=_schema(manifest, contents, d),
        own=_own(manifest, contents, d),
        spread=_spread(manifest, contents, nodes, d) if SPREAD in contents else None,
        candidates=_candidates(manifest, contents) if CANDIDATES_PART in contents else None,
    )


def _candidates(manifest: Mapping[str, Any], contents: Mapping[str, bytes]) -> Candidates:
    s, outputs = _Reader(CANDIDATES_PART, contents), len(manifest["data"]["classes"])
    vectors = s.floats("vectors", None)
    if vectors.ndim != 2 or vectors.shape[1] != outputs:
        raise s.fail("vectors", f"shape {vectors.shape}, want a row of {outputs} for each candidate")
    return Candidates(list(s.ids(len(vectors))), vectors)


def _slots(manifest: Mapping[str, Any], contents: Mapping[str, bytes]) -> Slots:
    if EDGES_PART not in manifest.get("requires", []):
        if EDGES_PART in contents:
            raise ArtifactError(f"manifest.json: files lists {EDGES_PART}, which requires does not name")
        return Slots()
    try:
        said = json.loads(contents[EDGES_PART])
    except ValueError as error:
        raise ArtifactError(f"{EDGES_PART}: {error}") from None
    kinds = {"types": list, "directed": bool, "arriving": int, "weighted": bool, "upper": list, "edges": list}
    if not isinstance(said, dict):
        raise ArtifactError(f"{EDGES_PART}: {said!r}, want an object")
    for name, value in said.items():
        if name not in kinds:
            raise ArtifactError(f"{EDGES_PART}: {name} is a field that this package does not know: update it")
        if type(value) is not kinds[name]:
            raise ArtifactError(f"{EDGES_PART}: {name} is {value!r}, want a {kinds[name].__name__}")
    types = tuple(said.get("types", ()))
    if not all(isinstance(t, str) and t for t in types) or len(set(types)) != len(types):
        raise ArtifactError(f"{EDGES_PART}: types are {types}, want distinct names")
    upper, edges = (_ascending(said.get(name, ()), name) for name in ("upper", "edges"))
    directed, arriving = said.get("directed", False), said.get("arriving", 0)
    out = Slots(types, directed, arriving, said.get("weighted", False), upper if len(upper) else None)
    if arriving not in ((0, OUTGOING, INCOMING) if directed else (0,)):
        raise ArtifactError(
            f"{EDGES_PART}: arriving is {arriving}, want 1 (from an arrival) or 2 (to it), of directed edges"
        )
    if (len(upper) > 0) != (out.weighted and not out.relational):
        raise ArtifactError(
            f"{EDGES_PART}: upper has {len(upper)} weights, want some of weighted edges with nothing beside"
        )
    if len(edges) != len(upper) or np.any(edges > upper) or np.any(edges[1:] <= upper[:-1]):
        raise ArtifactError(f"{EDGES_PART}: edges are {edges}, want a weight for each bin of upper, {upper}")
    if not out.weighted and not out.relational:
        raise ArtifactError(f"{EDGES_PART}: no weights, types or directions, want no such file")
    if len(out) > _MAX_SLOTS:
        raise ArtifactError(f"{EDGES_PART}: {len(out)} slots, at most {_MAX_SLOTS} are read")
    return out


def _ascending(values: Sequence[Any], name: str) -> NDArray[np.float32]:
    """Return weights of edges.json as numbers: finite, above 0, ascending."""
    if not all(type(v) in (int, float) and 0 < v <= FLOAT32_MAX for v in values):
        raise ArtifactError(f"{EDGES_PART}: {name} is {values}, want finite weights above 0")
    out = np.array(values, np.float32)
    if np.any(np.diff(out) <= 0):
        raise ArtifactError(f"{EDGES_PART}: {name} is {values}, want ascending weights")
    return out


def _spread(manifest: Mapping[str, Any], contents: Mapping[str, bytes], nodes: int, d: int) -> Spread:
    s, classes = _Reader(SPREAD, contents), len(manifest["data"]["classes"])

    def get(name: str, *shape: int) -> Floats:
        return s.floats(name, shape or None).astype(np.float64)

    factor, soft_factor = get("factor"), get("labels.factor")
    rank = int(s.integers("rank", (1,), np.int64)[0])
    if factor.shape[1:] != (d,) or not 0 <= rank <= len(factor):
        raise s.fail("factor", f"shape {factor.shape}, want [at least {rank}, {d}]")
    if soft_factor.shape[1:] != (classes,) or len(soft_factor) > len(factor):
        raise s.fail("labels.factor", f"shape {soft_factor.shape}, want [at most {len(factor)}, {classes}]")
    return Spread(
        get("means", nodes, d),
        get("weights", nodes),
        factor,
        get("rest", d),
        rank,
        float(get("decay", 1)[0]),
        get("labels.means", nodes, classes),
        soft_factor,
        float(get("labels.decay", 1)[0]),
    )


def _own(manifest: Mapping[str, Any], contents: Mapping[str, bytes], d: int) -> Perceptron | None:
    if not any("own" in info for info in manifest["models"]):
        return None
    s = _Reader(OWN_PART, contents)
    weights, biases, width = list[Floats](), list[Floats](), d
    for k in range(2 if "lins.1.weight" in s.tensors else 1):
        bias = s.floats(f"lins.{k}.bias", None).astype(np.float64).reshape(-1)
        weights.append(s.floats(f"lins.{k}.weight", (width, len(bias))).astype(np.float64))
        biases.append(bias)
        width = len(bias)
    if width != len(manifest["data"]["classes"]):
        raise s.fail(f"lins.{len(biases) - 1}.bias", "is not one of the classes' number")
    return Perceptron(weights, biases)


def _mapping(manifest: Mapping[str, Any], contents: Mapping[str, bytes], rows: int, nodes: int) -> NodeMapping:
    m = _Reader("mapping.safetensors", contents)
    if MAPPING_PART not in manifest.get("requires", []):
        return NodeMapping(m.sparse("", rows, nodes, "data"), m.ids(rows))
    counts = m.integers("parts.rows", None, np.int64).tolist()
    if sum(counts) != rows or min(counts) < 1:
        raise m.fail("parts.rows", f"{sum(counts)} rows, the manifest says {rows}")
    parts, row_of = [], dict[str, int]()
    for k, count in enumerate(counts):
        part = _Reader(f"mapping/{k:05d}.safetensors", contents)
        before = len(row_of)
        row_of |= {name: before + i for name, i in part.ids(count).items()}
        if len(row_of) != before + count:
            raise part.fail("ids.bytes", "has an id of another part")
        parts.append(part.sparse("", count, nodes, "data"))
    ends = np.cumsum([part.indptr[-1] for part in parts])
    starts = [part.indptr[1:] + end - part.indptr[-1] for part, end in zip(parts, ends, strict=True)]
    joined = SparseRows(
        np.concatenate([[0], *starts]).astype(np.int64),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        nodes,
    )
    return NodeMapping(joined, row_of)


def _schema(manifest: Mapping[str, Any], contents: Mapping[str, bytes], d: int) -> Schema | None:
    if "schema.json" not in manifest.get("requires", []):
        return None
    if "schema.json" not in contents:
        raise ArtifactError("schema.json: required, but the manifest does not list it")
    try:
        schema = Schema(contents["schema.json"])
    except SchemaError as error:
        raise ArtifactError(str(error)) from error
    if schema.width != d:
        raise ArtifactError(f"schema.json: {schema.width} positions, the manifest says {d}")
    return schema


def _preprocess(said: Mapping[str, Any], s: _Reader, d: int) -> Preprocess:
    kind, scale = said["kind"], float(np.float32(said["scale"]))
    if kind not in ("none", "l1", "l2-center", "standardize"):
        raise ArtifactError(f"manifest.json: preprocess.kind is {kind!r}, which is not known")
    centres = kind in ("l2-center", "standardize")
    mean = s.floats("preprocess.mean", (d,)).astype(np.float64) if centres else None
    std = s.floats("preprocess.std", (d,)).astype(np.float64) if kind == "standardize" else None
    if not 0 < scale < np.inf or (std is not None and np.any(std <= 0)):
        raise ArtifactError("preprocess: scale and std must be positive")
    return Preprocess(kind, scale, mean, std)


class _Reader:
    """The tensors of one file, with checks whose errors name the file and the tensor."""

    def __init__(self, name: str, contents: Mapping[str, bytes]) -> None:
        self.name = name
        if name not in contents:
            raise ArtifactError(f"{name}: the manifest does not list it")
        try:
            self.tensors = _safetensors.load(contents[name])
        except ValueError as error:
            raise ArtifactError(f"{name}: {error}") from None

    def fail(self, tensor: str, reason: str) -> ArtifactError:
        return ArtifactError(f"{self.name}: tensor {tensor}: {reason}")

    def get(self, tensor: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
        if tensor not in self.tensors:
            raise self.fail(tensor, "missing")
        got = self.tensors[tensor]
        if shape is not None and got.shape != shape:
            raise self.fail(tensor, f"shape {got.shape}, want {shape}")
        return got

    def floats(self, tensor: str, shape: tuple[int, ...] | None) -> NDArray[np.float32]:
        got = self.get(tensor, shape)
        if got.dtype.kind != "f":
            raise self.fail(tensor, f"of {got.dtype}, want floats")
        if not np.isfinite(got).all():
            raise self.fail(tensor, "has values that are not finite")
        return got.astype(np.float32, copy=False)

    def integers(self, tensor: str, shape: tuple[int, ...] | None, dtype: type) -> NDArray[Any]:
        got = self.get(tensor, shape)
        if got.dtype.kind != "i":
            raise self.fail(tensor, f"of {got.dtype}, want integers")
        out: NDArray[Any] = got.astype(dtype, copy=False)
        if not np.array_equal(out, got):
            raise self.fail(tensor, f"has values beyond {np.dtype(dtype)}")
        return out

    def finite(self) -> Tensors:
        """Return all tensors, of which every one is of floats."""
        return {name: self.floats(name, None) for name in self.tensors}

    def sparse(self, prefix: str, rows: int, columns: int, values: str) -> SparseRows:
        """Return a matrix whose rows have ascending columns and values of 0 or more."""
        indptr = self.integers(prefix + "indptr", (rows + 1,), np.int64)
        entries = int(indptr[-1])
        if indptr[0] != 0 or np.any(np.diff(indptr) < 0):
            raise self.fail(prefix + "indptr", "does not ascend from 0")
        indices = self.integers(prefix + "indices", (entries,), np.int32)
        data = self.floats(prefix + values, (entries,))
        if np.any((indices < 0) | (indices >= columns)):
            raise self.fail(prefix + "indices", f"has columns outside 0…{columns - 1}")
        if entries > 1:
            begins = np.zeros(entries + 1, bool)
            begins[indptr] = True
            if np.any((np.diff(indices) <= 0) & ~begins[1:-1]):
                raise self.fail(prefix + "indices", "does not ascend within a row")
        if np.any(data < 0):
            raise self.fail(prefix + values, "has weights below 0")
        return SparseRows(indptr, indices, data, columns)

    def ids(self, rows: int) -> dict[str, int]:
        """Return the row of each id."""
        offsets = self.integers("ids.offsets", (rows + 1,), np.int64)
        text = self.get("ids.bytes", None).tobytes()
        if offsets[0] != 0 or np.any(np.diff(offsets) <= 0) or offsets[-1] != len(text):
            raise self.fail("ids.offsets", "does not divide ids.bytes into ids that are not empty")
        ends = offsets.tolist()
        try:
            row_of = {text[ends[i] : ends[i + 1]].decode(): i for i in range(rows)}
        except UnicodeDecodeError as error:
            raise self.fail("ids.bytes", str(error)) from None
        if len(row_of) != rows:
            raise self.fail("ids.bytes", "has an id twice")
        return row_of

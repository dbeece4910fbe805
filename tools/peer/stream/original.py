#!/usr/bin/env python3
"""What the rivals keep of the original graph T, made once from a data set and an artifact's weights, and the whole graph's answers.

    python tools/peer/stream/original.py DATA ARTIFACT OUT

DATA is in the GraphSAINT layout; T is the subgraph on the nodes of tr and un. The weights are those that Rivulet fitted on T, so
that a rival can be as right as the whole graph. OUT gets

    ids.json      the ids of T's nodes, in order
    sgc.npz       u: N×(2C+1), T's own tables of SGC with two hops (docs/algorithm.md, section 2, Frozen), and the weights
    sage.npz      n: N×H = x Wn of the first layer; h: N×H, the first layer of all nodes, kept; and the weights
    graph.npz     x: N×d, features as the models read them; indptr and indices of T: for what walks T
    nodes.bin     the same for the job of flink/, little endian: N and d as int32, N+1 offsets as int64; then of each node its
                  id, the number of its neighbours, their ids (int32), x (float32). Ids have to be numbers
    model.json    preprocessing, temperature, classes

Both models are needed: trainer train --models sgc,sage --own never. Needs numpy, scipy and safetensors.
"""
import json
import pathlib
import sys

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load_file


class Preprocess:
    """What the artifact does to raw features, n×d."""

    def __init__(self, kind, scale, mean, std):
        self.kind, self.scale, self.mean, self.std = kind, scale, mean, std

    @classmethod
    def of(cls, artifact):
        p = json.loads((artifact / "manifest.json").read_text())["preprocess"]
        s = load_file(artifact / "synthetic.safetensors")
        return cls(p["kind"], p["scale"], s.get("preprocess.mean"), s.get("preprocess.std"))

    def __call__(self, x):
        if self.kind == "l2-center":
            norm = np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
            return np.float32(self.scale) * (x / np.where(norm > 0, norm, 1) - self.mean)
        if self.kind == "l1":
            return np.float32(self.scale) * x / np.maximum(np.abs(x).sum(1, keepdims=True), 1)
        if self.kind == "standardize":
            return np.float32(self.scale) * (x - self.mean) / self.std
        return x


def subgraph(directory):
    """T's ids, adjacency and raw features."""
    adj = sp.load_npz(directory / "adj_full.npz").tocsr()
    sparse = directory / "feats.npz"
    x = sp.load_npz(sparse).tocsr() if sparse.exists() else np.load(directory / "feats.npy", mmap_mode="r")
    roles = json.loads((directory / "role.json").read_text())
    nodes = np.sort(np.array(roles["tr"] + roles.get("un", [])))
    x = x[nodes].toarray() if sparse.exists() else np.asarray(x[nodes])
    adj = adj[nodes][:, nodes]
    adj.data = np.ones(len(adj.data), np.float32)
    return [str(i) for i in nodes], adj, x.astype(np.float32)


def sgc_tables(adj, z):
    """u0, u1 and c of each node, side by side: what an arrival adds up over its neighbours (two hops of SGC, Z = XW)."""
    d = 1 + np.asarray(adj.sum(1)).ravel()[:, None]
    u0 = z / np.sqrt(d + 1)
    u1 = (adj @ (z / np.sqrt(d)) + u0) / (d + 1)
    return np.hstack([u0, u1, 1 / (d + 1)]).astype(np.float32)


def sgc_alone(adj, z, neighbours, zi, bias):
    """The logits of an arrival that is joined to T alone: Â of T with one node more, two hops of it, without any table."""
    d = 1 + np.asarray(adj.sum(1)).ravel()
    q, qi = 1 / np.sqrt(d), 1 / np.sqrt(1 + len(neighbours))
    rows = adj[neighbours]
    joined = 1 / np.sqrt(d[neighbours] + 1)
    among = rows[:, neighbours]
    hop = rows @ (q[:, None] * z) + among @ ((joined - q[neighbours])[:, None] * z[neighbours])
    hop = joined[:, None] * (hop + joined[:, None] * z[neighbours] + qi * zi)
    own = qi * ((joined[:, None] * z[neighbours]).sum(0) + qi * zi)
    return qi * ((joined[:, None] * hop).sum(0) + qi * own) + bias


def write_nodes(path, ids, adj, x):
    """nodes.bin, if all ids are numbers; else none, and rivals of Flink cannot run."""
    if not all(i.isdecimal() for i in ids):
        return
    numbers = np.array(ids, np.int64).astype("<i4")
    offsets = 8 + 8 * (len(ids) + 1) + np.concatenate([[0], np.cumsum(4 * (2 + np.diff(adj.indptr).astype(np.int64) + x.shape[1]))])
    with open(path, "wb") as f:
        f.write(np.array(x.shape, "<i4").tobytes() + offsets.astype("<i8").tobytes())
        for i in range(len(ids)):
            neighbours = numbers[adj.indices[adj.indptr[i]:adj.indptr[i + 1]]]
            f.write(np.array([numbers[i], len(neighbours)], "<i4").tobytes() + neighbours.tobytes() + x[i].astype("<f4").tobytes())


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    data, artifact, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    ids, adj, raw = subgraph(data)
    preprocess = Preprocess.of(artifact)
    x = np.ascontiguousarray(preprocess(raw), np.float32)
    manifest = json.loads((artifact / "manifest.json").read_text())
    temperature = {m["name"]: m["calibration"]["temperature"] for m in manifest["models"]}
    sgc, sage = (load_file(artifact / "models" / f"{m}.safetensors") for m in ("sgc", "sage"))
    w, b = sgc["lin.weight"], sgc["lin.bias"].ravel()
    np.savez(out / "sgc.npz", u=sgc_tables(adj, x @ w), w=w, b=b)
    wn1, ws1, b1 = sage["convs.0.lin_l.weight"], sage["convs.0.lin_r.weight"], sage["convs.0.lin_l.bias"].ravel()
    n = x @ wn1
    mean = adj @ n / np.maximum(np.asarray(adj.sum(1)), 1)
    np.savez(out / "sage.npz", n=n, wn1=wn1, h=np.maximum(mean + x @ ws1 + b1, 0).astype(np.float32), ws1=ws1, b1=b1,
             wn2=sage["convs.1.lin_l.weight"], ws2=sage["convs.1.lin_r.weight"], b2=sage["convs.1.lin_l.bias"].ravel())
    np.savez(out / "graph.npz", x=x, indptr=adj.indptr, indices=adj.indices)
    write_nodes(out / "nodes.bin", ids, adj, x)
    (out / "ids.json").write_text(json.dumps(ids))
    (out / "model.json").write_text(json.dumps({
        "preprocess": {"kind": preprocess.kind, "scale": preprocess.scale,
                       "mean": None if preprocess.mean is None else np.ravel(preprocess.mean).tolist(),
                       "std": None if preprocess.std is None else np.ravel(preprocess.std).tolist()},
        "temperature": temperature, "classes": [str(c) for c in manifest["data"]["classes"]], "features": x.shape[1]}))
    print(f"{out}: {len(ids)} nodes, {adj.nnz} entries, {x.shape[1]} features, {w.shape[1]} classes")


if __name__ == "__main__":
    main()

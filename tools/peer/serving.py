#!/usr/bin/env python3
"""Serve an artifact's arrivals in PyTorch, check that the answers are Rivulet's, and time both in turn.

    RIVULET_TEST_SAVE=$PWD/out/reddit RIVULET_TEST_SHAPES=reddit go test -count=1 -run TestInputsForPeers ./internal/bench
    python tools/peer/serving.py out/reddit --rivulet bin/rivulet

The directory has an artifact and arrivals.jsonl; `trainer train --out DIR/artifact` and `rivulet replay --out
DIR/arrivals.jsonl` make others. Models are sgc of two hops and gcn of two layers, joint and frozen as docs/algorithm.md,
section 2, has them, with the first weights multiplied on the side of S beforehand. What is timed is what section core of
`rivulet bench` times: a node batch from the rows of M of its neighbours, in memory, to probabilities. With --bench SHAPE
that section is run in turn with the peer, on the artifact that the first command wrote for the shape, and a ratio is printed.

Needs torch, numpy and safetensors.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import numpy as np
import torch
from safetensors.numpy import load_file

import table


class Artifact:
    """An artifact as artifact/FORMAT.md describes it, as tensors."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.manifest = json.loads((directory / "manifest.json").read_text())
        self.nodes, self.classes = self.manifest["synthetic_nodes"], len(self.manifest["data"]["classes"])
        s = load_file(directory / "synthetic.safetensors")
        n = self.nodes
        self.adj = torch.sparse_csr_tensor(torch.from_numpy(s["adj.indptr"]).long(), torch.from_numpy(s["adj.indices"]).long(),
                                           torch.from_numpy(s["adj.data"]), size=(n, n)).to_dense()
        self.x = torch.from_numpy(s["x"])
        self.mean = torch.from_numpy(s["preprocess.mean"]) if "preprocess.mean" in s else None
        self.std = torch.from_numpy(s["preprocess.std"]) if "preprocess.std" in s else None
        m = load_file(directory / "mapping.safetensors")
        self.rows = padded(m["indptr"], m["indices"], m["data"], n)
        offsets, text = m["ids.offsets"], m["ids.bytes"].tobytes()
        self.index = {text[a:b].decode(): i for i, (a, b) in enumerate(zip(offsets[:-1], offsets[1:]))}
        self.weights = {}
        for model in self.manifest["models"]:
            tensors = load_file(directory / "models" / (model["name"] + ".safetensors"))
            self.weights[model["name"]] = {k: torch.from_numpy(v) for k, v in tensors.items()}

    def info(self, model):
        return next(m for m in self.manifest["models"] if m["name"] == model)

    def preprocess(self, x):
        p = self.manifest["preprocess"]
        kind, scale = p["kind"], p["scale"]
        if kind == "l2-center":
            norm = x.norm(dim=1, keepdim=True)
            return scale * (x / torch.where(norm > 0, norm, torch.ones_like(norm)) - self.mean)
        if kind == "l1":
            return scale * x / x.abs().sum(1, keepdim=True).clamp(min=1)
        if kind == "standardize":
            return scale * (x - self.mean) / self.std
        return x


def padded(indptr, indices, data, synthetic):
    """Rows of M of one length: columns N×k and values N×k; a column beyond S stands for none."""
    lengths = np.diff(indptr)
    k = max(1, int(lengths.max()))
    cols, vals = np.full((len(lengths), k), synthetic, np.int64), np.zeros((len(lengths), k), np.float32)
    place = np.arange(len(indices)) - np.repeat(indptr[:-1], lengths)
    row = np.repeat(np.arange(len(lengths)), lengths)
    cols[row, place], vals[row, place] = indices, data
    return torch.from_numpy(cols), torch.from_numpy(vals)


class Batch:
    """Arrivals: raw features n×d, the place in M of each known neighbour, and whose neighbour it is."""

    def __init__(self, artifact, arrivals, features):
        self.x = torch.zeros(len(arrivals), features)
        of, neighbour = [], []
        for i, a in enumerate(arrivals):
            if isinstance(a["features"], dict):
                indices = a["features"]["indices"]
                self.x[i, indices] = torch.tensor(a["features"].get("values") or [1.0] * len(indices), dtype=torch.float32)
            else:
                self.x[i] = torch.tensor(a["features"], dtype=torch.float32)
            known = [artifact.index[e] for e in dict.fromkeys(map(str, a.get("edges") or [])) if e in artifact.index]
            of += [i] * len(known)
            neighbour += known
        self.of, self.neighbour = torch.tensor(of, dtype=torch.long), torch.tensor(neighbour, dtype=torch.long)
        self.known = torch.bincount(self.of, minlength=len(arrivals)).float()

    def attach(self, artifact):
        """r = aM, n×N', dense, by one gather and one scatter."""
        cols, vals = artifact.rows
        n, width = len(self.x), artifact.nodes + 1
        to = (self.of[:, None] * width + cols[self.neighbour]).view(-1)
        r = torch.zeros(n * width).index_add_(0, to, vals[self.neighbour].view(-1))
        return r.view(n, width)[:, :-1]


class Frozen:
    """Reads the artifact's tables."""

    def __init__(self, artifact, model):
        self.artifact, self.w, self.model = artifact, artifact.weights[model], model

    def __call__(self, b):
        w, r = self.w, b.attach(self.artifact)
        q = (1 + b.known).rsqrt()[:, None]
        u0, u1, c = r @ w["tables.u0"], r @ w["tables.u1"], r @ w["tables.c"]
        x = self.artifact.preprocess(b.x)
        if self.model == "sgc":
            z = x @ w["lin.weight"]
            h1 = q * (u0 + q * z)
            return q * (u1 + q * h1) + q * q * c * z + w["lin.bias"]
        z = x @ w["convs.0.lin.weight"]
        p = q * (u0 + q * z) + w["convs.0.bias"]
        t = p.relu() @ w["convs.1.lin.weight"]
        return q * (u1 + q * t) + w["convs.1.bias"] + q * q * ((c * z) @ w["convs.1.lin.weight"])


class Joint:
    """Runs the model on S with the batch in it; degrees are sums of weights."""

    def __init__(self, artifact, model):
        self.artifact, self.w, self.model = artifact, artifact.weights[model], model
        self.degrees = 1 + artifact.adj.sum(1)
        first = "lin.weight" if model == "sgc" else "convs.0.lin.weight"
        self.first, self.z = self.w[first], artifact.x @ self.w[first]

    def hop(self, r, qs, qa, zs, za):
        """Â's product with both blocks."""
        s, a = qs * zs, qa * za
        return qs * (self.artifact.adj @ s + r.t() @ a + s), qa * (r @ s + a)

    def __call__(self, b):
        w, r = self.w, b.attach(self.artifact)
        qs, qa = (self.degrees + r.sum(0)).rsqrt()[:, None], (1 + r.sum(1)).rsqrt()[:, None]
        s, a = self.hop(r, qs, qa, self.z, self.artifact.preprocess(b.x) @ self.first)
        if self.model == "sgc":
            return self.hop(r, qs, qa, s, a)[1] + w["lin.bias"]
        s, a = (s + w["convs.0.bias"]).relu() @ w["convs.1.lin.weight"], (a + w["convs.0.bias"]).relu() @ w["convs.1.lin.weight"]
        return self.hop(r, qs, qa, s, a)[1] + w["convs.1.bias"]


def answer(deployment, info, b):
    return torch.softmax(deployment(b) / info["calibration"]["temperature"], 1)


def rivulets(program, directory, model, attachment, size, lines):
    """Probabilities of `rivulet predict` for the same lines."""
    out = subprocess.run([program, "predict", "--artifact", f"{directory}/artifact", "--model", model, "--attachment", attachment, "--calibration",
                          "none", "--batch", str(size), "--probabilities"], input="".join(lines), capture_output=True, text=True, check=True).stdout
    return torch.tensor([json.loads(line)["probabilities"] for line in out.splitlines()])


def benched(program, shape, models, budget):
    """Medians of section core, in microseconds, by name."""
    out = subprocess.run([program, "bench", "--only", "core", "--shapes", shape, "--models", ",".join(models), "--time", f"{budget}s", "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return {row["name"]: row["figures"] for row in json.loads(out)["rows"]}


def check(args, artifact, lines, models):
    """Ends the program unless all answers are Rivulet's."""
    for model in models:
        for attachment, kind in (("frozen", Frozen), ("joint", Joint)):
            batch = Batch(artifact, [json.loads(line) for line in lines], artifact.x.shape[1])
            mine = answer(kind(artifact, model), artifact.info(model), batch)
            furthest = (mine - rivulets(args.rivulet, args.directory, model, attachment, len(lines), lines)).abs().max().item()
            print(f"{model} {attachment}: {len(lines)} arrivals, probabilities at most {furthest:.1e} apart", file=sys.stderr)
            if not furthest <= 1e-5:
                sys.exit(f"serving: the answers of {model}, {attachment}, are not Rivulet's: {furthest:.1e} apart, want 1e-5")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", help="has artifact/ and arrivals.jsonl")
    parser.add_argument("--rivulet", required=True, help="the program rivulet")
    parser.add_argument("--bench", metavar="SHAPE", help="run section core of rivulet bench in turn: pubmed, flickr or reddit, as saved")
    parser.add_argument("--rounds", type=int, default=3, help="turns")
    parser.add_argument("--time", type=float, default=0.5, help="seconds for which each figure is measured a turn")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    artifact = Artifact(f"{args.directory}/artifact")
    models = [m for m in ("sgc", "gcn") if m in artifact.weights]
    with open(f"{args.directory}/arrivals.jsonl") as f:
        lines = f.readlines()
    check(args, artifact, lines[:1000], models)

    batches = {size: [Batch(artifact, [json.loads(line) for line in lines[k:k + size]], artifact.x.shape[1])
                      for k in range(0, min(len(lines) - size + 1, 256 * size), size)] for size in (1, 1000)}
    shape = args.bench or artifact.manifest["data"]["name"].split()[0]
    mine, ours = {}, {}
    for _ in range(args.rounds):
        for model in models:
            for size in batches:
                for attachment, kind in (("frozen", Frozen), ("joint", Joint)):
                    deployment, info, of = kind(artifact, model), artifact.info(model), batches[size]
                    name = f"{shape}/{model}/batch={size}/{attachment}"
                    mine.setdefault(name, []).append(table.seconds(lambda k: answer(deployment, info, of[k % len(of)]), args.time))
        if args.bench:
            for name, figures in benched(args.rivulet, args.bench, models, args.time).items():
                ours.setdefault(name, []).append((figures["µs/batch"] / 1e6, figures["CPU-s/Mnode"] / 1e6))
    rows = []
    for name, measured in mine.items():
        size = int(name.split("batch=")[1].split("/")[0])
        wall, cpu = (statistics.median(m[k] for m in measured) for k in (0, 1))
        row = {"nodes/s": size / wall, "µs/batch": wall * 1e6, "CPU-s/Mnode": cpu / size * 1e6}
        if name in ours:
            row["ours µs/batch"] = statistics.median(o[0] for o in ours[name]) * 1e6
            row["times ours"] = statistics.median(m[0] / o[0] for m, o in zip(measured, ours[name]))
            row["CPU times ours"] = statistics.median(m[1] / (o[1] * size) for m, o in zip(measured, ours[name]))
        rows.append((name, row))
    print(table.machine() + "\n")
    table.show("PyTorch core", ["nodes/s", "µs/batch", "CPU-s/Mnode"] + (["ours µs/batch", "times ours", "CPU times ours"] if args.bench else []), rows)


if __name__ == "__main__":
    main()

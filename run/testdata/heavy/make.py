"""Writes the tables of this directory, and the answers of five models on them by NumPy alone, in double precision.

python make.py DIR: an arrival is joined alone to the graph of the nodes in training, one of its edges weighs 1 to 10^6
times what the table says, and the models have the random weights that golden.json has, too.
"""

import csv
import json
import pathlib
import sys

import numpy as np


def normalised(adjacency, loops):
    b = adjacency + np.eye(len(adjacency)) if loops else adjacency
    degree = b.sum(1)
    inverse = np.where(degree > 0, np.where(degree > 0, degree, 1) ** -0.5, 0)
    return inverse[:, None] * b * inverse


def forward(model, a, x, w):
    p, relu = normalised(a, True), lambda v: np.maximum(v, 0)
    if model == "sgc":
        return p @ (p @ x) @ w["lin.weight"] + w["lin.bias"]
    if model == "ssgc":
        h, total = x, w["alpha"][0, 0] * x
        for _ in range(16):
            h = p @ h
            total = total + (1 - w["alpha"][0, 0]) / 16 * h
        return total @ w["lin.weight"] + w["lin.bias"]
    if model == "gcn":
        h = relu(p @ (x @ w["convs.0.lin.weight"]) + w["convs.0.bias"])
        return p @ (h @ w["convs.1.lin.weight"]) + w["convs.1.bias"]
    if model == "appnp":
        z = relu(x @ w["lins.0.weight"] + w["lins.0.bias"]) @ w["lins.1.weight"] + w["lins.1.bias"]
        h = z
        for _ in range(10):
            h = 0.9 * (p @ h) + 0.1 * z
        return h
    q = -normalised(a, False)

    def layer(h, k):
        return h @ w[f"convs.{k}.lins.0.weight"] + q @ h @ w[f"convs.{k}.lins.1.weight"] + w[f"convs.{k}.bias"]

    return layer(relu(layer(x, 0)), 1)


def main(directory):
    n, c, d, hidden = 150, 3, 4, 5
    r = np.random.default_rng(11)
    y = np.arange(n) % c
    x = np.round(r.normal(size=(c, d))[y] * 1.5 + r.normal(size=(n, d)), 3)
    role = np.array(["train", "val", "test"])[r.choice(3, size=n, p=[0.5, 0.2, 0.3])]
    edges = {}
    while len(edges) < 2 * n:
        i = int(r.integers(n))
        j = int(r.choice(np.flatnonzero(y == y[i]))) if r.random() < 0.85 else int(r.integers(n))
        if i != j:
            edges[(min(i, j), max(i, j))] = round(float(np.exp(0.7 * r.normal())), 3)
    with open(directory / "nodes.csv", "w", newline="") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(["id", "label", "split", *(f"f{k}" for k in range(d))])
        table.writerows([f"n{i}", f"c{y[i]}", role[i], *x[i]] for i in range(n))
    with open(directory / "edges.csv", "w", newline="") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(["source", "target", "weight"])
        table.writerows([f"n{i}", f"n{j}", w] for (i, j), w in sorted(edges.items()))
    train = np.flatnonzero(role == "train")
    place = {int(i): k for k, i in enumerate(train)}
    adjacency, near = np.zeros((len(train),) * 2), {i: {} for i in range(n)}
    for (i, j), w in edges.items():
        near[i][j] = near[j][i] = w
        if i in place and j in place:
            adjacency[place[i], place[j]] = adjacency[place[j], place[i]] = w

    def draw(rows, columns):
        return np.round(r.normal(size=(rows, columns)), 3)

    def mlp(first, second):
        return {first: draw(d, hidden), second: draw(hidden, c)}

    models = {
        "sgc": {"lin.weight": draw(d, c), "lin.bias": draw(1, c)},
        "ssgc": {"lin.weight": draw(d, c), "lin.bias": draw(1, c), "alpha": np.array([[0.05]]),
                 "hops": np.array([[16.0]])},
        "gcn": {**mlp("convs.0.lin.weight", "convs.1.lin.weight"), "convs.0.bias": draw(1, hidden),
                "convs.1.bias": draw(1, c)},
        "appnp": {**mlp("lins.0.weight", "lins.1.weight"), "lins.0.bias": draw(1, hidden), "lins.1.bias": draw(1, c),
                  "alpha": np.array([[0.1]]), "hops": np.array([[10.0]])},
        "cheby": {**mlp("convs.0.lins.0.weight", "convs.1.lins.0.weight"),
                  **mlp("convs.0.lins.1.weight", "convs.1.lins.1.weight"), "convs.0.bias": draw(1, hidden),
                  "convs.1.bias": draw(1, c)},
    }
    arrivals, logits = [], {name: [] for name in models}
    for i in np.flatnonzero(role == "test"):
        known = {j: w for j, w in sorted(near[int(i)].items()) if j in place}
        if len(known) < 2:
            continue
        arrivals.append({"id": f"n{i}", "features": x[i].tolist(), "edges": [f"n{j}" for j in known],
                         "weights": list(known.values())})
        for name in models:
            logits[name].append([])
        for factor in (1, 10, 100, 1000, 1e6):
            a = np.zeros((len(train) + 1,) * 2)
            a[:-1, :-1] = adjacency
            for k, (j, w) in enumerate(known.items()):
                a[-1, place[j]] = a[place[j], -1] = w * factor if k == 0 else w
            for name, w in models.items():
                of = forward(name, a, np.vstack([x[train], x[i]]), w)[-1]
                logits[name][-1].append([round(float(v), 5) for v in of])
    golden = {"arrivals": arrivals, "models": {k: {t: v.tolist() for t, v in w.items()} for k, w in models.items()},
              "logits": logits}
    (directory / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


main(pathlib.Path(sys.argv[1]))

"""A table with named features of every kind: trained by name, predicted in Python and by rivulet alike."""

from __future__ import annotations

import csv
import json
import pathlib
import subprocess

import numpy as np

from rivulet_mcond import Arrival, Named, Predictor, open_artifact


def test_named_features_of_a_table(programs: pathlib.Path, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(5)
    n = 400
    y = rng.integers(0, 3, n)
    cities = [["Köln", "Bonn"][y[i] % 2] if rng.random() < 0.8 else f"village {i}" for i in range(n)]
    rows = [
        {
            "age": round(float(rng.normal(30 + 5 * y[i])), 2) if rng.random() < 0.9 else None,
            "member": bool(rng.random() < 0.5),
            "city": cities[i] if rng.random() < 0.9 else None,
            "about": " ".join(rng.choice(["tea", "Tee", "Käse", "x1", "walks", f"word{y[i]}"], 5)),
            "joined": f"20{rng.integers(10, 26)}-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}T12:30:00Z",
        }
        for i in range(n)
    ]
    split = ["train"] * 200 + ["val"] * 60 + ["test"] * 140
    edges = {tuple(sorted(pair)) for pair in rng.integers(0, n, (1600, 2)).tolist() if y[pair[0]] == y[pair[1]]}
    edges = {(a, b) for a, b in edges if a != b}
    data = tmp_path / "data"
    data.mkdir()
    with (data / "nodes.csv").open("w", newline="", encoding="utf-8") as f:
        nodes = csv.writer(f)
        nodes.writerow(["id", "label", "split", *rows[0]])
        for i, row in enumerate(rows):
            cells = ["" if v is None else str(v).lower() if isinstance(v, bool) else v for v in row.values()]
            nodes.writerow([f"u{i}", f"class {y[i]}", split[i], *cells])
    with (data / "edges.csv").open("w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows([["source", "target"], *((f"u{a}", f"u{b}") for a, b in sorted(edges))])

    def run(program: str, *args: str, given: bytes = b"") -> bytes:
        done = subprocess.run([str(programs / program), *args], input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    kinds = ["--feature", "about=text:32", "--feature", "joined=age:2026-06-01", "--missing", "city=column"]
    options = ["--models", "sgc,gcn", "--hidden", "8", "--costs=false", "--nodes", "20", *kinds]
    run("trainer", "train", "--data", str(data), *options, "--out", str(tmp_path / "artifact"))
    artifact = open_artifact(tmp_path / "artifact")
    assert artifact.schema is not None
    assert (
        artifact.schema.hash
        == json.loads(run("rivulet", "inspect", "--json", str(artifact.directory)))["schema"]["hash"]
    )

    near: dict[int, list[str]] = {}
    for a, b in edges:
        near.setdefault(a, []).append(f"u{b}")
        near.setdefault(b, []).append(f"u{a}")
    test = range(260, n)
    by_name = [Arrival(f"u{i}", Named(rows[i]), near.get(i, [])) for i in test]
    reordered = [Arrival(f"u{i}", Named(dict(reversed(rows[i].items()))), near.get(i, [])) for i in test]
    by_position = [
        Arrival(f"u{i}", artifact.schema.encode(Named(rows[i]).values), near.get(i, [])) for i in test
    ]
    for model in ("sgc", "gcn"):
        predictor = Predictor(artifact, model)
        got = predictor.predict(by_name)
        for arrivals in (by_name, reordered, by_position):
            assert np.array_equal(predictor.predict(arrivals).probabilities, got.probabilities)
            lines = b"\n".join(arrival.to_json() for arrival in arrivals) + b"\n"
            out = run(
                "rivulet",
                "predict",
                "--artifact",
                str(artifact.directory),
                "--model",
                model,
                "--probabilities",
                given=lines,
            )
            want = np.array([json.loads(line)["probabilities"] for line in out.splitlines()])
            assert np.abs(got.probabilities - want).max() < 1e-5
        assert (got.classes == y[260:]).mean() > 0.6

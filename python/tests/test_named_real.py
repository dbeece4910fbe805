"""The real graphs as tables with named features: Python predicts as `rivulet predict`, in any order of names."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import pathlib

import numpy as np
import pytest

from rivulet_mcond import Arrival, Named, open_artifact

from .conftest import ROOT, Set
from .test_predict import MODELS, compare

NUMBERS = 40  # of the set's features, by name

pytestmark = pytest.mark.skipif(
    "RIVULET_TEST_COMPARE" not in os.environ, reason="minutes of training: RIVULET_TEST_COMPARE=1"
)


def write_tables(source: pathlib.Path, to: pathlib.Path) -> None:
    """Write a set in GraphSAINT layout as nodes.csv and edges.csv, with several kinds and missing values."""
    rng = np.random.default_rng(3)
    # An array of a file is read each time that it is asked for.
    adjacency, features = dict(np.load(source / "adj_full.npz")), dict(np.load(source / "feats.npz"))
    labels = {int(k): int(v) for k, v in json.loads((source / "class_map.json").read_bytes()).items()}
    roles = {
        int(i): role for role, nodes in json.loads((source / "role.json").read_bytes()).items() for i in nodes
    }
    n = len(adjacency["indptr"]) - 1
    with (to / "nodes.csv").open("w", newline="", encoding="utf-8") as f:
        nodes = csv.writer(f)
        nodes.writerow(["id", "label", "split", *(f"f{k}" for k in range(NUMBERS)), "kind", "flag", "seen"])
        for i in range(n):
            row = np.zeros(NUMBERS)
            at = slice(features["indptr"][i], features["indptr"][i + 1])
            near = features["indices"][at] < NUMBERS
            row[features["indices"][at][near]] = features["data"][at][near]
            kind = labels[i] if rng.random() < 0.6 else rng.integers(len(set(labels.values())))
            numbers = [v if rng.random() < 0.97 else "" for v in row.tolist()]
            seen = f"202{rng.integers(0, 6)}-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}T12:30:00Z"
            flag = ["true", "false", ""][rng.integers(3)]
            nodes.writerow(
                [f"n{i}", labels[i], roles.get(i, ""), *numbers, f"k{kind}" if i % 9 else "", flag, seen]
            )
    with (to / "edges.csv").open("w", newline="", encoding="utf-8") as f:
        edges = csv.writer(f)
        edges.writerow(["source", "target"])
        for i in range(n):
            for k in adjacency["indices"][adjacency["indptr"][i] : adjacency["indptr"][i + 1]]:
                if i < k:
                    edges.writerow([f"n{i}", f"n{k}"])


@pytest.fixture(scope="module")
def tables(
    request: pytest.FixtureRequest, programs: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> Set:
    directory = pathlib.Path(os.environ.get("RIVULET_DATA", ROOT / "../shared/data")) / request.param
    if not directory.is_dir():
        pytest.skip(f"{directory} is not there: RIVULET_DATA names the directory of the real graphs")
    data = tmp_path_factory.mktemp(request.param)
    write_tables(directory, data)
    kinds = [f"--types=f{k}=number" for k in range(NUMBERS)]  # also those that are constant
    return Set(programs, ["--data", str(data), *kinds], tmp_path_factory.mktemp("work"), MODELS)


@pytest.mark.parametrize("tables", ["cora", "amazon_photo", "coauthor_cs"], indirect=True)
def test_every_model_by_name(tables: Set) -> None:
    artifact = open_artifact(tables.artifact)
    assert artifact.schema is not None
    assert {"number", "category", "bool", "age"} <= {f.kind for f in artifact.schema.features}
    assert all(isinstance(arrival.features, Named) for arrival in tables.arrivals)
    turned = b"\n".join(reordered(arrival).to_json() for arrival in tables.arrivals) + b"\n"
    for model in MODELS.split(","):
        for calibration in ("none", "lp", "ep"):
            compare(tables, model, calibration)
        # A producer that writes the names in another order has the same predictions, to the last digit.
        want, got = tables.predict(model, "none"), tables.predict(model, "none", turned)
        for w, g in zip(want, got, strict=True):
            assert (w["id"], w["class"], w["probabilities"], w["logits"]) == (
                g["id"],
                g["class"],
                g["probabilities"],
                g["logits"],
            )


def reordered(arrival: Arrival) -> Arrival:
    assert isinstance(arrival.features, Named)
    return dataclasses.replace(arrival, features=Named(dict(reversed(arrival.features.values.items()))))

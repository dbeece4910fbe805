"""Predictions in NumPy are those of `rivulet predict`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import numpy as np
import pytest

from rivulet_mcond import Arrival, ArrivalError, ArtifactError, Dense, Named, Predictor, Sparse, open_artifact

from .conftest import Set

MODELS = "sgc,ssgc,gcn,sage,appnp,cheby"
Trained = Callable[[str, str], Set]


def compare(of: Set, model: str, calibration: str) -> None:
    want = of.predict(model, calibration)
    got = Predictor(open_artifact(of.artifact), model, calibration).predict(of.arrivals)
    assert got.ids == [w["id"] for w in want]
    assert got.known_neighbours.tolist() == [w["known_neighbours"] for w in want]
    assert got.unknown_neighbours.tolist() == [w["unknown_neighbours"] for w in want]
    probabilities = np.array([w["probabilities"] for w in want])
    off = np.abs(got.probabilities - probabilities).max()
    logits = np.abs(got.logits - np.array([w["logits"] for w in want])).max()
    print(f"{of.artifact} {model} {calibration}: {len(want)} arrivals, {off:.1e} off, logits {logits:.1e}")
    assert off < 1e-5
    top = np.sort(got.probabilities, axis=1)
    other = got.classes != np.array([w["class"] for w in want])
    assert np.all((top[:, -1] - top[:, -2])[other] < 1e-5)


@pytest.mark.parametrize("calibration", ["auto", "none", "lp", "ep"])
@pytest.mark.parametrize("model", MODELS.split(","))
def test_every_model_on_a_generated_graph(trained: Trained, model: str, calibration: str) -> None:
    compare(trained("small", MODELS), model, calibration)


@pytest.mark.skipif(
    "RIVULET_TEST_COMPARE" not in os.environ, reason="minutes of training: RIVULET_TEST_COMPARE=1"
)
@pytest.mark.parametrize("calibration", ["none", "lp", "ep"])
@pytest.mark.parametrize("model", MODELS.split(","))
@pytest.mark.parametrize("name", ["cora", "amazon_photo", "coauthor_cs"])
def test_every_model_on_real_graphs(trained: Trained, name: str, model: str, calibration: str) -> None:
    compare(trained(name, MODELS), model, calibration)


def test_own_features_answer_beside_the_model(trained: Trained) -> None:
    """Exponents by the number of neighbours: without any neighbour, own features have another weight."""
    of = trained("small", MODELS)
    artifact = open_artifact(of.artifact)
    exponents = artifact.models["sgc"].info["own"]["exponents"]
    assert artifact.own is not None
    assert max(exponents.values()) > 0
    alone = [dataclasses.replace(a, edges=[]) for a in of.arrivals[:50]]
    lines = b"".join(a.to_json() + b"\n" for a in alone)
    want = of.predict("sgc", "auto", lines)
    got = Predictor(artifact).predict(alone)
    assert np.abs(got.probabilities - np.array([w["probabilities"] for w in want])).max() < 1e-5
    manifest = {**artifact.manifest, "requires": [], "format_version": 1}
    without = dataclasses.replace(artifact, own=None, manifest=manifest)
    if exponents["none"] > 0:
        assert not np.allclose(Predictor(without).predict(alone).logits, got.logits)


def test_a_prediction_depends_on_its_arrival_alone(trained: Trained) -> None:
    of = trained("small", MODELS)
    predictor = Predictor(open_artifact(of.artifact))
    together, alone = predictor.predict(of.arrivals[:300]), predictor.predict(of.arrivals[7:8])
    assert np.allclose(together.probabilities[7], alone.probabilities[0], rtol=0, atol=1e-12)


def test_forms_and_edges_that_mean_the_same(trained: Trained) -> None:
    of = trained("small", MODELS)
    artifact = open_artifact(of.artifact)
    one = of.arrivals[3]
    row = np.zeros(artifact.features)
    if isinstance(one.features, Dense):
        row[:] = one.features.values
    else:
        assert isinstance(one.features, Sparse)
        row[one.features.indices] = one.features.values
    at = np.flatnonzero(row)
    same = [
        one,
        Arrival(one.id, Dense(row), one.edges),
        Arrival(one.id, Sparse(at[::-1], row[at][::-1]), [*one.edges, one.id, *one.edges]),
    ]
    got = Predictor(artifact).predict(same)
    assert np.allclose(got.probabilities, got.probabilities[0], rtol=0, atol=1e-12)
    assert len(set(got.known_neighbours.tolist())) == 1


def test_lonely_and_unknown(trained: Trained) -> None:
    """Arrivals without edges, with ids that nobody knows and without features are predicted as by rivulet."""
    of = trained("small", MODELS)
    artifact = open_artifact(of.artifact)
    lonely = [
        Arrival("a", of.arrivals[0].features),
        Arrival("b", of.arrivals[0].features, ["nobody", "nowhere"]),
        Arrival("c", Sparse([]), of.arrivals[1].edges),
        Arrival("d", Sparse([])),
    ]
    lines = b"\n".join(arrival.to_json() for arrival in lonely) + b"\n"
    for model in MODELS.split(","):
        want = of.predict(model, "auto", lines)
        got = Predictor(artifact, model).predict(lonely)
        assert np.abs(got.probabilities - np.array([w["probabilities"] for w in want])).max() < 1e-5, model
        assert got.unknown_neighbours.tolist() == [w["unknown_neighbours"] for w in want]


def test_what_does_not_fit(trained: Trained) -> None:
    artifact = open_artifact(trained("small", MODELS).artifact)
    predictor = Predictor(artifact)
    assert len(predictor.predict([])) == 0
    for features, reason in (
        (Dense([1.0]), "feature_length"),
        (Sparse([artifact.features]), "feature_length"),
        (Named({"age": 3}), "schema"),
    ):
        with pytest.raises(ArrivalError, match="arrival x: features") as caught:
            predictor.predict([Arrival("x", features)])
        assert caught.value.reason == reason
    with pytest.raises(ArtifactError, match="no model 'gat'"):
        Predictor(artifact, "gat")
    with pytest.raises(ArtifactError, match="'nearest'"):
        Predictor(artifact, calibration="nearest")
    stored = artifact.models["gcn"]
    lost = {name: tensor for name, tensor in stored.tensors.items() if name != "tables.u1"}
    broken = dataclasses.replace(artifact, models={"gcn": dataclasses.replace(stored, tensors=lost)})
    with pytest.raises(ArtifactError, match=r"models/gcn.safetensors: .*tables\.u1"):
        Predictor(broken, "gcn")
    joint = dataclasses.replace(stored, info={**stored.info, "attachment": "joint"})
    with pytest.raises(ArtifactError, match="joint"):
        Predictor(dataclasses.replace(artifact, models={"gcn": joint}), "gcn")

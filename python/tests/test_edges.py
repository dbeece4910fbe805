"""Weights and directions of edges, numbers and links: predictions in NumPy are those of `rivulet predict`."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import re
from collections.abc import Callable

import numpy as np
import pytest

from rivulet_mcond import Arrival, ArrivalError, ArtifactError, Edge, Predictor, open_artifact
from rivulet_mcond.arrivals import INCOMING, OUTGOING

from .conftest import Set
from .test_predict import MODELS


def tables(directory: pathlib.Path, weights: bool, types: bool) -> None:
    """Write a graph of four classes, whose members lead edges to each other, with features by position."""
    rng = np.random.default_rng(5)
    label = rng.integers(0, 4, 500)
    x = rng.normal(size=(500, 12)) + 0.8 * rng.normal(size=(4, 12))[label]
    names = ",".join(f"f{k}" for k in range(12))
    lines = [f"id,label,amount,tags,split,{names}"]
    for i, row in enumerate(x):
        split = ("train", "train", "val", "test")[int(rng.integers(0, 4))]
        amount = 2 * row[0] + label[i]
        tags = "abcd"[label[i]] + (";positive" if row[0] > 0 else "")
        lines.append(f"n{i},{'abcd'[label[i]]},{amount:.4f},{tags},{split},{','.join(f'{v:.4f}' for v in row)}")
    (directory / "nodes.csv").write_text("\n".join(lines) + "\n")
    edges = ["source,target" + ",weight" * weights + ",kind" * types]
    for i in range(500):
        same = np.flatnonzero(label == label[i])
        for j in {*rng.choice(same, 5).tolist(), *rng.integers(0, 500, 2).tolist()} - {i}:
            weight = f",{np.exp(1.2 * rng.normal()):.3f}" if weights else ""
            edges.append(f"n{i},n{j}{weight}" + (f",{'xyz'[(i * j) % 3]}" if types else ""))
    (directory / "edges.csv").write_text("\n".join(edges) + "\n")


@dataclasses.dataclass(frozen=True)
class Case:
    """A graph, how it is read, what is trained on it."""

    weights: bool
    read: list[str]
    models: str
    options: list[str]


CLASSES = ["--label", "label", "--drop", "amount,tags", "--positional"]
CASES = {
    "weights": Case(True, CLASSES, "sgc,gcn,sage,appnp,cheby", ["--own", "always", "--hidden", "8"]),
    "directions": Case(False, [*CLASSES, "--directed"], "dirsgc,dirsage", ["--hidden", "8"]),
    "arrivals that only cite": Case(
        False, [*CLASSES, "--directed", "--arrival-edges", "out"], "dirsgc", ["--own", "never"]
    ),
    "types": Case(False, [*CLASSES, "--edge-type", "kind"], "rsgc,rgcn", ["--hidden", "8"]),
    "types with directions": Case(
        False,
        [*CLASSES, "--edge-type", "kind", "--directed"],
        "rsgc",
        ["--own", "never"],
    ),
    "weights beside directions": Case(
        True, [*CLASSES, "--directed"], "dirsgc,dirsage", ["--own", "never", "--hidden", "8"]
    ),
    "weights beside types": Case(True, [*CLASSES, "--edge-type", "kind"], "rsgc,rgcn", ["--hidden", "8"]),
    "weights beside types with directions": Case(
        True, [*CLASSES, "--edge-type", "kind", "--directed"], "rsgc", ["--own", "never"]
    ),
    "numbers": Case(
        True, ["--task", "number", "--label", "amount", "--drop", "label,tags", "--positional"], "sgc,ssgc", []
    ),
    "links": Case(
        True,
        ["--task", "links", "--candidates", "label=b", "--drop", "amount,tags", "--positional"],
        "sgc,ssgc",
        [],
    ),
    "labels": Case(
        True,
        ["--task", "labels", "--label", "tags", "--drop", "label,amount", "--positional"],
        "sgc,ssgc,gcn,sage,appnp,cheby",
        ["--hidden", "8"],
    ),
}


@pytest.fixture(scope="module", params=CASES)
def case(
    request: pytest.FixtureRequest, programs: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Case, Set]:
    case, work = CASES[request.param], tmp_path_factory.mktemp("set")
    tables(work, case.weights, "kind" in case.read or not case.weights)
    options = ["--models", case.models, "--nodes", "20", *case.options]
    return case, Set(programs, ["--data", str(work), *case.read], work, options)


def test_predictions_are_those_of_rivulet(case: tuple[Case, Set]) -> None:
    asked, of = case
    artifact = open_artifact(of.artifact)
    assert artifact.slots.weighted == asked.weights and len(artifact.slots) > 1
    assert any(a.weights for a in of.arrivals) == asked.weights
    assert any(a.incoming for a in of.arrivals) == (
        "--directed" in asked.read and "--arrival-edges" not in asked.read
    )
    assert any(a.types for a in of.arrivals) == ("kind" in asked.read)
    strange = [
        Arrival("x", a.features, [*a.edges, "x", a.edges[0], "nobody"],
                types=a.types and [*a.types[: len(a.edges)], "z", "z", "no type"])
        for a in of.arrivals if a.edges
    ][:5]  # fmt: skip
    arrivals = [*of.arrivals, *strange, Arrival("alone", of.arrivals[0].features)]
    if asked.weights:  # heavier than any edge of the graph
        some = [a for a in of.arrivals if a.edges][:3]
        arrivals += [
            Arrival(
                "heavy",
                a.features,
                a.edges,
                weights=[1e4] + [1] * (len(a.edges) - 1),
                types=a.types and a.types[: len(a.edges)],
            )
            for a in some
        ]
    for model in asked.models.split(","):
        lines = b"".join(arrival.to_json() + b"\n" for arrival in arrivals)
        predictor = Predictor(artifact, model)
        if artifact.task == "number":
            numbers = predictor.predict_numbers(arrivals)
            want = of.predict(model, "auto", lines, output=())
            for k, output in enumerate(numbers.names):
                for name, got in (
                    ("value", numbers.values[:, k]),
                    ("lower", numbers.values[:, k] - numbers.radius[k]),
                    ("upper", numbers.values[:, k] + numbers.radius[k]),
                ):
                    there = [w["numbers"][k] for w in want]  # type: ignore[index]
                    assert {t["name"] for t in there} == {output}
                    assert np.abs(got - np.array([t[name] for t in there])).max() < 1e-4
            known = numbers.known_neighbours
        elif artifact.task == "links":
            links = predictor.predict_links(arrivals, 7)
            want = of.predict(model, "auto", lines, output=("--top-k", "7", "--logits"))
            assert np.abs(links.embeddings - np.array([w["logits"] for w in want])).max() < 1e-4
            for found, scores, theirs in zip(links.candidates, links.scores, want, strict=True):
                said = theirs["links"]
                assert np.abs(scores - np.array([t["score"] for t in said])).max() < 1e-4  # type: ignore[attr-defined]
                assert len({t["id"] for t in said} & set(found)) >= 5  # type: ignore[attr-defined]
            known = links.known_neighbours
        elif artifact.task == "labels":
            labels = predictor.predict_labels(arrivals)
            want = of.predict(model, "auto", lines)
            off = np.abs(labels.probabilities - np.array([w["probabilities"] for w in want])).max()
            assert off < 1e-5, model
            for ours, theirs in zip(labels.labels, want, strict=True):
                said = {t["name"]: t["probability"] for t in theirs.get("labels", [])}  # type: ignore[attr-defined]
                assert set(ours) == set(said)
                best = [said[name] for name in ours]  # labels of equal probability may change places
                assert all(a > b - 1e-5 for a, b in itertools.pairwise(best)), model
            assert max(len(said) for said in labels.labels) > 1
            known = labels.known_neighbours
        else:
            want = of.predict(model, "auto", lines)
            got = predictor.predict(arrivals)
            off = np.abs(got.probabilities - np.array([w["probabilities"] for w in want])).max()
            assert off < 1e-5, model
            assert np.abs(got.logits - np.array([w["logits"] for w in want])).max() < 1e-3, model
            known = got.known_neighbours
        assert known.tolist() == [w["known_neighbours"] for w in want]
        assert known.max() > 3


def test_weights_and_directions_count(case: tuple[Case, Set]) -> None:
    """An edge that weighs more, or leads the other way, gives another prediction where that is read."""
    asked, of = case
    artifact = open_artifact(of.artifact)
    one = next(  # whose first edge is not the only one of its type to a node that is known
        a
        for a in of.arrivals
        if len(a.edges) > 1
        and a.edges[0] in artifact.mapping.row_of
        and any(
            id in artifact.mapping.row_of and (not a.types or a.types[k + 1] == a.types[0])
            for k, id in enumerate(a.edges[1:])
        )
    )
    types = one.types and one.types[: len(one.edges)]
    heavy = Arrival("x", one.features, one.edges, weights=[50, *[1] * (len(one.edges) - 1)], types=types)
    into = Arrival(
        "x", one.features, one.edges[1:], incoming=one.edges[:1], types=types and [*types[1:], types[0]]
    )
    same = Arrival("x", one.features, one.edges, types=types)
    predictor = Predictor(artifact)
    if artifact.task == "number":
        values = predictor.predict_numbers([same, heavy, into]).values
    elif artifact.task == "links":
        values = predictor.predict_links([same, heavy, into]).embeddings
    elif artifact.task == "labels":
        values = predictor.predict_labels([same, heavy, into]).logits
    else:
        values = predictor.predict([same, heavy, into]).logits
    assert np.array_equal(values[0], values[1]) == (not asked.weights)
    assert np.allclose(values[0], values[2]) == (not artifact.slots.directed)


def test_an_edge_without_weights_weighs_1(case: tuple[Case, Set]) -> None:
    """An edge that is there by two types and both directions counts once in each slot, whatever is not read."""
    _, of = case
    artifact = open_artifact(of.artifact)
    if artifact.task != "classes":
        pytest.skip("the task is another one")
    a, b = itertools.islice(artifact.mapping.row_of, 2)
    types = ["x", "y", "x", "x"]
    arrival = Arrival("twice", of.arrivals[0].features, [a, a, b], incoming=[a], types=types)
    predictor = Predictor(artifact)
    want = of.predict(predictor.model, "auto", arrival.to_json() + b"\n")
    got = predictor.predict([arrival])
    assert np.abs(got.probabilities - np.array([w["probabilities"] for w in want])).max() < 1e-5


def test_each_task_has_its_verb(case: tuple[Case, Set]) -> None:
    _, of = case
    artifact = open_artifact(of.artifact)
    predictor = Predictor(artifact)
    if artifact.task == "number":
        with pytest.raises(ArtifactError, match="predicts numbers: use predict_numbers"):
            predictor.predict([])
        pytest.importorskip("pandas")
        frame = predictor.predict_numbers(of.arrivals[:2]).to_frame()
        assert list(frame.columns) == [
            "id", "amount", "amount_lower", "amount_upper", "known_neighbours", "unknown_neighbours",
        ]  # fmt: skip
        assert (frame["amount_lower"] < frame["amount"]).all()
        return
    if artifact.task == "links":
        with pytest.raises(ArtifactError, match="predicts links: use predict_links"):
            predictor.predict([])
        pytest.importorskip("pandas")
        frame = predictor.predict_links(of.arrivals[:2], 3).to_frame()
        assert list(frame.columns) == ["id", "candidate", "rank", "score"]
        assert frame["rank"].tolist() == [1, 2, 3] * 2
        return
    if artifact.task == "labels":
        with pytest.raises(ArtifactError, match="predicts labels: use predict_labels"):
            predictor.predict([])
        pytest.importorskip("pandas")
        frame = predictor.predict_labels(of.arrivals[:2]).to_frame()
        assert list(frame.columns)[:3] == ["id", "labels", "a"]
        assert list(frame.columns)[-3:] == ["positive", "known_neighbours", "unknown_neighbours"]
        return
    for verb in (predictor.predict_numbers, predictor.predict_labels, predictor.predict_links):
        with pytest.raises(ArtifactError, match="predicts classes: use predict"):
            verb([])


def test_edges_in_their_forms() -> None:
    objects = Arrival(
        "x", [1], [{"id": "a", "weight": 3}, {"id": 4, "weight": 0.5}, "b", {"id": "a", "weight": 1}]
    )
    lists = Arrival("x", [1], ["a", 4, "b", "a"], weights=[3, 0.5, 1, 1])
    assert objects.to_json() == lists.to_json()
    assert [(edge.id, edge.weight) for edge in lists.neighbours()] == [("a", 4), ("4", 0.5), ("b", 1)]
    cites = Arrival("x", [1], ["a", {"id": "b", "in": True}, {"id": "a", "in": True}])
    assert cites.to_json() == Arrival("x", [1], ["a"], incoming=["b", "a"]).to_json()
    assert cites.neighbours() == [
        Edge("a", (("", OUTGOING, 1), ("", INCOMING, 1)), False),
        Edge("b", (("", INCOMING, 1),), False),
    ]
    weighed = Arrival("x", [1], ["a", {"id": "b", "in": True, "weight": 2}, {"id": "a", "weight": 3}])
    assert weighed.to_json() == Arrival("x", [1], ["a", "a"], weights=[1, 3, 2], incoming=["b"]).to_json()
    assert Arrival.from_json(weighed.to_json()).neighbours() == [
        Edge("a", (("", OUTGOING, 4),)),
        Edge("b", (("", INCOMING, 2),)),
    ]
    kinds = Arrival("x", [1], [{"id": "a", "type": "buys"}, {"id": "b", "in": True, "type": "views"}, "a"])
    assert kinds.neighbours() == [
        Edge("a", (("buys", OUTGOING, 1), ("", OUTGOING, 1)), False),
        Edge("b", (("views", INCOMING, 1),), False),
    ]
    assert Arrival.from_json(kinds.to_json()).neighbours() == kinds.neighbours()
    typed = Arrival("x", [1], ["a", "b"], types=["buys", "views"])
    assert json.loads(typed.to_json())["types"] == ["buys", "views"]
    assert Arrival.from_json(typed.to_json()).neighbours() == typed.neighbours()
    said = {"id": "x", "features": [1], "edges": [{"id": "a", "since": 3}, {"id": "b", "in": True}]}
    assert Arrival.from_json(json.dumps(said)).neighbours() == [
        Edge("a", (("", OUTGOING, 1),), False),
        Edge("b", (("", INCOMING, 1),), False),
    ]


@pytest.mark.parametrize(
    ("said", "reason", "place"),
    [
        ({"edges": ["a"], "weights": [1, 2]}, "unparsable", "weights"),
        ({"edges": ["a"], "weights": [0]}, "unparsable", r"weights\[0\]"),
        ({"edges": [{"id": "a", "weight": -1}]}, "unparsable", r"edges\[0\].weight"),
        ({"edges": [{"id": "a", "weight": 1e300}]}, "not_finite", r"edges\[0\].weight"),
        ({"edges": [{"weight": 1}]}, "unparsable", r"edges\[0\].id"),
        ({"edges": [{"id": "a", "in": 1}]}, "unparsable", r"edges\[0\].in"),
        ({"edges": [{"id": "a", "in": True, "weight": 0}]}, "unparsable", r"edges\[0\].weight"),
        ({"edges": [{"id": "a", "in": True}], "incoming": ["b"]}, "unparsable", "incoming"),
        ({"edges": ["a"], "weights": [1], "incoming": ["b"]}, "unparsable", "weights"),
        ({"edges": [{"id": "a", "weight": 2}], "weights": [1]}, "unparsable", "weights"),
        ({"edges": ["a"], "types": ["x", "y"]}, "unparsable", "types"),
        ({"edges": [{"id": "a", "type": ""}]}, "unparsable", r"edges\[0\].type"),
        ({"edges": "a"}, "unparsable", "edges"),
    ],
)
def test_edges_that_are_refused(
    said: dict[str, object], reason: str, place: str, trained: Callable[[str, str], Set]
) -> None:
    """Each is a dead letter of rivulet, too, with the same reason and place."""
    line = json.dumps({"id": "x", "features": {"indices": []}, **said})
    with pytest.raises(ArrivalError, match=f"^{place}") as caught:
        Arrival.from_json(line)
    assert caught.value.reason == reason
    assert re.search(place, trained("small", MODELS).refuse(line.encode()))

from __future__ import annotations

import json
import pathlib
import random

import numpy as np
import pytest

from rivulet_mcond import prequential

sp = pytest.importorskip("scipy.sparse")
pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

NODES = 400


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Two classes whose features trade places in the course of time, as arrays and as tables."""
    rng = np.random.default_rng(1)
    time = rng.permutation(NODES)  # node i arrives as number time[i]
    label = rng.integers(0, 2, NODES)
    side = np.where(time < NODES * 0.7, label, 1 - label)
    x = rng.normal(0, 1, (NODES, 4)).astype(np.float32)
    x[:, 0] += 3 * side
    ends = rng.integers(0, NODES, (2, 1200))
    ends = ends[:, (label[ends[0]] == label[ends[1]]) & (ends[0] != ends[1])]
    out = tmp_path_factory.mktemp("drifting")
    (out / "arrays").mkdir()
    (out / "tables").mkdir()
    adj = sp.csr_matrix((np.ones(ends.shape[1]), ends), (NODES, NODES))
    sp.save_npz(out / "arrays" / "adj_full.npz", ((adj + adj.T) > 0).astype(np.float32).tocsr())
    np.save(out / "arrays" / "feats.npy", x)
    (out / "arrays" / "class_map.json").write_text(json.dumps({str(i): int(y) for i, y in enumerate(label)}))
    (out / "arrays" / "times.json").write_text(json.dumps(time.tolist()))
    nodes = pd.DataFrame({"user": [f"u{i}" for i in range(NODES)], "label": label, "came": time, "junk": "x"})
    nodes = nodes.join(pd.DataFrame(x, columns=list("abcd")))
    nodes.to_csv(out / "tables" / "nodes.csv", index=False)
    edges = pd.DataFrame({"source": [f"u{i}" for i in ends[0]], "target": [f"u{i}" for i in ends[1]]})
    edges.to_csv(out / "tables" / "edges.csv", index=False)
    return out


@pytest.mark.parametrize("kind", ["arrays", "tables"])
def test_old_artifacts_are_wrong_where_the_stream_turns(
    kind: str,
    drifting: pathlib.Path,
    programs: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RIVULET_TRAINER", str(programs / "trainer"))
    columns = ["--id=user", "--time=came", "--drop=junk"] if kind == "tables" else []
    quick = ["--nodes=12", "--own=never", "--propagate=false", "--spread=false", "--preprocess=standardize"]
    prequential.main(["--data", str(drifting / kind), "--out", str(tmp_path), "--chunks=3", *columns, *quick])
    said = json.loads((tmp_path / "prequential.json").read_text())
    assert said["order"] == "time" and said["arrivals"] == [80, 80, 80] == said["labelled"]
    accuracy = said["accuracy"]
    assert accuracy[1][0] is None and accuracy[2][1] is None
    # the last chunk's features say the other class; the artifact before it has seen 40 such nodes
    assert accuracy[0][0] > 80 > accuracy[0][2] + 20
    assert accuracy[2][2] > accuracy[0][2]
    known = said["known_edges"]
    assert known[0][0] > known[0][2] and known[2][2] > known[0][2] > 0
    assert (tmp_path / "prequential.png").read_bytes()[:4] == b"\x89PNG"
    assert "a refresh every ... chunks" in capsys.readouterr().out


class Line(prequential.Source):
    """Nodes in a row, whose neighbours stand beside them; it is trained by nobody."""

    def __init__(self, labels: list[str | None]) -> None:
        n = len(labels)
        near = [np.array([j for j in (i - 1, i + 1) if 0 <= j < n], np.int64) for i in range(n)]
        self.graph = prequential.Graph([str(i) for i in range(n)], labels, None, near)


def test_labels_come_late_and_edges_lead_back() -> None:
    source = Line(["a"] * 40 + [None] * 2 + ["b"] * 58)
    stream = prequential.Stream(source, list(range(100)), [40, 60, 80, 100], 2, random.Random(3))
    assert len(stream.validation) == 5
    for k, first_unknown in ((0, 40), (1, 40), (2, 60)):
        roles, labelled = stream.at(k)
        assert sorted(roles) == list(range([40, 60, 80][k]))
        assert labelled == set(range(first_unknown)) - {40, 41}
        assert {i for i, role in roles.items() if role == "unlabelled"} == set(roles) - labelled
        assert {i for i, role in roles.items() if role in ("val", "test")} == stream.validation
    assert stream.before(50) == [49] and stream.before(0) == []


def test_a_walk_meets_each_node_once_and_goes_outward() -> None:
    graph = Line(["a"] * 50).graph
    graph.neighbours[24], graph.neighbours[25] = graph.neighbours[24][:1], graph.neighbours[25][1:]  # two parts
    order = prequential.walk(graph, random.Random(5))
    assert sorted(order) == list(range(50))
    half = order[:25]
    assert set(half) in (set(range(25)), set(range(25, 50)))
    distance = [abs(i - half[0]) for i in half]
    assert distance == sorted(distance)


def test_a_refresh_every_so_many_chunks() -> None:
    accuracy = np.array([[90, 80, 60], [np.nan, 90, 70], [np.nan, np.nan, 90]])
    r = prequential.Result("time", [1, 1, 1], accuracy, accuracy, [10, 10, 20])
    assert r.every(1) == (2, 90) and r.every(3) == (0, pytest.approx(72.5))
    assert r.every(2) == (1, pytest.approx((900 + 800 + 1800) / 40))
    assert r.by_age(1) == 75 and r.by_age(2) == 60


def test_wrong_input_is_named(drifting: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tables = ["--data", str(drifting / "tables"), "--out", str(tmp_path / "x")]
    for arguments, want in {
        (*tables,): "no column 'id': --id and --label",
        (*tables, "--id=user", "--time=when"): "no column 'when'",
        (*tables, "--id=label"): "an id twice",
        (*tables, "--id=user", "--time=junk"): "column junk has no times",
        (*tables, "--id=user", "--first=0.01"): "nodes with a label",
        (*tables, "--id=user", "--chunks=1"): "chunks 1",
        ("--data", str(tmp_path), "--out", str(tmp_path / "x")): r"nodes\.csv",
    }.items():
        with pytest.raises(SystemExit, match=want):
            prequential.main(list(arguments))
    assert not (tmp_path / "x").exists()

"""An artifact logged to a local MLflow, loaded, and published by its name: mlflow-skinny suffices."""

from __future__ import annotations

import json
import os
import pathlib
import random
import stat
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rivulet_mcond import ArtifactError, open_artifact

from .conftest import Set

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install mlflow-skinny")
pd = pytest.importorskip("pandas")
from rivulet_mcond import mlflow as models  # noqa: E402
from rivulet_mcond import tables  # noqa: E402

Trained = Callable[[str, str], Set]


@pytest.fixture
def store(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A store of files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    mlflow.set_registry_uri((tmp_path / "mlruns").as_uri())
    return tmp_path


def table(of: Set) -> pd.DataFrame:
    """The arrivals as a table with columns of lists."""
    rows = [json.loads(line) for line in of.lines.read_bytes().splitlines()]
    d = open_artifact(of.artifact).features
    for row in rows:
        if isinstance(row["features"], dict):
            dense = np.zeros(d)
            dense[row["features"]["indices"]] = row["features"].get("values", 1)
            row["features"] = dense.tolist()
    return pd.DataFrame(rows)[["id", "features", "edges"]]


def test_a_logged_artifact_predicts_as_the_program_does(trained: Trained, store: pathlib.Path) -> None:
    of = trained("small", "sgc,ssgc,gcn,sage,appnp,cheby")
    for model in ("sgc", "sage"):
        info = models.log_artifact(of.artifact, model=model, registered_model_name="papers")
        got = mlflow.pyfunc.load_model(info.model_uri).predict(table(of))
        want = of.predict(model, "auto", output=())
        assert got["id"].tolist() == [w["id"] for w in want]
        assert np.abs(got["probability"] - [w["probability"] for w in want]).max() < 1e-5
        assert (got["class"] == [w["class"] for w in want]).mean() > 0.999
    run = mlflow.get_run(info.run_id)
    artifact = open_artifact(of.artifact)
    assert run.data.params["artifact"] == artifact.version
    assert run.data.params["synthetic_nodes"] == str(artifact.manifest["synthetic_nodes"])
    validation = artifact.manifest["reference"]["models"]["sage"]["accuracy"]
    assert run.data.metrics["sage/validation/accuracy"] == validation
    by_name = mlflow.pyfunc.load_model("models:/papers/2").predict(
        table(of).head(5).assign(edges=[json.dumps(edges) for edges in table(of).head(5)["edges"]])
    )
    assert by_name["probability"].tolist() == got["probability"].head(5).tolist()


def test_a_model_is_published_by_its_name(trained: Trained, store: pathlib.Path) -> None:
    of = trained("small", "sgc,ssgc,gcn,sage,appnp,cheby")
    models.main(["log", str(of.artifact), "papers"])
    fake = store / "trainer"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {store}/said\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    models.publish("models:/papers/1", "--activate=false", program=str(fake))
    said = (store / "said").read_text().split()
    assert said[:2] == ["publish", "--artifact"]
    assert said[3:] == ["--activate=false"]
    assert open_artifact(said[2]).version == open_artifact(of.artifact).version
    os.environ.pop("RIVULET_TRAINER", None)


def test_what_is_trained_is_logged(
    programs: pathlib.Path, store: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVULET_TRAINER", str(programs / "trainer"))
    models.main(
        ["train", "papers", "--preset", "small", "--preset-nodes", "600", "--nodes", "12", "--costs=false"]
    )
    manifest = open_artifact(models.fetch("models:/papers/1")).manifest
    assert manifest["synthetic_nodes"] == 12
    assert mlflow.get_run(model_run("papers")).data.params["artifact"] == manifest["version"]
    with pytest.raises(subprocess.CalledProcessError):
        models.main(["train", "papers", "--preset", "nothing"])


def model_run(name: str) -> str:
    """The run of a registered model's first version."""
    return str(mlflow.MlflowClient().get_model_version(name, "1").run_id)


def test_what_is_no_artifact_is_refused(store: pathlib.Path) -> None:
    with pytest.raises(ArtifactError):
        models.log_artifact(store)


def people(work: pathlib.Path, kind: str) -> list[str]:
    """Tables of people with named features; the flags of `trainer train` for them."""
    rnd = random.Random(11)
    n, split = 150, ["train"] * 5 + ["val"] * 2 + ["test"] * 3
    y = [i % 2 for i in range(n)]
    nodes = {
        "id": [f"n{i}" for i in range(n)],
        "split": [split[i % 10] for i in range(n)],
        "plan": [rnd.choice(["gold", "silver"] if c else ["silver", "free"]) for c in y],
        "age": [None if rnd.random() < 0.05 else round(rnd.gauss(50 if c else 30, 9), 1) for c in y],
        "active": [rnd.random() < (0.8 if c else 0.3) for c in y],
        "about": [f"likes {rnd.choice(['tea', 'milk', 'salt'])} and {rnd.randrange(9000)}" for _ in y],
    }
    near = lambda i, j: i != j and (y[i] == y[j] or rnd.random() < 0.2)  # noqa: E731
    pairs = [(i, j) for i in range(n) for j in rnd.sample(range(n), 3) if near(i, j)]
    edges = {"source": [f"n{i}" for i, _ in pairs], "target": [f"n{j}" for _, j in pairs]}
    options: dict[str, Any] = {}
    if kind == "links":
        more = {"id": [f"i{k}" for k in range(20)], "split": ["train"] * 20}
        nodes = {name: [*values, *more.get(name, [None] * 20)] for name, values in nodes.items()}
        nodes["kind"] = ["user"] * n + ["item"] * 20
        pairs = [(i, rnd.randrange(10) + 10 * y[i]) for i in range(n) for _ in range(4)]
        edges = {"source": [f"n{i}" for i, _ in pairs], "target": [f"i{k}" for _, k in pairs]}
        options = {"task": "links", "candidates": "kind=item"}
    else:
        nodes["label"] = ["yes" if c else "no" for c in y]
    if kind == "types":
        edges["kind"], options = [rnd.choice(["buys", "views"]) for _ in pairs], {"type": "kind"}
    if kind == "weights":
        edges["weight"] = [rnd.lognormvariate(0, 1) for _ in pairs]
    tables.write(work, nodes=nodes, edges=edges, **options)
    return ["--models", "rsgc"] if kind == "types" else []


FRAMES = {
    "as pandas read them": lambda frame: frame,
    "pandas' own types": lambda frame: frame.convert_dtypes(),
    "types of pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "objects": lambda frame: frame.astype(object).where(frame.notna(), None),
    "another index": lambda frame: frame.set_index(pd.Index(range(10, 10 + len(frame)))),
    "the id as index": lambda frame: frame.set_index("id"),
    "categories": lambda frame: frame.astype({"plan": "category"}),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False),
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
}


@pytest.mark.parametrize("kind", ["classes", "weights", "types", "links"])
def test_a_table_is_read_as_the_program_reads_lines(
    kind: str, programs: pathlib.Path, store: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a table holds missing values and lists, the answers are those of `rivulet predict` on lines."""
    pytest.importorskip("pyarrow")
    options = people(store / "data", kind)
    subprocess.run(
        [
            programs / "trainer",
            "train",
            "--data",
            store / "data",
            "--out",
            store / "model",
            "--costs=false",
            *options,
        ],
        check=True,
        capture_output=True,
    )
    far = "i" if kind == "links" else "n"
    header, *lines = [
        "id,plan,age,active,about,edges,weights,types",
        f"x1,gold,55,true,likes tea,{far}1 {far}3 {far}7,0.5 1 2,buys views buys",
        f'x2,gold,55,true,likes tea,"{far}1,{far}3,n7","0.5,1,2","buys,views,buys"',
        f"x3,gold,,true,likes tea,{far}1;{far}3;zz,0.5;1;2,buys;views;buys",
        f"x4,free,20,false,,{far}1|{far}3,3|4,views|sells",
        f'x5,gold,55,true,likes tea,"[""{far}1"", ""{far}3""]","[0.5, 1]","[""buys"", ""buys""]"',
        f"x6,,55,,,{far}4,2,views",
        "x7,silver,31.5,false,likes salt,,,",
    ]
    file = store / "rows.csv"
    file.write_text("\n".join([header, *lines]) + "\n")
    frame = pd.read_csv(file)
    beside = {"weights", "types"} - {kind}
    frame = frame.drop(columns=[name for name in beside if name in frame])
    rows = [
        ["x1", ("gold", 55, True, "likes tea"), f"{far}1 {far}3 {far}7", "0.5 1 2", "buys views buys"],
        ["x2", ("gold", 55, True, "likes tea"), f"{far}1 {far}3 n7", "0.5 1 2", "buys views buys"],
        ["x3", ("gold", None, True, "likes tea"), f"{far}1 {far}3 zz", "0.5 1 2", "buys views buys"],
        ["x4", ("free", 20, False, None), f"{far}1 {far}3", "3 4", "views sells"],
        ["x5", ("gold", 55, True, "likes tea"), f"{far}1 {far}3", "0.5 1", "buys buys"],
        ["x6", (None, 55, None, None), f"{far}4", "2", "views"],
        ["x7", ("silver", 31.5, False, "likes salt"), "", "", ""],
    ]
    given = b""
    for id, values, edges, weights, types in rows:
        named = dict(zip(("plan", "age", "active", "about"), values, strict=True))
        said: dict[str, Any] = {"id": id, "features": {"named": named}, "edges": edges.split()}
        said |= {"weights": [float(w) for w in weights.split()]} if kind == "weights" and weights else {}
        said |= {"types": types.split()} if kind == "types" and types else {}
        given += json.dumps(said).encode() + b"\n"
    done = subprocess.run(
        [programs / "rivulet", "predict", "--artifact", store / "model"],
        input=given,
        capture_output=True,
        check=True,
    )
    want = [json.loads(line) for line in done.stdout.splitlines()]
    model = mlflow.pyfunc.load_model(models.log_artifact(store / "model").model_uri)
    for name, form in FRAMES.items():
        got = model.predict(form(frame))
        if kind == "links":
            for line in want:
                mine = got[got["id"] == line["id"]]
                assert mine["candidate"].tolist() == [of["id"] for of in line["links"]], name
                np.testing.assert_allclose(mine["score"], [of["score"] for of in line["links"]], atol=1e-5)
            continue
        assert got["id"].tolist() == [line["id"] for line in want], name
        assert got["class_name"].tolist() == [line["class_name"] for line in want], name
        np.testing.assert_allclose(got["probability"], [line["probability"] for line in want], atol=1e-5)
        for count in ("known_neighbours", "unknown_neighbours"):
            assert got[count].tolist() == [line.get(count, 0) for line in want], name
    with pytest.raises(ValueError, match="no column id among"):
        model.predict(frame.drop(columns="id"))
    with pytest.raises(ValueError, match=r"features\.named\.shoe: the schema has no such feature"):
        model.predict(frame.assign(shoe=3))

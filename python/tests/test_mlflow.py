"""An artifact logged to a local MLflow, loaded, and published by its name: mlflow-skinny suffices."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

from rivulet_mcond import ArtifactError, open_artifact

from .conftest import Set

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install mlflow-skinny")
pd = pytest.importorskip("pandas")
from rivulet_mcond import mlflow as models  # noqa: E402

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

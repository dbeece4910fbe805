"""Artifacts as models of MLflow: logged with their metrics, loaded to predict tables, published by their names.

    log_artifact("out/artifact", registered_model_name="papers")
    mlflow.pyfunc.load_model("models:/papers/1").predict(frame)
    publish("models:/papers/1", "--activate=false")

The last line as a command: `python -m rivulet_mcond.mlflow publish models:/papers/1 --activate=false`.

`train("papers", "--data", "DIR")` trains with `trainer train` before it logs.

The model in MLflow is the artifact's directory, with this module as the loader: nothing is pickled.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import mlflow
import mlflow.pyfunc
from mlflow.models import Model
from mlflow.models.model import ModelInfo

from ._columns import Table
from .arrivals import Arrival
from .artifact import LABELS, LINKS, NUMBER, Artifact, open_artifact
from .frames import Form, arrivals_from_frame
from .predict import Predictor

if TYPE_CHECKING:
    import pandas as pd


def log_artifact(
    directory: str | os.PathLike[str],
    name: str = "model",
    *,
    model: str | None = None,
    calibration: str = "auto",
    registered_model_name: str | None = None,
) -> ModelInfo:
    """Log an artifact as a model, with parameters and metrics of its manifest, in the active run or a new one.

    model and calibration are those of `Predictor`. Raises ArtifactError for a directory that is no artifact.
    """
    artifact = open_artifact(directory)
    Predictor(artifact, model, calibration)
    config = {"calibration": calibration} | ({} if model is None else {"model": model})
    with contextlib.nullcontext() if mlflow.active_run() else mlflow.start_run():
        mlflow.log_params(parameters(artifact))
        mlflow.log_metrics(metrics(artifact))
        return mlflow.pyfunc.log_model(
            name=name,
            loader_module=__name__,
            data_path=str(artifact.directory),
            model_config=config,
            pip_requirements=["rivulet-mcond[mlflow]"],
            registered_model_name=registered_model_name,
        )


def train(registered_model_name: str, *arguments: str, program: str = "trainer") -> ModelInfo:
    """Log what `trainer train` makes with further arguments, such as --data DIR, as a registered model.

    program is the trainer, by its name or path. Raises subprocess.CalledProcessError if it fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        out = str(pathlib.Path(directory, "artifact"))
        subprocess.run([program, "train", *arguments, "--out", out], check=True)
        return log_artifact(out, registered_model_name=registered_model_name)


def parameters(artifact: Artifact) -> dict[str, Any]:
    """Return what the artifact was made of, as MLflow's parameters."""
    m, data = artifact.manifest, artifact.manifest["data"]
    return {
        "artifact": artifact.version,
        "task": artifact.task,
        "method": m["method"],
        "seed": m["seed"],
        "synthetic_nodes": m["synthetic_nodes"],
        "default_model": m["default_model"],
        "models": ",".join(artifact.models),
        **{f"data.{name}": data[name] for name in ("name", "fingerprint", "nodes", "edges", "features")},
    }


def metrics(artifact: Artifact) -> dict[str, float]:
    """Return what training measured: accuracy on the validation nodes, and each figure of the test nodes."""
    out: dict[str, float] = {}
    for model, of in artifact.manifest.get("reference", {}).get("models", {}).items():
        out[f"{model}/validation/accuracy"] = of["accuracy"]
    for of in artifact.manifest.get("metrics") or []:
        place = "/".join((of["model"], of["setting"].replace("->", "-"), of["batch"], of["calibration"]))
        for figure in ("accuracy", "r2", "micro_f1", "map"):
            if of.get(figure):
                out.setdefault(f"{place}/{figure}", of[figure])
    return out


class ArtifactModel:
    """An artifact that predicts the rows of a table, for `mlflow.pyfunc.load_model`."""

    def __init__(self, predictor: Predictor) -> None:
        """Predict by a predictor."""
        self.predictor = predictor

    def predict(self, frame: Any, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return a prediction for each row, as `Predictions.to_frame` does; of links the best candidates.

        The table has the columns id, edges, weights, incoming, types, time, and features as one column of
        lists or as columns of their own; `frames.arrivals_from_frame` says what their values may be.
        """
        given = arrivals(self.predictor.artifact, frame)
        task = self.predictor.artifact.task
        if task == NUMBER:
            return self.predictor.predict_numbers(given).to_frame()
        if task == LABELS:
            return self.predictor.predict_labels(given).to_frame()
        if task == LINKS:
            return self.predictor.predict_links(given).to_frame()
        return self.predictor.predict(given).to_frame()


def arrivals(artifact: Artifact, frame: Any) -> list[Arrival]:
    """Return the arrivals of a table, of which all columns but those of `ArtifactModel.predict` are features."""
    table = Table(frame)
    there = {
        name: name if table.has(name) else None for name in ("edges", "weights", "incoming", "types", "time")
    }
    features = "features" if table.has("features") else None
    form: Form = "dense" if artifact.schema is None else "named"
    return arrivals_from_frame(frame, id="id", features=features, form=form, **there)


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> ArtifactModel:
    """Load the artifact that was logged; MLflow calls this."""
    config = model_config or {}
    predictor = Predictor(open_artifact(path), config.get("model"), config.get("calibration", "auto"))
    return ArtifactModel(predictor)


def fetch(uri: str, directory: str | os.PathLike[str] | None = None) -> pathlib.Path:
    """Return the artifact's directory of a model, such as models:/papers/1 or runs:/ID/model, downloaded."""
    into = None if directory is None else str(directory)
    local = pathlib.Path(mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=into))
    flavor = Model.load(str(local)).flavors[mlflow.pyfunc.FLAVOR_NAME]
    if flavor.get("loader_module") != __name__:
        raise ValueError(f"{uri} is no artifact of Rivulet: log it with rivulet_mcond.mlflow.log_artifact")
    return local / str(flavor["data"])


def publish(uri: str, *arguments: str, program: str = "trainer") -> None:
    """Publish a model of MLflow to Redis: `trainer publish --artifact` with further arguments.

    program is the trainer, by its name or path. Raises subprocess.CalledProcessError if it fails.
    """
    subprocess.run([program, "publish", "--artifact", str(fetch(uri)), *arguments], check=True)


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line: train NAME [ARGUMENTS], log DIRECTORY [NAME], or publish URI [ARGUMENTS].

    Arguments are those of `trainer train` and `trainer publish`; RIVULET_TRAINER names another program.
    """
    program = os.environ.get("RIVULET_TRAINER", "trainer")
    match list(sys.argv[1:] if given is None else given):
        case ["train", name, *arguments]:
            print(train(name, *arguments, program=program).model_uri)
        case ["log", directory, *names] if len(names) <= 1:
            print(log_artifact(directory, registered_model_name=names[0] if names else None).model_uri)
        case ["publish", uri, *arguments]:
            publish(uri, *arguments, program=program)
        case _:
            commands = "train NAME [ARGUMENTS] | log DIRECTORY [NAME] | publish URI [ARGUMENTS]"
            sys.exit(f"usage: python -m rivulet_mcond.mlflow ({commands})")


if __name__ == "__main__":
    main()

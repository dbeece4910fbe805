"""An artifact behind FastAPI and PyTorch: POST a list of arrivals.

/predict is as FastAPI's manual has it, with models of Pydantic by which the body is checked and the answer is written. /unchecked
is as fast as it gets: orjson, and an arrival that is wrong ends in a 500. Tensors are made of whole batches in both. The
model is sgc or gcn, frozen, without propagation.

RIVULET_PEER_DIRECTORY names the directory that has artifact/; answering.py starts it with uvicorn.
"""
import datetime
import os

import numpy as np
import orjson
import torch
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

import serving

torch.set_num_threads(int(os.environ.get("RIVULET_PEER_THREADS", "1")))
torch.set_grad_enabled(False)
ARTIFACT = serving.Artifact(os.environ["RIVULET_PEER_DIRECTORY"] + "/artifact")
MODEL = os.environ.get("RIVULET_PEER_MODEL", "sgc")
DEPLOYMENT, INFO = serving.Frozen(ARTIFACT, MODEL), ARTIFACT.info(MODEL)
CLASSES, VERSION = ARTIFACT.manifest["data"]["classes"], ARTIFACT.manifest["version"]
FEATURES = ARTIFACT.manifest["data"]["features"]


class Batch(serving.Batch):
    """The same tensors as serving.Batch, made by one assignment each."""

    def __init__(self, arrivals):
        n, index = len(arrivals), ARTIFACT.index
        rows, columns, values, of, neighbour = [], [], [], [], []
        self.listed = [0] * n
        for i, a in enumerate(arrivals):
            f = a["features"]
            if isinstance(f, dict):
                indices = f["indices"]
                columns += indices
                values += f.get("values") or [1.0] * len(indices)
            else:
                indices = range(len(f))
                columns += indices
                values += f
            rows += [i] * len(indices)
            edges = dict.fromkeys(map(str, a.get("edges") or []))
            self.listed[i] = len(edges)
            known = [index[e] for e in edges if e in index]
            of += [i] * len(known)
            neighbour += known
        x = np.zeros((n, FEATURES), np.float32)
        x[rows, columns] = values
        self.x = torch.from_numpy(x)
        self.of, self.neighbour = torch.tensor(of, dtype=torch.long), torch.tensor(neighbour, dtype=torch.long)
        self.known = torch.bincount(self.of, minlength=n).float()


class Sparse(BaseModel):
    indices: list[int]
    values: list[float] | None = None


class Arrival(BaseModel):
    id: str | int
    features: Sparse | list[float]
    edges: list[str | int] | None = None
    time: datetime.datetime | None = None


class Prediction(BaseModel):
    id: str
    class_index: int
    class_name: str
    probability: float
    artifact: str
    known_neighbours: int
    unknown_neighbours: int


def answers(arrivals):
    batch = Batch(arrivals)
    probabilities, classes = serving.answer(DEPLOYMENT, INFO, batch).max(1)
    return [
        {"id": str(a["id"]), "class_index": c, "class_name": CLASSES[c], "probability": p, "artifact": VERSION, "known_neighbours": int(k),
         "unknown_neighbours": n - int(k)}
        for a, c, p, k, n in zip(arrivals, classes.tolist(), probabilities.tolist(), batch.known.tolist(), batch.listed)
    ]


app = FastAPI()


@app.post("/predict")
async def predict(arrivals: list[Arrival]) -> list[Prediction]:
    return answers([a.model_dump() for a in arrivals])


@app.post("/unchecked")
async def unchecked(request: Request):
    return Response(orjson.dumps(answers(orjson.loads(await request.body()))), media_type="application/json")

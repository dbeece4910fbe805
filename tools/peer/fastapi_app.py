"""An artifact behind FastAPI and PyTorch, as one would serve it: POST /predict with a list of arrivals.

RIVULET_PEER_DIRECTORY names the directory that has artifact/; answering.py starts it with uvicorn. The model is sgc or gcn,
frozen, without propagation. What costs time is done the fast way: orjson in place of validation by models, tensors made
of whole batches.
"""
import os

import numpy as np
import orjson
import torch
from fastapi import FastAPI, Request, Response

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


app = FastAPI()


@app.post("/predict")
async def predict(request: Request):
    arrivals = orjson.loads(await request.body())
    batch = Batch(arrivals)
    probabilities, classes = serving.answer(DEPLOYMENT, INFO, batch).max(1)
    return Response(orjson.dumps([
        {"id": str(a["id"]), "class": c, "class_name": CLASSES[c], "probability": p, "artifact": VERSION, "known_neighbours": int(k),
         "unknown_neighbours": n - int(k)}
        for a, c, p, k, n in zip(arrivals, classes.tolist(), probabilities.tolist(), batch.known.tolist(), batch.listed)
    ]), media_type="application/json")

"""Answers of the rivals: a batch of arrivals, as parsed JSON, to classes and probabilities.

TablesSGC adds up T's own tables by SciPy, SampledSAGE runs PyTorch on at most 25 neighbours with the first layer kept. Both read the
directory that original.py writes.
"""
import json
import pathlib

import numpy as np
import scipy.sparse as sp

from original import Preprocess


class Model:
    """What both read: ids, preprocessing, classes."""

    name = ""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        model = json.loads((directory / "model.json").read_text())
        p = model["preprocess"]
        self.preprocess = Preprocess(p["kind"], p["scale"], *(None if p[k] is None else np.array(p[k], np.float32) for k in ("mean", "std")))
        self.temperature, self.classes, self.features = model["temperature"][self.name], model["classes"], model["features"]
        self.index = {key: i for i, key in enumerate(json.loads((directory / "ids.json").read_text()))}
        arrays = np.load(directory / f"{self.name}.npz")
        for key in arrays.files:
            setattr(self, key, np.ascontiguousarray(arrays[key], np.float32))

    def raw(self, arrivals):
        """Features n×d."""
        if isinstance(arrivals[0]["features"], list):
            return np.array([a["features"] for a in arrivals], np.float32)
        x = np.zeros((len(arrivals), self.features), np.float32)
        for i, a in enumerate(arrivals):
            f = a["features"]
            x[i, f["indices"]] = f.get("values") or 1
        return x

    def neighbours(self, arrivals):
        """Places of the known neighbours of all, one after the other, and how many each has."""
        get = self.index.get
        known = [[k for k in map(get, set(a.get("edges") or ())) if k is not None] for a in arrivals]
        sizes = np.fromiter(map(len, known), np.int64, len(known))
        return np.fromiter((k for row in known for k in row), np.int64, int(sizes.sum())), sizes

    def predictions(self, arrivals):
        """The class's number and its probability for each arrival."""
        return self.chosen(self.logits(arrivals))

    def chosen(self, logits):
        logits = logits / self.temperature
        e = np.exp(logits - logits.max(1, keepdims=True))
        best = e.argmax(1)
        return best, e[np.arange(len(best)), best] / e.sum(1)


class TablesSGC(Model):
    name = "sgc"

    def logits(self, arrivals):
        return self.from_neighbours(*self.neighbours(arrivals), self.preprocess(self.raw(arrivals)))

    def from_neighbours(self, places, sizes, x):
        a = sp.csr_array((np.ones(len(places), np.float32), places, np.concatenate([[0], sizes.cumsum()])), (len(sizes), len(self.u)))
        s, c = a @ self.u, len(self.classes)
        z = x @ self.w
        q = (1 / np.sqrt(1 + sizes)).astype(np.float32)[:, None]
        h = q * (s[:, :c] + q * z)
        return q * (s[:, c:2 * c] + q * h) + q * q * s[:, 2 * c:] * z + self.b


class SampledSAGE(Model):
    """GraphSAGE of two layers, 25 neighbours drawn without repetition; those beyond them (10 in PyTorch Geometric's example) are in h."""

    name = "sage"

    def __init__(self, directory, fan_out=25, seed=0):
        super().__init__(directory)
        import torch
        self.torch, self.fan_out, self.random = torch, fan_out, np.random.default_rng(seed)
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        for key in ("n", "h", "ws1", "b1", "wn2", "ws2", "b2"):
            setattr(self, key, torch.from_numpy(getattr(self, key)))

    def sample(self, places, sizes):
        if sizes.max(initial=0) <= self.fan_out:
            return places, sizes
        ends = sizes.cumsum()
        rows = [places[end - n:end] if n <= self.fan_out else self.random.choice(places[end - n:end], self.fan_out, replace=False)
                for end, n in zip(ends, sizes)]
        return np.concatenate(rows), np.minimum(sizes, self.fan_out)

    def logits(self, arrivals):
        torch = self.torch
        places, sizes = self.sample(*self.neighbours(arrivals))
        places, starts = torch.from_numpy(places), torch.from_numpy(sizes.cumsum() - sizes)
        mean = lambda table: torch.nn.functional.embedding_bag(places, table, starts, mode="mean")  # 0 where there are none
        x = torch.from_numpy(np.ascontiguousarray(self.preprocess(self.raw(arrivals)), np.float32))
        own = (mean(self.n) + x @ self.ws1 + self.b1).relu()
        return (mean(self.h) @ self.wn2 + own @ self.ws2 + self.b2).numpy()


MODELS = {m.name: m for m in (TablesSGC, SampledSAGE)}

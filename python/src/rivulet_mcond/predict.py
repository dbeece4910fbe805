"""Predictions in this process, in NumPy, from an artifact's frozen tables: what `rivulet predict` answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _frozen
from .arrivals import Arrival, ArrivalError, Dense, Named, Sparse
from .artifact import Artifact, ArtifactError, Preprocess, SparseRows

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

_FEW_NEIGHBOURS = 4  # at most so many count as few

_CHUNK = 256  # arrivals at once: bounds memory, changes no prediction


@dataclass(frozen=True)
class Predictions:
    """Predictions of n arrivals over C classes."""

    ids: list[str]
    class_names: list[str]
    probabilities: Floats
    """n×C, after temperature and label or error propagation."""
    logits: Floats
    """n×C, the model's raw output, with what own features add."""
    known_neighbours: NDArray[np.int64]
    unknown_neighbours: NDArray[np.int64]

    @property
    def classes(self) -> NDArray[np.int64]:
        """Index of the most probable class of each; of equal ones the first."""
        return np.asarray(self.probabilities.argmax(axis=1), np.int64)

    def __len__(self) -> int:
        """Return n."""
        return len(self.ids)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with the columns of a prediction on the wire (event/README.md). Needs pandas."""
        import pandas as pd

        classes = self.classes
        return pd.DataFrame(
            {
                "id": self.ids,
                "class": classes,
                "class_name": [self.class_names[c] for c in classes],
                "probability": self.probabilities[np.arange(len(self)), classes],
                "known_neighbours": self.known_neighbours,
                "unknown_neighbours": self.unknown_neighbours,
            }
        )


class Predictor:
    """An artifact's model with its calibration, as a consumer serves it: frozen attachment, node batches."""

    def __init__(self, artifact: Artifact, model: str | None = None, calibration: str = "auto") -> None:
        """Choose a model of the artifact (None: its default) and a propagation: auto, none, lp or ep.

        Raises ArtifactError if the artifact does not have them, or not for frozen attachment.
        """
        name = model if model is not None else artifact.manifest["default_model"]
        if name not in artifact.models:
            raise ArtifactError(f"the artifact has no model {name!r}, only {', '.join(artifact.models)}")
        stored = artifact.models[name]
        if stored.info["attachment"] != "frozen":
            raise ArtifactError(
                f"model {name} is for {stored.info['attachment']} attachment; here only frozen is served"
            )
        self.artifact = artifact
        self.model = name
        kind = stored.info["calibration"]["kind"] if calibration == "auto" else calibration
        try:
            self._network = _frozen.build(name, stored.tensors)
            self._choose(stored.info, kind, stored.tensors)
        except (KeyError, ValueError) as error:
            raise ArtifactError(f"models/{name}.safetensors: {error}") from error
        self.calibration = kind

    def _choose(self, info: Any, kind: str, tensors: Any) -> None:
        self._propagation: _frozen.Tables | None = None
        self._exponents: Any = info.get("own", {}).get("exponents")
        self._temperature = float(np.float32(info["calibration"]["temperature"]))
        if kind == "none":
            return
        parameters = info.get("propagation", {}).get(kind)
        if parameters is None:
            raise ValueError(f"calibration {kind!r} is none of the model's")
        self._propagation = _frozen.Tables(tensors, f"{kind}.", False, _frozen.PROPAGATION_STEPS)
        self._temperature, self._alpha, self._gamma = (
            float(np.float32(parameters[name])) for name in ("temperature", "alpha", "gamma")
        )

    def predict(self, arrivals: Iterable[Arrival]) -> Predictions:
        """Predict arrivals, each on its own.

        Raises ArrivalError, naming the arrival, for the first that does not fit the model.
        """
        parts = [self._batch(chunk) for chunk in _chunks(arrivals)]
        empty = np.zeros((0, len(self.artifact.classes)))
        return Predictions(
            [id for part in parts for id in part.ids],
            self.artifact.classes,
            np.concatenate([empty, *(part.probabilities for part in parts)]),
            np.concatenate([empty, *(part.logits for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.known_neighbours for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.unknown_neighbours for part in parts)]),
        )

    def _batch(self, arrivals: Sequence[Arrival]) -> Predictions:
        features = [self._positions(arrival) for arrival in arrivals]
        known: list[list[int]] = []
        unknown = []
        for arrival in arrivals:
            neighbours = arrival.neighbours()
            rows = [self.artifact.mapping.row_of.get(id, -1) for id in neighbours]
            known.append([row for row in rows if row >= 0])
            unknown.append(len(rows) - len(known[-1]))
        degrees = np.array([len(rows) for rows in known], np.float64)
        batch = _frozen.Attached(
            _Projection(self.artifact.preprocess, features).apply,
            _attach(self.artifact.mapping.rows, known),
            degrees,
        )
        logits = self._network.logits(batch)
        if self._exponents is not None and self.artifact.own is not None:
            logits = logits + self._exponent(degrees)[:, None] * self.artifact.own.logits(batch.project)
        probabilities = _frozen.softmax(logits, self._temperature)
        if self._propagation is not None:
            f = _frozen.propagate(self._propagation, self._alpha, batch, self.calibration == "lp")
            probabilities = _frozen.normalised(_frozen.relu(probabilities + self._gamma * f))
        return Predictions(
            [arrival.id for arrival in arrivals],
            self.artifact.classes,
            probabilities,
            logits,
            degrees.astype(np.int64),
            np.array(unknown, np.int64),
        )

    def _exponent(self, degrees: Floats) -> Floats:
        """Return the exponent of own features of each arrival: artifact/FORMAT.md, own.safetensors."""
        none, few, many = (float(np.float32(self._exponents[name])) for name in ("none", "few", "many"))
        return np.where(degrees == 0, none, np.where(degrees <= _FEW_NEIGHBOURS, few, many))

    def _positions(self, arrival: Arrival) -> Sparse:
        try:
            arrival.check(self.artifact.features)
            x = arrival.features
            if isinstance(x, Named) and self.artifact.schema is not None:
                return self.artifact.schema.sparse(x.values)
            if isinstance(x, Named):
                raise ArrivalError(
                    "schema", "features.named", "the artifact has no schema: send features by position"
                )
            if isinstance(x, Dense):
                at = np.flatnonzero(x.values)
                return Sparse(at, x.values[at])
            return x
        except ArrivalError as error:
            error.args = (f"arrival {arrival.id}: {error}",)
            raise


def _chunks(arrivals: Iterable[Arrival]) -> Iterator[list[Arrival]]:
    chunk: list[Arrival] = []
    for arrival in arrivals:
        chunk.append(arrival)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _attach(m: SparseRows, neighbours: Sequence[Sequence[int]]) -> Floats:
    """Return r = aM, n×N', of the rows of M of each arrival's known neighbours."""
    r = np.zeros((len(neighbours), m.columns))
    rows = np.array([row for of in neighbours for row in of], np.int64)
    if len(rows) == 0:
        return r
    owners = np.repeat(np.arange(len(neighbours)), [len(of) for of in neighbours])
    lengths = m.indptr[rows + 1] - m.indptr[rows]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.repeat(m.indptr[rows], lengths) + within
    np.add.at(r, (np.repeat(owners, lengths), m.indices[at]), m.values[at].astype(np.float64))
    return r


class _Projection:
    """x ↦ pre(x)·W with the preprocessing folded into W: pre(x)W = norm(x)(Scale/Std)W − (Scale·Mean/Std)W."""

    def __init__(self, preprocess: Preprocess, features: Sequence[Sparse]) -> None:
        self.preprocess = preprocess
        indices = np.concatenate([np.zeros(0, np.int32), *(x.indices for x in features)])
        self.columns, at = np.unique(indices, return_inverse=True)
        self.x = np.zeros((len(features), len(self.columns)))
        rows = np.repeat(np.arange(len(features)), [len(x.indices) for x in features])
        self.x[rows, at.reshape(-1)] = np.concatenate([np.zeros(0), *(x.values for x in features)])
        self.x /= self._norms()

    def _norms(self) -> Floats:
        n = (len(self.x), 1)
        if self.preprocess.kind == "l1":
            return np.asarray(np.maximum(np.abs(self.x).sum(axis=1), 1).reshape(n))
        if self.preprocess.kind == "l2-center":
            norms = np.sqrt((self.x * self.x).sum(axis=1))
            return np.asarray(np.where(norms > 0, norms, 1).reshape(n))
        return np.ones(n)

    def apply(self, w: Floats) -> Floats:
        p = self.preprocess
        if p.kind == "none":
            return np.asarray(self.x @ w[self.columns])
        folded = w * (p.scale if p.std is None else (p.scale / p.std)[:, None])
        out = np.asarray(self.x @ folded[self.columns])
        return out - p.mean @ folded if p.mean is not None else out

"""Predictions in this process, in NumPy, from an artifact's frozen tables: what `rivulet predict` answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _frozen
from .arrivals import Arrival, ArrivalError, Dense, Named, Sparse
from .artifact import LABELS, LINKS, NUMBER, Artifact, ArtifactError, Preprocess, Slots, SparseRows

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

_VERBS = {
    "classes": ("classes", "predict"),
    LABELS: ("labels", "predict_labels"),
    NUMBER: ("numbers", "predict_numbers"),
    LINKS: ("links", "predict_links"),
}

_FEW_NEIGHBOURS = 4  # at most so many count as few

_CHUNK = 256  # arrivals at once: bounds memory, changes no prediction


@dataclass(frozen=True)
class Predictions:
    """Predictions of n arrivals over C classes."""

    ids: list[str]
    class_names: list[str]
    probabilities: Floats
    """n×C, after temperature and propagation."""
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


@dataclass(frozen=True)
class Numbers:
    """Predictions of n arrivals by an artifact whose task is number, of C outputs."""

    ids: list[str]
    names: list[str]
    """Of the outputs."""
    values: Floats
    """n×C."""
    radius: Floats
    """C: half the width of the interval within which the number lies with a probability of 90%."""
    known_neighbours: NDArray[np.int64]
    unknown_neighbours: NDArray[np.int64]

    def __len__(self) -> int:
        """Return n."""
        return len(self.ids)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with NAME, NAME_lower and NAME_upper of each output. Needs pandas."""
        import pandas as pd

        columns: dict[str, Any] = {"id": self.ids}
        for k, name in enumerate(self.names):
            value, radius = self.values[:, k], self.radius[k]
            columns |= {name: value, f"{name}_lower": value - radius, f"{name}_upper": value + radius}
        counts = {"known_neighbours": self.known_neighbours, "unknown_neighbours": self.unknown_neighbours}
        return pd.DataFrame(columns | counts)


@dataclass(frozen=True)
class Labels:
    """Predictions of n arrivals by an artifact whose task is labels, of C labels."""

    ids: list[str]
    names: list[str]
    """Of the labels."""
    probabilities: Floats
    """n×C: of each label, after its temperature."""
    logits: Floats
    """n×C, the model's raw output."""
    known_neighbours: NDArray[np.int64]
    unknown_neighbours: NDArray[np.int64]

    def __len__(self) -> int:
        """Return n."""
        return len(self.ids)

    @property
    def labels(self) -> list[list[str]]:
        """The labels of each arrival whose probability is one half or more, the most probable first."""
        best = np.argsort(-self.probabilities, axis=1, kind="stable")
        return [
            [self.names[k] for k in order if row[k] >= 0.5]
            for row, order in zip(self.probabilities, best, strict=True)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the labels, and a column with the probability of each label. Needs pandas."""
        import pandas as pd

        columns: dict[str, Any] = {"id": self.ids, "labels": self.labels}
        columns |= {name: self.probabilities[:, k] for k, name in enumerate(self.names)}
        counts = {"known_neighbours": self.known_neighbours, "unknown_neighbours": self.unknown_neighbours}
        return pd.DataFrame(columns | counts)


@dataclass(frozen=True)
class Links:
    """Predictions of n arrivals by an artifact whose task is links."""

    ids: list[str]
    candidates: list[list[str]]
    """The candidates with the highest scores of each arrival, best first, without its neighbours."""
    scores: list[Floats]
    """Of these candidates."""
    embeddings: Floats
    """n×outputs: the model's output."""
    known_neighbours: NDArray[np.int64]
    unknown_neighbours: NDArray[np.int64]

    def __len__(self) -> int:
        """Return n."""
        return len(self.ids)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of arrivals and candidates with their rank, from 1, and score. Needs pandas."""
        import pandas as pd

        rows = [
            (id, candidate, rank, score)
            for id, found, scores in zip(self.ids, self.candidates, self.scores, strict=True)
            for rank, (candidate, score) in enumerate(zip(found, scores, strict=True), 1)
        ]
        return pd.DataFrame(rows, columns=["id", "candidate", "rank", "score"])


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
        self._info = stored.info
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
        """Predict the classes of arrivals, each on its own.

        Raises ArrivalError, naming the arrival, for the first that does not fit the model, and ArtifactError
        where the artifact predicts something else.
        """
        self._want("classes")
        return self._predict(arrivals)

    def predict_labels(self, arrivals: Iterable[Arrival]) -> Labels:
        """Predict the probabilities of several labels of arrivals, each on its own.

        Raises ArrivalError as predict does, and ArtifactError where the artifact predicts something else.
        """
        self._want(LABELS)
        of = self._predict(arrivals)
        p = 1 / (1 + np.exp(-np.clip(of.logits / self._of_each("temperatures", of), -700, 700)))
        return Labels(of.ids, of.class_names, p, of.logits, of.known_neighbours, of.unknown_neighbours)

    def predict_numbers(self, arrivals: Iterable[Arrival]) -> Numbers:
        """Predict the numbers of arrivals, each on its own.

        Raises ArrivalError as predict does, and ArtifactError where the artifact predicts something else.
        """
        self._want(NUMBER)
        of = self._predict(arrivals)
        radius = self._of_each("radius", of)
        return Numbers(of.ids, of.class_names, of.logits, radius, of.known_neighbours, of.unknown_neighbours)

    def predict_links(self, arrivals: Iterable[Arrival], k: int = 10) -> Links:
        """Find the k candidates with the highest scores for arrivals, each on its own.

        Raises ArrivalError as predict does, and ArtifactError where the artifact predicts something else.
        """
        self._want(LINKS)
        every, of = list(arrivals), self.artifact.candidates
        if of is None:
            raise ArtifactError("candidates.safetensors: missing, the task is links")
        got, vectors = self._predict(every), of.vectors.astype(np.float64)
        candidates, scores = list[list[str]](), list[Floats]()
        for arrival, embedding in zip(every, got.logits, strict=True):
            score, linked = vectors @ embedding, {edge.id for edge in arrival.neighbours()}
            order = np.argsort(-score, kind="stable")[: k + len(linked)]
            best = [c for c in order.tolist() if of.ids[c] not in linked][:k]
            candidates.append([of.ids[c] for c in best])
            scores.append(score[best])
        return Links(got.ids, candidates, scores, got.logits, got.known_neighbours, got.unknown_neighbours)

    def _of_each(self, field: str, of: Predictions) -> Floats:
        """Return the manifest's numbers of the model, one for each label or output."""
        numbers = np.array(self._info.get(field, []), np.float64)
        if len(numbers) != len(of.class_names):
            raise ArtifactError(
                f"manifest.json: models: {self.model}: {field} has {len(numbers)} numbers, "
                f"want {len(of.class_names)}"
            )
        return numbers

    def _want(self, task: str) -> None:
        if self.artifact.task != task:
            what, verb = _VERBS[self.artifact.task]
            raise ArtifactError(f"the artifact predicts {what}: use {verb}")

    def _predict(self, arrivals: Iterable[Arrival]) -> Predictions:
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
        mapping, slots = self.artifact.mapping, self.artifact.slots
        edges = [arrival.neighbours() for arrival in arrivals]
        known: list[list[tuple[int, dict[int, float]]]] = []  # rows of M, with what the edges read
        for of in edges:
            read = [
                (row, slots.read(e, self.model == "sage"))
                for e in of
                if (row := mapping.row_of.get(e.id)) is not None
            ]
            known.append([(row, by) for row, by in read if by])
        counts = np.array([len(of) for of in known], np.int64)
        degrees = counts.astype(np.float64)
        if not slots.relational:
            degrees = np.array([sum(sum(by.values()) for _, by in of) for of in known], np.float64)
        batch = _frozen.Attached(
            _Projection(self.artifact.preprocess, features).apply,
            _attach(mapping.rows, [_readings(slots, of) for of in known], len(slots)),
            degrees,
            counts.astype(np.float64),
        )
        logits = self._network.logits(batch)
        if self._exponents is not None and self.artifact.own is not None:
            logits = logits + self._exponent(counts)[:, None] * self.artifact.own.logits(batch.project)
        probabilities = _frozen.softmax(logits, self._temperature)
        if self._propagation is not None:
            f = _frozen.propagate(self._propagation, self._alpha, batch, self.calibration == "lp")
            probabilities = _frozen.normalised(_frozen.relu(probabilities + self._gamma * f))
        return Predictions(
            [arrival.id for arrival in arrivals],
            self.artifact.classes,
            probabilities,
            logits,
            counts,
            np.array([len(of) for of in edges], np.int64) - counts,
        )

    def _exponent(self, degrees: NDArray[np.int64]) -> Floats:
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


_Reading: TypeAlias = tuple[int, int, float]
"""What an edge reads: a row of M, the slot of the tables that it meets, and by what it is multiplied."""


def _readings(slots: Slots, edges: Sequence[tuple[int, dict[int, float]]]) -> list[_Reading]:
    """Return what the edges of an arrival to its known neighbours read."""
    totals: dict[int, float] = {}
    for _, by in edges:
        for slot, weight in by.items():
            totals[slot] = totals.get(slot, 0.0) + weight if slots.relational else 1.0
    return [(row, slot, weight / totals[slot]) for row, by in edges for slot, weight in by.items()]


def _attach(m: SparseRows, readings: Sequence[Sequence[_Reading]], slots: int) -> Floats:
    """Return r = aM, n×(slots·N'), of the rows of M of each arrival's known neighbours."""
    r = np.zeros((len(readings), slots * m.columns))
    every = [reading for of in readings for reading in of]
    if not every:
        return r
    owners = np.repeat(np.arange(len(readings)), [len(of) for of in readings])
    rows = np.array([row for row, _, _ in every], np.int64)
    shifts = np.array([k * m.columns for _, k, _ in every], np.int64)
    times = np.array([by for _, _, by in every])
    lengths = m.indptr[rows + 1] - m.indptr[rows]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.repeat(m.indptr[rows], lengths) + within
    columns = m.indices[at] + np.repeat(shifts, lengths)
    np.add.at(r, (np.repeat(owners, lengths), columns), m.values[at] * np.repeat(times, lengths))
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

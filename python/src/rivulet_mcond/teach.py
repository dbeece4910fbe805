"""Train an SGC with PyTorch on S alone, as an artifact of `trainer train --spread --representation` has it.

    rivulet replay --data DIR --limit 100000 --out arrivals.jsonl
    python -m rivulet_mcond.teach ARTIFACT arrivals.jsonl DIR/class_map.json

Nothing of the original graph is read for the fits: they minimise the losses of docs/algorithm.md, section 5,
steps 7 (spread) and 8 (labels), over the tensors of spread.safetensors. Both models are then deployed on S
behind the artifact's M, by its tables of features, and their accuracy on the arrivals is printed in percent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrivals import Arrival
from .artifact import Artifact, ArtifactError, Spread, StoredModel, open_artifact
from .predict import Predictor

Floats = NDArray[np.float64]
Loss = Callable[[Any, Any, Any], Any]
"""(W d×C, b C, a namespace of arrays: numpy or torch) ↦ the loss, in the operations that both have."""


def _log_sum_exp(rows: Any, xp: Any) -> Any:
    return xp.log(xp.exp(rows - rows.max()).sum(-1)) + rows.max()


def spread_loss(s: Spread, labels: NDArray[np.int32], array: Callable[[Any], Any]) -> Loss:
    """Return the loss of a fit that knows how far nodes lie from the means: step 7.

    `array` makes arrays of the namespace in which the loss is computed.
    """
    factor, rest = s.narrow(s.rank)
    if s.rank == 0:  # a fit on means alone was better
        factor, rest = factor[:0], np.zeros_like(rest)
    means, v, diagonal = array(s.means), array(factor), array(rest)
    share = array(s.weights / s.weights.sum())
    own = array(np.eye(s.soft.shape[1])[labels])

    def loss(w: Any, b: Any, xp: Any) -> Any:
        k = w.T @ (v.T @ (v @ w) + diagonal[:, None] * w)
        wide = (k * array(np.eye(len(k)))).sum(0)
        apart = wide[None, :] + wide[:, None] - 2 * k  # (w_c − w_y)ᵀ Σ (w_c − w_y)
        logits = means @ w + b
        rows = logits - (logits * own).sum(1)[:, None] + 0.5 * (own @ apart)
        return (share * _log_sum_exp(rows, xp)).sum() + s.decay * (w * w).sum()

    return loss


def labels_loss(s: Spread, array: Callable[[Any], Any]) -> Loss:
    """Return the loss of a fit to soft labels: step 8."""
    means, v = array(s.means), array(s.factor[: len(s.soft_factor)])
    share, soft, pull = array(s.weights / s.weights.sum()), array(s.soft), array(s.soft_factor)

    def loss(w: Any, b: Any, xp: Any) -> Any:
        logits = means @ w + b
        fit = share * (_log_sum_exp(logits, xp) - (soft * logits).sum(1))
        return fit.sum() - (pull * (v @ w)).sum() + s.soft_decay * (w * w).sum()

    return loss


def minimise(loss: Loss, features: int, classes: int) -> tuple[Floats, Floats]:
    """Return W and b of a convex loss, by PyTorch's L-BFGS from zeros."""
    import torch

    w = torch.zeros(features, classes, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    descent = torch.optim.LBFGS(
        [w, b], max_iter=1000, history_size=15, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def closure() -> Any:
        descent.zero_grad()
        value = loss(w, b, torch)
        value.backward()
        return value

    descent.step(closure)
    return np.asarray(w.detach().numpy()), np.asarray(b.detach().numpy())


def teach(artifact: Artifact) -> dict[str, tuple[Floats, Floats]]:
    """Fit an SGC on S in both ways; return W and b of each."""
    import torch

    s = artifact.spread
    if s is None:
        raise ArtifactError(f"{artifact.directory} has no spread.safetensors: train it with --spread")
    array: Callable[[Any], Any] = lambda a: torch.as_tensor(np.array(a, np.float64))  # noqa: E731
    losses = {"S->S": spread_loss(s, artifact.labels, array), "S->S labels": labels_loss(s, array)}
    return {way: minimise(loss, artifact.features, len(artifact.classes)) for way, loss in losses.items()}


def deployed(artifact: Artifact, w: Floats, b: Floats) -> Predictor:
    """Deploy an SGC of two hops on S: its tables are the artifact's tables of features times W."""
    stored = artifact.models.get("sgc")
    if stored is None or "features.u1" not in stored.tensors or "features.u2" in stored.tensors:
        raise ArtifactError(
            f"{artifact.directory} has no tables of features of an sgc of two hops: use --representation"
        )
    tensors = {"lin.weight": w, "lin.bias": b.reshape(1, -1), "tables.c": stored.tensors["features.c"]}
    tensors |= {f"tables.u{k}": stored.tensors[f"features.u{k}"] @ w for k in range(2)}
    info = {key: of for key, of in stored.info.items() if key != "own"}
    model = StoredModel("sgc", info, tensors)
    return Predictor(dataclasses.replace(artifact, models={**artifact.models, "sgc": model}), "sgc", "none")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="rivulet_mcond.teach", description="Train an SGC on S alone.")
    parser.add_argument("artifact", type=pathlib.Path)
    parser.add_argument("arrivals", type=pathlib.Path, help="JSON lines of `rivulet replay --out`")
    parser.add_argument("labels", type=pathlib.Path, help="JSON object: the class of each id, as class_map.json")
    given = parser.parse_args(arguments)
    artifact = open_artifact(given.artifact)
    arrivals = [Arrival.from_json(line) for line in given.arrivals.read_bytes().splitlines()]
    said = json.loads(given.labels.read_text())
    index = {name: k for k, name in enumerate(artifact.classes)}
    want = np.array([index[str(said[arrival.id])] for arrival in arrivals])
    ways = {"O->S": Predictor(artifact, "sgc", "none")}
    ways |= {way: deployed(artifact, w, b) for way, (w, b) in teach(artifact).items()}
    for way, predictor in ways.items():
        right = 100 * float((predictor.predict(arrivals).classes == want).mean())
        print(f"{way:12} {right:6.2f} of {len(want)} arrivals")


if __name__ == "__main__":
    main()

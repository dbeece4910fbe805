"""The losses of a fit on S, against their formulas one number at a time; the fits themselves where torch is."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest

from rivulet_mcond.artifact import Spread
from rivulet_mcond.teach import labels_loss, minimise, spread_loss

N, D, C, R = 5, 4, 3, 2
LABELS = np.array([0, 1, 2, 0, 1], np.int32)


def spread(rank: int = R) -> Spread:
    rng = np.random.default_rng(3)
    soft = rng.random((N, C))
    pull = rng.normal(size=(R, C))
    return Spread(
        rng.normal(size=(N, D)),
        rng.integers(1, 9, N).astype(float),
        rng.normal(size=(R, D)),
        rng.random(D),
        rank,
        1e-2,
        soft / soft.sum(1, keepdims=True),
        0.01 * (pull - pull.mean(1, keepdims=True)),
        1e-3,
    )


def weights() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.normal(size=(D, C)), rng.normal(size=C)


@pytest.mark.parametrize("rank", [0, 1, R])
def test_spread_loss_is_the_formula(rank: int) -> None:
    s, (w, b) = spread(rank), weights()
    sigma = np.zeros((D, D))
    if rank > 0:  # all of the variance counts, whatever the rank; with 0 the means are alone
        sigma = np.diag(s.rest + (s.factor[rank:] ** 2).sum(0)) + s.factor[:rank].T @ s.factor[:rank]
    want = s.decay * float((w**2).sum())
    for k in range(N):
        y = LABELS[k]
        terms = []
        for c in range(C):
            apart = w[:, c] - w[:, y]
            terms.append(math.exp(apart @ s.means[k] + b[c] - b[y] + 0.5 * apart @ sigma @ apart))
        want += s.weights[k] / s.weights.sum() * math.log(sum(terms))
    assert float(spread_loss(s, LABELS, np.asarray)(w, b, np)) == pytest.approx(want, rel=1e-12)


def test_labels_loss_is_the_formula() -> None:
    s, (w, b) = spread(), weights()
    want = s.soft_decay * float((w**2).sum()) - float((s.soft_factor * (s.factor @ w)).sum())
    for k in range(N):
        logits = s.means[k] @ w + b
        log_p = logits - math.log(np.exp(logits).sum())
        want -= s.weights[k] / s.weights.sum() * float(s.soft[k] @ log_p)
    assert float(labels_loss(s, np.asarray)(w, b, np)) == pytest.approx(want, rel=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_torch_ends_where_no_change_lowers_the_loss() -> None:
    import torch

    s = spread()
    for make in (lambda a: spread_loss(s, LABELS, a), lambda a: labels_loss(s, a)):
        w, b = minimise(make(lambda a: torch.as_tensor(np.array(a, np.float64))), D, C)
        at = float(make(np.asarray)(w, b, np))
        rng = np.random.default_rng(5)
        for _ in range(50):
            change = 1e-3 * rng.normal(size=(D, C))
            assert float(make(np.asarray)(w + change, b, np)) > at - 1e-9

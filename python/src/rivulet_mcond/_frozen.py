"""Models in frozen attachment (docs/algorithm.md, sections 2 and 6), in float64, for node batches.

Notation: n arrivals, m = N' synthetic nodes, r = aM (n×m) their edges to them, deg (n) their known neighbours,
or the sum of the edges' weights, q = (1 + deg)^-½ as a column. u_t and c are the tables of a model's file, side
by side in one product with r. Where edges have weights or relations, r and the tables have m for each slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Projector = Callable[[Floats], Floats]
"""x ↦ pre(x)·W of a batch: takes W (d×h), returns n×h."""

PROPAGATION_STEPS = 10


@dataclass(frozen=True)
class Attached:
    """A batch as the model sees it."""

    project: Projector
    r: Floats
    degrees: Floats
    known: Floats
    """Numbers of known neighbours: degrees where edges have no weights."""

    @property
    def squares(self) -> Floats:
        """About the sums of the squared weights, as if all edges of an arrival had the mean weight."""
        return self.degrees**2 / np.maximum(self.known, 1)


class Tables:
    """The tables of a model, u_0 … and c, read by a batch with one product."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], prefix: str, ways: bool, count: int) -> None:
        """Take `count` tables from tensors; raises KeyError with the name of one that is missing."""
        parts = [tensors[f"{prefix}u{t}"] for t in range(count)]
        if ways:
            parts.append(tensors[f"{prefix}c"])
        self.widths = [part.shape[1] for part in parts]
        self.side_by_side = np.concatenate(parts, axis=1).astype(np.float64)

    def read(self, r: Floats) -> list[Floats]:
        """Return a·u_0, …, and last a·c where there is one."""
        return np.split(r @ self.side_by_side, np.cumsum(self.widths)[:-1], axis=1)


def relu(x: Floats) -> Floats:
    """Return max(x, 0)."""
    return np.maximum(x, 0)


class Mixture:
    """SGC and SSGC: logits = Σ_t w_t h^t + b."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], weights: Sequence[float]) -> None:
        """Take the weights w_0 … w_K of the hops."""
        self.weights, self.hops = weights, len(weights) - 1
        self.w, self.b = wide(tensors["lin.weight"]), wide(tensors["lin.bias"]).reshape(1, -1)
        self.tables = Tables(tensors, "tables.", True, self.hops)

    def logits(self, batch: Attached) -> Floats:
        """Return h^{t+1} = q(a·u_t + q h^t) + q² Σ_{m=1…t} (a·c^m) h^{t−m}, mixed."""
        q = (1 + batch.degrees)[:, None] ** -0.5
        *u, c = self.tables.read(batch.r)
        h = [batch.project(self.w)]
        for t in range(self.hops):
            after = q * (u[t] + q * h[t])
            for way in range(1, t + 1):
                after += q * q * c[:, way - 1 : way] * h[t - way]
            h.append(after)
        return sum((w * state for w, state in zip(self.weights, h, strict=True) if w), self.b)


class Restart:
    """APPNP: a perceptron of two layers whose answers are spread with a restart."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take weights, α and the number of hops."""
        self.w1, self.b1 = wide(tensors["lins.0.weight"]), wide(tensors["lins.0.bias"]).reshape(1, -1)
        self.w2, self.b2 = wide(tensors["lins.1.weight"]), wide(tensors["lins.1.bias"]).reshape(1, -1)
        self.alpha, self.hops = scalar(tensors, "alpha", 0.1), int(scalar(tensors, "hops", 10))
        self.tables = Tables(tensors, "tables.", True, self.hops)

    def logits(self, batch: Attached) -> Floats:
        """Return h^{t+1} = (1−α)[q(a·u_t + q h^t) + (1−α)q²(a·c)h^{t−1}] + αh⁰ of the last hop."""
        q, keep = (1 + batch.degrees)[:, None] ** -0.5, 1 - self.alpha
        *u, c = self.tables.read(batch.r)
        first = relu(batch.project(self.w1) + self.b1) @ self.w2 + self.b2
        before, h = np.zeros_like(first), first
        for t in range(self.hops):
            after = keep * (q * (u[t] + q * h) + keep * q * q * c * before) + self.alpha * first
            before, h = h, after
        return h


@dataclass(frozen=True)
class Operator:
    """How messages are scaled: in and out by the number of true edges, with self-loops or without."""

    scales: Callable[[Floats], tuple[Floats, Floats]]
    loops: bool


def _normalised(degrees: Floats) -> tuple[Floats, Floats]:
    scale = (1 + degrees) ** -0.5
    return scale, scale


def _mean(degrees: Floats) -> tuple[Floats, Floats]:
    return np.ones_like(degrees), _where_positive(degrees, -1.0)


def _symmetric(degrees: Floats) -> tuple[Floats, Floats]:
    scale = _where_positive(degrees, -0.5)
    return scale, scale


def _where_positive(x: Floats, power: float) -> Floats:
    return np.where(x > 0, np.where(x > 0, x, 1) ** power, 0)


@dataclass(frozen=True)
class Layer:
    """A layer: P x·neighbours + x·own + bias."""

    neighbours: Floats
    own: Floats | None
    bias: Floats

    def split(self, product: Floats) -> tuple[Floats, Floats | None]:
        """Divide x·[neighbours | own]."""
        width = self.bias.shape[1]
        return product[:, :width], product[:, width:] if self.own is not None else None

    @property
    def both(self) -> Floats:
        """[neighbours | own], neighbours alone where the layer has no own weights."""
        return self.neighbours if self.own is None else np.concatenate([self.neighbours, self.own], axis=1)


class Convolution:
    """GCN, GraphSAGE and Cheby (K = 2): L layers that read neighbours, with a relu in between."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], operator: Operator, layers: Sequence[Layer]) -> None:
        """Take one table for each layer."""
        self.operator, self.layers = operator, layers
        self.tables = Tables(tensors, "tables.", True, len(layers))

    def logits(self, batch: Attached) -> Floats:
        """Return p^L of docs/algorithm.md, section 2, «Frozen, deeper», without ã.

        p^l = out(a·u_{l−1} + [in z^l] + D^{l−1} Wn) + h^{l−1} Ws + b    h^l = relu(p^l)
        D^l = (a·c_l)∘(in z^l + D^{l−1} Ws/(a·c̄)), with self-loops (a·c_l)∘(in z^l + D^{l−1} Wn/k); D⁰ = 0
        """
        into, out = (scale[:, None] for scale in self.operator.scales(batch.degrees))
        *u, c = self.tables.read(batch.r)
        messages, own = self.layers[0].split(batch.project(self.layers[0].both))
        left, at = None, 0  # D^{l−1}, and where c_l begins
        for k, (layer, total) in enumerate(zip(self.layers, u, strict=True)):
            if left is not None:
                total = total + left @ layer.neighbours
            if self.operator.loops:
                total = total + into * messages
            p = out * total + layer.bias + (own if own is not None else 0)
            if k + 1 == len(self.layers):
                return p
            width, back = layer.bias.shape[1], into * messages
            if left is not None:
                back = back + self._through(layer, left, c, batch.squares)
            left, at = c[:, at : at + width] * back, at + width
            messages, own = self.layers[k + 1].split(relu(p) @ self.layers[k + 1].both)
        raise AssertionError("a convolution has layers")

    def _through(self, layer: Layer, left: Floats, c: Floats, squares: Floats) -> Floats:
        if self.operator.loops:
            passed, divisor = left @ layer.neighbours, squares[:, None]
        else:
            assert layer.own is not None
            passed, divisor = left @ layer.own, c[:, -1:]
        return np.where(divisor != 0, passed / np.where(divisor != 0, divisor, 1), 0)


class Relational:
    """rsgc, rgcn, dirsgc, dirsage: layers that read a mean for each relation of edges, a relu between them."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], own: str, bias: str) -> None:
        """Take the weights that each layer gives a node itself; what neighbours send is in the tables."""
        self.layers = list[tuple[Floats, Floats]]()
        while not self.layers or own.format(len(self.layers)) in tensors:
            k = len(self.layers)
            self.layers.append((wide(tensors[own.format(k)]), wide(tensors[bias.format(k)]).reshape(1, -1)))
            if own.format(k) == own:
                break
        self.tables = Tables(tensors, "tables.", False, len(self.layers))

    def logits(self, batch: Attached) -> Floats:
        """Return p^L of p^l = h^{l−1} W + r·u_l + b, h^l = relu(p^l), h⁰ = x; r has shares of means."""
        p: Floats | None = None
        for (own, bias), received in zip(self.layers, self.tables.read(batch.r), strict=True):
            p = (batch.project(own) if p is None else relu(p) @ own) + received + bias
        assert p is not None
        return p


Model = Mixture | Restart | Convolution | Relational


def build(name: str, tensors: Mapping[str, NDArray[Any]]) -> Model:
    """Make a model of its tensors; raises KeyError with the name of one that is missing."""
    if name == "sgc":
        return Mixture(tensors, [0.0] * int(scalar(tensors, "hops", 2)) + [1.0])
    if name == "ssgc":
        alpha, hops = scalar(tensors, "alpha", 0.05), int(scalar(tensors, "hops", 16))
        return Mixture(tensors, [alpha] + [(1 - alpha) / hops] * hops)
    if name == "appnp":
        return Restart(tensors)
    if name in _RELATIONAL:
        return Relational(tensors, *_RELATIONAL[name])
    if name in _LAYERS:
        operator, neighbours, own, bias, sign = _LAYERS[name]
        layers: list[Layer] = []
        while f"convs.{len(layers)}.{neighbours}" in tensors:
            prefix = f"convs.{len(layers)}."
            layers.append(
                Layer(
                    sign * wide(tensors[prefix + neighbours]),
                    wide(tensors[prefix + own]) if own else None,
                    wide(tensors[prefix + bias]).reshape(1, -1),
                )
            )
        if not layers:
            raise KeyError(f"convs.0.{neighbours}")
        return Convolution(tensors, operator, layers)
    raise ValueError(
        f"model {name!r} is not known, only appnp, cheby, dirsage, dirsgc, gcn, rgcn, rsgc, sage, sgc, ssgc"
    )


_RELATIONAL = {
    "dirsgc": ("lin.weight", "lin.bias"),
    "rsgc": ("lin.weight", "lin.bias"),
    "dirsage": ("convs.{}.lin.weight", "convs.{}.lin.bias"),
    "rgcn": ("convs.{}.root", "convs.{}.bias"),
}
_LAYERS = {
    "gcn": (Operator(_normalised, True), "lin.weight", None, "bias", 1),
    "sage": (Operator(_mean, False), "lin_l.weight", "lin_r.weight", "lin_l.bias", 1),
    "cheby": (Operator(_symmetric, False), "lins.1.weight", "lins.0.weight", "bias", -1),
}


def propagate(tables: Tables, alpha: float, batch: Attached, normalise: bool) -> Floats:
    """Return F of label (normalise) or error propagation: f⁰ = 0, f^{t+1} = α(q r·table_t + q² f^t)."""
    q = (1 + batch.degrees)[:, None] ** -0.5
    read = tables.read(batch.r)
    f = np.zeros_like(read[0])
    for u in read:
        f = alpha * q * (u + q * f)
    return normalised(f) if normalise else f


def normalised(rows: Floats) -> Floats:
    """Bring rows to sum 1; a row whose sum is not positive becomes 0."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.where(total > 0, total, 1), 0)


def softmax(logits: Floats, temperature: float) -> Floats:
    """Return softmax(logits/temperature) of each row."""
    e = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def wide(tensor: NDArray[Any]) -> Floats:
    """Return a tensor in float64."""
    return tensor.astype(np.float64)


def scalar(tensors: Mapping[str, NDArray[Any]], name: str, default: float) -> float:
    """Return a tensor of one number, or a default."""
    return float(tensors[name].reshape(-1)[0]) if name in tensors else default

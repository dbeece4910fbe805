"""How long does a model stay good? Play a data set as a stream: train, predict what comes next, train again.

    python -m rivulet_mcond.prequential --data DIR --out DIRECTORY [arguments of trainer train]
    python -m rivulet_mcond.prequential --data DIR --out DIRECTORY --time joined_at --nodes 60

Nodes arrive in the order of their times. The first share of them trains the first artifact; the others are
cut into chunks. Before each chunk `trainer train` makes an artifact of all nodes that came by then, with the
labels that are known by then, and every artifact so far predicts the chunk (prequential evaluation). An arrival
has edges to nodes that came before it; neighbours that its artifact was not trained on are unknown to it.

Printed are the accuracy of each chunk by the age of the artifact, and what a refresh every so many chunks would
reach. --out gets:

    prequential.json    accuracy[i][k]: the artifact before chunk i predicts chunk k, in percent; null before it
    prequential.png     the same as curves (needs matplotlib)

DIR has tables, nodes.csv and edges.csv (or .parquet; --id, --label, --source, --target and --time name their
columns), or the arrays of GraphSAINT's layout, with times.json if there is one: a list of numbers by node.
Without times the order is a breadth-first walk outward from a drawn node, which is a convention and no record of
time. Each node needs its label, or none; edges are read without weights, types and directions.

Arguments that are not listed below are those of `trainer train`. The program is taken from PATH, or is the one
that RIVULET_TRAINER names.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import random
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._programs import ProgramError, run
from .arrivals import Arrival, ArrivalError, Dense, Sparse
from .artifact import ArtifactError, open_artifact
from .predict import Predictor

Indices: TypeAlias = NDArray[np.int64]


class PrequentialError(ValueError):
    """The data set cannot be played as a stream."""


@dataclasses.dataclass
class Graph:
    """Nodes by number, each with its neighbours."""

    ids: list[str]
    labels: list[str | None]
    times: list[float] | None
    neighbours: list[Indices]


class Source(Protocol):
    """A data set that can be cut."""

    graph: Graph

    def write(self, roles: dict[int, str], labelled: set[int], out: pathlib.Path) -> dict[int, str]:
        """Write the nodes that have a role (train, val, test, unlabelled), and their edges among each other.

        Return the ids under which an artifact of these files knows them.
        """

    def arrivals(self, nodes: Sequence[int], edges: Callable[[int], list[str]]) -> list[Arrival]:
        """Return nodes as arrivals, with the ids of the neighbours that edges gives."""


class Tables:
    """A table of nodes and one of edges."""

    def __init__(self, directory: pathlib.Path, names: argparse.Namespace) -> None:
        """Read the tables, whose columns names has."""
        self.nodes, self.edges = (_table(directory, name) for name in ("nodes", "edges"))
        self.names = names
        for table, wanted, flags in (
            (self.nodes, (names.id, names.label), "--id and --label"),
            (self.edges, (names.source, names.target), "--source and --target"),
        ):
            for name in wanted:
                if name not in table.columns:
                    raise PrequentialError(f"{directory} has no column {name!r}: {flags} name the columns")
        ids = [str(i) for i in self.nodes[names.id]]
        place = {id: i for i, id in enumerate(ids)}
        if len(place) < len(ids):
            raise PrequentialError(f"column {names.id} has an id twice")
        self.source = np.array([place.get(str(i), -1) for i in self.edges[names.source]], np.int64)
        self.target = np.array([place.get(str(i), -1) for i in self.edges[names.target]], np.int64)
        labels = [None if _missing(label) else str(label) for label in self.nodes[names.label]]
        times = None
        if names.time:
            if names.time not in self.nodes.columns:
                raise PrequentialError(f"{directory} has no column {names.time!r} (--time)")
            times = _seconds(self.nodes[names.time], names.time)
        self.graph = Graph(ids, labels, times, _neighbours(self.source, self.target, len(ids)))
        used = {names.id, names.label, names.time, "split", *names.drop}
        self.features = [name for name in self.nodes.columns if name not in used]

    def write(self, roles: dict[int, str], labelled: set[int], out: pathlib.Path) -> dict[int, str]:
        """Write nodes.csv, edges.csv and data.yaml."""
        there = sorted(roles)
        nodes = self.nodes.iloc[there][[self.names.id, *self.features]].copy()
        nodes["label"] = [self.graph.labels[i] if i in labelled else None for i in there]
        nodes["split"] = [roles[i] for i in there]
        inside = np.isin(self.source, there) & np.isin(self.target, there)
        edges = self.edges[inside][[self.names.source, self.names.target]]
        nodes.to_csv(out / "nodes.csv", index=False)
        edges.to_csv(out / "edges.csv", index=False, header=["source", "target"])
        (out / "data.yaml").write_text(
            f"nodes: nodes.csv\nedges: edges.csv\nid: {json.dumps(self.names.id)}\nlabel: label\nsplit: split\n"
            "source: source\ntarget: target\n",
            encoding="utf-8",
        )
        return {i: self.graph.ids[i] for i in there}

    def arrivals(self, nodes: Sequence[int], edges: Callable[[int], list[str]]) -> list[Arrival]:
        """Return rows of the table, by name."""
        from .frames import arrivals_from_frame

        frame = self.nodes.iloc[list(nodes)]
        near = {self.graph.ids[i]: edges(i) for i in nodes}
        return arrivals_from_frame(frame, id=self.names.id, features=self.features, edges=near)


class Arrays:
    """The arrays of GraphSAINT's layout."""

    def __init__(self, directory: pathlib.Path) -> None:
        """Read the arrays."""
        import scipy.sparse as sp

        self.sp = sp
        self.adj: Any = sp.csr_matrix(sp.load_npz(directory / "adj_full.npz"))
        self.sparse = (directory / "feats.npz").exists()
        self.x: Any = (
            sp.csr_matrix(sp.load_npz(directory / "feats.npz"))
            if self.sparse
            else np.load(directory / "feats.npy")
        )
        n = self.adj.shape[0]
        said = json.loads((directory / "class_map.json").read_text())
        if any(isinstance(label, list) for label in said.values()):
            raise PrequentialError("class_map.json has several labels a node: want one")
        labels = [None if (label := said.get(str(i))) is None else str(label) for i in range(n)]
        times = None
        if (directory / "times.json").exists():
            times = [float(t) for t in json.loads((directory / "times.json").read_text())]
            if len(times) != n:
                raise PrequentialError(f"times.json has {len(times)} times of {n} nodes")
        parts = np.split(self.adj.indices.astype(np.int64), self.adj.indptr[1:-1])
        self.graph = Graph([str(i) for i in range(n)], labels, times, parts)

    def write(self, roles: dict[int, str], labelled: set[int], out: pathlib.Path) -> dict[int, str]:
        """Write the arrays of the nodes, which number them anew."""
        there = sorted(roles)
        self.sp.save_npz(out / "adj_full.npz", self.adj[there][:, there].tocsr())
        if self.sparse:
            self.sp.save_npz(out / "feats.npz", self.x[there])
        else:
            np.save(out / "feats.npy", self.x[there])
        classes = {str(k): _number(self.graph.labels[i]) for k, i in enumerate(there) if i in labelled}
        short = {"train": "tr", "val": "va", "test": "te", "unlabelled": "un"}
        of: dict[str, list[int]] = {name: [] for name in short.values()}
        for k, i in enumerate(there):
            of[short[roles[i]]].append(k)
        (out / "class_map.json").write_text(json.dumps(classes))
        (out / "role.json").write_text(json.dumps(of))
        return {i: str(k) for k, i in enumerate(there)}

    def arrivals(self, nodes: Sequence[int], edges: Callable[[int], list[str]]) -> list[Arrival]:
        """Return nodes with features by position."""
        out = []
        for i in nodes:
            row = self.x[i]
            features = Sparse(row.indices, row.data) if self.sparse else Dense(row)
            out.append(Arrival(f"arrival {i}", features, edges(i)))
        return out


def _number(label: str | None) -> int | str | None:
    return int(label) if label is not None and label.isdecimal() else label


def _missing(value: Any) -> bool:
    return value is None or value != value or value == ""


def _seconds(column: Any, name: str) -> list[float]:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column):
        try:
            column = pd.to_datetime(column, utc=True).astype("int64")
        except (ValueError, TypeError) as error:
            raise PrequentialError(f"column {name} has no times: {error}") from None
    out = [float(value) for value in column]
    if not np.isfinite(out).all():
        raise PrequentialError(f"column {name} has no time in row {int(np.flatnonzero(~np.isfinite(out))[0])}")
    return out


def _table(directory: pathlib.Path, name: str) -> Any:
    import pandas as pd

    if (directory / f"{name}.parquet").exists():
        return pd.read_parquet(directory / f"{name}.parquet")
    return pd.read_csv(directory / f"{name}.csv")


def _neighbours(source: Indices, target: Indices, n: int) -> list[Indices]:
    known = (source >= 0) & (target >= 0) & (source != target)
    pairs = np.unique(
        np.concatenate([np.stack([a[known], b[known]]) for a, b in ((source, target), (target, source))], 1),
        axis=1,
    )
    return np.split(pairs[1], np.searchsorted(pairs[0], np.arange(1, n)))


def walk(graph: Graph, rng: random.Random) -> list[int]:
    """Return all nodes in the order of a breadth-first walk outward from a drawn node."""
    seen = [False] * len(graph.ids)
    order: list[int] = []
    starts = list(range(len(graph.ids)))
    rng.shuffle(starts)
    for start in starts:
        if seen[start]:
            continue
        seen[start] = True
        queue = deque([start])
        while queue:
            i = queue.popleft()
            order.append(i)
            near = graph.neighbours[i].tolist()
            rng.shuffle(near)
            for j in near:
                if not seen[j]:
                    seen[j] = True
                    queue.append(j)
    return order


@dataclasses.dataclass
class Stream:
    """A data set's nodes in the order of their arrival, cut into a start and chunks."""

    source: Source
    order: list[int]
    cuts: list[int]
    delay: int
    rng: random.Random

    def __post_init__(self) -> None:
        """Draw the validation nodes, an eighth of the labelled nodes of the start."""
        self.place = {i: k for k, i in enumerate(self.order)}
        labels = self.source.graph.labels
        start = [i for i in self.order[: self.cuts[0]] if labels[i] is not None]
        if len(start) < 16:
            raise PrequentialError(f"the start has {len(start)} nodes with a label, want 16 or more: --first")
        self.rng.shuffle(start)
        self.validation = set(start[: len(start) // 8])

    def chunk(self, k: int) -> list[int]:
        """Return the nodes of a chunk."""
        return self.order[self.cuts[k] : self.cuts[k + 1]]

    def at(self, k: int) -> tuple[dict[int, str], set[int]]:
        """Return the roles of all nodes that came before chunk k, and those of them whose labels are known."""
        labels = self.source.graph.labels
        known = self.cuts[max(0, k + 1 - self.delay)]  # labels of a chunk are known after some chunks
        roles, labelled = {}, set()
        for at, i in enumerate(self.order[: self.cuts[k]]):
            if labels[i] is None or (at >= known and at >= self.cuts[0]):
                roles[i] = "unlabelled"
                continue
            labelled.add(i)
            roles[i] = "val" if i in self.validation else "train"
        roles[min(self.validation)] = "test"  # a split has one; no figure here is of it
        return roles, labelled

    def before(self, i: int) -> list[int]:
        """Return the neighbours of a node that came before it."""
        return [j for j in self.source.graph.neighbours[i].tolist() if self.place[j] < self.place[i]]


@dataclasses.dataclass
class Result:
    """accuracy[i][k] is of the artifact before chunk i on chunk k, in percent; NaN before it."""

    order: str
    chunks: list[int]
    accuracy: NDArray[np.float64]
    known: NDArray[np.float64]
    labelled: list[int]

    def every(self, n: int) -> tuple[int, float]:
        """Return the number of refreshes if one is made every n chunks, and the accuracy of all arrivals."""
        made = [n * (k // n) for k in range(len(self.chunks))]
        right = sum(self.accuracy[i, k] * self.labelled[k] for k, i in enumerate(made))
        return len(set(made)) - 1, right / max(1, sum(self.labelled))

    def by_age(self, age: int) -> float:
        """Return the mean accuracy of artifacts that are so many chunks old."""
        return float(np.mean(np.diagonal(self.accuracy, age)))

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""

        def rows(values: NDArray[np.float64]) -> list[list[float | None]]:
            return [[None if v != v else round(float(v), 3) for v in row] for row in values]

        return {
            "order": self.order,
            "arrivals": self.chunks,
            "labelled": self.labelled,
            "accuracy": rows(self.accuracy),
            "known_edges": rows(self.known),
        }


def play(
    source: Source,
    train: Callable[[pathlib.Path, pathlib.Path], object],
    *,
    first: float = 0.4,
    chunks: int = 12,
    delay: int = 1,
    seed: int = 0,
    say: Callable[[str], object] = lambda line: None,
) -> Result:
    """Play a data set as a stream. train(data, out) makes an artifact of a directory."""
    if not 0 < first < 1 or chunks < 2 or delay < 1:
        raise PrequentialError(
            f"first is {first}, chunks {chunks}, label delay {delay}: "
            "want a share between 0 and 1, 2 or more, 1 or more"
        )
    graph, rng = source.graph, random.Random(seed)
    n, order = len(graph.ids), "time"
    if graph.times is not None:
        times = graph.times
        nodes = sorted(range(n), key=lambda i: times[i])
    else:
        order, nodes = "walk", walk(graph, rng)
    begin = int(first * n)
    cuts = [begin + k * (n - begin) // chunks for k in range(chunks + 1)]
    stream = Stream(source, nodes, cuts, delay, rng)
    out = Result(
        order,
        [cuts[k + 1] - cuts[k] for k in range(chunks)],
        np.full((chunks, chunks), np.nan),
        np.full((chunks, chunks), np.nan),
        [sum(graph.labels[i] is not None for i in stream.chunk(k)) for k in range(chunks)],
    )
    for i in range(chunks):
        with tempfile.TemporaryDirectory() as work:
            data, artifact = pathlib.Path(work, "data"), pathlib.Path(work, "artifact")
            data.mkdir()
            roles, labelled = stream.at(i)
            ids = source.write(roles, labelled, data)
            train(data, artifact)
            predictor = Predictor(open_artifact(artifact))
        classes = predictor.artifact.classes
        for k in range(i, chunks):
            arrivals, met, known = stream.chunk(k), 0, 0

            def edges(node: int, ids: dict[int, str] = ids) -> list[str]:
                return [ids.get(j, f"later {j}") for j in stream.before(node)]

            said = predictor.predict(source.arrivals(arrivals, edges)).classes
            right = sum(classes[c] == graph.labels[node] for c, node in zip(said, arrivals, strict=True))
            for node in arrivals:
                met += len(stream.before(node))
                known += sum(j in ids for j in stream.before(node))
            out.accuracy[i, k] = 100 * right / max(1, out.labelled[k])
            out.known[i, k] = 100 * known / max(1, met)
        say(
            f"chunk {i + 1} of {chunks}: the new artifact has {out.accuracy[i, i]:.2f}%, "
            f"the first {out.accuracy[0, i]:.2f}%"
        )
    return out


def table(r: Result) -> str:
    """Return the figures as text."""
    n = len(r.chunks)
    lines = ["chunk  arrivals  labelled  new artifact  first artifact  edges it knows"]
    for k in range(n):
        lines.append(
            f"{k + 1:5}  {r.chunks[k]:8}  {r.labelled[k]:8}  {r.accuracy[k, k]:11.2f}%"
            f"  {r.accuracy[0, k]:13.2f}%  {r.known[0, k]:13.1f}%"
        )
    lines += ["", "age of the artifact in chunks, and the mean accuracy of such artifacts:"]
    lines.append("  ".join(f"{age}: {r.by_age(age):.2f}%" for age in range(n)))
    lines += ["", "a refresh every ... chunks, and the accuracy of all arrivals:"]
    for every in sorted({1, 2, 3, 4, 6, n}):
        if every <= n:
            refreshes, accuracy = r.every(every)
            lines.append(f"  {every:2}: {accuracy:.2f}%, {refreshes} refreshes")
    return "\n".join(lines)


def draw(r: Result) -> Any:
    """Return a figure: each artifact's accuracy by chunk, and the mean by age."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    n = len(r.chunks)
    chunk = np.arange(1, n + 1)
    for i in range(n):
        left.plot(chunk[i:], r.accuracy[i, i:], color="C0", alpha=0.25 + 0.75 * (i == 0), linewidth=1 + (i == 0))
    left.plot(chunk, np.diagonal(r.accuracy), "o-", color="C1", label="trained anew before each chunk")
    left.plot([], [], color="C0", label="first artifact; paler: later ones")
    left.set(xlabel="chunk", ylabel="accuracy %", title=f"order of {r.order}")
    left.legend(fontsize="small")
    right.plot(range(n), [r.by_age(age) for age in range(n)], "o-")
    right.set(xlabel="age of the artifact in chunks", ylabel="mean accuracy %")
    return figure


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rivulet_mcond.prequential",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="%(prog)s --data DIR --out DIRECTORY [arguments]",
    )
    add = parser.add_argument
    add("--data", required=True, help="directory of the data set")
    add("--out", required=True, help="directory to write to")
    add("--first", type=float, default=0.4, help="share of the nodes that are there at the start (0.4)")
    add("--chunks", type=int, default=12, help="parts of the stream, an artifact before each (12)")
    add(
        "--label-delay",
        type=int,
        default=1,
        help="chunks until the labels of a chunk are known (1: before the next)",
    )
    add("--seed", type=int, default=0, help="seed of the walk, the validation nodes and the trainings (0)")
    add("--id", default="id", help="tables: column of ids (id)")
    add("--label", default="label", help="tables: column of labels (label)")
    add("--source", default="source", help="tables: column of an edge's one end (source)")
    add("--target", default="target", help="tables: column of its other end (target)")
    add("--time", default="", help="tables: column of times, which is no feature; empty: none, a walk")
    add("--drop", action="append", default=[], metavar="COLUMN", help="tables: column that is no feature")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    given, rest = _parser().parse_known_args(arguments)

    def train(data: pathlib.Path, out: pathlib.Path) -> object:
        options = [
            "--data",
            str(data),
            "--out",
            str(out),
            "--seed",
            str(given.seed),
            "--map=false",
            "--costs=false",
        ]
        return run("trainer", ["train", *options, *rest])

    try:
        directory = pathlib.Path(given.data)
        arrays = (directory / "adj_full.npz").exists()
        source: Source = Arrays(directory) if arrays else Tables(directory, given)
        result = play(
            source,
            train,
            first=given.first,
            chunks=given.chunks,
            delay=given.label_delay,
            seed=given.seed,
            say=lambda line: print(line, file=sys.stderr),
        )
        out = pathlib.Path(given.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "prequential.json").write_text(json.dumps(result.to_json()))
        draw(result).savefig(out / "prequential.png", dpi=110)
    except (PrequentialError, ProgramError, ArtifactError, ArrivalError, OSError) as error:
        sys.exit(f"rivulet_mcond.prequential: {error}")
    print(table(result))


if __name__ == "__main__":
    main()

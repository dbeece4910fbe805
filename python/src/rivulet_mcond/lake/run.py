"""A training run over tables: what is as large as the graph is SQL, or a program over the parts of a table."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import graph, sample
from .engine import Engine, LakeError

POINTS = [
    ("points_layer2", "logits", "points"),
    ("points_layer0", "part", "points_0"),
    ("points_layer1", "part", "points_1"),
]
"""Columns of a table: the table that has it, its name there and here."""


@dataclass
class Options:
    """What a run is asked for; prepare has the options of the models, as the trainer's command has them."""

    name: str
    columns: graph.Columns
    sample: int = 200_000
    validation: int = 5_000
    test: int = 10_000
    propagate: bool = False
    prepare: tuple[str, ...] = ()


class Run:
    """The draft of an artifact, step by step; each step works on a copy of the draft before it."""

    def __init__(self, engine: Engine, options: Options) -> None:
        """Begin a run."""
        self.engine, self.options = engine, options
        self.draft = ""  # the name of the last step
        self.nodes = 0  # of T

    def train(self, out: pathlib.Path) -> dict[str, Any]:
        """Make the artifact in out, and return the report."""
        engine, options = self.engine, self.options
        graph.read_graph(engine, options.columns)
        whole = sample.make_sample(engine, options.columns, options.sample)
        sample.make_held(engine, options.columns, options.validation, options.test)
        self.nodes = engine.rows("SELECT count(*) FROM original")[0][0]
        facts, drawn, held = self.facts(), *(sample.directory(engine, of) for of in ("sample", "held"))

        propagate = ["--propagate"] if options.propagate else []
        points = self.step(
            "prepare",
            ["--facts", str(facts), "--sample", str(drawn), *options.prepare, *propagate],
            ["sample", "facts"],
        )["points"]
        self.points(points["sent"], whole)
        self.join("points", "chosen", POINTS)
        said = self.step(
            "weights", ["--sample", str(drawn), *files("--points", engine.parts("points"))], ["sample", "points"]
        )
        tables = []  # (table, its column, the column's name beside the others)
        for m in said["models"]:
            last = m["layers"] if options.propagate else m["layers"] - 1
            self.layers(m["model"], m["sent"], last)
            tables += [(f"{m['model']}_layer{k}", "part", f"{m['model']}_{k}") for k in range(m["layers"])]
        messages = list(tables)
        if options.propagate:
            tables += self.propagation(
                {m["model"]: m["layers"] for m in said["models"]}, said["propagation"]["sent"]
            )
        self.join("sample_rows", "chosen", [*POINTS, *tables])
        self.step(
            "condense",
            ["--sample", str(drawn), *files("--rows", engine.parts("sample_rows"))],
            ["sample", "sample_rows"],
        )
        self.join("messages", "", messages)
        schema = {"id": "STRING", "clusters": "ARRAY<INT>", "weights": "ARRAY<FLOAT>"}
        engine.mapped("mapping", "messages", ["rows", "--artifact", self.artifact()], schema, self.draft)
        self.join(
            "read", "met", [("mapping", "clusters", "clusters"), ("mapping", "weights", "weights"), *tables]
        )
        report = self.finish(held)
        install(self.engine.paths["finish"] / "model", out)
        return report

    def facts(self) -> pathlib.Path:
        """Return the file of the counts of the graph."""
        facts = graph.facts(self.engine, self.options.columns, self.options.name)

        def make(path: pathlib.Path) -> None:
            (path / "facts.json").write_text(json.dumps(facts, indent=1))

        return self.engine.made("facts", json.dumps(facts), make) / "facts.json"

    def points(self, sent: Sequence[int], whole: bool) -> None:
        """Take the features of all nodes that the sample reads in two hops to the nodes of the sample."""
        if whole:
            self.layers("points", sent, last=2)
            return
        source = "original"
        for name, inner in (("around", "chosen"), ("beyond", "around")):
            self.engine.table(
                name,
                f"SELECT node FROM {inner} UNION SELECT src FROM edges WHERE dst IN (SELECT node FROM {inner})",
            )
        if 2 * self.engine.rows("SELECT count(*) FROM beyond")[0][0] < self.nodes:
            source = "points_entry"
            self.engine.table(source, "SELECT * FROM original WHERE node IN (SELECT node FROM beyond)")
        self.layers("points", sent, last=2, source=source, wanted=("", "around", "chosen"))

    def artifact(self) -> str:
        """Return the directory of the draft."""
        return str(self.engine.paths[self.draft] / "draft")

    def step(self, command: str, arguments: Sequence[str], reads: Sequence[str]) -> dict[str, Any]:
        """Run a command of the trainer on a copy of the draft, and return what it prints."""
        before = self.draft
        reads = [*reads, *([before] if before else [])]

        def make(path: pathlib.Path) -> None:
            if before:
                shutil.copytree(self.engine.paths[before] / "draft", path / "draft")
            said = self.trainer([command, "--artifact", str(path / "draft"), *arguments])
            (path / "said.json").write_text(said)

        options = [a for a in arguments if os.sep not in a]  # what the paths are made of is in reads
        if not before:
            options.append(self.trainer(["--version"]))
        path = self.engine.made(command, json.dumps(options), make, reads)
        self.draft = command
        said: dict[str, Any] = json.loads((path / "said.json").read_text())
        return said

    def trainer(self, arguments: Sequence[str]) -> str:
        """Return the standard output of the trainer."""
        done = subprocess.run([self.engine.program, *arguments], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise LakeError(f"trainer {arguments[0]} failed")
        return done.stdout

    def layers(
        self, of: str, sent: Sequence[int], last: int, source: str = "original", wanted: Sequence[str] = ()
    ) -> None:
        """Take a model through its layers up to the last that is wanted, with a hop between each two."""
        for k in range(last + 1):
            if k > 0:
                source = self.hop(of, k, sent[k - 1], wanted[k] if wanted else "")
            schema = {"node": "BIGINT", "logits": "BINARY"}
            if k < len(sent):
                messages = {f"m{c}": "FLOAT" for c in range(sent[k])}
                schema = {"node": "BIGINT", "degree": "FLOAT", "state": "BINARY", **messages, "part": "BINARY"}
            arguments = ["layer", "--artifact", self.artifact(), "--of", of, "--layer", str(k)]
            self.engine.mapped(f"{of}_layer{k}", source, arguments, schema, self.draft)

    def hop(self, of: str, k: int, width: int, rows: str) -> str:
        """Make the table that layer k reads: each node's state, and the sums of its neighbours' messages.

        Where sums and messages of all columns do not fit into the engine's memory, a few columns are summed at a
        time, and join those before: sums that spill are written once for each part of the messages.
        """
        name, layer = f"{of}_hop{k}", f"{of}_layer{k - 1}"
        where = f" WHERE {{}} IN (SELECT node FROM {rows})" if rows else ""
        before, kept, where_l = layer, "l.node, l.degree, l.state", where.format("l.node")
        at_a_time = self.engine.columns_of_sums(self.nodes)
        for start in range(0, width, at_a_time):
            end = min(width, start + at_a_time)
            made = name if end == width else f"{name}_{start}"
            columns = [f"m{c}" for c in range(start, end)]
            self.engine.table(
                made,
                f"SELECT {kept}, {', '.join(f'h.{c}' for c in columns)} FROM {before} l LEFT JOIN "
                f"(SELECT e.dst AS node, {', '.join(f'CAST(sum(s.{c}) AS FLOAT) AS {c}' for c in columns)} "
                f"FROM edges e JOIN {layer} s ON e.src = s.node{where.format('e.dst')} GROUP BY e.dst) h "
                f"ON l.node = h.node{where_l}",
            )
            before, kept, where_l = made, "l.*", ""
        return name

    def propagation(self, models: Mapping[str, int], sent: Sequence[int]) -> list[tuple[str, str, str]]:
        """Make the hops of label and error propagation, of models with so many layers; return their tables."""
        joins = " ".join(f"JOIN {m}_layer{last} ON {m}_layer{last}.node = o.node" for m, last in models.items())
        logits = ", ".join(f"{m}_layer{last}.logits AS {m}_logits" for m, last in models.items())
        self.engine.table(
            "propagation_entry", f"SELECT o.node, o.id, o.degree, o.label, {logits} FROM original o {joins}"
        )
        self.layers("propagation", sent, last=len(sent) - 1, source="propagation_entry")
        return [(f"propagation_layer{k}", "part", f"propagation_{k}") for k in range(len(sent))]

    def join(self, name: str, rows: str, tables: Sequence[tuple[str, str, str]]) -> None:
        """Make a table of columns of several tables: of all nodes, or sorted of those in a table of nodes."""
        by_table: dict[str, list[str]] = {}
        for table, column, as_name in tables:
            by_table.setdefault(table, []).append(f"{table}.{column} AS {as_name}")
        keys = {table: "id" if table == "mapping" else "node" for table in by_table}
        joins = " ".join(f"JOIN {table} ON {table}.{key} = o.{key}" for table, key in keys.items())
        named = ", ".join(c for of in by_table.values() for c in of)
        where = f" WHERE o.node IN (SELECT node FROM {rows})" if rows else ""
        sql = f"SELECT o.node, o.id, {named} FROM original o {joins}{where}"
        self.engine.table(name, sql, order="node" if rows else "")

    def finish(self, held: pathlib.Path) -> dict[str, Any]:
        """Calibrate, measure and write the artifact, and return the report."""
        engine = self.engine

        def make(path: pathlib.Path) -> None:
            arguments = ["--artifact", self.artifact(), "--held", str(held), "--json"]
            arguments += [*files("--read", engine.parts("read")), *files("--mapping", engine.parts("mapping"))]
            said = self.trainer(["finish", *arguments, "--out", str(path / "model")])
            (path / "said.json").write_text(said)

        path = engine.made("finish", "", make, [self.draft, "held", "read", "mapping"])
        report: dict[str, Any] = json.loads((path / "said.json").read_text())
        return report


def files(flag: str, paths: Sequence[str]) -> list[str]:
    """Return a flag that is given for each of some files."""
    return [a for path in paths for a in (flag, path)]


def install(made: pathlib.Path, out: pathlib.Path) -> None:
    """Copy the artifact to where it is wanted, in place of the one that is there."""
    partial, old = out.with_name(f".{out.name}.partial"), out.with_name(f".{out.name}.old")
    for path in (partial, old):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(made, partial)
    if out.exists():
        os.rename(out, old)
    os.rename(partial, out)
    shutil.rmtree(old, ignore_errors=True)
